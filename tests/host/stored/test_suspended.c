/* Runs that sleep, or are still being read, over a file: they end when another process takes them over, and what is said to
 * one that sleeps is there when it has woken, whatever the disk does meanwhile. */

#include "host/stored/asking.h"
#include "host/stored/in_file.h"
#include "host/stored/run_life.h"
#include "store/disk.h"

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct life *l = ud;
    (void) h, (void) run;
    l->asleep += strcmp(e->type, "run_asleep") == 0;
    l->asked += strcmp(e->type, "input_requested") == 0 && !e->again;
    l->answered += strcmp(e->type, "turn_finished") == 0 && !e->again;
}

/* A conversation that waits for its next input, and that nobody has. */
static void leave_one(char name[32])
{
    struct life l = { .run = 0 };
    struct hocket_error err;
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = EXAMPLES "/chat/agents",
        .input = "A table for four, please",
        .options = "{\"conversation\":true}" };
    hocket_host *h = open_over(file, NULL);
    assert_int_equal(hocket_run_start(h, &spec, &l.run, on_event, on_done, &l, &err), 0);
    snprintf(name, 32, "%s", hocket_run_name(h, l.run));
    until(h, &l, &l.asked, 1);
    assert_int_equal(hocket_run_park(h, l.run), 0);
    until(h, &l, &l.done, 1);
    hocket_close(h, NULL, NULL);
}

static void resume(hocket_host *h, const char *name, struct life *l)
{
    struct hocket_error err;
    if (hocket_run_resume(h, name, "{\"lazy\":true}", &l->run, on_event, on_done, l, &err) < 0)
        fail_msg("%s", err.message);
}

/* ---- Its claim is lost -------------------------------------------------------------------- */

static void assert_lost(hocket_host *h, struct life *l)
{
    struct hocket_error err;
    until(h, l, &l->done, 1);
    assert_int_equal(l->status, HOCKET_ESTATE);
    assert_non_null(strstr(l->error, "another process has taken the run over"));
    assert_int_equal(hocket_run_answer(h, l->run, "i1", "Thank you", 0, &err), HOCKET_ENOTFOUND);
}

/* It sleeps, and hears so with the next renewal. */
static void test_lost_while_suspended(void **state)
{
    struct life l = { .run = 0 };
    char name[32];
    (void) state;
    leave_one(name);
    hocket_host *h = open_over(file, "0.3");
    resume(h, name, &l);
    until(h, &l, &l.asleep, 1);
    steal(name);
    assert_lost(h, &l);
    hocket_close(h, NULL, NULL);
    assert_int_equal(l.done, 1);
}

/* It is spoken to before that: nothing of it is done here, and nothing told to who has it now. */
static void test_lost_with_a_message(void **state)
{
    struct life l = { .run = 0 };
    struct hocket_error err;
    char name[32];
    (void) state;
    leave_one(name);
    hocket_host *h = open_over(file, NULL);
    resume(h, name, &l);
    until(h, &l, &l.asleep, 1);
    steal(name);
    assert_int_equal(hocket_run_answer(h, l.run, "i1", "Thank you", 0, &err), 0);
    assert_lost(h, &l);
    hocket_close(h, NULL, NULL);
    assert_int_equal(l.answered, 0);
    assert_int_equal(l.done, 1);
}

/* Its messages are being looked for, its files or its log are being read. */
static void test_lost_while_read(void **state)
{
    static const enum hocket__store_call_kind kinds[] = { HOCKET__STORE_MESSAGES,
        HOCKET__STORE_FILES, HOCKET__STORE_ENTRIES };
    char name[32];
    (void) state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        struct life l = { .run = 0 };
        struct hocket_error err;
        leave_one(name);
        hocket_host *h = open_over(file, "0.3");
        asking_begin(h, kinds[i]);
        asking.holds = true;
        resume(h, name, &l);
        if (i > 0) {
            until(h, &l, &l.asleep, 1);
            assert_int_equal(hocket_run_change(h, l.run, "{}", &err), HOCKET_ESTATE); /* it wakes */
        }
        for (int n = 0; n < 1000 && !asking.held; n++)
            hocket_wait(h, 10);
        assert_non_null(asking.held);
        steal(name);
        assert_lost(h, &l);
        asking_end();
        for (int n = 0; n < 3; n++)
            hocket_wait(h, 10);
        hocket_close(h, NULL, NULL);
        assert_int_equal(l.done, 1);
        assert_int_equal(l.asked, 0);
    }
}

/* ---- What is said to it ------------------------------------------------------------------- */

/* The disk is full meanwhile: it wakes when that is written. Nothing more is taken of what would be too much. */
static void test_message_on_full_disk(void **state)
{
    struct life one = { .run = 0 }, other = { .run = 0 };
    struct hocket_error err;
    char names[2][32];
    (void) state;
    leave_one(names[0]);
    leave_one(names[1]);
    hocket_host *h = open_over(file, NULL);
    resume(h, names[0], &one);
    resume(h, names[1], &other);
    until(h, &one, &one.asleep, 1);
    until(h, &other, &other.asleep, 1);
    struct hocket__store *store = hocket__runtime_store(h->rt, NULL);
    size_t max_pending = store->o.max_pending;
    disk_begin(DISK_FULL, 1, 4);
    assert_int_equal(hocket_run_answer(h, one.run, "i1", "Thank you", 0, &err), 0);
    store->o.max_pending = 0;
    assert_int_equal(hocket_run_answer(h, other.run, "i1", "?", 0, &err), HOCKET_ELIMIT);
    assert_non_null(strstr(err.message, "too much waits to be written"));
    store->o.max_pending = max_pending;
    until(h, &one, &one.answered, 1);
    assert_true(disk_struck());
    disk_begin(DISK_WELL, 0, 0);
    assert_int_equal(hocket_run_answer(h, other.run, "i1", "Thank you", 0, &err), 0);
    until(h, &other, &other.answered, 1);
    hocket_close(h, NULL, NULL);
}

/* ---- All --------------------------------------------------------------------------------------- */

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_lost_while_suspended),
        cmocka_unit_test(test_lost_with_a_message), cmocka_unit_test(test_lost_while_read),
        cmocka_unit_test(test_message_on_full_disk) };
    disk_install();
    int failed = cmocka_run_group_tests(tests, set_up, tear_down);
    disk_forget();
    return failed;
}
