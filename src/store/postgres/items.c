/* Items: as in a file (sqlite/items.c), but that another may put the same one between two statements, and that an answer may
 * be lost: one that was asked for again, and stands there as it was to be, with its run, is what was asked for. */
#include "store/postgres/piece.h"
#include "store/postgres/postgres_impl.h"

/* What is there, locked: its version, or 0, and its generations. */
static int find(struct hocket__pg *d, struct hocket__store_call *c, int64_t *version,
    struct hocket__buf *generation)
{
    hocket__pg_new(d);
    hocket__pg_text(d, c->key);
    hocket__pg_text(d, c->message_id);
    int rc = hocket__pg_query(d, PG_ITEM_FIND,
        "SELECT version, generation FROM items WHERE kind = $1 AND id = $2 FOR UPDATE");
    bool there = rc == 0 && hocket__pg_rows(d) == 1;
    *version = there ? hocket__pg_int_of(d, 0, 0) : 0;
    if (!there)
        return rc;
    hocket__pg_begin_row(d, 0);
    return hocket__buf_addstr(generation, hocket__pg_text_of(d, 0, 1)) < 0
               ? hocket__error_nomem(&d->error)
               : 0;
}

static int put_along(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    int status, rc = hocket__pg_put_along(k, c, &status);
    if (rc == 0 && status < 0)
        c->status = hocket__store_item_refuse(c, status);
    return rc;
}

static int write_item(struct hocket__pg *d, const struct hocket__store_item *i, bool is_new)
{
    hocket__pg_new(d);
    hocket__pg_text(d, i->kind);
    hocket__pg_text(d, i->id);
    hocket__pg_int(d, i->version);
    hocket__pg_int(d, i->due_ms);
    hocket__pg_int(d, i->at_ms);
    hocket__pg_text_or_null(d, i->generation);
    hocket__pg_text(d, i->json);
    if (is_new)
        return hocket__pg_query(d, PG_ITEM_NEW,
            "INSERT INTO items(kind, id, version, due_ms, at_ms, generation, json)"
            " VALUES($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING");
    return hocket__pg_query(d, PG_ITEM_PUT,
        "UPDATE items SET version = $3, due_ms = $4, at_ms = $5, generation = $6, json = $7"
        " WHERE kind = $1 AND id = $2");
}

/* Another has put it since it was not there: whoever wants any version looks again. */
static int lost(struct hocket__pg *d, struct hocket__store_call *c)
{
    if ((int64_t) c->from != HOCKET__STORE_ANY)
        return c->status = hocket__store_item_refuse(c, HOCKET_ESTATE), 0;
    hocket__error(&d->error, HOCKET_EIO, "another has put the same item");
    d->error.retryable = true;
    return HOCKET_EIO;
}

/* Whether it stands there as this call was to leave it. */
static int is_done(
    struct hocket__pg_keeper *k, struct hocket__store_call *c, int64_t version, bool *done)
{
    struct hocket__pg *d = &k->db;
    struct hocket__store_row row;
    int64_t expected = (int64_t) c->from;
    *done = false;
    if (version == 0 || (expected > 0 && version != expected + 1))
        return 0;
    bool with_run = hocket__store_run_along(c, &row);
    hocket__pg_new(d);
    hocket__pg_text(d, c->key);
    hocket__pg_text(d, c->message_id);
    hocket__pg_int(d, c->at_ms);
    hocket__pg_text(d, c->json);
    int rc = hocket__pg_query(d, PG_ITEM_SAME,
        "SELECT 1::bigint FROM items WHERE kind = $1 AND id = $2 AND due_ms = $3 AND json = $4");
    *done = rc == 0 && hocket__pg_rows(d) == 1;
    if (*done && with_run) {
        rc = hocket__pg_is_put(k, &row.run);
        *done = rc == 1;
    }
    if (*done)
        hocket__store_item_told(c, version);
    return rc < 0 ? rc : 0;
}

static int write_new(struct hocket__pg_keeper *k, struct hocket__store_call *c, int64_t version,
    struct hocket__str generation)
{
    struct hocket__pg *d = &k->db;
    int64_t now = hocket__pg_now(k);
    struct hocket__store_item item =
        hocket__store_item_of(c, hocket__store_item_version(version, now), now);
    int rc = write_item(d, &item, version == 0);
    if (rc == 0 && hocket__pg_changed(d) == 0)
        return lost(d, c);
    if (rc == 0 && generation.n > 0 && !hocket__str_eq(generation, c->parent))
        rc = hocket__pg_drop_files(d, generation);
    if (rc == 0)
        hocket__store_item_told(c, item.version);
    return rc;
}

static int put(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again,
    struct hocket__buf *generation)
{
    int64_t version;
    bool done = false;
    int rc = find(&k->db, c, &version, generation);
    if (rc == 0 && again)
        rc = is_done(k, c, version, &done);
    if (rc < 0 || done)
        return rc;
    if ((c->status = hocket__store_item_judge(c, version)) == 0)
        rc = put_along(k, c);
    return rc < 0 || c->status < 0 ? rc : write_new(k, c, version, hocket__buf_str(generation));
}

/* Asked again it may be gone by what was asked first. */
static int del(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again,
    struct hocket__buf *generation)
{
    struct hocket__pg *d = &k->db;
    int64_t version;
    int rc = find(d, c, &version, generation);
    if (rc < 0 || (again && version == 0))
        return rc;
    if ((c->status = hocket__store_item_judge(c, version)) < 0)
        return 0;
    hocket__pg_new(d);
    hocket__pg_text(d, c->key);
    hocket__pg_text(d, c->message_id);
    rc = hocket__pg_query(d, PG_ITEM_DEL, "DELETE FROM items WHERE kind = $1 AND id = $2");
    return rc == 0 ? hocket__pg_drop_files(d, hocket__buf_str(generation)) : rc;
}

/* A question that is refused leaves nothing: it is rolled back. */
static int change(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again,
    int (*body)(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again,
        struct hocket__buf *generation))
{
    struct hocket__buf generation;
    /* On a standby it would be taken for a server that is about to be replaced, and waited for. */
    if (k->db.looks_only)
        return hocket__error(&k->db.error, HOCKET_EDENIED, "this role may only look at the store");
    hocket__buf_init(&generation, &hocket__malloc, 0);
    int rc = hocket__pg_begin(&k->db);
    if (rc == 0)
        rc = body(k, c, again, &generation);
    hocket__buf_deinit(&generation);
    rc = hocket__pg_finish(&k->db, rc == 0 ? c->status : rc);
    k->base.hint |= rc == 0 && c->vector.n > 0;
    return rc == c->status ? 0 : rc;
}

int hocket__pg_item_put(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again)
{
    return change(k, c, again, put);
}

int hocket__pg_item_del(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again)
{
    return change(k, c, again, del);
}

/* ---- Reading ----------------------------------------------------------------------------------- */

/* Where nothing can be written, whoever this is: who would look for what is due to write of it is not to wait until he can. */
static bool is_due_for_others(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    if (!c->states || k->db.looks_only || hocket__pg_rows(&k->db) == 0
        || !hocket__pg_int_of(&k->db, 0, 6))
        return false;
    c->status = hocket__error(&c->error, HOCKET_EDENIED,
        "%s is read-only, as a standby is: what is due is for those who can write",
        k->db.shown.data);
    return true;
}

int hocket__pg_items(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    struct hocket__pg *d = &k->db;
    int64_t now = hocket__pg_now(k);
    hocket__pg_new(d);
    hocket__pg_text(d, c->key);
    hocket__pg_text(d, c->message_id);
    hocket__pg_int(d, (int64_t) c->from);
    hocket__pg_text(d, hocket__buf_str(&c->after));
    hocket__pg_int(d, hocket__store_items_until(c, now));
    int rc = hocket__pg_query(d, PG_ITEMS,
        HOCKET__PG_PIECE("id, version, due_ms, at_ms, generation, json,"
                         " (current_setting('transaction_read_only') = 'on')::int::bigint",
            "due_ms, id",
            "SELECT *, octet_length(json) + coalesce(octet_length(generation), 0) + 100 AS size"
            " FROM items WHERE kind = $1 AND ($2 = '' OR id = $2) AND (due_ms, id) > ($3, $4)"
            " AND due_ms <= $5 ORDER BY due_ms, id LIMIT " HOCKET__PG_AT_ONCE));
    if (rc < 0)
        return rc;
    if (is_due_for_others(k, c))
        return 0;
    c->more = hocket__pg_is_cut(d, 7);
    for (int i = 0; i < hocket__pg_rows(d); i++) {
        struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_ITEM };
        hocket__pg_begin_row(d, i);
        row.item = (struct hocket__store_item){ c->key, hocket__pg_text_of(d, i, 0),
            hocket__pg_int_of(d, i, 1), hocket__pg_int_of(d, i, 2), hocket__pg_int_of(d, i, 3),
            hocket__pg_text_of(d, i, 4), hocket__pg_text_of(d, i, 5), now };
        hocket__store_pack(&c->rows, &row);
        if (c->more && i + 1 == hocket__pg_rows(d))
            c->rows.status |= hocket__store_item_behind(c, &row.item);
    }
    return 0;
}
