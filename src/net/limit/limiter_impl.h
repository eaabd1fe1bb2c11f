/* Shared by the limiter's files: limiter.c decides, learns and counts,
 * queue.c holds who waits. */
#pragma once

#include "net/limit/limiter.h"

struct hocket__limiter_run {
    uint64_t id;
    struct hocket__list ring, waits;
};

/* ---- Buckets ---- */

/* So many a minute: never more in any 60 seconds, a tenth of them at once. */
struct hocket__bucket hocket__bucket_per_minute(int64_t limit, int64_t now);
void hocket__bucket_take(struct hocket__bucket *b, double n);

/* ---- queue.c ---- */

int hocket__limiter_enqueue(
    struct hocket__limiter *l, struct hocket__limiter_wait *w, uint64_t run, bool first);
/* The one whose turn it is, or NULL. */
struct hocket__limiter_wait *hocket__limiter_head(const struct hocket__limiter *l);
/* Takes the head out and gives its run the last place. */
void hocket__limiter_pop(struct hocket__limiter *l);

/* ---- share.c ---- */

/* Calls at once that the user's limit leaves. */
int64_t hocket__limiter_slots(const struct hocket__limiter *l);
struct hocket__bucket hocket__limiter_bucket(
    const struct hocket__limiter *l, int64_t limit, int64_t now);
