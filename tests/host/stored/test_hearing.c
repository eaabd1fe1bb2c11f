/* What could not be read of what others have said is read again, by one that goes on and by one that sleeps. */

#include <hocket/hocket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "host/stored/asking.h"

struct life {
    char name[32], error[512];
    int done, status, asked, answered, asleep;
    uint64_t run;
};

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct life *l = ud;
    snprintf(l->name, sizeof(l->name), "%s", hocket_run_name(h, run));
    l->asked += strcmp(e->type, "question_asked") == 0 && !e->again;
    l->answered += strcmp(e->type, "question_answered") == 0 && !e->again;
    l->asleep += strcmp(e->type, "run_asleep") == 0;
}

static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct life *l = ud;
    (void) h, (void) run;
    l->done++;
    l->status = r->status;
    snprintf(l->error, sizeof(l->error), "%s", r->error ? r->error->message : "");
}

static const char *variables(const char *name, void *ud)
{
    (void) ud;
    return strcmp(name, "HOCKET_MODEL") == 0   ? "sim/default"
           : strcmp(name, "HOCKET_TRUST") == 0 ? "1"
                                               : NULL;
}

static hocket_host *open_host(void)
{
    struct hocket_error err;
    hocket_host *h = NULL;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.getenv_cb = variables;
    o.store = "memory";
    if (hocket_open(&o, &h, &err) < 0 || hocket_serve_attach(h, &err) < 0)
        fail_msg("%s", err.message);
    return h;
}

static void until(hocket_host *h, const struct life *l, const int *what, int count)
{
    for (int i = 0; i < 1000 && *what < count; i++)
        hocket_wait(h, 10);
    if (*what < count)
        fail_msg("%d and not %d: %s", *what, count, l->error);
}

/* One that asks q1, and that nobody has. */
static void leave_one(hocket_host *h, char name[32])
{
    struct life l = { .done = 0 };
    struct hocket_error err;
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = HERE "/scripts/ask.lua", .options = "{\"park\":true}"
    };
    assert_int_equal(hocket_run_start(h, &spec, &l.run, on_event, on_done, &l, &err), 0);
    until(h, &l, &l.done, 1);
    assert_int_equal(l.status, HOCKET_EPARKED);
    assert_int_equal(l.asked, 1);
    snprintf(name, 32, "%s", l.name);
}

static void on_said(void *ud, int status, const struct hocket_error *err)
{
    int *said = ud;
    (void) err;
    assert_int_equal(status, 0);
    ++*said;
}

static void answer(hocket_host *h, const char *name)
{
    int said = 0;
    struct hocket__store_reply reply = { NULL, on_said, &said };
    struct hocket__store_message m = { HOCKET__STR("m1"), 1,
        HOCKET__STR("{\"wish\":\"answer\",\"question\":\"q1\",\"text\":\"Lisbon\"}") };
    assert_int_equal(hocket__store_message(
                         hocket__runtime_store(h->rt, NULL), hocket__cstr(name), &m, &reply, NULL),
        0);
    for (int i = 0; i < 1000 && !said; i++)
        hocket_wait(h, 10);
    assert_int_equal(said, 1);
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
        hocket_host *h = open_host();
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
    hocket_host *h = open_host();
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

static void test_asleep(void **state)
{
    struct life l;
    char name[32];
    (void) state;
    hocket_host *h = open_host();
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

/* The host ends before it is read again. */
static void test_closed(void **state)
{
    struct life l;
    char name[32];
    (void) state;
    for (int lazy = 0; lazy < 2; lazy++) {
        hocket_host *h = open_host();
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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_failed),
        cmocka_unit_test(test_nothing), cmocka_unit_test(test_asleep),
        cmocka_unit_test(test_closed) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
