/* Reading notes, which outlive runs. What is searched for comes from models: it is taken apart into words, no character of which is an
 * operator. */
#include "store/sql/sql.h"

enum { AT_ONCE = 500 };

void hocket__sql_note(struct hocket__writer *w, const struct hocket__store_note *n)
{
    hocket__sql_text(w, n->memory);
    hocket__sql_text(w, n->id);
    hocket__sql_text(w, n->text);
    hocket__sql_text(w, n->meta);
    hocket__sql_int(w, (int64_t) n->labels);
    hocket__sql_int(w, n->updated_ms);
    hocket__sql_int(w, (int64_t) (n->text.n + n->meta.n));
}

int hocket__sql_note_room(struct hocket__writer *w, struct hocket__store_call *c)
{
    hocket__sql_new(w, HOCKET__SQL_NOTE_SUM);
    hocket__sql_text(w, c->q.note_put.note.memory);
    hocket__sql_text(w, c->q.note_put.note.id);
    int rc = hocket__sql_step(w);
    if (rc != 1)
        return rc;
    c->status = hocket__store_note_room(
        c, (uint64_t) hocket__sql_int_of(w, 0), (uint64_t) hocket__sql_int_of(w, 1));
    hocket__sql_done(w);
    return 0;
}

static void give(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_NOTE };
    row.note = (struct hocket__store_note){ .memory = hocket__sql_text_of(w, 0),
        .id = hocket__sql_text_of(w, 1),
        .text = hocket__sql_text_of(w, 2),
        .meta = hocket__sql_text_of(w, 3),
        .labels = (uint64_t) hocket__sql_int_of(w, 4),
        .created_ms = hocket__sql_int_of(w, 5),
        .updated_ms = hocket__sql_int_of(w, 6),
        .notes = (uint64_t) hocket__sql_int_of(w, 7),
        .bytes = (uint64_t) hocket__sql_int_of(w, 8) };
    hocket__store_pack(&c->rows, &row);
    c->place.from++;
}

/* The rows of a statement whose first two parameters are texts; the other two say which part of them. */
static int give_all(struct hocket__writer *w, struct hocket__store_call *c, unsigned statement,
    struct hocket__str second)
{
    int64_t most = hocket__sql_most(w, c, AT_ONCE);
    hocket__sql_new(w, statement);
    hocket__sql_text(w, c->q.notes.memory);
    hocket__sql_text(w, second);
    hocket__sql_int(w, most);
    hocket__sql_int(w, (int64_t) c->place.from);
    return hocket__sql_give(w, c, give, most, -1);
}

/* Where no word is found the text may be in the middle of one. */
static int search(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__buf words = hocket__buf(&hocket__malloc, 0);
    w->sql->add_query(&words, c->q.notes.query);
    int rc = words.status < 0 ? hocket__error_nomem(w->error) : 0;
    if (rc == 0 && words.len > 0 && !c->place.in_words)
        rc = give_all(w, c, HOCKET__SQL_NOTE_SEARCH, hocket__buf_str(&words));
    c->place.in_words |=
        rc == 0 && c->rows.len == 0 && c->place.from == 0; /* also for the pieces to come */
    if (rc == 0 && c->place.in_words)
        rc = give_all(w, c, HOCKET__SQL_NOTE_PART, c->q.notes.query);
    hocket__buf_deinit(&words);
    return rc;
}

static int compare_all(
    struct hocket__writer *w, struct hocket__store_call *c, struct hocket__store_near *nearest)
{
    int64_t before = INT64_MAX;
    for (int rows = AT_ONCE, rc; rows == AT_ONCE;) {
        hocket__sql_new(w, HOCKET__SQL_NOTE_VECTORS);
        hocket__sql_text(w, c->q.notes.memory);
        hocket__sql_int(w, before);
        hocket__sql_int(w, AT_ONCE);
        for (rows = 0; (rc = hocket__sql_step(w)) == 1; rows++) {
            before = hocket__sql_int_of(w, 0);
            hocket__store_compare(nearest, hocket__sql_bytes_of(w, 1), c->q.notes.vector, before);
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* All in one piece: there are few. */
static int list_near(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_near nearest = { .n = 0 };
    int rc = compare_all(w, c, &nearest);
    size_t first = c->place.from;
    for (size_t i = first;
         rc == 0 && i < nearest.n && (c->place.left == 0 || i < first + c->place.left); i++) {
        hocket__sql_new(w, HOCKET__SQL_NOTE_NO);
        hocket__sql_int(w, nearest.best[i].what);
        rc = hocket__sql_step(w);
        if (rc == 1) {
            give(w, c);
            hocket__sql_done(w);
            rc = 0;
        }
    }
    return rc;
}

int hocket__sql_notes(struct hocket__writer *w, struct hocket__store_call *c)
{
    int rc = w->sql->has_notes ? w->sql->has_notes(w) : 1;
    if (rc <= 0)
        return rc;
    if (c->q.notes.memory.n == 0)
        return give_all(w, c, HOCKET__SQL_NOTE_MEMORIES, HOCKET__STR(""));
    if (c->q.notes.id.n > 0)
        return give_all(w, c, HOCKET__SQL_NOTE_GET, c->q.notes.id);
    if (c->q.notes.vector.n > 0)
        return list_near(w, c);
    if (c->q.notes.query.n > 0)
        return search(w, c);
    return give_all(w, c, HOCKET__SQL_NOTE_LIST, HOCKET__STR(""));
}
