/* The public C interface: life, runs, cancelling, loops that belong to others. */

#include <hocket/hocket.h>

#include "support/alloc.h"
#include "support/emulated.h"
#include "support/temp.h"

#ifndef _WIN32
#include <poll.h>
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <uv.h>

struct seen {
    int done, status;
    uint64_t last_seq;
    bool gap, finished_last;
    int events;
    char text[256], error[512];
};

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct seen *s = ud;
    (void) h;
    (void) run;
    s->events++;
    s->gap |= e->seq != s->last_seq + 1;
    s->last_seq = e->seq;
    s->finished_last = strcmp(e->type, "workflow_finished") == 0;
}

static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct seen *s = ud;
    (void) h;
    (void) run;
    s->done++;
    s->status = r->status;
    snprintf(s->text, sizeof(s->text), "%s", r->text);
    snprintf(s->error, sizeof(s->error), "%s", r->error ? r->error->message : "");
}

/* Answers every question with its own id, from inside the callback. */
static void on_question(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    on_event(h, run, e, ud);
    struct hocket_error err;
    hocket_json *event = strcmp(e->type, "question_asked") == 0
                             ? hocket_json_parse(e->json, e->json_len, &err)
                             : NULL;
    const char *id = hocket_json_text(hocket_json_get(event, "id"), NULL, NULL);
    if (id) {
        assert_int_equal(hocket_run_answer(h, run, "q99", "no", 0, &err), HOCKET_ENOTFOUND);
        assert_int_equal(hocket_run_answer(h, run + 1, id, "no", 0, &err), HOCKET_ENOTFOUND);
        assert_int_equal(hocket_run_answer(h, run, id, id, 0, &err), 0);
        assert_int_equal(hocket_run_answer(h, run, id, "again", 0, &err), HOCKET_ENOTFOUND);
    }
    hocket_json_free(event);
}

/* Answers approvals in the other order: the second with words that say nothing, then with a no. */
static void on_approval(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct hocket_error err;
    on_event(h, run, e, ud);
    if (strcmp(e->type, "approval_requested") != 0 || !memmem(e->json, e->json_len, "\"a2\"", 4))
        return;
    assert_int_equal(hocket_run_answer(h, run, "a2", "perhaps", 0, &err), HOCKET_EINVAL);
    assert_non_null(strstr(err.message, "allow, deny"));
    assert_int_equal(hocket_run_answer(h, run, "a2", "deny too risky", 0, &err), 0);
    assert_int_equal(hocket_run_answer(h, run, "a1", "", 0, &err), 0);
}

/* Scripts in files of their own, removed at the end of the test. */
static char script_paths[8][TEST_TEMP_PATH];
static size_t script_count;

static const char *script(const char *text)
{
    assert_true(script_count < sizeof(script_paths) / sizeof(script_paths[0]));
    char *path = script_paths[script_count++];
    assert_true(test_temp_file(path, ".lua", text));
    return path;
}

static int drop_script(void **state)
{
    (void) state;
    while (script_count > 0)
        unlink(script_paths[--script_count]);
    return 0;
}

static hocket_host *open_host(struct test_alloc *t, struct hocket_options *o)
{
    struct hocket_error e;
    hocket_host *h = NULL;
    if (t)
        o->allocator = t->a;
    int rc = hocket_open(o, &h, &e);
    if (rc < 0)
        print_message("%s\n", e.message);
    assert_int_equal(rc, 0);
    assert_int_equal(hocket_serve_attach(h, &e), 0);
    return h;
}

static uint64_t start(hocket_host *h, const char *text, struct seen *s)
{
    struct hocket_error e;
    uint64_t id = 0;
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = script(text), .input = "in" };
    assert_int_equal(hocket_run_start(h, &spec, &id, on_event, on_done, s, &e), 0);
    assert_int_equal(s->done, 0);
    return id;
}

/* ---- Life ------------------------------------------------------------------------ */

static void test_open_and_close(void **state)
{
    (void) state;
    struct test_alloc t;
    test_alloc_init(&t);
    for (int i = 0; i < 20; i++) {
        struct hocket_options o;
        hocket_options_init(&o, sizeof(o));
        hocket_close(open_host(&t, &o), NULL, NULL);
    }
    test_alloc_check(&t);
}

static void test_bad_options(void **state)
{
    (void) state;
    struct hocket_error e;
    hocket_host *h = NULL;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.size--;
    assert_int_equal(hocket_open(&o, &h, &e), HOCKET_EINVAL);
    assert_null(h);
    hocket_close(NULL, NULL, NULL);
}

static void try_open(struct test_alloc *t, void *ud)
{
    (void) ud;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct hocket_error e;
    hocket_host *h = NULL;
    o.allocator = t->a;
    int rc = hocket_open(&o, &h, &e);
    if (!t->failed)
        assert_int_equal(rc, 0);
    if (rc == 0)
        hocket_close(h, NULL, NULL);
    else
        assert_null(h);
}

static void test_out_of_memory(void **state)
{
    (void) state;
    assert_true(test_alloc_each(try_open, NULL) > 5);
}

/* ---- Runs -------------------------------------------------------------------------- */

static void test_run(void **state)
{
    (void) state;
    struct test_alloc t;
    struct seen s = { 0 };
    test_alloc_init(&t);
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = open_host(&t, &o);
    start(h, "require('hocket').flow.sleep(0.01) return 'got ' .. ...", &s);
    while (hocket_wait(h, -1) > 0) {
    }
    assert_int_equal(s.done, 1);
    assert_int_equal(s.status, HOCKET_OK);
    assert_string_equal(s.text, "got in");
    assert_false(s.gap);
    assert_true(s.finished_last);
    hocket_close(h, NULL, NULL);
    test_alloc_check(&t);
}

struct printed {
    char text[64];
    bool told; /* its event had come before */
};

static void on_output(const char *text, size_t n, void *ud)
{
    struct printed *p = ud;
    snprintf(p->text + strlen(p->text), sizeof(p->text) - strlen(p->text), "%.*s", (int) n, text);
}

static void on_output_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct printed *p = ud;
    (void) h;
    (void) run;
    p->told |= strcmp(e->type, "output") == 0;
    assert_true(!p->told || strcmp(p->text, "a\t1\nemitted\n") == 0);
}

/* A program gets what scripts print at once, before the event. */
static void test_output(void **state)
{
    (void) state;
    struct hocket_options o;
    struct hocket_error err;
    struct printed p = { 0 };
    hocket_options_init(&o, sizeof(o));
    o.output_cb = on_output;
    o.output_ud = &p;
    hocket_host *h = open_host(NULL, &o);
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target =
            script("print('a', 1) require('hocket').events.emit('output', {text = 'emitted'})") };
    uint64_t run;
    assert_int_equal(hocket_run_start(h, &spec, &run, on_output_event, NULL, &p, &err), 0);
    while (hocket_pump(h, 0) > 0)
        ;
    assert_true(p.told);
    hocket_close(h, NULL, NULL);
}

static void test_answer(void **state)
{
    (void) state;
    struct test_alloc t;
    test_alloc_init(&t);
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = open_host(&t, &o);
    struct seen s = { 0 };
    struct hocket_error e;
    uint64_t id = 0;
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .options = "{\"interactive\":true}",
        .target = script("local ask = require('hocket.ask')\n"
                         "return ask('which?') .. ask{'how?', 'why?'}") };
    assert_int_equal(hocket_run_start(h, &spec, &id, on_question, on_done, &s, &e), 0);
    assert_int_equal(hocket_run_answer(h, id, "q1", "too early", 0, &e), HOCKET_ENOTFOUND);
    assert_int_equal(hocket_run_answer(h, id, NULL, "", 0, &e), HOCKET_EINVAL);
    while (!s.done)
        hocket_wait(h, 1000);
    assert_string_equal(s.text, "q1q2");
    assert_int_equal(hocket_run_answer(h, id, "q1", "too late", 0, &e), HOCKET_ENOTFOUND);
    hocket_close(h, NULL, NULL);
    test_alloc_check(&t);
}

static void test_approvals(void **state)
{
    (void) state;
    struct seen s = { 0 };
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = open_host(NULL, &o);
    struct hocket_error e;
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .options = "{\"interactive\":true}",
        .target = script("local hocket = require 'hocket'\n"
                         "local out = hocket.flow.map({ 'one', 'two' }, function(name)\n"
                         "  return table.concat({ hocket.ask.approval { agent = 'x', tool = name, "
                         "arguments = {} } }, ': ')\n"
                         "end)\n"
                         "return table.concat(out, '; ')") };
    assert_int_equal(hocket_run_start(h, &spec, NULL, on_approval, on_done, &s, &e), 0);
    while (!s.done)
        hocket_wait(h, 1000);
    assert_string_equal(s.text, "deny: it was not approved: the question was not answered; "
                                "deny: the user refused: too risky");
    hocket_close(h, NULL, NULL);
}

/* A conversation: said, interrupted, changed, gone on with, ended. */
static void on_talk(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct hocket_error err;
    on_event(h, run, e, ud);
    if (strcmp(e->type, "input_requested") == 0) {
        bool first = memmem(e->json, e->json_len, "\"i1\"", 4) != NULL;
        assert_int_equal(hocket_run_interrupt(h, run, &err), HOCKET_ESTATE);
        assert_int_equal(hocket_run_change(h, run, "{\"target\":1}", &err), HOCKET_EINVAL);
        assert_int_equal(hocket_run_change(h, run, "nonsense", &err), HOCKET_EPARSE);
        assert_int_equal(hocket_run_change(h, run, "{\"max_turns\":3}", &err), 0);
        assert_int_equal(
            hocket_run_answer(h, run, first ? "i1" : "i2", first ? "two" : "", 0, &err), 0);
    } else if (strcmp(e->type, "slow_now") == 0) {
        assert_int_equal(hocket_run_interrupt(h, run, &err), 0);
    }
}

static void test_conversation(void **state)
{
    (void) state;
    struct seen s = { 0 };
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = open_host(NULL, &o);
    struct hocket_error e;
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .input = "one",
        .options = "{\"conversation\":true}",
        .target = script(
            "local hocket = require 'hocket'\n"
            "return { chat = function(text)\n"
            "  if text == 'one' then hocket.events.emit('slow_now', {}) hocket.flow.sleep(60) end\n"
            "  return 'heard ' .. text\n"
            "end }") };
    assert_int_equal(hocket_run_start(h, &spec, NULL, on_talk, on_done, &s, &e), 0);
    while (!s.done)
        hocket_wait(h, 1000);
    assert_int_equal(s.status, 0);
    assert_string_equal(s.text, "heard two");
    assert_int_equal(hocket_run_interrupt(h, 99, &e), HOCKET_ENOTFOUND);
    hocket_close(h, NULL, NULL);
}

static void test_failing_run(void **state)
{
    (void) state;
    struct seen s = { 0 };
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = open_host(NULL, &o);
    start(h, "error('no luck')", &s);
    while (hocket_wait(h, -1) > 0) {
    }
    assert_int_equal(s.status, HOCKET_ELUA);
    assert_non_null(strstr(s.error, "no luck"));
    assert_non_null(strstr(s.error, ":1:"));
    assert_true(s.finished_last);
    hocket_close(h, NULL, NULL);
}

static void test_start_fails(void **state)
{
    (void) state;
    struct seen s = { 0 };
    struct hocket_error e;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = open_host(NULL, &o);
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = "x.lua", .options = "{not json"
    };
    assert_int_equal(hocket_run_start(h, &spec, NULL, on_event, on_done, &s, &e), HOCKET_EPARSE);
    spec.options = "{}, \"target\": \"y\"";
    assert_int_equal(hocket_run_start(h, &spec, NULL, on_event, on_done, &s, &e), HOCKET_EPARSE);
    spec.options = "[]";
    assert_int_equal(hocket_run_start(h, &spec, NULL, on_event, on_done, &s, &e), HOCKET_EINVAL);
    assert_int_equal(hocket_pump(h, 0), 0);
    assert_int_equal(s.done, 0);
    assert_int_equal(s.events, 0);
    hocket_close(h, NULL, NULL);
}

static void test_cancel(void **state)
{
    (void) state;
    struct test_alloc t;
    struct seen s = { 0 };
    test_alloc_init(&t);
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = open_host(&t, &o);
    uint64_t id = start(h, "require('hocket').flow.sleep(1000)", &s);
    assert_int_equal(hocket_pump(h, 1000), 1);
    assert_int_equal(hocket_run_cancel(h, id), 0);
    assert_int_equal(hocket_run_cancel(h, 999), HOCKET_ENOTFOUND);
    while (hocket_pump(h, 1000) > 0) {
    }
    assert_int_equal(s.done, 1);
    assert_int_equal(s.status, HOCKET_ECANCELLED);
    assert_true(s.finished_last);
    hocket_close(h, NULL, NULL);
    test_alloc_check(&t);
}

/* Cancelled, or closed with its host, before it has begun: its events say so all the same, and the last one is the last. */
static void test_cancel_before_it_begins(void **state)
{
    (void) state;
    for (int closes = 0; closes <= 1; closes++) {
        struct test_alloc t;
        struct seen s = { 0 };
        test_alloc_init(&t);
        struct hocket_options o;
        hocket_options_init(&o, sizeof(o));
        hocket_host *h = open_host(&t, &o);
        uint64_t id = start(h, "return 'x'", &s);
        if (!closes)
            assert_int_equal(hocket_run_cancel(h, id), 0);
        while (!closes && hocket_pump(h, 1000) > 0) {
        }
        if (closes)
            hocket_close(h, NULL, NULL);
        assert_int_equal(s.done, 1);
        assert_int_equal(s.status, HOCKET_ECANCELLED);
        assert_int_equal(s.events, 2);
        assert_true(s.finished_last);
        if (!closes)
            hocket_close(h, NULL, NULL);
        test_alloc_check(&t);
    }
}

/* However long the host was at something else before: a wait ends when it said, and not when something
 * happens in the run. */
static void test_wait_ends(void **state)
{
    struct test_alloc t;
    struct seen s = { 0 };
    test_alloc_init(&t);
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = open_host(&t, &o);
    start(h, "require('hocket').flow.sleep(5)", &s);
    for (int i = 0; i < 3; i++)
        hocket_wait(h, 1);
    uint64_t begun = uv_hrtime();
    for (int i = 0; i < 3; i++) {
        nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
        hocket_wait(h, 1);
    }
    assert_true(uv_hrtime() - begun < UINT64_C(4000000000));
    assert_int_equal(s.done, 0);
    hocket_close(h, NULL, NULL);
    test_alloc_check(&t);
}

/* Stopped before it has begun, and while it goes on: a script sees it, and ends as it likes. */
static void test_stop(void **state)
{
    (void) state;
    static const char waits[] = "local hocket = require 'hocket' for i = 1, 500 do\n"
                                "if hocket.this_run().stopped then return 'stopped in order' end\n"
                                "hocket.flow.sleep(0.005) end";
    for (int early = 0; early <= 1; early++) {
        struct test_alloc t;
        struct seen s = { 0 };
        test_alloc_init(&t);
        struct hocket_options o;
        hocket_options_init(&o, sizeof(o));
        hocket_host *h = open_host(&t, &o);
        uint64_t id = start(h, waits, &s);
        if (!early)
            assert_int_equal(hocket_pump(h, 1000), 1);
        assert_int_equal(hocket_run_stop(h, id), 0);
        assert_int_equal(hocket_run_stop(h, id), 0); /* once more is nothing */
        assert_int_equal(hocket_run_stop(h, 999), HOCKET_ENOTFOUND);
        while (hocket_wait(h, -1) > 0) {
        }
        assert_int_equal(s.done, 1);
        assert_int_equal(s.status, HOCKET_OK);
        assert_string_equal(s.text, "stopped in order");
        assert_true(s.finished_last);
        hocket_close(h, NULL, NULL);
        test_alloc_check(&t);
    }
}

/* A model call is under way on a socket when the host is closed. */
static void test_close_in_flight(void **state)
{
    (void) state;
    struct test_alloc t;
    struct seen s = { 0 };
    test_alloc_init(&t);
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = open_host(&t, &o);
    start(h,
        "local hocket = require 'hocket'\n"
        "local served = hocket.sim.serve({ reply = function() hocket.flow.sleep(1000) end })\n"
        "hocket.provider('slow', { protocol = 'openai_chat', base = served.base })\n"
        "return hocket.run(hocket.agent { name = 'a', model = 'slow/m', prompt = 'p' }, 'hello')",
        &s);
    for (int i = 0; i < 50; i++)
        hocket_wait(h, 2);
    assert_int_equal(s.done, 0);
    hocket_close(h, NULL, NULL);
    assert_int_equal(s.done, 1);
    assert_int_equal(s.status, HOCKET_ECANCELLED);
    test_alloc_check(&t);
}

/* ---- Loops of others ------------------------------------------------------------------ */

static void test_foreign_poll(void **state)
{
    (void) state;
    struct seen s = { 0 };
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = open_host(NULL, &o);
    start(h, "require('hocket').flow.sleep(0.02) return 'polled'", &s);
    for (int rounds = 0; hocket_pump(h, 1000) > 0 && rounds < 1000; rounds++) {
#ifdef _WIN32
        DWORD limit = (DWORD) hocket_backend_timeout(h);
        assert_int_not_equal(WaitForSingleObject(hocket_backend_handle(h), limit), WAIT_FAILED);
#else
        struct pollfd p = { .fd = hocket_backend_fd(h), .events = POLLIN };
        poll(&p, 1, hocket_backend_timeout(h));
        assert_null(hocket_backend_handle(h));
#endif
    }
    assert_string_equal(s.text, "polled");
    hocket_close(h, NULL, NULL);
}

static void on_closed(void *ud)
{
    *(bool *) ud = true;
}

static void test_foreign_loop(void **state)
{
    (void) state;
    struct test_alloc t;
    struct seen s = { 0 };
    bool closed = false;
    uv_loop_t loop;
    test_alloc_init(&t);
    uv_loop_init(&loop);
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.uv_loop = &loop;
    hocket_host *h = open_host(&t, &o);
    start(h, "require('hocket').flow.sleep(0.01) return 'on your loop'", &s);
    uv_run(&loop, UV_RUN_DEFAULT); /* ends when the run has: an idle host keeps no loop alive */
    assert_string_equal(s.text, "on your loop");
    hocket_close(h, on_closed, &closed);
    assert_false(closed);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_true(closed);
    assert_int_equal(uv_loop_close(&loop), 0);
    test_alloc_check(&t);
}

static void count_turn(uv_check_t *check)
{
    ++*(int *) check->data;
}

static size_t lua_bytes(hocket_host *h)
{
    struct hocket_host_stats s = { .size = sizeof(s) };
    hocket_stats(h, &s);
    return s.lua_bytes;
}

static bool has_curl(void)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !found && fgets(line, sizeof(line), maps))
        found = strstr(line, "/libcurl") != NULL;
    if (maps)
        fclose(maps);
    return found || !maps;
}

/* Also inside of a callback. */
static void on_event_prepare(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct hocket_error err;
    on_event(h, run, e, ud);
    assert_int_equal(hocket_prepare(h, &err), 0);
}

/* What the first run would read is there, once, and no pump reads it. */
static void test_prepare(void **state)
{
    (void) state;
    struct seen s = { 0 };
    struct hocket_error e;
    struct hocket_options o;
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = script("return 'done'") };
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = open_host(NULL, &o);
    size_t opened = lua_bytes(h);
    assert_int_equal(hocket_prepare(NULL, &e), HOCKET_EINVAL);
    assert_int_equal(hocket_prepare(h, &e), 0);
    size_t prepared = lua_bytes(h);
    assert_true(prepared > opened + 500000);
    assert_true(HOCKET_STATIC || has_curl());
    assert_int_equal(hocket_prepare(h, &e), 0);
    assert_true(lua_bytes(h) < prepared + 10000);
    assert_int_equal(hocket_run_start(h, &spec, NULL, on_event_prepare, on_done, &s, &e), 0);
    while (hocket_pump(h, 1000) > 0) {
    }
    assert_string_equal(s.text, "done");
    assert_true(lua_bytes(h) < prepared + 200000);
    hocket_close(h, NULL, NULL);
}

/* A hundred fibers that are ready at once, and busy for a millisecond each, take many turns of the
 * loop: its sockets and timers do not wait for the last of them. A turn has 2 ms; where the loop
 * itself is slow, 4 (MAX_TURN_NS). */
static void test_turns(void **state)
{
    (void) state;
    struct test_alloc t;
    struct seen s = { 0 };
    uv_loop_t loop;
    uv_check_t check;
    int turns = 0;
    test_alloc_init(&t);
    uv_loop_init(&loop);
    uv_check_init(&loop, &check);
    check.data = &turns;
    uv_check_start(&check, count_turn);
    uv_unref((uv_handle_t *) &check);
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.uv_loop = &loop;
    hocket_host *h = open_host(&t, &o);
    start(h,
        "local flow, list = require('hocket').flow, {}\n"
        "for i = 1, 100 do\n"
        "  list[i] = flow.spawn(function()\n"
        "    local till = flow.now() + 0.001\n"
        "    repeat until flow.now() >= till\n"
        "  end)\n"
        "end\n"
        "for i = 1, 100 do list[i]:wait() end\n"
        "return 'through'",
        &s);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_string_equal(s.text, "through");
    assert_true(turns >= (test_slower() > 1 ? 20 : 40));
    uv_close((uv_handle_t *) &check, NULL);
    hocket_close(h, NULL, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    test_alloc_check(&t);
}

/* ---- Closing from inside ---------------------------------------------------------------- */

static struct hocket_run_spec again;
static int refused;

/* Closes the host from its own callback, twice, and tries to start another run. */
static void close_on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct hocket_error e;
    on_done(h, run, r, ud);
    hocket_close(h, NULL, NULL);
    hocket_close(h, NULL, NULL);
    refused = hocket_run_start(h, &again, NULL, NULL, close_on_done, ud, &e);
}

static void close_on_event(hocket_host *h, uint64_t run, const struct hocket_event *event, void *ud)
{
    on_event(h, run, event, ud);
    hocket_close(h, NULL, NULL);
}

static void close_from_inside(
    uv_loop_t *loop, const char *text, hocket_event_cb on_event_, struct seen *s)
{
    struct test_alloc t;
    struct hocket_error e;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    test_alloc_init(&t);
    o.uv_loop = loop;
    hocket_host *h = open_host(&t, &o);
    again = (struct hocket_run_spec){ .size = sizeof(again), .target = script(text) };
    refused = 0;
    assert_int_equal(hocket_run_start(h, &again, NULL, on_event_, close_on_done, s, &e), 0);
    if (loop)
        uv_run(loop, UV_RUN_DEFAULT);
    else
        while (hocket_pump(h, 1000) > 0) {
        }
    assert_int_equal(s->done, 1);
    assert_int_equal(refused, HOCKET_ECLOSED);
    assert_true(s->finished_last);
    test_alloc_check(&t);
}

static void test_close_from_inside(void **state)
{
    (void) state;
    uv_loop_t loop;
    uv_loop_init(&loop);
    uv_loop_t *loops[] = { NULL, &loop };
    for (int i = 0; i < 2; i++) {
        struct seen done = { 0 }, event = { 0 };
        close_from_inside(loops[i], "return 'over'", on_event, &done);
        assert_string_equal(done.text, "over");
        drop_script(state);
        close_from_inside(loops[i], "require('hocket').flow.sleep(1000)", close_on_event, &event);
        assert_int_equal(event.status, HOCKET_ECANCELLED);
        drop_script(state);
    }
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* A script of the program's own state may reach a C function that closes the host. */
static hocket_host *to_close;

static int l_close_host(lua_State *L)
{
    (void) L;
    hocket_close(to_close, NULL, NULL);
    return 0;
}

static void test_close_from_lua(void **state)
{
    (void) state;
    struct seen s = { 0 };
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    lua_register(L, "close_host", l_close_host);
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.lua_state = L;
    to_close = open_host(NULL, &o);
    start(to_close, "close_host() require('hocket').flow.sleep(1000)", &s);
    while (hocket_pump(to_close, 1000) > 0) {
    }
    assert_int_equal(s.done, 1);
    assert_int_equal(s.status, HOCKET_ECANCELLED);
    lua_close(L);
}

static int count_globals(lua_State *L)
{
    int n = 0;
    lua_pushglobaltable(L);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
        n++;
    lua_pop(L, 1);
    return n;
}

/* In a state that belongs to the program: no globals, nothing on its stack, usable before,
 * during and after. */
static void test_foreign_state(void **state)
{
    (void) state;
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    int globals = count_globals(L), top = lua_gettop(L);
    for (int i = 0; i < 3; i++) {
        struct seen s = { 0 };
        struct hocket_options o;
        hocket_options_init(&o, sizeof(o));
        o.lua_state = L;
        hocket_host *h = open_host(NULL, &o);
        start(h, "return 'in your state'", &s);
        while (hocket_wait(h, -1) > 0) {
        }
        assert_string_equal(s.text, "in your state");
        assert_int_equal(count_globals(L), globals);
        assert_int_equal(lua_gettop(L), top);
        struct hocket_error e;
        hocket_host *second = NULL;
        assert_int_equal(hocket_open(&o, &second, &e), HOCKET_ELUA); /* one host per state */
        hocket_close(h, NULL, NULL);
        assert_int_equal(luaL_dostring(L, "return 1 + 1"), LUA_OK);
        lua_pop(L, 1);
    }
    lua_close(L);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_and_close),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test_teardown(test_run, drop_script),
        cmocka_unit_test_teardown(test_output, drop_script),
        cmocka_unit_test_teardown(test_answer, drop_script),
        cmocka_unit_test_teardown(test_approvals, drop_script),
        cmocka_unit_test_teardown(test_conversation, drop_script),
        cmocka_unit_test_teardown(test_failing_run, drop_script),
        cmocka_unit_test_teardown(test_start_fails, drop_script),
        cmocka_unit_test_teardown(test_cancel, drop_script),
        cmocka_unit_test_teardown(test_cancel_before_it_begins, drop_script),
        cmocka_unit_test_teardown(test_wait_ends, drop_script),
        cmocka_unit_test_teardown(test_stop, drop_script),
        cmocka_unit_test_teardown(test_close_in_flight, drop_script),
        cmocka_unit_test_teardown(test_foreign_poll, drop_script),
        cmocka_unit_test_teardown(test_foreign_loop, drop_script),
        cmocka_unit_test_teardown(test_prepare, drop_script),
        cmocka_unit_test_teardown(test_turns, drop_script),
        cmocka_unit_test_teardown(test_foreign_state, drop_script),
        cmocka_unit_test_teardown(test_close_from_inside, drop_script),
        cmocka_unit_test_teardown(test_close_from_lua, drop_script),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
