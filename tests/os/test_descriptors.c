#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/system_names.h"
#include "os/descriptors.h"

static struct rlimit whole;

/* So that `spare` more can be opened. */
static void leave(int spare)
{
    int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct rlimit l = { (rlim_t) (lowest + spare), whole.rlim_max };
    close(lowest);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
}

static void test_left(void **state)
{
    (void) state;
    getrlimit(RLIMIT_NOFILE, &whole);
    leave(4);
    assert_int_equal(hocket__descriptors_left(4, -1), 0);
    assert_int_equal(hocket__descriptors_left(4, -1), 0); /* none of them is kept */
    assert_int_equal(hocket__descriptors_left(5, -1), EMFILE);
    setrlimit(RLIMIT_NOFILE, &whole);
}

static void test_watch(void **state)
{
    (void) state;
    int set = epoll_create1(EPOLL_CLOEXEC);
    assert_int_equal(hocket__descriptors_left(1, set), 0);
    assert_int_equal(hocket__descriptors_left(1, open("/dev/null", O_CLOEXEC)), EINVAL);
    assert_int_equal(hocket__descriptors_left(0, -1), 0);
    close(set);
}

static void test_words(void **state)
{
    char words[HOCKET__ERRNO_WORDS];
    (void) state;
    getrlimit(RLIMIT_NOFILE, &whole);
    leave(7);
    const char *text = hocket__errno_text(EMFILE);
    assert_memory_equal(hocket__errno_words(EMFILE, words), text, strlen(text));
    assert_non_null(strstr(hocket__errno_words(EMFILE, words), " (the limit is "));
    setrlimit(RLIMIT_NOFILE, &whole);
    assert_string_equal(hocket__errno_words(ENOENT, words), hocket__errno_text(ENOENT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_left),
        cmocka_unit_test(test_watch),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
