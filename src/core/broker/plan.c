/* The names of one batch: each resolved to an index, no name twice, no cycle.
 * Jobs that exist already cannot depend on new ones, so a cycle can only be
 * made of names. */
#include "core/broker/broker_impl.h"

#include <stdio.h>

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

void hocket__plan_free(
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

int hocket__plan_new(const struct hocket_allocator *a, const struct hocket__job_spec *specs,
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
        hocket__plan_free(a, specs, n, p.to);
    else
        *out = p.to;
    return rc;
}
