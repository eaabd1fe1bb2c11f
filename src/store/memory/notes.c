/* Notes of the memory store. They are gone through one by one: a memory store has the notes of one
 * process. */
#include "store/memory/memory_impl.h"

#include <strings.h>

static struct hocket__store_note note_at(const struct hocket__memory *m, size_t i)
{
    struct hocket__store_row row;
    hocket__memory_unpack(m->notes.at[i], &row);
    return row.note;
}

/* m->notes.count: it is not there. */
static size_t place_of(
    const struct hocket__memory *m, struct hocket__str memory, struct hocket__str id)
{
    size_t i = 0;
    for (; i < m->notes.count; i++) {
        struct hocket__store_note n = note_at(m, i);
        if (hocket__str_eq(n.memory, memory) && hocket__str_eq(n.id, id))
            break;
    }
    return i;
}

static void drop(struct hocket__memory *m, size_t i)
{
    hocket__memory_free_block(m, hocket__memory_take_out(&m->notes, i));
}

static void count(const struct hocket__memory *m, struct hocket__str memory, size_t without,
    struct hocket__store_note *sum)
{
    for (size_t i = 0; i < m->notes.count; i++) {
        struct hocket__store_note n = note_at(m, i);
        if (i == without || !hocket__str_eq(n.memory, memory))
            continue;
        sum->notes++;
        sum->bytes += n.text.n + n.meta.n;
        sum->updated_ms = n.updated_ms > sum->updated_ms ? n.updated_ms : sum->updated_ms;
    }
}

void hocket__memory_note_put(struct hocket__memory *m, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_NOTE, .note = c->q.note_put.note };
    size_t at = place_of(m, row.note.memory, row.note.id);
    struct hocket__store_note sum = { 0 };
    count(m, row.note.memory, at, &sum);
    c->status = hocket__store_note_room(c, sum.notes, sum.bytes);
    if (c->status < 0)
        return;
    row.note.created_ms = at < m->notes.count ? note_at(m, at).created_ms : row.note.updated_ms;
    row.note.notes = row.note.bytes = 0;
    if (hocket__memory_insert(m, &m->notes, m->notes.count, &row, 0) < 0)
        c->status = hocket__error_nomem(&c->error);
    else if (at < m->notes.count - 1)
        drop(m, at);
}

void hocket__memory_note_del(struct hocket__memory *m, struct hocket__store_call *c)
{
    size_t at = place_of(m, c->q.notes.memory, c->q.notes.id);
    if (at == m->notes.count)
        c->status = hocket__store_note_missing(c);
    else
        drop(m, at);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool has(struct hocket__str text, struct hocket__str word)
{
    for (size_t i = 0; i + word.n <= text.n; i++)
        if (strncasecmp(text.p + i, word.p, word.n) == 0)
            return true;
    return false;
}

/* How many of the query's words it has. */
static size_t score(struct hocket__str text, struct hocket__str query)
{
    size_t n = 0;
    for (int i = 0; i < HOCKET__STORE_NOTE_WORDS; i++) {
        struct hocket__str word = hocket__store_note_word(&query);
        if (word.n == 0)
            break;
        n += has(text, word);
    }
    return n;
}

static void give(struct hocket__store_call *c, size_t *left, const struct hocket__store_note *n)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_NOTE, .note = *n };
    if (c->place.from > 0) {
        c->place.from--;
        return;
    }
    if (*left > 0)
        hocket__store_pack(&c->rows, &row);
    *left -= *left > 0;
}

static void list_memories(struct hocket__memory *m, struct hocket__store_call *c, size_t left)
{
    struct hocket__str last = HOCKET__STR("");
    for (;;) {
        struct hocket__store_note next = { 0 };
        for (size_t i = 0; i < m->notes.count; i++) {
            struct hocket__str name = note_at(m, i).memory;
            if (hocket__memory_compare(name, last) > 0
                && (!next.memory.n || hocket__memory_compare(name, next.memory) < 0))
                next.memory = name;
        }
        if (!next.memory.n)
            return;
        count(m, next.memory, SIZE_MAX, &next);
        give(c, &left, &next);
        last = next.memory;
    }
}

/* From those that have all words down to those that have one; the newest of them first. */
static void list(struct hocket__memory *m, struct hocket__store_call *c, size_t left)
{
    size_t wanted = c->q.notes.query.n ? HOCKET__STORE_NOTE_WORDS : 0;
    for (;; wanted--) {
        for (size_t i = m->notes.count; i-- > 0;) {
            struct hocket__store_note n = note_at(m, i);
            if (hocket__str_eq(n.memory, c->q.notes.memory)
                && (!c->q.notes.id.n || hocket__str_eq(n.id, c->q.notes.id))
                && (!c->q.notes.query.n || score(n.text, c->q.notes.query) == wanted))
                give(c, &left, &n);
        }
        if (wanted <= 1)
            return;
    }
}

static void list_near(struct hocket__memory *m, struct hocket__store_call *c, size_t left)
{
    struct hocket__store_near nearest = { .n = 0 };
    for (size_t i = m->notes.count; i-- > 0;) {
        struct hocket__store_note n = note_at(m, i);
        if (hocket__str_eq(n.memory, c->q.notes.memory))
            hocket__store_compare(&nearest, n.vector, c->q.notes.vector, (int64_t) i);
    }
    for (size_t i = 0; i < nearest.n; i++) {
        struct hocket__store_note n = note_at(m, (size_t) nearest.best[i].what);
        give(c, &left, &n);
    }
}

void hocket__memory_notes(struct hocket__memory *m, struct hocket__store_call *c)
{
    size_t left = c->place.left ? c->place.left : SIZE_MAX;
    if (c->q.notes.memory.n == 0)
        list_memories(m, c, left);
    else if (c->q.notes.vector.n > 0)
        list_near(m, c, left);
    else
        list(m, c, left);
}
