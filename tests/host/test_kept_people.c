/* Runs that wait for people, messages and times of day: when they may be put away, and that they go on where they were. */
#include "host/kept/lives.h"

#include <time.h>

static const char *script(const char *name)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/scripts/%s.lua", HERE, name);
    return path;
}

/* Up to the first turn behind which it may be put away, or its end. */
static void until_parked(hocket_host *h, struct life *l)
{
    for (int i = 0; i < 3000 && !l->done && !l->parked; i++)
        turn(h, l);
}

static hocket_host *begin(const struct workflow *w, struct kept_log *log, struct life *l)
{
    struct hocket_error err;
    uint64_t id;
    hocket_host *h = open_host();
    life_init(l, w);
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = w->target, .input = w->input, .options = w->options
    };
    if (hocket_run_start(h, &spec, &id, on_event, on_done, l, &err) < 0)
        fail_msg("%s", err.message);
    l->run = id;
    l->kept = keep(h, id, log);
    return h;
}

static void end(hocket_host *h, struct life *l)
{
    hocket__kept_unref(l->kept);
    hocket_close(h, NULL, NULL);
    life_free(l);
}

static bool has_event(const struct life *l, const char *type)
{
    char text[64];
    snprintf(text, sizeof(text), "\"type\":\"%s\"", type);
    return l->events.len > 0 && strstr(l->events.data, text) != NULL;
}

/* One asks while another still works: it may be put away when the work is done, and not before. */
static void test_while_others_work(void **state)
{
    struct workflow w = { .name = "beside", script("beside"), "work", "{\"interactive\":true}" };
    struct kept_log log;
    struct life l;
    (void) state;
    log_init(&log);
    hocket_host *h = begin(&w, &log, &l);
    until_parked(h, &l);
    assert_true(has_event(&l, "question_asked"));
    assert_true(l.events.len > 0 && strstr(l.events.data, "the work is done"));
    size_t n = log.n;
    for (int i = 0; i < 5; i++)
        turn(h, &l);
    assert_int_equal(log.n, n); /* nothing goes on */
    assert_int_equal(l.parked, 6);
    end(h, &l);

    w.answers[0] = "yes"; /* asked again, since nobody had answered */
    live(&w, &log, &l);
    assert_string_equal(l.text.data, "the work is done slowly, yes");
    life_free(&l);
    log_free(&log);
}

/* Jobs in the background, with a time before they are tried again. */
static void test_job(void **state)
{
    struct workflow w = { .name = "beside", script("beside"), "job", "{\"interactive\":true}" };
    struct kept_log log;
    struct life l;
    (void) state;
    log_init(&log);
    hocket_host *h = begin(&w, &log, &l);
    until_parked(h, &l);
    assert_true(strstr(l.events.data, "the job is done") != NULL);
    assert_false(l.done);
    end(h, &l);
    log_free(&log);
}

/* An input of a conversation. */
static void test_chat(void **state)
{
    struct workflow w = {
        .name = "chat", EXAMPLES "/chat/agents", "A table for four", "{\"conversation\":true}"
    };
    struct kept_log log;
    struct life l;
    (void) state;
    log_init(&log);
    hocket_host *h = begin(&w, &log, &l);
    until_parked(h, &l);
    assert_true(has_event(&l, "turn_finished") && has_event(&l, "input_requested"));
    end(h, &l);
    log_free(&log);
}

/* A time of day goes on while nobody runs the run; then it goes on at once. */
static void test_time_of_day(void **state)
{
    struct workflow w = { .name = "beside", script("beside"), "time", "{}" };
    struct kept_log log, later;
    struct life l;
    (void) state;
    log_init(&log);
    hocket_host *h = begin(&w, &log, &l);
    until_parked(h, &l);
    assert_false(l.done);
    end(h, &l);
    log_copy(&log, log.n, &later);
    live(&w, &log, &l); /* what is left of its two seconds */
    assert_string_equal(l.text.data, "in time");
    life_free(&l);
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    live(&w, &later, &l); /* they are over */
    clock_gettime(CLOCK_MONOTONIC, &to);
    assert_string_equal(l.text.data, "in time");
    assert_true((double) (to.tv_sec - from.tv_sec) + (double) (to.tv_nsec - from.tv_nsec) / 1e9
                < test_slower());
    life_free(&l);
    log_free(&later);
    log_free(&log);
}

/* What is sent before anybody waits; what is no message; and too many. */
static void test_signals(void **state)
{
    struct workflow w = { .name = "beside", script("beside"), "signal", "{\"interactive\":true}" };
    struct kept_log log;
    struct life l;
    struct hocket_error err;
    (void) state;
    log_init(&log);
    hocket_host *h = begin(&w, &log, &l);
    assert_int_equal(hocket_run_signal(h, l.run, "go", "1", &err), HOCKET_ESTATE); /* too early */
    until_parked(h, &l);
    assert_int_equal(hocket_run_signal(h, l.run + 1, "go", "1", &err), HOCKET_ENOTFOUND);
    assert_int_equal(hocket_run_signal(h, l.run, "", "1", &err), HOCKET_EINVAL);
    assert_int_equal(hocket_run_signal(h, l.run, "go", "{", &err), HOCKET_EPARSE);
    assert_int_equal(hocket_run_signal(h, l.run, "go", NULL, &err), HOCKET_EINVAL);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(hocket_run_signal(h, l.run, "go", "{\"a\":[1,null]}", &err), 0);
    assert_int_equal(hocket_run_signal(h, l.run, "go", "1", &err), HOCKET_ELIMIT);
    end(h, &l);
    w.answers[0] = "go on";
    live(&w, &log, &l);
    assert_string_equal(l.text.data, "1000 messages, null");
    life_free(&l);
    log_free(&log);
}

/* What the console says to a run is in its log, too. */
static void test_console(void **state)
{
    struct workflow w = { .name = "beside", script("beside"), "work", "{\"interactive\":true}" };
    struct kept_log log, again;
    struct life l, second;
    struct hocket_error err;
    (void) state;
    log_init(&log);
    hocket_host *h = begin(&w, &log, &l);
    until_parked(h, &l);
    assert_int_equal(hocket_call_start(h, "command", "{\"line\":\"answer 2 q1 by the way\"}", NULL,
                         NULL, NULL, NULL, &err),
        0);
    until_done(h, &l);
    assert_string_equal(l.text.data, "the work is done slowly, by the way");
    log_copy(&log, log.n, &again);
    live(&w, &again, &second);
    if (second.status != 0)
        fail_msg("%s", second.error);
    same("the events", "console", log.n, l.events.data, second.events.data, ID_ONLY);
    assert_int_equal(again.n, log.n);
    life_free(&second);
    log_free(&again);
    end(h, &l);
    log_free(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_while_others_work),
        cmocka_unit_test(test_job), cmocka_unit_test(test_chat), cmocka_unit_test(test_time_of_day),
        cmocka_unit_test(test_signals), cmocka_unit_test(test_console) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
