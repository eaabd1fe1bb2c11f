/* SQLite is loaded when a store is first opened: a program that keeps no runs has it neither in
 * memory nor among the packages that it needs. Static builds and sanitizers link it instead. The
 * functions come as a table, of one list of names (lib.h), so that both ways look the same to
 * callers. */
#include "store/sqlite/lib.h"

#include <string.h>

#include <uv.h>

#include "os/library.h"

#define LIBRARY HOCKET__LIBRARY("sqlite3", "0")
/* RETURNING, and the flag that refuses links. */
#define VERSION_NEEDED 3037000

/* The process's one copy: written under `once`, read only afterwards. */
static struct {
    uv_once_t once;
    int status;
    struct hocket__sqlite lib;
    struct hocket_error error;
} loaded = { .once = UV_ONCE_INIT };

/* Fills *lib: 0 or EUNSUPPORTED. */
#if HOCKET_SQLITE_LINKED
static int fill(struct hocket__sqlite *lib, struct hocket_error *err)
{
#define TAKE(name) lib->name = sqlite3_##name;
    HOCKET__SQLITE_MAP(TAKE)
#undef TAKE
    (void) err;
    return 0;
}
#else
static int fill(struct hocket__sqlite *lib, struct hocket_error *err)
{
#define NAME(name) "sqlite3_" #name "\0"
    const char *why;
    switch (hocket__library_load(LIBRARY, HOCKET__SQLITE_MAP(NAME), lib, &why)) {
    case HOCKET__LIBRARY_LOADED: return 0;
    case HOCKET__LIBRARY_ABSENT:
        return hocket__error(err, HOCKET_EUNSUPPORTED,
            "keeping runs needs SQLite (Debian package libsqlite3-0): %s", why);
    case HOCKET__LIBRARY_OTHER: break;
    }
#undef NAME
    return hocket__error(err, HOCKET_EUNSUPPORTED,
        LIBRARY
        " is not an SQLite that runs can be kept with (Debian package libsqlite3-0): it has no %s",
        why);
}
#endif

static int start(struct hocket__sqlite *lib, struct hocket_error *err)
{
    if (fill(lib, err) < 0)
        return HOCKET_EUNSUPPORTED;
    if (lib->libversion_number() < VERSION_NEEDED)
        return hocket__error(err, HOCKET_EUNSUPPORTED,
            "SQLite %s is too old: 3.37 or later is needed (Debian package libsqlite3-0)",
            lib->libversion());
    if (!lib->threadsafe())
        return hocket__error(err, HOCKET_EUNSUPPORTED,
            "this SQLite was built for programs without threads (Debian's libsqlite3-0 was not)");
    return 0;
}

static void load_once(void)
{
    loaded.status = start(&loaded.lib, &loaded.error);
}

const struct hocket__sqlite *hocket__sqlite_load(struct hocket_error *err)
{
    uv_once(&loaded.once, load_once);
    if (loaded.status == 0)
        return &loaded.lib;
    if (err)
        *err = loaded.error;
    return NULL;
}
