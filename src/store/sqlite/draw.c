/* Limits for all who use the file: read, decided and written with the file's lock. Nobody waits for the disk: what a loss of
 * power takes of them is a moment's. */
#include "store/draw.h"
#include "store/sqlite/sqlite_impl.h"

static int read_level(struct hocket__db *d, struct hocket__str name, struct hocket__store_level *l)
{
    sqlite3_stmt *st = hocket__db_stmt(
        d, ST_LIMIT_FIND, "SELECT used, at_ms, blocked_ms FROM limits WHERE name = ?");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, name);
    int rc = hocket__db_step(d, st);
    if (rc == 1)
        *l = (struct hocket__store_level){ (double) hocket__db_int(d, st, 0)
                                               / HOCKET__STORE_DRAW_UNIT,
            hocket__db_int(d, st, 1), hocket__db_int(d, st, 2) };
    hocket__db_reset(d, st);
    return rc < 0 ? rc : 0;
}

static int write_level(
    struct hocket__db *d, struct hocket__str name, const struct hocket__store_level *l)
{
    sqlite3_stmt *st = hocket__db_stmt(d, ST_LIMIT_PUT,
        "INSERT INTO limits(name, used, at_ms, blocked_ms) VALUES(?1, ?2, ?3, ?4)"
        " ON CONFLICT(name) DO UPDATE SET used = ?2, at_ms = ?3, blocked_ms = ?4");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, name);
    hocket__db_bind_int(d, st, 2, hocket__store_draw_parts(l));
    hocket__db_bind_int(d, st, 3, l->at_ms);
    hocket__db_bind_int(d, st, 4, l->blocked_ms);
    return hocket__db_run(d, st);
}

static int sweep(struct hocket__db *d, int64_t now_ms)
{
    sqlite3_stmt *st = hocket__db_stmt(d, ST_LIMIT_SWEEP, "DELETE FROM limits WHERE at_ms < ?");
    if (!st)
        return d->error.status;
    hocket__db_bind_int(d, st, 1, now_ms - HOCKET__STORE_DRAW_OLD_MS);
    return hocket__db_run(d, st);
}

static int read_others(struct hocket__db *d, const struct hocket__store_draw *draw, int64_t now_ms,
    struct hocket__store_others *others)
{
    sqlite3_stmt *st = hocket__db_stmt(d, ST_LEASES,
        "SELECT ifnull(sum(n), 0), count(*), ifnull(sum(n < want), 0),"
        " EXISTS (SELECT 1 FROM leases WHERE name = ?1 AND holder = ?2) FROM leases"
        " WHERE name = ?1 AND holder <> ?2 AND until_ms > ?3");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, draw->name);
    hocket__db_bind_text(d, st, 2, draw->holder);
    hocket__db_bind_int(d, st, 3, now_ms);
    int rc = hocket__db_step(d, st);
    if (rc == 1)
        *others = (struct hocket__store_others){ hocket__db_int(d, st, 0), hocket__db_int(d, st, 1),
            hocket__db_int(d, st, 2), hocket__db_int(d, st, 3) != 0 };
    hocket__db_reset(d, st);
    return rc < 0 ? rc : 0;
}

/* Also what is over of the others. */
static int drop_leases(struct hocket__db *d, const struct hocket__store_draw *draw, int64_t now_ms)
{
    sqlite3_stmt *st = hocket__db_stmt(
        d, ST_LEASE_DEL, "DELETE FROM leases WHERE name = ? AND (holder = ? OR until_ms <= ?)");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, draw->name);
    hocket__db_bind_text(d, st, 2, draw->holder);
    hocket__db_bind_int(d, st, 3, now_ms);
    return hocket__db_run(d, st);
}

static int write_lease(
    struct hocket__db *d, const struct hocket__store_draw *draw, int64_t n, int64_t now_ms)
{
    int rc = drop_leases(d, draw, now_ms);
    if (rc < 0 || !hocket__store_draw_stays(draw, n))
        return rc;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_LEASE_PUT,
        "INSERT INTO leases(name, holder, n, want, until_ms) VALUES(?, ?, ?, ?, ?)");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, draw->name);
    hocket__db_bind_text(d, st, 2, draw->holder);
    hocket__db_bind_int(d, st, 3, n);
    hocket__db_bind_int(d, st, 4, draw->want);
    hocket__db_bind_int(d, st, 5, now_ms + draw->lease_ms);
    return hocket__db_run(d, st);
}

static int draw_one(struct hocket__sqlite_keeper *k, struct hocket__store_call *c,
    const struct hocket__store_draw *draw, bool looks)
{
    struct hocket__db *d = &k->db;
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_DRAWN };
    struct hocket__store_level level = { 0 };
    struct hocket__store_others others = { 0 };
    int64_t now = hocket__sqlite_now(k);
    int rc = read_level(d, draw->name, &level);
    if (rc == 0 && (draw->holder.n > 0 || looks))
        rc = read_others(d, draw, now, &others);
    if (rc == 0 && level.at_ms == 0 && !looks)
        rc = sweep(d, now);
    if (rc < 0)
        return rc;
    hocket__store_draw_decide(draw, now, &others, &level, &row.drawn);
    hocket__store_pack(&c->rows, &row);
    if (looks)
        return 0;
    rc = write_level(d, draw->name, &level);
    return rc == 0 && draw->holder.n > 0 ? write_lease(d, draw, row.drawn.granted, now) : rc;
}

int hocket__sqlite_draw(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__store_draw draw = hocket__store_call_draw(c);
    if (hocket__store_draw_looks(&draw))
        return draw_one(k, c, &draw, true);
    int rc = hocket__sqlite_begin(k);
    if (rc == 0)
        rc = draw_one(k, c, &draw, false);
    return hocket__sqlite_end(k, rc);
}
