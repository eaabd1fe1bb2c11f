/* The limiter: properties over random loads, with time injected, and servers played by the
 * test that keep limits of their own and say so in different ways, or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "net/limit/limiter.h"
#include "support/alloc.h"

#define NO_LIMITS ((struct hocket__limits){ -1, -1, -1 })
#define MINUTE    60000

static uint64_t random_state = 88172645463325252u;

static uint64_t chance(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % n;
}

static struct hocket__advice advice(void)
{
    struct hocket__advice a;
    hocket__advice_init(&a);
    return a;
}

static int ask(struct hocket__limiter *l, struct hocket__limiter_wait *w, uint64_t run, int64_t now)
{
    struct hocket__limiter_ask q = { .run = run, .patience_ms = -1 };
    return hocket__limiter_ask(l, w, &q, now, NULL);
}

/* ---- Limits that were given ---- */

/* In no 60 seconds more than the limit, and nearly that when there is always work. */
static void check_per_minute(int64_t limit)
{
    struct test_alloc t;
    struct hocket__limiter l;
    struct hocket__limiter_wait w = { .tokens = 0 };
    struct hocket__advice none = advice();
    static int64_t sent[40000];
    size_t n = 0;
    int64_t now = 5, delay = 0, idle = 0;
    test_alloc_init(&t);
    hocket__limiter_init(&l, &t.a, (struct hocket__limits){ limit, -1, -1 });
    while (now < 5 * MINUTE) {
        int rc = ask(&l, &w, 1, now);
        while (rc == 0 && !hocket__limiter_next(&l, now, &delay)) {
            assert_true(delay > 0);
            now += delay;
        }
        assert_true(n < sizeof(sent) / sizeof(sent[0]));
        sent[n++] = now;
        hocket__limiter_answer(&l, 0, 200, &none, now);
        if (chance(50) == 0) {
            int64_t pause = (int64_t) chance(3000);
            now += pause;
            idle += pause;
        }
    }
    for (size_t from = 0, to = 0; from < n; from++) {
        while (to < n && sent[to] < sent[from] + MINUTE)
            to++;
        if ((int64_t) (to - from) > limit)
            fail_msg("%zu requests in a minute, limit %lld", to - from, (long long) limit);
    }
    assert_true((int64_t) n >= limit * (5 * MINUTE - idle) / MINUTE * 8 / 10);
    hocket__limiter_deinit(&l);
    test_alloc_check(&t);
}

static void test_requests_per_minute(void **state)
{
    (void) state;
    static const int64_t limits[] = { 1, 2, 3, 7, 10, 60, 333, 5000 };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        check_per_minute(limits[i]);
}

static void test_tokens_per_minute(void **state)
{
    (void) state;
    struct hocket__limiter l;
    struct hocket__advice none = advice();
    int64_t now = 0, delay, estimated = 0, real = 0;
    hocket__limiter_init(&l, &hocket__malloc, (struct hocket__limits){ -1, 60000, -1 });
    while (now < 10 * MINUTE) {
        struct hocket__limiter_wait w = { .tokens = 0 };
        struct hocket__limiter_ask q = {
            .run = 1, .tokens = 1 + (int64_t) chance(20000), .patience_ms = -1
        };
        if (hocket__limiter_ask(&l, &w, &q, now, NULL) == 0)
            while (!hocket__limiter_next(&l, now, &delay))
                now += delay;
        hocket__limiter_answer(&l, q.tokens, 200, &none, now);
        int64_t used = q.tokens / 2;
        hocket__limiter_used(&l, q.tokens, used);
        estimated += q.tokens;
        real += used;
    }
    assert_in_range(real, 9 * 60000, 11 * 60000);
    assert_true(estimated > real);
    hocket__limiter_deinit(&l);
}

static void test_zero_means_zero(void **state)
{
    (void) state;
    static const struct hocket__limits zero[] = { { 0, -1, -1 }, { -1, 0, -1 }, { 0, 0, -1 },
        { -1, -1, 0 } };
    for (size_t i = 0; i < sizeof(zero) / sizeof(zero[0]); i++) {
        struct hocket__limiter l;
        struct hocket__limiter_wait w = { .tokens = 0 };
        hocket__limiter_init(&l, &hocket__malloc, zero[i]);
        for (int64_t now = 0; now < 10 * MINUTE; now += MINUTE)
            assert_int_equal(ask(&l, &w, 1, now), HOCKET_ELIMIT);
        hocket__limiter_deinit(&l);
    }
}

/* ---- Limits that are shared ---- */

static void test_calls_at_once(void **state)
{
    (void) state;
    struct hocket__limiter l;
    struct hocket__limiter_wait w[3] = { 0 };
    struct hocket__advice none = advice();
    int64_t delay;
    hocket__limiter_init(&l, &hocket__malloc, (struct hocket__limits){ -1, -1, 2 });
    assert_int_equal(ask(&l, &w[0], 1, 0), 1);
    assert_int_equal(ask(&l, &w[1], 1, 0), 1);
    assert_int_equal(ask(&l, &w[2], 1, 0), 0);
    hocket__limiter_answer(&l, 0, 200, &none, 5); /* it has begun to answer, and still goes on */
    assert_null(hocket__limiter_next(&l, 1000, &delay));
    assert_int_equal(delay, -1);
    hocket__limiter_end(&l, 1000);
    assert_ptr_equal(hocket__limiter_next(&l, 1000, &delay), &w[2]);
    hocket__limiter_deinit(&l);
}

static void grant(struct hocket__limiter *l, double requests, double tokens, int64_t slots)
{
    struct hocket__limiter_grant g = { .requests = requests, .tokens = tokens, .slots = slots };
    hocket__limiter_grant(l, &g, 0);
}

/* Nothing goes that was not granted, however much time passes. */
static void test_shared(void **state)
{
    (void) state;
    struct hocket__limiter l;
    struct hocket__limiter_wait w[3] = { 0 };
    struct hocket__limiter_need need;
    struct hocket__limiter_ask q = { .run = 1, .tokens = 50, .patience_ms = -1 };
    int64_t delay;
    hocket__limiter_init(&l, &hocket__malloc, (struct hocket__limits){ 600, 6000, 8 });
    hocket__limiter_share(&l, true, 0);
    assert_false(hocket__limiter_is_short(&l, 0)); /* nobody wants to go */
    for (int i = 0; i < 3; i++)
        assert_int_equal(hocket__limiter_ask(&l, &w[i], &q, 0, NULL), 0);
    assert_null(hocket__limiter_next(&l, 10 * MINUTE, &delay));
    assert_true(hocket__limiter_is_short(&l, 0));
    hocket__limiter_need(&l, &need, 0);
    assert_int_equal(need.waiting, 3);
    assert_int_equal(need.waiting_tokens, 150);
    assert_int_equal(need.head_tokens, 50);
    grant(&l, 2, 100, 0);
    assert_false(hocket__limiter_is_short(&l, 0)); /* whoever has granted no place knows it */
    assert_null(hocket__limiter_next(&l, 0, &delay));
    grant(&l, 0, 0, 8);
    assert_ptr_equal(hocket__limiter_next(&l, 0, &delay), &w[0]);
    assert_ptr_equal(hocket__limiter_next(&l, 0, &delay), &w[1]);
    assert_null(hocket__limiter_next(&l, MINUTE, &delay));
    hocket__limiter_need(&l, &need, 0);
    assert_int_equal(need.took_requests, 2);
    assert_int_equal(need.took_tokens, 100);
    assert_int_equal(need.flying, 2);
    hocket__limiter_used(&l, 50, 70); /* more than was thought: owed */
    hocket__limiter_need(&l, &need, 0);
    assert_true(need.tokens == -20 && need.requests == 0 && need.took_requests == 0);
    grant(&l, 1, 70, -1);
    assert_ptr_equal(hocket__limiter_next(&l, 0, &delay), &w[2]);
    assert_true(hocket__limiter_is_short(&l, 0)); /* five places are not used */
    hocket__limiter_share(&l, false, 0);          /* ours alone again */
    assert_int_equal(hocket__limiter_ask(&l, &w[0], &q, 0, NULL), 1);
    hocket__limiter_deinit(&l);
}

/* It is told once that places are wanted or not used; and not at all that all there are are taken. */
static void test_shared_places(void **state)
{
    (void) state;
    struct hocket__limiter l;
    struct hocket__limiter_need need;
    static struct hocket__limiter_wait w[4];
    struct hocket__limiter_ask q = { .run = 1, .tokens = 1, .patience_ms = -1 };
    int64_t delay;
    hocket__limiter_init(&l, &hocket__malloc, (struct hocket__limits){ -1, -1, 2 });
    hocket__limiter_share(&l, true, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(hocket__limiter_ask(&l, &w[i], &q, 0, NULL), 0);
    assert_true(hocket__limiter_is_short(&l, 0));
    hocket__limiter_need(&l, &need, 0);
    assert_false(hocket__limiter_is_short(&l, 0));
    grant(&l, 0, 0, 1);
    assert_ptr_equal(hocket__limiter_next(&l, 0, &delay), &w[0]);
    assert_true(hocket__limiter_is_short(&l, 0)); /* there may be another one */
    hocket__limiter_need(&l, &need, 0);
    grant(&l, 0, 0, 2);
    assert_ptr_equal(hocket__limiter_next(&l, 0, &delay), &w[1]);
    assert_false(hocket__limiter_is_short(&l, 0)); /* all of the limit: two wait for these to end */
    hocket__limiter_end(&l, 0);
    assert_ptr_equal(
        hocket__limiter_next(&l, 0, &delay), &w[2]); /* at once, without asking anybody */
    hocket__limiter_end(&l, 0);
    assert_ptr_equal(hocket__limiter_next(&l, 0, &delay), &w[3]);
    hocket__limiter_end(&l, 0);
    assert_true(hocket__limiter_is_short(&l, 0)); /* one is not used */
    hocket__limiter_need(&l, &need, 0);
    assert_false(hocket__limiter_is_short(&l, 0));
    grant(&l, 0, 0, 1);
    hocket__limiter_end(&l, 0);
    assert_true(hocket__limiter_is_short(&l, 0));
    hocket__limiter_deinit(&l);
}

/* What one hears of a 429 it tells once, and what it was told it does not tell again. */
static void test_shared_blocks(void **state)
{
    (void) state;
    struct hocket__limiter l;
    struct hocket__limiter_need need;
    struct hocket__limiter_grant told = { .slots = -1, .block_ms = 5000 };
    hocket__limiter_init(&l, &hocket__malloc, NO_LIMITS);
    hocket__limiter_share(&l, true, 0);
    hocket__limiter_block(&l, 999, 0);
    assert_true(hocket__limiter_is_short(&l, 0));
    hocket__limiter_need(&l, &need, 0);
    assert_int_equal(need.block_ms, 1000);
    assert_false(hocket__limiter_is_short(&l, 0));
    hocket__limiter_need(&l, &need, 0);
    assert_int_equal(need.block_ms, 0);
    hocket__limiter_grant(&l, &told, 0);
    assert_int_equal(l.blocked_until, 5001);
    assert_false(hocket__limiter_is_short(&l, 0));
    hocket__limiter_deinit(&l);
}

/* ---- Fairness ---- */

static void test_round_robin(void **state)
{
    (void) state;
    struct test_alloc t;
    struct hocket__limiter l;
    static struct hocket__limiter_wait w[3][50], first;
    struct hocket__advice full = advice();
    int64_t delay;
    test_alloc_init(&t);
    hocket__limiter_init(&l, &t.a, NO_LIMITS);
    hocket__limiter_block(&l, 999, 0);
    for (int run = 0; run < 3; run++)
        for (int i = 0; i < 50; i++)
            assert_int_equal(ask(&l, &w[run][i], (uint64_t) run + 1, 0), 0);
    struct hocket__limiter_ask again = { .run = 2, .again = true, .patience_ms = -1 };
    assert_int_equal(hocket__limiter_ask(&l, &first, &again, 0, NULL), 0);
    assert_true(hocket__limiter_leave(&l, &w[2][0]));
    assert_false(hocket__limiter_leave(&l, &w[2][0]));
    assert_null(hocket__limiter_next(&l, 999, &delay));
    assert_int_equal(delay, 1);
    for (int i = 0; i < 150; i++) {
        struct hocket__limiter_wait *got = hocket__limiter_next(&l, 1000, &delay);
        struct hocket__limiter_wait *want = i % 3 == 0   ? &w[0][i / 3]
                                            : i % 3 == 1 ? (i / 3 == 0 ? &first : &w[1][i / 3 - 1])
                                            : i / 3 < 49 ? &w[2][i / 3 + 1]
                                                         : &w[1][49];
        assert_ptr_equal(got, want);
        hocket__limiter_answer(&l, 0, 200, &full, 1000);
    }
    assert_null(hocket__limiter_next(&l, 1000, &delay));
    assert_int_equal(delay, -1);
    hocket__limiter_deinit(&l);
    test_alloc_check(&t);
}

static void test_limits_of_the_queue(void **state)
{
    (void) state;
    struct hocket__limiter l;
    static struct hocket__limiter_wait w[12];
    struct hocket_error err;
    hocket__limiter_init(&l, &hocket__malloc, NO_LIMITS);
    l.max_waiting = 10;
    hocket__limiter_block(&l, 4999, 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(ask(&l, &w[i], 1, 0), 0);
    assert_int_equal(ask(&l, &w[10], 1, 0), HOCKET_ELIMIT);
    hocket__limiter_leave(&l, &w[3]);
    struct hocket__limiter_ask hasty = { .run = 2, .patience_ms = 2000 };
    assert_int_equal(hocket__limiter_ask(&l, &w[11], &hasty, 1000, &err), HOCKET_ELIMIT);
    assert_int_equal(err.retry_after_ms, 4000);
    assert_int_equal(hocket__limiter_ask(&l, &w[11], &hasty, 3000, &err), 0);
    hocket__limiter_deinit(&l);
}

static void out_of_memory(struct test_alloc *t, void *ud)
{
    struct hocket__limiter l;
    struct hocket__limiter_wait w[3] = { { .tokens = 0 } };
    (void) ud;
    hocket__limiter_init(&l, &t->a, NO_LIMITS);
    hocket__limiter_block(&l, 999, 0);
    for (uint64_t i = 0; i < 3; i++) {
        int rc = ask(&l, &w[i], i + 1, 0);
        assert_true(rc == 0 || (t->failed && rc == HOCKET_ENOMEM));
    }
    hocket__limiter_deinit(&l);
}

static void test_out_of_memory(void **state)
{
    (void) state;
    assert_true(test_alloc_each(out_of_memory, NULL) > 0);
}

/* ---- Servers ---- */

enum tells { NOTHING, AFTER, HEADERS_TOO };

struct server {
    int64_t per_window, window_ms;
    enum tells tells;
    bool bucket; /* refills bit by bit, else all at once */
    double level;
    int64_t at, closed_until;
    int64_t requests, good, rejected, too_early;
};

/* What the server answers to a request that arrives now. */
static int serve(struct server *s, int64_t now, struct hocket__advice *a)
{
    double rate = (double) s->per_window / (double) s->window_ms;
    if (s->bucket)
        s->level += rate * (double) (now - s->at);
    else if (now / s->window_ms != s->at / s->window_ms)
        s->level = (double) s->per_window;
    if (s->level > (double) s->per_window)
        s->level = (double) s->per_window;
    s->at = now;
    *a = advice();
    s->requests++;
    s->too_early += now < s->closed_until;
    bool good = s->level >= 1;
    s->level -= good;
    int64_t next =
        s->bucket ? (int64_t) ((1 - s->level) / rate) + 1 : s->window_ms - now % s->window_ms;
    if (s->tells == HEADERS_TOO) {
        a->requests.limit = s->per_window;
        a->requests.remaining = (int64_t) s->level;
        a->requests.reset_ms = s->bucket ? (int64_t) (((double) s->per_window - s->level) / rate)
                                         : s->window_ms - now % s->window_ms;
    }
    if (good) {
        s->good++;
        return 200;
    }
    s->rejected++;
    if (s->tells != NOTHING) {
        a->after_ms = next;
        /* what arrives a moment later was under way already */
    }
    return 429;
}

struct flight {
    int64_t arrives, answered;
    int status;
    struct hocket__advice advice;
    size_t call;
};

struct storm {
    struct hocket__limiter l;
    struct server s;
    struct hocket__limiter_wait *waits;
    struct flight *flights;
    size_t n, n_flights, done;
    int64_t now, latency, told_until;
};

static void launch(struct storm *st, size_t call)
{
    if (st->now < st->told_until)
        st->s.too_early++;
    struct flight *f = &st->flights[st->n_flights++];
    f->call = call;
    f->arrives = st->now;
    f->answered = st->now + 1 + (int64_t) chance((uint64_t) st->latency);
    f->status = serve(&st->s, st->now, &f->advice);
}

static void land(struct storm *st, size_t i)
{
    struct flight f = st->flights[i];
    st->flights[i] = st->flights[--st->n_flights];
    hocket__limiter_answer(&st->l, 0, f.status, &f.advice, st->now);
    hocket__limiter_end(&st->l, st->now);
    if (f.status == 200) {
        st->done++;
        return;
    }
    if (f.advice.after_ms > 0 && st->now + f.advice.after_ms > st->told_until)
        st->told_until = st->now + f.advice.after_ms;
    struct hocket__limiter_ask again = { .run = f.call % 7, .again = true, .patience_ms = -1 };
    if (hocket__limiter_ask(&st->l, &st->waits[f.call], &again, st->now, NULL) == 1)
        launch(st, f.call);
}

/* All calls at once; each turned away asks again. */
static void run_storm(struct storm *st, size_t n)
{
    int64_t delay, steps = 0;
    hocket__limiter_init(&st->l, &hocket__malloc, NO_LIMITS);
    st->n = n;
    st->waits = calloc(n, sizeof(*st->waits));
    st->flights = calloc(n, sizeof(*st->flights));
    st->s.level = (double) st->s.per_window;
    for (size_t i = 0; i < n; i++) {
        struct hocket__limiter_ask q = { .run = i % 7, .patience_ms = -1 };
        if (hocket__limiter_ask(&st->l, &st->waits[i], &q, st->now, NULL) == 1)
            launch(st, i);
    }
    while (st->done < n) {
        assert_true(++steps < 100000000);
        for (size_t i = st->n_flights; i-- > 0;)
            if (i < st->n_flights && st->flights[i].answered <= st->now)
                land(st, i);
        hocket__limiter_no_answer_yet(&st->l, st->now);
        struct hocket__limiter_wait *w;
        while ((w = hocket__limiter_next(&st->l, st->now, &delay)) != NULL)
            launch(st, (size_t) (w - st->waits));
        if (delay < 0 && st->n_flights == 0 && st->done < n)
            fail_msg("nobody may go, nothing is under way, %zu of %zu done", st->done, n);
        st->now++;
    }
    hocket__limiter_deinit(&st->l);
    free(st->waits);
    free(st->flights);
}

static void check_storm(struct server s, size_t n, int64_t latency, double waste)
{
    struct storm st = { .s = s, .latency = latency, .now = 12345 };
    run_storm(&st, n);
    double sent = (double) st.s.requests / (double) st.s.good;
    double ideal = (double) n * (double) s.window_ms / (double) s.per_window;
    double took = (double) (st.now - 12345) / (ideal > 1 ? ideal : 1);
    print_message("  %lld per %lld ms, %s, tells %d, latency %lld: %.3f sent per success, %.2f x "
                  "the ideal time\n",
        (long long) s.per_window, (long long) s.window_ms, s.bucket ? "bucket" : "window", s.tells,
        (long long) latency, sent, took);
    assert_int_equal(st.s.good, n);
    assert_int_equal(st.s.too_early, 0);
    assert_true(sent < waste);
    assert_true(took < 3.0);
}

static void test_storms(void **state)
{
    (void) state;
    for (int tells = AFTER; tells <= HEADERS_TOO; tells++)
        for (int bucket = 0; bucket < 2; bucket++)
            for (int64_t latency = 5; latency <= 500; latency *= 10) {
                struct server twenty = {
                    .per_window = 20, .window_ms = 1000, .tells = tells, .bucket = bucket
                };
                check_storm(twenty, 1000, latency, 1.2);
                struct server minute = {
                    .per_window = 300, .window_ms = MINUTE, .tells = tells, .bucket = bucket
                };
                check_storm(minute, 1500, latency, 1.2);
                struct server fast = {
                    .per_window = 1000, .window_ms = 1000, .tells = tells, .bucket = bucket
                };
                check_storm(fast, 20000, latency, 1.2);
            }
}

static void test_storm_without_a_word(void **state)
{
    (void) state;
    struct server s = { .per_window = 20, .window_ms = 1000, .tells = NOTHING };
    check_storm(s, 1000, 50, 1.2);
}

/* How many of 2,000 calls are under way after so many milliseconds without an answer. */
static int64_t sent_after(struct hocket__limiter *l, struct hocket__limiter_wait *w, int64_t ms)
{
    int64_t delay;
    for (int i = 0; i < 2000; i++)
        ask(l, &w[i], 1, 7);
    for (int64_t now = 7; now <= 7 + ms; now += delay) {
        hocket__limiter_no_answer_yet(l, now);
        while (hocket__limiter_next(l, now, &delay) != NULL)
            ;
        if (delay < 0)
            break;
    }
    return l->flying;
}

/* A server that says nothing for long is at work; one that has answered is asked by its answers. */
static void test_silence(void **state)
{
    (void) state;
    static const struct {
        int64_t ms, least, most;
    } cases[] = { { 0, 64, 64 }, { 1, 75, 75 }, { 30, 462, 462 }, { 100, 2000, 2000 } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static struct hocket__limiter_wait w[2000];
        struct hocket__limiter l;
        memset(w, 0, sizeof(w));
        hocket__limiter_init(&l, &hocket__malloc, NO_LIMITS);
        assert_in_range(sent_after(&l, w, cases[i].ms), cases[i].least, cases[i].most);
        struct hocket__advice a = advice();
        int64_t window = l.window, delay;
        hocket__limiter_answer(&l, 0, 200, &a, 7 + cases[i].ms);
        hocket__limiter_no_answer_yet(&l, 1000);
        assert_in_range(l.window, window, window + 1);
        while (hocket__limiter_next(&l, 1000, &delay) != NULL)
            ;
        assert_true(delay == -1);
        hocket__limiter_deinit(&l);
    }
}

/* A loop that was held up has not looked for answers meanwhile. */
static void test_silence_not_seen(void **state)
{
    (void) state;
    static struct hocket__limiter_wait w[2000];
    struct hocket__limiter l;
    memset(w, 0, sizeof(w));
    hocket__limiter_init(&l, &hocket__malloc, NO_LIMITS);
    assert_int_equal(sent_after(&l, w, 0), 64);
    hocket__limiter_no_answer_yet(&l, 207);
    assert_int_equal(l.window, 108);
    hocket__limiter_deinit(&l);
}

/* One call is turned away: the whole lane waits, and not longer. */
static void test_block(void **state)
{
    (void) state;
    struct hocket__limiter l;
    struct hocket__limiter_wait w[2] = { { .tokens = 0 } };
    struct hocket__advice a = advice();
    int64_t delay;
    hocket__limiter_init(&l, &hocket__malloc, NO_LIMITS);
    assert_int_equal(ask(&l, &w[0], 1, 0), 1);
    a.after_ms = 7000;
    hocket__limiter_answer(&l, 0, 429, &a, 100);
    assert_int_equal(ask(&l, &w[1], 2, 200), 0);
    assert_null(hocket__limiter_next(&l, 200, &delay));
    assert_int_equal(delay, 6901);
    assert_ptr_equal(hocket__limiter_next(&l, 7101, &delay), &w[1]);
    hocket__limiter_deinit(&l);
}

/* Answers that begin well and then say that they were turned away: each time it is waited longer,
 * until one is good to its end. */
static void test_refused_inside(void **state)
{
    (void) state;
    struct hocket__limiter l;
    struct hocket__limiter_wait w[2] = { { .tokens = 0 } };
    struct hocket__advice none = advice();
    int64_t delay, now = 0;
    static const int64_t blocks[] = { 500, 1000, 2000, 500 };
    hocket__limiter_init(&l, &hocket__malloc, NO_LIMITS);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(ask(&l, &w[0], 1, now), 1);
        hocket__limiter_answer(&l, 0, 200, &none, now);
        if (i == 3) {
            hocket__limiter_used(&l, 0, 0);
            hocket__limiter_end(&l, now);
            assert_int_equal(ask(&l, &w[0], 1, now), 1);
            hocket__limiter_answer(&l, 0, 200, &none, now);
        }
        hocket__limiter_end(&l, now);
        hocket__limiter_refused(&l, -1, now);
        if (i == 0) /* another one of the same moment */
            hocket__limiter_refused(&l, 0, now);
        assert_int_equal(ask(&l, &w[1], 2, now), 0);
        assert_null(hocket__limiter_next(&l, now, &delay));
        assert_int_equal(delay, blocks[i] + 1);
        now += delay;
        assert_ptr_equal(hocket__limiter_next(&l, now, &delay), &w[1]);
        hocket__limiter_forget_call(&l, 0);
        hocket__limiter_end(&l, now);
    }
    assert_int_equal(l.accepted, 1); /* that one */
    hocket__limiter_refused(&l, 7000, now);
    assert_int_equal(ask(&l, &w[1], 2, now), 0);
    assert_null(hocket__limiter_next(&l, now, &delay));
    assert_int_equal(delay, 7001);
    hocket__limiter_deinit(&l);
}

/* A 200 may carry Retry-After as well: no reason to wait. */
static void test_good_answers_do_not_block(void **state)
{
    (void) state;
    struct hocket__limiter l;
    struct hocket__limiter_wait w = { .tokens = 0 };
    struct hocket__advice a = advice();
    hocket__limiter_init(&l, &hocket__malloc, NO_LIMITS);
    a.after_ms = 7000;
    for (int64_t now = 0; now < 100; now++) {
        assert_int_equal(ask(&l, &w, 1, now), 1);
        hocket__limiter_answer(&l, 0, 200, &a, now);
    }
    hocket__limiter_deinit(&l);
}

/* The server says that nothing is left until its window ends. */
static void test_remaining_zero(void **state)
{
    (void) state;
    struct hocket__limiter l;
    struct hocket__limiter_wait w[2] = { { .tokens = 0 } };
    struct hocket__advice a = advice();
    int64_t delay;
    hocket__limiter_init(&l, &hocket__malloc, NO_LIMITS);
    assert_int_equal(ask(&l, &w[0], 1, 0), 1);
    a.requests =
        (struct hocket__quota){ .limit = 2, .remaining = 0, .reset_ms = 10000, .reset_at = -1 };
    hocket__limiter_answer(&l, 0, 200, &a, 0);
    assert_int_equal(ask(&l, &w[1], 1, 1), 0);
    assert_null(hocket__limiter_next(&l, 4000, &delay));
    assert_in_range(delay, 900, 1100); /* bit by bit: one of the two after half the time */
    assert_ptr_equal(hocket__limiter_next(&l, 4000 + delay, &delay), &w[1]);
    hocket__limiter_deinit(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_per_minute),
        cmocka_unit_test(test_tokens_per_minute),
        cmocka_unit_test(test_zero_means_zero),
        cmocka_unit_test(test_round_robin),
        cmocka_unit_test(test_calls_at_once),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_shared_places),
        cmocka_unit_test(test_shared_blocks),
        cmocka_unit_test(test_limits_of_the_queue),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_storms),
        cmocka_unit_test(test_storm_without_a_word),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_silence_not_seen),
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_refused_inside),
        cmocka_unit_test(test_good_answers_do_not_block),
        cmocka_unit_test(test_remaining_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
