/* hocket.internal.core.spool: a file without a name, for texts that are too many for memory. What it does is a matter of the
 * system's cache, so that nobody waits for it. */

#include "bind/open.h"

#include "os/descriptors.h"
#include "bind/util.h"
#include "os/own_file.h"

static const char META[] = "hocket.spool";

struct spool {
    int fd; /* -1: none */
    int64_t end;
};

#define LEFT 8 /* descriptors for others, who need them more */

/* open(dir) -> spool | nil: there cannot be one */
static int l_open(lua_State *L)
{
    const char *dir = luaL_checkstring(L, 1);
    if (hocket__descriptors_left(LEFT, -1) != 0)
        return 0;
    struct spool *s = lua_newuserdatauv(L, sizeof(*s), 0);
    *s = (struct spool){ .fd = -1 };
    luaL_setmetatable(L, META);
    s->fd = hocket__spool_open(dir);
    if (s->fd < 0)
        lua_pushnil(L);
    return 1;
}

/* s:add(text) -> its place | nil: it could not be written */
static int l_add(lua_State *L)
{
    struct spool *s = luaL_checkudata(L, 1, META);
    struct hocket__str text = hocket__check_str(L, 2);
    int64_t at = s->end;
    if (hocket__spool_write(s->fd, text, at) < 0)
        return 0;
    s->end += (int64_t) text.n;
    lua_pushinteger(L, at);
    return 1;
}

/* s:get(place, bytes) -> text | nil: it could not be read */
static int l_get(lua_State *L)
{
    struct spool *s = luaL_checkudata(L, 1, META);
    lua_Integer at = luaL_checkinteger(L, 2), n = luaL_checkinteger(L, 3);
    luaL_Buffer b;
    luaL_argcheck(L, at >= 0 && n >= 0 && n <= s->end - at, 2, "nothing was written there");
    char *out = luaL_buffinitsize(L, &b, (size_t) n);
    if (hocket__spool_read(s->fd, out, (size_t) n, at) < 0)
        return 0;
    luaL_pushresultsize(&b, (size_t) n);
    return 1;
}

static int l_gc(lua_State *L)
{
    struct spool *s = hocket__gc_userdata(L, l_gc);
    if (s && s->fd >= 0)
        hocket__spool_close(s->fd);
    if (s)
        s->fd = -1;
    return 0;
}

int hocket__open_spool(lua_State *L)
{
    static const luaL_Reg functions[] = { { "open", l_open }, { NULL, NULL } };
    static const luaL_Reg methods[] = { { "add", l_add }, { "get", l_get }, { "__gc", l_gc },
        { NULL, NULL } };
    hocket__newmeta(L, META, methods);
    lua_pop(L, 1);
    lua_createtable(L, 0, 1);
    hocket__setfuncs(L, functions);
    return 1;
}
