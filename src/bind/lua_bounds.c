/* hocket.internal.core.bounds: what a stranger's script may take while it runs, in memory and in time.
 *
 *     guard:call(fn, ...)   ──> the script's code ──>   guard:leave(fn, ...)   ──> ours, which may wait
 *      bounds on                                          off ... on again
 *
 * Bounds are three things: a hook that is called every so many instructions, the methods of strings that are bounded,
 * and an allocator that counts, for one instruction can copy megabytes (a .. b). They come and go in C, around
 * a protected call. The hook and refused memory raise wherever Lua runs, so they could end a Lua function that
 * takes them off half way. */

#include "bind/open.h"

#include <uv.h>

#include "bind/fiber/fiber.h"
#include "bind/runtime.h"
#include "bind/util.h"

/* Blocks from here on are checked by the clock, too. */
#define LARGE 16384
/* Instructions between two calls of a guard's hook. */
#define STEP 1000

static const char GUARD[] = "hocket.guard";

/* One for each state: its allocator, while it is the counting one. */
struct bounds {
    lua_Alloc below; /* NULL: none are set */
    void *below_ud;
    size_t taken, max;
    uint64_t until_ns;
    const char *over; /* what was used up first: "memory", "time", or NULL */
};

/* Its user values: the function that the hook calls, the bounded methods of strings, the original methods, the
 * metatable of strings, the bounds. */
struct guard {
    struct bounds *bounds;
    int depth; /* calls of the script's functions inside of each other; 0: bounds are off */
    size_t memory;
    double seconds;
    uint64_t until_ns;    /* of a script whose function of ours is under way */
    lua_Hook hook_before; /* a debugger's */
    int mask_before, count_before;
};

enum { CHECK = 1, BOUNDED, BEFORE, STRINGS, BOUNDS };

/* The function that on_count calls stands in the registry under it: one guard's at a time. */
static char current;

static bool refuses(struct bounds *b, size_t more)
{
    const char *over = b->taken + more > b->max ? "memory" : NULL;
    if (!over && more >= LARGE && uv_hrtime() > b->until_ns)
        over = "time";
    if (over && !b->over)
        b->over = over;
    return over != NULL;
}

/* Passes everything on with its sizes, so that it can come and go between any two calls. What is freed may be
 * others': it gives no more than was taken. */
static void *counted(void *ud, void *p, size_t old_size, size_t new_size)
{
    struct bounds *b = ud;
    size_t had = p ? old_size : 0;
    if (new_size > had && refuses(b, new_size - had))
        return NULL;
    void *q = b->below(b->below_ud, p, old_size, new_size);
    if (new_size >= had && q)
        b->taken += new_size - had;
    else if (new_size < had)
        b->taken -= b->taken < had - new_size ? b->taken : had - new_size;
    return q;
}

/* None in a replay: there the log says where the script ran out of time (restricted.lua). */
static uint64_t deadline(lua_State *L, double seconds)
{
    const struct hocket__kept *k = hocket__kept_here(hocket__runtime(L));
    if (k && hocket__kept_is_replay(k))
        return UINT64_MAX;
    return uv_hrtime() + (uint64_t) ((seconds > 0 ? seconds < 1e9 ? seconds : 1e9 : 0) * 1e9);
}

static void count_from_here(lua_State *L, struct guard *g)
{
    struct bounds *b = g->bounds;
    b->below = lua_getallocf(L, &b->below_ud);
    b->taken = 0;
    b->max = g->memory;
    b->until_ns = deadline(L, g->seconds);
    b->over = NULL;
    lua_setallocf(L, counted, b);
}

static void on_count(lua_State *L, lua_Debug *at)
{
    (void) at;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &current);
    lua_call(L, 0, 0);
}

/* Metatable of strings: __index = the user value `which` of the guard at 1. */
static void set_methods(lua_State *L, int which)
{
    lua_getiuservalue(L, 1, STRINGS);
    lua_getiuservalue(L, 1, which);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}

static void keep_methods(lua_State *L)
{
    lua_getiuservalue(L, 1, STRINGS);
    lua_getfield(L, -1, "__index");
    lua_setiuservalue(L, 1, BEFORE);
    lua_pop(L, 1);
}

/* The guard is at 1. Whatever comes after the first two may fail for lack of memory: the script's time and memory
 * are bounded by then. */
static void switch_on(lua_State *L, struct guard *g)
{
    g->hook_before = lua_gethook(L);
    g->mask_before = lua_gethookmask(L);
    g->count_before = lua_gethookcount(L);
    lua_sethook(L, on_count, LUA_MASKCOUNT, STEP);
    count_from_here(L, g);
    hocket__need_stack(L, 4);
    lua_getiuservalue(L, 1, CHECK);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &current);
    keep_methods(L);
    set_methods(L, BOUNDED);
}

/* Nothing here fails: where there is no room on the stack, what the call gave makes it, and false is given back. */
static bool switch_off(lua_State *L, struct guard *g)
{
    struct bounds *b = g->bounds;
    lua_setallocf(L, b->below, b->below_ud);
    b->below = NULL;
    lua_sethook(L, g->hook_before, g->mask_before, g->count_before);
    bool room = lua_checkstack(L, 4);
    if (!room)
        lua_settop(L, 2);
    set_methods(L, BEFORE);
    return room;
}

/* What a protected call gave stands from 3 on, behind the guard and a place for whether it went well. */
static int results(lua_State *L, int status)
{
    lua_pushboolean(L, status == LUA_OK || status == LUA_YIELD);
    lua_replace(L, 2);
    return lua_gettop(L) - 1;
}

static int called(lua_State *L, int status, lua_KContext depth)
{
    struct guard *g = lua_touserdata(L, 1);
    g->depth = (int) depth;
    if (depth == 0 && !switch_off(L, g))
        return hocket__raise_nomem(L);
    return results(L, status);
}

/* guard:call(fn, ...) -> true, what it gave | false, what was raised: calls a function of the script's */
static int l_call(lua_State *L)
{
    struct guard *g = hocket__check_object(L, 1, GUARD);
    int depth = g->depth, n = lua_gettop(L) - 2;
    luaL_checkany(L, 2);
    lua_pushboolean(L, 0);
    lua_insert(L, 2);
    if (depth == 0)
        switch_on(L, g);
    g->depth = depth + 1;
    return called(L, lua_pcallk(L, n, LUA_MULTRET, 0, depth, called), depth);
}

static int back(lua_State *L, int status, lua_KContext depth)
{
    struct guard *g = lua_touserdata(L, 1);
    g->depth = (int) depth;
    switch_on(L, g);
    g->bounds->until_ns = g->until_ns;
    return results(L, status);
}

/* guard:leave(fn, ...) -> as guard:call: calls a function of ours from the script's; it may wait */
static int l_leave(lua_State *L)
{
    struct guard *g = hocket__check_object(L, 1, GUARD);
    int depth = g->depth, n = lua_gettop(L) - 2;
    luaL_checkany(L, 2);
    luaL_argcheck(L, depth > 0, 1, "no function of the script runs");
    lua_pushboolean(L, 0);
    lua_insert(L, 2);
    g->depth = 0;
    g->until_ns = g->bounds->until_ns;
    switch_off(L, g);
    return back(L, lua_pcallk(L, n, LUA_MULTRET, 0, depth, back), depth);
}

/* guard:inside() -> whether the script's code runs */
static int l_inside(lua_State *L)
{
    struct guard *g = hocket__check_object(L, 1, GUARD);
    lua_pushboolean(L, g->depth > 0);
    return 1;
}

/* guard:remaining(seconds): from now on */
static int l_remaining(lua_State *L)
{
    struct guard *g = hocket__check_object(L, 1, GUARD);
    g->bounds->until_ns = deadline(L, luaL_checknumber(L, 2));
    return 0;
}

/* guard:over() -> "memory", "time", or nil: what was used up since bounds were last put on */
static int l_over(lua_State *L)
{
    struct guard *g = hocket__check_object(L, 1, GUARD);
    lua_pushstring(L, g->bounds->over);
    return 1;
}

static void keep_metatable_of_strings(lua_State *L, int guard)
{
    lua_pushliteral(L, "");
    if (!lua_getmetatable(L, -1))
        luaL_error(L, "strings have no metatable");
    lua_setiuservalue(L, guard, STRINGS);
    lua_pop(L, 1);
}

/* guard(check, methods, bytes, seconds) -> guard: `check` is called every 1,000 instructions, and may raise;
 * `methods` are those of strings while the script runs; bytes and seconds are between two waits */
static int l_guard(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    luaL_checktype(L, 2, LUA_TTABLE);
    double bytes = luaL_checknumber(L, 3), seconds = luaL_checknumber(L, 4);
    struct guard *g = hocket__new_object(L, sizeof(*g), BOUNDS, GUARD);
    *g = (struct guard){ .bounds = lua_touserdata(L, lua_upvalueindex(2)),
        .memory = bytes < 1e18 ? (size_t) bytes : (size_t) 1e18,
        .seconds = seconds };
    luaL_setmetatable(L, GUARD);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, CHECK);
    lua_pushvalue(L, 2);
    lua_setiuservalue(L, -2, BOUNDED);
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_setiuservalue(L, -2, BOUNDS);
    keep_metatable_of_strings(L, lua_gettop(L));
    return 1;
}

int hocket__open_bounds(lua_State *L)
{
    static const luaL_Reg methods[] = { { "call", l_call }, { "leave", l_leave },
        { "inside", l_inside }, { "remaining", l_remaining }, { "over", l_over }, { NULL, NULL } };
    static const luaL_Reg functions[] = { { "guard", l_guard }, { NULL, NULL } };
    hocket__newmeta(L, GUARD, methods);
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    struct bounds *b = lua_newuserdatauv(L, sizeof(*b), 0); /* as long as the functions */
    *b = (struct bounds){ 0 };
    luaL_setfuncs(L, functions, 2);
    return 1;
}
