/* Checkpoints of a run that is kept. Where one is made nothing goes on but the fiber that makes it, those that wait for it, and
 * the broker's, which waits: so a few numbers of each, and what Lua says of the run, are all that a replay needs to go on from
 * there. They are the entry's value: numbers of 8 bytes, then a text.
 *
 *     drawn, rests, epoch, made, remembered, detached, wall_ms, n, n times (path, made, effects), text
 *
 * If the clock of the run's work has stood still, n has the bit HAS_STILL, and the milliseconds follow n. */
#include "bind/fiber/kept_impl.h"
#include "bind/fiber/work_clock.h"

#include <string.h>

#include <lauxlib.h>

#include "bind/util.h"

/* Whether it may be there: `self` makes the checkpoint. */
static bool is_settled(const struct hocket__fiber *f, const struct hocket__fiber *self)
{
    return hocket__fiber_is_above(f, self) || f->state == HOCKET__DONE
           || ((f->traits & HOCKET__HELPER) && !f->parent && f->state == HOCKET__WAITING);
}

static struct hocket__kept *own(lua_State *L, struct hocket__fiber **self)
{
    *self = hocket__fiber_current(L);
    if (!(*self)->kept || (*self)->kept != hocket__kept_here(hocket__runtime(L)))
        luaL_error(L, "no run that is kept is going on here");
    return (*self)->kept;
}

int hocket__kept_l_others(lua_State *L)
{
    struct hocket__fiber *self;
    struct hocket__kept *k = own(L, &self);
    lua_Integer n = 0;
    lua_newtable(L);
    int list = lua_gettop(L);
    for (struct hocket__list *l = k->fibers.next; l != &k->fibers; l = l->next) {
        const struct hocket__fiber *f = hocket__kept_fiber(l);
        if (is_settled(f, self))
            continue;
        lua_rawgeti(L, LUA_REGISTRYINDEX, k->rt->anchor);
        lua_rawgeti(L, -1, (lua_Integer) f->id);
        if (lua_getiuservalue(L, -1, HOCKET__FIBER_CONTEXT) != LUA_TTABLE) {
            lua_pop(L, 1);
            lua_newtable(L);
        }
        lua_rawseti(L, list, ++n);
        lua_pop(L, 2);
    }
    return 1;
}

/* ---- Written ------------------------------------------------------------------------------------ */

#define HAS_STILL (UINT64_C(1) << 63)

static void add_number(struct hocket__buf *b, uint64_t v)
{
    hocket__buf_add(b, (const char *) &v, sizeof(v));
}

static void write_value(
    const struct hocket__kept *k, struct hocket__str text, struct hocket__buf *out)
{
    uint64_t n = 0, still = (uint64_t) hocket__work_clock_still_ms(k->work);
    for (const struct hocket__list *l = k->fibers.next; l != &k->fibers; l = l->next)
        n++;
    add_number(out, k->drawn);
    add_number(out, k->rests);
    add_number(out, k->epoch);
    add_number(out, k->n_made);
    add_number(out, k->n_remembered);
    add_number(out, k->detached);
    add_number(out, (uint64_t) k->wall_ms);
    add_number(out, still > 0 ? n | HAS_STILL : n);
    if (still > 0)
        add_number(out, still);
    for (struct hocket__list *l = k->fibers.next; l != &k->fibers; l = l->next) {
        const struct hocket__fiber *f = hocket__kept_fiber(l);
        add_number(out, f->path);
        add_number(out, f->made);
        add_number(out, f->effects);
    }
    hocket__buf_addstr(out, text);
}

/* ---- Read --------------------------------------------------------------------------------------- */

static bool take_number(struct hocket__str *rest, uint64_t *v)
{
    if (rest->n < sizeof(*v))
        return false;
    memcpy(v, rest->p, sizeof(*v));
    *rest = hocket__str(rest->p + sizeof(*v), rest->n - sizeof(*v));
    return true;
}

static bool read_fiber(struct hocket__kept *k, struct hocket__str *rest)
{
    uint64_t path, made, effects;
    if (!take_number(rest, &path) || !take_number(rest, &made) || !take_number(rest, &effects))
        return false;
    struct hocket__fiber *f = hocket__map_get(&k->by_path, path);
    if (f) {
        f->made = made;
        f->effects = (uint32_t) effects;
    }
    return f != NULL;
}

/* What the run goes on with; *text is what Lua said. False: it is another one. */
static bool read_value(struct hocket__kept *k, struct hocket__str value, struct hocket__str *text)
{
    uint64_t rests, epoch, detached, wall, n, still = 0;
    if (!take_number(&value, &k->drawn) || !take_number(&value, &rests)
        || !take_number(&value, &epoch) || !take_number(&value, &k->n_made)
        || !take_number(&value, &k->n_remembered) || !take_number(&value, &detached)
        || !take_number(&value, &wall) || !take_number(&value, &n)
        || ((n & HAS_STILL) && !take_number(&value, &still)))
        return false;
    n &= ~HAS_STILL;
    k->rests = (uint32_t) rests;
    k->epoch = k->settled = (uint32_t) epoch;
    k->detached = detached;
    k->wall_ms = (int64_t) wall;
    k->still_ms = k->work->still_ms = (int64_t) still;
    for (uint64_t i = 0; i < n; i++)
        if (!read_fiber(k, &value))
            return false;
    *text = value;
    return true;
}

/* ---- Made --------------------------------------------------------------------------------------- */

static void check_log(lua_State *L, const struct hocket__kept *k)
{
    if (hocket__log_error(k->log))
        hocket__raise(L, hocket__log_error(k->log));
}

/* Pushes what the newest one says, which the replay leaps to; else nothing. */
static bool leap(lua_State *L, struct hocket__kept *k)
{
    const struct hocket__log_entry *e = hocket__log_leap(k->log);
    struct hocket__str text;
    struct hocket_error err;
    if (!e)
        return false;
    if (!read_value(k, e->value, &text)) {
        hocket__error(&err, HOCKET_EREPLAY,
            "the run is another one at its first checkpoint than it was at the last one");
        hocket__log_fail(k->log, &err);
        check_log(L, k);
    }
    hocket__push_str(L, text);
    hocket__log_forget(k->log, e->n);
    return true;
}

static void put(lua_State *L, struct hocket__kept *k, struct hocket__log_entry *e)
{
    struct hocket__buf value;
    hocket__buf_init(&value, k->rt->alloc, 0);
    write_value(k, hocket__check_str(L, 1), &value);
    e->value = hocket__buf_str(&value);
    bool whole = value.status == 0;
    if (whole)
        hocket__kept_put(k, e);
    hocket__buf_deinit(&value);
    if (!whole)
        hocket__raise_nomem(L);
}

int hocket__kept_l_checkpoint(lua_State *L)
{
    struct hocket__fiber *f;
    struct hocket__kept *k = own(L, &f);
    luaL_checkstring(L, 1);
    lua_settop(L, 1);
    check_log(L, k);
    f->woken = false; /* a hint that came for nothing: whoever goes on from here has none */
    struct hocket__log_entry e = {
        .kind = HOCKET__LOG_CHECKPOINT, .path = f->path, .ord = ++f->effects
    };
    if (!hocket__log_replays(k->log)) {
        put(L, k, &e);
        check_log(L, k);
        return 0;
    }
    const struct hocket__log_entry *was = hocket__log_match(k->log, &e, NULL);
    check_log(L, k);
    hocket__log_forget(k->log, was->n);
    return leap(L, k) ? 1 : 0;
}
