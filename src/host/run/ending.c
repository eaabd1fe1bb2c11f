/* The end of a run that a message has cancelled. Who said so has ended what it had called and submitted until then
 * (internal/run/cancel.lua); between that and its end it may have submitted more.
 *
 *     its last fiber has ended ──> a fiber of nobody's: what it has called, once more ──> its end is kept, and told
 *
 * A process that ends in between leaves the run as it was, with the message: who takes it over does the same. */
#include <lauxlib.h>

#include "bind/fiber/fiber.h"
#include "bind/modules.h"
#include "bind/util.h"
#include "host/run/stored.h"

static void on_done(struct hocket__fiber *f, void *ud)
{
    struct hocket__stored *s = ud;
    (void) f; /* what went wrong is in the log */
    s->ending = 0;
    hocket__stored_end(s);
    hocket__run_mark_due(s->run);
}

/* Protected: require("hocket.internal.host.entry").end_called(id) in a fiber that is no part of the run. */
static int begin_protected(lua_State *L)
{
    struct hocket__stored *s = lua_touserdata(L, 1);
    struct hocket__runtime *rt = s->run->host->rt;
    hocket__require(L, "hocket.internal.host.entry");
    lua_getfield(L, -1, "end_called");
    lua_pushstring(L, s->claim.id);
    struct hocket__fiber *f = hocket__fiber_spawn_outside(L, rt, 1, NULL);
    f->on_done = on_done;
    f->on_done_ud = s;
    s->ending = f->id;
    return 0;
}

bool hocket__ending_begin(struct hocket__stored *s)
{
    const struct hocket_host *h = s->run->host;
    struct hocket_error err;
    if (!s->cancel_heard || !hocket__stored_is_ours(s) || hocket__stored_is_parked(s)
        || h->life >= HOCKET__HOST_CLOSING)
        return false;
    if (hocket__pcall(h->L, begin_protected, s, &err) == 0)
        return true;
    hocket__runtime_log(h->rt, HOCKET_LOG_WARN,
        "run %s: what it has called last is not cancelled: %s", s->run->name, err.message);
    return false;
}

void hocket__ending_drop(struct hocket__stored *s)
{
    struct hocket__fiber *f = hocket__map_get(&s->run->host->rt->fibers, s->ending);
    s->ending = 0;
    if (!f)
        return;
    f->on_done = NULL;
    hocket__fiber_cancel(f);
}
