/* What headers advise, and whether a call is tried again: time and chance are given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>

#include "net/limit/retry.h"

#define NOW INT64_C(1787150097000) /* 2026-08-19T14:34:57Z */

static struct hocket__advice read_headers(const char *const *pairs)
{
    struct hocket__advice a;
    hocket__advice_init(&a);
    for (; pairs[0]; pairs += 2)
        hocket__advice_header(&a, hocket__cstr(pairs[0]), hocket__cstr(pairs[1]));
    hocket__advice_resolve(&a, NOW);
    return a;
}

#define HEADERS(...) read_headers((const char *const[]){ __VA_ARGS__, NULL })

/* ---- Advice ---- */

static void test_retry_after(void **state)
{
    (void) state;
    assert_int_equal(HEADERS("retry-after", "15").after_ms, 15000);
    assert_int_equal(HEADERS("retry-after", "0.25").after_ms, 250);
    assert_int_equal(HEADERS("retry-after", "90000").after_ms, 86400000);
    assert_int_equal(HEADERS("retry-after", "99999999999999999999").after_ms, 86400000);
    assert_int_equal(HEADERS("retry-after-ms", "99999999999999999999").after_ms, 86400000);
    assert_int_equal(HEADERS("retry-after", "-5").after_ms, -1);
    assert_int_equal(HEADERS("retry-after-ms", "1500", "retry-after", "2").after_ms, 1500);
    assert_int_equal(HEADERS("retry-after", "2", "retry-after-ms", "1500").after_ms, 1500);
    assert_int_equal(HEADERS("retry-after-ms", "0", "retry-after", "61").after_ms, 61000);
    assert_int_equal(HEADERS("retry-after", "Wed, 19 Aug 2026 14:35:07 GMT").after_ms, 10000);
    assert_int_equal(HEADERS("retry-after", "Wed, 19 Aug 2026 14:30:00 GMT").after_ms, 0);
    assert_int_equal(HEADERS("retry-after", "soon").after_ms, -1);
    assert_int_equal(HEADERS("content-type", "text/plain").after_ms, -1);
}

/* Where no Retry-After is sent: a time alone, a day that is used up, the IETF's line, Mistral's own names. */
static void test_resets(void **state)
{
    (void) state;
    assert_int_equal(HEADERS("x-ratelimit-reset", "12").after_ms, 12000);
    assert_int_equal(HEADERS("ratelimit-reset", "7").after_ms, 7000);
    assert_int_equal(HEADERS("x-ratelimit-timeremaining", "9").after_ms, 9000);
    assert_int_equal(HEADERS("retry-after", "2", "ratelimit-reset", "7").after_ms, 2000);
    assert_int_equal(HEADERS("ratelimit", "\"default\";r=0;t=30").after_ms, 30000);
    assert_int_equal(HEADERS("ratelimit", "limit=9, remaining=0, reset=30").after_ms, 30000);
    assert_int_equal(HEADERS("ratelimit", "\"default\";r=5;t=30").after_ms, -1);
    assert_int_equal(HEADERS("ratelimit", "r").after_ms, -1);
    struct hocket__advice a = HEADERS("x-ratelimit-limit-requests-day", "100",
        "x-ratelimit-remaining-requests-day", "0", "x-ratelimit-reset-requests-day", "3600.5",
        "x-ratelimit-limit-requests-minute", "30", "x-ratelimit-remaining-requests-minute", "29");
    assert_int_equal(a.after_ms, 3600500);
    assert_int_equal(a.requests.limit, 30);
    a = HEADERS("x-ratelimit-remaining-tokens-day", "5", "x-ratelimit-reset-tokens-day", "3600");
    assert_int_equal(a.after_ms, -1);
    a = HEADERS("ratelimitbysize-limit", "500", "ratelimitbysize-remaining", "0",
        "ratelimitbysize-reset", "30");
    assert_int_equal(a.tokens.limit, 500);
    assert_int_equal(a.tokens.reset_ms, 30000);
    assert_int_equal(a.after_ms, -1);
}

static void test_servers_clock(void **state)
{
    (void) state; /* ours is an hour off: the answer's own date counts */
    struct hocket__advice a = HEADERS(
        "retry-after", "Wed, 19 Aug 2026 15:35:07 GMT", "date", "Wed, 19 Aug 2026 15:34:57 GMT");
    assert_int_equal(a.after_ms, 10000);
}

static void test_quotas(void **state)
{
    (void) state;
    struct hocket__advice a =
        HEADERS("x-ratelimit-limit-requests", "10000", "x-ratelimit-remaining-requests", "9999",
            "x-ratelimit-reset-requests", "6ms", "x-ratelimit-limit-tokens", "200000",
            "x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "6m0s");
    assert_int_equal(a.requests.limit, 10000);
    assert_int_equal(a.requests.remaining, 9999);
    assert_int_equal(a.requests.reset_ms, 6);
    assert_int_equal(a.tokens.remaining, 0);
    assert_int_equal(a.tokens.reset_ms, 360000);
    a = HEADERS("anthropic-ratelimit-requests-limit", "50",
        "anthropic-ratelimit-requests-remaining", "0", "anthropic-ratelimit-requests-reset",
        "2026-08-19T14:35:57Z", "anthropic-ratelimit-input-tokens-limit", "1000",
        "anthropic-ratelimit-input-tokens-remaining", "7");
    assert_int_equal(a.requests.limit, 50);
    assert_int_equal(a.requests.reset_ms, 60000);
    assert_int_equal(a.tokens.remaining, 7); /* of the input, where no sum is told */
    a = HEADERS("x-ratelimit-limit", "20", "x-ratelimit-remaining", "3", "x-ratelimit-reset",
        "1787150127000");
    assert_int_equal(a.requests.remaining, 3);
    assert_int_equal(a.requests.reset_ms, 30000);
    a = HEADERS("x-ratelimit-limit-req-minute", "88", "x-ratelimit-remaining-req-minute", "87",
        "x-ratelimit-reset", "42", "x-ratelimit-abusepenalty-active", "False");
    assert_int_equal(a.requests.limit, 88);
    assert_int_equal(a.requests.reset_ms, 42000);
    a = HEADERS("x-ratelimit-remaining-requests", "many", "x-ratelimit-limit-requests", "-1");
    assert_int_equal(a.requests.remaining, -1);
    assert_int_equal(a.requests.limit, -1);
}

/* ---- Verdicts ---- */

static struct hocket_error http_error(int status, bool retryable)
{
    struct hocket_error e;
    hocket__error(&e, HOCKET_EHTTP, "HTTP status %d", status);
    e.http_status = status;
    e.retryable = retryable;
    return e;
}

static struct hocket__retry_verdict decide(struct hocket_error e, const struct hocket__advice *a)
{
    struct hocket__retry_case c = { .err = &e, .advice = a, .left_ms = -1, .chance = 0.5 };
    return hocket__retry_decide(&hocket__retry_default, &c, NULL);
}

static void test_what(void **state)
{
    (void) state;
    static const int again[] = { 408, 409, 429, 500, 502, 503, 504, 529 };
    for (size_t i = 0; i < sizeof(again) / sizeof(again[0]); i++)
        assert_true(decide(http_error(again[i], true), NULL).again);
    assert_false(decide(http_error(400, false), NULL).again);
    assert_string_equal(decide(http_error(429, true), NULL).reason, "rate_limit");
    assert_string_equal(decide(http_error(529, true), NULL).reason, "overloaded");
    assert_string_equal(decide(http_error(400, false), NULL).reason, "final");
    static const int transport[] = { HOCKET_ECONNECT, HOCKET_ETIMEOUT, HOCKET_ETRUNCATED,
        HOCKET_EPROTOCOL };
    for (size_t i = 0; i < sizeof(transport) / sizeof(transport[0]); i++) {
        struct hocket_error e;
        hocket__error(&e, transport[i], "x");
        assert_true(decide(e, NULL).again);
    }
    struct hocket_error e;
    hocket__error(&e, HOCKET_ETLS, "x");
    assert_false(decide(e, NULL).again);
}

static void test_servers_word(void **state)
{
    (void) state;
    struct hocket__advice yes = HEADERS("x-should-retry", "true");
    struct hocket__advice no = HEADERS("x-should-retry", "false");
    assert_true(decide(http_error(400, false), &yes).again);
    assert_false(decide(http_error(500, true), &no).again);
    assert_string_equal(decide(http_error(500, true), &no).reason, "refused");
    struct hocket__advice after = HEADERS("retry-after", "3");
    assert_false(decide(http_error(402, false), NULL).again);
    assert_true(decide(http_error(402, false), &after).again);
}

static void test_overloaded_as_first_event(void **state)
{
    (void) state; /* a 200 whose first event says overloaded_error */
    struct hocket_error e;
    hocket__error(&e, HOCKET_EPROVIDER, "Overloaded");
    e.retryable = true;
    assert_true(decide(e, NULL).again);
    struct hocket__retry_case c = { .err = &e, .handed_out = true, .left_ms = -1 };
    struct hocket__retry_verdict v = hocket__retry_decide(&hocket__retry_default, &c, NULL);
    assert_false(v.again);
    assert_string_equal(v.reason, "output");
}

static void test_broken_off(void **state)
{
    (void) state;
    struct hocket_error e;
    hocket__error(&e, HOCKET_EPROVIDER, "the provider broke the answer off (OTHER)");
    e.retryable = true;
    struct hocket__retry_case c = { .err = &e, .broken_off = true, .left_ms = -1 };
    struct hocket__retry_verdict v = hocket__retry_decide(&hocket__retry_default, &c, NULL);
    assert_true(v.again);
    assert_string_equal(v.reason, "broken_off");
}

/* An end without an answer is asked about once more; an answer that could not be read as often as others. */
static void test_no_answer(void **state)
{
    (void) state;
    struct hocket_error e;
    hocket__error(&e, HOCKET_EPROVIDER, "the provider ended without an answer (queued)");
    e.retryable = true;
    struct hocket__retry_case c = { .err = &e, .broken_off = true, .none = true, .left_ms = -1 };
    assert_true(hocket__retry_decide(&hocket__retry_default, &c, NULL).again);
    c.made = 1;
    struct hocket__retry_verdict v = hocket__retry_decide(&hocket__retry_default, &c, NULL);
    assert_false(v.again);
    assert_string_equal(v.reason, "attempts");
    e.status = HOCKET_EMODEL;
    c.none = false;
    v = hocket__retry_decide(&hocket__retry_default, &c, NULL);
    assert_true(v.again);
    assert_string_equal(v.reason, "malformed");
}

/* … or a rate limit: as a 429, it is not paid for. */
static void test_limited_inside(void **state)
{
    (void) state;
    struct hocket_error e;
    struct hocket__retry_budget empty = { 0 };
    hocket__error(&e, HOCKET_EPROVIDER, "slow down");
    e.retryable = true;
    struct hocket__retry_case c = { .err = &e, .left_ms = -1 };
    assert_string_equal(hocket__retry_decide(&hocket__retry_default, &c, &empty).reason, "budget");
    c.limited = true;
    struct hocket__retry_verdict v = hocket__retry_decide(&hocket__retry_default, &c, &empty);
    assert_true(v.again);
    assert_string_equal(v.reason, "rate_limit");
}

/* A model that is loaded is no failure: it is waited for, however often, and not paid for; an end has it. */
static void test_loading(void **state)
{
    (void) state;
    struct hocket_error e = http_error(503, true);
    struct hocket__retry_budget empty = { 0 };
    snprintf(e.message, sizeof(e.message), "x: HTTP status 503: Loading model");
    for (int made = 0; made < 400; made++) {
        struct hocket__retry_case c = { .err = &e, .made = made, .left_ms = 9000, .chance = 0.5 };
        struct hocket__retry_verdict v = hocket__retry_decide(&hocket__retry_default, &c, &empty);
        assert_true(v.again);
        assert_int_equal(v.delay_ms, 1500);
        assert_string_equal(v.reason, "loading");
    }
    struct hocket__retry_policy none = { .retries = 0, .cap_ms = 8000, .max_wait_ms = 1000 };
    struct hocket__retry_case c = { .err = &e, .made = 400, .left_ms = -1 };
    assert_string_equal(hocket__retry_decide(&hocket__retry_default, &c, NULL).reason, "attempts");
    c.made = 0;
    assert_string_equal(hocket__retry_decide(&none, &c, NULL).reason, "attempts");
    c.left_ms = 900;
    assert_string_equal(hocket__retry_decide(&hocket__retry_default, &c, NULL).reason, "deadline");
}

static void test_delay_bounds(void **state)
{
    (void) state;
    struct hocket_error e = http_error(500, true);
    struct hocket__retry_policy p = {
        .retries = 100, .base_ms = 500, .cap_ms = 8000, .max_wait_ms = 1
    };
    for (int made = 0; made < 100; made++)
        for (int i = 0; i < 10; i++) {
            struct hocket__retry_case c = {
                .err = &e, .made = made, .left_ms = -1, .chance = i / 10.0
            };
            int64_t top = made < 4 ? 500 << made : 8000;
            struct hocket__retry_verdict v = hocket__retry_decide(&p, &c, NULL);
            assert_true(v.again);
            assert_int_equal(v.delay_ms, top * i / 10);
        }
}

/* Whatever the server asks for, nobody comes earlier, and the deadline wins. */
static void test_asked_for(void **state)
{
    (void) state;
    struct hocket_error e = http_error(429, true);
    struct hocket__advice a = HEADERS("retry-after", "1");
    for (int64_t ms = 1; ms < 200000; ms += 997) {
        a.after_ms = ms;
        for (int i = 0; i < 10; i++) {
            struct hocket__retry_case c = {
                .err = &e, .advice = &a, .left_ms = 60000, .chance = i / 10.0
            };
            struct hocket__retry_verdict v = hocket__retry_decide(&hocket__retry_default, &c, NULL);
            if (v.again)
                assert_true(v.delay_ms >= ms && v.delay_ms <= ms + 1000 && v.delay_ms < 60000);
            else
                assert_string_equal(v.reason, ms > 120000 ? "too_long" : "deadline");
            assert_true(v.again || ms + 1000 >= 60000);
        }
    }
    e.retry_after_ms = 34070; /* Gemini's body */
    assert_in_range(decide(e, NULL).delay_ms, 34070, 35070);
    a.after_ms = 0; /* says nothing */
    e.retry_after_ms = -1;
    assert_int_equal(decide(e, &a).delay_ms, 250);
}

static void test_attempts(void **state)
{
    (void) state;
    struct hocket_error e = http_error(500, true);
    for (int retries = 0; retries < 4; retries++) {
        struct hocket__retry_policy p = hocket__retry_default;
        p.retries = retries;
        for (int made = 0; made < 6; made++) {
            struct hocket__retry_case c = { .err = &e, .made = made, .left_ms = -1 };
            assert_int_equal(hocket__retry_decide(&p, &c, NULL).again, made < retries);
        }
    }
}

/* Everything fails: of 10,000 calls at most a fifth, and a few, are made again. */
static void test_budget(void **state)
{
    (void) state;
    struct hocket__retry_budget b;
    struct hocket_error e = http_error(500, true), limited = http_error(429, true);
    int retries = 0;
    hocket__retry_budget_init(&b);
    for (int call = 0; call < 10000; call++) {
        hocket__retry_budget_call(&b);
        struct hocket__retry_case c = { .err = &e, .left_ms = -1 };
        for (c.made = 0; c.made < 2; c.made++)
            retries += hocket__retry_decide(&hocket__retry_default, &c, &b).again;
    }
    assert_in_range(retries, 1990, 2012);
    struct hocket__retry_case c = { .err = &e, .left_ms = -1 };
    struct hocket__retry_verdict v;
    do
        v = hocket__retry_decide(&hocket__retry_default, &c, &b);
    while (v.again);
    assert_string_equal(v.reason, "budget");
    c.err = &limited; /* the lane holds those back */
    assert_true(hocket__retry_decide(&hocket__retry_default, &c, &b).again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_resets),
        cmocka_unit_test(test_servers_clock),
        cmocka_unit_test(test_quotas),
        cmocka_unit_test(test_what),
        cmocka_unit_test(test_servers_word),
        cmocka_unit_test(test_overloaded_as_first_event),
        cmocka_unit_test(test_broken_off),
        cmocka_unit_test(test_no_answer),
        cmocka_unit_test(test_limited_inside),
        cmocka_unit_test(test_loading),
        cmocka_unit_test(test_delay_bounds),
        cmocka_unit_test(test_asked_for),
        cmocka_unit_test(test_attempts),
        cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
