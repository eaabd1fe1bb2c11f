/* Verdicts before a call, and holds while it is under way. Nothing here knows what a token is: a caller estimates,
 * and gets a verdict on its estimate.
 *
 * Two figures go into a verdict. What the call may need at most is held, so that calls side by side
 * cannot together pass the limit. What is expected of it decides whether there is enough for this
 * one and for a last answer after it. */
#include "core/account/account_impl.h"

#include <string.h>

/* Tokens of an answer when nothing is known: more than a tool call, less than an essay; and what is
 * added to twice the longest one when something is. */
#define OUTPUT_GUESS  256
#define OUTPUT_MARGIN 64

const char *hocket__budget_word(enum hocket__budget_kind kind)
{
    static const char *const words[] = {
#define WORD(name, word) word,
        HOCKET__BUDGET_MAP(WORD)
#undef WORD
            "seconds",
        "stop"
    };
    return words[kind];
}

static int64_t times(int64_t a, int64_t b)
{
    return b > 0 && a > INT64_MAX / b ? INT64_MAX : a * b;
}

/* What a call may hold: more than any call needs, and little enough to add up a million of them. */
#define MOST (INT64_MAX >> 20)

static int64_t bounded(int64_t v)
{
    return v < MOST ? v : MOST;
}

/* ---- Asking --------------------------------------------------------------------------- */

/* What one call needs at most, what is expected of it, and less than which it cannot be: its input and one token. */
struct need {
    int64_t most[KINDS], expected[KINDS], least[KINDS];
    int64_t input;
};

static void fill(
    int64_t out[KINDS], const struct hocket__budget_ask *ask, int64_t input, int64_t output)
{
    out[HOCKET__BUDGET_TURNS] = 1;
    out[HOCKET__BUDGET_TOOL_CALLS] = 0;
    out[HOCKET__BUDGET_TOKENS] = bounded(hocket__saturating_add(input, output));
    out[HOCKET__BUDGET_COST] =
        bounded(hocket__saturating_add(times(input, hocket__clamp_to_zero(ask->price_in)),
            times(output, hocket__clamp_to_zero(ask->price_out))));
}

/* A conversation only grows, and its answers are like those before. */
static struct need need_of(const struct hocket__account *c, const struct hocket__budget_ask *ask)
{
    struct need need;
    int64_t guess = c->most_output > 0
                        ? hocket__saturating_add(times(c->most_output, 2), OUTPUT_MARGIN)
                        : OUTPUT_GUESS;
    int64_t likely = ask->max_output >= 0 && ask->max_output < guess ? ask->max_output : guess;
    need.input = ask->input;
    if (c->last_tokens > 0)
        need.input = hocket__saturating_add(
            c->last_tokens, hocket__clamp_to_zero(ask->input - c->last_guess));
    fill(need.expected, ask, need.input, likely);
    fill(need.most, ask, need.input, ask->max_output >= 0 ? ask->max_output : guess);
    fill(need.least, ask, need.input, 1);
    return need;
}

static struct hocket__budget_answer decided(
    const struct hocket__accounts *s, uint32_t n, enum hocket__budget_verdict verdict, int kind)
{
    const struct hocket__account *c = &s->list[n];
    struct hocket__budget_answer out = { .verdict = verdict,
        .max_output = -1,
        .account = hocket__account_id(s, n),
        .kind = (enum hocket__budget_kind) kind };
    if (kind == HOCKET__BUDGET_SECONDS && c->limits)
        out.limit = c->limits->seconds_ms;
    if (kind < HOCKET__BUDGET_KINDS && c->limits) {
        int64_t used[KINDS];
        hocket__budget_amounts(&c->total, used);
        out.used = used[kind];
        out.limit = c->limits->limit[kind];
        out.asked = c->limits->asked[kind];
        out.giver = c->limits->giver[kind];
    }
    return out;
}

/* `covered`: an account below has it set aside. */
static enum hocket__budget_verdict judge(
    const struct hocket__account *c, int k, const struct need *need, bool last, bool covered)
{
    int64_t left = hocket__budget_left_unheld(c, k), held = c->limits->held[k];
    int64_t most = need->most[k], expected = need->expected[k];
    bool alone = c->limits->in_flight == 0;
    if (c->limits->limit[k] == 0 || left + held <= 0)
        return HOCKET__BUDGET_REFUSED;
    /* the amount was set aside for an account below, and is counted as held here already */
    if (covered)
        return HOCKET__BUDGET_GO;
    /* Others hold more than they will use, as a rule: waiting for them costs less than ending
     * with a short answer. A last answer that would fit does not wait. */
    if (left < most && !alone && !(last && left >= expected))
        return HOCKET__BUDGET_WAIT;
    if (left < need->least[k])
        return alone || held == 0 ? HOCKET__BUDGET_REFUSED : HOCKET__BUDGET_WAIT;
    if (left >= hocket__saturating_add(expected, last ? 0 : expected))
        return HOCKET__BUDGET_GO;
    if (left < expected && held > 0) /* the rest is others' */
        return alone ? HOCKET__BUDGET_REFUSED : HOCKET__BUDGET_WAIT;
    return last ? HOCKET__BUDGET_GO : HOCKET__BUDGET_LAST;
}

static enum hocket__budget_verdict judge_time(
    const struct hocket__account *c, bool last, int64_t now_ms)
{
    if (!c->limits || c->limits->seconds_ms == HOCKET__NO_LIMIT)
        return HOCKET__BUDGET_GO;
    if (c->limits->seconds_ms == 0)
        return HOCKET__BUDGET_REFUSED;
    return !last && now_ms - c->opened_ms >= c->limits->seconds_ms ? HOCKET__BUDGET_LAST
                                                                   : HOCKET__BUDGET_GO;
}

/* How the verdicts of several limits add up: refused is worse than to wait, as that would not
 * help, and to wait is worse than the last call. */
static int rank(enum hocket__budget_verdict v)
{
    static const int ranks[] = { [HOCKET__BUDGET_GO] = 0,
        [HOCKET__BUDGET_LAST] = 1,
        [HOCKET__BUDGET_WAIT] = 2,
        [HOCKET__BUDGET_REFUSED] = 3 };
    return ranks[v];
}

static void worse(struct hocket__budget_answer *out, struct hocket__budget_answer other)
{
    if (rank(other.verdict) > rank(out->verdict))
        *out = other;
}

static struct hocket__budget_answer judge_all(const struct hocket__accounts *s, uint32_t n,
    const struct need *need, bool last, int64_t now_ms)
{
    struct hocket__budget_answer out = decided(s, n, HOCKET__BUDGET_GO, 0);
    bool covered[KINDS] = { false };
    if (s->stopping && !last)
        worse(&out, decided(s, 1, HOCKET__BUDGET_LAST, HOCKET__BUDGET_STOP));
    for (; n; n = s->list[n].parent) {
        const struct hocket__account *c = &s->list[n];
        worse(&out, decided(s, n, judge_time(c, last, now_ms), HOCKET__BUDGET_SECONDS));
        for (int k = 0; k < KINDS; k++) {
            if (k == HOCKET__BUDGET_TOOL_CALLS || !hocket__budget_limited(c, k))
                continue;
            worse(&out, decided(s, n, judge(c, k, need, last, covered[k]), k));
            covered[k] = covered[k] || c->limits->aside[k] != HOCKET__NO_LIMIT;
        }
    }
    return out;
}

/* Tokens that an answer may have, by what is left of tokens and money. */
static int64_t room(const struct hocket__accounts *s, uint32_t n, const struct need *need,
    const struct hocket__budget_ask *ask)
{
    int64_t tokens = hocket__budget_tightest(s, n, HOCKET__BUDGET_TOKENS),
            cost = hocket__budget_tightest(s, n, HOCKET__BUDGET_COST);
    int64_t least = tokens == INT64_MAX ? INT64_MAX : tokens - need->input;
    if (cost != INT64_MAX && ask->price_out > 0) {
        int64_t paid =
            (cost - times(need->input, hocket__clamp_to_zero(ask->price_in))) / ask->price_out;
        least = paid < least ? paid : least;
    }
    return least;
}

static uint32_t take_hold(struct hocket__accounts *s)
{
    uint32_t h = s->free_hold;
    if (h) {
        s->free_hold = s->holds[h].next_free;
        return h;
    }
    if (hocket__grow(s->a, &s->holds, &s->holds_cap, s->holds_used + 2, sizeof(*s->holds)) < 0)
        return 0;
    h = (uint32_t) ++s->holds_used;
    memset(&s->holds[h], 0, sizeof(s->holds[h]));
    return h;
}

static void count_in_flight(struct hocket__accounts *s, uint32_t n, size_t more)
{
    for (; n; n = s->list[n].parent)
        if (s->list[n].limits)
            s->list[n].limits->in_flight += more;
}

/* What is left, and no token more. */
static int64_t cap_of(const struct hocket__accounts *s, uint32_t n, const struct need *need,
    const struct hocket__budget_ask *ask)
{
    int64_t there = room(s, n, need, ask);
    int64_t wanted = ask->max_output >= 0 ? ask->max_output : 4096;
    if (there >= wanted)
        return -1;
    return there > 1 ? there : 1;
}

static struct hocket__budget_answer hold_call(struct hocket__accounts *s, uint32_t n,
    const struct need *need, const struct hocket__budget_ask *ask)
{
    struct hocket__budget_answer out = decided(s, n, HOCKET__BUDGET_GO, 0);
    uint32_t h = take_hold(s);
    if (!h)
        return decided(s, n, HOCKET__BUDGET_NOMEM, 0);
    out.max_output = cap_of(s, n, need, ask);
    /* With the count that the provider gives afterwards, the next estimate is corrected by
     * (need_of). */
    s->list[n].asked_guess = ask->input;
    memcpy(s->holds[h].amount, need->most, sizeof(need->most));
    if (out.max_output >= 0)
        fill(s->holds[h].amount, ask, need->input, out.max_output);
    s->holds[h].account = n;
    s->holds[h].price_in = ask->price_in;
    s->holds[h].price_out = ask->price_out;
    s->list[n].holds++;
    hocket__budget_hold(s, n, s->holds[h].amount);
    count_in_flight(s, n, 1);
    out.hold = (uint64_t) s->holds[h].generation << 32 | h;
    return out;
}

static bool has_cost_limit(const struct hocket__accounts *s, uint32_t n)
{
    for (; n; n = s->list[n].parent)
        if (hocket__budget_limited(&s->list[n], HOCKET__BUDGET_COST))
            return true;
    return false;
}

struct hocket__budget_answer hocket__budget_ask(struct hocket__accounts *s, uint64_t account,
    const struct hocket__budget_ask *ask, int64_t now_ms)
{
    uint32_t n = hocket__account_find(s, account);
    n = n ? n : 1;
    struct need need = need_of(&s->list[n], ask);
    if ((ask->price_in < 0 || ask->price_out < 0) && has_cost_limit(s, n))
        return decided(s, n, HOCKET__BUDGET_UNPRICED, HOCKET__BUDGET_COST);
    /* What it keeps back for its last answer is its own to use: out of the way for the
     * verdict, and back if that is no. */
    int64_t kept[KINDS];
    memcpy(kept, s->list[n].kept, sizeof(kept));
    hocket__budget_unhold(s, n, s->list[n].kept);
    struct hocket__budget_answer out = judge_all(s, n, &need, ask->last, now_ms);
    if (out.verdict == HOCKET__BUDGET_GO)
        out = hold_call(s, n, &need, ask);
    if (out.verdict != HOCKET__BUDGET_GO) { /* it keeps what it had */
        memcpy(s->list[n].kept, kept, sizeof(kept));
        hocket__budget_hold(s, n, kept);
    }
    return out;
}

/* ---- Settling --------------------------------------------------------------------------- */

/* What one more call like the last one needs, but never more than there is. */
static void keep_back(struct hocket__accounts *s, uint32_t n, const struct hocket__hold *hold)
{
    struct hocket__account *c = &s->list[n];
    struct hocket__budget_ask like = { c->last_guess, -1, hold->price_in, hold->price_out, true };
    struct need need = need_of(c, &like);
    hocket__budget_unhold(s, n, c->kept);
    for (int k = 0; k < KINDS; k++) {
        int64_t there = hocket__budget_tightest(s, n, k);
        c->kept[k] = there < need.expected[k] ? there : need.expected[k];
    }
    hocket__budget_hold(s, n, c->kept);
}

void hocket__budget_reserve_first_call(struct hocket__accounts *s, uint64_t account)
{
    static const struct hocket__hold unpriced;
    uint32_t n = hocket__account_find(s, account);
    if (n && s->list[n].open)
        keep_back(s, n, &unpriced);
}

bool hocket__budget_settle(struct hocket__accounts *s, uint64_t id, bool goes_on)
{
    uint32_t h = (uint32_t) id;
    if (h == 0 || h > s->holds_used || !s->holds[h].account || s->holds[h].generation != id >> 32)
        return false;
    struct hocket__hold hold = s->holds[h];
    hocket__budget_unhold(s, hold.account, hold.amount);
    count_in_flight(s, hold.account, (size_t) -1);
    s->holds[h] =
        (struct hocket__hold){ .generation = hold.generation + 1, .next_free = s->free_hold };
    s->free_hold = h;
    s->list[hold.account].holds--;
    if (goes_on && s->list[hold.account].open)
        keep_back(s, hold.account, &hold);
    hocket__account_tidy(s, hold.account);
    return true;
}

/* ---- Tools and warnings -------------------------------------------------------------------- */

int64_t hocket__budget_tools(const struct hocket__accounts *s, uint64_t account, int64_t n,
    struct hocket__budget_answer *out)
{
    uint32_t found = hocket__account_find(s, account);
    for (uint32_t i = found ? found : 1; i; i = s->list[i].parent) {
        if (!hocket__budget_limited(&s->list[i], HOCKET__BUDGET_TOOL_CALLS))
            continue;
        int64_t left = hocket__clamp_to_zero(
            hocket__budget_left_unheld(&s->list[i], HOCKET__BUDGET_TOOL_CALLS));
        if (left >= n)
            continue;
        n = left;
        if (out)
            *out = decided(s, i, HOCKET__BUDGET_REFUSED, HOCKET__BUDGET_TOOL_CALLS);
    }
    return n;
}

bool hocket__budget_warning(
    struct hocket__accounts *s, uint64_t account, struct hocket__budget_answer *out)
{
    uint32_t found = hocket__account_find(s, account);
    for (uint32_t i = found ? found : 1; i; i = s->list[i].parent) {
        struct hocket__limits *l = s->list[i].limits;
        int64_t used[KINDS];
        hocket__budget_amounts(&s->list[i].total, used);
        for (int k = 0; k < KINDS; k++) {
            if (!l || l->warn[k] == HOCKET__NO_LIMIT || l->warned[k] || used[k] < l->warn[k])
                continue;
            l->warned[k] = true;
            *out = decided(s, i, HOCKET__BUDGET_GO, k);
            return true;
        }
    }
    return false;
}
