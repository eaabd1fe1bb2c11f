/* What every store has to do with runs that are handed in, and with what comes along with an item: there whole or not at all, and
 * nobody's. */
#include "store/conformance.h"
#include "store/store_impl.h"

static const struct store_kind *the_kind;

#define STR(s) hocket__cstr(s)

static int setup(void **state)
{
    return fixture_new(state, the_kind, 0);
}

/* ---- Words ------------------------------------------------------------------------------------ */

static struct hocket__store_run job(const char *id)
{
    struct hocket__store_run r = fixture_run(id);
    r.state = HOCKET__STORE_QUEUED;
    r.pool = STR("default");
    r.generation = STR("files");
    return r;
}

static void add_file(
    struct hocket__buf *b, const char *generation, const char *path, const char *text)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_FILE };
    row.file = (struct hocket__store_file){ STR(generation), STR(path), STR("hash"), STR(text) };
    assert_int_equal(hocket__store_pack(b, &row), 0);
}

static int submit_with(
    struct fixture *f, const struct hocket__store_run *run, struct hocket__str files)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_submit(f->s, run, files, &r, NULL));
}

static int submit(struct fixture *f, const char *id)
{
    struct hocket__store_run run = job(id);
    return submit_with(f, &run, STR(""));
}

static size_t files(struct fixture *f, const char *generation)
{
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_files(f->s, STR(generation), &r, NULL)), 0);
    return f->count;
}

static const char *next(struct fixture *f, struct hocket__store_claim *claim)
{
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(
        fixture_answer(f, hocket__store_take_next(f->s, STR("default"), 1, &r, NULL)), 0);
    memset(claim, 0, sizeof(*claim));
    if (f->count == 1) {
        struct hocket__store_run run = fixture_row(f, 0).run;
        memcpy(claim->id, run.id, sizeof(claim->id));
        claim->fence = run.fence;
    }
    return claim->id;
}

static int find(struct fixture *f, const char *id)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_find(f->s, STR(id), &r, NULL));
}

static int remove_run(struct fixture *f, const char *id)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_remove(f->s, STR(id), &r, NULL));
}

/* ---- Cases -------------------------------------------------------------------------------------- */

static void it_is_there_with_its_files_and_nobodys(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_run run = job(RUN_1);
    struct hocket__store_claim c;
    struct hocket__buf b;
    hocket__buf_init(&b, &hocket__malloc, 0);
    add_file(&b, "files", "b.lua", "return 2");
    add_file(&b, "files", "a.lua", "return 1");
    add_file(&b, RUN_1, "own", "of it alone");
    assert_int_equal(submit_with(f, &run, hocket__buf_str(&b)), 0);
    assert_int_equal(find(f, RUN_1), 0);
    struct hocket__store_run got = fixture_row(f, 0).run;
    assert_int_equal(got.state, HOCKET__STORE_QUEUED);
    assert_int_equal(got.owner.pid, 0);
    assert_int_equal(got.last_n, 0);
    assert_memory_equal(got.seed, run.seed, sizeof(run.seed));
    assert_int_equal(files(f, "files"), 2);
    assert_true(hocket__str_is(fixture_row(f, 0).file.path, "a.lua"));
    assert_true(hocket__str_is(fixture_row(f, 0).file.text, "return 1"));
    assert_int_equal(files(f, RUN_1), 1);
    assert_string_equal(next(f, &c), RUN_1);
    fixture_append(f, &c, 1);
    hocket__store_release(f->s, &c);
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(remove_run(f, RUN_1), 0);
    assert_int_equal(files(f, "files") + files(f, RUN_1), 0);
    hocket__buf_deinit(&b);
}

/* Its answer is all that becomes of it. */
static void one_that_is_there_is_an_answer(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_run run = job(RUN_1);
    struct hocket__store_claim c;
    struct hocket__buf b;
    hocket__buf_init(&b, &hocket__malloc, 0);
    add_file(&b, "files", "a.lua", "return 1");
    assert_int_equal(submit(f, RUN_1), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(submit_with(f, &run, hocket__buf_str(&b)), HOCKET_EEXIST);
        assert_non_null(strstr(f->error.message, "there is a run " RUN_1));
        assert_int_equal(files(f, "files"), 0);
    }
    assert_int_equal(remove_run(f, RUN_1), 0);
    assert_int_equal(submit_with(f, &run, hocket__buf_str(&b)), 0);
    assert_string_equal(next(f, &c), RUN_1);
    assert_string_equal(next(f, &c), "");
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
    hocket__buf_deinit(&b);
}

/* Put, taken, or written in the very same turn. */
static void one_that_this_store_has_goes_on(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim put = fixture_put(f, RUN_1), taken;
    assert_int_equal(submit(f, RUN_1), HOCKET_EEXIST);
    assert_int_equal(submit(f, RUN_2), 0);
    assert_string_equal(next(f, &taken), RUN_2);
    fixture_append(f, &taken, 1);
    fixture_append(f, &put, 1);
    assert_int_equal(submit(f, RUN_2), HOCKET_EEXIST);
    assert_int_equal(submit(f, RUN_1), HOCKET_EEXIST);
    fixture_append(f, &taken, 2);
    fixture_append(f, &put, 2);
    assert_int_equal(fixture_commit(f, &taken, HOCKET__STORE_SYNCED), 0);
    assert_int_equal(fixture_commit(f, &put, HOCKET__STORE_SYNCED), 0);
    assert_int_equal(find(f, RUN_2), 0);
    assert_int_equal(fixture_row(f, 0).run.last_n, 2);
    assert_int_equal(fixture_row(f, 0).run.fence, taken.fence);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
}

/* At the same time, each with its own seed: one of them has, and the other hears so. */
static void who_hands_in_the_same_is_second(void **state)
{
    struct fixture *f = *state, other;
    char id[HOCKET__STORE_ID + 1];
    if (!the_kind->lasts)
        return;
    fixture_init(&other, the_kind);
    other.o.path = f->path;
    fixture_open(&other);
    for (unsigned i = 0; i < 40; i++) {
        struct hocket__store_reply one = fixture_reply(f), two = fixture_reply(&other);
        snprintf(id, sizeof(id), "01KANC3V0QZJ9E4W2X6T%06u", i);
        struct hocket__store_run run = job(id), same = job(id);
        same.seed[0] = 1;
        assert_int_equal(hocket__store_submit(f->s, &run, STR(""), &one, NULL), 0);
        assert_int_equal(hocket__store_submit(other.s, &same, STR(""), &two, NULL), 0);
        while (!f->done || !other.done) {
            uv_run(&f->loop, UV_RUN_NOWAIT);
            uv_run(&other.loop, UV_RUN_NOWAIT);
        }
        assert_int_equal((f->status == 0) + (other.status == 0), 1);
        assert_int_equal(f->status + other.status, HOCKET_EEXIST);
    }
    fixture_deinit(&other);
}

/* Nobody waits for it any more; the store has begun it, or has not. */
static void one_whose_asker_is_gone_is_a_workers(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_run run = job(RUN_1);
    struct hocket__store_reply r = { 0 };
    struct hocket__store_call *call;
    struct hocket__store_claim c;
    assert_int_equal(hocket__store_submit(f->s, &run, STR(""), &r, &call), 0);
    hocket__store_cancel(f->s, call);
    assert_string_equal(next(f, &c), RUN_1);
}

/* What waits for a slow disk is no reason, and what would be half of it neither. */
static void it_needs_no_room(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c;
    fixture_close(f);
    f->o.max_pending = 1;
    fixture_open(f);
    fixture_put(f, RUN_1);
    assert_int_equal(submit(f, RUN_2), 0);
    assert_string_equal(next(f, &c), RUN_2);
}

static void watchers_are_notified(void **state)
{
    struct fixture *f = *state;
    hocket__store_watch(f->s, true);
    assert_int_equal(find(f, RUN_1), HOCKET_ENOTFOUND);
    size_t before = f->news[HOCKET__STORE_CHANGED];
    assert_int_equal(submit(f, RUN_1), 0);
    /* Questions keep the loop alive: it takes no news without a handle to wait for. */
    while (f->news[HOCKET__STORE_CHANGED] == before)
        assert_int_equal(find(f, RUN_1), 0);
    hocket__store_watch(f->s, false);
}

static int item_with(struct fixture *f, int64_t expected, struct hocket__str files)
{
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_item item = {
        .kind = STR("schedule"), .id = STR("a"), .generation = STR("kept"), .json = STR("{}")
    };
    return fixture_answer(f, hocket__store_item_put(f->s, &item, expected, NULL, files, &r, NULL));
}

/* Who loses the race for an item leaves nothing of it. */
static void an_items_files_come_with_it(void **state)
{
    struct fixture *f = *state;
    struct hocket__buf one, two;
    hocket__buf_init(&one, &hocket__malloc, 0);
    hocket__buf_init(&two, &hocket__malloc, 0);
    add_file(&one, "kept", "a.lua", "return 1");
    add_file(&two, "kept", "b.lua", "return 2");
    assert_int_equal(item_with(f, 7, hocket__buf_str(&two)), HOCKET_ENOTFOUND);
    assert_int_equal(files(f, "kept"), 0);
    assert_int_equal(item_with(f, 0, hocket__buf_str(&one)), 0);
    assert_int_equal(item_with(f, 0, hocket__buf_str(&two)), HOCKET_ESTATE);
    assert_int_equal(files(f, "kept"), 1);
    assert_true(hocket__str_is(fixture_row(f, 0).file.path, "a.lua"));
    assert_int_equal(item_with(f, HOCKET__STORE_ANY, hocket__buf_str(&two)), 0);
    assert_int_equal(files(f, "kept"), 2);
    hocket__buf_deinit(&one);
    hocket__buf_deinit(&two);
}

static int asked(struct fixture *f, const struct hocket__store_run *run, struct hocket__str files)
{
    struct hocket__store_reply r = { 0 };
    return hocket__store_submit(f->s, run, files, &r, NULL);
}

static void what_makes_no_sense_is_not_asked(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_run run = job(RUN_1);
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN, .run = run };
    struct hocket__buf b;
    hocket__buf_init(&b, &hocket__malloc, 0);
    hocket__store_pack(&b, &row);
    assert_int_equal(asked(f, &run, hocket__buf_str(&b)), HOCKET_EINVAL);
    hocket__buf_reset(&b);
    add_file(&b, "files", "", "text");
    assert_int_equal(asked(f, &run, hocket__buf_str(&b)), HOCKET_EINVAL);
    hocket__buf_reset(&b);
    add_file(&b, "files", "a.lua", "text");
    assert_int_equal(asked(f, &run, hocket__str(b.data, b.len - 1)), HOCKET_EINVAL);
    run.pool = STR("a,b");
    assert_int_equal(asked(f, &run, STR("")), HOCKET_EINVAL);
    run = job("no id, and of that length .");
    assert_int_equal(asked(f, &run, STR("")), HOCKET_EINVAL);
    run = job(RUN_2);
    memcpy(run.parent, RUN_1, sizeof(run.parent));
    assert_int_equal(asked(f, &run, STR("")), HOCKET_EINVAL);
    assert_int_equal(find(f, RUN_1), HOCKET_ENOTFOUND);
    hocket__buf_deinit(&b);
}

static void whole_life(struct test_alloc *t, void *ud)
{
    struct fixture *f = ud;
    struct hocket_error err;
    struct hocket__buf b;
    static int lives;
    char id[HOCKET__STORE_ID + 1];
    snprintf(id, sizeof(id), "01KANC3V0QZJ9E4W2X6T%06d", lives++);
    f->o.alloc = &t->a;
    if (the_kind->open(&f->o, &f->s, &err) < 0) {
        uv_run(&f->loop, UV_RUN_DEFAULT);
        assert_true(t->failed);
        return;
    }
    struct hocket__store_run run = job(id);
    run.generation = STR(id);
    hocket__buf_init(&b, &hocket__malloc, 0);
    add_file(&b, id, "a.lua", "text");
    add_file(&b, id, "b.lua", "text");
    int rc = submit_with(f, &run, hocket__buf_str(&b));
    assert_true(rc == 0 || rc == HOCKET_ENOMEM);
    assert_true(rc == 0 || t->failed);
    if (rc < 0 && !t->fail_rest && find(f, id) == HOCKET_ENOTFOUND) {
        struct hocket__store_reply r = fixture_reply(f);
        if (fixture_answer(f, hocket__store_files(f->s, STR(id), &r, NULL)) == 0)
            assert_int_equal(f->count, 0);
    }
    hocket__buf_deinit(&b);
    fixture_close(f);
}

static void any_allocation_may_fail(void **state)
{
    struct fixture *f = *state;
    fixture_close(f);
    test_alloc_each(whole_life, f);
    f->o.alloc = &f->t.a;
}

int conformance_submit(const struct store_kind *kind)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(it_is_there_with_its_files_and_nobodys),
        TEST(one_that_is_there_is_an_answer),
        TEST(one_that_this_store_has_goes_on),
        TEST(who_hands_in_the_same_is_second),
        TEST(one_whose_asker_is_gone_is_a_workers),
        TEST(it_needs_no_room),
        TEST(watchers_are_notified),
        TEST(an_items_files_come_with_it),
        TEST(what_makes_no_sense_is_not_asked),
        TEST(any_allocation_may_fail),
    };
    the_kind = kind;
    return cmocka_run_group_tests_name(kind->name, tests, NULL, NULL);
}
