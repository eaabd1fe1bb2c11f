/* The journal: the append-only, numbered sequence of everything that happens in one run. Event
 * streams, the store and the views read it; each keeps a cursor.
 *
 *     append ──▶ [ 41 42 43 44 45 ]         in memory, under a limit of bytes
 *                   ▲        ▲              the oldest lines go first
 *              cursor of   cursor of
 *              the store   a slow UI        next(cursor) gives the line, and
 *                                           says how many were missed
 *
 * A record is one line, serialised once, when it is appended:
 *     {"seq":1,"time":"2026-11-21T09:00:00.123Z","run":"r1","generation":3,
 *      "op":"o2","agent":"food","type":"task_updated", …the payload's members}
 * `run`, `generation`, `op` and `agent` are left out when there is none. Numbers
 * have no gaps. Nothing follows a record of type "workflow_finished". Appending calls
 * nobody but the one wake callback: readers pull. */
#pragma once

#include "base/status.h"
#include "base/str.h"

#define HOCKET__JOURNAL_LAST "workflow_finished"

struct hocket__journal;

struct hocket__journal_options {
    struct hocket__str run; /* id of the run; may be empty */
    size_t max_bytes;       /* of the lines kept, each counted with HOCKET__JOURNAL_LINE_COST */
    uint64_t last_seq;      /* the number before the first; not 0 where a stored run goes on */
    /* Runs at the end of every append that succeeded, may be NULL. It must not
     * append (that returns ESTATE); it is meant to schedule the readers. */
    void (*wake_cb)(void *ud);
    void *ud;
};

#define HOCKET__JOURNAL_LINE_COST 64

/* No run id, 64 MiB, from 1, no callback. */
struct hocket__journal_options hocket__journal_options_default(void);

/* NULL when memory is out. The allocator has to outlive the journal. */
struct hocket__journal *hocket__journal_new(
    const struct hocket_allocator *a, const struct hocket__journal_options *options);
void hocket__journal_free(struct hocket__journal *j); /* NULL is fine */

/* From the next record on each one has this "generation": the state of the files that the run
 * works with. Cannot fail. */
void hocket__journal_set_generation(struct hocket__journal *j, uint64_t number);

struct hocket__record {
    struct hocket__str type;    /* "tasks_created": lower-case letters, digits, underscores */
    struct hocket__str op;      /* id of the operation, may be empty */
    struct hocket__str agent;   /* may be empty */
    struct hocket__str payload; /* a compact JSON object, or empty for none */
};

/* Appends a record and returns its number, or
 *   ESTATE  after HOCKET__JOURNAL_LAST, or from inside the wake callback,
 *   EINVAL  when the type or the outer form of the payload is wrong,
 *   ELIMIT  when this one line is larger than everything that is kept,
 *   ENOMEM; in each case the journal is as it was.
 * The payload has to come from our own writers, or to have passed
 * hocket__journal_check: release builds look at its first and last byte and
 * for line ends, debug builds assert the whole check. */
int64_t hocket__journal_append(struct hocket__journal *j, const struct hocket__record *r,
    int64_t now_ms, struct hocket_error *err);

/* The same, written in place: begin gives the buffer that already holds the record's head, members
 * are appended to it by base/json/write.h (or with their commas, as they stand in a line), end
 * makes it a line. A record that is begun and not ended was never there. `author` is what
 * hocket__journal_shared_members made for whoever speaks; the type is not checked. begin returns NULL with
 * ESTATE in *err, end what append does. */
struct hocket__buf *hocket__journal_begin(struct hocket__journal *j, struct hocket__str author,
    struct hocket__str type, int64_t now_ms, struct hocket_error *err);
int64_t hocket__journal_end(struct hocket__journal *j, struct hocket_error *err);
/* The same for an author that speaks too rarely to be kept; also NULL with ENOMEM. */
struct hocket__buf *hocket__journal_begin_as(struct hocket__journal *j, struct hocket__str op,
    struct hocket__str agent, struct hocket__str type, int64_t now_ms, struct hocket_error *err);

/* Appends to *out what the records of an operation and an agent have in common, so that it is quoted
 * once for all of them. Either may be empty. 0 or ENOMEM. */
int hocket__journal_shared_members(
    struct hocket__str op, struct hocket__str agent, struct hocket__buf *out);

/* The next record has the number behind `seq`, where that is more than the last has: those in memory are forgotten, and readers
 * that have not come to them have missed them. */
void hocket__journal_skip(struct hocket__journal *j, uint64_t seq);

/* Ends a journal in the place of a run that could not: with an `error` (status < 0), and with
 * HOCKET__JOURNAL_LAST, whose members are null. Does nothing where that is there. Needs no memory and
 * cannot fail. */
void hocket__journal_close(struct hocket__journal *j, int status, int64_t now_ms);

/* Whether records can be of this type: 0 or EINVAL. */
int hocket__journal_check_type(struct hocket__str type, struct hocket_error *err);

/* Whether a payload from outside may be appended: one JSON object, without line
 * ends outside of strings, that does not name seq, time, run, generation, op, agent
 * or type. */
int hocket__journal_check(struct hocket__str payload, struct hocket_error *err);

/* Whether every record has a member of this name by itself. */
bool hocket__journal_is_member(struct hocket__str name);

struct hocket__line {
    uint64_t seq;
    struct hocket__str json; /* without a line end; valid until the next append */
    struct hocket__str type; /* in it */
    uint64_t missed;         /* records between the cursor and this one that are no longer kept */
};

/* The first line after *cursor (the number of the last record that was read; 0
 * in the beginning), which moves on to it. True with *line filled, or false
 * when there is none. A cursor is the reader's and needs no release. */
bool hocket__journal_next(
    const struct hocket__journal *j, uint64_t *cursor, struct hocket__line *line);

uint64_t hocket__journal_first(const struct hocket__journal *j); /* oldest kept; last + 1: none */
uint64_t hocket__journal_last(const struct hocket__journal *j);  /* newest, also when it is gone */
size_t hocket__journal_bytes(const struct hocket__journal *j);   /* counted against max_bytes */
bool hocket__journal_finished(const struct hocket__journal *j);
