/* Signatures as botocore (AWS's own) makes them. */
#include "net/sigv4.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "base/status.h"
#include "support/alloc.h"

static const struct {
    const char *url, *region, *token, *signature;
} cases[] = {
    { "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-sonnet-5-v1%3A0/"
      "converse-stream",
        "us-east-1", "", "e58210973fcb509813f4ff1329b54bc17899e6c9f9fb6e9f16e87802c9077930" },
    { "https://bedrock-runtime.eu-central-1.amazonaws.com:443/model/amazon.nova-pro/converse",
        "eu-central-1", "SESSION/TOKEN+with=signs",
        "a5cf333012369767349916063e3be572ac8ba7827588d43406d8c206b5e131a6" },
    { "http://127.0.0.1:8123/model/"
      "arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fx.y-z_1~2/converse",
        "us-east-1", "", "874f187b29acd9d3fa4832797c771cf38a4f2fc854f83106e73268f49223f25f" },
    { "http://localhost", "us-east-1", "",
        "c027c22a0263459ec9372aa0f33169eedaee8b64ec577527d77aada35ae63912" },
    { "http://user:pw@localhost:80", "us-east-1", "",
        "c027c22a0263459ec9372aa0f33169eedaee8b64ec577527d77aada35ae63912" },
};

static int sign(struct hocket__buf *lines, const char *url, const char *region, const char *token)
{
    struct hocket__sigv4 k = { hocket__cstr(region), HOCKET__STR("bedrock"),
        HOCKET__STR("AKIDEXAMPLE"), HOCKET__STR("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
        hocket__cstr(token) };
    return hocket__sigv4_sign(
        &k, hocket__cstr(url), HOCKET__STR("{\"messages\":[]}"), 1795338487, lines);
}

static void test_signatures(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct test_alloc t;
        struct hocket__buf lines;
        test_alloc_init(&t);
        hocket__buf_init(&lines, &t.a, 0);
        assert_int_equal(sign(&lines, cases[i].url, cases[i].region, cases[i].token), 0);
        const char *at = lines.data;
        assert_string_equal(at, "x-amz-date: 20261122T090807Z");
        at += strlen(at) + 1;
        if (cases[i].token[0]) {
            assert_string_equal(at, "x-amz-security-token: SESSION/TOKEN+with=signs");
            at += strlen(at) + 1;
        }
        const char *signature = strstr(at, "Signature=");
        assert_non_null(signature);
        assert_string_equal(signature + 10, cases[i].signature);
        assert_ptr_equal(at + strlen(at) + 1, lines.data + lines.len);
        hocket__buf_deinit(&lines);
        test_alloc_check(&t);
    }
}

static void test_refused(void **state)
{
    static const char *const urls[] = { "https://h/p?a=b", "nothing", "", "https:///p",
        "https://u@/p" };
    (void) state;
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        struct test_alloc t;
        struct hocket__buf lines;
        test_alloc_init(&t);
        hocket__buf_init(&lines, &t.a, 0);
        assert_int_equal(sign(&lines, urls[i], "r", ""), HOCKET_EINVAL);
        assert_int_equal(lines.len, 0);
        hocket__buf_deinit(&lines);
        test_alloc_check(&t);
    }
}

static void sign_once(struct test_alloc *t, void *ud)
{
    struct hocket__buf lines;
    (void) ud;
    hocket__buf_init(&lines, &t->a, 0);
    int rc = sign(&lines, cases[1].url, "r", "T");
    assert_int_equal(rc, t->failed ? HOCKET_ENOMEM : 0);
    hocket__buf_deinit(&lines);
}

static void test_memory(void **state)
{
    (void) state;
    assert_true(test_alloc_each(sign_once, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signatures),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
