/* Runs that are kept: each workflow is run once with its log in memory. Then, in fresh hosts,
 *
 *   - the whole log is replayed: every event comes again byte for byte, and nobody is asked;
 *   - the log is cut behind each entry, replayed, and the run goes on live: it has the same answer, the same tasks and
 *     document, the same usage, and what it did to the world it did once.
 *
 * HOCKET_KEPT_ALL=1 cuts behind every entry; otherwise behind some six of each workflow. */

#include <unistd.h>

#include "host/kept/workflows.h"

#define CUTS 6

static void check_replay(
    const struct workflow *w, const struct kept_log *whole, const struct life *first)
{
    struct kept_log log;
    struct life l;
    log_copy(whole, whole->n, &log);
    live(w, &log, &l);
    if (l.status != first->status)
        fail_msg("%s, whole: %s", w->name, l.error);
    assert_int_equal(log.n, whole->n); /* nothing came from outside, and nothing was done */
    same("the answer", w->name, whole->n, first->text.data, l.text.data, 0);
    same("the events", w->name, whole->n, first->events.data, l.events.data, ID_ONLY);
    life_free(&l);
    log_free(&log);
}

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
        fail_msg("%s, %zu entries: %s", w->name, n, l.error);
    if (w->after)
        w->after(w->name, n);
    same_words("the answer", w->name, n, first->text.data, l.text.data, 0);
    if (!w->loose)
        same_words("the result", w->name, n, first->outcome.data, l.outcome.data, TOKENS);
    check_replay(w, &log, &l); /* both lives of it */
    life_free(&l);
    log_free(&log);
}

static void check(const struct workflow *w)
{
    struct kept_log log;
    struct life first;
    log_init(&log);
    if (w->before)
        w->before(&log, 0); /* another one has written into its world */
    live(w, &log, &first);
    if (first.status != 0)
        fail_msg("%s: %s\n%s", w->name, first.error, first.events.data);
    if (w->after)
        w->after(w->name, log.n);
    printf("%s: %zu entries, %zu bytes\n", w->name, log.n, log.bytes.len);
    check_replay(w, &log, &first);
    if (w->after)
        w->after(w->name, log.n);
    size_t step = getenv("HOCKET_KEPT_ALL") || log.n < CUTS ? 1 : log.n / CUTS;
    for (size_t n = 0; n < log.n; n += step)
        check_cut(w, &log, n, &first);
    life_free(&first);
    log_free(&log);
}

static void test_workflows(void **state)
{
    const char *only = getenv("HOCKET_KEPT_ONLY");
    (void) state;
    make_world();
    for (const struct workflow *w = workflows; w->name; w++)
        if ((!only || strcmp(only, w->name) == 0) && !test_left_out(w->name))
            check(w);
    end_world();
}

/* ---- What was told behind the last entry ------------------------------------------------------- */

/* The first n lines. */
static void keep_lines(struct hocket__buf *text, uint64_t n)
{
    size_t at = 0;
    for (uint64_t i = 0; i < n && at < text->len; i++)
        at += (size_t) ((const char *) memchr(text->data + at, '\n', text->len - at) - text->data)
              - at + 1;
    text->len = at;
    text->data[at] = 0;
}

/* A store may have more events of a life than follow from its entries. Who goes on where each turn is too short tells them in
 * their order, before anything else comes in between. */
static void check_owed(
    const struct workflow *w, const struct kept_log *whole, size_t n, const struct life *first)
{
    struct kept_log log;
    struct life l;
    struct hocket__buf was;
    log_copy(whole, n, &log);
    log.owed = whole->told[n];
    log.turn_us = 1;
    live(w, &log, &l);
    if (l.status != first->status)
        fail_msg("%s, %zu entries: %s", w->name, n, l.error);
    hocket__buf_init(&was, &hocket__malloc, 0);
    hocket__buf_add(&was, first->events.data, first->events.len);
    keep_lines(&was, log.owed);
    keep_lines(&l.events, log.owed);
    same("what it told", w->name, n, was.data, l.events.data, ID_ONLY);
    hocket__buf_deinit(&was);
    life_free(&l);
    log_free(&log);
}

static const struct workflow busy = { .name = "busy", HERE "/scripts/busy.lua", NULL, "{}" };

static void test_owed(void **state)
{
    struct kept_log log;
    struct life first;
    (void) state;
    log_init(&log);
    live(&busy, &log, &first);
    assert_int_equal(first.status, 0);
    for (size_t n = 0; n < log.n; n++)
        check_owed(&busy, &log, n, &first);
    life_free(&first);
    log_free(&log);
}

/* ---- What goes wrong ------------------------------------------------------------------------------- */

static const struct workflow small = { .name = "small", HERE "/scripts/small.lua", "one", "{}" };

/* A run that asks something else than it did is no run at all: it says what, and calls nobody. */
static void test_diverged(void **state)
{
    struct kept_log log, again;
    struct life first, l;
    struct workflow other = small;
    (void) state;
    log_init(&log);
    live(&small, &log, &first);
    assert_int_equal(first.status, 0);
    log_copy(&log, log.n, &again);
    other.input = "two";
    live(&other, &again, &l);
    assert_int_equal(l.status, HOCKET_EREPLAY);
    if (!strstr(l.error, "begin of 'model' (1 of its fiber)") || !strstr(l.error, "messages was "))
        fail_msg("%s", l.error);
    assert_int_equal(again.n, log.n);
    life_free(&l);
    log_free(&again);

    log_copy(&log, log.n, &again);
    other.input = "none";
    live(&other, &again, &l);
    assert_int_equal(l.status, HOCKET_EREPLAY);
    assert_int_equal(again.n, log.n);
    life_free(&l);
    life_free(&first);
    log_free(&again);
    log_free(&log);
}

/* Where the log cannot be written the run ends, and can be continued from what there is. */
static void test_sink_fails(void **state)
{
    struct kept_log log, whole;
    struct life first, l;
    bool is_full = true;
    size_t n;
    (void) state;
    log_init(&whole);
    live(&small, &whole, &first);
    for (n = 1; is_full; n++) { /* readings of the clock are entries: how many there are varies */
        log_init(&log);
        log.full_at = n;
        live(&small, &log, &l);
        is_full = l.status != 0;
        if (is_full) {
            assert_int_equal(l.status, HOCKET_EIO);
            assert_string_equal(l.error, "the disk is full");
            assert_int_equal(log.n, n);
            life_free(&l);
            log.full_at = 0;
            live(&small, &log, &l);
        }
        assert_int_equal(l.status, 0);
        same("the answer", "small", n, first.text.data, l.text.data, 0);
        life_free(&l);
        log_free(&log);
    }
    assert_true(n > whole.n / 2);
    life_free(&first);
    log_free(&whole);
}

/* A host that is closed in the middle has not cancelled its runs: they go on in the next one. */
static void test_host_closed(void **state)
{
    struct kept_log log, whole;
    struct life first, l;
    (void) state;
    log_init(&whole);
    live(&small, &whole, &first);
    for (int turns = 0; turns < 12; turns++) {
        log_init(&log);
        live_for(&small, &log, &l, turns);
        life_free(&l);
        live(&small, &log, &l);
        if (l.status < 0)
            fail_msg("%d turns: %s", turns, l.error);
        same("the answer", "small", log.n, first.text.data, l.text.data, 0);
        life_free(&l);
        log_free(&log);
    }
    life_free(&first);
    log_free(&whole);
}

/* What is asked of the world may have a secret in it: the log has a hash of it. */
static void test_hidden(void **state)
{
    struct workflow w = { .name = "talk", HERE "/scripts/talk.lua", NULL, "{}" };
    struct kept_log log;
    struct life l;
    (void) state;
    if (test_left_out(w.name))
        skip();
    log_init(&log);
    live(&w, &log, &l);
    assert_int_equal(l.status, 0);
    for (size_t i = 0; i < log.n; i++) {
        struct hocket__log_entry e = entry_at(&log, i);
        assert_false(digest_has(&e, "127.0.0.1") || digest_has(&e, "cat") || digest_has(&e, "two"));
    }
    life_free(&l);
    log_free(&log);
}

static void cancel_at(const char *type, int how, struct kept_log *log, struct life *l)
{
    struct hocket_error err;
    uint64_t id;
    hocket_host *h = open_host();
    life_init(l, &small);
    l->stop_at = type;
    l->stop_how = how;
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = small.target, .input = "one" };
    assert_int_equal(hocket_run_start(h, &spec, &id, on_event, on_done, l, &err), 0);
    l->kept = keep(h, id, log);
    until_done(h, l);
    hocket__kept_unref(l->kept);
    hocket_close(h, NULL, NULL);
}

/* What an embedder does to a run is in its log: a cancel, and a wish to stop. */
static void test_stopped(void **state)
{
    (void) state;
    for (int how = 0; how < 2; how++) {
        struct kept_log log, again;
        struct life first, l;
        log_init(&log);
        cancel_at("model_request", how, &log, &first);
        assert_int_equal(first.status, how == 0 ? HOCKET_ECANCELLED : 0);
        log_copy(&log, log.n, &again);
        live(&small, &again, &l);
        assert_int_equal(l.status, first.status);
        assert_int_equal(again.n, log.n);
        same("the events", "stopped", log.n, first.events.data, l.events.data, ID_ONLY);
        life_free(&first);
        life_free(&l);
        log_free(&log);
        log_free(&again);
    }
}

int main(int argc, char **argv)
{
    hocket_launcher_main(argc, argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_workflows),
        cmocka_unit_test(test_owed), cmocka_unit_test(test_diverged),
        cmocka_unit_test(test_sink_fails), cmocka_unit_test(test_host_closed),
        cmocka_unit_test(test_hidden), cmocka_unit_test(test_stopped) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
