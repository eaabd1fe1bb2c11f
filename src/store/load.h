/* Where a store outside of this process comes from: the components libhocket-store (in a file) and libhocket-postgres
 * (in PostgreSQL), so that who keeps no runs neither links nor loads them. Each is there when the program has linked it
 * (statically too), and else looked for beside libhocket and where the system looks. */
#pragma once

#include "base/private.h"
#include "store/store.h"

/* What a component exports. All come from one build, which `version` tells. */
struct hocket__store_driver {
    const char *version;
    int (*open)(const struct hocket__store_options *o, struct hocket__store **out,
        struct hocket_error *err);
};

HOCKET__PRIVATE extern const struct hocket__store_driver hocket__store_sqlite;
HOCKET__PRIVATE extern const struct hocket__store_driver hocket__store_postgres;

/* Opens a store in the file o->path (see store/sqlite/sqlite.h), or in the database of that URL
 * (store/postgres/postgres.h). EUNSUPPORTED: there is no component, or one of another build. */
int hocket__store_file_open(
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err);
