/* Limits for all users of the database: the row of a limit is read and locked, the grant is computed (store/draw.h),
 * and the new row is written. Nobody waits for a disk: a crash loses only the last moment. */
#include "store/draw.h"
#include "store/sql/sql.h"

static int send_level(
    struct hocket__writer *w, struct hocket__str name, const struct hocket__store_level *l)
{
    hocket__sql_new(w, HOCKET__SQL_LIMIT_PUT);
    hocket__sql_text(w, name);
    hocket__sql_int(w, hocket__store_draw_parts(l));
    hocket__sql_int(w, l->at_ms);
    hocket__sql_int(w, l->blocked_ms);
    return hocket__sql_send(w);
}

/* One that has nothing is put where others are to hear of it; what is over of others goes as well. */
static int send_lease(
    struct hocket__writer *w, const struct hocket__store_draw *draw, int64_t n, int64_t now_ms)
{
    hocket__sql_new(w, HOCKET__SQL_LEASE_DEL);
    hocket__sql_text(w, draw->name);
    hocket__sql_text(w, draw->holder);
    hocket__sql_int(w, now_ms);
    int rc = hocket__sql_send(w);
    if (rc < 0 || !hocket__store_draw_stays(draw, n))
        return rc;
    hocket__sql_new(w, HOCKET__SQL_LEASE_PUT);
    hocket__sql_text(w, draw->name);
    hocket__sql_text(w, draw->holder);
    hocket__sql_int(w, n);
    hocket__sql_int(w, draw->want);
    hocket__sql_int(w, now_ms + draw->lease_ms);
    return hocket__sql_send(w);
}

static int send_sweep(struct hocket__writer *w, int64_t now_ms)
{
    hocket__sql_new(w, HOCKET__SQL_LIMIT_SWEEP);
    hocket__sql_int(w, now_ms - HOCKET__STORE_DRAW_OLD_MS);
    return hocket__sql_send(w);
}

static int write_all(struct hocket__writer *w, const struct hocket__store_draw *draw,
    const struct hocket__store_level *level, bool is_new, int64_t n, int64_t now_ms)
{
    int rc = send_level(w, draw->name, level);
    if (rc == 0 && draw->holder.n > 0)
        rc = send_lease(w, draw, n, now_ms);
    if (rc == 0 && is_new)
        rc = send_sweep(w, now_ms);
    return rc < 0 ? rc : w->sql->flush(w);
}

void hocket__sql_read_level(struct hocket__writer *w, struct hocket__store_level *level)
{
    *level =
        (struct hocket__store_level){ (double) hocket__sql_int_of(w, 0) / HOCKET__STORE_DRAW_UNIT,
            hocket__sql_int_of(w, 1), hocket__sql_int_of(w, 2) };
}

void hocket__sql_read_others(struct hocket__writer *w, struct hocket__store_others *others)
{
    *others = (struct hocket__store_others){ hocket__sql_int_of(w, 0), hocket__sql_int_of(w, 1),
        hocket__sql_int_of(w, 2), hocket__sql_int_of(w, 3) != 0 };
}

void hocket__sql_ask_others(
    struct hocket__writer *w, const struct hocket__store_draw *draw, int64_t now_ms)
{
    hocket__sql_new(w, HOCKET__SQL_LEASES);
    hocket__sql_text(w, draw->name);
    hocket__sql_text(w, draw->holder);
    hocket__sql_int(w, now_ms);
}

/* An answer that was lost on its way was drawn all the same: what is drawn twice leaks, or its lease runs out; what a holder
 * spends is spent once. */
int hocket__sql_draw(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_draw draw = c->q.draw;
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_DRAWN };
    struct hocket__store_level level = { 0 };
    struct hocket__store_others others = { 0 };
    int64_t now = w->ops->now(w);
    draw.again |= w->again;
    bool looks = hocket__store_draw_looks(&draw);
    int rc = looks ? 0 : w->sql->begin_draw(w);
    if (rc == 0)
        rc = w->sql->read_limit(w, &draw, now, &level, &others);
    bool is_new = level.at_ms == 0;
    if (rc == 0) {
        hocket__store_draw_decide(&draw, now, &others, &level, &row.drawn);
        hocket__store_pack(&c->rows, &row);
    }
    if (looks)
        return rc;
    if (rc == 0)
        rc = write_all(w, &draw, &level, is_new, row.drawn.granted, now);
    return w->sql->end(w, rc);
}
