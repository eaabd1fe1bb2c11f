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

static enum hocket__sandbox level_of(lua_State *L, const char *name)
{
    int level = name ? hocket__sandbox_from_name(name) : -1;
    if (level < 0)
        luaL_error(L, "bad option 'sandbox' (\"bubblewrap\", \"landlock\" or \"limits\" expected)");
    return (enum hocket__sandbox) level;
}

void hocket__program_read(lua_State *L, struct hocket__runtime *rt, const struct hocket__opt rows[],
    struct hocket__program_asked *asked)
{
    asked->spec.launchers = &rt->launchers;
    asked->spec.launcher = rt->launcher;
    asked->grace = 2;
    hocket__opt_read(L, 1, rows, asked);
    asked->spec.launch.limits.grace_ms = (int64_t) (asked->grace * 1000);
}

int hocket__program_check(
    lua_State *L, struct hocket__program_asked *asked, struct hocket_error *err)
{
    static const char *const none[] = { 0 };
    struct hocket__launch *l = &asked->spec.launch;
    l->argv = opt_list(L, "argv");
    l->env = opt_list(L, "env");
    l->readable = opt_list(L, "readable");
    l->writable = opt_list(L, "writable");
    l->guarded = opt_list(L, "guarded");
    l->sandbox = level_of(L, asked->sandbox);
    if (!l->argv || !l->argv[0])
        luaL_error(L, "bad option 'argv' (a program and its arguments expected)");
    if (l->protect && l->protect[0] != '/')
        luaL_error(L, "bad option 'protect' (an absolute path expected)");
    if (!l->cwd || l->cwd[0] != '/')
        luaL_error(L, "bad option 'cwd' (an absolute path expected)");
    if (!l->env)
        l->env = none;
    return asked->spec.launcher
               ? 0
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
