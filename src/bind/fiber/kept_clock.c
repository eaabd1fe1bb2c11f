/* The clock of a run that is kept. It stands still while nobody runs the run, and is read in two ways:
 *
 *     real time     goes on by itself while the run is live. For deadlines, and for whoever looks from outside.
 *     script time   what the run's own code sees: the time of the last entry of its log.
 *
 * A read of script time appends an entry where real time is too far ahead. So code that never waits sees time pass, a
 * loop that reads the clock a million times writes a few entries, and a replay gives the same readings at the same reads.
 *
 * Only code that runs in a step of the run reads in this way. Others, between two steps, get what the log has: a replay does
 * not ask there, and would part from its log. */
#include "bind/fiber/kept_impl.h"

#include "bind/fiber/work_clock.h"
#include "bind/util.h"

/* The first thousand entries of a step lie this part of its time apart; see next_entry. */
#define PARTS 1000

static bool has_clock(const struct hocket__kept *k)
{
    return k->offset_ms != 0;
}

static int64_t running_ms(const struct hocket__kept *k)
{
    return (int64_t) hocket__deadlines_now() - k->offset_ms;
}

void hocket__kept_start_clock(struct hocket__kept *k)
{
    if (!has_clock(k))
        k->offset_ms = (int64_t) hocket__deadlines_now() - hocket__log_now_ms(k->log);
}

/* A run that is given up in its replay has no clock yet. */
static bool is_forsaken(const struct hocket__kept *k)
{
    return hocket__kept_forsaken(k) && has_clock(k);
}

int64_t hocket__kept_real_ms(const struct hocket__kept *k)
{
    return k->live || is_forsaken(k) ? running_ms(k) : hocket__log_now_ms(k->log);
}

int64_t hocket__kept_ms(const struct hocket__kept *k)
{
    return is_forsaken(k) ? running_ms(k) : hocket__log_now_ms(k->log);
}

int64_t hocket__kept_wall_ms(const struct hocket__kept *k)
{
    return k->wall_ms + hocket__kept_ms(k);
}

/* ---- Reads ---------------------------------------------------------------------------------------- */

/* A run whose log is used up in the middle of a step is not live yet, and has its clock from here on. */
static void move(struct hocket__kept *k, uint64_t path, uint32_t read, int64_t due)
{
    struct hocket__log_entry e = { .kind = HOCKET__LOG_CLOCK, .path = path, .ord = read };
    hocket__kept_start_clock(k);
    int64_t now = running_ms(k);
    if (now < due && read < HOCKET__LOG_LOOKS)
        return;
    if (hocket__log_put(k->log, &e, now, NULL) < 0)
        hocket__kept_end(k);
}

/* Script time moves when real time has come to `due`. While the run owes events of an earlier life it does not: those have
 * the time of the log's last entry. */
static void read_clock(struct hocket__kept *k, int64_t due)
{
    const struct hocket__fiber *f = k->rt->running;
    if (!f || f->kept != k || k->rt->kept != k || hocket__kept_forsaken(k))
        return;
    uint32_t read = hocket__log_read_clock(k->log, f->path);
    if (hocket__log_error(k->log))
        hocket__kept_end(k);
    else if (read > 0 && hocket__kept_owes(k))
        hocket__kept_check_owing(k, read);
    else if (read > 0)
        move(k, f->path, read, due);
}

/* A step of an hour would write 100 entries a second: after ten seconds they come more and more rarely, some 2,300 for each
 * tenfold of its time. */
static int64_t next_entry(const struct hocket__kept *k)
{
    int64_t now = hocket__log_now_ms(k->log), part = (now - k->step_ms) / PARTS;
    return now + (part > k->rt->clock_step_ms ? part : k->rt->clock_step_ms);
}

static int64_t script_ms(struct hocket__kept *k)
{
    read_clock(k, next_entry(k));
    return hocket__kept_ms(k);
}

bool hocket__kept_has_come(struct hocket__kept *k, int64_t due)
{
    if (hocket__kept_ms(k) < due)
        read_clock(k, due);
    return hocket__kept_ms(k) >= due;
}

/* Whole seconds are read in loops that wait for the next one. */
int64_t hocket__kept_script_wall_s(struct hocket__kept *k)
{
    int64_t into = hocket__kept_wall_ms(k) % 1000;
    read_clock(k, hocket__kept_ms(k) + (into < 0 ? -into : 1000 - into));
    int64_t wall = hocket__kept_wall_ms(k);
    return wall / 1000 - (wall % 1000 < 0);
}

int64_t hocket__script_ms(const struct hocket__runtime *rt)
{
    return rt->kept ? script_ms(rt->kept) : (int64_t) hocket__deadlines_now();
}

int64_t hocket__script_wall_ms(const struct hocket__runtime *rt)
{
    return rt->kept ? rt->kept->wall_ms + script_ms(rt->kept) : hocket__wall_ms();
}

/* ---- Whose times an object has -------------------------------------------------------------------- */

struct hocket__clock {
    const struct hocket_allocator *a;
    struct hocket__kept *kept; /* NULL: the run is gone */
    int64_t stopped_ms;        /* what it showed then */
    int64_t still_ms;          /* for how much of that the run had waited for people */
    size_t refs;
};

struct hocket__clock *hocket__clock_new(struct hocket__kept *k)
{
    struct hocket__clock *c = hocket__zero(k->rt->alloc, sizeof(*c));
    if (c)
        *c = (struct hocket__clock){ .a = k->rt->alloc, .kept = k, .refs = 1 };
    return c;
}

void hocket__clock_leave(struct hocket__clock *c)
{
    c->stopped_ms = hocket__kept_real_ms(c->kept);
    c->still_ms = c->kept->still_ms;
    c->kept = NULL;
    hocket__clock_unref(c);
}

struct hocket__clock *hocket__clock_here(const struct hocket__runtime *rt)
{
    struct hocket__kept *k = hocket__kept_here(rt);
    if (k)
        k->clock->refs++;
    return k ? k->clock : NULL;
}

void hocket__clock_unref(struct hocket__clock *c)
{
    if (c && --c->refs == 0)
        hocket__free(c->a, c, sizeof(*c));
}

struct hocket__kept *hocket__clock_run(const struct hocket__clock *c)
{
    return c ? c->kept : NULL;
}

struct hocket__kept *hocket__clock_outside(const struct hocket__clock *c)
{
    struct hocket__kept *k = hocket__clock_run(c);
    return k && hocket__kept_here(k->rt) != k ? k : NULL;
}

int64_t hocket__clock_log_ms(const struct hocket__clock *c)
{
    return c->kept ? hocket__kept_ms(c->kept) : c->stopped_ms;
}

int64_t hocket__clock_ms(const struct hocket__clock *c)
{
    if (!c)
        return (int64_t) hocket__deadlines_now();
    if (!c->kept)
        return c->stopped_ms;
    return c->kept->rt->kept == c->kept ? script_ms(c->kept) : hocket__kept_real_ms(c->kept);
}

int64_t hocket__clock_work_ms(const struct hocket__clock *c)
{
    int64_t ms = hocket__clock_ms(c);
    return c ? ms - (c->kept ? c->kept->still_ms : c->still_ms) : ms;
}

/* ==== Work clock ============================================================================== */

/* See work_clock.h. It stops and goes on inside of the call that changes what a fiber does; a pause of no length costs two passes
 * over the run's limits. */

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

void hocket__work_clock_set_back(struct hocket__work_clock *c, int64_t ms)
{
    c->still_ms += ms;
    if (sets_limits(c))
        set_limits(c);
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
