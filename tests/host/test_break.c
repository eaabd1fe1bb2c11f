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

static volatile sig_atomic_t had_time, had_none;

static void on_look(int signo)
{
    (void) signo;
    if (hocket_has_time(watched) > 0)
        had_time++;
    else if (hocket_break(watched) > 0)
        had_none++;
}

static int answered;

/* The second question stands for longer than the run may work: two seconds, of which it needs a fortieth, also beside other programs. */
static void on_question(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct hocket_error err;
    (void) ud;
    if (strcmp(e->type, "question_asked") != 0)
        return;
    watch(h);
    struct sigaction sa = { .sa_handler = on_look, .sa_flags = SA_RESTART };
    sigaction(SIGVTALRM, &sa, NULL);
    answered++;
    usleep(answered > 1 ? 2200000 : 0);
    assert_int_equal(hocket_run_answer(h, run, answered > 1 ? "q2" : "q1", "go on", 0, &err), 0);
}

static void end_in(hocket_host *h, const char *script, struct outcome *o)
{
    struct hocket_error e;
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = file_with(script),
        .options = "{\"interactive\":true,\"timeout\":2}" };
    *o = (struct outcome){ 0 };
    answered = 0;
    had_time = had_none = 0;
    assert_int_equal(hocket_run_start(h, &spec, NULL, on_question, keep_outcome, o, &e), 0);
    while (!o->done)
        hocket_wait(h, -1);
    watch(NULL);
    drop_file(NULL);
}

#define BUSY                                                                                       \
    "local function busy(rounds) for _ = 1, rounds do local x = 0 for i = 1, 1e5 do x = x + i "    \
    "end end end "
#define ASK "require('hocket').ask 'Go on?' "

/* A limit counts work: who waited for a person has the time that was left. */
static void test_time(void **state)
{
    (void) state;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct outcome out;
    hocket_host *h = host_with(NULL, &o);
    assert_int_equal(hocket_has_time(h), 0); /* nothing runs */
    end_in(h,
        BUSY ASK ASK
        "local from = os.clock() repeat busy(1) until os.clock() - from > 0.05 return 'in time'",
        &out);
    assert_string_equal(out.text, "in time");
    assert_true(had_time > 0);
    assert_int_equal(had_none, 0);
    end_in(h, ASK "while true do end", &out);
    assert_int_equal(out.status, HOCKET_ETIMEOUT);
    assert_true(had_time > 0 && had_none > 0);
    hocket_close(h, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test_teardown(test_break, drop_file),
        cmocka_unit_test_teardown(test_waiting, drop_file),
        cmocka_unit_test_teardown(test_time, drop_file) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
