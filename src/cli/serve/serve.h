/* What systemd is told, and hands over: sd_notify(3) and sd_listen_fds(3), which need a datagram and two variables.
 * And who can reach a server. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/buf.h"

/* Sends a state ("READY=1") to whoever started us, if it wants to hear; `wait`: for a second at most, while that one has not read
 * what it was told before. */
void cli_notify(const char *state, bool wait);

/* How many milliseconds may pass between two signs of life; 0: nobody asks for any. */
int64_t cli_notify_watchdog(void);

/* A socket that listens already and was handed over: its descriptor, or -1. More than one is an error, which is told: -2. */
int cli_notify_socket(void);

/* Whether only programs of this machine can reach that address or, where it is not -1, the socket. */
bool cli_reach_is_local(const char *address, int fd);

/* Whether a person's terminal stands behind the process: SIGHUP says then that it was closed. */
bool cli_reach_has_terminal(void);

/* The name of a file as it is from any directory. */
void cli_reach_path(struct cli_buf *out, const char *path);
