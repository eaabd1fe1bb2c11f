/* The SQL of the store, for every database that speaks it: what a driver has to do, and what all of them then share.
 *
 *   new, int, text …   a statement and its parameters, in the order of their numbers
 *   step               1: a row; 0: the end; or a status. Or run: to the end. Or send: done when what was sent is flushed
 *   int_of, text_of …  of that row, until the next step
 *   done               where rows may be left
 *
 * One statement at a time. SQLite does it when it is sent, and gives its rows one by one. PostgreSQL gathers what is sent into a
 * pipeline, and has an answer as a whole. The texts stand in statements.h, the columns of `runs` in columns.h.
 *
 * Functions give 0 or a status, which is negative, with *w->error. */
#pragma once

#include "store/columns.h"
#include "store/draw.h"
#include "store/writer/writer.h"

enum hocket__sql_statement {
#define S(NAME, ...) HOCKET__SQL_##NAME,
#define ONCE         HOCKET__SQL_ONCE, HOCKET__SQL_BEFORE_ONCE = HOCKET__SQL_ONCE - 1,
#include "store/statements.h"
#undef S
#undef ONCE
    HOCKET__SQL_STATEMENTS /* and from here on those of the driver */
};

/* ---- What a driver does ----------------------------------------------------------------------- */

typedef int (*hocket__sql_answer_cb)(struct hocket__writer *w, struct hocket__store_call *c);

struct hocket__sql_ops {
    /* A statement is done when it is sent, and its rows come one by one; else an answer comes as a whole, and its statement cuts it. */
    bool streams;
    void (*new_statement)(struct hocket__writer *w, unsigned statement);
    void (*put_int)(struct hocket__writer *w, int64_t v);
    void (*put_null)(struct hocket__writer *w, bool is_number);
    void (*put_text)(struct hocket__writer *w, struct hocket__str s);
    void (*put_bytes)(struct hocket__writer *w, struct hocket__str s);
    int (*step)(struct hocket__writer *w);
    void (*done)(struct hocket__writer *w);
    int (*send)(struct hocket__writer *w);
    int (*flush)(struct hocket__writer *w);       /* every sent statement is done, or one failed */
    int64_t (*changed)(struct hocket__writer *w); /* rows, by the last statement that was run */
    bool (*is_null)(struct hocket__writer *w, int column);
    int64_t (*int_of)(struct hocket__writer *w, int column); /* NULL: 0 */
    struct hocket__str (*text_of)(struct hocket__writer *w, int column);
    struct hocket__str (*bytes_of)(struct hocket__writer *w, int column);

    /* Does what a question says as a transaction that is on the disk when it is there. What fails, or is refused (c->status), is not
     * there. */
    int (*change)(
        struct hocket__writer *w, struct hocket__store_call *c, hocket__sql_answer_cb body);
    /* The same of what need not be on the disk yet. */
    int (*begin)(struct hocket__writer *w);
    int (*end)(struct hocket__writer *w, int status);

    /* Finds the numbers of a run that is to be put and of its parent (0: none), in the transaction that there is. c->no is above 0 where
     * there is such a run. `alone`: nothing of it was looked up before. */
    int (*number)(struct hocket__writer *w, struct hocket__claimed *c,
        const struct hocket__store_run *r, bool alone, int64_t *parent);
    int64_t (*inserted)(struct hocket__writer *w, const struct hocket__claimed *c); /* its number */
    /* Before a file is put: 1: it is there already. */
    int (*begin_file)(struct hocket__writer *w, const struct hocket__store_file *f);
    /* The first begins a transaction that draws. The second reads the row of a limit, and the shares of others if the
     * draw has a holder or only reads: then without a transaction. */
    int (*begin_draw)(struct hocket__writer *w);
    int (*read_limit)(struct hocket__writer *w, const struct hocket__store_draw *draw,
        int64_t now_ms, struct hocket__store_level *level, struct hocket__store_others *others);
    /* Before files of a generation are dropped. */
    int (*begin_drop)(struct hocket__writer *w, struct hocket__str generation);
    /* NULL, or: whether this store does not know of its own claim, by which run `row` is had. */
    bool (*is_lost)(struct hocket__writer *w, const struct hocket__claimed *c);
    /* NULL, or: writes what the one who had the run handed over, before it is taken. */
    int (*recover)(struct hocket__writer *w, const char *id);
    /* Whether this very call, whose answer was lost, has put the run: 1, 0. */
    int (*is_put)(struct hocket__writer *w, const struct hocket__store_run *r);
    /* NULL, or: whether notes can be there at all: 1, 0. */
    int (*has_notes)(struct hocket__writer *w);
    /* Appends a query's words as the database's search takes them. */
    void (*add_query)(struct hocket__buf *out, struct hocket__str query);
    /* Of the questions that are answered in a way of its own; by their kinds. */
    const hocket__sql_answer_cb *answers;
    /* NULL, or: what is due is for others, as nothing can be written here: then c->status is set. */
    bool (*is_for_others)(struct hocket__writer *w, struct hocket__store_call *c);
};

static inline void hocket__sql_new(struct hocket__writer *w, unsigned statement)
{
    w->sql->new_statement(w, statement);
}

static inline void hocket__sql_int(struct hocket__writer *w, int64_t v)
{
    w->sql->put_int(w, v);
}

/* Below 0: NULL. */
static inline void hocket__sql_count(struct hocket__writer *w, int64_t v)
{
    if (v >= 0)
        w->sql->put_int(w, v);
    else
        w->sql->put_null(w, true);
}

static inline void hocket__sql_text(struct hocket__writer *w, struct hocket__str s)
{
    w->sql->put_text(w, s);
}

/* Empty: NULL. */
static inline void hocket__sql_text_or_null(struct hocket__writer *w, struct hocket__str s)
{
    if (s.n > 0)
        w->sql->put_text(w, s);
    else
        w->sql->put_null(w, false);
}

static inline void hocket__sql_bytes(struct hocket__writer *w, struct hocket__str s)
{
    w->sql->put_bytes(w, s);
}

static inline int hocket__sql_step(struct hocket__writer *w)
{
    return w->sql->step(w);
}

static inline void hocket__sql_done(struct hocket__writer *w)
{
    w->sql->done(w);
}

static inline int hocket__sql_send(struct hocket__writer *w)
{
    return w->sql->send(w);
}

static inline int64_t hocket__sql_int_of(struct hocket__writer *w, int column)
{
    return w->sql->int_of(w, column);
}

/* NULL: -1. */
static inline int64_t hocket__sql_count_of(struct hocket__writer *w, int column)
{
    return w->sql->is_null(w, column) ? -1 : w->sql->int_of(w, column);
}

static inline struct hocket__str hocket__sql_text_of(struct hocket__writer *w, int column)
{
    return w->sql->text_of(w, column);
}

static inline struct hocket__str hocket__sql_bytes_of(struct hocket__writer *w, int column)
{
    return w->sql->bytes_of(w, column);
}

/* Answers a question; a status of the database alone: the question's own is in the call. */
int hocket__sql_answer(struct hocket__writer *w, struct hocket__store_call *c);
/* Says each text that the statement gives, but "ok". */
int hocket__sql_check(
    struct hocket__writer *w, struct hocket__store_call *c, const char *name, unsigned statement);

/* Rows and bytes of each kind, and of the runs that have most. */
int hocket__sql_measure(struct hocket__writer *w, struct hocket__store_call *c);

/* Steps to the end, and looks at no row. */
int hocket__sql_run(struct hocket__writer *w);
/* The number that the first row begins with; 0: there is none, or *rc says why nobody knows. */
int64_t hocket__sql_number(struct hocket__writer *w, int *rc);

/* Reads rows until the answer is full: `give` packs one, and moves the question behind it. Of an answer that came as a whole: `most` rows
 * were asked for, and column `all` says how many there would be (-1: none does). */
int hocket__sql_give(struct hocket__writer *w, struct hocket__store_call *c,
    void (*give)(struct hocket__writer *w, struct hocket__store_call *c), int64_t most, int all);
/* How many rows to ask for. */
int64_t hocket__sql_most(
    const struct hocket__writer *w, const struct hocket__store_call *c, int64_t at_once);

/* A statement as the driver's database takes it, with `mark` before the numbers of its parameters. */
void hocket__sql_write(struct hocket__buf *out, const char *text, char mark);

/* ---- Runs: runs.c ----------------------------------------------------------------------------- */

/* The columns that hocket__sql_read_run reads. */
enum hocket__run_column {
    HOCKET__COLUMN_no,
#define HOCKET__COLUMN(how, column, member, WHOSE, ...) HOCKET__COLUMN_OF_##WHOSE(column)
#define HOCKET__COLUMN_OF_RUN(column)                   HOCKET__COLUMN_##column,
#define HOCKET__COLUMN_OF_STORE(column)                 HOCKET__COLUMN_##column,
#define HOCKET__COLUMN_OF_KEPT(column)                  HOCKET__COLUMN_##column,
#define HOCKET__COLUMN_OF_HIDDEN(column)
    HOCKET__RUN_COLUMNS(HOCKET__COLUMN, )
#undef HOCKET__COLUMN
        HOCKET__COLUMNS
};

void hocket__sql_read_run(struct hocket__writer *w, struct hocket__store_run *run);
/* 0 without an error: there is none. */
int64_t hocket__sql_run_no(struct hocket__writer *w, struct hocket__str id, int *rc);

/* These answer questions, as the others that take a call. */
int hocket__sql_find(struct hocket__writer *w, struct hocket__store_call *c);
int hocket__sql_list_runs(struct hocket__writer *w, struct hocket__store_call *c);
int hocket__sql_take(struct hocket__writer *w, struct hocket__store_call *c);
int hocket__sql_remove(struct hocket__writer *w, struct hocket__store_call *c);
int hocket__sql_pools(struct hocket__writer *w, struct hocket__store_call *c);
int hocket__sql_blocked(struct hocket__writer *w, struct hocket__store_call *c);
/* How many there are that were not removed. */
int64_t hocket__sql_count_runs(struct hocket__writer *w, int *rc);

/* Whether the run of this row is not what was written. */
bool hocket__sql_is_altered_run(struct hocket__writer *w, const struct hocket__store_run *run);

/* ---- ask.c ------------------------------------------------------------------------------------ */

/* Of the row that there is, from column `at` on: its value is the ninth, or the tenth. */
void hocket__sql_read_entry(struct hocket__writer *w, int at, struct hocket__store_entry *e);
/* Whether this column has another checksum; not where it has none. */
bool hocket__sql_is_altered(struct hocket__writer *w, int column, int64_t sum);
/* Whether it is the text of which this is the SHA-256. */
bool hocket__sql_is_text(struct hocket__str text, struct hocket__str digest);

int hocket__sql_message(struct hocket__writer *w, struct hocket__store_call *c);

/* ---- apply.c: commands, in a transaction that there is ---------------------------------------- */

/* Does one command, of a run whose row is known (c; NULL: of a file); then what is said of the rows of the runs themselves. */
int hocket__sql_apply(
    struct hocket__writer *w, struct hocket__claimed *c, const struct hocket__store_command *cmd);
int hocket__sql_apply_rows(struct hocket__writer *w);
int hocket__sql_put_file(struct hocket__writer *w, const struct hocket__store_file *f);
/* Adds the seven owner columns. */
void hocket__sql_owner(struct hocket__writer *w);
/* Puts the bundle of a question; *status: why its run cannot be put. */
int hocket__sql_put_bundle(
    struct hocket__writer *w, const struct hocket__store_call *c, int *status);
int hocket__sql_submit(struct hocket__writer *w, struct hocket__store_call *c);

/* ---- sums.c ----------------------------------------------------------------------------------- */

/* Says each row that is not what was written, up to 20 of each table. */
int hocket__sql_check_sums(struct hocket__writer *w, struct hocket__store_call *c);
/* Gives rows that have none their checksums; `fill`: the statements, in the order of enum hocket__sql_summed. */
enum hocket__sql_summed {
    HOCKET__SUMMED_ENTRIES,
    HOCKET__SUMMED_RECORDS,
    HOCKET__SUMMED_MESSAGES,
    HOCKET__SUMMED_RUNS,
    HOCKET__SUMMED_TEXTS /* which have SHA-256 from the beginning */
};
int hocket__sql_fill_sums(struct hocket__writer *w, const unsigned fill[HOCKET__SUMMED_TEXTS]);

/* ---- notes.c ------------------------------------------------------------------------- */

int hocket__sql_notes(struct hocket__writer *w, struct hocket__store_call *c);
/* Whether the memory has room for the note beside the others: then c->status is 0. */
int hocket__sql_note_room(struct hocket__writer *w, struct hocket__store_call *c);
/* Puts the values of a note, which both databases have in this order: memory, id, text, meta, labels, updated, bytes. */
void hocket__sql_note(struct hocket__writer *w, const struct hocket__store_note *n);

/* ---- draw.c ----------------------------------------------------------------------------------- */

int hocket__sql_draw(struct hocket__writer *w, struct hocket__store_call *c);
/* The row of a limit, and of what others have of it; and asks for that. */
void hocket__sql_read_level(struct hocket__writer *w, struct hocket__store_level *level);
void hocket__sql_read_others(struct hocket__writer *w, struct hocket__store_others *others);
void hocket__sql_ask_others(
    struct hocket__writer *w, const struct hocket__store_draw *draw, int64_t now_ms);

/* ---- sweep.c ---------------------------------------------------------------------------------- */

/* Marks a run as removed, with what nobody else needs of it; its rows go in steps. `shared`: also files that many runs may have. */
int hocket__sql_remove_run(struct hocket__writer *w, int64_t no, bool shared);
/* The number of a run that was removed and is to be purged, or 0. */
int64_t hocket__sql_removed(struct hocket__writer *w, int *rc);
/* One step of it. */
int hocket__sql_purge(struct hocket__writer *w, int64_t no);
/* Drops the files of the given generations that no run and no item has. */
int hocket__sql_drop_files(struct hocket__writer *w, struct hocket__str generations, bool shared);
