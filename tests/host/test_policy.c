/* Policies of the machine's owner, as a program that embeds hocket gives them: what cannot be read, what a run begins with, what holds for
 * runs that go on when they are replaced; two hosts, and memory that is out. */

#include <hocket/hocket.h>

#include "support/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct seen {
    int done, called, status;
    char text[512], error[512];
};

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

static int open_with(hocket_host **h, const char *text, const char *store, struct hocket_error *e)
{
    struct hocket_policy policy = { "host.yaml", text };
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.store = store;
    o.policies = text ? &policy : NULL;
    o.n_policies = text ? 1 : 0;
    int rc = hocket_open(&o, h, e);
    return rc < 0 ? rc : hocket_serve_attach(*h, e);
}

static void wait_for(hocket_host *h, const struct seen *s)
{
    for (int i = 0; i < 10000 && !s->done; i++)
        hocket_wait(h, 10);
    assert_int_equal(s->done, 1);
    if (s->status < 0)
        fail_msg("%s", s->error);
}

/* Starts a script that has been loaded as `name`. */
static uint64_t start(hocket_host *h, const char *name, const char *options, struct seen *s)
{
    struct hocket_error e;
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = name, .options = options };
    uint64_t id = 0;
    *s = (struct seen){ 0 };
    assert_int_equal(hocket_run_start(h, &spec, &id, NULL, on_done, s, &e), 0);
    return id;
}

static void test_read(void **state)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        { "max_turns: 0", "host.yaml:1:" },
        { "a: 1", "host.yaml:1: unknown key 'a'" },
        { "approve: 'x y=perhaps'", "host.yaml:1: approve:" },
        { "\n- x", "host.yaml:1:" },
    };
    struct hocket_error e;
    (void) state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        hocket_host *h = NULL;
        assert_int_equal(open_with(&h, wrong[i].text, NULL, &e), HOCKET_EINVAL);
        assert_null(h);
        assert_ptr_equal(strstr(e.message, wrong[i].says), e.message);
    }
    struct hocket_policy nameless = { NULL, "jobs: 1" };
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.policies = &nameless;
    o.n_policies = 1;
    hocket_host *h = NULL;
    assert_int_equal(hocket_open(&o, &h, &e), HOCKET_EINVAL);
    o.policies = NULL;
    assert_int_equal(hocket_open(&o, &h, &e), HOCKET_EINVAL);
    assert_int_equal(hocket_set_policies(NULL, NULL, 0, &e), HOCKET_EINVAL);
}

static const char shows[] = "local runs = require 'hocket.internal.models.account'\n"
                            "local run = runs.here()\n"
                            "return ('%s %s'):format(run.options.max_turns, run.options.timeout)\n";

/* What a run begins with, kept and not; and another host of the same process is bound by nothing of it. */
static void test_begin(void **state)
{
    static const char *const stores[] = { NULL, "memory" };
    struct hocket_error e;
    struct seen s;
    (void) state;
    for (size_t i = 0; i < 2; i++) {
        hocket_host *h = NULL, *other = NULL;
        assert_int_equal(open_with(&h, "max_turns: 5\ntimeout: 60", stores[i], &e), 0);
        assert_int_equal(open_with(&other, NULL, stores[i], &e), 0);
        assert_int_equal(hocket_load_buffer(h, "shows.lua", shows, 0, &e), 0);
        assert_int_equal(hocket_load_buffer(other, "shows.lua", shows, 0, &e), 0);
        start(h, "buffer:shows.lua", "{\"max_turns\":50}", &s);
        wait_for(h, &s);
        assert_string_equal(s.text, "5 60");
        start(h, "buffer:shows.lua", "{\"max_turns\":2,\"timeout\":90}", &s);
        wait_for(h, &s);
        assert_string_equal(s.text, "2 60");
        start(other, "buffer:shows.lua", "{\"max_turns\":50}", &s);
        wait_for(other, &s);
        assert_string_equal(s.text, "50 nil");
        struct hocket_policy next = { "next.yaml", "max_turns: 3" }, broken = { "b.yaml", "x: y" };
        assert_int_equal(hocket_set_policies(h, &broken, 1, &e), HOCKET_EINVAL);
        assert_int_equal(hocket_set_policies(h, &next, 1, &e), 0);
        start(h, "buffer:shows.lua", "{}", &s);
        wait_for(h, &s);
        assert_string_equal(s.text, "3 nil");
        assert_int_equal(hocket_set_policies(h, NULL, 0, &e), 0);
        start(h, "buffer:shows.lua", "{\"max_turns\":50}", &s);
        wait_for(h, &s);
        assert_string_equal(s.text, "50 nil");
        hocket_close(h, NULL, NULL);
        hocket_close(other, NULL, NULL);
    }
}

/* The tool of the embedder, which counts its calls. */
static void on_call(hocket_host *h, const struct hocket_tool_call *call, void *ud)
{
    ((struct seen *) ud)->called++;
    assert_int_equal(hocket_tool_answer(h, call->id, 0, "done", 4), 0);
}

static const char acts[] =
    "local hocket = require 'hocket'\n"
    "local served = hocket.sim.serve({ reply = function(q)\n"
    "  if q.last.role == 'tool' then return 'the end: ' .. q.last.text end\n"
    "  return { calls = { { name = 'note', arguments = {} } } } end })\n"
    "hocket.provider('own', { protocol = 'openai_chat', base = served.base })\n"
    "local a = hocket.agent { name = 'a', prompt = 'p', model = 'own/m', tools = { 'note' } }\n"
    "hocket.signal 'go'\n"
    "return hocket.run(a, 'act').text\n";

/* A run that goes on is bound at once by what is forbidden now, and is free of nothing that was forbidden when it began. */
static void goes_on(const char *store, const char *before, const char *after, int calls)
{
    struct hocket_error e;
    struct seen s;
    hocket_host *h = NULL;
    assert_int_equal(open_with(&h, before, store, &e), 0);
    struct hocket_tool_spec tool = { .size = sizeof(tool),
        .name = "note",
        .description = "Notes.",
        .parameters = "{\"type\":\"object\"}" };
    assert_int_equal(hocket_tool_add(h, &tool, on_call, NULL, &s, &e), 0);
    assert_int_equal(hocket_load_buffer(h, "acts.lua", acts, 0, &e), 0);
    uint64_t id = start(h, "buffer:acts.lua", "{\"approve\":\"note=allow\"}", &s);
    for (int i = 0; i < 20; i++)
        hocket_wait(h, 5);
    if (s.done)
        fail_msg("it did not wait: %s%s", s.text, s.error);
    struct hocket_policy next = { "next.yaml", after };
    assert_int_equal(hocket_set_policies(h, &next, after ? 1 : 0, &e), 0);
    assert_int_equal(hocket_run_signal(h, id, "go", "1", &e), 0);
    wait_for(h, &s);
    if (s.called != calls)
        fail_msg("%s -> %s, %s: %d calls expected, not %d: %s %s", before, after, store, calls,
            s.called, s.text, s.error);
    hocket_close(h, NULL, NULL);
}

static void test_goes_on(void **state)
{
    static const char *const stores[] = { NULL, "memory" };
    (void) state;
    for (size_t i = 0; i < 2; i++) {
        goes_on(stores[i], NULL, NULL, 1);
        goes_on(stores[i], NULL, "approve: note=deny", 0);
        goes_on(stores[i], "jobs: 3", "approve: note=deny", 0);
        goes_on(stores[i], "approve: note=deny", NULL, 0);
        goes_on(stores[i], "approve: note=deny", "approve: note=allow", 0);
    }
}

/* Each allocation of a replacement fails in turn, alone and with those that follow: it is ENOMEM, and a later one succeeds. */
static void replace(bool rest)
{
    struct hocket_policy policy = { "host.yaml", "approve: deny\nmax_turns: 5\nmodels: [a/*]" };
    struct hocket_error e;
    struct hocket_options o;
    struct test_alloc t;
    hocket_host *h = NULL;
    int rc = HOCKET_ENOMEM;
    size_t n = 0;
    test_alloc_init(&t);
    hocket_options_init(&o, sizeof(o));
    o.allocator = t.a;
    assert_int_equal(hocket_open(&o, &h, &e), 0);
    while (rc == HOCKET_ENOMEM && n++ < 100000) {
        t.fail_rest = rest;
        t.fail_at = t.calls + n;
        rc = hocket_set_policies(h, &policy, 1, &e);
        t.fail_at = 0;
        t.fail_rest = false;
        assert_true(rc == 0 || rc == HOCKET_ENOMEM);
    }
    assert_int_equal(rc, 0);
    assert_true(!rest || n > 1); /* Lua collects and tries again where one alone fails */
    assert_int_equal(hocket_set_policies(h, &policy, 1, &e), 0);
    hocket_close(h, NULL, NULL);
    test_alloc_check(&t);
}

static void test_memory(void **state)
{
    (void) state;
    replace(false);
    replace(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_read), cmocka_unit_test(test_begin),
        cmocka_unit_test(test_goes_on), cmocka_unit_test(test_memory) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
