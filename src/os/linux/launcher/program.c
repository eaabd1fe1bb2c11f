/* From a request to a running program, between fork and exec. The child reports by a pipe that
 * closes with exec: nothing said means that the program runs. Under bubblewrap the pipe goes
 * on to it, and "exit-code" in its JSON says so.
 *
 * The order in build_walls follows from the needs of each step: mounts need capabilities, Landlock
 * opens paths, the filter refuses what the others use, and the limits would leave no memory and no
 * descriptors to build any of them with. New processes are counted first, while the user is still
 * who the system takes them for. */
#include "os/linux/launcher/program.h"

#include "base/system_names.h"
#include "os/errors.h"
#include "os/launcher.h"
#include "os/linux/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define START_FAIL 127
#define UNGUARDED  "unguarded " /* said before all else */

/* ---- In the child --------------------------------------------------------------------- */

static void say(int report, const char *text)
{
    ssize_t written = write(report, text, strlen(text));
    (void) written;
}

/* Says why the program cannot run ("-23 reason"), and ends. */
static _Noreturn void give_up(int report, int status, const char *reason)
{
    char text[300];
    snprintf(text, sizeof(text), "%d %.255s", status, reason);
    say(report, text);
    hocket__launcher_leave(START_FAIL);
}

static _Noreturn void give_up_program(int report, const char *doing, const char *what)
{
    char text[256];
    int code = errno;
    snprintf(text, sizeof(text), "cannot %s %.180s: %s", doing, what, hocket__errno_text(code));
    give_up(report, hocket__errno_status(code), text);
}

/* The steps before the sandbox of each level. */
static void begin_walls(const struct hocket__program *p, int report)
{
    struct hocket__sandbox_error err;
    if (p->spec->proxied && p->spec->sandbox == HOCKET__SANDBOX_LIMITS)
        give_up(report, HOCKET_EUNSUPPORTED,
            "named hosts alone can be reached behind walls only: bubblewrap or landlock");
    if (hocket__sandbox_limit_processes(p->spec, &err) < 0
        || (p->spec->proxied && hocket__net_apply(HOCKET__LAUNCHER_SOCKET, &err) < 0))
        give_up(report, HOCKET_EUNSUPPORTED, err.text);
}

static void build_walls(struct hocket__program *p, int report)
{
    struct hocket__sandbox_error err;
    bool landlock = p->spec->sandbox == HOCKET__SANDBOX_LANDLOCK;
    begin_walls(p, report);
    if (landlock && !hocket__guard_apply(p->spec, p->tmp))
        say(report, UNGUARDED);
    if (hocket__sandbox_give_up_rights(p->spec, &err) < 0
        || (landlock && hocket__landlock_apply(p->spec, p->tmp, &err) < 0)
        || (landlock && hocket__seccomp_apply(p->spec, &err) < 0)
        || hocket__sandbox_limit(p->spec, &err) < 0)
        give_up(report, HOCKET_EUNSUPPORTED, err.text);
}

static void set_environment(const struct hocket__program *p)
{
    clearenv();
    /* putenv keeps the text itself, which is the request's and stays */
    for (const char *const *e = p->spec->env; *e; e++)
        putenv((char *) *e);
    if (!p->tmp[0])
        return;
    /* whoever names another home means it: a server's configuration is there */
    const char *home = getenv("HOME");
    setenv("HOME", p->tmp, !home || strcmp(home, HOCKET__SANDBOX_TMP) == 0);
    setenv("TMPDIR", p->tmp, 1);
}

static _Noreturn void exec_program(struct hocket__program *p, int report)
{
    set_environment(p);
    build_walls(p, report);
    const char *cwd =
        p->tmp[0] && strcmp(p->spec->cwd, HOCKET__SANDBOX_TMP) == 0 ? p->tmp : p->spec->cwd;
    if (chdir(cwd) < 0)
        give_up_program(report, "work in", cwd);
    execvp(p->spec->argv[0], (char *const *) p->spec->argv);
    give_up_program(report, "run", p->spec->argv[0]);
}

/* bubblewrap itself comes from the system's folders, whatever the program's PATH says. */
static _Noreturn void exec_bwrap(struct hocket__program *p, int report)
{
    struct hocket__sandbox_error err;
    begin_walls(p, report);
    int filter = hocket__seccomp_file(p->spec, &err);
    if (filter < 0)
        give_up(report, HOCKET_EUNSUPPORTED, err.text);
    fcntl(report, F_SETFD, 0);
    const char **argv = hocket__bwrap_argv(p->spec, filter, report);
    if (!argv)
        give_up(report, HOCKET_ENOMEM, "out of memory");
    setenv("PATH", "/usr/bin:/bin:/usr/local/bin", 1);
    if (hocket__sandbox_give_up_rights(p->spec, &err) < 0
        || hocket__sandbox_limit(p->spec, &err) < 0)
        give_up(report, HOCKET_EUNSUPPORTED, err.text);
    execvp(argv[0], (char *const *) argv);
    give_up(report, HOCKET_EUNSUPPORTED, "bubblewrap is not installed (Debian package bubblewrap)");
}

static _Noreturn void child(struct hocket__program *p, int report)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    if (p->spec->sandbox == HOCKET__SANDBOX_BWRAP)
        exec_bwrap(p, report);
    exec_program(p, report);
}

/* ---- In the launcher ------------------------------------------------------------------ */

int hocket__program_start(struct hocket__program *p)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC | O_NONBLOCK) < 0 || (p->pid = fork()) < 0)
        return errno;
    if (p->pid == 0)
        child(p, report[1]);
    close(report[1]);
    p->report = report[0];
    return 0;
}

/* What the child said before exec, or bubblewrap in JSON documents: nothing is left unsaid when the
 * program is over. */
static void read_report(const struct hocket__program *p, char *text, size_t size)
{
    size_t n = 0;
    for (ssize_t got; n + 1 < size && (got = read(p->report, text + n, size - 1 - n)) > 0;)
        n += (size_t) got;
    text[n] = 0;
    close(p->report);
}

/* bubblewrap says "exit-code" when the program ran; one that was killed cannot say anything. */
void hocket__program_report(struct hocket__program *p, bool killed, struct hocket__launch_result *r)
{
    char said[1024], *text = said;
    read_report(p, said, sizeof(said));
    r->unguarded = strncmp(said, UNGUARDED, strlen(UNGUARDED)) == 0;
    if (r->unguarded)
        text += strlen(UNGUARDED);
    if (text[0] == '-') {
        r->status = (int) strtol(text, NULL, 10);
        snprintf(r->message, sizeof(r->message), "%.255s", text + strcspn(text, " ") + 1);
    } else if (p->spec->sandbox == HOCKET__SANDBOX_BWRAP && !strstr(text, "\"exit-code\"")
               && !killed) {
        r->status = HOCKET_EUNSUPPORTED;
        snprintf(r->message, sizeof(r->message), "bubblewrap could not build the sandbox");
    } else {
        r->started = true;
    }
}
