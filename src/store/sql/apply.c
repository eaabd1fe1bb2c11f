/* Commands as statements. What is said of a run's own row is gathered, and is one statement for each run at the end of a transaction: a
 * row that is changed three times would be three rows to PostgreSQL, and three changes of its indexes to SQLite.
 *
 * Commands that make no sense (a gap, a run that somebody else has) refuse their run: what others handed over in the same batch is
 * written. */
#include "store/sql/sql.h"

#include "base/hash/hash.h"

#define OWN_TEXT (16 * 1024) /* bytes; longer values stand in texts, once */
#define LAST_KEY UINT64_C(0xFFFFFFFF)
#define GROWS_MS 1000 /* how exact updated_ms is while a run only grows */

static int refuse(struct hocket__keeper *k, struct hocket__claimed *c,
    enum hocket__store_command_kind kind, int status)
{
    hocket__keeper_refuse(k, c, kind, status);
    return 0;
}

/* ---- What belongs to runs --------------------------------------------------------------------- */

/* Prompts and files come again and again, in thousands of runs: each text once. */
static int send_text(
    struct hocket__keeper *k, struct hocket__str text, uint8_t digest[HOCKET__SHA256])
{
    hocket__sha256(text, digest);
    hocket__sql_new(k, HOCKET__SQL_TEXT);
    hocket__sql_bytes(k, hocket__str((const char *) digest, HOCKET__SHA256));
    hocket__sql_bytes(k, text);
    return hocket__sql_send(k);
}

static void add_entry(
    struct hocket__keeper *k, const struct hocket__claimed *c, const struct hocket__store_entry *e)
{
    hocket__sql_int(k, c->no);
    hocket__sql_int(k, (int64_t) e->n);
    hocket__sql_int(k, (int64_t) e->tick);
    hocket__sql_int(k, e->at_ms);
    hocket__sql_int(k, e->kind);
    hocket__sql_int(k, (int64_t) e->path);
    hocket__sql_int(k, e->ord);
    hocket__sql_text(k, e->name);
    hocket__sql_bytes(k, e->digest);
}

/* A gap means that entries of this run were lost on the way, or that another process has written
 * meanwhile. Both end the claim: a log with a hole would be replayed as another run. */
static int append(
    struct hocket__keeper *k, struct hocket__claimed *c, const struct hocket__store_entry *e)
{
    uint8_t digest[HOCKET__SHA256];
    if (e->n != c->last_n + 1 || e->n > LAST_KEY)
        return refuse(k, c, HOCKET__STORE_APPEND, e->n > LAST_KEY ? HOCKET_ELIMIT : HOCKET_EINVAL);
    bool is_long = e->value.n >= OWN_TEXT;
    int rc = is_long ? send_text(k, e->value, digest) : 0;
    if (rc < 0)
        return rc;
    c->last_n = e->n;
    hocket__sql_new(k, is_long ? HOCKET__SQL_APPEND_TEXT : HOCKET__SQL_APPEND);
    add_entry(k, c, e);
    if (is_long)
        hocket__sql_bytes(k, hocket__str((const char *) digest, sizeof(digest)));
    else
        hocket__sql_text(k, e->value);
    return hocket__sql_send(k);
}

/* Records of a run that was resumed are told again by its replay; those that are there are passed over. */
static int record(
    struct hocket__keeper *k, struct hocket__claimed *c, const struct hocket__store_record *r)
{
    if (r->seq <= c->last_seq)
        return 0;
    if (r->seq > LAST_KEY)
        return refuse(k, c, HOCKET__STORE_RECORD, HOCKET_ELIMIT);
    c->last_seq = r->seq;
    hocket__sql_new(k, HOCKET__SQL_RECORD);
    hocket__sql_int(k, c->no);
    hocket__sql_int(k, (int64_t) r->seq);
    hocket__sql_text(k, r->json);
    return hocket__sql_send(k);
}

/* Files are named by the hash of their generation: what is there is the same. */
int hocket__sql_put_file(struct hocket__keeper *k, const struct hocket__store_file *f)
{
    uint8_t digest[HOCKET__SHA256];
    int rc = k->sql->begin_file(k, f);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    rc = send_text(k, f->text, digest);
    if (rc < 0)
        return rc;
    hocket__sql_new(k, HOCKET__SQL_FILE);
    hocket__sql_text(k, f->generation);
    hocket__sql_text(k, f->path);
    hocket__sql_text(k, f->hash);
    hocket__sql_bytes(k, hocket__str((const char *) digest, sizeof(digest)));
    return hocket__sql_send(k);
}

static void add_message(struct hocket__keeper *k, unsigned statement, int64_t run,
    const struct hocket__store_message *m)
{
    hocket__sql_new(k, statement);
    hocket__sql_int(k, run);
    hocket__sql_text(k, m->id);
    hocket__sql_int(k, m->at_ms);
    hocket__sql_text(k, m->json);
}

/* A statement that puts a message; the run of which it is hears of it when it was not there yet: by the same statement in PostgreSQL,
 * and by the second one in SQLite, where it is known by now. */
static int say(struct hocket__keeper *k, unsigned statement, unsigned hear, int64_t run,
    const struct hocket__store_message *m)
{
    add_message(k, statement, run, m);
    int rc = hocket__sql_send(k);
    if (rc < 0 || !k->sql->streams || k->sql->changed(k) == 0)
        return rc;
    hocket__sql_new(k, hear);
    hocket__sql_int(k, run);
    return hocket__sql_send(k);
}

/* Its id stays, so that it is not put again. */
static int message_del(struct hocket__keeper *k, int64_t run, struct hocket__str id)
{
    hocket__sql_new(k, HOCKET__SQL_MESSAGE_DEL);
    hocket__sql_int(k, run);
    hocket__sql_text(k, id);
    return hocket__sql_send(k);
}

/* ---- A run's row ------------------------------------------------------------------------------ */

#define WRITE(KIND, member, ...) WRITE_##KIND(r->member);
#define WRITE_ID(v)              hocket__sql_text(k, hocket__cstr(v))
#define WRITE_ID_OR_NULL(v)      hocket__sql_text_or_null(k, hocket__cstr(v))
#define WRITE_PARENT(v)          hocket__sql_count(k, parent ? parent : -1)
#define WRITE_NUM(v)             hocket__sql_int(k, (int64_t) v)
#define WRITE_INT(v)             hocket__sql_int(k, v)
#define WRITE_FLAG(v)            hocket__sql_int(k, v)
#define WRITE_COUNT(v)           hocket__sql_count(k, v)
#define WRITE_TEXT(v)            hocket__sql_text(k, v)
#define WRITE_LONG(v)            hocket__sql_text(k, v)
#define WRITE_TEXT_OR_NULL(v)    hocket__sql_text_or_null(k, v)
#define WRITE_SEED(v)            hocket__sql_bytes(k, hocket__str((const char *) v, sizeof(v)))
#define WRITE_STATE(v)           hocket__sql_text(k, hocket__cstr(hocket__store_state_word(v)))

static int insert_run(struct hocket__keeper *k, struct hocket__claimed *c,
    const struct hocket__store_run *r, int64_t parent)
{
    c->last_n = parent ? r->at_n : 0;
    c->last_seq = parent ? r->at_seq : 0;
    c->updated_ms = k->ops->now(k);
    c->fence = 1;
    c->called = r->caller[0] != 0;
    c->writes = 0;
    hocket__sql_new(k, HOCKET__SQL_PUT);
    hocket__sql_count(k, c->no ? -c->no : -1);
    hocket__sql_int(k, c->updated_ms);
    hocket__sql_int(k, (int64_t) c->last_n);
    hocket__sql_int(k, (int64_t) c->last_seq);
    hocket__sql_owner(k);
    HOCKET__RUN_COLUMNS(HOCKET__RUN_PUT, WRITE)
    int rc = hocket__sql_send(k);
    c->no = k->sql->inserted(k, c);
    return rc;
}

/* An id that is there is a run that was put twice, by two programs that restored the same export:
 * the second is refused. */
static int put_run(struct hocket__keeper *k, struct hocket__claimed *c,
    const struct hocket__store_run *r, bool alone)
{
    int64_t parent = 0;
    int rc = k->sql->number(k, c, r, alone, &parent);
    if (rc < 0)
        return rc;
    if (c->no > 0)
        return refuse(k, c, HOCKET__STORE_PUT, HOCKET_EEXIST);
    if (r->parent[0] && !parent)
        return refuse(k, c, HOCKET__STORE_PUT, HOCKET_ENOTFOUND);
    if (r->at_n > LAST_KEY || r->at_seq > LAST_KEY)
        return refuse(k, c, HOCKET__STORE_PUT, HOCKET_ELIMIT);
    return insert_run(k, c, r, parent);
}

/* The texts lie in what was handed over, for as long as the transaction is made. Whoever called it hears of its end: once, however often
 * that is said. */
static int update(
    struct hocket__keeper *k, struct hocket__claimed *c, const struct hocket__store_command *u)
{
    const struct hocket__store_run *r = &u->row.run;
    char texts[HOCKET__STORE_ENDED];
    hocket__store_merge(&c->change, u->set, r);
    c->set |= u->set;
    if (!c->called || !(u->set & HOCKET__STORE_SET_STATE) || !hocket__store_has_ended(r->state))
        return 0;
    struct hocket__store_message m = hocket__store_ended(c->id, r->state, k->ops->now(k), texts);
    return say(k, HOCKET__SQL_ENDED, HOCKET__SQL_HEAR_CALLER, c->no, &m);
}

/* Only the owner goes. The fence stays, so that a late write of this claim finds that it has been released. */
static int let_go(struct hocket__keeper *k, int64_t no)
{
    hocket__sql_new(k, HOCKET__SQL_LET_GO);
    hocket__sql_int(k, no);
    return hocket__sql_send(k);
}

/* Whether it may have been spoken to meanwhile, and is to be queued: that is looked at when its state is written. */
static bool may_be_spoken(const struct hocket__claimed *c)
{
    return !(c->set & HOCKET__STORE_SET_STATE) || c->change.state == HOCKET__STORE_WAITING
           || c->change.state == HOCKET__STORE_PARKED;
}

/* By which claim it is written, and which write of it this is: where that may have been lost meanwhile. */
static void add_claim(struct hocket__keeper *k, const struct hocket__claimed *c)
{
    hocket__sql_int(k, c->no);
    if (k->sql->streams)
        return;
    hocket__sql_int(k, (int64_t) c->fence);
    hocket__sql_int(k, k->self.pid);
    hocket__sql_int(k, k->self.store);
    hocket__sql_int(k, c->writes);
}

/* What is not set keeps its value: those of before are in texts that are gone. */
#define WRITE_SET(KIND, member, column, SET)                                                       \
    if (c->set & HOCKET__STORE_SET_##SET)                                                          \
        WRITE_##KIND(r->member);                                                                   \
    else                                                                                           \
        k->sql->put_null(k, IS_NUMBER_##KIND);
#define IS_NUMBER_STATE        false
#define IS_NUMBER_TEXT_OR_NULL false
#define IS_NUMBER_LONG         false
#define IS_NUMBER_COUNT        true
#define IS_NUMBER_FLAG         true
#define IS_NUMBER_INT          true

static void add_change(struct hocket__keeper *k, const struct hocket__claimed *c, bool goes)
{
    const struct hocket__store_run *r = &c->change;
    hocket__sql_int(k, goes);
    HOCKET__RUN_COLUMNS(HOCKET__RUN_UPDATE, WRITE_SET)
}

/* Its last numbers and the time, and what was said of it. */
static int change_run(struct hocket__keeper *k, struct hocket__claimed *c, int64_t now)
{
    bool grown = !c->changed && now >= c->updated_ms && now - c->updated_ms < GROWS_MS;
    bool goes = c->released && !may_be_spoken(c), says = !grown && (c->set || goes);
    hocket__sql_new(k, says ? HOCKET__SQL_CHANGE : grown ? HOCKET__SQL_GROW : HOCKET__SQL_TOUCH);
    if (says)
        hocket__sql_int(k, c->set);
    hocket__sql_int(k, (int64_t) c->last_n);
    hocket__sql_int(k, (int64_t) c->last_seq);
    if (!grown)
        hocket__sql_int(k, c->updated_ms = now);
    if (says)
        add_change(k, c, goes);
    add_claim(k, c);
    int rc = hocket__sql_send(k);
    return rc == 0 && c->released && !goes ? let_go(k, c->no) : rc;
}

/* ---- Commands --------------------------------------------------------------------------------- */

/* `dirty`: its row is written once at the end. */
static int write_to(
    struct hocket__keeper *k, struct hocket__claimed *c, const struct hocket__store_command *cmd)
{
    c->dirty = true;
    c->changed |= cmd->kind != HOCKET__STORE_APPEND && cmd->kind != HOCKET__STORE_RECORD;
    switch (cmd->kind) {
    case HOCKET__STORE_UPDATE: return update(k, c, cmd);
    case HOCKET__STORE_APPEND: return append(k, c, &cmd->row.entry);
    case HOCKET__STORE_RECORD: return record(k, c, &cmd->row.record);
    case HOCKET__STORE_MESSAGE_PUT:
        return say(k, HOCKET__SQL_SAY, HOCKET__SQL_HEAR, c->no, &cmd->row.message);
    case HOCKET__STORE_MESSAGE_DEL: return message_del(k, c->no, cmd->message_id);
    case HOCKET__STORE_RELEASE: c->released = true; return 0;
    default: return 0;
    }
}

int hocket__sql_apply(
    struct hocket__keeper *k, struct hocket__claimed *c, const struct hocket__store_command *cmd)
{
    if (hocket__keeper_passes(k, c, cmd))
        return 0;
    hocket__keeper_note(k, c, cmd);
    if (cmd->kind == HOCKET__STORE_PUT)
        return put_run(k, c, &cmd->row.run, false);
    if (c->no <= 0)
        return refuse(k, c, cmd->kind, HOCKET_ENOTFOUND);
    if (cmd->fence < c->lost_below)
        return 0;
    if (c->released || c->fence != cmd->fence)
        return refuse(k, c, cmd->kind, HOCKET_ESTATE);
    return write_to(k, c, cmd);
}

/* Once for each run of a transaction, whatever was said of it. */
int hocket__sql_apply_rows(struct hocket__keeper *k)
{
    int64_t now = k->ops->now(k);
    int rc = 0;
    for (struct hocket__list *l = k->touched.next; rc == 0 && l != &k->touched; l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, touched);
        if (c->dirty)
            rc = change_run(k, c, now);
    }
    return rc;
}

/* ---- What comes with questions ---------------------------------------------------------------- */

/* A run that nobody has is put and let go of; what it is refused for is not told of a claim. */
static int put_free(struct hocket__keeper *k, const struct hocket__store_run *run, int *status)
{
    struct hocket__claimed c = { .no = 0 };
    bool refusals = k->has_refusals;
    int rc = put_run(k, &c, run, true);
    k->has_refusals = refusals;
    *status = c.refusal;
    return rc < 0 || c.refusal ? rc : let_go(k, c.no);
}

int hocket__sql_put_along(struct hocket__keeper *k, const struct hocket__store_call *c, int *status)
{
    struct hocket__str in = hocket__store_along(c);
    struct hocket__store_row row;
    int rc = *status = 0;
    if (in.n == 0)
        return 0;
    while (rc == 0 && *status == 0 && hocket__store_unpack(&in, &row) == 1)
        rc = row.kind == HOCKET__STORE_ROW_RUN ? put_free(k, &row.run, status)
                                               : hocket__sql_put_file(k, &row.file);
    int flushed = k->sql->flush(k);
    return rc < 0 ? rc : flushed;
}

/* Asked again it may be there by what was asked first. */
static int submit(struct hocket__keeper *k, struct hocket__store_call *c)
{
    struct hocket__store_row row;
    int status = 0;
    int rc = k->again && hocket__store_run_along(c, &row) ? k->sql->is_put(k, &row.run) : 0;
    if (rc == 0)
        rc = hocket__sql_put_along(k, c, &status);
    if (rc == 0 && status < 0)
        c->status = hocket__store_not_put(c, status);
    return rc < 0 ? rc : 0;
}

int hocket__sql_submit(struct hocket__keeper *k, struct hocket__store_call *c)
{
    int rc = k->sql->change(k, c, submit);
    k->hint |= rc == 0 && c->status == 0;
    return rc;
}

/* In PostgreSQL the run's row is changed, and so locked, first, also where the run hears nothing: whoever lets go of the run meanwhile
 * would not see the message, and this not that it was let go of. A message that is there already wakes nobody: that is taken back. */
static int put_message(struct hocket__keeper *k, struct hocket__store_call *c)
{
    int rc;
    hocket__sql_new(k, HOCKET__SQL_SPEAK);
    hocket__sql_text(k, c->q.message.run);
    int64_t run = hocket__sql_number(k, &rc);
    if (rc == 0 && !run)
        c->status = hocket__store_not_found(c, c->q.message.run);
    if (rc < 0 || !run)
        return rc;
    add_message(k, HOCKET__SQL_MESSAGE, run, &c->q.message.said);
    rc = hocket__sql_run(k);
    if (rc == 0 && k->sql->changed(k) == 0)
        c->status = hocket__store_has_message(c);
    if (rc < 0 || c->status < 0 || !k->sql->streams)
        return rc;
    hocket__sql_new(k, HOCKET__SQL_HEAR);
    hocket__sql_int(k, run);
    return hocket__sql_run(k);
}

/* One that is there and was put by this very call, whose answer was lost, is what was asked for. */
static int is_same(struct hocket__keeper *k, struct hocket__store_call *c)
{
    const struct hocket__store_message *m = &c->q.message.said;
    int rc;
    hocket__sql_new(k, HOCKET__SQL_MESSAGE_SAME);
    hocket__sql_text(k, c->q.message.run);
    hocket__sql_text(k, m->id);
    hocket__sql_text(k, m->json);
    hocket__sql_int(k, m->at_ms);
    if (hocket__sql_number(k, &rc) == 1)
        c->status = 0;
    return rc;
}

int hocket__sql_message(struct hocket__keeper *k, struct hocket__store_call *c)
{
    int rc = k->sql->change(k, c, put_message);
    k->hint |= rc == 0 && c->status == 0;
    return rc == 0 && k->again && c->status == HOCKET_EEXIST ? is_same(k, c) : rc;
}
