#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/account/account_impl.h"
#include "support/alloc.h"

#define ROOT HOCKET__ACCOUNT_ROOT
#define NONE HOCKET__NO_LIMIT

static const struct hocket__account_names no_names = { { "", 0 }, { "", 0 }, { "", 0 } };

static struct hocket__budget_spec limits(int64_t turns, int64_t tokens, int64_t cost)
{
    return (struct hocket__budget_spec){ { turns, NONE, tokens, cost }, NONE, 800, false };
}

static uint64_t below(struct hocket__accounts *s, uint64_t parent, struct hocket__budget_spec spec)
{
    uint64_t id = hocket__account_open(s, parent, &no_names, 0);
    assert_int_equal(hocket__budget_set(s, id, &spec), 0);
    return id;
}

static struct hocket__budget_answer ask(
    struct hocket__accounts *s, uint64_t id, int64_t input, int64_t max_output, bool last)
{
    struct hocket__budget_ask a = { input, max_output, 1, 10, last };
    return hocket__budget_ask(s, id, &a, 0);
}

static void use(struct hocket__accounts *s, uint64_t id, int64_t input, int64_t output)
{
    struct hocket__usage_sum u = {
        .input = input, .output = output, .calls = 1, .cost = input + 10 * output
    };
    hocket__account_add(s, id, &u);
}

/* A call from its question to its end. */
static enum hocket__budget_verdict call(
    struct hocket__accounts *s, uint64_t id, int64_t input, int64_t output, bool last)
{
    struct hocket__budget_answer a = ask(s, id, input, output, last);
    if (a.verdict != HOCKET__BUDGET_GO)
        return a.verdict;
    use(s, id, input, output);
    assert_true(hocket__budget_settle(s, a.hold, !last));
    assert_false(hocket__budget_settle(s, a.hold, false)); /* once */
    return a.verdict;
}

static struct hocket__accounts *fresh(struct test_alloc *t, struct hocket__budget_spec spec)
{
    struct hocket__accounts *s;
    test_alloc_init(t);
    assert_int_equal(hocket__accounts_new(&t->a, 1000, 0, &s), 0);
    assert_int_equal(hocket__budget_set(s, ROOT, &spec), 0);
    return s;
}

static void done(struct test_alloc *t, struct hocket__accounts *s)
{
    hocket__accounts_free(s);
    test_alloc_check(t);
}

/* ---- One agent ------------------------------------------------------------------ */

static void test_turns(void **state)
{
    struct test_alloc t;
    struct hocket__accounts *s = fresh(&t, limits(3, NONE, NONE));
    assert_true(hocket__budget_is_limited(s, ROOT));
    assert_int_equal(call(s, ROOT, 10, 10, false), HOCKET__BUDGET_GO);
    assert_int_equal(call(s, ROOT, 10, 10, false), HOCKET__BUDGET_GO);
    struct hocket__budget_answer a = ask(s, ROOT, 10, 10, false);
    assert_int_equal(a.verdict, HOCKET__BUDGET_LAST);
    assert_true(a.account == ROOT && a.kind == HOCKET__BUDGET_TURNS && a.used == 2 && a.limit == 3);
    assert_int_equal(call(s, ROOT, 10, 10, true), HOCKET__BUDGET_GO);
    assert_int_equal(call(s, ROOT, 10, 10, true), HOCKET__BUDGET_REFUSED);
    assert_int_equal(hocket__budget_left(s, ROOT, HOCKET__BUDGET_TURNS), 0);
    done(&t, s);
}

static void test_zero(void **state)
{
    for (int k = 0; k < HOCKET__BUDGET_KINDS; k++) {
        struct test_alloc t;
        struct hocket__budget_spec spec = limits(NONE, NONE, NONE);
        spec.limit[k] = 0;
        struct hocket__accounts *s = fresh(&t, spec);
        uint64_t child = hocket__account_open(s, ROOT, &no_names, 0);
        if (k == HOCKET__BUDGET_TOOL_CALLS) {
            assert_int_equal(hocket__budget_tools(s, child, 3, NULL), 0);
        } else {
            assert_int_equal(ask(s, child, 0, 1, false).verdict, HOCKET__BUDGET_REFUSED);
            assert_int_equal(ask(s, child, 0, 1, true).verdict, HOCKET__BUDGET_REFUSED);
        }
        done(&t, s);
    }
    struct test_alloc t;
    struct hocket__budget_spec spec = limits(NONE, NONE, NONE);
    spec.time_ms = 0;
    struct hocket__accounts *s = fresh(&t, spec);
    assert_int_equal(ask(s, ROOT, 1, 1, true).verdict, HOCKET__BUDGET_REFUSED);
    done(&t, s);
}

/* What is left has to suffice for one more call like this, or it is the last. */
static void test_tokens(void **state)
{
    struct test_alloc t;
    struct hocket__accounts *s = fresh(&t, limits(NONE, 1000, NONE));
    assert_int_equal(call(s, ROOT, 200, 100, false), HOCKET__BUDGET_GO);
    assert_int_equal(call(s, ROOT, 250, 60, false), HOCKET__BUDGET_LAST); /* 700 left, 360 each */
    assert_int_equal(
        call(s, ROOT, 200, 50, false), HOCKET__BUDGET_GO); /* the call before says 300 + 50 */
    assert_int_equal(ask(s, ROOT, 200, 300, false).verdict, HOCKET__BUDGET_LAST);
    struct hocket__budget_answer a = ask(s, ROOT, 300, 300, true);
    assert_int_equal(a.verdict, HOCKET__BUDGET_GO);
    assert_int_equal(a.max_output, 100); /* what is left after the input, and no more */
    assert_true(hocket__budget_settle(s, a.hold, false));
    /* the input alone is more than there is, or all of it */
    assert_int_equal(ask(s, ROOT, 451, 300, true).verdict, HOCKET__BUDGET_REFUSED);
    assert_int_equal(ask(s, ROOT, 400, -1, true).verdict, HOCKET__BUDGET_REFUSED);
    done(&t, s);
}

static void test_cap(void **state)
{
    struct test_alloc t;
    struct hocket__accounts *s = fresh(&t, limits(NONE, 10000, NONE));
    struct hocket__budget_answer a = ask(s, ROOT, 1000, 16000, false);
    assert_int_equal(a.verdict, HOCKET__BUDGET_GO);
    assert_int_equal(a.max_output, 9000); /* less than it may say is left */
    struct hocket__budget_answer b = ask(s, ROOT, 100, 100, false);
    assert_int_equal(b.verdict, HOCKET__BUDGET_WAIT); /* all is held */
    assert_true(hocket__budget_settle(s, a.hold, false));
    assert_int_equal(ask(s, ROOT, 1000, -1, false).max_output, -1);
    done(&t, s);
}

static void test_cost(void **state)
{
    struct test_alloc t;
    struct hocket__accounts *s = fresh(&t, limits(NONE, NONE, 5000));
    struct hocket__budget_answer a = ask(s, ROOT, 1000, 1000, false); /* at most 11000 */
    assert_int_equal(a.verdict, HOCKET__BUDGET_LAST); /* 1000 + 256 * 10, twice, is too much */
    a = ask(s, ROOT, 1000, 1000, true);
    assert_int_equal(a.max_output, 400);
    hocket__budget_settle(s, a.hold, false);
    struct hocket__budget_ask unpriced = { 10, 10, -1, 5, false };
    assert_int_equal(hocket__budget_ask(s, ROOT, &unpriced, 0).verdict, HOCKET__BUDGET_UNPRICED);
    done(&t, s);
}

static void test_time(void **state)
{
    struct test_alloc t;
    struct hocket__budget_spec spec = limits(NONE, NONE, NONE);
    spec.time_ms = 500;
    struct hocket__accounts *s = fresh(&t, spec);
    struct hocket__budget_ask a = { 1, 1, 1, 1, false }, last = { 1, 1, 1, 1, true };
    assert_int_equal(hocket__budget_ask(s, ROOT, &a, 499).verdict, HOCKET__BUDGET_GO);
    struct hocket__budget_answer out = hocket__budget_ask(s, ROOT, &a, 500);
    assert_int_equal(out.verdict, HOCKET__BUDGET_LAST);
    assert_int_equal(out.kind, HOCKET__BUDGET_SECONDS);
    assert_int_equal(hocket__budget_ask(s, ROOT, &last, 700).verdict, HOCKET__BUDGET_GO);
    done(&t, s);
}

static void test_tools(void **state)
{
    struct test_alloc t;
    struct hocket__budget_spec spec = limits(NONE, NONE, NONE);
    spec.limit[HOCKET__BUDGET_TOOL_CALLS] = 5;
    struct hocket__accounts *s = fresh(&t, spec);
    struct hocket__budget_answer a = { 0 };
    uint64_t child = hocket__account_open(s, ROOT, &no_names, 0);
    assert_int_equal(hocket__budget_tools(s, child, 3, &a), 3);
    struct hocket__usage_sum three = { .tool_calls = 3 };
    hocket__account_add(s, child, &three);
    assert_int_equal(hocket__budget_tools(s, child, 3, &a), 2);
    assert_true(
        a.account == ROOT && a.kind == HOCKET__BUDGET_TOOL_CALLS && a.limit == 5 && a.used == 3);
    done(&t, s);
}

static void test_warning(void **state)
{
    struct test_alloc t;
    struct hocket__accounts *s = fresh(&t, limits(10, NONE, NONE));
    struct hocket__budget_answer a;
    for (int i = 0; i < 7; i++)
        call(s, ROOT, 1, 1, false);
    assert_false(hocket__budget_warning(s, ROOT, &a));
    call(s, ROOT, 1, 1, false);
    assert_true(hocket__budget_warning(s, ROOT, &a));
    assert_true(a.kind == HOCKET__BUDGET_TURNS && a.used == 8 && a.limit == 10);
    assert_false(hocket__budget_warning(s, ROOT, &a)); /* once */
    uint64_t child = below(s, ROOT, limits(2, NONE, NONE));
    call(s, child, 1, 1, false);
    assert_false(hocket__budget_warning(s, child, &a)); /* 1 of 2 is less than 80 % */
    done(&t, s);
}

static void test_stop(void **state)
{
    struct test_alloc t;
    struct hocket__accounts *s = fresh(&t, limits(NONE, NONE, NONE));
    hocket__budget_stop(s);
    struct hocket__budget_answer a = ask(s, ROOT, 1, 1, false);
    assert_true(a.verdict == HOCKET__BUDGET_LAST && a.kind == HOCKET__BUDGET_STOP);
    assert_int_equal(call(s, ROOT, 1, 1, true), HOCKET__BUDGET_GO);
    done(&t, s);
}

static void test_wrong(void **state)
{
    struct test_alloc t;
    struct hocket__budget_spec spec = limits(1, 1, 1);
    struct hocket__accounts *s = fresh(&t, spec);
    assert_int_equal(hocket__budget_set(s, ROOT, &spec), HOCKET_EEXIST);
    assert_int_equal(hocket__budget_set(s, 99, &spec), HOCKET_ENOTFOUND);
    uint64_t a = hocket__account_open(s, ROOT, &no_names, 0);
    hocket__account_open(s, a, &no_names, 0);
    assert_int_equal(hocket__budget_set(s, a, &spec), HOCKET_ESTATE);
    assert_false(hocket__budget_settle(s, 0, false));
    assert_false(hocket__budget_settle(s, 12345, false));
    done(&t, s);
}

/* ---- Several agents --------------------------------------------------------------------- */

/* Whom a parent calls cannot use up what its own answer needs. */
static void test_kept_for_the_answer(void **state)
{
    struct test_alloc t;
    struct hocket__accounts *s = fresh(&t, limits(5, NONE, NONE));
    uint64_t lead = hocket__account_open(s, ROOT, &no_names, 0),
             child = hocket__account_open(s, lead, &no_names, 0);
    call(s, lead, 1, 1, false);
    assert_int_equal(call(s, child, 1, 1, false), HOCKET__BUDGET_GO);
    assert_int_equal(call(s, child, 1, 1, false), HOCKET__BUDGET_GO);
    assert_int_equal(
        call(s, child, 1, 1, false), HOCKET__BUDGET_LAST); /* 4 for it, the fifth is the lead's */
    assert_int_equal(call(s, child, 1, 1, true), HOCKET__BUDGET_GO);
    assert_int_equal(call(s, child, 1, 1, true), HOCKET__BUDGET_REFUSED);
    hocket__account_close(s, child, 1);
    assert_int_equal(call(s, lead, 1, 1, false), HOCKET__BUDGET_LAST);
    assert_int_equal(call(s, lead, 1, 1, true), HOCKET__BUDGET_GO);
    done(&t, s);
}

/* Whose own call comes last has one, however much the others would like. */
static void test_kept_for_the_first(void **state)
{
    struct test_alloc t;
    struct hocket__accounts *s = fresh(&t, limits(3, 2000, NONE));
    uint64_t lead = hocket__account_open(s, ROOT, &no_names, 0),
             child = hocket__account_open(s, lead, &no_names, 0);
    hocket__budget_reserve_first_call(s, lead);
    hocket__budget_reserve_first_call(s, lead); /* once */
    assert_int_equal(hocket__budget_left(s, ROOT, HOCKET__BUDGET_TURNS), 2);
    assert_true(hocket__budget_left(s, ROOT, HOCKET__BUDGET_TOKENS) < 2000);
    assert_int_equal(call(s, child, 1, 1, true), HOCKET__BUDGET_GO);
    assert_int_equal(call(s, child, 1, 1, true), HOCKET__BUDGET_GO);
    assert_int_equal(call(s, child, 1, 1, true), HOCKET__BUDGET_REFUSED);
    hocket__account_close(s, child, 1);
    assert_int_equal(call(s, lead, 1, 1, true), HOCKET__BUDGET_GO);
    hocket__budget_reserve_first_call(s, lead);
    hocket__account_close(s, lead, 1); /* which returns it */
    hocket__budget_reserve_first_call(s, lead);
    assert_int_equal(hocket__budget_left(s, ROOT, HOCKET__BUDGET_TOKENS), 2000 - 6);
    done(&t, s);
}

/* Side by side they hold what each may need, so that all together stay within. */
static void test_side_by_side(void **state)
{
    struct test_alloc t;
    struct hocket__accounts *s = fresh(&t, limits(NONE, 1000, NONE));
    uint64_t holds[10], granted = 0;
    for (int i = 0; i < 10; i++) {
        uint64_t id = hocket__account_open(s, ROOT, &no_names, 0);
        struct hocket__budget_answer a = ask(s, id, 100, 200, false);
        if (a.verdict == HOCKET__BUDGET_GO)
            holds[granted++] = a.hold;
        else
            assert_int_equal(a.verdict, granted < 3 ? HOCKET__BUDGET_LAST : HOCKET__BUDGET_WAIT);
    }
    assert_true(granted >= 2 && granted <= 3);
    for (uint64_t i = 0; i < granted; i++)
        assert_true(hocket__budget_settle(s, holds[i], false));
    assert_int_equal(hocket__budget_left(s, ROOT, HOCKET__BUDGET_TOKENS), 1000);
    done(&t, s);
}

/* A long answer waits for what others hold, rather than being cut to what they leave. */
static void test_wait(void **state)
{
    struct test_alloc t;
    struct hocket__accounts *s = fresh(&t, limits(NONE, 10000, NONE));
    uint64_t a = hocket__account_open(s, ROOT, &no_names, 0),
             b = hocket__account_open(s, ROOT, &no_names, 0);
    struct hocket__budget_answer first = ask(s, a, 0, 4000, false);
    assert_int_equal(ask(s, b, 0, 8000, false).verdict, HOCKET__BUDGET_WAIT);
    assert_true(hocket__budget_settle(s, first.hold, false));
    struct hocket__budget_answer second = ask(s, b, 0, 8000, false);
    assert_int_equal(second.verdict, HOCKET__BUDGET_GO);
    assert_false(
        hocket__budget_settle(s, first.hold, false)); /* its place is taken, its name is not */
    assert_int_equal(hocket__budget_left(s, ROOT, HOCKET__BUDGET_TOKENS), 2000);
    done(&t, s);
}

static void test_set_aside(void **state)
{
    struct test_alloc t;
    struct hocket__accounts *s = fresh(&t, limits(NONE, 1000, NONE));
    struct hocket__budget_spec spec = limits(NONE, 600, NONE);
    spec.reserve = true;
    uint64_t a = below(s, ROOT, spec), b = below(s, ROOT, spec);
    assert_int_equal(hocket__budget_left(s, a, HOCKET__BUDGET_TOKENS), 600);
    assert_int_equal(hocket__budget_left(s, b, HOCKET__BUDGET_TOKENS), 400); /* as far as it goes */
    assert_int_equal(hocket__budget_left(s, ROOT, HOCKET__BUDGET_TOKENS), 0);
    assert_int_equal(call(s, a, 50, 50, false), HOCKET__BUDGET_GO);
    assert_int_equal(hocket__budget_left(s, ROOT, HOCKET__BUDGET_TOKENS), 0); /* its own was used */
    hocket__account_close(s, a, 1);
    assert_int_equal(hocket__budget_left(s, ROOT, HOCKET__BUDGET_TOKENS), 500);
    hocket__account_close(s, a, 1);
    assert_int_equal(hocket__budget_left(s, ROOT, HOCKET__BUDGET_TOKENS), 500); /* once */
    hocket__account_close(s, b, 1);
    assert_int_equal(hocket__budget_left(s, ROOT, HOCKET__BUDGET_TOKENS), 900);
    done(&t, s);
}

/* One below goes on after the end of the one that had something set aside: the rest is for all, and what the one below holds is not. */
static void test_set_aside_outlived(void **state)
{
    struct test_alloc t;
    struct hocket__accounts *s = fresh(&t, limits(NONE, 1000, NONE));
    struct hocket__budget_spec spec = limits(NONE, 600, NONE);
    (void) state;
    spec.reserve = true;
    uint64_t a = below(s, ROOT, spec), under = hocket__account_open(s, a, &no_names, 0);
    struct hocket__budget_answer first = ask(s, under, 100, 50, true);
    assert_int_equal(first.verdict, HOCKET__BUDGET_GO);
    assert_int_equal(hocket__budget_left(s, ROOT, HOCKET__BUDGET_TOKENS), 400);
    hocket__account_close(s, a, 1);
    assert_int_equal(hocket__budget_left(s, ROOT, HOCKET__BUDGET_TOKENS), 850);
    use(s, under, 100, 50);
    assert_true(hocket__budget_settle(s, first.hold, false));
    assert_int_equal(hocket__budget_left(s, ROOT, HOCKET__BUDGET_TOKENS), 850);
    use(s, ROOT, 800, 40);
    assert_int_equal(ask(s, under, 100, 50, true).verdict, HOCKET__BUDGET_REFUSED);
    hocket__account_close(s, under, 1);
    assert_int_equal(hocket__budget_left(s, ROOT, HOCKET__BUDGET_TOKENS), 10);
    done(&t, s);
}

static void lend(struct hocket__accounts *s, uint64_t id, int64_t turns, int64_t tokens)
{
    int64_t amount[HOCKET__BUDGET_KINDS] = { turns, NONE, tokens, NONE };
    assert_int_equal(hocket__budget_lend(s, id, amount), 0);
}

/* Piece by piece; what is left comes back, of one kind or with the end. */
static void test_lend(void **state)
{
    struct test_alloc t;
    struct hocket__accounts *s = fresh(&t, limits(10, 1000, NONE));
    uint64_t a = hocket__account_open(s, ROOT, &no_names, 0),
             b = hocket__account_open(s, ROOT, &no_names, 0);
    (void) state;
    assert_int_equal(hocket__budget_left(s, a, HOCKET__BUDGET_TURNS), NONE);
    lend(s, a, 4, NONE);
    lend(s, b, 0, 300);
    assert_int_equal(hocket__budget_left(s, a, HOCKET__BUDGET_TURNS), 4);
    assert_int_equal(hocket__budget_left(s, a, HOCKET__BUDGET_TOKENS), NONE);
    assert_int_equal(hocket__budget_left_above(s, a, HOCKET__BUDGET_TURNS), 6);
    assert_int_equal(hocket__budget_left_above(s, a, HOCKET__BUDGET_TOKENS), 700);
    assert_int_equal(hocket__budget_left_above(s, a, HOCKET__BUDGET_COST), NONE);
    assert_int_equal(hocket__budget_left_above(s, ROOT, HOCKET__BUDGET_TURNS), NONE);
    assert_int_equal(ask(s, b, 1, 1, true).verdict, HOCKET__BUDGET_REFUSED); /* 0 turns */
    use(s, a, 50, 50);
    use(s, a, 50, 50);
    assert_int_equal(
        hocket__budget_left_above(s, a, HOCKET__BUDGET_TURNS), 6); /* its own were used */
    lend(s, a, 1, NONE);
    assert_int_equal(hocket__budget_left(s, a, HOCKET__BUDGET_TURNS), 3);
    hocket__budget_take_back(s, a, HOCKET__BUDGET_TURNS, 0);
    hocket__budget_take_back(s, a, HOCKET__BUDGET_TURNS, 1);
    assert_int_equal(hocket__budget_left(s, a, HOCKET__BUDGET_TURNS), 2);
    assert_int_equal(hocket__budget_left_above(s, a, HOCKET__BUDGET_TURNS), 6);
    hocket__budget_take_back(s, a, HOCKET__BUDGET_TURNS, NONE);
    hocket__budget_take_back(s, a, HOCKET__BUDGET_TURNS, NONE);
    hocket__budget_take_back(s, a, HOCKET__BUDGET_TOKENS, NONE);
    hocket__budget_take_back(s, ROOT, HOCKET__BUDGET_TURNS, NONE);
    assert_int_equal(hocket__budget_left(s, a, HOCKET__BUDGET_TURNS), 0);
    assert_int_equal(hocket__budget_left_above(s, a, HOCKET__BUDGET_TURNS), 8);
    lend(s, a, 2, NONE);
    for (int i = 0; i < 3;
         i++) /* more than it was given: of another process, which counts for itself */
        use(s, a, 50, 50);
    assert_int_equal(hocket__budget_left_above(s, a, HOCKET__BUDGET_TURNS), 5);
    hocket__account_close(s, a, 1);
    hocket__account_close(s, b, 1);
    assert_int_equal(hocket__budget_left(s, ROOT, HOCKET__BUDGET_TURNS), 5);
    assert_int_equal(hocket__budget_left(s, ROOT, HOCKET__BUDGET_TOKENS), 500);
    lend(s, ROOT, 3, NONE);
    assert_int_equal(hocket__budget_left(s, ROOT, HOCKET__BUDGET_TURNS), 8);
    done(&t, s);
}

static void test_lend_time(void **state)
{
    struct test_alloc t;
    struct hocket__accounts *s = fresh(&t, limits(10, NONE, NONE));
    struct hocket__budget_spec spec = limits(NONE, NONE, NONE);
    (void) state;
    spec.time_ms = 500;
    uint64_t a = below(s, ROOT, spec), b = hocket__account_open(s, a, &no_names, 100);
    assert_int_equal(hocket__budget_time(s, ROOT, 50), NONE);
    assert_int_equal(hocket__budget_time(s, b, 200), 300);
    assert_int_equal(hocket__budget_time(s, b, 900), 0);
    done(&t, s);
}

/* Whose limit it was that a reserve did not fit into: the tightest on the way. */
static void test_set_aside_short(void **state)
{
    struct test_alloc t;
    struct hocket__accounts *s = fresh(&t, limits(NONE, 1000, NONE));
    struct hocket__budget_spec spec = limits(NONE, 600, NONE);
    uint64_t middle = below(s, ROOT, limits(NONE, 500, NONE));
    spec.reserve = true;
    uint64_t a = below(s, middle, spec), b = below(s, middle, spec);
    struct hocket__budget_answer none = ask(s, b, 10, 10, true);
    assert_int_equal(none.verdict, HOCKET__BUDGET_REFUSED);
    assert_int_equal(none.account, b);
    assert_int_equal(none.limit, 0);
    assert_int_equal(none.asked, 600);
    assert_int_equal(none.giver, middle);
    struct hocket__budget_answer some = ask(s, a, 450, 50, false);
    assert_int_equal(some.verdict, HOCKET__BUDGET_LAST);
    assert_int_equal(some.limit, 500);
    assert_int_equal(some.asked, 600);
    hocket__account_close(s, a, 1);
    spec.limit[HOCKET__BUDGET_TOKENS] = 0; /* zero is zero, and fits */
    struct hocket__budget_answer zero = ask(s, below(s, middle, spec), 10, 10, true);
    assert_int_equal(zero.verdict, HOCKET__BUDGET_REFUSED);
    assert_int_equal(zero.giver, 0);
    done(&t, s);
}

/* ---- Random trees ------------------------------------------------------------------------- */

static uint64_t rng(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

#define AGENTS 60

struct world {
    struct hocket__accounts *s;
    uint64_t r;
    struct {
        uint64_t id, hold;
        int64_t input, cap; /* of the call that is under way */
        bool closed, last;
    } agents[AGENTS];
    size_t n;
    bool honest; /* calls need no more than they asked for */
};

/* What an account holds is what its calls, its last answer and those below hold: counted anew. */
static void held_below(const struct hocket__accounts *s, uint32_t n, int64_t out[KINDS])
{
    int64_t sum[KINDS] = { 0 };
    for (size_t h = 1; h <= s->holds_used; h++)
        for (int k = 0; k < KINDS; k++)
            sum[k] += s->holds[h].account == n ? s->holds[h].amount[k] : 0;
    for (int k = 0; k < KINDS; k++)
        sum[k] += s->list[n].kept[k];
    for (uint32_t c = s->list[n].first; c; c = s->list[c].next) {
        int64_t more[KINDS];
        held_below(s, c, more);
        for (int k = 0; k < KINDS; k++)
            sum[k] += more[k];
    }
    for (int k = 0; k < KINDS; k++) {
        const struct hocket__limits *l = s->list[n].limits;
        if (l)
            assert_int_equal(l->held[k], sum[k]);
        out[k] = l && l->aside[k] != NONE ? l->aside[k] : sum[k];
    }
}

static void check_world(const struct world *w)
{
    int64_t out[KINDS];
    held_below(w->s, 1, out);
}

/* A call is let go only while there is something left, of every limit above it. */
static void check_let_go(const struct world *w, uint32_t n)
{
    for (; n; n = w->s->list[n].parent)
        for (int k = 0; k < KINDS; k++) {
            int64_t used[KINDS];
            hocket__budget_amounts(&w->s->list[n].total, used);
            if (hocket__budget_limited(&w->s->list[n], k) && k != HOCKET__BUDGET_TOOL_CALLS)
                assert_true(used[k] < w->s->list[n].limits->limit[k]);
        }
}

static int64_t some(struct world *w, int64_t most)
{
    return (int64_t) (rng(&w->r) % (uint64_t) most);
}

static int64_t some_or_none(struct world *w, int64_t most)
{
    return some(w, 2) ? some(w, most) : NONE;
}

static void open_agent(struct world *w)
{
    uint64_t parent = w->n == 0 ? ROOT : w->agents[rng(&w->r) % w->n].id, id;
    if (w->n == AGENTS || !(id = hocket__account_open(w->s, parent, &no_names, 0)))
        return;
    if (some(w, 3) == 0) {
        int64_t turns = some_or_none(w, 12), tokens = some_or_none(w, 5000);
        struct hocket__budget_spec spec = limits(turns, tokens, some_or_none(w, 20000));
        spec.reserve = some(w, 2);
        assert_int_equal(hocket__budget_set(w->s, id, &spec), 0);
    }
    w->agents[w->n].id = id;
    w->n++;
}

static void begin(struct world *w, size_t i)
{
    int64_t input = some(w, 400), most = some(w, 3) ? some(w, 400) + 1 : -1;
    struct hocket__budget_answer a = ask(w->s, w->agents[i].id, input, most, w->agents[i].last);
    if (a.verdict == HOCKET__BUDGET_LAST)
        w->agents[i].last = true;
    if (a.verdict != HOCKET__BUDGET_GO)
        return;
    check_let_go(w, hocket__account_find(w->s, w->agents[i].id));
    w->agents[i].hold = a.hold;
    w->agents[i].input = input;
    w->agents[i].cap = a.max_output >= 0 ? a.max_output : most >= 0 ? most : 100;
}

static void end(struct world *w, size_t i, bool cancelled)
{
    int64_t factor = w->honest ? 1 : 1 + some(w, 8);
    if (!cancelled)
        use(w->s, w->agents[i].id, w->agents[i].input * factor,
            some(w, w->agents[i].cap + 1) * factor);
    assert_true(
        hocket__budget_settle(w->s, w->agents[i].hold, !w->agents[i].last && some(w, 4) > 0));
    assert_false(hocket__budget_settle(w->s, w->agents[i].hold, true));
    w->agents[i].hold = 0;
}

static void step(struct world *w)
{
    if (w->n == 0 || some(w, 8) == 0) {
        open_agent(w);
        return;
    }
    size_t i = (size_t) some(w, (int64_t) w->n);
    if (w->agents[i].closed)
        return;
    if (some(w, 25) == 0) { /* cancelled or done, perhaps in the middle of a call */
        if (w->agents[i].hold)
            end(w, i, true);
        hocket__account_close(w->s, w->agents[i].id, 0);
        w->agents[i].closed = true;
    } else if (w->agents[i].hold) {
        end(w, i, some(w, 10) == 0);
    } else {
        begin(w, i);
    }
}

/* Everything ends: nothing is held any more, and nothing was lost. */
static void end_world(struct world *w)
{
    for (size_t i = 0; i < w->n; i++) {
        if (w->agents[i].hold)
            end(w, i, true);
        hocket__account_close(w->s, w->agents[i].id, 0);
    }
    check_world(w);
    for (size_t i = 1; i <= w->s->used; i++)
        for (int k = 0; k < KINDS && w->s->list[i].limits; k++)
            assert_int_equal(w->s->list[i].limits->held[k], 0);
}

/* With calls that need what they asked for, a limit is passed by one call at most. */
static void check_limits(const struct world *w, int64_t call_tokens)
{
    for (size_t i = 1; i <= w->s->used; i++) {
        int64_t used[KINDS];
        const struct hocket__limits *l = w->s->list[i].limits;
        hocket__budget_amounts(&w->s->list[i].total, used);
        if (!l)
            continue;
        if (l->limit[HOCKET__BUDGET_TURNS] != NONE)
            assert_true(used[HOCKET__BUDGET_TURNS] <= l->limit[HOCKET__BUDGET_TURNS]);
        if (w->honest && l->limit[HOCKET__BUDGET_TOKENS] != NONE)
            assert_true(
                used[HOCKET__BUDGET_TOKENS] <= l->limit[HOCKET__BUDGET_TOKENS] + call_tokens);
        if (w->honest && l->limit[HOCKET__BUDGET_COST] != NONE)
            assert_true(
                used[HOCKET__BUDGET_COST] <= l->limit[HOCKET__BUDGET_COST] + 10 * call_tokens);
    }
}

static void test_random(void **state)
{
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        struct test_alloc t;
        struct world w = { .r = seed * 0x9E3779B97F4A7C15u, .honest = seed % 2 };
        w.s = fresh(&t, limits(200, 20000, seed % 3 ? 60000 : NONE));
        for (int i = 0; i < 1500; i++) {
            step(&w);
            if (i % 10 == 0)
                check_world(&w);
            check_limits(&w, 800);
        }
        end_world(&w);
        done(&t, w.s);
    }
}

static void no_memory(struct test_alloc *t, void *ud)
{
    struct hocket__accounts *s;
    struct hocket__budget_spec spec = limits(100, NONE, NONE);
    (void) ud;
    if (hocket__accounts_new(&t->a, 10, 0, &s) < 0)
        return;
    int rc = hocket__budget_set(s, ROOT, &spec);
    assert_true(rc == 0 || (rc == HOCKET_ENOMEM && t->failed));
    for (int i = 0; i < 20; i++) {
        struct hocket__budget_answer a = ask(s, ROOT, 1, 1, false);
        assert_true(
            a.verdict == HOCKET__BUDGET_GO || (a.verdict == HOCKET__BUDGET_NOMEM && t->failed));
    }
    hocket__accounts_free(s);
}

static void test_no_memory(void **state)
{
    assert_true(test_alloc_each(no_memory, NULL) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_zero),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_cap),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_tools),
        cmocka_unit_test(test_warning),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_kept_for_the_answer),
        cmocka_unit_test(test_kept_for_the_first),
        cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_wait),
        cmocka_unit_test(test_set_aside),
        cmocka_unit_test(test_set_aside_short),
        cmocka_unit_test(test_set_aside_outlived),
        cmocka_unit_test(test_lend),
        cmocka_unit_test(test_lend_time),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
