/* What lies behind every store: the front (turns, waits, calls), which all share, and the backend,
 * which keeps.
 *
 *   front, on the loop's thread                     backend
 *   submit(batch, seq)  ───────────────────────>    … kept: hocket__store_kept(written, synced)
 *                                                   no memory: the same again, a moment later
 *   want(seq, kept)     ───────────────────────>    hurries
 *   ask(call)           ───────────────────────>    rows into call->rows; hocket__store_answer
 *   close()             ───────────────────────>    hocket__store_closed
 *
 * All these functions run on the loop's thread, and a backend may answer from inside of one. `seq`
 * counts the bytes that were handed over. */
#pragma once

#include "store/batch.h"
#include "store/store.h"

#include <stdatomic.h>

#include <uv.h>

#define HOCKET__STORE_PIECE   ((size_t) 256 * 1024)        /* of a long answer */
#define HOCKET__STORE_MAX_ROW ((size_t) 256 * 1024 * 1024) /* bytes; SQLite takes a billion */

enum hocket__store_call_kind {
    HOCKET__STORE_FIND,
    HOCKET__STORE_TAKE,
    HOCKET__STORE_TAKE_NEXT,
    HOCKET__STORE_SPOKEN,
    HOCKET__STORE_POOLS,
    HOCKET__STORE_BLOCKED,
    HOCKET__STORE_RUNS,
    HOCKET__STORE_ENTRIES,
    HOCKET__STORE_RECORDS,
    HOCKET__STORE_FILES,
    HOCKET__STORE_MESSAGES,
    HOCKET__STORE_MESSAGE,
    HOCKET__STORE_SUBMIT,
    HOCKET__STORE_REMOVE,
    HOCKET__STORE_STATS,
    HOCKET__STORE_NOTE_PUT,
    HOCKET__STORE_NOTE_DEL,
    HOCKET__STORE_NOTES,
    HOCKET__STORE_ITEM_PUT,
    HOCKET__STORE_ITEM_DEL,
    HOCKET__STORE_ITEMS,
    HOCKET__STORE_DRAW,
    HOCKET__STORE_MAINTAIN,
    HOCKET__STORE_CALLS
};

/* What is asked. Its texts lie behind the call (call.c knows which there are). */
struct hocket__store_question {
    enum hocket__store_call_kind kind; /* and of the union: */
    union {
        struct {
            struct hocket__str prefix;
        } find;
        struct {
            struct hocket__str id;
        } run; /* TAKE, REMOVE, MESSAGES */
        struct {
            struct hocket__str pools;
            size_t most; /* from 1 to HOCKET__STORE_TAKES */
        } take_next;
        struct {
            size_t limit;
        } blocked;
        struct hocket__store_filter runs;
        struct {
            struct hocket__str id;
            uint64_t from;
            bool of_parent; /* those of the run that it was forked from */
        } log;              /* ENTRIES, RECORDS */
        struct {
            struct hocket__str generation;
        } files;
        struct {
            struct hocket__str run;
            struct hocket__store_message said;
        } message;
        struct {
            struct hocket__str id, bundle;
        } submit;
        struct {
            struct hocket__store_note note;
            uint64_t max_notes, max_bytes;
        } note_put;
        struct hocket__store_note_query notes; /* NOTES; NOTE_DEL: memory and id */
        struct {
            struct hocket__store_item item;
            int64_t expected;
            struct hocket__str bundle;
        } item; /* ITEM_PUT; ITEM_DEL: kind, id and `expected` */
        struct {
            struct hocket__str kind, id; /* id empty: all */
            bool due_only;
            int64_t ahead_ms;
        } items;
        struct hocket__store_draw draw;
        struct hocket__store_maintenance maintenance;
    };
};

/* Where a reading that has several pieces goes on. */
struct hocket__store_place {
    uint64_t from;                     /* entries, records, messages, notes, items: the first one */
    size_t left;                       /* so many more; 0: all */
    char before[HOCKET__STORE_ID + 1]; /* runs: only below this id */
    bool in_words;                     /* notes: no word was found; search the text within words */
};

struct hocket__store_call {
    struct hocket__list link;
    struct hocket__store_reply reply;
    bool cancelled; /* the loop's thread's alone */
    atomic_bool given_up;
    size_t size;
    struct hocket__store_question q;

    /* The answer. The backend moves the place on when there is more. */
    struct hocket__store_place place;
    struct hocket__buf after; /* files, items: behind this name */
    struct hocket__buf rows;  /* packed; the backend's to begin */
    bool more;
    int status;
    struct hocket_error error;
    struct hocket__list backend_link;
    char texts[];
};

struct hocket__store_backend;

struct hocket__store_backend_ops {
    const char *name;
    /* Takes the batch's bytes; `seq` is reached when they are saved. 0, or ENOMEM: the bytes left in the batch were
     * not taken, and come again before any later write. */
    int (*submit)(struct hocket__store_backend *b, struct hocket__buf *batch, uint64_t seq);
    void (*want)(struct hocket__store_backend *b, uint64_t seq, enum hocket__store_kept kept);
    void (*ask)(struct hocket__store_backend *b, struct hocket__store_call *call);
    /* NULL, or: whether this batch, and everything submitted before it, survives the process now; it ends at
     * `seq`, and is submitted later. */
    bool (*secure)(struct hocket__store_backend *b, struct hocket__str batch, uint64_t seq);
    /* NULL, or: opens a store again that could not be opened; every write up to `seq` is forgotten. */
    void (*again)(struct hocket__store_backend *b, uint64_t seq);
    /* Whether somebody waits, for whom the loop has to stay alive. */
    void (*hold)(struct hocket__store_backend *b, bool on);
    void (*watch)(struct hocket__store_backend *b, bool on);
    void (*close)(struct hocket__store_backend *b); /* frees it, then hocket__store_closed */
};

struct hocket__store_backend {
    const struct hocket__store_backend_ops *ops;
    struct hocket__store *store;
};

/* A run whose writes were refused. The backend makes it, and the front frees it. */
struct hocket__store_refused {
    struct hocket__list link;
    const struct hocket_allocator *a;
    char id[HOCKET__STORE_ID + 1];
    uint64_t left; /* nobody asks for it any more once this is written; 0: he may */
    struct hocket_error error;
};

/* Why writing waits: the backend says so, or there is no memory to hand over to it. */
enum { HOCKET__STORE_PAUSE_BACKEND = 1, HOCKET__STORE_PAUSE_MEMORY = 2 };

struct hocket__store {
    struct hocket__store_options o; /* with the defaults in place */
    struct hocket__store_backend *backend;
    uv_idle_t turn; /* active while something is to be handed over */
    uv_timer_t again;
    int open_handles;
    struct hocket__buf batch;
    struct hocket__buf
        unsent; /* of an earlier turn: what the backend had no memory for; its end is at unsent_to */
    uint64_t unsent_to;
    size_t owed; /* claims of this store: there is room in the batch to let go of each */
    uint64_t handed, written, synced; /* seq */
    struct hocket__list waits;        /* by seq */
    struct hocket__list calls, asked; /* not yet given to the backend; given */
    struct hocket__list refused;
    bool held, closing, broken, opened, ready, in_turn;
    size_t max_key; /* bytes of a name that the backend has an index of; 0: any */
    bool unlimited; /* what is handed over now belongs together, however much it is */
    int watchers;
    int64_t begun_ms, broken_ms;      /* when opening began, and when its failure was reported */
    unsigned paused;                  /* writing fails, and is tried again */
    struct hocket_error error, pause; /* when broken; when paused */
    void (*on_closed)(void *ud);
    void *ud;
};

/* A front without a backend; o is checked and copied. The backend is set by the caller. */
int hocket__store_new(
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err);

/* In the loop's next round, at once: an idle handle keeps it from sleeping before. */
void hocket__store_next_turn(struct hocket__store *s);
/* A claim was made. Room to let go of it comes with what is handed over next. */
void hocket__store_reserve_release(struct hocket__store *s);
/* Room for all of them, in a batch: what ends a claim needs no memory. 0 or ENOMEM. */
int hocket__store_reserve(const struct hocket__store *s, struct hocket__buf *batch);
/* Whether a backend that has an index of such names takes this one. */
bool hocket__store_fits_index(const struct hocket__store *s, struct hocket__str name);
/* Somebody needs it: one that could not be opened, some time ago, is opened again. */
void hocket__store_reopen(struct hocket__store *s);
/* A call for the next turn. */
void hocket__store_enqueue(struct hocket__store *s, struct hocket__store_call *c);

/* ---- What a backend says --------------------------------------------------------------------- */

void hocket__store_kept(struct hocket__store *s, uint64_t written, uint64_t synced);
/* The call's rows, status and `more` are set. */
void hocket__store_answer(struct hocket__store *s, struct hocket__store_call *call);
void hocket__store_report(struct hocket__store *s, enum hocket__store_news news, const char *id,
    const struct hocket_error *err);
/* REFUSED: of a claim of this store. The front's from here on; once for each claim. */
void hocket__store_refuse(struct hocket__store *s, struct hocket__store_refused *r);
/* NULL: out of memory. */
struct hocket__store_refused *hocket__store_refused_new(
    const struct hocket_allocator *a, const char *id);
/* The process has released this refused run: once every write is saved, the refusal is forgotten. */
void hocket__store_released(struct hocket__store *s, const char *id);
void hocket__store_closed(struct hocket__store *s);

/* READY, in the next turn. */
void hocket__store_opened(struct hocket__store *s);

/* ---- What all backends say alike --------------------------------------------------------------- */

/* The question goes on behind this name, the last one of a piece: in `after`. ENOMEM. */
int hocket__store_continue_after(struct hocket__store_call *c, struct hocket__str last);

/* Why a command was refused. */
void hocket__store_refusal(
    enum hocket__store_command_kind kind, const char *id, int status, struct hocket_error *err);
/* These give the status. */
/* EPARSE. `what` of the run, with its number if it has one; NULL: its own row. */
int hocket__store_altered(
    struct hocket__store_call *c, const char *what, int64_t n, struct hocket__str id);
int hocket__store_no_parent(struct hocket__store_call *c);
int hocket__store_ambiguous(struct hocket__store_call *c, const char *one, const char *other);
int hocket__store_already_claimed(
    struct hocket__store_call *c, const struct hocket__store_owner *owner);
int hocket__store_has_message(struct hocket__store_call *c);
/* Of a run that is to be removed: by whom it was called, or whom it has called, that has not ended ("": nobody). 0, or ESTATE. */
int hocket__store_has_calls(
    struct hocket__store_call *c, struct hocket__str caller, struct hocket__str called);
int hocket__store_not_found(struct hocket__store_call *c, struct hocket__str id);

/* Of MAINTAIN: a row, and a status for what this store has not. */
void hocket__store_add_row(struct hocket__store_call *c, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int hocket__store_unsupported(struct hocket__store_call *c, const char *why);

/* The bundle of a question (SUBMIT, ITEM_PUT): a run that is to be nobody's, or none, then files; rows, packed. EINVAL, ELIMIT,
 * ENOMEM. The run is first: a backend that refuses it has written nothing. */
int hocket__store_pack_bundle(struct hocket__store *s, const struct hocket__store_run *run,
    struct hocket__str files, struct hocket__buf *out);
struct hocket__str hocket__store_bundle(const struct hocket__store_call *c);
/* Its run; false: none. */
bool hocket__store_bundle_run(const struct hocket__store_call *c, struct hocket__store_row *row);
/* The status of a run that was not put. */
int hocket__store_not_put(struct hocket__store_call *c, int status);

/* The status of an item that was found (version 0: there is none) when `expected` was wanted; EEXIST of a run that there is. */
int hocket__store_item_check(struct hocket__store_call *c, int64_t version);
int hocket__store_item_refuse(struct hocket__store_call *c, int status);
/* The version that follows; a new item's begins with the time: one that went and came again has none of before. */
int64_t hocket__store_item_version(int64_t version, int64_t now_ms);
/* The question goes on behind the time and id of this one. */
int hocket__store_item_continue_after(
    struct hocket__store_call *c, const struct hocket__store_item *last);
/* Until when items are asked for. */
int64_t hocket__store_items_until(const struct hocket__store_call *c, int64_t now_ms);
/* What a call says of its item, and the row that it answers. */
struct hocket__store_item hocket__store_item_of(
    const struct hocket__store_call *c, int64_t version, int64_t now_ms);
void hocket__store_item_answer(struct hocket__store_call *c, int64_t version);

int hocket__store_note_missing(struct hocket__store_call *c);
/* 0, or ELIMIT: the memory has so much beside the note that is to be put. */
int hocket__store_note_room(struct hocket__store_call *c, uint64_t notes, uint64_t bytes);
/* The next word of a query: letters, digits, and all beyond ASCII; empty at the end. */
struct hocket__str hocket__store_note_word(struct hocket__str *query);
enum { HOCKET__STORE_NOTE_WORDS = 32 }; /* of a query that count */

/* The best of what was compared with a vector. */
struct hocket__store_near {
    struct {
        float score;
        int64_t what;
    } best[HOCKET__STORE_NEAR];
    size_t n;
};
/* Takes it in where it is one of the best; nothing where the two are not of one model. */
void hocket__store_compare(struct hocket__store_near *nearest, struct hocket__str vector,
    struct hocket__str with, int64_t what);

/* Of runs and workers. */
static inline bool hocket__store_has_ended(enum hocket__store_state state)
{
    return state == HOCKET__STORE_DONE || state == HOCKET__STORE_FAILED
           || state == HOCKET__STORE_CANCELLED;
}
/* Whether its ids and its pool are such. */
bool hocket__store_is_new(const struct hocket__store_run *run);
bool hocket__store_is_pool(struct hocket__str name); /* empty: none, which is fine */
/* The next of names with commas between them; empty at the end. */
struct hocket__str hocket__store_next_pool(struct hocket__str *names);
/* The message by which the caller of a run hears that it has ended; its texts lie in `to`. */
enum { HOCKET__STORE_ENDED = 160 };
struct hocket__store_message hocket__store_ended(
    const char *id, enum hocket__store_state state, int64_t at_ms, char to[HOCKET__STORE_ENDED]);

int64_t hocket__store_wall_ms(const struct hocket__store_options *o);
