/* Who has which run: what is said of leases, and what became of an answer that was lost. */
#include "store/postgres/postgres_impl.h"

/* A claim of this very store that it knows nothing of is one whose answer was lost on the way. What it knows may be an older one,
 * which it has lost. */
bool hocket__pg_knows(const struct hocket__claimed *c, int64_t fence)
{
    return c && (hocket__claims_is_ours(c) || (int64_t) c->fence == fence);
}

bool hocket__pg_is_lost(struct hocket__writer *w, const struct hocket__claimed *c)
{
    return !hocket__pg_knows(c, hocket__sql_int_of(w, HOCKET__COLUMN_fence))
           && hocket__sql_int_of(w, HOCKET__COLUMN_owner_store) == w->self.store
           && hocket__sql_int_of(w, HOCKET__COLUMN_owner_pid) == w->self.pid;
}

/* ---- Keeping, letting go ------------------------------------------------------------------------------ */

/* Ids and numbers of what we have, with commas: NULL-free lists of the same length. */
static int add_claims(struct hocket__writer *w, struct hocket__buf *fences)
{
    for (struct hocket__list *l = w->claims.next; l != &w->claims; l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, link);
        if (hocket__claims_is_ours(c))
            hocket__buf_addf(
                fences, "%s%llu", fences->len ? "," : "", (unsigned long long) c->fence);
    }
    return fences->status < 0 ? hocket__error_nomem(w->error) : 0;
}

/* Reports lost claims; 1: another session has locked the row. */
static int read_renewal(struct hocket__writer *w)
{
    struct hocket__str text = hocket__sql_text_of(w, 0);
    bool renewed = hocket__sql_int_of(w, 1) > 0, ours = hocket__sql_int_of(w, 2) > 0;
    char id[HOCKET__STORE_ID + 1] = "";
    memcpy(id, text.p, text.n < HOCKET__STORE_ID ? text.n : HOCKET__STORE_ID);
    struct hocket__claimed *c = hocket__claims_get(w, id);
    if (!renewed && !ours && c && !w->leases.writing)
        hocket__writer_refuse(w, c, HOCKET__STORE_APPEND, HOCKET_ESTATE);
    return !renewed && ours;
}

/* All at once, but those whose rows somebody has locked: they would hold up the others, and at last undo what was done. Each
 * comes back with whether it was renewed, and whether it is ours. */
static int renew_all(struct hocket__writer *w, struct hocket__str ids, struct hocket__str fences)
{
    int rc, locked = 0;
    hocket__sql_new(w, PG_RENEW);
    hocket__sql_int(w, w->ops->now(w) + w->o.lease_ms);
    hocket__sql_text(w, ids);
    hocket__sql_text(w, fences);
    hocket__sql_int(w, w->self.store);
    while ((rc = hocket__sql_step(w)) == 1)
        locked |= read_renewal(w);
    return rc < 0 ? rc : locked;
}

int hocket__pg_renew(struct hocket__writer *w)
{
    struct hocket__buf ids, fences;
    if (hocket__list_empty(&w->claims))
        return 0;
    hocket__buf_init(&ids, &hocket__malloc, 0);
    hocket__buf_init(&fences, &hocket__malloc, 0);
    int rc = hocket__claims_ids(w, &ids);
    if (rc == 0)
        rc = add_claims(w, &fences);
    if (rc == 0)
        rc = renew_all(w, hocket__buf_str(&ids), hocket__buf_str(&fences));
    hocket__buf_deinit(&ids);
    hocket__buf_deinit(&fences);
    return rc;
}

/* Also those whose answers never came. A connection that is lost is not made anew for it: the leases end. */
int hocket__pg_release(struct hocket__writer *w)
{
    const struct hocket__pg *d = &hocket__pg_of(w)->db;
    if (hocket__list_empty(&w->claims) || !d->conn || d->lost)
        return 0;
    hocket__sql_new(w, PG_RELEASE);
    hocket__sql_int(w, w->self.pid);
    hocket__sql_int(w, w->self.store);
    return hocket__sql_run(w);
}
