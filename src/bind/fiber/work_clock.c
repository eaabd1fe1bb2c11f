/* See work_clock.h. It stops and goes on inside of the call that changes what a fiber does; a pause of no length costs two passes
 * over the run's limits. */
#include "bind/fiber/work_clock.h"

#include "bind/fiber/kept_impl.h"

/* ---- Time ----------------------------------------------------------------------------------- */

static int64_t base_ms(const struct hocket__work_clock *c)
{
    return c->kept ? hocket__kept_real_ms(c->kept) : (int64_t) hocket__deadlines_now();
}

int64_t hocket__work_clock_still_ms(const struct hocket__work_clock *c)
{
    return c->still_ms + (c->stopped ? base_ms(c) - c->since_ms : 0);
}

static int64_t now_ms(const struct hocket__work_clock *c)
{
    return c ? base_ms(c) - hocket__work_clock_still_ms(c) : (int64_t) hocket__deadlines_now();
}

int64_t hocket__work_ms(const struct hocket__runtime *rt)
{
    return now_ms(rt->running ? rt->running->work : NULL);
}

int64_t hocket__work_still_ms(const struct hocket__runtime *rt)
{
    const struct hocket__work_clock *c = rt->running ? rt->running->work : NULL;
    if (!c)
        return 0;
    return c->kept ? c->kept->still_ms : hocket__work_clock_still_ms(c);
}

void hocket__work_limit_run(const struct hocket__runtime *rt, int64_t ms)
{
    struct hocket__work_clock *c = rt->running ? rt->running->work : NULL;
    if (c)
        c->run_due_ms = ms < 0 ? 0 : now_ms(c) + ms;
}

bool hocket__work_has_time(const struct hocket__runtime *rt)
{
    const struct hocket__work_clock *c = rt->running ? rt->running->work : NULL;
    return c && now_ms(c) < c->run_due_ms;
}

/* ---- Limits --------------------------------------------------------------------------------- */

/* In a replay the log says what they have ended. */
static bool sets_limits(const struct hocket__work_clock *c)
{
    return !c || (!c->stopped && (!c->kept || hocket__kept_is_free(c->kept)));
}

static void set_limit(struct hocket__fiber *f)
{
    int64_t left = f->limit_due - now_ms(f->work);
    hocket__deadline_set(&f->rt->deadlines, &f->deadline,
        hocket__deadlines_now() + (uint64_t) (left > 0 ? left : 0));
}

static void set_limits(struct hocket__work_clock *c)
{
    for (struct hocket__list *l = c->limits.next; l != &c->limits; l = l->next)
        set_limit(hocket__container_of(l, struct hocket__fiber, limit));
}

static void clear_limits(struct hocket__work_clock *c)
{
    for (struct hocket__list *l = c->limits.next; l != &c->limits; l = l->next) {
        struct hocket__fiber *f = hocket__container_of(l, struct hocket__fiber, limit);
        hocket__deadline_clear(&f->rt->deadlines, &f->deadline);
    }
}

void hocket__work_clock_limit(struct hocket__fiber *f, int64_t due_ms)
{
    f->limit_due = due_ms;
    if (f->work)
        hocket__list_add(&f->work->limits, &f->limit);
    if (sets_limits(f->work))
        set_limit(f);
}

void hocket__work_clock_unlimit(struct hocket__fiber *f)
{
    hocket__list_del(&f->limit);
    f->limit_due = 0;
}

/* ---- Whether it runs ------------------------------------------------------------------------ */

static bool waits_for_people(const struct hocket__work_clock *c)
{
    bool live = !c->kept || (c->kept->live && !hocket__kept_forsaken(c->kept));
    return live && c->fibers[HOCKET__BUSY] == 0 && c->fibers[HOCKET__ASKING] > 0;
}

static void settle(struct hocket__work_clock *c)
{
    bool stops = waits_for_people(c);
    if (stops == c->stopped)
        return;
    if (stops) {
        c->since_ms = base_ms(c);
        clear_limits(c);
    } else {
        c->still_ms = hocket__work_clock_still_ms(c);
    }
    c->stopped = stops;
    if (sets_limits(c))
        set_limits(c);
}

void hocket__work_clock_live(struct hocket__work_clock *c)
{
    settle(c);
    if (sets_limits(c))
        set_limits(c);
}

/* ---- Fibers --------------------------------------------------------------------------------- */

enum hocket__standing hocket__work_clock_standing(const struct hocket__fiber *f, int64_t timeout_ms)
{
    if (f->traits & HOCKET__SERVICE)
        return HOCKET__IDLE;
    enum hocket__effect_state effect = f->effect.state;
    if (effect == HOCKET__EFFECT_BEGUN || effect == HOCKET__EFFECT_OVER)
        return HOCKET__IDLE; /* the fiber that performs it counts */
    if (effect != HOCKET__EFFECT_NONE)
        return HOCKET__BUSY;
    if (f->away != HOCKET__AT_WORK)
        return f->away == HOCKET__FOR_PEOPLE ? HOCKET__ASKING : HOCKET__IDLE;
    if (f->limit_due != 0 || f->wall_due != 0)
        return HOCKET__IDLE;
    return hocket__fiber_waits_outside(f) || hocket__fiber_waits_on_program(f) || timeout_ms >= 0
               ? HOCKET__BUSY
               : HOCKET__IDLE;
}

void hocket__work_clock_note(struct hocket__fiber *f, enum hocket__standing standing)
{
    struct hocket__work_clock *c = f->work;
    if (c) {
        c->fibers[f->standing]--;
        c->fibers[standing]++;
    }
    f->standing = standing;
    if (c)
        settle(c);
}

struct hocket__work_clock *hocket__work_clock_new(struct hocket__runtime *rt)
{
    struct hocket__work_clock *c = hocket__zero(rt->alloc, sizeof(*c));
    if (!c)
        return NULL;
    c->a = rt->alloc;
    c->refs = 1;
    hocket__list_init(&c->limits);
    return c;
}

void hocket__work_clock_unref(struct hocket__work_clock *c)
{
    if (--c->refs == 0)
        hocket__free(c->a, c, sizeof(*c));
}

void hocket__work_clock_join(struct hocket__fiber *f, struct hocket__work_clock *c)
{
    c->refs++;
    hocket__work_clock_leave(f);
    f->work = c;
    c->fibers[f->standing]++;
    settle(c);
}

void hocket__work_clock_leave(struct hocket__fiber *f)
{
    struct hocket__work_clock *c = f->work;
    if (!c)
        return;
    hocket__list_del(&f->limit);
    f->work = NULL;
    c->fibers[f->standing]--;
    settle(c);
    hocket__work_clock_unref(c);
}
