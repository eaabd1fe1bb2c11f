/* Whether rows are what was written, by their checksums: table by table, in pieces, so that a database of any size is walked through in
 * little memory. */
#include "store/sql/sql.h"
#include "store/sum.h"

#include <limits.h>

enum {
    MOST = 1000,
    SHOWN = 20
}; /* rows of a piece, as statements.h has them; problems of a table that are said */

/* What is known of a row. */
struct seen {
    int64_t place[2];
    int64_t sums[2]; /* as they are to be; the second one of runs alone */
    bool altered;
    struct hocket__str run; /* its id */
};

static void see_entry(struct hocket__writer *w, struct seen *s)
{
    struct hocket__store_entry e;
    hocket__sql_read_entry(w, 1, &e);
    s->sums[0] = hocket__store_sum_entry(&e);
    s->altered = hocket__sql_is_altered(w, 11, s->sums[0]);
    s->run = hocket__sql_text_of(w, 12);
}

static void see_record(struct hocket__writer *w, struct seen *s)
{
    struct hocket__store_record r = { (uint64_t) s->place[1], hocket__sql_text_of(w, 2) };
    s->sums[0] = hocket__store_sum_record(&r);
    s->altered = hocket__sql_is_altered(w, 3, s->sums[0]);
    s->run = hocket__sql_text_of(w, 4);
}

static void see_message(struct hocket__writer *w, struct seen *s)
{
    struct hocket__store_message m = { hocket__sql_text_of(w, 2), hocket__sql_int_of(w, 3),
        hocket__sql_text_of(w, 4) };
    s->sums[0] = hocket__store_sum_message(&m);
    s->altered = hocket__sql_is_altered(w, 5, s->sums[0]);
    s->run = hocket__sql_text_of(w, 6);
}

static void see_run(struct hocket__writer *w, struct seen *s)
{
    struct hocket__store_run r = { .seed = { 0 } };
    int64_t mask;
    hocket__sql_read_run(w, &r);
    s->place[0] = 0;
    s->place[1] = hocket__sql_int_of(w, HOCKET__COLUMN_no);
    s->sums[0] = hocket__store_sum_run(&r);
    s->sums[1] = hocket__store_sum_set(&r, UINT_MAX, &mask);
    s->altered = hocket__sql_is_altered_run(w, &r);
    s->run = hocket__sql_text_of(w, HOCKET__COLUMN_id);
}

static void see_text(struct hocket__writer *w, struct seen *s)
{
    s->altered = !hocket__sql_is_text(hocket__sql_bytes_of(w, 2), hocket__sql_bytes_of(w, 3));
}

static const struct table {
    const char *row;
    unsigned rows;
    void (*see)(struct hocket__writer *w, struct seen *s);
} tables[] = {
    [HOCKET__SUMMED_ENTRIES] = { "entry", HOCKET__SQL_SUM_ENTRIES, see_entry },
    [HOCKET__SUMMED_RECORDS] = { "event", HOCKET__SQL_SUM_RECORDS, see_record },
    [HOCKET__SUMMED_MESSAGES] = { "message", HOCKET__SQL_SUM_MESSAGES, see_message },
    [HOCKET__SUMMED_RUNS] = { "run", HOCKET__SQL_SUM_RUNS, see_run },
    [HOCKET__SUMMED_TEXTS] = { "text", HOCKET__SQL_SUM_TEXTS, see_text },
};

static void begin(struct hocket__writer *w, const struct table *t, const int64_t place[2])
{
    hocket__sql_new(w, t->rows);
    hocket__sql_int(w, place[0]);
    hocket__sql_int(w, place[1]);
}

static void see(struct hocket__writer *w, const struct table *t, struct seen *s)
{
    *s = (struct seen){ .place = { hocket__sql_int_of(w, 0), hocket__sql_int_of(w, 1) } };
    t->see(w, s);
}

/* ---- Checking --------------------------------------------------------------------------------- */

static void say(struct hocket__store_call *c, const struct table *t, const struct seen *s)
{
    if (t->see == see_run)
        hocket__store_add_row(
            c, "problem", "run %.*s is not what was written", (int) s->run.n, s->run.p);
    else if (t->see == see_text)
        hocket__store_add_row(
            c, "problem", "text %lld is not what was written", (long long) s->place[1]);
    else
        hocket__store_add_row(c, "problem", "%s %lld of run %.*s is not what was written", t->row,
            (long long) s->place[1], (int) s->run.n, s->run.p);
}

static int check_table(
    struct hocket__writer *w, struct hocket__store_call *c, const struct table *t)
{
    struct seen s = { .place = { 0, 0 } };
    int rc = 1, said = 0;
    for (bool any = true; any && said < SHOWN;) {
        any = false;
        begin(w, t, s.place);
        while ((rc = hocket__sql_step(w)) == 1) {
            see(w, t, &s);
            any = true;
            if (s.altered && said++ < SHOWN)
                say(c, t, &s);
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

int hocket__sql_check_sums(struct hocket__writer *w, struct hocket__store_call *c)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof(tables) / sizeof(tables[0]); i++)
        rc = check_table(w, c, &tables[i]);
    return rc;
}

/* ---- Filling ---------------------------------------------------------------------------------- */

/* One statement at a time: a piece is read, then written. */
static int fill_piece(
    struct hocket__writer *w, const struct table *t, unsigned fill, struct seen *rows, size_t *n)
{
    struct seen last = rows[0];
    int rc;
    *n = 0;
    begin(w, t, last.place);
    while ((rc = hocket__sql_step(w)) == 1)
        see(w, t, &rows[(*n)++]);
    for (size_t i = 0; rc == 0 && i < *n; i++) {
        hocket__sql_new(w, fill);
        hocket__sql_int(w, rows[i].place[0]);
        hocket__sql_int(w, rows[i].place[1]);
        hocket__sql_int(w, rows[i].sums[0]);
        if (t->see == see_run)
            hocket__sql_int(w, rows[i].sums[1]);
        rc = hocket__sql_run(w);
    }
    if (*n > 0)
        rows[0] = rows[*n - 1];
    return rc;
}

int hocket__sql_fill_sums(struct hocket__writer *w, const unsigned fill[HOCKET__SUMMED_TEXTS])
{
    struct seen *rows = hocket__zero(&hocket__malloc, MOST * sizeof(*rows));
    int rc = rows ? 0 : hocket__error_nomem(w->error);
    for (size_t i = 0; rc == 0 && i < HOCKET__SUMMED_TEXTS; i++) {
        size_t n = 1;
        rows[0] = (struct seen){ .place = { 0, 0 } };
        while (rc == 0 && n > 0)
            rc = fill_piece(w, &tables[i], fill[i], rows, &n);
    }
    hocket__free(&hocket__malloc, rows, MOST * sizeof(*rows));
    return rc;
}
