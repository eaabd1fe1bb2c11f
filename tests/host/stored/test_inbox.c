/* What could not be read of what others have said is read again, by one that goes on and by one that sleeps. */

#include "host/stored/asking.h"
#include "host/stored/run_life.h"

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct life *l = ud;
    snprintf(l->name, sizeof(l->name), "%s", hocket_run_name(h, run));
    l->asked += strcmp(e->type, "question_asked") == 0 && !e->again;
    l->answered += strcmp(e->type, "question_answered") == 0 && !e->again;
    l->allowed +=
        strcmp(e->type, "approval_answered") == 0 && strstr(e->json, "\"decision\":\"allow\"");
    l->asleep += strcmp(e->type, "run_asleep") == 0;
}

/* Starts one, which parks: nobody has it then. How many questions it has asked. */
static int leave(
    hocket_host *h, const char *script, const char *input, const char *options, char name[32])
{
    struct life l = { .done = 0 };
    struct hocket_error err;
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = script, .input = input, .options = options
    };
    assert_int_equal(hocket_run_start(h, &spec, &l.run, on_event, on_done, &l, &err), 0);
    until(h, &l, &l.done, 1);
    assert_int_equal(l.status, HOCKET_EPARKED);
    snprintf(name, 32, "%s", l.name);
    return l.asked;
}

/* One that asks q1. */
static void leave_one(hocket_host *h, char name[32])
{
    assert_int_equal(leave(h, HERE "/scripts/ask.lua", NULL, "{\"park\":true}", name), 1);
}

static void answer(hocket_host *h, const char *name)
{
    send_message(h, name, "m1", "{\"wish\":\"answer\",\"question\":\"q1\",\"text\":\"Lisbon\"}");
}

static void resume(hocket_host *h, const char *name, const char *options, struct life *l)
{
    struct hocket_error err;
    *l = (struct life){ .done = 0 };
    if (hocket_run_resume(h, name, options, &l->run, on_event, on_done, l, &err) < 0)
        fail_msg("%s", err.message);
}

/* Its answer is there before it goes on: it is not parked as if there were none. */
static void test_failed(void **state)
{
    struct life l;
    char name[32];
    (void) state;
    for (int fails = 1; fails < 5; fails++) {
        hocket_host *h = open_over("memory", NULL);
        leave_one(h, name);
        answer(h, name);
        asking_begin(h, HOCKET__STORE_MESSAGES);
        asking.fails = fails;
        resume(h, name, "{\"park\":true}", &l);
        until(h, &l, &l.done, 1);
        assert_int_equal(l.status, HOCKET_EPARKED);
        assert_int_equal(asking.failed, fails);
        assert_int_equal(l.answered, 1);
        assert_int_equal(l.asked, 2); /* the two that come next */
        asking_end();
        hocket_close(h, NULL, NULL);
    }
}

/* Nothing was said to it. */
static void test_nothing(void **state)
{
    struct life l;
    char name[32];
    (void) state;
    hocket_host *h = open_over("memory", NULL);
    leave_one(h, name);
    asking_begin(h, HOCKET__STORE_MESSAGES);
    asking.fails = 3;
    resume(h, name, "{\"park\":true}", &l);
    until(h, &l, &l.done, 1);
    assert_int_equal(l.status, HOCKET_EPARKED);
    assert_int_equal(asking.failed, 3);
    asking_end();
    hocket_close(h, NULL, NULL);
}

static void test_suspended(void **state)
{
    struct life l;
    char name[32];
    (void) state;
    hocket_host *h = open_over("memory", NULL);
    leave_one(h, name);
    resume(h, name, "{\"park\":true,\"lazy\":true}", &l);
    until(h, &l, &l.asleep, 1);
    asking_begin(h, HOCKET__STORE_MESSAGES);
    asking.fails = 2;
    answer(h, name);
    until(h, &l, &l.done, 1);
    assert_int_equal(l.status, HOCKET_EPARKED);
    assert_int_equal(asking.failed, 2);
    assert_int_equal(l.answered, 1);
    asking_end();
    hocket_close(h, NULL, NULL);
}

/* A call waits for permission, and its run is not there to judge what is said: that is judged all the same. */
static void test_judged(void **state)
{
    static const char *const refused[] = { "perhaps", "edit {\"to\":\"seven\"}", "edit []" };
    struct life l;
    struct hocket_error err;
    char name[32];
    (void) state;
    hocket_host *h = open_over("memory", NULL);
    leave(h, HERE "/scripts/approved.lua", "allowed", "{\"park\":true,\"approve\":\"ask\"}", name);
    resume(h, name, "{\"park\":true,\"lazy\":true}", &l);
    until(h, &l, &l.asleep, 1);
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        assert_int_equal(hocket_run_answer(h, l.run, "a1", refused[i], 0, &err), HOCKET_EINVAL);
    assert_int_equal(hocket_run_answer(h, l.run, "a1", refused[1], 0, &err), HOCKET_EINVAL);
    if (!strstr(err.message, "/to: expected integer"))
        fail_msg("%s", err.message);
    assert_int_equal(hocket_run_answer(h, l.run, "a2", "allow", 0, &err), HOCKET_ENOTFOUND);
    assert_int_equal(hocket_run_answer(h, l.run, "a1", "edit {\"to\":7}", 0, &err), 0);
    until(h, &l, &l.done, 1);
    assert_int_equal(l.status, 0);
    assert_int_equal(l.allowed, 1);
    hocket_close(h, NULL, NULL);
}

/* The host ends before it is read again. */
static void test_closed(void **state)
{
    struct life l;
    char name[32];
    (void) state;
    for (int lazy = 0; lazy < 2; lazy++) {
        hocket_host *h = open_over("memory", NULL);
        leave_one(h, name);
        resume(h, name, lazy ? "{\"lazy\":true}" : "{\"park\":true}", &l);
        if (lazy)
            until(h, &l, &l.asleep, 1);
        asking_begin(h, HOCKET__STORE_MESSAGES);
        asking.fails = 1;
        if (lazy)
            answer(h, name);
        for (int i = 0; i < 1000 && !asking.failed; i++)
            hocket_wait(h, 1);
        assert_int_equal(asking.failed, 1);
        asking_end();
        hocket_close(h, NULL, NULL);
        assert_int_equal(l.done, 1);
        assert_int_equal(l.status, HOCKET_ECANCELLED);
    }
}

/* Takes events until there is one of this type. */
static void take_until(hocket_host *h, const char *type)
{
    const struct hocket_event *event;
    for (int i = 0; i < 1000; i++) {
        hocket_wait(h, 10);
        while (hocket_event_next(h, &event) > 0)
            if (strcmp(event->type, type) == 0)
                return;
    }
    fail_msg("there is no %s", type);
}

/* Without callbacks: the host and its store close, and nobody has taken the results of runs that have parked, that ask or
 * that are suspended. */
static void test_results_nobody_takes(void **state)
{
    struct hocket_error err;
    char name[32];
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = HERE "/scripts/ask.lua", .options = "{\"park\":true}"
    };
    (void) state;
    hocket_host *h = open_over("memory", NULL);
    leave_one(h, name);
    assert_int_equal(
        hocket_run_resume(h, name, "{\"lazy\":true}", NULL, NULL, NULL, NULL, &err), 0);
    take_until(h, "run_asleep");
    for (int run = 0; run < 2; run++) {
        assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, NULL, NULL, &err), 0);
        take_until(h, "question_asked");
    }
    hocket_close(h, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_failed),
        cmocka_unit_test(test_nothing), cmocka_unit_test(test_suspended),
        cmocka_unit_test(test_judged), cmocka_unit_test(test_closed),
        cmocka_unit_test(test_results_nobody_takes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
