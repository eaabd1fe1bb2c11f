/* Many runs in one store: a thousand at once, some of them cut off in the middle, and many one after another. What each does
 * to the world it does once.
 *
 *   test_many [N]    so many one after another; 10,000 take a minute */

#include <hocket/hocket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/stored/host.h"
#include "host/stored/in_file.h"

enum { AT_ONCE = 1000, NAME = 32 };

static char stamps[TEST_TEMP_PATH + 16];
static char names[AT_ONCE][NAME];
static int rows = 200;

struct tally {
    int done, well, unknown;
};

static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct tally *t = ud;
    (void) h;
    (void) run;
    t->done++;
    t->well += r->status == 0 && strncmp(r->text, "stamped ", 8) == 0;
}

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    (void) h, (void) run, (void) e, (void) ud;
}

static void start(hocket_host *h, int i, char name[NAME], struct tally *t)
{
    struct hocket_error err;
    uint64_t id;
    char input[TEST_TEMP_PATH + 32];
    snprintf(input, sizeof(input), "%d %s", i, folder);
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = HERE "/scripts/stamp.lua", .input = input
    };
    if (hocket_run_start(h, &spec, &id, on_event, on_done, t, &err) < 0)
        fail_msg("%s", err.message);
    snprintf(name, NAME, "%s", hocket_run_name(h, id));
}

static void until(hocket_host *h, const struct tally *t, int count)
{
    for (int i = 0; i < 100000 && t->done < count; i++)
        hocket_wait(h, 10);
    assert_int_equal(t->done, count);
}

/* Whose stamp stands there, and how often. */
static int count_stamps(int most)
{
    static int times[AT_ONCE];
    char line[64];
    int n = 0;
    memset(times, 0, sizeof(times));
    FILE *f = fopen(stamps, "r");
    while (f && fgets(line, sizeof(line), f)) {
        int i = atoi(line) % AT_ONCE;
        if (++times[i] > most)
            fail_msg("the stamp %d stands there %d times", i, times[i]);
        n++;
    }
    if (f)
        fclose(f);
    return n;
}

struct counted {
    bool done;
    int runs, ended;
};

static int count_row(void *ud, const struct hocket__store_row *row)
{
    struct counted *c = ud;
    c->runs++;
    c->ended += row->run.state == HOCKET__STORE_DONE && row->run.owner.pid == 0;
    return 0;
}

static void on_counted(void *ud, int status, const struct hocket_error *err)
{
    struct counted *c = ud;
    (void) err;
    assert_int_equal(status, 0);
    c->done = true;
}

static void check_rows(int runs)
{
    struct counted c = { .done = false };
    hocket_host *h = open_over(file, NULL);
    struct hocket__store_reply reply = { count_row, on_counted, &c };
    struct hocket__store_filter all = { .limit = 0 };
    assert_int_equal(hocket__store_runs(hocket__runtime_store(h->rt, NULL), &all, &reply, NULL), 0);
    while (!c.done)
        hocket_wait(h, 10);
    assert_int_equal(c.runs, runs);
    assert_int_equal(c.ended, runs);
    hocket_close(h, NULL, NULL);
}

static int begin(void **state)
{
    if (set_up(state) < 0)
        return -1;
    snprintf(stamps, sizeof(stamps), "%s/stamps", folder);
    return 0;
}

static int end(void **state)
{
    unlink(stamps);
    return tear_down(state);
}

static void test_at_once(void **state)
{
    struct tally t = { 0 };
    (void) state;
    hocket_host *h = open_over(file, NULL);
    for (int i = 0; i < AT_ONCE; i++)
        start(h, i, names[i], &t);
    until(h, &t, AT_ONCE);
    assert_int_equal(t.well, AT_ONCE);
    hocket_close(h, NULL, NULL);
    assert_int_equal(count_stamps(1), AT_ONCE);
    check_rows(AT_ONCE);
}

/* The host is closed while most of them are at it; another one goes on with those that have not ended. */
static void test_cut_off(void **state)
{
    struct tally t = { 0 }, again = { 0 };
    struct hocket_error err;
    (void) state;
    hocket_host *h = open_over(file, NULL);
    for (int i = 0; i < AT_ONCE; i++)
        start(h, i, names[i], &t);
    for (int i = 0; i < 20 && t.done == 0; i++)
        hocket_wait(h, 1);
    int before = t.well;
    hocket_close(h, NULL, NULL);
    h = open_over(file, NULL);
    for (int i = 0; i < AT_ONCE; i++)
        assert_int_equal(
            hocket_run_resume(h, names[i], NULL, NULL, on_event, on_done, &again, &err), 0);
    until(h, &again, AT_ONCE); /* those that have ended say so */
    assert_int_equal(again.well + before, AT_ONCE);
    hocket_close(h, NULL, NULL);
    count_stamps(1);
    check_rows(AT_ONCE);
}

static void test_one_after_another(void **state)
{
    char name[NAME];
    struct tally t = { 0 };
    (void) state;
    hocket_host *h = open_over(file, NULL);
    for (int i = 0; i < rows; i++) {
        start(h, i, name, &t);
        until(h, &t, i + 1);
    }
    assert_int_equal(t.well, rows);
    hocket_close(h, NULL, NULL);
    assert_int_equal(count_stamps(1 + rows / AT_ONCE), rows);
    check_rows(rows);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { TEST(test_at_once), TEST(test_cut_off),
        TEST(test_one_after_another) };
    if (argc > 1)
        rows = atoi(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
