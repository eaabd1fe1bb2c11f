/* Items: rows of their own, written when nobody else has written them meanwhile. */
#include "store/sqlite/sqlite_impl.h"

/* What is there: its version, or 0, and its generations. */
static int find(struct hocket__sqlite_keeper *k, struct hocket__store_call *c, int64_t *version,
    struct hocket__buf *generation)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(
        d, ST_ITEM_FIND, "SELECT version, generation FROM items WHERE kind = ? AND id = ?");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, c->key);
    hocket__db_bind_text(d, st, 2, c->message_id);
    int rc = hocket__db_step(d, st);
    *version = rc == 1 ? hocket__db_int(d, st, 0) : 0;
    if (rc == 1)
        hocket__buf_addstr(generation, hocket__db_str(d, st, 1));
    hocket__db_reset(d, st);
    return rc < 0 ? rc : generation->status < 0 ? hocket__error_nomem(&d->error) : 0;
}

static int write_item(struct hocket__sqlite_keeper *k, const struct hocket__store_item *i)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_ITEM_PUT,
        "INSERT OR REPLACE INTO items(kind, id, version, due_ms, at_ms, generation, json)"
        " VALUES(?, ?, ?, ?, ?, ?, ?)");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, i->kind);
    hocket__db_bind_text(d, st, 2, i->id);
    hocket__db_bind_int(d, st, 3, i->version);
    hocket__db_bind_int(d, st, 4, i->due_ms);
    hocket__db_bind_int(d, st, 5, i->at_ms);
    hocket__db_bind_text_or_null(d, st, 6, i->generation);
    hocket__db_bind_text(d, st, 7, i->json);
    return hocket__db_run(d, st);
}

static int put_along(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    int status, rc = hocket__sqlite_put_along(k, c, &status);
    if (rc == 0 && status < 0)
        c->status = hocket__store_item_refuse(c, status);
    return rc;
}

/* What is refused by its run leaves the item as it was: that is written last. */
static int put_over(
    struct hocket__sqlite_keeper *k, struct hocket__store_call *c, struct hocket__buf *generation)
{
    int64_t version, now = hocket__sqlite_now(k);
    int rc = find(k, c, &version, generation);
    if (rc == 0)
        c->status = hocket__store_item_judge(c, version);
    if (rc == 0 && c->status == 0)
        rc = put_along(k, c);
    if (rc < 0 || c->status < 0)
        return rc;
    struct hocket__store_item item =
        hocket__store_item_of(c, hocket__store_item_version(version, now), now);
    rc = write_item(k, &item);
    if (rc == 0 && generation->len > 0 && !hocket__str_eq(hocket__buf_str(generation), c->parent))
        rc = hocket__sqlite_drop_files(k, hocket__buf_str(generation));
    hocket__store_item_told(c, item.version);
    return rc;
}

static int del_found(
    struct hocket__sqlite_keeper *k, struct hocket__store_call *c, struct hocket__buf *generation)
{
    struct hocket__db *d = &k->db;
    int64_t version;
    int rc = find(k, c, &version, generation);
    if (rc == 0)
        c->status = hocket__store_item_judge(c, version);
    if (rc < 0 || c->status < 0)
        return rc;
    sqlite3_stmt *st =
        hocket__db_stmt(d, ST_ITEM_DEL, "DELETE FROM items WHERE kind = ? AND id = ?");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, c->key);
    hocket__db_bind_text(d, st, 2, c->message_id);
    rc = hocket__db_run(d, st);
    return rc == 0 ? hocket__sqlite_drop_files(k, hocket__buf_str(generation)) : rc;
}

/* Within the transaction. */
static int change(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__buf generation;
    hocket__buf_init(&generation, &hocket__malloc, 0);
    int rc = (c->kind == HOCKET__STORE_ITEM_PUT ? put_over : del_found)(k, c, &generation);
    hocket__buf_deinit(&generation);
    return rc;
}

int hocket__sqlite_item_put(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    int rc = hocket__sqlite_change(k, c, change);
    k->base.hint |= rc == 0 && c->status == 0 && c->vector.n > 0;
    return rc;
}

int hocket__sqlite_item_del(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    return hocket__sqlite_change(k, c, change);
}

/* ---- Reading ----------------------------------------------------------------------------------- */

int hocket__sqlite_items(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    int rc;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_ITEMS,
        "SELECT id, version, due_ms, at_ms, generation, json FROM items WHERE kind = ?1"
        " AND (?2 = '' OR id = ?2) AND (due_ms, id) > (?3, ?4) AND due_ms <= ?5"
        " ORDER BY due_ms, id");
    if (!st)
        return d->error.status;
    int64_t now = hocket__sqlite_now(k);
    hocket__db_bind_text(d, st, 1, c->key);
    hocket__db_bind_text(d, st, 2, c->message_id);
    hocket__db_bind_int(d, st, 3, (int64_t) c->from);
    hocket__db_bind_text(d, st, 4, hocket__buf_str(&c->after));
    hocket__db_bind_int(d, st, 5, hocket__store_items_until(c, now));
    while (!c->more && (rc = hocket__db_step(d, st)) == 1) {
        struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_ITEM };
        row.item = (struct hocket__store_item){ c->key, hocket__db_str(d, st, 0),
            hocket__db_int(d, st, 1), hocket__db_int(d, st, 2), hocket__db_int(d, st, 3),
            hocket__db_str(d, st, 4), hocket__db_str(d, st, 5), now };
        hocket__store_pack(&c->rows, &row);
        if ((c->more = c->rows.len >= HOCKET__STORE_PIECE))
            c->rows.status |= hocket__store_item_behind(c, &row.item);
    }
    hocket__db_reset(d, st);
    return rc < 0 ? rc : 0;
}
