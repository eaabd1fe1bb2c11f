/* Finds the component that keeps runs outside of this process, when such a store is first opened: libhocket-store for
 * files, libhocket-postgres for databases. It lies beside the library or in the system's places. A host without it
 * says what to install. */
#include "store/load.h"

#include "os/library.h"
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
            HOCKET__LIBRARY("hocket-postgres", "0"), "hocket__store_postgres", "in PostgreSQL" };
    return (struct component){ &hocket__store_sqlite ? &hocket__store_sqlite : NULL,
        HOCKET__LIBRARY("hocket-store", "0"), "hocket__store_sqlite", "in a file" };
}

static const struct hocket__store_driver *load(const struct component *c, struct hocket_error *err)
{
    if (c->linked)
        return c->linked;
    const char *why, *system = HOCKET__WHOLE_ON;
    if (system) {
        hocket__error(err, HOCKET_EUNSUPPORTED, "keeping runs %s: hocket does not have it on %s",
            c->what, system);
        return NULL;
    }
    const struct hocket__store_driver *driver =
        hocket__library_component(c->library, c->symbol, &why);
    if (!driver)
        hocket__error(err, HOCKET_EUNSUPPORTED,
            "keeping runs %s needs %s, which comes with hocket: %s", c->what, c->library, why);
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
