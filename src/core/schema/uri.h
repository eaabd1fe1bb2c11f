/* URI references, as RFC 3986 resolves them. */
#pragma once

#include "core/schema/arena.h"

/* Resolves `ref` against `base` (a URI without fragment, or ""). *uri, in the
 * arena, comes without fragment; *fragment is a slice of `ref`, still encoded,
 * empty when there is none. 0 or HOCKET_ENOMEM. */
int hocket__schema_uri_resolve(struct hocket__arena *m, struct hocket__str base,
    struct hocket__str ref, struct hocket__str *uri, struct hocket__str *fragment);

/* Whether the URI begins with a scheme. */
bool hocket__schema_uri_is_absolute(struct hocket__str uri);

/* Decodes %XX, into the arena. */
int hocket__schema_uri_decode(
    struct hocket__arena *m, struct hocket__str s, struct hocket__str *out);
