/* Who has which run.
 *
 * A run is had by one process at a time: its row names the owner, a lease that the owner moves, and
 * a fence that goes up with each claim. A write is let in when owner and fence are those of the
 * claim; so a process that was stopped, and lost its run meanwhile, cannot write into it when it
 * goes on.
 *
 * Whether an owner is alive is asked of the machine where its process number means something, and is the lease's
 * word elsewhere. */
#include "store/sqlite/sqlite_impl.h"

#include <stdio.h>

#include "os/fs.h"

bool hocket__sqlite_is_held(struct hocket__sqlite_keeper *k, sqlite3_stmt *row)
{
    struct hocket__db *d = &k->db;
    int64_t pid = hocket__db_int(d, row, HOCKET__RUN_OWNER);
    return pid != 0 && hocket__db_int(d, row, HOCKET__RUN_LEASE) >= hocket__sqlite_now(k)
           && !hocket__self_sees_end(&k->base.self, hocket__db_str(d, row, HOCKET__RUN_PLACE), pid,
               hocket__db_int(d, row, HOCKET__RUN_PLACE + 1));
}

void hocket__sqlite_bind(struct hocket__sqlite_keeper *k, sqlite3_stmt *st, int first)
{
    struct hocket__db *d = &k->db;
    int64_t now = hocket__sqlite_now(k);
    hocket__db_bind_int(d, st, first, k->base.self.pid);
    hocket__db_bind_text(d, st, first + 1, hocket__cstr(k->base.self.host));
    hocket__db_bind_text(d, st, first + 2, hocket__cstr(k->base.self.place));
    hocket__db_bind_int(d, st, first + 3, k->base.self.start);
    hocket__db_bind_int(d, st, first + 4, k->base.self.store);
    hocket__db_bind_int(d, st, first + 5, now);
    hocket__db_bind_int(d, st, first + 6, now + k->base.o.lease_ms);
}

/* ---- Taking ---------------------------------------------------------------------------------------- */

static sqlite3_stmt *row_of(struct hocket__sqlite_keeper *k, struct hocket__str id, int *rc)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(
        d, ST_TAKE_FIND, "SELECT " HOCKET__RUN_COLUMNS HOCKET__RUN_FROM " WHERE r.id = ?");
    if (!st) {
        *rc = d->error.status;
        return NULL;
    }
    hocket__db_bind_text(d, st, 1, id);
    *rc = hocket__db_step(d, st);
    return *rc == 1 ? st : NULL;
}

/* Packs the run as it is now. */
static int give(struct hocket__sqlite_keeper *k, struct hocket__store_call *call, bool has_it)
{
    int rc;
    sqlite3_stmt *st = row_of(k, call->key, &rc);
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    if (!st)
        return rc;
    hocket__row_run(&k->db, st, &row.run);
    hocket__store_pack(&call->rows, &row);
    if (has_it)
        call->status = hocket__store_has_it(call, &row.run.owner);
    hocket__db_reset(&k->db, st);
    return 0;
}

static int claim(struct hocket__sqlite_keeper *k, int64_t no)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_TAKE,
        "UPDATE runs SET fence = fence + 1, owner_pid = ?2, owner_host = ?3, owner_place = ?4,"
        " owner_start = ?5, owner_store = ?6, owner_since_ms = ?7, lease_ms = ?8 WHERE no = ?1");
    if (!st)
        return d->error.status;
    hocket__db_bind_int(d, st, 1, no);
    hocket__sqlite_bind(k, st, 2);
    return hocket__db_run(d, st);
}

static void read_owner(struct hocket__db *d, sqlite3_stmt *row, struct hocket__ahead_of *of)
{
    memset(of, 0, sizeof(*of));
    struct hocket__str place = hocket__db_str(d, row, HOCKET__RUN_PLACE);
    of->pid = hocket__db_int(d, row, HOCKET__RUN_OWNER);
    of->start = hocket__db_int(d, row, HOCKET__RUN_PLACE + 1);
    of->store = hocket__db_int(d, row, HOCKET__RUN_PLACE + 2);
    snprintf(of->place, sizeof(of->place), "%.*s", (int) place.n, place.p);
}

int hocket__sqlite_owner(
    struct hocket__sqlite_keeper *k, const char *id, struct hocket__ahead_of *of)
{
    int rc;
    sqlite3_stmt *st = row_of(k, hocket__cstr(id), &rc);
    if (!st)
        return rc;
    read_owner(&k->db, st, of);
    hocket__db_reset(&k->db, st);
    return of->pid != 0;
}

static int take(struct hocket__sqlite_keeper *k, struct hocket__store_call *call, const char *id)
{
    int rc;
    sqlite3_stmt *st = row_of(k, call->key, &rc);
    if (!st) {
        if (rc == 0)
            call->status = hocket__store_not_found(call);
        return rc;
    }
    struct hocket__ahead_of of;
    const struct hocket__claimed *c = hocket__claims_get(&k->base, id);
    bool held = (c && hocket__claims_is_ours(c)) || hocket__sqlite_is_held(k, st);
    int64_t no = hocket__db_int(&k->db, st, HOCKET__RUN_NO);
    read_owner(&k->db, st, &of);
    hocket__db_reset(&k->db, st);
    if (!held && of.pid)
        rc = hocket__ahead_recover_run(k, &of, id, NULL);
    if (!held && rc >= 0)
        rc = claim(k, no);
    return rc < 0 ? rc : give(k, call, held);
}

/* What is remembered of an older claim is over: its refusal, too. */
int hocket__sqlite_take(struct hocket__sqlite_keeper *k, struct hocket__store_call *call)
{
    char id[HOCKET__STORE_ID + 1] = "";
    memcpy(id, call->key.p, call->key.n);
    int rc = hocket__leases_renew(&k->base);
    if (rc < 0)
        return rc;
    struct hocket__claimed *c = hocket__claims_need(&k->base, id);
    if (!c)
        return hocket__error_nomem(&k->db.error);
    rc = hocket__sqlite_begin(k);
    if (rc == 0)
        rc = take(k, call, id);
    rc = hocket__sqlite_end(k, rc);
    hocket__claims_taken(&k->base, c, rc < 0 ? 0 : hocket__claims_fence_of(call));
    return rc;
}

/* ---- Keeping, letting go ------------------------------------------------------------------------------ */

static int renew(struct hocket__sqlite_keeper *k, struct hocket__claimed *c)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_RENEW,
        "UPDATE runs SET lease_ms = ?1 WHERE id = ?2 AND fence = ?3 AND owner_store = ?4");
    if (!st)
        return d->error.status;
    hocket__db_bind_int(d, st, 1, hocket__sqlite_now(k) + k->base.o.lease_ms);
    hocket__db_bind_text(d, st, 2, hocket__cstr(c->id));
    hocket__db_bind_int(d, st, 3, (int64_t) c->fence);
    hocket__db_bind_int(d, st, 4, k->base.self.store);
    int rc = hocket__db_run(d, st);
    if (rc == 0 && d->lib->changes(d->db) == 0 && !k->base.leases.writing)
        hocket__keeper_refuse(&k->base, c, HOCKET__STORE_APPEND, HOCKET_ESTATE);
    return rc;
}

int hocket__sqlite_renew(struct hocket__keeper *base)
{
    struct hocket__sqlite_keeper *k = hocket__sqlite_of(base);
    if (hocket__list_empty(&k->base.claims) || k->looks)
        return 0;
    int rc = hocket__sqlite_begin(k);
    for (struct hocket__list *l = k->base.claims.next; rc == 0 && l != &k->base.claims;
         l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, link);
        if (hocket__claims_is_ours(c))
            rc = renew(k, c);
    }
    return hocket__sqlite_end(k, rc);
}

static int let_go(struct hocket__sqlite_keeper *k, const char *id)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_LET_GO,
        "UPDATE runs SET " HOCKET__QUEUE_LET_GO
        " WHERE id = ?1 AND owner_pid = ?2 AND owner_store = ?3");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, hocket__cstr(id));
    hocket__db_bind_int(d, st, 2, k->base.self.pid);
    hocket__db_bind_int(d, st, 3, k->base.self.store);
    return hocket__db_run(d, st);
}

int hocket__sqlite_release(struct hocket__keeper *base)
{
    struct hocket__sqlite_keeper *k = hocket__sqlite_of(base);
    if (k->looks)
        return 0;
    bool nothing = hocket__list_empty(&k->base.claims) && !k->has_noted;
    if (nothing || hocket__sqlite_there(k) < 0) {
        hocket__fs_unlink(hocket__ahead_file(base)); /* another may have made it */
        return 0;
    }
    int rc = hocket__sqlite_begin(k);
    for (struct hocket__list *l = k->base.claims.next; rc == 0 && l != &k->base.claims; l = l->next)
        rc = let_go(k, hocket__container_of(l, struct hocket__claimed, link)->id);
    if (rc == 0)
        rc = hocket__ahead_forget(k);
    rc = hocket__sqlite_end(k, rc);
    if (rc == 0)
        hocket__fs_unlink(hocket__ahead_file(base));
    return rc;
}
