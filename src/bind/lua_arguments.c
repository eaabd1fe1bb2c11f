/* hocket.internal.core.arguments: the arguments of one public function, looked at in one call. Each call of an agent passes several
 * such functions. What does not fit at once goes to the Lua function, which knows more, and raises. And which options a table has:
 * a call that uses none of the rare ones looks for none of them. */

#include "bind/open.h"

#include "bind/util.h"

enum { MAX = 8 };

struct signature {
    int n;
    unsigned types[MAX];    /* these fit as they are: bit 0 for none, then LUA_TNIL, … */
    bool integers[MAX];     /* a number without a fraction */
    const char *field[MAX]; /* a table that has it; a user value keeps it */
};

static bool fits(lua_State *L, const struct signature *s, int i, int type)
{
    if (type == LUA_TNUMBER)
        return s->integers[i] && lua_isinteger(L, i + 1);
    if (type != LUA_TTABLE || !s->field[i])
        return false;
    bool has = lua_getfield(L, i + 1, s->field[i]) != LUA_TNIL;
    lua_pop(L, 1);
    return has;
}

/* otherwise(name, n, value), which raises where it does not fit either. */
static void ask(lua_State *L, int n)
{
    bool none = lua_isnone(L, n);
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, lua_upvalueindex(3));
    lua_pushinteger(L, n);
    lua_pushvalue(L, lua_upvalueindex(3 + n));
    if (none)
        lua_pushnil(L);
    else
        lua_pushvalue(L, n);
    lua_call(L, 4, 0);
}

/* Upvalues: the signature, the Lua function, the name, what is wanted of each argument. */
static int l_check(lua_State *L)
{
    const struct signature *s = lua_touserdata(L, lua_upvalueindex(1));
    for (int i = 0; i < s->n; i++) {
        int type = lua_type(L, i + 1);
        if (!(s->types[i] & 1u << (type + 1)) && !fits(L, s, i, type))
            ask(L, i + 1);
    }
    return 0;
}

static unsigned types_of(lua_State *L, int arg)
{
    static const int all[] = { LUA_TNIL, LUA_TBOOLEAN, LUA_TNUMBER, LUA_TSTRING, LUA_TTABLE,
        LUA_TFUNCTION, LUA_TUSERDATA, LUA_TTHREAD };
    unsigned types = 0;
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        lua_getfield(L, arg, lua_typename(L, all[i]));
        if (lua_isboolean(L, -1) && lua_toboolean(L, -1))
            types |= 1u << (all[i] + 1);
        lua_pop(L, 1);
    }
    return types & 2 ? types | 1 : types; /* a missing argument is nil */
}

/* of(otherwise, name, kinds, wanted…) -> a function that takes the arguments. kinds: for each a table of what fits (arguments.lua). */
static int l_of(lua_State *L)
{
    int n = lua_gettop(L) - 3;
    luaL_argcheck(L, n > 0 && n <= MAX, 4, "too many arguments");
    struct signature *s = lua_newuserdatauv(L, sizeof(*s), 1);
    *s = (struct signature){ .n = n };
    lua_pushvalue(L, 3); /* keeps the fields' names */
    lua_setiuservalue(L, -2, 1);
    for (int i = 0; i < n; i++) {
        lua_geti(L, 3, i + 1);
        s->types[i] = types_of(L, lua_gettop(L));
        s->integers[i] = lua_getfield(L, -1, "number") == LUA_TSTRING;
        bool one = lua_getfield(L, -2, "table") == LUA_TTABLE && lua_rawlen(L, -1) == 1;
        if (one && lua_geti(L, -1, 1) == LUA_TSTRING)
            s->field[i] = lua_tostring(L, -1);
        lua_settop(L, n + 4);
    }
    lua_pushvalue(L, 1);
    for (int i = 0; i <= n; i++)
        lua_pushvalue(L, i ? i + 3 : 2);
    lua_pushcclosure(L, l_check, n + 3);
    return 1;
}

/* Adds to the bits what the keys of the table on top have. */
static lua_Integer add_bits(lua_State *L, lua_Integer bits, lua_Integer unknown)
{
    for (lua_pushnil(L); lua_next(L, -2);) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        bits |= lua_rawget(L, 2) == LUA_TNIL ? unknown : lua_tointeger(L, -1);
        lua_pop(L, 1);
    }
    return bits;
}

/* bits(options, known, unknown) -> what known has for the keys of a table of options and of the tables behind it, by
 * __index, in one number; unknown for others. */
static int l_bits(lua_State *L)
{
    enum { DEPTH = 8 };
    lua_Integer bits = 0, unknown = luaL_checkinteger(L, 3);
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_pushvalue(L, 1);
    for (int i = 0; i < DEPTH && lua_istable(L, -1); i++) {
        bits = add_bits(L, bits, unknown);
        if (luaL_getmetafield(L, -1, "__index") == LUA_TNIL) {
            lua_pushinteger(L, bits);
            return 1;
        }
    }
    lua_pushinteger(L, bits | unknown);
    return 1;
}

int hocket__open_arguments(lua_State *L)
{
    static const luaL_Reg functions[] = { { "of", l_of }, { "bits", l_bits }, { NULL, NULL } };
    luaL_newlib(L, functions);
    return 1;
}
