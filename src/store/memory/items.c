/* Items of the memory store: gone through one by one, as one process has few. */
#include "store/memory/memory_impl.h"

static struct hocket__store_item item_at(const struct hocket__memory *m, size_t i)
{
    struct hocket__store_row row;
    hocket__memory_unpack(m->items.at[i], &row);
    return row.item;
}

/* m->items.count: it is not there. */
static size_t place_of(
    const struct hocket__memory *m, struct hocket__str kind, struct hocket__str id)
{
    size_t i = 0;
    for (; i < m->items.count; i++) {
        struct hocket__store_item one = item_at(m, i);
        if (hocket__str_eq(one.kind, kind) && hocket__str_eq(one.id, id))
            break;
    }
    return i;
}

static int compare(const struct hocket__store_item *a, const struct hocket__store_item *b)
{
    int rc = hocket__memory_compare(a->kind, b->kind);
    if (rc == 0)
        rc = a->due_ms < b->due_ms ? -1 : a->due_ms > b->due_ms;
    return rc != 0 ? rc : hocket__memory_compare(a->id, b->id);
}

/* There is room for it. */
static void insert(
    struct hocket__memory *m, struct hocket__block *b, const struct hocket__store_item *item)
{
    size_t i = 0;
    for (; i < m->items.count; i++) {
        struct hocket__store_item one = item_at(m, i);
        if (compare(&one, item) >= 0)
            break;
    }
    memmove(m->items.at + i + 1, m->items.at + i, (m->items.count - i) * sizeof(*m->items.at));
    m->items.at[i] = b;
    m->items.count++;
}

/* The one that was, and files that nobody has without it. */
static void forget(struct hocket__memory *m, struct hocket__block *b)
{
    struct hocket__store_row row;
    if (!b)
        return;
    hocket__memory_unpack(b, &row);
    hocket__memory_drop_files(m, row.item.generation);
    hocket__memory_free_block(m, b);
}

static void fail(struct hocket__store_call *c, int rc)
{
    c->status =
        rc == HOCKET_ENOMEM ? hocket__error_nomem(&c->error) : hocket__store_item_refuse(c, rc);
}

/* What may fail comes first: the old one goes when the new one has its place, and the run is there. */
void hocket__memory_item_put(struct hocket__memory *m, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_ITEM };
    struct hocket__blocks *all = &m->items;
    size_t i = place_of(m, c->q.item.item.kind, c->q.item.item.id);
    int64_t before = i < all->count ? item_at(m, i).version : 0;
    int64_t now = hocket__store_wall_ms(&m->base.store->o);
    if ((c->status = hocket__store_item_check(c, before)) < 0)
        return;
    row.item = hocket__store_item_of(c, hocket__store_item_version(before, now), now);
    struct hocket__block *b = hocket__memory_pack(m, &row, 0);
    int rc = b ? hocket__grow(m->a, &all->at, &all->cap, all->count + 1, sizeof(*all->at))
               : HOCKET_ENOMEM;
    if (rc == 0)
        rc = hocket__memory_put_along(m, c);
    if (rc < 0) {
        hocket__memory_free_block(m, b);
        fail(c, rc);
        return;
    }
    struct hocket__block *old = before ? hocket__memory_take_out(&m->items, i) : NULL;
    insert(m, b, &row.item);
    forget(m, old);
    hocket__store_item_answer(c, row.item.version);
}

void hocket__memory_item_del(struct hocket__memory *m, struct hocket__store_call *c)
{
    size_t i = place_of(m, c->q.item.item.kind, c->q.item.item.id);
    bool there = i < m->items.count;
    c->status = hocket__store_item_check(c, there ? item_at(m, i).version : 0);
    if (c->status == 0)
        forget(m, hocket__memory_take_out(&m->items, i));
}

void hocket__memory_items(struct hocket__memory *m, struct hocket__store_call *c)
{
    int64_t now = hocket__store_wall_ms(&m->base.store->o),
            until = hocket__store_items_until(c, now);
    for (size_t i = 0; i < m->items.count; i++) {
        struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_ITEM, .item = item_at(m, i) };
        if (!hocket__str_eq(row.item.kind, c->q.items.kind)
            || (c->q.items.id.n > 0 && !hocket__str_eq(row.item.id, c->q.items.id))
            || row.item.due_ms < (int64_t) c->place.from || row.item.due_ms > until)
            continue;
        row.item.now_ms = now;
        hocket__store_pack(&c->rows, &row);
    }
}

bool hocket__memory_item_has(const struct hocket__memory *m, struct hocket__str generation)
{
    for (size_t i = 0; i < m->items.count; i++) {
        struct hocket__str names = item_at(m, i).generation, name;
        while (hocket__store_next_generation(&names, &name))
            if (hocket__str_eq(name, generation))
                return true;
    }
    return false;
}
