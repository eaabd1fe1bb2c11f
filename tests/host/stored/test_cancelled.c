/* A cancel by the program that has the run counts whenever it comes: while the run is read, in its replay, while it is suspended, while
 * it waits, and where the program ends right behind it. The run is cancelled in the store, in this life or the next one. What its
 * script has submitted goes on. */

#include <hocket/hocket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/run/stored.h"
#include "host/stored/asking.h"
#include "host/stored/in_file.h"

enum { ID = 32 };

/* ---- A life ------------------------------------------------------------------------------- */

struct life {
    char name[ID], child[ID], error[512];
    int done, status, asked, asleep;
    uint64_t run;
};

static void note_child(struct life *l, const struct hocket_event *e)
{
    hocket_json *json = hocket_json_parse(e->json, e->json_len, NULL);
    snprintf(l->child, sizeof(l->child), "%s",
        hocket_json_text(hocket_json_get(json, "child"), "", NULL));
    hocket_json_free(json);
}

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct life *l = ud;
    (void) h, (void) run;
    l->asked += strcmp(e->type, "question_asked") == 0;
    l->asleep += strcmp(e->type, "run_asleep") == 0;
    if (strcmp(e->type, "submitted") == 0)
        note_child(l, e);
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
    o.store = file;
    if (hocket_open(&o, &h, &err) < 0 || hocket_serve_attach(h, &err) < 0)
        fail_msg("%s", err.message);
    return h;
}

static void until(hocket_host *h, const struct life *l, const int *what)
{
    for (int i = 0; i < 1000 && !*what; i++)
        hocket_wait(h, 10);
    if (!*what)
        fail_msg("it does not come: %s", l->error);
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
    hocket_host *h = open_host();
    assert_int_equal(hocket_run_start(h, &spec, &l.run, on_event, on_done, &l, &err), 0);
    snprintf(l.name, sizeof(l.name), "%s", hocket_run_name(h, l.run));
    until(h, &l, &l.done);
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

/* ---- What is in the store ------------------------------------------------------------------- */

struct seen {
    enum hocket__store_state state;
    int done;
};

static int on_row(void *ud, const struct hocket__store_row *row)
{
    struct seen *s = ud;
    if (row->kind == HOCKET__STORE_ROW_RUN)
        s->state = row->run.state;
    return 0;
}

static void on_rows(void *ud, int status, const struct hocket_error *err)
{
    struct seen *s = ud;
    (void) err;
    assert_int_equal(status, 0);
    s->done = 1;
}

static enum hocket__store_state state_of(hocket_host *h, const char *name)
{
    struct hocket__store *store = hocket__runtime_store(h->rt, NULL);
    struct seen s = { 0 };
    struct hocket__store_reply reply = { on_row, on_rows, &s };
    assert_int_equal(hocket__store_find(store, hocket__cstr(name), &reply, NULL), 0);
    for (int i = 0; i < 1000 && !s.done; i++)
        hocket_wait(h, 10);
    assert_true(s.done);
    return s.state;
}

static void assert_cancelled(struct life *l, const char *when, int n)
{
    hocket_host *h = open_host();
    enum hocket__store_state state = state_of(h, l->name);
    if (state != HOCKET__STORE_CANCELLED)
        fail_msg("%s, %d: it is %s", when, n, hocket__store_state_word(state));
    assert_int_equal(state_of(h, l->child), HOCKET__STORE_QUEUED);
    l->done = 0;
    resume(h, NULL, l);
    until(h, l, &l->done);
    assert_int_equal(l->status, HOCKET_ESTATE);
    assert_non_null(strstr(l->error, "it is cancelled"));
    hocket_close(h, NULL, NULL);
}

/* Its program has cancelled it. It goes on, or ends at once: then the next one hears of it. */
static void end(hocket_host *h, struct life *l, bool closes)
{
    if (!closes)
        until(h, l, &l->done);
    hocket_close(h, NULL, NULL);
    assert_int_equal(l->done, 1);
    assert_int_equal(l->status, HOCKET_ECANCELLED);
    if (!closes)
        return;
    h = open_host();
    l->done = 0;
    resume(h, NULL, l);
    until(h, l, &l->done);
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
    hocket_host *h = open_host();
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
        hocket_host *h = open_host();
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
    hocket_host *h = open_host();
    resume(h, "{\"lazy\":true}", &l);
    until(h, &l, &l.asleep);
    assert_int_equal(hocket_run_cancel(h, l.run), 0);
    end(h, &l, false);
    assert_cancelled(&l, "while it is suspended", 0);
}

static void while_it_waits(void **state)
{
    struct life l = leave_one();
    (void) state;
    hocket_host *h = open_host();
    l.asked = 0;
    resume(h, NULL, &l);
    until(h, &l, &l.asked);
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
