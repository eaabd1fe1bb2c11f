/* Items: rows of their own, written when nobody else has written them meanwhile. In PostgreSQL another may put the same one between two
 * statements, and an answer may be lost: one that is asked for again, and stands there as it was to be, with its run, is what was asked
 * for. */
#include "store/sql/sql.h"
#include "store/dialect.h"

static void add_name(
    struct hocket__keeper *k, const struct hocket__store_call *c, unsigned statement)
{
    hocket__sql_new(k, statement);
    hocket__sql_text(k, c->q.item.item.kind);
    hocket__sql_text(k, c->q.item.item.id);
}

/* What is there, locked: its version, or 0, and its generations. */
static int find(struct hocket__keeper *k, struct hocket__store_call *c, int64_t *version,
    struct hocket__buf *generation)
{
    add_name(k, c, HOCKET__SQL_ITEM_FIND);
    int rc = hocket__sql_step(k);
    *version = rc == 1 ? hocket__sql_int_of(k, 0) : 0;
    if (rc != 1)
        return rc;
    hocket__buf_addstr(generation, hocket__sql_text_of(k, 1));
    hocket__sql_done(k);
    return generation->status < 0 ? hocket__error_nomem(k->error) : 0;
}

static int put_along(struct hocket__keeper *k, struct hocket__store_call *c)
{
    int status, rc = hocket__sql_put_along(k, c, &status);
    if (rc == 0 && status < 0)
        c->status = hocket__store_item_refuse(c, status);
    return rc;
}

static int write_item(struct hocket__keeper *k, const struct hocket__store_item *i, bool is_new)
{
    hocket__sql_new(k, is_new ? HOCKET__SQL_ITEM_NEW : HOCKET__SQL_ITEM_PUT);
    hocket__sql_text(k, i->kind);
    hocket__sql_text(k, i->id);
    hocket__sql_int(k, i->version);
    hocket__sql_int(k, i->due_ms);
    hocket__sql_int(k, i->at_ms);
    hocket__sql_text_or_null(k, i->generation);
    hocket__sql_text(k, i->json);
    return hocket__sql_run(k);
}

/* Another has put it since it was not there: whoever wants any version looks again. */
static int lost(struct hocket__keeper *k, struct hocket__store_call *c)
{
    if (c->q.item.expected != HOCKET__STORE_ANY)
        return c->status = hocket__store_item_refuse(c, HOCKET_ESTATE), 0;
    hocket__error(k->error, HOCKET_EIO, "another has put the same item");
    k->error->retryable = true;
    return HOCKET_EIO;
}

/* Whether it stands there as this call was to leave it. */
static int is_done(
    struct hocket__keeper *k, struct hocket__store_call *c, int64_t version, bool *done)
{
    struct hocket__store_row row;
    int64_t expected = c->q.item.expected;
    int rc;
    *done = false;
    if (version == 0 || (expected > 0 && version != expected + 1))
        return 0;
    bool with_run = hocket__store_run_along(c, &row);
    add_name(k, c, HOCKET__SQL_ITEM_SAME);
    hocket__sql_int(k, c->q.item.item.due_ms);
    hocket__sql_text(k, c->q.item.item.json);
    *done = hocket__sql_number(k, &rc) == 1;
    if (*done && with_run) {
        rc = k->sql->is_put(k, &row.run);
        *done = rc == 1;
    }
    if (*done)
        hocket__store_item_told(c, version);
    return rc < 0 ? rc : 0;
}

static int write_new(struct hocket__keeper *k, struct hocket__store_call *c, int64_t version,
    struct hocket__str generation)
{
    int64_t now = k->ops->now(k);
    struct hocket__store_item item =
        hocket__store_item_of(c, hocket__store_item_version(version, now), now);
    int rc = write_item(k, &item, version == 0);
    if (rc == 0 && k->sql->changed(k) == 0)
        return lost(k, c);
    if (rc == 0 && generation.n > 0 && !hocket__str_eq(generation, item.generation))
        rc = hocket__sql_drop_files(k, generation, true);
    if (rc == 0)
        hocket__store_item_told(c, item.version);
    return rc;
}

/* What is refused by its run leaves the item as it was. */
static int put(
    struct hocket__keeper *k, struct hocket__store_call *c, struct hocket__buf *generation)
{
    int64_t version;
    bool done = false;
    int rc = find(k, c, &version, generation);
    if (rc == 0 && k->again)
        rc = is_done(k, c, version, &done);
    if (rc < 0 || done)
        return rc;
    if ((c->status = hocket__store_item_judge(c, version)) == 0)
        rc = put_along(k, c);
    return rc < 0 || c->status < 0 ? rc : write_new(k, c, version, hocket__buf_str(generation));
}

/* Asked again it may be gone by what was asked first. */
static int del(
    struct hocket__keeper *k, struct hocket__store_call *c, struct hocket__buf *generation)
{
    int64_t version;
    int rc = find(k, c, &version, generation);
    if (rc < 0 || (k->again && version == 0))
        return rc;
    if ((c->status = hocket__store_item_judge(c, version)) < 0)
        return 0;
    add_name(k, c, HOCKET__SQL_ITEM_DEL);
    rc = hocket__sql_run(k);
    return rc == 0 ? hocket__sql_drop_files(k, hocket__buf_str(generation), true) : rc;
}

/* Within the transaction. */
static int change(struct hocket__keeper *k, struct hocket__store_call *c)
{
    struct hocket__buf generation;
    hocket__buf_init(&generation, &hocket__malloc, 0);
    int rc = (c->q.kind == HOCKET__STORE_ITEM_PUT ? put : del)(k, c, &generation);
    hocket__buf_deinit(&generation);
    return rc;
}

int hocket__sql_change_item(struct hocket__keeper *k, struct hocket__store_call *c)
{
    int rc = k->sql->change(k, c, change);
    k->hint |= rc == 0 && c->status == 0 && c->q.item.along.n > 0;
    return rc;
}

/* ---- Reading ---------------------------------------------------------------------------------- */

static void give_item(struct hocket__keeper *k, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_ITEM };
    if (c->status < 0 || (k->sql->is_for_others && k->sql->is_for_others(k, c)))
        return;
    row.item = (struct hocket__store_item){ c->q.items.kind, hocket__sql_text_of(k, 0),
        hocket__sql_int_of(k, 1), hocket__sql_int_of(k, 2), hocket__sql_int_of(k, 3),
        hocket__sql_text_of(k, 4), hocket__sql_text_of(k, 5), k->ops->now(k) };
    hocket__store_pack(&c->rows, &row);
    c->rows.status |= hocket__store_item_behind(c, &row.item);
}

int hocket__sql_items(struct hocket__keeper *k, struct hocket__store_call *c)
{
    hocket__sql_new(k, HOCKET__SQL_ITEMS);
    hocket__sql_text(k, c->q.items.kind);
    hocket__sql_text(k, c->q.items.id);
    hocket__sql_int(k, (int64_t) c->place.from);
    hocket__sql_text(k, hocket__buf_str(&c->after));
    hocket__sql_int(k, hocket__store_items_until(c, k->ops->now(k)));
    int rc = hocket__sql_give(k, c, give_item, SQL_AT_ONCE, 7);
    c->more &= c->status == 0;
    return rc;
}
