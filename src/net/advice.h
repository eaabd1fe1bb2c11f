/* What the headers of an answer advise: when to come again, and how much is left until
 * when. Every provider says it in a way of its own; here it is one struct. It reads known names only, and allocates
 * nothing.
 *
 *     init ──> header… ──> resolve ──> after_ms, requests, tokens */
#pragma once

#include "base/str.h"

#include <stdint.h>

/* A limit as the server told it; -1: not told. */
struct hocket__quota {
    int64_t limit, remaining;
    int64_t reset_ms; /* from now until it is full again */
    int64_t reset_at; /* private: a point in time, until resolved */
};

struct hocket__advice {
    int should_retry; /* x-should-retry: 1, 0, or -1 where it is not sent */
    int64_t after_ms; /* Retry-After in whatever form, from now; -1: not told */
    int64_t after_at; /* private, as reset_at */
    int64_t date_ms;  /* private: the server's own clock */
    struct hocket__quota requests, tokens;
    struct hocket__quota input; /* private: input tokens, where tokens are not told */
    struct hocket__quota other; /* private: limits of a day, and those of no name */
};

void hocket__advice_init(struct hocket__advice *a);
/* One header, its name in lower case. */
void hocket__advice_header(
    struct hocket__advice *a, struct hocket__str name, struct hocket__str value);
/* After the last header: makes durations of points in time, by the server's clock where the answer has a date, and
 * by `now_ms` (since 1970) otherwise. */
void hocket__advice_resolve(struct hocket__advice *a, int64_t now_ms);
/* Whether resolve needs to know the time. */
bool hocket__advice_needs_now(const struct hocket__advice *a);
