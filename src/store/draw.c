#include "store/draw.h"

#include <math.h>

#define MOST (INT64_C(1) << 42) /* so that HOCKET__STORE_DRAW_UNIT of each fits into 64 bits */

static bool is_amount(int64_t n)
{
    return n >= 0 && n <= MOST;
}

bool hocket__store_draw_is_good(const struct hocket__store_draw *d)
{
    return d->name.n > 0 && d->want >= -MOST && d->want <= MOST && is_amount(d->least)
           && is_amount(d->capacity) && is_amount(d->leak) && d->leak_ms >= 0
           && (d->leak == 0 || d->leak_ms > 0) && d->lease_ms >= 0 && d->block_ms >= 0
           && is_amount(d->spent) && (d->holder.n == 0 || (d->lease_ms > 0 && d->want >= 0));
}

int64_t hocket__store_draw_parts(const struct hocket__store_level *level)
{
    double parts = level->used * HOCKET__STORE_DRAW_UNIT;
    return parts < 9e18 ? (int64_t) parts : INT64_C(9000000000000000000);
}

/* A clock that was put back leaks nothing until it has come as far again. */
static void leak(
    const struct hocket__store_draw *d, int64_t now_ms, struct hocket__store_level *level)
{
    int64_t ms = now_ms - level->at_ms;
    if (level->at_ms != 0 && ms > 0 && d->leak > 0)
        level->used -= (double) d->leak / (double) d->leak_ms * (double) ms;
    if (level->used < 0 || isnan(level->used))
        level->used = 0;
    if (level->at_ms == 0 || ms > 0)
        level->at_ms = now_ms;
}

static int64_t at_least(int64_t n, int64_t least)
{
    return n > least ? n : least;
}

/* Milliseconds until so much leaks. */
static int64_t wait_for(const struct hocket__store_draw *d, double n)
{
    if (d->leak == 0)
        return -1;
    double ms = ceil(n * (double) d->leak_ms / (double) d->leak);
    return ms < 1 ? 1 : ms > (double) MOST ? MOST : (int64_t) ms;
}

static void draw_level(const struct hocket__store_draw *d, struct hocket__store_level *level,
    struct hocket__store_drawn *out)
{
    double left = (double) d->capacity - level->used;
    int64_t there = left > 0 ? (int64_t) (left + 1e-6) : 0;
    int64_t least = at_least(d->least, d->want > 0 ? 1 : 0);
    int64_t needed = d->owing && least > 1 ? 1 : least;
    if (d->forced || d->want <= 0)
        out->granted = d->want;
    else if (out->blocked_ms == 0 && there >= needed)
        out->granted = at_least(d->want < there ? d->want : there, least);
    level->used += (double) out->granted;
    if (level->used < 0)
        level->used = 0;
    if (d->want > 0 && out->granted == 0)
        out->retry_ms = there >= needed ? -1 : wait_for(d, (double) needed - left);
    left = (double) d->capacity - level->used;
    out->level = (int64_t) floor(left + 1e-6);
}

static void draw_slots(const struct hocket__store_draw *d,
    const struct hocket__store_others *others, const struct hocket__store_level *level,
    struct hocket__store_drawn *out)
{
    double left = (double) d->capacity - level->used - (double) others->n;
    int64_t there = left > 0 ? (int64_t) (left + 1e-6) : 0;
    out->granted = d->want < there ? d->want : there;
    if (out->granted < d->least)
        out->granted = 0;
    out->level = there - out->granted;
    out->holders = others->holders + hocket__store_draw_stays(d, out->granted);
    out->hungry = others->hungry;
}

bool hocket__store_draw_looks(const struct hocket__store_draw *d)
{
    return d->holder.n == 0 && d->want == 0 && d->spent == 0 && d->block_ms == 0;
}

bool hocket__store_draw_stays(const struct hocket__store_draw *d, int64_t granted)
{
    return d->want > 0 && (granted > 0 || d->least == 0);
}

static bool is_spent_already(
    const struct hocket__store_draw *d, const struct hocket__store_others *others)
{
    return d->again && d->holder.n > 0 && d->want == 0 && !others->mine;
}

void hocket__store_draw_decide(const struct hocket__store_draw *d, int64_t now_ms,
    const struct hocket__store_others *others, struct hocket__store_level *level,
    struct hocket__store_drawn *out)
{
    *out = (struct hocket__store_drawn){ .retry_ms = -1, .held = others->n };
    leak(d, now_ms, level);
    if (!is_spent_already(d, others))
        level->used += (double) d->spent;
    if (d->block_ms > 0 && now_ms + d->block_ms > level->blocked_ms)
        level->blocked_ms = now_ms + d->block_ms;
    out->blocked_ms = at_least(level->blocked_ms - now_ms, 0);
    if (d->holder.n > 0)
        draw_slots(d, others, level, out);
    else
        draw_level(d, level, out);
    if (out->blocked_ms > 0 && out->blocked_ms > out->retry_ms && d->want > 0 && out->granted == 0)
        out->retry_ms = out->blocked_ms;
}
