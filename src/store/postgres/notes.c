/* Notes that outlive runs, found by PostgreSQL's search for words.
 *
 * What the words are is decided here, as everywhere (store_impl.h), and not by the parser of a language that the text
 * may not be in: those of a note and of a query go over one by one, and no character of them is an operator. */
#include "store/postgres/postgres_impl.h"

#include "base/utf8.h"

#define MAX_WORD  2000         /* bytes; a longer one is found by its text alone */
#define MAX_WORDS (256 * 1024) /* bytes of a note in which words are looked for */
enum { AT_ONCE = 500 };

#define COLUMNS "memory, id, text, meta, labels, created_ms, updated_ms, 0::bigint, 0::bigint, no"

/* ---- Writing ------------------------------------------------------------------------------- */

static void add_words(struct hocket__buf *out, struct hocket__str text)
{
    if (text.n > MAX_WORDS)
        text.n = hocket__utf8_cut(text.p, MAX_WORDS);
    for (struct hocket__str word; (word = hocket__store_note_word(&text)).n > 0;)
        if (word.n <= MAX_WORD && hocket__utf8_valid(word.p, word.n) == word.n) {
            hocket__buf_addstr(out, word);
            hocket__buf_addc(out, ' ');
        }
}

/* One at a time writes to a memory: its bounds are looked at before. */
static int lock(struct hocket__pg *d, struct hocket__store_call *c)
{
    hocket__pg_new(d);
    hocket__pg_text(d, c->key);
    return hocket__pg_query(d, PG_NOTE_LOCK,
        "SELECT pg_advisory_xact_lock(hashtextextended('hocket memory ' || $1, 0))");
}

/* What the memory has beside this note. */
static int check_room(struct hocket__pg *d, struct hocket__store_call *c)
{
    hocket__pg_new(d);
    hocket__pg_text(d, c->key);
    hocket__pg_text(d, c->message_id);
    int rc = hocket__pg_query(d, PG_NOTE_SUM,
        "SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM notes WHERE memory = $1 AND id <> "
        "$2");
    if (rc == 0)
        c->status = hocket__store_note_room(
            c, (uint64_t) hocket__pg_int_of(d, 0, 0), (uint64_t) hocket__pg_int_of(d, 0, 1));
    return rc;
}

static int put_row(struct hocket__pg *d, struct hocket__store_call *c, struct hocket__str words)
{
    hocket__pg_new(d);
    hocket__pg_text(d, c->key);
    hocket__pg_text(d, c->message_id);
    hocket__pg_text(d, c->parent);
    hocket__pg_text(d, c->json);
    hocket__pg_int(d, c->states);
    hocket__pg_int(d, c->at_ms);
    hocket__pg_int(d, (int64_t) (c->parent.n + c->json.n));
    hocket__pg_text(d, words);
    hocket__pg_bytes(d, c->vector);
    return hocket__pg_query(d, PG_NOTE_PUT,
        "INSERT INTO notes(memory, id, text, meta, labels, created_ms, updated_ms, bytes, words, "
        "vector)"
        " VALUES($1, $2, $3, $4, $5, $6, $6, $7, to_tsvector('simple', $8), nullif($9, ''))"
        " ON CONFLICT(memory, id) DO UPDATE SET text = $3, meta = $4, labels = $5, updated_ms = $6,"
        " bytes = $7, words = to_tsvector('simple', $8), vector = nullif($9, '')");
}

static int put(struct hocket__pg *d, struct hocket__store_call *c)
{
    struct hocket__buf words;
    int rc = lock(d, c);
    if (rc == 0)
        rc = check_room(d, c);
    if (rc < 0 || c->status < 0)
        return rc;
    hocket__buf_init(&words, &hocket__malloc, 0);
    add_words(&words, c->parent);
    rc = words.status < 0 ? hocket__error_nomem(&d->error) : put_row(d, c, hocket__buf_str(&words));
    hocket__buf_deinit(&words);
    return rc;
}

int hocket__pg_note_put(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    int rc = hocket__pg_begin(&k->db);
    if (rc == 0)
        rc = put(&k->db, c);
    return hocket__pg_finish(&k->db, rc);
}

/* Whether it was there is what the first attempt has found: given again it may be gone by that. */
int hocket__pg_note_del(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_text(d, c->key);
    hocket__pg_text(d, c->message_id);
    int rc = hocket__pg_query(d, PG_NOTE_DEL, "DELETE FROM notes WHERE memory = $1 AND id = $2");
    if (rc == 0 && hocket__pg_changed(d) == 0 && !again)
        c->status = hocket__store_note_missing(c);
    return rc;
}

/* ---- Reading ----------------------------------------------------------------------------------- */

static void give(struct hocket__pg *d, int i, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_NOTE };
    hocket__pg_begin_row(d, i);
    row.note = (struct hocket__store_note){ .memory = hocket__pg_text_of(d, i, 0),
        .id = hocket__pg_text_of(d, i, 1),
        .text = hocket__pg_text_of(d, i, 2),
        .meta = hocket__pg_text_of(d, i, 3),
        .labels = (uint64_t) hocket__pg_int_of(d, i, 4),
        .created_ms = hocket__pg_int_of(d, i, 5),
        .updated_ms = hocket__pg_int_of(d, i, 6),
        .notes = (uint64_t) hocket__pg_int_of(d, i, 7),
        .bytes = (uint64_t) hocket__pg_int_of(d, i, 8) };
    hocket__store_pack(&c->rows, &row);
}

/* The rows of a statement whose first two parameters are texts; the other two say which part of them. */
static int give_all(struct hocket__pg *d, struct hocket__store_call *c, unsigned slot,
    const char *sql, struct hocket__str second)
{
    int n = c->limit > 0 && c->limit < AT_ONCE ? (int) c->limit : AT_ONCE;
    hocket__pg_new(d);
    hocket__pg_text(d, c->key);
    hocket__pg_text(d, second);
    hocket__pg_int(d, n);
    hocket__pg_int(d, (int64_t) c->from);
    int rc = hocket__pg_query(d, slot, sql);
    if (rc < 0)
        return rc;
    int rows = hocket__pg_rows(d);
    for (int i = 0; i < rows; i++)
        give(d, i, c);
    c->from += (uint64_t) rows;
    c->more = rows == n && c->limit != (size_t) n;
    if (c->limit > 0)
        c->limit -= (size_t) rows;
    return 0;
}

/* 'one':* | 'two': short words are meant whole. There is no quote in a word. */
static void add_query(struct hocket__buf *out, struct hocket__str query)
{
    for (int i = 0; i < HOCKET__STORE_NOTE_WORDS; i++) {
        struct hocket__str word = hocket__store_note_word(&query);
        if (word.n == 0)
            return;
        if (word.n > MAX_WORD || hocket__utf8_valid(word.p, word.n) != word.n)
            continue;
        hocket__buf_addstr(out, out->len > 0 ? HOCKET__STR(" | '") : HOCKET__STR("'"));
        hocket__buf_addstr(out, word);
        hocket__buf_addstr(out, word.n > 2 ? HOCKET__STR("':*") : HOCKET__STR("'"));
    }
}

/* Where no word is found the text may be in the middle of one: of languages that do not part them. */
static int search(struct hocket__pg *d, struct hocket__store_call *c)
{
    struct hocket__buf words;
    hocket__buf_init(&words, &hocket__malloc, 0);
    add_query(&words, c->parent);
    int rc = words.status < 0 ? hocket__error_nomem(&d->error) : 0;
    if (rc == 0 && words.len > 0 && !c->states)
        rc = give_all(d, c, PG_NOTE_SEARCH,
            "SELECT " COLUMNS " FROM notes, to_tsquery('simple', $2) q WHERE memory = $1"
            " AND words @@ q ORDER BY ts_rank(words, q) DESC, updated_ms DESC, no DESC"
            " LIMIT $3 OFFSET $4",
            hocket__buf_str(&words));
    c->states |= rc == 0 && c->rows.len == 0 && c->from == 0; /* also for the pieces to come */
    if (rc == 0 && c->states)
        rc = give_all(d, c, PG_NOTE_PART,
            "SELECT " COLUMNS " FROM notes WHERE memory = $1 AND strpos(lower(text), lower($2)) > 0"
            " ORDER BY updated_ms DESC, no DESC LIMIT $3 OFFSET $4",
            c->parent);
    hocket__buf_deinit(&words);
    return rc;
}

static int compare_all(
    struct hocket__pg *d, struct hocket__store_call *c, struct hocket__store_near *nearest)
{
    int64_t before = INT64_MAX;
    for (int rows = AT_ONCE; rows == AT_ONCE;) {
        hocket__pg_new(d);
        hocket__pg_text(d, c->key);
        hocket__pg_int(d, before);
        hocket__pg_int(d, AT_ONCE);
        int rc = hocket__pg_query(d, PG_NOTE_VECTORS,
            "SELECT no, vector FROM notes WHERE memory = $1 AND vector IS NOT NULL AND no < $2"
            " ORDER BY no DESC LIMIT $3");
        if (rc < 0)
            return rc;
        rows = hocket__pg_rows(d);
        for (int i = 0; i < rows; i++) {
            before = hocket__pg_int_of(d, i, 0);
            hocket__store_compare(nearest, hocket__pg_bytes_of(d, i, 1), c->vector, before);
        }
    }
    return 0;
}

/* All in one piece: there are few. */
static int list_near(struct hocket__pg *d, struct hocket__store_call *c)
{
    struct hocket__store_near nearest = { .n = 0 };
    int rc = compare_all(d, c, &nearest);
    size_t end = c->limit == 0 || c->limit > nearest.n ? nearest.n : c->from + c->limit;
    for (size_t i = c->from; rc == 0 && i < nearest.n && i < end; i++) {
        hocket__pg_new(d);
        hocket__pg_int(d, nearest.best[i].what);
        rc = hocket__pg_query(d, PG_NOTE_NO, "SELECT " COLUMNS " FROM notes WHERE no = $1");
        if (rc == 0 && hocket__pg_rows(d) == 1)
            give(d, 0, c);
    }
    return rc;
}

int hocket__pg_notes(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    struct hocket__pg *d = &k->db;
    if (c->key.n == 0)
        return give_all(d, c, PG_NOTE_MEMORIES,
            "SELECT memory, '', '', '', 0::bigint, 0::bigint, max(updated_ms), count(*),"
            " sum(bytes)::bigint FROM notes WHERE $1 = $2 GROUP BY memory ORDER BY memory"
            " LIMIT $3 OFFSET $4",
            HOCKET__STR(""));
    if (c->message_id.n > 0)
        return give_all(d, c, PG_NOTE_GET,
            "SELECT " COLUMNS " FROM notes WHERE memory = $1 AND id = $2 LIMIT $3 OFFSET $4",
            c->message_id);
    if (c->vector.n > 0)
        return list_near(d, c);
    if (c->parent.n > 0)
        return search(d, c);
    return give_all(d, c, PG_NOTE_LIST,
        "SELECT " COLUMNS " FROM notes WHERE memory = $1 AND $2 = ''"
        " ORDER BY updated_ms DESC, no DESC LIMIT $3 OFFSET $4",
        HOCKET__STR(""));
}
