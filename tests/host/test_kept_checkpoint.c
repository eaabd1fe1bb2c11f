/* Checkpoints: a run that is cut off anywhere goes on from the newest, and has the same answer, usage and numbers of events; what it
 * replays does not grow with its rounds. */
#include "host/kept/lives.h"

static const struct workflow rounds = { .name = "rounds",
    HERE "/scripts/rounds.lua",
    "3",
    "{\"interactive\":true}",
    .answers = { "one", "allow", "two", "allow", "three", "allow" } };

static size_t checkpoints(const struct kept_log *log, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += entry_at(log, i).kind == HOCKET__LOG_CHECKPOINT;
    return found;
}

static void run_rounds(struct kept_log *log, struct life *l)
{
    live(&rounds, log, l);
    if (l->status != 0)
        fail_msg("%s\n%s", l->error, l->events.data);
}

/* Numbers of its events: no two are alike, and none is left out but those before the newest checkpoint. */
static void check_numbers(const char *events, uint64_t end)
{
    uint64_t before = 0;
    int gaps = 0;
    for (const char *at = events; (at = strstr(at, "{\"seq\":")); at++) {
        uint64_t seq = strtoull(at + strlen("{\"seq\":"), NULL, 10);
        assert_true(seq > before);
        gaps += seq > before + 1;
        before = seq;
    }
    assert_true(gaps <= 1);
    assert_int_equal(before, end);
}

static uint64_t last_number(const char *events)
{
    uint64_t seq = 0;
    for (const char *at = events; (at = strstr(at, "{\"seq\":")); at++)
        seq = strtoull(at + strlen("{\"seq\":"), NULL, 10);
    return seq;
}

/* Cut behind each entry; what lies between the first and the newest checkpoint may be gone from the store. */
static void test_cut(void **state)
{
    struct kept_log log;
    struct life first;
    (void) state;
    log_init(&log);
    run_rounds(&log, &first);
    assert_int_equal(checkpoints(&log, log.n), 4);
    for (size_t n = 1; n <= log.n; n++) {
        struct kept_log cut;
        struct life l;
        log_copy(&log, n, &cut);
        cut.pruned = n % 2;
        run_rounds(&cut, &l);
        same("the answer", "rounds", n, first.text.data, l.text.data, 0);
        check_numbers(l.events.data, last_number(first.events.data));
        life_free(&l);
        log_free(&cut);
    }
    life_free(&first);
    log_free(&log);
}

/* It is cut again and again: each life goes on from the one before. */
static void test_many_lives(void **state)
{
    struct kept_log log, whole;
    struct life first, l;
    (void) state;
    log_init(&whole);
    run_rounds(&whole, &first);
    log_init(&log);
    for (int turns = 1; turns < 40; turns++) {
        live_for(&rounds, &log, &l, turns % 7);
        bool done = l.done && l.status == 0;
        if (l.status != 0 && l.status != HOCKET_ECANCELLED)
            fail_msg("%d turns: %s", turns, l.error);
        life_free(&l);
        if (done)
            break;
    }
    run_rounds(&log, &l);
    same("the answer", "rounds", log.n, first.text.data, l.text.data, 0);
    life_free(&l);
    life_free(&first);
    log_free(&log);
    log_free(&whole);
}

/* Who wants to see all of it again is told all of it again. */
static void test_whole(void **state)
{
    struct kept_log log, again;
    struct life first, l;
    (void) state;
    log_init(&log);
    run_rounds(&log, &first);
    log_copy(&log, log.n, &again);
    again.whole = true;
    run_rounds(&again, &l);
    assert_int_equal(again.n, log.n);
    same("the events", "rounds", log.n, first.events.data, l.events.data, ID_ONLY);
    life_free(&l);
    life_free(&first);
    log_free(&again);
    log_free(&log);
}

/* The events from number `seq` on. */
static const char *events_from(const char *events, uint64_t seq)
{
    const char *at = events;
    while ((at = strstr(at, "{\"seq\":")) && strtoull(at + strlen("{\"seq\":"), NULL, 10) < seq)
        at++;
    return at ? at : "";
}

/* The number of the first event behind the leap: the first that does not follow the one before. */
static uint64_t behind_leap(const char *events)
{
    uint64_t before = 0;
    for (const char *at = events; (at = strstr(at, "{\"seq\":")); at++) {
        uint64_t seq = strtoull(at + strlen("{\"seq\":"), NULL, 10);
        if (seq > before + 1)
            return seq;
        before = seq;
    }
    return before + 1;
}

/* What its result has to say of those who failed. */
static const char *partial_of(struct life *l)
{
    char *at = strstr(l->outcome.data, "\"partial\":"), *end = at ? strstr(at, "],") : NULL;
    if (end)
        *end = 0;
    return at ? at : "";
}

/* Cut anywhere, and gone on with: what is told behind the leap is what is told when all of it is replayed, byte by
 * byte, whichever numbers it has. */
static void test_leap_and_whole(void **state)
{
    struct kept_log log;
    struct life first;
    (void) state;
    log_init(&log);
    run_rounds(&log, &first);
    for (size_t n = 1; n <= log.n; n += 5) {
        struct kept_log cut, again;
        struct life l, replayed;
        log_copy(&log, n, &cut);
        cut.pruned = n % 2;
        run_rounds(&cut, &l);
        log_copy(&cut, cut.n, &again);
        again.whole = true;
        run_rounds(&again, &replayed);
        assert_int_equal(again.n, cut.n);
        uint64_t from = behind_leap(l.events.data);
        same("what is told behind a leap", "rounds", n, events_from(replayed.events.data, from),
            events_from(l.events.data, from), ID_ONLY);
        assert_non_null(strstr(partial_of(&l), "\"lost\""));
        same("what is missing", "rounds", n, partial_of(&replayed), partial_of(&l), TIMES);
        life_free(&replayed);
        life_free(&l);
        log_free(&again);
        log_free(&cut);
    }
    life_free(&first);
    log_free(&log);
}

static void refuses(const char *input, const char *why)
{
    struct workflow w = rounds;
    struct kept_log log;
    struct life l;
    w.input = input;
    log_init(&log);
    live(&w, &log, &l);
    assert_int_equal(l.status, HOCKET_ELUA);
    if (!strstr(l.error, why))
        fail_msg("%s", l.error);
    life_free(&l);
    log_free(&log);
}

static void test_refused(void **state)
{
    (void) state;
    refuses("3 open", "2 of it do: a function, writer. Wait for");
    refuses("3 early", "the first call of hocket.checkpoint has no argument");
    refuses("3 closure", "only data can");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cut),
        cmocka_unit_test(test_many_lives), cmocka_unit_test(test_whole),
        cmocka_unit_test(test_leap_and_whole), cmocka_unit_test(test_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
