#include "store/conformance.h"
#include "store/export.h"

#include <math.h>
#include <stdlib.h>

static const struct store_kind *the_kind;

#define STR(s) hocket__cstr(s)

static int setup(void **state)
{
    return fixture_new(state, the_kind, 0);
}

static int find(struct fixture *f, const char *prefix)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_find(f->s, STR(prefix), &r, NULL));
}

static int take(struct fixture *f, const char *id, struct hocket__store_claim *claim)
{
    struct hocket__store_reply r = fixture_reply(f);
    int rc = fixture_answer(f, hocket__store_take(f->s, STR(id), &r, NULL));
    if (rc == 0) {
        memcpy(claim->id, id, sizeof(claim->id));
        claim->fence = fixture_row(f, 0).run.fence;
    }
    return rc;
}

static int entries(struct fixture *f, const char *id, uint64_t from)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_entries(f->s, STR(id), from, &r, NULL));
}

static int past(struct fixture *f, const char *id)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_past(f->s, STR(id), &r, NULL));
}

static int records(struct fixture *f, const char *id, uint64_t from)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_records(f->s, STR(id), from, &r, NULL));
}

static int files(struct fixture *f, const char *generation)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_files(f->s, STR(generation), &r, NULL));
}

static int messages(struct fixture *f, const char *id)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_messages(f->s, STR(id), &r, NULL));
}

static int message(struct fixture *f, const char *run, const char *id, const char *json)
{
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_message m = { STR(id), 17, STR(json) };
    return fixture_answer(f, hocket__store_message(f->s, STR(run), &m, &r, NULL));
}

static int remove_run(struct fixture *f, const char *id)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_remove(f->s, STR(id), &r, NULL));
}

static int runs(struct fixture *f, const struct hocket__store_filter *filter)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_runs(f->s, filter, &r, NULL));
}

static void assert_entries(struct fixture *f, uint64_t first, uint64_t last)
{
    assert_int_equal(f->count, last - first + 1);
    struct hocket__str in = hocket__buf_str(&f->rows);
    struct hocket__store_row row;
    for (uint64_t n = first; n <= last; n++) {
        assert_int_equal(hocket__store_unpack(&in, &row), 1);
        assert_int_equal(row.entry.n, n);
    }
}

/* ---- Runs ---------------------------------------------------------------------------------- */

static void opens_and_closes(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_SYNCED), 0);
    assert_int_equal(f->news[HOCKET__STORE_READY], 1);
    fixture_close(f);
    fixture_open(f);
    fixture_close(f); /* before its first turn */
    assert_int_equal(f->news[HOCKET__STORE_BROKEN], 0);
}

static void a_run_comes_back_as_it_was_put(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_run r = fixture_run(RUN_1);
    struct hocket__store_claim claim;
    r.input = hocket__str("nul \0 and \xff", 11);
    r.simulated = true;
    r.cost = 1234567890123;
    r.tokens = 0;
    assert_int_equal(hocket__store_put(f->s, &r, &claim), 0);
    assert_int_equal(find(f, RUN_1), 0);
    struct hocket__store_run got = fixture_row(f, 0).run;
    assert_string_equal(got.id, RUN_1);
    assert_string_equal(got.parent, "");
    fixture_assert_str(got.target, "travel.lua");
    assert_true(hocket__str_eq(got.input, r.input));
    fixture_assert_str(got.options, "{}");
    fixture_assert_str(got.version, "0.1.0");
    fixture_assert_str(got.waiting_for, "");
    assert_memory_equal(got.seed, r.seed, sizeof(r.seed));
    assert_int_equal(got.state, HOCKET__STORE_RUNNING);
    assert_true(got.simulated);
    assert_int_equal(got.cost, r.cost);
    assert_int_equal(got.tokens, 0);
    assert_int_equal(got.created_ms, r.created_ms);
    assert_int_equal(got.last_n, 0);
    assert_int_equal(got.fence, claim.fence);
    assert_int_equal(got.owner.pid, getpid());
    assert_true(got.owner.host.n > 0 && got.owner.since_ms > 0);
}

static void fields_change_alone(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    struct hocket__store_run change = { .state = HOCKET__STORE_PARKED,
        .waiting_for = HOCKET__STR("{\"question\":1}"),
        .generation = HOCKET__STR("never"),
        .cost = 5,
        .tokens = 7 };
    unsigned set = HOCKET__STORE_SET_STATE | HOCKET__STORE_SET_WAITING_FOR;
    assert_int_equal(hocket__store_update(f->s, &claim, set, &change), 0);
    assert_int_equal(find(f, RUN_1), 0);
    struct hocket__store_run got = fixture_row(f, 0).run;
    assert_int_equal(got.state, HOCKET__STORE_PARKED);
    fixture_assert_str(got.waiting_for, "{\"question\":1}");
    fixture_assert_str(got.generation, "");
    assert_int_equal(got.cost, -1);
    set = HOCKET__STORE_SET_USAGE | HOCKET__STORE_SET_GENERATION | HOCKET__STORE_SET_OPTIONS;
    change.options = HOCKET__STR("{\"budget\":1}");
    assert_int_equal(hocket__store_update(f->s, &claim, set, &change), 0);
    assert_int_equal(find(f, RUN_1), 0);
    got = fixture_row(f, 0).run;
    assert_int_equal(got.cost, 5);
    assert_int_equal(got.tokens, 7);
    fixture_assert_str(got.generation, "never");
    fixture_assert_str(got.options, "{\"budget\":1}");
    assert_int_equal(got.state, HOCKET__STORE_PARKED);
}

static void ids_may_be_shortened(void **state)
{
    struct fixture *f = *state;
    fixture_put(f, RUN_1);
    fixture_put(f, RUN_2);
    fixture_put(f, RUN_3);
    assert_int_equal(find(f, "01KAP"), 0);
    assert_string_equal(fixture_row(f, 0).run.id, RUN_3);
    assert_int_equal(find(f, "01kanc3v0qzj9e4w2x6t8b5m7s"), 0);
    assert_string_equal(fixture_row(f, 0).run.id, RUN_2);
    assert_int_equal(find(f, "01KAN"), HOCKET_EINVAL);
    assert_non_null(strstr(f->error.message, RUN_1));
    assert_non_null(strstr(f->error.message, RUN_2));
    assert_int_equal(find(f, "0"), HOCKET_EINVAL);
    assert_int_equal(find(f, "02"), HOCKET_ENOTFOUND);
    assert_int_equal(find(f, "%"), HOCKET_ENOTFOUND);
    assert_int_equal(find(f, ""), HOCKET_EINVAL);
    assert_int_equal(find(f, RUN_1 "0"), HOCKET_EINVAL);
}

static void runs_are_listed_newest_first(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim one = fixture_put(f, RUN_1);
    fixture_put(f, RUN_3);
    fixture_put(f, RUN_2);
    struct hocket__store_run done = { .state = HOCKET__STORE_DONE };
    assert_int_equal(hocket__store_update(f->s, &one, HOCKET__STORE_SET_STATE, &done), 0);
    struct hocket__store_filter all = { .limit = 2 };
    assert_int_equal(runs(f, &all), 0);
    assert_int_equal(f->count, 2);
    assert_string_equal(fixture_row(f, 0).run.id, RUN_3);
    assert_string_equal(fixture_row(f, 1).run.id, RUN_2);
    all.before = STR(RUN_2);
    assert_int_equal(runs(f, &all), 0);
    assert_int_equal(f->count, 1);
    assert_string_equal(fixture_row(f, 0).run.id, RUN_1);
    struct hocket__store_filter ended = { .states = 1u << HOCKET__STORE_DONE };
    assert_int_equal(runs(f, &ended), 0);
    assert_int_equal(f->count, 1);
    ended.states = 1u << HOCKET__STORE_PARKED | 1u << HOCKET__STORE_FAILED;
    assert_int_equal(runs(f, &ended), 0);
    assert_int_equal(f->count, 0);
    struct hocket__store_filter old = { .updated_before_ms = 1 };
    assert_int_equal(runs(f, &old), 0);
    assert_int_equal(f->count, 0);
}

static void one_id_is_one_run(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    fixture_entries(f, &claim, 1, 3);
    fixture_put(f, RUN_1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), HOCKET_EEXIST);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 1);
    assert_string_equal(f->news_id, RUN_1);
    assert_int_equal(entries(f, RUN_1, 1), 0);
    assert_entries(f, 1, 3);
}

static void wrong_questions_are_refused_at_once(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_run r = fixture_run("01KANC3V0QZJ9E4W2X6T8B5M7U"); /* no U */
    struct hocket__store_claim claim = { RUN_1, 1 };
    assert_int_equal(hocket__store_put(f->s, &r, &claim), HOCKET_EINVAL);
    assert_int_equal(entries(f, "01KANC", 1), HOCKET_EINVAL);
    assert_int_equal(message(f, RUN_1, "", "{}"), HOCKET_EINVAL);
    struct hocket__store_entry e = fixture_entry(0, "");
    assert_int_equal(hocket__store_append(f->s, &claim, &e), HOCKET_EINVAL);
    assert_int_equal(entries(f, RUN_1, 1), HOCKET_ENOTFOUND);
    assert_int_equal(remove_run(f, RUN_1), HOCKET_ENOTFOUND);
    assert_int_equal(message(f, RUN_1, "m", "{}"), HOCKET_ENOTFOUND);
}

/* ---- Entries, records, files, messages -------------------------------------------------------- */

static void entries_come_back_in_order(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim one = fixture_put(f, RUN_1), two = fixture_put(f, RUN_2);
    for (uint64_t n = 1; n <= 100; n++) {
        fixture_append(f, &one, n);
        if (n % 2)
            fixture_append(f, &two, n / 2 + 1);
    }
    assert_int_equal(entries(f, RUN_2, 1), 0);
    assert_entries(f, 1, 50);
    assert_int_equal(entries(f, RUN_1, 98), 0);
    assert_entries(f, 98, 100);
    struct hocket__store_entry want = fixture_entry(98, "{\"text\":\"what came as number 98\"}");
    struct hocket__store_entry got = fixture_row(f, 0).entry;
    assert_int_equal(got.tick, want.tick);
    assert_int_equal(got.at_ms, want.at_ms);
    assert_int_equal(got.kind, want.kind);
    assert_true(got.path == want.path);
    assert_int_equal(got.ord, want.ord);
    assert_true(hocket__str_eq(got.name, want.name));
    assert_true(hocket__str_eq(got.digest, want.digest));
    assert_true(hocket__str_eq(got.value, want.value));
    assert_int_equal(entries(f, RUN_1, 101), 0);
    assert_int_equal(f->count, 0);
    assert_int_equal(find(f, RUN_1), 0);
    assert_int_equal(fixture_row(f, 0).run.last_n, 100);
}

static void extreme_numbers_survive(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    struct hocket__store_entry e = { .n = 1,
        .tick = UINT64_MAX,
        .at_ms = INT64_MIN,
        .kind = UINT8_MAX,
        .path = UINT64_MAX,
        .ord = UINT32_MAX,
        .name = HOCKET__STR(""),
        .digest = hocket__str("\0\1\xff", 3),
        .value = HOCKET__STR("") };
    assert_int_equal(hocket__store_append(f->s, &claim, &e), 0);
    assert_int_equal(entries(f, RUN_1, 0), 0);
    struct hocket__store_entry got = fixture_row(f, 0).entry;
    assert_true(got.tick == UINT64_MAX && got.at_ms == INT64_MIN && got.path == UINT64_MAX);
    assert_true(got.kind == UINT8_MAX && got.ord == UINT32_MAX);
    assert_true(hocket__str_eq(got.digest, e.digest) && got.value.n == 0);
}

static void long_answers_come_in_pieces(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    size_t size = 100000;
    char *big = malloc(size + 1);
    memset(big, 'x', size);
    big[size] = 0;
    for (uint64_t n = 1; n <= 20; n++) {
        big[0] = (char) ('a' + n);
        struct hocket__store_entry e = fixture_entry(n, big);
        assert_int_equal(hocket__store_append(f->s, &claim, &e), 0);
    }
    assert_int_equal(entries(f, RUN_1, 1), 0);
    assert_entries(f, 1, 20);
    for (uint64_t n = 1; n <= 20; n++) {
        struct hocket__str value = fixture_row(f, n - 1).entry.value;
        assert_int_equal(value.n, size);
        assert_int_equal(value.p[0], 'a' + n);
    }
    free(big);
}

static void a_reader_may_stop(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    fixture_entries(f, &claim, 1, 10);
    f->stop_after = 3;
    assert_int_equal(entries(f, RUN_1, 1), HOCKET_ECANCELLED);
    assert_int_equal(f->count, 3);
    f->stop_after = 0;
}

static void an_entry_that_does_not_follow_is_refused(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim one = fixture_put(f, RUN_1), two = fixture_put(f, RUN_2);
    fixture_append(f, &one, 1);
    fixture_append(f, &one, 3);
    fixture_append(f, &one, 2); /* too late: nothing of this claim is taken any more */
    fixture_append(f, &two, 1);
    assert_int_equal(fixture_commit(f, &one, HOCKET__STORE_WRITTEN), HOCKET_EINVAL);
    assert_int_equal(fixture_commit(f, &two, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 1);
    assert_int_equal(entries(f, RUN_1, 1), 0);
    assert_entries(f, 1, 1);
}

static void records_are_kept_once(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    static const uint64_t seqs[] = { 1, 2, 5, 2, 5, 6 };
    for (size_t i = 0; i < sizeof(seqs) / sizeof(seqs[0]); i++) {
        char json[32];
        snprintf(json, sizeof(json), "{\"seq\":%d,\"i\":%zu}", (int) seqs[i], i);
        struct hocket__store_record r = { seqs[i], STR(json) };
        assert_int_equal(hocket__store_record(f->s, &claim, &r), 0);
    }
    assert_int_equal(records(f, RUN_1, 2), 0);
    assert_int_equal(f->count, 3);
    fixture_assert_str(fixture_row(f, 0).record.json, "{\"seq\":2,\"i\":1}");
    fixture_assert_str(fixture_row(f, 2).record.json, "{\"seq\":6,\"i\":5}");
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
}

static void put_file(struct fixture *f, const char *generation, const char *path, const char *text)
{
    struct hocket__store_file file = { STR(generation), STR(path), STR("h"), STR(text) };
    assert_int_equal(hocket__store_file(f->s, &file), 0);
}

static void files_go_with_their_last_run(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_run r = fixture_run(RUN_1);
    struct hocket__store_claim one, two;
    put_file(f, "g1", "b.lua", "return 2");
    put_file(f, "g1", "a.md", "# A");
    put_file(f, "g2", "a.md", "# A");
    put_file(f, "g1", "a.md", "not again");
    r.generation = STR("g1");
    assert_int_equal(hocket__store_put(f->s, &r, &one), 0);
    memcpy(r.id, RUN_2, sizeof(r.id));
    assert_int_equal(hocket__store_put(f->s, &r, &two), 0);
    assert_int_equal(files(f, "g1"), 0);
    assert_int_equal(f->count, 2);
    fixture_assert_str(fixture_row(f, 0).file.path, "a.md");
    fixture_assert_str(fixture_row(f, 0).file.text, "# A");
    fixture_assert_str(fixture_row(f, 0).file.hash, "h");
    fixture_assert_str(fixture_row(f, 1).file.text, "return 2");
    hocket__store_release(f->s, &one);
    hocket__store_release(f->s, &two);
    assert_int_equal(remove_run(f, RUN_1), 0);
    assert_int_equal(files(f, "g1"), 0);
    assert_int_equal(f->count, 2);
    assert_int_equal(remove_run(f, RUN_2), 0);
    assert_int_equal(files(f, "g1"), 0);
    assert_int_equal(f->count, 0);
    assert_int_equal(files(f, "g2"), 0);
    assert_int_equal(f->count, 1);
}

static void a_message_is_taken_once(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    assert_int_equal(message(f, RUN_1, "q1", "{\"answer\":\"yes\"}"), 0);
    assert_int_equal(message(f, RUN_1, "q0", "{\"answer\":\"no\"}"), 0);
    assert_int_equal(message(f, RUN_1, "q1", "{}"), HOCKET_EEXIST);
    assert_int_equal(messages(f, RUN_1), 0);
    assert_int_equal(f->count, 2);
    fixture_assert_str(fixture_row(f, 0).message.id, "q1");
    fixture_assert_str(fixture_row(f, 0).message.json, "{\"answer\":\"yes\"}");
    assert_int_equal(fixture_row(f, 0).message.at_ms, 17);
    fixture_append(f, &claim, 1);
    assert_int_equal(hocket__store_message_del(f->s, &claim, STR("q1")), 0);
    assert_int_equal(hocket__store_message_del(f->s, &claim, STR("unknown")), 0);
    assert_int_equal(messages(f, RUN_1), 0);
    assert_int_equal(f->count, 1);
    fixture_assert_str(fixture_row(f, 0).message.id, "q0");
    assert_int_equal(message(f, RUN_1, "q1", "{}"), HOCKET_EEXIST);
}

/* ---- Forks ---------------------------------------------------------------------------------- */

static struct hocket__store_claim fork_at(
    struct fixture *f, const char *id, const char *parent, uint64_t n, uint64_t seq)
{
    struct hocket__store_run r = fixture_run(id);
    struct hocket__store_claim claim;
    memcpy(r.parent, parent, sizeof(r.parent));
    r.at_n = n;
    r.at_seq = seq;
    assert_int_equal(hocket__store_put(f->s, &r, &claim), 0);
    return claim;
}

static void a_fork_reads_through_its_parents(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim one = fixture_put(f, RUN_1);
    fixture_entries(f, &one, 1, 20);
    for (uint64_t i = 1; i <= 9; i++) {
        struct hocket__store_record r = { i, STR("{}") };
        assert_int_equal(hocket__store_record(f->s, &one, &r), 0);
    }
    struct hocket__store_claim two = fork_at(f, RUN_2, RUN_1, 10, 4);
    fixture_entries(f, &two, 11, 5);
    struct hocket__store_record own = { 5, STR("{\"own\":true}") };
    assert_int_equal(hocket__store_record(f->s, &two, &own), 0);
    struct hocket__store_claim three = fork_at(f, RUN_3, RUN_2, 13, 5);
    fixture_append(f, &three, 14);
    assert_int_equal(entries(f, RUN_3, 1), 0);
    assert_entries(f, 1, 14);
    assert_int_equal(entries(f, RUN_3, 12), 0);
    assert_entries(f, 12, 14);
    assert_int_equal(entries(f, RUN_2, 8), 0);
    assert_entries(f, 8, 15);
    assert_int_equal(entries(f, RUN_1, 18), 0);
    assert_entries(f, 18, 20);
    assert_int_equal(records(f, RUN_3, 1), 0);
    assert_int_equal(f->count, 5);
    fixture_assert_str(fixture_row(f, 4).record.json, "{\"own\":true}");
    assert_int_equal(find(f, RUN_3), 0);
    assert_int_equal(fixture_row(f, 0).run.last_n, 14);
    assert_string_equal(fixture_row(f, 0).run.parent, RUN_2);
    struct hocket__store_filter forks = { .parent = STR(RUN_1) };
    assert_int_equal(runs(f, &forks), 0);
    assert_int_equal(f->count, 1);
}

static void a_fork_may_begin_before_its_parents_fork(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim one = fixture_put(f, RUN_1);
    fixture_entries(f, &one, 1, 20);
    struct hocket__store_claim two = fork_at(f, RUN_2, RUN_1, 10, 0);
    fixture_entries(f, &two, 11, 5);
    struct hocket__store_claim three = fork_at(f, RUN_3, RUN_2, 3, 0);
    fixture_append(f, &three, 4);
    assert_int_equal(entries(f, RUN_3, 1), 0);
    assert_entries(f, 1, 4);
}

static void a_removed_parent_stays_for_its_forks(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim one = fixture_put(f, RUN_1);
    fixture_entries(f, &one, 1, 20);
    struct hocket__store_claim two = fork_at(f, RUN_2, RUN_1, 10, 0);
    assert_int_equal(remove_run(f, RUN_1), HOCKET_ESTATE);
    hocket__store_release(f->s, &one);
    assert_int_equal(remove_run(f, RUN_1), 0);
    assert_int_equal(find(f, RUN_1), HOCKET_ENOTFOUND);
    assert_int_equal(remove_run(f, RUN_1), HOCKET_ENOTFOUND);
    struct hocket__store_filter all = { 0 };
    assert_int_equal(runs(f, &all), 0);
    assert_int_equal(f->count, 1);
    assert_int_equal(entries(f, RUN_2, 1), 0);
    assert_entries(f, 1, 10);
    hocket__store_release(f->s, &two);
    assert_int_equal(remove_run(f, RUN_2), 0);
    assert_int_equal(find(f, "01"), HOCKET_ENOTFOUND);
    fixture_put(f, RUN_1); /* its id is free again: nothing of it is left */
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
}

/* What it remembers of its parent is there as long as it is. */
static void a_removed_parent_is_remembered(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim one = fixture_put(f, RUN_1);
    fixture_entries(f, &one, 1, 20);
    fork_at(f, RUN_2, RUN_1, 0, 0);
    assert_int_equal(past(f, RUN_2), 0);
    assert_entries(f, 1, 20);
    hocket__store_release(f->s, &one);
    assert_int_equal(remove_run(f, RUN_1), 0);
    assert_int_equal(past(f, RUN_2), 0);
    assert_entries(f, 1, 20);
    assert_int_equal(find(f, RUN_2), 0);
    assert_string_equal(fixture_row(f, 0).run.parent, RUN_1);
    fixture_put(f, RUN_1); /* another one of its name is not it */
    assert_int_equal(past(f, RUN_2), 0);
    assert_entries(f, 1, 20);
    assert_int_equal(past(f, RUN_1), HOCKET_ENOTFOUND);
    assert_int_equal(past(f, RUN_3), HOCKET_ENOTFOUND);
}

static struct hocket__store_claim fork_with(
    struct fixture *f, const char *id, const char *parent, const char *generation)
{
    struct hocket__store_claim claim = fork_at(f, id, parent, 0, 0);
    struct hocket__store_run r = { .generation = hocket__cstr(generation) };
    hocket__store_update(f->s, &claim, HOCKET__STORE_SET_GENERATION, &r);
    return claim;
}

/* Files of a run that was removed stay for forks that go through it, and go with the last of them; so do those that a fork
 * has read itself. */
static void files_stay_for_forks(void **state)
{
    static const char *const names[] = { RUN_1, RUN_2, RUN_3 };
    struct fixture *f = *state;
    struct hocket__store_claim claims[3] = { fixture_put(f, RUN_1) };
    struct hocket__store_run own = { .generation = STR(RUN_1) };
    hocket__store_update(f->s, &claims[0], HOCKET__STORE_SET_GENERATION, &own);
    claims[1] = fork_with(f, RUN_2, RUN_1, RUN_1);
    claims[2] = fork_with(f, RUN_3, RUN_2, RUN_2 "," RUN_1);
    for (int i = 0; i < 3; i++) {
        put_file(f, names[i], "a.md", names[i]);
        hocket__store_release(f->s, &claims[i]);
    }
    assert_int_equal(remove_run(f, RUN_2), 0);
    assert_int_equal(remove_run(f, RUN_1), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(files(f, names[i]), 0);
        assert_int_equal(f->count, 1);
    }
    assert_int_equal(remove_run(f, RUN_3), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(files(f, names[i]), 0);
        assert_int_equal(f->count, 0);
    }
}

static void a_fork_of_nothing_is_refused(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim = fork_at(f, RUN_2, RUN_1, 10, 0);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), HOCKET_ENOTFOUND);
    assert_int_equal(find(f, RUN_2), HOCKET_ENOTFOUND);
}

/* ---- Claims ---------------------------------------------------------------------------------- */

static void a_run_has_one_owner(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim first = fixture_put(f, RUN_1), second, third;
    fixture_append(f, &first, 1);
    assert_int_equal(take(f, RUN_1, &second), HOCKET_ESTATE);
    assert_int_equal(f->count, 1);
    assert_int_equal(fixture_row(f, 0).run.owner.pid, getpid());
    char pid[32];
    snprintf(pid, sizeof(pid), "process %d on", (int) getpid());
    assert_non_null(strstr(f->error.message, pid));
    assert_int_equal(hocket__store_release(f->s, &first), 0);
    assert_int_equal(take(f, RUN_1, &second), 0);
    assert_true(second.fence > first.fence);
    fixture_append(f, &first, 2); /* late */
    fixture_append(f, &second, 2);
    assert_int_equal(fixture_commit(f, &second, HOCKET__STORE_WRITTEN), HOCKET_ESTATE);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 1);
    assert_int_equal(entries(f, RUN_1, 1), 0);
    assert_int_equal(take(f, "01KANC3V0QZJ9E4W2X6T8B5M7Z", &third), HOCKET_ENOTFOUND);
}

static void what_was_released_is_written_no_more(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    hocket__store_release(f->s, &claim);
    fixture_append(f, &claim, 1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), HOCKET_ESTATE);
    assert_int_equal(entries(f, RUN_1, 1), 0);
    assert_int_equal(f->count, 0);
    struct hocket__store_claim again;
    assert_int_equal(take(f, RUN_1, &again), 0); /* and then all is well again */
    fixture_append(f, &again, 1);
    assert_int_equal(fixture_commit(f, &again, HOCKET__STORE_WRITTEN), 0);
}

/* ---- Turns, waits, ends -------------------------------------------------------------------------- */

static void not_called(struct hocket__store_wait *w, int status, const struct hocket_error *err)
{
    (void) w, (void) status, (void) err;
    fail_msg("a wait that was forgotten was told");
}

static void does_not_report_a_forgotten_wait(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    struct hocket__store_wait w = { .done = not_called };
    hocket__store_forget(&w);
    hocket__store_commit(f->s, &claim, HOCKET__STORE_SYNCED, &w);
    hocket__store_forget(&w);
    hocket__store_forget(&w);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_SYNCED), 0);
}

static int row_not_called(void *ud, const struct hocket__store_row *row)
{
    (void) ud, (void) row;
    fail_msg("a call that was cancelled gave a row");
    return 0;
}

static void done_not_called(void *ud, int status, const struct hocket_error *err)
{
    (void) ud, (void) status, (void) err;
    fail_msg("a call that was cancelled was told");
}

static void a_cancelled_call_is_silent(void **state)
{
    struct fixture *f = *state;
    fixture_put(f, RUN_1);
    struct hocket__store_reply r = { row_not_called, done_not_called, NULL };
    struct hocket__store_call *call;
    assert_int_equal(hocket__store_find(f->s, STR(RUN_1), &r, &call), 0);
    hocket__store_cancel(f->s, call);
    assert_int_equal(find(f, RUN_1), 0);
}

static void closing_keeps_what_was_handed_over(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    fixture_entries(f, &claim, 1, 100);
    fixture_close(f);
    fixture_open(f);
    if (the_kind->lasts) {
        assert_int_equal(entries(f, RUN_1, 1), 0);
        assert_entries(f, 1, 100);
        assert_int_equal(take(f, RUN_1, &claim), 0); /* let go of, too */
    } else {
        assert_int_equal(find(f, RUN_1), HOCKET_ENOTFOUND);
    }
}

struct last {
    struct hocket__store_wait wait;
    int told, status;
};

static void on_last(struct hocket__store_wait *w, int status, const struct hocket_error *err)
{
    struct last *l = hocket__container_of(w, struct last, wait);
    (void) err;
    l->told++;
    l->status = status;
}

static void closing_ends_all_that_waits(void **state)
{
    struct fixture *f = *state;
    struct last l = { .wait.done = on_last };
    fixture_put(f, RUN_1);
    hocket__store_commit(f->s, NULL, HOCKET__STORE_SYNCED, &l.wait);
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(hocket__store_find(f->s, STR(RUN_1), &r, NULL), 0);
    fixture_close(f);
    assert_int_equal(l.told, 1);
    assert_true(l.status == 0 || l.status == HOCKET_ECLOSED);
    assert_true(f->done);
    assert_true(f->status == 0 || f->status == HOCKET_ECLOSED);
}

/* Goes on in its own callback. */
struct chain {
    struct hocket__store_wait wait;
    struct fixture *f;
    struct hocket__store_claim claim;
    uint64_t n, end;
};

static void on_link(struct hocket__store_wait *w, int status, const struct hocket_error *err)
{
    struct chain *c = hocket__container_of(w, struct chain, wait);
    (void) err;
    assert_int_equal(status, 0);
    if (c->n == c->end)
        return;
    fixture_append(c->f, &c->claim, ++c->n);
    hocket__store_commit(c->f->s, &c->claim, HOCKET__STORE_WRITTEN, &c->wait);
}

/* Also where the one that it waits for is kept, and another batch is on its way. */
static void what_callbacks_hand_over_is_kept(void **state)
{
    struct fixture *f = *state;
    struct chain one = { .wait.done = on_link, .f = f, .end = 20 },
                 two = { .wait.done = on_link, .f = f, .end = 20 };
    one.claim = fixture_put(f, RUN_1);
    two.claim = fixture_put(f, RUN_2);
    hocket__store_commit(f->s, &one.claim, HOCKET__STORE_WRITTEN, &one.wait);
    hocket__store_commit(f->s, &two.claim, HOCKET__STORE_SYNCED, &two.wait);
    while (one.n < one.end || two.n < two.end)
        assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(entries(f, RUN_1, 1), 0);
    assert_entries(f, 1, 20);
    assert_int_equal(entries(f, RUN_2, 1), 0);
    assert_entries(f, 1, 20);
}

static struct fixture *news_of;
static struct hocket__store_claim news_claim;

static void on_refusal(
    void *ud, enum hocket__store_news news, const char *id, const struct hocket_error *err)
{
    (void) ud, (void) id, (void) err;
    news_of->news[news]++;
    if (news == HOCKET__STORE_REFUSED)
        fixture_entries(news_of, &news_claim, 2, 100);
}

static void what_a_refusal_brings_is_kept(void **state)
{
    struct fixture *f = *state;
    fixture_close(f);
    f->o.on_news = on_refusal;
    news_of = f;
    fixture_open(f);
    struct hocket__store_claim bad = fixture_put(f, RUN_1);
    news_claim = fixture_put(f, RUN_2);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    fixture_append(f, &bad, 7);
    fixture_append(f, &news_claim, 1);
    assert_int_equal(fixture_commit(f, &bad, HOCKET__STORE_WRITTEN), HOCKET_EINVAL);
    assert_int_equal(fixture_commit(f, &news_claim, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(entries(f, RUN_2, 1), 0);
    assert_entries(f, 1, 101);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 1);
}

/* What a callback asks, it asks of a store that has what it handed over before. */
struct asker {
    struct hocket__store_wait wait;
    struct fixture *f;
};

static void on_kept_ask(struct hocket__store_wait *w, int status, const struct hocket_error *err)
{
    struct fixture *f = hocket__container_of(w, struct asker, wait)->f;
    (void) err;
    assert_int_equal(status, 0);
    fixture_put(f, RUN_2);
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(hocket__store_find(f->s, STR(RUN_2), &r, NULL), 0);
}

static void what_a_callback_asks_comes_behind_what_it_handed_over(void **state)
{
    struct fixture *f = *state;
    struct asker a = { .wait.done = on_kept_ask, .f = f };
    fixture_put(f, RUN_1);
    hocket__store_commit(f->s, NULL, HOCKET__STORE_WRITTEN, &a.wait);
    fixture_until(f, &f->done);
    assert_int_equal(f->status, 0);
    assert_int_equal(f->count, 1);
}

static void on_gone(void *ud)
{
    *(bool *) ud = true;
}

struct closer {
    struct hocket__store_wait wait;
    struct fixture *f;
    int told;
    bool gone;
};

static void on_kept_close(struct hocket__store_wait *w, int status, const struct hocket_error *err)
{
    struct closer *c = hocket__container_of(w, struct closer, wait);
    (void) status, (void) err;
    c->told++;
    hocket__store_close(c->f->s, on_gone, &c->gone);
}

static void on_answer_close(void *ud, int status, const struct hocket_error *err)
{
    struct closer *c = ud;
    on_kept_close(&c->wait, status, err);
}

static void on_answer(void *ud, int status, const struct hocket_error *err)
{
    struct closer *c = ud;
    assert_true(status == 0 || status == HOCKET_ECLOSED);
    assert_true(!err == (status == 0));
    c->told++;
}

/* In the middle of a turn in which there is more. */
static void a_callback_may_close_the_store(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 2; i++) {
        struct closer c = { .wait.done = on_kept_close, .f = f };
        struct last l = { .wait.done = on_last };
        struct hocket__store_reply first = { NULL, i ? on_answer_close : on_answer, &c };
        struct hocket__store_reply second = { NULL, on_answer, &c };
        if (i)
            fixture_open(f);
        fixture_put(f, RUN_1);
        if (i == 0)
            hocket__store_commit(f->s, NULL, HOCKET__STORE_WRITTEN, &c.wait);
        hocket__store_commit(f->s, NULL, HOCKET__STORE_WRITTEN, &l.wait);
        assert_int_equal(hocket__store_find(f->s, STR("0"), &first, NULL), 0);
        assert_int_equal(hocket__store_find(f->s, STR("0"), &second, NULL), 0);
        fixture_until(f, &c.gone);
        f->s = NULL;
        assert_int_equal(c.told, i ? 2 : 3);
        assert_int_equal(l.told, 1);
    }
}

static void too_much_at_once_is_refused(void **state)
{
    struct fixture *f = *state;
    fixture_close(f);
    f->o.max_pending = 10000;
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    struct hocket__store_entry e = fixture_entry(1, "0123456789");
    int rc = 0;
    uint64_t n = 0;
    while (n < 1000 && (rc = hocket__store_append(f->s, &claim, &e)) == 0)
        e.n = ++n + 1;
    assert_int_equal(rc, HOCKET_ELIMIT);
    assert_true(n > 20);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(hocket__store_append(f->s, &claim, &e), 0);
    assert_int_equal(entries(f, RUN_1, 1), 0);
    assert_entries(f, 1, n + 1);
}

static void stats_count(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    fixture_entries(f, &claim, 1, 10);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_SYNCED), 0);
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_stats(f->s, &r, NULL)), 0);
    struct hocket__store_stats s = fixture_row(f, 0).stats;
    assert_int_equal(s.runs, 1);
    assert_true(s.bytes > 300 && s.commits > 0 && s.pending == 0);
}

/* ---- Exporting, importing ---------------------------------------------------------------------- */

struct exported {
    struct hocket__buf bytes;
    bool done;
    int status;
};

static int on_bytes(void *ud, struct hocket__str bytes)
{
    struct exported *x = ud;
    return hocket__buf_addstr(&x->bytes, bytes);
}

static void on_exported(void *ud, int status, const struct hocket_error *err)
{
    struct exported *x = ud;
    (void) err;
    x->done = true;
    x->status = status;
}

static int export_run(struct fixture *f, const char *id, struct exported *x)
{
    struct hocket__store_sink sink = { .write = on_bytes, .done = on_exported, .ud = x };
    *x = (struct exported){ .done = false };
    hocket__buf_init(&x->bytes, &hocket__malloc, 0);
    int rc = hocket__store_export(f->s, STR(id), &sink);
    if (rc < 0)
        return rc;
    fixture_until(f, &x->done);
    return x->status;
}

/* A fork with something of everything. */
static void put_all(struct fixture *f)
{
    put_file(f, "g1", "a.md", "# A");
    put_file(f, "g1", "b.lua", "return 2");
    struct hocket__store_claim one = fixture_put(f, RUN_1);
    fixture_entries(f, &one, 1, 5);
    struct hocket__store_claim two = fork_at(f, RUN_2, RUN_1, 3, 0);
    struct hocket__store_run r = { .generation = STR("g1"), .state = HOCKET__STORE_PARKED };
    hocket__store_update(f->s, &two, HOCKET__STORE_SET_GENERATION | HOCKET__STORE_SET_STATE, &r);
    fixture_entries(f, &two, 4, 3);
    struct hocket__store_record record = { 3, STR("{\"seq\":3}") };
    hocket__store_record(f->s, &two, &record);
    assert_int_equal(message(f, RUN_2, "q1", "{\"answer\":1}"), 0);
}

static void a_run_goes_from_store_to_store(void **state)
{
    struct fixture *f = *state;
    struct exported x, again;
    struct hocket__store_claim claim;
    struct hocket_error err;
    put_all(f);
    assert_int_equal(export_run(f, RUN_2, &x), 0);
    assert_int_equal(hocket__store_import(f->s, hocket__buf_str(&x.bytes), RUN_3, &claim, &err), 0);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_SYNCED), 0);
    assert_int_equal(entries(f, RUN_3, 1), 0);
    assert_entries(f, 1, 6);
    assert_int_equal(messages(f, RUN_3), 0);
    assert_int_equal(f->count, 1);
    assert_int_equal(records(f, RUN_3, 1), 0);
    assert_int_equal(fixture_row(f, 0).record.seq, 3);
    assert_int_equal(find(f, RUN_3), 0);
    assert_int_equal(fixture_row(f, 0).run.state, HOCKET__STORE_PARKED);
    assert_string_equal(fixture_row(f, 0).run.parent, "");
    fixture_assert_str(fixture_row(f, 0).run.generation, "import " RUN_3);
    assert_int_equal(files(f, "import " RUN_3), 0);
    assert_int_equal(f->count, 2);
    fixture_assert_str(fixture_row(f, 1).file.text, "return 2");
    fixture_append(f, &claim, 7); /* and it goes on there */
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(hocket__store_import(f->s, hocket__buf_str(&x.bytes), NULL, &claim, &err), 0);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), HOCKET_EEXIST);
    assert_int_equal(export_run(f, "01KANC3V0QZJ9E4W2X6T8B5M7Z", &again), HOCKET_ENOTFOUND);
    hocket__buf_deinit(&again.bytes);
    hocket__buf_deinit(&x.bytes);
}

static int look_for_message(struct fixture *f, const char *id)
{
    assert_int_equal(messages(f, id), 0);
    return (int) f->count;
}

static bool has_entry(struct fixture *f, const char *id, const char *value)
{
    bool found = false;
    assert_int_equal(entries(f, id, 1), 0);
    for (size_t i = 0; i < f->count; i++)
        found |= hocket__str_is(fixture_row(f, i).entry.value, value);
    return found;
}

/* Whenever a run takes a message while it is written: the copy has it, waiting or taken. */
static void a_run_is_copied_while_it_takes_a_message(void **state)
{
    struct fixture *f = *state;
    struct hocket_error err;
    for (int turns = 0; turns < 24; turns++) {
        char id[HOCKET__STORE_ID + 1], copy[HOCKET__STORE_ID + 1];
        struct hocket__store_claim claim, there;
        struct exported x = { .done = false };
        struct hocket__store_sink sink = { .write = on_bytes, .done = on_exported, .ud = &x };
        snprintf(id, sizeof(id), "01KANC3V0QZJ9E4W2X6T0000%02d", turns);
        snprintf(copy, sizeof(copy), "01KANC3V0QZJ9E4W2X6T1000%02d", turns);
        claim = fixture_put(f, id);
        fixture_entries(f, &claim, 1, 3);
        assert_int_equal(message(f, id, "q1", "{}"), 0);
        hocket__buf_init(&x.bytes, &hocket__malloc, 0);
        assert_int_equal(hocket__store_export(f->s, STR(id), &sink), 0);
        for (int i = 0; i < turns && !x.done; i++)
            uv_run(&f->loop, i % 2 ? UV_RUN_NOWAIT : UV_RUN_ONCE);
        struct hocket__store_entry taken = fixture_entry(4, "taken");
        struct hocket__store_record told = { 1, STR("{}") };
        hocket__store_append(f->s, &claim, &taken);
        hocket__store_record(f->s, &claim, &told);
        hocket__store_message_del(f->s, &claim, STR("q1"));
        fixture_until(f, &x.done);
        assert_int_equal(x.status, 0);
        assert_int_equal(
            hocket__store_import(f->s, hocket__buf_str(&x.bytes), copy, &there, &err), 0);
        assert_int_equal(fixture_commit(f, &there, HOCKET__STORE_WRITTEN), 0);
        bool has_taken = has_entry(f, copy, "taken");
        assert_int_equal(look_for_message(f, copy) + has_taken, 1);
        assert_int_equal(records(f, copy, 1), 0);
        assert_int_equal(f->count, has_taken);
        hocket__buf_deinit(&x.bytes);
    }
}

static void import_fails(struct fixture *f, struct hocket__str bytes, int status)
{
    struct hocket__store_claim claim;
    struct hocket_error err;
    assert_int_equal(hocket__store_import(f->s, bytes, RUN_3, &claim, &err), status);
    assert_true(err.message[0] != 0);
}

static void what_does_not_fit_is_refused_whole(void **state)
{
    struct fixture *f = *state;
    struct exported x;
    put_all(f);
    assert_int_equal(export_run(f, RUN_2, &x), 0);
    for (size_t n = 0; n < x.bytes.len; n++)
        import_fails(f, hocket__str(x.bytes.data, n), HOCKET_EPARSE);
    for (size_t i = 0; i < x.bytes.len; i++) {
        x.bytes.data[i] ^= 4;
        bool is_version = i == 11 || i == 12;
        import_fails(
            f, hocket__buf_str(&x.bytes), is_version ? HOCKET_EUNSUPPORTED : HOCKET_EPARSE);
        x.bytes.data[i] ^= 4;
    }
    size_t n = x.bytes.len;
    hocket__buf_addc(&x.bytes, 'x');
    import_fails(f, hocket__buf_str(&x.bytes), HOCKET_EPARSE);
    hocket__buf_cut(&x.bytes, n);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(find(f, RUN_3), HOCKET_ENOTFOUND);
    struct hocket__str two = hocket__buf_str(&x.bytes);
    struct hocket__store_run run;
    assert_int_equal(hocket__store_export_read(&two, &run, NULL), 0);
    assert_int_equal(two.n, 0);
    assert_string_equal(run.id, RUN_2);
    hocket__buf_deinit(&x.bytes);
}

/* ---- Out of memory ------------------------------------------------------------------------------- */

/* ---- Notes --------------------------------------------------------------------------------- */

static int note_put(struct fixture *f, const char *memory, const char *id, const char *text)
{
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_note n = { .memory = STR(memory),
        .id = STR(id),
        .text = STR(text),
        .meta = STR("{}"),
        .labels = 5,
        .updated_ms = 1000 + f->now++ };
    return fixture_answer(f, hocket__store_note_put(f->s, &n, 3, 100, &r, NULL));
}

static int note_del(struct fixture *f, const char *memory, const char *id)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_note_del(f->s, STR(memory), STR(id), &r, NULL));
}

/* The ids of what is found, one behind the other. */
static const char *notes(struct fixture *f, const char *memory, const char *id, const char *query)
{
    static char ids[64];
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_note_query q = {
        .memory = STR(memory), .id = STR(id), .query = STR(query)
    };
    assert_int_equal(fixture_answer(f, hocket__store_notes(f->s, &q, &r, NULL)), 0);
    ids[0] = 0;
    for (size_t i = 0; i < f->count; i++) {
        struct hocket__str s = *memory ? fixture_row(f, i).note.id : fixture_row(f, i).note.memory;
        strncat(ids, s.p, s.n);
    }
    return ids;
}

static void notes_are_written_whole_and_found(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(notes(f, "m", "", ""), "");
    assert_int_equal(note_del(f, "m", "a"), HOCKET_ENOTFOUND);
    assert_int_equal(note_put(f, "m", "a", "Ann likes tea"), 0);
    assert_int_equal(note_put(f, "m", "b", "Bob likes coffee"), 0);
    assert_int_equal(note_put(f, "n", "a", "of another memory, tea"), 0);
    assert_string_equal(notes(f, "m", "", ""), "ba");
    assert_string_equal(notes(f, "", "", ""), "mn");
    assert_int_equal(fixture_row(f, 0).note.notes, 2);
    assert_int_equal(fixture_row(f, 0).note.bytes, 13 + 16 + 4);
    assert_string_equal(notes(f, "m", "", "TEA"), "a");
    assert_string_equal(notes(f, "m", "", "tea coffee likes Bob"), "ba");
    assert_string_equal(notes(f, "m", "", "nothing"), "");
    assert_int_equal(note_put(f, "m", "a", "Ann likes water"), 0);
    assert_string_equal(notes(f, "m", "", "tea"), "");
    assert_string_equal(notes(f, "m", "", "water"), "a");
    assert_string_equal(notes(f, "m", "", ""), "ab");
    assert_string_equal(notes(f, "m", "b", ""), "b");
    struct hocket__store_note n = fixture_row(f, 0).note;
    fixture_assert_str(n.text, "Bob likes coffee");
    fixture_assert_str(n.meta, "{}");
    assert_int_equal(n.labels, 5);
    assert_int_equal(note_del(f, "m", "b"), 0);
    assert_string_equal(notes(f, "m", "", "coffee"), "");
    assert_string_equal(notes(f, "m", "b", ""), "");
}

static void a_memory_has_bounds(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(note_put(f, "m", "a", "1"), 0);
    assert_int_equal(note_put(f, "m", "b", "2"), 0);
    assert_int_equal(note_put(f, "m", "c", "3"), 0);
    assert_int_equal(note_put(f, "m", "d", "4"), HOCKET_ELIMIT);
    assert_int_equal(note_put(f, "m", "c", "5"), 0);
    char text[101] = "";
    memset(text, 'x', 100);
    assert_int_equal(note_put(f, "m", "c", text), HOCKET_ELIMIT);
    assert_string_equal(notes(f, "m", "", "5"), "c");
    assert_int_equal(note_del(f, "m", "c"), 0);
    assert_int_equal(note_put(f, "m", "d", "4"), 0);
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(hocket__store_note_del(f->s, STR(""), STR("a"), &r, NULL), HOCKET_EINVAL);
}

static void a_query_is_words_alone(void **state)
{
    struct fixture *f = *state;
    static const char *const hostile[] = { "\"", "\"\"\"", "* OR *", "NEAR(", "text:", "^", "a AND",
        "')--", "{a b}: c", "-", "NOT", "\\", "\xff\xfe", "()()", "+ +", "a\"b OR \"" };
    assert_int_equal(note_put(f, "m", "a", "plain words \"here\""), 0);
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++)
        notes(f, "m", "", hostile[i]);
    assert_string_equal(notes(f, "m", "", "\"plain\" AND (nothing"), "a");
    assert_string_equal(notes(f, "m'", "", "plain"), "");
    char many[4000] = "";
    while (strlen(many) < 3900)
        strcat(many, "pla x y ");
    assert_string_equal(notes(f, "m", "", many), "a");
}

/* By a model of the name, in two dimensions. */
static struct hocket__str vector(char *out, const char *model, float x, float y)
{
    float both[] = { x, y };
    memcpy(out, model, HOCKET__STORE_VECTOR_OF);
    memcpy(out + HOCKET__STORE_VECTOR_OF, both, sizeof(both));
    return hocket__str(out, HOCKET__STORE_VECTOR_OF + sizeof(both));
}

static void note_put_vector(struct fixture *f, const char *id, const char *model, float x, float y)
{
    char bytes[16];
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_note n = { .memory = STR("m"),
        .id = STR(id),
        .text = STR("t"),
        .meta = STR("{}"),
        .vector = vector(bytes, model, x, y) };
    assert_int_equal(
        fixture_answer(f, hocket__store_note_put(f->s, &n, 1000, 100000, &r, NULL)), 0);
}

static const char *nearest(struct fixture *f, const char *model, float x, float y, size_t limit)
{
    static char ids[512];
    char bytes[16];
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_note_query q = {
        .memory = STR("m"), .vector = vector(bytes, model, x, y), .limit = limit
    };
    assert_int_equal(fixture_answer(f, hocket__store_notes(f->s, &q, &r, NULL)), 0);
    ids[0] = 0;
    for (size_t i = 0; i < f->count; i++) {
        struct hocket__str s = fixture_row(f, i).note.id;
        strncat(ids, s.p, s.n);
    }
    return ids;
}

static void notes_are_found_by_what_they_mean(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(nearest(f, "model 01", 1, 0, 0), "");
    note_put_vector(f, "a", "model 01", 1, 0);
    note_put_vector(f, "b", "model 01", 0, 1);
    note_put_vector(f, "c", "model 01", 0.6f, 0.8f);
    note_put_vector(f, "d", "model 02", 1, 0);
    note_put_vector(f, "e", "model 01", NAN, 0);
    assert_int_equal(note_put(f, "n", "a", "without"), 0);
    assert_string_equal(nearest(f, "model 01", 1, 0, 0), "acb");
    assert_string_equal(nearest(f, "model 01", 0, 1, 2), "bc");
    assert_string_equal(nearest(f, "model 02", 0, 1, 0), "d");
    note_put_vector(f, "a", "model 01", 0, -1);
    assert_string_equal(nearest(f, "model 01", 1, -0.1f, 0), "cab");
    assert_int_equal(note_del(f, "m", "c"), 0);
    assert_string_equal(nearest(f, "model 01", 0, 1, 0), "ba");
    for (int i = 0; i < 2 * HOCKET__STORE_NEAR; i++) {
        char id[8];
        snprintf(id, sizeof(id), "x%d", i);
        note_put_vector(f, id, "model 03", (float) i, 0);
    }
    nearest(f, "model 03", 1, 0, 0);
    assert_int_equal(f->count, HOCKET__STORE_NEAR);
    fixture_assert_str(fixture_row(f, 0).note.id, "x127");
    fixture_assert_str(fixture_row(f, HOCKET__STORE_NEAR - 1).note.id, "x64");
    assert_string_equal(nearest(f, "model 03", -1, 0, 2), "x0x1");
}

static void notes_survive_their_store(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(note_put(f, "m", "a", "\u6771\u4eac\u306e\u8336"), 0);
    assert_string_equal(notes(f, "m", "", "\u4eac"), "a");
    if (!the_kind->lasts)
        return;
    fixture_close(f);
    fixture_open(f);
    assert_string_equal(notes(f, "m", "", ""), "a");
    assert_int_equal(note_put(f, "m", "b", "after"), 0);
    assert_string_equal(notes(f, "m", "", "after"), "b");
}

/* What failed half-way is there still, where the store lasts. */
static struct hocket__store_claim put_another(struct fixture *f, char id[HOCKET__STORE_ID + 1])
{
    static int lives;
    struct hocket__store_claim claim;
    snprintf(id, HOCKET__STORE_ID + 1, "01KANC3V0QZJ9E4W2X6T%06d", lives++);
    struct hocket__store_run r = fixture_run(id);
    return hocket__store_put(f->s, &r, &claim) == 0 ? claim : (struct hocket__store_claim){ 0 };
}

/* Memory is there again, and nothing is left of that it was out: what could not be written is written. */
static void check_that_it_works(struct fixture *f)
{
    char id[HOCKET__STORE_ID + 1];
    struct hocket__store_claim claim = put_another(f, id);
    assert_string_equal(claim.id, id);
    fixture_append(f, &claim, 1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(entries(f, id, 1), 0);
    assert_int_equal(f->count, 1);
    assert_int_equal(hocket__store_release(f->s, &claim), 0);
    assert_int_equal(f->news[HOCKET__STORE_BROKEN], 0);
    assert_int_equal(f->news[HOCKET__STORE_PAUSED], f->news[HOCKET__STORE_GOING]);
}

static void whole_life(struct test_alloc *t, void *ud)
{
    struct fixture *f = ud;
    struct hocket_error err;
    char id[HOCKET__STORE_ID + 1];
    f->impatient = t->fail_rest;
    memset(f->news, 0, sizeof(f->news));
    f->o.alloc = &t->a;
    if (the_kind->open(&f->o, &f->s, &err) < 0) {
        uv_run(&f->loop, UV_RUN_DEFAULT);
        assert_true(t->failed);
        return;
    }
    struct hocket__store_claim claim = put_another(f, id);
    int rc = claim.id[0] ? 0 : HOCKET_ENOMEM;
    for (uint64_t n = 1; rc == 0 && n <= 3; n++) {
        struct hocket__store_entry e = fixture_entry(n, "a value");
        rc = hocket__store_append(f->s, &claim, &e);
    }
    rc = rc == 0 ? fixture_commit(f, &claim, HOCKET__STORE_WRITTEN) : rc;
    rc = rc == 0 ? entries(f, id, 1) : rc;
    hocket__store_release(f->s, &claim);
    rc = rc == 0 ? remove_run(f, id) : rc;
    rc = rc == 0 ? note_put(f, "m", "a", "a note") : rc;
    rc = rc == 0 ? note_del(f, "m", "a") : rc;
    t->fail_at = 0;
    f->impatient = false;
    check_that_it_works(f);
    fixture_close(f);
    assert_true(rc == 0 || t->failed);
    assert_true(rc == 0 || rc == HOCKET_ENOMEM || rc == HOCKET_ESTATE);
}

static void any_allocation_may_fail(void **state)
{
    struct fixture *f = *state;
    fixture_close(f);
    test_alloc_each(whole_life, f);
    f->o.alloc = &f->t.a;
    f->impatient = false;
}

int conformance(const struct store_kind *kind)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(opens_and_closes),
        TEST(a_run_comes_back_as_it_was_put),
        TEST(fields_change_alone),
        TEST(ids_may_be_shortened),
        TEST(runs_are_listed_newest_first),
        TEST(one_id_is_one_run),
        TEST(wrong_questions_are_refused_at_once),
        TEST(entries_come_back_in_order),
        TEST(extreme_numbers_survive),
        TEST(long_answers_come_in_pieces),
        TEST(a_reader_may_stop),
        TEST(an_entry_that_does_not_follow_is_refused),
        TEST(records_are_kept_once),
        TEST(files_go_with_their_last_run),
        TEST(a_message_is_taken_once),
        TEST(a_fork_reads_through_its_parents),
        TEST(a_fork_may_begin_before_its_parents_fork),
        TEST(a_removed_parent_stays_for_its_forks),
        TEST(a_removed_parent_is_remembered),
        TEST(files_stay_for_forks),
        TEST(a_fork_of_nothing_is_refused),
        TEST(a_run_has_one_owner),
        TEST(what_was_released_is_written_no_more),
        TEST(does_not_report_a_forgotten_wait),
        TEST(a_cancelled_call_is_silent),
        TEST(closing_keeps_what_was_handed_over),
        TEST(closing_ends_all_that_waits),
        TEST(what_callbacks_hand_over_is_kept),
        TEST(what_a_refusal_brings_is_kept),
        TEST(what_a_callback_asks_comes_behind_what_it_handed_over),
        TEST(a_callback_may_close_the_store),
        TEST(too_much_at_once_is_refused),
        TEST(stats_count),
        TEST(a_run_goes_from_store_to_store),
        TEST(a_run_is_copied_while_it_takes_a_message),
        TEST(what_does_not_fit_is_refused_whole),
        TEST(notes_are_written_whole_and_found),
        TEST(a_memory_has_bounds),
        TEST(a_query_is_words_alone),
        TEST(notes_are_found_by_what_they_mean),
        TEST(notes_survive_their_store),
        TEST(any_allocation_may_fail),
    };
    the_kind = kind;
    return cmocka_run_group_tests_name(kind->name, tests, NULL, NULL) + conformance_queue(kind)
           + conformance_submit(kind) + conformance_leases(kind) + conformance_draw(kind);
}
