/* Memory is out in the store's own thread, and between both sides, once or for a while: what was handed over is written when there is
 * some again, what is refused is told, questions are answered, and the store works. */

#include "store/fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/sqlite/sqlite.h"

/* ---- realloc, which hocket__malloc is made of (LINKER:--wrap) ------------------------------------ */

static atomic_long calls, fail_at, fail_more;

void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *__wrap_realloc(void *p, size_t size)
{
    long n = atomic_fetch_add(&calls, 1) + 1, at = atomic_load(&fail_at);
    if (at > 0 && n >= at && n <= at + atomic_load(&fail_more))
        return NULL;
    return __real_realloc(p, size);
}

/* ---- A life ------------------------------------------------------------------------------------------ */

static int ask(struct fixture *f, const char *id)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_entries(f->s, hocket__cstr(id), 1, &r, NULL));
}

/* A question that has no memory fails, and the next one does not know of it. */
static void check_entries(struct fixture *f, const char *id, size_t n)
{
    int rc = HOCKET_ENOMEM;
    for (int i = 0; i < 20 && rc == HOCKET_ENOMEM; i++)
        rc = ask(f, id);
    assert_int_equal(rc, 0);
    assert_int_equal(f->count, n);
}

/* One that had no memory to be opened is opened again when somebody needs it. */
static void be_open(struct fixture *f)
{
    int rc = HOCKET_ENOMEM;
    for (int i = 0; i < 20 && rc == HOCKET_ENOMEM; i++)
        rc = ask(f, RUN_1);
    assert_int_equal(rc, HOCKET_ENOTFOUND);
    f->news[HOCKET__STORE_BROKEN] = 0;
}

static void live(struct fixture *f)
{
    be_open(f);
    struct hocket__store_claim one = fixture_put(f, RUN_1), other = fixture_put(f, RUN_2);
    fixture_entries(f, &one, 1, 3);
    fixture_append(f, &other, 7); /* does not follow: refused */
    assert_int_equal(fixture_commit(f, &one, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(fixture_commit(f, &other, HOCKET__STORE_WRITTEN), HOCKET_EINVAL);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 1);
    fixture_entries(f, &one, 4, 40);
    assert_int_equal(fixture_commit(f, &one, HOCKET__STORE_SYNCED), 0);
    check_entries(f, RUN_1, 43);
}

static void check_that_it_works(struct fixture *f)
{
    struct hocket__store_claim claim = fixture_put(f, RUN_3);
    fixture_append(f, &claim, 1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    check_entries(f, RUN_3, 1);
    assert_int_equal(f->news[HOCKET__STORE_BROKEN], 0);
    assert_int_equal(f->news[HOCKET__STORE_PAUSED], f->news[HOCKET__STORE_GOING]);
}

/* Whether the allocation was made at all. */
static bool live_short(long n, long more)
{
    static const struct store_kind kind = { "sqlite", hocket__store_sqlite_open, true };
    struct fixture f;
    struct hocket_error err;
    fixture_init(&f, &kind);
    f.now = 1000000; /* what took no time may be tried again at once */
    atomic_store(&fail_more, more);
    atomic_store(&calls, 0);
    atomic_store(&fail_at, n);
    bool opened = fixture_try(&f, &err) == 0;
    if (opened)
        live(&f);
    else
        assert_int_equal(err.status, HOCKET_ENOMEM);
    bool reached = atomic_load(&calls) >= n;
    atomic_store(&fail_at, 0);
    if (opened)
        check_that_it_works(&f);
    else
        uv_run(&f.loop, UV_RUN_DEFAULT);
    fixture_deinit(&f);
    return reached;
}

static void test_each(void **state)
{
    static const long more[] = { 0, 1, 5 };
    (void) state;
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
        long n = 1;
        while (live_short(n, more[i]))
            n++;
        print_message("%ld allocations, with %ld more\n", n - 1, more[i]);
        assert_true(n > 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_each) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
