/* A program that runs beside the loop: started through the launcher (launch.h), heard on the
 * loop, ended as a whole tree.
 *
 *   start ──> on_output* ──> on_exit        stop: SIGTERM, later SIGKILL; then on_exit
 *                                           close: at once, without a further callback
 *
 * No signal handler, no fork in this process; descriptors are close-on-exec. */
#pragma once

#include "sys/launch.h"
#include "sys/launcher/launcher.h"

#include <uv.h>

struct hocket__process;

struct hocket__process_handler {
    /* A piece of what it wrote to its standard output (1) or error (2). */
    void (*on_output)(void *ud, int stream, const char *p, size_t n);
    /* The last callback: the program and all that it started are gone, and nothing of it is left in
     * the loop. The process is freed by itself afterwards. */
    void (*on_exit)(void *ud, const struct hocket__launch_result *result);
};

struct hocket__process_spec {
    struct hocket__launch launch;
    struct hocket__launchers *launchers;
    const char *launcher;     /* the program that acts as the launcher */
    struct hocket__str input; /* its standard input; empty: nothing to read */
};

/* EIO, ENOTFOUND and EUNSUPPORTED (the launcher), ENOMEM, ELIMIT (a request of more than
 * HOCKET__LAUNCH_MAX). On failure no callback runs. */
int hocket__process_start(uv_loop_t *loop, const struct hocket_allocator *a,
    const struct hocket__process_spec *spec, const struct hocket__process_handler *handler,
    void *ud, struct hocket__process **out, struct hocket_error *err);

/* Asks it to end: SIGTERM to all, after limits.grace_ms SIGKILL. on_exit follows. */
void hocket__process_stop(struct hocket__process *p);

/* Ends it with SIGKILL; no callback runs any more. `closed` (may be NULL) runs from the loop when
 * nothing of it is left there. */
void hocket__process_close(struct hocket__process *p, void (*closed)(void *ud), void *ud);
