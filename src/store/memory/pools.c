/* What lies in pools, and who waits for whom: as in a database (writer/writer.h), of the runs of one process. */
#include "store/memory/memory_impl.h"

#include <string.h>
#include <uv.h>

static bool has_ended(const struct hocket__memory_run *r)
{
    return r->state == HOCKET__STORE_DONE || r->state == HOCKET__STORE_FAILED
           || r->state == HOCKET__STORE_CANCELLED;
}

/* Waits for somebody, and for no time. */
static bool sleeps(const struct hocket__memory_run *r)
{
    return !r->owned && r->due_ms == 0
           && (r->state == HOCKET__STORE_WAITING || r->state == HOCKET__STORE_PARKED);
}

/* The same until a time at most. */
static bool is_limited(const struct hocket__memory_run *r, const struct hocket__store_run *row)
{
    struct hocket__str open = row->waiting_for, time = HOCKET__STR(HOCKET__STORE_WAITS_FOR_TIME);
    bool for_somebody = open.n > 0 && (open.n < time.n || memcmp(open.p, time.p, time.n) != 0);
    return !r->owned && r->due_ms > 0 && for_somebody
           && (r->state == HOCKET__STORE_WAITING || r->state == HOCKET__STORE_PARKED);
}

static struct hocket__store_pool pool_of(
    const struct hocket__memory *m, const struct hocket__memory_run *r)
{
    struct hocket__store_row row;
    int64_t now = hocket__store_wall_ms(&m->base.store->o);
    hocket__memory_unpack(r->row, &row);
    struct hocket__store_pool p = { .pool = row.run.pool, .n = 1 };
    if (r->owned) {
        p.what = hocket__cstr("running");
        p.host = hocket__cstr(m->host);
        p.pid = uv_os_getpid();
        p.since_ms = r->since_ms;
        return p;
    }
    bool is_due = !sleeps(r) && r->due_ms <= now, waits = sleeps(r) || is_limited(r, &row.run);
    p.what = hocket__cstr(is_due ? "queued" : waits ? hocket__store_state_word(r->state) : "later");
    p.since_ms = r->due_ms > 0 && (is_due || !waits) ? r->due_ms : r->updated_ms;
    return p;
}

/* Counts it where its like is, or before the first that comes after it; the groups are few. */
static int count(struct hocket__buf *groups, const struct hocket__store_pool *p)
{
    struct hocket__store_pool *at = (struct hocket__store_pool *) groups->data;
    size_t n = groups->len / sizeof(*at), i = 0;
    int by = 1;
    while (i < n && (by = hocket__memory_compare(at[i].pool, p->pool)) <= 0
           && (by != 0 || (by = hocket__memory_compare(at[i].what, p->what)) < 0))
        i++;
    if (i < n && by == 0) {
        at[i].n++;
        at[i].since_ms = p->since_ms < at[i].since_ms ? p->since_ms : at[i].since_ms;
        return 0;
    }
    int rc = hocket__buf_add(groups, (const char *) p, sizeof(*p));
    if (rc < 0)
        return rc;
    at = (struct hocket__store_pool *) groups->data;
    memmove(at + i + 1, at + i, (n - i) * sizeof(*at));
    at[i] = *p;
    return 0;
}

void hocket__memory_pools(struct hocket__memory *m, struct hocket__store_call *c)
{
    struct hocket__buf groups;
    hocket__buf_init(&groups, m->a, 0);
    for (size_t i = 0; i < m->n_runs; i++) {
        if (m->runs[i]->removed || !m->runs[i]->pooled || has_ended(m->runs[i]))
            continue;
        struct hocket__store_pool p = pool_of(m, m->runs[i]);
        count(&groups, &p);
    }
    for (size_t i = 0; i < groups.len; i += sizeof(struct hocket__store_pool)) {
        struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_POOL };
        memcpy(&row.pool, groups.data + i, sizeof(row.pool));
        hocket__store_pack(&c->rows, &row);
    }
    if (groups.status < 0)
        c->status = groups.status;
    hocket__buf_deinit(&groups);
}

void hocket__memory_blocked(struct hocket__memory *m, struct hocket__store_call *c)
{
    size_t left = c->q.blocked.limit;
    for (size_t i = 0; i < m->n_runs && left > 0; i++) {
        struct hocket__memory_run *r = m->runs[i];
        struct hocket__store_row row;
        if (r->removed || !r->pooled || has_ended(r))
            continue;
        hocket__memory_row(m, r, &row);
        if (!sleeps(r) && !r->caller[0] && !is_limited(r, &row.run))
            continue;
        row.run.input = row.run.options = HOCKET__STR("");
        hocket__store_pack(&c->rows, &row);
        left--;
    }
}
