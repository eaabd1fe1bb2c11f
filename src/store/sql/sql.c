/* Reading, whatever the database is. */
#include "store/sql/sql.h"

#include <stdlib.h>

int hocket__sql_run(struct hocket__writer *w)
{
    int rc;
    while ((rc = hocket__sql_step(w)) == 1)
        ;
    return rc;
}

int64_t hocket__sql_number(struct hocket__writer *w, int *rc)
{
    *rc = hocket__sql_step(w);
    int64_t v = *rc == 1 ? hocket__sql_int_of(w, 0) : 0;
    if (*rc == 1)
        hocket__sql_done(w);
    *rc = *rc < 0 ? *rc : 0;
    return v;
}

/* The last row may fill a piece to the byte: then the next one is empty. */
int hocket__sql_give(struct hocket__writer *w, struct hocket__store_call *c,
    void (*give)(struct hocket__writer *w, struct hocket__store_call *c), int64_t most, int all)
{
    int64_t rows = 0, there = 0;
    int rc;
    while ((rc = hocket__sql_step(w)) == 1) {
        rows++;
        there = !w->sql->streams && all >= 0 ? hocket__sql_int_of(w, all) : 0;
        give(w, c);
        if (c->status < 0) {
            hocket__sql_done(w);
            return 0;
        }
        bool is_last = c->place.left > 0 && --c->place.left == 0;
        c->more = !is_last && c->rows.len >= HOCKET__STORE_PIECE;
        if (is_last || c->more) {
            hocket__sql_done(w);
            return 0;
        }
    }
    if (rc == 0 && !w->sql->streams)
        c->more = rows > 0 && (there > rows || rows == most);
    return rc;
}

int64_t hocket__sql_most(
    const struct hocket__writer *w, const struct hocket__store_call *c, int64_t at_once)
{
    if (w->sql->streams)
        return c->place.left > 0 ? (int64_t) c->place.left : -1;
    return c->place.left > 0 && c->place.left < (size_t) at_once ? (int64_t) c->place.left
                                                                 : at_once;
}

/* `?` is the parameter behind the highest that stands before it. */
void hocket__sql_write(struct hocket__buf *out, const char *text, char mark)
{
    int highest = 0;
    for (const char *p = text; *p; p++) {
        if (*p == '?') {
            hocket__buf_addf(out, "%c%d", mark, ++highest);
        } else if (*p == '$') {
            int n = atoi(p + 1);
            highest = n > highest ? n : highest;
            hocket__buf_addc(out, mark);
        } else {
            hocket__buf_addc(out, *p);
        }
    }
}
