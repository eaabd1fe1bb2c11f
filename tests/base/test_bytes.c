#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bytes.h"

static void test_find(void **state)
{
    const char text[] = "ab\0abc";
    (void) state;
    assert_ptr_equal(hocket__find(text, 6, "abc", 3), text + 3);
    assert_ptr_equal(hocket__find(text, 6, "", 0), text);
    assert_null(hocket__find(text, 5, "abc", 3));
    assert_null(hocket__find(text, 2, "abc", 3));
}

static void test_find_last(void **state)
{
    const char text[] = "a/b/c";
    (void) state;
    assert_ptr_equal(hocket__find_last(text, '/', 5), text + 3);
    assert_ptr_equal(hocket__find_last(text, '/', 3), text + 1);
    assert_null(hocket__find_last(text, '/', 1));
    assert_null(hocket__find_last(text, '/', 0));
}

static void test_has_word(void **state)
{
    (void) state;
    assert_true(hocket__has_word("an API Key is missing", "api key"));
    assert_true(hocket__has_word("key", "key"));
    assert_true(hocket__has_word("", ""));
    assert_false(hocket__has_word("ke", "key"));
    assert_false(hocket__has_word("", "key"));
}

static void test_wipe(void **state)
{
    char secret[] = "secret";
    (void) state;
    hocket__wipe(secret, 4);
    assert_memory_equal(secret, "\0\0\0\0et", 7);
}

static void test_read_le64(void **state)
{
    (void) state;
    assert_true(hocket__read_le64("\1\2\3\4\5\6\7\x8f") == UINT64_C(0x8f07060504030201));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_find_last),
        cmocka_unit_test(test_has_word),
        cmocka_unit_test(test_wipe),
        cmocka_unit_test(test_read_le64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
