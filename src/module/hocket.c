/* hocket.so: what `require "hocket"` finds in a stock lua5.4. Links no Lua of its own. */

#include "bridge.h"
#include "os/library.h"

/* hocket.open(options): the first call makes the module of bridge.lua, whose `open` takes the place of this one. */
static int open_first(lua_State *L)
{
    int n = lua_gettop(L);
    bridge_module(L);
    lua_getfield(L, -1, "open");
    lua_pushvalue(L, -1);
    lua_setfield(L, lua_upvalueindex(1), "open");
    lua_insert(L, 1);
    lua_settop(L, n + 1);
    lua_call(L, n, LUA_MULTRET);
    return lua_gettop(L);
}

/* Another Lua has no lua_newuserdatauv. Then the loader took that one from liblua5.4, which libhocket needs, and the rest from the
 * program: the first call that mixes them would crash it. */
void module_check_lua(lua_State *L)
{
    if (!hocket__library_same((void *) lua_newuserdatauv, (void *) luaL_error))
        luaL_error(L, "this hocket.so is for Lua 5.4: take the one in the folder of your Lua (5.1 "
                      "for LuaJIT)");
}

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
int luaopen_hocket(lua_State *L);

int luaopen_hocket(lua_State *L)
{
    module_check_lua(L);
    int n = hocket_luaopen(L);
    hocket_serve_attach(hocket_of_state(L), NULL); /* without it there are no `sim` models */
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, open_first, 1);
    lua_setfield(L, -2, "open");
    return n;
}
