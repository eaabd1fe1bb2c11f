/* OpenSSL as a table of functions, loaded when a server has a certificate (lib.h). Written once per process, under
 * the lock, and read-only from then on. */
#include "serve/tls/lib.h"

#include <string.h>

#include <uv.h>

#include "os/library.h"

#define LIBRARY                                                                                    \
    HOCKET__LIBRARY("ssl", "3") /* which brings libcrypto: its functions are found through it */

static struct {
    uv_once_t once; /* makes the lock */
    uv_mutex_t lock;
    bool there;
    struct hocket__ssl lib;
} loaded = { .once = UV_ONCE_INIT };

#if !HOCKET_SSL_LINKED
/* Fills *lib from the shared library of that name: 0 or EUNSUPPORTED. */
static int ssl_open(const char *library, struct hocket__ssl *lib, struct hocket_error *err)
{
#define NAME(name) #name "\0"
    const char *why;
    switch (hocket__library_load(library, HOCKET__SSL_MAP(NAME), lib, &why)) {
    case HOCKET__LIBRARY_LOADED: return 0;
    case HOCKET__LIBRARY_ABSENT:
        return hocket__error(err, HOCKET_EUNSUPPORTED,
            "serving with TLS needs OpenSSL (Debian package libssl3): %s", why);
    case HOCKET__LIBRARY_OTHER: break;
    }
#undef NAME
    return hocket__error(err, HOCKET_EUNSUPPORTED,
        "%s is not an OpenSSL that can be served with (Debian package libssl3): it has no %s",
        library, why);
}
#endif

static int fill(struct hocket__ssl *lib, struct hocket_error *err)
{
#if HOCKET_SSL_LINKED
#define TAKE(name) lib->name = name;
    HOCKET__SSL_MAP(TAKE)
#undef TAKE
    (void) err;
    return 0;
#else
    return ssl_open(LIBRARY, lib, err);
#endif
}

static void make_lock(void)
{
    uv_mutex_init(&loaded.lock);
}

const struct hocket__ssl *hocket__ssl_load(struct hocket_error *err)
{
    uv_once(&loaded.once, make_lock);
    uv_mutex_lock(&loaded.lock);
    bool there = loaded.there = loaded.there || fill(&loaded.lib, err) == 0;
    uv_mutex_unlock(&loaded.lock);
    return there ? &loaded.lib : NULL;
}

const struct hocket__ssl *hocket__ssl(void)
{
    return &loaded.lib;
}
