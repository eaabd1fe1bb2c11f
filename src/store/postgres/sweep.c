/* What was removed goes in small steps, and what is too old where somebody has said what that is. A step is a
 * transaction of a few milliseconds; of several stores that sweep at once each takes another run. Room is
 * given back by the server's own autovacuum.
 *
 *     removed 0 ──> 1: nobody finds it ──> 2: its rows are gone, but its own, the trace ──> gone, a day after it was removed
 *
 * A trace is for who has put a run and lost the answer: a worker may have taken it, ended it, and somebody removed it, before
 * that can be asked again. */
#include "store/postgres/postgres_impl.h"

#include "os/clock.h"

#define TRACE_MS      (INT64_C(24) * 3600 * 1000)
#define TRACES_GAP_MS (10 * 60 * 1000) /* they are found by reading all of them */
enum { STEP_NUMBERS = 10000 };

/* ---- Steps -------------------------------------------------------------------------------------- */

/* Where the next pass begins and ends. */
static int begin_pass(struct hocket__pg_writer *w)
{
    hocket__sql_new(&w->base, PG_NUMBERS);
    int rc = hocket__sql_step(&w->base);
    if (rc < 0)
        return rc;
    w->pass.lowest = hocket__sql_int_of(&w->base, 0);
    w->pass.below = hocket__sql_int_of(&w->base, 1);
    return 0;
}

/* As in a file (sqlite/sweep.c), but that how much there is plays no part: a database is others' as well, and gives
 * room back in its own time. Nor is there an index of times: rows are changed in place. So all numbers are passed through, some in
 * each step, the highest first: forks come before what they read from. */
static int64_t old_run(struct hocket__pg_writer *w, int *rc)
{
    *rc = 0;
    if (w->base.o.max_age_ms == 0 || (w->pass.below == 0 && (*rc = begin_pass(w)) < 0))
        return 0;
    int64_t now = hocket__pg_now(w);
    hocket__sql_new(&w->base, PG_OLD);
    hocket__sql_int(&w->base, now - HOCKET__SLEEP_MS);
    hocket__sql_int(&w->base, now - w->base.o.max_age_ms);
    hocket__sql_int(&w->base, w->pass.below - STEP_NUMBERS);
    hocket__sql_int(&w->base, w->pass.below);
    int64_t no = hocket__sql_number(&w->base, rc);
    if (*rc == 0)
        w->pass.below = no ? no : w->pass.below - STEP_NUMBERS;
    if (w->pass.below <= w->pass.lowest)
        w->pass.below = 0;
    return no;
}

/* Removes some of the runs that are old enough. 1: there may be more. */
static int drop_traces(struct hocket__pg_writer *w)
{
    hocket__sql_new(&w->base, PG_TRACES);
    hocket__sql_int(&w->base, hocket__pg_now(w) - TRACE_MS);
    int rc = hocket__sql_run(&w->base);
    bool more = rc == 0 && hocket__pg_changed(&w->db) > 0;
    if (rc == 0 && !more)
        w->next_traces_ms = hocket__monotonic_ms() + TRACES_GAP_MS;
    return rc < 0 ? rc : more;
}

int hocket__pg_sweep(struct hocket__writer *base)
{
    struct hocket__pg_writer *w = hocket__pg_of(base);
    int64_t removed = 0, old = 0;
    int rc = hocket__pg_connect(&w->db);
    if (rc == 0)
        rc = base->sql->begin(base);
    if (rc == 0)
        removed = hocket__sql_removed(base, &rc);
    if (rc == 0 && !removed)
        old = old_run(w, &rc);
    if (rc == 0 && removed)
        rc = hocket__sql_purge(base, removed);
    else if (rc == 0 && old)
        rc = hocket__sql_remove_run(base, old, !w->keeps_shared);
    else if (rc == 0 && hocket__monotonic_ms() >= w->next_traces_ms)
        rc = drop_traces(w);
    base->more_to_sweep = removed || old || w->pass.below > 0 || rc == 1;
    return w->db.conn ? hocket__pg_finish(&w->db, rc < 0 ? rc : 0) : rc;
}

/* ---- All at once --------------------------------------------------------------------------------- */

/* All generations whose names are no id of a run: each is checked once. */
static int drop_shared_files(struct hocket__writer *w)
{
    struct hocket__buf names = hocket__buf(&hocket__malloc, 0);
    hocket__sql_new(w, PG_SHARED_FILES);
    int rc = hocket__sql_step(w);
    if (rc == 1)
        rc = hocket__buf_addstr(&names, hocket__sql_text_of(w, 0)) < 0
                 ? hocket__error_nomem(w->error)
                 : w->sql->begin(w);
    if (rc == 0)
        rc = w->sql->end(w, hocket__sql_drop_files(w, hocket__buf_str(&names), true));
    hocket__buf_deinit(&names);
    return rc;
}

int hocket__pg_sweep_all(struct hocket__pg_writer *w, int64_t max_age_ms)
{
    struct hocket__store_options before = w->base.o;
    int rc;
    w->base.o.max_age_ms = max_age_ms;
    w->pass.below = 0;
    w->keeps_shared = true;
    do
        rc = hocket__pg_sweep(&w->base);
    while (rc == 0 && w->base.more_to_sweep);
    w->base.o = before;
    w->pass.below = 0;
    w->keeps_shared = false;
    return rc == 0 ? drop_shared_files(&w->base) : rc;
}
