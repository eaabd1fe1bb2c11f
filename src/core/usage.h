/* What model calls have used: the leaf of the accounting, and its sums.
 *
 * Every field is 0 or more. Sums stop at the largest number instead of wrapping, so that
 * adding is the same in any order and a limit that was passed stays passed. A cost
 * that nobody knows is not 0: the sum knows how many calls have no price. */
#pragma once

#include "base/buf.h"

/* Money is a whole number of nano-dollars: prices per million tokens come out exact. */
#define HOCKET__DOLLAR        INT64_C(1000000000)
#define HOCKET__DOLLAR_PLACES 9

struct hocket__usage_sum {
    int64_t input, output;       /* tokens; input includes cached and cache_write */
    int64_t cached, cache_write; /* of the input: read from, written to the provider's cache */
    int64_t reasoning;           /* of the output */
    int64_t calls, tool_calls;
    int64_t cost;     /* nano-dollars, of the calls whose price is known */
    int64_t unpriced; /* calls whose price is not known */
    int64_t ms;       /* time that models took: what ran side by side is added up too */
};

/* Adds `more` (fields below 0, "not told", count as 0) to *sum. */
void hocket__usage_sum_add(struct hocket__usage_sum *sum, const struct hocket__usage_sum *more);

/* Appends {"input":1200,"output":80,"cached":0,"cache_write":0,"reasoning":0,"calls":1,
 * "tool_calls":0,"cost":0.00525,"seconds":0.83}: the cost in dollars, exactly. When there are
 * calls without a price, "cost" is null, "cost_known" is the rest and "unpriced" their number. */
void hocket__usage_sum_print(const struct hocket__usage_sum *sum, struct hocket__buf *out);
#define HOCKET__USAGE_MAX 400
/* The same without a NUL into HOCKET__USAGE_MAX bytes; returns how many. */
size_t hocket__usage_sum_put(const struct hocket__usage_sum *sum, char *out);

/* What a model's tokens cost, in dollars for a million. Below 0: not known. */
struct hocket__rate {
    double input, output, cached, cache_write; /* cache_write not known: as input */
};
struct hocket__price {
    struct hocket__rate rate, above; /* above: of calls with more input than `limit` tokens */
    double limit;                    /* below 0: none */
};

/* Whether no call costs anything. */
bool hocket__price_is_free(const struct hocket__price *p);
/* What a call has cost, or -1 when one of the prices or counts that it needs is not known. Counts
 * below 0 are "not told". */
int64_t hocket__price_cost(const struct hocket__price *p, int64_t input, int64_t output,
    int64_t cached, int64_t cache_write);
