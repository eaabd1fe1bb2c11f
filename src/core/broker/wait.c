/* Waits: a token on a set of jobs. A wait is one block with a link for each job
 * that is not final yet, so satisfying it allocates nothing and costs nothing
 * for the jobs that it does not concern. */
#include "core/broker/broker_impl.h"

struct link {
    struct hocket__list at_job;
    struct wait *wait;
};

struct wait {
    uint64_t token;
    size_t count, left; /* links; how many jobs must still end */
    bool until_failed;
    struct link links[];
};

static void wait_free(struct hocket__broker *b, struct wait *w)
{
    for (size_t i = 0; i < w->count; i++)
        hocket__list_del(&w->links[i].at_job);
    hocket__free(b->a, w, sizeof(*w) + w->count * sizeof(struct link));
}

static bool has_failed(const struct hocket__node *n)
{
    return hocket__job_is_final(n->job->state) && n->job->state != HOCKET__JOB_COMPLETED;
}

/* How many of the jobs are not final, and how many have failed; an unknown one is an error. */
static int count(const struct hocket__broker *b, const uint64_t *ids, size_t n, size_t *open,
    size_t *failed, struct hocket_error *err)
{
    *open = *failed = 0;
    for (size_t i = 0; i < n; i++) {
        struct hocket__node *node = hocket__node_find(b, ids[i]);
        if (!node)
            return hocket__node_missing(ids[i], err);
        *open += !hocket__job_is_final(node->job->state);
        *failed += has_failed(node);
    }
    return 0;
}

static int check(const struct hocket__broker *b, uint64_t token, size_t n,
    enum hocket__wait_mode mode, struct hocket_error *err)
{
    if (token == 0 || (n == 0 && mode == HOCKET__WAIT_ANY))
        return hocket__error(
            err, HOCKET_EINVAL, token ? "any of no jobs never ends" : "a wait needs a token");
    if (hocket__map_get(&b->waits, token))
        return hocket__error(
            err, HOCKET_EEXIST, "token %llu waits already", (unsigned long long) token);
    if (n > b->options.max_wait_jobs || b->waits.count >= b->options.max_waits)
        return hocket__error(err, HOCKET_ELIMIT, "more than %zu jobs in a wait, or %zu waits",
            b->options.max_wait_jobs, b->options.max_waits);
    return 0;
}

static int wait_new(struct hocket__broker *b, uint64_t token, const uint64_t *ids, size_t n,
    size_t open, enum hocket__wait_mode mode)
{
    struct wait *w = hocket__new(b->a, sizeof(*w) + open * sizeof(struct link));
    if (!w)
        return HOCKET_ENOMEM;
    if (hocket__map_set(&b->waits, token, w) < 0) {
        hocket__free(b->a, w, sizeof(*w) + open * sizeof(struct link));
        return HOCKET_ENOMEM;
    }
    w->token = token;
    w->count = 0;
    w->left = mode == HOCKET__WAIT_ANY ? 1 : open;
    w->until_failed = mode == HOCKET__WAIT_FAILED;
    for (size_t i = 0; i < n; i++) {
        struct hocket__node *node = hocket__node_find(b, ids[i]);
        if (hocket__job_is_final(node->job->state))
            continue;
        struct link *l = &w->links[w->count++];
        /* only links of jobs that are not final: `count` of them are initialised, and those
         * alone are unlinked */
        l->wait = w;
        hocket__list_add(&node->waits, &l->at_job);
    }
    return 0;
}

int hocket__broker_wait(struct hocket__broker *b, uint64_t token, const uint64_t *ids, size_t n,
    enum hocket__wait_mode mode, struct hocket_error *err)
{
    size_t open, failed;
    int rc = check(b, token, n, mode, err);
    if (rc < 0 || (rc = count(b, ids, n, &open, &failed, err)) < 0)
        return rc;
    if (open == 0 || (mode == HOCKET__WAIT_ANY && open < n)
        || (mode == HOCKET__WAIT_FAILED && failed > 0))
        return 1;
    return wait_new(b, token, ids, n, open, mode) < 0 ? hocket__error_nomem(err) : 0;
}

int hocket__broker_wait_cancel(struct hocket__broker *b, uint64_t token)
{
    struct wait *w = hocket__map_del(&b->waits, token);
    if (!w)
        return HOCKET_ENOTFOUND;
    wait_free(b, w);
    return 0;
}

bool hocket__broker_is_awaited(const struct hocket__broker *b, uint64_t id)
{
    const struct hocket__node *n = hocket__node_find(b, id);
    return n && (!hocket__list_empty(&n->waits) || !hocket__list_empty(&n->dependents));
}

bool hocket__broker_is_waiting(const struct hocket__broker *b, uint64_t token)
{
    return hocket__map_get(&b->waits, token) != NULL;
}

void hocket__waits_fire(struct hocket__broker *b, struct hocket__node *n)
{
    while (!hocket__list_empty(&n->waits)) {
        struct link *l = hocket__container_of(n->waits.next, struct link, at_job);
        struct wait *w = l->wait;
        hocket__list_del(&l->at_job);
        if (--w->left > 0 && !(w->until_failed && has_failed(n)))
            continue;
        /* Freed before the callback: it may ask for the same token again, and finds it free. */
        uint64_t token = w->token;
        hocket__map_del(&b->waits, token);
        wait_free(b, w);
        if (b->hooks.wake_cb)
            b->hooks.wake_cb(token, b->hooks.ud);
    }
}

void hocket__waits_free(struct hocket__broker *b)
{
    for (size_t i = 0; i < b->waits.cap; i++)
        if (b->waits.slots[i].id != 0)
            wait_free(b, b->waits.slots[i].value);
    hocket__map_deinit(&b->waits);
}
