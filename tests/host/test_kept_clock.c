/* The clock of runs that are kept: code that never waits sees time pass, a replay gives it the same readings, and whoever
 * looks from outside sees real time.
 *
 * The workflows are run again with a log that has every read of the clock: a read that a replay does not make, or makes
 * besides, shows in each of them. */
#include <time.h>

#include "host/kept/workflows.h"

static void note_each_read(hocket_host *h)
{
    h->rt->clock_step_ms = 0;
}

static size_t count(const struct kept_log *log, enum hocket__log_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < log->n; i++)
        n += entry_at(log, i).kind == kind;
    return n;
}

/* Goes on from the first n entries; the whole log is gone through and nothing more. */
static void check_cut(
    const struct workflow *w, const struct kept_log *whole, size_t n, const struct life *first)
{
    struct kept_log log;
    struct life l;
    log_copy(whole, n, &log);
    if (w->before)
        w->before(whole, n);
    live(w, &log, &l);
    if (l.status != first->status)
        fail_msg("%s, %zu entries of %zu: %s", w->name, n, whole->n, l.error);
    if (n == whole->n) {
        assert_int_equal(log.n, whole->n);
        same("the answer", w->name, n, first->text.data, l.text.data, 0);
        same("the events", w->name, n, first->events.data, l.events.data, ID_ONLY);
    }
    life_free(&l);
    log_free(&log);
}

static void check(struct workflow w)
{
    struct kept_log log;
    struct life first;
    w.prepare = note_each_read;
    log_init(&log);
    live(&w, &log, &first);
    if (first.status != 0)
        fail_msg("%s: %s\n%s", w.name, first.error, first.events.data);
    size_t reads = count(&log, HOCKET__LOG_CLOCK);
    printf("%s: %zu entries, %zu of them reads of the clock\n", w.name, log.n, reads);
    assert_true(reads > 0);
    check_cut(&w, &log, log.n, &first);
    check_cut(&w, &log, log.n / 2, &first);
    life_free(&first);
    log_free(&log);
}

static void test_each_read(void **state)
{
    (void) state;
    make_world();
    for (const struct workflow *w = workflows; w->name; w++)
        if (!test_left_out(w->name))
            check(*w);
    end_world();
}

/* A loop writes an entry for each ten milliseconds at most, whatever it reads and how often. */
static void test_loops(void **state)
{
    struct workflow w = { .name = "clock", HERE "/scripts/clock.lua", "0.05", "{}" };
    struct kept_log log;
    struct life first;
    unsigned long reads = 0;
    double now = 0, seconds = 0;
    (void) state;
    log_init(&log);
    live(&w, &log, &first);
    if (first.status != 0)
        fail_msg("%s", first.error);
    assert_int_equal(
        sscanf(first.text.data, "%lu reads, some s, %lf of %lf, ab", &reads, &now, &seconds), 3);
    assert_true(seconds >= 5 * 0.05 && seconds < now);
    struct hocket__log_entry last = entry_at(&log, log.n - 1);
    size_t most =
        (size_t) (last.at_ms - entry_at(&log, 0).at_ms) / 10 + 4; /* and where a second begins */
    printf("%s; %zu of %zu entries\n", first.text.data, count(&log, HOCKET__LOG_CLOCK), log.n);
    assert_true(count(&log, HOCKET__LOG_CLOCK) <= most && reads > most);
    for (size_t n = 0; n <= log.n; n++)
        check_cut(&w, &log, n, &first);
    life_free(&first);
    log_free(&log);
}

/* What a mod does without waiting ends in a run that is kept as well, and where it ended in the replay of it. */
static void test_mod(void **state)
{
    struct workflow w = {
        .name = "endless", HERE "/scripts/endless.lua", NULL, "{\"mod\":{\"seconds\":0.05}}"
    };
    struct kept_log log;
    struct life first;
    (void) state;
    if (test_left_out(w.name))
        skip();
    log_init(&log);
    clock_t cpu = clock();
    uint64_t began = hocket__deadlines_now();
    live(&w, &log, &first);
    int64_t real = (int64_t) (hocket__deadlines_now() - began),
            worked = (int64_t) (clock() - cpu) * 1000 / CLOCKS_PER_SEC;
    size_t held_up_ms = real > worked ? (size_t) (real - worked) : 0;
    assert_int_equal(first.status, HOCKET_ETIMEOUT);
    assert_non_null(strstr(first.error, "without waiting"));
    assert_true(
        count(&log, HOCKET__LOG_CLOCK) <= 2 + held_up_ms / 10); /* one for ten milliseconds */
    for (size_t n = 0; n <= log.n; n++)
        check_cut(&w, &log, n, &first);
    life_free(&first);
    log_free(&log);
}

/* A run that waits longer for the clock than it did has left its log: its replay ends. */
static void test_diverged(void **state)
{
    struct workflow w = { .name = "waiting", HERE "/scripts/waiting.lua", "20", "{}" };
    struct kept_log log, again;
    struct life first, l;
    (void) state;
    log_init(&log);
    live(&w, &log, &first);
    assert_int_equal(first.status, 0);
    for (int i = 0; i < 2; i++) { /* longer, and not at all */
        log_copy(&log, log.n, &again);
        w.input = i == 0 ? "500" : "-500";
        live(&w, &again, &l);
        assert_int_equal(l.status, HOCKET_EREPLAY);
        assert_int_equal(again.n, log.n);
        life_free(&l);
        log_free(&again);
    }
    life_free(&first);
    log_free(&log);
}

/* A life may have told more than follows from its last entry, in a step that waits for the clock. */
static void test_owed(void **state)
{
    struct workflow w = { .name = "clock", HERE "/scripts/clock.lua", "0.02", "{}" };
    struct kept_log log, again;
    struct life first, l;
    (void) state;
    log_init(&log);
    live(&w, &log, &first);
    assert_int_equal(first.status, 0);
    for (size_t n = 1; n < log.n; n++) {
        log_copy(&log, n, &again);
        again.owed = log.told[n];
        live(&w, &again, &l);
        if (l.status != 0)
            fail_msg("%zu entries, %llu events: %s", n, (unsigned long long) again.owed, l.error);
        life_free(&l);
        log_free(&again);
    }
    life_free(&first);
    log_free(&log);
}

/* Outside of a run its objects show real time, also while its code stands still in one long step; and when it is gone. */
static void test_objects(void **state)
{
    (void) state;
    hocket_host *h = open_host();
    struct hocket__kept *k = hocket__kept_new(h->rt, NULL, seed);
    h->rt->kept = k;
    struct hocket__clock *clock = hocket__clock_here(h->rt);
    h->rt->kept = NULL;
    assert_non_null(clock);
    int64_t stood = hocket__clock_ms(clock);
    assert_int_equal(stood, hocket__kept_real_ms(k));
    hocket__kept_unref(k);
    assert_int_equal(hocket__clock_ms(clock), stood);
    hocket__clock_unref(clock);
    assert_null(hocket__clock_here(h->rt));
    assert_true(hocket__clock_ms(NULL) > 0);
    hocket_close(h, NULL, NULL);
}

int main(int argc, char **argv)
{
    hocket_launcher_main(argc, argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_read),
        cmocka_unit_test(test_loops), cmocka_unit_test(test_mod), cmocka_unit_test(test_diverged),
        cmocka_unit_test(test_owed), cmocka_unit_test(test_objects) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
