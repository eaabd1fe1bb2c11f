/* The store of jobs: a record is one block (fields, texts, dependencies), an outcome a second one, so a job costs two
 * allocations in its whole life. */
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

struct hocket__job_store {
    const struct hocket_allocator *a;
    struct hocket__map by_id;
    struct hocket__list records;
    uint64_t last_id;
};

static struct record *record_of(struct hocket__job *job)
{
    return hocket__container_of(job, struct record, job);
}

uint64_t hocket__job_store_ids(struct hocket__job_store *s, size_t n)
{
    uint64_t first = s->last_id + 1;
    s->last_id += n;
    return first;
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

int hocket__job_store_put(
    struct hocket__job_store *s, const struct hocket__job *in, struct hocket__job **out)
{
    size_t ids = in->dep_count * sizeof(uint64_t);
    size_t size = sizeof(struct record) + ids + in->name.n + in->agent.n + in->provider.n
                  + in->group.n + in->data.n;
    struct record *r = hocket__new(s->a, size);
    if (!r)
        return HOCKET_ENOMEM;
    if (hocket__map_set(&s->by_id, in->id, r) < 0) {
        hocket__free(s->a, r, size);
        return HOCKET_ENOMEM;
    }
    r->job = *in;
    r->outcome = NULL;
    r->outcome_size = 0;
    r->size = size;
    copy_tail(r, ids);
    hocket__list_add(&s->records, &r->link);
    *out = &r->job;
    return 0;
}

int hocket__job_store_outcome(
    struct hocket__job_store *s, struct hocket__job *job, const struct hocket__job_outcome *o)
{
    struct record *r = record_of(job);
    size_t size = o->result.n + o->error.n + o->usage.n;
    /* The new texts are in place before the old ones go: out of memory, the record has what it
     * had, and an outcome may even be made of parts of the last one. */
    char *block = size > 0 ? hocket__new(s->a, size) : NULL;
    if (size > 0 && !block)
        return HOCKET_ENOMEM;
    job->status = o->status;
    job->result = block ? o->result : HOCKET__STR("");
    job->error = block ? o->error : HOCKET__STR("");
    job->usage = block ? o->usage : HOCKET__STR("");
    if (block)
        copy_text(copy_text(copy_text(block, &job->result), &job->error), &job->usage);
    hocket__free(s->a, r->outcome, r->outcome_size);
    r->outcome = block;
    r->outcome_size = size;
    return 0;
}

struct hocket__job *hocket__job_store_get(struct hocket__job_store *s, uint64_t id)
{
    struct record *r = hocket__map_get(&s->by_id, id);
    return r ? &r->job : NULL;
}

void hocket__job_store_each(
    struct hocket__job_store *s, void (*job_cb)(struct hocket__job *job, void *ud), void *ud)
{
    struct hocket__list *head = &s->records;
    for (struct hocket__list *l = head->next, *next; l != head; l = next) {
        next = l->next;
        job_cb(&hocket__container_of(l, struct record, link)->job, ud);
    }
}

void hocket__job_store_del(struct hocket__job_store *s, struct hocket__job *job)
{
    struct record *r = record_of(job);
    hocket__map_del(&s->by_id, job->id);
    hocket__list_del(&r->link);
    hocket__free(s->a, r->outcome, r->outcome_size);
    hocket__free(s->a, r, r->size);
}

int hocket__job_store_new(const struct hocket_allocator *a, struct hocket__job_store **out)
{
    struct hocket__job_store *s = hocket__zero(a, sizeof(*s));
    if (!s)
        return HOCKET_ENOMEM;
    s->a = a;
    hocket__map_init(&s->by_id, a);
    hocket__list_init(&s->records);
    *out = s;
    return 0;
}

void hocket__job_store_free(struct hocket__job_store *s)
{
    if (!s)
        return;
    while (!hocket__list_empty(&s->records))
        hocket__job_store_del(s, &hocket__container_of(s->records.next, struct record, link)->job);
    hocket__map_deinit(&s->by_id);
    hocket__free(s->a, s, sizeof(*s));
}
