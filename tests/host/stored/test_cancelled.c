/* A cancel by the program that has the run counts whenever it comes: while the run is read, in its replay, while it is suspended, while
 * it waits, and where the program ends right behind it. The run is cancelled in the store, in this life or the next one. What its
 * script has submitted goes on. */

#include "host/run/stored.h"
#include "host/stored/asking.h"
#include "host/stored/in_file.h"
#include "host/stored/run_life.h"

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct life *l = ud;
    (void) h, (void) run;
    l->asked += strcmp(e->type, "question_asked") == 0;
    l->asleep += strcmp(e->type, "run_asleep") == 0;
    if (strcmp(e->type, "submitted") == 0)
        copy_member(e, "child", l->child, sizeof(l->child));
}

/* One that has done much, has submitted a run, and asks; nobody has it. */
static struct life leave_one(void)
{
    struct life l = { .run = 0 };
    struct hocket_error err;
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = HERE "/scripts/cancelled.lua",
        .input = HERE "/scripts/small.lua",
        .options = "{\"park\":true}" };
    hocket_host *h = open_over(file, NULL);
    assert_int_equal(hocket_run_start(h, &spec, &l.run, on_event, on_done, &l, &err), 0);
    snprintf(l.name, sizeof(l.name), "%s", hocket_run_name(h, l.run));
    until(h, &l, &l.done, 1);
    assert_int_equal(l.status, HOCKET_EPARKED);
    assert_int_equal(strlen(l.child), 26);
    hocket_close(h, NULL, NULL);
    l.done = 0;
    return l;
}

static void resume(hocket_host *h, const char *options, struct life *l)
{
    struct hocket_error err;
    if (hocket_run_resume(h, l->name, options, &l->run, on_event, on_done, l, &err) < 0)
        fail_msg("%s", err.message);
}

static void assert_cancelled(struct life *l, const char *when, int n)
{
    hocket_host *h = open_over(file, NULL);
    enum hocket__store_state state = look(h, l->name).run.state;
    if (state != HOCKET__STORE_CANCELLED)
        fail_msg("%s, %d: it is %s", when, n, hocket__store_state_word(state));
    assert_int_equal(look(h, l->child).run.state, HOCKET__STORE_QUEUED);
    l->done = 0;
    resume(h, NULL, l);
    until(h, l, &l->done, 1);
    assert_int_equal(l->status, HOCKET_ESTATE);
    assert_non_null(strstr(l->error, "it is cancelled"));
    hocket_close(h, NULL, NULL);
}

/* Its program has cancelled it. It goes on, or ends at once: then the next one hears of it. */
static void end(hocket_host *h, struct life *l, bool closes)
{
    if (!closes)
        until(h, l, &l->done, 1);
    hocket_close(h, NULL, NULL);
    assert_int_equal(l->done, 1);
    assert_int_equal(l->status, HOCKET_ECANCELLED);
    if (!closes)
        return;
    h = open_over(file, NULL);
    l->done = 0;
    resume(h, NULL, l);
    until(h, l, &l->done, 1);
    assert_int_equal(l->status, HOCKET_ECANCELLED);
    hocket_close(h, NULL, NULL);
}

/* ---- Cases ------------------------------------------------------------------------------------ */

static bool replays(hocket_host *h, const struct life *l)
{
    const struct hocket__run *r = hocket__run_find(h, l->run);
    return r && hocket__run_phase_is_replaying(r->stored->phase);
}

/* At any turn: false, it was over before. */
static bool cancel_behind(int turns, bool closes)
{
    struct life l = leave_one();
    hocket_host *h = open_over(file, NULL);
    resume(h, NULL, &l);
    while (!replays(h, &l) && !l.done)
        hocket_pump(h, 1);
    for (int i = 0; i < turns && replays(h, &l); i++)
        hocket_pump(h, 1);
    bool early = replays(h, &l);
    assert_int_equal(hocket_run_cancel(h, l.run), 0);
    end(h, &l, closes);
    assert_cancelled(&l, "behind turns of its replay", turns);
    return early;
}

static void in_its_replay(void **state)
{
    int turns = 0;
    (void) state;
    while (cancel_behind(turns, false) && cancel_behind(turns, true))
        turns += 1 + turns / 2;
    printf("%d turns\n", turns);
    assert_true(turns > 0);
}

/* Between two answers of the store: the run is not this program's yet, or it is, and the program may end at once. */
static void while_it_is_read(void **state)
{
    static const enum hocket__store_call_kind kinds[] = { HOCKET__STORE_FIND, HOCKET__STORE_TAKE,
        HOCKET__STORE_FILES, HOCKET__STORE_ENTRIES, HOCKET__STORE_FILES, HOCKET__STORE_ENTRIES };
    (void) state;
    for (int i = 0; i < 6; i++) {
        struct life l = leave_one();
        hocket_host *h = open_over(file, NULL);
        asking_begin(h, kinds[i]);
        asking.holds = true;
        resume(h, NULL, &l);
        for (int n = 0; n < 1000 && !asking.held; n++)
            hocket_wait(h, 10);
        assert_non_null(asking.held);
        assert_int_equal(hocket_run_cancel(h, l.run), 0);
        assert_int_equal(hocket_run_cancel(h, l.run), 0);
        asking_end();
        end(h, &l, i >= 4);
        assert_cancelled(&l, "while it is read", i);
    }
}

static void while_it_is_suspended(void **state)
{
    struct life l = leave_one();
    (void) state;
    hocket_host *h = open_over(file, NULL);
    resume(h, "{\"lazy\":true}", &l);
    until(h, &l, &l.asleep, 1);
    assert_int_equal(hocket_run_cancel(h, l.run), 0);
    end(h, &l, false);
    assert_cancelled(&l, "while it is suspended", 0);
}

static void while_it_waits(void **state)
{
    struct life l = leave_one();
    (void) state;
    hocket_host *h = open_over(file, NULL);
    l.asked = 0;
    resume(h, NULL, &l);
    until(h, &l, &l.asked, 1);
    for (int i = 0; i < 5; i++)
        hocket_wait(h, 10);
    assert_int_equal(hocket_run_cancel(h, l.run), 0);
    end(h, &l, false);
    assert_cancelled(&l, "while it waits", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_its_replay),
        cmocka_unit_test(while_it_is_read),
        cmocka_unit_test(while_it_is_suspended),
        cmocka_unit_test(while_it_waits),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
