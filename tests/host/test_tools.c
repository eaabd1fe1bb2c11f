/* Tools of the program, answered at once, later, from other threads, or never. */

#include "host/run_util.h"
#include "support/tsan.h"

#include <pthread.h>
#include <time.h>

#define TEAM                                                                                       \
    "local hocket = require 'hocket'\n"                                                            \
    "local served = hocket.sim.serve({ reply = function(q)\n"                                      \
    "  if q.last.role == 'user' then return { calls = { { name = 'look', arguments = { at = "      \
    "q.last.text } } } } end\n"                                                                    \
    "  return 'saw ' .. q.last.text end })\n"                                                      \
    "hocket.provider('own', { protocol = 'openai_chat', base = served.base })\n"                   \
    "local a = hocket.agent { name = 'scout', model = 'own/m', prompt = 'p', tools = { 'look' } "  \
    "}\n"

struct tool {
    int calls, cancels;
    uint64_t last, cancelled;
    char args[256], agent[64];
    enum { AT_ONCE, NEVER, ON_THREAD, WITH_ERROR } how;
    pthread_t thread[64];
};

struct later {
    hocket_host *host;
    uint64_t id;
    int n;
};

static void *answer_later(void *ud)
{
    struct later *l = ud;
    char text[32];
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 * (l->n % 5) }, NULL);
    snprintf(text, sizeof(text), "thread %d", l->n);
    assert_int_equal(hocket_tool_answer(l->host, l->id, 0, text, 0), 0);
    assert_int_equal(hocket_tool_answer(l->host, l->id, 0, "twice", 0), HOCKET_ENOTFOUND);
    free(l);
    return NULL;
}

static void on_call(hocket_host *h, const struct hocket_tool_call *c, void *ud)
{
    struct tool *t = ud;
    int n = t->calls++;
    assert_string_equal(c->tool, "look");
    t->last = c->id;
    snprintf(t->args, sizeof(t->args), "%.*s", (int) c->args_len, c->args);
    snprintf(t->agent, sizeof(t->agent), "%s", c->agent);
    if (t->how == AT_ONCE)
        assert_int_equal(hocket_tool_answer(h, c->id, 0, "a fish", 0), 0);
    if (t->how == WITH_ERROR)
        assert_int_equal(hocket_tool_answer(h, c->id, HOCKET_EDENIED, "it is dark", 0), 0);
    if (t->how == ON_THREAD) {
        struct later *l = malloc(sizeof(*l));
        *l = (struct later){ h, c->id, n };
        assert_int_equal(pthread_create(&t->thread[n], NULL, answer_later, l), 0);
    }
}

static void on_cancel(hocket_host *h, uint64_t id, void *ud)
{
    struct tool *t = ud;
    t->cancels++;
    t->cancelled = id;
    assert_int_equal(hocket_tool_answer(h, id, 0, "too late", 0), HOCKET_ENOTFOUND);
}

static const struct hocket_tool_spec look = {
    .size = sizeof(look),
    .name = "look",
    .description = "Looks somewhere.",
    .parameters =
        "{\"type\":\"object\",\"properties\":{\"at\":{\"type\":\"string\"}},\"required\":[\"at\"]}"
};

static uint64_t start(hocket_host *h, const char *text, struct tool *t, struct outcome *o)
{
    struct hocket_error e;
    uint64_t id = 0;
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = file_with(text) };
    assert_int_equal(hocket_tool_add(h, &look, on_call, on_cancel, t, &e), 0);
    assert_int_equal(hocket_run_start(h, &spec, &id, NULL, keep_outcome, o, &e), 0);
    return id;
}

static void test_at_once(void **state)
{
    (void) state;
    struct test_alloc a;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(&a, &o);
    struct tool t = { .how = AT_ONCE };
    struct outcome out = { 0 };
    start(h, TEAM "return hocket.run(a, 'the sea')", &t, &out);
    wait_for(h, &out);
    assert_string_equal(out.error, "");
    assert_string_equal(out.text, "saw a fish");
    assert_string_equal(t.args, "{\"at\":\"the sea\"}");
    assert_string_equal(t.agent, "scout");
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a);
}

/* The limit stands in the error that the program gets, and in the words that the model gets. */
static uint64_t too_long_call;

static void keep_call(hocket_host *h, const struct hocket_tool_call *c, void *ud)
{
    (void) h;
    (void) ud;
    too_long_call = c->id;
}

static void test_too_long(void **state)
{
    (void) state;
    struct test_alloc a;
    struct hocket_error e;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.max_message = 4000;
    hocket_host *h = host_with(&a, &o);
    struct outcome out = { 0 };
    static char text[4001];
    memset(text, 'x', sizeof(text));
    too_long_call = 0;
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = file_with(TEAM "return hocket.run(a, 'the sea')") };
    assert_int_equal(hocket_tool_add(h, &look, keep_call, NULL, NULL, &e), 0);
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &out, &e), 0);
    for (int i = 0; i < 2000 && !too_long_call; i++)
        hocket_wait(h, 10);
    assert_int_equal(hocket_tool_answer(h, too_long_call, 0, text, sizeof(text)), HOCKET_ELIMIT);
    assert_int_equal(hocket_tool_answer(h, too_long_call, 0, "shorter", 0), HOCKET_ENOTFOUND);
    wait_for(h, &out);
    assert_non_null(strstr(out.text, "4001 bytes: at most 4000 (max_message)"));
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a);
}

static void test_from_threads(void **state)
{
    (void) state;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(NULL, &o);
    struct tool t = { .how = ON_THREAD };
    struct outcome out = { 0 };
    start(h,
        TEAM "local list = {} for i = 1, 40 do list[i] = i end\n"
             "local texts = hocket.flow.map(list, function(i) return assert(hocket.run(a, "
             "'x')).text end)\n"
             "local seen = {} for _, text in ipairs(texts) do seen[text:match 'saw thread (%d+)'] "
             "= true end\n"
             "for i = 0, 39 do assert(seen[tostring(i)], i) end return 'all'",
        &t, &out);
    wait_for(h, &out);
    assert_string_equal(out.error, "");
    assert_string_equal(out.text, "all");
    assert_int_equal(t.calls, 40);
    for (int i = 0; i < 40; i++)
        pthread_join(t.thread[i], NULL);
    hocket_close(h, NULL, NULL);
}

static void test_error(void **state)
{
    (void) state;
    struct test_alloc a;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(&a, &o);
    struct tool t = { .how = WITH_ERROR };
    struct outcome out = { 0 };
    start(h, TEAM "return hocket.run(a, 'the sea')", &t, &out);
    wait_for(h, &out);
    assert_string_equal(out.text, "saw error: it is dark");
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a);
}

static void wait_for_call(hocket_host *h, struct tool *t)
{
    for (int i = 0; i < 1000 && t->calls == 0; i++)
        hocket_wait(h, 10);
    assert_int_equal(t->calls, 1);
}

static void test_cancelled(void **state)
{
    (void) state;
    struct test_alloc a;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(&a, &o);
    struct tool t = { .how = NEVER };
    struct outcome out = { 0 };
    struct hocket_host_stats stats = { .size = sizeof(stats) };
    uint64_t run = start(h, TEAM "return hocket.run(a, 'the sea')", &t, &out);
    wait_for_call(h, &t);
    assert_int_equal(hocket_stats(h, &stats), 0);
    assert_int_equal(stats.tool_calls, 1);
    assert_int_equal(stats.runs, 1);
    assert_true(stats.fibers > 0 && stats.lua_bytes > 10000);
    assert_int_equal(hocket_run_cancel(h, run), 0);
    wait_for(h, &out);
    assert_int_equal(out.status, HOCKET_ECANCELLED);
    assert_int_equal(t.cancels, 1);
    assert_int_equal(t.cancelled, t.last);
    hocket_stats(h, &stats);
    assert_int_equal(stats.tool_calls, 0);
    assert_int_equal(stats.runs_ended, 1);
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a);
}

static void test_closed(void **state)
{
    (void) state;
    struct test_alloc a;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(&a, &o);
    struct tool t = { .how = NEVER };
    struct outcome out = { 0 };
    start(h, TEAM "return hocket.run(a, 'the sea')", &t, &out);
    wait_for_call(h, &t);
    hocket_close(h, NULL, NULL);
    assert_int_equal(out.status, HOCKET_ECANCELLED);
    assert_int_equal(t.cancels, 1);
    test_alloc_check(&a);
}

/* An answer that has come when its run is cancelled is forgotten, and nothing leaks. */
static void test_answered_and_cancelled(void **state)
{
    (void) state;
    struct test_alloc a;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(&a, &o);
    struct tool t = { .how = NEVER };
    struct outcome out = { 0 };
    uint64_t run = start(h, TEAM "return hocket.run(a, 'the sea')", &t, &out);
    wait_for_call(h, &t);
    assert_int_equal(hocket_tool_answer(h, t.last, 0, "now", 0), 0);
    assert_int_equal(hocket_run_cancel(h, run), 0);
    wait_for(h, &out);
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a);
}

/* Calls that are open end, also one that the program was not told of yet; what comes later is told
 * the same. */
static void test_removed(void **state)
{
    (void) state;
    struct test_alloc a;
    struct hocket_error e;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(&a, &o);
    struct tool t = { .how = NEVER };
    struct outcome out = { 0 };
    uint64_t id;
    start(h, TEAM "return hocket.run(a, 'the sea')", &t, &out);
    wait_for_call(h, &t);
    id = t.last;
    assert_int_equal(hocket_tool_remove(h, "listen", &e), HOCKET_ENOTFOUND);
    assert_int_equal(hocket_tool_remove(h, "look", &e), 0);
    assert_int_equal(hocket_tool_remove(h, "look", &e), HOCKET_ENOTFOUND);
    assert_int_equal(hocket_tool_answer(h, id, 0, "too late", 0), HOCKET_ENOTFOUND);
    wait_for(h, &out);
    assert_non_null(strstr(out.text, "taken this tool back"));
    assert_int_equal(t.cancels, 0);
    drop_file(NULL);

    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = file_with(TEAM "return hocket.run(a, 'the sea')") };
    out = (struct outcome){ 0 };
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &out, &e), 0);
    wait_for(h, &out);
    assert_non_null(strstr(out.error, "unknown tool 'look'"));
    drop_file(NULL);

    t.how = AT_ONCE;
    out = (struct outcome){ 0 };
    start(h, TEAM "return hocket.run(a, 'the sea')", &t, &out);
    wait_for(h, &out);
    assert_string_equal(out.text, "saw a fish");
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a);
}

/* A hook answers for a tool, which is not called; one that fails denies; one that was removed is not asked. */
static void on_hook(hocket_host *h, const struct hocket_tool_call *c, void *ud)
{
    const char **answer = ud;
    assert_string_equal(c->tool, "guard");
    assert_string_equal(c->agent, "scout");
    assert_non_null(strstr(c->args, "\"point\":\"before_tool\""));
    assert_non_null(strstr(c->args, "\"at\":\"the sea\""));
    hocket_tool_answer(h, c->id, *answer ? 0 : HOCKET_ELUA, *answer ? *answer : "oh", 0);
}

static void ask_hook(hocket_host *h, const char *answer, const char *text, int calls)
{
    static const struct hocket_hook_spec guard = { .size = sizeof(guard),
        .name = "guard",
        .points = "before_tool",
        .match = "lo*",
        .timeout_ms = 5000 };
    struct hocket_error e;
    struct tool t = { .how = AT_ONCE };
    struct outcome out = { 0 };
    assert_int_equal(hocket_hook_add(h, &guard, on_hook, NULL, &answer, &e), 0);
    assert_int_equal(hocket_hook_add(h, &guard, on_hook, NULL, &answer, &e), HOCKET_EEXIST);
    start(h, TEAM "return hocket.run(a, 'the sea')", &t, &out);
    wait_for(h, &out);
    assert_string_equal(out.error, "");
    assert_non_null(strstr(out.text, text));
    assert_int_equal(t.calls, calls);
    assert_int_equal(hocket_hook_remove(h, "guard", &e), 0);
    assert_int_equal(hocket_hook_remove(h, "guard", &e), HOCKET_ENOTFOUND);
    assert_int_equal(hocket_tool_remove(h, "look", &e), 0);
    drop_file(NULL);
}

static void test_hook(void **state)
{
    (void) state;
    struct test_alloc a;
    struct hocket_error e;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(&a, &o);
    ask_hook(h, "", "saw a fish", 1);
    ask_hook(h, "{\"answer\":\"nothing\"}", "saw nothing", 0);
    ask_hook(h, "{\"deny\":\"not today\"}", "not today", 0);
    ask_hook(h, "no JSON", "was not allowed", 0);
    ask_hook(h, NULL, "was not allowed", 0);
    struct hocket_hook_spec bad = { .size = sizeof(bad), .name = "bad", .points = "befor_tool" };
    const char *answer = "";
    assert_int_equal(hocket_hook_add(h, &bad, on_hook, NULL, &answer, &e), HOCKET_EINVAL);
    assert_non_null(strstr(e.message, "befor_tool"));
    assert_int_equal(hocket_hook_add(NULL, &bad, on_hook, NULL, &answer, &e), HOCKET_EINVAL);
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a);
}

/* A tool for one call. */
static void on_only_call(hocket_host *h, const struct hocket_tool_call *call, void *ud)
{
    struct hocket_error e;
    int *calls = ud;
    ++*calls;
    assert_int_equal(hocket_tool_answer(h, call->id, 0, "the last fish", 0), 0);
    assert_int_equal(hocket_tool_remove(h, call->tool, &e), 0);
    assert_string_equal(call->tool, "look");
}

static void test_removes_itself(void **state)
{
    (void) state;
    struct test_alloc a;
    struct hocket_error e;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(&a, &o);
    struct outcome out = { 0 };
    int calls = 0;
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = file_with(TEAM "return hocket.run(a, 'the sea')") };
    assert_int_equal(hocket_tool_add(h, &look, on_only_call, NULL, &calls, &e), 0);
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &out, &e), 0);
    wait_for(h, &out);
    assert_string_equal(out.text, "saw the last fish");
    assert_int_equal(calls, 1);
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a);
}

static void test_bad(void **state)
{
    (void) state;
    struct hocket_error e;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(NULL, &o);
    struct hocket_tool_spec bad = look;
    assert_int_equal(hocket_tool_add(h, &look, NULL, NULL, NULL, &e), HOCKET_EINVAL);
    bad.name = "two words";
    assert_int_equal(hocket_tool_add(h, &bad, on_call, NULL, NULL, &e), HOCKET_EINVAL);
    assert_non_null(strstr(e.message, "two words"));
    bad = look;
    bad.parameters = "{\"type\":5}";
    assert_int_equal(hocket_tool_add(h, &bad, on_call, NULL, NULL, &e), HOCKET_EINVAL);
    assert_non_null(strstr(e.message, "look"));
    bad.parameters = "nothing";
    assert_int_equal(hocket_tool_add(h, &bad, on_call, NULL, NULL, &e), HOCKET_EINVAL);
    assert_int_equal(hocket_tool_add(h, &look, on_call, NULL, NULL, &e), 0);
    assert_int_equal(hocket_tool_add(h, &look, on_call, NULL, NULL, &e), HOCKET_EEXIST);
    assert_int_equal(hocket_tool_answer(h, 1, 0, "", 0), HOCKET_ENOTFOUND);
    hocket_close(h, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_at_once, drop_file),
        cmocka_unit_test_teardown(test_too_long, drop_file),
        cmocka_unit_test_teardown(test_from_threads, drop_file),
        cmocka_unit_test_teardown(test_error, drop_file),
        cmocka_unit_test_teardown(test_cancelled, drop_file),
        cmocka_unit_test_teardown(test_closed, drop_file),
        cmocka_unit_test_teardown(test_answered_and_cancelled, drop_file),
        cmocka_unit_test_teardown(test_removed, drop_file),
        cmocka_unit_test_teardown(test_hook, drop_file),
        cmocka_unit_test_teardown(test_removes_itself, drop_file),
        cmocka_unit_test(test_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
