/* Commands as rows: one transaction for all that is at hand.
 *
 * A transaction is all or nothing, and so is what is remembered of it: claims that it touched are
 * read from the file anew in each (load), so that nothing of one that failed is believed. Commands
 * that make no sense (a gap, a run that somebody else has) do not fail it: they refuse their run,
 * and what others handed over in the same batch is written. */
#include "store/sqlite/sqlite_impl.h"

#include "base/hash/hash.h"

#define OWN_TEXT (16 * 1024) /* bytes; longer values stand in texts, once */
#define LAST_KEY UINT64_C(0xFFFFFFFF)
#define GROWS_MS 1000 /* how exact updated_ms is while a run only grows: it is in an index */

int64_t hocket__sqlite_now(const struct hocket__sqlite_keeper *k)
{
    return hocket__store_wall_ms(&k->base.o);
}

/* Both halves of a key fit: numbers of entries and records are checked against LAST_KEY before. */
static int64_t key_of(int64_t run, uint64_t n)
{
    return run * ((int64_t) 1 << 32) + (int64_t) n;
}

/* ---- Transactions -------------------------------------------------------------------------- */

int hocket__sqlite_begin(struct hocket__sqlite_keeper *k)
{
    return hocket__db_run(&k->db, hocket__db_stmt(&k->db, ST_BEGIN, "BEGIN IMMEDIATE"));
}

/* The first error is the one to tell: the ROLLBACK may bring one of its own. */
int hocket__sqlite_end(struct hocket__sqlite_keeper *k, int status)
{
    if (status == 0)
        status = hocket__db_run(&k->db, hocket__db_stmt(&k->db, ST_COMMIT, "COMMIT"));
    if (status == 0) {
        k->base.commits++;
        k->unsynced++;
    } else if (!hocket__db_is_idle(&k->db)) {
        struct hocket_error error = k->db.error;
        int code = k->db.code;
        hocket__db_exec(&k->db, "ROLLBACK");
        k->db.error = error;
        k->db.code = code;
    }
    return status;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static int64_t text_of_hash(struct hocket__db *d, struct hocket__str hash, int *rc)
{
    sqlite3_stmt *st = hocket__db_stmt(d, ST_TEXT_FIND, "SELECT no FROM texts WHERE hash = ?");
    if (!st) {
        *rc = d->error.status;
        return 0;
    }
    hocket__db_bind_blob(d, st, 1, hash);
    *rc = hocket__db_step(d, st);
    int64_t no = *rc == 1 ? hocket__db_int(d, st, 0) : 0;
    hocket__db_reset(d, st);
    return no;
}

/* The number of the text, which has one reader more.
 * Prompts and files come again and again, in thousands of runs: each text once, with a count of
 * those that have it. The count goes down by triggers (schema.c), whoever deletes. */
static int64_t refer(struct hocket__db *d, struct hocket__str text, int *rc)
{
    uint8_t digest[HOCKET__SHA256];
    hocket__sha256(text, digest);
    struct hocket__str hash = hocket__str((const char *) digest, sizeof(digest));
    int64_t no = text_of_hash(d, hash, rc);
    if (*rc < 0)
        return 0;
    sqlite3_stmt *st =
        no ? hocket__db_stmt(d, ST_TEXT_REF, "UPDATE texts SET refs = refs + 1 WHERE no = ?")
           : hocket__db_stmt(d, ST_TEXT, "INSERT INTO texts(hash, refs, text) VALUES(?, 1, ?)");
    if (st && no)
        hocket__db_bind_int(d, st, 1, no);
    if (st && !no) {
        hocket__db_bind_blob(d, st, 1, hash);
        hocket__db_bind_blob(d, st, 2, text);
    }
    *rc = hocket__db_run(d, st);
    return no ? no : d->lib->last_insert_rowid(d->db);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

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

static int refuse(struct hocket__sqlite_keeper *k, struct hocket__claimed *c,
    enum hocket__store_command_kind kind, int status)
{
    hocket__keeper_refuse(&k->base, c, kind, status);
    return 0;
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
static int put(
    struct hocket__sqlite_keeper *k, struct hocket__claimed *c, const struct hocket__store_run *r)
{
    int rc;
    int64_t parent = 0, there = hocket__run_no(k, hocket__cstr(r->id), &rc);
    if (rc == 0 && r->parent[0])
        parent = hocket__run_no(k, hocket__cstr(r->parent), &rc);
    if (rc < 0)
        return rc;
    if (there)
        return refuse(k, c, HOCKET__STORE_PUT, HOCKET_EEXIST);
    if (r->parent[0] && !parent)
        return refuse(k, c, HOCKET__STORE_PUT, HOCKET_ENOTFOUND);
    if (r->at_n > LAST_KEY || r->at_seq > LAST_KEY)
        return refuse(k, c, HOCKET__STORE_PUT, HOCKET_ELIMIT);
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
static int update(struct hocket__sqlite_keeper *k, const struct hocket__claimed *c,
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

/* ---- What belongs to runs -------------------------------------------------------------------- */

/* A gap means that entries of this run were lost on the way, or that another process has written
 * meanwhile. Both end the claim: a log with a hole would be replayed as another run. */
static int append(
    struct hocket__sqlite_keeper *k, struct hocket__claimed *c, const struct hocket__store_entry *e)
{
    struct hocket__db *d = &k->db;
    int rc = 0;
    if (e->n != c->last_n + 1 || e->n > LAST_KEY)
        return refuse(k, c, HOCKET__STORE_APPEND, e->n > LAST_KEY ? HOCKET_ELIMIT : HOCKET_EINVAL);
    int64_t text = e->value.n >= OWN_TEXT ? refer(d, e->value, &rc) : 0;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_APPEND,
        "INSERT INTO entries(key, tick, at_ms, kind, path, ord, name, digest, value, text)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
    if (rc < 0 || !st)
        return d->error.status;
    hocket__db_bind_int(d, st, 1, key_of(c->no, e->n));
    hocket__db_bind_int(d, st, 2, (int64_t) e->tick);
    hocket__db_bind_int(d, st, 3, e->at_ms);
    hocket__db_bind_int(d, st, 4, e->kind);
    hocket__db_bind_int(d, st, 5, (int64_t) e->path);
    hocket__db_bind_int(d, st, 6, e->ord);
    hocket__db_bind_text(d, st, 7, e->name);
    hocket__db_bind_blob(d, st, 8, e->digest);
    if (text) {
        d->lib->bind_null(st, 9);
        hocket__db_bind_int(d, st, 10, text);
    } else {
        hocket__db_bind_text(d, st, 9, e->value);
        d->lib->bind_null(st, 10);
    }
    c->last_n = e->n;
    return hocket__db_run(d, st);
}

/* Records of a run that was resumed are told again by its replay; those that the file has are
 * passed over. */
static int record(struct hocket__sqlite_keeper *k, struct hocket__claimed *c,
    const struct hocket__store_record *r)
{
    struct hocket__db *d = &k->db;
    if (r->seq <= c->last_seq)
        return 0;
    if (r->seq > LAST_KEY)
        return refuse(k, c, HOCKET__STORE_RECORD, HOCKET_ELIMIT);
    sqlite3_stmt *st = hocket__db_stmt(d, ST_RECORD, "INSERT INTO records(key, json) VALUES(?, ?)");
    if (!st)
        return d->error.status;
    hocket__db_bind_int(d, st, 1, key_of(c->no, r->seq));
    hocket__db_bind_text(d, st, 2, r->json);
    c->last_seq = r->seq;
    return hocket__db_run(d, st);
}

/* Files are named by the hash of their generation: what is there is the same. */
static int put_file(struct hocket__sqlite_keeper *k, const struct hocket__store_file *f)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st =
        hocket__db_stmt(d, ST_FILE_FIND, "SELECT 1 FROM files WHERE generation = ? AND path = ?");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, f->generation);
    hocket__db_bind_text(d, st, 2, f->path);
    int rc = hocket__db_step(d, st);
    hocket__db_reset(d, st);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    int64_t text = refer(d, f->text, &rc);
    st = hocket__db_stmt(
        d, ST_FILE, "INSERT INTO files(generation, path, hash, text) VALUES(?, ?, ?, ?)");
    if (rc < 0 || !st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, f->generation);
    hocket__db_bind_text(d, st, 2, f->path);
    hocket__db_bind_text(d, st, 3, f->hash);
    hocket__db_bind_int(d, st, 4, text);
    return hocket__db_run(d, st);
}

int hocket__message_put(
    struct hocket__sqlite_keeper *k, int64_t run, const struct hocket__store_message *m)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_MESSAGE,
        "INSERT INTO messages(run, id, at_ms, json) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING");
    if (!st)
        return d->error.status;
    hocket__db_bind_int(d, st, 1, run);
    hocket__db_bind_text(d, st, 2, m->id);
    hocket__db_bind_int(d, st, 3, m->at_ms);
    hocket__db_bind_text(d, st, 4, m->json);
    return hocket__db_run(d, st);
}

/* Its id stays, so that it is not put again. */
static int message_del(
    struct hocket__sqlite_keeper *k, const struct hocket__claimed *c, struct hocket__str id)
{
    sqlite3_stmt *st = hocket__db_stmt(
        &k->db, ST_MESSAGE_DEL, "UPDATE messages SET json = NULL WHERE run = ? AND id = ?");
    if (!st)
        return k->db.error.status;
    hocket__db_bind_int(&k->db, st, 1, c->no);
    hocket__db_bind_text(&k->db, st, 2, id);
    return hocket__db_run(&k->db, st);
}

/* Only the owner goes. The fence stays as it is, so that a late write of this claim finds that it
 * has been released. */
static int release(struct hocket__sqlite_keeper *k, struct hocket__claimed *c)
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
    int rc = put(k, &c, run);
    k->base.has_refusals = refusals;
    *status = c.refusal;
    return rc == 0 && c.refusal == 0 ? release(k, &c) : rc;
}

/* ---- Commands --------------------------------------------------------------------------------- */

/* What the file says of the run, once in a transaction, in which nobody else may change it. */
static int load(struct hocket__sqlite_keeper *k, struct hocket__claimed *c)
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

static int touch(struct hocket__sqlite_keeper *k, struct hocket__claimed *c, bool is_new)
{
    return hocket__keeper_touch(&k->base, c) && !is_new ? load(k, c) : 0;
}

/* `dirty`: its row is written once at the end, with the last numbers and the time. */
static int write_to(struct hocket__sqlite_keeper *k, struct hocket__claimed *c,
    const struct hocket__store_command *cmd)
{
    c->dirty = true;
    c->changed |= cmd->kind != HOCKET__STORE_APPEND && cmd->kind != HOCKET__STORE_RECORD;
    switch (cmd->kind) {
    case HOCKET__STORE_UPDATE: return update(k, c, cmd);
    case HOCKET__STORE_APPEND: return append(k, c, &cmd->row.entry);
    case HOCKET__STORE_RECORD: return record(k, c, &cmd->row.record);
    case HOCKET__STORE_MESSAGE_PUT: return hocket__message_put(k, c->no, &cmd->row.message);
    case HOCKET__STORE_MESSAGE_DEL: return message_del(k, c, cmd->message_id);
    case HOCKET__STORE_RELEASE: return release(k, c);
    default: return 0;
    }
}

static int apply(struct hocket__sqlite_keeper *k, const struct hocket__store_command *cmd)
{
    if (cmd->kind == HOCKET__STORE_FILE)
        return put_file(k, &cmd->row.file);
    struct hocket__claimed *c = hocket__claims_need(&k->base, cmd->id);
    if (!c)
        return hocket__error_nomem(&k->db.error);
    int rc = touch(k, c, cmd->kind == HOCKET__STORE_PUT);
    if (rc < 0 || c->refusal)
        return rc;
    hocket__keeper_note(&k->base, c, cmd);
    if (cmd->kind == HOCKET__STORE_PUT)
        return put(k, c, &cmd->row.run);
    if (!c->no)
        return refuse(k, c, cmd->kind, HOCKET_ENOTFOUND);
    if (c->released || c->fence != cmd->fence)
        return refuse(k, c, cmd->kind, HOCKET_ESTATE);
    return write_to(k, c, cmd);
}

static int write_run(struct hocket__sqlite_keeper *k, struct hocket__claimed *c, int64_t now)
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

/* Once for each run of a transaction, however many entries there were. */
static int write_dirty(struct hocket__sqlite_keeper *k)
{
    int64_t now = hocket__sqlite_now(k);
    int rc = 0;
    for (struct hocket__list *l = k->base.touched.next; rc == 0 && l != &k->base.touched;
         l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, touched);
        if (c->dirty)
            rc = write_run(k, c, now);
    }
    return rc;
}

int hocket__sqlite_apply(struct hocket__sqlite_keeper *k, struct hocket__str work, const char *only)
{
    struct hocket__store_command cmd;
    int rc = 0;
    while (rc == 0 && hocket__store_command_next(&work, &cmd))
        if (!only || cmd.kind == HOCKET__STORE_FILE || strcmp(cmd.id, only) == 0)
            rc = apply(k, &cmd);
    return rc == 0 ? write_dirty(k) : rc;
}

static int apply_all(struct hocket__sqlite_keeper *k, struct hocket__str work)
{
    int rc = hocket__sqlite_apply(k, work, NULL);
    return rc == 0 && k->base.ahead_to ? hocket__ahead_note(k) : rc;
}

/* ---- Syncing ----------------------------------------------------------------------------------- */

/* A PRAGMA of its own costs as much as a small write: it is said when it changes. */
static int set_sync(struct hocket__sqlite_keeper *k, bool full)
{
    if (k->sync_is_full == full)
        return 0;
    int rc =
        hocket__db_exec(&k->db, full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
    if (rc == 0)
        k->sync_is_full = full;
    return rc;
}

/* After a sync that failed the system may have forgotten what it did not write: a later sync says nothing
 * of that. So all that is in the log is written and synced anew, into the file. */
static int write_anew(struct hocket__sqlite_keeper *k)
{
    if (!k->sync_failed)
        return 0;
    int rc, busy = (int) hocket__db_ask(&k->db, "PRAGMA wal_checkpoint(TRUNCATE)", &rc);
    if (rc == 0 && busy) {
        rc = hocket__error(
            &k->db.error, HOCKET_EIO, "%s: another process keeps it locked", k->db.path);
        k->db.error.retryable = true;
    }
    k->sync_failed = rc < 0;
    return rc;
}

static bool is_sync_failure(int code)
{
    return code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC;
}

/* A sync of what was written before goes with any change. */
static int sync_row(struct hocket__sqlite_keeper *k)
{
    return hocket__db_run(&k->db,
        hocket__db_stmt(&k->db, ST_SYNC, "UPDATE meta SET value = value + 1 WHERE name = 'syncs'"));
}

static int write_once(struct hocket__sqlite_keeper *k, struct hocket__str work, bool sync)
{
    int rc = write_anew(k);
    if (rc == 0)
        rc = set_sync(k, sync);
    if (rc < 0)
        return rc;
    hocket__keeper_begun(&k->base);
    rc = hocket__sqlite_begin(k);
    if (rc == 0)
        rc = work.n > 0 ? apply_all(k, work) : sync_row(k);
    return hocket__sqlite_end(k, rc);
}

/* Nothing to write, and nothing that was not synced: a wish for a sync has come true already. */
int hocket__sqlite_write(struct hocket__sqlite_keeper *k, struct hocket__str work, bool sync)
{
    if (work.n == 0 && k->unsynced == 0)
        return 0;
    int rc = write_once(k, work, sync);
    if (rc < 0) {
        k->sync_failed |= is_sync_failure(k->db.code);
        return rc;
    }
    if (sync) {
        k->unsynced = 0;
        k->base.syncs++;
    }
    hocket__keeper_settled(&k->base);
    return 0;
}
