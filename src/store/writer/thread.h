/* The two sides of a store with a thread: loop.c on the loop's thread, thread.c on its own. */
#pragma once

#include "store/writer/wal.h"

#include <uv.h>

/* A report about a run. */
struct hocket__writer_refusal {
    struct hocket__list link;
    char id[HOCKET__STORE_ID + 1];
    struct hocket__store_refused *refused;
    bool over;                          /* it was let go of: nobody will ask again */
    uint64_t written, synced, answered; /* what was reported before it */
};

struct hocket__writer_store {
    struct hocket__store_backend base;
    uv_pid_t pid;
    uv_thread_t thread;
    uv_mutex_t lock;
    uv_cond_t cond;

    /* Under the lock: to the thread … */
    struct hocket__buf incoming; /* malloc'ed */
    uint64_t incoming_seq;
    int64_t incoming_ms; /* when the oldest of it came */
    uint64_t wanted[2];
    struct hocket__list questions;
    bool closing, watching, wal_on;
    bool again; /* it could not be opened, and is to be */
    bool
        asleep; /* the thread's: it looks at nothing before somebody wakes it, or its own time comes */
    /* … and back. */
    uint64_t written, synced, noted;
    uint64_t answered; /* so many questions, ever */
    struct hocket__list answers, refusals;
    bool opened, broken, paused, changed, ended;
    struct hocket_error denied; /* why no run can be kept in what was opened; status 0: they can */
    struct hocket_error error;  /* of broken or paused */

    /* The loop's. */
    uv_async_t out;
    struct hocket__wal wal;
    uint64_t reported_written, reported_synced, reported_answers;
    bool reported_paused, reported_broken;

    struct hocket__writer *w; /* the thread's */
};

static inline void hocket__writer_lock(struct hocket__writer_store *q)
{
    uv_mutex_lock(&q->lock);
}

static inline void hocket__writer_unlock(struct hocket__writer_store *q)
{
    uv_mutex_unlock(&q->lock);
}

/* What the thread does, from the opening of the database to its close. */
void *hocket__writer_work(void *q);

/* Tells what is refused now: before the commits that it spoils. ENOMEM. */
int hocket__writer_report_refusals(struct hocket__writer_store *q);

/* Answers all of them with why not. */
void hocket__writer_fail_all(
    struct hocket__writer_store *q, struct hocket__list *questions, const struct hocket_error *err);
