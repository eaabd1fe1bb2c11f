/* hocket.internal.core.web: what tools for the web need beside requests: addresses put together as browsers
 * do, and the text of pages.
 *
 * Pages come from strangers: the reader of HTML (os/html) is bounded in depth, and what it gives
 * is text and links, never markup. */

#include "bind/open.h"

#include "bind/runtime.h"
#include "bind/util.h"
#include "net/address.h"
#include "net/curl.h"
#include "os/html.h"

#include <string.h>
#include <uv.h>

#define ADDRESS "hocket.web.address"
#define PAGE    "hocket.web.page"

/* ---- Addresses ------------------------------------------------------------------------ */

struct part {
    const char *name;
    CURLUPart part;
};

static const struct part parts[] = { { "scheme", CURLUPART_SCHEME }, { "host", CURLUPART_HOST },
    { "port", CURLUPART_PORT }, { "user", CURLUPART_USER }, { "url", CURLUPART_URL } };

/* What libcurl made for an address; freed by the collector when Lua has no memory for the result.
 */
struct address {
    const struct hocket__curl *curl;
    CURLU *u;
    char *text;
};

static void address_deinit(struct address *a)
{
    if (!a->curl)
        return;
    a->curl->free(a->text);
    a->curl->url_cleanup(a->u);
    *a = (struct address){ 0 };
}

static int address_gc(lua_State *L)
{
    struct address *a = hocket__gc_userdata(L, address_gc);
    if (a)
        address_deinit(a);
    return 0;
}

/* Fields of a URL; without the fragment, with the port that the scheme stands for. */
static void push_parts(lua_State *L, struct address *a)
{
    lua_createtable(L, 0, 5);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        unsigned flags = parts[i].part == CURLUPART_PORT ? CURLU_DEFAULT_PORT : 0;
        if (a->curl->url_get(a->u, parts[i].part, &a->text, flags) == CURLUE_OK) {
            hocket__set_cstr(L, parts[i].name, a->text);
        }
        a->curl->free(a->text);
        a->text = NULL;
    }
}

static bool parse(struct address *a, const char *reference, const char *base)
{
    const struct hocket__curl *curl = a->curl;
    return (!base || curl->url_set(a->u, CURLUPART_URL, base, 0) == CURLUE_OK)
           && curl->url_set(
                  a->u, CURLUPART_URL, reference, CURLU_URLENCODE | CURLU_NON_SUPPORT_SCHEME)
                  == CURLUE_OK
           && curl->url_set(a->u, CURLUPART_FRAGMENT, NULL, 0) == CURLUE_OK;
}

/* resolve(reference, base?) -> {url, scheme, host, port, user?} | nil, error */
static int l_resolve(lua_State *L)
{
    struct hocket_error err;
    const char *reference = luaL_checkstring(L, 1), *base = luaL_optstring(L, 2, NULL);
    const struct hocket__curl *curl = hocket__curl_load(&err);
    if (!curl)
        return hocket__fail(L, &err);
    struct address *a = lua_newuserdatauv(L, sizeof(*a), 0);
    *a = (struct address){ .curl = curl, .u = curl->url() };
    luaL_setmetatable(L, ADDRESS);
    if (!a->u)
        return hocket__raise_nomem(L);
    bool ok = parse(a, reference, base);
    if (ok)
        push_parts(L, a);
    address_deinit(a);
    if (ok)
        return 1;
    hocket__error(&err, HOCKET_EINVAL, "that is no address of the web");
    return hocket__fail(L, &err);
}

static bool read_ip(const char *host, struct sockaddr_storage *to)
{
    char plain[64];
    size_t n = strlen(host);
    if (uv_ip4_addr(host, 0, (struct sockaddr_in *) to) == 0)
        return true;
    if (n < 4 || n >= sizeof(plain) || host[0] != '[' || host[n - 1] != ']')
        return false;
    memcpy(plain, host + 1, n - 2);
    plain[n - 2] = 0;
    return uv_ip6_addr(plain, 0, (struct sockaddr_in6 *) to) == 0;
}

/* is_public(host) -> whether this address, as it stands in a URL, is one of the public internet; nil for a name */
static int l_is_public(lua_State *L)
{
    struct sockaddr_storage to;
    if (!read_ip(luaL_checkstring(L, 1), &to))
        return 0;
    lua_pushboolean(L, hocket__address_is_public((struct sockaddr *) &to));
    return 1;
}

/* ---- Pages ------------------------------------------------------------------------------ */

static int page_gc(lua_State *L)
{
    struct hocket__page *p = hocket__gc_userdata(L, page_gc);
    if (p)
        hocket__page_deinit(p);
    return 0;
}

static void push_links(lua_State *L, const struct hocket__page *p)
{
    const char *at = p->links.data;
    lua_createtable(L, p->n_links, 0);
    for (int i = 1; i <= p->n_links && at < p->links.data + p->links.len; i++) {
        lua_pushstring(L, at);
        lua_rawseti(L, -2, i);
        at += strlen(at) + 1;
    }
}

/* page(html, charset?, max_text?) -> {title, text, links, cut} | nil, error */
static int l_page(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__str html = hocket__check_str(L, 1);
    const char *charset = luaL_optstring(L, 2, "");
    size_t max = (size_t) luaL_optinteger(L, 3, 1 << 20);
    struct hocket_error err;
    struct hocket__page *p = lua_newuserdatauv(L, sizeof(*p), 0);
    hocket__page_init(p, rt->alloc, max);
    luaL_setmetatable(L, PAGE);
    if (hocket__page_read(p, html, charset, &err) < 0)
        return hocket__fail(L, &err);
    lua_createtable(L, 0, 4);
    hocket__push_str(L, hocket__buf_str(&p->title));
    lua_setfield(L, -2, "title");
    hocket__push_str(L, hocket__buf_str(&p->text));
    lua_setfield(L, -2, "text");
    push_links(L, p);
    lua_setfield(L, -2, "links");
    hocket__set_bool(L, "cut", p->text.status == HOCKET_ELIMIT);
    return 1;
}

static const luaL_Reg functions[] = { { "page", l_page }, { "resolve", l_resolve },
    { "is_public", l_is_public }, { NULL, NULL } };
static const luaL_Reg address_methods[] = { { "__gc", address_gc }, { NULL, NULL } };
static const luaL_Reg methods[] = { { "__gc", page_gc }, { NULL, NULL } };

int hocket__open_web(lua_State *L)
{
    hocket__newmeta(L, ADDRESS, address_methods);
    hocket__newmeta(L, PAGE, methods);
    lua_pop(L, 2);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}
