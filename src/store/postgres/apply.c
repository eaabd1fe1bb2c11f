/* Commands as statements, one behind the other. What is said of a run's own row is gathered, and is one statement for each
 * run at the end (put.c): a row that is changed three times is three rows to the server.
 *
 * That statement says under which claim it is written, and which write of it this is. Where the row is another one it
 * divides by zero: then nothing of the transaction is there. So a run that is known from what was written before need not
 * be asked for (write.c), and what a lost connection has left half-way to the server comes too late for ever. */
#include "store/postgres/postgres_impl.h"

#include "base/hash/hash.h"

#define OWN_TEXT (16 * 1024) /* bytes; longer values stand in texts, once */

int hocket__pg_begin(struct hocket__pg *d)
{
    hocket__pg_new(d);
    return hocket__pg_query(d, PG_BEGIN, "BEGIN");
}

int hocket__pg_refuse(struct hocket__pg_keeper *k, struct hocket__claimed *c,
    enum hocket__store_command_kind kind, int status)
{
    hocket__keeper_refuse(&k->base, c, kind, status);
    return 0;
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
    if (e->n != c->last_n + 1 || e->n > HOCKET__PG_LAST_KEY)
        return hocket__pg_refuse(
            k, c, HOCKET__STORE_APPEND, e->n > HOCKET__PG_LAST_KEY ? HOCKET_ELIMIT : HOCKET_EINVAL);
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
    if (r->seq > HOCKET__PG_LAST_KEY)
        return hocket__pg_refuse(k, c, HOCKET__STORE_RECORD, HOCKET_ELIMIT);
    c->last_seq = r->seq;
    hocket__pg_new(d);
    hocket__pg_int(d, c->no);
    hocket__pg_int(d, (int64_t) r->seq);
    hocket__pg_text(d, r->json);
    return hocket__pg_send(d, PG_RECORD, "INSERT INTO records(run, seq, json) VALUES($1, $2, $3)");
}

/* Held to the transaction's end, by all who put files of this generation at once: whoever drops them waits for the runs that
 * come with them (sweep.c). */
static int share_generation(struct hocket__pg *d, struct hocket__str generation)
{
    hocket__pg_new(d);
    hocket__pg_text(d, generation);
    return hocket__pg_send(
        d, PG_FILE_SHARE, "SELECT pg_advisory_xact_lock_shared(" HOCKET__PG_GENERATION ")");
}

/* What is there already is the same. */
int hocket__pg_send_file(struct hocket__pg *d, const struct hocket__store_file *f)
{
    uint8_t digest[HOCKET__SHA256];
    int rc = share_generation(d, f->generation);
    if (rc == 0)
        rc = send_text(d, f->text, digest);
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

static int say(struct hocket__pg *d, int64_t run, const struct hocket__store_message *m)
{
    hocket__pg_new(d);
    hocket__pg_int(d, run);
    hocket__pg_text(d, m->id);
    hocket__pg_int(d, m->at_ms);
    hocket__pg_text(d, m->json);
    return hocket__pg_send(d, PG_SAY,
        "WITH said AS (INSERT INTO messages(run, id, at_ms, json) VALUES($1, $2, $3, $4)"
        " ON CONFLICT DO NOTHING RETURNING run)"
        " UPDATE runs SET " HOCKET__QUEUE_SPEAK " WHERE no IN (SELECT run FROM said)");
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

/* ---- Commands ------------------------------------------------------------------------------------------ */

/* `dirty`: its row is written once at the end, with the last numbers and the time. */
static int write_to(
    struct hocket__pg_keeper *k, struct hocket__claimed *c, const struct hocket__store_command *cmd)
{
    c->dirty = true;
    c->changed |= cmd->kind != HOCKET__STORE_APPEND && cmd->kind != HOCKET__STORE_RECORD;
    switch (cmd->kind) {
    case HOCKET__STORE_UPDATE: return hocket__pg_update_run(k, c, cmd);
    case HOCKET__STORE_APPEND: return append(k, c, &cmd->row.entry);
    case HOCKET__STORE_RECORD: return record(k, c, &cmd->row.record);
    case HOCKET__STORE_MESSAGE_PUT: return say(&k->db, c->no, &cmd->row.message);
    case HOCKET__STORE_MESSAGE_DEL: return message_del(&k->db, c->no, cmd->message_id);
    case HOCKET__STORE_RELEASE: c->released = true; return 0;
    default: return 0;
    }
}

int hocket__pg_apply(struct hocket__pg_keeper *k, const struct hocket__store_command *cmd)
{
    if (cmd->kind == HOCKET__STORE_FILE)
        return hocket__pg_send_file(&k->db, &cmd->row.file);
    struct hocket__claimed *c = hocket__claims_get(&k->base, cmd->id);
    if (hocket__keeper_passes(&k->base, c, cmd))
        return 0;
    hocket__keeper_note(&k->base, c, cmd);
    if (cmd->kind == HOCKET__STORE_PUT)
        return hocket__pg_put_run(k, c, &cmd->row.run);
    if (c->no <= 0)
        return hocket__pg_refuse(k, c, cmd->kind, HOCKET_ENOTFOUND);
    if (cmd->fence < c->lost_below)
        return 0;
    if (c->released || c->fence != cmd->fence)
        return hocket__pg_refuse(k, c, cmd->kind, HOCKET_ESTATE);
    return write_to(k, c, cmd);
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
            rc = hocket__pg_change_run(k, c, now);
    }
    return rc;
}
