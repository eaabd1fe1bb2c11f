/* A run that has nothing under way is ended, and says so; one that waits for anything is not. */

#include "host/run_util.h"

#include <time.h>

static void on_log(enum hocket_log_level level, const char *text, void *ud)
{
    (void) level;
    *(int *) ud += strstr(text, "nothing is under way") != NULL;
}

static hocket_host *open_logged(int *logged, void *uv_loop)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.log_cb = on_log;
    o.log_ud = logged;
    o.uv_loop = uv_loop;
    *logged = 0;
    return host_with(NULL, &o);
}

static void run(hocket_host *h, const char *script, struct outcome *out)
{
    struct hocket_error e = { 0 };
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = file_with(script), .input = "in"
    };
    *out = (struct outcome){ 0 };
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, out, &e), 0);
    for (time_t until = time(NULL) + 20; !out->done && time(NULL) < until;)
        hocket_wait(h, 100);
    assert_int_equal(out->done, 1);
    drop_file(NULL);
}

#define PARK "local fiber = require 'hocket.internal.core.fiber'\n"

/* Each of these waits for what never comes. */
static void test_stuck(void **state)
{
    static const char *const scripts[] = {
        PARK "fiber.park()",
        PARK "local flow = require('hocket').flow\n"
             "flow.all { function() fiber.park() end, function() fiber.park() end }",
        PARK "local jobs = require('hocket').broker()\n"
             "jobs:call { run = function() fiber.park() end }",
        "local hocket = require 'hocket'\n" /* a service goes on meanwhile */
        "hocket.run(hocket.agent { name = 'a', prompt = 'p', model = 'sim' }, 'x')\n"
        "require('hocket.internal.core.fiber').park()",
    };
    struct outcome out;
    int logged;
    (void) state;
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        hocket_host *h = open_logged(&logged, NULL);
        run(h, scripts[i], &out);
        assert_int_equal(out.status, HOCKET_ESTATE);
        assert_non_null(strstr(out.error, "nothing is under way"));
        assert_int_equal(logged, 1);
        run(h, "return 'well'", &out);
        assert_string_equal(out.text, "well");
        hocket_close(h, NULL, NULL);
    }
}

/* Who waits again and again is cancelled. */
static void test_stubborn(void **state)
{
    struct outcome out;
    int logged;
    (void) state;
    hocket_host *h = open_logged(&logged, NULL);
    run(h, PARK "while true do pcall(fiber.park) end", &out);
    assert_int_equal(out.status, HOCKET_ECANCELLED);
    hocket_close(h, NULL, NULL);
}

static void wait_some(hocket_host *h)
{
    for (int i = 0; i < 5; i++)
        hocket_wait(h, 30);
}

/* What waits for a time, a person, the program or another run is left alone. */
static void test_not_stuck(void **state)
{
    static const char *const scripts[] = {
        "require('hocket').flow.sleep(1000)",
        "return require('hocket.ask')('why?')",
        "return { chat = function() return 'heard' end }",
        PARK "local flow = require('hocket').flow\n"
             "flow.all { function() fiber.park() end, function() flow.sleep(1000) end }",
        "require('hocket.internal.host.tools').keep { name = 'engine', description = 'd', run = "
        "function() end }\n"
        "local list = require('hocket.tool').resolve({ 'engine' }, { agent = { name = 'a' } })\n"
        "return list[1].run({})",
        "require('hocket').broker():call { retries = 3, backoff = 1000, run = function() error "
        "'again' end }",
    };
    (void) state;
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        struct hocket_error e = { 0 };
        struct outcome out = { 0 };
        struct hocket_run_spec spec = { .size = sizeof(spec),
            .target = file_with(scripts[i]),
            .input = "in",
            .options = i == 2 ? "{\"conversation\":true}" : "{\"interactive\":true}" };
        int logged;
        hocket_host *h = open_logged(&logged, NULL);
        assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &out, &e), 0);
        wait_some(h);
        if (out.done || logged)
            fail_msg("%s: %s", scripts[i], out.error);
        hocket_close(h, NULL, NULL);
        assert_int_equal(out.status, HOCKET_ECANCELLED);
        drop_file(NULL);
    }
}

/* Who does something for others alone may wait, when there is no run as well. */
static void test_helper(void **state)
{
    struct outcome out;
    int logged;
    (void) state;
    hocket_host *h = open_logged(&logged, NULL);
    run(h, PARK "fiber.detach(function() while true do fiber.park() end end):help() return 'well'",
        &out);
    assert_string_equal(out.text, "well");
    wait_some(h);
    assert_int_equal(logged, 0);
    run(h, PARK "fiber.park()", &out);
    assert_int_equal(out.status, HOCKET_ESTATE);
    hocket_close(h, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_stuck, drop_file),
        cmocka_unit_test_teardown(test_stubborn, drop_file),
        cmocka_unit_test_teardown(test_not_stuck, drop_file),
        cmocka_unit_test_teardown(test_helper, drop_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
