/* Code that a run brings: a save from anywhere runs no Lua but the program's own, unless the program says that it may. */

#include <hocket/hocket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"

static const char QUEST[] = "local hocket = require 'hocket'\n"
                            "return 'mine: ' .. hocket.ask 'Which way?'\n";
static const char OTHER[] = "return 'another'";
static const char TRUST[] = "{\"trust\":true}";

struct life {
    struct hocket__buf saved;
    char error[512], text[64];
    int events, asked, saves, done, status;
    uint64_t run;
    bool answers;
};

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct life *l = ud;
    struct hocket_error err;
    l->events++;
    l->run = run;
    if (strcmp(e->type, "question_asked") != 0)
        return;
    l->asked++;
    if (l->answers)
        hocket_run_answer(h, run, "q1", "north", 0, &err);
}

static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct life *l = ud;
    (void) h;
    (void) run;
    l->done++;
    l->status = r->status;
    snprintf(l->text, sizeof(l->text), "%.*s", (int) r->text_len, r->text ? r->text : "");
    snprintf(l->error, sizeof(l->error), "%s", r->error ? r->error->message : "");
}

static void on_saved(
    hocket_host *h, const void *bytes, size_t n, const struct hocket_error *error, void *ud)
{
    struct life *l = ud;
    (void) h;
    assert_null(error);
    hocket__buf_add(&l->saved, bytes, n);
    l->saves++;
}

/* A program whose own quest is this one; NULL: it has none. No variable of the environment is read. */
static hocket_host *open_game(const char *quest)
{
    struct hocket_error err;
    hocket_host *h = NULL;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.store = "memory";
    if (hocket_open(&o, &h, &err) < 0)
        fail_msg("%s", err.message);
    if (quest)
        assert_int_equal(hocket_load_buffer(h, "quest.lua", quest, 0, &err), 0);
    return h;
}

static void until(hocket_host *h, const int *what, int count)
{
    for (int i = 0; i < 3000 && *what < count; i++)
        hocket_wait(h, 10);
    assert_int_equal(*what, count);
}

/* A save in the middle of the quest. */
static void save_quest(struct life *l)
{
    struct hocket_error err;
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = "buffer:quest.lua", .options = "{\"interactive\":true}"
    };
    hocket_host *h = open_game(QUEST);
    *l = (struct life){ 0 };
    hocket__buf_init(&l->saved, &hocket__malloc, 0);
    assert_int_equal(hocket_run_start(h, &spec, NULL, on_event, on_done, l, &err), 0);
    until(h, &l->asked, 1);
    assert_int_equal(hocket_run_save(h, l->run, on_saved, l, &err), 0);
    until(h, &l->saves, 1);
    hocket_close(h, NULL, NULL);
}

static void load(hocket_host *h, const struct life *from, const char *options, struct life *l)
{
    struct hocket_error err;
    if (hocket_run_load(
            h, from->saved.data, from->saved.len, options, NULL, on_event, on_done, l, &err)
        < 0)
        fail_msg("%s", err.message);
}

/* Of what is refused nothing is told, and nothing was done. */
static void assert_refused(const struct life *l, const char *remedy)
{
    assert_int_equal(l->status, HOCKET_EDENIED);
    assert_int_equal(l->events, 0);
    assert_non_null(strstr(l->error, "buffer:quest.lua"));
    assert_non_null(strstr(l->error, remedy));
}

static void check_load(const struct life *saved, const char *quest, const char *options, bool loads)
{
    struct life l = { .answers = true };
    hocket_host *h = open_game(quest);
    load(h, saved, options, &l);
    until(h, &l.done, 1);
    if (loads)
        assert_string_equal(l.text, "mine: north");
    else
        assert_refused(
            &l, options && strstr(options, "consent") ? "HOCKET_TRUST" : "\"trust\": true");
    hocket_close(h, NULL, NULL);
}

static void test_load(void **state)
{
    struct life saved;
    (void) state;
    save_quest(&saved);
    check_load(&saved, QUEST, NULL, true);
    check_load(&saved, OTHER, NULL, false);
    check_load(&saved, NULL, NULL, false);
    check_load(&saved, QUEST, "{\"trust\":false}", false);
    check_load(&saved, QUEST, "{\"trust\":true,\"consent\":false}", false); /* a client's */
    check_load(&saved, OTHER, TRUST, true);
    hocket__buf_deinit(&saved.saved);
}

/* What was loaded stays a stranger's in the store of this process. */
static void test_again(void **state)
{
    struct hocket_error err;
    struct life saved, l = { 0 };
    char name[32];
    (void) state;
    save_quest(&saved);
    hocket_host *h = open_game(NULL);
    load(h, &saved, TRUST, &l);
    until(h, &l.asked, 1);
    snprintf(name, sizeof(name), "%s", hocket_run_name(h, l.run));
    assert_int_equal(hocket_run_park(h, l.run), 0);
    until(h, &l.done, 1);
    l.events = 0;
    assert_int_equal(hocket_run_resume(h, name, NULL, NULL, on_event, on_done, &l, &err), 0);
    until(h, &l.done, 2);
    assert_refused(&l, "\"trust\": true");
    assert_int_equal(hocket_run_replay(h, name, NULL, NULL, on_event, on_done, &l, &err), 0);
    until(h, &l.done, 3);
    assert_refused(&l, "\"trust\": true");
    assert_int_equal(hocket_run_replay(h, name, TRUST, NULL, NULL, on_done, &l, &err), 0);
    until(h, &l.done, 4);
    assert_int_equal(l.status, HOCKET_EPARKED);
    assert_int_equal(
        hocket_run_replay(h, name, "[]", NULL, NULL, on_done, &l, &err), HOCKET_EINVAL);
    hocket_close(h, NULL, NULL);
    hocket__buf_deinit(&saved.saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
