/* Finds and unpacks what the build compiled in. Tables are sorted by name at build time, for bsearch. */
#include "bind/assets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

static int by_name(const void *key, const void *row)
{
    return strcmp(key, ((const struct hocket__asset *) row)->name);
}

const struct hocket__asset *hocket__asset_find(const struct hocket__pack *p, const char *name)
{
    size_t n = 0;
    while (p->files[n].name)
        n++;
    return bsearch(name, p->files, n, sizeof(p->files[0]), by_name);
}

static void unpack(lua_State *L, const struct hocket__pack *p, const struct hocket__asset *a,
    struct hocket__str dictionary, char *out)
{
    struct hocket__str packed = hocket__str((const char *) p->bytes + a->at, a->n_packed);
    if (!hocket__unpack(packed, p->code, dictionary, out, a->len))
        luaL_error(L, "this program is damaged: '%s' cannot be unpacked", a->name);
}

/* Pushes a pack's dictionary, which is unpacked once for a Lua state, and kept: 160 KB. */
static struct hocket__str push_dictionary(lua_State *L, const struct hocket__pack *p)
{
    const struct hocket__asset *a = &p->dictionary;
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, p) == LUA_TNIL) {
        unpack(L, p, a, HOCKET__STR(""), lua_newuserdatauv(L, a->len, 0));
        lua_replace(L, -2);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, p);
    }
    return hocket__str(lua_touserdata(L, -1), a->len);
}

struct hocket__str hocket__asset_bytes(const struct hocket__pack *p, const struct hocket__asset *a)
{
    return hocket__str((const char *) p->bytes + a->at, a->len);
}

void hocket__asset_push(lua_State *L, const struct hocket__pack *p, const struct hocket__asset *a)
{
    if (!p->code) {
        lua_pushlstring(L, (const char *) p->bytes + a->at, a->len);
        return;
    }
    luaL_Buffer b;
    struct hocket__str dictionary = push_dictionary(L, p);
    unpack(L, p, a, dictionary, luaL_buffinitsize(L, &b, a->len));
    luaL_pushresultsize(&b, a->len);
    lua_remove(L, -2);
}

/* Bytecode is for the very Lua that compiled it: the process may have another build of 5.4, whose
 * opcodes or constants differ. Then the source is taken. */
const struct hocket__asset *hocket__asset_compiled(
    const struct hocket__asset *script, const char *lua)
{
    char name[260];
    if (!&hocket__pack_bytecode || !lua || strcmp(lua, hocket__pack_bytecode.lua) != 0)
        return NULL;
    snprintf(name, sizeof(name), "%sc", script->name);
    return hocket__asset_find(&hocket__pack_bytecode, name);
}
