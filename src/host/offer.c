/* Letting others of the same user look into the host (lua/hocket/internal/host/offer.lua). */

#include "host/host.h"

#include <lauxlib.h>

#include "bind/modules.h"
#include "bind/util.h"

struct offering {
    const char *function, *name, *options;
};

/* Protected: require("hocket.internal.host.entry")[function](name, options), which raises what is wrong. */
static int offer_protected(lua_State *L)
{
    const struct offering *o = lua_touserdata(L, 1);
    hocket__require(L, "hocket.internal.host.entry");
    lua_getfield(L, -1, o->function);
    lua_pushstring(L, o->name); /* nil without one */
    lua_pushstring(L, o->options);
    lua_call(L, 2, 0);
    return 0;
}

static int offer(hocket_host *h, struct offering *o, struct hocket_error *err)
{
    if (!h)
        return hocket__error(err, HOCKET_EINVAL, "an offer needs a host");
    int rc = hocket__host_is_usable(h, err);
    return rc < 0 ? rc : hocket__pcall(h->L, offer_protected, o, err);
}

int hocket_offer(hocket_host *h, const char *name, const char *options, struct hocket_error *err)
{
    struct offering o = { "offer", name, options };
    return offer(h, &o, err);
}

int hocket_withdraw(hocket_host *h, const char *name, struct hocket_error *err)
{
    struct offering o = { "withdraw", name, NULL };
    return offer(h, &o, err);
}
