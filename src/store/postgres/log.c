/* The log of a run and its records, and files of generations. An answer has as many rows as fit into a piece, and the question
 * remembers where the next one begins, so that no cursor stays open between two pieces. */
#include "store/postgres/piece.h"
#include "store/postgres/postgres_impl.h"

/* ---- Entries and records --------------------------------------------------------------------------- */

struct part {
    int64_t run;
    uint64_t last; /* how far it goes there */
};

static int ask_chain(struct hocket__pg *d, int64_t run)
{
    hocket__pg_new(d);
    hocket__pg_int(d, run);
    return hocket__pg_query(d, PG_CHAIN, "SELECT parent, at_n, at_seq FROM runs WHERE no = $1");
}

/* Whose entry (or record) `from` is: the run's own, or that of the parent in which it was not yet. */
static int holder(
    struct hocket__pg *d, struct hocket__store_call *c, bool entries, struct part *part)
{
    for (;;) {
        int rc = ask_chain(d, part->run);
        if (rc < 0)
            return rc;
        bool there = hocket__pg_rows(d) == 1;
        int64_t parent = there ? hocket__pg_int_of(d, 0, 0) : 0;
        uint64_t at = there ? (uint64_t) hocket__pg_int_of(d, 0, entries ? 1 : 2) : 0;
        if (!parent || c->from > at)
            return 0;
        if (at < part->last)
            part->last = at;
        part->run = parent;
    }
}

static int ask_part(
    struct hocket__pg *d, struct hocket__store_call *c, bool entries, struct part part)
{
    hocket__pg_new(d);
    hocket__pg_int(d, part.run);
    hocket__pg_int(d, (int64_t) c->from);
    hocket__pg_int(d, part.last < UINT32_MAX ? (int64_t) part.last : UINT32_MAX);
    if (entries)
        return hocket__pg_query(d, PG_ENTRIES,
            HOCKET__PG_PIECE("n, tick, at_ms, kind, path, ord, name, digest, value, long_value",
                "n",
                "SELECT n, tick, at_ms, kind, path, ord, name, digest, value, t.text AS long_value,"
                " coalesce(octet_length(value), octet_length(t.text)) + 100 AS size"
                " FROM entries e LEFT JOIN texts t ON t.no = e.text"
                " WHERE run = $1 AND n BETWEEN $2 AND $3 ORDER BY n LIMIT " HOCKET__PG_AT_ONCE));
    return hocket__pg_query(d, PG_RECORDS,
        HOCKET__PG_PIECE("seq, json", "seq",
            "SELECT seq, json, octet_length(json) + 20 AS size FROM records"
            " WHERE run = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq LIMIT " HOCKET__PG_AT_ONCE));
}

static void entry_of(struct hocket__pg *d, int i, struct hocket__store_row *row)
{
    struct hocket__store_entry *e = &row->entry;
    row->kind = HOCKET__STORE_ROW_ENTRY;
    e->n = (uint64_t) hocket__pg_int_of(d, i, 0);
    e->tick = (uint64_t) hocket__pg_int_of(d, i, 1);
    e->at_ms = hocket__pg_int_of(d, i, 2);
    e->kind = (uint8_t) hocket__pg_int_of(d, i, 3);
    e->path = (uint64_t) hocket__pg_int_of(d, i, 4);
    e->ord = (uint32_t) hocket__pg_int_of(d, i, 5);
    e->name = hocket__pg_text_of(d, i, 6);
    e->digest = hocket__pg_bytes_of(d, i, 7);
    e->value =
        hocket__pg_is_null(d, i, 8) ? hocket__pg_bytes_of(d, i, 9) : hocket__pg_text_of(d, i, 8);
}

static void record_of(struct hocket__pg *d, int i, struct hocket__store_row *row)
{
    row->kind = HOCKET__STORE_ROW_RECORD;
    row->record.seq = (uint64_t) hocket__pg_int_of(d, i, 0);
    row->record.json = hocket__pg_text_of(d, i, 1);
}

static int give_part(
    struct hocket__pg *d, struct hocket__store_call *c, bool entries, struct part part)
{
    int rc = ask_part(d, c, entries, part);
    if (rc < 0)
        return rc;
    for (int i = 0; i < hocket__pg_rows(d); i++) {
        struct hocket__store_row row;
        hocket__pg_begin_row(d, i);
        (entries ? entry_of : record_of)(d, i, &row);
        c->from = (entries ? row.entry.n : row.record.seq) + 1;
        hocket__store_pack(&c->rows, &row);
    }
    c->more = hocket__pg_is_cut(d, entries ? 10 : 2);
    if (!c->more && part.last != UINT64_MAX) { /* on with the child that left it there */
        c->from = part.last + 1;
        c->more = true;
    }
    return 0;
}

int hocket__pg_log(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    struct hocket__pg *d = &k->db;
    bool entries = c->kind == HOCKET__STORE_ENTRIES;
    int rc;
    struct part part = { hocket__pg_run_no(d, c->key, &rc), UINT64_MAX };
    if (rc == 0 && !part.run)
        c->status = hocket__store_not_found(c);
    if (part.run && c->of_parent && (rc = ask_chain(d, part.run)) == 0) {
        part.run = hocket__pg_rows(d) == 1 ? hocket__pg_int_of(d, 0, 0) : 0;
        if (!part.run)
            c->status = hocket__store_no_parent(c);
    }
    if (rc < 0 || c->status < 0 || c->from > UINT32_MAX)
        return rc;
    rc = holder(d, c, entries, &part);
    return rc < 0 ? rc : give_part(d, c, entries, part);
}

/* ---- Files ----------------------------------------------------------------------------------------------- */

int hocket__pg_files(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_text(d, c->key);
    hocket__pg_text(d, hocket__buf_str(&c->after));
    int rc = hocket__pg_query(d, PG_FILES,
        HOCKET__PG_PIECE("path, hash, content", "path",
            "SELECT f.path, f.hash, t.text AS content, octet_length(t.text) + 100 AS size"
            " FROM files f JOIN texts t ON t.no = f.text"
            " WHERE f.generation = $1 AND f.path > $2 ORDER BY f.path LIMIT " HOCKET__PG_AT_ONCE));
    if (rc < 0)
        return rc;
    c->more = hocket__pg_is_cut(d, 3);
    for (int i = 0; i < hocket__pg_rows(d); i++) {
        struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_FILE };
        hocket__pg_begin_row(d, i);
        row.file = (struct hocket__store_file){ c->key, hocket__pg_text_of(d, i, 0),
            hocket__pg_text_of(d, i, 1), hocket__pg_bytes_of(d, i, 2) };
        hocket__store_pack(&c->rows, &row);
        if (c->more && i + 1 == hocket__pg_rows(d)) /* as it stands there: what is compared */
            c->rows.status |= hocket__store_go_on_behind(c, row.file.path);
    }
    return 0;
}
