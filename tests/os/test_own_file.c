#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/own_file.h"

/* It has no name, nobody else may read it, and it does not go to other programs. */
static void test_nameless(void **state)
{
    struct stat st;
    (void) state;
    int fd = hocket__spool_open("/tmp");
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_nlink, 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
}

static void test_there_and_back(void **state)
{
    char out[16];
    (void) state;
    int fd = hocket__spool_open("/tmp");
    assert_int_equal(hocket__spool_write(fd, hocket__cstr("hello"), 0), 0);
    assert_int_equal(hocket__spool_write(fd, hocket__cstr("world"), 5), 0);
    assert_int_equal(hocket__spool_read(fd, out, 6, 4), 0);
    assert_memory_equal(out, "oworld", 6);
    errno = 0;
    assert_int_equal(hocket__spool_read(fd, out, 6, 8), -1);
    assert_int_equal(errno, EIO);
    close(fd);
}

static void test_nowhere(void **state)
{
    (void) state;
    assert_int_equal(hocket__spool_open("/nowhere/at/all"), -1);
    assert_int_equal(hocket__spool_open("/dev/null"), -1);
    assert_int_equal(hocket__spool_write(-1, hocket__cstr("x"), 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nameless),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
