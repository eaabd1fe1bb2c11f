/* The object is found by the running fiber's context, so that two runs in one host may record and
 * replay beside each other, and agents that a run has started go the same way. */
#include "bind/transport.h"

#include "bind/fiber/fiber.h"
#include "bind/util.h"

const char hocket__transport_name[] = "hocket.cassette";

struct hocket__transport *hocket__transport_push(lua_State *L, struct hocket__runtime *rt)
{
    struct hocket__fiber *f = hocket__fiber_here(L);
    if (!f || !rt->taped) {
        lua_pushnil(L);
        return &rt->direct;
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, rt->anchor);
    lua_rawgeti(L, -1, (lua_Integer) f->id);
    if (lua_getiuservalue(L, -1, 2) == LUA_TTABLE)
        lua_getfield(L, -1, "cassette");
    else
        lua_pushnil(L);
    lua_replace(L, -4);
    lua_pop(L, 2);
    struct hocket__transport **t = luaL_testudata(L, -1, hocket__transport_name);
    return t && *t ? *t : &rt->direct;
}
