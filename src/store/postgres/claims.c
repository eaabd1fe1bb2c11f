/* Who has which run: as in a file (sqlite/claims.c), with the row locked while it is looked at. */
#include "store/postgres/postgres_impl.h"

void hocket__pg_owner(struct hocket__pg_keeper *k)
{
    struct hocket__pg *d = &k->db;
    const struct hocket__self *self = &k->base.self;
    int64_t now = hocket__pg_now(k);
    hocket__pg_int(d, self->pid);
    hocket__pg_text(d, hocket__cstr(self->host));
    hocket__pg_text(d, hocket__cstr(self->place));
    hocket__pg_int(d, self->start);
    hocket__pg_int(d, self->store);
    hocket__pg_int(d, now);
    hocket__pg_int(d, now + k->base.o.lease_ms);
}

bool hocket__pg_is_held(struct hocket__pg_keeper *k, int row)
{
    struct hocket__pg *d = &k->db;
    int64_t pid = hocket__pg_int_of(d, row, PG_RUN_PID);
    return pid != 0 && hocket__pg_int_of(d, row, PG_RUN_LEASE) >= hocket__pg_now(k)
           && !hocket__self_sees_end(&k->base.self, hocket__pg_bytes_of(d, row, PG_RUN_PLACE), pid,
               hocket__pg_int_of(d, row, PG_RUN_START));
}

/* ---- Taking --------------------------------------------------------------------------------------- */

static void give(struct hocket__pg_keeper *k, struct hocket__store_call *call)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    hocket__pg_begin_row(&k->db, 0);
    hocket__pg_run_of(&k->db, 0, &row.run);
    hocket__store_pack(&call->rows, &row);
}

static int refuse(struct hocket__pg_keeper *k, struct hocket__store_call *call)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    give(k, call);
    hocket__pg_begin_row(&k->db, 0);
    hocket__pg_run_of(&k->db, 0, &row.run);
    call->status = hocket__store_has_it(call, &row.run.owner);
    return 0;
}

static int claim(struct hocket__pg_keeper *k, struct hocket__store_call *call)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_text(d, call->key);
    hocket__pg_owner(k);
    int rc = hocket__pg_query(d, PG_TAKE,
        "UPDATE runs SET fence = fence + 1, owner_pid = $2, owner_host = $3, owner_place = $4,"
        " owner_start = $5, owner_store = $6, owner_since_ms = $7, lease_ms = $8 WHERE id = $1");
    if (rc < 0)
        return rc;
    hocket__pg_new(d);
    hocket__pg_text(d, call->key);
    rc = hocket__pg_query(d, PG_TAKEN, HOCKET__PG_RUN " WHERE r.id = $1");
    if (rc == 0)
        give(k, call);
    return rc;
}

/* A claim of this very store that it knows nothing of is one whose answer was lost on the way. What it knows may be an older one,
 * which it has lost. */
bool hocket__pg_knows(const struct hocket__claimed *c, int64_t fence)
{
    return c && (hocket__claims_is_ours(c) || (int64_t) c->fence == fence);
}

static bool is_lost_claim(struct hocket__pg_keeper *k, const struct hocket__claimed *c)
{
    return !hocket__pg_knows(c, hocket__pg_int_of(&k->db, 0, PG_RUN_FENCE))
           && hocket__pg_int_of(&k->db, 0, PG_RUN_STORE) == k->base.self.store
           && hocket__pg_int_of(&k->db, 0, PG_RUN_PID) == k->base.self.pid;
}

static int take(
    struct hocket__pg_keeper *k, struct hocket__store_call *call, struct hocket__claimed *c)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_text(d, call->key);
    int rc = hocket__pg_query(d, PG_TAKE_FIND, HOCKET__PG_RUN " WHERE r.id = $1 FOR UPDATE OF r");
    if (rc < 0)
        return rc;
    if (hocket__pg_rows(d) == 0) {
        call->status = hocket__store_not_found(call);
        return 0;
    }
    bool held = hocket__claims_is_ours(c) || hocket__pg_is_held(k, 0);
    return held && !is_lost_claim(k, c) ? refuse(k, call) : claim(k, call);
}

int hocket__pg_take(struct hocket__pg_keeper *k, struct hocket__store_call *call)
{
    char id[HOCKET__STORE_ID + 1] = "";
    memcpy(id, call->key.p, call->key.n);
    int rc = hocket__leases_renew(&k->base);
    if (rc < 0)
        return rc;
    struct hocket__claimed *c = hocket__claims_need(&k->base, id);
    if (!c)
        return hocket__error_nomem(&k->db.error);
    rc = hocket__pg_begin(&k->db);
    if (rc == 0)
        rc = take(k, call, c);
    rc = hocket__pg_finish(&k->db, rc);
    hocket__claims_taken(&k->base, c, rc < 0 ? 0 : hocket__claims_fence_of(call));
    return rc;
}

/* ---- Keeping, letting go ------------------------------------------------------------------------------ */

/* Ids and numbers of what we have, with commas: NULL-free lists of the same length. */
static int add_claims(struct hocket__pg_keeper *k, struct hocket__buf *fences)
{
    for (struct hocket__list *l = k->base.claims.next; l != &k->base.claims; l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, link);
        if (hocket__claims_is_ours(c))
            hocket__buf_addf(
                fences, "%s%llu", fences->len ? "," : "", (unsigned long long) c->fence);
    }
    return fences->status < 0 ? hocket__error_nomem(&k->db.error) : 0;
}

/* All at once, but those whose rows somebody has locked: they would hold up the others, and at last undo what was done. Each
 * comes back with whether it was renewed, and whether it is ours. */
static int renew_all(struct hocket__pg_keeper *k, struct hocket__str ids, struct hocket__str fences)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_int(d, hocket__pg_now(k) + k->base.o.lease_ms);
    hocket__pg_text(d, ids);
    hocket__pg_text(d, fences);
    hocket__pg_int(d, k->base.self.store);
    return hocket__pg_query(d, PG_RENEW,
        "WITH m AS MATERIALIZED (SELECT * FROM unnest(string_to_array($2, ','),"
        " string_to_array($3, ',')::bigint[]) m(id, fence)), free AS MATERIALIZED (SELECT r.no, "
        "m.id"
        " FROM m JOIN runs r ON r.id = m.id COLLATE \"C\" AND r.fence = m.fence"
        " WHERE r.owner_store = $4 FOR NO KEY UPDATE OF r SKIP LOCKED), done AS (UPDATE runs r"
        " SET lease_ms = $1 FROM free WHERE r.no = free.no RETURNING free.id)"
        " SELECT m.id, (done.id IS NOT NULL)::int::bigint,"
        " (SELECT count(*) FROM runs r WHERE r.id = m.id COLLATE \"C\" AND r.fence = m.fence"
        " AND r.owner_store = $4) FROM m LEFT JOIN done ON done.id = m.id");
}

/* What was lost is told. */
static int read_renewals(struct hocket__pg_keeper *k)
{
    struct hocket__pg *d = &k->db;
    int rc = 0;
    for (int i = 0; i < hocket__pg_rows(d); i++) {
        struct hocket__str text = hocket__pg_bytes_of(d, i, 0);
        bool renewed = hocket__pg_int_of(d, i, 1) > 0, ours = hocket__pg_int_of(d, i, 2) > 0;
        char id[HOCKET__STORE_ID + 1] = "";
        memcpy(id, text.p, text.n < HOCKET__STORE_ID ? text.n : HOCKET__STORE_ID);
        struct hocket__claimed *c = hocket__claims_get(&k->base, id);
        if (!renewed && !ours && c && !k->base.leases.writing)
            hocket__keeper_refuse(&k->base, c, HOCKET__STORE_APPEND, HOCKET_ESTATE);
        rc |= !renewed && ours;
    }
    return rc;
}

int hocket__pg_renew(struct hocket__pg_keeper *k)
{
    struct hocket__buf ids, fences;
    if (hocket__list_empty(&k->base.claims))
        return 0;
    hocket__buf_init(&ids, &hocket__malloc, 0);
    hocket__buf_init(&fences, &hocket__malloc, 0);
    int rc = hocket__claims_ids(&k->base, &ids);
    if (rc == 0)
        rc = add_claims(k, &fences);
    if (rc == 0)
        rc = renew_all(k, hocket__buf_str(&ids), hocket__buf_str(&fences));
    hocket__buf_deinit(&ids);
    hocket__buf_deinit(&fences);
    return rc < 0 ? rc : read_renewals(k);
}

/* Also those whose answers never came. A connection that is lost is not made anew for it: the leases end. */
int hocket__pg_release(struct hocket__keeper *base)
{
    struct hocket__pg_keeper *k = hocket__pg_of(base);
    if (hocket__list_empty(&base->claims) || !k->db.conn || k->db.lost)
        return 0;
    hocket__pg_new(&k->db);
    hocket__pg_int(&k->db, base->self.pid);
    hocket__pg_int(&k->db, base->self.store);
    return hocket__pg_query(&k->db, PG_RELEASE,
        "UPDATE runs SET " HOCKET__QUEUE_LET_GO " WHERE owner_pid = $1 AND owner_store = $2");
}
