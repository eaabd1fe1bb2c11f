/* What a run's specification says beside its options: whose agents go first, and what it has used so far. */
#include "host/run_util.h"

#include <time.h>

static const char SLOWLY[] =
    "local hocket = require 'hocket'\n"
    "local served = hocket.sim.serve({ reply = function(q)\n"
    "  hocket.flow.sleep(0.02)\n"
    "  return 'heard ' .. q.last.text end })\n"
    "hocket.provider('own', { protocol = 'openai_chat', base = served.base })\n"
    "local a = hocket.agent { name = 'a', prompt = 'p', model = 'own/m' }\n"
    "return hocket.run(a, ...)";

static char order[64];

static void note_end(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    (void) h;
    (void) run;
    assert_int_equal(r->status, HOCKET_OK);
    strncat(order, ud, 1);
}

static int start(hocket_host *h, int priority, const char *name, uint64_t *id)
{
    struct hocket_error e;
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = file_path,
        .input = name,
        .options = "{\"jobs\":1}",
        .priority = priority };
    return hocket_run_start(h, &spec, id, NULL, note_end, (void *) name, &e);
}

static hocket_host *open_one(void)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    order[0] = 0;
    file_with(SLOWLY);
    return host_with(NULL, &o);
}

/* One agent at a time; the first has begun before the others are there. */
static void test_priority(void **state)
{
    (void) state;
    hocket_host *h = open_one();
    assert_int_equal(start(h, -100, "f", NULL), 0);
    for (int i = 0; i < 20; i++)
        hocket_pump(h, 0);
    assert_int_equal(start(h, -5, "l", NULL), 0);
    assert_int_equal(start(h, 0, "m", NULL), 0);
    assert_int_equal(start(h, 100, "h", NULL), 0);
    for (time_t end = time(NULL) + 20; strlen(order) < 4 && time(NULL) < end;)
        hocket_wait(h, 10);
    assert_string_equal(order, "fhml");
    hocket_close(h, NULL, NULL);
}

static void test_bad_priority(void **state)
{
    (void) state;
    hocket_host *h = open_one();
    uint64_t id = 1;
    assert_int_equal(start(h, 101, "x", &id), HOCKET_EINVAL);
    assert_int_equal(start(h, -101, "x", &id), HOCKET_EINVAL);
    assert_int_equal(id, 0);
    hocket_close(h, NULL, NULL);
}

/* Before it has begun there is none, while it goes on there is, and afterwards the run is gone. */
static void test_tree(void **state)
{
    (void) state;
    struct hocket_error e;
    uint64_t id;
    hocket_host *h = open_one();
    assert_int_equal(start(h, 0, "x", &id), 0);
    assert_null(hocket_run_tree(h, id, &e));
    assert_int_equal(e.status, HOCKET_ENOTFOUND);
    hocket_json *tree = NULL;
    for (time_t end = time(NULL) + 20; hocket_json_count(tree) == 0 && time(NULL) < end;) {
        hocket_json_free(tree);
        hocket_wait(h, 1);
        tree = hocket_run_tree(h, id, &e);
    }
    assert_true(hocket_json_count(tree) > 0);
    hocket_json_free(tree);
    for (time_t end = time(NULL) + 20; !order[0] && time(NULL) < end;)
        hocket_wait(h, 10);
    assert_null(hocket_run_tree(h, id, &e));
    assert_int_equal(e.status, HOCKET_ENOTFOUND);
    assert_null(hocket_run_tree(NULL, id, &e));
    assert_int_equal(e.status, HOCKET_EINVAL);
    hocket_close(h, NULL, NULL);
}

/* A rule that can match nothing would let through what it was to stop. */
static void test_rules(void **state)
{
    static const char *const options[] = { "{\"approve\":[\"bash=deny\"]}",
        "{\"approve\":[\"execute_command(cmd=x)=deny\"]}", "{}" };
    static const char *const words[] = { "there is no tool 'bash'",
        "no argument of execute_command: 'cmd'", "there is no tool 'frobnicate'" };
    struct hocket_options o;
    (void) state;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(NULL, &o);
    for (int i = 0; i < 3; i++) {
        struct outcome end = { 0 };
        struct hocket_error e;
        assert_true(test_temp_file(file_path, ".md",
            i == 2 ? "---\napprove: {deny: [frobnicate]}\n---\nYou." : "---\n---\nYou."));
        struct hocket_run_spec spec = {
            .size = sizeof(spec), .target = file_path, .input = "hello", .options = options[i]
        };
        assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &end, &e), 0);
        wait_for(h, &end);
        assert_int_equal(end.status, i == 2 ? HOCKET_EAGENT : HOCKET_EINVAL);
        assert_non_null(strstr(end.error, words[i]));
        drop_file(NULL);
    }
    hocket_close(h, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_priority, drop_file),
        cmocka_unit_test_teardown(test_bad_priority, drop_file),
        cmocka_unit_test_teardown(test_tree, drop_file),
        cmocka_unit_test_teardown(test_rules, drop_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
