/* libpq is loaded when a store in PostgreSQL is first opened: whoever has none needs neither the library nor its
 * memory. It reads what a PostgreSQL client reads: PG… variables, ~/.pgpass, certificates below ~/.postgresql. */
#include "store/postgres/lib.h"

#include <uv.h>
#include <string.h>

#include "os/library.h"

#define LIBRARY HOCKET__LIBRARY("pq", "5")
/* Pipelines. */
#define VERSION_NEEDED 140000

/* The process's one copy: written under `once`, read only afterwards. */
static struct {
    uv_once_t once;
    int status;
    struct hocket__libpq lib;
    struct hocket_error error;
} loaded = { .once = UV_ONCE_INIT };

#if !HOCKET_STATIC
static int fill(struct hocket__libpq *lib, struct hocket_error *err)
{
#define NAME(name) #name "\0"
    const char *why;
    enum hocket__library rc = hocket__library_load(LIBRARY, HOCKET__LIBPQ_MAP(NAME), lib, &why);
#undef NAME
    if (rc == HOCKET__LIBRARY_ABSENT)
        return hocket__error(err, HOCKET_EUNSUPPORTED,
            "keeping runs in PostgreSQL needs its client library (Debian package libpq5): %s", why);
    if (rc == HOCKET__LIBRARY_LOADED && lib->PQlibVersion() >= VERSION_NEEDED)
        return 0;
    return hocket__error(err, HOCKET_EUNSUPPORTED,
        "this " LIBRARY
        " is too old: that of PostgreSQL 14 or later is needed (Debian package libpq5)");
}

#endif

static void load_once(void)
{
#if HOCKET_STATIC
#define TAKE(name) loaded.lib.name = name;
    HOCKET__LIBPQ_MAP(TAKE)
#undef TAKE
#else
    loaded.status = fill(&loaded.lib, &loaded.error);
#endif
}

const struct hocket__libpq *hocket__libpq_load(struct hocket_error *err)
{
    uv_once(&loaded.once, load_once);
    if (loaded.status == 0)
        return &loaded.lib;
    if (err)
        *err = loaded.error;
    return NULL;
}
