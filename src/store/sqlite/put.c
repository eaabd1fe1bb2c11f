/* A run's own row: put, changed, let go of, and what whoever called it hears of its end. */
#include "store/sqlite/sqlite_impl.h"

#define GROWS_MS 1000 /* how exact updated_ms is while a run only grows: it is in an index */

/* 0 without an error: there is none. Asked in the transaction that is going to write. */
int64_t hocket__run_no(struct hocket__sqlite_keeper *k, struct hocket__str id, int *rc)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_PUT_FIND, "SELECT no FROM runs WHERE id = ?");
    if (!st) {
        *rc = d->error.status;
        return 0;
    }
    hocket__db_bind_text(d, st, 1, id);
    *rc = hocket__db_step(d, st);
    int64_t no = *rc == 1 ? hocket__db_int(d, st, 0) : 0;
    hocket__db_reset(d, st);
    *rc = *rc < 0 ? *rc : 0;
    return no;
}

static void bind_run(struct hocket__db *d, sqlite3_stmt *st, const struct hocket__store_run *r)
{
    hocket__db_bind_text(d, st, 1, hocket__cstr(r->id));
    hocket__db_bind_int(d, st, 3, (int64_t) r->at_n);
    hocket__db_bind_int(d, st, 4, (int64_t) r->at_seq);
    hocket__db_bind_text(d, st, 5, r->target);
    hocket__db_bind_text(d, st, 6, r->input);
    hocket__db_bind_text(d, st, 7, r->options);
    hocket__db_bind_text_or_null(d, st, 8, r->generation);
    hocket__db_bind_text_or_null(d, st, 9, r->waiting_for);
    hocket__db_bind_text(d, st, 10, r->version);
    hocket__db_bind_blob(d, st, 11, hocket__str((const char *) r->seed, sizeof(r->seed)));
    hocket__db_bind_text(d, st, 12, hocket__cstr(hocket__store_state_word(r->state)));
    hocket__db_bind_int(d, st, 13, r->simulated);
    hocket__db_bind_count(d, st, 14, r->cost);
    hocket__db_bind_count(d, st, 15, r->tokens);
    hocket__db_bind_int(d, st, 16, r->created_ms);
}

/* Fence 1 stands in the statement: a run that is put has never had another owner. */
static int insert_run(struct hocket__sqlite_keeper *k, struct hocket__claimed *c,
    const struct hocket__store_run *r, int64_t parent)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_PUT,
        "INSERT INTO runs(id, parent, at_n, at_seq, target, input, options, generation, "
        "waiting_for,"
        " version, seed, state, simulated, cost, tokens, created_ms, updated_ms, last_n, last_seq,"
        " fence, owner_pid, owner_host, owner_place, owner_start, owner_store, owner_since_ms,"
        " lease_ms, pool, due_ms, caller, project) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
        " ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, 1, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27,"
        " ?28, ?29, ?30)");
    if (!st)
        return d->error.status;
    c->last_n = parent ? r->at_n : 0;
    c->last_seq = parent ? r->at_seq : 0;
    bind_run(d, st, r);
    if (parent)
        hocket__db_bind_int(d, st, 2, parent);
    else
        d->lib->bind_null(st, 2);
    c->updated_ms = hocket__sqlite_now(k);
    hocket__db_bind_int(d, st, 17, c->updated_ms);
    hocket__db_bind_int(d, st, 18, (int64_t) c->last_n);
    hocket__db_bind_int(d, st, 19, (int64_t) c->last_seq);
    hocket__sqlite_bind(k, st, 20);
    hocket__db_bind_text_or_null(d, st, 27, r->pool);
    hocket__db_bind_int(d, st, 28, r->due_ms);
    hocket__db_bind_text_or_null(d, st, 29, hocket__cstr(r->caller));
    hocket__db_bind_text_or_null(d, st, 30, r->project);
    int rc = hocket__db_run(d, st);
    c->no = d->lib->last_insert_rowid(d->db);
    c->called = r->caller[0] != 0;
    c->fence = 1;
    return rc;
}

/* An id that is there is a run that was put twice, by two programs that restored the same export:
 * the second is refused. */
int hocket__sqlite_put_run(
    struct hocket__sqlite_keeper *k, struct hocket__claimed *c, const struct hocket__store_run *r)
{
    int rc;
    int64_t parent = 0, there = hocket__run_no(k, hocket__cstr(r->id), &rc);
    if (rc == 0 && r->parent[0])
        parent = hocket__run_no(k, hocket__cstr(r->parent), &rc);
    if (rc < 0)
        return rc;
    if (there)
        return hocket__sqlite_refuse(k, c, HOCKET__STORE_PUT, HOCKET_EEXIST);
    if (r->parent[0] && !parent)
        return hocket__sqlite_refuse(k, c, HOCKET__STORE_PUT, HOCKET_ENOTFOUND);
    if (r->at_n > HOCKET__SQLITE_LAST_KEY || r->at_seq > HOCKET__SQLITE_LAST_KEY)
        return hocket__sqlite_refuse(k, c, HOCKET__STORE_PUT, HOCKET_ELIMIT);
    return insert_run(k, c, r, parent);
}

int hocket__message_heard(struct hocket__sqlite_keeper *k, int64_t run)
{
    sqlite3_stmt *st =
        hocket__db_stmt(&k->db, ST_SPEAK, "UPDATE runs SET " HOCKET__QUEUE_SPEAK " WHERE no = ?");
    if (st)
        hocket__db_bind_int(&k->db, st, 1, run);
    return hocket__db_run(&k->db, st);
}

/* Whose call the run is; 0: nobody's, or one that has ended. */
static int64_t caller_of(struct hocket__sqlite_keeper *k, int64_t no, int *rc)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_CALLER,
        "SELECT c.no FROM runs r JOIN runs c ON c.id = r.caller WHERE r.no = ?"
        " AND c.state NOT IN ('done', 'failed', 'cancelled')");
    if (!st) {
        *rc = d->error.status;
        return 0;
    }
    hocket__db_bind_int(d, st, 1, no);
    *rc = hocket__db_step(d, st);
    int64_t caller = *rc == 1 ? hocket__db_int(d, st, 0) : 0;
    hocket__db_reset(d, st);
    *rc = *rc < 0 ? *rc : 0;
    return caller;
}

/* Whoever called it hears of its end: once, however often that is said. */
static int tell_caller(struct hocket__sqlite_keeper *k, const struct hocket__claimed *c,
    enum hocket__store_state state)
{
    char texts[HOCKET__STORE_ENDED];
    int rc;
    int64_t caller = caller_of(k, c->no, &rc);
    if (rc < 0 || !caller)
        return rc;
    struct hocket__store_message m =
        hocket__store_ended(c->id, state, hocket__sqlite_now(k), texts);
    rc = hocket__message_put(k, caller, &m);
    return rc == 0 && k->db.lib->changes(k->db.db) > 0 ? hocket__message_heard(k, caller) : rc;
}

/* One statement for whatever is set: the bits of `set` choose the columns, so that there is one
 * plan and one slot. */
int hocket__sqlite_update_run(struct hocket__sqlite_keeper *k, const struct hocket__claimed *c,
    const struct hocket__store_command *u)
{
    struct hocket__db *d = &k->db;
    const struct hocket__store_run *r = &u->row.run;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_UPDATE,
        "UPDATE runs SET state = iif(?1 & 1, ?2, state),"
        " waiting_for = iif(?1 & 2, ?3, waiting_for),"
        " cost = iif(?1 & 4, ?4, cost), tokens = iif(?1 & 4, ?5, tokens),"
        " simulated = iif(?1 & 4, ?9, simulated),"
        " generation = iif(?1 & 8, ?6, generation), options = iif(?1 & 16, ?7, options),"
        " pool = iif(?1 & 32, ?10, pool), due_ms = iif(?1 & 32, ?11, due_ms) WHERE no = ?8");
    if (!st)
        return d->error.status;
    hocket__db_bind_int(d, st, 1, u->set);
    hocket__db_bind_text(d, st, 2, hocket__cstr(hocket__store_state_word(r->state)));
    hocket__db_bind_text_or_null(d, st, 3, r->waiting_for);
    hocket__db_bind_count(d, st, 4, r->cost);
    hocket__db_bind_count(d, st, 5, r->tokens);
    hocket__db_bind_text_or_null(d, st, 6, r->generation);
    hocket__db_bind_text(d, st, 7, r->options);
    hocket__db_bind_int(d, st, 8, c->no);
    hocket__db_bind_int(d, st, 9, r->simulated);
    hocket__db_bind_text_or_null(d, st, 10, r->pool);
    hocket__db_bind_int(d, st, 11, r->due_ms);
    int rc = hocket__db_run(d, st);
    return rc == 0 && c->called && (u->set & HOCKET__STORE_SET_STATE)
                   && hocket__store_has_ended(r->state)
               ? tell_caller(k, c, r->state)
               : rc;
}

/* What the file says of the run, once in a transaction, in which nobody else may change it. */
int hocket__sqlite_load_run(struct hocket__sqlite_keeper *k, struct hocket__claimed *c)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_LOAD,
        "SELECT no, iif(owner_store = ?2 AND owner_pid = ?3, fence, 0), last_n, last_seq,"
        " updated_ms, caller IS NOT NULL"
        " FROM runs WHERE id = ?1");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, hocket__cstr(c->id));
    hocket__db_bind_int(d, st, 2, k->base.self.store);
    hocket__db_bind_int(d, st, 3, k->base.self.pid);
    int rc = hocket__db_step(d, st);
    c->no = rc == 1 ? hocket__db_int(d, st, 0) : 0;
    c->fence = rc == 1 ? (uint64_t) hocket__db_int(d, st, 1) : 0;
    c->last_n = rc == 1 ? (uint64_t) hocket__db_int(d, st, 2) : 0;
    c->last_seq = rc == 1 ? (uint64_t) hocket__db_int(d, st, 3) : 0;
    c->updated_ms = rc == 1 ? hocket__db_int(d, st, 4) : 0;
    c->called = rc == 1 && hocket__db_int(d, st, 5) != 0;
    hocket__db_reset(d, st);
    return rc < 0 ? rc : 0;
}

int hocket__sqlite_write_run(
    struct hocket__sqlite_keeper *k, struct hocket__claimed *c, int64_t now)
{
    struct hocket__db *d = &k->db;
    bool grown = !c->changed && now >= c->updated_ms && now - c->updated_ms < GROWS_MS;
    sqlite3_stmt *st =
        grown ? hocket__db_stmt(
            d, ST_GROWN, "UPDATE runs SET last_n = ?1, last_seq = ?2 WHERE no = ?3")
              : hocket__db_stmt(d, ST_DIRTY,
                  "UPDATE runs SET last_n = ?1, last_seq = ?2, updated_ms = ?4 WHERE no = ?3");
    if (!st)
        return d->error.status;
    hocket__db_bind_int(d, st, 1, (int64_t) c->last_n);
    hocket__db_bind_int(d, st, 2, (int64_t) c->last_seq);
    hocket__db_bind_int(d, st, 3, c->no);
    if (!grown)
        hocket__db_bind_int(d, st, 4, now);
    return hocket__db_run(d, st);
}

/* Only the owner goes. The fence stays as it is, so that a late write of this claim finds that it
 * has been released. */
int hocket__sqlite_release_run(struct hocket__sqlite_keeper *k, struct hocket__claimed *c)
{
    sqlite3_stmt *st = hocket__db_stmt(
        &k->db, ST_RELEASE, "UPDATE runs SET " HOCKET__QUEUE_LET_GO " WHERE no = ?");
    if (!st)
        return k->db.error.status;
    hocket__db_bind_int(&k->db, st, 1, c->no);
    c->released = true;
    return hocket__db_run(&k->db, st);
}

/* As one that is put and let go of; what it is refused for is not told of a claim. */
int hocket__sqlite_put_free(
    struct hocket__sqlite_keeper *k, const struct hocket__store_run *run, int *status)
{
    struct hocket__claimed c = { .no = 0 };
    bool refusals = k->base.has_refusals;
    int rc = hocket__sqlite_put_run(k, &c, run);
    k->base.has_refusals = refusals;
    *status = c.refusal;
    return rc == 0 && c.refusal == 0 ? hocket__sqlite_release_run(k, &c) : rc;
}
