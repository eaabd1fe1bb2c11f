/* A run that is kept: its life, its chance, and what it appends to its log. kept_impl.h says how it goes on; what its
 * fibers tell it is in kept_fiber.c, the replay in kept_replay.c, its clock in kept_clock.c. */
#include "bind/fiber/kept_impl.h"
#include "bind/fiber/work_clock.h"

#include <stdio.h>
#include <string.h>

#include <lauxlib.h>

#include "base/hash/hash.h"
#include "bind/util.h"

/* ---- Chance ----------------------------------------------------------------------------------- */

void hocket__kept_random(struct hocket__kept *k, void *out, size_t n)
{
    unsigned char *at = out;
    for (size_t i = 0; i < n; i++) {
        uint64_t v = i % 8 == 0 ? ++k->drawn : 0;
        if (i % 8 == 0) {
            v = hocket__siphash(k->seed, hocket__str((const char *) &v, sizeof(v)));
            memcpy(at + i, &v, n - i < 8 ? n - i : 8);
        }
    }
}

int hocket__random_here(struct hocket__runtime *rt, void *out, size_t n)
{
    struct hocket__kept *k = hocket__kept_here(rt);
    if (!k)
        return hocket__own_random(&rt->own, out, n);
    hocket__kept_random(k, out, n);
    return 0;
}

uint64_t hocket__kept_chance(struct hocket__kept *k, uint64_t seed)
{
    const uint64_t key[2] = { seed, 0 };
    uint64_t v = ++k->drawn;
    return hocket__siphash(key, hocket__str((const char *) &v, sizeof(v)));
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
    return k;
}

void hocket__kept_set_name(struct hocket__kept *k, struct hocket__str name)
{
    k->name = hocket__siphash(k->seed, name);
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
    hocket__kept_thaw(k);
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
    hocket__kept_thaw(k);
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

void hocket__kept_reach(struct hocket__kept *k, int64_t wall_due)
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
