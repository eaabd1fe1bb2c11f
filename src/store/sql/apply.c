/* Commands as statements. What is said of a run's own row is gathered, and is one statement for each run at the end of a transaction: a
 * row that is changed three times would be three rows to PostgreSQL, and three changes of its indexes to SQLite.
 *
 * Commands that make no sense (a gap, a run that somebody else has) refuse their run: what others handed over in the same batch is
 * written. */
#include "store/sql/sql.h"
#include "store/sum.h"

#include "base/hash/hash.h"

#include <limits.h>

#define OWN_TEXT (16 * 1024) /* bytes; longer values stand in texts, once */
#define LAST_KEY UINT64_C(0xFFFFFFFF)
#define GROWS_MS 1000 /* how exact updated_ms is while a run only grows */

static int refuse(struct hocket__writer *w, struct hocket__claimed *c,
    enum hocket__store_command_kind kind, int status)
{
    hocket__writer_refuse(w, c, kind, status);
    return 0;
}

/* ---- What belongs to runs --------------------------------------------------------------------- */

/* Prompts and files come again and again, in thousands of runs: each text once. */
static int send_text(
    struct hocket__writer *w, struct hocket__str text, uint8_t digest[HOCKET__SHA256])
{
    hocket__sha256(text, digest);
    hocket__sql_new(w, HOCKET__SQL_TEXT);
    hocket__sql_bytes(w, hocket__str((const char *) digest, HOCKET__SHA256));
    hocket__sql_bytes(w, text);
    return hocket__sql_send(w);
}

static void add_entry(
    struct hocket__writer *w, const struct hocket__claimed *c, const struct hocket__store_entry *e)
{
    hocket__sql_int(w, c->no);
    hocket__sql_int(w, (int64_t) e->n);
    hocket__sql_int(w, (int64_t) e->tick);
    hocket__sql_int(w, e->at_ms);
    hocket__sql_int(w, e->kind);
    hocket__sql_int(w, (int64_t) e->path);
    hocket__sql_int(w, e->ord);
    hocket__sql_text(w, e->name);
    hocket__sql_bytes(w, e->digest);
    hocket__sql_int(w, hocket__store_sum_entry(e));
}

/* A gap means that entries of this run were lost on the way, or that another process has written
 * meanwhile. Both end the claim: a log with a hole would be replayed as another run. */
static int append(
    struct hocket__writer *w, struct hocket__claimed *c, const struct hocket__store_entry *e)
{
    uint8_t digest[HOCKET__SHA256];
    if (e->n != c->last_n + 1 || e->n > LAST_KEY)
        return refuse(w, c, HOCKET__STORE_APPEND, e->n > LAST_KEY ? HOCKET_ELIMIT : HOCKET_EINVAL);
    bool is_long = e->value.n >= OWN_TEXT;
    int rc = is_long ? send_text(w, e->value, digest) : 0;
    if (rc < 0)
        return rc;
    c->last_n = e->n;
    hocket__sql_new(w, is_long ? HOCKET__SQL_APPEND_TEXT : HOCKET__SQL_APPEND);
    add_entry(w, c, e);
    if (is_long)
        hocket__sql_bytes(w, hocket__str((const char *) digest, sizeof(digest)));
    else
        hocket__sql_text(w, e->value);
    return hocket__sql_send(w);
}

/* The replay of a resumed run emits its records again; existing ones are ignored. */
static int record(
    struct hocket__writer *w, struct hocket__claimed *c, const struct hocket__store_record *r)
{
    if (r->seq <= c->last_seq)
        return 0;
    if (r->seq > LAST_KEY)
        return refuse(w, c, HOCKET__STORE_RECORD, HOCKET_ELIMIT);
    c->last_seq = r->seq;
    hocket__sql_new(w, HOCKET__SQL_RECORD);
    hocket__sql_int(w, c->no);
    hocket__sql_int(w, (int64_t) r->seq);
    hocket__sql_text(w, r->json);
    hocket__sql_int(w, hocket__store_sum_record(r));
    return hocket__sql_send(w);
}

/* Files are named by the hash of their generation: what is there is the same. */
int hocket__sql_put_file(struct hocket__writer *w, const struct hocket__store_file *f)
{
    uint8_t digest[HOCKET__SHA256];
    int rc = w->sql->begin_file(w, f);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    rc = send_text(w, f->text, digest);
    if (rc < 0)
        return rc;
    hocket__sql_new(w, HOCKET__SQL_FILE);
    hocket__sql_text(w, f->generation);
    hocket__sql_text(w, f->path);
    hocket__sql_text(w, f->hash);
    hocket__sql_bytes(w, hocket__str((const char *) digest, sizeof(digest)));
    return hocket__sql_send(w);
}

static void add_message(struct hocket__writer *w, unsigned statement, int64_t run,
    const struct hocket__store_message *m)
{
    hocket__sql_new(w, statement);
    hocket__sql_int(w, run);
    hocket__sql_text(w, m->id);
    hocket__sql_int(w, m->at_ms);
    hocket__sql_text(w, m->json);
    hocket__sql_int(w, hocket__store_sum_message(m));
}

/* A statement that puts a message. If the message is new, it also wakes its run: by the same statement in PostgreSQL,
 * by the second one in SQLite, which knows by then whether it is new. */
static int say(struct hocket__writer *w, unsigned statement, unsigned hear, int64_t run,
    const struct hocket__store_message *m)
{
    add_message(w, statement, run, m);
    int rc = hocket__sql_send(w);
    if (rc < 0 || !w->sql->streams || w->sql->changed(w) == 0)
        return rc;
    hocket__sql_new(w, hear);
    hocket__sql_int(w, run);
    return hocket__sql_send(w);
}

/* Its id stays, so that it is not put again. */
static int message_del(struct hocket__writer *w, int64_t run, struct hocket__str id)
{
    hocket__sql_new(w, HOCKET__SQL_MESSAGE_DEL);
    hocket__sql_int(w, run);
    hocket__sql_text(w, id);
    return hocket__sql_send(w);
}

/* ---- A run's row ------------------------------------------------------------------------------ */

#define WRITE(KIND, member, ...) WRITE_##KIND(r->member);
#define WRITE_ID(v)              hocket__sql_text(w, hocket__cstr(v))
#define WRITE_ID_OR_NULL(v)      hocket__sql_text_or_null(w, hocket__cstr(v))
#define WRITE_PARENT(v)          hocket__sql_count(w, parent ? parent : -1)
#define WRITE_NUM(v)             hocket__sql_int(w, (int64_t) v)
#define WRITE_INT(v)             hocket__sql_int(w, v)
#define WRITE_FLAG(v)            hocket__sql_int(w, v)
#define WRITE_COUNT(v)           hocket__sql_count(w, v)
#define WRITE_TEXT(v)            hocket__sql_text(w, v)
#define WRITE_LONG(v)            hocket__sql_text(w, v)
#define WRITE_TEXT_OR_NULL(v)    hocket__sql_text_or_null(w, v)
#define WRITE_SEED(v)            hocket__sql_bytes(w, hocket__str((const char *) v, sizeof(v)))
#define WRITE_STATE(v)           hocket__sql_text(w, hocket__cstr(hocket__store_state_word(v)))

static int insert_run(struct hocket__writer *w, struct hocket__claimed *c,
    const struct hocket__store_run *r, int64_t parent)
{
    int64_t mask;
    c->last_n = parent ? r->at_n : 0;
    c->last_seq = parent ? r->at_seq : 0;
    c->updated_ms = w->ops->now(w);
    c->fence = 1;
    c->called = r->caller[0] != 0;
    c->writes = 0;
    hocket__sql_new(w, HOCKET__SQL_PUT);
    hocket__sql_count(w, c->no ? -c->no : -1);
    hocket__sql_int(w, c->updated_ms);
    hocket__sql_int(w, (int64_t) c->last_n);
    hocket__sql_int(w, (int64_t) c->last_seq);
    hocket__sql_owner(w);
    hocket__sql_int(w, hocket__store_sum_run(r));
    hocket__sql_int(w, hocket__store_sum_set(r, UINT_MAX, &mask));
    HOCKET__RUN_COLUMNS(HOCKET__RUN_PUT, WRITE)
    int rc = hocket__sql_send(w);
    c->no = w->sql->inserted(w, c);
    return rc;
}

/* An id that is there is a run that was put twice, by two programs that restored the same export:
 * the second is refused. */
static int put_run(struct hocket__writer *w, struct hocket__claimed *c,
    const struct hocket__store_run *r, bool alone)
{
    int64_t parent = 0;
    int rc = w->sql->number(w, c, r, alone, &parent);
    if (rc < 0)
        return rc;
    if (c->no > 0)
        return refuse(w, c, HOCKET__STORE_PUT, HOCKET_EEXIST);
    if (r->parent[0] && !parent)
        return refuse(w, c, HOCKET__STORE_PUT, HOCKET_ENOTFOUND);
    if (r->at_n > LAST_KEY || r->at_seq > LAST_KEY)
        return refuse(w, c, HOCKET__STORE_PUT, HOCKET_ELIMIT);
    return insert_run(w, c, r, parent);
}

/* The texts lie in what was handed over, for as long as the transaction is made. The caller receives one message about
 * the end, however often this is reported. */
static int update(
    struct hocket__writer *w, struct hocket__claimed *c, const struct hocket__store_command *u)
{
    const struct hocket__store_run *r = &u->row.run;
    char texts[HOCKET__STORE_ENDED];
    hocket__store_merge(&c->change, u->set, r);
    c->set |= u->set;
    if (!c->called || !(u->set & HOCKET__STORE_SET_STATE) || !hocket__store_has_ended(r->state))
        return 0;
    struct hocket__store_message m = hocket__store_ended(c->id, r->state, w->ops->now(w), texts);
    return say(w, HOCKET__SQL_ENDED, HOCKET__SQL_HEAR_CALLER, c->no, &m);
}

/* Only the owner goes. The fence stays, so that a late write of this claim finds that it has been released. */
static int let_go(struct hocket__writer *w, int64_t no)
{
    hocket__sql_new(w, HOCKET__SQL_LET_GO);
    hocket__sql_int(w, no);
    return hocket__sql_send(w);
}

/* Whether the run may have received a message meanwhile and must be queued: checked when its state is written. */
static bool may_be_spoken(const struct hocket__claimed *c)
{
    return !(c->set & HOCKET__STORE_SET_STATE) || c->change.state == HOCKET__STORE_WAITING
           || c->change.state == HOCKET__STORE_PARKED;
}

/* By which claim it is written, and which write of it this is: where that may have been lost meanwhile. */
static void add_claim(struct hocket__writer *w, const struct hocket__claimed *c)
{
    hocket__sql_int(w, c->no);
    if (w->sql->streams)
        return;
    hocket__sql_int(w, (int64_t) c->fence);
    hocket__sql_int(w, w->self.pid);
    hocket__sql_int(w, w->self.store);
    hocket__sql_int(w, c->writes);
}

/* What is not set keeps its value: those of before are in texts that are gone. */
#define WRITE_SET(KIND, member, column, SET)                                                       \
    if (c->set & HOCKET__STORE_SET_##SET)                                                          \
        WRITE_##KIND(r->member);                                                                   \
    else                                                                                           \
        w->sql->put_null(w, IS_NUMBER_##KIND);
#define IS_NUMBER_STATE        false
#define IS_NUMBER_TEXT_OR_NULL false
#define IS_NUMBER_LONG         false
#define IS_NUMBER_COUNT        true
#define IS_NUMBER_FLAG         true
#define IS_NUMBER_INT          true

static void add_change(struct hocket__writer *w, const struct hocket__claimed *c, bool goes)
{
    const struct hocket__store_run *r = &c->change;
    int64_t mask, sum = hocket__store_sum_set(r, c->set, &mask);
    hocket__sql_int(w, goes);
    hocket__sql_int(w, mask);
    hocket__sql_int(w, sum);
    HOCKET__RUN_COLUMNS(HOCKET__RUN_UPDATE, WRITE_SET)
}

/* Its last numbers and the time, and what was said of it. */
static int change_run(struct hocket__writer *w, struct hocket__claimed *c, int64_t now)
{
    bool grown = !c->changed && now >= c->updated_ms && now - c->updated_ms < GROWS_MS;
    bool goes = c->released && !may_be_spoken(c), says = !grown && (c->set || goes);
    hocket__sql_new(w, says ? HOCKET__SQL_CHANGE : grown ? HOCKET__SQL_GROW : HOCKET__SQL_TOUCH);
    if (says)
        hocket__sql_int(w, c->set);
    hocket__sql_int(w, (int64_t) c->last_n);
    hocket__sql_int(w, (int64_t) c->last_seq);
    if (!grown)
        hocket__sql_int(w, c->updated_ms = now);
    if (says)
        add_change(w, c, goes);
    add_claim(w, c);
    int rc = hocket__sql_send(w);
    return rc == 0 && c->released && !goes ? let_go(w, c->no) : rc;
}

/* ---- Commands --------------------------------------------------------------------------------- */

/* `dirty`: its row is written once at the end. */
static int write_to(
    struct hocket__writer *w, struct hocket__claimed *c, const struct hocket__store_command *cmd)
{
    c->dirty = true;
    c->changed |= cmd->kind != HOCKET__STORE_APPEND && cmd->kind != HOCKET__STORE_RECORD;
    switch (cmd->kind) {
    case HOCKET__STORE_UPDATE: return update(w, c, cmd);
    case HOCKET__STORE_APPEND: return append(w, c, &cmd->row.entry);
    case HOCKET__STORE_RECORD: return record(w, c, &cmd->row.record);
    case HOCKET__STORE_MESSAGE_PUT:
        return say(w, HOCKET__SQL_SAY, HOCKET__SQL_HEAR, c->no, &cmd->row.message);
    case HOCKET__STORE_MESSAGE_DEL: return message_del(w, c->no, cmd->message_id);
    case HOCKET__STORE_RELEASE: c->released = true; return 0;
    default: return 0;
    }
}

int hocket__sql_apply(
    struct hocket__writer *w, struct hocket__claimed *c, const struct hocket__store_command *cmd)
{
    if (hocket__writer_passes(w, c, cmd))
        return 0;
    hocket__writer_note(w, c, cmd);
    if (cmd->kind == HOCKET__STORE_PUT)
        return put_run(w, c, &cmd->row.run, false);
    if (c->no <= 0)
        return refuse(w, c, cmd->kind, HOCKET_ENOTFOUND);
    if (cmd->fence < c->lost_below)
        return 0;
    if (c->released || c->fence != cmd->fence)
        return refuse(w, c, cmd->kind, HOCKET_ESTATE);
    return write_to(w, c, cmd);
}

/* Once for each run of a transaction, whatever was said of it. */
int hocket__sql_apply_rows(struct hocket__writer *w)
{
    int64_t now = w->ops->now(w);
    int rc = 0;
    for (struct hocket__list *l = w->touched.next; rc == 0 && l != &w->touched; l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, touched);
        if (c->dirty)
            rc = change_run(w, c, now);
    }
    return rc;
}

/* ---- What comes with questions ---------------------------------------------------------------- */

/* A run that nobody has is put and let go of; what it is refused for is not told of a claim. */
static int put_free(struct hocket__writer *w, const struct hocket__store_run *run, int *status)
{
    struct hocket__claimed c = { .no = 0 };
    bool refusals = w->has_refusals;
    int rc = put_run(w, &c, run, true);
    w->has_refusals = refusals;
    *status = c.refusal;
    return rc < 0 || c.refusal ? rc : let_go(w, c.no);
}

int hocket__sql_put_bundle(
    struct hocket__writer *w, const struct hocket__store_call *c, int *status)
{
    struct hocket__str in = hocket__store_bundle(c);
    struct hocket__store_row row;
    int rc = *status = 0;
    if (in.n == 0)
        return 0;
    while (rc == 0 && *status == 0 && hocket__store_unpack(&in, &row) == 1)
        rc = row.kind == HOCKET__STORE_ROW_RUN ? put_free(w, &row.run, status)
                                               : hocket__sql_put_file(w, &row.file);
    int flushed = w->sql->flush(w);
    return rc < 0 ? rc : flushed;
}

/* Asked again it may be there by what was asked first. */
static int submit(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_row row;
    int status = 0;
    int rc = w->again && hocket__store_bundle_run(c, &row) ? w->sql->is_put(w, &row.run) : 0;
    if (rc == 0)
        rc = hocket__sql_put_bundle(w, c, &status);
    if (rc == 0 && status < 0)
        c->status = hocket__store_not_put(c, status);
    return rc < 0 ? rc : 0;
}

int hocket__sql_submit(struct hocket__writer *w, struct hocket__store_call *c)
{
    int rc = w->sql->change(w, c, submit);
    w->hint |= rc == 0 && c->status == 0;
    return rc;
}

/* In PostgreSQL the run's row is changed, and so locked, first, also where the run hears nothing: whoever lets go of the run meanwhile
 * would not see the message, and this not that it was let go of. A message that is there already wakes nobody: that is taken back. */
static int put_message(struct hocket__writer *w, struct hocket__store_call *c)
{
    int rc;
    hocket__sql_new(w, HOCKET__SQL_SPEAK);
    hocket__sql_text(w, c->q.message.run);
    int64_t run = hocket__sql_number(w, &rc);
    if (rc == 0 && !run)
        c->status = hocket__store_not_found(c, c->q.message.run);
    if (rc < 0 || !run)
        return rc;
    add_message(w, HOCKET__SQL_MESSAGE, run, &c->q.message.said);
    rc = hocket__sql_run(w);
    if (rc == 0 && w->sql->changed(w) == 0)
        c->status = hocket__store_has_message(c);
    if (rc < 0 || c->status < 0 || !w->sql->streams)
        return rc;
    hocket__sql_new(w, HOCKET__SQL_HEAR);
    hocket__sql_int(w, run);
    return hocket__sql_run(w);
}

/* An existing run that this very call has put, and whose answer was lost, is a success. */
static int is_same(struct hocket__writer *w, struct hocket__store_call *c)
{
    const struct hocket__store_message *m = &c->q.message.said;
    int rc;
    hocket__sql_new(w, HOCKET__SQL_MESSAGE_SAME);
    hocket__sql_text(w, c->q.message.run);
    hocket__sql_text(w, m->id);
    hocket__sql_text(w, m->json);
    hocket__sql_int(w, m->at_ms);
    if (hocket__sql_number(w, &rc) == 1)
        c->status = 0;
    return rc;
}

int hocket__sql_message(struct hocket__writer *w, struct hocket__store_call *c)
{
    int rc = w->sql->change(w, c, put_message);
    w->hint |= rc == 0 && c->status == 0;
    return rc == 0 && w->again && c->status == HOCKET_EEXIST ? is_same(w, c) : rc;
}
