/* Errors as providers say them, and what they mean: which status, whether to try again. */
#include "net/protocol/protocol_impl.h"

#include "net/protocol/support.h"

struct want {
    int status;
    bool retryable;
    const char *type, *code, *message;
};

static void check_error(const char *where, int http_status, const char *body, struct want w)
{
    struct hocket__reply r;
    struct hocket_error err;
    hocket__reply_init(&r, &hocket__malloc, 0);
    hocket__reply_set_error(&r, where, http_status, hocket__cstr(body));
    int status = hocket__reply_failed(&r, &err);
    if (status != w.status || err.status != status || err.retryable != w.retryable)
        fail_msg("%s: status %d, retryable %d", body, status, err.retryable);
    assert_int_equal(err.http_status, http_status);
    assert_string_equal(hocket__buf_str(&r.error.type).p, w.type);
    assert_string_equal(hocket__buf_str(&r.error.code).p, w.code);
    assert_string_equal(hocket__buf_str(&r.error.message).p, w.message);
    assert_int_equal(r.finish, HOCKET__FINISH_ERROR);
    hocket__reply_deinit(&r);
}

static void test_shapes(void **state)
{
    check_error("http", 404,
        "{\"error\":{\"message\":\"m\",\"type\":\"t\",\"param\":null,\"code\":\"c\"}}",
        (struct want){ HOCKET_EHTTP, false, "t", "c", "m" });
    check_error("http", 429, "{\"error\":{\"code\":\"RateLimitReached\",\"message\":\"m\"}}",
        (struct want){ HOCKET_EHTTP, true, "", "RateLimitReached", "m" });
    check_error("http", 529,
        "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"},"
        "\"request_id\":\"r\"}",
        (struct want){ HOCKET_EHTTP, true, "overloaded_error", "", "m" });
    check_error("http", 400,
        "{\"code\":\"invalid-argument\",\"error\":\"Incorrect API key provided.\"}",
        (struct want){
            HOCKET_EAUTH, false, "", "invalid-argument", "Incorrect API key provided." });
    check_error("http", 401, "{\"detail\":\"Invalid API Key\"}",
        (struct want){ HOCKET_EAUTH, false, "", "", "Invalid API Key" });
    check_error("http", 422, "{\"detail\":[{\"loc\":[1]}]}",
        (struct want){ HOCKET_EHTTP, false, "", "", "[{\"loc\":[1]}]" });
    check_error("http", 400,
        "{\"object\":\"error\",\"message\":\"m\",\"type\":\"t\",\"code\":\"3280\"}",
        (struct want){ HOCKET_EHTTP, false, "t", "3280", "m" });
    check_error("http", 500, "{\"error\":\"out of \\u0022memory\\u0022\"}",
        (struct want){ HOCKET_EHTTP, true, "", "", "out of \"memory\"" });
    /* what the model wrote, the server could not read (llama.cpp, now and before; Groq) */
    check_error("http", 500,
        "{\"error\":{\"code\":500,\"message\":\"The model produced output that does not match the "
        "expected peg-native format\",\"type\":\"server_error\"}}",
        (struct want){ HOCKET_EMODEL, true, "server_error", "500",
            "The model produced output that does not match the expected peg-native format" });
    check_error("http", 500, "{\"error\":{\"message\":\"Failed to parse input at pos 7: <x\"}}",
        (struct want){ HOCKET_EMODEL, true, "", "", "Failed to parse input at pos 7: <x" });
    check_error("http", 400,
        "{\"error\":{\"message\":\"m\",\"code\":\"tool_use_failed\",\"failed_generation\":\"<f>\"}"
        "}",
        (struct want){ HOCKET_EMODEL, true, "", "tool_use_failed", "m" });
    check_error("http", 502, "<html>Bad Gateway</html>\n",
        (struct want){ HOCKET_EHTTP, true, "", "", "<html>Bad Gateway</html>" });
    check_error("http", 503, "", (struct want){ HOCKET_EHTTP, true, "", "", "" });
    check_error("http", 400,
        "[{\"error\":{\"code\":400,\"message\":\"m\",\"status\":\"INVALID_ARGUMENT\"}}]",
        (struct want){ HOCKET_EHTTP, false, "INVALID_ARGUMENT", "400", "m" });
}

static void test_retry(void **state)
{
    check_error("http", 429, "{\"error\":{\"message\":\"m\",\"code\":\"insufficient_quota\"}}",
        (struct want){ HOCKET_EHTTP, false, "", "insufficient_quota", "m" });
    check_error("http", 402, "{\"error\":{\"message\":\"m\"}}",
        (struct want){ HOCKET_EHTTP, false, "", "", "m" });
    check_error("http", 408, "", (struct want){ HOCKET_EHTTP, true, "", "", "" });
    check_error("http", 409, "", (struct want){ HOCKET_EHTTP, true, "", "", "" });
    check_error("http", 413, "", (struct want){ HOCKET_EHTTP, false, "", "", "" });
    check_error("http", 403, "", (struct want){ HOCKET_EAUTH, false, "", "", "" });
    check_error("stream", 0,
        "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}",
        (struct want){ HOCKET_EPROVIDER, true, "overloaded_error", "", "m" });
    check_error("stream", 0, "{\"error\":{\"message\":\"m\",\"code\":502}}",
        (struct want){ HOCKET_EPROVIDER, true, "", "502", "m" });
    check_error("body_200", 0, "{\"error\":{\"message\":\"m\",\"code\":401}}",
        (struct want){ HOCKET_EAUTH, false, "", "401", "m" });
    check_error("stream", 0, "{\"error\":{\"message\":\"m\"}}",
        (struct want){ HOCKET_EPROVIDER, false, "", "", "m" });
    check_error("response", 0, "{\"code\":\"rate_limit_exceeded\",\"message\":\"m\"}",
        (struct want){ HOCKET_EPROVIDER, true, "", "rate_limit_exceeded", "m" });
}

static bool limited(const char *where, int http_status, const char *body)
{
    struct hocket__reply r;
    hocket__reply_init(&r, &hocket__malloc, 0);
    hocket__reply_set_error(&r, where, http_status, hocket__cstr(body));
    bool is = hocket__reply_limited(&r);
    hocket__reply_deinit(&r);
    return is;
}

static void test_rate_limit(void **state)
{
    assert_true(limited("stream", 0, "{\"error\":{\"type\":\"rate_limit_error\"}}"));
    assert_true(limited("response", 0, "{\"code\":\"rate_limit_exceeded\"}"));
    assert_true(limited("stream", 0, "{\"error\":{\"code\":429,\"message\":\"m\"}}"));
    assert_true(limited("stream", 0, "{\"error\":{\"status\":\"RESOURCE_EXHAUSTED\"}}"));
    assert_true(limited("body_200", 200, "{\"error\":{\"code\":\"RateLimitReached\"}}"));
    assert_false(limited("stream", 0, "{\"error\":{\"type\":\"overloaded_error\"}}"));
    assert_false(limited("stream", 0, "{\"error\":{\"code\":503}}"));
    assert_false(limited("stream", 0,
        "{\"error\":{\"code\":\"insufficient_quota\",\"type\":\"rate_limit_error\"}}"));
    assert_false(limited("http", 429, "{\"error\":{\"code\":429}}")); /* its head has said so */
    struct hocket__reply none;
    hocket__reply_init(&none, &hocket__malloc, 0);
    assert_false(hocket__reply_limited(&none));
    hocket__reply_deinit(&none);
}

static int64_t delay_of(const char *delay)
{
    char body[200];
    struct hocket__reply r;
    struct hocket_error err;
    snprintf(body, sizeof(body),
        "{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"details\":[{\"x\":1},"
        "{\"@type\":\"RetryInfo\",\"retryDelay\":\"%s\"}]}}",
        delay);
    hocket__reply_init(&r, &hocket__malloc, 0);
    hocket__reply_set_error(&r, "http", 429, hocket__cstr(body));
    hocket__reply_failed(&r, &err);
    hocket__reply_deinit(&r);
    return err.retry_after_ms;
}

static void test_retry_delay(void **state)
{
    assert_int_equal(delay_of("34.074824224s"), 34074);
    assert_int_equal(delay_of("0s"), 0);
    assert_int_equal(delay_of("2s"), 2000);
    assert_int_equal(delay_of("soon"), -1);
    assert_int_equal(delay_of("-5s"), -1);
    assert_int_equal(delay_of("99999999999999999999999s"), -1);
}

/* A message is never longer than the error's room, and never cut inside a character. */
static void test_long_message(void **state)
{
    struct hocket__buf b;
    struct hocket__reply r;
    struct hocket_error err;
    hocket__buf_init(&b, &hocket__malloc, 0);
    for (int i = 0; i < 5000; i++)
        hocket__buf_adds(&b, "\xE2\x82\xAC");
    hocket__reply_init(&r, &hocket__malloc, 0);
    hocket__reply_set_error(&r, "http", 500, hocket__buf_str(&b));
    assert_true(r.error.message.len <= 2000 && r.error.message.len % 3 == 0);
    assert_int_equal(hocket__reply_failed(&r, &err), HOCKET_EHTTP);
    assert_int_equal((strlen(err.message) - strlen("HTTP status 500: ")) % 3, 0);
    hocket__reply_deinit(&r);
    hocket__buf_deinit(&b);
}

static void check_words(const char *body, const char *want)
{
    struct hocket__reply r;
    struct hocket_error err;
    hocket__reply_init(&r, &hocket__malloc, 0);
    hocket__reply_set_error(&r, "http", 429, hocket__cstr(body));
    hocket__reply_failed(&r, &err);
    assert_string_equal(err.message, want);
    hocket__reply_deinit(&r);
}

/* What stands beside a message that says nothing by itself. */
static void test_detail(void **state)
{
    check_words("{\"error\":{\"message\":\"Provider returned error\",\"code\":429,\"metadata\":{"
                "\"raw\":\"m is \\\"busy\\\"\",\"provider_name\":\"P\"}},\"user_id\":\"u\"}",
        "HTTP status 429: Provider returned error (m is \"busy\")");
    check_words("{\"error\":{\"message\":\"m\",\"metadata\":{\"raw\":{\"a\":1}}}}",
        "HTTP status 429: m ({\"a\":1})");
    check_words(
        "{\"error\":{\"message\":\"m\",\"metadata\":{\"raw\":null}}}", "HTTP status 429: m");
    check_words("{\"error\":{\"message\":\"m\",\"metadata\":[]}}", "HTTP status 429: m");
    check_words("{\"error\":{\"message\":\"A call failed.\",\"failed_generation\":\"<f>\"}}",
        "HTTP status 429: A call failed. (<f>)");
}

static void test_no_error(void **state)
{
    struct hocket__reply r;
    hocket__reply_init(&r, &hocket__malloc, 0);
    assert_int_equal(hocket__reply_failed(&r, NULL), 0);
    hocket__reply_deinit(&r);
}

static void pack(struct hocket__buf *out, const char *found)
{
    struct hocket__reply r;
    hocket__reply_init(&r, &hocket__malloc, 0);
    hocket__buf_adds(&r.text, "Yes.");
    hocket__buf_adds(&r.model, "m");
    hocket__reply_found_all(&r, hocket__cstr(found));
    r.usage.input = 7;
    r.in_tags = *found != 0;
    hocket__buf_init(out, &hocket__malloc, 0);
    hocket__reply_pack(&r, out);
    hocket__reply_deinit(&r);
}

static int unpack(const struct hocket__buf *b, const char *found)
{
    struct hocket__reply r;
    hocket__reply_init(&r, &hocket__malloc, 0);
    int status = hocket__reply_unpack(hocket__buf_str(b), &r);
    if (status == 0) {
        assert_string_equal(r.text.data, "Yes.");
        assert_string_equal(r.model.data, "m");
        assert_string_equal(r.found.data ? r.found.data : "", found);
        assert_int_equal(r.usage.input, 7);
        assert_int_equal(r.in_tags, *found != 0);
    }
    hocket__reply_deinit(&r);
    return status;
}

/* Replies that were kept before they had what was found are read as well. */
static void test_kept(void **state)
{
    struct hocket__buf with, without;
    pack(&with, "[{\"a\":1},5,{\"b\":2}]");
    pack(&without, "");
    assert_int_equal(unpack(&with, "{\"a\":1},{\"b\":2}"), 0);
    assert_int_equal(unpack(&without, ""), 0);
    size_t at = 0;
    while (with.data[at] == without.data[at])
        at++;
    assert_int_equal(without.data[at], 0); /* its length */
    memmove(without.data + at, without.data + at + 1, without.len - at);
    hocket__buf_cut(&without, without.len - 1);
    without.data[0] = 2;
    assert_int_equal(unpack(&without, ""), 0);
    without.data[0] = 1;
    assert_int_equal(unpack(&without, ""), HOCKET_EPARSE);
    with.data[0] = 2; /* with a text that is none of its own */
    assert_int_equal(unpack(&with, ""), HOCKET_EPARSE);
    hocket__buf_deinit(&with);
    hocket__buf_deinit(&without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_retry),
        cmocka_unit_test(test_rate_limit),
        cmocka_unit_test(test_retry_delay),
        cmocka_unit_test(test_long_message),
        cmocka_unit_test(test_detail),
        cmocka_unit_test(test_no_error),
        cmocka_unit_test(test_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
