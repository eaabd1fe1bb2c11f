/* Limits for all who use the database: the row is locked while what it gives is decided, in two round trips, and nobody waits
 * for a disk: what a crash of the server takes of them is a moment's. The clock is the server's. */
#include "store/draw.h"
#include "store/postgres/postgres_impl.h"

static int lock_row(struct hocket__pg *d, const struct hocket__store_draw *draw)
{
    hocket__pg_new(d);
    hocket__pg_text(d, draw->name);
    return hocket__pg_send(d, PG_LIMIT_MAKE,
        "INSERT INTO limits(name, used, at_ms, blocked_ms) VALUES($1, 0, 0, 0)"
        " ON CONFLICT(name) DO UPDATE SET at_ms = limits.at_ms"
        " RETURNING used::bigint, at_ms, blocked_ms");
}

/* Seen after the row is locked, which all who write leases of this name do before: a statement of its own, whose view of the
 * table is newer than that of the one before. */
static int ask_others(struct hocket__pg *d, const struct hocket__store_draw *draw, int64_t now_ms)
{
    hocket__pg_new(d);
    hocket__pg_text(d, draw->name);
    hocket__pg_text(d, draw->holder);
    hocket__pg_int(d, now_ms);
    return hocket__pg_send(d, PG_LEASES,
        "SELECT coalesce(sum(n), 0)::bigint, count(*), count(*) FILTER (WHERE n < want),"
        " (SELECT count(*) FROM leases WHERE name = $1 AND holder = $2)"
        " FROM leases WHERE name = $1 AND holder <> $2 AND until_ms > $3");
}

static int send_begin(struct hocket__pg *d)
{
    hocket__pg_new(d);
    int rc = hocket__pg_send(d, PG_BEGIN, "BEGIN");
    hocket__pg_new(d);
    return rc < 0 ? rc : hocket__pg_send(d, PG_NO_SYNC, "SET LOCAL synchronous_commit = off");
}

static int read_all(struct hocket__pg *d, const struct hocket__store_draw *draw,
    struct hocket__store_level *level, struct hocket__store_others *others)
{
    int rc = hocket__pg_sync(d);
    for (int i = 0; rc == 0 && i < 3; i++)
        rc = hocket__pg_next(d);
    if (rc == 0)
        *level = (struct hocket__store_level){ (double) hocket__pg_int_of(d, 0, 0)
                                                   / HOCKET__STORE_DRAW_UNIT,
            hocket__pg_int_of(d, 0, 1), hocket__pg_int_of(d, 0, 2) };
    if (rc == 0 && draw->holder.n > 0 && (rc = hocket__pg_next(d)) == 0)
        *others =
            (struct hocket__store_others){ hocket__pg_int_of(d, 0, 0), hocket__pg_int_of(d, 0, 1),
                hocket__pg_int_of(d, 0, 2), hocket__pg_int_of(d, 0, 3) != 0 };
    return rc < 0 ? hocket__pg_give_up(d) : hocket__pg_end(d);
}

static int begin(struct hocket__pg *d, const struct hocket__store_draw *draw,
    struct hocket__store_level *level, struct hocket__store_others *others, int64_t now_ms)
{
    int rc = send_begin(d);
    if (rc == 0)
        rc = lock_row(d, draw);
    if (rc == 0 && draw->holder.n > 0)
        rc = ask_others(d, draw, now_ms);
    return rc < 0 ? rc : read_all(d, draw, level, others);
}

static int send_level(
    struct hocket__pg *d, struct hocket__str name, const struct hocket__store_level *l)
{
    hocket__pg_new(d);
    hocket__pg_text(d, name);
    hocket__pg_int(d, hocket__store_draw_parts(l));
    hocket__pg_int(d, l->at_ms);
    hocket__pg_int(d, l->blocked_ms);
    return hocket__pg_send(d, PG_LIMIT_PUT,
        "UPDATE limits SET used = $2, at_ms = $3, blocked_ms = $4 WHERE name = $1");
}

/* One that has nothing is put where others are to hear of it; what is over of others goes as well. */
static int send_lease(
    struct hocket__pg *d, const struct hocket__store_draw *draw, int64_t n, int64_t now_ms)
{
    hocket__pg_new(d);
    hocket__pg_text(d, draw->name);
    hocket__pg_text(d, draw->holder);
    hocket__pg_int(d, now_ms);
    int rc = hocket__pg_send(
        d, PG_LEASE_DEL, "DELETE FROM leases WHERE name = $1 AND (holder = $2 OR until_ms <= $3)");
    if (rc < 0 || !hocket__store_draw_stays(draw, n))
        return rc;
    hocket__pg_new(d);
    hocket__pg_text(d, draw->name);
    hocket__pg_text(d, draw->holder);
    hocket__pg_int(d, n);
    hocket__pg_int(d, draw->want);
    hocket__pg_int(d, now_ms + draw->lease_ms);
    return hocket__pg_send(d, PG_LEASE_PUT,
        "INSERT INTO leases(name, holder, n, want, until_ms) VALUES($1, $2, $3, $4, $5)");
}

/* One that somebody is about to draw from is left alone. */
static int send_sweep(struct hocket__pg *d, int64_t now_ms)
{
    hocket__pg_new(d);
    hocket__pg_int(d, now_ms - HOCKET__STORE_DRAW_OLD_MS);
    return hocket__pg_send(d, PG_LIMIT_SWEEP,
        "DELETE FROM limits WHERE name IN (SELECT name FROM limits WHERE at_ms BETWEEN 1 AND $1"
        " FOR UPDATE SKIP LOCKED)");
}

static int write_all(struct hocket__pg *d, const struct hocket__store_draw *draw,
    const struct hocket__store_level *level, bool is_new, int64_t n, int64_t now_ms)
{
    int rc = send_level(d, draw->name, level);
    if (rc == 0 && draw->holder.n > 0)
        rc = send_lease(d, draw, n, now_ms);
    if (rc == 0 && is_new)
        rc = send_sweep(d, now_ms);
    if (rc < 0)
        return rc;
    rc = hocket__pg_sync(d);
    return rc < 0 ? hocket__pg_give_up(d) : hocket__pg_end(d);
}

/* Without a lock, and without a row where there is none: a reader's role may do it. */
static int look(struct hocket__pg *d, const struct hocket__store_draw *draw,
    struct hocket__store_level *level, struct hocket__store_others *others, int64_t now_ms)
{
    hocket__pg_new(d);
    hocket__pg_text(d, draw->name);
    hocket__pg_int(d, now_ms);
    int rc = hocket__pg_query(d, PG_LIMIT_LOOK,
        "SELECT coalesce(max(used), 0)::bigint, coalesce(max(at_ms), 0),"
        " coalesce(max(blocked_ms), 0),"
        " (SELECT coalesce(sum(n), 0)::bigint FROM leases WHERE name = $1 AND until_ms > $2)"
        " FROM limits WHERE name = $1");
    if (rc < 0)
        return rc;
    *level =
        (struct hocket__store_level){ (double) hocket__pg_int_of(d, 0, 0) / HOCKET__STORE_DRAW_UNIT,
            hocket__pg_int_of(d, 0, 1), hocket__pg_int_of(d, 0, 2) };
    others->n = hocket__pg_int_of(d, 0, 3);
    return 0;
}

/* An answer that was lost on its way was drawn all the same: what is drawn twice leaks, or its lease runs out; what a holder
 * spends is spent once. */
int hocket__pg_draw(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again)
{
    struct hocket__pg *d = &k->db;
    struct hocket__store_draw draw = hocket__store_call_draw(c);
    draw.again |= again;
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_DRAWN };
    struct hocket__store_level level = { 0 };
    struct hocket__store_others others = { 0 };
    int64_t now = hocket__pg_now(k);
    bool looks = hocket__store_draw_looks(&draw);
    int rc = looks ? look(d, &draw, &level, &others, now) : begin(d, &draw, &level, &others, now);
    if (looks && rc == 0) {
        hocket__store_draw_decide(&draw, now, &others, &level, &row.drawn);
        return hocket__store_pack(&c->rows, &row);
    }
    if (rc == 0) {
        bool is_new = level.at_ms == 0;
        hocket__store_draw_decide(&draw, now, &others, &level, &row.drawn);
        hocket__store_pack(&c->rows, &row);
        rc = write_all(d, &draw, &level, is_new, row.drawn.granted, now);
    }
    return hocket__pg_finish(d, rc);
}
