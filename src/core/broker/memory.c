/* The memory store: a record is one block (fields, texts, dependencies), an
 * outcome a second one, so a job costs two allocations in its whole life.
 *
 * It is what every broker has that was given no other; the interface is job_store.h. Records are
 * handed out as views, good until the next call. */
#include "core/broker/job_store.h"

#include "base/list.h"
#include "base/map.h"

struct record {
    struct hocket__job job;
    struct hocket__list link; /* in the order of ids */
    char *outcome;
    size_t outcome_size, size;
    char tail[];
};

struct memory {
    struct hocket__job_store base;
    const struct hocket_allocator *a;
    struct hocket__map by_id;
    struct hocket__list records;
    uint64_t last_id;
};

static struct memory *of(struct hocket__job_store *s)
{
    return hocket__container_of(s, struct memory, base);
}

static struct record *record_of(struct hocket__job *job)
{
    return hocket__container_of(job, struct record, job);
}

static int memory_ids(struct hocket__job_store *s, size_t n, uint64_t *first)
{
    struct memory *m = of(s);
    *first = m->last_id + 1;
    m->last_id += n;
    return 0;
}

static char *copy_text(char *at, struct hocket__str *text)
{
    if (text->n > 0)
        memcpy(at, text->p, text->n);
    text->p = at;
    return at + text->n;
}

/* The ids come first: the tail is aligned for them. */
static void copy_tail(struct record *r, size_t ids)
{
    struct hocket__job *j = &r->job;
    uint64_t *deps = (uint64_t *) (void *) r->tail;
    if (ids > 0)
        memcpy(deps, j->deps, ids);
    j->deps = deps;
    char *at = copy_text(r->tail + ids, &j->name);
    at = copy_text(at, &j->agent);
    at = copy_text(at, &j->provider);
    at = copy_text(at, &j->group);
    copy_text(at, &j->data);
}

/* Ids come in order, except when a durable store's rows are put back. */
static void link_by_id(struct memory *m, struct record *r)
{
    struct hocket__list *at = &m->records;
    while (at->prev != &m->records
           && hocket__container_of(at->prev, struct record, link)->job.id > r->job.id)
        at = at->prev;
    hocket__list_add(at, &r->link);
}

static int memory_put(
    struct hocket__job_store *s, const struct hocket__job *in, struct hocket__job **out)
{
    struct memory *m = of(s);
    if (in->id == 0 || hocket__map_get(&m->by_id, in->id))
        return in->id == 0 ? HOCKET_EINVAL : HOCKET_EEXIST;
    size_t ids = in->dep_count * sizeof(uint64_t);
    size_t size = sizeof(struct record) + ids + in->name.n + in->agent.n + in->provider.n
                  + in->group.n + in->data.n;
    struct record *r = hocket__new(m->a, size);
    if (!r)
        return HOCKET_ENOMEM;
    if (hocket__map_set(&m->by_id, in->id, r) < 0) {
        hocket__free(m->a, r, size);
        return HOCKET_ENOMEM;
    }
    r->job = *in;
    r->outcome = NULL;
    r->outcome_size = 0;
    r->size = size;
    copy_tail(r, ids);
    link_by_id(m, r);
    if (in->id > m->last_id)
        m->last_id = in->id;
    *out = &r->job;
    return 0;
}

static int memory_claim(
    struct hocket__job_store *s, struct hocket__job *job, uint64_t owner, int64_t lease_ms)
{
    (void) s;
    job->fence++;
    job->owner = owner;
    job->lease_ms = lease_ms;
    return 0;
}

static int memory_heartbeat(struct hocket__job_store *s, struct hocket__job *job, int64_t lease_ms)
{
    (void) s;
    job->lease_ms = lease_ms;
    return 0;
}

static int memory_outcome(
    struct hocket__job_store *s, struct hocket__job *job, const struct hocket__job_outcome *o)
{
    struct memory *m = of(s);
    struct record *r = record_of(job);
    size_t size = o->result.n + o->error.n + o->usage.n;
    /* The new texts are in place before the old ones go: out of memory, the record has what it
     * had, and an outcome may even be made of parts of the last one. */
    char *block = size > 0 ? hocket__new(m->a, size) : NULL;
    if (size > 0 && !block)
        return HOCKET_ENOMEM;
    job->status = o->status;
    job->result = block ? o->result : HOCKET__STR("");
    job->error = block ? o->error : HOCKET__STR("");
    job->usage = block ? o->usage : HOCKET__STR("");
    if (block)
        copy_text(copy_text(copy_text(block, &job->result), &job->error), &job->usage);
    hocket__free(m->a, r->outcome, r->outcome_size);
    r->outcome = block;
    r->outcome_size = size;
    return 0;
}

static void memory_changed(struct hocket__job_store *s, struct hocket__job *job)
{
    (void) s;
    (void) job;
}

static struct hocket__job *memory_get(struct hocket__job_store *s, uint64_t id)
{
    struct record *r = hocket__map_get(&of(s)->by_id, id);
    return r ? &r->job : NULL;
}

static int memory_list(
    struct hocket__job_store *s, unsigned states, hocket__job_store_list_cb list_cb, void *ud)
{
    /* the callback may delete the record that it is given, and no other */
    struct hocket__list *head = &of(s)->records;
    for (struct hocket__list *l = head->next, *next; l != head; l = next) {
        struct record *r = hocket__container_of(l, struct record, link);
        next = l->next;
        int rc = (states >> r->job.state & 1) ? list_cb(&r->job, ud) : 0;
        if (rc != 0)
            return rc;
    }
    return 0;
}

static void memory_del(struct hocket__job_store *s, struct hocket__job *job)
{
    struct memory *m = of(s);
    struct record *r = record_of(job);
    hocket__map_del(&m->by_id, job->id);
    hocket__list_del(&r->link);
    hocket__free(m->a, r->outcome, r->outcome_size);
    hocket__free(m->a, r, r->size);
}

static void memory_close(struct hocket__job_store *s)
{
    struct memory *m = of(s);
    while (!hocket__list_empty(&m->records))
        memory_del(s, &hocket__container_of(m->records.next, struct record, link)->job);
    hocket__map_deinit(&m->by_id);
    hocket__free(m->a, m, sizeof(*m));
}

static const struct hocket__job_store_ops memory_ops = {
    .name = "memory",
    .ids = memory_ids,
    .put = memory_put,
    .claim = memory_claim,
    .heartbeat = memory_heartbeat,
    .outcome = memory_outcome,
    .changed = memory_changed,
    .get = memory_get,
    .list = memory_list,
    .del = memory_del,
    .close = memory_close,
};

int hocket__job_store_memory_new(const struct hocket_allocator *a, struct hocket__job_store **out)
{
    struct memory *m = hocket__zero(a, sizeof(*m));
    if (!m)
        return HOCKET_ENOMEM;
    m->base.ops = &memory_ops;
    m->a = a;
    hocket__map_init(&m->by_id, a);
    hocket__list_init(&m->records);
    *out = &m->base;
    return 0;
}
