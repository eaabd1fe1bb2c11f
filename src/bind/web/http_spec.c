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

void hocket__http_read(
    lua_State *L, const struct hocket__opt rows[], struct hocket__http_asked *asked)
{
    struct hocket__http_spec *spec = &asked->spec;
    int top = lua_gettop(L);
    spec->connect_ms = 10000;
    hocket__opt_read(L, 1, rows, asked);
    luaL_argcheck(L, spec->url, 1, "option 'url' is missing");
    if (!spec->method)
        spec->method = asked->body.p ? "POST" : "GET";
    spec->headers = asked->headers;
    spec->n_headers = read_headers(L, asked->headers);
    spec->pool = asked->is_public ? "public" : "script";
    if (asked->is_public) {
        spec->proxy = ""; /* a proxy would connect to what may not be connected to */
        spec->allow_address = hocket__address_is_public;
    }
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
        hocket__set_cstr(L, p, value);
        p = value + strlen(value) + 1;
    }
}
