/* Which transport the requests of a fiber go through: the runtime's own, or one of the context that
 * the fiber inherited, where something stands between (a recording). */
#pragma once

#include "net/transport.h"

#include <lua.h>

struct hocket__runtime;

/* The metatable of objects that may stand in a context as `cassette`, made with hocket__new_object
 * under this name; each begins with a `struct hocket__transport *`, NULL while it is not there. */
extern const char hocket__transport_name[];

/* The transport of the running fiber. Pushes the object that it belongs to, which whoever keeps the
 * transport keeps, too; or nil, for the runtime's own. */
struct hocket__transport *hocket__transport_push(lua_State *L, struct hocket__runtime *rt);
