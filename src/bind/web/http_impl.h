/* What hocket.http.request and hocket.http.open have in common. */
#pragma once

#include "bind/runtime.h"
#include "net/http/http.h"

#include <lua.h>

#define HOCKET__MAX_HEADERS 64

#define HOCKET__HTTP_OPTIONS                                                                       \
    "url", "method", "headers", "body", "connect_timeout", "redirects", "public", "idempotent"

/* Reads them from the table at 1, and raises what is wrong with one; `headers` has room for
 * HOCKET__MAX_HEADERS. Leaves the stack as it was: the texts stay while the table does. A body is the
 * caller's to copy. */
void hocket__http_read(
    lua_State *L, struct hocket__http_spec *spec, struct hocket__http_header *headers);

/* Seconds as milliseconds; 0: no limit. */
int hocket__http_ms(lua_State *L, const char *name, double otherwise);

/* Pushes the table of headers that stand in `b`: name NUL value NUL … Of several
 * with one name the last counts. */
void hocket__http_push_headers(lua_State *L, const struct hocket__buf *b);
void hocket__http_keep_header(
    struct hocket__buf *b, struct hocket__str name, struct hocket__str value);

/* open{…} -> stream: hocket.http.open */
int hocket__http_open(lua_State *L);
void hocket__http_register(lua_State *L);
