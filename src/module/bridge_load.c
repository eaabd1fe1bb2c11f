/* Finds libhocket, and keeps its Lua away from the engine's. Both Luas have functions of the same
 * names: RTLD_LOCAL hides ours from the engine, RTLD_DEEPBIND hides the engine's from ours. The
 * library of Lua 5.4 is opened first, since its own calls of itself have to stay in it as well. */

#define _GNU_SOURCE
#include "bridge.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define HOW (RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)

static struct {
    pthread_once_t once;
    struct bridge_api api;
    bool loaded;
    char why[256];
} lib = { .once = PTHREAD_ONCE_INIT };

static void *look_up(void *handle, const char *name)
{
    void *address = handle ? dlsym(handle, name) : NULL;
    if (!address && handle)
        snprintf(
            lib.why, sizeof(lib.why), "libhocket.so.0 has no %s: it is of another version", name);
    return address;
}

static void load_once(void)
{
    if (BRIDGE_LUA_LIBRARY[0]) /* where Lua is a part of libhocket it has no name */
        dlopen(BRIDGE_LUA_LIBRARY, HOW);
    void *hocket = dlopen("libhocket.so.0", HOW);
    if (!hocket) {
        snprintf(lib.why, sizeof(lib.why), "%s", dlerror());
        return;
    }
    void *address;
/* POSIX lets a data pointer carry a function's address; ISO C has no cast for it. */
#define TAKE(name)                                                                                 \
    if (!(address = look_up(hocket, "hocket_" #name)))                                             \
        return;                                                                                    \
    memcpy(&lib.api.name, &address, sizeof(address));
    BRIDGE_API(TAKE)
#undef TAKE
    void *serve = dlopen("libhocket-serve.so.0", HOW);
    address = serve ? dlsym(serve, "hocket_serve_attach") : NULL;
    memcpy(&lib.api.serve_attach, &address, sizeof(address));
    lib.loaded = true;
}

const struct bridge_api *bridge_load(const char **why)
{
    pthread_once(&lib.once, load_once);
    *why = lib.why;
    return lib.loaded ? &lib.api : NULL;
}
