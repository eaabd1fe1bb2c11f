/* hocket.internal.core.permission: decides about tool calls; what rules are read from is Lua's business.
 *
 * Rules are handed over once when an agent begins to work; a decision passes only texts of the
 * call. No rule is read here, and no decision is made. */

#include "bind/open.h"

#include "bind/runtime.h"
#include "bind/util.h"
#include "core/permission/permission.h"

#define META     "hocket.policy"
#define MAX_ARGS 4096

struct policy {
    struct hocket__runtime *rt;
    struct hocket__permissions *permissions;
};

static int l_gc(lua_State *L)
{
    struct policy *d = hocket__gc_userdata(L, l_gc);
    if (!d)
        return 0;
    hocket__permission_free(d->permissions);
    d->permissions = NULL;
    return 0;
}

static void check_rc(lua_State *L, int rc)
{
    if (rc == HOCKET_ENOMEM)
        hocket__raise_nomem(L);
    else if (rc < 0)
        luaL_error(L, "too many rules of approval");
}

static struct hocket__str field(lua_State *L, int idx, int at)
{
    struct hocket__str s = { "", 0 };
    if (lua_rawgeti(L, idx, at) == LUA_TSTRING)
        s.p = lua_tolstring(L, -1, &s.n);
    lua_pop(L, 1); /* the table holds it */
    return s;
}

static enum hocket__verdict verdict_of(lua_State *L, struct hocket__str word)
{
    static const char *const words[] = { "", "allow", "ask", "deny" };
    for (int i = 0; i < 4; i++)
        if (hocket__str_is(word, words[i]))
            return (enum hocket__verdict) i;
    return (enum hocket__verdict) luaL_error(
        L, "bad word '%s' (allow, ask or deny expected)", word.p);
}

/* A rule: {verdict, tool, argument or "", glob or false} */
static void add_rule(lua_State *L, struct policy *d, int rule)
{
    check_rc(L, hocket__permission_rule(
                    d->permissions, verdict_of(L, field(L, rule, 1)), field(L, rule, 2)));
    if (field(L, rule, 4).n)
        check_rc(L, hocket__permission_when(d->permissions, field(L, rule, 3), field(L, rule, 4)));
}

static enum hocket__layer kind_of(struct hocket__str word)
{
    return hocket__str_is(word, "operator") ? HOCKET__OPERATOR
           : hocket__str_is(word, "run")    ? HOCKET__RUN
                                            : HOCKET__AGENT;
}

/* A layer: {kind, name, mode or "", {rule, …}} */
static void add_layer(lua_State *L, struct policy *d, int layer)
{
    enum hocket__verdict mode = verdict_of(L, field(L, layer, 3));
    check_rc(L, hocket__permission_layer(
                    d->permissions, kind_of(field(L, layer, 1)), field(L, layer, 2), mode));
    lua_rawgeti(L, layer, 4);
    for (int i = 1; lua_rawgeti(L, -1, i) == LUA_TTABLE; i++) {
        add_rule(L, d, lua_gettop(L));
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
}

typedef int (*add_path)(struct hocket__permissions *d, struct hocket__str path);

static void add_paths(lua_State *L, struct policy *d, int list, add_path add)
{
    for (int i = 1; lua_rawgeti(L, list, i) == LUA_TSTRING; i++) {
        lua_pop(L, 1);
        check_rc(L, add(d->permissions, field(L, list, i)));
    }
    lua_pop(L, 1);
}

/* new({layer, …}, {place, …}, {grant, …}) -> policy */
static int l_new(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checktype(L, 2, LUA_TTABLE);
    luaL_checktype(L, 3, LUA_TTABLE);
    lua_settop(L, 3);
    struct policy *d = lua_newuserdatauv(L, sizeof(*d), 0);
    *d = (struct policy){ .rt = rt };
    luaL_setmetatable(L, META);
    d->permissions = hocket__permission_new(rt->alloc);
    if (!d->permissions)
        return hocket__raise_nomem(L);
    for (int i = 1; lua_rawgeti(L, 1, i) == LUA_TTABLE; i++) {
        add_layer(L, d, lua_gettop(L));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    add_paths(L, d, 2, hocket__permission_protect);
    add_paths(L, d, 3, hocket__permission_grant);
    return 1;
}

/* "place", "read", "command", "url"; anything else is text. */
static enum hocket__permission_kind kind_at(lua_State *L, int idx, int at)
{
    static const char *const kinds[] = { "", "place", "read", "command", "url" };
    struct hocket__str word = field(L, idx, at);
    for (int i = HOCKET__PLACE; i <= HOCKET__URL; i++)
        if (hocket__str_is(word, kinds[i]))
            return (enum hocket__permission_kind) i;
    return HOCKET__TEXT;
}

/* The arguments: {name, value, kind or false, name, value, …} */
static struct hocket__permission_arg *read_args(lua_State *L, int idx, size_t *n)
{
    *n = lua_rawlen(L, idx) / 3;
    luaL_argcheck(L, *n <= MAX_ARGS, idx, "too many arguments");
    struct hocket__permission_arg *args = lua_newuserdatauv(L, (*n ? *n : 1) * sizeof(*args), 0);
    for (size_t i = 0; i < *n; i++) {
        int at = (int) (3 * i);
        args[i].name = field(L, idx, at + 1);
        args[i].value = field(L, idx, at + 2);
        args[i].kind = kind_at(L, idx, at + 3);
    }
    return args;
}

/* d:decide(agent, tool, subject, args, effects, labels, known_host, as_text) -> "allow" | "ask" | "deny", reason,
 * whether it is to be asked each time */
static int l_decide(lua_State *L)
{
    static const char *const words[] = { "", "allow", "ask", "deny" };
    struct policy *d = luaL_checkudata(L, 1, META);
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__permission_call call = {
        .agent = hocket__check_str(L, 2),
        .tool = hocket__check_str(L, 3),
        .subject = hocket__check_str(L, 4),
        .effects = (unsigned) luaL_checkinteger(L, 6),
        .labels = (unsigned) luaL_checkinteger(L, 7),
        .known_host = lua_toboolean(L, 8),
        .as_text = lua_toboolean(L, 9),
    };
    luaL_checktype(L, 5, LUA_TTABLE);
    call.args = read_args(L, 5, &call.n_args);
    hocket__buf_reset(&rt->scratch);
    bool each;
    enum hocket__verdict v = hocket__permission_decide(d->permissions, &call, &each, &rt->scratch);
    if (rt->scratch.status < 0)
        return hocket__raise_nomem(L);
    lua_pushstring(L, words[v]);
    hocket__push_str(L, hocket__buf_str(&rt->scratch));
    lua_pushboolean(L, each);
    return 3;
}

/* glob(pattern, text) -> whether the whole text fits: as rules are matched, everything with wildcards is */
static int l_glob(lua_State *L)
{
    lua_pushboolean(L, hocket__permission_glob(hocket__check_str(L, 1), hocket__check_str(L, 2)));
    return 1;
}

/* unknown_program(glob) -> the program that a rule for commands names, if its forms are not known; nil otherwise */
static int l_unknown_program(lua_State *L)
{
    struct hocket__str program = hocket__command_unknown(hocket__check_str(L, 1));
    if (!program.n)
        return 0;
    hocket__push_str(L, program);
    return 1;
}

static const luaL_Reg functions[] = { { "new", l_new }, { "glob", l_glob },
    { "unknown_program", l_unknown_program }, { NULL, NULL } };
static const luaL_Reg methods[] = { { "decide", l_decide }, { "__gc", l_gc }, { NULL, NULL } };

int hocket__open_permission(lua_State *L)
{
    return hocket__open_class(L, META, methods, functions);
}
