/* A run of the store goes on: find ─> take (resume_take.c) ─> its files ─> its log (resume_read.c) ─> it begins. Each is
 * asked of the store when the one before has answered; until the last one the run has no fiber. What goes wrong is its
 * end. */
#include "host/run/resume_impl.h"

#include <string.h>

#include "bind/fiber/fiber.h"
#include "bind/store/store.h"

void hocket__resume_free(struct hocket__resuming *g)
{
    if (!g)
        return;
    const struct hocket_allocator *a = &g->run->host->alloc;
    if (g->kept)
        hocket__kept_unref(g->kept);
    hocket__buf_deinit(&g->name);
    hocket__buf_deinit(&g->options);
    hocket__buf_deinit(&g->target);
    hocket__buf_deinit(&g->input);
    hocket__buf_deinit(&g->own);
    hocket__buf_deinit(&g->generation);
    g->run->host->rt->n_outside -=
        g->run->resuming == g; /* the run waited for the store, and had no fiber */
    g->run->resuming = NULL;
    hocket__free(a, g, sizeof(*g));
}

/* ---- The end of the reading ------------------------------------------------------------------ */

/* Nothing of it was done: another worker takes it, or it waits for what it waited for. */
static void put_back(struct hocket__stored *s, const struct hocket_error *err)
{
    struct hocket__store_run row = { .state = HOCKET__STORE_QUEUED };
    struct hocket__buf waiting;
    unsigned set = HOCKET__STORE_SET_STATE;
    hocket__buf_init(&waiting, &s->run->host->alloc, 0);
    if (s->way == HOCKET__WAY_BY_HAND)
        hocket__shared_restore(s, &row, &set);
    else if (err->status != HOCKET_ECANCELLED && err->status != HOCKET_EPARKED)
        hocket__shared_put_off(s, err, &waiting, &row, &set);
    hocket__store_update(s->store, &s->claim, set, &row);
    hocket__buf_deinit(&waiting);
}

/* What was taken as the next is of a pool, also where its row could not be read. */
static void let_go(const struct hocket__resuming *g, const struct hocket_error *err)
{
    struct hocket__stored *s = g->stored;
    if (!hocket__stored_is_ours(s))
        return;
    if (s->pool.len > 0 || g->fence)
        put_back(s, err);
    hocket__stored_give_back(s);
}

void hocket__resuming_fail(struct hocket__resuming *g, int status, const struct hocket_error *err)
{
    struct hocket__run *r = g->run;
    if (r->host->life >= HOCKET__HOST_CLOSING)
        hocket__error(&r->err, HOCKET_ECANCELLED, "cancelled");
    else if (err)
        r->err = *err;
    else
        hocket__error(&r->err, status, "%s", hocket_status_text(status));
    r->status = r->err.status;
    r->ended = true;
    let_go(g, &r->err);
    hocket__resume_free(g);
    hocket__run_mark_due(r);
    r->host->rt->undelivered = true; /* no fiber has run that would lead to it */
    hocket__fibers_settle(r->host->rt);
}

/* One that has not begun yet. */
static bool end_unread(struct hocket__run *r, int status, const char *why)
{
    struct hocket_error err;
    if (!r->resuming || r->ended)
        return false;
    hocket__error(&err, status, "%s", why);
    hocket__resume_end(r, status, &err);
    return true;
}

bool hocket__resume_cancel(struct hocket__run *r)
{
    return end_unread(r, HOCKET_ECANCELLED, "cancelled");
}

void hocket__host_cancel_resuming(struct hocket_host *h)
{
    for (struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next)
        hocket__resume_cancel(hocket__container_of(l, struct hocket__run, link));
}

/* What is under way for it, a look for messages, too, would come to one that has ended. */
void hocket__resume_end(struct hocket__run *r, int status, const struct hocket_error *err)
{
    struct hocket__stored *s = r->stored;
    if (s->call)
        hocket__store_cancel(s->store, s->call);
    s->call = NULL;
    hocket__resuming_fail(r->resuming, status, err);
}

/* ---- The interface ------------------------------------------------------------------------------- */

static struct hocket__resuming *new_resuming(
    struct hocket__run *r, const char *name, const char *options)
{
    const struct hocket_allocator *a = &r->host->alloc;
    struct hocket__resuming *g = hocket__zero(a, sizeof(*g));
    if (!g)
        return NULL;
    struct hocket__buf *all[] = { &g->name, &g->options, &g->target, &g->input, &g->own,
        &g->generation };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        hocket__buf_init(all[i], a, 0);
    g->run = r;
    g->stored = r->stored;
    hocket__buf_adds(&g->name, name);
    hocket__buf_adds(&g->options, options ? options : "{}");
    if (g->name.status == 0 && g->options.status == 0) {
        r->host->rt->n_outside++;
        return r->resuming = g;
    }
    hocket__resume_free(g);
    return NULL;
}

static int prepare_run(
    struct hocket__run *r, struct hocket__store *store, const char *name, const char *options)
{
    r->stored = hocket__stored_new(r, store);
    return r->stored && new_resuming(r, name, options) ? 0 : HOCKET_ENOMEM;
}

int hocket__resume_start(struct hocket__run *r)
{
    return hocket__resuming_find(r->resuming);
}

/* How a run goes on: live, from its log alone, or live by a claim that was made before. */
struct way {
    bool replay;
    uint64_t fence;
};

static int start(struct hocket__run *r, struct hocket__store *store, const char *name,
    const char *options, const struct way *way)
{
    int rc = prepare_run(r, store, name, options);
    if (rc < 0)
        return rc;
    r->resuming->replay = way->replay;
    r->resuming->fence = r->stored->claim.fence = way->fence;
    if (way->fence)
        hocket__run_claim_on(&r->stored->standing, HOCKET__CLAIM_TAKE);
    if (way->fence)
        memcpy(r->stored->claim.id, name, sizeof(r->stored->claim.id));
    return hocket__resume_start(r);
}

struct hocket__run *hocket__resume_new(struct hocket_host *h, struct hocket__store *store,
    const char *name, const char *options, uint64_t told, hocket_event_cb on_event,
    hocket_done_cb on_done, void *ud)
{
    struct hocket__run *r = hocket__run_new(h, "run", on_event, on_done, ud);
    if (!r)
        return NULL;
    r->told_before = told;
    if (prepare_run(r, store, name, options) == 0) {
        memcpy(r->stored->claim.id, name, sizeof(r->stored->claim.id));
        return r;
    }
    hocket__run_free(r);
    return NULL;
}

struct callbacks {
    hocket_event_cb on_event;
    hocket_done_cb on_done;
    void *ud;
};

static int check_name(const char *name, struct hocket_error *err)
{
    size_t n = 0;
    while ((name[n] >= '0' && name[n] <= '9') || (name[n] >= 'A' && name[n] <= 'Z')
           || (name[n] >= 'a' && name[n] <= 'z'))
        n++;
    if (n > 0 && n <= HOCKET__STORE_ID && !name[n])
        return 0;
    return hocket__error(err, HOCKET_EINVAL,
        "a run is named by its id, or the beginning of one: 1 to %d letters and digits",
        HOCKET__STORE_ID);
}

static int again(hocket_host *h, const char *name, const char *options, const struct way *way,
    uint64_t *id, struct callbacks to, struct hocket_error *err)
{
    if (id)
        *id = 0;
    if (!h || !name)
        return hocket__error(err, HOCKET_EINVAL, "to go on with a run needs a host and its name");
    int rc = check_name(name, err);
    if (rc == 0)
        rc = hocket__run_may_start(h, err);
    if (rc == 0 && options)
        rc = hocket__run_check_options(hocket__cstr(options), err);
    struct hocket__store *store = rc == 0 ? hocket__runtime_store(h->rt, err) : NULL;
    if (!store)
        return rc < 0 ? rc : err->status;
    struct hocket__run *r =
        lua_checkstack(h->L, 4) ? hocket__run_new(h, "run", to.on_event, to.on_done, to.ud) : NULL;
    if (!r)
        return hocket__error_nomem(err);
    rc = start(r, store, name, options, way);
    if (rc < 0) {
        hocket__run_free(r);
        return hocket__error(err, rc, "the store cannot be asked: %s", hocket_status_text(rc));
    }
    hocket__run_join(r);
    if (id)
        *id = r->id;
    return 0;
}

int hocket_run_resume(hocket_host *h, const char *name, const char *options, uint64_t *id,
    hocket_event_cb on_event, hocket_done_cb on_done, void *ud, struct hocket_error *err)
{
    struct hocket_error unused;
    struct callbacks to = { on_event, on_done, ud };
    struct way way = { 0 };
    return again(h, name, options, &way, id, to, err ? err : &unused);
}

int hocket__run_go_on(hocket_host *h, const char *name, uint64_t fence, const char *options,
    uint64_t *id, hocket_done_cb on_done, void *ud, struct hocket_error *err)
{
    struct callbacks to = { NULL, on_done, ud };
    struct way way = { .fence = fence };
    if (!name || strlen(name) != HOCKET__STORE_ID)
        return hocket__error(err, HOCKET_EINVAL, "a run that was claimed has a whole name");
    return again(h, name, options, &way, id, to, err);
}

int hocket_run_replay(hocket_host *h, const char *name, const char *options, uint64_t *id,
    hocket_event_cb on_event, hocket_done_cb on_done, void *ud, struct hocket_error *err)
{
    struct hocket_error unused;
    struct callbacks to = { on_event, on_done, ud };
    struct way way = { .replay = true };
    return again(h, name, options, &way, id, to, err ? err : &unused);
}

/* One that sleeps, or is still read: what is to be left of it is in the store. */
static int park_unread(hocket_host *h, uint64_t id)
{
    for (struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        struct hocket__run *r = hocket__container_of(l, struct hocket__run, link);
        if (r->id == id && r->resuming && !r->resuming->replay
            && end_unread(r, HOCKET_EPARKED, "the run waits until it is resumed"))
            return 0;
    }
    return HOCKET_ENOTFOUND;
}

int hocket_run_park(hocket_host *h, uint64_t id)
{
    struct hocket__run *r = h ? hocket__run_find(h, id) : NULL;
    if (!r)
        return h ? park_unread(h, id) : HOCKET_EINVAL;
    if (!hocket__stored_may_be_parked(r->stored))
        return HOCKET_ESTATE;
    hocket__waiting_state(r->stored);
    hocket__run_wish_park(r, hocket__waiting_until(r->stored));
    hocket__run_phase_on(&r->stored->phase, HOCKET__RUN_PARK);
    hocket__kept_leave(r->kept);
    struct hocket__fiber *f = hocket__map_get(&h->rt->fibers, r->fiber);
    if (f)
        hocket__fiber_cancel(f);
    return 0;
}
