/* What it costs to start a program through the launcher, over starting the bare sandbox: the median
 * of each, /bin/true at every level. The floor of "bubblewrap" is bwrap with the same arguments, by
 * posix_spawn; that of the others /bin/true itself. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/process.h"
#include "os/linux/sandbox.h"

#define ROUNDS   61
#define LIMIT_MS 2.0

extern char **environ;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return x < y ? -1 : x > y;
}

static double median(double *times)
{
    qsort(times, ROUNDS, sizeof(*times), by_value);
    return times[ROUNDS / 2];
}

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "bench_process: %s failed\n", what);
    exit(1);
}

static const char *const program[] = { "/bin/true", NULL };
static const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };

static struct hocket__launch launch(enum hocket__sandbox level)
{
    return (struct hocket__launch){
        .argv = program,
        .env = environment,
        .cwd = "/usr",
        .sandbox = level,
        .limits = { .cpu_s = 10, .memory = 1 << 30, .processes = 64, .open_files = 256 },
    };
}

static int run_bare(const char *const *argv)
{
    pid_t pid;
    int status = -1;
    must(
        posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *) argv, environ) == 0, "posix_spawn");
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int bare(enum hocket__sandbox level)
{
    if (level != HOCKET__SANDBOX_BWRAP)
        return run_bare(program);
    struct hocket__sandbox_error err;
    struct hocket__launch l = launch(level);
    int filter = hocket__seccomp_file(&l, &err), status = open("/dev/null", O_WRONLY);
    const char **argv = hocket__bwrap_argv(&l, filter, status);
    int code = run_bare(argv);
    close(filter);
    close(status);
    return code;
}

static void on_output(void *ud, int stream, const char *p, size_t n)
{
}

static void on_exit_cb(void *ud, const struct hocket__launch_result *r)
{
    *(int *) ud = r->started ? r->code : -1;
}

static struct hocket__launchers launchers;

static int ours(uv_loop_t *loop, const char *launcher, enum hocket__sandbox level)
{
    static const struct hocket__process_handler handler = { .on_output = on_output,
        .on_exit = on_exit_cb };
    struct hocket__process_spec spec = {
        .launch = launch(level), .launchers = &launchers, .launcher = launcher
    };
    struct hocket__process *p;
    struct hocket_error err;
    int code = -2;
    must(hocket__process_start(loop, &hocket__malloc, &spec, &handler, &code, &p, &err) == 0,
        "starting");
    uv_run(loop, UV_RUN_DEFAULT);
    return code;
}

static bool measure(uv_loop_t *loop, const char *launcher, enum hocket__sandbox level)
{
    double floor[ROUNDS], own[ROUNDS];
    if (ours(loop, launcher, level) != 0 || bare(level) != 0) {
        printf("%-12s not on this machine\n", hocket__sandbox_name(level));
        return true;
    }
    for (int i = 0; i < ROUNDS; i++) {
        double a = now_ms();
        bare(level);
        double b = now_ms();
        ours(loop, launcher, level);
        floor[i] = b - a;
        own[i] = now_ms() - b;
    }
    double f = median(floor), o = median(own);
    bool kept = o - f <= LIMIT_MS;
    printf("%-12s bare %6.2f ms   through the launcher %6.2f ms   over it %5.2f ms   limit %.0f ms "
           " %s\n",
        hocket__sandbox_name(level), f, o, o - f, LIMIT_MS, kept ? "kept" : "MISSED");
    return kept;
}

int main(int argc, char **argv)
{
    char launcher[4096];
    uv_loop_t loop;
    bool kept = true;
    (void) argc;
    const char *slash = strrchr(argv[0], '/');
    snprintf(launcher, sizeof(launcher), "%.*s/../hocket", slash ? (int) (slash - argv[0]) : 1,
        slash ? argv[0] : ".");
    uv_loop_init(&loop);
    hocket__launchers_init(&launchers, &hocket__malloc);
    for (int level = HOCKET__SANDBOX_LIMITS; level <= HOCKET__SANDBOX_BWRAP; level++)
        kept = measure(&loop, launcher, (enum hocket__sandbox) level) && kept;
    hocket__launchers_close(&launchers);
    uv_loop_close(&loop);
    return kept ? 0 : 1;
}
