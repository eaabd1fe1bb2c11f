/* Items: rows of their own, written when nobody else has written them meanwhile. In PostgreSQL another may put the same one between two
 * statements, and an answer may be lost: one that is asked for again, and stands there as it was to be, with its run, is what was asked
 * for. */
#include "store/sql/sql.h"
#include "store/dialect.h"

static void add_name(
    struct hocket__writer *w, const struct hocket__store_call *c, unsigned statement)
{
    hocket__sql_new(w, statement);
    hocket__sql_text(w, c->q.item.item.kind);
    hocket__sql_text(w, c->q.item.item.id);
}

/* What is there, locked: its version, or 0, and its generations. */
static int find(struct hocket__writer *w, struct hocket__store_call *c, int64_t *version,
    struct hocket__buf *generation)
{
    add_name(w, c, HOCKET__SQL_ITEM_FIND);
    int rc = hocket__sql_step(w);
    *version = rc == 1 ? hocket__sql_int_of(w, 0) : 0;
    if (rc != 1)
        return rc;
    hocket__buf_addstr(generation, hocket__sql_text_of(w, 1));
    hocket__sql_done(w);
    return generation->status < 0 ? hocket__error_nomem(w->error) : 0;
}

static int put_bundle(struct hocket__writer *w, struct hocket__store_call *c)
{
    int status, rc = hocket__sql_put_bundle(w, c, &status);
    if (rc == 0 && status < 0)
        c->status = hocket__store_item_refuse(c, status);
    return rc;
}

static int write_item(struct hocket__writer *w, const struct hocket__store_item *i, bool is_new)
{
    hocket__sql_new(w, is_new ? HOCKET__SQL_ITEM_NEW : HOCKET__SQL_ITEM_PUT);
    hocket__sql_text(w, i->kind);
    hocket__sql_text(w, i->id);
    hocket__sql_int(w, i->version);
    hocket__sql_int(w, i->due_ms);
    hocket__sql_int(w, i->at_ms);
    hocket__sql_text_or_null(w, i->generation);
    hocket__sql_text(w, i->json);
    return hocket__sql_run(w);
}

/* Another has put it since it was not there: whoever wants any version looks again. */
static int lost(struct hocket__writer *w, struct hocket__store_call *c)
{
    if (c->q.item.expected != HOCKET__STORE_ANY)
        return c->status = hocket__store_item_refuse(c, HOCKET_ESTATE), 0;
    hocket__error(w->error, HOCKET_EIO, "another has put the same item");
    w->error->retryable = true;
    return HOCKET_EIO;
}

/* Whether it stands there as this call was to leave it. */
static int is_done(
    struct hocket__writer *w, struct hocket__store_call *c, int64_t version, bool *done)
{
    struct hocket__store_row row;
    int64_t expected = c->q.item.expected;
    int rc;
    *done = false;
    if (version == 0 || (expected > 0 && version != expected + 1))
        return 0;
    bool with_run = hocket__store_bundle_run(c, &row);
    add_name(w, c, HOCKET__SQL_ITEM_SAME);
    hocket__sql_int(w, c->q.item.item.due_ms);
    hocket__sql_text(w, c->q.item.item.json);
    *done = hocket__sql_number(w, &rc) == 1;
    if (*done && with_run) {
        rc = w->sql->is_put(w, &row.run);
        *done = rc == 1;
    }
    if (*done)
        hocket__store_item_answer(c, version);
    return rc < 0 ? rc : 0;
}

static int write_new(struct hocket__writer *w, struct hocket__store_call *c, int64_t version,
    struct hocket__str generation)
{
    int64_t now = w->ops->now(w);
    struct hocket__store_item item =
        hocket__store_item_of(c, hocket__store_item_version(version, now), now);
    int rc = write_item(w, &item, version == 0);
    if (rc == 0 && w->sql->changed(w) == 0)
        return lost(w, c);
    if (rc == 0 && generation.n > 0 && !hocket__str_eq(generation, item.generation))
        rc = hocket__sql_drop_files(w, generation, true);
    if (rc == 0)
        hocket__store_item_answer(c, item.version);
    return rc;
}

/* What is refused by its run leaves the item as it was. */
static int put(
    struct hocket__writer *w, struct hocket__store_call *c, struct hocket__buf *generation)
{
    int64_t version;
    bool done = false;
    int rc = find(w, c, &version, generation);
    if (rc == 0 && w->again)
        rc = is_done(w, c, version, &done);
    if (rc < 0 || done)
        return rc;
    if ((c->status = hocket__store_item_check(c, version)) == 0)
        rc = put_bundle(w, c);
    return rc < 0 || c->status < 0 ? rc : write_new(w, c, version, hocket__buf_str(generation));
}

/* Asked again it may be gone by what was asked first. */
static int del(
    struct hocket__writer *w, struct hocket__store_call *c, struct hocket__buf *generation)
{
    int64_t version;
    int rc = find(w, c, &version, generation);
    if (rc < 0 || (w->again && version == 0))
        return rc;
    if ((c->status = hocket__store_item_check(c, version)) < 0)
        return 0;
    add_name(w, c, HOCKET__SQL_ITEM_DEL);
    rc = hocket__sql_run(w);
    return rc == 0 ? hocket__sql_drop_files(w, hocket__buf_str(generation), true) : rc;
}

/* Within the transaction. */
static int change(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__buf generation;
    hocket__buf_init(&generation, &hocket__malloc, 0);
    int rc = (c->q.kind == HOCKET__STORE_ITEM_PUT ? put : del)(w, c, &generation);
    hocket__buf_deinit(&generation);
    return rc;
}

int hocket__sql_change_item(struct hocket__writer *w, struct hocket__store_call *c)
{
    int rc = w->sql->change(w, c, change);
    w->hint |= rc == 0 && c->status == 0 && c->q.item.bundle.n > 0;
    return rc;
}

/* ---- Reading ---------------------------------------------------------------------------------- */

static void give_item(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_ITEM };
    if (c->status < 0 || (w->sql->is_for_others && w->sql->is_for_others(w, c)))
        return;
    row.item = (struct hocket__store_item){ c->q.items.kind, hocket__sql_text_of(w, 0),
        hocket__sql_int_of(w, 1), hocket__sql_int_of(w, 2), hocket__sql_int_of(w, 3),
        hocket__sql_text_of(w, 4), hocket__sql_text_of(w, 5), w->ops->now(w) };
    hocket__store_pack(&c->rows, &row);
    c->rows.status |= hocket__store_item_continue_after(c, &row.item);
}

int hocket__sql_items(struct hocket__writer *w, struct hocket__store_call *c)
{
    hocket__sql_new(w, HOCKET__SQL_ITEMS);
    hocket__sql_text(w, c->q.items.kind);
    hocket__sql_text(w, c->q.items.id);
    hocket__sql_int(w, (int64_t) c->place.from);
    hocket__sql_text(w, hocket__buf_str(&c->after));
    hocket__sql_int(w, hocket__store_items_until(c, w->ops->now(w)));
    int rc = hocket__sql_give(w, c, give_item, SQL_AT_ONCE, 7);
    c->more &= c->status == 0;
    return rc;
}
