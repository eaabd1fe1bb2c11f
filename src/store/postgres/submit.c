/* Runs that are handed in, and files that come along with a question: as in a file (sqlite/submit.c), but that an answer may be lost.
 * One that was asked for again, and whose run is there with the very seed, or was and has left its trace (sweep.c), is what was
 * asked for. */
#include "store/postgres/postgres_impl.h"

static int put_files(struct hocket__pg *d, struct hocket__str rows)
{
    struct hocket__store_row row;
    bool any = false;
    int rc = 0;
    while (rc == 0 && hocket__store_unpack(&rows, &row) == 1) {
        if (row.kind != HOCKET__STORE_ROW_FILE)
            continue;
        rc = hocket__pg_send_file(d, &row.file);
        any = true;
    }
    if (rc < 0 || !any)
        return rc;
    rc = hocket__pg_sync(d);
    return rc < 0 ? rc : hocket__pg_end(d);
}

int hocket__pg_put_along(
    struct hocket__pg_keeper *k, const struct hocket__store_call *c, int *status)
{
    struct hocket__store_row row;
    int rc = *status = 0;
    if (hocket__store_run_along(c, &row))
        rc = hocket__pg_put_free(k, &row.run, status);
    return rc < 0 || *status < 0 ? rc : put_files(&k->db, c->vector);
}

/* 1: it was, by the attempt before. */
static int was_put(struct hocket__pg_keeper *k, const struct hocket__store_call *c, bool again)
{
    struct hocket__store_row row;
    return again && hocket__store_run_along(c, &row) ? hocket__pg_is_put(k, &row.run) : 0;
}

static int submit(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again)
{
    int status = 0, rc = was_put(k, c, again);
    if (rc == 0)
        rc = hocket__pg_put_along(k, c, &status);
    if (status < 0)
        c->status = hocket__store_not_put(c, status);
    return rc < 0 ? rc : c->status;
}

/* A question that is refused leaves nothing: it is rolled back. */
int hocket__pg_submit(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again)
{
    int rc = hocket__pg_begin(&k->db);
    if (rc == 0)
        rc = submit(k, c, again);
    rc = hocket__pg_finish(&k->db, rc);
    k->base.hint |= rc == 0;
    return rc == c->status ? 0 : rc;
}
