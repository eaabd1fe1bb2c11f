/* A run's own row: put, changed, let go of, and what whoever called it hears of its end. What is said of it in a transaction is one
 * statement at its end (apply.c says why). */
#include "store/postgres/postgres_impl.h"

#define GROWS_MS 1000 /* how exact updated_ms is while a run only grows */

/* A parent may have been put a moment ago, by the same transaction. */
static int64_t parent_of(
    struct hocket__pg_keeper *k, struct hocket__claimed *c, const struct hocket__store_run *r)
{
    struct hocket__claimed *p = r->parent[0] ? hocket__claims_get(&k->base, r->parent) : NULL;
    if (p && p->transaction == k->base.transaction && p->no > 0)
        return p->no;
    return r->parent[0] ? c->parent : 0;
}

static void bind_run(struct hocket__pg *d, const struct hocket__store_run *r, int64_t parent)
{
    hocket__pg_text(d, hocket__cstr(r->id));
    hocket__pg_count(d, parent ? parent : -1);
    hocket__pg_int(d, (int64_t) r->at_n);
    hocket__pg_int(d, (int64_t) r->at_seq);
    hocket__pg_text(d, r->target);
    hocket__pg_text(d, r->input);
    hocket__pg_text(d, r->options);
    hocket__pg_text_or_null(d, r->generation);
    hocket__pg_text_or_null(d, r->waiting_for);
    hocket__pg_text(d, r->version);
    hocket__pg_bytes(d, hocket__str((const char *) r->seed, sizeof(r->seed)));
    hocket__pg_text(d, hocket__cstr(hocket__store_state_word(r->state)));
    hocket__pg_int(d, r->simulated);
    hocket__pg_count(d, r->cost);
    hocket__pg_count(d, r->tokens);
    hocket__pg_int(d, r->created_ms);
}

static int insert_run(struct hocket__pg_keeper *k, struct hocket__claimed *c,
    const struct hocket__store_run *r, int64_t parent)
{
    struct hocket__pg *d = &k->db;
    c->no = -c->no;
    c->last_n = parent ? r->at_n : 0;
    c->last_seq = parent ? r->at_seq : 0;
    c->updated_ms = hocket__pg_now(k);
    c->fence = 1;
    c->called = r->caller[0] != 0;
    c->writes = 0;
    hocket__pg_new(d);
    bind_run(d, r, parent);
    hocket__pg_int(d, c->no);
    hocket__pg_int(d, c->updated_ms);
    hocket__pg_int(d, (int64_t) c->last_n);
    hocket__pg_int(d, (int64_t) c->last_seq);
    hocket__pg_owner(k);
    hocket__pg_text_or_null(d, r->pool);
    hocket__pg_int(d, r->due_ms);
    hocket__pg_text_or_null(d, hocket__cstr(r->caller));
    hocket__pg_text_or_null(d, r->project);
    return hocket__pg_send(d, PG_PUT,
        "INSERT INTO runs(id, parent, at_n, at_seq, target, input, options, generation, "
        "waiting_for,"
        " version, seed, state, simulated, cost, tokens, created_ms, no, updated_ms, last_n,"
        " last_seq, fence, owner_pid, owner_host, owner_place, owner_start, owner_store,"
        " owner_since_ms, lease_ms, pool, due_ms, caller, project) VALUES($1, $2, $3, $4, $5, $6,"
        " $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, 1, $21, $22, $23, $24,"
        " $25, $26, $27, $28, $29, $30, $31)");
}

int hocket__pg_put_run(
    struct hocket__pg_keeper *k, struct hocket__claimed *c, const struct hocket__store_run *r)
{
    int64_t parent = parent_of(k, c, r);
    if (c->no >= 0)
        return hocket__pg_refuse(k, c, HOCKET__STORE_PUT, HOCKET_EEXIST);
    if (r->parent[0] && !parent)
        return hocket__pg_refuse(k, c, HOCKET__STORE_PUT, HOCKET_ENOTFOUND);
    if (r->at_n > HOCKET__PG_LAST_KEY || r->at_seq > HOCKET__PG_LAST_KEY)
        return hocket__pg_refuse(k, c, HOCKET__STORE_PUT, HOCKET_ELIMIT);
    return insert_run(k, c, r, parent);
}

/* Whoever called it hears of its end: once, however often that is said. */
static int tell_caller(
    struct hocket__pg_keeper *k, const struct hocket__claimed *c, enum hocket__store_state state)
{
    struct hocket__pg *d = &k->db;
    char texts[HOCKET__STORE_ENDED];
    struct hocket__store_message m = hocket__store_ended(c->id, state, hocket__pg_now(k), texts);
    hocket__pg_new(d);
    hocket__pg_int(d, c->no);
    hocket__pg_text(d, m.id);
    hocket__pg_int(d, m.at_ms);
    hocket__pg_text(d, m.json);
    return hocket__pg_send(d, PG_ENDED,
        "WITH heard AS (UPDATE runs SET " HOCKET__QUEUE_SPEAK
        " WHERE id = (SELECT caller FROM runs r WHERE r.no = $1)"
        " AND state NOT IN ('done', 'failed', 'cancelled') RETURNING no)"
        " INSERT INTO messages(run, id, at_ms, json) SELECT no, $2, $3, $4 FROM heard"
        " ON CONFLICT DO NOTHING");
}

static void merge(struct hocket__store_run *to, unsigned set, const struct hocket__store_run *from)
{
    if (set & HOCKET__STORE_SET_STATE)
        to->state = from->state;
    if (set & HOCKET__STORE_SET_WAITING_FOR)
        to->waiting_for = from->waiting_for;
    if (set & HOCKET__STORE_SET_GENERATION)
        to->generation = from->generation;
    if (set & HOCKET__STORE_SET_OPTIONS)
        to->options = from->options;
    if (set & HOCKET__STORE_SET_USAGE) {
        to->cost = from->cost;
        to->tokens = from->tokens;
        to->simulated = from->simulated;
    }
    if (set & HOCKET__STORE_SET_QUEUE) {
        to->pool = from->pool;
        to->due_ms = from->due_ms;
    }
}

/* The texts lie in what was handed over, for as long as the transaction is made. */
int hocket__pg_update_run(
    struct hocket__pg_keeper *k, struct hocket__claimed *c, const struct hocket__store_command *u)
{
    const struct hocket__store_run *r = &u->row.run;
    merge(&c->change, u->set, r);
    c->set |= u->set;
    return c->called && (u->set & HOCKET__STORE_SET_STATE) && hocket__store_has_ended(r->state)
               ? tell_caller(k, c, r->state)
               : 0;
}

/* Only the owner goes. The fence stays, so that a late write of this claim finds that it has been released. */
static int let_go(struct hocket__pg *d, int64_t no)
{
    hocket__pg_new(d);
    hocket__pg_int(d, no);
    return hocket__pg_send(d, PG_LET_GO, "UPDATE runs SET " HOCKET__QUEUE_LET_GO " WHERE no = $1");
}

static int number_free(
    struct hocket__pg_keeper *k, struct hocket__claimed *c, const struct hocket__store_run *run)
{
    struct hocket__pg *d = &k->db;
    int rc;
    int64_t there = hocket__pg_run_no(d, hocket__cstr(run->id), &rc);
    hocket__pg_new(d);
    hocket__pg_text(d, HOCKET__STR(""));
    if (rc == 0)
        rc = hocket__pg_query(d, PG_NUMBER, HOCKET__PG_NUMBER);
    if (rc == 0)
        c->no = there ? there : -hocket__pg_int_of(d, 0, 0);
    return rc;
}

/* As one that is put and let go of; what it is refused for is not told of a claim. */
int hocket__pg_put_free(
    struct hocket__pg_keeper *k, const struct hocket__store_run *run, int *status)
{
    struct hocket__claimed c = { .no = 0 };
    bool refusals = k->base.has_refusals;
    int rc = number_free(k, &c, run);
    if (rc == 0)
        rc = hocket__pg_put_run(k, &c, run);
    k->base.has_refusals = refusals;
    *status = c.refusal;
    if (rc < 0 || c.refusal)
        return rc;
    rc = let_go(&k->db, c.no);
    if (rc == 0)
        rc = hocket__pg_sync(&k->db);
    return rc < 0 ? rc : hocket__pg_end(&k->db);
}

/* ---- Changes -------------------------------------------------------------------------------------------- */

#define IF_OURS                                                                                    \
    " writes = writes + 1 WHERE no = $3 AND fence = $4 AND owner_pid = $5 AND owner_store = $6"    \
    " AND writes = $7 AND removed = 0 RETURNING 1) SELECT 1 / count(*) FROM ours"

static void bind_claim(struct hocket__pg_keeper *k, const struct hocket__claimed *c)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_int(d, (int64_t) c->last_n);
    hocket__pg_int(d, (int64_t) c->last_seq);
    hocket__pg_int(d, c->no);
    hocket__pg_int(d, (int64_t) c->fence);
    hocket__pg_int(d, k->base.self.pid);
    hocket__pg_int(d, k->base.self.store);
    hocket__pg_int(d, c->writes);
}

/* Whether it may have been spoken to meanwhile, and is to be queued: that is looked at when its state is written. */
static bool may_be_spoken(const struct hocket__claimed *c)
{
    return !(c->set & HOCKET__STORE_SET_STATE) || c->change.state == HOCKET__STORE_WAITING
           || c->change.state == HOCKET__STORE_PARKED;
}

#define TEXT_OF(bit, field) (c->set & HOCKET__STORE_SET_##bit ? r->field : HOCKET__STR(""))

/* One statement for whatever is set: the bits of `set` choose the columns. */
static int send_change(struct hocket__pg_keeper *k, const struct hocket__claimed *c, bool goes)
{
    struct hocket__pg *d = &k->db;
    const struct hocket__store_run *r = &c->change;
    bool queue = c->set & HOCKET__STORE_SET_QUEUE, usage = c->set & HOCKET__STORE_SET_USAGE;
    bind_claim(k, c);
    hocket__pg_int(d, c->updated_ms);
    hocket__pg_int(d, c->set);
    hocket__pg_int(d, goes);
    hocket__pg_text(d, hocket__cstr(hocket__store_state_word(r->state)));
    hocket__pg_text_or_null(d, TEXT_OF(WAITING_FOR, waiting_for));
    hocket__pg_count(d, usage ? r->cost : -1);
    hocket__pg_count(d, usage ? r->tokens : -1);
    hocket__pg_int(d, usage && r->simulated);
    hocket__pg_text_or_null(d, TEXT_OF(GENERATION, generation));
    hocket__pg_text(d, TEXT_OF(OPTIONS, options));
    hocket__pg_text_or_null(d, TEXT_OF(QUEUE, pool));
    hocket__pg_int(d, queue ? r->due_ms : 0);
    return hocket__pg_send(d, PG_CHANGE,
        "WITH ours AS (UPDATE runs SET last_n = $1, last_seq = $2, updated_ms = $8,"
        " owner_pid = CASE WHEN $10 <> 0 THEN 0 ELSE owner_pid END,"
        " state = CASE WHEN $9 & 1 <> 0 THEN $11 ELSE state END,"
        " waiting_for = CASE WHEN $9 & 2 <> 0 THEN $12 ELSE waiting_for END,"
        " cost = CASE WHEN $9 & 4 <> 0 THEN $13 ELSE cost END,"
        " tokens = CASE WHEN $9 & 4 <> 0 THEN $14 ELSE tokens END,"
        " simulated = CASE WHEN $9 & 4 <> 0 THEN $15 ELSE simulated END,"
        " generation = CASE WHEN $9 & 8 <> 0 THEN $16 ELSE generation END,"
        " options = CASE WHEN $9 & 16 <> 0 THEN $17 ELSE options END,"
        " pool = CASE WHEN $9 & 32 <> 0 THEN $18 ELSE pool END,"
        " due_ms = CASE WHEN $9 & 32 <> 0 THEN $19 ELSE due_ms END," IF_OURS);
}

int hocket__pg_change_run(struct hocket__pg_keeper *k, struct hocket__claimed *c, int64_t now)
{
    bool grown = !c->changed && now >= c->updated_ms && now - c->updated_ms < GROWS_MS;
    if (grown) {
        bind_claim(k, c);
        return hocket__pg_send(
            &k->db, PG_GROWN, "WITH ours AS (UPDATE runs SET last_n = $1, last_seq = $2," IF_OURS);
    }
    bool goes = c->released && !may_be_spoken(c);
    c->updated_ms = now;
    int rc = send_change(k, c, goes);
    return rc == 0 && c->released && !goes ? let_go(&k->db, c->no) : rc;
}
