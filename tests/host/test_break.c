/* hocket_break: code that never waits, ended from a signal handler. */

#include "host/run_util.h"

#include <signal.h>
#include <sys/time.h>

static hocket_host *volatile watched;
static volatile sig_atomic_t broken;

static void on_alarm(int signo)
{
    (void) signo;
    broken += hocket_break(watched);
}

/* From now on the handler runs after each 20 ms that this process has computed, however busy the machine is; NULL: no more. */
static void watch(hocket_host *h)
{
    struct itimerval every = { { 0, h ? 20000 : 0 }, { 0, h ? 20000 : 0 } };
    struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    sigemptyset(&sa.sa_mask);
    sigaction(SIGVTALRM, &sa, NULL);
    watched = h;
    setitimer(ITIMER_VIRTUAL, &every, NULL);
}

/* The script has begun, and is at its loop next. */
static void on_output(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    (void) run, (void) ud;
    if (strcmp(e->type, "output") == 0)
        watch(h);
}

#define BEGIN "print 'ready' require('hocket').flow.sleep(0.001) "

static void run(hocket_host *h, const char *script, struct outcome *o)
{
    struct hocket_error e;
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = file_with(script) };
    *o = (struct outcome){ 0 };
    broken = 0;
    assert_int_equal(hocket_run_start(h, &spec, NULL, on_output, keep_outcome, o, &e), 0);
    while (!o->done)
        hocket_wait(h, -1);
    watch(NULL);
    drop_file(NULL);
}

static void test_break(void **state)
{
    (void) state;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct outcome out;
    hocket_host *h = host_with(NULL, &o);
    assert_int_equal(hocket_break(h), 0); /* nothing runs */
    run(h, BEGIN "while true do end", &out);
    assert_true(broken >= 1);
    assert_int_equal(out.status, HOCKET_ECANCELLED);
    assert_non_null(strstr(out.error, "never waits"));
    run(h,
        BEGIN "local n = 0\n"
              "while n < 3 do\n"
              "  local ok, err = pcall(function() while true do end end)\n"
              "  if err.code == 'cancelled' then n = n + 1 end\n"
              "end\n"
              "return 'broken ' .. n .. ' times'",
        &out);
    assert_int_equal(out.status, HOCKET_OK);
    assert_string_equal(out.text, "broken 3 times");
    hocket_close(h, NULL, NULL);
}

/* What waits is left alone. */
static void test_waiting(void **state)
{
    (void) state;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct outcome out = { 0 };
    struct hocket_error e;
    hocket_host *h = host_with(NULL, &o);
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = file_with("require('hocket').flow.sleep(0.2) return 'slept'") };
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &out, &e), 0);
    while (!out.done) {
        hocket_wait(h, -1);
        assert_int_equal(hocket_break(h), 0);
    }
    assert_string_equal(out.text, "slept");
    hocket_close(h, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test_teardown(test_break, drop_file),
        cmocka_unit_test_teardown(test_waiting, drop_file) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
