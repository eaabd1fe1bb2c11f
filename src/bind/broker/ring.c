/* Jobs that wait for each other in a ring, and so for ever. A wait that would close one is refused
 * when it begins, for nothing that happens later could end it but a deadline or a cancel.
 *
 *     job ──waits for──> job ──comes after──> job ──waits for──> the first
 *
 * A wait counts where it holds its job up for certain: it has no timeout, is not for any of
 * several, and its fiber is the job's own or one that this waits for. So nothing is refused that
 * could have ended; what begins to hold a job up later (a fiber that is joined when it waits
 * already) is not seen. */

#include "bind/broker/broker_impl.h"

#include <stdio.h>

/* ---- What holds a job up ------------------------------------------------------------------------ */

/* The fiber that does nothing but wait for the end of f; NULL. */
static const struct hocket__fiber *joined_by(
    const struct hocket__runtime *rt, const struct hocket__fiber *f)
{
    if (f->traits & HOCKET__AWAITED)
        return f->parent;
    for (size_t i = 0; i < f->n_watchers; i++) {
        const struct hocket__fiber *w = hocket__map_get(&rt->fibers, f->watchers[i]);
        if (w && w->state == HOCKET__WAITING && w->deadline.place == 0 && w->limit_due == 0
            && !w->unwait)
            return w;
    }
    return NULL;
}

/* Fibers that wait for fibers: more than anybody nests. */
#define MAX_JOINS 1000

static bool holds_up(const struct hocket__lua_job *j, uint64_t fiber)
{
    const struct hocket__runtime *rt = j->home->broker->rt;
    const struct hocket__fiber *f = hocket__map_get(&rt->fibers, fiber);
    for (int joins = 0; f && !f->cancelled && joins < MAX_JOINS; joins++) {
        if (f->id == j->fiber)
            return true;
        f = joined_by(rt, f);
    }
    return false;
}

static bool is_open(const struct hocket__lua_broker *b, uint64_t id)
{
    const struct hocket__job *record = hocket__broker_get(b->broker, id);
    return record && !hocket__job_is_final(record->state);
}

/* Whether all that are open have to end before the wait does. */
static bool is_for_each(const struct hocket__job_wait *w)
{
    size_t open = 0;
    if (w->mode != HOCKET__WAIT_ANY)
        return true;
    for (size_t i = 0; i < w->n; i++)
        open += is_open(w->b, w->ids[i]);
    return open == 1;
}

/* ---- The search ---------------------------------------------------------------------------------- */

/* Breadth first. `from` says for each job that was met which one waits for it. */
struct search {
    const struct hocket__lua_broker *b;
    uint64_t start;
    struct hocket__map from;
    uint64_t *met;
    size_t n, cap;
    int status;
    bool closed;
};

/* Only these wait for others. */
static bool may_wait(const struct search *s, uint64_t id)
{
    const struct hocket__job *record = hocket__broker_get(s->b->broker, id);
    return record && (record->state == HOCKET__JOB_WAITING || record->state == HOCKET__JOB_BLOCKED);
}

static void meet(struct search *s, uint64_t id, uint64_t waits)
{
    bool is_start = id == s->start;
    if (s->status < 0 || s->closed || hocket__map_get(&s->from, id)
        || (!is_start && !may_wait(s, id)))
        return;
    if (hocket__map_set(&s->from, id, (void *) (uintptr_t) waits) < 0
        || hocket__grow(s->b->rt->alloc, &s->met, &s->cap, s->n + 1, sizeof(uint64_t)) < 0)
        s->status = HOCKET_ENOMEM;
    else
        s->met[s->n++] = id;
    s->closed = is_start && s->status == 0;
}

static void meet_all(struct search *s, const uint64_t *ids, size_t n, uint64_t waits)
{
    for (size_t i = 0; i < n; i++)
        if (is_open(s->b, ids[i]))
            meet(s, ids[i], waits);
}

static void follow(struct search *s, uint64_t id)
{
    const struct hocket__job *record = hocket__broker_get(s->b->broker, id);
    const struct hocket__lua_job *j = record->ud;
    if (record->state == HOCKET__JOB_BLOCKED)
        meet_all(s, record->deps, record->dep_count, id);
    for (const struct hocket__job_wait *w = j->waits; w; w = w->next)
        if (w->waits && w->due_ms == 0 && w->fence == j->fence && is_for_each(w)
            && holds_up(j, w->token))
            meet_all(s, w->ids, w->n, id);
}

/* ---- Saying so -------------------------------------------------------------------------------------- */

#define SHOWN 8 /* jobs of a path, and as many again */

/* From the job that begins to wait, all the way round; backwards is how it was found. */
static int refuse(struct search *s, struct hocket_error *err)
{
    char path[SHOWN * 32 + 64];
    size_t n = 0, len = 0;
    uint64_t id = s->start;
    do {
        s->met[n++] = id;
        id = (uint64_t) (uintptr_t) hocket__map_get(&s->from, id);
    } while (id != s->start && n < s->n);
    len = (size_t) snprintf(path, sizeof(path), "task %llu", (unsigned long long) s->start);
    for (size_t i = n; i-- > 0;)
        if (i < SHOWN / 2 || i + SHOWN / 2 >= n)
            len += (size_t) snprintf(
                path + len, sizeof(path) - len, " -> task %llu", (unsigned long long) s->met[i]);
        else if (i == SHOWN / 2)
            len += (size_t) snprintf(path + len, sizeof(path) - len, " -> …");
    return hocket__error(err, HOCKET_EINVAL,
        "tasks cannot wait for each other in a ring, which would be for ever: %s", path);
}

int hocket__job_check_ring(
    const struct hocket__job_wait *w, const struct hocket__lua_job *j, struct hocket_error *err)
{
    struct search s = { .b = w->b, .start = j->id };
    bool itself = false;
    for (size_t i = 0; i < w->n; i++)
        itself = itself || w->ids[i] == j->id;
    if ((!itself && !hocket__broker_is_awaited(w->b->broker, j->id)) || !is_for_each(w)
        || !holds_up(j, w->token))
        return 0;
    hocket__map_init(&s.from, w->b->rt->alloc);
    meet_all(&s, w->ids, w->n, j->id);
    for (size_t i = 0; i < s.n && s.status == 0 && !s.closed; i++)
        follow(&s, s.met[i]);
    int rc = s.status < 0 ? hocket__error_nomem(err) : s.closed ? refuse(&s, err) : 0;
    hocket__map_deinit(&s.from);
    hocket__free(w->b->rt->alloc, s.met, s.cap * sizeof(uint64_t));
    return rc;
}
