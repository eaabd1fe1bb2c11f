/* What a run may do that is continued, and whether its code may run: Lua says it (hocket.internal.run.consent, runner.stored_code), before
 * anything of the run is done. Here are the places where it is asked: a run begins (its mark), is read (what holds), is live (it hears
 * that). */
#include "host/run/consent.h"

#include <string.h>

#include "base/json/json.h"
#include "bind/fiber/fiber.h"
#include "bind/modules.h"
#include "bind/store/store.h"
#include "bind/util.h"
#include "core/log/log.h"

/* ---- It begins ------------------------------------------------------------------------------- */

struct marking {
    const struct hocket__run *run;
    struct hocket__str target, input;
    struct hocket__buf *options;
};

/* Protected: require("hocket.internal.run.proof").mark(id, target, input, options) -> options */
static int mark_protected(lua_State *L)
{
    const struct marking *m = lua_touserdata(L, 1);
    hocket__require(L, "hocket.internal.run.proof");
    lua_getfield(L, -1, "mark");
    lua_pushstring(L, m->run->name);
    hocket__push_str(L, m->target);
    hocket__push_str(L, m->input);
    hocket__push_str(L, hocket__buf_str(m->options));
    lua_call(L, 4, 1);
    hocket__buf_reset(m->options);
    hocket__buf_addstr(m->options, hocket__check_str(L, -1));
    return 0;
}

int hocket__consent_mark(const struct hocket__run *r, struct hocket__str target,
    struct hocket__str input, struct hocket__buf *options, struct hocket_error *err)
{
    struct marking m = { r, target, input, options };
    if (!hocket__json_find(hocket__buf_str(options), "consent", NULL))
        return 0;
    int rc = hocket__pcall(r->host->L, mark_protected, &m, err);
    return rc < 0 ? rc : options->status < 0 ? hocket__error_nomem(err) : 0;
}

/* ---- It is continued --------------------------------------------------------------------------- */

static void set_str(lua_State *L, const char *name, struct hocket__str s)
{
    hocket__push_str(L, s);
    lua_setfield(L, -2, name);
}

static void take(lua_State *L, int at, struct hocket__buf *to)
{
    hocket__buf_reset(to);
    if (lua_isstring(L, at))
        hocket__buf_addstr(to, hocket__check_str(L, at));
}

/* Nothing of it was done, in no life. */
static bool is_fresh(const struct hocket__resuming *g)
{
    const struct hocket__log *log = hocket__kept_log(g->kept);
    return !hocket__log_replays(log) && hocket__log_last(log) == 0;
}

static const char *how(const struct hocket__resuming *g)
{
    return g->replay ? "replay" : is_fresh(g) ? "new" : "old";
}

/* Protected: require("hocket.internal.runner.stored_code").begin(row, given, how, files) -> own, instead, wish */
static int decide_protected(lua_State *L)
{
    struct hocket__resuming *g = lua_touserdata(L, 1);
    hocket__require(L, "hocket.internal.runner.stored_code");
    lua_getfield(L, -1, "begin");
    lua_createtable(L, 0, 5);
    set_str(L, "id", hocket__resuming_id(g));
    set_str(L, "target", hocket__buf_str(&g->target));
    set_str(L, "input", hocket__buf_str(&g->input));
    set_str(L, "options", hocket__buf_str(&g->own));
    set_str(L, "generation", hocket__buf_str(&g->generation));
    hocket__push_str(L, hocket__buf_str(&g->options));
    lua_pushstring(L, how(g));
    hocket__kept_push_files(g->kept, L);
    lua_call(L, 4, 3);
    take(L, -3, &g->own);
    take(L, -2, &g->options);
    take(L, -1, &g->stored->consent);
    return 0;
}

/* One of which nothing was done has what holds in its row, from its first entry on. */
static int put_own(struct hocket__resuming *g)
{
    struct hocket__stored *s = g->stored;
    struct hocket__store_run row = { .options = hocket__buf_str(&g->own) };
    return is_fresh(g) && hocket__stored_is_ours(s)
               ? hocket__store_update(s->store, &s->claim, HOCKET__STORE_SET_OPTIONS, &row)
               : 0;
}

int hocket__consent_decide(struct hocket__resuming *g, struct hocket_error *err)
{
    int rc = hocket__pcall(g->run->host->L, decide_protected, g, err);
    if (rc < 0)
        return rc;
    bool whole = g->own.status == 0 && g->options.status == 0 && g->stored->consent.status == 0;
    rc = !whole ? HOCKET_ENOMEM : g->replay ? 0 : put_own(g);
    return rc < 0 ? hocket__error(
               err, rc, "what the run may do cannot be kept: %s", hocket_status_text(rc))
                  : 0;
}

/* It must not go on with another's leave because this could not be said. */
bool hocket__consent_say(struct hocket__run *r)
{
    struct hocket_error err;
    struct hocket__stored *s = r->stored;
    if (!s || s->consent.len == 0)
        return false;
    if (hocket__run_say(r, "consent", "", hocket__buf_str(&s->consent), &err) < 0)
        hocket__kept_fail(r->kept, &err);
    hocket__buf_reset(&s->consent);
    return true;
}
