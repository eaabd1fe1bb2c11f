/* What a program sees of us from outside: nothing that stays. Lives and deaths in numbers; what
 * belongs to the process is the same before and after; every allocation may fail. */

#include "host/run_util.h"
#include "support/emulated.h"

#include <dirent.h>
#include <dlfcn.h>
#include <locale.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <uv.h>

extern char **environ;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

static int entries(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 3; /* ".", "..", and for descriptors the one of this directory */
}

static const char served[] =
    "local hocket = require 'hocket'\n"
    "local served = hocket.sim.serve({ reply = function(q)\n"
    "  if q.last.text == 'never' then hocket.flow.sleep(1000) end return q.last.text end })\n"
    "hocket.provider('own', { protocol = 'openai_chat', base = served.base })\n"
    "local a = hocket.agent { name = 'a', model = 'own/m', prompt = 'p' }\n";

static const char *with_server(const char *rest)
{
    static char text[4096];
    snprintf(text, sizeof(text), "%s%s", served, rest);
    return text;
}

static void run_once(struct hocket_options *o, const char *target, struct outcome *out)
{
    struct hocket_error e = { 0 };
    hocket_host *h = host_with(NULL, o);
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = target, .input = "in" };
    *out = (struct outcome){ 0 };
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, out, &e), 0);
    wait_for(h, out);
    hocket_close(h, NULL, NULL);
}

/* ---- What belongs to the process --------------------------------------------------------- */

struct snapshot {
    struct sigaction actions[65];
    sigset_t mask;
    int descriptors, threads;
    char locale[256], directory[512];
    size_t variables;
    char **environment;
    mode_t mask_of_files;
};

static void look(struct snapshot *s)
{
    memset(s, 0, sizeof(*s));
    for (int i = 1; i < 65; i++)
        sigaction(i, NULL, &s->actions[i]);
    pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
    s->descriptors = entries("/proc/self/fd");
    s->threads = entries("/proc/self/task");
    snprintf(s->locale, sizeof(s->locale), "%s", setlocale(LC_ALL, NULL));
    assert_non_null(getcwd(s->directory, sizeof(s->directory)));
    s->environment = environ;
    while (environ[s->variables])
        s->variables++;
    s->mask_of_files = umask(0);
    umask(s->mask_of_files);
}

static void check_same(const struct snapshot *a, const struct snapshot *b)
{
    for (int i = 1; i < 65; i++) {
        assert_ptr_equal(a->actions[i].sa_handler, b->actions[i].sa_handler);
        assert_int_equal(a->actions[i].sa_flags, b->actions[i].sa_flags);
    }
    assert_memory_equal(&a->mask, &b->mask, sizeof(a->mask));
    assert_int_equal(a->descriptors, b->descriptors);
    assert_int_equal(a->threads, b->threads);
    assert_string_equal(a->locale, b->locale);
    assert_string_equal(a->directory, b->directory);
    assert_ptr_equal(a->environment, b->environment);
    assert_int_equal(a->variables, b->variables);
    assert_int_equal(a->mask_of_files, b->mask_of_files);
}

/* The first loop of a process makes libuv open a pipe of its own for good; nothing else may stay.
 */
static void test_snapshot(void **state)
{
    (void) state;
    struct snapshot before, after;
    struct outcome out;
    uv_loop_t loop;
    uv_loop_init(&loop);
    uv_loop_close(&loop);
    const char *path = file_with(with_server("return hocket.run(a, 'hello').text"));
    for (int thread = 0; thread < 2; thread++) {
        struct hocket_options o;
        hocket_options_init(&o, sizeof(o));
        o.thread = thread;
        look(&before);
        run_once(&o, path, &out);
        assert_string_equal(out.text, "hello");
        for (int i = 0; i < 100 && entries("/proc/self/task") > before.threads; i++)
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 },
                NULL); /* the kernel lets a joined thread go a little later */
        look(&after);
        check_same(&before, &after);
    }
}

/* ---- Numbers ---------------------------------------------------------------------------- */

static int cycles(int many)
{
    return getenv("HOCKET_LONG") ? many : many / 50;
}

static void test_cycles(void **state)
{
    (void) state;
    struct outcome out;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    const char *path = file_with("require('hocket').flow.sleep(0) return ...");
    int descriptors = 0;
    for (int i = 0; i < cycles(10000); i++) {
        run_once(&o, path, &out);
        assert_string_equal(out.text, "in");
        if (i == 0)
            descriptors = entries("/proc/self/fd");
    }
    assert_int_equal(entries("/proc/self/fd"), descriptors);
}

static void test_close_with_many(void **state)
{
    (void) state;
    for (int thread = 0; thread < 2; thread++) {
        struct hocket_options o;
        hocket_options_init(&o, sizeof(o));
        struct hocket_error e;
        struct outcome out = { 0 };
        struct hocket_host_stats stats = { .size = sizeof(stats) };
        o.thread = thread;
        hocket_host *h = host_with(NULL, &o);
        struct hocket_run_spec spec = { .size = sizeof(spec),
            .target = file_with(with_server(
                "local list = {} for i = 1, 1000 do list[i] = i end\n"
                "hocket.flow.map(list, function() return hocket.run(a, 'never') end)")) };
        assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &out, &e), 0);
        for (int i = 0; i < 3000 && stats.requests < 1000; i++) {
            hocket_wait(h, 5);
            hocket_stats(h, &stats);
        }
        assert_int_equal(stats.requests, 1000);
        for (int i = 0; i < 50; i++)
            hocket_wait(h, 2);
        clock_t cpu = clock();
        double begin = now_ms();
        hocket_close(h, NULL, NULL);
        double took = now_ms() - begin, worked = (double) (clock() - cpu) * 1e3 / CLOCKS_PER_SEC;
        assert_int_equal(out.status, HOCKET_ECANCELLED);
        print_message("closed with 1000 streams in %.0f ms, %.0f ms of CPU time%s\n", took, worked,
            thread ? ", with a thread" : "");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        /* The server of this process included; the clock counts other programs. */
        assert_true(worked < 300 * test_slower());
#endif
        drop_file(NULL);
    }
}

/* ---- Hosts with habits of their own -------------------------------------------------------- */

static volatile sig_atomic_t reaped;

static void reap(int signal_number)
{
    (void) signal_number;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        reaped++;
}

/* A program that reaps every child, and leaves SIGPIPE as it is. The server goes away under a call.
 */
static void test_reaper(void **state)
{
    (void) state;
    struct outcome out;
    struct sigaction act = { .sa_handler = reap }, old;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    sigemptyset(&act.sa_mask);
    assert_int_equal(sigaction(SIGCHLD, &act, &old), 0);
    signal(SIGPIPE, SIG_DFL);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    for (int thread = 0; thread < 2; thread++) {
        o.thread = thread;
        run_once(&o,
            file_with(with_server(
                "for i = 1, 5 do\n"
                "  local call = hocket.flow.spawn(function() return hocket.run(a, 'never') end)\n"
                "  hocket.flow.sleep(0.01) call:cancel()\n"
                "end\n"
                "served.close() hocket.flow.sleep(0.01)\n"
                "local reply, err = hocket.run(a, ('x'):rep(1000))\n"
                "return err and err.code")),
            &out);
        assert_string_equal(out.text, "connect");
        drop_file(NULL);
    }
    for (int i = 0; i < 100 && !reaped; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    assert_int_equal(reaped, 1);
    sigaction(SIGCHLD, &old, NULL);
}

/* ---- Memory --------------------------------------------------------------------------------- */

static const char *failing_path;

/* A whole life, with a model call in it. In whichever allocation memory is out: an error, or a
 * success in spite of it; nothing leaks (test_alloc_each looks), nothing crashes, and whoever was
 * promised an end gets it. */
static void live(struct test_alloc *t, void *ud)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct hocket_error e = { 0 };
    struct outcome out = { 0 };
    hocket_host *h = NULL;
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = failing_path, .input = "in", .options = ud
    };
    o.allocator = t->a;
    if (hocket_open(&o, &h, &e) < 0) {
        assert_true(t->failed);
        return;
    }
    int rc = hocket_serve_attach(h, &e);
    if (rc == 0)
        rc = hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &out, &e);
    for (int i = 0; i < 5000 && rc == 0 && !out.done; i++)
        hocket_wait(h, 10);
    assert_true(rc < 0 || out.done == 1);
    if (!t->failed) {
        assert_int_equal(rc, 0);
        assert_string_equal(out.error, "");
    }
    hocket_close(h, NULL, NULL);
}

static size_t live_with(size_t fail_at, bool fail_rest)
{
    static char options[] = "{\"deltas\":true}";
    struct test_alloc t;
    test_alloc_init(&t);
    t.fail_at = fail_at;
    t.fail_rest = fail_rest;
    live(&t, options);
    test_alloc_check(&t);
    return t.calls;
}

/* Under the address sanitizer, which sees each of Lua's blocks, and slowly, evenly spread ones:
 * about `probes` of them. */
static void test_each_allocation(void **state)
{
    (void) state;
    failing_path =
        file_with("local board = require('hocket').board {} return #board:tasks() .. ...");
    size_t n = live_with(0, false), probes = getenv("HOCKET_LONG") ? n : 200, failed = 0;
    size_t step = n > probes * 3 ? n / probes : 1;
    for (size_t i = 1; i <= n; i += step, failed++) {
        live_with(i, false);
        live_with(i, true);
    }
    print_message("%zu of %zu allocations failed, alone and with all that follow\n", failed, n);
    assert_true(n > 50);
}

/* ---- Loaded and unloaded ----------------------------------------------------------------------
 */

#ifdef HOCKET_LIBRARY
static void test_dlopen(void **state)
{
    (void) state;
    int descriptors = 0;
    for (int i = 0; i < 100; i++) {
        void *lib = dlopen(HOCKET_LIBRARY, RTLD_NOW | RTLD_LOCAL);
        if (!lib)
            fail_msg("%s", dlerror());
        __typeof__(hocket_open) *open;
        __typeof__(hocket_close) *close;
        void *address = dlsym(lib, "hocket_open");
        memcpy(&open, &address, sizeof(open));
        address = dlsym(lib, "hocket_close");
        memcpy(&close, &address, sizeof(close));
        struct hocket_options o;
        hocket_options_init(&o, sizeof(o));
        hocket_host *h;
        assert_int_equal(open(&o, &h, NULL), 0);
        close(h, NULL, NULL);
        assert_int_equal(dlclose(lib), 0);
        if (i == 0)
            descriptors = entries("/proc/self/fd");
    }
    assert_int_equal(entries("/proc/self/fd"), descriptors);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_snapshot, drop_file),
        cmocka_unit_test_teardown(test_cycles, drop_file),
        cmocka_unit_test_teardown(test_close_with_many, drop_file),
        cmocka_unit_test_teardown(test_reaper, drop_file),
        cmocka_unit_test_teardown(test_each_allocation, drop_file),
#ifdef HOCKET_LIBRARY
        cmocka_unit_test(test_dlopen),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
