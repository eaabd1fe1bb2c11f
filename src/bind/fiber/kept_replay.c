/* The replay of a run that is kept: entries of its log are done where the first time something came from
 * outside, after the same number of steps. When the log is used up the run goes live; where the run does not
 * do what the log says it has diverged, and ends: to guess would do effects twice. */
#include "bind/fiber/kept_impl.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "bind/fiber/work_clock.h"
#include "bind/util.h"

/* Of its clock, when it begins: 0 stands for no time in many places. */
#define BEGIN_MS 1000

/* A run whose log is used up may rest so often before it is live, for who has much to do; one that never waits at all does
 * nothing else. */
#define MOST_RESTS 100

static void diverge(struct hocket__kept *k, const char *what, const struct hocket__log_entry *e)
{
    struct hocket_error err;
    hocket__error(&err, HOCKET_EREPLAY, "%s: entry %llu of its log is a %s of fiber %llx", what,
        (unsigned long long) e->n, hocket__log_kind_word(e->kind), (unsigned long long) e->path);
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
    f->timeouts += e->kind == HOCKET__LOG_TIMEOUT;
    bool needs_wait = e->kind == HOCKET__LOG_TIMEOUT || e->kind == HOCKET__LOG_STUCK;
    if (needs_wait && f->state != HOCKET__WAITING) {
        diverge(f->kept, "the fiber does not wait now", e);
        return true;
    }
    hocket__log_advance(f->kept->log);
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
    hocket__log_advance(k->log);
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

/* Delivers what was held back, in the order in which its fibers were made. Fibers that perform effects are
 * not among them. */
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
    if (k->n_ready > 0 || !hocket__log_is_before_next(k->log))
        return;
    hocket__error(&err, HOCKET_EREPLAY,
        "the run has come to a stop after %llu steps, where it went on when it was logged",
        (unsigned long long) hocket__log_tick(k->log));
    hocket__log_fail(k->log, &err);
}

/* Its code is the run's: what follows from an entry is inside. It goes live when everything that follows from the last one has
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
    if (k->n_ready == 0 && k->live)
        hocket__effect_next_turn(k);
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

/* ==== Past ==================================================================================== */

/* What a run that is kept has of earlier lives, and of other runs, beside its log: files that it has read, and what it
 * remembers. They stand in tables of Lua's, which hocket.internal.base.sources.kept and .memory read. */

struct feeding {
    struct hocket__kept *k;
    struct hocket__str name, text;
    const struct hocket__log_entry *entry;
};

static int feed(struct feeding *f, lua_CFunction feed_protected)
{
    lua_State *L = f->k->rt->L;
    if (!lua_checkstack(L, 2))
        return HOCKET_ENOMEM;
    lua_pushcfunction(L, feed_protected);
    lua_pushlightuserdata(L, f);
    if (lua_pcall(L, 1, 0, 0) == LUA_OK)
        return 0;
    lua_pop(L, 1);
    return HOCKET_ENOMEM;
}

/* Pushes the table, which is made at need. */
static void push_table(lua_State *L, int *ref)
{
    if (*ref == LUA_NOREF) {
        lua_newtable(L);
        *ref = luaL_ref(L, LUA_REGISTRYINDEX);
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, *ref);
}

/* ---- Files ------------------------------------------------------------------------------------- */

static int feed_file(lua_State *L)
{
    const struct feeding *f = lua_touserdata(L, 1);
    push_table(L, &f->k->fed_ref);
    hocket__push_str(L, f->name);
    hocket__push_str(L, f->text);
    lua_rawset(L, -3);
    return 0;
}

int hocket__kept_feed_file(struct hocket__kept *k, struct hocket__str name, struct hocket__str text)
{
    struct feeding f = { .k = k, .name = name, .text = text };
    return feed(&f, feed_file);
}

void hocket__kept_push_files(const struct hocket__kept *k, lua_State *L)
{
    if (k->fed_ref == LUA_NOREF)
        lua_pushnil(L);
    else
        lua_rawgeti(L, LUA_REGISTRYINDEX, k->fed_ref);
}

/* ---- Another run's log -------------------------------------------------------------------------- */

static void set_text(lua_State *L, const char *name, struct hocket__str text)
{
    hocket__push_str(L, text);
    lua_setfield(L, -2, name);
}

static int feed_entry(lua_State *L)
{
    const struct feeding *f = lua_touserdata(L, 1);
    const struct hocket__log_entry *e = f->entry;
    push_table(L, &f->k->memory_ref);
    lua_createtable(L, 0, 7);
    set_text(L, "kind", hocket__cstr(hocket__log_kind_word(e->kind)));
    set_text(L, "name", e->name);
    set_text(L, "digest", e->digest);
    set_text(L, "value", e->value);
    hocket__set_int(L, "n", (lua_Integer) e->n);
    hocket__set_int(L, "path", (lua_Integer) e->path);
    hocket__set_int(L, "ord", (lua_Integer) e->ord);
    lua_rawseti(L, -2, (lua_Integer) lua_rawlen(L, -2) + 1);
    return 0;
}

/* A name below the fiber's path that none of its children has: they are counted from 1. */
static uint64_t timeouts_of(uint64_t path)
{
    return hocket__kept_path_of(path, 0);
}

/* timeouts_of a fiber has how often it timed out, and the n-th path that comes of this the number of the n-th time's entry. */
static int remember_timeout(struct hocket__kept *k, const struct hocket__log_entry *e)
{
    uint64_t key = timeouts_of(e->path);
    uintptr_t count = (uintptr_t) hocket__map_get(&k->timeouts, key) + 1;
    int rc = hocket__map_set(&k->timeouts, key, (void *) count);
    return rc < 0 ? rc
                  : hocket__map_set(
                      &k->timeouts, hocket__kept_path_of(key, count), (void *) (uintptr_t) e->n);
}

uint64_t hocket__kept_timeout_there(const struct hocket__fiber *f)
{
    return (uintptr_t) hocket__map_get(
        &f->kept->timeouts, hocket__kept_path_of(timeouts_of(f->path), f->timeouts + 1));
}

int hocket__kept_remember(struct hocket__kept *k, const struct hocket__log_entry *e)
{
    struct feeding f = { .k = k, .entry = e };
    bool matters = e->kind == HOCKET__LOG_BEGIN || e->kind == HOCKET__LOG_END
                   || e->kind == HOCKET__LOG_VALUE || e->kind == HOCKET__LOG_TELL
                   || e->kind == HOCKET__LOG_TIMEOUT || e->kind == HOCKET__LOG_CANCEL;
    int rc = e->kind == HOCKET__LOG_TIMEOUT && e->path ? remember_timeout(k, e) : 0;
    return rc == 0 && matters ? feed(&f, feed_entry) : rc;
}

/* ==== Checkpoint ============================================================================== */

/* Checkpoints of a run that is kept. While one is made, only the fiber that makes it runs. The fibers that wait for it and the
 * broker's fiber are suspended. So a replay can start there from a few numbers of each fiber, and from Lua's state of the run. The
 * entry's value holds them: numbers of 8 bytes, then a text.
 *
 *     drawn, rests, epoch, made, remembered, detached, wall_ms, n, n times (path, made, effects and above 32 bits draws), text
 *
 * If the clock of the run's work has stood still, n has the bit HAS_STILL, and the milliseconds follow n. */

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
        add_number(out, f->effects | (uint64_t) f->draws << 32);
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
        f->draws = (uint32_t) (effects >> 32);
    }
    return f != NULL;
}

/* The state that the run continues from; *text is what Lua returned. False: it is another state. */
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

/* Pushes what the newest one says, which the replay leaps to; else nothing. */
static bool leap(lua_State *L, struct hocket__kept *k)
{
    const struct hocket__log_entry *e = hocket__log_skip_to_checkpoint(k->log);
    struct hocket__str text;
    struct hocket_error err;
    if (!e)
        return false;
    if (!read_value(k, e->value, &text)) {
        hocket__error(&err, HOCKET_EREPLAY,
            "the run is another one at its first checkpoint than it was at the last one");
        hocket__log_fail(k->log, &err);
        hocket__kept_check_log(L, k);
    }
    hocket__push_str(L, text);
    hocket__log_forget(k->log, e->n);
    return true;
}

static void put(lua_State *L, struct hocket__kept *k, struct hocket__log_entry *e)
{
    struct hocket__buf value = hocket__buf(k->rt->alloc, 0);
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
    hocket__kept_check_log(L, k);
    f->woken = false; /* a hint that came for nothing: whoever goes on from here has none */
    struct hocket__log_entry e = {
        .kind = HOCKET__LOG_CHECKPOINT, .path = f->path, .ord = ++f->effects
    };
    if (!hocket__log_replays(k->log)) {
        put(L, k, &e);
        hocket__kept_check_log(L, k);
        return 0;
    }
    const struct hocket__log_entry *was = hocket__log_match(k->log, &e, NULL);
    hocket__kept_check_log(L, k);
    hocket__log_forget(k->log, was->n);
    return leap(L, k) ? 1 : 0;
}
