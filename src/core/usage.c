/* Sums of usage: what accounts add up and runs report. All counts are integers, cost in
 * nano-dollars, so that sums do not depend on the order in which calls end. They stay at the largest
 * number and never wrap, because a budget that wrapped would be unlimited. A cost
 * that is not known is not 0: `unpriced` counts the calls without one, and the sum prints as null. */
#include "core/usage.h"

#include <math.h>
#include <string.h>

#include "base/json/json.h"
#include "base/num/num.h"

/* Negative is "not known" (net/protocol/reply/reply.h), which adds nothing here; what it means for the
 * cost has been decided by hocket__price_cost. */
static void add(int64_t *sum, int64_t more)
{
    if (more > 0)
        *sum = *sum > INT64_MAX - more ? INT64_MAX : *sum + more;
}

void hocket__usage_sum_add(struct hocket__usage_sum *sum, const struct hocket__usage_sum *more)
{
    add(&sum->input, more->input);
    add(&sum->output, more->output);
    add(&sum->cached, more->cached);
    add(&sum->cache_write, more->cache_write);
    add(&sum->reasoning, more->reasoning);
    add(&sum->calls, more->calls);
    add(&sum->tool_calls, more->tool_calls);
    add(&sum->cost, more->cost);
    add(&sum->unpriced, more->unpriced);
    add(&sum->ms, more->ms);
}

/* What stands before a number, copied whole: a member's name takes fifteen bytes at most. */
struct lead {
    char text[16];
    size_t n;
};
#define LEAD(literal) (&(const struct lead){ literal, sizeof(literal) - 1 })

/* Sixteen bytes whatever the name's length: a copy of fixed size is two moves. What is too much is
 * written over by what follows; HOCKET__USAGE_MAX has room for the last. */
static char *put_lead(char *at, const struct lead *lead)
{
    memcpy(at, lead->text, sizeof(lead->text));
    return at + lead->n;
}

static char *put_count(char *at, const struct lead *lead, int64_t value)
{
    return hocket__num_put_int(put_lead(at, lead), value);
}

static char *put_decimal(char *at, const struct lead *lead, int64_t value, int places)
{
    return hocket__num_put_decimal(put_lead(at, lead), value, places);
}

static char *put_cost(char *at, const struct hocket__usage_sum *sum)
{
    if (sum->unpriced == 0)
        return put_decimal(at, LEAD(",\"cost\":"), sum->cost, 9);
    at = put_lead(at, LEAD(",\"cost\":null"));
    at = put_count(at, LEAD(",\"unpriced\":"), sum->unpriced);
    return put_decimal(at, LEAD(",\"cost_known\":"), sum->cost, 9);
}

/* Every job ends with one, and the result of a run has two for each: in one piece. */
size_t hocket__usage_sum_put(const struct hocket__usage_sum *sum, char *out)
{
    char *at = put_count(out, LEAD("{\"input\":"), sum->input);
    at = put_count(at, LEAD(",\"output\":"), sum->output);
    at = put_count(at, LEAD(",\"cached\":"), sum->cached);
    at = put_count(at, LEAD(",\"cache_write\":"), sum->cache_write);
    at = put_count(at, LEAD(",\"reasoning\":"), sum->reasoning);
    at = put_count(at, LEAD(",\"calls\":"), sum->calls);
    at = put_count(at, LEAD(",\"tool_calls\":"), sum->tool_calls);
    at = put_cost(at, sum);
    at = put_decimal(at, LEAD(",\"seconds\":"), sum->ms, 3);
    *at++ = '}';
    return (size_t) (at - out);
}

void hocket__usage_sum_print(const struct hocket__usage_sum *sum, struct hocket__buf *out)
{
    char text[HOCKET__USAGE_MAX];
    hocket__jw_raw(out, hocket__str(text, hocket__usage_sum_put(sum, text)));
}

bool hocket__price_is_free(const struct hocket__price *p)
{
    return p->rate.input == 0 && p->rate.output == 0;
}

static double at_least_0(int64_t v)
{
    return v > 0 ? (double) v : 0;
}

/* -1: not known. That is so where a count that the price needs is missing, and where cached input
 * has no price of its own: to take it for fresh input would be a guess. */
int64_t hocket__price_cost(const struct hocket__price *p, int64_t input, int64_t output,
    int64_t cached, int64_t cache_write)
{
    if (hocket__price_is_free(p))
        return 0;
    if (input < 0 || output < 0)
        return -1;
    bool is_long = p->limit >= 0 && (double) input > p->limit;
    const struct hocket__rate *r = is_long ? &p->above : &p->rate;
    double read = at_least_0(cached), written = at_least_0(cache_write);
    if (r->input < 0 || r->output < 0 || (read > 0 && r->cached < 0))
        return -1;
    /* `input` includes what was cached (core/usage.h). Some providers count that beside it: then
     * the rest would be negative, and is none. */
    double fresh = fmax((double) input - read - written, 0);
    double sum = fresh * r->input + read * fmax(r->cached, 0)
                 + written * (r->cache_write < 0 ? r->input : r->cache_write)
                 + (double) output * r->output;
    double nano = floor(sum * 1000 + 0.5); /* dollars for a million: thousands of nano-dollars */
    return nano < 9e18 ? (int64_t) nano : INT64_MAX;
}
