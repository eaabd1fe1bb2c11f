/* hooks.lua of a project that a program loads from its folder (hocket_load_dir): asked in each run, refused where nobody trusts it, loaded
 * anew, and never again for what the log says. The same project in Lua: tests/module/hooked.lua. */
#include "host/run_util.h"

#define OPTIONS "{\"model\":\"sim/x\"}"
#define TARGET  "buffer:inn/agents/cook.md"

static char place[256]; /* where the tool looked */
static int looked;

static void on_call(hocket_host *h, const struct hocket_tool_call *c, void *ud)
{
    (void) ud;
    looked++;
    snprintf(place, sizeof(place), "%.*s", (int) c->args_len, c->args);
    assert_int_equal(hocket_tool_answer(h, c->id, 0, "crabs", 0), 0);
}

static const struct hocket_tool_spec look = { .size = sizeof(look),
    .name = "look",
    .description = "Looks.",
    .parameters = "{\"type\":\"object\",\"properties\":{\"place\":{\"type\":\"string\"}}}" };

static hocket_host *inn(const char *dir)
{
    struct hocket_error e;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.store = "memory";
    hocket_host *h = host_with(NULL, &o);
    if (hocket_tool_add(h, &look, on_call, NULL, NULL, &e) < 0
        || hocket_load_dir(h, "inn", dir, &e) < 0)
        fail_msg("%s", e.message);
    return h;
}

static char name[64]; /* of the last run */

static void keep_name(hocket_host *h, uint64_t run, const struct hocket_event *event, void *ud)
{
    (void) h;
    (void) run;
    (void) ud;
    const char *at = strstr(event->json, "\"run\":\"");
    if (at)
        snprintf(name, sizeof(name), "%.26s", at + 7);
}

static struct outcome run_with(
    hocket_host *h, const char *target, const char *input, const char *options)
{
    struct hocket_error e;
    struct outcome out = { 0 };
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = target, .input = input, .options = options
    };
    assert_int_equal(hocket_run_start(h, &spec, NULL, keep_name, keep_outcome, &out, &e), 0);
    wait_for(h, &out);
    return out;
}

static void says(hocket_host *h, const char *target, const char *input, const char *text)
{
    struct outcome out = run_with(h, target, input, OPTIONS);
    if (!strstr(out.text, text))
        fail_msg("%s: expected \"%s\", got \"%s\" %s", input, text, out.text, out.error);
}

static void denies(hocket_host *h, const char *input, const char *options, const char *why)
{
    struct outcome out = run_with(h, TARGET, input, options);
    assert_int_equal(out.status, HOCKET_EDENIED);
    if (!strstr(out.error, why))
        fail_msg("%s: expected \"%s\", got \"%s\"", input, why, out.error);
}

static void test_decisions(void **state)
{
    (void) state;
    hocket_host *h = inn(HOOKED);
    says(h, TARGET, "hello", "heard: hello (seen)");
    says(h, TARGET, "menu", "soup");
    denies(h, "closed", OPTIONS, "the inn is closed");
    denies(h, "loop", OPTIONS, "buffer:inn/hooks.lua failed");
    denies(h, "sleep", OPTIONS, "not done within 0.3 seconds");
    looked = 0;
    says(h, TARGET, "look attic", "the attic is locked");
    says(h, TARGET, "look roof", "a cat on the roof");
    assert_int_equal(looked, 0);
    says(h, TARGET, "look hall", "Mind the step.");
    says(h, TARGET, "look cellar", "crabs");
    assert_non_null(strstr(place, "\"room "));
    assert_int_equal(looked, 2);
    hocket_close(h, NULL, NULL);
}

/* A folder of agents has the hooks above it. */
static void test_above(void **state)
{
    (void) state;
    hocket_host *h = inn(HOOKED "/agents/");
    says(h, "buffer:inn", "hello", "heard: hello (seen)");
    hocket_close(h, NULL, NULL);
}

static void test_trust(void **state)
{
    (void) state;
    hocket_host *h = inn(HOOKED);
    looked = 0;
    denies(h, "look hall", "{\"model\":\"sim/x\",\"trust\":false}", "hooks.lua");
    assert_int_equal(looked, 0);
    hocket_close(h, NULL, NULL);
}

/* New runs have the new hooks; the log decides for those that were. */
static void test_reload(void **state)
{
    (void) state;
    struct hocket_error e;
    hocket_host *h = inn(HOOKED);
    says(h, TARGET, "look cellar", "crabs");
    char first[sizeof(name)];
    snprintf(first, sizeof(first), "%s", name);
    assert_int_equal(
        hocket_load_buffer(h, "inn/hooks.lua",
            "return { before_tool = function() return { deny = 'newer' } end }", 0, &e),
        0);
    looked = 0;
    says(h, TARGET, "look cellar", "newer");
    assert_int_equal(
        hocket_load_buffer(h, "inn/hooks.lua", "\nreturn { befor_tool = print }", 0, &e),
        HOCKET_EAGENT);
    assert_non_null(strstr(e.message, "buffer:inn/hooks.lua:2"));
    says(h, TARGET, "look cellar", "newer");
    struct outcome out = { 0 };
    assert_int_equal(
        hocket_run_replay(h, first, "{\"trust\":true}", NULL, NULL, keep_outcome, &out, &e), 0);
    wait_for(h, &out);
    assert_string_equal(out.error, "");
    assert_non_null(strstr(out.text, "crabs (seen)"));
    assert_int_equal(looked, 0);
    hocket_close(h, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decisions),
        cmocka_unit_test(test_above),
        cmocka_unit_test(test_trust),
        cmocka_unit_test(test_reload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
