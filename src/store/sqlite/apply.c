/* Commands as a part of a transaction. A transaction is all or nothing, and so is what is remembered of it: claims that it touches are
 * read from the file anew in each, so that nothing of one that failed is believed. */
#include "store/sqlite/sqlite_impl.h"

static int load(struct hocket__writer *w, struct hocket__claimed *c)
{
    hocket__sql_new(w, ST_LOAD);
    hocket__sql_text(w, hocket__cstr(c->id));
    hocket__sql_int(w, w->self.store);
    hocket__sql_int(w, w->self.pid);
    int rc = hocket__sql_step(w);
    bool there = rc == 1;
    c->no = there ? hocket__sql_int_of(w, 0) : 0;
    c->fence = there ? (uint64_t) hocket__sql_int_of(w, 1) : 0;
    c->last_n = there ? (uint64_t) hocket__sql_int_of(w, 2) : 0;
    c->last_seq = there ? (uint64_t) hocket__sql_int_of(w, 3) : 0;
    c->updated_ms = there ? hocket__sql_int_of(w, 4) : 0;
    c->called = there && hocket__sql_int_of(w, 5) != 0;
    if (there)
        hocket__sql_done(w);
    return rc < 0 ? rc : 0;
}

static int apply(struct hocket__writer *w, const struct hocket__store_command *cmd)
{
    if (cmd->kind == HOCKET__STORE_FILE)
        return hocket__sql_put_file(w, &cmd->row.file);
    struct hocket__claimed *c = hocket__claims_need(w, cmd->id);
    if (!c)
        return hocket__error_nomem(w->error);
    bool is_first = hocket__writer_touch(w, c);
    int rc = is_first && cmd->kind != HOCKET__STORE_PUT ? load(w, c) : 0;
    return rc < 0 ? rc : hocket__sql_apply(w, c, cmd);
}

int hocket__sqlite_apply(struct hocket__writer *w, struct hocket__str work, const char *only)
{
    struct hocket__store_command cmd;
    int rc = 0;
    while (rc == 0 && hocket__store_command_next(&work, &cmd))
        if (!only || cmd.kind == HOCKET__STORE_FILE || strcmp(cmd.id, only) == 0)
            rc = apply(w, &cmd);
    return rc == 0 ? hocket__sql_apply_rows(w) : rc;
}
