/* A worker ends a run that nobody could go on with, on a disk that is full meanwhile: once, and says what became of it. */

#include <hocket/hocket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/stored/asking.h"
#include "host/stored/in_file.h"
#include "store/disk.h"
#include "store/sqlite/lib.h"

#define RUN "01KANC3V0QZJ9E4W2X6T8B5M7R"

struct life {
    int working, ended, done;
    char code[32], message[512];
};

static void copy(const hocket_json *event, const char *name, char *to, size_t n)
{
    snprintf(to, n, "%s", hocket_json_text(hocket_json_get(event, name), "", NULL));
}

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct life *l = ud;
    (void) h, (void) run;
    l->working += strcmp(e->type, "working") == 0;
    if (strcmp(e->type, "run_ended") != 0)
        return;
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    copy(event, "code", l->code, sizeof(l->code));
    copy(event, "message", l->message, sizeof(l->message));
    hocket_json_free(event);
    l->ended++;
}

static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct life *l = ud;
    (void) h, (void) run;
    l->done++;
    snprintf(l->message, sizeof(l->message), "%s", r->error ? r->error->message : "");
}

static hocket_host *open_host(void)
{
    struct hocket_error err;
    hocket_host *h = NULL;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
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
        fail_msg("%s %s", l->code, l->message);
}

/* ---- What is in the store ------------------------------------------------------------------ */

struct seen {
    enum hocket__store_state state;
    int done, owned;
};

static int on_row(void *ud, const struct hocket__store_row *row)
{
    struct seen *s = ud;
    s->state = row->run.state;
    s->owned = row->run.owner.pid != 0;
    return 0;
}

static void on_rows(void *ud, int status, const struct hocket_error *err)
{
    struct seen *s = ud;
    (void) err;
    assert_int_equal(status, 0);
    s->done = 1;
}

/* Not to be taken yet. */
static void submit(hocket_host *h, const struct life *l)
{
    struct seen s = { .done = 0 };
    struct hocket__store_reply r = { on_row, on_rows, &s };
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
    struct hocket__store *store = hocket__runtime_store(h->rt, NULL);
    assert_int_equal(hocket__store_submit(store, &run, HOCKET__STR(""), &r, NULL), 0);
    until(h, l, &s.done);
}

static struct seen look(hocket_host *h, const struct life *l)
{
    struct seen s = { .done = 0 };
    struct hocket__store_reply r = { on_row, on_rows, &s };
    struct hocket__store *store = hocket__runtime_store(h->rt, NULL);
    assert_int_equal(hocket__store_find(store, hocket__cstr(RUN), &r, NULL), 0);
    until(h, l, &s.done);
    return s;
}

/* Four workers were lost with it, the last one just now. */
static void lose_four(void)
{
    struct hocket_error err;
    sqlite3 *db = NULL;
    const struct hocket__sqlite *lib = hocket__sqlite_load(&err);
    assert_non_null(lib);
    assert_int_equal(lib->open_v2(file, &db, SQLITE_OPEN_READWRITE, "unix"), SQLITE_OK);
    lib->busy_timeout(db, 60000);
    assert_int_equal(
        lib->exec(db, "UPDATE runs SET state = 'running', attempts = 4, due_ms = 0, taken_n = 0",
            NULL, NULL, NULL),
        SQLITE_OK);
    lib->close_v2(db);
}

/* ---- The case -------------------------------------------------------------------------------- */

/* The disk is full from the moment on in which it begins to end it. */
static void test_given_up(void **state)
{
    struct life l = { .done = 0 };
    struct hocket_error err;
    uint64_t id;
    (void) state;
    hocket_host *h = open_host();
    assert_int_equal(hocket_call_start(h, "work", "{}", &id, on_event, on_done, &l, &err), 0);
    until(h, &l, &l.working);
    asking_begin(h, HOCKET__STORE_RUNS); /* its calls are ended first */
    asking.holds = true;
    submit(h, &l);
    lose_four();
    for (int i = 0; i < 1000 && !asking.held; i++)
        hocket_wait(h, 10);
    assert_non_null(asking.held);
    disk_begin(DISK_FULL, 1, 4);
    asking_end();
    until(h, &l, &l.ended);
    assert_true(disk_struck());
    disk_begin(DISK_WELL, 0, 0);
    if (strcmp(l.code, "failed") != 0)
        fail_msg("%s: %s", l.code, l.message);
    assert_non_null(strstr(l.message, "the worker's process ended 5 times"));
    struct seen s = look(h, &l);
    assert_int_equal(s.state, HOCKET__STORE_FAILED);
    assert_false(s.owned);
    hocket_close(h, NULL, NULL);
    assert_int_equal(l.ended, 1);
    assert_int_equal(l.done, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_given_up) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
