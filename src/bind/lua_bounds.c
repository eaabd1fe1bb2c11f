/* hocket.internal.core.bounds: what a stranger's script may take while it runs, in memory and in time, where a hook that
 * counts instructions does not see it: one instruction can copy megabytes (a .. b). While bounds are set the
 * state's allocator is one that counts, and that looks at the clock before it gives a large block; a block that is
 * refused raises Lua's own error of memory in the script. It passes everything on with its sizes, so that it can
 * come and go between any two calls. */

#include "bind/open.h"

#include <uv.h>

#include "bind/runtime.h"
#include "bind/util.h"

#define LARGE 16384

struct bounds {
    lua_Alloc below; /* NULL: none are set */
    void *below_ud;
    size_t taken, max;
    uint64_t until_ns;
    const char *over; /* what was used up first: "memory", "time", or NULL */
};

static struct bounds *bounds_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(2));
}

static bool refuses(struct bounds *b, size_t more)
{
    const char *over = b->taken + more > b->max ? "memory" : NULL;
    if (!over && more >= LARGE && uv_hrtime() > b->until_ns)
        over = "time";
    if (over && !b->over)
        b->over = over;
    return over != NULL;
}

/* What is freed may be others': it gives no more than was taken. */
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

/* set(bytes, seconds): from now on; over() is nothing then */
static int l_set(lua_State *L)
{
    struct bounds *b = bounds_of(L);
    double bytes = luaL_checknumber(L, 1), seconds = luaL_checknumber(L, 2);
    if (!b->below)
        b->below = lua_getallocf(L, &b->below_ud);
    b->taken = 0;
    b->max = bytes < 1e18 ? (size_t) bytes : (size_t) 1e18;
    b->until_ns = uv_hrtime() + (uint64_t) ((seconds < 1e9 ? seconds : 1e9) * 1e9);
    b->over = NULL;
    lua_setallocf(L, counted, b);
    return 0;
}

/* clear() */
static int l_clear(lua_State *L)
{
    struct bounds *b = bounds_of(L);
    if (b->below)
        lua_setallocf(L, b->below, b->below_ud);
    b->below = NULL;
    return 0;
}

/* over() -> "memory", "time", or nil: what was used up since they were set */
static int l_over(lua_State *L)
{
    lua_pushstring(L, bounds_of(L)->over);
    return 1;
}

int hocket__open_bounds(lua_State *L)
{
    static const luaL_Reg functions[] = { { "set", l_set }, { "clear", l_clear },
        { "over", l_over }, { NULL, NULL } };
    lua_newtable(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    struct bounds *b = lua_newuserdatauv(L, sizeof(*b), 0); /* as long as the functions */
    *b = (struct bounds){ 0 };
    luaL_setfuncs(L, functions, 2);
    return 1;
}
