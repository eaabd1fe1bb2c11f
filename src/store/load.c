/* Finds the component that keeps runs outside of this process, when such a store is first opened: libhocket-store for
 * files, libhocket-postgres for databases. It lies beside the library or in the system's places. A host without it
 * says what to install. */
#include "store/load.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

#include "store/path.h"

#pragma weak hocket__store_sqlite
#pragma weak hocket__store_postgres

struct component {
    const struct hocket__store_driver *linked; /* NULL: it is not */
    const char *library, *symbol, *what;
};

static struct component component_of(const char *path)
{
    if (path && hocket__store_is_postgres(path))
        return (struct component){ &hocket__store_postgres ? &hocket__store_postgres : NULL,
            "libhocket-postgres.so.0", "hocket__store_postgres", "in PostgreSQL" };
    return (struct component){ &hocket__store_sqlite ? &hocket__store_sqlite : NULL,
        "libhocket-store.so.0", "hocket__store_sqlite", "in a file" };
}

/* Beside the library that this code is in. */
static void *load_beside(const char *library)
{
    char path[PATH_MAX];
    Dl_info self;
    void *here;
    int (*us)(const struct hocket__store_options *, struct hocket__store **,
        struct hocket_error *) = hocket__store_file_open;
    memcpy(&here, &us, sizeof(here));
    const char *slash = dladdr(here, &self) ? strrchr(self.dli_fname, '/') : NULL;
    if (!slash)
        return NULL;
    int n = snprintf(
        path, sizeof(path), "%.*s/%s", (int) (slash - self.dli_fname), self.dli_fname, library);
    return n < (int) sizeof(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static const struct hocket__store_driver *load(const struct component *c, struct hocket_error *err)
{
    if (c->linked)
        return c->linked;
    void *library = load_beside(c->library);
    if (!library)
        library = dlopen(c->library, RTLD_NOW | RTLD_LOCAL);
    const struct hocket__store_driver *driver = library ? dlsym(library, c->symbol) : NULL;
    if (!driver)
        hocket__error(err, HOCKET_EUNSUPPORTED,
            "keeping runs %s needs %s, which comes with hocket: %s", c->what, c->library,
            dlerror());
    return driver;
}

int hocket__store_file_open(
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err)
{
    int rc = o->path ? hocket__store_check_path(o->path, err) : 0;
    if (rc < 0)
        return rc;
    struct component c = component_of(o->path);
    const struct hocket__store_driver *driver = load(&c, err);
    if (!driver)
        return HOCKET_EUNSUPPORTED;
    if (strcmp(driver->version, HOCKET_VERSION) != 0)
        return hocket__error(err, HOCKET_EUNSUPPORTED,
            "%s is of hocket %s, and this is %s: install both from one build", c.library,
            driver->version, HOCKET_VERSION);
    return driver->open(o, out, err);
}
