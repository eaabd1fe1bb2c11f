/* Questions, each to whom it is for. */
#include "store/sqlite/sqlite_impl.h"

static int stats(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_STATS };
    int rc;
    int64_t runs = hocket__db_ask(d, "SELECT count(*) FROM runs WHERE removed = 0", &rc);
    int64_t bytes = rc == 0 ? hocket__db_ask(d,
                        "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count,"
                        " pragma_freelist_count, pragma_page_size",
                        &rc)
                            : 0;
    row.stats = (struct hocket__store_stats){ (uint64_t) runs, (uint64_t) bytes, k->base.commits,
        k->base.syncs, k->base.pending };
    hocket__store_pack(&c->rows, &row);
    return rc;
}

int hocket__sqlite_answer(struct hocket__keeper *base, struct hocket__store_call *call)
{
    static int (*const answers[])(
        struct hocket__sqlite_keeper * k, struct hocket__store_call * c) = {
        [HOCKET__STORE_FIND] = hocket__sqlite_find,
        [HOCKET__STORE_TAKE] = hocket__sqlite_take,
        [HOCKET__STORE_TAKE_NEXT] = hocket__sqlite_take_next,
        [HOCKET__STORE_SPOKEN] = hocket__sqlite_spoken,
        [HOCKET__STORE_POOLS] = hocket__sqlite_pools,
        [HOCKET__STORE_BLOCKED] = hocket__sqlite_blocked,
        [HOCKET__STORE_RUNS] = hocket__sqlite_runs,
        [HOCKET__STORE_ENTRIES] = hocket__sqlite_log,
        [HOCKET__STORE_RECORDS] = hocket__sqlite_log,
        [HOCKET__STORE_FILES] = hocket__sqlite_files,
        [HOCKET__STORE_MESSAGES] = hocket__sqlite_messages,
        [HOCKET__STORE_MESSAGE] = hocket__sqlite_message,
        [HOCKET__STORE_SUBMIT] = hocket__sqlite_submit,
        [HOCKET__STORE_REMOVE] = hocket__sqlite_remove_named,
        [HOCKET__STORE_STATS] = stats,
        [HOCKET__STORE_ITEM_PUT] = hocket__sqlite_item_put,
        [HOCKET__STORE_ITEM_DEL] = hocket__sqlite_item_del,
        [HOCKET__STORE_ITEMS] = hocket__sqlite_items,
        [HOCKET__STORE_CARE] = hocket__sqlite_care,
        [HOCKET__STORE_NOTE_PUT] = hocket__sqlite_note_put,
        [HOCKET__STORE_NOTE_DEL] = hocket__sqlite_note_del,
        [HOCKET__STORE_NOTES] = hocket__sqlite_notes,
        [HOCKET__STORE_DRAW] = hocket__sqlite_draw,
    };
    int rc = hocket__sqlite_there(hocket__sqlite_of(base));
    return rc < 0 ? rc : answers[call->kind](hocket__sqlite_of(base), call);
}
