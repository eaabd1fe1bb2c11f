/* The good paths: what is sent, what is handed over, in which order, on which connection. */
#include "http_fixture.h"

#define HEAD(length) "HTTP/1.1 200 OK\r\nContent-Length: " #length "\r\n\r\n"
#define CHUNKED      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Kind:  A b \r\n\r\n"

static const struct test_step hello[] = { TEST_SEND(HEAD(5) "hello") };
static const struct test_step stream[]
    = { TEST_SEND(CHUNKED), TEST_DRIP("6\r\nevent\n\r\n", 20, 1), TEST_SEND("0\r\n\r\n") };

static void test_get(void **state)
{
    struct fixture *f = *state;
    struct seen s = { 0 };
    test_server_on(f->server, "/hello", TEST_STEPS(hello));
    get(f, &s, "/hello?q=1#part");
    assert_int_equal(hocket__http_active(f->http), 1);
    assert_string_equal(s.log, "");
    run_until_done(&s);
    assert_ok(&s);
    assert_int_equal(s.status, 200);
    assert_string_equal(s.body, "hello");
    assert_string_equal(s.log, "ShdD");
    assert_string_equal(s.headers, "content-length=5;");
    assert_int_equal(hocket__http_active(f->http), 0);
    const char *sent = test_server_request(f->server, 0);
    assert_ptr_equal(strstr(sent, "GET /hello?q=1 HTTP/1.1\r\n"), sent);
    assert_contains(sent, "\r\nAccept-Encoding: ");
}

static void test_streaming_post(void **state)
{
    struct fixture *f = *state;
    struct seen s = { 0 };
    test_server_on(f->server, "/v1", TEST_STEPS(stream));
    post(f, &s, "/v1", "{\"a\":1}");
    run_until_done(&s);
    assert_ok(&s);
    assert_int_equal(s.body_len, 120);
    assert_in_range(s.pieces, 10, 20);
    assert_contains(s.headers, "x-kind=A b;");
    const char *sent = test_server_request(f->server, 0);
    assert_ptr_equal(strstr(sent, "POST /v1 HTTP/1.1\r\n"), sent);
    assert_contains(sent, "\r\nContent-Length: 7\r\n");
    assert_contains(sent, "\r\n\r\n{\"a\":1}");
    assert_lacks(sent, "Expect");
    assert_lacks(sent, "Content-Type");
    assert_lacks(sent, "User-Agent");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_get),
        CASE(test_streaming_post),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
