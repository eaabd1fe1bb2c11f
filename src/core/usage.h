/* What model calls have used: the leaf of the accounting, and its sums.
 *
 * Every field is 0 or more. Sums stop at the largest number instead of wrapping, so that
 * adding is the same in any order and a limit that was passed stays passed. A cost
 * that nobody knows is not 0: the sum knows that a part of it is missing. */
#pragma once

#include "base/buf.h"

struct hocket__usage_sum {
    int64_t input, output;       /* tokens; input includes cached and cache_write */
    int64_t cached, cache_write; /* of the input: read from, written to the provider's cache */
    int64_t reasoning;           /* of the output */
    int64_t calls;
    int64_t cost;      /* micro-dollars, of the calls whose price is known */
    bool cost_unknown; /* there are calls whose price is not */
    int64_t ms;        /* time worked: what ran side by side is added up too */
};

/* Adds `more` (fields below 0, "not told", count as 0) to *sum. */
void hocket__usage_sum_add(struct hocket__usage_sum *sum, const struct hocket__usage_sum *more);

/* Appends {"input":1200,"output":80,"cached":0,"cache_write":0,"reasoning":0,"calls":1,
 * "cost":0.00525,"ms":830}: the cost in dollars, exactly. When a part of it is unknown, "cost"
 * is null and "cost_known" is the rest. */
void hocket__usage_sum_print(const struct hocket__usage_sum *sum, struct hocket__buf *out);
