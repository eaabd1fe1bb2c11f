/* Idle means idle: a host that has nothing to do turns no loop. Each loop that docs/guides/embedding.md shows
 * is run in a process of its own, all of them at the same time, for two seconds in each situation in
 * which there is nothing to do; what is counted is how often it wakes up. */

#include "host/run_util.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include <uv.h>

#define SETTLE_MS  300 /* connections that close, threads that start: at most SETTLES times this */
#define SETTLES    20
#define MEASURE_MS 2000

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

/* ---- Loops --------------------------------------------------------------------------------- */

struct loop {
    const char *name;
    bool thread, foreign;
    /* Turns the host, or its loop, until `until`; answers how often that was needed. */
    int (*turn)(hocket_host *host, uv_loop_t *loop, double until);
};

/* In a child of the test. */
static void must(bool so, const char *what)
{
    if (so)
        return;
    fprintf(stderr, "%s\n", what);
    _exit(2);
}

static int left(double until)
{
    double ms = until - now_ms();
    return ms > 0 ? (int) ms + 1 : 0;
}

static int earlier(int timeout, double until)
{
    return timeout < 0 || timeout > left(until) ? left(until) : timeout;
}

static int poll_and_pump(hocket_host *h, double until, int64_t budget_us)
{
    int turns = -1; /* the last one is the end of the time */
    for (; left(until) > 0; turns++) {
        struct pollfd p = { hocket_backend_fd(h), POLLIN, 0 };
        poll(&p, 1, earlier(hocket_backend_timeout(h), until));
        hocket_pump(h, budget_us);
    }
    return turns;
}

static int turn_poll(hocket_host *h, uv_loop_t *loop, double until)
{
    (void) loop;
    return poll_and_pump(h, until, 0);
}

static int turn_poll_with_budget(hocket_host *h, uv_loop_t *loop, double until)
{
    (void) loop;
    return poll_and_pump(h, until, 1000);
}

/* The program has an own event, and pumps only when hocket's descriptor says so, or its time is over. */
static int turn_poll_on_events(hocket_host *h, uv_loop_t *loop, double until)
{
    int turns = 0;
    (void) loop;
    while (left(until) > 0) {
        struct pollfd p = { hocket_backend_fd(h), POLLIN, 0 };
        int timeout = hocket_backend_timeout(h);
        int n = poll(&p, 1, earlier(timeout, until));
        if (n > 0 || (timeout >= 0 && left(until) > 0)) {
            hocket_pump(h, 1000);
            turns++;
        }
    }
    return turns;
}

static void *wake_at(void *ud)
{
    const struct {
        hocket_host *host;
        double until;
    } *w = ud;
    while (left(w->until) > 0)
        nanosleep(&(struct timespec){ .tv_nsec = left(w->until) % 1000 * 1000000,
                      .tv_sec = left(w->until) / 1000 },
            NULL);
    hocket_wakeup(w->host);
    return NULL;
}

/* hocket_wait sleeps for ever: another thread wakes it in the end. */
static int turn_wait(hocket_host *h, uv_loop_t *loop, double until)
{
    struct {
        hocket_host *host;
        double until;
    } w = { h, until };
    pthread_t thread;
    int turns = -1;
    (void) loop;
    must(pthread_create(&thread, NULL, wake_at, &w) == 0, "no thread");
    for (; left(until) > 0; turns++)
        hocket_wait(h, -1);
    pthread_join(thread, NULL);
    return turns;
}

static void on_turn(uv_check_t *check)
{
    ++*(int *) check->data;
}

static void on_over(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

static int turn_uv(hocket_host *h, uv_loop_t *loop, double until)
{
    uv_check_t check;
    uv_timer_t timer;
    int turns = -2; /* the one that sleeps until its end, and the one of the timer */
    (void) h;
    uv_check_init(loop, &check);
    uv_timer_init(loop, &timer);
    check.data = &turns;
    uv_check_start(&check, on_turn);
    uv_update_time(loop);
    uv_timer_start(&timer, on_over, (uint64_t) left(until), 0);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *) &check, NULL);
    uv_close((uv_handle_t *) &timer, NULL);
    uv_run(loop, UV_RUN_NOWAIT);
    return turns;
}

static volatile int rung;

static void ring(void *ud)
{
    (void) ud;
    rung = 1;
}

/* A window system's: it pumps when wakeup_cb has said so, or the time is over. */
static int turn_bell(hocket_host *h, uv_loop_t *loop, double until)
{
    int turns = 0;
    (void) loop;
    while (left(until) > 0) {
        double due = now_ms() + earlier(hocket_backend_timeout(h), until);
        while (!rung && now_ms() < due)
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        if (rung || left(until) > 0) {
            rung = 0;
            hocket_pump(h, 1000);
            turns++;
        }
    }
    return turns;
}

static const struct loop loops[] = {
    { "hocket_wait", false, false, turn_wait },
    { "hocket_wait, thread mode", true, false, turn_wait },
    { "a poll", false, false, turn_poll },
    { "a poll, with a budget", false, false, turn_poll_with_budget },
    { "a poll, thread mode", true, false, turn_poll_with_budget },
    { "a poll, pumped on events", false, false, turn_poll_on_events },
    { "wakeup_cb, thread mode", true, false, turn_bell },
    { "a libuv loop", false, true, turn_uv },
    { "a libuv loop, thread mode", true, true, turn_uv },
};

/* ---- Situations ----------------------------------------------------------------------------- */

struct seen {
    int done, waits;
};

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct seen *s = ud;
    (void) h;
    (void) run;
    s->waits += strcmp(e->type, "input_requested") == 0 || strcmp(e->type, "question_asked") == 0;
}

static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct seen *s = ud;
    (void) h;
    (void) run;
    s->done++;
    if (r->error && r->status != HOCKET_ECANCELLED)
        fprintf(stderr, "%s\n", r->error->message);
}

static void on_call(hocket_host *h, const struct hocket_tool_call *c, void *ud)
{
    struct seen *s = ud;
    (void) h;
    (void) c;
    s->waits++;
}

struct situation {
    const char *name, *script, *options;
    bool ends, offered; /* offered: somebody was attached, and has left */
    int wakes;          /* of a kept run: how often its store may look for what others wrote; -1: in
                         * memory, where nobody else can write: never */
};

#define SERVED                                                                                     \
    "local hocket = require 'hocket'\n"                                                            \
    "local served = hocket.sim.serve({ reply = function(q)\n"                                      \
    "  if q.tools.look then return { calls = { { name = 'look', arguments = {} } } } end\n"        \
    "  return 'I see' end })\n"                                                                    \
    "hocket.provider('own', { protocol = 'openai_chat', base = served.base })\n"                   \
    "local function agent(tools)\n"                                                                \
    "  return hocket.agent { name = 'a', model = 'own/m', prompt = 'p', timeout = 1, tools = "     \
    "tools } end\n"

static const struct situation situations[] = {
    { "before the first run", NULL, NULL, false, false, 0 },
    { "after the last run", SERVED "return hocket.run(agent(), 'x', { timeout = 1 })",
        "{\"timeout\":1}", true, false, 0 },
    { "after the last run of a host whose model is simulated",
        "local hocket = require 'hocket'\n"
        "return hocket.run(hocket.agent { name = 'a', prompt = 'p', model = 'sim/default' }, 'x')",
        NULL, true, false, 0 },
    { "after the last run of a host that is offered",
        SERVED "return hocket.run(agent(), 'x', { timeout = 1 })", "{\"timeout\":1}", true, true,
        0 },
    { "while a conversation waits",
        SERVED "return { chat = function(text) return hocket.run(agent(), text) end }",
        "{\"conversation\":true,\"timeout\":1000}", false, false, 0 },
    { "while a kept conversation waits",
        SERVED "return { chat = function(text) return hocket.run(agent(), text) end }",
        "{\"conversation\":true,\"timeout\":1000}", false, false, MEASURE_MS / 1000 + 1 },
    { "while a conversation that is kept in memory waits",
        SERVED "return { chat = function(text) return hocket.run(agent(), text) end }",
        "{\"conversation\":true,\"timeout\":1000}", false, false, -1 },
    { "while a question is open", "return require('hocket.ask')('why?')", "{\"interactive\":true}",
        false, false, 0 },
    { "while a tool of the program works",
        SERVED
        "return hocket.run(hocket.agent { name = 'a', prompt = 'p', model = 'own/m', tools = "
        "{ 'look' } }, 'look')",
        NULL, false, false, 0 },
    { "while a script sleeps",
        "require('hocket').events.emit('question_asked', {}) require('hocket').flow.sleep(1000)",
        NULL, false, false, 0 },
};

static const char *rmdir_at_end;

static void turn(hocket_host *h, uv_loop_t *loop, int ms)
{
    if (loop)
        turn_uv(h, loop, now_ms() + ms);
    else
        hocket_wait(h, ms);
}

static void begin(hocket_host *h, uv_loop_t *loop, const struct situation *s, struct seen *seen)
{
    struct hocket_error e = { 0 };
    struct hocket_tool_spec look = {
        .size = sizeof(look), .name = "look", .description = "Looks."
    };
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = s->script ? file_with(s->script) : NULL,
        .input = "one",
        .options = s->options };
    if (!s->script)
        return;
    must(hocket_tool_add(h, &look, on_call, NULL, seen, &e) == 0, e.message);
    must(hocket_run_start(h, &spec, NULL, on_event, on_done, seen, &e) == 0, e.message);
    for (int i = 0; i < 2000 && !(s->ends ? seen->done : seen->waits); i++)
        turn(h, loop, 10);
    must(seen->done == s->ends && seen->waits == !s->ends, s->name);
}

/* Somebody looks at the runs, and goes. */
static void attach_once(hocket_host *h, uv_loop_t *loop, const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    char answer[4096];
    size_t n = 0;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    strcpy(a.sun_path, path);
    must(connect(fd, (struct sockaddr *) &a, sizeof(a)) == 0, path);
    must(write(fd, "{\"id\":1,\"command\":\"runs\"}\n", 27) == 27, path);
    for (int i = 0; i < 500; i++) {
        turn(h, loop, 10);
        ssize_t got = read(fd, answer + n, sizeof(answer) - n - 1);
        n += got > 0 ? (size_t) got : 0;
        answer[n] = 0;
        if (strstr(answer, "\"ok\":true"))
            break;
    }
    must(strstr(answer, "\"ok\":true"), "no answer");
    close(fd);
}

static void offer(hocket_host *h, uv_loop_t *loop)
{
    static char dir[TEST_TEMP_PATH];
    char path[TEST_TEMP_PATH + 8];
    struct hocket_error e;
    must(test_temp_dir(dir), dir);
    snprintf(path, sizeof(path), "%s/host", dir);
    must(hocket_offer(h, path, NULL, &e) == 0, e.message);
    attach_once(h, loop, path);
    rmdir_at_end = dir;
}

/* How often the threads beside this one went to sleep since the last call. */
static int switches_of_others(void)
{
    static int before;
    int all = 0, n;
    char path[300], line[256];
    DIR *d = opendir("/proc/self/task");
    must(d, path);
    for (struct dirent *entry; (entry = readdir(d));) {
        snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
        int thread = atoi(entry->d_name); /* of "." and "..": 0 */
        FILE *f = thread == 0 || thread == getpid() ? NULL : fopen(path, "r");
        while (f && fgets(line, sizeof(line), f))
            all += sscanf(line, "voluntary_ctxt_switches: %d", &n) == 1 ? n : 0;
        if (f)
            fclose(f);
    }
    closedir(d);
    n = all - before;
    before = all;
    return n;
}

/* Until there was nothing to do for a while, and the pump at its end has found no garbage to owe for. */
static void settle(const struct loop *l, hocket_host *h, uv_loop_t *loop)
{
    for (int i = 0; i < SETTLES; i++)
        if (l->turn(h, loop, now_ms() + SETTLE_MS) == 0 && hocket_backend_timeout(h) != 0)
            return;
}

static int measure(const struct loop *l, const struct situation *s)
{
    struct seen seen = { 0 };
    uv_loop_t loop;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.thread = l->thread;
    o.wakeup_cb = ring;
    if (l->foreign) {
        uv_loop_init(&loop);
        o.uv_loop = &loop;
    }
    char dir[TEST_TEMP_PATH], store[TEST_TEMP_PATH + 16];
    if (s->wakes > 0) {
        must(test_temp_dir(dir), "no directory");
        snprintf(store, sizeof(store), "%s/runs.db", dir);
        o.store = store;
    }
    if (s->wakes < 0)
        o.store = "memory";
    hocket_host *h = host_with(NULL, &o);
    begin(h, o.uv_loop, s, &seen);
    if (s->offered)
        offer(h, o.uv_loop);
    if (s->wakes > 0)
        l->turn(h, o.uv_loop, now_ms() + 3 * MEASURE_MS);
    settle(l, h, o.uv_loop);
    switches_of_others();
    int turns = l->turn(h, o.uv_loop, now_ms() + MEASURE_MS);
    int others = switches_of_others();
    /* nothing to wait for, though connections are open that would be closed after a while */
    if (s->ends && !s->offered && !l->foreign)
        must(hocket_backend_timeout(h) == -1, "a timeout after the last run");
    hocket_close(h, NULL, NULL);
    if (l->foreign) {
        uv_run(&loop, UV_RUN_DEFAULT);
        must(uv_loop_close(&loop) == 0, "something is left in the loop");
    }
    drop_file(NULL);
    if (rmdir_at_end)
        must(rmdir(rmdir_at_end) == 0, "the socket is left");
    if (s->wakes > 0)
        must(unlink(store) == 0 && rmdir(dir) == 0, "something is left of the store");
    /* the thread that wakes hocket_wait in the end is one of the others */
    int most = (s->wakes > 0 ? s->wakes : 0) + (l->turn == turn_wait ? 2 : 0);
    if (turns > 0 || others > most)
        fprintf(stderr, "%s, %s: %d turns of its loop, %d wake-ups of other threads in %d s\n",
            l->name, s->name, turns, others, MEASURE_MS / 1000);
    return turns > 0 || others > most;
}

static void test_idle(void **state)
{
    enum { LOOPS = sizeof(loops) / sizeof(loops[0]) };
    const struct situation *s = *state;
    pid_t children[LOOPS];
    int spun = 0;
    for (int i = 0; i < LOOPS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(measure(&loops[i], s));
    }
    for (int i = 0; i < LOOPS; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        spun += status != 0;
    }
    assert_int_equal(spun, 0);
}

int main(void)
{
    enum { N = sizeof(situations) / sizeof(situations[0]) };
    struct CMUnitTest tests[N];
    for (int i = 0; i < N; i++)
        tests[i] = (struct CMUnitTest){ situations[i].name, test_idle, NULL, NULL,
            (void *) (uintptr_t) &situations[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
