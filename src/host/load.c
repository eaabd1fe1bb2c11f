/* Targets that the program gives as texts, or as a directory to be read once
 * (lua/hocket/internal/host/buffers.lua). */

#include "host/host.h"

#include <string.h>

#include <lauxlib.h>

#include "bind/modules.h"
#include "bind/util.h"

struct loading {
    const char *function, *name;
    struct hocket__str text;
};

/* Protected: require("hocket.internal.host.buffers")[function](name, text) */
static int load_protected(lua_State *L)
{
    const struct loading *l = lua_touserdata(L, 1);
    hocket__require(L, "hocket.internal.host.buffers");
    lua_getfield(L, -1, l->function);
    lua_pushstring(L, l->name);
    hocket__push_str(L, l->text);
    lua_call(L, 2, 0);
    return 0;
}

static int load(hocket_host *h, struct loading *l, struct hocket_error *err)
{
    struct hocket_error e;
    int rc = hocket__host_may_enter(h, err);
    if (rc < 0)
        return rc;
    if (!lua_checkstack(h->L, 4))
        return hocket__error_nomem(err);
    lua_pushcfunction(h->L, load_protected);
    lua_pushlightuserdata(h->L, l);
    if (lua_pcall(h->L, 1, 0, 0) == LUA_OK)
        return 0;
    hocket__to_error(h->L, -1, &e);
    lua_pop(h->L, 1);
    if (err)
        *err = e;
    return e.status;
}

int hocket_load_buffer(
    hocket_host *h, const char *name, const char *text, size_t len, struct hocket_error *err)
{
    if (!h || !name || !text)
        return hocket__error(err, HOCKET_EINVAL, "a text to load needs a host and a name");
    struct loading l = { "add", name, hocket__str(text, len ? len : strlen(text)) };
    return load(h, &l, err);
}

int hocket_load_dir(hocket_host *h, const char *name, const char *dir, struct hocket_error *err)
{
    if (!h || !name || !dir)
        return hocket__error(err, HOCKET_EINVAL, "a directory to load needs a host and a name");
    struct loading l = { "directory", name, hocket__cstr(dir) };
    return load(h, &l, err);
}
