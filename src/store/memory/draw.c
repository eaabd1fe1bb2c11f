/* Limits of a store that one process has. They are few: a list of them, and one of the places that their holders have. */
#include "store/draw.h"
#include "store/memory/memory_impl.h"

struct hocket__memory_limit {
    struct hocket__memory_limit *next;
    struct hocket__store_level level;
    size_t n;
    char name[];
};

struct hocket__memory_lease {
    struct hocket__memory_lease *next;
    int64_t n, want, until_ms;
    size_t name_n, holder_n;
    char names[]; /* the limit's, then the holder's */
};

static void sweep(struct hocket__memory *m, int64_t now_ms)
{
    struct hocket__memory_limit **at = &m->limits, *l;
    while ((l = *at) != NULL) {
        if (l->level.at_ms >= now_ms - HOCKET__STORE_DRAW_OLD_MS) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        hocket__free(m->a, l, sizeof(*l) + l->n);
    }
}

static struct hocket__memory_limit *limit_of(
    struct hocket__memory *m, struct hocket__str name, int64_t now_ms)
{
    for (struct hocket__memory_limit *l = m->limits; l; l = l->next)
        if (hocket__str_eq(name, hocket__str(l->name, l->n)))
            return l;
    sweep(m, now_ms);
    struct hocket__memory_limit *made = hocket__zero(m->a, sizeof(*made) + name.n);
    if (!made)
        return NULL;
    made->n = name.n;
    memcpy(made->name, name.p, name.n);
    made->next = m->limits;
    return m->limits = made;
}

static void free_lease(struct hocket__memory *m, struct hocket__memory_lease *l)
{
    hocket__free(m->a, l, sizeof(*l) + l->name_n + l->holder_n);
}

/* What others have of it; what is over, and what the holder had, is gone. */
static struct hocket__store_others count_others(
    struct hocket__memory *m, const struct hocket__store_draw *d, int64_t now_ms)
{
    struct hocket__store_others others = { 0 };
    struct hocket__memory_lease **at = &m->leases, *l;
    while ((l = *at) != NULL) {
        bool same = hocket__str_eq(d->name, hocket__str(l->names, l->name_n));
        bool mine =
            same && hocket__str_eq(d->holder, hocket__str(l->names + l->name_n, l->holder_n));
        others.mine |= mine;
        if (mine || l->until_ms <= now_ms) {
            *at = l->next;
            free_lease(m, l);
            continue;
        }
        others.n += same ? l->n : 0;
        others.holders += same;
        others.hungry += same && l->n < l->want;
        at = &l->next;
    }
    return others;
}

static int add_lease(
    struct hocket__memory *m, const struct hocket__store_draw *d, int64_t n, int64_t now_ms)
{
    struct hocket__memory_lease *l = hocket__zero(m->a, sizeof(*l) + d->name.n + d->holder.n);
    if (!l)
        return HOCKET_ENOMEM;
    l->n = n;
    l->want = d->want;
    l->until_ms = now_ms + d->lease_ms;
    l->name_n = d->name.n;
    l->holder_n = d->holder.n;
    memcpy(l->names, d->name.p, d->name.n);
    memcpy(l->names + d->name.n, d->holder.p, d->holder.n);
    l->next = m->leases;
    m->leases = l;
    return 0;
}

void hocket__memory_draw(struct hocket__memory *m, struct hocket__store_call *c)
{
    struct hocket__store_draw d = c->q.draw;
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_DRAWN };
    int64_t now = hocket__store_wall_ms(&m->base.store->o);
    struct hocket__memory_limit *limit = limit_of(m, d.name, now);
    if (!limit) {
        c->status = hocket__error_nomem(&c->error);
        return;
    }
    struct hocket__store_others others = { 0 };
    if (d.holder.n > 0 || hocket__store_draw_looks(&d))
        others = count_others(m, &d, now);
    hocket__store_draw_decide(&d, now, &others, &limit->level, &row.drawn);
    if (d.holder.n > 0 && hocket__store_draw_stays(&d, row.drawn.granted)
        && add_lease(m, &d, row.drawn.granted, now) < 0)
        c->status = hocket__error_nomem(&c->error);
    else
        hocket__store_pack(&c->rows, &row);
}

void hocket__memory_free_limits(struct hocket__memory *m)
{
    for (struct hocket__memory_limit *l = m->limits, *next; l; l = next) {
        next = l->next;
        hocket__free(m->a, l, sizeof(*l) + l->n);
    }
    for (struct hocket__memory_lease *l = m->leases, *next; l; l = next) {
        next = l->next;
        free_lease(m, l);
    }
}
