/* The tools that the program has registered: adding, finding, taking back.
 *
 * A registered tool is a row here and a definition in Lua of the same name. Taking one back ends
 * its open calls: whoever still has a handle of one finds nobody. */

#include "host/tools/tools_impl.h"

#include "host/sized.h"

#include <string.h>

#include <lauxlib.h>

#include "bind/modules.h"
#include "bind/util.h"

struct hocket__tool *hocket__tools_find(struct hocket__tools *t, const char *name)
{
    for (struct hocket__list *l = t->known.next; l != &t->known; l = l->next) {
        struct hocket__tool *one = hocket__container_of(l, struct hocket__tool, link);
        if (strcmp(one->name, name) == 0)
            return one;
    }
    return NULL;
}

/* ---- Adding ------------------------------------------------------------------------------- */

struct hocket__tool *hocket__tools_row(struct hocket_host *h, const char *name,
    hocket_tool_cb on_call, hocket_tool_cancel_cb on_cancel, void *ud)
{
    struct hocket__tool *tool = hocket__zero(&h->alloc, sizeof(*tool));
    char *copy = tool ? hocket__strdup(&h->alloc, name, strlen(name)) : NULL;
    if (!copy) {
        hocket__free(&h->alloc, tool, sizeof(*tool));
        return NULL;
    }
    *tool =
        (struct hocket__tool){ .name = copy, .on_call = on_call, .on_cancel = on_cancel, .ud = ud };
    hocket__list_add(&h->tools->known, &tool->link);
    return tool;
}

struct adding {
    const struct hocket_tool_spec *spec;
};

/* Protected: require("hocket.internal.host.tools").add(name, description, parameters, timeout, idempotent) */
static int add_protected(lua_State *L)
{
    const struct hocket_tool_spec *spec = ((struct adding *) lua_touserdata(L, 1))->spec;
    hocket__require(L, "hocket.internal.host.tools");
    lua_getfield(L, -1, "add");
    lua_pushstring(L, spec->name);
    lua_pushstring(L, spec->description);
    lua_pushstring(L, spec->parameters);
    if (spec->timeout_ms > 0)
        lua_pushnumber(L, (double) spec->timeout_ms / 1000);
    else
        lua_pushnil(L);
    lua_pushboolean(L, (spec->flags & HOCKET_TOOL_IDEMPOTENT) != 0);
    lua_call(L, 5, 0);
    return 0;
}

static int add_to_lua(
    struct hocket_host *h, const struct hocket_tool_spec *spec, struct hocket_error *err)
{
    struct adding adding = { spec };
    struct hocket_error e;
    if (hocket__pcall(h->L, add_protected, &adding, &e) == 0)
        return 0;
    /* a bad schema is raised as a script's error; to the program it is a bad argument */
    if (e.status == HOCKET_ELUA)
        e.status = HOCKET_EINVAL;
    if (err)
        *err = e;
    return e.status;
}

static int incomplete(struct hocket_error *err)
{
    return hocket__error(
        err, HOCKET_EINVAL, "a tool needs a host, a name, a description and a function");
}

static int add_tool(hocket_host *h, const struct hocket_tool_spec *spec, hocket_tool_cb on_call,
    hocket_tool_cancel_cb on_cancel, void *ud, struct hocket_error *err)
{
    if (!spec->name || !spec->description)
        return incomplete(err);
    if (spec->flags & ~(uint64_t) HOCKET_TOOL_IDEMPOTENT)
        return hocket__error(err, HOCKET_EINVAL,
            "tool '%s' has a flag that this library, " HOCKET_VERSION ", does not know",
            spec->name);
    if (hocket__tools_find(h->tools, spec->name))
        return hocket__error(err, HOCKET_EEXIST, "there is a tool '%s' already", spec->name);
    struct hocket__tool *tool = hocket__tools_row(h, spec->name, on_call, on_cancel, ud);
    int rc = tool ? add_to_lua(h, spec, err) : hocket__error_nomem(err);
    if (rc < 0 && tool)
        hocket__tools_drop(h, tool);
    return rc;
}

int hocket_tool_add(hocket_host *h, const struct hocket_tool_spec *theirs, hocket_tool_cb on_call,
    hocket_tool_cancel_cb on_cancel, void *ud, struct hocket_error *err)
{
    struct hocket_tool_spec spec;
    if (!h || !theirs || !on_call)
        return incomplete(err);
    int rc = hocket__host_may_enter(h, err);
    if (rc == 0)
        rc = hocket__sized_take(&spec, sizeof(spec), theirs, "hocket_tool_spec", err);
    return rc < 0 ? rc : add_tool(h, &spec, on_call, on_cancel, ud, err);
}

/* ---- Taking back -------------------------------------------------------------------------- */

/* Protected: require("hocket.internal.host.tools").remove(name) */
static int remove_protected(lua_State *L)
{
    hocket__require(L, "hocket.internal.host.tools");
    lua_getfield(L, -1, "remove");
    lua_pushstring(L, lua_touserdata(L, 1));
    lua_call(L, 1, 0);
    return 0;
}

static int remove_from_lua(struct hocket_host *h, const char *name, struct hocket_error *err)
{
    if (!lua_checkstack(h->L, 4))
        return hocket__error_nomem(err);
    lua_pushcfunction(h->L, remove_protected);
    lua_pushlightuserdata(h->L, (char *) name);
    if (lua_pcall(h->L, 1, 0, 0) == LUA_OK)
        return 0;
    lua_pop(h->L, 1);
    return hocket__error_nomem(err);
}

int hocket_tool_remove(hocket_host *h, const char *name, struct hocket_error *err)
{
    if (!h || !name)
        return hocket__error(err, HOCKET_EINVAL, "a tool has a host and a name");
    struct hocket__tool *tool = hocket__tools_find(h->tools, name);
    if (!tool)
        return hocket__error(err, HOCKET_ENOTFOUND, "the program has no tool '%s'", name);
    int rc = hocket__host_may_enter(h, err);
    if (rc == 0)
        rc = remove_from_lua(h, tool->name, err);
    if (rc == 0)
        hocket__tools_drop(h, tool);
    return rc;
}

void hocket__tools_drop(struct hocket_host *h, struct hocket__tool *tool)
{
    hocket__list_del(&tool->link);
    /* A callback of this very tool may be on the stack, with its name: freed by the next
     * delivery. */
    hocket__list_add(&h->tools->gone, &tool->link);
    hocket__tools_end_calls(h, tool);
}

void hocket__tools_forget(struct hocket_host *h, struct hocket__list *tools)
{
    while (!hocket__list_empty(tools)) {
        struct hocket__tool *tool = hocket__container_of(tools->next, struct hocket__tool, link);
        hocket__list_del(&tool->link);
        hocket__strfree(&h->alloc, tool->name);
        hocket__free(&h->alloc, tool, sizeof(*tool));
    }
}
