/* The good paths: what is sent, what is handed over, in which order, on which connection. */
#include "net/http/fixture.h"

#include <stdlib.h>
#include <unistd.h>

#define HEAD(length) "HTTP/1.1 200 OK\r\nContent-Length: " #length "\r\n\r\n"
#define CHUNKED      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Kind:  A b \r\n\r\n"

static const struct test_step hello[] = { TEST_SEND(HEAD(5) "hello") };
static const struct test_step stream[] = { TEST_SEND(CHUNKED), TEST_DRIP("6\r\nevent\n\r\n", 20, 1),
    TEST_SEND("0\r\n\r\n") };

/* ---- What is sent ---------------------------------------------------------------------- */

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

/* The environment's proxy: for others, and never for this machine. */
static void test_proxy_of_the_environment(void **state)
{
    struct fixture *f = *state;
    struct seen here = { 0 }, there = { 0 }, told = { 0 };
    char proxy[64];
    int port = test_server_port(f->server);
    test_server_on(f->server, "/hello", TEST_STEPS(hello));
    test_server_on(f->server, "http://elsewhere.invalid/hello", TEST_STEPS(hello));
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    get(f, &here, "/hello");
    run_until_done(&here);
    assert_ok(&here);
    snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%d", port);
    setenv("http_proxy", proxy, 1);
    get(f, &there, "http://elsewhere.invalid/hello");
    run_until_done(&there);
    unsetenv("http_proxy");
    assert_ok(&there);
    assert_contains(
        test_server_request(f->server, 1), "GET http://elsewhere.invalid/hello HTTP/1.1\r\n");
    snprintf(proxy, sizeof(proxy), "http://127.0.0.1:1");
    start(f, &told, (struct hocket__http_spec){ .method = "GET", .proxy = proxy }, "/hello");
    run_until_done(&told);
    assert_int_equal(told.err.status, HOCKET_ECONNECT); /* who names one gets it */
}

static void lend(struct fixture *f, struct seen *s, struct hocket__buf *b, const char *path)
{
    hocket__buf_init(b, &f->alloc.a, 0);
    hocket__buf_adds(b, "a body");
    start(f, s, (struct hocket__http_spec){ .body = b, .body_back = true }, path);
    assert_int_equal(b->len, 0);
}

/* Whoever wants a body again has it when the request has ended, however; not when it was cancelled. */
static void test_body_back(void **state)
{
    struct fixture *f = *state;
    struct seen good = { 0 }, bad = { .give_up = HOCKET_EPROTOCOL }, none = { 0 };
    struct hocket__buf b;
    test_server_on(f->server, "/v1", TEST_STEPS(stream));
    lend(f, &good, &b, "/v1");
    run_until_done(&good);
    assert_ok(&good);
    assert_string_equal(b.data, "a body");
    hocket__buf_deinit(&b);
    lend(f, &bad, &b, "/v1");
    run_until_done(&bad);
    assert_int_equal(bad.err.status, HOCKET_EPROTOCOL);
    assert_string_equal(b.data, "a body");
    hocket__buf_deinit(&b);
    lend(f, &none, &b, "/v1");
    hocket__http_cancel(f->http, none.id);
    run_for(f, 5);
    assert_null(b.data);
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

/* One connection and one easy handle, with something different each time: nothing of the
 * request before may be left. */
static void test_methods_and_headers_one_after_the_other(void **state)
{
    struct fixture *f = *state;
    struct hocket__http_header one[] = { { HOCKET__STR("X-Key"), HOCKET__STR("secret") },
        { HOCKET__STR("Content-Type"), HOCKET__STR("application/json") },
        { HOCKET__STR("X-Empty"), HOCKET__STR("") } };
    struct hocket__http_spec specs[] = {
        { .method = "POST", .headers = one, .n_headers = 3 },
        { .method = "GET" },
        { .method = "DELETE" },
        { .method = "PUT", .headers = one, .n_headers = 1 },
        { .method = "HEAD" },
        { .method = "GET", .headers = one, .n_headers = 1 },
        { .method = "POST" },
    };
    const char *bodies[] = { "one", NULL, NULL, "four", NULL, NULL, NULL };
    static const struct test_step head[] = { TEST_SEND(HEAD(5)) };
    test_server_on(f->server, "/hello", TEST_STEPS(hello));
    test_server_on(f->server, "/head", TEST_STEPS(head));
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        struct seen s = { 0 };
        struct hocket__buf body;
        hocket__buf_init(&body, &f->alloc.a, 0);
        hocket__buf_adds(&body, bodies[i] ? bodies[i] : "");
        specs[i].body = bodies[i] ? &body : NULL;
        start(f, &s, specs[i], i == 4 ? "/head" : "/hello");
        run_until_done(&s);
        assert_ok(&s);
        assert_int_equal(s.body_len, i == 4 ? 0 : 5);
        hocket__buf_deinit(&body);
        const char *sent = test_server_request(f->server, (int) i);
        assert_ptr_equal(strstr(sent, specs[i].method), sent);
        assert_int_equal(strstr(sent, "\r\nX-Key: secret\r\n") != NULL, specs[i].n_headers > 0);
        assert_int_equal(strstr(sent, "\r\nX-Empty:") != NULL, specs[i].n_headers == 3);
        const char *end = strstr(sent, "\r\n\r\n") + 4;
        assert_string_equal(end, bodies[i] ? bodies[i] : "");
        assert_int_equal(strstr(sent, "Content-Length") != NULL, bodies[i] || i == 6);
        assert_int_equal(strstr(sent, "Content-Type") != NULL, i == 0);
    }
    assert_int_equal(test_server_counts(f->server).accepted, 1);
}

static void test_user_agent(void **state)
{
    struct fixture *f = *state;
    struct seen s = { 0 };
    close_http(f);
    fixture_open(f, (struct hocket__http_options){ .user_agent = "hocket/1" });
    get(f, &s, "/none");
    run_until_done(&s);
    assert_int_equal(s.status, 404);
    assert_contains(test_server_request(f->server, 0), "\r\nUser-Agent: hocket/1\r\n");
}

/* ---- Connections ------------------------------------------------------------------------- */

static void test_reuse_and_pools(void **state)
{
    struct fixture *f = *state;
    struct seen a = { 0 }, b = { 0 }, c = { 0 };
    test_server_on(f->server, "/hello", TEST_STEPS(hello));
    start(f, &a, (struct hocket__http_spec){ .pool = "one" }, "/hello");
    run_until_done(&a);
    start(f, &b, (struct hocket__http_spec){ .pool = "one" }, "/hello?again");
    run_until_done(&b);
    assert_int_equal(test_server_counts(f->server).accepted, 1);
    start(f, &c, (struct hocket__http_spec){ .pool = "two" }, "/hello");
    run_until_done(&c);
    assert_int_equal(test_server_counts(f->server).accepted, 2);
    assert_ok(&a);
    assert_ok(&b);
    assert_ok(&c);
    assert_false(a.timing.reused);
    assert_true(b.timing.reused);
    assert_false(c.timing.reused);
    assert_int_equal(a.timing.bytes_in, strlen(HEAD(5) "hello"));
    assert_int_equal(a.timing.bytes_out, strlen(test_server_request(f->server, 0)));
    assert_true(a.timing.queued_us <= a.timing.connect_us);
    assert_true(a.timing.connect_us <= a.timing.first_byte_us);
    assert_true(a.timing.first_byte_us <= a.timing.total_us);
}

/* The server closes an idle connection: the next request takes a new one. */
static void test_idle_connection_closed_by_the_server(void **state)
{
    struct fixture *f = *state;
    static const struct test_step close_after[] = { TEST_SEND(HEAD(5) "hello"),
        { .pause_ms = 20, .then = TEST_CLOSE } };
    struct seen a = { 0 }, b = { 0 };
    test_server_on(f->server, "/hello", TEST_STEPS(close_after));
    get(f, &a, "/hello");
    run_until_done(&a);
    run_for(f, 50);
    post(f, &b, "/hello", "x");
    run_until_done(&b);
    assert_ok(&a);
    assert_ok(&b);
    assert_int_equal(test_server_counts(f->server).accepted, 2);
}

/* An idle connection does not keep a loop alive. */
static void test_idle_actor_lets_the_loop_end(void **state)
{
    struct fixture *f = *state;
    struct seen s = { 0 };
    test_server_on(f->server, "/hello", TEST_STEPS(hello));
    get(f, &s, "/hello");
    assert_int_equal(uv_run(&f->loop, UV_RUN_DEFAULT), 0);
    assert_ok(&s);
    assert_int_equal(uv_run(&f->loop, UV_RUN_DEFAULT), 0);
}

static bool none_active(void *ud)
{
    return hocket__http_active(((struct fixture *) ud)->http) == 0;
}

static void run_many(struct fixture *f, int n, int expected_accepts)
{
    struct seen *all = calloc((size_t) n, sizeof(*all));
    test_server_on(f->server, "/v1", TEST_STEPS(stream));
    for (int i = 0; i < n; i++)
        post(f, &all[i], "/v1", "{}");
    run_until(f, none_active, f);
    for (int i = 0; i < n; i++) {
        assert_ok(&all[i]);
        assert_int_equal(all[i].body_len, 120);
        assert_string_equal(all[i].log, "ShdD");
    }
    free(all);
    assert_int_equal(test_server_counts(f->server).accepted, expected_accepts);
}

static void test_200_at_once(void **state)
{
    struct fixture *f = *state;
    run_many(f, 200, 200); /* by itself nobody waits for a connection */
    close_http(f);
    fixture_open(f, (struct hocket__http_options){ .max_per_host = 64 });
    run_many(f, 200, 200 + 64);
}

/* More than one shard, every connection used again by the second round. */
static void test_400_at_once_twice(void **state)
{
    struct fixture *f = *state;
    close_http(f);
    fixture_open(f, (struct hocket__http_options){ .max_per_host = 1000 });
    run_many(f, 400, 400);
    run_many(f, 400, 400);
}

static void test_one_connection_at_a_time_keeps_the_order(void **state)
{
    struct fixture *f = *state;
    struct seen s[4] = { { 0 } };
    static const struct test_step slow[] = { TEST_PAUSE(5), TEST_SEND(HEAD(5) "hello") };
    close_http(f);
    fixture_open(f, (struct hocket__http_options){ .max_per_host = 1 });
    test_server_on(f->server, "/hello", TEST_STEPS(slow));
    for (int i = 0; i < 4; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/hello?%d", i);
        get(f, &s[i], path);
    }
    for (int i = 0; i < 4; i++) {
        run_until_done(&s[i]);
        assert_ok(&s[i]);
        assert_int_equal(hocket__http_active(f->http), 3 - i);
        assert_int_equal(test_server_request(f->server, i)[11], '0' + i);
    }
    assert_int_equal(test_server_counts(f->server).accepted, 1);
}

/* ---- Answers of all kinds ------------------------------------------------------------------ */

static void test_1xx_is_passed_by(void **state)
{
    struct fixture *f = *state;
    static const struct test_step steps[] = {
        TEST_SEND("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
        TEST_PAUSE(5),
        TEST_SEND("HTTP/1.1 100 Continue\r\n\r\n" HEAD(2) "ok"),
    };
    struct seen s = { 0 };
    test_server_on(f->server, "/", TEST_STEPS(steps));
    get(f, &s, "/");
    run_until_done(&s);
    assert_ok(&s);
    assert_int_equal(s.status, 200);
    assert_string_equal(s.log, "ShdD");
    assert_string_equal(s.headers, "content-length=2;");
    assert_string_equal(s.body, "ok");
}

static void test_204_and_errors_have_no_special_end(void **state)
{
    struct fixture *f = *state;
    static const struct test_step none[] = { TEST_SEND("HTTP/1.1 204 No Content\r\n\r\n") };
    static const struct test_step broken[] = { TEST_SEND(
        "HTTP/1.1 500 Oh\r\nRetry-After: 3\r\nContent-Length: 2\r\n\r\nno") };
    struct seen a = { 0 }, b = { 0 };
    test_server_on(f->server, "/none", TEST_STEPS(none));
    test_server_on(f->server, "/500", TEST_STEPS(broken));
    get(f, &a, "/none");
    get(f, &b, "/500");
    run_until_done(&a);
    run_until_done(&b);
    assert_ok(&a);
    assert_ok(&b);
    assert_int_equal(a.status, 204);
    assert_string_equal(a.log, "SD");
    assert_int_equal(b.status, 500);
    assert_string_equal(b.body, "no");
    assert_contains(b.headers, "retry-after=3;");
}

static void test_trailers_and_body_until_close(void **state)
{
    struct fixture *f = *state;
    static const struct test_step trailers[] = { TEST_SEND(
        CHUNKED "2\r\nab\r\n0\r\nX-Sum: 1\r\nX-Kind: trailer\r\n\r\n") };
    static const struct test_step until_close[] = { TEST_SEND("HTTP/1.0 200 OK\r\n\r\nabc"),
        TEST_THEN(TEST_CLOSE) };
    struct seen a = { 0 }, b = { 0 };
    test_server_on(f->server, "/trailers", TEST_STEPS(trailers));
    test_server_on(f->server, "/close", TEST_STEPS(until_close));
    get(f, &a, "/trailers");
    run_until_done(&a);
    get(f, &b, "/close");
    run_until_done(&b);
    assert_ok(&a);
    assert_string_equal(a.body, "ab");
    assert_string_equal(a.headers, "transfer-encoding=chunked;x-kind=A b;");
    assert_string_equal(a.log, "ShdD");
    assert_ok(&b);
    assert_string_equal(b.body, "abc");
}

static void test_20_megabytes(void **state)
{
    struct fixture *f = *state;
    static char block[65536];
    memset(block, 'x', sizeof(block));
    struct test_step steps[] = {
        TEST_SEND(HEAD(20971520)),
        { .data = block, .len = sizeof(block), .times = 320 },
    };
    struct seen s = { 0 };
    test_server_on(f->server, "/", TEST_STEPS(steps));
    start(f, &s, (struct hocket__http_spec){ .max_body = 20971520 }, "/");
    run_until_done(&s);
    assert_ok(&s);
    assert_int_equal(s.body_len, 20971520);
    assert_int_equal(s.timing.bytes_in, 20971520 + strlen(HEAD(20971520)));
}

static void test_large_upload(void **state)
{
    struct fixture *f = *state;
    struct seen s = { 0 };
    struct hocket__buf body;
    hocket__buf_init(&body, &f->alloc.a, 0);
    for (int i = 0; i < 300000; i++)
        hocket__buf_adds(&body, "0123456789");
    test_server_on(f->server, "/", TEST_STEPS(hello));
    start(f, &s, (struct hocket__http_spec){ .body = &body }, "/");
    run_until_done(&s);
    assert_ok(&s);
    assert_contains(test_server_request(f->server, 0), "\r\nContent-Length: 3000000\r\n");
    assert_true(s.timing.bytes_out > 3000000);
}

/* ---- Redirects ------------------------------------------------------------------------------ */

#define TO(code, where)                                                                            \
    "HTTP/1.1 " code " Elsewhere\r\nLocation: " where "\r\nContent-Length: 4\r\n\r\nbody"

static void test_redirects_are_handed_over(void **state)
{
    struct fixture *f = *state;
    static const struct test_step away[] = { TEST_SEND(TO("302", "/hello")) };
    struct seen s = { 0 };
    test_server_on(f->server, "/away", TEST_STEPS(away));
    get(f, &s, "/away");
    run_until_done(&s);
    assert_ok(&s);
    assert_int_equal(s.status, 302);
    assert_string_equal(s.body, "body");
    assert_contains(s.headers, "location=/hello;");
    assert_int_equal(test_server_counts(f->server).requests, 1);
}

static void test_redirects_followed(void **state)
{
    struct fixture *f = *state;
    static const struct test_step away[] = { TEST_SEND(TO("303", "b/../next?x#y")) };
    static const struct test_step next[] = { TEST_SEND(TO("307", "hello")) };
    struct hocket__http_header key = { HOCKET__STR("X-Key"), HOCKET__STR("secret") };
    struct hocket__buf body;
    struct seen s = { 0 }, few = { 0 };
    struct hocket__http_spec spec = {
        .max_redirects = 2, .headers = &key, .n_headers = 1, .body = &body
    };
    hocket__buf_init(&body, &f->alloc.a, 0);
    hocket__buf_adds(&body, "hello");
    test_server_on(f->server, "/away", TEST_STEPS(away));
    test_server_on(f->server, "/next", TEST_STEPS(next));
    test_server_on(f->server, "/hello", TEST_STEPS(hello));
    start(f, &s, spec, "/away");
    run_until_done(&s);
    assert_ok(&s);
    assert_int_equal(s.status, 200);
    assert_string_equal(s.log, "ShdD");
    assert_string_equal(s.body, "hello");
    const char *second = test_server_request(f->server, 1);
    assert_ptr_equal(strstr(second, "GET /next?x HTTP/1.1\r\n"), second);
    assert_contains(second, "X-Key: secret");
    assert_contains(test_server_request(f->server, 2), "GET /hello ");
    assert_int_equal(test_server_counts(f->server).accepted, 1);

    start(f, &few, (struct hocket__http_spec){ .max_redirects = 1 }, "/away");
    run_until_done(&few);
    assert_int_equal(few.status, 307);
    assert_string_equal(few.body, "body");
}

/* The other host gets no key, and no body either. */
static void test_redirect_to_another_host(void **state)
{
    struct fixture *f = *state;
    struct test_server *other = test_server_new();
    char to[512], moved[512];
    snprintf(to, sizeof(to), TO("302", "%s"), test_server_url(other, "/hello"));
    snprintf(moved, sizeof(moved), TO("307", "%s"), test_server_url(other, "/hello"));
    struct test_step away[] = { { .data = to, .len = strlen(to) } };
    struct test_step kept[] = { { .data = moved, .len = strlen(moved) } };
    struct hocket__http_header h[] = { { HOCKET__STR("X-Key"), HOCKET__STR("secret") },
        { HOCKET__STR("Accept-Language"), HOCKET__STR("de") } };
    struct hocket__http_spec spec = { .max_redirects = 5, .headers = h, .n_headers = 2 };
    struct hocket__buf body;
    struct seen s = { 0 }, t = { 0 };
    test_server_on(f->server, "/away", TEST_STEPS(away));
    test_server_on(f->server, "/kept", TEST_STEPS(kept));
    test_server_on(other, "/hello", TEST_STEPS(hello));
    start(f, &s, spec, "/away");
    run_until_done(&s);
    assert_ok(&s);
    assert_string_equal(s.body, "hello");
    assert_contains(test_server_request(f->server, 0), "secret");
    assert_lacks(test_server_request(other, 0), "secret");
    assert_contains(test_server_request(other, 0), "Accept-Language: de");

    hocket__buf_init(&body, &f->alloc.a, 0);
    hocket__buf_adds(&body, "x");
    spec.body = &body;
    start(f, &t, spec, "/kept");
    run_until_done(&t);
    assert_ok(&t);
    assert_int_equal(t.status, 307);
    assert_int_equal(test_server_counts(other).requests, 1);
    test_server_free(other);
}

enum { LATE = 20 };

/* Requests whose answers have all come, and turns of the loop that are late from the beginning: how
 * many answers were taken in one turn at most. */
static int most_in_a_late_turn(struct fixture *f, uint64_t *until)
{
    struct seen s[LATE] = { 0 };
    int done = 0, most = 0, sent = test_server_counts(f->server).requests + LATE;
    *until = 0;
    for (int i = 0; i < LATE; i++)
        get(f, &s[i], "/slowly");
    while (test_server_counts(f->server).requests < sent)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    usleep(60000);
    uint64_t end = uv_hrtime() + UINT64_C(60000000000); /* of a server that gets no CPU for long */
    for (uint64_t turn = 1; done < LATE && uv_hrtime() < end; turn++) {
        int before = done;
        *until = turn; /* long ago */
        uv_run(&f->loop, UV_RUN_NOWAIT);
        done = 0;
        for (int i = 0; i < LATE; i++)
            done += s[i].done;
        most = done - before > most ? done - before : most;
    }
    assert_int_equal(done, LATE);
    for (int i = 0; i < LATE; i++)
        assert_ok(&s[i]);
    return most;
}

/* When a turn's time is over it does one thing more, and the rest comes later. (libcurl's own timers
 * serve several at once: on a slow machine they may come in between.) */
static void test_late_turns(void **state)
{
    static const struct test_step slowly[] = { TEST_PAUSE(30), TEST_SEND(HEAD(5) "hello") };
    struct fixture *f = *state;
    uint64_t until = 0;
    int most = LATE;
    close_http(f);
    fixture_open(f, (struct hocket__http_options){ .until = &until });
    test_server_on(f->server, "/slowly", TEST_STEPS(slowly));
    for (int i = 0; i < 10 && most > 2; i++)
        most = most_in_a_late_turn(f, &until);
    assert_in_range(most, 1, 2);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_get),
        CASE(test_proxy_of_the_environment),
        CASE(test_body_back),
        CASE(test_streaming_post),
        CASE(test_methods_and_headers_one_after_the_other),
        CASE(test_user_agent),
        CASE(test_reuse_and_pools),
        CASE(test_idle_connection_closed_by_the_server),
        CASE(test_idle_actor_lets_the_loop_end),
        CASE(test_200_at_once),
        CASE(test_400_at_once_twice),
        CASE(test_one_connection_at_a_time_keeps_the_order),
        CASE(test_1xx_is_passed_by),
        CASE(test_204_and_errors_have_no_special_end),
        CASE(test_trailers_and_body_until_close),
        CASE(test_20_megabytes),
        CASE(test_large_upload),
        CASE(test_redirects_are_handed_over),
        CASE(test_redirects_followed),
        CASE(test_redirect_to_another_host),
        CASE(test_late_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
