/* Finds the component that keeps runs in a file, libhocket-store, when a store is first opened: it
 * lies beside the library or in the system's places. A host without it says what to install. */
#include "store/load.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

#define LIBRARY "libhocket-store.so.0"

#pragma weak hocket__store_sqlite

/* Beside the library that this code is in. */
static void *load_beside(void)
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
        path, sizeof(path), "%.*s/" LIBRARY, (int) (slash - self.dli_fname), self.dli_fname);
    return n < (int) sizeof(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static const struct hocket__store_driver *load(struct hocket_error *err)
{
    if (&hocket__store_sqlite)
        return &hocket__store_sqlite;
    void *library = load_beside();
    if (!library)
        library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const struct hocket__store_driver *driver =
        library ? dlsym(library, "hocket__store_sqlite") : NULL;
    if (!driver)
        hocket__error(err, HOCKET_EUNSUPPORTED,
            "keeping runs in a file needs " LIBRARY ", which comes with hocket: %s", dlerror());
    return driver;
}

int hocket__store_file_open(
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err)
{
    const struct hocket__store_driver *driver = load(err);
    if (!driver)
        return HOCKET_EUNSUPPORTED;
    if (strcmp(driver->version, HOCKET_VERSION) != 0)
        return hocket__error(err, HOCKET_EUNSUPPORTED,
            LIBRARY " is of hocket %s, and this is %s: install both from one build",
            driver->version, HOCKET_VERSION);
    return driver->open(o, out, err);
}
