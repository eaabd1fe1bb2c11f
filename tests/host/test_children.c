/* What a caller chooses for one call of a sub-agent, forks, and asking again, of a program that starts the run: the same as at the
 * doors of tests/lua/endpoints/test_children_doors.lua. */
#include "host/run_util.h"

static const struct word {
    const char *word, *heard;
} words[] = {
    { "choose", "{\"seen\": \"large at high\"}" },
    { "limits", "looked 2 times" },
    { "model", "/model: " },
    { "effort", "/reasoning: " },
    { "schema", "the output is no JSON Schema" },
    { "more", "/limits/turns: " },
    { "fork", "forked from You lead. with fork" },
    { "again", "heard Check it, heard Check it, And now?" },
};

static void check(const char *word, const char *heard, const struct outcome *out)
{
    if (*out->error || !strstr(out->text, heard))
        fail_msg("%s: expected \"%s\", got \"%s\" %s", word, heard, out->text, out->error);
}

static hocket_host *open_host(void)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    return host_with(NULL, &o);
}

#define OPTIONS "{\"trust\":true,\"models\":{\"lead\":\"sim/lead\"}}"

static void ask_each(hocket_host *h, const char *target)
{
    struct hocket_error e;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        struct outcome out = { 0 };
        struct hocket_run_spec spec = {
            .size = sizeof(spec), .target = target, .options = OPTIONS, .input = words[i].word
        };
        assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &out, &e), 0);
        wait_for(h, &out);
        check(words[i].word, words[i].heard, &out);
    }
    hocket_close(h, NULL, NULL);
}

static void test_run_start(void **state)
{
    (void) state;
    ask_each(open_host(), CHILDREN "/agents/lead.md");
}

/* Their text is in memory before anything has run. */
static void test_load_dir(void **state)
{
    (void) state;
    hocket_host *h = open_host();
    struct hocket_error e;
    if (hocket_load_dir(h, "team", CHILDREN "/agents", &e) < 0
        || hocket_load_buffer(h, "team/sim.lua", "return dofile('" CHILDREN "/sim.lua')", 0, &e)
               < 0)
        fail_msg("%s", e.message);
    ask_each(h, "buffer:team/lead.md");
}

static void test_call_start(void **state)
{
    (void) state;
    hocket_host *h = open_host();
    struct hocket_error e;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        struct outcome out = { 0 };
        char args[1024];
        snprintf(args, sizeof(args), "{\"target\":\"%s\",\"input\":\"%s\",\"options\":%s}",
            CHILDREN "/agents/lead.md", words[i].word, OPTIONS);
        assert_int_equal(hocket_call_start(h, "run", args, NULL, NULL, keep_outcome, &out, &e), 0);
        wait_for(h, &out);
        check(words[i].word, words[i].heard, &out);
    }
    hocket_close(h, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_start),
        cmocka_unit_test(test_call_start),
        cmocka_unit_test(test_load_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
