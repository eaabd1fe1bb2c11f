/* hocket.internal.core.secrets: keys that must not stand in texts for others (net/secrets.h). */

#include "bind/open.h"

#include <string.h>

#include "bind/runtime.h"
#include "bind/util.h"
#include "net/secrets.h"

static const char META[] = "hocket.secrets";

static int l_gc(lua_State *L)
{
    struct hocket__secrets *s = hocket__gc_userdata(L, l_gc);
    if (s)
        hocket__secrets_deinit(s);
    return 0;
}

/* new({ key, … }) -> secrets */
static int l_new(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    struct hocket__secrets *s = lua_newuserdatauv(L, sizeof(*s), 0);
    hocket__secrets_init(s, hocket__runtime(L)->alloc);
    luaL_setmetatable(L, META);
    for (lua_Integer i = 1; lua_rawgeti(L, 1, i) != LUA_TNIL; i++) {
        if (hocket__secrets_add(s, hocket__check_str(L, -1)) < 0)
            return hocket__raise_nomem(L);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return 1;
}

/* s:mask(text) -> the text, with stars in the place of every key */
static int l_mask(lua_State *L)
{
    struct hocket__secrets *s = luaL_checkudata(L, 1, META);
    struct hocket__str text = hocket__check_str(L, 2);
    luaL_Buffer b;
    char *out = luaL_buffinitsize(L, &b, text.n);
    memcpy(out, text.p, text.n);
    hocket__secrets_mask(s, out, text.n);
    luaL_pushresultsize(&b, text.n);
    return 1;
}

int hocket__open_secrets(lua_State *L)
{
    static const luaL_Reg functions[] = { { "new", l_new }, { NULL, NULL } };
    static const luaL_Reg methods[] = { { "mask", l_mask }, { "__gc", l_gc }, { NULL, NULL } };
    hocket__newmeta(L, META, methods);
    lua_pop(L, 1);
    lua_createtable(L, 0, 1);
    hocket__setfuncs(L, functions);
    return 1;
}
