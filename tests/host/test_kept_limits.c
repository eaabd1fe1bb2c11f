/* Time limits of runs that wait for people: they stand still meanwhile, the run may be put away, and what is left of them counts in
 * later processes. */
#include "host/kept/lives.h"

#define SCRIPT HERE "/scripts/limits.lua"
#define HOUR   "{\"interactive\":true,\"timeout\":3600}"
#define OPEN   "{\"interactive\":true}"

/* Whose limits stand still while it waits for the first answer; loose: connections to its model are closed after a time. */
static const struct workflow waits[] = {
    { .name = "run", SCRIPT, "run", HOUR, .answers = { "this" } },
    { .name = "flow", SCRIPT, "flow", OPEN, .answers = { "this" } },
    { .name = "agent", SCRIPT, "agent", OPEN, .answers = { "this" }, .loose = true },
    { .name = "approval", SCRIPT, "approval", OPEN, .answers = { "allow", "this" }, .loose = true },
    { .name = "tool", SCRIPT, "tool", OPEN, .answers = { "this" }, .loose = true },
    { .name = "job", SCRIPT, "job", OPEN, .answers = { "this" } },
    { .name = "deadline", SCRIPT, "deadline", OPEN, .answers = { "this" } },
    { .name = "fiber", SCRIPT, "fiber", OPEN, .answers = { "this" } },
    { .name = "signal", SCRIPT, "signal", OPEN, .signals = { "\"this\"" } },
    { .name = "deep", SCRIPT, "deep", OPEN, .answers = { "this" }, .loose = true },
};

static hocket_host *begin(const struct workflow *w, struct kept_log *log, struct life *l)
{
    struct hocket_error err;
    hocket_host *h = open_host();
    life_init(l, w);
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = w->target, .input = w->input, .options = w->options
    };
    if (hocket_run_start(h, &spec, &l->run, on_event, on_done, l, &err) < 0)
        fail_msg("%s", err.message);
    l->kept = keep(h, l->run, log);
    return h;
}

/* Up to the first turn behind which it may be put away. */
static void until_parked(hocket_host *h, struct life *l)
{
    for (int i = 0; i < 3000 && !l->done && !l->parked; i++)
        turn(h, l);
    if (l->done || !l->parked)
        fail_msg("%s does not wait for people alone\n%s%s", l->w->name, l->events.data, l->error);
}

static void end(hocket_host *h, struct life *l)
{
    hocket__kept_unref(l->kept);
    hocket_close(h, NULL, NULL);
    life_free(l);
}

/* Its log up to where it waits for its first answer. */
static void ask(const struct workflow *w, struct kept_log *log)
{
    struct workflow silent = *w;
    struct life l;
    memset(silent.answers, 0, sizeof(silent.answers));
    memset(silent.signals, 0, sizeof(silent.signals));
    log_init(log);
    hocket_host *h = begin(&silent, log, &l);
    until_parked(h, &l);
    if (!w->loose && hocket_backend_timeout(h) != -1)
        fail_msg("%s: a time is still set", w->name);
    end(h, &l);
}

static void check_answer(const struct workflow *w, struct kept_log *log, const char *expected)
{
    struct life l;
    live(w, log, &l);
    if (l.status != 0 || strcmp(l.text.data, expected) != 0)
        fail_msg(
            "%s: '%s', not '%s': %s\n%s", w->name, l.text.data, expected, l.error, l.events.data);
    life_free(&l);
}

/* It goes on, also where it is cut off anywhere, with what it was answered. */
static void test_waits(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        const struct workflow *w = &waits[i];
        const char *expected = w->loose ? "answered" : "this";
        struct kept_log log, cut;
        ask(w, &log);
        check_answer(w, &log, expected);
        for (size_t n = 1; n <= log.n; n++) {
            log_copy(&log, n, &cut);
            check_answer(w, &cut, expected);
            if (n == log.n)
                assert_int_equal(cut.n, log.n);
            log_free(&cut);
        }
        log_free(&log);
    }
}

/* ---- What is left ------------------------------------------------------------------------------ */

#define LONG_MS 2000000 /* more than the script's limits */

/* So much later somebody looked, and its process ended then: `waited`, it had waited for people all the time. */
static void let_pass(struct kept_log *log, bool waited)
{
    struct hocket__log_entry first = entry_at(log, 0), last = entry_at(log, log->n - 1);
    char wall[32]; /* an entry that was read points into the log, which grows */
    assert_true(first.value.n < sizeof(wall));
    memcpy(wall, first.value.p, first.value.n);
    struct hocket__log_entry e = { .kind = HOCKET__LOG_LIFE,
        .n = log->n + 1,
        .tick = last.tick,
        .at_ms = last.at_ms + LONG_MS,
        .name = waited ? HOCKET__STR("2000000") : HOCKET__STR(""),
        .value = hocket__str(wall, first.value.n) };
    log->run = NULL; /* its host is closed */
    assert_int_equal(log_append(log, &e, NULL), 0);
}

static void check_left(const char *way)
{
    struct workflow w = { .name = way, SCRIPT, way, OPEN, .answers = { "one ", "two" } };
    struct kept_log log, worked;
    ask(&w, &log);
    log_copy(&log, log.n, &worked);
    let_pass(&log, true);
    check_answer(&w, &log, "one two");
    let_pass(&worked, false);
    check_answer(&w, &worked, "timeout");
    log_free(&worked);
    log_free(&log);
}

static void test_left(void **state)
{
    (void) state;
    check_left("twice");
    check_left("late");
}

/* Whoever goes on from a checkpoint knows it, too. */
static void test_checkpoint(void **state)
{
    struct workflow w = { .name = "checkpoint", SCRIPT, "checkpoint", OPEN, .answers = { "one " } };
    struct kept_log log;
    struct life l;
    size_t newest;
    (void) state;
    ask(&w, &log);
    let_pass(&log, true);
    hocket_host *h = begin(&w, &log, &l); /* up to its second question */
    until_parked(h, &l);
    end(h, &l);
    assert_true(newest_checkpoint(&log, &newest) < newest && newest < log.n);
    log.pruned = true;
    w.answers[1] = "two";
    check_answer(&w, &log, "one two");
    log_free(&log);
}

/* A pause goes to the log before the answer that ended it. */
static void test_pause(void **state)
{
    struct workflow w = { .name = "twice", SCRIPT, "twice", OPEN };
    struct hocket_error err;
    struct kept_log log;
    struct life l;
    (void) state;
    log_init(&log);
    hocket_host *h = begin(&w, &log, &l);
    until_parked(h, &l);
    size_t n = log.n;
    for (int i = 0; i < 3; i++)
        turn(h, &l);
    assert_int_equal(log.n, n);
    assert_int_equal(hocket_run_answer(h, l.run, "q1", "one ", 0, &err), 0);
    assert_true(log.n >= n + 2);
    struct hocket__log_entry pause = entry_at(&log, n), answer = entry_at(&log, n + 1);
    assert_int_equal(pause.kind, HOCKET__LOG_LIFE);
    assert_true(pause.name.n > 0 && atoi(pause.name.p) > 0);
    assert_int_equal(answer.kind, HOCKET__LOG_TELL);
    end(h, &l);
    log_free(&log);
}

/* ---- What counts all the same --------------------------------------------------------------------- */

static void test_counts(void **state)
{
    static const struct workflow works[] = {
        { .name = "beside", SCRIPT, "beside", OPEN },
        { .name = "patience", SCRIPT, "patience", OPEN },
    };
    (void) state;
    for (size_t i = 0; i < 2; i++) {
        struct kept_log log, again;
        log_init(&log);
        check_answer(&works[i], &log, "timeout");
        log_copy(&log, log.n, &again);
        check_answer(&works[i], &again, "timeout");
        assert_int_equal(again.n, log.n);
        log_free(&again);
        log_free(&log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_waits), cmocka_unit_test(test_left),
        cmocka_unit_test(test_checkpoint), cmocka_unit_test(test_pause),
        cmocka_unit_test(test_counts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
