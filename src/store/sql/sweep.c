/* What was removed goes in small steps. A step is a transaction of a few milliseconds. Where it fails nothing is lost: the run stays
 * marked as removed, and the next step begins where this one did. */
#include "store/sql/sql.h"

static void add_run(struct hocket__writer *w, unsigned statement, int64_t no)
{
    hocket__sql_new(w, statement);
    hocket__sql_int(w, no);
}

/* Its own id, and the generations that it has, with commas. */
static int names_of(struct hocket__writer *w, int64_t no, struct hocket__buf *names)
{
    add_run(w, HOCKET__SQL_NAMES, no);
    int rc = hocket__sql_step(w);
    if (rc != 1)
        return rc;
    hocket__buf_addstr(names, hocket__sql_text_of(w, 0));
    hocket__sql_done(w);
    return names->status < 0 ? hocket__error_nomem(w->error) : 0;
}

static int purge_files(struct hocket__writer *w, struct hocket__str generation)
{
    int rc = w->sql->begin_drop(w, generation);
    if (rc < 0)
        return rc;
    hocket__sql_new(w, HOCKET__SQL_PURGE_FILES);
    hocket__sql_text(w, generation);
    return hocket__sql_run(w);
}

int hocket__sql_drop_files(struct hocket__writer *w, struct hocket__str generations, bool shared)
{
    struct hocket__str name;
    int rc = 0;
    while (rc == 0 && hocket__store_next_generation(&generations, &name))
        if (shared || name.n == HOCKET__STORE_ID)
            rc = purge_files(w, name);
    return rc;
}

/* Its id is free at once, and so are files that no other run has. */
int hocket__sql_remove_run(struct hocket__writer *w, int64_t no, bool shared)
{
    struct hocket__buf names = hocket__buf(&hocket__malloc, 0);
    int rc = names_of(w, no, &names);
    add_run(w, HOCKET__SQL_REMOVE, no);
    if (!w->sql->streams)
        hocket__sql_int(w, w->ops->now(w));
    if (rc == 0)
        rc = hocket__sql_run(w);
    if (rc == 0)
        rc = hocket__sql_drop_files(w, hocket__buf_str(&names), shared);
    hocket__buf_deinit(&names);
    w->more_to_sweep = true;
    return rc;
}

int64_t hocket__sql_removed(struct hocket__writer *w, int *rc)
{
    hocket__sql_new(w, HOCKET__SQL_REMOVED);
    return hocket__sql_number(w, rc);
}

/* The first part that changes anything ends the step. The run's own row is the last, since it is what leads here. */
int hocket__sql_purge(struct hocket__writer *w, int64_t no)
{
    static const unsigned parts[] = { HOCKET__SQL_PURGE_ENTRIES, HOCKET__SQL_PURGE_RECORDS,
        HOCKET__SQL_PURGE_MESSAGES, HOCKET__SQL_PURGE_RUN };
    int rc = 0;
    int64_t changed = 0;
    for (size_t i = 0; rc == 0 && changed == 0 && i < sizeof(parts) / sizeof(parts[0]); i++) {
        add_run(w, parts[i], no);
        rc = hocket__sql_run(w);
        changed = rc == 0 ? w->sql->changed(w) : 0;
    }
    return rc;
}
