/* From specs to jobs. Three passes: check all, make all (what fails is taken
 * back), and then link and route all, which cannot fail.
 *
 * The first pass names what is wrong with which job, the second may run out of memory and takes
 * back what it made; from the third on the jobs exist, and events are emitted. */
#include "core/broker/broker_impl.h"

#include <stdio.h>

/* The names of one batch: each resolved to an index, no name twice, no cycle.
 * Jobs that exist already cannot depend on new ones, so a cycle can only be
 * made of names. */

struct named {
    struct hocket__index_node node;
    struct hocket__str name;
    size_t at;
};

/* A need: another job of the batch that one names, as what it builds on or comes after. */
struct plan {
    const struct hocket__job_spec *specs;
    size_t count, needs;
    size_t *first; /* count + 1: where each spec's needs begin in `to` */
    size_t *to;
};

static size_t needs_of(const struct hocket__job_spec *specs, size_t n)
{
    size_t needs = 0;
    for (size_t i = 0; i < n; i++)
        needs += specs[i].need_count + specs[i].after_count;
    return needs;
}

static struct hocket__str need_of(const struct hocket__job_spec *s, size_t k)
{
    return k < s->need_count ? s->needs[k] : s->after[k - s->need_count];
}

static void plan_free(
    const struct hocket_allocator *a, const struct hocket__job_spec *specs, size_t n, size_t *plan)
{
    hocket__free(a, plan, needs_of(specs, n) * sizeof(*plan));
}

static struct named *find(const struct hocket__index *ix, struct hocket__str name, uint64_t hash)
{
    struct hocket__index_node *i = hocket__index_first(ix, hash);
    for (; i; i = hocket__index_next(i)) {
        struct named *named = hocket__container_of(i, struct named, node);
        if (hocket__str_eq(named->name, name))
            return named;
    }
    return NULL;
}

static int index_names(struct hocket__index *ix, struct named *named,
    const struct hocket__job_spec *specs, size_t n, struct hocket_error *err)
{
    if (hocket__index_reserve(ix, n) < 0)
        return hocket__error_nomem(err);
    for (size_t i = 0; i < n; i++) {
        struct hocket__str name = specs[i].name;
        uint64_t hash = hocket__index_text(0, name.p, name.n);
        if (name.n == 0)
            continue;
        if (find(ix, name, hash))
            return hocket__error(err, HOCKET_EEXIST, "two jobs are named \"%.*s\"",
                (int) (name.n < 100 ? name.n : 100), name.p);
        named[i] = (struct named){ .name = name, .at = i };
        hocket__index_add(ix, &named[i].node, hash);
    }
    return 0;
}

static int resolve(const struct hocket__index *ix, struct plan *p, struct hocket_error *err)
{
    size_t at = 0;
    for (size_t i = 0; i < p->count; i++) {
        p->first[i] = at;
        for (size_t k = 0; k < needs_of(&p->specs[i], 1); k++) {
            struct hocket__str need = need_of(&p->specs[i], k);
            struct named *named = find(ix, need, hocket__index_text(0, need.p, need.n));
            if (!named)
                return hocket__error(err, HOCKET_ENOTFOUND,
                    "job %zu (\"%.*s\") needs \"%.*s\", which is not among the %zu jobs", i + 1,
                    (int) (p->specs[i].name.n < 100 ? p->specs[i].name.n : 100),
                    p->specs[i].name.p ? p->specs[i].name.p : "",
                    (int) (need.n < 100 ? need.n : 100), need.p ? need.p : "", p->count);
            p->to[at++] = named->at;
        }
    }
    p->first[p->count] = at;
    return 0;
}

/* `at` is on a cycle, or leads into one, through jobs that have not been
 * ordered: follow those until a job comes again. */
static int say_cycle(
    const struct plan *p, const size_t *left, size_t *seen, size_t at, struct hocket_error *err)
{
    char path[400];
    size_t len = 0, start;
    memset(seen, 0, p->count * sizeof(*seen));
    /* The first round goes until a job comes again, which is on the cycle; the second writes
     * it down. */
    for (int round = 0; round < 2; round++) {
        start = at;
        do {
            struct hocket__str name = p->specs[at].name;
            if (round == 1 && len + name.n + 8 < sizeof(path))
                len += (size_t) snprintf(
                    path + len, sizeof(path) - len, "%.*s -> ", (int) name.n, name.p);
            seen[at] = 1;
            size_t k = p->first[at];
            /* a need that is not ordered: there is one, or this job would have been ordered */
            while (left[p->to[k]] == 0)
                k++;
            at = p->to[k];
        } while (round == 0 ? !seen[at] : at != start);
    }
    return hocket__error(err, HOCKET_EINVAL, "a dependency cycle: %.*s%.*s", (int) len, path,
        (int) (p->specs[at].name.n < 60 ? p->specs[at].name.n : 60), p->specs[at].name.p);
}

/* Kahn's: `left` counts the needs that are not ordered yet. Users are found
 * through a reversed list (head by job, next by need). */
static int check_cycles(struct plan *p, size_t *scratch, struct hocket_error *err)
{
    size_t *left = scratch, *head = left + p->count, *stack = head + p->count;
    size_t *next = stack + p->count, *user = next + p->needs;
    size_t depth = 0, ordered = 0;
    for (size_t i = 0; i < p->count; i++)
        head[i] = SIZE_MAX;
    for (size_t i = 0; i < p->count; i++) {
        left[i] = p->first[i + 1] - p->first[i];
        for (size_t k = p->first[i]; k < p->first[i + 1]; k++) {
            user[k] = i;
            next[k] = head[p->to[k]];
            head[p->to[k]] = k;
        }
        if (left[i] == 0)
            stack[depth++] = i;
    }
    for (; depth > 0; ordered++)
        for (size_t k = head[stack[--depth]]; k != SIZE_MAX; k = next[k])
            if (--left[user[k]] == 0)
                stack[depth++] = user[k];
    if (ordered == p->count)
        return 0;
    size_t at = 0;
    while (left[at] == 0)
        at++;
    return say_cycle(p, left, head, at, err);
}

/* Resolves the names in a batch. On 0, *out (NULL when there are none) has one
 * index into specs for each, spec after spec: its needs, then what it comes after. ENOTFOUND, EEXIST,
 * EINVAL, ENOMEM. Free with hocket__plan_free. */
static int plan_new(const struct hocket_allocator *a, const struct hocket__job_spec *specs,
    size_t n, size_t **out, struct hocket_error *err)
{
    struct plan p = { .specs = specs, .count = n, .needs = needs_of(specs, n) };
    *out = NULL;
    bool has_names = p.needs > 0;
    for (size_t i = 0; i < n && n > 1 && !has_names; i++)
        has_names = specs[i].name.n > 0;
    if (!has_names)
        return 0;
    size_t words = (n + 1) + 3 * n + 2 * p.needs;
    struct hocket__index ix;
    hocket__index_init(&ix, a);
    struct named *named = hocket__zero(a, n * sizeof(*named));
    p.first = hocket__new(a, words * sizeof(size_t));
    p.to = p.needs > 0 ? hocket__new(a, p.needs * sizeof(size_t)) : NULL;
    int rc = 0;
    if (!named || !p.first || (p.needs > 0 && !p.to))
        rc = hocket__error_nomem(err);
    if (rc == 0)
        rc = index_names(&ix, named, specs, n, err);
    if (rc == 0)
        rc = resolve(&ix, &p, err);
    if (rc == 0)
        rc = check_cycles(&p, p.first + n + 1, err);
    hocket__index_deinit(&ix);
    hocket__free(a, named, n * sizeof(*named));
    hocket__free(a, p.first, words * sizeof(size_t));
    if (rc < 0)
        plan_free(a, specs, n, p.to);
    else
        *out = p.to;
    return rc;
}

struct hocket__job_spec hocket__job_spec_default(void)
{
    return (struct hocket__job_spec){
        .deadline_ms = HOCKET__NEVER,
        .backoff_ms = 500,
        .backoff_max_ms = 30000,
    };
}

/* ---- Checking ------------------------------------------------------------------ */

/* Differences instead of sums: sizes come from outside, and a sum could overflow. */
static int check_sizes(
    const struct hocket__broker *b, const struct hocket__job_spec *s, struct hocket_error *err)
{
    size_t most = b->options.max_data;
    const size_t parts[] = { s->agent.n, s->provider.n, s->group.n, s->name.n, s->data.n };
    for (size_t i = 0, left = most; i < sizeof(parts) / sizeof(parts[0]); left -= parts[i++])
        if (parts[i] > left)
            return hocket__error(
                err, HOCKET_ELIMIT, "a job's data and names are larger than %zu bytes", most);
    size_t deps = b->options.max_deps;
    if (s->dep_count > deps || s->need_count > deps - s->dep_count
        || s->after_count > deps - s->dep_count - s->need_count)
        return hocket__error(err, HOCKET_ELIMIT, "a job has more than %zu dependencies", deps);
    if (s->backoff_ms < 0 || s->backoff_max_ms < 0)
        return hocket__error(err, HOCKET_EINVAL, "a backoff is negative");
    if (s->priority < -HOCKET__PRIORITY_MAX || s->priority > HOCKET__PRIORITY_MAX)
        return hocket__error(err, HOCKET_EINVAL, "priority %d is not between -%d and %d",
            s->priority, HOCKET__PRIORITY_MAX, HOCKET__PRIORITY_MAX);
    return 0;
}

/* An ancestor ends after its descendants: to depend on it is to wait for ever. */
static int check_deps(const struct hocket__broker *b, const struct hocket__job_spec *s,
    const struct hocket__node *parent, struct hocket_error *err)
{
    for (size_t i = 0; i < s->dep_count; i++) {
        struct hocket__node *dep = hocket__node_find(b, s->deps[i]);
        if (!dep)
            return hocket__error(err, HOCKET_ENOTFOUND, "the dependency %llu is not a job",
                (unsigned long long) s->deps[i]);
        for (const struct hocket__node *n = parent; n; n = n->parent)
            if (n == dep)
                return hocket__error(err, HOCKET_EINVAL,
                    "a job cannot depend on job %llu, which it is a part of",
                    (unsigned long long) s->deps[i]);
    }
    return 0;
}

static int check_spec(
    const struct hocket__broker *b, const struct hocket__job_spec *s, struct hocket_error *err)
{
    int rc = check_sizes(b, s, err);
    struct hocket__node *parent = NULL;
    if (rc < 0)
        return rc;
    if (s->parent && !(parent = hocket__node_of_attempt(b, s->parent, s->parent_fence, &rc, err)))
        return rc;
    if (parent ? s->run != 0 && s->run != parent->job->run : s->run == 0)
        return hocket__error(
            err, HOCKET_EINVAL, parent ? "a job is in its parent's run" : "a job needs a run");
    if (parent && parent->depth >= b->options.max_depth)
        return hocket__error(
            err, HOCKET_ELIMIT, "jobs are nested more than %zu deep", b->options.max_depth);
    return check_deps(b, s, parent, err);
}

/* ---- Making --------------------------------------------------------------------- */

static struct hocket__job_run *run_ref(struct hocket__broker *b, uint64_t id)
{
    struct hocket__job_run *r = hocket__map_get(&b->runs, id);
    if (!r) {
        if (!(r = hocket__zero(b->a, sizeof(*r))))
            return NULL;
        if (hocket__map_set(&b->runs, id, r) < 0) {
            hocket__free(b->a, r, sizeof(*r));
            return NULL;
        }
        hocket__queue_run_init(&b->queue, &r->turn, id);
        hocket__list_init(&r->jobs);
        hocket__list_init(&r->tops);
        hocket__list_init(&r->done);
    }
    r->count++;
    return r;
}

static void run_unref(struct hocket__broker *b, struct hocket__job_run *r)
{
    if (--r->count > 0)
        return;
    hocket__map_del(&b->runs, r->turn.id);
    hocket__free(b->a, r, sizeof(*r));
}

static void init_lists(struct hocket__node *n)
{
    struct hocket__list *const lists[] = { &n->in_run, &n->in_parent, &n->in_done, &n->children,
        &n->done, &n->dependents, &n->waits, &n->in_work };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        hocket__list_init(lists[i]);
    for (size_t i = 0; i < n->job->dep_count; i++) {
        n->edges[i].node = n;
        hocket__list_init(&n->edges[i].link);
    }
}

/* Room for a job in every structure that it may ever stand in. After this no transition of it
 * can run out of memory, which is what lets ends and retries be void functions. */
static int attach(struct hocket__broker *b, struct hocket__node *n)
{
    const struct hocket__job *job = n->job;
    const struct hocket__queue_class c = { job->agent, job->provider, job->group, job->priority };
    if (hocket__job_is_final(job->state))
        return 0;
    /* b->count does not hold this one yet */
    if (hocket__heap_reserve(&b->timers, b->count + 1) < 0)
        return HOCKET_ENOMEM;
    int rc = hocket__queue_attach(&b->queue, &n->entry, &n->run->turn, &c);
    if (rc == 0 && hocket__job_is_held(job->state)) /* loaded */
        rc = hocket__queue_attach_back(&b->queue, &n->entry);
    if (rc < 0)
        hocket__queue_detach(&b->queue, &n->entry);
    return rc;
}

/* The node beside a record; on ENOMEM the record has none. */
static struct hocket__node *node_new(struct hocket__broker *b, struct hocket__job *job)
{
    size_t edges = job->dep_count * sizeof(struct hocket__edge);
    struct hocket__node *n = hocket__zero(b->a, sizeof(*n) + edges);
    if (!n)
        return NULL;
    n->job = job;
    init_lists(n);
    n->run = run_ref(b, job->run);
    if (n->run && attach(b, n) == 0) {
        job->node = n;
        b->count++;
        b->of[job->state]++;
        n->run->of[job->state]++;
        return n;
    }
    if (n->run)
        run_unref(b, n->run);
    hocket__free(b->a, n, sizeof(*n) + edges);
    return NULL;
}

void hocket__node_free(struct hocket__broker *b, struct hocket__node *n)
{
    struct hocket__job *job = n->job;
    b->count--;
    b->of[job->state]--;
    n->run->of[job->state]--;
    hocket__queue_detach(&b->queue, &n->entry);
    hocket__heap_del(&b->timers, &n->timer);
    hocket__notes_free(b, n);
    while (!hocket__list_empty(&n->children)) {
        struct hocket__node *child =
            hocket__container_of(n->children.next, struct hocket__node, in_parent);
        child->parent = NULL;
        hocket__list_del(&child->in_parent);
        hocket__list_del(&child->in_done);
    }
    while (!hocket__list_empty(&n->dependents))
        hocket__list_del(n->dependents.next);
    for (size_t i = 0; i < job->dep_count; i++)
        hocket__list_del(&n->edges[i].link);
    hocket__list_del(&n->in_run);
    hocket__list_del(&n->in_parent);
    hocket__list_del(&n->in_done);
    hocket__list_del(&n->in_work);
    run_unref(b, n->run);
    hocket__free(b->a, n, sizeof(*n) + job->dep_count * sizeof(struct hocket__edge));
    job->node = NULL;
}

/* The record's dependencies: the ids given, then the names as ids. */
static int put_job(struct hocket__broker *b, struct hocket__job *job,
    const struct hocket__job_spec *s, const size_t *named, uint64_t first, struct hocket__job **out)
{
    size_t names = s->need_count + s->after_count;
    size_t size = (s->dep_count + names) * sizeof(uint64_t);
    uint64_t *deps = names > 0 ? hocket__new(b->a, size) : NULL;
    job->deps = deps ? deps : s->deps;
    job->dep_count = s->dep_count + names;
    job->order_count = s->after_count;
    if (names > 0 && !deps)
        return HOCKET_ENOMEM;
    if (deps && s->dep_count > 0)
        memcpy(deps, s->deps, s->dep_count * sizeof(uint64_t));
    for (size_t k = 0; k < names; k++)
        deps[s->dep_count + k] = first + named[k];
    int rc = hocket__job_store_put(b->store, job, out);
    hocket__free(b->a, deps, size);
    return rc;
}

static int make_job(struct hocket__broker *b, const struct hocket__job_spec *s, const size_t *named,
    uint64_t first, uint64_t id, int64_t now_ms, struct hocket__list *made)
{
    struct hocket__node *parent = hocket__node_find(b, s->parent);
    struct hocket__job *record, job = {
        .id = id,
        .run = parent ? parent->job->run : s->run,
        .parent = s->parent,
        .name = s->name,
        .agent = s->agent,
        .provider = s->provider,
        .group = s->group,
        .data = s->data,
        .priority = s->priority,
        .on_dep = s->on_dep,
        .max_retries = s->max_retries,
        .backoff_ms = s->backoff_ms,
        .backoff_max_ms = s->backoff_max_ms,
        .deadline_ms = s->deadline_ms,
        .ud = s->ud,
        .created_ms = now_ms,
        .started_ms = HOCKET__NEVER,
        .finished_ms = HOCKET__NEVER,
    };
    int rc = put_job(b, &job, s, named, first, &record);
    if (rc < 0)
        return rc;
    struct hocket__node *n = node_new(b, record);
    if (!n) {
        hocket__job_store_del(b->store, record);
        return HOCKET_ENOMEM;
    }
    n->parent = parent;
    n->depth = parent ? parent->depth + 1 : 0;
    hocket__list_add(made, &n->in_work);
    return 0;
}

/* Made from the first to the last and dropped from the last: nothing is linked yet, so a drop
 * has nobody to tell. */
static int make_all(struct hocket__broker *b, const struct hocket__job_spec *specs, size_t n,
    const size_t *named, uint64_t first, int64_t now_ms, struct hocket__list *made)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = make_job(b, &specs[i], named, first, first + i, now_ms, made);
        if (named) /* else nobody has any */
            named += specs[i].need_count + specs[i].after_count;
    }
    while (rc < 0 && !hocket__list_empty(made))
        hocket__node_drop(b, hocket__container_of(made->prev, struct hocket__node, in_work));
    return rc;
}

/* ---- Linking and routing ------------------------------------------------------------ */

static void link_node(struct hocket__node *n)
{
    hocket__list_add(&n->run->jobs, &n->in_run);
    hocket__list_add(n->parent ? &n->parent->children : &n->run->tops, &n->in_parent);
}

/* Edges to what is not final; returns the first dependency that failed for
 * good, or 0. A dependency that was forgotten had been satisfied. */
static uint64_t link_deps(struct hocket__broker *b, struct hocket__node *n)
{
    for (size_t i = 0; i < n->job->dep_count; i++) {
        struct hocket__node *dep = hocket__node_find(b, n->job->deps[i]);
        if (dep && !hocket__job_is_final(dep->job->state)) {
            hocket__list_add(&dep->dependents, &n->edges[i].link);
            n->deps_left++;
        } else if (dep && hocket__node_fails_with(n, i, dep)) {
            return dep->job->id;
        }
    }
    return 0;
}

static void route(struct hocket__broker *b, struct hocket__node *n, int64_t now_ms)
{
    uint64_t failed = link_deps(b, n);
    if (failed) {
        hocket__node_dep_failed(b, n, failed, now_ms);
    } else if (n->deps_left == 0) {
        hocket__node_ready(b, n);
    } else {
        hocket__node_move(b, n, HOCKET__JOB_BLOCKED);
        hocket__node_timer(b, n);
    }
}

/* All PENDING events come before any other of the batch: whoever follows the events sees the
 * whole plan before its first job starts. */
static void commit(
    struct hocket__broker *b, struct hocket__list *made, uint64_t *ids, int64_t now_ms)
{
    struct hocket__list *l;
    for (l = made->next; l != made; l = l->next) {
        struct hocket__node *n = hocket__container_of(l, struct hocket__node, in_work);
        link_node(n);
        *ids++ = n->job->id;
        hocket__node_emit(b, n, HOCKET__EVENT_PENDING, HOCKET__STR(""), HOCKET__STR(""));
    }
    while (!hocket__list_empty(made)) {
        l = made->next;
        hocket__list_del(l);
        route(b, hocket__container_of(l, struct hocket__node, in_work), now_ms);
    }
    hocket__broker_settle(b, now_ms);
}

static size_t alive(const struct hocket__broker *b)
{
    return b->count - b->of[HOCKET__JOB_COMPLETED] - b->of[HOCKET__JOB_FAILED]
           - b->of[HOCKET__JOB_SKIPPED] - b->of[HOCKET__JOB_CANCELLED];
}

static int check_batch(const struct hocket__broker *b, const struct hocket__job_spec *specs,
    size_t n, struct hocket_error *err)
{
    if (b->shut)
        return hocket__error(err, HOCKET_ECLOSED, "this broker is closed and takes no more jobs");
    if (n > b->options.max_jobs || alive(b) > b->options.max_jobs - n)
        return hocket__error(
            err, HOCKET_ELIMIT, "more than %zu jobs that have not ended", b->options.max_jobs);
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = check_spec(b, &specs[i], err);
    return rc;
}

int hocket__broker_submit(struct hocket__broker *b, const struct hocket__job_spec *specs, size_t n,
    int64_t now_ms, uint64_t *ids, struct hocket_error *err)
{
    struct hocket__list made;
    size_t *plan = NULL;
    hocket__list_init(&made);
    int rc = check_batch(b, specs, n, err);
    if (rc < 0 || n == 0 || (rc = plan_new(b->a, specs, n, &plan, err)) < 0)
        return rc;
    rc = make_all(b, specs, n, plan, hocket__job_store_ids(b->store, n), now_ms, &made);
    plan_free(b->a, specs, n, plan);
    if (rc < 0)
        return hocket__error(err, rc, "cannot submit: %s", hocket_status_text(rc));
    commit(b, &made, ids, now_ms);
    return 0;
}
