/* PostgreSQL as the statements that are shared see it (sql/sql.h): what is sent is a part of a pipeline until it is flushed, and an answer
 * comes as a whole. */
#include "store/postgres/postgres_impl.h"

#include "store/texts.h"

/* ---- Texts ------------------------------------------------------------------------------------ */

/* Of the generation $1, among what else such locks are of. */
#define FILES_OF "hashtextextended('hocket files ' || $1, 0)"
/* $N is NULL, or what a test says that the time is. */
#define NOW(N)                                                                                     \
    "(SELECT coalesce($" #N ", (extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS now)"
#define OWN                                                                                        \
    "owner_pid = $2, owner_host = $3, owner_place = $4, owner_start = $5, owner_store = $6,"       \
    " owner_since_ms = (SELECT now FROM t), lease_ms = (SELECT now FROM t) + $7"
#define TOLD " RETURNING r.no" HOCKET__RUN_LIST(RETURNED) ", r.writes"

/* What was lost and what had a time comes first, then what is due at once (HOCKET__QUEUE_AT): two looks at a pool. */
#define LOOK                                                                                       \
    "(SELECT no, id, " HOCKET__QUEUE_AT " AS at_ms, owner_pid <> 0 OR state = 'running' AS lost"   \
    " FROM runs WHERE " HOCKET__QUEUE_OPEN " AND pool COLLATE \"C\" = "
#define FIRST                                                                                      \
    " AND (owner_pid = 0 OR lease_ms <= $10) AND NOT (id = ANY(string_to_array($9, ',')))"         \
    " ORDER BY " HOCKET__QUEUE_AT ", id LIMIT $11 FOR NO KEY UPDATE SKIP LOCKED)"
/* WITH is evaluated once: without it an UPDATE may evaluate its join several times, and lock several rows. Of the found
 * runs, a lost one is taken alone; others are taken up to the first lost one. */
#define BEST "WITH t AS MATERIALIZED " NOW(8) ", found AS MATERIALIZED ("
#define TAKEN                                                                                      \
    "), best AS MATERIALIZED (SELECT no, nth FROM (SELECT no, row_number() OVER w AS nth,"         \
    " bool_or(lost) OVER w AS lost FROM found WINDOW w AS (ORDER BY at_ms = 0, at_ms, id)) f"      \
    " WHERE nth = 1 OR NOT lost), taken AS (UPDATE runs r SET " HOCKET__QUEUE_TAKE ", " OWN        \
    " WHERE r.no = ANY(ARRAY(SELECT no FROM best))" TOLD                                           \
    ", array_position(ARRAY(SELECT no FROM best ORDER BY nth), r.no) AS nth)"                      \
    " SELECT * FROM taken ORDER BY nth"

#define ONCE
static const char *const texts[] = {
#define S(NAME, ...) [HOCKET__SQL_##NAME] = __VA_ARGS__,
#include "store/statements.h"
#undef S
#define S(NAME, ...) [PG_##NAME] = __VA_ARGS__,
#include "store/postgres/statements.h"
#undef S
};
_Static_assert(sizeof(texts) / sizeof(texts[0]) < HOCKET__PG_STATEMENTS, "each has a slot");

static bool is_once(unsigned statement)
{
    return statement >= PG_ONCE
           || (statement >= HOCKET__SQL_ONCE && statement < HOCKET__SQL_STATEMENTS);
}

/* Its slot, and its text where that is still to be prepared. */
static int prepare(struct hocket__pg_writer *w, unsigned *slot, const char **text)
{
    struct hocket__pg *d = &w->db;
    *slot = is_once(w->statement) ? 0 : w->statement + 1;
    *text = "";
    if (*slot > 0 && d->prepared[*slot])
        return 0;
    hocket__buf_reset(&w->text);
    hocket__sql_write(&w->text, texts[w->statement], '$');
    *text = w->text.data;
    return w->text.status < 0 ? hocket__error_nomem(&d->error) : 0;
}

/* ---- Statements ------------------------------------------------------------------------------- */

static void new_statement(struct hocket__writer *base, unsigned statement)
{
    struct hocket__pg_writer *w = hocket__pg_of(base);
    hocket__pg_new(&w->db);
    w->statement = statement;
    w->row = -1;
}

static void put_int(struct hocket__writer *w, int64_t v)
{
    hocket__pg_int(&hocket__pg_of(w)->db, v);
}

static void put_null(struct hocket__writer *w, bool is_number)
{
    if (is_number)
        hocket__pg_count(&hocket__pg_of(w)->db, -1);
    else
        hocket__pg_text_or_null(&hocket__pg_of(w)->db, HOCKET__STR(""));
}

static void put_text(struct hocket__writer *w, struct hocket__str s)
{
    hocket__pg_text(&hocket__pg_of(w)->db, s);
}

static void put_bytes(struct hocket__writer *w, struct hocket__str s)
{
    hocket__pg_bytes(&hocket__pg_of(w)->db, s);
}

static int send_statement(struct hocket__writer *base)
{
    struct hocket__pg_writer *w = hocket__pg_of(base);
    const char *text;
    unsigned slot;
    int rc = prepare(w, &slot, &text);
    return rc < 0 ? rc : hocket__pg_send(&w->db, slot, text);
}

static int ask(struct hocket__pg_writer *w)
{
    const char *text;
    unsigned slot;
    int rc = prepare(w, &slot, &text);
    return rc < 0 ? rc : hocket__pg_query(&w->db, slot, text);
}

static int step(struct hocket__writer *base)
{
    struct hocket__pg_writer *w = hocket__pg_of(base);
    int rc = w->row < 0 ? ask(w) : 0;
    if (rc < 0)
        return rc;
    if (++w->row >= hocket__pg_rows(&w->db))
        return 0;
    hocket__pg_begin_row(&w->db, w->row);
    return 1;
}

static void done(struct hocket__writer *w)
{
    (void) w; /* the answer is here as a whole */
}

static int flush(struct hocket__writer *w)
{
    struct hocket__pg *d = &hocket__pg_of(w)->db;
    int rc = hocket__pg_sync(d);
    return rc < 0 ? hocket__pg_give_up(d) : hocket__pg_end(d);
}

static int64_t changed(struct hocket__writer *w)
{
    return hocket__pg_changed(&hocket__pg_of(w)->db);
}

static bool is_null(struct hocket__writer *w, int column)
{
    return hocket__pg_is_null(&hocket__pg_of(w)->db, hocket__pg_of(w)->row, column);
}

static int64_t int_of(struct hocket__writer *w, int column)
{
    return hocket__pg_int_of(&hocket__pg_of(w)->db, hocket__pg_of(w)->row, column);
}

static struct hocket__str text_of(struct hocket__writer *w, int column)
{
    return hocket__pg_text_of(&hocket__pg_of(w)->db, hocket__pg_of(w)->row, column);
}

static struct hocket__str bytes_of(struct hocket__writer *w, int column)
{
    return hocket__pg_bytes_of(&hocket__pg_of(w)->db, hocket__pg_of(w)->row, column);
}

/* ---- Transactions ----------------------------------------------------------------------------- */

static int begin(struct hocket__writer *w)
{
    hocket__sql_new(w, PG_BEGIN);
    return hocket__sql_run(w);
}

static int end(struct hocket__writer *w, int status)
{
    return hocket__pg_finish(&hocket__pg_of(w)->db, status);
}

/* On a standby who may only look would be taken for a server that is about to be replaced, and waited for. */
static int change(
    struct hocket__writer *w, struct hocket__store_call *c, hocket__sql_answer_cb body)
{
    if (hocket__pg_of(w)->db.looks_only)
        return hocket__error(w->error, HOCKET_EDENIED, "this role may only look at the store");
    int rc = begin(w);
    if (rc == 0)
        rc = body(w, c);
    int ended = end(w, rc == 0 ? c->status : rc);
    return rc == 0 && c->status < 0 ? 0 : ended;
}

/* ---- What is special -------------------------------------------------------------------------- */

/* Asked of the server, where nothing of the run was. */
static int number_alone(
    struct hocket__writer *w, struct hocket__claimed *c, const struct hocket__store_run *r)
{
    int rc;
    int64_t there = hocket__sql_run_no(w, hocket__cstr(r->id), &rc);
    hocket__sql_new(w, PG_NUMBER);
    hocket__sql_text(w, HOCKET__STR(""));
    c->no = there;
    if (rc == 0 && !there)
        c->no = -hocket__sql_number(w, &rc);
    return rc;
}

/* A parent may have been put a moment ago, by the same transaction. */
static int number(struct hocket__writer *w, struct hocket__claimed *c,
    const struct hocket__store_run *r, bool alone, int64_t *parent)
{
    if (alone)
        return number_alone(w, c, r);
    struct hocket__claimed *p = r->parent[0] ? hocket__claims_get(w, r->parent) : NULL;
    bool is_put = p && p->transaction == w->transaction && p->no > 0;
    *parent = is_put ? p->no : r->parent[0] ? c->parent : 0;
    return 0;
}

static int64_t inserted(struct hocket__writer *w, const struct hocket__claimed *c)
{
    (void) w;
    return -c->no;
}

/* Held to the transaction's end, by all who put files of this generation at once: whoever drops them waits for the runs that come with
 * them. What is there already is found by the statement itself. */
static int begin_file(struct hocket__writer *w, const struct hocket__store_file *f)
{
    hocket__sql_new(w, PG_FILE_SHARE);
    hocket__sql_text(w, f->generation);
    return hocket__sql_send(w);
}

/* Nobody puts any of them meanwhile: he would find them there, and the statement that looks for runs would not see his. */
static int begin_drop(struct hocket__writer *w, struct hocket__str generation)
{
    hocket__sql_new(w, PG_FILE_LOCK);
    hocket__sql_text(w, generation);
    return hocket__sql_run(w);
}

/* Goes with what reads the limit. */
static int begin_draw(struct hocket__writer *w)
{
    hocket__sql_new(w, PG_BEGIN);
    int rc = hocket__sql_send(w);
    hocket__sql_new(w, PG_NO_SYNC);
    return rc < 0 ? rc : hocket__sql_send(w);
}

/* Without a lock, and without a row where there is none: a reader's role may do it. */
static int look_at_limit(struct hocket__writer *w, const struct hocket__store_draw *draw,
    int64_t now_ms, struct hocket__store_level *level, struct hocket__store_others *others)
{
    hocket__sql_new(w, PG_LIMIT_LOOK);
    hocket__sql_text(w, draw->name);
    hocket__sql_int(w, now_ms);
    int rc = hocket__sql_step(w);
    if (rc < 0)
        return rc;
    hocket__sql_read_level(w, level);
    others->n = hocket__sql_int_of(w, 3);
    return 0;
}

static int next_row(struct hocket__writer *base)
{
    struct hocket__pg_writer *w = hocket__pg_of(base);
    w->row = 0;
    return hocket__pg_next(&w->db);
}

/* The row is locked while what it gives is decided. What others have is seen after that, which all who write leases of this name do before:
 * by a statement of its own, whose view of the table is newer than that of the one before. */
static int read_limit(struct hocket__writer *w, const struct hocket__store_draw *draw,
    int64_t now_ms, struct hocket__store_level *level, struct hocket__store_others *others)
{
    struct hocket__pg *d = &hocket__pg_of(w)->db;
    if (hocket__store_draw_looks(draw))
        return look_at_limit(w, draw, now_ms, level, others);
    hocket__sql_new(w, PG_LIMIT_MAKE);
    hocket__sql_text(w, draw->name);
    int rc = hocket__sql_send(w);
    if (rc == 0 && draw->holder.n > 0) {
        hocket__sql_ask_others(w, draw, now_ms);
        rc = hocket__sql_send(w);
    }
    if (rc == 0)
        rc = hocket__pg_sync(d);
    for (int i = 0; rc == 0 && i < 3; i++)
        rc = next_row(w);
    if (rc == 0)
        hocket__sql_read_level(w, level);
    if (rc == 0 && draw->holder.n > 0 && (rc = next_row(w)) == 0)
        hocket__sql_read_others(w, others);
    return rc < 0 ? hocket__pg_give_up(d) : hocket__pg_end(d);
}

static bool is_for_others(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__pg *d = &hocket__pg_of(w)->db;
    if (!c->q.items.due_only || d->looks_only || !hocket__sql_int_of(w, 6))
        return false;
    c->status = hocket__error(&c->error, HOCKET_EDENIED,
        "%s is read-only, as a standby is: what is due is for those who can write", d->shown.data);
    return true;
}

static const hocket__sql_answer_cb answers[HOCKET__STORE_CALLS] = {
    [HOCKET__STORE_TAKE_NEXT] = hocket__pg_take_next,
    [HOCKET__STORE_SPOKEN] = hocket__pg_spoken,
    [HOCKET__STORE_MAINTAIN] = hocket__pg_maintain,
    [HOCKET__STORE_NOTE_PUT] = hocket__pg_note_put,
    [HOCKET__STORE_NOTE_DEL] = hocket__pg_note_del,
};

const struct hocket__sql_ops hocket__pg_sql = {
    .new_statement = new_statement,
    .put_int = put_int,
    .put_null = put_null,
    .put_text = put_text,
    .put_bytes = put_bytes,
    .step = step,
    .done = done,
    .send = send_statement,
    .flush = flush,
    .changed = changed,
    .is_null = is_null,
    .int_of = int_of,
    .text_of = text_of,
    .bytes_of = bytes_of,
    .change = change,
    .begin = begin,
    .end = end,
    .number = number,
    .inserted = inserted,
    .begin_file = begin_file,
    .begin_draw = begin_draw,
    .read_limit = read_limit,
    .begin_drop = begin_drop,
    .is_lost = hocket__pg_is_lost,
    .is_put = hocket__pg_is_put,
    .add_query = hocket__pg_add_query,
    .answers = answers,
    .is_for_others = is_for_others,
};
