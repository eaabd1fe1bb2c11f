/* Thread mode: model calls on the relay's thread, callbacks on the host's. */

#include <hocket/hocket.h>

#include "support/alloc.h"
#include "support/fork.h"
#include "support/server.h"
#include "support/temp.h"
#include "support/tsan.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <uv.h>

/* The allocator of a test is called from both threads. */
struct shared_alloc {
    pthread_mutex_t lock;
    struct test_alloc t;
};

static void *locked(void *ud, void *p, size_t old_size, size_t new_size)
{
    struct shared_alloc *s = ud;
    pthread_mutex_lock(&s->lock);
    void *q = s->t.a.realloc_cb(s->t.a.ud, p, old_size, new_size);
    pthread_mutex_unlock(&s->lock);
    return q;
}

static void shared_alloc_init(struct shared_alloc *s)
{
    pthread_mutex_init(&s->lock, NULL);
    test_alloc_init(&s->t);
}

struct seen {
    int done, status;
    pthread_t thread;
    bool other_thread;
    char text[256], error[512];
};

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct seen *s = ud;
    (void) h;
    (void) run;
    (void) e;
    s->other_thread |= !pthread_equal(s->thread, pthread_self());
}

static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct seen *s = ud;
    (void) h;
    (void) run;
    s->done++;
    s->status = r->status;
    s->other_thread |= !pthread_equal(s->thread, pthread_self());
    snprintf(s->text, sizeof(s->text), "%s", r->text);
    snprintf(s->error, sizeof(s->error), "%s", r->error ? r->error->message : "");
}

#define SERVE                                                                                      \
    "local hocket = require 'hocket'\n"                                                            \
    "local served = hocket.sim.serve({ fragment = 3, reply = function(q)\n"                        \
    "  if q.last.text == 'never' then hocket.flow.sleep(1000) end\n"                               \
    "  if q.last.text == 'wrong' then return { status = 400, error = 'no such thing' } end\n"      \
    "  if q.last.text == 'cut' then return { text = ('x'):rep(200), fault = 'cut' } end\n"         \
    "  return 'answer to ' .. q.last.text end })\n"                                                \
    "hocket.provider('own', { protocol = 'openai_chat', base = served.base })\n"                   \
    "local a = hocket.agent { name = 'a', model = 'own/m', prompt = 'p', retries = 0 }\n"

static char path[TEST_TEMP_PATH];

static const char *script(const char *text)
{
    assert_true(test_temp_file(path, ".lua", text));
    return path;
}

static int threads(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n - 2;
}

static hocket_host *open_host(struct shared_alloc *s, uv_loop_t *loop)
{
    struct hocket_error e;
    hocket_host *h = NULL;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.thread = true;
    o.uv_loop = loop;
    if (s) {
        shared_alloc_init(s);
        o.allocator = (struct hocket_allocator){ locked, s };
    }
    assert_int_equal(hocket_open(&o, &h, &e), 0);
    assert_int_equal(hocket_serve_attach(h, &e), 0);
    return h;
}

static void start(hocket_host *h, const char *text, struct seen *s)
{
    struct hocket_error e;
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = script(text), .input = "in" };
    *s = (struct seen){ .status = 1, .thread = pthread_self() };
    assert_int_equal(hocket_run_start(h, &spec, NULL, on_event, on_done, s, &e), 0);
}

static void pump(hocket_host *h, struct seen *s)
{
    for (int i = 0; i < 20000 && !s->done; i++) {
        hocket_pump(h, 500);
        nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
    }
    assert_int_equal(s->done, 1);
    assert_false(s->other_thread);
    unlink(path);
}

static void test_calls(void **state)
{
    (void) state;
    struct shared_alloc a;
    struct seen s;
    hocket_host *h = open_host(&a, NULL);
    start(h,
        SERVE "local text, n, bad = {}, 0, {}\n"
              "local list = {} for i = 1, 30 do list[i] = i end\n"
              "local out = hocket.flow.map(list, function(i)\n"
              "  local reply, err = hocket.run(a, 'q' .. i, { on_delta = function(k, t)\n"
              "    text[i] = (text[i] or '') .. t n = n + 1 end })\n"
              "  return assert(reply, err).text end)\n"
              "for i = 1, 30 do assert(out[i] == 'answer to q' .. i and text[i] == out[i]) end\n"
              "local _, wrong = hocket.run(a, 'wrong')\n"
              "local _, cut = hocket.run(a, 'cut')\n"
              "return n .. wrong.code .. wrong.message .. cut.code",
        &s);
    pump(h, &s);
    assert_string_equal(s.error, "");
    assert_non_null(strstr(s.text, "no such thing"));
    assert_non_null(strstr(s.text, "truncated"));
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a.t);
}

static sem_t woken;
static pthread_t host_thread;
static bool woken_by_itself;

static void on_wakeup(void *ud)
{
    (void) ud;
    woken_by_itself |= pthread_equal(host_thread, pthread_self());
    sem_post(&woken);
}

/* Sleeps until it is woken, or for at most so long; not longer than anything may take. */
static void sleep_until_woken(int ms)
{
    struct timespec until;
    ms = ms < 0 || ms > 5000 ? 5000 : ms;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long) (ms % 1000) * 1000000;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (sem_timedwait(&woken, &until) < 0 && errno == EINTR) {
    }
}

/* A program that watches no descriptor: it pumps when it is told to, and not for nothing. */
static void test_wakeup(void **state)
{
    (void) state;
    static const struct test_step answer[] = {
        TEST_PAUSE(50),
        TEST_SEND("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
                  "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"good \"}}]}\n\n"),
        TEST_PAUSE(50),
        TEST_SEND("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"day\"},"
                  "\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"),
        TEST_THEN(TEST_CLOSE),
    };
    struct test_server *server = test_server_new();
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct hocket_error e;
    struct seen s;
    hocket_host *h;
    char text[512];
    int pumps = 0;
    sem_init(&woken, 0, 0);
    host_thread = pthread_self();
    woken_by_itself = false;
    test_server_on(server, "/v1/chat/completions", TEST_STEPS(answer));
    snprintf(text, sizeof(text),
        "local hocket = require 'hocket'\n"
        "hocket.provider('own', { protocol = 'openai_chat', base = '%s' })\n"
        "return hocket.run(hocket.agent { name = 'a', model = 'own/m', prompt = 'p' }, 'q').text",
        test_server_url(server, "/v1"));
    o.thread = true;
    o.wakeup_cb = on_wakeup;
    assert_int_equal(hocket_open(&o, &h, &e), 0);
    start(h, text, &s);
    for (; !s.done && pumps < 1000; pumps++) {
        hocket_pump(h, 1000);
        if (!s.done)
            sleep_until_woken(hocket_backend_timeout(h));
    }
    unlink(path);
    assert_string_equal(s.error, "");
    assert_string_equal(s.text, "good day");
    assert_in_range(pumps, 3, 100);
    assert_false(woken_by_itself);
    hocket_close(h, NULL, NULL);
    test_server_free(server);
    sem_destroy(&woken);
}

static void test_cancel(void **state)
{
    (void) state;
    struct shared_alloc a;
    struct seen s;
    hocket_host *h = open_host(&a, NULL);
    start(h,
        SERVE "local reply, err = hocket.flow.timeout(0.05, function() return hocket.run(a, "
              "'never') end)\n"
              "assert(not reply and err.code == 'timeout')\n"
              "for i = 1, 20 do hocket.flow.timeout(0.0005 * i, function() return hocket.run(a, "
              "'q' .. i) end) end\n"
              "return assert(hocket.run(a, 'after')).text",
        &s);
    pump(h, &s);
    assert_string_equal(s.text, "answer to after");
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a.t);
}

static void test_close_in_flight(void **state)
{
    (void) state;
    for (int rounds = 0; rounds < 40; rounds++) {
        struct shared_alloc a;
        struct seen s;
        hocket_host *h = open_host(&a, NULL);
        start(h,
            SERVE "hocket.flow.map({1,2,3,4,5}, function(i) return hocket.run(a, i < 4 and 'q' or "
                  "'never') end)",
            &s);
        for (int i = 0; i < rounds && !s.done; i++)
            hocket_wait(h, 1);
        hocket_close(h, NULL, NULL);
        unlink(path);
        assert_int_equal(s.done, 1);
        assert_int_equal(s.status, HOCKET_ECANCELLED);
        test_alloc_check(&a.t);
    }
}

static void test_lazy(void **state)
{
    (void) state;
    struct seen s;
    int before = threads();
    hocket_host *h = open_host(NULL, NULL);
    start(h, "require('hocket').flow.sleep(0.01) return 'no call'", &s);
    pump(h, &s);
    assert_int_equal(threads(), before);
    start(h, SERVE "return hocket.run(a, 'one')", &s);
    pump(h, &s);
    assert_int_equal(threads(), before + 1);
    hocket_close(h, NULL, NULL);
    assert_int_equal(threads(), before);
}

static void on_closed(void *ud)
{
    *(bool *) ud = true;
}

static void test_foreign_loop(void **state)
{
    (void) state;
    struct shared_alloc a;
    struct seen s;
    bool closed = false;
    uv_loop_t loop;
    uv_loop_init(&loop);
    hocket_host *h = open_host(&a, &loop);
    start(h, SERVE "local text = hocket.run(a, 'loop').text served.close() return text", &s);
    uv_run(
        &loop, UV_RUN_DEFAULT); /* a call under way keeps the loop alive, an idle thread does not */
    unlink(path);
    assert_string_equal(s.text, "answer to loop");
    hocket_close(h, on_closed, &closed);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_true(closed);
    assert_int_equal(uv_loop_close(&loop), 0);
    test_alloc_check(&a.t);
}

static int in_child(void (*work)(hocket_host *h), hocket_host *h)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        work(h);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void work_in_child(hocket_host *h)
{
    struct seen s;
    start(h, SERVE "return hocket.run(a, 'child')", &s);
    pump(h, &s);
    if (strcmp(s.text, "answer to child") != 0)
        _exit(1);
    hocket_close(h, NULL, NULL);
}

static void refuse_in_child(hocket_host *h)
{
    struct hocket_error e = { 0 };
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = "x.lua" };
    if (hocket_pump(h, 1000) != HOCKET_ESTATE || hocket_wait(h, 1) != HOCKET_ESTATE
        || hocket_run_start(h, &spec, NULL, NULL, NULL, NULL, &e) != HOCKET_ESTATE
        || !strstr(e.message, "forked"))
        _exit(2);
    hocket_close(h, NULL, NULL);
}

static void test_fork(void **state)
{
    (void) state;
    test_fork_noticed_or_skip();
    struct seen s;
    hocket_host *h = open_host(NULL, NULL);
    assert_int_equal(in_child(work_in_child, h), 0); /* opened before the fork, used after it */
    start(h, SERVE "return hocket.run(a, 'parent')", &s);
    pump(h, &s);
    assert_int_equal(in_child(refuse_in_child, h), 0);
    start(h, SERVE "return hocket.run(a, 'parent again')", &s);
    pump(h, &s);
    assert_string_equal(s.text, "answer to parent again");
    hocket_close(h, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_wakeup),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_close_in_flight),
        cmocka_unit_test(test_lazy),
        cmocka_unit_test(test_foreign_loop),
        cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
