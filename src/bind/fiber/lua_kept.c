/* hocket.internal.core.kept: what a run that is kept asks of the world, and its clocks. Everything here can be
 * called anywhere: where no run is kept `here` says nil, and nobody calls the rest. */

#include "bind/fiber/kept_impl.h"

#include "bind/util.h"

/* ---- Values that are there at once ---------------------------------------------------------------- */

static bool is_nomem(lua_State *L)
{
    struct hocket_error err;
    hocket__to_error(L, -1, &err);
    return err.status == HOCKET_ENOMEM;
}

/* Calls the function with n arguments on top as somebody outside of the run. */
static void call_outside(lua_State *L, int nargs, int nresults)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__kept *k = rt->kept;
    rt->kept = NULL;
    int status = lua_pcall(L, nargs, nresults, 0);
    rt->kept = k;
    if (status != LUA_OK && is_nomem(L))
        hocket__raise_nomem(L); /* raised in the run's fiber */
    if (status != LUA_OK)
        lua_error(L);
}

/* value(name, digest, fn) -> text: fn(), which returns a text and does not wait; in a replay what it returned
 * then. */
static int l_value(lua_State *L)
{
    struct hocket__fiber *f = hocket__kept_running(L);
    struct hocket__kept *k = f->kept;
    luaL_checktype(L, 3, LUA_TFUNCTION);
    lua_settop(L, 3);
    hocket__kept_check_log(L, k);
    struct hocket__log_entry e = hocket__kept_next_effect(L, f, HOCKET__LOG_VALUE);
    if (hocket__log_replays(k->log)) {
        const struct hocket__log_entry *was = hocket__log_match(k->log, &e, NULL);
        hocket__kept_check_log(L, k);
        hocket__push_str(L, was->value);
        hocket__log_forget(k->log, was->n);
        return 1;
    }
    call_outside(L, 0, 1);
    e.value = hocket__check_str(L, -1);
    hocket__kept_put(k, &e);
    hocket__kept_check_log(L, k);
    return 1;
}

/* is_next(name, digest?, effect?) -> whether the replayed log has a value of this name, or with `effect` an effect that begins, for this
 * digest of the question, for the running fiber now. For what is not in every log. nil: no fiber of the run is running, so none could
 * receive a value. */
static int l_is_next(lua_State *L)
{
    const struct hocket__runtime *rt = hocket__runtime(L);
    const struct hocket__fiber *f = rt->running;
    if (!f || !hocket__kept_here(rt) || f->kept != rt->kept)
        return 0;
    struct hocket__log_entry e = { .kind =
                                       lua_toboolean(L, 3) ? HOCKET__LOG_BEGIN : HOCKET__LOG_VALUE,
        .path = f->path,
        .ord = f->effects + 1,
        .name = hocket__check_str(L, 1) };
    const struct hocket__log_entry *next = hocket__log_peek(f->kept->log, &e);
    lua_pushboolean(L,
        next && (lua_isnoneornil(L, 2) || hocket__str_eq(next->digest, hocket__check_str(L, 2))));
    return 1;
}

/* aside(fn, ...): calls fn as somebody outside, which is not logged at all */
static int l_aside(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    call_outside(L, lua_gettop(L) - 1, 0);
    return 0;
}

/* ---- What it is ------------------------------------------------------------------------------------- */

/* here() -> a table that is this run's, for whatever modules keep for it; nil when the code that runs is of none that
 * is kept */
static int l_here(lua_State *L)
{
    const struct hocket__kept *k = hocket__kept_here(hocket__runtime(L));
    if (!k)
        return 0;
    lua_rawgeti(L, LUA_REGISTRYINDEX, k->own_ref);
    return 1;
}

/* around() -> the same for the code of a tool or a step, too, which is outside of its run */
static int l_around(lua_State *L)
{
    const struct hocket__runtime *rt = hocket__runtime(L);
    if (rt->n_kept == 0)
        return 0;
    if (hocket__kept_here(rt))
        return l_here(L);
    static const char *const path[] = { "within", "run", "here" };
    if (!hocket__fiber_push_context(L))
        return 0;
    for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
        if (!lua_istable(L, -1))
            return 0;
        lua_getfield(L, -1, path[i]);
    }
    return 1;
}

/* logged() -> whether the code that runs is of a run that is kept; nil: of one that has ended here, or was put away */
static int l_logged(lua_State *L)
{
    const struct hocket__runtime *rt = hocket__runtime(L);
    if (rt->kept && rt->kept->over)
        return 0;
    lua_pushboolean(L, rt->kept != NULL);
    return 1;
}

/* fed() -> what the hook `file` got in earlier lives, by name; nil: nothing */
static int l_fed(lua_State *L)
{
    const struct hocket__kept *k = hocket__kept_here(hocket__runtime(L));
    if (!k || k->fed_ref == LUA_NOREF)
        return 0;
    lua_rawgeti(L, LUA_REGISTRYINDEX, k->fed_ref);
    return 1;
}

/* remembered() -> what it was given of another run's log: entries in a list; nil: nothing */
static int l_remembered(lua_State *L)
{
    const struct hocket__kept *k = hocket__kept_here(hocket__runtime(L));
    if (!k || k->memory_ref == LUA_NOREF)
        return 0;
    lua_rawgeti(L, LUA_REGISTRYINDEX, k->memory_ref);
    return 1;
}

/* remembers() -> whether it was given anything of another run's log */
static int l_remembers(lua_State *L)
{
    const struct hocket__kept *k = hocket__kept_here(hocket__runtime(L));
    lua_pushboolean(L, k && k->memory_ref != LUA_NOREF);
    return 1;
}

/* counted() -> effects that have ended, and how many of them another run had made */
static int l_counted(lua_State *L)
{
    const struct hocket__kept *k = hocket__kept_running(L)->kept;
    lua_pushinteger(L, (lua_Integer) k->n_made);
    lua_pushinteger(L, (lua_Integer) k->n_remembered);
    return 2;
}

/* stale(): files that the run has read may have changed; epoch() -> how often that was said, and up to which time what an
 * earlier life has read holds */
static int l_stale(lua_State *L)
{
    struct hocket__kept *k = hocket__kept_here(hocket__runtime(L));
    if (!k)
        return 0;
    k->epoch++;
    if (hocket__log_replays(k->log))
        k->settled = k->epoch;
    return 0;
}

static int l_epoch(lua_State *L)
{
    const struct hocket__kept *k = hocket__kept_here(hocket__runtime(L));
    lua_pushinteger(L, k ? (lua_Integer) k->epoch : 0);
    lua_pushinteger(L, k ? (lua_Integer) k->settled : 0);
    return 2;
}

/* path() -> the running fiber's name, the same in every replay */
static int l_path(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer) hocket__kept_running(L)->path);
    return 1;
}

/* file(name, text): tells the hook */
static int l_file(lua_State *L)
{
    const struct hocket__kept *k = hocket__kept_here(hocket__runtime(L));
    struct hocket__str name = hocket__check_str(L, 1), text = hocket__check_str(L, 2);
    if (k && k->hooks.file)
        k->hooks.file(k->hooks.file_ud, name, text);
    return 0;
}

/* is_replay() -> whether the log still says what comes */
static int l_is_replay(lua_State *L)
{
    const struct hocket__kept *k = hocket__kept_here(hocket__runtime(L));
    lua_pushboolean(L, k && hocket__log_replays(k->log));
    return 1;
}

/* failure() -> code, message: what ended the log of the run whose code runs; nothing where nothing did */
static int l_failure(lua_State *L)
{
    const struct hocket__kept *k = hocket__kept_here(hocket__runtime(L));
    const struct hocket_error *why = k ? hocket__log_error(k->log) : NULL;
    if (!why)
        return 0;
    lua_pushstring(L, hocket_status_word(why->status));
    lua_pushstring(L, why->message);
    return 2;
}

/* comes(name, start) -> whether the log that is being replayed has an effect of this name still to come, with a digest that
 * begins so */
static int l_comes(lua_State *L)
{
    const struct hocket__kept *k = hocket__kept_here(hocket__runtime(L));
    struct hocket__str name = hocket__check_str(L, 1), start = hocket__check_str(L, 2);
    lua_pushboolean(L, k && hocket__log_has_effect_ahead(k->log, name, start));
    return 1;
}

/* The run for which the running fiber makes an effect. */
static struct hocket__kept *maker_of(const struct hocket__runtime *rt)
{
    const struct hocket__fiber *f = rt->running ? rt->running->parent : NULL;
    return f && f->effect.state != HOCKET__EFFECT_NONE && f->kept && !f->kept->over ? f->kept
                                                                                    : NULL;
}

/* lack(message, within): a run that somebody else may continue, or whoever has set the key that is missing here, ends:
 * raises. It is not over, and nothing of that stands in its log. Of other runs nothing happens. `within`: said by what
 * makes an effect for it. */
static int l_lack(lua_State *L)
{
    const struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__kept *k = lua_toboolean(L, 2) ? maker_of(rt) : hocket__kept_here(rt);
    struct hocket_error err;
    struct hocket__str message = hocket__check_str(L, 1);
    if (!k || !k->hooks.lack || !k->hooks.lack(k->hooks.hold_ud, message, &err))
        return 0;
    hocket__kept_fail(k, &err);
    hocket__kept_check_log(L, k);
    return 0;
}

/* fail(code, message): what the run needs cannot be had here, though it was when its log was written. Raises: it ends, and is not
 * over. */
static int l_fail(lua_State *L)
{
    struct hocket__kept *k = hocket__kept_running(L)->kept;
    struct hocket_error err;
    hocket__error(
        &err, hocket__status_from_word(luaL_checkstring(L, 1)), "%s", luaL_checkstring(L, 2));
    hocket__log_fail(k->log, &err);
    hocket__kept_check_log(L, k);
    return 0;
}

/* wall() -> seconds since 1970 on the run's wall clock; nil outside of a durable run */
static int l_wall(lua_State *L)
{
    const struct hocket__runtime *rt = hocket__runtime(L);
    if (!hocket__kept_here(rt))
        return 0;
    lua_pushnumber(L, (double) hocket__script_wall_ms(rt) / 1000);
    return 1;
}

/* real_wall() -> the same in real time: for what people see and no code of the run goes by */
static int l_real_wall(lua_State *L)
{
    const struct hocket__kept *k = hocket__kept_here(hocket__runtime(L));
    if (!k)
        return 0;
    lua_pushnumber(L, (double) (k->wall_ms + hocket__kept_real_ms(k)) / 1000);
    return 1;
}

/* wall_second() -> wall() as a whole number */
static int l_wall_second(lua_State *L)
{
    struct hocket__kept *k = hocket__kept_here(hocket__runtime(L));
    if (!k)
        return 0;
    lua_pushinteger(L, (lua_Integer) hocket__kept_script_wall_s(k));
    return 1;
}

/* random(seed?) -> 64 random bits; nil outside of any that is kept. With a seed the same in each run that draws as often
 * before. */
static int l_random(lua_State *L)
{
    struct hocket__kept *k = hocket__kept_here(hocket__runtime(L));
    lua_Integer v;
    if (!k)
        return 0;
    if (lua_isinteger(L, 1))
        v = (lua_Integer) hocket__kept_chance(k, (uint64_t) lua_tointeger(L, 1));
    else
        hocket__kept_random(k, HOCKET__STR("number"), &v, sizeof(v));
    lua_pushinteger(L, v);
    return 1;
}

/* sorts() -> whether members of JSON are sorted here by name, always (hocket__kept_sorts) */
static int l_sorts(lua_State *L)
{
    lua_pushboolean(L, hocket__kept_sorts(hocket__runtime(L)));
    return 1;
}

/* edition(n?) -> that of the run whose code runs (lua/hocket/internal/base/edition.lua), from now on n; nil: it is not kept, or has
 * the newest */
static int l_edition(lua_State *L)
{
    struct hocket__kept *k = hocket__kept_here(hocket__runtime(L));
    if (k && !lua_isnoneornil(L, 1))
        k->edition = (int) luaL_checkinteger(L, 1);
    if (!k || k->edition == 0)
        return 0;
    lua_pushinteger(L, k->edition);
    return 1;
}

/* owns_state() -> whether all code of this Lua state is ours and our scripts' */
static int l_owns_state(lua_State *L)
{
    lua_pushboolean(L, hocket__runtime(L)->own_state);
    return 1;
}

char *hocket__kept_hex(char *at, uint64_t v, int digits)
{
    for (int i = digits - 1; i >= 0; i--, v >>= 4)
        at[i] = "0123456789abcdef"[v & 15];
    return at + digits;
}

/* effect_id() -> a word for the effect that the running fiber asks for next, the same again in every replay: also of a fork, a
 * copy or a save that was made while it was under way */
static int l_effect_id(lua_State *L)
{
    const struct hocket__fiber *f = hocket__kept_running(L);
    struct hocket__log_entry e = {
        .kind = HOCKET__LOG_BEGIN, .path = f->path, .ord = f->effects + 1
    };
    const struct hocket__log_entry *was = hocket__log_peek(f->kept->log, &e);
    char text[HOCKET__KEPT_NAME + 24];
    hocket__kept_hex(hocket__kept_hex(text + HOCKET__KEPT_NAME, f->path, 16), f->effects + 1, 8);
    if (was && was->value.n == HOCKET__KEPT_NAME)
        memcpy(text, was->value.p, HOCKET__KEPT_NAME);
    else
        hocket__kept_hex(text, f->kept->name, HOCKET__KEPT_NAME);
    lua_pushlstring(L, text, sizeof(text));
    return 1;
}

static const luaL_Reg functions[] = {
    { "others", hocket__kept_l_others },
    { "checkpoint", hocket__kept_l_checkpoint },
    { "effect", hocket__kept_l_effect },
    { "no_memory", hocket__kept_l_no_memory },
    { "value", l_value },
    { "is_next", l_is_next },
    { "aside", l_aside },
    { "here", l_here },
    { "around", l_around },
    { "logged", l_logged },
    { "fed", l_fed },
    { "file", l_file },
    { "remembered", l_remembered },
    { "remembers", l_remembers },
    { "counted", l_counted },
    { "stale", l_stale },
    { "epoch", l_epoch },
    { "path", l_path },
    { "is_replay", l_is_replay },
    { "failure", l_failure },
    { "comes", l_comes },
    { "lack", l_lack },
    { "fail", l_fail },
    { "edition", l_edition },
    { "wall", l_wall },
    { "real_wall", l_real_wall },
    { "wall_second", l_wall_second },
    { "random", l_random },
    { "effect_id", l_effect_id },
    { "sorts", l_sorts },
    { "owns_state", l_owns_state },
    { NULL, NULL },
};

int hocket__open_kept(lua_State *L)
{
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}
