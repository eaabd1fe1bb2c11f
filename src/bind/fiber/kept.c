/* A run that is kept: its life, its chance, and what it appends to its log. kept_impl.h says how it goes on; the replay
 * is in kept_replay.c, its clock in kept_clock.c. */
#include "bind/fiber/kept_impl.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "base/hash/hash.h"
#include "bind/fiber/work_clock.h"
#include "bind/util.h"

/* ---- Chance ----------------------------------------------------------------------------------- */

/* Of the first edition. */
static bool is_of_first(const struct hocket__kept *k)
{
    return k->edition == 1;
}

static uint64_t hash_of(const uint64_t key[2], const uint64_t *words, size_t n)
{
    return hocket__siphash(key, hocket__str((const char *) words, n * sizeof(*words)));
}

/* What the next draw is known by: the fiber that draws and its how-manieth draw it is, so that it is the same in whatever order
 * fibers go on. Runs of the first edition go by the order of time. */
static uint64_t next_draw(struct hocket__kept *k, const uint64_t key[2])
{
    struct hocket__fiber *f = is_of_first(k) ? NULL : k->rt->running;
    if (!f || f->kept != k)
        return ++k->drawn;
    const uint64_t place[] = { f->path, ++f->draws };
    return hash_of(key, place, 2);
}

void hocket__kept_random(struct hocket__kept *k, struct hocket__str about, void *out, size_t n)
{
    unsigned char *at = out;
    uint64_t draw = 0;
    if (!is_of_first(k)) {
        const uint64_t place[] = { next_draw(k, k->seed), hocket__siphash(k->seed, about) };
        draw = hash_of(k->seed, place, 2);
    }
    for (size_t i = 0; i < n; i += 8) {
        const uint64_t block[] = { draw, i };
        uint64_t in_time = is_of_first(k) ? ++k->drawn : 0;
        uint64_t v = in_time ? hash_of(k->seed, &in_time, 1) : hash_of(k->seed, block, 2);
        memcpy(at + i, &v, n - i < 8 ? n - i : 8);
    }
}

int hocket__random_here(struct hocket__runtime *rt, struct hocket__str about, void *out, size_t n)
{
    struct hocket__kept *k = hocket__kept_here(rt);
    if (!k)
        return hocket__own_random(&rt->own, out, n);
    hocket__kept_random(k, about, out, n);
    return 0;
}

uint64_t hocket__kept_chance(struct hocket__kept *k, uint64_t seed)
{
    const uint64_t key[2] = { seed, 0 };
    uint64_t v = next_draw(k, key);
    return hash_of(key, &v, 1);
}

/* ---- Its life ----------------------------------------------------------------------------- */

struct hocket__kept *hocket__kept_new(struct hocket__runtime *rt,
    const struct hocket__log_sink *sink, const unsigned char seed[HOCKET__SEED])
{
    struct hocket__kept *k = hocket__zero(rt->alloc, sizeof(*k));
    if (!k)
        return NULL;
    k->rt = rt;
    k->refs = 1;
    k->own_ref = k->fed_ref = k->memory_ref = LUA_NOREF;
    memcpy(k->seed, seed, HOCKET__SEED);
    k->name = k->seed[0];
    hocket__list_init(&k->link);
    hocket__list_init(&k->fibers);
    hocket__list_init(&k->frozen);
    hocket__map_init(&k->by_path, rt->alloc);
    hocket__map_init(&k->timeouts, rt->alloc);
    k->log = hocket__log_new(rt->alloc, sink);
    k->clock = k->log ? hocket__clock_new(k) : NULL;
    k->work = k->clock ? hocket__work_clock_new(rt) : NULL;
    if (!k->work) {
        if (k->clock)
            hocket__clock_unref(k->clock);
        hocket__log_free(k->log);
        hocket__free(rt->alloc, k, sizeof(*k));
        return NULL;
    }
    k->work->kept = k;
    hocket__list_add(&rt->kept_runs, &k->link);
    rt->n_kept++;
    return k;
}

void hocket__kept_set_name(struct hocket__kept *k, struct hocket__str name)
{
    k->name = hocket__siphash(k->seed, name);
}

bool hocket__kept_sorts(const struct hocket__runtime *rt)
{
    return rt && rt->kept && is_of_first(rt->kept);
}

struct hocket__kept *hocket__kept_ref(struct hocket__kept *k)
{
    k->refs++;
    return k;
}

void hocket__kept_unref(struct hocket__kept *k)
{
    if (--k->refs > 0)
        return;
    hocket__list_del(&k->link);
    hocket__clock_leave(k->clock);
    k->work->kept = NULL;
    hocket__work_clock_unref(k->work);
    hocket__log_free(k->log);
    hocket__map_deinit(&k->by_path);
    hocket__map_deinit(&k->timeouts);
    luaL_unref(k->rt->L, LUA_REGISTRYINDEX, k->own_ref);
    luaL_unref(k->rt->L, LUA_REGISTRYINDEX, k->fed_ref);
    luaL_unref(k->rt->L, LUA_REGISTRYINDEX, k->memory_ref);
    hocket__free(k->rt->alloc, k, sizeof(*k));
}

struct hocket__log *hocket__kept_log(struct hocket__kept *k)
{
    return k->log;
}

struct hocket__kept_hooks *hocket__kept_hooks(struct hocket__kept *k)
{
    return &k->hooks;
}

struct hocket__kept *hocket__kept_here(const struct hocket__runtime *rt)
{
    return rt->kept && !rt->kept->over ? rt->kept : NULL;
}

bool hocket__kept_forsaken(const struct hocket__kept *k)
{
    return k->over || hocket__log_error(k->log);
}

bool hocket__kept_is_free(const struct hocket__kept *k)
{
    return k->live || hocket__kept_forsaken(k);
}

bool hocket__kept_is_replay(const struct hocket__kept *k)
{
    return k->root != 0 && !hocket__kept_is_free(k);
}

bool hocket__kept_owes(const struct hocket__kept *k)
{
    return !k->live && k->hooks.owes && k->hooks.owes(k->hooks.tell_ud);
}

/* Rests in one slice, or reads of the clock. */
#define MOST_OWING 1000000

void hocket__kept_check_owing(struct hocket__kept *k, uint32_t n)
{
    struct hocket_error err;
    if (n < MOST_OWING)
        return;
    hocket__error(&err, HOCKET_EREPLAY,
        "the run does not tell again what it told behind entry %llu",
        (unsigned long long) hocket__log_last(k->log));
    hocket__log_fail(k->log, &err);
    hocket__kept_end(k);
}

/* Those without a parent (the broker's dispatcher) would go on for ever. */
static void end_detached(struct hocket__kept *k)
{
    for (struct hocket__list *l = k->fibers.next; l != &k->fibers; l = l->next) {
        hocket__effect_forsake(hocket__kept_fiber(l));
        if (!hocket__kept_fiber(l)->parent)
            hocket__fiber_cancel(hocket__kept_fiber(l));
    }
}

static void thaw(struct hocket__kept *k)
{
    while (!hocket__list_empty(&k->frozen)) {
        struct hocket__list *first = k->frozen.next;
        hocket__list_move(&k->rt->ready, first);
        hocket__fibers_go_on(k->rt);
    }
}

void hocket__kept_leave(struct hocket__kept *k)
{
    struct hocket__kept *outer = k->rt->kept;
    if (k->over)
        return;
    k->over = true;
    hocket__kept_start_clock(k);
    k->rt->kept = k;
    end_detached(k);
    k->rt->kept = outer;
    thaw(k);
}

void hocket__kept_end(struct hocket__kept *k)
{
    struct hocket__kept *outer = k->rt->kept;
    struct hocket__fiber *root = hocket__map_get(&k->rt->fibers, k->root);
    hocket__kept_start_clock(k);
    k->rt->kept = k;
    for (struct hocket__list *l = k->fibers.next; l != &k->fibers; l = l->next)
        hocket__effect_forsake(hocket__kept_fiber(l));
    if (root)
        hocket__fiber_cancel(root);
    k->rt->kept = outer;
    thaw(k);
}

void hocket__kept_leave_all(struct hocket__runtime *rt)
{
    for (struct hocket__list *l = rt->kept_runs.next; l != &rt->kept_runs; l = l->next)
        hocket__kept_leave(hocket__container_of(l, struct hocket__kept, link));
}

/* ---- What it appends ------------------------------------------------------------------------- */

/* An entry that comes from outside moves the run's clock. Where the clock of its work has stood still since the last one, an entry
 * before it says for how long, so that both are kept or neither is. */
static bool put_still(struct hocket__kept *k, enum hocket__log_kind kind)
{
    bool between_steps = kind > HOCKET__LOG_LIFE && kind < HOCKET__LOG_BEGIN;
    if (between_steps && k->live && hocket__work_clock_still_ms(k->work) != k->still_ms)
        hocket__kept_put_life(k);
    return !hocket__log_error(k->log);
}

/* The step that has used up the log ends before the clock goes on. */
bool hocket__kept_put(struct hocket__kept *k, struct hocket__log_entry *e)
{
    hocket__kept_settle_memory(k->rt);
    if (hocket__kept_forsaken(k))
        return true;
    if (!put_still(k, e->kind))
        return false;
    int64_t now = k->live ? hocket__kept_real_ms(k) : hocket__log_now_ms(k->log);
    return hocket__log_put(k->log, e, now, NULL) == 0;
}

static void put(struct hocket__kept *k, struct hocket__log_entry *e)
{
    if (!hocket__kept_put(k, e))
        hocket__kept_end(k);
}

void hocket__kept_put_of(const struct hocket__fiber *f, enum hocket__log_kind kind)
{
    struct hocket__log_entry e = { .kind = kind, .path = f->path };
    put(f->kept, &e);
}

void hocket__kept_put_life(struct hocket__kept *k)
{
    char text[32], still[32];
    k->wall_ms = hocket__wall_ms() - hocket__kept_real_ms(k);
    k->still_ms = hocket__work_clock_still_ms(k->work);
    int n = snprintf(text, sizeof(text), "%lld", (long long) k->wall_ms);
    int digits = snprintf(still, sizeof(still), "%lld", (long long) k->still_ms);
    struct hocket__log_entry e = { .kind = HOCKET__LOG_LIFE,
        .name = hocket__str(still, k->still_ms > 0 ? (size_t) digits : 0),
        .value = hocket__str(text, (size_t) n) };
    put(k, &e);
}

/* The real clock has reached a time: the run's clock follows, where it was set or the machine has slept. */
static void reach(struct hocket__kept *k, int64_t wall_due)
{
    if (k->live && k->wall_ms + hocket__kept_real_ms(k) < wall_due)
        hocket__kept_put_life(k);
}

void hocket__kept_hold(struct hocket__kept *k, int n)
{
    k->held += n;
}

/* ---- From its embedder, and its journal ------------------------------------------------------- */

bool hocket__kept_hears(const struct hocket__kept *k)
{
    return !k->over && k->root != 0 && k->live;
}

bool hocket__kept_is_deaf(const struct hocket__kept *k)
{
    return hocket__kept_hears(k) && k->hooks.deaf && k->hooks.deaf(k->hooks.rest_ud);
}

int hocket__kept_may_tell(const struct hocket__kept *k, struct hocket_error *err)
{
    if (k->over || k->root == 0)
        return hocket__error(err, HOCKET_ESTATE, "the run is not going on");
    if (!k->live)
        return hocket__error(
            err, HOCKET_ESTATE, "the run is being replayed: say it again when it goes on");
    return 0;
}

int hocket__kept_tell_begin(struct hocket__kept *k, struct hocket__str name,
    struct hocket__str value, struct hocket_error *err)
{
    struct hocket__log_entry e = { .kind = HOCKET__LOG_TELL, .name = name, .value = value };
    int rc = hocket__kept_may_tell(k, err);
    if (rc < 0)
        return rc;
    if (hocket__kept_forsaken(k) || !hocket__kept_put(k, &e)) {
        if (err)
            *err = *hocket__log_error(k->log);
        hocket__kept_end(k);
        return hocket__log_error(k->log)->status;
    }
    k->rt->kept = k;
    hocket__kept_watch_memory(k->rt);
    return 0;
}

void hocket__kept_tell_end(struct hocket__kept *k)
{
    hocket__kept_unwatch_memory(k->rt);
    k->rt->kept = NULL;
    if (hocket__log_error(k->log)) /* what was said is not heard by the next one either */
        hocket__kept_stepped(k);
}

bool hocket__kept_notice(struct hocket__kept *k, struct hocket__str name, struct hocket__str value)
{
    struct hocket__log_entry e = { .kind = HOCKET__LOG_NOTICE, .name = name, .value = value };
    if (k->rt->kept == k)
        return true;
    if (!hocket__kept_is_free(k))
        return false;
    if (!hocket__kept_put(
            k, &e)) /* it ends in its next step: whoever calls may be in the middle of something */
        hocket__fiber_wake(k->rt, k->root);
    return true;
}

/* ==== Fiber =================================================================================== */

/* The fibers of a durable run: await.c and its like report each step here. A step that comes from
 * inside costs one comparison. A step from outside is appended to the log, or held back in a replay.
 *
 * A fiber's path is its name: made of its parent's and of how many that one had made before, so it
 * is the same again in every replay, whatever ids and addresses are. */

/* splitmix64's last part: any two numbers give a result that hardly occurs again. */
uint64_t hocket__kept_path_of(uint64_t above, uint64_t i)
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

static uint64_t next_path(struct hocket__kept *k, struct hocket__fiber *parent)
{
    return parent ? hocket__kept_path_of(parent->path, ++parent->made)
                  : hocket__kept_path_of(2, ++k->detached);
}

uint64_t hocket__kept_reserve(struct hocket__runtime *rt)
{
    struct hocket__kept *k = hocket__kept_here(rt);
    struct hocket__fiber *f = rt->running;
    bool reserves = k && f && f->kept == k && (k->edition == 0 || k->edition >= 5);
    return reserves ? next_path(k, f) : 0;
}

struct hocket__fiber *hocket__kept_at(const struct hocket__kept *k, uint64_t path)
{
    return k ? hocket__map_get(&k->by_path, path) : NULL;
}

uint64_t hocket__kept_attempt(uint64_t path, uint32_t i)
{
    return path ? hocket__kept_path_of(path, i) : 0;
}

void hocket__kept_adopt(struct hocket__fiber *f, struct hocket__fiber *parent, uint64_t path)
{
    struct hocket__kept *k = f->rt->kept;
    struct hocket_error err;
    if (!k || k->over || (parent && parent->kept != k))
        return;
    if (join(k, f, path ? path : next_path(k, parent)) < 0) {
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
    if (join(k, f, hocket__kept_path_of(1, 1)) < 0)
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
        reach(f->kept, f->wall_due);
    hocket__kept_put_of(f, HOCKET__LOG_TIMEOUT);
    f->timeouts++;
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

/* The run emitted something behind the last entry of its log. It cannot have rested before that, since a rest would be an
 * entry. Resting now would let other fibers emit later events first. The emitted part is finite, and of one slice; a run
 * that never reaches it has diverged. */
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

/* ==== Memory ================================================================================== */

/* Memory that was out in the code of a run that is kept. Nobody could do that again at the same place, whatever the code makes
 * of it (a pcall, a turn that fails and is followed by the next): so the log ends where it was. Nothing that follows from it
 * is kept, the run ends with HOCKET_ENOMEM, and a resume has everything from before.
 *
 *     C functions of ours   rt->alloc refuses, hocket__raise_nomem ───┐
 *     Lua itself            its allocator refuses, and refuses again ──┴──> the log has failed
 *
 * Lua collects when its allocator refuses, and asks once more: only when that is refused, too, or does not come, memory is
 * out. That is known with what Lua does next, and looked at before anything is appended to the log, or kept of the journal.
 * What is done for a run and not by its code, an effect for example, is short of memory as anything else is. */

static void fail(struct hocket__kept *k)
{
    struct hocket_error err;
    if (k->over)
        return;
    hocket__error_nomem(&err);
    hocket__log_fail(k->log, &err);
}

static void on_out(struct hocket__runtime *rt)
{
    if (rt->kept)
        fail(rt->kept);
}

void hocket__kept_settle_memory(struct hocket__runtime *rt)
{
    if (rt->memory.refused)
        fail(rt->memory.refused);
    rt->memory.refused = NULL;
}

/* ---- Allocators ------------------------------------------------------------------------------- */

/* A request of Lua's was answered, while one is open or with nothing. */
static void note(struct hocket__runtime *rt, const void *p, size_t size, bool given)
{
    struct hocket__memory_watch *w = &rt->memory;
    bool again = w->refused && w->p == p && w->size == size;
    if (again && given)
        w->refused = NULL;
    hocket__kept_settle_memory(rt);
    if (given || again)
        return;
    w->refused = rt->kept;
    w->p = p;
    w->size = size;
}

static void *lua_watched(void *ud, void *p, size_t old_size, size_t new_size)
{
    struct hocket__runtime *rt = ud;
    struct hocket__memory_watch *w = &rt->memory;
    void *q = w->lua(w->lua_ud, p, old_size, new_size);
    if (rt->kept && new_size > 0 && (w->refused || !q))
        note(rt, p, new_size, q != NULL);
    return q;
}

/* In thread mode it is the transport's as well, whose thread runs no code of runs. */
static bool is_here(const struct hocket__memory_watch *w)
{
    uv_thread_t self = uv_thread_self(), watcher = atomic_load(&w->thread);
    return uv_thread_equal(&self, &watcher);
}

void *hocket__kept_alloc(void *ud, void *p, size_t old_size, size_t new_size)
{
    struct hocket__runtime *rt = ud;
    const struct hocket_allocator *a = &rt->memory.below;
    void *q = a->realloc_cb(a->ud, p, old_size, new_size);
    if (!q && new_size > 0 && is_here(&rt->memory))
        on_out(rt);
    return q;
}

/* ---- While code runs --------------------------------------------------------------------------- */

void hocket__kept_watch_memory(struct hocket__runtime *rt)
{
    struct hocket__memory_watch *w = &rt->memory;
    if (w->depth++ > 0)
        return;
    atomic_store(&w->thread, uv_thread_self());
    w->on_out = on_out;
    w->lua = lua_getallocf(rt->L, &w->lua_ud);
    lua_setallocf(rt->L, lua_watched, rt);
}

void hocket__kept_unwatch_memory(struct hocket__runtime *rt)
{
    struct hocket__memory_watch *w = &rt->memory;
    hocket__kept_settle_memory(rt);
    if (--w->depth > 0)
        return;
    atomic_store(&w->thread, (uv_thread_t) 0);
    w->on_out = NULL;
    lua_setallocf(rt->L, w->lua, w->lua_ud);
}
