/* Commands as rows: one transaction for all that is at hand.
 *
 * A transaction is all or nothing, and so is what is remembered of it: claims that it touched are
 * read from the file anew in each (put.c), so that nothing of one that failed is believed. Commands
 * that make no sense (a gap, a run that somebody else has) do not fail it: they refuse their run,
 * and what others handed over in the same batch is written. */
#include "store/sqlite/sqlite_impl.h"

int64_t hocket__sqlite_now(const struct hocket__sqlite_keeper *k)
{
    return hocket__store_wall_ms(&k->base.o);
}

int hocket__sqlite_refuse(struct hocket__sqlite_keeper *k, struct hocket__claimed *c,
    enum hocket__store_command_kind kind, int status)
{
    hocket__keeper_refuse(&k->base, c, kind, status);
    return 0;
}

static int touch(struct hocket__sqlite_keeper *k, struct hocket__claimed *c, bool is_new)
{
    return hocket__keeper_touch(&k->base, c) && !is_new ? hocket__sqlite_load_run(k, c) : 0;
}

static int say(struct hocket__sqlite_keeper *k, const struct hocket__claimed *c,
    const struct hocket__store_message *m)
{
    int rc = hocket__message_put(k, c->no, m);
    return rc == 0 && k->db.lib->changes(k->db.db) > 0 ? hocket__message_heard(k, c->no) : rc;
}

/* `dirty`: its row is written once at the end, with the last numbers and the time. */
static int write_to(struct hocket__sqlite_keeper *k, struct hocket__claimed *c,
    const struct hocket__store_command *cmd)
{
    c->dirty = true;
    c->changed |= cmd->kind != HOCKET__STORE_APPEND && cmd->kind != HOCKET__STORE_RECORD;
    switch (cmd->kind) {
    case HOCKET__STORE_UPDATE: return hocket__sqlite_update_run(k, c, cmd);
    case HOCKET__STORE_APPEND: return hocket__sqlite_append(k, c, &cmd->row.entry);
    case HOCKET__STORE_RECORD: return hocket__sqlite_record(k, c, &cmd->row.record);
    case HOCKET__STORE_MESSAGE_PUT: return say(k, c, &cmd->row.message);
    case HOCKET__STORE_MESSAGE_DEL: return hocket__sqlite_message_del(k, c, cmd->message_id);
    case HOCKET__STORE_RELEASE: return hocket__sqlite_release_run(k, c);
    default: return 0;
    }
}

static int apply(struct hocket__sqlite_keeper *k, const struct hocket__store_command *cmd)
{
    if (cmd->kind == HOCKET__STORE_FILE)
        return hocket__sqlite_put_file(k, &cmd->row.file);
    struct hocket__claimed *c = hocket__claims_need(&k->base, cmd->id);
    if (!c)
        return hocket__error_nomem(&k->db.error);
    int rc = touch(k, c, cmd->kind == HOCKET__STORE_PUT);
    if (rc < 0 || hocket__keeper_passes(&k->base, c, cmd))
        return rc;
    hocket__keeper_note(&k->base, c, cmd);
    if (cmd->kind == HOCKET__STORE_PUT)
        return hocket__sqlite_put_run(k, c, &cmd->row.run);
    if (!c->no)
        return hocket__sqlite_refuse(k, c, cmd->kind, HOCKET_ENOTFOUND);
    if (cmd->fence < c->lost_below)
        return 0;
    if (c->released || c->fence != cmd->fence)
        return hocket__sqlite_refuse(k, c, cmd->kind, HOCKET_ESTATE);
    return write_to(k, c, cmd);
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
            rc = hocket__sqlite_write_run(k, c, now);
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
