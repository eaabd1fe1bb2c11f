/* Runs that are handed in, and files that come along with a question. */
#include "store/sqlite/sqlite_impl.h"

int hocket__sqlite_put_along(
    struct hocket__sqlite_keeper *k, const struct hocket__store_call *c, int *status)
{
    struct hocket__str in = c->vector;
    struct hocket__store_row row;
    int rc = *status = 0;
    while (rc == 0 && *status == 0 && hocket__store_unpack(&in, &row) == 1)
        rc = row.kind == HOCKET__STORE_ROW_RUN ? hocket__sqlite_put_free(k, &row.run, status)
                                               : hocket__sqlite_put_file(k, &row.file);
    return rc;
}

static int submit(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    int status, rc = hocket__sqlite_put_along(k, c, &status);
    if (rc == 0 && status < 0)
        c->status = hocket__store_not_put(c, status);
    return rc;
}

int hocket__sqlite_submit(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    int rc = hocket__sqlite_change(k, c, submit);
    k->base.hint |= rc == 0 && c->status == 0;
    return rc;
}
