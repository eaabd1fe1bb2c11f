#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sys/wait.h>
#include <unistd.h>

#include "os/own.h"
#include "support/fork.h"

enum { N = 16 };

/* What a child says of it: 0 when all is well. */
static int look(struct hocket__own *o, unsigned char *theirs)
{
    if (!hocket__own_is_forked(o))
        return 1;
    hocket__own_take_over(o);
    if (hocket__own_is_forked(o))
        return 2;
    return hocket__own_random(o, theirs, N) < 0 ? 3 : 0;
}

static void test_child(void **state)
{
    struct hocket__own *o = *state;
    unsigned char ours[N], theirs[N];
    int ends[2], status;
    if (o->page)
        test_fork_noticed_or_skip();
    assert_int_equal(hocket__own_random(o, ours, N), 0); /* what follows has been fetched */
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        int rc = look(o, theirs);
        _exit(write(ends[1], theirs, N) == N ? rc : 4);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], theirs, N), N);
    assert_int_equal(hocket__own_random(o, ours, N), 0);
    assert_memory_not_equal(ours, theirs, N); /* the child has not fetched the same */
    assert_false(hocket__own_is_forked(o));
    close(ends[0]);
    close(ends[1]);
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, N);
}

static void test_random(void **state)
{
    struct hocket__own *o = *state;
    enum { MANY = 1000 };
    static unsigned char all[MANY][N], big[5000];
    for (int i = 0; i < MANY; i++)
        assert_int_equal(hocket__own_random(o, all[i], N), 0);
    qsort(all, MANY, N, compare);
    for (int i = 1; i < MANY; i++)
        assert_memory_not_equal(all[i - 1], all[i], N);
    assert_int_equal(hocket__own_random(o, big, sizeof(big)), 0);
    assert_memory_not_equal(big, big + sizeof(big) - N, N);
}

static int open_own(void **state)
{
    static struct hocket__own own;
    hocket__own_open(&own);
    *state = &own;
    return 0;
}

/* A kernel that empties no pages. */
static int open_without_page(void **state)
{
    open_own(state);
    hocket__own_close(*state);
    return 0;
}

static int close_own(void **state)
{
    hocket__own_close(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_child, open_own, close_own),
        cmocka_unit_test_setup_teardown(test_random, open_own, close_own),
        cmocka_unit_test_setup_teardown(test_child, open_without_page, close_own),
        cmocka_unit_test_setup_teardown(test_random, open_without_page, close_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
