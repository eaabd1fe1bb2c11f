/* Memory that was out in the code of a run that is kept. Nobody could do that again at the same place, whatever the code makes
 * of it (a pcall, a turn that fails and is followed by the next): so the log ends where it was. Nothing that follows from it
 * is kept, the run ends with HOCKET_ENOMEM, and whoever goes on with it has all that was before.
 *
 *     C functions of ours   rt->alloc refuses, hocket__raise_nomem ───┐
 *     Lua itself            its allocator refuses, and refuses again ──┴──> the log has failed
 *
 * Lua collects when its allocator refuses, and asks once more: only when that is refused, too, or does not come, memory is
 * out. That is known with what Lua does next, and looked at before anything is appended to the log, or kept of the journal.
 * What is done for a run and not by its code, an effect for example, is short of memory as anything else is. */
#include "bind/fiber/kept_impl.h"

static void fail(struct hocket__kept *k)
{
    struct hocket_error err;
    if (k->over)
        return;
    hocket__error_nomem(&err);
    hocket__log_fail(k->log, &err);
}

static void on_out(struct hocket__runtime *rt)
{
    if (rt->kept)
        fail(rt->kept);
}

void hocket__kept_settle_memory(struct hocket__runtime *rt)
{
    if (rt->memory.refused)
        fail(rt->memory.refused);
    rt->memory.refused = NULL;
}

/* ---- Allocators ------------------------------------------------------------------------------- */

/* A request of Lua's was answered, while one is open or with nothing. */
static void note(struct hocket__runtime *rt, const void *p, size_t size, bool given)
{
    struct hocket__memory_watch *w = &rt->memory;
    bool again = w->refused && w->p == p && w->size == size;
    if (again && given)
        w->refused = NULL;
    hocket__kept_settle_memory(rt);
    if (given || again)
        return;
    w->refused = rt->kept;
    w->p = p;
    w->size = size;
}

static void *lua_watched(void *ud, void *p, size_t old_size, size_t new_size)
{
    struct hocket__runtime *rt = ud;
    struct hocket__memory_watch *w = &rt->memory;
    void *q = w->lua(w->lua_ud, p, old_size, new_size);
    if (rt->kept && new_size > 0 && (w->refused || !q))
        note(rt, p, new_size, q != NULL);
    return q;
}

/* In thread mode it is the transport's as well, whose thread runs no code of runs. */
static bool is_here(const struct hocket__memory_watch *w)
{
    uv_thread_t self = uv_thread_self(), watcher = atomic_load(&w->thread);
    return uv_thread_equal(&self, &watcher);
}

void *hocket__kept_alloc(void *ud, void *p, size_t old_size, size_t new_size)
{
    struct hocket__runtime *rt = ud;
    const struct hocket_allocator *a = &rt->memory.below;
    void *q = a->realloc_cb(a->ud, p, old_size, new_size);
    if (!q && new_size > 0 && is_here(&rt->memory))
        on_out(rt);
    return q;
}

/* ---- While code runs --------------------------------------------------------------------------- */

void hocket__kept_watch_memory(struct hocket__runtime *rt)
{
    struct hocket__memory_watch *w = &rt->memory;
    if (w->depth++ > 0)
        return;
    atomic_store(&w->thread, uv_thread_self());
    w->on_out = on_out;
    w->lua = lua_getallocf(rt->L, &w->lua_ud);
    lua_setallocf(rt->L, lua_watched, rt);
}

void hocket__kept_unwatch_memory(struct hocket__runtime *rt)
{
    struct hocket__memory_watch *w = &rt->memory;
    hocket__kept_settle_memory(rt);
    if (--w->depth > 0)
        return;
    atomic_store(&w->thread, (uv_thread_t) 0);
    w->on_out = NULL;
    lua_setallocf(rt->L, w->lua, w->lua_ud);
}
