/* The heap stays as large as what is alive asks for: over many reloads, and many runs, whichever way a
 * program has to turn its host. Each way works in a process of its own, all of them at the same time. */

#include "host/run_util.h"

#include <poll.h>
#include <sys/wait.h>
#include <time.h>

#include <uv.h>

#define AGENTS 30

/* HOCKET_LONG=1: 1,000 reloads and 10,000 runs. */
static int times(int many, int few)
{
    return getenv("HOCKET_LONG") ? many : few;
}

/* ---- Ways of turning ------------------------------------------------------------------------- */

struct way {
    const char *name;
    bool thread, foreign;
    /* One round of the program's loop, of at most 5 ms. */
    void (*turn)(hocket_host *host, uv_loop_t *loop);
};

static void nap(int ms)
{
    nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static void turn_pump(hocket_host *h, uv_loop_t *loop)
{
    (void) loop;
    hocket_pump(h, 0);
    nap(1);
}

static void turn_frame(hocket_host *h, uv_loop_t *loop)
{
    (void) loop;
    hocket_pump(h, 1000);
    nap(2);
}

static void turn_short_frame(hocket_host *h, uv_loop_t *loop)
{
    (void) loop;
    hocket_pump(h, 200);
    nap(2);
}

static int sleep_of(hocket_host *h)
{
    int ms = hocket_backend_timeout(h);
    return ms < 0 || ms > 5 ? 5 : ms;
}

static void turn_poll(hocket_host *h, uv_loop_t *loop)
{
    struct pollfd p = { hocket_backend_fd(h), POLLIN, 0 };
    (void) loop;
    poll(&p, 1, sleep_of(h));
    hocket_pump(h, 1000);
}

/* Pumps only when it is told to: by the descriptor, or by a time that is over. */
static void turn_events(hocket_host *h, uv_loop_t *loop)
{
    struct pollfd p = { hocket_backend_fd(h), POLLIN, 0 };
    int timeout = hocket_backend_timeout(h);
    (void) loop;
    if (poll(&p, 1, sleep_of(h)) > 0 || (timeout >= 0 && timeout <= 5))
        hocket_pump(h, 1000);
}

static void turn_wait(hocket_host *h, uv_loop_t *loop)
{
    (void) loop;
    hocket_wait(h, 5);
}

static void on_over(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

static void turn_uv(hocket_host *h, uv_loop_t *loop)
{
    static uv_timer_t timer;
    (void) h;
    if (!timer.loop)
        uv_timer_init(loop, &timer);
    uv_timer_start(&timer, on_over, 5, 0);
    uv_run(loop, UV_RUN_ONCE);
}

static const struct way ways[] = {
    { "pump(0)", false, false, turn_pump },
    { "frames", false, false, turn_frame },
    { "frames with a small budget", false, false, turn_short_frame },
    { "frames, thread mode", true, false, turn_frame },
    { "a poll with a budget", false, false, turn_poll },
    { "on events", false, false, turn_events },
    { "on events, thread mode", true, false, turn_events },
    { "hocket_wait", false, false, turn_wait },
    { "a libuv loop", false, true, turn_uv },
};

/* ---- What is done meanwhile --------------------------------------------------------------------- */

struct bench {
    hocket_host *h;
    const struct way *way;
    uv_loop_t loop;
    char dir[TEST_TEMP_PATH];
    int reloads, going, ended;
    size_t first, most; /* bytes: at most in the first half, and in the second */
};

static void must(bool so, const char *what)
{
    if (so)
        return;
    fprintf(stderr, "%s\n", what);
    _exit(2);
}

static void save(const struct bench *b, int agent, int round)
{
    char path[TEST_TEMP_PATH + 32], name[TEST_TEMP_PATH + 32];
    snprintf(path, sizeof(path), "%s/.new", b->dir);
    snprintf(name, sizeof(name), "%s/agent%d.md", b->dir, agent);
    FILE *f = fopen(path, "w");
    must(f != NULL, path);
    fprintf(f, "---\nname: agent%d\ndescription: One of many\nmodel: sim\n", agent);
    for (int i = 1; agent == 0 && i < AGENTS; i++) /* the first has all others */
        fprintf(f, "%sagent%d%s", i == 1 ? "agents: [" : ", ", i, i == AGENTS - 1 ? "]\n" : "");
    fprintf(f, "---\nRound %d.\n", round);
    for (int i = 0; i < 40; i++)
        fprintf(
            f, "You answer in one line, and shortly; this is rule number %d of %d.\n", i, round);
    fclose(f);
    must(rename(path, name) == 0, name);
}

static void on_watch(hocket_host *h, uint64_t id, const struct hocket_event *e, void *ud)
{
    struct bench *b = ud;
    (void) h;
    (void) id;
    b->reloads += strcmp(e->type, "agent_reloaded") == 0;
    must(strcmp(e->type, "agent_reload_failed") != 0, e->json);
}

static void on_run_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct bench *b = ud;
    (void) h;
    (void) run;
    b->going--;
    b->ended++;
    must(r->status == HOCKET_OK, r->error ? r->error->message : "");
}

static size_t in_use(struct bench *b)
{
    struct hocket_host_stats s = { .size = sizeof(s) };
    must(hocket_stats(b->h, &s) == 0, "no statistics");
    return s.lua_bytes;
}

static void note(struct bench *b, bool second_half)
{
    size_t used = in_use(b), *most = second_half ? &b->most : &b->first;
    *most = used > *most ? used : *most;
}

static void turn(struct bench *b)
{
    b->way->turn(b->h, b->way->foreign ? &b->loop : NULL);
}

static void reload_often(struct bench *b)
{
    int n = times(1000, 60);
    for (int i = 0; i < n; i++) {
        int before = b->reloads;
        save(b, i % AGENTS, i + 1);
        for (int k = 0; k < 20000 && b->reloads == before; k++)
            turn(b);
        must(b->reloads > before, "no reload");
        note(b, i >= n / 2);
    }
}

static void run_often(struct bench *b)
{
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = "buffer:one.md", .input = "Hello"
    };
    struct hocket_error e;
    int n = times(10000, 400);
    must(hocket_load_buffer(b->h, "one.md", "---\nname: one\nmodel: sim\n---\nx\n", 0, &e) == 0,
        e.message);
    for (int i = 0; i < n; i++) {
        must(hocket_run_start(b->h, &spec, NULL, NULL, on_run_done, b, &e) == 0, e.message);
        for (b->going++; b->going >= 4;)
            turn(b);
        note(b, i >= n / 2);
    }
    while (b->going > 0)
        turn(b);
}

static void open_bench(struct bench *b, const struct way *way)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct hocket_error e = { 0 };
    char args[TEST_TEMP_PATH + 32];
    *b = (struct bench){ .way = way };
    must(test_temp_dir(b->dir), "no directory");
    for (int i = 0; i < AGENTS; i++)
        save(b, i, 0);
    o.thread = way->thread;
    if (way->foreign) {
        uv_loop_init(&b->loop);
        o.uv_loop = &b->loop;
    }
    must(hocket_open(&o, &b->h, &e) == 0 && hocket_serve_attach(b->h, &e) == 0, e.message);
    snprintf(args, sizeof(args), "{\"path\":\"%s\"}", b->dir);
    must(hocket_call_start(b->h, "watch", args, NULL, on_watch, NULL, b, &e) == 0, e.message);
    for (int i = 0; i < 200; i++)
        turn(b);
}

static void close_bench(struct bench *b)
{
    char name[TEST_TEMP_PATH + 32];
    hocket_close(b->h, NULL, NULL);
    for (int i = 0; i < AGENTS; i++) {
        snprintf(name, sizeof(name), "%s/agent%d.md", b->dir, i);
        unlink(name);
    }
    rmdir(b->dir);
}

/* What is alive is one or two megabytes, and as much again may be garbage. */
static int measure(const struct way *way, void (*work)(struct bench *))
{
    static struct bench b;
    open_bench(&b, way);
    size_t before = in_use(&b);
    work(&b);
    close_bench(&b);
    bool grows = b.most > b.first + b.first / 2 + (1 << 20), much = b.most > (size_t) 10 << 20;
    printf("%-28s %5zu KB, at most %5zu KB, later %5zu KB%s\n", way->name, before >> 10,
        b.first >> 10, b.most >> 10, grows || much ? ": too much" : "");
    fflush(stdout);
    return grows || much;
}

static void each_way(void (*work)(struct bench *))
{
    enum { N = sizeof(ways) / sizeof(ways[0]) };
    pid_t children[N];
    int wrong = 0;
    fflush(stdout);
    for (int i = 0; i < N; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(measure(&ways[i], work));
    }
    for (int i = 0; i < N; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        wrong += status != 0;
    }
    assert_int_equal(wrong, 0);
}

static void test_reloads(void **state)
{
    (void) state;
    each_way(reload_often);
}

static void test_runs(void **state)
{
    (void) state;
    each_way(run_often);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reloads),
        cmocka_unit_test(test_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
