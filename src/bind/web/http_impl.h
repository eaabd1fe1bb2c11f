/* What hocket.http.request and hocket.http.open have in common. */
#pragma once

#include "bind/options.h"
#include "bind/runtime.h"
#include "net/http/http.h"

#include <lua.h>

#define HOCKET__MAX_HEADERS 64

/* A request's options. */
struct hocket__http_asked {
    struct hocket__http_spec spec;
    struct hocket__http_header headers[HOCKET__MAX_HEADERS];
    struct hocket__str body; /* of the table: the caller's to copy */
    int idle_ms;
    bool is_public;
    bool idempotent; /* for runs that are kept: base/script/effects.lua */
};

#define HOCKET__HTTP_ROW(kind, name, field)                                                        \
    {                                                                                              \
        HOCKET__OPT_##kind(name, struct hocket__http_asked, field)                                 \
    }
#define HOCKET__HTTP_ROWS                                                                          \
    HOCKET__HTTP_ROW(WORD, "url", spec.url), HOCKET__HTTP_ROW(WORD, "method", spec.method),        \
        { HOCKET__OPT_OWN("headers") }, HOCKET__HTTP_ROW(TEXT, "body", body),                      \
        HOCKET__HTTP_ROW(SECONDS, "connect_timeout", spec.connect_ms),                             \
        { HOCKET__OPT_INT("redirects", struct hocket__http_asked, spec.max_redirects, 0, 20) },    \
        HOCKET__HTTP_ROW(BOOL, "public", is_public),                                               \
        HOCKET__HTTP_ROW(BOOL, "idempotent", idempotent),                                          \
        HOCKET__HTTP_ROW(SECONDS, "timeout", spec.total_ms)

/* Reads the table at 1, whose rows begin with HOCKET__HTTP_ROWS, and raises what is wrong with it. What is
 * absent stays as it stands in *asked. The texts stay while the table does. */
void hocket__http_read(
    lua_State *L, const struct hocket__opt rows[], struct hocket__http_asked *asked);

/* Pushes the table of headers that stand in `b`: name NUL value NUL … Of several
 * with one name the last counts. */
void hocket__http_push_headers(lua_State *L, const struct hocket__buf *b);
void hocket__http_keep_header(
    struct hocket__buf *b, struct hocket__str name, struct hocket__str value);

/* open{…} -> stream: hocket.http.open */
int hocket__http_open(lua_State *L);
void hocket__http_register(lua_State *L);
