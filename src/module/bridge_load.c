/* In a Lua 5.4 the module is linked with hocket. Else: finds hocket for an engine that has another Lua: libhocket-bridge, in which a Lua 5.4 is whose names nobody else sees
 * (cmake/HocketBridge.cmake). It is loaded and not linked: a program may have a libhocket of its own, whose functions would
 * go before these. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "bridge.h"

#if LUA_VERSION_NUM >= 504

const struct bridge_api *bridge_load(const char **why)
{
    static const struct bridge_api api = {
#define LINKED(name) .name = hocket_##name,
        BRIDGE_API(LINKED)
#undef LINKED
    };
    *why = NULL;
    return &api;
}

#else

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct {
    pthread_once_t once;
    struct bridge_api api;
    bool loaded;
    char why[256];
} lib = { .once = PTHREAD_ONCE_INIT };

static void load_once(void)
{
    void *address, *hocket = dlopen(BRIDGE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!hocket) {
        snprintf(lib.why, sizeof(lib.why), "%s", dlerror());
        return;
    }
/* POSIX lets a data pointer carry a function's address; ISO C has no cast for it. */
#define TAKE(name)                                                                                 \
    if (!(address = dlsym(hocket, "hocket_" #name))) {                                             \
        snprintf(lib.why, sizeof(lib.why), "%s has no hocket_%s: it is of another version",        \
            BRIDGE_LIBRARY, #name);                                                                \
        return;                                                                                    \
    }                                                                                              \
    memcpy(&lib.api.name, &address, sizeof(address));
    BRIDGE_API(TAKE)
#undef TAKE
    lib.loaded = true;
}

const struct bridge_api *bridge_load(const char **why)
{
    pthread_once(&lib.once, load_once);
    *why = lib.why;
    return lib.loaded ? &lib.api : NULL;
}

#endif
