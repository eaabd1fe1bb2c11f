/* Claims that are refused: what is remembered of them, with a database that refuses all, as one does whose role may only
 * look. A server that is asked for runs all day must not grow by it. */
#include "store/fixture.h"
#include "store/writer/thread.h"

#include <stdlib.h>

#define MANY 500

/* The thread's, but for what is read when the store is closed. */
struct nothing {
    struct hocket__writer base;
    struct hocket_error error;
};

static size_t most; /* claims that were remembered at once */

static size_t count(const struct hocket__list *list)
{
    size_t n = 0;
    for (const struct hocket__list *l = list->next; l != list; l = l->next)
        n++;
    return n;
}

static int refuse_all(struct hocket__writer *k, struct hocket__str work, bool sync)
{
    (void) sync;
    assert_int_equal(hocket__writer_deny(k, work), 0);
    size_t n = count(&k->claims);
    most = n > most ? n : most;
    return 0;
}

static int nothing_to_do(struct hocket__writer *k)
{
    (void) k;
    return 0;
}

static int answer(struct hocket__writer *k, struct hocket__store_call *call)
{
    (void) k, (void) call;
    return 0;
}

static int64_t now(const struct hocket__writer *k)
{
    return hocket__store_wall_ms(&k->o);
}

static void close_nothing(struct hocket__writer *k)
{
    (void) k;
}

static void free_nothing(struct hocket__writer *k)
{
    free(hocket__container_of(k, struct nothing, base));
}

static const struct hocket__writer_ops ops = { .name = "nothing",
    .open = nothing_to_do,
    .write = refuse_all,
    .answer = answer,
    .now = now,
    .renew = nothing_to_do,
    .release = nothing_to_do,
    .sweep = nothing_to_do,
    .look = nothing_to_do,
    .close = close_nothing,
    .free = free_nothing };

static int open_nothing(
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err)
{
    struct nothing *n = calloc(1, sizeof(*n));
    n->base.ops = &ops;
    n->base.error = &n->error;
    return hocket__writer_start(&n->base, o, out, err);
}

static const struct store_kind kind = { "nothing", open_nothing, false };

static int setup(void **state)
{
    struct fixture *f = malloc(sizeof(*f));
    fixture_init(f, &kind);
    most = 0;
    fixture_open(f);
    *state = f;
    return 0;
}

static struct hocket__store_claim put(struct fixture *f, int i)
{
    char id[HOCKET__STORE_ID + 1];
    snprintf(id, sizeof(id), "01KANC3V0QZJ9E4W2X6T8B%04d", i);
    return fixture_put(f, id);
}

/* Many, one after the other, of which nothing is left. `heard`: it hears that it is refused before it ends; else it has ended before
 * anybody knows. */
static void go_through_many(struct fixture *f, bool heard)
{
    size_t held = 0;
    for (int i = 0; i < MANY; i++) {
        struct hocket__store_claim c = put(f, i);
        if (heard) {
            assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), HOCKET_EDENIED);
            assert_int_equal(f->news[HOCKET__STORE_REFUSED], i + 1);
        }
        fixture_append(f, &c, 1); /* and has something to say still */
        if (heard)
            assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), HOCKET_EDENIED);
        assert_int_equal(hocket__store_release(f->s, &c), 0);
        assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), HOCKET_EDENIED);
        assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_SYNCED), 0);
        if (i == 10)
            held = f->t.blocks;
    }
    assert_int_equal(f->t.blocks, held);
    fixture_close(f);
    assert_in_range(most, 1, 2);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], MANY);
}

static void one_that_was_refused_and_let_go_is_forgotten(void **state)
{
    go_through_many(*state, true);
}

static void one_that_is_over_when_it_is_refused_is_forgotten(void **state)
{
    go_through_many(*state, false);
}

/* Who has not let go of it may come with something at any time: that is not to be written. */
static void one_that_is_not_let_go_of_is_remembered(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c[10];
    for (int i = 0; i < 10; i++) {
        c[i] = put(f, i);
        assert_int_equal(fixture_commit(f, &c[i], HOCKET__STORE_WRITTEN), HOCKET_EDENIED);
    }
    for (int i = 0; i < 10; i++)
        assert_int_equal(fixture_commit(f, &c[i], HOCKET__STORE_WRITTEN), HOCKET_EDENIED);
    fixture_close(f);
    assert_int_equal(most, 10);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 10);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(one_that_was_refused_and_let_go_is_forgotten),
        TEST(one_that_is_over_when_it_is_refused_is_forgotten),
        TEST(one_that_is_not_let_go_of_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
