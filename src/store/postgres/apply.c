/* Commands as statements, one behind the other. What is said of a run's own row is gathered, and is one statement for each
 * run at the end (change_row): a row that is changed three times is three rows to the server.
 *
 * That statement says under which claim it is written, and which write of it this is. Where the row is another one it
 * divides by zero: then nothing of the transaction is there. So a run that is known from what was written before need not
 * be asked for (write.c), and what a lost connection has left half-way to the server comes too late for ever. */
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
static int update(
    struct hocket__pg_keeper *k, struct hocket__claimed *c, const struct hocket__store_command *u)
{
    const struct hocket__store_run *r = &u->row.run;
    merge(&c->change, u->set, r);
    c->set |= u->set;
    return c->called && (u->set & HOCKET__STORE_SET_STATE) && hocket__store_has_ended(r->state)
               ? tell_caller(k, c, r->state)
               : 0;
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
        rc = put(k, &c, run);
    k->base.has_refusals = refusals;
    *status = c.refusal;
    if (rc < 0 || c.refusal)
        return rc;
    rc = let_go(&k->db, c.no);
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
    case HOCKET__STORE_RELEASE: c->released = true; return 0;
    default: return 0;
    }
}

int hocket__pg_apply(struct hocket__pg_keeper *k, const struct hocket__store_command *cmd)
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

/* ---- Rows ---------------------------------------------------------------------------------------------- */

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

static int change_row(struct hocket__pg_keeper *k, struct hocket__claimed *c, int64_t now)
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

/* Once for each run of a transaction, whatever was said of it. */
int hocket__pg_apply_rows(struct hocket__pg_keeper *k)
{
    int64_t now = hocket__pg_now(k);
    int rc = 0;
    for (struct hocket__list *l = k->base.touched.next; rc == 0 && l != &k->base.touched;
         l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, touched);
        if (c->dirty)
            rc = change_row(k, c, now);
    }
    return rc;
}
