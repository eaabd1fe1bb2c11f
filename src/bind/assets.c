/* Finds and unpacks what the build compiled in. The table is sorted by name at build time, for
 * bsearch, and each script is followed by its bytecode (NAMEc) where there is one. */
#include "bind/assets.h"

#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
static int by_name(const void *key, const void *row)
{
    return strcmp(key, ((const struct hocket__asset *) row)->name);
}

const struct hocket__asset *hocket__asset_find(const char *name)
{
    size_t n = 0;
    while (hocket__assets[n].name)
        n++;
    return bsearch(name, hocket__assets, n, sizeof(hocket__assets[0]), by_name);
}

static void unpack(
    lua_State *L, const struct hocket__asset *a, struct hocket__str dictionary, char *out)
{
    struct hocket__str packed =
        hocket__str((const char *) hocket__asset_bytes + a->at, a->n_packed);
    if (!hocket__unpack(packed, &hocket__asset_codes[a->bytecode], dictionary, out, a->len))
        luaL_error(L, "this program is damaged: '%s' cannot be unpacked", a->name);
}

/* Pushes the dictionary, which is unpacked once for a Lua state, and kept: 32 KB. */
static struct hocket__str push_dictionary(lua_State *L)
{
    const struct hocket__asset *a = &hocket__asset_dictionary;
    if (lua_getfield(L, LUA_REGISTRYINDEX, "hocket.dictionary") == LUA_TNIL) {
        unpack(L, a, HOCKET__STR(""), lua_newuserdatauv(L, a->len, 0));
        lua_replace(L, -2);
        lua_pushvalue(L, -1);
        lua_setfield(L, LUA_REGISTRYINDEX, "hocket.dictionary");
    }
    return hocket__str(lua_touserdata(L, -1), a->len);
}

void hocket__asset_push(lua_State *L, const struct hocket__asset *a)
{
    luaL_Buffer b;
    struct hocket__str dictionary = push_dictionary(L);
    unpack(L, a, dictionary, luaL_buffinitsize(L, &b, a->len));
    luaL_pushresultsize(&b, a->len);
    lua_remove(L, -2);
}

/* Bytecode is for the very Lua that compiled it: the process may have another build of 5.4, whose
 * opcodes or constants differ. Then the source is taken. */
const struct hocket__asset *hocket__asset_for(const struct hocket__asset *a, const char *lua)
{
    const struct hocket__asset *next = a + 1;
    size_t n = strlen(a->name);
    bool compiled =
        next->name && strncmp(next->name, a->name, n) == 0 && strcmp(next->name + n, "c") == 0;
    return compiled && lua && strcmp(lua, hocket__asset_lua) == 0 ? next : a;
}
