/* hocket.core.text: what is done to texts for prompts and events all the time. */

#include <string.h>

#include "base/num.h"
#include "bind/system.h"
#include "bind/util.h"

/* Upvalue of a set: which bytes belong to it. */
struct set {
    bool has[256];
};

static size_t without(const struct set *set, struct hocket__str text)
{
    size_t n = 0;
    while (n < text.n && !set->has[(unsigned char) text.p[n]])
        n++;
    return n;
}

/* Each run of the set's bytes as one blank: as long as the text at most. */
static size_t squeeze_into(const struct set *set, struct hocket__str text, char *out)
{
    size_t n = 0;
    bool in_run = false;
    for (size_t i = 0; i < text.n; i++) {
        bool odd = set->has[(unsigned char) text.p[i]];
        if (!odd || !in_run)
            out[n++] = odd ? ' ' : text.p[i];
        in_run = odd;
    }
    return n;
}

static int squeeze(lua_State *L)
{
    const struct set *set = lua_touserdata(L, lua_upvalueindex(1));
    struct hocket__str text = hocket__check_str(L, 1);
    luaL_Buffer b;
    if (without(set, text) == text.n) {
        lua_settop(L, 1);
        return 1;
    }
    char *out = luaL_buffinitsize(L, &b, text.n);
    luaL_pushresultsize(&b, squeeze_into(set, text, out));
    return 1;
}

/* squeezer(bytes) -> function(text) -> the text with a blank in place of each run of these bytes */
static int l_squeezer(lua_State *L)
{
    struct hocket__str bytes = hocket__check_str(L, 1);
    struct set *set = lua_newuserdatauv(L, sizeof(*set), 0);
    memset(set, 0, sizeof(*set));
    for (size_t i = 0; i < bytes.n; i++)
        set->has[(unsigned char) bytes.p[i]] = true;
    lua_pushcclosure(L, squeeze, 1);
    return 1;
}

/* numbered(letter, n) -> "o17": what many things of a kind are called */
static int l_numbered(lua_State *L)
{
    char text[1 + HOCKET__NUM_MAX];
    struct hocket__str letter = hocket__check_str(L, 1);
    luaL_argcheck(L, letter.n == 1, 1, "one letter expected");
    text[0] = letter.p[0];
    lua_pushlstring(L, text, 1 + hocket__num_print_int(luaL_checkinteger(L, 2), text + 1));
    return 1;
}

static const luaL_Reg functions[] = {
    { "squeezer", l_squeezer },
    { "numbered", l_numbered },
    { NULL, NULL },
};

int hocket__open_text(lua_State *L)
{
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}
