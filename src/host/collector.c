/* The pace of Lua's collector; collector.h has the picture. The numbers were found by measuring:
 * whoever changes one runs the benchmarks again (docs/explanation/benchmarks.md).
 *
 * lua_gc's own parameters are the only handle there is. A "step" of Lua does as much work as its
 * debt says, so the debt is what is set: a piece is paid by steps of 2^PIECE, and credit is a
 * negative debt. */
#include "host/collector.h"

#include <uv.h>

#define PIECE     7     /* log2 of Lua's measure for one piece: some 20 us of work */
#define PAYS      4096u /* bytes that were allocated, of which a piece is the work that is owed */
#define LUAS_OWN  13    /* the same as Lua has it, for what happens outside of pumps */
#define CREDIT_KB 8192  /* what may be allocated until the next pump */
#define SMALLEST  (1 << 20) /* bytes; a smaller heap is not worth a cycle */

/* The heap's size at which the collector starts its next cycle, in percent of the live part. With
 * Lua's own 200 a thousand agents that start, and are all alive, are traversed twice as often. */
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

/* What was allocated since the last look is owed for. */
static void look(struct hocket__collector *c, lua_State *L)
{
    size_t used = in_use(L), since = c->used;
    /* before the first cycle nobody knows what is alive */
    c->due = c->due ? c->due : SMALLEST;
    if (c->began == 0 && used >= c->due) {
        c->began = used;
        since = c->due;
    }
    if (c->began > 0 && used > since)
        c->owed += used - since;
    c->used = used;
}

/* A quarter of the budget, and up to three quarters when as much is owed for as there was when the cycle
 * began. */
static uint64_t share(const struct hocket__collector *c, uint64_t budget_ns)
{
    size_t behind = c->owed < c->began ? c->owed : c->began;
    return c->began == 0 ? 0 : budget_ns / 4 + budget_ns / 2 * (behind >> 10) / (c->began >> 10);
}

static void end_cycle(struct hocket__collector *c, lua_State *L)
{
    size_t alive = in_use(L);
    c->began = c->owed = 0;
    c->due = 2 * alive > SMALLEST ? 2 * alive : SMALLEST;
    c->used = alive;
}

static void pay(struct hocket__collector *c, lua_State *L, uint64_t until)
{
    bool ended = false;
    lua_gc(L, LUA_GCINC, 0, 0, PIECE);
    while (c->owed > 0 && !ended) {
        /* the clock is asked after each piece and not before: one is always done, or a host
         * with tiny budgets would never collect */
        ended = lua_gc(L, LUA_GCSTEP, 0) == 1;
        c->owed -= c->owed < PAYS ? c->owed : PAYS;
        if (uv_hrtime() >= until)
            break;
    }
    /* back to Lua's own size of a step, for allocations that outrun the credit */
    lua_gc(L, LUA_GCINC, 0, 0, LUAS_OWN);
    if (ended)
        end_cycle(c, L);
    else
        c->used = in_use(L);
}

/* What may be allocated before Lua's own pace sets in. */
static void give_credit(const struct hocket__collector *c, lua_State *L)
{
    int owed_kb = (int) (c->owed >> 10 < CREDIT_KB ? c->owed >> 10 : CREDIT_KB - 1);
    lua_gc(L, LUA_GCRESTART); /* nothing owed, and nothing saved up … */
    lua_gc(L, LUA_GCSTEP, owed_kb - CREDIT_KB);
}

void hocket__collector_work(struct hocket__collector *c, lua_State *L, uint64_t budget_ns)
{
    if (!lua_gc(L, LUA_GCISRUNNING)) /* a script has stopped it */
        return;
    c->taken = true;
    look(c, L);
    pay(c, L, uv_hrtime() + share(c, budget_ns));
    give_credit(c, L);
}

void hocket__collector_pay(struct hocket__collector *c, lua_State *L, uint64_t until)
{
    if (!c->taken || !lua_gc(L, LUA_GCISRUNNING))
        return;
    look(c, L);
    if (c->owed == 0)
        return;
    pay(c, L, until);
    give_credit(c, L);
}

bool hocket__collector_owes(const struct hocket__collector *c)
{
    return c->owed > 0;
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
