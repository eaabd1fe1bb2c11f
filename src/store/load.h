/* Where a store in a file comes from: the component libhocket-store, so that who keeps no runs neither
 * links nor loads it. It is there when the program has linked it (statically too), and else looked for
 * beside libhocket and where the system looks. */
#pragma once

#include "base/private.h"
#include "store/store.h"

/* What the component exports. Both come from one build, which `version` tells. */
struct hocket__store_driver {
    const char *version;
    int (*open)(const struct hocket__store_options *o, struct hocket__store **out,
        struct hocket_error *err);
};

HOCKET__PRIVATE extern const struct hocket__store_driver hocket__store_sqlite;

/* Opens a store in the file o->path: see store/sqlite/sqlite.h. EUNSUPPORTED: there is no component, or
 * one of another build. */
int hocket__store_file_open(
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err);
