#include "host/collector.h"

#include <uv.h>

#define PIECE     7         /* log2 of the bytes that one piece answers for: some 20 us of work */
#define LUAS_OWN  13        /* the same as Lua has it, for what happens outside of pumps */
#define CREDIT_KB 8192      /* what may be allocated until the next pump */
#define SMALLEST  (1 << 20) /* bytes; a smaller heap is not worth a cycle */

/* How much of what is alive may be garbage before the collector looks at all of it again, in
 * percent of both. With Lua's own 200 a thousand agents that begin, and are all alive, are looked
 * at twice as often. */
#define PAUSE 300
/* The same of the generational mode, in percent of what is alive alone, and how much has come new
 * before it looks at that. With Lua's own 100 and 20 what an agent works with mostly counts as old before
 * it is garbage, and a team's call takes 7 percent longer. */
#define MAJOR 200
#define MINOR 50
#define SMALL (3 << 20) /* bytes: up to here it becomes generational … */
#define LARGE (6 << 20) /* … and from here on incremental */

/* The first releases of 5.4 have bugs in their generational mode. With 5.4.4, and its assertions on,
 * all our tests pass in it. */
#define CAN_CHOOSE (LUA_VERSION_RELEASE_NUM >= 50404)

void hocket__collector_init(struct hocket__collector *c, lua_State *L)
{
    *c = (struct hocket__collector){ .taken = !CAN_CHOOSE };
    lua_gc(L, LUA_GCINC, PAUSE, 0, 0);
}

static size_t in_use(lua_State *L)
{
    return (size_t) lua_gc(L, LUA_GCCOUNT) * 1024 + (size_t) lua_gc(L, LUA_GCCOUNTB);
}

/* A quarter of the budget, and up to three quarters when the heap has doubled in this cycle. */
static uint64_t share(const struct hocket__collector *c, size_t used, uint64_t budget_ns)
{
    size_t grown = used > c->began ? used - c->began : 0;
    grown = grown < c->began ? grown : c->began;
    return budget_ns / 4 + budget_ns / 2 * (grown >> 10) / (c->began >> 10);
}

/* Whether the cycle ended. */
static bool pieces(lua_State *L, uint64_t until)
{
    bool ended;
    lua_gc(L, LUA_GCINC, 0, 0, PIECE);
    do {
        ended = lua_gc(L, LUA_GCSTEP, 0) == 1;
    } while (!ended && uv_hrtime() < until);
    lua_gc(L, LUA_GCINC, 0, 0, LUAS_OWN);
    return ended;
}

void hocket__collector_work(struct hocket__collector *c, lua_State *L, uint64_t budget_ns)
{
    if (!lua_gc(L, LUA_GCISRUNNING)) /* a script has stopped it */
        return;
    c->taken = true;
    size_t used = in_use(L);
    c->due = c->due ? c->due : SMALLEST;
    if (c->began == 0 && used >= c->due)
        c->began = used;
    if (c->began > 0 && pieces(L, uv_hrtime() + share(c, used, budget_ns))) {
        c->began = 0;
        c->due = 2 * in_use(L) > SMALLEST ? 2 * in_use(L) : SMALLEST;
    }
    lua_gc(L, LUA_GCRESTART); /* nothing owed, and nothing saved up … */
    lua_gc(L, LUA_GCSTEP, -CREDIT_KB);
}

/* Whether a script has chosen a pause of its own. */
static bool is_scripts(lua_State *L)
{
    int pause = lua_gc(L, LUA_GCSETPAUSE, PAUSE);
    lua_gc(L, LUA_GCSETPAUSE, pause);
    return pause != PAUSE;
}

static void change(struct hocket__collector *c, lua_State *L)
{
    c->taken = is_scripts(L);
    if (c->taken)
        return;
    c->generational = !c->generational;
    c->most = 0;
    if (c->generational)
        lua_gc(L, LUA_GCGEN, MINOR, MAJOR);
    else
        lua_gc(L, LUA_GCINC, 0, 0, 0);
}

void hocket__collector_choose(struct hocket__collector *c, lua_State *L)
{
    if (c->taken || !lua_gc(L, LUA_GCISRUNNING))
        return;
    size_t used = in_use(L);
    bool fell = used <= SMALL && used < c->most / 5 * 4;
    c->most = used > c->most ? used : c->most;
    if (c->generational ? used > LARGE : fell)
        change(c, L);
}
