/* What goes wrong: timeouts, limits, broken answers, refused requests, no memory; and what is
 * said about it. */
#include "net/http/fixture.h"
#include "support/loopback.h"

#include <stdlib.h>
#include <unistd.h>

#define HEAD(length) "HTTP/1.1 200 OK\r\nContent-Length: " #length "\r\n\r\n"
#define CHUNKED      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

static const struct test_step hello[] = { TEST_SEND(HEAD(5) "hello") };
static const struct test_step silence[] = { TEST_THEN(TEST_HANG) };
static const struct test_step endless[] = { TEST_SEND(CHUNKED),
    TEST_DRIP("6\r\nevent\n\r\n", 100000, 2) };
static const struct test_step stops[] = { TEST_SEND(CHUNKED), TEST_DRIP("6\r\nevent\n\r\n", 3, 5),
    TEST_THEN(TEST_HANG) };

/* Runs one request that fails, and checks the code and that no secret is told. */
static void fails(struct fixture *f, struct seen *s, struct hocket__http_spec spec,
    const char *path, int status, const char *message)
{
    struct hocket__http_header key = { HOCKET__STR("X-Key"), HOCKET__STR("secret") };
    char secret_path[512];
    bool whole = path[0] != '/';
    snprintf(secret_path, sizeof(secret_path), whole ? "%s" : "%s?query=secret", path);
    if (!spec.headers) {
        spec.headers = &key;
        spec.n_headers = 1;
    }
    start(f, s, spec, secret_path);
    run_until_done(s);
    assert_int_equal(s->done, 1);
    if (s->err.status != status)
        fail_msg("%d is not %d: %s", s->err.status, status, s->err.message);
    assert_contains(s->err.message, message);
    assert_lacks(s->err.message, "secret");
}

/* ---- Timeouts ---------------------------------------------------------------------------- */

#define LONGEST 32 /* times as long */

static int times(int ms, int by)
{
    return ms * by;
}

static struct hocket__http_spec longer(struct hocket__http_spec spec, int by)
{
    spec.first_ms = times(spec.first_ms, by);
    spec.idle_ms = times(spec.idle_ms, by);
    spec.total_ms = times(spec.total_ms, by);
    return spec;
}

/* How a request of these times ends: with this message, after so many milliseconds and with so
 * much of a body. The server's thread may get no processor for longer than the times are: then it
 * was the machine that was silent, and all is tried again with times twice as long.
 * How long at most is counted in turns of the loop, which makes one in 2 ms where it can. */
static void times_out(struct fixture *f, struct seen *s, struct hocket__http_spec spec,
    const char *path, const char *message, int ms, size_t body)
{
    char whole[128];
    bool progress = s->progress;
    for (int by = 1; by <= LONGEST; by *= 2) {
        *s = (struct seen){ .progress = progress };
        f->turns = 0;
        fails(f, s, longer(spec, by), path, HOCKET_ETIMEOUT, " ms");
        snprintf(whole, sizeof(whole), "%s %d ms", message, times(ms, by));
        if (!strstr(s->err.message, whole) || s->body_len < body)
            continue;
        assert_true(s->timing.total_us >= (uint64_t) times(ms, by) * 1000);
        assert_in_range(f->turns, 1, 250 * by);
        return;
    }
    fail_msg("%s, with %d bytes", s->err.message, (int) s->body_len);
}

static void test_first(void **state)
{
    struct fixture *f = *state;
    struct seen s = { 0 };
    test_server_on(f->server, "/", TEST_STEPS(silence));
    times_out(
        f, &s, (struct hocket__http_spec){ .first_ms = 50 }, "/", "no answer came within", 50, 0);
    assert_contains(s.err.message, "127.0.0.1:");
    assert_true(s.err.retryable);
    assert_true(test_server_wait_closed(f->server, 1, 10000));
}

static void test_idle(void **state)
{
    struct fixture *f = *state;
    struct seen s = { 0 };
    test_server_on(f->server, "/", TEST_STEPS(stops));
    times_out(f, &s, (struct hocket__http_spec){ .first_ms = 5000, .idle_ms = 60 }, "/",
        "the answer stopped: nothing came for", 60, 18);
    assert_int_equal(s.body_len, 18);
    assert_int_equal(s.err.http_status, 200);
    assert_true(s.timing.total_us >= 70000);
}

static void test_total(void **state)
{
    struct fixture *f = *state;
    struct seen s = { 0 };
    test_server_on(f->server, "/", TEST_STEPS(endless));
    times_out(f, &s, (struct hocket__http_spec){ .total_ms = 80, .idle_ms = 50, .first_ms = 50 },
        "/", "not done within", 80, 66);
}

/* Bytes without events do not count for a request that says what counts. */
static void test_own_progress(void **state)
{
    struct fixture *f = *state;
    struct seen never = { 0 }, sometimes = { .progress = true };
    test_server_on(f->server, "/", TEST_STEPS(endless));
    times_out(f, &never, (struct hocket__http_spec){ .own_progress = true, .first_ms = 60 }, "/",
        "the answer began, but nothing of use came within", 60, 0);
    times_out(f, &sometimes,
        (struct hocket__http_spec){
            .own_progress = true, .first_ms = 60, .idle_ms = 60, .total_ms = 200 },
        "/", "not done within", 200, 0);
}

static void test_waiting_for_a_connection(void **state)
{
    struct fixture *f = *state;
    struct seen s = { 0 }, waits = { 0 };
    close_http(f);
    fixture_open(f, (struct hocket__http_options){ .max_per_host = 1 });
    test_server_on(f->server, "/", TEST_STEPS(endless));
    get(f, &s, "/");
    fails(f, &waits, (struct hocket__http_spec){ .total_ms = 50, .connect_ms = 10 }, "/",
        HOCKET_ETIMEOUT, "no free connection within 50 ms");
    assert_int_equal(s.done, 0);
}

/* Runs the loop until the server has the request, and no longer. Whether nothing has come by then,
 * not even the end. */
static bool is_under_way(struct fixture *f, struct seen *s)
{
    while (test_server_counts(f->server).requests == 0 && s->done == 0)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    return strcmp(s->log, "") == 0;
}

/* An answer that came in time is not late because the host was busy. */
static void test_loop_held_up(void **state)
{
    struct fixture *f = *state;
    static const struct test_step soon[] = { TEST_PAUSE(40), TEST_SEND(HEAD(5) "hello") };
    struct hocket__http_spec spec = { .first_ms = 100, .idle_ms = 20 };
    struct seen s = { 0 };
    bool under_way = false;
    for (int by = 1; by <= LONGEST && !under_way; by *= 2) {
        test_server_free(f->server);
        f->server = test_server_new();
        test_server_on(f->server, "/", TEST_STEPS(soon));
        s = (struct seen){ 0 };
        start(f, &s, longer(spec, by), "/");
        under_way = is_under_way(f, &s);
        if (under_way) {
            uv_sleep((unsigned) times(200, by));
            assert_true(test_server_wait_answers(f->server, 1, 10000));
        }
        run_until_done(&s);
    }
    assert_true(under_way);
    assert_ok(&s);
}

/* ---- Names and connections -------------------------------------------------------------- */

static void test_refused(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_in at;
    int fd = test_loopback(&at, 0);
    char url[64], host[32];
    struct seen s = { 0 };
    assert_true(fd >= 0);
    snprintf(url, sizeof(url), "http://me:secret@127.0.0.1:%d/?secret", ntohs(at.sin_port));
    snprintf(host, sizeof(host), "127.0.0.1:%d: cannot connect", ntohs(at.sin_port));
    fails(f, &s, (struct hocket__http_spec){ 0 }, url, HOCKET_ECONNECT, host);
    assert_string_equal(s.log, "D");
    assert_true(s.err.retryable);
    close(fd);
}

static bool none_active(void *ud)
{
    return hocket__http_active(((struct fixture *) ud)->http) == 0;
}

/* They share one look-up, and its failure. */
static void test_unknown_name(void **state)
{
    struct fixture *f = *state;
    struct seen s[50] = { { 0 } };
    for (int i = 0; i < 50; i++)
        get(f, &s[i], "http://nobody.example.invalid/");
    run_until(f, none_active, f);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(s[i].err.status, HOCKET_ECONNECT);
        assert_contains(s[i].err.message, "nobody.example.invalid: its name cannot be resolved");
        assert_int_equal(s[i].timing.queued_us > 0, i == 0);
    }
}

static bool allow_none(const struct sockaddr *to)
{
    return to->sa_family != AF_INET;
}

static void test_address_not_allowed(void **state)
{
    struct fixture *f = *state;
    struct seen s = { 0 };
    fails(f, &s, (struct hocket__http_spec){ .allow_address = allow_none }, "/", HOCKET_EDENIED,
        "its address is not allowed");
    assert_int_equal(test_server_counts(f->server).accepted, 0);
}

static int looked_at;

/* A name that is public when it is looked up first, and leads to this machine the next time. */
static bool allow_first(const struct sockaddr *to)
{
    return looked_at++ == 0;
}

static void test_rebinding(void **state)
{
    static const struct test_step once[] = {
        TEST_SEND("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"),
        TEST_THEN(TEST_CLOSE)
    };
    struct fixture *f = *state;
    struct seen first = { 0 }, second = { 0 };
    struct hocket__http_spec spec = { .allow_address = allow_first };
    looked_at = 0;
    test_server_on(f->server, "/", TEST_STEPS(once));
    start(f, &first, spec, "/");
    run_until_done(&first);
    assert_string_equal(first.body, "hello");
    fails(f, &second, spec, "/", HOCKET_EDENIED, "its address is not allowed");
    assert_int_equal(looked_at, 2);
    assert_int_equal(test_server_counts(f->server).accepted, 1);
}

static void test_tls_refused(void **state)
{
    struct fixture *f = *state;
    struct seen s = { 0 };
    char url[64];
    test_server_on(f->server, "/", TEST_STEPS(hello));
    snprintf(url, sizeof(url), "https://127.0.0.1:%d/", test_server_port(f->server));
    fails(f, &s, (struct hocket__http_spec){ .connect_ms = 100 }, url, HOCKET_ETIMEOUT,
        "no connection within 100 ms (TLS handshake)");
}

/* ---- Broken answers --------------------------------------------------------------------- */

static void test_cut_short(void **state)
{
    struct fixture *f = *state;
    static const struct test_step by_length[] = { TEST_SEND(HEAD(10) "hello"),
        TEST_THEN(TEST_CLOSE) };
    static const struct test_step by_chunk[] = { TEST_SEND(CHUNKED "5\r\nhello\r\n"),
        TEST_THEN(TEST_CLOSE) };
    static const struct test_step by_reset[] = { TEST_SEND(HEAD(10) "hello"),
        { .pause_ms = 20, .then = TEST_RESET } };
    static const struct test_step at_once[] = { TEST_THEN(TEST_CLOSE) };
    struct seen a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
    test_server_on(f->server, "/length", TEST_STEPS(by_length));
    test_server_on(f->server, "/chunk", TEST_STEPS(by_chunk));
    test_server_on(f->server, "/reset", TEST_STEPS(by_reset));
    test_server_on(f->server, "/", TEST_STEPS(at_once));
    struct hocket__http_spec spec = { 0 };
    fails(f, &a, spec, "/length", HOCKET_ETRUNCATED, "closed in the middle of the answer");
    fails(f, &b, spec, "/chunk", HOCKET_ETRUNCATED, "closed in the middle of the answer");
    fails(f, &c, spec, "/reset", HOCKET_ETRUNCATED, "broke in the middle of the answer");
    fails(f, &d, spec, "/", HOCKET_ETRUNCATED, "closed without an answer");
    assert_string_equal(a.body, "hello");
    assert_string_equal(b.body, "hello");
    assert_string_equal(c.body, "hello");
    assert_string_equal(d.log, "D");
    assert_int_equal(a.err.http_status, 200);
}

/* A connection that was reused and breaks before an answer: what the server may have acted on is not sent again by
 * itself, what only asks is. */
static void test_not_sent_twice(void **state)
{
    struct fixture *f = *state;
    static const struct test_step closes[] = { TEST_THEN(TEST_CLOSE) };
    static const struct test_step resets[] = { TEST_THEN(TEST_RESET) };
    struct seen first = { 0 }, second = { 0 }, third = { 0 };
    struct seen by_close = { 0 }, by_reset = { 0 }, asked = { 0 };
    struct hocket__http_spec put = { .method = "POST" };
    test_server_on(f->server, "/hello", TEST_STEPS(hello));
    test_server_on(f->server, "/closes", TEST_STEPS(closes));
    test_server_on(f->server, "/resets", TEST_STEPS(resets));
    start(f, &first, (struct hocket__http_spec){ 0 }, "/hello");
    run_until_done(&first);
    fails(f, &by_close, put, "/closes", HOCKET_EIO, "broke before an answer came");
    assert_true(by_close.err.retryable);
    assert_int_equal(test_server_counts(f->server).requests, 2);
    start(f, &second, (struct hocket__http_spec){ 0 }, "/hello");
    run_until_done(&second);
    fails(f, &by_reset, put, "/resets", HOCKET_EIO, "broke before an answer came");
    assert_int_equal(test_server_counts(f->server).requests, 4);
    start(f, &third, (struct hocket__http_spec){ 0 }, "/hello");
    run_until_done(&third);
    fails(f, &asked, (struct hocket__http_spec){ 0 }, "/closes", HOCKET_ETRUNCATED,
        "closed without an answer");
    assert_int_equal(test_server_counts(f->server).requests, 7);
}

static void test_not_http(void **state)
{
    struct fixture *f = *state;
    static const struct test_step ssh[] = { TEST_SEND("SSH-2.0-OpenSSH_9.2\x1b[31m\r\n"),
        TEST_THEN(TEST_CLOSE) };
    static const struct test_step upgrade[] = { TEST_SEND(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n") };
    static const struct test_step chunk[] = { TEST_SEND(CHUNKED "2\r\nokay\r\n0\r\n\r\n") };
    struct seen a = { 0 }, b = { 0 }, c = { 0 };
    test_server_on(f->server, "/chunk", TEST_STEPS(chunk));
    fails(f, &c, (struct hocket__http_spec){ 0 }, "/chunk", HOCKET_EPROTOCOL, "malformed");
    test_server_on(f->server, "/ssh", TEST_STEPS(ssh));
    test_server_on(f->server, "/upgrade", TEST_STEPS(upgrade));
    fails(f, &a, (struct hocket__http_spec){ 0 }, "/ssh", HOCKET_EPROTOCOL, "");
    assert_lacks(a.err.message, "\x1b");
    fails(f, &b, (struct hocket__http_spec){ 0 }, "/upgrade", HOCKET_EPROTOCOL, "");
    assert_string_equal(b.log, "D");
}

/* ---- Limits ------------------------------------------------------------------------------ */

static void test_headers_too_large(void **state)
{
    struct fixture *f = *state;
    static const struct test_step many[] = { TEST_SEND("HTTP/1.1 200 OK\r\n"),
        TEST_REPEAT(
            "X-Padding: 0123456789012345678901234567890123456789012345678901234567890123\r\n",
            100000) }; /* libcurl 8.22 takes 5,000 headers: fewer of these are too long */
    static const struct test_step hints[] = { TEST_REPEAT(
        "HTTP/1.1 103 Hints\r\nX: 0123456789\r\n\r\n", 100000) };
    static const struct test_step one[] = { TEST_SEND("HTTP/1.1 200 OK\r\nX: "),
        TEST_REPEAT("01234567890123456789", 100000) };
    struct hocket__http_spec small = { .max_header = 1000 };
    struct seen a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
    test_server_on(f->server, "/many", TEST_STEPS(many));
    test_server_on(f->server, "/hints", TEST_STEPS(hints));
    test_server_on(f->server, "/one", TEST_STEPS(one));
    fails(f, &a, small, "/many", HOCKET_ELIMIT, "headers are longer than 1000 bytes");
    assert_in_range(strlen(a.headers), 1, 1000);
    fails(f, &b, small, "/hints", HOCKET_ELIMIT, "headers are longer than 1000 bytes");
    assert_string_equal(b.log, "D");
    fails(f, &c, (struct hocket__http_spec){ 0 }, "/many", HOCKET_ELIMIT,
        "headers are longer than 262144 bytes");
    fails(f, &d, (struct hocket__http_spec){ 0 }, "/one", HOCKET_ELIMIT, "too long");
}

static void test_body_too_large(void **state)
{
    struct fixture *f = *state;
    struct seen exact = { 0 }, over = { 0 }, stream = { 0 };
    test_server_on(f->server, "/hello", TEST_STEPS(hello));
    test_server_on(f->server, "/endless", TEST_STEPS(endless));
    start(f, &exact, (struct hocket__http_spec){ .max_body = 5 }, "/hello");
    run_until_done(&exact);
    assert_ok(&exact);
    fails(f, &over, (struct hocket__http_spec){ .max_body = 4 }, "/hello", HOCKET_ELIMIT,
        "the answer is longer than 4 bytes");
    assert_int_equal(over.body_len, 0);
    assert_int_equal(over.err.http_status, 0);
    fails(f, &stream, (struct hocket__http_spec){ .max_body = 50 }, "/endless", HOCKET_ELIMIT,
        "the answer is longer than 50 bytes");
    assert_int_equal(stream.body_len, 48);
}

/* ---- Compressed answers ------------------------------------------------------------------ */

static void put_bits(unsigned char *out, size_t *at, unsigned bits, int n)
{
    for (int i = 0; i < n; i++, ++*at)
        out[*at / 8] |= (unsigned char) ((bits >> i & 1) << (*at % 8));
}

/* A gzip text of one NUL and n times "258 bytes as the one before", 13 bits each. */
static size_t make_bomb(unsigned char *out, size_t n)
{
    static const unsigned char head[10] = { 0x1f, 0x8b, 8 };
    size_t at = sizeof(head) * 8;
    memcpy(out, head, sizeof(head));
    put_bits(out, &at, 1 | 1 << 1, 3); /* last block, fixed codes */
    put_bits(out, &at, 0x0c, 8);       /* literal 0: 00110000, most significant bit first */
    for (size_t i = 0; i < n; i++)
        put_bits(out, &at, 0xa3, 13); /* length 285: 11000101, distance 1: 00000 */
    return at / 8;
}

static void test_gzip(void **state)
{
    struct fixture *f = *state;
    static const struct test_step packed[] = { TEST_SEND(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
        "Content-Length: 28\r\n\r\n"
        "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xcb\x48\xcd\xc9\xc9\x57\xc8\x40\x90\x00"
        "\x80\x88\xf9\xe5\x11\x00\x00\x00") };
    static unsigned char bomb[40000];
    struct seen good = { 0 }, plain = { 0 }, bad = { 0 };
    size_t n = make_bomb(bomb, 20000); /* 5 MB out of 32 KB */
    struct test_step steps[] = {
        TEST_SEND("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 100000\r\n\r\n"),
        { .data = (char *) bomb, .len = n },
        TEST_THEN(TEST_HANG),
    };
    test_server_on(f->server, "/good", TEST_STEPS(packed));
    test_server_on(f->server, "/bomb", TEST_STEPS(steps));
    get(f, &good, "/good");
    run_until_done(&good);
    assert_ok(&good);
    assert_string_equal(good.body, "hello hello hello");
    start(f, &plain, (struct hocket__http_spec){ .method = "GET", .plain = true }, "/good");
    run_until_done(&plain);
    assert_ok(&plain);
    assert_string_equal(plain.body, "hello hello hello"); /* though it was not asked for */
    assert_non_null(strstr(test_server_request(f->server, 0), "\r\nAccept-Encoding: "));
    assert_non_null(strstr(test_server_request(f->server, 0), "\r\nAccept: */*\r\n"));
    assert_null(strstr(test_server_request(f->server, 1), "Accept"));
    struct hocket__http_header own = { HOCKET__STR("accept"), HOCKET__STR("text/event-stream") };
    plain = (struct seen){ 0 };
    start(f, &plain,
        (struct hocket__http_spec){
            .method = "GET", .plain = true, .headers = &own, .n_headers = 1 },
        "/good");
    run_until_done(&plain);
    assert_non_null(strstr(test_server_request(f->server, 2), "\r\naccept: text/event-stream\r\n"));
    fails(f, &bad, (struct hocket__http_spec){ .max_body = 1000000 }, "/bomb", HOCKET_ELIMIT,
        "the answer is longer than 1000000 bytes");
    assert_in_range(bad.body_len, 500000, 1000000);
}

/* ---- Requests that are refused ------------------------------------------------------------ */

static void refuse(
    struct fixture *f, struct hocket__http_spec spec, int status, const char *message)
{
    struct hocket_error err = { 0 };
    struct hocket__buf body;
    hocket__buf_init(&body, &f->alloc.a, 0);
    hocket__buf_adds(&body, "kept");
    spec.body = &body;
    if (!spec.url)
        spec.url = "http://127.0.0.1/";
    if (!spec.method)
        spec.method = "POST";
    assert_int_equal(hocket__http_start(f->http, &spec, &seen_handler, NULL, &err), status);
    assert_int_equal(err.status, status);
    assert_contains(err.message, message);
    assert_lacks(err.message, "secret");
    assert_int_equal(hocket__http_start(f->http, &spec, &seen_handler, NULL, NULL), status);
    assert_int_equal(body.len, 4);
    assert_int_equal(hocket__http_active(f->http), 0);
    hocket__buf_deinit(&body);
}

static void test_bad_urls(void **state)
{
    static const char *const urls[] = { "", "ftp://h/secret", "file:///etc/passwd", "h", "http://",
        "http:///secret", "http://h:99999/secret", "http://h:x/secret", "http://h/secret a",
        "http://h/secret\r\nX: y", "http://[::1/secret", "https://a b/secret", "//h/secret",
        "http//h" };
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++)
        refuse(*state, (struct hocket__http_spec){ .url = urls[i] }, HOCKET_EINVAL, "URL");
}

static void test_bad_headers(void **state)
{
    static const struct hocket__http_header bad[] = {
        { { "X-Key", 5 }, { "secret\r\nHost: x", 15 } },
        { { "X-Key", 5 }, { "secret\n", 7 } },
        { { "X-Key", 5 }, { "secret\0", 7 } },
        { { "X-Key:", 6 }, { "secret", 6 } },
        { { "X-Key\r\nA", 8 }, { "secret", 6 } },
        { { "X Key", 5 }, { "secret", 6 } },
        { { "", 0 }, { "secret", 6 } },
        { { "Content-Length", 14 }, { "1", 1 } },
        { { "transfer-encoding", 17 }, { "chunked", 7 } },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        refuse(*state, (struct hocket__http_spec){ .headers = &bad[i], .n_headers = 1 },
            HOCKET_EINVAL, "header");
    struct hocket__http_header *many = calloc(1000, sizeof(*many));
    refuse(*state, (struct hocket__http_spec){ .headers = many, .n_headers = 1000 }, HOCKET_ELIMIT,
        "more than 256 headers");
    free(many);
    refuse(*state, (struct hocket__http_spec){ .method = "GET /x" }, HOCKET_EINVAL, "method");
    refuse(*state, (struct hocket__http_spec){ .method = "" }, HOCKET_EINVAL, "method");
}

static void test_too_many_requests(void **state)
{
    struct fixture *f = *state;
    struct seen s[3] = { { 0 } };
    struct hocket_error err;
    close_http(f);
    fixture_open(f, (struct hocket__http_options){ .max_requests = 2 });
    test_server_on(f->server, "/", TEST_STEPS(hello));
    get(f, &s[0], "/");
    get(f, &s[1], "/");
    struct hocket__http_spec spec = { .method = "GET", .url = "http://127.0.0.1/" };
    assert_int_equal(hocket__http_start(f->http, &spec, &seen_handler, &s[2], &err), HOCKET_ELIMIT);
    run_until_done(&s[0]);
    run_until_done(&s[1]);
    get(f, &s[2], "/");
    run_until_done(&s[2]);
    assert_ok(&s[2]);
}

/* ---- No memory ----------------------------------------------------------------------------- */

struct poor {
    int started, done, failed;
};

static int poor_data(void *ud, const char *p, size_t n, struct hocket_error *err)
{
    return 0;
}

static void poor_done(
    void *ud, const struct hocket_error *err, const struct hocket__http_timing *timing)
{
    struct poor *p = ud;
    p->done++;
    p->failed += err != NULL;
}

static const struct hocket__http_handler poor_handler = { .on_data = poor_data,
    .on_done = poor_done };

static void poor_start(
    struct test_alloc *t, struct hocket__http *http, const char *url, struct poor *p)
{
    struct hocket__http_header h = { HOCKET__STR("X-Key"), HOCKET__STR("secret") };
    struct hocket_error err;
    struct hocket__buf body;
    hocket__buf_init(&body, &t->a, 0);
    hocket__buf_adds(&body, "body");
    struct hocket__http_spec spec = { .method = "POST",
        .url = url,
        .body = &body,
        .headers = &h,
        .n_headers = 1,
        .pool = "pool",
        .proxy = "",
        .max_redirects = 1,
        .total_ms = 5000 };
    int64_t id = hocket__http_start(http, &spec, &poor_handler, p, &err);
    hocket__buf_deinit(&body);
    p->started += id > 0;
    if (id <= 0 && (id != HOCKET_ENOMEM || err.status != HOCKET_ENOMEM || !t->failed))
        fail_msg("%s", err.message);
}

/* A whole life: two requests at once, then one that is redirected. */
static void poor_life(struct test_alloc *t, void *ud)
{
    struct test_server *server = ud;
    struct poor p = { 0 };
    struct hocket__http *http;
    uv_loop_t loop;
    struct hocket__http_options o = {
        .alloc = &t->a, .loop = &loop, .user_agent = "u", .ca_file = "/none"
    };
    uv_loop_init(&loop);
    int status = hocket__http_new(&o, &http, NULL);
    assert_true(status == 0 || (status == HOCKET_ENOMEM && t->failed));
    if (status == 0) {
        poor_start(t, http, test_server_url(server, "/hello"), &p);
        poor_start(t, http, test_server_url(server, "/hello"), &p);
        uv_run(&loop, UV_RUN_DEFAULT);
        poor_start(t, http, test_server_url(server, "/away"), &p);
        uv_run(&loop, UV_RUN_DEFAULT);
        assert_int_equal(p.done, p.started);
        assert_true(t->failed || (p.started == 3 && p.failed == 0));
        hocket__http_close(http, NULL, NULL);
        uv_run(&loop, UV_RUN_DEFAULT);
    }
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void test_no_memory(void **state)
{
    struct fixture *f = *state;
    static const struct test_step away[] = { TEST_SEND(
        "HTTP/1.1 302 Away\r\nLocation: /hello\r\nContent-Length: 0\r\n\r\n") };
    test_server_on(f->server, "/hello", TEST_STEPS(hello));
    test_server_on(f->server, "/away", TEST_STEPS(away));
    assert_in_range(test_alloc_each(poor_life, f->server), 20, 200);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_first),
        CASE(test_idle),
        CASE(test_total),
        CASE(test_own_progress),
        CASE(test_waiting_for_a_connection),
        CASE(test_loop_held_up),
        CASE(test_refused),
        CASE(test_unknown_name),
        CASE(test_address_not_allowed),
        CASE(test_rebinding),
        CASE(test_tls_refused),
        CASE(test_cut_short),
        CASE(test_not_sent_twice),
        CASE(test_not_http),
        CASE(test_headers_too_large),
        CASE(test_body_too_large),
        CASE(test_gzip),
        CASE(test_bad_urls),
        CASE(test_bad_headers),
        CASE(test_too_many_requests),
        CASE(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
