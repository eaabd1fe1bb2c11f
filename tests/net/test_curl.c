#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "net/curl.h"

#if HOCKET_STATIC
#define NEEDS_LOADING() skip() /* it has a libcurl inside */
#else
#define NEEDS_LOADING() (void) 0
#endif

static void test_no_library(void **state)
{
    NEEDS_LOADING();
    struct hocket__curl curl;
    struct hocket_error err;
    assert_int_equal(hocket__curl_open("libnone.so.4", &curl, &err), HOCKET_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "libcurl4"));
    assert_non_null(strstr(err.message, "libnone.so.4"));
    assert_int_equal(hocket__curl_open("libnone.so.4", &curl, NULL), HOCKET_EUNSUPPORTED);
}

static void test_another_library(void **state)
{
    NEEDS_LOADING();
    struct hocket__curl curl;
    struct hocket_error err;
    assert_int_equal(hocket__curl_open("libc.so.6", &curl, &err), HOCKET_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "libcurl4"));
    assert_non_null(strstr(err.message, "it has no curl_"));
}

static void test_all_functions_are_there(void **state)
{
    NEEDS_LOADING();
    struct hocket__curl curl = { 0 };
    assert_int_equal(hocket__curl_open("libcurl.so.4", &curl, NULL), 0);
#define CHECK(name) assert_true(curl.name != NULL);
    HOCKET__CURL_MAP(CHECK)
#undef CHECK
}

static void test_what_a_build_lacks_is_named(void **state)
{
    static const struct {
        unsigned version;
        int features;
        const char *words;
    } cases[] = {
        { 0x075600, CURL_VERSION_SSL | CURL_VERSION_HTTP2, "too old: 7.87" },
        { 0x081600, CURL_VERSION_SSL, "without HTTP/2 (nghttp2):" },
        { 0x081600, CURL_VERSION_HTTP2, "without TLS:" },
        { 0x081600, 0, "without TLS and HTTP/2:" },
    };
    curl_version_info_data v = { .version = "8.22.0",
        .version_num = 0x081600,
        .features = CURL_VERSION_SSL | CURL_VERSION_HTTP2 };
    struct hocket_error err;
    assert_int_equal(hocket__curl_check(&v, &err), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        v.version_num = cases[i].version;
        v.features = cases[i].features;
        assert_int_equal(hocket__curl_check(&v, &err), HOCKET_EUNSUPPORTED);
        assert_non_null(strstr(err.message, cases[i].words));
    }
}

static void *load(void *ud)
{
    *(const struct hocket__curl **) ud = hocket__curl_load(NULL);
    return NULL;
}

static void test_from_many_threads(void **state)
{
    const struct hocket__curl *curl[8];
    pthread_t thread[8];
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, load, &curl[i]), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
    assert_non_null(curl[0]);
    for (int i = 1; i < 8; i++)
        assert_ptr_equal(curl[i], curl[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_library),
        cmocka_unit_test(test_another_library),
        cmocka_unit_test(test_all_functions_are_there),
        cmocka_unit_test(test_what_a_build_lacks_is_named),
        cmocka_unit_test(test_from_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
