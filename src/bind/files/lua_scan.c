/* hocket.internal.core.scan: what has changed in a tree of directories since the last look. In a fiber
 * a look is done by one of libuv's threads while the fiber waits; elsewhere here and now.
 *
 * The scanner is owned by its Lua object until that is collected, and by the loop while a look is under
 * way; whoever lets go last frees it. */

#include "bind/life.h"
#include "bind/open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bind/fiber/fiber.h"
#include "bind/util.h"
#include "os/fs.h"
#include "os/scan.h"

#define META "hocket.scan"

struct look {
    uv_work_t work;
    struct hocket__closer closer;
    struct hocket__runtime *rt;
    struct hocket__scan *scan;
    uint64_t fiber;
    bool owned, under_way;
    int cancelled; /* atomic */
    int status;
    struct hocket_error err;
};

static void free_look(struct look *k)
{
    hocket__scan_free(k->scan);
    free(k);
}

static struct look *check_look(lua_State *L)
{
    struct look **p = luaL_checkudata(L, 1, META);
    return *p;
}

/* One that no thread works at. */
static struct look *check_idle(lua_State *L)
{
    struct look *k = check_look(L);
    if (k->under_way)
        luaL_error(L, "a look is under way");
    return k;
}

static int look_gc(lua_State *L)
{
    struct look **p = hocket__gc_userdata(L, look_gc);
    struct look *k = p ? *p : NULL;
    if (!k)
        return 0;
    *p = NULL;
    __atomic_store_n(&k->cancelled, 1, __ATOMIC_RELAXED);
    k->owned = false;
    if (!k->under_way)
        free_look(k);
    return 0;
}

/* new(root, endings) -> scan: an absolute path; "md lua" */
static int l_new(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    const char *root = luaL_checkstring(L, 1), *endings = luaL_checkstring(L, 2);
    luaL_argcheck(L, hocket__fs_is_absolute(root), 1, "an absolute path expected");
    struct look **p = lua_newuserdatauv(L, sizeof(struct look *), 0);
    *p = NULL;
    luaL_setmetatable(L, META);
    struct look *k = calloc(1, sizeof(*k));
    if (!k)
        return hocket__raise_nomem(L);
    *p = k;
    k->rt = rt;
    k->owned = true;
    hocket__list_init(&k->closer.link);
    k->scan = hocket__scan_new(root, endings);
    return k->scan ? 1 : hocket__raise_nomem(L);
}

/* ---- Looking ------------------------------------------------------------------------------- */

static void on_thread(uv_work_t *w)
{
    struct look *k = w->data;
    k->status = hocket__scan_run(k->scan, &k->cancelled, &k->err);
}

static void on_end(uv_work_t *w, int status)
{
    struct look *k = w->data;
    struct hocket__runtime *rt = k->rt;
    if (status < 0)
        k->status = hocket__error(&k->err, HOCKET_ECANCELLED, "cancelled");
    k->under_way = false;
    uint64_t fiber = k->fiber;
    hocket__runtime_release(rt, &k->closer);
    if (!k->owned)
        free_look(k);
    hocket__fiber_wake(rt, fiber);
}

static void on_close(struct hocket__closer *c)
{
    struct look *k = hocket__container_of(c, struct look, closer);
    __atomic_store_n(&k->cancelled, 1, __ATOMIC_RELAXED);
    uv_cancel((uv_req_t *) &k->work); /* when it has not begun; on_end comes in any case */
}

/* true when there is something to take; false; nil and the error */
static int answer(lua_State *L, struct look *k)
{
    if (k->status < 0)
        return hocket__fail(L, &k->err);
    lua_pushboolean(L, hocket__scan_has_changes(k->scan));
    return 1;
}

static int after_look(lua_State *L, int status, lua_KContext ctx)
{
    struct look *k = check_look(L);
    (void) status;
    (void) ctx;
    if (k->under_way) /* woken for something else */
        return hocket__await_outside(L, -1, 0, after_look);
    return answer(L, k);
}

/* s:look() -> whether there are changes | nil, error. Those of a look before that nobody has taken come
 * again. Not while another look is under way. */
static int l_look(lua_State *L)
{
    struct look *k = check_idle(L);
    lua_settop(L, 1);
    k->status = 0;
    if (hocket__scan_has_changes(k->scan))
        return answer(L, k);
    struct hocket__fiber *f = hocket__fiber_here(L);
    k->cancelled = 0;
    k->work.data = k;
    k->closer.close = on_close;
    if (!f || !lua_isyieldable(L)
        || uv_queue_work(hocket__runtime(L)->loop, &k->work, on_thread, on_end) < 0) {
        k->status = hocket__scan_run(k->scan, NULL, &k->err);
        return answer(L, k);
    }
    k->fiber = f->id;
    k->under_way = true;
    hocket__runtime_hold(k->rt, &k->closer);
    return hocket__await_outside(L, -1, 0, after_look);
}

/* s:busy() -> whether a look is under way */
static int l_busy(lua_State *L)
{
    lua_pushboolean(L, check_look(L)->under_way);
    return 1;
}

/* ---- What it has found ------------------------------------------------------------------------ */

/* s:change(n) -> "+" | "-" | "~", path, text or nil and error, real or nil; nothing after the last */
static int l_change(lua_State *L)
{
    struct look *k = check_idle(L);
    struct hocket__scan_change change;
    struct hocket_error err;
    lua_Integer n = luaL_checkinteger(L, 2);
    if (n < 1 || !hocket__scan_change(k->scan, (size_t) n - 1, &change))
        return 0;
    lua_pushlstring(L, &change.kind, 1);
    lua_pushstring(L, change.path);
    if (change.text.p)
        hocket__push_str(L, change.text);
    else
        lua_pushnil(L);
    if (change.why) {
        hocket__error(&err, change.status, "%s", change.why);
        hocket__push_error(L, &err);
    } else {
        lua_pushnil(L);
    }
    lua_pushstring(L, change.real); /* nil for NULL */
    return 5;
}

/* s:taken(): the changes are not reported again */
static int l_taken(lua_State *L)
{
    hocket__scan_taken(check_idle(L)->scan);
    return 0;
}

/* s:hash() -> of everything that is there, 16 hexadecimal digits; nil: nothing is there */
static int l_hash(lua_State *L)
{
    const struct hocket__scan *scan = check_idle(L)->scan;
    char out[17];
    if (!hocket__scan_exists(scan))
        return 0;
    snprintf(out, sizeof(out), "%016llx", (unsigned long long) hocket__scan_hash(scan));
    lua_pushstring(L, out);
    return 1;
}

/* s:dirs() -> those to be watched */
static int l_dirs(lua_State *L)
{
    const struct hocket__scan *scan = check_idle(L)->scan;
    const char *dir;
    lua_newtable(L);
    for (size_t i = 0; (dir = hocket__scan_dir(scan, i)) != NULL; i++) {
        lua_pushstring(L, dir);
        lua_rawseti(L, -2, (lua_Integer) i + 1);
    }
    return 1;
}

/* s:told() -> whether all its file systems tell of changes */
static int l_told(lua_State *L)
{
    lua_pushboolean(L, hocket__scan_gets_events(check_idle(L)->scan));
    return 1;
}

static const luaL_Reg functions[] = { { "new", l_new }, { NULL, NULL } };
static const luaL_Reg methods[] = { { "look", l_look }, { "busy", l_busy }, { "change", l_change },
    { "taken", l_taken }, { "hash", l_hash }, { "dirs", l_dirs }, { "told", l_told },
    { "__gc", look_gc }, { NULL, NULL } };

int hocket__open_scan(lua_State *L)
{
    return hocket__open_class(L, META, methods, functions);
}
