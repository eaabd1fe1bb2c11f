/* What the memory store holds: packed rows, in the order of their keys, and the runs that have them.
 *
 * Runs are found by bisection over their ids, which also gives the first that begins with a prefix.
 * A run's row is packed anew when it changes; entries and records never change. */
#include "store/memory/memory_impl.h"

#include <uv.h>

/* ---- Blocks -------------------------------------------------------------------------------- */

void hocket__memory_free_block(struct hocket__memory *m, struct hocket__block *b)
{
    if (b)
        hocket__free(m->a, b, sizeof(*b) + b->n);
}

void hocket__memory_free_blocks(struct hocket__memory *m, struct hocket__blocks *b)
{
    for (size_t i = 0; i < b->count; i++)
        hocket__memory_free_block(m, b->at[i]);
    hocket__free(m->a, b->at, b->cap * sizeof(*b->at));
    *b = (struct hocket__blocks){ 0 };
}

struct hocket__block *hocket__memory_pack(
    struct hocket__memory *m, const struct hocket__store_row *row, uint64_t key)
{
    struct hocket__buf buf;
    struct hocket__block *b = NULL;
    hocket__buf_init(&buf, m->a, 0);
    if (hocket__store_pack(&buf, row) == 0 && (b = hocket__new(m->a, sizeof(*b) + buf.len))) {
        b->key = key;
        b->n = buf.len;
        memcpy(b->bytes, buf.data, buf.len);
    }
    hocket__buf_deinit(&buf);
    return b;
}

void hocket__memory_unpack(const struct hocket__block *b, struct hocket__store_row *row)
{
    struct hocket__str in = hocket__str(b->bytes, b->n);
    hocket__store_unpack(&in, row);
}

int hocket__memory_insert(struct hocket__memory *m, struct hocket__blocks *to, size_t i,
    const struct hocket__store_row *row, uint64_t key)
{
    struct hocket__block *b;
    if (hocket__grow(m->a, &to->at, &to->cap, to->count + 1, sizeof(*to->at)) < 0
        || !(b = hocket__memory_pack(m, row, key)))
        return HOCKET_ENOMEM;
    memmove(to->at + i + 1, to->at + i, (to->count - i) * sizeof(*to->at));
    to->at[i] = b;
    to->count++;
    return 0;
}

struct hocket__block *hocket__memory_take_out(struct hocket__blocks *from, size_t i)
{
    struct hocket__block *b = from->at[i];
    from->count--;
    memmove(from->at + i, from->at + i + 1, (from->count - i) * sizeof(*from->at));
    return b;
}

int hocket__memory_compare(struct hocket__str a, struct hocket__str b)
{
    int rc = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
    return rc != 0 ? rc : a.n < b.n ? -1 : a.n > b.n;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

size_t hocket__memory_place(const struct hocket__memory *m, struct hocket__str id)
{
    size_t low = 0, high = m->n_runs;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (memcmp(m->runs[mid]->id, id.p, id.n) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct hocket__memory_run *hocket__memory_find_run(
    const struct hocket__memory *m, struct hocket__str id)
{
    size_t i = hocket__memory_place(m, id);
    return i < m->n_runs && memcmp(m->runs[i]->id, id.p, id.n) == 0 ? m->runs[i] : NULL;
}

void hocket__memory_free_run(struct hocket__memory *m, struct hocket__memory_run *r)
{
    size_t i = hocket__memory_place(m, hocket__cstr(r->id));
    memmove(m->runs + i, m->runs + i + 1, (m->n_runs - i - 1) * sizeof(*m->runs));
    m->n_runs--;
    hocket__memory_free_block(m, r->row);
    hocket__memory_free_blocks(m, &r->entries);
    hocket__memory_free_blocks(m, &r->records);
    hocket__memory_free_blocks(m, &r->messages);
    hocket__free(m->a, r, sizeof(*r));
}

uint64_t hocket__memory_last_n(const struct hocket__memory_run *r)
{
    return r->at_n + r->entries.count;
}

uint64_t hocket__memory_last_seq(const struct hocket__memory_run *r)
{
    const struct hocket__blocks *b = &r->records;
    return b->count > 0 ? b->at[b->count - 1]->key : r->at_seq;
}

void hocket__memory_row(const struct hocket__memory *m, const struct hocket__memory_run *r,
    struct hocket__store_row *row)
{
    hocket__memory_unpack(r->row, row);
    row->run.state = r->state;
    row->run.due_ms = r->due_ms;
    row->run.attempts = r->attempts;
    row->run.updated_ms = r->updated_ms;
    row->run.last_n = hocket__memory_last_n(r);
    row->run.last_seq = hocket__memory_last_seq(r);
    row->run.fence = r->fence;
    if (r->owned)
        row->run.owner = (struct hocket__store_owner){ .pid = uv_os_getpid(),
            .host = hocket__cstr(m->host),
            .since_ms = r->since_ms,
            .lease_ms = INT64_MAX };
}

void hocket__memory_own(struct hocket__memory *m, struct hocket__memory_run *r)
{
    r->owned = true;
    r->refused = false;
    r->fence++;
    r->since_ms = hocket__store_wall_ms(&m->base.store->o);
}
