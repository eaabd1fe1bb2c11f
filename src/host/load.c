/* Targets that the program gives as texts, or as a directory to be read once
 * (lua/hocket/internal/host/buffers.lua). */

#include "host/host.h"

#include <string.h>

#include <lauxlib.h>

#include "bind/modules.h"
#include "bind/util.h"
#include "os/fs.h"

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
    int rc = hocket__host_may_enter(h, err);
    return rc < 0 ? rc : hocket__pcall(h->L, load_protected, l, err);
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
    struct hocket__buf room = hocket__buf(&h->alloc, 0);
    struct loading l = { "directory", name, hocket__cstr(hocket__fs_slashes(&room, dir)) };
    int rc = room.status < 0 ? hocket__error_nomem(err) : load(h, &l, err);
    hocket__buf_deinit(&room);
    return rc;
}
