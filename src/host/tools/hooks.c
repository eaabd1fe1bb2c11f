/* Hooks of the program: asked before and after what runs do (lua/hocket/internal/host/hooks.lua). A hook is a row among the tools, whose
 * name no tool can have, and is called as they are. */
#include "host/tools/tools_impl.h"

#include "host/sized.h"

#include <stdio.h>
#include <string.h>

#include <lauxlib.h>

#include "bind/modules.h"
#include "bind/util.h"

#define PREFIX         "hook:"
#define NAME_MAX_BYTES 64

struct naming {
    const struct hocket_hook_spec *spec;
    const char *name;
};

/* Protected: require("hocket.internal.host.hooks").add(name, points, match, timeout) */
static int add_protected(lua_State *L)
{
    const struct hocket_hook_spec *spec = ((struct naming *) lua_touserdata(L, 1))->spec;
    hocket__require(L, "hocket.internal.host.hooks");
    lua_getfield(L, -1, "add");
    lua_pushstring(L, spec->name);
    lua_pushstring(L, spec->points);
    lua_pushstring(L, spec->match);
    if (spec->timeout_ms > 0)
        lua_pushnumber(L, (double) spec->timeout_ms / 1000);
    else
        lua_pushnil(L);
    lua_call(L, 4, 0);
    return 0;
}

/* Protected: require("hocket.internal.host.hooks").remove(name) */
static int remove_protected(lua_State *L)
{
    hocket__require(L, "hocket.internal.host.hooks");
    lua_getfield(L, -1, "remove");
    lua_pushstring(L, ((struct naming *) lua_touserdata(L, 1))->name);
    lua_call(L, 1, 0);
    return 0;
}

static int call(
    struct hocket_host *h, lua_CFunction fn, struct naming *about, struct hocket_error *err)
{
    struct hocket_error e;
    if (hocket__pcall(h->L, fn, about, &e) == 0)
        return 0;
    if (err)
        *err = e;
    return e.status;
}

static int row_name(char *out, size_t size, const char *name, struct hocket_error *err)
{
    if (!name || !*name || strlen(name) > NAME_MAX_BYTES)
        return hocket__error(err, HOCKET_EINVAL, "a hook needs a name of 1 to 64 characters");
    snprintf(out, size, PREFIX "%s", name);
    return 0;
}

static int add(struct hocket_host *h, const struct hocket_hook_spec *spec, hocket_tool_cb on_call,
    hocket_tool_cancel_cb on_cancel, void *ud, struct hocket_error *err)
{
    char row[NAME_MAX_BYTES + sizeof(PREFIX)];
    struct naming about = { spec, spec->name };
    if (!spec->points)
        return hocket__error(err, HOCKET_EINVAL, "a hook needs points");
    int rc = row_name(row, sizeof(row), spec->name, err);
    if (rc < 0)
        return rc;
    if (hocket__tools_find(h->tools, row))
        return hocket__error(err, HOCKET_EEXIST, "there is a hook '%s' already", spec->name);
    struct hocket__tool *tool = hocket__tools_row(h, row, on_call, on_cancel, ud);
    if (!tool)
        return hocket__error_nomem(err);
    tool->shown = sizeof(PREFIX) - 1;
    rc = call(h, add_protected, &about, err);
    if (rc < 0)
        hocket__tools_drop(h, tool);
    return rc;
}

int hocket_hook_add(hocket_host *h, const struct hocket_hook_spec *theirs, hocket_tool_cb on_call,
    hocket_tool_cancel_cb on_cancel, void *ud, struct hocket_error *err)
{
    struct hocket_hook_spec spec;
    if (!h || !theirs || !on_call)
        return hocket__error(err, HOCKET_EINVAL, "a hook needs a host and a function");
    int rc = hocket__host_may_enter(h, err);
    if (rc == 0)
        rc = hocket__sized_take(&spec, sizeof(spec), theirs, "hocket_hook_spec", err);
    return rc < 0 ? rc : add(h, &spec, on_call, on_cancel, ud, err);
}

int hocket_hook_remove(hocket_host *h, const char *name, struct hocket_error *err)
{
    char row[NAME_MAX_BYTES + sizeof(PREFIX)];
    struct naming about = { NULL, name };
    if (!h || !name)
        return hocket__error(err, HOCKET_EINVAL, "a hook has a host and a name");
    int rc = row_name(row, sizeof(row), name, err);
    struct hocket__tool *tool = rc == 0 ? hocket__tools_find(h->tools, row) : NULL;
    if (rc == 0 && !tool)
        return hocket__error(err, HOCKET_ENOTFOUND, "the program has no hook '%s'", name);
    if (rc == 0)
        rc = hocket__host_may_enter(h, err);
    if (rc == 0)
        rc = call(h, remove_protected, &about, err);
    if (rc == 0)
        hocket__tools_drop(h, tool);
    return rc;
}
