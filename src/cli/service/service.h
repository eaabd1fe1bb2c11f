/* A command that runs until a signal comes, `hocket serve` and `hocket work`: one operation of the host. It passes
 * the wish to end on to the operation, and tells systemd's watchdog that the loop turns.
 *
 *   SIGTERM, SIGINT ──> STOPPING=1, the answer "shutdown" with the seconds of grace; a second one: at once
 *   SIGHUP          ──> the answer that is named `on_hup`; where none is, the same end, to begin anew (RELOADING=1) */
#pragma once

#include <hocket/hocket.h>

#include <stdbool.h>
#include <stdint.h>

#include "cli/buf.h"
#include "cli/host/host.h"

struct cli_service {
    const char *command; /* its name, in front of errors */
    const char *operation, *args;
    const char *on_hup; /* or NULL */
    double grace;
    hocket_event_cb on_event;
    void *ud;
    struct cli_result result; /* to be freed */
    bool reload;              /* it ended to begin anew */
};

/* Its exit code. Why it failed is printed. */
int cli_service_run(struct cli_service *s, hocket_host *host);

/* ---- Messages to systemd, and sockets from it: sd_notify(3) and sd_listen_fds(3) ------------------- */

/* Sends a state ("READY=1") to the service manager, if there is one. `wait`: waits for a second at most while it
 * has not read earlier messages. */
void cli_notify(const char *state, bool wait);

/* How many milliseconds may pass between two signs of life; 0: nobody asks for any. */
int64_t cli_notify_watchdog(void);

/* The descriptor of a listening socket that was handed over, or -1. More than one is an error, which is printed:
 * -2. */
int cli_notify_socket(void);

/* ---- Who can reach a server: reach.c ------------------------------------------------------------ */

/* Whether only programs of this machine can reach that address or, where it is not -1, the socket. */
bool cli_reach_is_local(const char *address, int fd);

/* Whether a person's terminal stands behind the process: SIGHUP says then that it was closed. */
bool cli_reach_has_terminal(void);

/* The name of a file as it is from any directory. */
void cli_reach_path(struct cli_buf *out, const char *path);
