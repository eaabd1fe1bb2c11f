/* The bundle of a question, to be written in its transaction: a run that nobody has, and files. As bytes, one row behind the
 * other, so that it goes to the backend's thread with the question. All of it is checked before: what a backend is given it can
 * write. */
#include "store/store_impl.h"

static int pack_run(
    struct hocket__store *s, const struct hocket__store_run *run, struct hocket__buf *out)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN, .run = *run };
    if (!hocket__store_is_new(run) || run->parent[0])
        return HOCKET_EINVAL;
    row.run.last_n = row.run.at_n = row.run.last_seq = row.run.at_seq = 0;
    row.run.fence = row.run.attempts = 0;
    row.run.owner = (struct hocket__store_owner){ .host = HOCKET__STR("") };
    int rc = hocket__store_pack(out, &row);
    bool fits = out->len <= HOCKET__STORE_MAX_ROW && hocket__store_fits_index(s, run->pool);
    return rc < 0 ? rc : fits ? 0 : HOCKET_ELIMIT;
}

static int check_file(const struct hocket__store *s, const struct hocket__store_row *row, size_t n)
{
    const struct hocket__store_file *f = &row->file;
    if (row->kind != HOCKET__STORE_ROW_FILE || f->generation.n == 0 || f->path.n == 0)
        return HOCKET_EINVAL;
    bool fair = hocket__store_fits_index(s, f->generation) && hocket__store_fits_index(s, f->path);
    return fair && n <= HOCKET__STORE_MAX_ROW ? 0 : HOCKET_ELIMIT;
}

static int check_files(const struct hocket__store *s, struct hocket__str files)
{
    struct hocket__store_row row;
    int rc = 0, more = 1;
    while (rc == 0 && more == 1) {
        size_t before = files.n;
        if ((more = hocket__store_unpack(&files, &row)) == 1)
            rc = check_file(s, &row, before - files.n);
    }
    return rc < 0 ? rc : more < 0 ? HOCKET_EINVAL : 0;
}

int hocket__store_pack_bundle(struct hocket__store *s, const struct hocket__store_run *run,
    struct hocket__str files, struct hocket__buf *out)
{
    int rc = run ? pack_run(s, run, out) : 0;
    if (rc == 0)
        rc = check_files(s, files);
    return rc < 0 ? rc : hocket__buf_addstr(out, files);
}

struct hocket__str hocket__store_bundle(const struct hocket__store_call *c)
{
    return c->q.kind == HOCKET__STORE_SUBMIT ? c->q.submit.bundle : c->q.item.bundle;
}

bool hocket__store_bundle_run(const struct hocket__store_call *c, struct hocket__store_row *row)
{
    struct hocket__str in = hocket__store_bundle(c);
    return hocket__store_unpack(&in, row) == 1 && row->kind == HOCKET__STORE_ROW_RUN;
}

int hocket__store_not_put(struct hocket__store_call *c, int status)
{
    struct hocket__store_row row;
    if (hocket__store_bundle_run(c, &row))
        hocket__store_refusal(HOCKET__STORE_PUT, row.run.id, status, &c->error);
    return status;
}
