/* A program's options as Lua gives them, and its end as Lua gets it.
 *
 * Limits that are absent or 0 are none. Texts are views into Lua strings, which the table holds
 * during the call; the message to the launcher copies them. */
#include "bind/process/process_impl.h"

#include "base/system_names.h"
#include "bind/util.h"

#include <stdio.h>
#include <string.h>

#define MAX_WORDS 4096 /* of each list */

/* ---- Options -------------------------------------------------------------------------- */

/* The list of texts in field `name`, ended by NULL. Its memory and its texts stay while the options
 * and the stack do. NULL when absent. */
static const char *const *opt_list(lua_State *L, const char *name)
{
    int type = lua_getfield(L, 1, name);
    if (type == LUA_TNIL)
        return NULL;
    if (type != LUA_TTABLE)
        luaL_error(L, "bad option '%s' (a list of texts expected)", name);
    lua_Integer n = luaL_len(L, -1);
    if (n > MAX_WORDS)
        luaL_error(L, "bad option '%s' (more than %d texts)", name, MAX_WORDS);
    const char **list = lua_newuserdatauv(L, ((size_t) n + 1) * sizeof(*list), 0);
    for (lua_Integer i = 1; i <= n; i++) {
        size_t len;
        if (lua_rawgeti(L, -2, i) != LUA_TSTRING)
            luaL_error(L, "bad option '%s' (a list of texts expected)", name);
        list[i - 1] = lua_tolstring(L, -1, &len);
        if (strlen(list[i - 1]) != len)
            luaL_error(L, "bad option '%s' (a text with a NUL)", name);
        lua_pop(L, 1);
    }
    list[n] = NULL;
    return list;
}

static void read_limits(lua_State *L, struct hocket__launch_limits *m)
{
    const int64_t most = INT64_C(1) << 50;
    m->cpu_s = hocket__opt_int(L, 1, "cpu", 0, 0, most);
    m->memory = hocket__opt_int(L, 1, "memory", 0, 0, most);
    m->file_bytes = hocket__opt_int(L, 1, "file_size", 0, 0, most);
    m->written = hocket__opt_int(L, 1, "written", 0, 0, most);
    m->open_files = hocket__opt_int(L, 1, "open_files", 0, 0, most);
    m->processes = hocket__opt_int(L, 1, "processes", 0, 0, most);
    m->grace_ms = (int64_t) (hocket__opt_number(L, 1, "grace", 2) * 1000);
}

static enum hocket__sandbox read_level(lua_State *L)
{
    struct hocket__str name = hocket__opt_str(L, 1, "sandbox");
    int level = name.p ? hocket__sandbox_from_name(name.p) : -1;
    if (level < 0)
        luaL_error(L, "bad option 'sandbox' (\"bubblewrap\", \"landlock\" or \"limits\" expected)");
    return (enum hocket__sandbox) level;
}

int hocket__program_read(lua_State *L, struct hocket__runtime *rt,
    struct hocket__process_spec *spec, struct hocket_error *err)
{
    static const char *const none[] = { NULL };
    *spec = (struct hocket__process_spec){ .launchers = &rt->launchers };
    struct hocket__launch *l = &spec->launch;
    spec->launcher = hocket__opt_str(L, 1, "launcher").p;
    if (!spec->launcher)
        spec->launcher = rt->launcher;
    l->argv = opt_list(L, "argv");
    l->env = opt_list(L, "env");
    l->readable = opt_list(L, "readable");
    l->writable = opt_list(L, "writable");
    l->guarded = opt_list(L, "guarded");
    l->protect = hocket__opt_str(L, 1, "protect").p;
    l->cwd = hocket__opt_str(L, 1, "cwd").p;
    l->sandbox = read_level(L);
    l->network = hocket__opt_bool(L, 1, "network", false);
    l->sockets = hocket__opt_bool(L, 1, "sockets", false);
    hocket__opt_bool(L, 1, "idempotent", false); /* for runs that are kept: base/once.lua */
    if (!l->argv || !l->argv[0])
        luaL_error(L, "bad option 'argv' (a program and its arguments expected)");
    if (l->protect && l->protect[0] != '/')
        luaL_error(L, "bad option 'protect' (an absolute path expected)");
    if (!l->cwd || l->cwd[0] != '/')
        luaL_error(L, "bad option 'cwd' (an absolute path expected)");
    if (!l->env)
        l->env = none;
    read_limits(L, &l->limits);
    return spec->launcher ? 0
                          : hocket__error(err, HOCKET_EUNSUPPORTED,
                              "programs cannot be started here: the embedding program has named "
                              "no launcher (hocket_options.launcher)");
}

/* ---- Its end --------------------------------------------------------------------------- */

void hocket__program_push_output(lua_State *L, struct hocket__capture *c, const char *name)
{
    char omitted[32];
    uint64_t left_out = hocket__capture_finish(c);
    hocket__push_str(L, hocket__buf_str(&c->head));
    if (left_out > 0) {
        lua_setfield(L, -2, name);
        snprintf(omitted, sizeof(omitted), "%s_omitted", name);
        lua_pushinteger(L, (lua_Integer) left_out);
        lua_setfield(L, -2, omitted);
        snprintf(omitted, sizeof(omitted), "%s_tail", name);
        hocket__push_str(L, hocket__buf_str(&c->tail));
        lua_setfield(L, -2, omitted);
        return;
    }
    hocket__push_str(L, hocket__buf_str(&c->tail));
    lua_concat(L, 2);
    lua_setfield(L, -2, name);
}

void hocket__program_push_end(lua_State *L, const struct hocket__launch_result *r)
{
    if (r->signal) {
        const char *name = hocket__signal_name(r->signal);
        lua_pushstring(L, name ? name : "?");
        lua_setfield(L, -2, "signal");
    } else {
        lua_pushinteger(L, r->code);
        lua_setfield(L, -2, "code");
    }
    lua_pushinteger(L, (lua_Integer) r->left_behind);
    lua_setfield(L, -2, "left_behind");
    lua_pushnumber(L, (double) r->cpu_ms / 1000);
    lua_setfield(L, -2, "cpu");
    lua_pushinteger(L, (lua_Integer) r->max_rss);
    lua_setfield(L, -2, "max_rss");
    if (r->unguarded) {
        lua_pushboolean(L, true);
        lua_setfield(L, -2, "unguarded");
    }
    if (r->refused > 0) {
        lua_pushinteger(L, (lua_Integer) r->refused);
        lua_setfield(L, -2, "refused");
        lua_pushstring(L, r->refused_names);
        lua_setfield(L, -2, "refused_names");
    }
    if (r->overlooked) {
        lua_pushboolean(L, true);
        lua_setfield(L, -2, "overlooked");
    }
    if (r->limit[0]) {
        lua_pushstring(L, r->limit);
        lua_setfield(L, -2, "limit");
    }
}

/* bubblewrap says on its standard error what it could not do. */
int hocket__program_fail(
    lua_State *L, const struct hocket__launch_result *r, struct hocket__str said)
{
    struct hocket_error err;
    const char *line = said.n > 0 ? memchr(said.p, '\n', said.n) : NULL;
    if (line)
        said.n = (size_t) (line - said.p);
    hocket__error(&err, r->status, "%s%s%.*s", r->message, said.n > 0 ? ": " : "",
        (int) (said.n < 200 ? said.n : 200), said.p);
    return hocket__fail(L, &err);
}
