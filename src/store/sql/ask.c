/* Questions, each to whom it is for; what the store as a whole is asked. */
#include "store/sql/sql.h"

static int stats(struct hocket__writer *w, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_STATS };
    int rc;
    row.stats.runs = (uint64_t) hocket__sql_count_runs(w, &rc);
    hocket__sql_new(w, HOCKET__SQL_BYTES);
    if (rc == 0)
        row.stats.bytes = (uint64_t) hocket__sql_number(w, &rc);
    row.stats.commits = w->commits;
    row.stats.syncs = w->syncs;
    row.stats.pending = w->pending;
    hocket__store_pack(&c->rows, &row);
    return rc;
}

int hocket__sql_check(
    struct hocket__writer *w, struct hocket__store_call *c, const char *name, unsigned statement)
{
    int rc;
    hocket__sql_new(w, statement);
    while ((rc = hocket__sql_step(w)) == 1) {
        struct hocket__str text = hocket__sql_text_of(w, 0);
        if (!hocket__str_is(text, "ok"))
            hocket__store_add_row(c, name, "%.*s", (int) text.n, text.p);
    }
    return rc;
}

int hocket__sql_answer(struct hocket__writer *w, struct hocket__store_call *c)
{
    static const hocket__sql_answer_cb answers[HOCKET__STORE_CALLS] = {
        [HOCKET__STORE_FIND] = hocket__sql_find,
        [HOCKET__STORE_TAKE] = hocket__sql_take,
        [HOCKET__STORE_POOLS] = hocket__sql_pools,
        [HOCKET__STORE_BLOCKED] = hocket__sql_blocked,
        [HOCKET__STORE_RUNS] = hocket__sql_list_runs,
        [HOCKET__STORE_ENTRIES] = hocket__sql_log,
        [HOCKET__STORE_RECORDS] = hocket__sql_log,
        [HOCKET__STORE_FILES] = hocket__sql_files,
        [HOCKET__STORE_MESSAGES] = hocket__sql_messages,
        [HOCKET__STORE_MESSAGE] = hocket__sql_message,
        [HOCKET__STORE_SUBMIT] = hocket__sql_submit,
        [HOCKET__STORE_REMOVE] = hocket__sql_remove,
        [HOCKET__STORE_STATS] = stats,
        [HOCKET__STORE_ITEM_PUT] = hocket__sql_change_item,
        [HOCKET__STORE_ITEM_DEL] = hocket__sql_change_item,
        [HOCKET__STORE_ITEMS] = hocket__sql_items,
        [HOCKET__STORE_NOTES] = hocket__sql_notes,
        [HOCKET__STORE_DRAW] = hocket__sql_draw,
    };
    return (answers[c->q.kind] ? answers[c->q.kind] : w->sql->answers[c->q.kind])(w, c);
}
