/* The replay of a run that is kept: entries of its log are done where the first time something came from
 * outside, after the same number of steps. When the log is used up the run goes live; where the run does not
 * do what the log says it has diverged, and ends: to guess would do effects twice. */
#include "bind/fiber/kept_impl.h"
#include "bind/fiber/work_clock.h"

#include <stdlib.h>
#include <string.h>

/* Of its clock, when it begins: 0 stands for no time in many places. */
#define BEGIN_MS 1000

/* A run whose log is used up may rest so often before it is live, for who has much to do; one that never waits at all does
 * nothing else. */
#define MOST_RESTS 100

static void diverge(struct hocket__kept *k, const char *what, const struct hocket__log_entry *e)
{
    struct hocket_error err;
    hocket__error(&err, HOCKET_EREPLAY, "%s: entry %llu of its log is a %s of fiber %llx", what,
        (unsigned long long) e->n, hocket__log_word(e->kind), (unsigned long long) e->path);
    hocket__log_fail(k->log, &err);
}

static int64_t number_of(struct hocket__str s)
{
    char text[32] = "";
    if (s.n > 0 && s.n < sizeof(text))
        memcpy(text, s.p, s.n);
    return strtoll(text, NULL, 10);
}

static void read_life(struct hocket__kept *k, const struct hocket__log_entry *e)
{
    k->wall_ms = number_of(e->value);
    k->still_ms = k->work->still_ms = number_of(e->name);
}

/* What is for a fiber. False: it has to wait for something that is done again. */
static bool apply_to(struct hocket__fiber *f, const struct hocket__log_entry *e)
{
    if (e->kind == HOCKET__LOG_WAKE && hocket__fiber_waits_outside(f) && f->state == HOCKET__WAITING
        && !f->outer_woken)
        return false;
    bool needs_wait = e->kind == HOCKET__LOG_TIMEOUT || e->kind == HOCKET__LOG_STUCK;
    if (needs_wait && f->state != HOCKET__WAITING) {
        diverge(f->kept, "the fiber does not wait now", e);
        return true;
    }
    hocket__log_pass(f->kept->log);
    f->outer_woken = false;
    if (e->kind == HOCKET__LOG_WAKE)
        hocket__fiber_wake(f->rt, f->id);
    else if (e->kind == HOCKET__LOG_CANCEL)
        hocket__fiber_cancel(f);
    else if (e->kind == HOCKET__LOG_STUCK)
        hocket__fiber_raise_stuck(f);
    else
        hocket__fiber_expire(f);
    return true;
}

static void apply_to_run(struct hocket__kept *k, const struct hocket__log_entry *e)
{
    hocket__log_pass(k->log);
    if (e->kind == HOCKET__LOG_LIFE)
        read_life(k, e);
    else if (e->kind == HOCKET__LOG_TELL && k->hooks.tell)
        k->hooks.tell(k->hooks.tell_ud, e->name, e->value);
    else if (e->kind == HOCKET__LOG_NOTICE && k->hooks.notice)
        k->hooks.notice(k->hooks.notice_ud, e->name, e->value);
}

static bool apply(struct hocket__kept *k, const struct hocket__log_entry *e)
{
    struct hocket__fiber *f = e->path ? hocket__map_get(&k->by_path, e->path) : NULL;
    if (e->path && !f) {
        diverge(k, "the run has no such fiber now", e);
        return true;
    }
    if (e->kind == HOCKET__LOG_END) {
        if (!hocket__effect_ended_again(f, e))
            diverge(k, "the fiber waits for another effect now", e);
        return true;
    }
    uint64_t n = e->n;
    if (f && !apply_to(f, e))
        return false;
    if (!f)
        apply_to_run(k, e);
    hocket__log_forget(k->log, n);
    return true;
}

static void let_go(struct hocket__fiber *f)
{
    struct hocket__kept *k = f->kept;
    if (f->state == HOCKET__WAITING && f->wall_due > 0)
        hocket__deadline_set(&k->rt->deadlines, &f->deadline,
            hocket__deadlines_now() + (uint64_t) hocket__fiber_look_in(f->wall_due));
    else if (f->state == HOCKET__WAITING && f->held_due > 0)
        hocket__deadline_set(
            &k->rt->deadlines, &f->deadline, (uint64_t) (f->held_due + k->offset_ms));
    if (f->outer_woken) {
        hocket__kept_put_of(f, HOCKET__LOG_WAKE);
        hocket__fiber_wake(k->rt, f->id);
    }
    f->outer_woken = false;
    hocket__effect_enter(f);
}

static void end_left(struct hocket__kept *k)
{
    k->rt->kept = NULL; /* the run itself does not do so */
    if (k->hooks.left)
        k->hooks.left(k->hooks.notice_ud);
    k->rt->kept = k;
}

/* What was held back comes, in the order in which its fibers were made. Those that are made for effects are
 * none of its. */
static void go_live(struct hocket__kept *k)
{
    k->live = true;
    k->offset_ms = (int64_t) hocket__deadlines_now() - hocket__log_now_ms(k->log);
    hocket__kept_put_life(k);
    if (hocket__kept_forsaken(k)) /* nothing is begun that could not be written */
        return;
    end_left(k);
    for (struct hocket__list *l = k->fibers.next; l != &k->fibers; l = l->next)
        let_go(hocket__kept_fiber(l));
    hocket__work_clock_live(k->work);
    if (hocket__log_error(k->log))
        hocket__kept_end(k);
    if (k->hooks.live)
        k->hooks.live(k->hooks.tell_ud);
}

/* Fibers that nothing can wake any more: the log expects steps that nobody makes. */
static void check_stuck(struct hocket__kept *k)
{
    struct hocket_error err;
    if (k->n_ready > 0 || !hocket__log_waits(k->log))
        return;
    hocket__error(&err, HOCKET_EREPLAY,
        "the run has come to a stop after %llu steps, where it went on when it was logged",
        (unsigned long long) hocket__log_tick(k->log));
    hocket__log_fail(k->log, &err);
}

/* Its code is the run's: what follows from an entry is inside. It goes live when all that follows from the last one has
 * been done, so that this has the times that it had. */
static void replay(struct hocket__kept *k)
{
    const struct hocket__log_entry *e;
    while ((e = hocket__log_due(k->log)) && apply(k, e))
        ;
    if (!e && hocket__log_replays(k->log))
        check_stuck(k);
    hocket__kept_settle_memory(k->rt);
    if (hocket__log_error(k->log))
        hocket__kept_end(k);
    else if (!hocket__log_replays(k->log)
             && (k->n_ready == 0 || (k->restless > MOST_RESTS && !hocket__kept_owes(k))))
        go_live(k);
}

void hocket__kept_stepped(struct hocket__kept *k)
{
    struct hocket__kept *outer = k->rt->kept;
    if (k->over)
        return;
    k->rt->kept = k;
    hocket__kept_watch_memory(k->rt); /* what was said to it is said again here */
    if (hocket__log_error(k->log))
        hocket__kept_end(k);
    else if (!k->live)
        replay(k);
    hocket__kept_unwatch_memory(k->rt);
    k->rt->kept = outer;
    if (k->n_ready == 0 && k->live && k->hooks.rest)
        k->hooks.rest(k->hooks.rest_ud);
}

/* A run that begins is live at once; one that goes on has its first entry for its clock. */
void hocket__kept_begin(struct hocket__kept *k)
{
    const struct hocket__log_entry *e = hocket__log_due(k->log);
    if (e && e->kind == HOCKET__LOG_LIFE)
        apply_to_run(k, e);
    if (hocket__log_replays(k->log) || hocket__log_last(k->log) > 0)
        return;
    k->live = true;
    k->offset_ms = (int64_t) hocket__deadlines_now() - BEGIN_MS;
    hocket__kept_put_life(k);
}
