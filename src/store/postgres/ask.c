/* Questions: rows, packed. An answer has as many rows as fit into a piece, and the question remembers where the
 * next one begins, so that no cursor stays open between two pieces. How many fit is decided by the server, which
 * knows how long they are. */
#include "store/postgres/postgres_impl.h"

#include <stdio.h>

#define PATIENCE_MS 20000 /* how long a question waits for a connection */
#define GAP_MIN_MS  50
#define GAP_MAX_MS  2000

/* ---- Runs -------------------------------------------------------------------------------------- */

static void copy_id(struct hocket__str from, char to[HOCKET__STORE_ID + 1])
{
    if (from.n == HOCKET__STORE_ID)
        memcpy(to, from.p, from.n);
}

/* One that was removed still says what it was called. */
static void copy_parent(struct hocket__str from, char to[HOCKET__STORE_ID + 1])
{
    size_t skip = sizeof(HOCKET__PG_REMOVED) - 1;
    if (from.n > skip + HOCKET__STORE_ID && memcmp(from.p, HOCKET__PG_REMOVED, skip) == 0)
        from = hocket__str(from.p + skip, HOCKET__STORE_ID);
    copy_id(from, to);
}

static struct hocket__store_owner owner_of(struct hocket__pg *d, int row)
{
    struct hocket__store_owner o = { .pid = hocket__pg_int_of(d, row, PG_RUN_PID) };
    if (o.pid == 0)
        return o;
    o.host = hocket__pg_text_of(d, row, PG_RUN_HOST);
    o.since_ms = hocket__pg_int_of(d, row, PG_RUN_SINCE);
    o.lease_ms = hocket__pg_int_of(d, row, PG_RUN_LEASE);
    return o;
}

void hocket__pg_run_of(struct hocket__pg *d, int row, struct hocket__store_run *r)
{
    copy_id(hocket__pg_bytes_of(d, row, 0), r->id);
    copy_parent(hocket__pg_bytes_of(d, row, 1), r->parent);
    r->at_n = (uint64_t) hocket__pg_int_of(d, row, 2);
    r->at_seq = (uint64_t) hocket__pg_int_of(d, row, 3);
    r->target = hocket__pg_text_of(d, row, 4);
    r->input = hocket__pg_text_of(d, row, 5);
    r->options = hocket__pg_text_of(d, row, 6);
    r->generation = hocket__pg_text_of(d, row, 7);
    r->waiting_for = hocket__pg_text_of(d, row, 8);
    r->version = hocket__pg_text_of(d, row, 9);
    struct hocket__str seed = hocket__pg_bytes_of(d, row, 10);
    if (seed.n == sizeof(r->seed))
        memcpy(r->seed, seed.p, seed.n);
    r->state = hocket__store_state_of(hocket__pg_bytes_of(d, row, 11));
    if (r->state == HOCKET__STORE_STATE_COUNT)
        r->state = HOCKET__STORE_FAILED;
    r->simulated = hocket__pg_int_of(d, row, 12) != 0;
    r->cost = hocket__pg_count_of(d, row, 13);
    r->tokens = hocket__pg_count_of(d, row, 14);
    r->created_ms = hocket__pg_int_of(d, row, 15);
    r->updated_ms = hocket__pg_int_of(d, row, 16);
    r->last_n = (uint64_t) hocket__pg_int_of(d, row, 17);
    r->fence = (uint64_t) hocket__pg_int_of(d, row, 18);
    r->last_seq = (uint64_t) hocket__pg_int_of(d, row, PG_RUN_LAST_SEQ);
    r->pool = hocket__pg_text_of(d, row, PG_RUN_POOL);
    r->due_ms = hocket__pg_int_of(d, row, PG_RUN_POOL + 1);
    copy_id(hocket__pg_bytes_of(d, row, PG_RUN_POOL + 2), r->caller);
    r->project = hocket__pg_text_of(d, row, PG_RUN_POOL + 3);
    r->attempts = (uint32_t) hocket__pg_int_of(d, row, PG_RUN_POOL + 4);
    r->owner = owner_of(d, row);
}

int64_t hocket__pg_run_no(struct hocket__pg *d, struct hocket__str id, int *rc)
{
    hocket__pg_new(d);
    hocket__pg_text(d, id);
    *rc = hocket__pg_query(d, PG_RUN_ID, "SELECT no FROM runs WHERE id = $1");
    return *rc == 0 && hocket__pg_rows(d) == 1 ? hocket__pg_int_of(d, 0, 0) : 0;
}

/* Who had it and has ended has it no more, whatever the row says. */
static void give_run(struct hocket__pg_keeper *k, struct hocket__store_call *c, int i)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    hocket__pg_begin_row(&k->db, i);
    hocket__pg_run_of(&k->db, i, &row.run);
    if (row.run.owner.pid != 0 && !hocket__pg_is_held(k, i))
        row.run.owner = (struct hocket__store_owner){ 0 };
    hocket__store_pack(&c->rows, &row);
    copy_id(hocket__cstr(row.run.id), c->before);
}

/* Ids are of digits and capitals: what begins with a prefix lies before the prefix and a tilde. */
static int find(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_text(d, c->key);
    int rc = hocket__pg_query(d, PG_FIND,
        HOCKET__PG_RUN " WHERE r.id >= $1 AND r.id < $1 || '~' AND r.removed = 0"
                       " ORDER BY r.id LIMIT 2");
    if (rc < 0)
        return rc;
    char ids[2][HOCKET__STORE_ID + 1] = { "", "" };
    for (int i = 0; i < hocket__pg_rows(d); i++)
        copy_id(hocket__pg_bytes_of(d, i, 0), ids[i]);
    if (ids[1][0])
        c->status = hocket__store_ambiguous(c, ids[0], ids[1]);
    else if (!ids[0][0])
        c->status = hocket__store_not_found(c);
    else
        give_run(k, c, 0);
    return 0;
}

/* The states as a text in which their words are found. */
static void add_states(struct hocket__pg *d, unsigned states, char *words)
{
    words[0] = 0;
    for (int s = 0; s < HOCKET__STORE_STATE_COUNT; s++)
        if (states == 0 || (states >> s & 1))
            strcat(strcat(words, " "), hocket__store_state_word((enum hocket__store_state) s));
    strcat(words, " ");
    hocket__pg_text(d, hocket__cstr(words));
}

enum { RUNS_AT_ONCE = 100 };

static int list_runs(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    struct hocket__pg *d = &k->db;
    char words[128];
    int n = c->limit > 0 && c->limit < RUNS_AT_ONCE ? (int) c->limit : RUNS_AT_ONCE;
    hocket__pg_new(d);
    hocket__pg_text(d, c->before[0] ? hocket__cstr(c->before) : HOCKET__STR("~"));
    add_states(d, c->states, words);
    hocket__pg_int(d, c->updated_before_ms);
    hocket__pg_text(d, c->parent);
    hocket__pg_int(d, n);
    hocket__pg_text(d, c->key);
    hocket__pg_text(d, c->message_id);
    hocket__pg_text(d, c->json);
    int rc = hocket__pg_query(d, PG_RUNS,
        HOCKET__PG_RUN
        " WHERE r.id < $1 AND r.removed = 0 AND strpos($2, ' ' || r.state || ' ') > 0"
        " AND ($3 = 0 OR r.updated_ms < $3) AND ($4 = '' OR p.id = $4)"
        " AND ($6 = '' OR r.caller = $6) AND ($7 = '' OR r.pool = $7) AND ($8 = '' OR r.project = "
        "$8)"
        " ORDER BY r.id DESC LIMIT $5");
    if (rc < 0)
        return rc;
    for (int i = 0; i < hocket__pg_rows(d); i++)
        give_run(k, c, i);
    c->more = hocket__pg_rows(d) == n && c->limit != (size_t) n;
    if (c->limit > 0)
        c->limit -= (size_t) hocket__pg_rows(d);
    return 0;
}

/* ---- Entries and records --------------------------------------------------------------------------- */

struct part {
    int64_t run;
    uint64_t last; /* how far it goes there */
};

static int ask_chain(struct hocket__pg *d, int64_t run)
{
    hocket__pg_new(d);
    hocket__pg_int(d, run);
    return hocket__pg_query(d, PG_CHAIN, "SELECT parent, at_n, at_seq FROM runs WHERE no = $1");
}

/* Whose entry (or record) `from` is: the run's own, or that of the parent in which it was not yet. */
static int holder(
    struct hocket__pg *d, struct hocket__store_call *c, bool entries, struct part *part)
{
    for (;;) {
        int rc = ask_chain(d, part->run);
        if (rc < 0)
            return rc;
        bool there = hocket__pg_rows(d) == 1;
        int64_t parent = there ? hocket__pg_int_of(d, 0, 0) : 0;
        uint64_t at = there ? (uint64_t) hocket__pg_int_of(d, 0, entries ? 1 : 2) : 0;
        if (!parent || c->from > at)
            return 0;
        if (at < part->last)
            part->last = at;
        part->run = parent;
    }
}

/* The rows of `inner` (in its order, with the length of each as `size`) that fill a piece, and how many there would be. */
#define PIECE(columns, order, inner)                                                               \
    "SELECT " columns ", all_of FROM (SELECT *, sum(size) OVER (ORDER BY " order                   \
    ") AS total, count(*) OVER () AS all_of FROM (" inner ") i) p"                                 \
    " WHERE total - size < 262144 ORDER BY " order
#define AT_ONCE "1000"
enum { ROWS_AT_ONCE = 1000 };

/* Whether there are more than were given; all_of is the last column. */
static bool is_cut(const struct hocket__pg *d, int of)
{
    int n = hocket__pg_rows(d);
    return n > 0 && (hocket__pg_int_of(d, 0, of) > n || n == ROWS_AT_ONCE);
}

static int ask_part(
    struct hocket__pg *d, struct hocket__store_call *c, bool entries, struct part part)
{
    hocket__pg_new(d);
    hocket__pg_int(d, part.run);
    hocket__pg_int(d, (int64_t) c->from);
    hocket__pg_int(d, part.last < UINT32_MAX ? (int64_t) part.last : UINT32_MAX);
    if (entries)
        return hocket__pg_query(d, PG_ENTRIES,
            PIECE("n, tick, at_ms, kind, path, ord, name, digest, value, long_value", "n",
                "SELECT n, tick, at_ms, kind, path, ord, name, digest, value, t.text AS long_value,"
                " coalesce(octet_length(value), octet_length(t.text)) + 100 AS size"
                " FROM entries e LEFT JOIN texts t ON t.no = e.text"
                " WHERE run = $1 AND n BETWEEN $2 AND $3 ORDER BY n LIMIT " AT_ONCE));
    return hocket__pg_query(d, PG_RECORDS,
        PIECE("seq, json", "seq",
            "SELECT seq, json, octet_length(json) + 20 AS size FROM records"
            " WHERE run = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq LIMIT " AT_ONCE));
}

static void entry_of(struct hocket__pg *d, int i, struct hocket__store_row *row)
{
    struct hocket__store_entry *e = &row->entry;
    row->kind = HOCKET__STORE_ROW_ENTRY;
    e->n = (uint64_t) hocket__pg_int_of(d, i, 0);
    e->tick = (uint64_t) hocket__pg_int_of(d, i, 1);
    e->at_ms = hocket__pg_int_of(d, i, 2);
    e->kind = (uint8_t) hocket__pg_int_of(d, i, 3);
    e->path = (uint64_t) hocket__pg_int_of(d, i, 4);
    e->ord = (uint32_t) hocket__pg_int_of(d, i, 5);
    e->name = hocket__pg_text_of(d, i, 6);
    e->digest = hocket__pg_bytes_of(d, i, 7);
    e->value =
        hocket__pg_is_null(d, i, 8) ? hocket__pg_bytes_of(d, i, 9) : hocket__pg_text_of(d, i, 8);
}

static void record_of(struct hocket__pg *d, int i, struct hocket__store_row *row)
{
    row->kind = HOCKET__STORE_ROW_RECORD;
    row->record.seq = (uint64_t) hocket__pg_int_of(d, i, 0);
    row->record.json = hocket__pg_text_of(d, i, 1);
}

static int give_part(
    struct hocket__pg *d, struct hocket__store_call *c, bool entries, struct part part)
{
    int rc = ask_part(d, c, entries, part);
    if (rc < 0)
        return rc;
    for (int i = 0; i < hocket__pg_rows(d); i++) {
        struct hocket__store_row row;
        hocket__pg_begin_row(d, i);
        (entries ? entry_of : record_of)(d, i, &row);
        c->from = (entries ? row.entry.n : row.record.seq) + 1;
        hocket__store_pack(&c->rows, &row);
    }
    c->more = is_cut(d, entries ? 10 : 2);
    if (!c->more && part.last != UINT64_MAX) { /* on with the child that left it there */
        c->from = part.last + 1;
        c->more = true;
    }
    return 0;
}

static int list_rows(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    struct hocket__pg *d = &k->db;
    bool entries = c->kind == HOCKET__STORE_ENTRIES;
    int rc;
    struct part part = { hocket__pg_run_no(d, c->key, &rc), UINT64_MAX };
    if (rc == 0 && !part.run)
        c->status = hocket__store_not_found(c);
    if (part.run && c->of_parent && (rc = ask_chain(d, part.run)) == 0) {
        part.run = hocket__pg_rows(d) == 1 ? hocket__pg_int_of(d, 0, 0) : 0;
        if (!part.run)
            c->status = hocket__store_no_parent(c);
    }
    if (rc < 0 || c->status < 0 || c->from > UINT32_MAX)
        return rc;
    rc = holder(d, c, entries, &part);
    return rc < 0 ? rc : give_part(d, c, entries, part);
}

/* ---- Files, messages ---------------------------------------------------------------------------------- */

/* Goes on behind `after`, the last one of the piece before. */
static int remember(struct hocket__store_call *c, struct hocket__str last)
{
    if (!c->after.a)
        hocket__buf_init(&c->after, &hocket__malloc, 0);
    hocket__buf_reset(&c->after);
    return hocket__buf_addstr(&c->after, last);
}

static int list_files(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_text(d, c->key);
    hocket__pg_text(d, hocket__buf_str(&c->after));
    int rc = hocket__pg_query(d, PG_FILES,
        PIECE("path, hash, content", "path",
            "SELECT f.path, f.hash, t.text AS content, octet_length(t.text) + 100 AS size"
            " FROM files f JOIN texts t ON t.no = f.text"
            " WHERE f.generation = $1 AND f.path > $2 ORDER BY f.path LIMIT " AT_ONCE));
    if (rc < 0)
        return rc;
    c->more = is_cut(d, 3);
    for (int i = 0; i < hocket__pg_rows(d); i++) {
        struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_FILE };
        hocket__pg_begin_row(d, i);
        row.file = (struct hocket__store_file){ c->key, hocket__pg_text_of(d, i, 0),
            hocket__pg_text_of(d, i, 1), hocket__pg_bytes_of(d, i, 2) };
        hocket__store_pack(&c->rows, &row);
        if (c->more && i + 1 == hocket__pg_rows(d)) /* as it stands there: what is compared */
            c->rows.status |= remember(c, row.file.path);
    }
    return 0;
}

static int list_messages(struct hocket__pg_keeper *k, struct hocket__store_call *c)
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
        PIECE("no, id, at_ms, json", "no",
            "SELECT no, id, at_ms, json, octet_length(json) + 100 AS size FROM messages"
            " WHERE run = $1 AND json IS NOT NULL AND no > $2 ORDER BY no LIMIT " AT_ONCE));
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
    c->more = is_cut(d, 4);
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
static int insert_message(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again)
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

/* ---- Removing, counting ------------------------------------------------------------------------------- */

static int remove_run(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_text(d, c->key);
    int rc = hocket__pg_query(d, PG_TAKE_FIND, HOCKET__PG_RUN " WHERE r.id = $1 FOR UPDATE OF r");
    if (rc < 0)
        return rc;
    if (hocket__pg_rows(d) == 0) {
        if (!again)
            c->status = hocket__store_not_found(c);
        return 0;
    }
    int64_t no = hocket__pg_int_of(d, 0, PG_RUN_NO);
    if (!hocket__pg_is_held(k, 0))
        return hocket__pg_remove(k, no);
    hocket__pg_begin_row(d, 0);
    struct hocket__store_owner o = owner_of(d, 0);
    c->status = hocket__store_has_it(c, &o);
    return 0;
}

static int remove_named(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again)
{
    int rc = hocket__pg_begin(&k->db);
    if (rc == 0)
        rc = remove_run(k, c, again);
    return hocket__pg_finish(&k->db, rc);
}

static int stats(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    struct hocket__pg *d = &k->db;
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_STATS };
    hocket__pg_new(d);
    int rc = hocket__pg_query(d, PG_STATS,
        "SELECT (SELECT count(*) FROM runs WHERE removed = 0),"
        " (SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r'"
        " AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'runs'::regclass))");
    if (rc < 0)
        return rc;
    row.stats = (struct hocket__store_stats){ (uint64_t) hocket__pg_int_of(d, 0, 0),
        (uint64_t) hocket__pg_int_of(d, 0, 1), k->base.commits, k->base.syncs, k->base.pending };
    return hocket__store_pack(&c->rows, &row);
}

/* ---- Answers -------------------------------------------------------------------------------------------- */

static int answer(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again)
{
    switch (c->kind) {
    case HOCKET__STORE_FIND: return find(k, c);
    case HOCKET__STORE_TAKE: return hocket__pg_take(k, c);
    case HOCKET__STORE_TAKE_NEXT: return hocket__pg_take_next(k, c, again);
    case HOCKET__STORE_SPOKEN: return hocket__pg_spoken(k, c);
    case HOCKET__STORE_POOLS: return hocket__pg_pools(k, c);
    case HOCKET__STORE_BLOCKED: return hocket__pg_blocked(k, c);
    case HOCKET__STORE_RUNS: return list_runs(k, c);
    case HOCKET__STORE_ENTRIES:
    case HOCKET__STORE_RECORDS: return list_rows(k, c);
    case HOCKET__STORE_FILES: return list_files(k, c);
    case HOCKET__STORE_MESSAGES: return list_messages(k, c);
    case HOCKET__STORE_MESSAGE: return insert_message(k, c, again);
    case HOCKET__STORE_REMOVE: return remove_named(k, c, again);
    case HOCKET__STORE_STATS: return stats(k, c);
    case HOCKET__STORE_ITEM_PUT: return hocket__pg_item_put(k, c, again);
    case HOCKET__STORE_ITEM_DEL: return hocket__pg_item_del(k, c, again);
    case HOCKET__STORE_ITEMS: return hocket__pg_items(k, c);
    case HOCKET__STORE_CARE: return hocket__pg_care(k, c);
    case HOCKET__STORE_NOTE_PUT: return hocket__pg_note_put(k, c);
    case HOCKET__STORE_NOTE_DEL: return hocket__pg_note_del(k, c, again);
    case HOCKET__STORE_NOTES: return hocket__pg_notes(k, c);
    case HOCKET__STORE_DRAW: return hocket__pg_draw(k, c);
    }
    return 0;
}

static int attempt(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again)
{
    hocket__buf_reset(&c->rows);
    c->status = 0;
    c->more = false;
    int rc = hocket__pg_connect(&k->db);
    return rc == 0 ? answer(k, c, again) : rc;
}

/* Where a reading stands: what an attempt that failed may have moved on. The rest of a call is the loop's. */
struct place {
    uint64_t from;
    size_t limit;
    unsigned states;
    char before[HOCKET__STORE_ID + 1];
};

static struct place place_of(const struct hocket__store_call *c)
{
    struct place p = { c->from, c->limit, c->states, "" };
    memcpy(p.before, c->before, sizeof(p.before));
    return p;
}

static void go_back(struct hocket__store_call *c, const struct place *p)
{
    c->from = p->from;
    c->limit = p->limit;
    c->states = p->states;
    memcpy(c->before, p->before, sizeof(c->before));
}

/* A question waits for a connection that is made anew, and is asked again. */
int hocket__pg_answer(struct hocket__keeper *base, struct hocket__store_call *c)
{
    struct hocket__pg_keeper *k = hocket__pg_of(base);
    struct place place = place_of(c);
    int64_t end = hocket__keeper_clock() + PATIENCE_MS, gap = GAP_MIN_MS;
    int rc = attempt(k, c, false);
    while (rc < 0 && k->db.error.retryable && !atomic_load(&base->closing)
           && hocket__keeper_clock() < end) {
        uint64_t jitter = (uint64_t) base->self.store % (uint64_t) (gap / 2 + 1);
        hocket__pg_idle(&k->db, gap / 2 + (int64_t) jitter);
        gap = gap * 2 < GAP_MAX_MS ? gap * 2 : GAP_MAX_MS;
        go_back(c, &place);
        rc = attempt(k, c, true);
    }
    if (rc == 0 && k->db.out_of_memory)
        c->status = hocket__error_nomem(&c->error);
    k->db.out_of_memory = false;
    return rc;
}
