/* Questions, each to whom it is for; what the store as a whole is asked. */
#include "store/sql/sql.h"

#include <string.h>

#include "base/hash/hash.h"
#include "store/dialect.h"
#include "store/sum.h"

/* Items: rows of their own, written when nobody else has written them meanwhile. In PostgreSQL another session may put
 * the same item between two statements, and an answer may be lost. A repeated call that finds the item as it wants it,
 * with its run, has succeeded. */

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
    struct hocket__buf generation = hocket__buf(&hocket__malloc, 0);
    int rc = (c->q.kind == HOCKET__STORE_ITEM_PUT ? put : del)(w, c, &generation);
    hocket__buf_deinit(&generation);
    return rc;
}

static int change_item(struct hocket__writer *w, struct hocket__store_call *c)
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

static int sql_items(struct hocket__writer *w, struct hocket__store_call *c)
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

/* What belongs to a run: entries of its log, records, files of its generation, messages. An answer has as many rows as fit into a piece,
 * and the question remembers where the next one begins, so that nothing stays open between two pieces. */

/* ---- Entries and records ---------------------------------------------------------------------- */

struct part {
    int64_t run;
    uint64_t last; /* how far it goes there */
};

/* The parent, or 0; and where the run left it. */
static int64_t parent_of(struct hocket__writer *w, int64_t run, bool entries, uint64_t *at, int *rc)
{
    hocket__sql_new(w, HOCKET__SQL_CHAIN);
    hocket__sql_int(w, run);
    *rc = hocket__sql_step(w);
    int64_t parent = *rc == 1 ? hocket__sql_int_of(w, 0) : 0;
    *at = *rc == 1 ? (uint64_t) hocket__sql_int_of(w, entries ? 1 : 2) : 0;
    if (*rc == 1)
        hocket__sql_done(w);
    *rc = *rc < 0 ? *rc : 0;
    return parent;
}

/* Whose entry (or record) `from` is: the run's own, or that of the parent in which it was not yet. */
static int holder(
    struct hocket__writer *w, struct hocket__store_call *c, bool entries, struct part *part)
{
    for (;;) {
        uint64_t at;
        int rc;
        int64_t parent = parent_of(w, part->run, entries, &at, &rc);
        if (rc < 0 || !parent || c->place.from > at)
            return rc;
        if (at < part->last)
            part->last = at;
        part->run = parent;
    }
}

/* A long value stands in another table, as bytes. */
void hocket__sql_read_entry(struct hocket__writer *w, int at, struct hocket__store_entry *e)
{
    *e = (struct hocket__store_entry){ .n = (uint64_t) hocket__sql_int_of(w, at),
        .tick = (uint64_t) hocket__sql_int_of(w, at + 1),
        .at_ms = hocket__sql_int_of(w, at + 2),
        .kind = (uint8_t) hocket__sql_int_of(w, at + 3),
        .path = (uint64_t) hocket__sql_int_of(w, at + 4),
        .ord = (uint32_t) hocket__sql_int_of(w, at + 5),
        .name = hocket__sql_text_of(w, at + 6),
        .digest = hocket__sql_bytes_of(w, at + 7),
        .value = w->sql->is_null(w, at + 8) ? hocket__sql_bytes_of(w, at + 9)
                                            : hocket__sql_text_of(w, at + 8) };
}

bool hocket__sql_is_altered(struct hocket__writer *w, int column, int64_t sum)
{
    return !w->sql->is_null(w, column) && hocket__sql_int_of(w, column) != sum;
}

/* An altered row ends what is given: neither it nor one behind it reaches the reader. */
static void give_entry(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_ENTRY };
    hocket__sql_read_entry(w, 0, &row.entry);
    if (c->status == 0 && hocket__sql_is_altered(w, 10, hocket__store_sum_entry(&row.entry)))
        c->status = hocket__store_altered(c, "entry", (int64_t) row.entry.n, c->q.log.id);
    if (c->status < 0)
        return;
    hocket__store_pack(&c->rows, &row);
    c->place.from = row.entry.n + 1;
}

static void give_record(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RECORD };
    row.record = (struct hocket__store_record){ (uint64_t) hocket__sql_int_of(w, 0),
        hocket__sql_text_of(w, 1) };
    if (c->status == 0 && hocket__sql_is_altered(w, 2, hocket__store_sum_record(&row.record)))
        c->status = hocket__store_altered(c, "event", (int64_t) row.record.seq, c->q.log.id);
    if (c->status < 0)
        return;
    hocket__store_pack(&c->rows, &row);
    c->place.from = row.record.seq + 1;
}

static int give_part(
    struct hocket__writer *w, struct hocket__store_call *c, bool entries, struct part part)
{
    hocket__sql_new(w, entries ? HOCKET__SQL_ENTRIES : HOCKET__SQL_RECORDS);
    hocket__sql_int(w, part.run);
    hocket__sql_int(w, (int64_t) c->place.from);
    hocket__sql_int(w, part.last < UINT32_MAX ? (int64_t) part.last : UINT32_MAX);
    int rc =
        hocket__sql_give(w, c, entries ? give_entry : give_record, SQL_AT_ONCE, entries ? 11 : 3);
    if (rc == 0 && c->status == 0 && !c->more
        && part.last != UINT64_MAX) { /* on with the child that left it there */
        c->place.from = part.last + 1;
        c->more = true;
    }
    return rc;
}

static int sql_log(struct hocket__writer *w, struct hocket__store_call *c)
{
    bool entries = c->q.kind == HOCKET__STORE_ENTRIES;
    uint64_t at;
    int rc;
    struct part part = { hocket__sql_run_no(w, c->q.log.id, &rc), UINT64_MAX };
    if (rc == 0 && !part.run)
        c->status = hocket__store_not_found(c, c->q.log.id);
    if (part.run && c->q.log.of_parent
        && (part.run = parent_of(w, part.run, entries, &at, &rc)) == 0 && rc == 0)
        c->status = hocket__store_no_parent(c);
    if (rc < 0 || c->status < 0 || c->place.from > UINT32_MAX)
        return rc;
    rc = holder(w, c, entries, &part);
    return rc < 0 ? rc : give_part(w, c, entries, part);
}

/* ---- Files ------------------------------------------------------------------------------------ */

bool hocket__sql_is_text(struct hocket__str text, struct hocket__str digest)
{
    uint8_t is[HOCKET__SHA256];
    hocket__sha256(text, is);
    return digest.n == sizeof(is) && memcmp(is, digest.p, sizeof(is)) == 0;
}

static void give_file(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_FILE };
    if (!hocket__sql_is_text(hocket__sql_bytes_of(w, 2), hocket__sql_bytes_of(w, 3)))
        c->status = hocket__store_altered(c, "a file", 0, c->q.files.generation);
    row.file = (struct hocket__store_file){ c->q.files.generation, hocket__sql_text_of(w, 0),
        hocket__sql_text_of(w, 1), hocket__sql_bytes_of(w, 2) };
    hocket__store_pack(&c->rows, &row);
    c->rows.status |= hocket__store_continue_after(c, row.file.path);
}

static int sql_files(struct hocket__writer *w, struct hocket__store_call *c)
{
    hocket__sql_new(w, HOCKET__SQL_FILES);
    hocket__sql_text(w, c->q.files.generation);
    hocket__sql_text(w, hocket__buf_str(&c->after));
    return hocket__sql_give(w, c, give_file, SQL_AT_ONCE, 4);
}

/* ---- Messages --------------------------------------------------------------------------------- */

static void give_message(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_MESSAGE };
    row.message = (struct hocket__store_message){ hocket__sql_text_of(w, 1),
        hocket__sql_int_of(w, 2), hocket__sql_text_of(w, 3) };
    if (hocket__sql_is_altered(w, 4, hocket__store_sum_message(&row.message)))
        c->status = hocket__store_altered(c, "a message", 0, c->q.run.id);
    hocket__store_pack(&c->rows, &row);
    c->place.from = (uint64_t) hocket__sql_int_of(w, 0);
}

static int messages(struct hocket__writer *w, struct hocket__store_call *c)
{
    int rc;
    int64_t run = hocket__sql_run_no(w, c->q.run.id, &rc);
    if (rc == 0 && !run)
        c->status = hocket__store_not_found(c, c->q.run.id);
    if (rc < 0 || !run)
        return rc;
    hocket__sql_new(w, HOCKET__SQL_MESSAGES);
    hocket__sql_int(w, run);
    hocket__sql_int(w, (int64_t) c->place.from);
    return hocket__sql_give(w, c, give_message, SQL_AT_ONCE, 5);
}

static int stats(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_STATS };
    int rc;
    row.stats.runs = (uint64_t) hocket__sql_count_runs(w, &rc);
    hocket__sql_new(w, HOCKET__SQL_BYTES);
    if (rc == 0)
        row.stats.bytes = (uint64_t) hocket__sql_number(w, &rc);
    row.stats.commits = w->commits;
    row.stats.syncs = w->syncs;
    row.stats.pending = w->pending;
    hocket__store_pack(&c->rows, &row);
    return rc;
}

int hocket__sql_check(
    struct hocket__writer *w, struct hocket__store_call *c, const char *name, unsigned statement)
{
    int rc;
    hocket__sql_new(w, statement);
    while ((rc = hocket__sql_step(w)) == 1) {
        struct hocket__str text = hocket__sql_text_of(w, 0);
        if (!hocket__str_is(text, "ok"))
            hocket__store_add_row(c, name, "%.*s", (int) text.n, text.p);
    }
    return rc;
}

/* Rows of a name and numbers, as texts with spaces. */
static int give_numbers(
    struct hocket__writer *w, struct hocket__store_call *c, const char *name, unsigned statement)
{
    int rc;
    hocket__sql_new(w, statement);
    while ((rc = hocket__sql_step(w)) == 1) {
        struct hocket__str of = hocket__sql_text_of(w, 0);
        hocket__store_add_row(c, name, "%.*s %lld %lld %lld", (int) of.n, of.p,
            (long long) hocket__sql_int_of(w, 1), (long long) hocket__sql_int_of(w, 2),
            (long long) hocket__sql_int_of(w, 3));
    }
    return rc;
}

int hocket__sql_measure(struct hocket__writer *w, struct hocket__store_call *c)
{
    int rc = give_numbers(w, c, "kind", HOCKET__SQL_MEASURE_KINDS);
    return rc == 0 ? give_numbers(w, c, "run", HOCKET__SQL_MEASURE_RUNS) : rc;
}

int hocket__sql_answer(struct hocket__writer *w, struct hocket__store_call *c)
{
    static const hocket__sql_answer_cb answers[HOCKET__STORE_CALLS] = {
        [HOCKET__STORE_FIND] = hocket__sql_find,
        [HOCKET__STORE_TAKE] = hocket__sql_take,
        [HOCKET__STORE_POOLS] = hocket__sql_pools,
        [HOCKET__STORE_BLOCKED] = hocket__sql_blocked,
        [HOCKET__STORE_RUNS] = hocket__sql_list_runs,
        [HOCKET__STORE_ENTRIES] = sql_log,
        [HOCKET__STORE_RECORDS] = sql_log,
        [HOCKET__STORE_FILES] = sql_files,
        [HOCKET__STORE_MESSAGES] = messages,
        [HOCKET__STORE_MESSAGE] = hocket__sql_message,
        [HOCKET__STORE_SUBMIT] = hocket__sql_submit,
        [HOCKET__STORE_REMOVE] = hocket__sql_remove,
        [HOCKET__STORE_STATS] = stats,
        [HOCKET__STORE_ITEM_PUT] = change_item,
        [HOCKET__STORE_ITEM_DEL] = change_item,
        [HOCKET__STORE_ITEMS] = sql_items,
        [HOCKET__STORE_NOTES] = hocket__sql_notes,
        [HOCKET__STORE_DRAW] = hocket__sql_draw,
    };
    return (answers[c->q.kind] ? answers[c->q.kind] : w->sql->answers[c->q.kind])(w, c);
}
