/* The modules of hocket as `require "hocket.json"` finds them where nobody has required "hocket" before: Lua looks for
 * luaopen_hocket_json in hocket.so. In a stock Lua 5.4 "hocket" is loaded first, which has all of them; other Luas have "hocket" alone
 * (bridge.lua), and say so. */
#include "bridge.h"

/* Names as in docs/reference/lua, with _ for dots; tests/module/parts.sh holds them against it. */
#define PARTS(X)                                                                                   \
    X(agent)                                                                                       \
    X(ask)                                                                                         \
    X(attach)                                                                                      \
    X(board)                                                                                       \
    X(broker)                                                                                      \
    X(cassette)                                                                                    \
    X(console)                                                                                     \
    X(conversation)                                                                                \
    X(document)                                                                                    \
    X(events)                                                                                      \
    X(fence)                                                                                       \
    X(flow)                                                                                        \
    X(fs)                                                                                          \
    X(host)                                                                                        \
    X(http)                                                                                        \
    X(json)                                                                                        \
    X(live)                                                                                        \
    X(llm)                                                                                         \
    X(loaders)                                                                                     \
    X(mcp)                                                                                         \
    X(memory)                                                                                      \
    X(model)                                                                                       \
    X(orchestrate)                                                                                 \
    X(patterns_advisors)                                                                           \
    X(patterns_alternates)                                                                         \
    X(patterns_blockers)                                                                           \
    X(patterns_coordinator)                                                                        \
    X(patterns_facilitator)                                                                        \
    X(patterns_handoff)                                                                            \
    X(patterns_outcome)                                                                            \
    X(patterns_plan)                                                                               \
    X(patterns_planner)                                                                            \
    X(patterns_router)                                                                             \
    X(patterns_team)                                                                               \
    X(permission)                                                                                  \
    X(prices)                                                                                      \
    X(process)                                                                                     \
    X(providers)                                                                                   \
    X(schema)                                                                                      \
    X(session)                                                                                     \
    X(sim)                                                                                         \
    X(sim_team)                                                                                    \
    X(text)                                                                                        \
    X(tool)                                                                                        \
    X(tools_delegate_to_agent)                                                                     \
    X(workflow)                                                                                    \
    X(yaml)

#if LUA_VERSION_NUM >= 504
static void require(lua_State *L, const char *name)
{
    lua_getglobal(L, "require");
    lua_pushstring(L, name);
    lua_call(L, 1, 1);
}

/* (name): now "hocket" has put it into package.preload, which is asked first. */
static int open_part(lua_State *L)
{
    module_check_lua(L);
    const char *name = luaL_checkstring(L, 1);
    require(L, "hocket");
    require(L, name);
    return 1;
}
#else
static int open_part(lua_State *L)
{
    return luaL_error(L,
        "'%s' is for scripts that hocket runs, in its own Lua 5.4: other Luas have the module "
        "'hocket' alone "
        "(docs/guides/games.md)",
        luaL_checkstring(L, 1));
}
#endif

#if defined(__GNUC__)
#define EXPORTED __attribute__((visibility("default")))
#else
#define EXPORTED
#endif

#define OPEN(part)                                                                                 \
    EXPORTED int luaopen_hocket_##part(lua_State *L);                                              \
    int luaopen_hocket_##part(lua_State *L)                                                        \
    {                                                                                              \
        return open_part(L);                                                                       \
    }
PARTS(OPEN)
