/* Runs: one of them, lists, who has it, and an end to one. */
#include "store/sql/sql.h"
#include "store/sum.h"
#include "store/texts.h"

#include <limits.h>

/* ---- Rows ------------------------------------------------------------------------------------- */

static void copy_id(struct hocket__str from, char to[HOCKET__STORE_ID + 1])
{
    if (from.n == HOCKET__STORE_ID)
        memcpy(to, from.p, from.n);
}

/* One that was removed still says what it was called. */
static void copy_parent(struct hocket__str from, char to[HOCKET__STORE_ID + 1])
{
    size_t skip = sizeof(HOCKET__REMOVED) - 1;
    if (from.n > skip + HOCKET__STORE_ID && memcmp(from.p, HOCKET__REMOVED, skip) == 0)
        from = hocket__str(from.p + skip, HOCKET__STORE_ID);
    copy_id(from, to);
}

static void copy_seed(struct hocket__str from, uint8_t to[HOCKET__STORE_SEED])
{
    if (from.n == HOCKET__STORE_SEED)
        memcpy(to, from.p, from.n);
}

static enum hocket__store_state state_of(struct hocket__str word)
{
    enum hocket__store_state state = hocket__store_state_of(word);
    return state == HOCKET__STORE_STATE_COUNT ? HOCKET__STORE_FAILED : state;
}

/* What the row says of an owner counts where there is one. */
#define READ(KIND, member, column, ...) READ_##KIND(r->member, HOCKET__COLUMN_##column);
#define READ_ID(v, i)                   copy_id(hocket__sql_text_of(w, i), v)
#define READ_ID_OR_NULL(v, i)           READ_ID(v, i)
#define READ_PARENT(v, i)               copy_parent(hocket__sql_text_of(w, i), v)
#define READ_NUM(v, i)                  v = (uint64_t) hocket__sql_int_of(w, i)
#define READ_INT(v, i)                  v = hocket__sql_int_of(w, i)
#define READ_COUNT(v, i)                v = hocket__sql_count_of(w, i)
#define READ_SMALL(v, i)                v = (uint32_t) hocket__sql_int_of(w, i)
#define READ_FLAG(v, i)                 v = hocket__sql_int_of(w, i) != 0
#define READ_TEXT(v, i)                 v = hocket__sql_text_of(w, i)
#define READ_LONG(v, i)                 READ_TEXT(v, i)
#define READ_TEXT_OR_NULL(v, i)         READ_TEXT(v, i)
#define READ_SEED(v, i)                 copy_seed(hocket__sql_bytes_of(w, i), v)
#define READ_STATE(v, i)                v = state_of(hocket__sql_text_of(w, i))
#define READ_OWNER_INT(v, i)            v = r->owner.pid ? hocket__sql_int_of(w, i) : 0
#define READ_OWNER_TEXT(v, i)           v = r->owner.pid ? hocket__sql_text_of(w, i) : HOCKET__STR("")

void hocket__sql_read_run(struct hocket__writer *w, struct hocket__store_run *r)
{
    HOCKET__RUN_COLUMNS(HOCKET__RUN_MEMBER, READ)
}

/* A state is a word: what is none was altered. */
bool hocket__sql_is_altered_run(struct hocket__writer *w, const struct hocket__store_run *r)
{
    int64_t mask, sum = hocket__store_sum_set(r, UINT_MAX, &mask);
    return hocket__store_state_of(hocket__sql_text_of(w, HOCKET__COLUMN_state))
               == HOCKET__STORE_STATE_COUNT
           || hocket__sql_is_altered(w, HOCKET__COLUMN_sum, hocket__store_sum_run(r))
           || hocket__sql_is_altered(w, HOCKET__COLUMN_sum_set, sum);
}

/* Packs the run of this row; HOCKET_ENOMEM where it does not fit. */
static void give_run(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    hocket__sql_read_run(w, &row.run);
    hocket__store_pack(&c->rows, &row);
}

/* Whether whoever has the run of this row has it still. */
static bool is_held(struct hocket__writer *w)
{
    int64_t pid = hocket__sql_int_of(w, HOCKET__COLUMN_owner_pid);
    return pid != 0 && hocket__sql_int_of(w, HOCKET__COLUMN_lease_ms) >= w->ops->now(w)
           && !hocket__self_knows_ended(&w->self,
               hocket__sql_text_of(w, HOCKET__COLUMN_owner_place), pid,
               hocket__sql_int_of(w, HOCKET__COLUMN_owner_start));
}

int64_t hocket__sql_run_no(struct hocket__writer *w, struct hocket__str id, int *rc)
{
    hocket__sql_new(w, HOCKET__SQL_RUN_NO);
    hocket__sql_text(w, id);
    return hocket__sql_number(w, rc);
}

/* ---- Lists ------------------------------------------------------------------------------------ */

/* Who had it and has ended has it no more, whatever the row says. */
static void give_known(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    hocket__sql_read_run(w, &row.run);
    if (row.run.owner.pid != 0 && !is_held(w))
        row.run.owner = (struct hocket__store_owner){ 0 };
    hocket__store_pack(&c->rows, &row);
    copy_id(hocket__cstr(row.run.id), c->place.before);
}

/* Of a row that is not what was written an answer has only what names it. One whose id was altered has no name. */
static void give_damaged(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_DAMAGED };
    struct hocket__str id = hocket__sql_text_of(w, HOCKET__COLUMN_id);
    copy_id(id, row.run.id);
    copy_id(id, c->place.before);
    row.run.created_ms = hocket__sql_int_of(w, HOCKET__COLUMN_created_ms);
    if (hocket__store_is_id(id))
        hocket__store_pack(&c->rows, &row);
}

static bool is_damaged(struct hocket__writer *w)
{
    struct hocket__store_run run = { .seed = { 0 } };
    hocket__sql_read_run(w, &run);
    return hocket__sql_is_altered_run(w, &run);
}

static void give_listed(struct hocket__writer *w, struct hocket__store_call *c)
{
    if (is_damaged(w))
        give_damaged(w, c);
    else
        give_known(w, c);
}

/* A row that is not what was written is no answer. */
static void refuse_altered(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_run run = { .seed = { 0 } };
    hocket__sql_read_run(w, &run);
    if (hocket__sql_is_altered_run(w, &run))
        c->status = hocket__store_altered(c, NULL, 0, hocket__cstr(run.id));
}

/* Ids are of digits and capitals: what begins with a prefix lies before the prefix and a tilde. */
int hocket__sql_find(struct hocket__writer *w, struct hocket__store_call *c)
{
    char ids[2][HOCKET__STORE_ID + 1] = { "", "" };
    int n = 0, rc;
    hocket__sql_new(w, HOCKET__SQL_FIND);
    hocket__sql_text(w, c->q.find.prefix);
    for (; (rc = hocket__sql_step(w)) == 1; n++) {
        if (n == 0)
            give_known(w, c);
        if (n == 0)
            refuse_altered(w, c);
        copy_id(hocket__sql_text_of(w, HOCKET__COLUMN_id), ids[n]);
    }
    if (rc == 0 && n == 0)
        c->status = hocket__store_not_found(c, c->q.find.prefix);
    if (rc < 0 || n < 2)
        return rc;
    hocket__buf_reset(&c->rows);
    c->status = hocket__store_ambiguous(c, ids[0], ids[1]);
    return 0;
}

/* The states as a text in which their words are found. */
static void add_states(struct hocket__writer *w, unsigned states, char *words)
{
    words[0] = 0;
    for (int s = 0; s < HOCKET__STORE_STATE_COUNT; s++)
        if (states == 0 || (states >> s & 1))
            strcat(strcat(words, " "), hocket__store_state_word((enum hocket__store_state) s));
    strcat(words, " ");
    hocket__sql_text(w, hocket__cstr(words));
}

enum { RUNS_AT_ONCE = 100 };

int hocket__sql_list_runs(struct hocket__writer *w, struct hocket__store_call *c)
{
    const struct hocket__store_filter *f = &c->q.runs;
    char words[128];
    int64_t most = hocket__sql_most(w, c, RUNS_AT_ONCE);
    hocket__sql_new(w, f->caller.n > 0 ? HOCKET__SQL_RUNS_CALLED : HOCKET__SQL_RUNS);
    hocket__sql_text(
        w, c->place.before[0] ? hocket__cstr(c->place.before) : HOCKET__STR(HOCKET__REMOVED));
    add_states(w, f->states, words);
    hocket__sql_int(w, f->updated_before_ms);
    hocket__sql_text(w, f->parent);
    hocket__sql_text(w, f->pool);
    hocket__sql_text(w, f->project);
    hocket__sql_int(w, most);
    if (f->caller.n > 0)
        hocket__sql_text(w, f->caller);
    return hocket__sql_give(w, c, give_listed, most, HOCKET__COLUMNS);
}

int hocket__sql_blocked(struct hocket__writer *w, struct hocket__store_call *c)
{
    hocket__sql_new(w, HOCKET__SQL_BLOCKED);
    hocket__sql_int(w, (int64_t) c->q.blocked.limit);
    int rc;
    while ((rc = hocket__sql_step(w)) == 1)
        give_run(w, c);
    return rc;
}

int hocket__sql_pools(struct hocket__writer *w, struct hocket__store_call *c)
{
    int rc;
    hocket__sql_new(w, HOCKET__SQL_POOLS);
    hocket__sql_int(w, w->ops->now(w));
    while ((rc = hocket__sql_step(w)) == 1) {
        struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_POOL };
        row.pool = (struct hocket__store_pool){ .pool = hocket__sql_text_of(w, 0),
            .what = hocket__sql_text_of(w, 1),
            .host = hocket__sql_text_of(w, 2),
            .pid = hocket__sql_int_of(w, 3),
            .n = hocket__sql_int_of(w, 4),
            .since_ms = hocket__sql_int_of(w, 5) };
        hocket__store_pack(&c->rows, &row);
    }
    return rc;
}

int64_t hocket__sql_count_runs(struct hocket__writer *w, int *rc)
{
    hocket__sql_new(w, HOCKET__SQL_COUNT);
    return hocket__sql_number(w, rc);
}

/* ---- Taking one ------------------------------------------------------------------------------- */

void hocket__sql_owner(struct hocket__writer *w)
{
    int64_t now = w->ops->now(w);
    hocket__sql_int(w, w->self.pid);
    hocket__sql_text(w, hocket__cstr(w->self.host));
    hocket__sql_text(w, hocket__cstr(w->self.place));
    hocket__sql_int(w, w->self.start);
    hocket__sql_int(w, w->self.store);
    hocket__sql_int(w, now);
    hocket__sql_int(w, now + w->o.lease_ms);
}

static int claim(struct hocket__writer *w, int64_t no)
{
    hocket__sql_new(w, HOCKET__SQL_TAKE);
    hocket__sql_int(w, no);
    hocket__sql_owner(w);
    return hocket__sql_run(w);
}

/* As it is now. */
static int give_taken(struct hocket__writer *w, struct hocket__store_call *c, int64_t no, bool held)
{
    hocket__sql_new(w, HOCKET__SQL_TAKEN);
    hocket__sql_int(w, no);
    int rc = hocket__sql_step(w);
    if (rc != 1)
        return rc;
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    hocket__sql_read_run(w, &row.run);
    hocket__store_pack(&c->rows, &row);
    if (held)
        c->status = hocket__store_already_claimed(c, &row.run.owner);
    hocket__sql_done(w);
    return 0;
}

/* What is found, and locked: its number; 0: it is not there, and that is said. */
static int64_t find_one(struct hocket__writer *w, struct hocket__store_call *c, int *rc)
{
    hocket__sql_new(w, HOCKET__SQL_RUN_OF);
    hocket__sql_text(w, c->q.run.id);
    *rc = hocket__sql_step(w);
    if (*rc == 0)
        c->status = hocket__store_not_found(c, c->q.run.id);
    return *rc == 1 ? hocket__sql_int_of(w, HOCKET__COLUMN_no) : 0;
}

static int take(
    struct hocket__writer *w, struct hocket__store_call *call, const struct hocket__claimed *c)
{
    int rc;
    int64_t no = find_one(w, call, &rc);
    if (!no)
        return rc;
    refuse_altered(w, call);
    bool held = hocket__claims_is_ours(c) || is_held(w);
    bool owned = hocket__sql_int_of(w, HOCKET__COLUMN_owner_pid) != 0;
    if (w->sql->is_lost && w->sql->is_lost(w, c))
        held = false;
    hocket__sql_done(w);
    if (call->status < 0)
        return 0;
    rc = !held && owned && w->sql->recover ? w->sql->recover(w, c->id) : 0;
    if (!held && rc >= 0)
        rc = claim(w, no);
    return rc < 0 ? rc : give_taken(w, call, no, held);
}

int hocket__sql_take(struct hocket__writer *w, struct hocket__store_call *call)
{
    char id[HOCKET__STORE_ID + 1] = "";
    copy_id(call->q.run.id, id);
    int rc = hocket__leases_renew(w);
    if (rc < 0)
        return rc;
    struct hocket__claimed *c = hocket__claims_need(w, id);
    if (!c)
        return hocket__error_nomem(w->error);
    rc = w->sql->begin(w);
    if (rc == 0)
        rc = take(w, call, c);
    rc = w->sql->end(w, rc);
    hocket__claims_taken(w, c, rc < 0 ? 0 : hocket__claims_fence_of(call));
    return rc;
}

/* ---- Removing one ----------------------------------------------------------------------------- */

static int check_calls(struct hocket__writer *w, struct hocket__store_call *c, int64_t no)
{
    hocket__sql_new(w, HOCKET__SQL_CALLS);
    hocket__sql_int(w, no);
    int rc = hocket__sql_step(w);
    if (rc != 1)
        return rc;
    c->status = hocket__store_has_calls(c, hocket__sql_text_of(w, 0), hocket__sql_text_of(w, 1));
    hocket__sql_done(w);
    return 0;
}

/* Asked again it may be gone by what was asked first. */
static int remove_one(struct hocket__writer *w, struct hocket__store_call *c)
{
    int rc;
    int64_t no = find_one(w, c, &rc);
    if (!no) {
        c->status = w->again ? 0 : c->status;
        return rc;
    }
    struct hocket__store_run run = { .seed = { 0 } };
    hocket__sql_read_run(w, &run);
    if (is_held(w))
        c->status = hocket__store_already_claimed(c, &run.owner);
    hocket__sql_done(w);
    rc = c->status == 0 ? check_calls(w, c, no) : 0;
    return rc < 0 || c->status < 0 ? rc : hocket__sql_remove_run(w, no, true);
}

int hocket__sql_remove(struct hocket__writer *w, struct hocket__store_call *c)
{
    int rc = w->sql->begin(w);
    if (rc == 0)
        rc = remove_one(w, c);
    return w->sql->end(w, rc);
}
