/* Keys are found in all their forms, and stars take their place. */
#include "net/secrets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/alloc.h"

static void masked(
    const struct hocket__secrets *s, bool url, const char *text, const char *expected)
{
    char copy[256];
    snprintf(copy, sizeof(copy), "%s", text);
    if (url)
        hocket__secrets_mask_url(s, copy, strlen(copy));
    else
        hocket__secrets_mask(s, copy, strlen(copy));
    assert_string_equal(copy, expected);
}

static void test_secrets(void **state)
{
    struct hocket__secrets s;
    (void) state;
    hocket__secrets_init(&s, &hocket__malloc);
    assert_int_equal(
        hocket__secrets_add(&s, HOCKET__STR("none")), 0); /* what local servers are given */
    assert_int_equal(hocket__secrets_add(&s, HOCKET__STR("ab/c\"d")), 0);
    masked(&s, false, "none ab/c\"d ab\\/c\\\"d ab%2Fc%22d ab/c",
        "none ****** ******** ********** ab/c");
    masked(&s, false, "ab/cab/c\"d", "ab/c******");
    masked(&s, true, "https://u:pw@h/x?key=1&a=2&access_token=33&sig=#",
        "https://u:**@h/x?key=*&a=2&access_token=**&sig=*");
    masked(&s, true, "https://h/x:y@z", "https://h/x:y@z");
    hocket__secrets_deinit(&s);
}

/* What stands over what was masked already is found, too, and stars are a key like any other. */
static void test_overlaps(void **state)
{
    struct hocket__secrets s;
    (void) state;
    hocket__secrets_init(&s, &hocket__malloc);
    const char *const keys[] = { "abcdef", "abcdefghi", "ghijkl", "********" };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        assert_int_equal(hocket__secrets_add(&s, hocket__cstr(keys[i])), 0);
    masked(&s, false, "abcdefghi abcdefg abcdefghijkl!", "********* ******g ************!");
    masked(&s, false, "******** ***", "******** ***");
    masked(&s, false, "abcde", "abcde");
    masked(&s, false, "", "");
    hocket__secrets_deinit(&s);
}

/* As plain as can be: every place of a copy that stays as it was. */
static void expect(const char *const *keys, size_t n_keys, const char *text, char *out)
{
    memcpy(out, text, strlen(text) + 1);
    for (size_t at = 0; text[at]; at++)
        for (size_t i = 0; i < n_keys; i++)
            if (strncmp(text + at, keys[i], strlen(keys[i])) == 0)
                memset(out + at, '*', strlen(keys[i]));
}

/* Short texts and long ones take different ways. */
static void test_all_lengths(void **state)
{
    static const char *const keys[] = { "aabaab", "abaabab", "aabaabaab", "bbbbbbbbbb" };
    struct hocket__secrets s;
    unsigned random = 7;
    (void) state;
    hocket__secrets_init(&s, &hocket__malloc);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(hocket__secrets_add(&s, hocket__cstr(keys[i])), 0);
    for (size_t n = 0; n < 1200; n++) {
        char text[1200], expected[1200];
        for (size_t i = 0; i < n; i++)
            text[i] = (random = random * 1103515245 + 12345) >> 16 & 1 ? 'a' : 'b';
        text[n] = 0;
        expect(keys, 4, text, expected);
        hocket__secrets_mask(&s, text, n);
        assert_string_equal(text, expected);
    }
    hocket__secrets_deinit(&s);
}

/* In base64 wherever it begins, percent-encoded in small letters; and what may be the beginning of one. */
static void test_secret_forms(void **state)
{
    struct hocket__secrets s;
    (void) state;
    hocket__secrets_init(&s, &hocket__malloc);
    assert_int_equal(hocket__secrets_add(&s, HOCKET__STR("sk-A?~key/99")), 0);
    masked(&s, false, "sk-A%3f~key%2f99", "****************");
    masked(&s, false, "c2stQT9+a2V5Lzk5", "****************");         /* the key alone */
    masked(&s, false, "c2stQT9-a2V5Lzk5", "****************");         /* … for URLs */
    masked(&s, false, "OnNrLUE/fmtleS85OQ==", "On***************Q=="); /* ":" before it */
    masked(&s, false, "dTpzay1BP35rZXkvOTk=", "dTp***************k="); /* "u:" before it */
    masked(&s, false, "QmVhcmVyIHNrLUE/fmtleS85OQ==", "QmVhcmVyIH***************Q==");
    static const struct {
        const char *text;
        size_t begun;
    } ends[] = { { "", 0 }, { "xya", 0 }, { "a s", 1 }, { "a sk-A", 4 }, { "sk-A?~key/9", 11 },
        { "sk-A?~key/99", 0 }, { "sk-Ask-", 3 }, { "ask-B", 0 } };
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (hocket__secrets_begun(&s, hocket__cstr(ends[i].text)) != ends[i].begun)
            fail_msg(
                "%s: %zu", ends[i].text, hocket__secrets_begun(&s, hocket__cstr(ends[i].text)));
    assert_true(hocket__secrets_named(HOCKET__STR("X-Api-Key")));
    assert_true(hocket__secrets_named(HOCKET__STR("Authorization")));
    assert_false(hocket__secrets_named(HOCKET__STR("x-team")));
    hocket__secrets_deinit(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_all_lengths),
        cmocka_unit_test(test_secret_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
