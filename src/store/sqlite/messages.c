/* Messages to runs. */
#include "store/sqlite/sqlite_impl.h"

int hocket__sqlite_messages(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    int rc;
    int64_t run = hocket__run_no(k, c->key, &rc);
    if (rc == 0 && !run)
        c->status = hocket__store_not_found(c);
    sqlite3_stmt *st = hocket__db_stmt(d, ST_MESSAGES,
        "SELECT no, id, at_ms, json FROM messages WHERE run = ? AND json IS NOT NULL AND no > ?"
        " ORDER BY no");
    if (rc < 0 || !run || !st)
        return st ? rc : d->error.status;
    hocket__db_bind_int(d, st, 1, run);
    hocket__db_bind_int(d, st, 2, (int64_t) c->from);
    while (!c->more && (rc = hocket__db_step(d, st)) == 1) {
        struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_MESSAGE };
        row.message = (struct hocket__store_message){ hocket__db_str(d, st, 1),
            hocket__db_int(d, st, 2), hocket__db_str(d, st, 3) };
        c->from = (uint64_t) hocket__db_int(d, st, 0);
        hocket__store_pack(&c->rows, &row);
        c->more = c->rows.len >= HOCKET__STORE_PIECE;
    }
    hocket__db_reset(d, st);
    return rc < 0 ? rc : 0;
}

static int insert_message(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    int rc;
    int64_t run = hocket__run_no(k, c->key, &rc);
    if (rc == 0 && !run)
        c->status = hocket__store_not_found(c);
    if (rc < 0 || !run)
        return rc;
    struct hocket__store_message m = { c->message_id, c->at_ms, c->json };
    rc = hocket__message_put(k, run, &m);
    if (rc < 0 || d->lib->changes(d->db) > 0)
        return rc < 0 ? rc : hocket__message_heard(k, run);
    c->status = hocket__store_has_message(c);
    return 0;
}

int hocket__sqlite_message(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    int rc = hocket__sqlite_change(k, c, insert_message);
    k->base.hint |= rc == 0 && c->status == 0;
    return rc;
}
