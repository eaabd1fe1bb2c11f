/* One connection to a database, in pipeline mode: statements are handed over one behind the other, and their
 * results read in the same order, so that a transaction of a hundred statements costs two round trips. Used
 * from one thread at a time, which waits in here, at most as long as DEADLINE.
 *
 *     new, int, text …, send   (as often as there are statements)   then   sync, next …, end
 */
#pragma once

#include "base/buf.h"
#include "store/postgres/lib.h"
#include "store/postgres/url.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { HOCKET__PG_PARAMS = 40, HOCKET__PG_STATEMENTS = 160 };

struct hocket__pg {
    const struct hocket__libpq *lib;
    PGconn *conn; /* NULL: none */
    struct hocket__buf conninfo, shown;
    char schema[HOCKET__PG_SCHEMA];
    atomic_bool *closing; /* then it waits no longer than LAST */
    int wake;             /* an eventfd, or -1 */
    bool woken;           /* it was, while something else was waited for */
    bool lost;            /* the connection is of no use any more */
    bool patient;         /* statements may take as long as they like; until the next connection */
    bool notified, listening;
    bool looks_only; /* its role may read the tables, and nothing else */
    bool prepared[HOCKET__PG_STATEMENTS];

    /* The statement that is being made. */
    struct {
        int n;
        Oid types[HOCKET__PG_PARAMS];
        const char *values[HOCKET__PG_PARAMS];
        int lengths[HOCKET__PG_PARAMS];
        size_t escaped[HOCKET__PG_PARAMS]; /* where it begins in `texts`, and 1; 0: not there */
        char numbers[HOCKET__PG_PARAMS][8];
        struct hocket__buf texts;
    } args;
    struct hocket__buf sent; /* a letter for each of what a result is to come: p(repare), q(uery) */
    size_t read;             /* of those */

    PGresult *result;       /* the last one */
    struct hocket__buf row; /* texts of a row that had to be made of what stands there */
    bool out_of_memory;     /* some could not be made */
    struct hocket_error error;
    char code[6]; /* the SQLSTATE of it, or "" */
};

void hocket__pg_init(struct hocket__pg *d);
void hocket__pg_deinit(struct hocket__pg *d);

/* Connects where there is no connection, or none of use. What is wrong with the server or the way there is
 * `retryable`. */
int hocket__pg_connect(struct hocket__pg *d);
void hocket__pg_disconnect(struct hocket__pg *d);
/* Whether what failed by this SQLSTATE may end otherwise another time. */
bool hocket__pg_may_go_away(const char *code);
/* Statements may take long from here on. When nobody waits for one any more the server ends it, if it is of version 14. */
int hocket__pg_be_patient(struct hocket__pg *d);
/* Several statements without results, as one transaction; so long as it takes. */
int hocket__pg_script(struct hocket__pg *d, const char *sql);

/* ---- Statements. All parameters and results are binary: numbers of 64 bits, texts, bytes. ---- */

void hocket__pg_new(struct hocket__pg *d);
void hocket__pg_int(struct hocket__pg *d, int64_t v);
void hocket__pg_count(struct hocket__pg *d, int64_t v); /* below 0: NULL */
/* What PostgreSQL would not take as a text (a NUL, bytes that are no UTF-8) is written in another way, and read back
 * as it was. */
void hocket__pg_text(struct hocket__pg *d, struct hocket__str s);
void hocket__pg_text_or_null(struct hocket__pg *d, struct hocket__str s); /* empty: NULL */
void hocket__pg_bytes(struct hocket__pg *d, struct hocket__str s);
/* `slot` is the caller's number for this text. Prepared at its first use. 0, or negative: then nothing was sent. */
int hocket__pg_send(struct hocket__pg *d, unsigned slot, const char *sql);

int hocket__pg_sync(struct hocket__pg *d);
/* The result of the next statement, in d->result: 0, or negative. */
int hocket__pg_next(struct hocket__pg *d);
/* Reads and drops the remaining results: 0, or the error of the first that failed. */
int hocket__pg_end(struct hocket__pg *d);
/* The same after an error, which stays the one to tell: its status. */
int hocket__pg_give_up(struct hocket__pg *d);
/* send, sync, next, end: what it gives is in d->result until the next statement. */
int hocket__pg_query(struct hocket__pg *d, unsigned slot, const char *sql);

/* COMMIT with a status of 0 or more, else ROLLBACK: that status, or that of the commit. */
int hocket__pg_finish(struct hocket__pg *d, int status);

/* ---- Results ---------------------------------------------------------------------------------- */

int hocket__pg_rows(const struct hocket__pg *d);
int64_t hocket__pg_changed(const struct hocket__pg *d); /* rows, by a statement that writes */
bool hocket__pg_is_null(const struct hocket__pg *d, int row, int column);
int64_t hocket__pg_int_of(const struct hocket__pg *d, int row, int column); /* NULL: 0 */
/* Before the texts of a row are asked for; those are good until the next row. */
void hocket__pg_begin_row(struct hocket__pg *d, int row);
struct hocket__str hocket__pg_text_of(struct hocket__pg *d, int row, int column);
struct hocket__str hocket__pg_bytes_of(const struct hocket__pg *d, int row, int column);

/* ---- Waiting ---------------------------------------------------------------------------------- */

/* Waits so long for something to come from the server, or to be woken. */
void hocket__pg_idle(struct hocket__pg *d, int64_t ms);
void hocket__pg_wake(struct hocket__pg *d);
