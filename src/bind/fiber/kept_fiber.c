/* The fibers of a run that is kept: what await.c and its like tell the run of them. Each of these is a
 * comparison for what comes from inside; what comes from outside is appended, or held back in a replay.
 *
 * A fiber's path is its name: made of its parent's and of how many that one had made before, so it
 * is the same again in every replay, whatever ids and addresses are. */
#include "bind/fiber/kept_impl.h"
#include "bind/fiber/work_clock.h"

#include <lauxlib.h>

#include "bind/util.h"

/* splitmix64's last part: any two numbers give one that is hardly met again. */
static uint64_t path_of(uint64_t above, uint64_t i)
{
    uint64_t v = above + i * UINT64_C(0x9E3779B97F4A7C15);
    v = (v ^ v >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    v = (v ^ v >> 27) * UINT64_C(0x94D049BB133111EB);
    v ^= v >> 31;
    return v ? v : 1;
}

static int join(struct hocket__kept *k, struct hocket__fiber *f, uint64_t path)
{
    if (hocket__map_set(&k->by_path, path, f) < 0)
        return HOCKET_ENOMEM;
    f->kept = k;
    f->path = path;
    k->refs++;
    hocket__list_add(&k->fibers, &f->kin);
    hocket__work_clock_join(f, k->work);
    return 0;
}

void hocket__kept_adopt(struct hocket__fiber *f, struct hocket__fiber *parent)
{
    struct hocket__kept *k = f->rt->kept;
    struct hocket_error err;
    if (!k || k->over || (parent && parent->kept != k))
        return;
    uint64_t path = parent ? path_of(parent->path, ++parent->made) : path_of(2, ++k->detached);
    if (join(k, f, path) < 0) {
        hocket__error_nomem(&err);
        hocket__log_fail(k->log, &err);
    }
}

void hocket__kept_ending(struct hocket__fiber *f)
{
    struct hocket__kept *k = f->kept;
    struct hocket__log_entry e = { .kind = HOCKET__LOG_OVER };
    if (f->id != k->root || hocket__kept_forsaken(k))
        return;
    if (hocket__log_replays(k->log))
        hocket__log_match(k->log, &e, NULL);
    else
        hocket__kept_put(k, &e);
}

void hocket__kept_drop(struct hocket__fiber *f)
{
    struct hocket__kept *k = f->kept;
    hocket__map_del(&k->by_path, f->path);
    hocket__list_del(&f->kin);
    if (f->id == k->root)
        hocket__kept_leave(k);
    f->kept = NULL;
    if (k->rt->kept == k && k->refs == 1)
        k->rt->kept = NULL;
    hocket__kept_unref(k);
}

void hocket__kept_step(struct hocket__fiber *f)
{
    f->kept->n_ready--;
    f->kept->step_ms = hocket__log_now_ms(f->kept->log);
    hocket__log_step(f->kept->log);
}

bool hocket__kept_freeze(struct hocket__fiber *f)
{
    struct hocket__kept *k = f->kept;
    if (!k->draining || !k->live || hocket__kept_forsaken(k))
        return false;
    hocket__list_add(&k->frozen, &f->ready);
    if (k->hooks.rest)
        k->hooks.rest(k->hooks.rest_ud);
    return true;
}

void hocket__kept_thaw(struct hocket__kept *k)
{
    while (!hocket__list_empty(&k->frozen)) {
        struct hocket__list *first = k->frozen.next;
        hocket__list_del(first);
        hocket__list_add(&k->rt->ready, first);
        hocket__fibers_go_on(k->rt);
    }
}

void hocket__kept_enter(lua_State *L, struct hocket__kept *k)
{
    struct hocket__fiber *f = hocket__fiber_current(L);
    struct hocket_error err;
    if (k->over) { /* the host closes, or the run was parked, before it had begun */
        hocket__error(&err, HOCKET_ECANCELLED, "cancelled");
        hocket__raise(L, &err);
    }
    if (f->kept || k->root)
        luaL_error(L, "a run that is kept is entered once");
    lua_newtable(L);
    k->own_ref = luaL_ref(L, LUA_REGISTRYINDEX);
    if (join(k, f, path_of(1, 1)) < 0)
        hocket__raise_nomem(L);
    k->root = f->id;
    k->rt->kept = k;
    hocket__kept_begin(k);
}

/* ---- From outside ------------------------------------------------------------------------------ */

static bool is_due(const struct hocket__log_entry *e, const struct hocket__fiber *f)
{
    return e && e->kind == HOCKET__LOG_WAKE && e->path == f->path;
}

/* A wake that finds it not waiting is kept for its next wait, once. What is held back in a replay
 * counts as come: where the fiber waits for something that is really done again, the log's wake has to
 * wait for that. */
bool hocket__kept_woken(struct hocket__fiber *f)
{
    struct hocket__kept *k = f->kept;
    if (f->state >= HOCKET__CLOSING)
        return false;
    if (!hocket__kept_is_free(k)) {
        f->outer_woken = true;
        if (!k->rt->running && is_due(hocket__log_due(k->log), f))
            hocket__kept_stepped(k);
        return false;
    }
    if (f->state != HOCKET__WAITING && f->woken)
        return false;
    hocket__kept_put_of(f, HOCKET__LOG_WAKE);
    return true;
}

void hocket__kept_timed_out(struct hocket__fiber *f)
{
    if (f->wall_due)
        hocket__kept_reach(f->kept, f->wall_due);
    hocket__kept_put_of(f, HOCKET__LOG_TIMEOUT);
}

void hocket__kept_stuck(struct hocket__fiber *f)
{
    struct hocket__kept *k = f->kept;
    struct hocket_error err;
    if (hocket__kept_is_free(k)) {
        hocket__kept_put_of(f, HOCKET__LOG_STUCK);
        return;
    }
    hocket__error(&err, HOCKET_EREPLAY,
        "the run waits where it went on when it was logged: entry %llu of its log does not come",
        (unsigned long long) hocket__log_last(k->log) + 1);
    hocket__log_fail(k->log, &err);
    hocket__kept_end(k);
}

/* A cancel cannot wait for the end of a replay: then the run ends with it, and can be resumed. */
void hocket__kept_cancelled(struct hocket__fiber *f)
{
    struct hocket__kept *k = f->kept;
    struct hocket_error err;
    if (hocket__kept_is_free(k)) {
        hocket__kept_put_of(f, HOCKET__LOG_CANCEL);
        return;
    }
    hocket__error(&err, HOCKET_ECANCELLED, "cancelled while it was replayed");
    hocket__log_fail(k->log, &err);
}

bool hocket__kept_waits(struct hocket__fiber *f, int64_t timeout_ms)
{
    f->held_due = timeout_ms < 0 ? 0 : hocket__kept_ms(f->kept) + timeout_ms;
    return hocket__kept_is_free(f->kept);
}

static struct hocket__log_entry rest_of(const struct hocket__fiber *f)
{
    return (struct hocket__log_entry){
        .kind = HOCKET__LOG_REST, .path = f->path, .ord = f->kept->rests
    };
}

/* It told something behind the last entry of its log: until then it has not rested, or that would be an entry. Who rested
 * now would let the others tell first what came later. What was told is finite, and of one slice; a run that never comes to
 * it is another one. */
static bool must_go_on(struct hocket__kept *k)
{
    if (!hocket__kept_owes(k) || hocket__kept_forsaken(k))
        return false;
    hocket__kept_check_owing(k, ++k->owing);
    return !hocket__kept_forsaken(k);
}

bool hocket__kept_rests(struct hocket__fiber *f, bool over)
{
    struct hocket__kept *k = f->kept;
    k->rests++;
    struct hocket__log_entry e = rest_of(f);
    if (hocket__log_replays(k->log))
        return hocket__log_peek(k->log, &e) && hocket__log_match(k->log, &e, NULL);
    if (!over || must_go_on(k))
        return false;
    k->restless += !k->live;
    return hocket__kept_put(k, &e);
}

/* ---- Whether it may be put away ---------------------------------------------------------------- */

/* What fibers wait for that another process can let wait on as they do. */
struct waits {
    bool outside; /* people, another run, a time of day */
    bool by_day;  /* a time of day alone */
    bool limit;   /* the end of a fiber, under a time limit that is running */
};

static bool can_be_put_away(const struct hocket__fiber *f, struct waits *w)
{
    if (f->state != HOCKET__WAITING)
        return f->state == HOCKET__CLOSING || f->state == HOCKET__DONE;
    bool set = f->deadline.place > 0;
    w->outside |= hocket__fiber_waits_on_program(f) || f->wall_due != 0;
    w->by_day |= f->wall_due != 0 && !hocket__fiber_waits_on_program(f);
    w->limit |= set && f->limit_due != 0;
    return (!set || f->wall_due != 0 || f->limit_due != 0) && !hocket__fiber_waits_outside(f)
           && f->effect.state == HOCKET__EFFECT_NONE;
}

bool hocket__kept_is_settled(const struct hocket__kept *k)
{
    return k->live && k->n_ready == 0 && k->held == 0 && !hocket__kept_forsaken(k);
}

bool hocket__kept_waits_for_person(const struct hocket__kept *k)
{
    struct waits w = { false, false, false };
    if (!hocket__kept_is_settled(k) || k->work->fibers[HOCKET__BUSY] > 0)
        return false;
    for (struct hocket__list *l = k->fibers.next; l != &k->fibers; l = l->next)
        if (!can_be_put_away(hocket__kept_fiber(l), &w))
            return false;
    return w.outside && !(w.by_day && w.limit);
}

int64_t hocket__kept_wall_due(const struct hocket__kept *k)
{
    int64_t due = 0;
    for (struct hocket__list *l = k->fibers.next; l != &k->fibers; l = l->next) {
        const struct hocket__fiber *f = hocket__kept_fiber(l);
        bool timed =
            f->state == HOCKET__WAITING && f->wall_due != 0 && f->waits_on != HOCKET__ON_LOOK;
        if (timed && (due == 0 || f->wall_due < due))
            due = f->wall_due;
    }
    return due;
}
