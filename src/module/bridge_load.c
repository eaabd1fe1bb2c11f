/* In a Lua 5.4 the module is linked with hocket. Else: finds hocket for an engine that has another Lua: libhocket-bridge, in which a Lua 5.4 is whose names nobody else sees
 * (cmake/HocketBridge.cmake). It is loaded and not linked: a program may have a libhocket of its own, whose functions would
 * go before these. */

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

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "os/library.h"

static struct {
    pthread_once_t once;
    struct bridge_api api;
    bool loaded;
    char why[256];
} lib = { .once = PTHREAD_ONCE_INIT };

static void load_once(void)
{
    const void *address;
    const char *why;
/* A data pointer carries a function's address where libraries are loaded; ISO C has no cast for it. */
#define TAKE(name)                                                                                 \
    if (!(address = hocket__library_component(BRIDGE_LIBRARY, "hocket_" #name, &why))) {           \
        snprintf(lib.why, sizeof(lib.why), "%s", why ? why : "hocket_" #name " is missing");       \
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
