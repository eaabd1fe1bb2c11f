/* What the parts of the PostgreSQL store share. */
#pragma once

#include "store/postgres/db.h"
#include "store/postgres/postgres.h"
#include "store/sql/sql.h"

enum hocket__pg_statement {
    PG_BEFORE = HOCKET__SQL_STATEMENTS - 1,
#define S(NAME, ...) PG_##NAME,
#define ONCE         PG_ONCE, PG_BEFORE_ONCE = PG_ONCE - 1,
#include "store/postgres/statements.h"
#undef S
#undef ONCE
};

/* The thread's alone. */
struct hocket__pg_writer {
    struct hocket__writer base;
    struct hocket__pg db;
    unsigned statement;      /* that is made, or whose answer is read … */
    int row;                 /* … up to this row; -1: it was not asked yet */
    struct hocket__buf text; /* as the server takes it */
    int64_t clock;           /* the server's, less that of the machine since its start */
    char snapshot[64];       /* what the server had seen when others were looked for last */
    bool heard;              /* others have said that there is something */
    int64_t
        asked_ms; /* the server's time when what is asked or written was so for the first time */
    int64_t next_traces_ms; /* when traces are looked through (sweep.c); writer_clock */
    bool doubt;             /* nobody knows whether the last transaction is there */
    bool unsure;            /* a run may be ours whose answer was lost */
    struct {
        int64_t below, lowest; /* runs with these numbers are still to be looked at; 0: none */
    } pass;                    /* through the runs that may be too old */
    bool keeps_shared;         /* files that many runs have stay for the moment */
};

static inline struct hocket__pg_writer *hocket__pg_of(struct hocket__writer *base)
{
    return hocket__container_of(base, struct hocket__pg_writer, base);
}

/* The server's time. */
int64_t hocket__pg_now(const struct hocket__pg_writer *w);

extern const struct hocket__sql_ops hocket__pg_sql;

/* ---- write.c ---- */

int hocket__pg_write(struct hocket__writer *base, struct hocket__str work, bool sync);
/* Whether an attempt whose answer was lost has put this run, whoever has it now, or has removed it since: 1, 0, or a status. */
int hocket__pg_is_put(struct hocket__writer *base, const struct hocket__store_run *r);
/* Until the synchronous standbys have every earlier commit, including one whose answer was lost. */
int hocket__pg_until_replicated(struct hocket__writer *w);

/* ---- claims.c ---- */

/* Whether this store knows of its claim with this number. */
bool hocket__pg_knows(const struct hocket__claimed *c, int64_t fence);
/* Whether the run of this row is ours, by a claim of which this store knows nothing. */
bool hocket__pg_is_lost(struct hocket__writer *w, const struct hocket__claimed *c);
/* 1: some are locked by somebody. */
int hocket__pg_renew(struct hocket__writer *w);
int hocket__pg_release(struct hocket__writer *base);

/* ---- ask.c ---- */

int hocket__pg_answer(struct hocket__writer *base, struct hocket__store_call *c);

/* ---- queue.c, notes.c, maintenance.c: these answer questions ---- */

int hocket__pg_take_next(struct hocket__writer *base, struct hocket__store_call *call);
int hocket__pg_spoken(struct hocket__writer *w, struct hocket__store_call *c);
int hocket__pg_note_put(struct hocket__writer *w, struct hocket__store_call *c);
int hocket__pg_note_del(struct hocket__writer *w, struct hocket__store_call *c);
void hocket__pg_add_query(struct hocket__buf *out, struct hocket__str query);
int hocket__pg_maintain(struct hocket__writer *base, struct hocket__store_call *c);

/* ---- sweep.c ---- */

int hocket__pg_sweep(struct hocket__writer *base);
/* Sweeps runs that ended so long ago (0: none), and files that nobody has any more. */
int hocket__pg_sweep_all(struct hocket__pg_writer *w, int64_t max_age_ms);
