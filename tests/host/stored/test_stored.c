/* Runs in a store: they are cut off at any moment, parked for a person, found by another host, and go on as if nothing had
 * been. Each life is a host of its own over one file. */

#include <hocket/hocket.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "host/stored/host.h"
#include "host/stored/in_file.h"

/* ---- A life ------------------------------------------------------------------------------- */

struct life {
    struct hocket__buf events, text;
    char name[32], error[512], question[16], log[512];
    const char *answer; /* to its questions; NULL: nobody is there */
    int done, status;
    uint64_t run;
};

static void on_log(enum hocket_log_level level, const char *text, void *ud)
{
    struct life *l = ud;
    (void) level;
    snprintf(l->log, sizeof(l->log), "%s", text);
}

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct life *l = ud;
    struct hocket_error err;
    l->run = run;
    hocket__buf_add(&l->events, e->json, e->json_len);
    hocket__buf_addc(&l->events, '\n');
    const char *name = hocket_run_name(h, run);
    if (name)
        snprintf(l->name, sizeof(l->name), "%s", name);
    if (strcmp(e->type, "question_asked") != 0 && strcmp(e->type, "input_requested") != 0)
        return;
    hocket_json *json = hocket_json_parse(e->json, e->json_len, NULL);
    snprintf(l->question, sizeof(l->question), "%s",
        hocket_json_text(hocket_json_get(json, "id"), "", NULL));
    hocket_json_free(json);
    if (l->answer)
        hocket_run_answer(h, run, l->question, l->answer, 0, &err);
}

static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct life *l = ud;
    (void) h;
    (void) run;
    l->done++;
    l->status = r->status;
    hocket__buf_reset(&l->text);
    hocket__buf_add(&l->text, r->text, r->text_len);
    snprintf(l->error, sizeof(l->error), "%s", r->error ? r->error->message : "");
}

static void life_init(struct life *l)
{
    *l = (struct life){ 0 };
    hocket__buf_init(&l->events, &hocket__malloc, 0);
    hocket__buf_init(&l->text, &hocket__malloc, 0);
}

static void life_free(struct life *l)
{
    hocket__buf_deinit(&l->events);
    hocket__buf_deinit(&l->text);
}

static hocket_host *open_in(const char *store, int optional, struct life *l)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.getenv_cb = variables;
    o.log_cb = on_log;
    o.log_ud = l;
    o.store = store;
    o.store_optional = optional;
    return open_with(&o);
}

static hocket_host *open_host(struct life *l)
{
    return open_in(file, 0, l);
}

static uint64_t start(hocket_host *h, const char *script, const char *options, struct life *l)
{
    struct hocket_error err;
    uint64_t id;
    char path[512];
    snprintf(path, sizeof(path), HERE "/scripts/%s.lua", script);
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = path, .input = "one", .options = options
    };
    if (hocket_run_start(h, &spec, &id, on_event, on_done, l, &err) < 0)
        fail_msg("%s", err.message);
    snprintf(l->name, sizeof(l->name), "%s", hocket_run_name(h, id));
    return id;
}

static void until_done(hocket_host *h, struct life *l)
{
    for (int i = 0; i < 3000 && !l->done; i++)
        hocket_wait(h, 10);
    if (!l->done)
        fail_msg("no end; %s; events:\n%s", l->log, l->events.data);
}

/* Goes on with a run in a host of its own, for so many turns (below 0: to its end). */
static void resume(
    const char *name, const char *options, const char *answer, int turns, struct life *l)
{
    struct hocket_error err;
    life_init(l);
    hocket_host *h = open_host(l);
    l->answer = answer;
    if (hocket_run_resume(h, name, options, &l->run, on_event, on_done, l, &err) < 0)
        fail_msg("%s", err.message);
    if (turns < 0)
        until_done(h, l);
    for (int i = 0; i < turns && !l->done; i++)
        hocket_wait(h, 10);
    hocket_close(h, NULL, NULL);
}

/* ---- What is in the store ---------------------------------------------------------------------- */

static struct seen look_in_file(const char *name)
{
    hocket_host *h = open_over(file, NULL);
    struct seen s = look(h, name);
    hocket_close(h, NULL, NULL);
    return s;
}

/* It asks, and the store has it: others can speak to it. */
static void until_asked(hocket_host *h, struct life *l, const char *question)
{
    for (int i = 0; i < 3000 && strcmp(l->question, question) != 0; i++)
        hocket_wait(h, 10);
    assert_string_equal(l->question, question);
    for (int i = 0; i < 3000 && look_in_file(l->name).status != 0; i++)
        hocket_wait(h, 10);
}

static void send_to(const char *name, const char *id, const char *json)
{
    hocket_host *h = open_over(file, NULL);
    send_message(h, name, id, json);
    hocket_close(h, NULL, NULL);
}

static void assert_state(const char *name, enum hocket__store_state state)
{
    struct seen s = look_in_file(name);
    assert_int_equal(s.status, 0);
    if (s.run.state != state)
        fail_msg("%s is %s and not %s", name, hocket__store_state_word(s.run.state),
            hocket__store_state_word(state));
}

/* ---- Tests ---------------------------------------------------------------------------------------- */

static void test_done(void **state)
{
    struct life l, again;
    (void) state;
    life_init(&l);
    hocket_host *h = open_host(&l);
    start(h, "small", "{}", &l);
    until_done(h, &l);
    assert_int_equal(l.status, 0);
    hocket_close(h, NULL, NULL);
    struct seen s = look_in_file(l.name);
    assert_int_equal(s.run.state, HOCKET__STORE_DONE);
    assert_true(s.run.tokens > 0);
    assert_true(s.run.simulated);
    assert_true(s.run.owner.pid == 0);
    resume(l.name, NULL, NULL, -1, &again);
    assert_int_equal(again.status, HOCKET_ESTATE);
    assert_non_null(strstr(again.error, "it is done"));
    life_free(&again);
    life_free(&l);
}

/* Cut off again and again, wherever it is. */
static void test_cut_off(void **state)
{
    struct life whole, l;
    char name[32];
    (void) state;
    life_init(&whole);
    hocket_host *h = open_host(&whole);
    start(h, "small", "{}", &whole);
    until_done(h, &whole);
    hocket_close(h, NULL, NULL);
    for (int turns = 0; turns < 8; turns++) {
        life_init(&l);
        h = open_host(&l);
        start(h, "small", "{}", &l);
        for (int i = 0; i < turns; i++)
            hocket_wait(h, 10);
        hocket_close(h, NULL, NULL);
        strcpy(name, l.name);
        int lives = 0, status = l.done ? l.status : HOCKET_EPARKED;
        for (; status != 0 && lives < 50; lives++) {
            assert_state(name, HOCKET__STORE_RUNNING);
            life_free(&l);
            resume(name, NULL, NULL, turns + 3 + lives, &l);
            status = l.done ? l.status : HOCKET_EPARKED;
            if (status != 0 && status != HOCKET_EPARKED && status != HOCKET_ECANCELLED)
                fail_msg("%d turns, life %d: %s (%d)", turns, lives, l.error, status);
        }
        assert_int_equal(status, 0);
        assert_string_equal(l.text.data, whole.text.data);
        assert_state(name, HOCKET__STORE_DONE);
        life_free(&l);
    }
    life_free(&whole);
}

static void test_cancelled(void **state)
{
    struct life l;
    (void) state;
    life_init(&l);
    hocket_host *h = open_host(&l);
    uint64_t id = start(h, "small", "{}", &l);
    hocket_wait(h, 10);
    assert_int_equal(hocket_run_cancel(h, id), 0);
    until_done(h, &l);
    assert_int_equal(l.status, HOCKET_ECANCELLED);
    hocket_close(h, NULL, NULL);
    assert_state(l.name, HOCKET__STORE_CANCELLED);
    life_free(&l);
}

/* Nobody is there: the run ends here, says so, and goes on when it has been answered from elsewhere. */
static void test_parked(void **state)
{
    struct life l;
    char name[32];
    (void) state;
    life_init(&l);
    hocket_host *h = open_host(&l);
    start(h, "ask", "{\"park\":true}", &l);
    until_done(h, &l);
    assert_int_equal(l.status, HOCKET_EPARKED);
    assert_non_null(strstr(l.events.data, "\"code\":\"parked\""));
    hocket_close(h, NULL, NULL);
    strcpy(name, l.name);
    struct seen s = look_in_file(name);
    assert_int_equal(s.run.state, HOCKET__STORE_PARKED);
    assert_non_null(
        strstr(s.waiting, "{\"kind\":\"question\",\"id\":\"q1\",\"questions\":[\"Which city?\"]}"));
    life_free(&l);

    resume(name, "{\"park\":true}", NULL, -1, &l); /* nobody has answered */
    assert_int_equal(l.status, HOCKET_EPARKED);
    life_free(&l);
    send_to(name, "m0", "{\"wish\":\"answer\",\"question\":\"q7\",\"text\":\"wrong\"}");
    send_to(name, "m1", "{\"wish\":\"answer\",\"question\":\"q1\",\"text\":\"Lisbon\"}");
    resume(name, "{\"park\":true}", NULL, -1, &l);
    assert_int_equal(l.status, HOCKET_EPARKED); /* the next two */
    assert_non_null(strstr(l.log, "q7"));
    life_free(&l);
    s = look_in_file(name);
    assert_non_null(strstr(s.waiting, "\"id\":\"q2\""));
    assert_non_null(strstr(s.waiting, "\"id\":\"q3\""));
    send_to(name, "m2", "{\"wish\":\"answer\",\"question\":\"q3\",\"text\":\"sea\"}");
    send_to(name, "m3", "{\"wish\":\"answer\",\"question\":\"q2\",\"text\":\"hills\"}");
    resume(
        name, "{\"park\":true}", NULL, -1, &l); /* the one that times out, and then the agent's */
    if (l.status != HOCKET_EPARKED)
        fail_msg("%s", l.error);
    life_free(&l);
    resume(name, "{\"interactive\":true,\"park\":false}", "4", -1, &l);
    if (l.status != 0)
        fail_msg("%s", l.error);
    assert_string_equal(l.text.data, "Lisbon, hills, sea, nil, timeout, Noted.");
    life_free(&l);
    assert_state(name, HOCKET__STORE_DONE);
}

/* What one process says is heard by the one that has the run. */
static void test_messages(void **state)
{
    struct life l;
    (void) state;
    life_init(&l);
    hocket_host *h = open_host(&l);
    start(h, "ask", "{\"interactive\":true}", &l);
    until_asked(h, &l, "q1");
    send_to(l.name, "m1", "{\"wish\":\"answer\",\"question\":\"q1\",\"text\":\"Lisbon\"}");
    until_asked(h, &l, "q3");
    hocket_close(h, NULL, NULL);
    life_free(&l);
}

/* Two hosts, one run. */
static void test_taken(void **state)
{
    struct life l, other;
    struct hocket_error err;
    (void) state;
    life_init(&l);
    life_init(&other);
    hocket_host *h = open_host(&l), *second = open_host(&other);
    start(h, "ask", "{\"interactive\":true}", &l);
    until_asked(h, &l, "q1");
    assert_int_equal(
        hocket_run_resume(second, l.name, NULL, NULL, on_event, on_done, &other, &err), 0);
    until_done(second, &other);
    assert_int_equal(other.status, HOCKET_ESTATE);
    assert_non_null(strstr(other.error, "process"));
    other.done = 0;
    assert_int_equal(hocket_run_resume(h, l.name, NULL, NULL, on_event, on_done, &other, &err), 0);
    until_done(h, &other);
    assert_int_equal(other.status, HOCKET_ESTATE);
    assert_non_null(strstr(other.error, "in this host"));
    other.done = 0;
    assert_int_equal(hocket_run_resume(h, "00", NULL, NULL, on_event, on_done, &other, &err), 0);
    until_done(h, &other);
    assert_int_equal(other.status, HOCKET_ENOTFOUND);
    other.done = 0;
    uint64_t id;
    assert_int_equal(
        hocket_run_resume(second, l.name, NULL, &id, on_event, on_done, &other, &err), 0);
    assert_int_equal(hocket_run_cancel(second, id), 0); /* which is not this one's to cancel */
    until_done(second, &other);
    assert_int_equal(other.status, HOCKET_ESTATE);
    hocket_close(second, NULL, NULL);
    assert_int_equal(l.done, 0);
    hocket_close(h, NULL, NULL);
    life_free(&l);
    life_free(&other);
}

/* A conversation is left, and found again. */
static void test_conversation(void **state)
{
    struct life l;
    char name[32];
    (void) state;
    life_init(&l);
    hocket_host *h = open_host(&l);
    struct hocket_error err;
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = EXAMPLES "/chat/agents",
        .input = "A table for four, please",
        .options = "{\"conversation\":true}" };
    assert_int_equal(hocket_run_start(h, &spec, &l.run, on_event, on_done, &l, &err), 0);
    for (int i = 0; i < 3000 && !l.question[0]; i++)
        hocket_wait(h, 10);
    assert_string_equal(l.question, "i1");
    assert_int_equal(hocket_run_park(h, l.run), 0);
    until_done(h, &l);
    assert_int_equal(l.status, HOCKET_EPARKED);
    hocket_close(h, NULL, NULL);
    strcpy(name, l.name);
    life_free(&l);
    assert_state(name, HOCKET__STORE_WAITING);
    resume(name, NULL, "", -1, &l);
    if (l.status != 0)
        fail_msg("%s", l.error);
    assert_true(l.text.len > 0);
    life_free(&l);
    assert_state(name, HOCKET__STORE_DONE);
}

/* A store that cannot be used: an error, or a warning. */
static void test_broken(void **state)
{
    struct life l;
    char bad[TEST_TEMP_PATH + 16];
    (void) state;
    snprintf(bad, sizeof(bad), "%s/bad.db", folder);
    FILE *f = fopen(bad, "w");
    fputs("this is no database, and long enough to be looked at as one", f);
    fclose(f);
    struct hocket_options o;
    struct hocket_error err;
    hocket_host *h = NULL;
    hocket_options_init(&o, sizeof(o));
    o.store = folder;
    assert_int_equal(hocket_open(&o, &h, &err), HOCKET_EINVAL);
    assert_null(h);
    assert_non_null(strstr(err.message, "is a folder"));
    life_init(&l);
    h = open_in(bad, 0, &l);
    start(h, "small", "{}", &l);
    until_done(h, &l);
    assert_true(l.status < 0);
    assert_non_null(strstr(l.error, "no database"));
    hocket_close(h, NULL, NULL);
    life_free(&l);
    life_init(&l);
    h = open_in(bad, 1, &l);
    start(h, "small", "{}", &l);
    until_done(h, &l);
    if (l.status != 0)
        fail_msg("%s", l.error);
    assert_non_null(strstr(l.log, "runs are not kept"));
    hocket_close(h, NULL, NULL);
    life_free(&l);
    unlink(bad);
}

/* Whether this process has a lock on a file, as another one sees it. */
static bool is_locked(const char *path)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
        int fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0 || fcntl(fd, F_GETLK, &lock) < 0)
            _exit(2);
        _exit(lock.l_type == F_UNLCK ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 0;
}

/* A second host on the same file: whatever it looks at first, the first one keeps its locks, or another process would take the
 * store for unused and remove its log. */
static void test_second_host(void **state)
{
    struct life l, other;
    char store[TEST_TEMP_PATH + 16];
    (void) state;
    snprintf(store, sizeof(store), "%s/two.db", folder);
    life_init(&l);
    life_init(&other);
    hocket_host *h = open_in(store, 0, &l);
    start(h, "small", "{}", &l);
    until_done(h, &l);
    assert_int_equal(l.status, 0);
    assert_true(is_locked(store));
    hocket_host *second = open_in(store, 0, &other);
    assert_true(is_locked(store));
    start(second, "small", "{}", &other);
    until_done(second, &other);
    assert_int_equal(other.status, 0);
    hocket_close(second, NULL, NULL);
    assert_true(is_locked(store));
    hocket_close(h, NULL, NULL);
    life_free(&other);
    life_free(&l);
    unlink(store);
}

/* It is gone on with from another folder, which is said: its paths may mean something else there. */
static void test_elsewhere(void **state)
{
    struct life l;
    char here[4096], name[32];
    (void) state;
    assert_non_null(getcwd(here, sizeof(here)));
    life_init(&l);
    hocket_host *h = open_host(&l);
    start(h, "ask", "{\"park\":true}", &l);
    until_done(h, &l);
    assert_int_equal(l.status, HOCKET_EPARKED);
    hocket_close(h, NULL, NULL);
    strcpy(name, l.name);
    life_free(&l);
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        assert_int_equal(chdir(elsewhere ? folder : here), 0);
        resume(name, "{\"park\":true}", NULL, -1, &l);
        assert_int_equal(strstr(l.log, "was begun in") != NULL, elsewhere);
        life_free(&l);
    }
    assert_int_equal(chdir(here), 0);
}

/* Who may go on without a store may not go on with a run that another process has. */
static void test_lost(void **state)
{
    char stamp[TEST_TEMP_PATH + 16];
    (void) state;
    snprintf(stamp, sizeof(stamp), "%s/stamp", folder);
    for (int optional = 0; optional < 2; optional++) {
        struct life l;
        struct hocket_error err;
        life_init(&l);
        hocket_host *h = open_in(file, optional, &l);
        start(h, "asked", "{\"interactive\":true}", &l);
        until_asked(h, &l, "q1");
        steal(l.name);
        assert_int_equal(hocket_run_answer(h, l.run, "q1", stamp, 0, &err), 0);
        until_done(h, &l);
        assert_int_equal(l.status, HOCKET_ESTATE);
        assert_non_null(strstr(l.error, "another process has taken the run over"));
        assert_int_not_equal(access(stamp, F_OK), 0);
        hocket_close(h, NULL, NULL);
        life_free(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_done), cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_cancelled), cmocka_unit_test(test_parked),
        cmocka_unit_test(test_messages), cmocka_unit_test(test_taken),
        cmocka_unit_test(test_conversation), cmocka_unit_test(test_broken),
        cmocka_unit_test(test_second_host), cmocka_unit_test(test_lost),
        cmocka_unit_test(test_elsewhere) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
