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

/* A claim of this very store that it knows nothing of is one whose answer was lost on the way. */
static bool is_lost_claim(struct hocket__pg_keeper *k, const struct hocket__claimed *c)
{
    return c->fence == 0 && hocket__pg_int_of(&k->db, 0, PG_RUN_STORE) == k->base.self.store
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
    return hocket__pg_is_held(k, 0) && !is_lost_claim(k, c) ? refuse(k, call) : claim(k, call);
}

int hocket__pg_take(struct hocket__pg_keeper *k, struct hocket__store_call *call)
{
    char id[HOCKET__STORE_ID + 1] = "";
    memcpy(id, call->key.p, call->key.n);
    struct hocket__claimed *c = hocket__claims_need(&k->base, id);
    if (!c)
        return hocket__error_nomem(&k->db.error);
    int rc = hocket__pg_begin(&k->db);
    if (rc == 0)
        rc = take(k, call, c);
    rc = hocket__pg_finish(&k->db, rc);
    if (rc < 0 && call->status == 0)
        call->status = rc; /* for what is remembered of it; the answer's is set by the caller */
    hocket__claims_taken(&k->base, c, call);
    return rc;
}

/* ---- Keeping, letting go ------------------------------------------------------------------------------ */

static int send_renewal(struct hocket__pg_keeper *k, const struct hocket__claimed *c)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_int(d, hocket__pg_now(k) + k->base.o.lease_ms);
    hocket__pg_text(d, hocket__cstr(c->id));
    hocket__pg_int(d, (int64_t) c->fence);
    hocket__pg_int(d, k->base.self.store);
    return hocket__pg_send(d, PG_RENEW,
        "UPDATE runs SET lease_ms = $1 WHERE id = $2 AND fence = $3 AND owner_store = $4");
}

static bool is_ours(const struct hocket__claimed *c)
{
    return !c->refusal && c->fence;
}

/* Each by itself, so that one that somebody has locked holds up no other. What was lost is told. */
static int send_renewals(struct hocket__pg_keeper *k)
{
    int rc = 0;
    for (struct hocket__list *l = k->base.claims.next; rc == 0 && l != &k->base.claims;
         l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, link);
        if (is_ours(c))
            rc = send_renewal(k, c);
    }
    return rc == 0 ? hocket__pg_sync(&k->db) : rc;
}

static int read_renewals(struct hocket__pg_keeper *k)
{
    int rc = 0;
    for (struct hocket__list *l = k->base.claims.next; rc == 0 && l != &k->base.claims;
         l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, link);
        if (is_ours(c) && (rc = hocket__pg_next(&k->db)) == 0 && hocket__pg_changed(&k->db) == 0)
            hocket__keeper_refuse(&k->base, c, HOCKET__STORE_APPEND, HOCKET_ESTATE);
    }
    return rc;
}

/* A pipeline without BEGIN is one transaction as well. */
int hocket__pg_renew(struct hocket__keeper *base)
{
    struct hocket__pg_keeper *k = hocket__pg_of(base);
    if (hocket__list_empty(&base->claims))
        return 0;
    int rc = hocket__pg_connect(&k->db);
    if (rc == 0)
        rc = send_renewals(k);
    if (rc == 0)
        rc = read_renewals(k);
    return rc < 0 ? (k->db.conn ? hocket__pg_give_up(&k->db) : rc) : hocket__pg_end(&k->db);
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
