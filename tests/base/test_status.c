#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/status.h"
#include "base/utf8.h"

#include <limits.h>
#include <string.h>

static void test_words(void **state)
{
#define CHECK(name, value, word, text)                                                             \
    assert_string_equal(hocket_status_word(value), word);                                          \
    assert_string_equal(hocket_status_text(value), text);                                          \
    assert_int_equal(hocket__status_from_word(word), value);
    HOCKET_STATUS_MAP(CHECK)
#undef CHECK
    assert_string_equal(hocket_status_word(0), "ok");
    assert_string_equal(hocket_status_word(7), "ok");
    assert_string_equal(hocket_status_word(-1000), "unknown");
    assert_string_equal(hocket_status_word(INT_MIN), "unknown");
    assert_string_equal(hocket_status_text(INT_MIN), "unknown error");
    assert_int_equal(hocket__status_from_word("nonsense"), HOCKET_EINVAL);
}

static void test_error(void **state)
{
    struct hocket_error e;
    memset(&e, 0xFF, sizeof(e));
    assert_int_equal(hocket__error(&e, HOCKET_EPARSE, "line %d", 3), HOCKET_EPARSE);
    assert_string_equal(e.message, "line 3");
    assert_int_equal(e.status, HOCKET_EPARSE);
    assert_int_equal(e.http_status, 0);
    assert_int_equal(e.retry_after_ms, -1);
    assert_false(e.retryable);
    hocket__error(&e, HOCKET_ETIMEOUT, "late");
    assert_true(e.retryable);
    assert_int_equal(hocket__error(NULL, HOCKET_EIO, "x"), HOCKET_EIO);
    assert_int_equal(hocket__error_nomem(&e), HOCKET_ENOMEM);
}

static void test_message_within_itself(void **state)
{
    struct hocket_error e;
    hocket__error(&e, HOCKET_EIO, "cannot read");
    hocket__error(&e, e.status, "agent.md: %s", e.message);
    assert_string_equal(e.message, "agent.md: cannot read");
}

static void test_because(void **state)
{
    struct hocket_error cause, e;
    hocket__error(&cause, HOCKET_EPROVIDER, "overloaded");
    cause.http_status = 529;
    cause.retryable = true;
    cause.retry_after_ms = 1500;
    assert_int_equal(hocket__error_because(&e, &cause, "call %d", 2), HOCKET_EPROVIDER);
    assert_string_equal(e.message, "call 2: overloaded");
    assert_int_equal(e.status, HOCKET_EPROVIDER);
    assert_int_equal(e.http_status, 529);
    assert_true(e.retryable);
    assert_int_equal(e.retry_after_ms, 1500);
    hocket__error_because(&e, &e, "the agent %s", e.message);
    assert_string_equal(e.message, "the agent call 2: overloaded: call 2: overloaded");
    assert_int_equal(hocket__error_because(NULL, &cause, "x"), HOCKET_EPROVIDER);
    memset(cause.message, 'y', sizeof(cause.message) - 1);
    cause.message[sizeof(cause.message) - 1] = 0;
    hocket__error_because(&e, &cause, "x");
    assert_int_equal(strlen(e.message), sizeof(e.message) - 1);
    assert_memory_equal(e.message, "x: y", 4);
}

static void test_long_message(void **state)
{
    struct hocket_error e;
    char text[600] = "x"; /* shifts the characters against the end */
    for (size_t n = 1; n + 2 < sizeof(text); n += 2)
        memcpy(text + n, "\xC3\xA9", 3);
    for (int shift = 0; shift < 2; shift++) {
        hocket__error(&e, HOCKET_EIO, "%s", text + shift);
        size_t len = strlen(e.message);
        assert_in_range(len, sizeof(e.message) - 2, sizeof(e.message) - 1);
        assert_int_equal(hocket__utf8_valid(e.message, len), len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_message_within_itself),
        cmocka_unit_test(test_because),
        cmocka_unit_test(test_long_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
