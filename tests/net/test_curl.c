#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "net/curl.h"

static void test_no_library(void **state)
{
    struct hocket__curl curl;
    struct hocket_error err;
    assert_int_equal(hocket__curl_open("libnone.so.4", &curl, &err), HOCKET_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "libcurl4"));
    assert_non_null(strstr(err.message, "libnone.so.4"));
    assert_int_equal(hocket__curl_open("libnone.so.4", &curl, NULL), HOCKET_EUNSUPPORTED);
}

static void test_another_library(void **state)
{
    struct hocket__curl curl;
    struct hocket_error err;
    assert_int_equal(hocket__curl_open("libc.so.6", &curl, &err), HOCKET_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "libcurl4"));
    assert_non_null(strstr(err.message, "it has no curl_"));
}

static void test_all_functions_are_there(void **state)
{
    struct hocket__curl curl = { 0 };
    assert_int_equal(hocket__curl_open("libcurl.so.4", &curl, NULL), 0);
#define CHECK(name) assert_true(curl.name != NULL);
    HOCKET__CURL_MAP(CHECK)
#undef CHECK
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
        cmocka_unit_test(test_from_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
