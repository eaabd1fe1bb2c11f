/* What the broker's files share: a job's node (its place in queue, timers,
 * trees and waits), the run, and the few verbs that move a node. Nobody else
 * includes this.
 *
 *   broker.c  making, reading, forgetting
 *   submit.c  from specs to nodes, all or none, with the names and cycles of a batch
 *   work.c    what workers call
 *   settle.c  ends: final states, retries, cancellation, and what follows
 *   timer.c   deadlines, retries that are due
 *   wait.c    waits
 *   note.c    progress and log */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "core/broker/broker.h"
#include "core/broker/heap.h"

struct hocket__job_run {
    struct hocket__queue_run turn;
    struct hocket__list jobs, tops, done; /* all; without parent; undelivered tops */
    size_t count, of[HOCKET__JOB_STATE_COUNT];
};

/* A dependency that is not final yet, linked at the job depended on. */
struct hocket__edge {
    struct hocket__list link;
    struct hocket__node *node; /* the one that waits */
};

struct hocket__node {
    struct hocket__job *job;
    struct hocket__job_run *run;
    struct hocket__node *parent;           /* NULL: none, or forgotten */
    struct hocket__list in_run, in_parent; /* in the run's jobs; among its siblings */
    struct hocket__list in_done;           /* in the parent's (or run's) done */
    struct hocket__list children, done;    /* done: final, not delivered, in that order */
    struct hocket__list dependents, waits; /* edges and links */
    struct hocket__list in_work;           /* a step of the settling, or of a batch */
    size_t deps_left;
    struct hocket__queue_entry entry;
    struct hocket__heap_item timer;
    struct hocket__notes *notes; /* NULL: none */
    size_t depth;
    struct hocket__edge edges[]; /* job->dep_count of them */
};

struct hocket__broker {
    const struct hocket_allocator *a;
    struct hocket__broker_options options;
    struct hocket__job_store *store;
    struct hocket__broker_hooks hooks;
    struct hocket__queue queue;
    struct hocket__heap timers;
    struct hocket__map runs, waits;
    struct hocket__list fresh, ended; /* the settling: see settle.c */
    size_t count, of[HOCKET__JOB_STATE_COUNT];
    bool shut;
};

/* broker.c */
struct hocket__node *hocket__node_find(const struct hocket__broker *b, uint64_t id);
int hocket__node_missing(uint64_t id, struct hocket_error *err);
/* Finds a job whose attempt is under way with this fence; NULL: *rc says why. */
struct hocket__node *hocket__node_of_attempt(
    const struct hocket__broker *b, uint64_t id, uint64_t fence, int *rc, struct hocket_error *err);
/* 0, or ESTATE with a message when the table forbids it. */
int hocket__node_check(
    const struct hocket__node *n, enum hocket__job_state to, struct hocket_error *err);
void hocket__node_drop(struct hocket__broker *b, struct hocket__node *n); /* node and record */
void hocket__node_emit(struct hocket__broker *b, struct hocket__node *n,
    enum hocket__broker_event_type type, struct hocket__str payload, struct hocket__str usage);

/* submit.c */
void hocket__node_free(struct hocket__broker *b, struct hocket__node *n); /* the node alone */

/* settle.c */
void hocket__node_move(struct hocket__broker *b, struct hocket__node *n, enum hocket__job_state to);
/* Into the queue, in the line of its parent or its run. */
void hocket__node_queue(struct hocket__broker *b, struct hocket__node *n, bool resumed);
void hocket__node_ready(struct hocket__broker *b, struct hocket__node *n);
/* Ends it for good; the consequences follow in hocket__broker_settle. */
void hocket__node_finish(
    struct hocket__broker *b, struct hocket__node *n, enum hocket__job_state to, int64_t now_ms);
/* The attempt has failed: another one, or the end. */
void hocket__node_fail(struct hocket__broker *b, struct hocket__node *n, bool no_retry,
    int64_t now_ms, uint64_t random);
/* A dependency did not complete: skipped or failed, as its spec says. */
void hocket__node_dep_failed(
    struct hocket__broker *b, struct hocket__node *n, uint64_t dep, int64_t now_ms);
/* Whether the end of its i-th dependency, which is final, is the end of it as well. */
bool hocket__node_fails_with(
    const struct hocket__node *n, size_t i, const struct hocket__node *dep);
void hocket__broker_settle(struct hocket__broker *b, int64_t now_ms);

/* timer.c: sets the node's one timer by its state and times. */
void hocket__node_timer(struct hocket__broker *b, struct hocket__node *n);

/* wait.c */
void hocket__waits_fire(struct hocket__broker *b, struct hocket__node *n);
void hocket__waits_free(struct hocket__broker *b);

/* note.c */
void hocket__notes_free(struct hocket__broker *b, struct hocket__node *n);
