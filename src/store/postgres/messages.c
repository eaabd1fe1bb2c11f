/* Messages to runs. */
#include "store/postgres/piece.h"
#include "store/postgres/postgres_impl.h"

int hocket__pg_messages(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    struct hocket__pg *d = &k->db;
    int rc;
    int64_t run = hocket__pg_run_no(d, c->key, &rc);
    if (rc == 0 && !run)
        c->status = hocket__store_not_found(c);
    if (rc < 0 || !run)
        return rc;
    hocket__pg_new(d);
    hocket__pg_int(d, run);
    hocket__pg_int(d, (int64_t) c->from);
    rc = hocket__pg_query(d, PG_MESSAGES,
        HOCKET__PG_PIECE("no, id, at_ms, json", "no",
            "SELECT no, id, at_ms, json, octet_length(json) + 100 AS size FROM messages"
            " WHERE run = $1 AND json IS NOT NULL AND no > $2 ORDER BY no "
            "LIMIT " HOCKET__PG_AT_ONCE));
    if (rc < 0)
        return rc;
    for (int i = 0; i < hocket__pg_rows(d); i++) {
        struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_MESSAGE };
        hocket__pg_begin_row(d, i);
        row.message = (struct hocket__store_message){ hocket__pg_text_of(d, i, 1),
            hocket__pg_int_of(d, i, 2), hocket__pg_text_of(d, i, 3) };
        c->from = (uint64_t) hocket__pg_int_of(d, i, 0);
        hocket__store_pack(&c->rows, &row);
    }
    c->more = hocket__pg_is_cut(d, 4);
    return 0;
}

/* One that is there and was put by this very call, whose answer was lost, is what was asked for. */
static int message_is_there(
    struct hocket__pg *d, struct hocket__store_call *c, int64_t run, bool *same)
{
    hocket__pg_new(d);
    hocket__pg_int(d, run);
    hocket__pg_text(d, c->message_id);
    hocket__pg_text(d, c->json);
    hocket__pg_int(d, c->at_ms);
    int rc = hocket__pg_query(d, PG_ONCE,
        "SELECT 1::bigint FROM messages WHERE run = $1 AND id = $2 AND at_ms = $4"
        " AND coalesce(json, $3) = $3");
    *same = rc == 0 && hocket__pg_rows(d) == 1;
    return rc;
}

/* Its run's row is locked first, also where the run hears nothing: whoever lets go of the run meanwhile would not see the
 * message, and it not that the run was let go of. */
static int say(struct hocket__pg *d, struct hocket__store_call *c, int64_t *run)
{
    struct hocket__store_message m = { c->message_id, c->at_ms, c->json };
    hocket__pg_new(d);
    hocket__pg_text(d, c->key);
    int rc = hocket__pg_query(
        d, PG_SPEAK, "UPDATE runs SET " HOCKET__QUEUE_SPEAK " WHERE id = $1 RETURNING no");
    *run = rc == 0 && hocket__pg_rows(d) == 1 ? hocket__pg_int_of(d, 0, 0) : 0;
    if (rc < 0 || !*run)
        return rc;
    rc = hocket__pg_send_message(d, *run, &m);
    if (rc == 0)
        rc = hocket__pg_sync(d);
    if (rc == 0)
        rc = hocket__pg_next(d);
    bool is_new = rc == 0 && hocket__pg_changed(d) == 1;
    rc = rc < 0 ? hocket__pg_give_up(d) : hocket__pg_end(d);
    return rc == 0 && !is_new ? HOCKET_EEXIST : rc;
}

/* What is there already wakes nobody: it is taken back whole. */
int hocket__pg_message(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again)
{
    struct hocket__pg *d = &k->db;
    int64_t run = 0;
    bool same = false;
    int rc = hocket__pg_begin(d);
    if (rc == 0)
        rc = say(d, c, &run);
    rc = hocket__pg_finish(d, rc);
    k->base.hint |= rc == 0 && run;
    if (rc == 0 && !run)
        c->status = hocket__store_not_found(c);
    if (rc != HOCKET_EEXIST)
        return rc;
    rc = again ? message_is_there(d, c, run, &same) : 0;
    if (rc == 0 && !same)
        c->status = hocket__store_has_message(c);
    return rc;
}
