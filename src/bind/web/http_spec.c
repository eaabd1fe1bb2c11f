/* A request's options as Lua gives them, and its headers as Lua gets them.
 *
 * Names and values are checked by net/http, which is where requests of other origins come through
 * as well. */
#include "bind/web/http_impl.h"

#include "bind/util.h"
#include "net/address.h"

#include <string.h>

static size_t read_headers(lua_State *L, struct hocket__http_header *list)
{
    size_t n = 0;
    if (lua_getfield(L, 1, "headers") == LUA_TTABLE)
        for (lua_pushnil(L); lua_next(L, -2) && n < HOCKET__MAX_HEADERS; lua_pop(L, 1)) {
            if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
                luaL_error(L, "bad option 'headers' (a table of names and texts expected)");
            list[n].name.p = lua_tolstring(L, -2, &list[n].name.n);
            list[n].value.p = lua_tolstring(L, -1, &list[n].value.n);
            n++;
        }
    return n;
}

int hocket__http_ms(lua_State *L, const char *name, double otherwise)
{
    double s = hocket__opt_number(L, 1, name, otherwise);
    return s <= 0 ? 0 : s > 1e6 ? 1000000000 : (int) (s * 1000 + 0.5);
}

void hocket__http_read(
    lua_State *L, struct hocket__http_spec *spec, struct hocket__http_header *headers)
{
    int top = lua_gettop(L);
    bool public = hocket__opt_bool(L, 1, "public", false);
    struct hocket__str url = hocket__opt_str(L, 1, "url"), method = hocket__opt_str(L, 1, "method"),
                       body = hocket__opt_str(L, 1, "body");
    luaL_argcheck(L, url.p, 1, "option 'url' is missing");
    hocket__opt_bool(L, 1, "idempotent", false); /* for runs that are kept: base/once.lua */
    *spec = (struct hocket__http_spec){
        .method = method.p ? method.p
                  : body.p ? "POST"
                           : "GET",
        .url = url.p,
        .headers = headers,
        .n_headers = read_headers(L, headers),
        .pool = public ? "public" : "script",
        .proxy = public ? "" : NULL, /* a proxy would connect to what may not be connected to */
        .allow_address = public ? hocket__address_is_public : NULL,
        .connect_ms = hocket__http_ms(L, "connect_timeout", 10),
        .max_redirects = (int) hocket__opt_int(L, 1, "redirects", 0, 0, 20),
    };
    lua_settop(L, top);
}

void hocket__http_keep_header(
    struct hocket__buf *b, struct hocket__str name, struct hocket__str value)
{
    hocket__buf_addstr(b, name);
    hocket__buf_addc(b, 0);
    hocket__buf_addstr(b, value);
    hocket__buf_addc(b, 0);
}

void hocket__http_push_headers(lua_State *L, const struct hocket__buf *b)
{
    lua_newtable(L);
    const char *p = b->data, *end = p + b->len;
    while (p && p < end) {
        const char *value = p + strlen(p) + 1;
        lua_pushstring(L, value);
        lua_setfield(L, -2, p);
        p = value + strlen(value) + 1;
    }
}
