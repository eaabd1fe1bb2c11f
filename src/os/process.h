/* A program that runs beside the loop: started through the launcher (launch.h), heard on the
 * loop, ended as a whole tree.
 *
 *   start ──> on_output* ──> on_exit        stop: SIGTERM, later SIGKILL; then on_exit
 *     │          ^  write, end_input:       close: at once, without a further callback
 *     │          └─ where it is talked with
 *     └─ its whole input is given, or it is talked with
 *
 * No signal handler, no fork in this process; descriptors are close-on-exec. */
#pragma once

#include "os/launch.h"
#include "os/launcher.h"

#include <uv.h>

struct hocket__process;

struct hocket__process_handler {
    /* A piece of what it wrote to its standard output (1) or error (2). */
    void (*on_output)(void *ud, int stream, const char *p, size_t n);
    /* The program has taken everything that was written to it, or accepts no more. May be NULL. */
    void (*on_taken)(void *ud);
    /* The socket that the proxy of a `proxied` program is to listen on, once, as a rule before its first
     * output. It is the callee's to close. May be NULL when nothing is proxied. */
    void (*on_socket)(void *ud, int fd);
    /* The last callback: the program and everything that it started are gone, and nothing of it is
     * left in the loop. The process frees itself afterwards. */
    void (*on_exit)(void *ud, const struct hocket__launch_result *result);
};

struct hocket__process_spec {
    struct hocket__launch launch;
    struct hocket__launchers *launchers;
    const char *launcher;     /* the program that acts as the launcher */
    struct hocket__str input; /* its standard input; empty: nothing to read */
    bool talks;               /* instead of that: it is written to while it runs */
};

#define HOCKET__PROCESS_WAITING ((size_t) 64 << 20) /* bytes written and not yet taken */

/* False where the host starts programs by itself: then `launcher` may be NULL. */
bool hocket__process_needs_launcher(void);

/* EIO, ENOTFOUND and EUNSUPPORTED (the launcher), ENOMEM, ELIMIT (a request of more than
 * HOCKET__LAUNCH_MAX). On failure no callback runs. */
int hocket__process_start(uv_loop_t *loop, const struct hocket_allocator *a,
    const struct hocket__process_spec *spec, const struct hocket__process_handler *handler,
    void *ud, struct hocket__process **out, struct hocket_error *err);

/* Writes to the standard input of a program that is talked with; what it does not take at once waits
 * here. ECLOSED: it takes nothing any more. ELIMIT, ENOMEM: nothing of this was written. */
int hocket__process_write(struct hocket__process *p, struct hocket__str text);
/* How much still waits for it. */
size_t hocket__process_waiting(const struct hocket__process *p);
/* The end of its input, once it has taken what waits. */
void hocket__process_end_input(struct hocket__process *p);

/* Pauses or resumes the reading of its standard output: the program waits when its pipe is full. */
void hocket__process_hold(struct hocket__process *p, bool held);

/* Asks it to end: SIGTERM to all, after limits.grace_ms SIGKILL. on_exit follows. */
void hocket__process_stop(struct hocket__process *p);

/* Ends it with SIGKILL; no callback runs any more. `closed` (may be NULL) runs from the loop when
 * nothing of it is left there. */
void hocket__process_close(struct hocket__process *p, void (*closed)(void *ud), void *ud);

/* ---- Programs of tools ------------------------------------------------------------------- */

/* How they are found and started where a system has neither a shell in /bin nor folders as others have. */
struct hocket__programs {
    const char *shell[4]; /* before a command line, behind the shell's own path */
    const char *nothing;  /* the command line of a program that does nothing */
    const char *folder;   /* a pattern of Lua for one folder in a PATH */
    const char *between;  /* what stands between two of them */
    const char *suffix;   /* of the files of programs */
    const char *note;     /* what a model has to know whose command failed */
    char program[300];    /* the shell */
    char path[900];       /* where the system's programs are */
    char temp[300];       /* for files of a moment */
};

#ifdef _WIN32
bool hocket__programs_get(struct hocket__programs *out);
#else
/* False: as on every POSIX (lua/hocket/internal/tools/programs.lua). */
static inline bool hocket__programs_get(struct hocket__programs *out)
{
    (void) out;
    return false;
}
#endif
