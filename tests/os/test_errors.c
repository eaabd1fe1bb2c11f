#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "os/errors.h"
#include "os/root.h"

static void test_fail(void **state)
{
    struct hocket_error err;
    (void) state;
    errno = ENOENT;
    assert_int_equal(hocket__errno_fail(&err, "read", "a.txt", NULL), HOCKET_ENOTFOUND);
    assert_string_equal(err.message, "cannot read a.txt: No such file or directory");
    assert_false(err.retryable);
    errno = EACCES;
    assert_int_equal(hocket__errno_fail(&err, "read", "a.txt", "it is locked"), HOCKET_EDENIED);
    assert_string_equal(err.message, "cannot read a.txt: it is locked");
    errno = EIO;
    assert_int_equal(hocket__errno_fail(NULL, "read", "a.txt", NULL), HOCKET_EIO);
}

/* With no descriptor left the next attempt may succeed, whoever meets it. */
static void test_passing(void **state)
{
    struct hocket_error err;
    (void) state;
    for (int i = 0; i < 2; i++) {
        errno = i ? EMFILE : ENFILE;
        assert_int_equal(hocket__errno_fail(&err, "read", "a.txt", NULL), HOCKET_EIO);
        assert_true(err.retryable);
        errno = i ? EMFILE : ENFILE;
        assert_int_equal(hocket__root_fail(&err, "read", "a.txt"), HOCKET_EIO);
        assert_true(err.retryable);
    }
}

static void test_root(void **state)
{
    struct hocket_error err;
    (void) state;
    errno = EXDEV;
    assert_int_equal(hocket__root_fail(&err, "read", "a"), HOCKET_EDENIED);
    assert_string_equal(err.message, "cannot read a: it leads out of the project");
    errno = ELOOP;
    assert_int_equal(hocket__root_fail(&err, "read", "a"), HOCKET_EDENIED);
    assert_string_equal(err.message, "cannot read a: it is, or leads through, a symbolic link");
    errno = ENOTDIR;
    assert_int_equal(hocket__root_fail(&err, "read", "a"), HOCKET_ENOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fail),
        cmocka_unit_test(test_passing),
        cmocka_unit_test(test_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
