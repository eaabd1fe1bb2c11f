/* Cancelling, at every stage and from every callback, and closing the actor: sockets are closed
 * at once, nobody is called afterwards, nothing stays (the fixture's tear-down sees to that). */
#include "net/http/fixture.h"
#include "support/loopback.h"

#include <stdlib.h>
#include <unistd.h>

#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Kind: a\r\n\r\n"

static const struct test_step endless[] = { TEST_SEND(CHUNKED),
    TEST_DRIP("6\r\nevent\n\r\n", 100000, 1) };
static const struct test_step half_a_head[] = { TEST_SEND("HTTP/1.1 200 OK\r\nX-Kind: "),
    TEST_THEN(TEST_HANG) };
static const struct test_step silence[] = { TEST_THEN(TEST_HANG) };
static const struct test_step hello[] = { TEST_SEND(
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello") };

static void set_up_server(struct fixture *f)
{
    test_server_on(f->server, "/endless", TEST_STEPS(endless));
    test_server_on(f->server, "/half", TEST_STEPS(half_a_head));
    test_server_on(f->server, "/silence", TEST_STEPS(silence));
    test_server_on(f->server, "/hello", TEST_STEPS(hello));
}

/* Cancels what has come as far as `log`, then looks whether the server sees the connection
 * closed although no loop runs any more. */
static void cancel_and_check(struct seen *s, const char *log, int closed)
{
    struct fixture *f = s->f;
    assert_string_equal(s->log, log);
    uint64_t before = uv_hrtime();
    hocket__http_cancel(f->http, s->id);
    assert_in_range((uv_hrtime() - before) / 1000000, 0, 100);
    assert_int_equal(hocket__http_active(f->http), 0);
    assert_true(test_server_wait_closed(f->server, closed, 10000));
    hocket__http_cancel(f->http, s->id);
    run_for(f, 20);
    assert_string_equal(s->log, log);
}

/* ---- Stages ------------------------------------------------------------------------------ */

static void test_before_the_loop_ran(void **state)
{
    struct fixture *f = *state;
    struct seen s = { 0 };
    set_up_server(f);
    post(f, &s, "/hello", "body");
    cancel_and_check(&s, "", 0);
    assert_int_equal(test_server_counts(f->server).accepted, 0);
}

/* The resolver's thread may go on; nobody waits for it. */
static void test_while_resolving(void **state)
{
    struct fixture *f = *state;
    for (int rounds = 0; rounds < 3; rounds++) {
        struct seen s = { 0 };
        get(f, &s, "http://nobody.example.invalid/");
        for (int i = 0; i < rounds; i++)
            uv_run(&f->loop, UV_RUN_NOWAIT);
        if (!s.done)
            cancel_and_check(&s, "", 0);
    }
}

/* A listener whose queue is full lets a connection hang. */
static void test_while_connecting(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_in at;
    int listener = test_loopback(&at, 0), filler[4];
    char url[64];
    struct seen s = { 0 }, late = { 0 };
    assert_int_equal(listen(listener, 0), 0);
    for (int i = 0; i < 4; i++) {
        filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void) connect(filler[i], (struct sockaddr *) &at, sizeof(at));
    }
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/", ntohs(at.sin_port));
    get(f, &s, url);
    run_for(f, 30);
    cancel_and_check(&s, "", 0);
    start(f, &late, (struct hocket__http_spec){ .connect_ms = 50 }, url);
    run_until_done(&late);
    assert_int_equal(late.err.status, HOCKET_ETIMEOUT);
    assert_contains(late.err.message, "no connection within 50 ms (TCP connection)");
    for (int i = 0; i < 4; i++)
        close(filler[i]);
    close(listener);
}

static bool has_come(void *ud)
{
    struct fixture *f = ud;
    return test_server_counts(f->server).requests > 0;
}

static void test_after_sent(void **state)
{
    struct fixture *f = *state;
    struct seen s = { 0 };
    set_up_server(f);
    post(f, &s, "/silence", "body");
    while (!has_come(f))
        run_for(f, 1);
    cancel_and_check(&s, "", 1);
}

static bool has_head(void *ud)
{
    return ((struct seen *) ud)->status != 0;
}

static void test_in_the_head(void **state)
{
    struct fixture *f = *state;
    struct seen s = { 0 };
    set_up_server(f);
    get(f, &s, "/half");
    run_until(f, has_head, &s);
    cancel_and_check(&s, "S", 1);
}

static bool has_some_body(void *ud)
{
    return ((struct seen *) ud)->body_len >= 30;
}

static void test_in_the_body(void **state)
{
    struct fixture *f = *state;
    struct seen s = { 0 };
    set_up_server(f);
    get(f, &s, "/endless");
    run_until(f, has_some_body, &s);
    cancel_and_check(&s, "Shd", 1);
}

static void test_while_waiting_for_a_connection(void **state)
{
    struct fixture *f = *state;
    struct seen s = { 0 }, next = { 0 };
    close_http(f);
    fixture_open(f, (struct hocket__http_options){ .max_per_host = 1 });
    set_up_server(f);
    get(f, &s, "/endless");
    get(f, &next, "/hello");
    run_until(f, has_some_body, &s);
    hocket__http_cancel(f->http, next.id);
    cancel_and_check(&s, "Shd", 1);
    assert_string_equal(next.log, "");
    assert_int_equal(test_server_counts(f->server).requests, 1);
}

/* ---- From callbacks ------------------------------------------------------------------------ */

struct plan {
    char at;            /* the callback in which it happens */
    struct seen *whose; /* NULL: its own */
    int times;
    struct seen *start; /* started there as well */
};

static void carry_out(struct seen *s, char at)
{
    struct plan *plan = s->ud;
    if (at != plan->at || plan->times++ > 0)
        return;
    if (plan->start)
        get(s->f, plan->start, "/hello");
    hocket__http_cancel(s->f->http, plan->whose ? plan->whose->id : s->id);
}

static const char stages[] = "ShdD";

static void test_oneself_in_each_callback(void **state)
{
    struct fixture *f = *state;
    set_up_server(f);
    for (int i = 0; i < 4; i++) {
        struct seen fresh = { .f = f };
        struct plan plan = { .at = stages[i], .start = &fresh };
        struct seen s = { .act = carry_out, .ud = &plan };
        get(f, &s, stages[i] == 'D' ? "/hello" : "/endless");
        run_until_done(&fresh);
        assert_ok(&fresh);
        assert_string_equal(fresh.body, "hello");
        assert_int_equal(s.log[strlen(s.log) - 1], stages[i]);
        assert_int_equal(plan.times, 1);
        if (stages[i] != 'D')
            assert_true(test_server_wait_closed(f->server, i + 1, 10000));
    }
}

/* The other request may be with the same multi handle, whose callback is on the stack. */
static void test_others_in_each_callback(void **state)
{
    struct fixture *f = *state;
    set_up_server(f);
    for (int i = 0; i < 4; i++) {
        struct seen before = { 0 }, other = { 0 }, after = { 0 };
        struct plan plan = { .at = stages[i], .whose = &other };
        struct seen s = { .act = carry_out, .ud = &plan };
        int closed = test_server_counts(f->server).closed;
        get(f, &before, "/endless");
        get(f, &other, "/endless");
        run_until(f, has_some_body, &other);
        get(f, &s, "/hello");
        run_until_done(&s);
        assert_ok(&s);
        assert_true(test_server_wait_closed(f->server, closed + 1, 10000));
        assert_int_equal(hocket__http_active(f->http), 1);
        char log[64];
        strcpy(log, other.log);
        get(f, &after, "/hello");
        run_until_done(&after);
        assert_ok(&after);
        assert_string_equal(other.log, log);
        assert_int_equal(before.done, 0);
        hocket__http_cancel(f->http, before.id);
    }
}

static bool is_closed(void *ud)
{
    return *(bool *) ud;
}

static void note_closed(void *ud)
{
    *(bool *) ud = true;
}

struct closing {
    char at;
    bool asked, closed;
};

static void close_there(struct seen *s, char at)
{
    struct closing *c = s->ud;
    if (at != c->at || c->asked)
        return;
    c->asked = true;
    hocket__http_close(s->f->http, note_closed, &c->closed);
    assert_false(c->closed);
    struct hocket_error err;
    struct hocket__http_spec spec = { .method = "GET", .url = "http://127.0.0.1/" };
    assert_int_equal(hocket__http_start(s->f->http, &spec, &seen_handler, s, &err), HOCKET_ECLOSED);
}

static void test_close_in_each_callback(void **state)
{
    struct fixture *f = *state;
    set_up_server(f);
    for (int i = 0; i < 4; i++) {
        struct closing c = { .at = stages[i] };
        struct seen other[3] = { { 0 } }, s = { .act = close_there, .ud = &c };
        get(f, &other[0], "/endless");
        get(f, &other[1], "/hello");
        get(f, &s, "/hello");
        get(f, &other[2], "/hello");
        run_until(f, is_closed, &c.closed);
        assert_int_equal(s.log[strlen(s.log) - 1], stages[i]);
        f->http = NULL;
        assert_int_equal(uv_run(&f->loop, UV_RUN_DEFAULT), 0);
        fixture_open(f, (struct hocket__http_options){ 0 });
    }
}

/* An error from on_data ends the request, and the connection with it. */
static void give_up(struct seen *s, char at)
{
    if (at == 'd')
        s->give_up = HOCKET_EPROVIDER;
}

static void test_on_data_gives_up(void **state)
{
    struct fixture *f = *state;
    struct seen s = { .act = give_up };
    set_up_server(f);
    get(f, &s, "/endless");
    run_until_done(&s);
    assert_int_equal(s.err.status, HOCKET_EPROVIDER);
    assert_string_equal(s.err.message, "given up");
    assert_string_equal(s.log, "ShdD");
    assert_int_equal(s.pieces, 1);
    assert_true(test_server_wait_closed(f->server, 1, 10000));
}

/* ---- Many ---------------------------------------------------------------------------------- */

static bool has_50_open(void *ud)
{
    return test_server_counts(((struct fixture *) ud)->server).open >= 50;
}

static void test_close_with_100_in_flight(void **state)
{
    struct fixture *f = *state;
    struct seen *all = calloc(100, sizeof(*all));
    static const char *const paths[] = { "/endless", "/half", "/silence", "/hello" };
    close_http(f);
    fixture_open(f, (struct hocket__http_options){ .max_per_host = 80 });
    set_up_server(f);
    for (int i = 0; i < 100; i++) {
        struct hocket__http_spec spec = { .pool = i % 3 ? "a" : "b", .total_ms = 60000 };
        start(f, &all[i], spec, paths[i % 4]);
    }
    run_for(f, 50);
    run_until(f, has_50_open, f);
    int done = 0;
    for (int i = 0; i < 100; i++) {
        done += all[i].done;
        all[i].log[0] = 0;
    }
    assert_int_equal(hocket__http_active(f->http), 100 - done);
    struct test_server_counts counts = test_server_counts(f->server);
    assert_in_range(counts.open, 50, 100);
    hocket__http_close(f->http, NULL, NULL);
    f->http = NULL;
    assert_true(test_server_wait_closed(f->server, counts.open + counts.closed, 10000));
    assert_int_equal(uv_run(&f->loop, UV_RUN_DEFAULT), 0);
    for (int i = 0; i < 100; i++)
        assert_string_equal(all[i].log, "");
    free(all);
}

/* A pseudo-random life: starts, cancels and ends mixed over two shards. */
static void test_churn(void **state)
{
    struct fixture *f = *state;
    enum { N = 200 };
    struct seen *all = calloc(N, sizeof(*all));
    static const char *const paths[] = { "/endless", "/hello", "/silence", "/hello" };
    uint32_t random = 1;
    close_http(f);
    fixture_open(f, (struct hocket__http_options){ .max_per_host = 180 });
    set_up_server(f);
    for (int step = 0; step < 1500; step++) {
        random = random * 1664525 + 1013904223;
        struct seen *s = &all[(random >> 8) % N];
        if (s->id > 0 && !s->done)
            hocket__http_cancel(f->http, s->id);
        memset(s, 0, sizeof(*s));
        if (random >> 31)
            start(f, s, (struct hocket__http_spec){ .idle_ms = 40 }, paths[random >> 20 & 3]);
        if (step % 8 == 0)
            uv_run(&f->loop, UV_RUN_NOWAIT);
    }
    close_http(f);
    free(all);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_before_the_loop_ran),
        CASE(test_while_resolving),
        CASE(test_while_connecting),
        CASE(test_after_sent),
        CASE(test_in_the_head),
        CASE(test_in_the_body),
        CASE(test_while_waiting_for_a_connection),
        CASE(test_oneself_in_each_callback),
        CASE(test_others_in_each_callback),
        CASE(test_close_in_each_callback),
        CASE(test_on_data_gives_up),
        CASE(test_close_with_100_in_flight),
        CASE(test_churn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
