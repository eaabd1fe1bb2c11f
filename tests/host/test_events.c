/* What a run tells: pushed and pulled, records and the text of streams, under a budget; limits. */

#include "host/run_util.h"

#include <time.h>
#include <uv.h>

#define TALK                                                                                       \
    "local hocket = require 'hocket'\n"                                                            \
    "local served = hocket.sim.serve({ fragment = 4, reply = function(q)\n"                        \
    "  if q.last.role == 'user' then return { text = ('one '):rep(50), reasoning = 'hm hm',\n"     \
    "    calls = { { name = 'nothing', arguments = {} } } } end\n"                                 \
    "  return ('two '):rep(50) end })\n"                                                           \
    "hocket.provider('own', { protocol = 'openai_chat', base = served.base })\n"                   \
    "return hocket.run(hocket.agent { name = 'talker', model = 'own/m', prompt = 'p' }, 'go')"

struct told {
    struct outcome out;
    uint64_t last_seq;
    int deltas, requests, late;
    char streamed[2048], order[64];
};

static void note(struct told *t, const struct hocket_event *e)
{
    if (strcmp(e->type, "model_delta") != 0) {
        assert_true(!e->agent && !e->kind && !e->text && e->text_len == 0);
        assert_int_equal(e->seq, t->last_seq + 1);
        t->last_seq = e->seq;
        t->requests += strcmp(e->type, "model_request") == 0;
        return;
    }
    struct hocket_error err;
    hocket_json *j = hocket_json_parse(e->json, e->json_len, &err);
    assert_non_null(j);
    assert_int_equal(e->seq, 0);
    assert_string_equal(hocket_json_text(hocket_json_get(j, "agent"), "", NULL), "talker");
    assert_string_equal(hocket_json_text(hocket_json_get(j, "type"), "", NULL), "model_delta");
    const char *kind = hocket_json_text(hocket_json_get(j, "kind"), "", NULL);
    assert_string_equal(e->agent, "talker");
    assert_string_equal(e->kind, kind);
    assert_string_equal(e->text, hocket_json_text(hocket_json_get(j, "text"), "", NULL));
    assert_int_equal(e->text_len, strlen(e->text));
    if (strcmp(kind, "text") == 0) {
        const char *text = hocket_json_text(hocket_json_get(j, "text"), "", NULL);
        strncat(t->streamed, text, sizeof(t->streamed) - strlen(t->streamed) - 1);
        t->late += strstr(text, "two") && t->requests < 2;
        t->deltas++;
    }
    hocket_json_free(j);
}

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    (void) h;
    assert_int_equal(e->run, run);
    note(ud, e);
}

static void check_streamed(const struct told *t)
{
    char expected[2048] = "";
    for (int i = 0; i < 100; i++)
        strcat(expected, i < 50 ? "one " : "two ");
    assert_string_equal(t->streamed, expected);
    assert_int_equal(t->late, 0);
    assert_int_equal(t->requests, 2);
}

static void test_pushed(void **state)
{
    (void) state;
    struct test_alloc a;
    struct hocket_error e;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(&a, &o);
    struct told t = { .deltas = 0 };
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = file_with(TALK), .deltas = 1 };
    assert_int_equal(hocket_run_start(h, &spec, NULL, on_event, keep_outcome, &t, &e), 0);
    wait_for(h, &t.out);
    check_streamed(&t);
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a);
}

static void test_without_deltas(void **state)
{
    (void) state;
    struct hocket_error e;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(NULL, &o);
    struct told t = { .deltas = 0 };
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = file_with(TALK) };
    assert_int_equal(hocket_run_start(h, &spec, NULL, on_event, keep_outcome, &t, &e), 0);
    wait_for(h, &t.out);
    assert_int_equal(t.deltas, 0);
    hocket_close(h, NULL, NULL);
}

/* Nobody takes anything while the run goes on: the text of each stream is one piece. */
static void test_pulled(void **state)
{
    (void) state;
    struct test_alloc a;
    struct hocket_error e;
    const struct hocket_event *event;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(&a, &o);
    struct told t = { .deltas = 0 };
    uint64_t id = 0;
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = file_with(TALK), .options = "{\"deltas\":true}"
    };
    assert_int_equal(hocket_event_next(h, &event), 0);
    assert_int_equal(hocket_run_start(h, &spec, &id, NULL, NULL, NULL, &e), 0);
    for (int i = 0; i < 300; i++)
        hocket_wait(h, 1);
    int ended = 0;
    while (hocket_event_next(h, &event) > 0) {
        assert_int_equal(event->run, id);
        assert_false(ended);
        if (event->result) {
            assert_string_equal(event->type, "result");
            assert_int_equal(event->result->status, HOCKET_OK);
            assert_int_equal(strncmp(event->result->text, "two two", 7), 0);
            ended = 1;
        } else {
            note(&t, event);
        }
    }
    assert_true(ended);
    assert_int_equal(t.deltas, 2); /* one for each turn */
    check_streamed(&t);
    assert_int_equal(hocket_pump(h, 1000), 0);
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a);
}

static bool take_all(hocket_host *h)
{
    const struct hocket_event *event;
    bool ended = false;
    while (hocket_event_next(h, &event) > 0)
        ended |= event->result != NULL;
    return ended;
}

/* Loops that go on while there is work, and take events after each turn: they end when the result was
 * taken, and do not sleep then. */
static void test_pulling_ends(void **state)
{
    (void) state;
    struct hocket_error e;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(NULL, &o);
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = file_with("return 'over'") };
    int waits = 0, pumps = 0, taken = 0;
    time_t begin = time(NULL);
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, NULL, NULL, &e), 0);
    for (; hocket_wait(h, 60000) > 0; waits++)
        taken += take_all(h);
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, NULL, NULL, &e), 0);
    for (; hocket_pump(h, 1000) > 0; pumps++) {
        taken += take_all(h);
        assert_true(taken < 2 || hocket_backend_timeout(h) == 0);
    }
    assert_int_equal(taken, 2);
    assert_true(waits > 0 && pumps > 0);
    while (hocket_backend_timeout(h) == 0 && time(NULL) - begin < 30)
        hocket_pump(h, 1000); /* what the collector owes */
    assert_int_equal(hocket_backend_timeout(h), -1);
    assert_true(time(NULL) - begin < 30);
    hocket_close(h, NULL, NULL);
}

/* What was not taken when the host is closed is freed with it. */
static void test_never_pulled(void **state)
{
    (void) state;
    struct test_alloc a;
    struct hocket_error e;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(&a, &o);
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = file_with(TALK), .options = "{\"deltas\":true}"
    };
    for (int i = 0; i < 3; i++)
        assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, NULL, NULL, &e), 0);
    for (int i = 0; i < 20; i++)
        hocket_wait(h, 1);
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a);
}

/* MinGW's nanosleep returns at once from a sleep of less than a millisecond. */
static void on_slow_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    on_event(h, run, e, ud);
    for (uint64_t until = uv_hrtime() + 300000; uv_hrtime() < until;) {
    }
}

/* A host whose callbacks are slow gets what fits into its frames, the rest later, and all of it. */
static void test_budget(void **state)
{
    (void) state;
    struct hocket_error e;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(NULL, &o);
    struct told t[2] = { { .deltas = 0 } };
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target =
            file_with("for i = 1, 200 do require('hocket').events.emit('tick') end return 'x'") };
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            hocket_run_start(h, &spec, NULL, on_slow_event, keep_outcome, &t[i], &e), 0);
    int frames = 0, both = 0;
    while (hocket_pump(h, 1000) > 0) {
        frames++;
        both += t[0].last_seq > 50 && t[0].last_seq < 150 && t[1].last_seq > 20;
        assert_true(frames < 5000);
    }
    assert_true(frames > 50); /* 400 events of 0.3 ms in slices of 1 ms */
    assert_true(both > 0);    /* and neither run waits for the other's end */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(t[i].out.done, 1);
        assert_true(t[i].last_seq > 200);
    }
    hocket_close(h, NULL, NULL);
}

static void test_max_runs(void **state)
{
    (void) state;
    struct hocket_error e;
    struct outcome out[3] = { { 0 } };
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.max_runs = 2;
    hocket_host *h = host_with(NULL, &o);
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = file_with("return 'x'") };
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &out[0], &e), 0);
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &out[1], &e), 0);
    assert_int_equal(
        hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &out[2], &e), HOCKET_ELIMIT);
    wait_for(h, &out[0]);
    wait_for(h, &out[1]);
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &out[2], &e), 0);
    wait_for(h, &out[2]);
    hocket_close(h, NULL, NULL);
}

static void test_max_memory(void **state)
{
    (void) state;
    struct test_alloc a;
    struct hocket_error e;
    struct outcome greedy = { 0 }, modest = { 0 };
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.max_memory = 4 << 20;
    hocket_host *h = host_with(&a, &o);
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = file_with(
            "local t = {} for i = 1, 1e7 do t[i] = ('x'):rep(100) .. i end return 'too much'") };
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &greedy, &e), 0);
    wait_for(h, &greedy);
    assert_true(greedy.status == HOCKET_ENOMEM || greedy.status == HOCKET_ELUA);
    assert_non_null(strstr(greedy.error, "memory"));
    drop_file(NULL);
    spec.target = file_with("return 'still here'");
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &modest, &e), 0);
    wait_for(h, &modest);
    assert_string_equal(modest.text, "still here");
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a);
}

/* Whether a result that ends a run has a tree. */
static bool has_tree(hocket_host *h, const char *target, const char *options)
{
    struct hocket_error e;
    const struct hocket_event *event;
    bool found = false, ended = false;
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = target, .options = options };
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, NULL, NULL, &e), 0);
    while (!ended) {
        hocket_wait(h, 10);
        while (hocket_event_next(h, &event) > 0 && !ended) {
            ended = strcmp(event->type, "result") == 0;
            hocket_json *result = hocket_json_parse(event->json, event->json_len, &e);
            assert_non_null(result);
            found = ended && hocket_json_get(result, "tree");
            assert_true(!ended || hocket_json_get(result, "usage"));
            hocket_json_free(result);
        }
    }
    return found;
}

static void test_tree(void **state)
{
    (void) state;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(NULL, &o);
    const char *target = file_with(TALK);
    assert_true(has_tree(h, target, NULL));
    assert_true(has_tree(h, target, "{\"tree\":true}"));
    assert_false(has_tree(h, target, "{\"tree\":false}"));
    hocket_close(h, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_pushed, drop_file),
        cmocka_unit_test_teardown(test_without_deltas, drop_file),
        cmocka_unit_test_teardown(test_pulled, drop_file),
        cmocka_unit_test_teardown(test_pulling_ends, drop_file),
        cmocka_unit_test_teardown(test_never_pulled, drop_file),
        cmocka_unit_test_teardown(test_budget, drop_file),
        cmocka_unit_test_teardown(test_max_runs, drop_file),
        cmocka_unit_test_teardown(test_max_memory, drop_file),
        cmocka_unit_test_teardown(test_tree, drop_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
