/* Transactions: each writes everything at hand, in one of two ways.
 *
 *   known   rows that are written                      ──>   done               one round trip: a pipeline is a transaction
 *   read    BEGIN, the rows of its runs FOR UPDATE    ──>   what they say      and a second one:
 *           rows that are written, COMMIT             ──>   done
 *
 * Runs are known from what was written or taken before; one that turns out to be another's fails the transaction (apply.c),
 * and all is read. Commands that make no sense refuse their run, and no other's.
 *
 * A transaction whose answer never came may be there or not. Its rows tell (settle): each transaction of a claim raises
 * a counter in the rows that it changes, and a new run has a unique seed. We read them under a lock. A transaction
 * still on its way then comes too late, since its counter starts from the write before. Transaction numbers would not
 * tell: a server that crashed, or took over, may issue unknown ones again. */
#include "store/postgres/postgres_impl.h"

#define CLOCK_MS 1000 /* by which clocks may differ */

/* ---- What the rows say -------------------------------------------------------------------------- */

/* `seed`: of a new run; else empty. */
static int send_load(struct hocket__writer *w, struct hocket__claimed *c, struct hocket__str seed)
{
    hocket__sql_new(w, PG_LOAD);
    hocket__sql_text(w, hocket__cstr(c->id));
    hocket__sql_int(w, w->self.store);
    hocket__sql_int(w, w->self.pid);
    hocket__sql_bytes(w, seed);
    return hocket__sql_send(w);
}

static int send_number(struct hocket__writer *w, const struct hocket__store_run *r)
{
    hocket__sql_new(w, PG_NUMBER);
    hocket__sql_text(w, hocket__cstr(r->parent));
    return hocket__sql_send(w);
}

static struct hocket__str seed_of(const struct hocket__store_run *r)
{
    return hocket__str((const char *) r->seed, sizeof(r->seed));
}

/* All runs that the commands are of, in `touched`, and what is asked of each. */
static int gather(struct hocket__pg_writer *w, struct hocket__str work)
{
    struct hocket__store_command cmd;
    int rc = 0;
    while (rc == 0 && hocket__store_command_next(&work, &cmd)) {
        if (cmd.kind == HOCKET__STORE_FILE)
            continue;
        struct hocket__claimed *c = hocket__claims_need(&w->base, cmd.id);
        if (!c)
            return hocket__error_nomem(&w->db.error);
        if (!hocket__writer_touch(&w->base, c))
            continue;
        c->is_new = cmd.kind == HOCKET__STORE_PUT;
        rc = send_load(&w->base, c, c->is_new ? seed_of(&cmd.row.run) : HOCKET__STR(""));
        if (rc == 0 && c->is_new)
            rc = send_number(&w->base, &cmd.row.run);
    }
    return rc;
}

static int read_row(struct hocket__pg_writer *w, struct hocket__claimed *c)
{
    struct hocket__pg *d = &w->db;
    int rc = hocket__pg_next(d);
    if (rc < 0) /* what is known of it stays: it would be taken for one that nobody has */
        return rc;
    bool there = hocket__pg_rows(d) == 1;
    c->no = there ? hocket__pg_int_of(d, 0, 0) : 0;
    c->fence = there ? (uint64_t) hocket__pg_int_of(d, 0, 1) : 0;
    c->last_n = there ? (uint64_t) hocket__pg_int_of(d, 0, 2) : 0;
    c->last_seq = there ? (uint64_t) hocket__pg_int_of(d, 0, 3) : 0;
    c->updated_ms = there ? hocket__pg_int_of(d, 0, 4) : 0;
    c->called = there && hocket__pg_int_of(d, 0, 5) != 0;
    c->writes = there ? hocket__pg_int_of(d, 0, 6) : 0;
    c->is_put = there && c->is_new && hocket__pg_int_of(d, 0, 7) != 0;
    if (!c->is_new)
        return 0;
    rc = hocket__pg_next(d);
    if (rc < 0)
        return rc;
    if (there) /* a run of this id: another one than is to be put */
        return 0;
    c->no = -hocket__pg_int_of(d, 0, 0); /* not there yet */
    c->parent = hocket__pg_int_of(d, 0, 1);
    return 0;
}

static int read_rows(struct hocket__pg_writer *w, bool begun)
{
    int rc = begun ? 0 : hocket__pg_next(&w->db);
    for (struct hocket__list *l = w->base.touched.next; rc == 0 && l != &w->base.touched;
         l = l->next)
        rc = read_row(w, hocket__container_of(l, struct hocket__claimed, touched));
    return rc;
}

/* `begun`: in the transaction that there is. */
static int load(struct hocket__pg_writer *w, struct hocket__str work, bool begun)
{
    struct hocket__pg *d = &w->db;
    hocket__sql_new(&w->base, PG_BEGIN);
    int rc = begun ? 0 : hocket__sql_send(&w->base);
    if (rc == 0)
        rc = gather(w, work);
    if (rc == 0)
        rc = hocket__pg_sync(d);
    if (rc == 0)
        rc = read_rows(w, begun);
    return rc < 0 ? hocket__pg_give_up(d) : hocket__pg_end(d);
}

/* ---- Writing ------------------------------------------------------------------------------------------- */

/* When a run is due whoever has it says by the clock of his machine, and the server finds it by its own. */
static void set_clock(const struct hocket__pg_writer *w, struct hocket__store_command *cmd)
{
    int64_t *due = &cmd->row.run.due_ms;
    if (cmd->kind != HOCKET__STORE_UPDATE || !(cmd->set & HOCKET__STORE_SET_QUEUE) || *due <= 0)
        return;
    int64_t wrong = hocket__store_wall_ms(&w->base.o) - hocket__pg_now(w);
    if (wrong >= CLOCK_MS || wrong <= -CLOCK_MS)
        *due = *due > wrong ? *due - wrong : 1;
}

static int apply_all(struct hocket__pg_writer *w, struct hocket__str work, bool begun)
{
    struct hocket__store_command cmd;
    int rc = 0;
    while (rc == 0 && hocket__store_command_next(&work, &cmd)) {
        set_clock(w, &cmd);
        rc = cmd.kind == HOCKET__STORE_FILE
                 ? hocket__sql_put_file(&w->base, &cmd.row.file)
                 : hocket__sql_apply(&w->base, hocket__claims_get(&w->base, cmd.id), &cmd);
    }
    if (rc == 0)
        rc = hocket__sql_apply_rows(&w->base);
    hocket__sql_new(&w->base, PG_COMMIT);
    if (rc == 0 && begun)
        rc = hocket__sql_send(&w->base);
    if (rc == 0)
        rc = hocket__pg_sync(&w->db);
    return rc < 0 ? rc : hocket__pg_end(&w->db);
}

/* What was sent of a transaction that cannot go on is thrown away with its connection. */
static int abandon(struct hocket__pg_writer *w, int rc, bool begun)
{
    if (w->db.sent.len > 0)
        w->db.lost = true;
    return w->db.lost || !begun ? rc : hocket__pg_finish(&w->db, rc);
}

/* What is known of the runs of a transaction when it is there. */
static void remember(struct hocket__pg_writer *w, bool written)
{
    for (struct hocket__list *l = w->base.touched.next; l != &w->base.touched; l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, touched);
        c->writes += written && c->dirty;
        c->known = written && c->no > 0 && c->fence && !c->refusal && !c->released;
    }
}

/* And when nobody knows. */
static void doubt(struct hocket__pg_writer *w)
{
    w->doubt = true;
    for (struct hocket__list *l = w->base.touched.next; l != &w->base.touched; l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, touched);
        c->doubt.fence = c->dirty ? c->fence : 0;
        c->doubt.writes = c->writes + 1;
        c->doubt.is_new = c->is_new && (!c->refusal || c->refused_kind != HOCKET__STORE_PUT);
        c->doubt.released = c->released;
        c->doubt.refusal = c->refusal;
        c->doubt.refused_kind = c->refused_kind;
    }
}

/* What fails and is not lost is not there. */
static int write_rows(struct hocket__pg_writer *w, struct hocket__str work, bool begun)
{
    int rc = apply_all(w, work, begun);
    if (rc < 0)
        rc = abandon(w, rc, begun);
    if (rc < 0 && w->db.lost)
        doubt(w);
    remember(w, rc == 0);
    return rc;
}

/* Also a batch of no runs at all. */
static bool is_known(struct hocket__pg_writer *w, struct hocket__str work)
{
    struct hocket__store_command cmd;
    while (hocket__store_command_next(&work, &cmd)) {
        if (cmd.kind == HOCKET__STORE_FILE)
            continue;
        struct hocket__claimed *c = hocket__claims_get(&w->base, cmd.id);
        if (cmd.kind == HOCKET__STORE_PUT || !c || !c->known || c->refusal)
            return false;
    }
    return true;
}

static int write_known(struct hocket__pg_writer *w, struct hocket__str work)
{
    struct hocket__store_command cmd;
    hocket__writer_begun(&w->base);
    for (struct hocket__str rest = work; hocket__store_command_next(&rest, &cmd);)
        if (cmd.kind != HOCKET__STORE_FILE)
            hocket__writer_touch(&w->base, hocket__claims_get(&w->base, cmd.id));
    return write_rows(w, work, false);
}

/* What nobody knew of was not there when it was asked for, and is now: it is to be asked for again. */
static int check_late(struct hocket__pg_writer *w)
{
    for (struct hocket__list *l = w->base.touched.next; l != &w->base.touched; l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, touched);
        if (!c->is_put || !c->doubt.is_new)
            continue;
        hocket__error(&w->db.error, HOCKET_EIO, "what was written before has come late");
        w->db.error.retryable = true;
        return HOCKET_EIO;
    }
    return 0;
}

/* `begun`: continues the transaction that asked about the write with the unknown outcome. */
static int write_read(struct hocket__pg_writer *w, struct hocket__str work, bool begun)
{
    hocket__writer_begun(&w->base);
    int rc = load(w, work, begun);
    if (rc == 0 && begun)
        rc = check_late(w);
    return rc == 0 ? write_rows(w, work, true) : abandon(w, rc, true);
}

/* ---- What nobody knows --------------------------------------------------------------------------------- */

int hocket__pg_is_put(struct hocket__writer *w, const struct hocket__store_run *r)
{
    int rc;
    hocket__sql_new(w, PG_IS_PUT);
    hocket__sql_text(w, hocket__cstr(r->id));
    hocket__sql_bytes(w, seed_of(r));
    hocket__sql_int(w, hocket__pg_of(w)->asked_ms - CLOCK_MS);
    int64_t there = hocket__sql_number(w, &rc);
    return rc < 0 ? rc : there != 0;
}

/* Whether the transaction has changed this run's row. If it released the run, and another process has it already, the
 * outcome is unknown, and the claim is refused as lost. */
static int is_changed(struct hocket__writer *w, const struct hocket__claimed *c)
{
    hocket__sql_new(w, PG_IS_CHANGED);
    hocket__sql_text(w, hocket__cstr(c->id));
    int rc = hocket__sql_step(w);
    return rc == 1 ? hocket__sql_int_of(w, 0) == (int64_t) c->doubt.fence
                         && hocket__sql_int_of(w, 1) == c->doubt.writes
                   : rc;
}

static int is_there(struct hocket__pg_writer *w, const struct hocket__store_command *cmd)
{
    struct hocket__claimed *c =
        cmd->kind == HOCKET__STORE_FILE ? NULL : hocket__claims_get(&w->base, cmd->id);
    if (c && cmd->kind == HOCKET__STORE_PUT)
        return c->doubt.is_new ? hocket__pg_is_put(&w->base, &cmd->row.run) : 0;
    return c && c->doubt.fence ? is_changed(&w->base, c) : 0;
}

/* What was committed while nobody waited for the standby any more may not have got there. What is committed after it has,
 * once it is answered. */
int hocket__pg_until_replicated(struct hocket__writer *w)
{
    hocket__sql_new(w, PG_REPLICATED);
    return hocket__sql_run(w);
}

/* As if its answer had come. */
static void believe(struct hocket__pg_writer *w, struct hocket__str work)
{
    struct hocket__store_command cmd;
    hocket__writer_begun(&w->base);
    while (hocket__store_command_next(&work, &cmd)) {
        struct hocket__claimed *c =
            cmd.kind == HOCKET__STORE_FILE ? NULL : hocket__claims_get(&w->base, cmd.id);
        if (!c || !hocket__writer_touch(&w->base, c))
            continue;
        c->released = c->doubt.released;
        w->base.has_left |= c->released;
        if (c->doubt.refusal && !c->told)
            hocket__writer_refuse(&w->base, c, c->doubt.refused_kind, c->doubt.refusal);
    }
}

/* Whether the transaction whose answer never came is there: 1; 0: then its rows are locked, in a transaction that goes on;
 * or negative where nobody knows yet. Files alone are written again in any case, which does nothing where they are. */
static int settle(struct hocket__pg_writer *w, struct hocket__str work)
{
    struct hocket__store_command cmd;
    char last[HOCKET__STORE_ID + 1] = "";
    int rc = w->base.sql->begin(&w->base);
    for (struct hocket__str rest = work; rc == 0 && hocket__store_command_next(&rest, &cmd);) {
        if (strcmp(cmd.id, last) != 0)
            rc = is_there(w, &cmd);
        memcpy(last, cmd.id, sizeof(last));
    }
    if (rc == 0)
        return 0;
    rc = hocket__pg_finish(&w->db, rc);
    if (rc > 0 && (rc = hocket__pg_until_replicated(&w->base)) == 0) {
        believe(w, work);
        return 1;
    }
    return rc;
}

/* A role that may only look has no runs of its own. */
static int write_once(struct hocket__pg_writer *w, struct hocket__str work)
{
    int rc = hocket__pg_connect(&w->db);
    if (rc == 0 && w->db.looks_only)
        return hocket__writer_deny(&w->base, work);
    bool begun = w->doubt;
    if (rc == 0 && w->doubt)
        rc = settle(w, work);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    if (!begun && is_known(w, work)) {
        rc = write_known(w, work);
        if (rc == 0 || w->db.lost)
            return rc;
    }
    return write_read(w, work, begun);
}

/* Every commit is synced. */
int hocket__pg_write(struct hocket__writer *base, struct hocket__str work, bool sync)
{
    struct hocket__pg_writer *w = hocket__pg_of(base);
    if (work.n == 0)
        return 0;
    if (!w->doubt)
        w->asked_ms = hocket__pg_now(w);
    int rc = write_once(w, work);
    if (rc < 0)
        return rc;
    w->doubt = false;
    base->commits++;
    base->syncs += sync;
    hocket__writer_settled(base);
    return 0;
}
