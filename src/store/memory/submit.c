/* Runs that are handed in, and the bundles of questions: a run and its files. */
#include "store/memory/memory_impl.h"

/* Like hocket__store_put, but nobody has the run. */
static int put_run(struct hocket__memory *m, const struct hocket__store_row *row)
{
    struct hocket__store_command put = { .kind = HOCKET__STORE_PUT, .row = *row };
    memcpy(put.id, row->run.id, sizeof(put.id));
    int rc = hocket__memory_apply(m, &put);
    if (rc == 0)
        hocket__memory_find_run(m, hocket__cstr(put.id))->owned = false;
    return rc;
}

static int put_row(struct hocket__memory *m, const struct hocket__store_row *row)
{
    struct hocket__store_command file = { .kind = HOCKET__STORE_FILE, .row = *row };
    return row->kind == HOCKET__STORE_ROW_RUN ? put_run(m, row) : hocket__memory_apply(m, &file);
}

/* The run, and files that nobody else has. */
static void take_back(struct hocket__memory *m, const struct hocket__store_call *c)
{
    struct hocket__str in = hocket__store_bundle(c);
    struct hocket__store_row row;
    struct hocket__memory_run *r = hocket__store_bundle_run(c, &row)
                                       ? hocket__memory_find_run(m, hocket__cstr(row.run.id))
                                       : NULL;
    if (r)
        hocket__memory_free_run(m, r);
    while (hocket__store_unpack(&in, &row) == 1)
        if (row.kind == HOCKET__STORE_ROW_FILE)
            hocket__memory_drop_files(m, row.file.generation);
}

int hocket__memory_put_along(struct hocket__memory *m, const struct hocket__store_call *c)
{
    struct hocket__str in = hocket__store_bundle(c);
    struct hocket__store_row row;
    int rc = 0;
    while (rc == 0 && hocket__store_unpack(&in, &row) == 1)
        rc = put_row(m, &row);
    if (rc == HOCKET_ENOMEM)
        take_back(m, c);
    return rc;
}

void hocket__memory_submit(struct hocket__memory *m, struct hocket__store_call *c)
{
    int rc = hocket__memory_put_along(m, c);
    if (rc < 0)
        c->status =
            rc == HOCKET_ENOMEM ? hocket__error_nomem(&c->error) : hocket__store_not_put(c, rc);
}
