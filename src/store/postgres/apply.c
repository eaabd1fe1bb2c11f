/* Commands as rows: one transaction for all that is at hand, in two round trips.
 *
 *   BEGIN, its number, the rows of its runs FOR UPDATE   ──>   what they say (gather, read_rows)
 *   rows that are written, COMMIT                        ──>   done          (apply_all)
 *
 * The rows of the runs stay locked in between, so that the fence that was compared is the fence under which it is
 * written. Commands that make no sense refuse their run, and no other's.
 *
 * A transaction whose answer never came may be there or not. Its number tells, on whatever connection (settle),
 * and the rows that have it: given again it is written again only when it is not. */
#include "store/postgres/postgres_impl.h"

#include "base/hash/hash.h"

#define OWN_TEXT (16 * 1024) /* bytes; longer values stand in texts, once */
#define LAST_KEY UINT64_C(0xFFFFFFFF)
#define GROWS_MS 1000 /* how exact updated_ms is while a run only grows */

int hocket__pg_begin(struct hocket__pg *d)
{
    hocket__pg_new(d);
    return hocket__pg_query(d, PG_BEGIN, "BEGIN");
}

/* ---- What the rows say -------------------------------------------------------------------------- */

static int send_load(struct hocket__pg_keeper *k, struct hocket__claimed *c)
{
    hocket__pg_new(&k->db);
    hocket__pg_text(&k->db, hocket__cstr(c->id));
    hocket__pg_int(&k->db, k->base.self.store);
    hocket__pg_int(&k->db, k->base.self.pid);
    return hocket__pg_send(&k->db, PG_LOAD,
        "SELECT no, CASE WHEN owner_store = $2 AND owner_pid = $3 THEN fence ELSE 0 END, last_n,"
        " last_seq, updated_ms, (caller IS NOT NULL)::int::bigint FROM runs WHERE id = $1 FOR "
        "UPDATE");
}

/* Of a run that is to be put: its number, and its parent's. */
#define NUMBER                                                                                     \
    "SELECT nextval(pg_get_serial_sequence('runs', 'no')), (SELECT no FROM runs WHERE id = $1)"
static int send_number(struct hocket__pg_keeper *k, const struct hocket__store_run *r)
{
    hocket__pg_new(&k->db);
    hocket__pg_text(&k->db, hocket__cstr(r->parent));
    return hocket__pg_send(&k->db, PG_NUMBER, NUMBER);
}

/* All runs that the commands are of, in `touched`, and what is asked of each. */
static int gather(struct hocket__pg_keeper *k, struct hocket__str work)
{
    struct hocket__store_command cmd;
    int rc = 0;
    while (rc == 0 && hocket__store_command_next(&work, &cmd)) {
        if (cmd.kind == HOCKET__STORE_FILE)
            continue;
        struct hocket__claimed *c = hocket__claims_need(&k->base, cmd.id);
        if (!c)
            return hocket__error_nomem(&k->db.error);
        if (!hocket__keeper_touch(&k->base, c))
            continue;
        c->is_new = cmd.kind == HOCKET__STORE_PUT;
        rc = send_load(k, c);
        if (rc == 0 && c->is_new)
            rc = send_number(k, &cmd.row.run);
    }
    return rc;
}

static int read_row(struct hocket__pg_keeper *k, struct hocket__claimed *c)
{
    struct hocket__pg *d = &k->db;
    int rc = hocket__pg_next(d);
    if (rc < 0) /* what is known of it stays: it would be taken for one that nobody has */
        return rc;
    bool there = rc == 0 && hocket__pg_rows(d) == 1;
    c->no = there ? hocket__pg_int_of(d, 0, 0) : 0;
    c->fence = there ? (uint64_t) hocket__pg_int_of(d, 0, 1) : 0;
    c->last_n = there ? (uint64_t) hocket__pg_int_of(d, 0, 2) : 0;
    c->last_seq = there ? (uint64_t) hocket__pg_int_of(d, 0, 3) : 0;
    c->updated_ms = there ? hocket__pg_int_of(d, 0, 4) : 0;
    c->called = there && hocket__pg_int_of(d, 0, 5) != 0;
    if (rc < 0 || !c->is_new)
        return rc;
    rc = hocket__pg_next(d);
    if (rc < 0)
        return rc;
    if (there) /* a run of this id: another one than is to be put */
        return 0;
    c->no = -hocket__pg_int_of(d, 0, 0); /* not there yet */
    c->parent = hocket__pg_int_of(d, 0, 1);
    return 0;
}

static int read_rows(struct hocket__pg_keeper *k)
{
    int rc = hocket__pg_next(&k->db); /* BEGIN */
    if (rc == 0)
        rc = hocket__pg_next(&k->db);
    if (rc == 0)
        k->unsettled = hocket__pg_int_of(&k->db, 0, 0);
    for (struct hocket__list *l = k->base.touched.next; rc == 0 && l != &k->base.touched;
         l = l->next)
        rc = read_row(k, hocket__container_of(l, struct hocket__claimed, touched));
    return rc;
}

static int load(struct hocket__pg_keeper *k, struct hocket__str work)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    int rc = hocket__pg_send(d, PG_BEGIN, "BEGIN");
    if (rc == 0)
        rc = hocket__pg_send(d, PG_XID, "SELECT pg_current_xact_id()::text::bigint");
    if (rc == 0)
        rc = gather(k, work);
    if (rc == 0)
        rc = hocket__pg_sync(d);
    if (rc == 0)
        rc = read_rows(k);
    return rc < 0 ? hocket__pg_give_up(d) : hocket__pg_end(d);
}

/* ---- Runs ------------------------------------------------------------------------------------------ */

static int refuse(struct hocket__pg_keeper *k, struct hocket__claimed *c,
    enum hocket__store_command_kind kind, int status)
{
    hocket__keeper_refuse(&k->base, c, kind, status);
    return 0;
}

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

static int put(
    struct hocket__pg_keeper *k, struct hocket__claimed *c, const struct hocket__store_run *r)
{
    int64_t parent = parent_of(k, c, r);
    if (c->no >= 0)
        return refuse(k, c, HOCKET__STORE_PUT, HOCKET_EEXIST);
    if (r->parent[0] && !parent)
        return refuse(k, c, HOCKET__STORE_PUT, HOCKET_ENOTFOUND);
    if (r->at_n > LAST_KEY || r->at_seq > LAST_KEY)
        return refuse(k, c, HOCKET__STORE_PUT, HOCKET_ELIMIT);
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

/* One statement for whatever is set: the bits of `set` choose the columns. */
static int update(struct hocket__pg_keeper *k, const struct hocket__claimed *c,
    const struct hocket__store_command *u)
{
    struct hocket__pg *d = &k->db;
    const struct hocket__store_run *r = &u->row.run;
    hocket__pg_new(d);
    hocket__pg_int(d, u->set);
    hocket__pg_text(d, hocket__cstr(hocket__store_state_word(r->state)));
    hocket__pg_text_or_null(d, r->waiting_for);
    hocket__pg_count(d, r->cost);
    hocket__pg_count(d, r->tokens);
    hocket__pg_text_or_null(d, r->generation);
    hocket__pg_text(d, r->options);
    hocket__pg_int(d, c->no);
    hocket__pg_int(d, r->simulated);
    hocket__pg_text_or_null(d, r->pool);
    hocket__pg_int(d, r->due_ms);
    int rc = hocket__pg_send(d, PG_UPDATE,
        "UPDATE runs SET state = CASE WHEN $1 & 1 <> 0 THEN $2 ELSE state END,"
        " waiting_for = CASE WHEN $1 & 2 <> 0 THEN $3 ELSE waiting_for END,"
        " cost = CASE WHEN $1 & 4 <> 0 THEN $4 ELSE cost END,"
        " tokens = CASE WHEN $1 & 4 <> 0 THEN $5 ELSE tokens END,"
        " simulated = CASE WHEN $1 & 4 <> 0 THEN $9 ELSE simulated END,"
        " generation = CASE WHEN $1 & 8 <> 0 THEN $6 ELSE generation END,"
        " options = CASE WHEN $1 & 16 <> 0 THEN $7 ELSE options END,"
        " pool = CASE WHEN $1 & 32 <> 0 THEN $10 ELSE pool END,"
        " due_ms = CASE WHEN $1 & 32 <> 0 THEN $11 ELSE due_ms END WHERE no = $8");
    return rc == 0 && c->called && (u->set & HOCKET__STORE_SET_STATE)
                   && hocket__store_has_ended(r->state)
               ? tell_caller(k, c, r->state)
               : rc;
}

/* ---- What belongs to runs ------------------------------------------------------------------------------- */

/* Two statements on purpose: the second sees a text that another transaction has put meanwhile, for whose end the
 * first has waited. One that goes in between fails the second, and all is tried again. */
static int send_text(struct hocket__pg *d, struct hocket__str text, uint8_t digest[HOCKET__SHA256])
{
    hocket__sha256(text, digest);
    hocket__pg_new(d);
    hocket__pg_bytes(d, hocket__str((const char *) digest, HOCKET__SHA256));
    hocket__pg_bytes(d, text);
    return hocket__pg_send(
        d, PG_TEXT, "INSERT INTO texts(hash, text) VALUES($1, $2) ON CONFLICT (hash) DO NOTHING");
}

static void bind_entry(struct hocket__pg *d, int64_t run, const struct hocket__store_entry *e)
{
    hocket__pg_new(d);
    hocket__pg_int(d, run);
    hocket__pg_int(d, (int64_t) e->n);
    hocket__pg_int(d, (int64_t) e->tick);
    hocket__pg_int(d, e->at_ms);
    hocket__pg_int(d, e->kind);
    hocket__pg_int(d, (int64_t) e->path);
    hocket__pg_int(d, e->ord);
    hocket__pg_text(d, e->name);
    hocket__pg_bytes(d, e->digest);
}

#define ENTRY "INSERT INTO entries(run, n, tick, at_ms, kind, path, ord, name, digest, value, text)"

static int append(
    struct hocket__pg_keeper *k, struct hocket__claimed *c, const struct hocket__store_entry *e)
{
    struct hocket__pg *d = &k->db;
    uint8_t digest[HOCKET__SHA256];
    if (e->n != c->last_n + 1 || e->n > LAST_KEY)
        return refuse(k, c, HOCKET__STORE_APPEND, e->n > LAST_KEY ? HOCKET_ELIMIT : HOCKET_EINVAL);
    c->last_n = e->n;
    if (e->value.n < OWN_TEXT) {
        bind_entry(d, c->no, e);
        hocket__pg_text(d, e->value);
        return hocket__pg_send(
            d, PG_APPEND, ENTRY " VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, NULL)");
    }
    int rc = send_text(d, e->value, digest);
    if (rc < 0)
        return rc;
    bind_entry(d, c->no, e);
    hocket__pg_bytes(d, hocket__str((const char *) digest, sizeof(digest)));
    return hocket__pg_send(d, PG_APPEND_TEXT,
        ENTRY " VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, NULL,"
              " (SELECT no FROM texts WHERE hash = $10))");
}

/* Records of a run that was resumed are told again by its replay; those that are there are passed over. */
static int record(
    struct hocket__pg_keeper *k, struct hocket__claimed *c, const struct hocket__store_record *r)
{
    struct hocket__pg *d = &k->db;
    if (r->seq <= c->last_seq)
        return 0;
    if (r->seq > LAST_KEY)
        return refuse(k, c, HOCKET__STORE_RECORD, HOCKET_ELIMIT);
    c->last_seq = r->seq;
    hocket__pg_new(d);
    hocket__pg_int(d, c->no);
    hocket__pg_int(d, (int64_t) r->seq);
    hocket__pg_text(d, r->json);
    return hocket__pg_send(d, PG_RECORD, "INSERT INTO records(run, seq, json) VALUES($1, $2, $3)");
}

/* What is there already is the same. */
static int put_file(struct hocket__pg *d, const struct hocket__store_file *f)
{
    uint8_t digest[HOCKET__SHA256];
    int rc = send_text(d, f->text, digest);
    if (rc < 0)
        return rc;
    hocket__pg_new(d);
    hocket__pg_text(d, f->generation);
    hocket__pg_text(d, f->path);
    hocket__pg_text(d, f->hash);
    hocket__pg_bytes(d, hocket__str((const char *) digest, sizeof(digest)));
    return hocket__pg_send(d, PG_FILE,
        "INSERT INTO files(generation, path, hash, text) VALUES($1, $2, $3,"
        " (SELECT no FROM texts WHERE hash = $4)) ON CONFLICT DO NOTHING");
}

int hocket__pg_send_message(
    struct hocket__pg *d, int64_t run, const struct hocket__store_message *m)
{
    hocket__pg_new(d);
    hocket__pg_int(d, run);
    hocket__pg_text(d, m->id);
    hocket__pg_int(d, m->at_ms);
    hocket__pg_text(d, m->json);
    return hocket__pg_send(d, PG_MESSAGE,
        "INSERT INTO messages(run, id, at_ms, json) VALUES($1, $2, $3, $4) ON CONFLICT DO NOTHING");
}

/* Its id stays, so that it is not put again. */
static int message_del(struct hocket__pg *d, int64_t run, struct hocket__str id)
{
    hocket__pg_new(d);
    hocket__pg_int(d, run);
    hocket__pg_text(d, id);
    return hocket__pg_send(
        d, PG_MESSAGE_DEL, "UPDATE messages SET json = NULL WHERE run = $1 AND id = $2");
}

/* Only the owner goes. The fence stays, so that a late write of this claim finds that it has been released. */
static int release(struct hocket__pg *d, struct hocket__claimed *c)
{
    c->released = true;
    hocket__pg_new(d);
    hocket__pg_int(d, c->no);
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
        rc = hocket__pg_query(d, PG_NUMBER, NUMBER);
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
        rc = put(k, &c, run);
    k->base.has_refusals = refusals;
    *status = c.refusal;
    if (rc < 0 || c.refusal)
        return rc;
    rc = release(&k->db, &c);
    if (rc == 0)
        rc = hocket__pg_sync(&k->db);
    return rc < 0 ? rc : hocket__pg_end(&k->db);
}

/* ---- Commands ------------------------------------------------------------------------------------------ */

/* `dirty`: its row is written once at the end, with the last numbers and the time. */
static int write_to(
    struct hocket__pg_keeper *k, struct hocket__claimed *c, const struct hocket__store_command *cmd)
{
    c->dirty = true;
    c->changed |= cmd->kind != HOCKET__STORE_APPEND && cmd->kind != HOCKET__STORE_RECORD;
    switch (cmd->kind) {
    case HOCKET__STORE_UPDATE: return update(k, c, cmd);
    case HOCKET__STORE_APPEND: return append(k, c, &cmd->row.entry);
    case HOCKET__STORE_RECORD: return record(k, c, &cmd->row.record);
    case HOCKET__STORE_MESSAGE_PUT:
        return hocket__pg_send_message(&k->db, c->no, &cmd->row.message);
    case HOCKET__STORE_MESSAGE_DEL: return message_del(&k->db, c->no, cmd->message_id);
    case HOCKET__STORE_RELEASE: return release(&k->db, c);
    default: return 0;
    }
}

static int apply(struct hocket__pg_keeper *k, const struct hocket__store_command *cmd)
{
    if (cmd->kind == HOCKET__STORE_FILE)
        return put_file(&k->db, &cmd->row.file);
    struct hocket__claimed *c = hocket__claims_get(&k->base, cmd->id);
    if (c->refusal)
        return 0;
    hocket__keeper_note(&k->base, c, cmd);
    if (cmd->kind == HOCKET__STORE_PUT)
        return put(k, c, &cmd->row.run);
    if (c->no <= 0)
        return refuse(k, c, cmd->kind, HOCKET_ENOTFOUND);
    if (c->released || c->fence != cmd->fence)
        return refuse(k, c, cmd->kind, HOCKET_ESTATE);
    return write_to(k, c, cmd);
}

static int write_run(struct hocket__pg *d, struct hocket__claimed *c, int64_t now)
{
    bool grown = !c->changed && now >= c->updated_ms && now - c->updated_ms < GROWS_MS;
    hocket__pg_new(d);
    hocket__pg_int(d, (int64_t) c->last_n);
    hocket__pg_int(d, (int64_t) c->last_seq);
    hocket__pg_int(d, c->no);
    if (grown)
        return hocket__pg_send(
            d, PG_GROWN, "UPDATE runs SET last_n = $1, last_seq = $2 WHERE no = $3");
    hocket__pg_int(d, now);
    return hocket__pg_send(
        d, PG_DIRTY, "UPDATE runs SET last_n = $1, last_seq = $2, updated_ms = $4 WHERE no = $3");
}

/* Once for each run of a transaction, however many entries there were. */
static int write_dirty(struct hocket__pg_keeper *k)
{
    int64_t now = hocket__pg_now(k);
    int rc = 0;
    for (struct hocket__list *l = k->base.touched.next; rc == 0 && l != &k->base.touched;
         l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, touched);
        if (c->dirty)
            rc = write_run(&k->db, c, now);
    }
    return rc;
}

static int apply_all(struct hocket__pg_keeper *k, struct hocket__str work)
{
    struct hocket__store_command cmd;
    int rc = 0;
    while (rc == 0 && hocket__store_command_next(&work, &cmd))
        rc = apply(k, &cmd);
    if (rc == 0)
        rc = write_dirty(k);
    hocket__pg_new(&k->db);
    if (rc == 0)
        rc = hocket__pg_send(&k->db, PG_COMMIT, "COMMIT");
    if (rc == 0)
        rc = hocket__pg_sync(&k->db);
    return rc < 0 ? rc : hocket__pg_end(&k->db);
}

/* What was sent of a transaction that cannot go on is thrown away with its connection. */
static int abandon(struct hocket__pg_keeper *k, int rc)
{
    if (k->db.sent.len > 0)
        k->db.lost = true;
    return k->db.lost ? rc : hocket__pg_finish(&k->db, rc);
}

/* ---- Transactions ---------------------------------------------------------------------------------------- */

/* Whether this transaction has written the run's row, or any of its entries, which nobody writes again. */
static int has_written(struct hocket__pg_keeper *k, const char *id)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_text(d, hocket__cstr(id));
    hocket__pg_int(d, k->unsettled);
    int rc = hocket__pg_query(d, PG_ONCE,
        "SELECT 1 FROM runs r, CAST(($2 % 4294967296)::text AS xid) x WHERE r.id = $1 AND (r.xmin "
        "= x"
        " OR EXISTS (SELECT 1 FROM entries e WHERE e.run = r.no AND e.xmin = x))");
    return rc < 0 ? rc : hocket__pg_rows(d) > 0;
}

/* What was committed while nobody waited for the standby any more may not have got there. What is committed after it has,
 * once it is answered. */
static int until_replicated(struct hocket__pg_keeper *k)
{
    hocket__pg_new(&k->db);
    return hocket__pg_query(
        &k->db, PG_ONCE, "SELECT pg_logical_emit_message(true, 'hocket', '') IS NULL");
}

/* A server that crashed, or took over, gives the numbers that it has not heard of once more: one that is committed may be
 * another's. Files alone are written again in any case, which does nothing where they are. */
static int is_ours(struct hocket__pg_keeper *k, struct hocket__str work)
{
    struct hocket__store_command cmd;
    char last[HOCKET__STORE_ID + 1] = "";
    int rc = 0;
    while (rc == 0 && hocket__store_command_next(&work, &cmd)) {
        if (cmd.kind == HOCKET__STORE_FILE || strcmp(cmd.id, last) == 0)
            continue;
        memcpy(last, cmd.id, sizeof(last));
        rc = has_written(k, cmd.id);
    }
    if (rc == 1 && (rc = until_replicated(k)) == 0)
        rc = 1;
    return rc;
}

/* Whether the transaction whose answer never came is there: 1, 0, or negative where nobody knows yet. A server that
 * has never heard of it is one that took over without it. */
static int settle(struct hocket__pg_keeper *k, struct hocket__str work)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_int(d, k->unsettled);
    int rc = hocket__pg_query(d, PG_ONCE, "SELECT pg_xact_status($1::text::xid8)");
    if (rc < 0)
        return strcmp(d->code, "22023") == 0 ? 0 : rc;
    struct hocket__str word = hocket__pg_bytes_of(d, 0, 0);
    if (!hocket__str_is(word, "in progress"))
        return hocket__str_is(word, "committed") ? is_ours(k, work) : 0;
    hocket__error(&d->error, HOCKET_EIO,
        "%s: the server is not done yet with what was written last", d->shown.data);
    d->error.retryable = true;
    return HOCKET_EIO;
}

static int write_once(struct hocket__pg_keeper *k, struct hocket__str work)
{
    int rc = hocket__pg_connect(&k->db);
    if (rc == 0 && k->unsettled && (rc = settle(k, work)) != 0)
        return rc < 0 ? rc : 0;
    if (rc < 0)
        return rc;
    k->unsettled = 0;
    hocket__keeper_begun(&k->base);
    rc = load(k, work);
    if (rc == 0)
        rc = apply_all(k, work);
    if (rc < 0)
        rc = abandon(k, rc);
    if (!k->db.lost) /* then the server has said what became of it */
        k->unsettled = 0;
    return rc;
}

/* Every commit is synced. */
int hocket__pg_write(struct hocket__keeper *base, struct hocket__str work, bool sync)
{
    struct hocket__pg_keeper *k = hocket__pg_of(base);
    if (work.n == 0)
        return 0;
    int rc = write_once(k, work);
    if (rc < 0)
        return rc;
    k->unsettled = 0;
    base->commits++;
    base->syncs += sync;
    hocket__keeper_settled(base);
    return 0;
}
