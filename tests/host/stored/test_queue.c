/* A worker ends a run that nobody could go on with, on a disk that is full meanwhile: once, and says what became of it. */

#include "host/stored/asking.h"
#include "host/stored/in_file.h"
#include "host/stored/run_life.h"
#include "store/disk.h"

#define RUN "01KANC3V0QZJ9E4W2X6T8B5M7R"

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct life *l = ud;
    (void) h, (void) run;
    l->working += strcmp(e->type, "working") == 0;
    if (strcmp(e->type, "run_ended") != 0)
        return;
    copy_member(e, "code", l->code, sizeof(l->code));
    copy_member(e, "message", l->error, sizeof(l->error));
    l->ended++;
}

/* Not to be taken yet. */
static void submit(hocket_host *h)
{
    struct hocket__store_run run = { .id = RUN,
        .target = HOCKET__STR("nothing.lua"),
        .options = HOCKET__STR("{}"),
        .version = HOCKET__STR(HOCKET_VERSION),
        .pool = HOCKET__STR("default"),
        .state = HOCKET__STORE_QUEUED,
        .due_ms = INT64_C(1) << 50,
        .cost = -1,
        .tokens = -1,
        .created_ms = 1 };
    submit_run(h, &run);
}

/* Four workers were lost with it, the last one just now. */
static void lose_four(void)
{
    write_sql("UPDATE runs SET state = 'running', attempts = 4, due_ms = 0, taken_n = 0");
}

/* ---- The case -------------------------------------------------------------------------------- */

/* The disk is full from the moment on in which it begins to end it. */
static void test_given_up(void **state)
{
    struct life l = { .done = 0 };
    struct hocket_error err;
    uint64_t id;
    (void) state;
    hocket_host *h = open_over(file, NULL);
    assert_int_equal(hocket_call_start(h, "work", "{}", &id, on_event, on_done, &l, &err), 0);
    until(h, &l, &l.working, 1);
    asking_begin(h, HOCKET__STORE_RUNS); /* its calls are ended first */
    asking.holds = true;
    submit(h);
    lose_four();
    for (int i = 0; i < 1000 && !asking.held; i++)
        hocket_wait(h, 10);
    assert_non_null(asking.held);
    disk_begin(DISK_FULL, 1, 4);
    asking_end();
    until(h, &l, &l.ended, 1);
    assert_true(disk_struck());
    disk_begin(DISK_WELL, 0, 0);
    if (strcmp(l.code, "failed") != 0)
        fail_msg("%s: %s", l.code, l.error);
    assert_non_null(strstr(l.error, "the worker's process ended 5 times"));
    struct seen s = look(h, RUN);
    assert_int_equal(s.run.state, HOCKET__STORE_FAILED);
    assert_int_equal(s.run.owner.pid, 0);
    hocket_close(h, NULL, NULL);
    assert_int_equal(l.ended, 1);
    assert_int_equal(l.done, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_given_up) };
    disk_install();
    int failed = cmocka_run_group_tests(tests, set_up, tear_down);
    disk_forget();
    return failed;
}
