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

int hocket__sqlite_owner(struct hocket__sqlite_writer *w, const char *id, struct hocket__wal_of *of)
{
    hocket__sql_new(&w->base, HOCKET__SQL_RUN_OF);
    hocket__sql_text(&w->base, hocket__cstr(id));
    int rc = hocket__sql_step(&w->base);
    if (rc != 1)
        return rc;
    memset(of, 0, sizeof(*of));
    struct hocket__str place = hocket__sql_text_of(&w->base, HOCKET__COLUMN_owner_place);
    of->pid = hocket__sql_int_of(&w->base, HOCKET__COLUMN_owner_pid);
    of->start = hocket__sql_int_of(&w->base, HOCKET__COLUMN_owner_start);
    of->store = hocket__sql_int_of(&w->base, HOCKET__COLUMN_owner_store);
    snprintf(of->place, sizeof(of->place), "%.*s", (int) place.n, place.p);
    hocket__sql_done(&w->base);
    return of->pid != 0;
}

/* ---- Keeping, letting go ------------------------------------------------------------------------------ */

static int renew(struct hocket__sqlite_writer *w, struct hocket__claimed *c)
{
    hocket__sql_new(&w->base, ST_RENEW);
    hocket__sql_int(&w->base, hocket__sqlite_now(w) + w->base.o.lease_ms);
    hocket__sql_text(&w->base, hocket__cstr(c->id));
    hocket__sql_int(&w->base, (int64_t) c->fence);
    hocket__sql_int(&w->base, w->base.self.store);
    int rc = hocket__sql_run(&w->base);
    if (rc == 0 && w->base.sql->changed(&w->base) == 0 && !w->base.leases.writing)
        hocket__writer_refuse(&w->base, c, HOCKET__STORE_APPEND, HOCKET_ESTATE);
    return rc;
}

int hocket__sqlite_renew(struct hocket__writer *base)
{
    struct hocket__sqlite_writer *w = hocket__sqlite_of(base);
    if (hocket__list_empty(&w->base.claims) || w->looks)
        return 0;
    int rc = hocket__sqlite_there(w);
    if (rc == 0)
        rc = hocket__sqlite_begin(w);
    for (struct hocket__list *l = w->base.claims.next; rc == 0 && l != &w->base.claims;
         l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, link);
        if (hocket__claims_is_ours(c))
            rc = renew(w, c);
    }
    return hocket__sqlite_end(w, rc);
}

static int let_go(struct hocket__sqlite_writer *w, const char *id)
{
    hocket__sql_new(&w->base, ST_RELEASE);
    hocket__sql_text(&w->base, hocket__cstr(id));
    hocket__sql_int(&w->base, w->base.self.pid);
    hocket__sql_int(&w->base, w->base.self.store);
    return hocket__sql_run(&w->base);
}

int hocket__sqlite_release(struct hocket__writer *base)
{
    struct hocket__sqlite_writer *w = hocket__sqlite_of(base);
    if (w->looks)
        return 0;
    bool nothing = hocket__list_empty(&w->base.claims) && !w->has_noted;
    if (nothing || hocket__sqlite_there(w) < 0) {
        hocket__fs_unlink(hocket__wal_file(base)); /* another may have made it */
        return 0;
    }
    int rc = hocket__sqlite_begin(w);
    for (struct hocket__list *l = w->base.claims.next; rc == 0 && l != &w->base.claims; l = l->next)
        rc = let_go(w, hocket__container_of(l, struct hocket__claimed, link)->id);
    if (rc == 0)
        rc = hocket__wal_forget(w);
    rc = hocket__sqlite_end(w, rc);
    if (rc == 0)
        hocket__fs_unlink(hocket__wal_file(base));
    return rc;
}
