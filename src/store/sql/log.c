/* What belongs to a run: entries of its log, records, files of its generation, messages. An answer has as many rows as fit into a piece,
 * and the question remembers where the next one begins, so that nothing stays open between two pieces. */
#include "store/sql/sql.h"
#include "store/dialect.h"

/* ---- Entries and records ---------------------------------------------------------------------- */

struct part {
    int64_t run;
    uint64_t last; /* how far it goes there */
};

/* The parent, or 0; and where the run left it. */
static int64_t parent_of(struct hocket__writer *w, int64_t run, bool entries, uint64_t *at, int *rc)
{
    hocket__sql_new(w, HOCKET__SQL_CHAIN);
    hocket__sql_int(w, run);
    *rc = hocket__sql_step(w);
    int64_t parent = *rc == 1 ? hocket__sql_int_of(w, 0) : 0;
    *at = *rc == 1 ? (uint64_t) hocket__sql_int_of(w, entries ? 1 : 2) : 0;
    if (*rc == 1)
        hocket__sql_done(w);
    *rc = *rc < 0 ? *rc : 0;
    return parent;
}

/* Whose entry (or record) `from` is: the run's own, or that of the parent in which it was not yet. */
static int holder(
    struct hocket__writer *w, struct hocket__store_call *c, bool entries, struct part *part)
{
    for (;;) {
        uint64_t at;
        int rc;
        int64_t parent = parent_of(w, part->run, entries, &at, &rc);
        if (rc < 0 || !parent || c->place.from > at)
            return rc;
        if (at < part->last)
            part->last = at;
        part->run = parent;
    }
}

/* A long value stands in another table, as bytes. */
static void give_entry(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_ENTRY };
    row.entry = (struct hocket__store_entry){ .n = (uint64_t) hocket__sql_int_of(w, 0),
        .tick = (uint64_t) hocket__sql_int_of(w, 1),
        .at_ms = hocket__sql_int_of(w, 2),
        .kind = (uint8_t) hocket__sql_int_of(w, 3),
        .path = (uint64_t) hocket__sql_int_of(w, 4),
        .ord = (uint32_t) hocket__sql_int_of(w, 5),
        .name = hocket__sql_text_of(w, 6),
        .digest = hocket__sql_bytes_of(w, 7),
        .value = w->sql->is_null(w, 8) ? hocket__sql_bytes_of(w, 9) : hocket__sql_text_of(w, 8) };
    hocket__store_pack(&c->rows, &row);
    c->place.from = row.entry.n + 1;
}

static void give_record(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RECORD };
    row.record = (struct hocket__store_record){ (uint64_t) hocket__sql_int_of(w, 0),
        hocket__sql_text_of(w, 1) };
    hocket__store_pack(&c->rows, &row);
    c->place.from = row.record.seq + 1;
}

static int give_part(
    struct hocket__writer *w, struct hocket__store_call *c, bool entries, struct part part)
{
    hocket__sql_new(w, entries ? HOCKET__SQL_ENTRIES : HOCKET__SQL_RECORDS);
    hocket__sql_int(w, part.run);
    hocket__sql_int(w, (int64_t) c->place.from);
    hocket__sql_int(w, part.last < UINT32_MAX ? (int64_t) part.last : UINT32_MAX);
    int rc =
        hocket__sql_give(w, c, entries ? give_entry : give_record, SQL_AT_ONCE, entries ? 10 : 2);
    if (rc == 0 && !c->more && part.last != UINT64_MAX) { /* on with the child that left it there */
        c->place.from = part.last + 1;
        c->more = true;
    }
    return rc;
}

int hocket__sql_log(struct hocket__writer *w, struct hocket__store_call *c)
{
    bool entries = c->q.kind == HOCKET__STORE_ENTRIES;
    uint64_t at;
    int rc;
    struct part part = { hocket__sql_run_no(w, c->q.log.id, &rc), UINT64_MAX };
    if (rc == 0 && !part.run)
        c->status = hocket__store_not_found(c, c->q.log.id);
    if (part.run && c->q.log.of_parent
        && (part.run = parent_of(w, part.run, entries, &at, &rc)) == 0 && rc == 0)
        c->status = hocket__store_no_parent(c);
    if (rc < 0 || c->status < 0 || c->place.from > UINT32_MAX)
        return rc;
    rc = holder(w, c, entries, &part);
    return rc < 0 ? rc : give_part(w, c, entries, part);
}

/* ---- Files ------------------------------------------------------------------------------------ */

static void give_file(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_FILE };
    row.file = (struct hocket__store_file){ c->q.files.generation, hocket__sql_text_of(w, 0),
        hocket__sql_text_of(w, 1), hocket__sql_bytes_of(w, 2) };
    hocket__store_pack(&c->rows, &row);
    c->rows.status |= hocket__store_continue_after(c, row.file.path);
}

int hocket__sql_files(struct hocket__writer *w, struct hocket__store_call *c)
{
    hocket__sql_new(w, HOCKET__SQL_FILES);
    hocket__sql_text(w, c->q.files.generation);
    hocket__sql_text(w, hocket__buf_str(&c->after));
    return hocket__sql_give(w, c, give_file, SQL_AT_ONCE, 3);
}

/* ---- Messages --------------------------------------------------------------------------------- */

static void give_message(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_MESSAGE };
    row.message = (struct hocket__store_message){ hocket__sql_text_of(w, 1),
        hocket__sql_int_of(w, 2), hocket__sql_text_of(w, 3) };
    hocket__store_pack(&c->rows, &row);
    c->place.from = (uint64_t) hocket__sql_int_of(w, 0);
}

int hocket__sql_messages(struct hocket__writer *w, struct hocket__store_call *c)
{
    int rc;
    int64_t run = hocket__sql_run_no(w, c->q.run.id, &rc);
    if (rc == 0 && !run)
        c->status = hocket__store_not_found(c, c->q.run.id);
    if (rc < 0 || !run)
        return rc;
    hocket__sql_new(w, HOCKET__SQL_MESSAGES);
    hocket__sql_int(w, run);
    hocket__sql_int(w, (int64_t) c->place.from);
    return hocket__sql_give(w, c, give_message, SQL_AT_ONCE, 4);
}
