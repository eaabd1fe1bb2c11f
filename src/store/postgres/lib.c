/* libpq is loaded when a store in PostgreSQL is first opened: whoever has none needs neither the library nor its
 * memory. It reads what a PostgreSQL client reads: PG… variables, ~/.pgpass, certificates below ~/.postgresql. */
#include "store/postgres/lib.h"

#include <dlfcn.h>
#include <uv.h>
#include <string.h>

#define LIBRARY "libpq.so.5"
/* Pipelines. */
#define VERSION_NEEDED 140000

/* The process's one copy: written under `once`, read only afterwards. */
static struct {
    uv_once_t once;
    int status;
    struct hocket__libpq lib;
    struct hocket_error error;
} loaded = { .once = UV_ONCE_INIT };

static int fill(struct hocket__libpq *lib, struct hocket_error *err)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL), *address;
    if (!handle)
        return hocket__error(err, HOCKET_EUNSUPPORTED,
            "keeping runs in PostgreSQL needs its client library (Debian package libpq5): %s",
            dlerror());
/* POSIX lets a data pointer carry a function's address; ISO C has no cast for it. */
#define LOOK_UP(name)                                                                              \
    if (!(address = dlsym(handle, #name)))                                                         \
        goto missing;                                                                              \
    memcpy(&lib->name, &address, sizeof(address));
    HOCKET__LIBPQ_MAP(LOOK_UP)
#undef LOOK_UP
    if (lib->PQlibVersion() >= VERSION_NEEDED)
        return 0;
missing:
    dlclose(handle);
    return hocket__error(err, HOCKET_EUNSUPPORTED,
        "this " LIBRARY
        " is too old: that of PostgreSQL 14 or later is needed (Debian package libpq5)");
}

static void load_once(void)
{
    loaded.status = fill(&loaded.lib, &loaded.error);
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
