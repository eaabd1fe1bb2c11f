/* How fast one provider may be asked with one key: what all calls of a host that share
 * both go through. Pure: time is a parameter, and nothing here waits (limit.h does).
 *
 *   ask ──> (room? go) or queued ──> next ──> go ──> answer(status, headers) or lost ──> end
 *
 * What holds calls back, all at once:
 * - a block: after a 429, or a 503 that says when to come again, nobody goes before that
 *   time;
 * - limits per minute of requests and of tokens that the user gave: never exceeded in any 60
 *   seconds (tokens: by estimates, settled when the answer tells), and of calls at once. Where other
 *   processes have the same limits, what is left of them is bought from outside (share.c);
 * - the limits that the server tells in its headers;
 * - a pace that is measured: how many calls got through between two blocks. It grows
 *   again, by 1 % a second and later faster, and is forgotten when it has held nobody back
 *   for a minute;
 * - a window of calls whose answers have not begun. It doubles with each round of good
 *   answers that fills it, from 64 at first and from 1 (half, when there is a pace) after a
 *   block, so that an unknown limit is not run into by thousands of calls at once. Until the first
 *   answer it opens with time: by 11 calls in the first millisecond of network polling, by 17 in the
 *   thirtieth. A server refuses as soon as the network allows, and an answer takes long, so a silent
 *   server is at work;
 * - as many calls as the transport has connections: a call that waits for a connection would still
 *   be sent after a block began.
 *
 * Zero means zero: a limit of 0 refuses every call at once.
 *
 * The queue is fair between runs: one call of each in turn; the calls of one run go in
 * order, except that rejected calls go first. */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "base/status.h"
#include "net/advice.h"

struct hocket__limits {
    int64_t requests, tokens; /* per minute; below 0: no limit */
    int64_t calls;            /* at once; likewise */
};

/* Embedded in a call, zeroed before its first use. */
struct hocket__limiter_wait {
    struct hocket__list link;
    struct hocket__limiter_run *run; /* NULL: not queued */
    int64_t tokens;
};

/* What may be used up: `level` of `cap`, refilled by per_ms. */
struct hocket__bucket {
    bool known;
    double level, cap, per_ms;
    int64_t at;      /* level is of this time */
    int64_t full_at; /* when a server's window starts anew; 0: not told */
};

/* What blocks have cost lately. */
struct hocket__limiter_losses {
    int64_t since, accepted, rejected, blocked_ms;
};

/* Limits that others have, too: what is ours of them was granted, and is not refilled here. */
struct hocket__limiter_share {
    bool on;
    int64_t slots;                      /* calls at once */
    double few_requests, few_tokens;    /* with less than that there should be more */
    int64_t took_requests, took_tokens; /* since the last look */
    int64_t told_until;                 /* a block that the others know of */
    int told_places; /* of calls at once: what share.c's places() was at the last look or grant */
};

struct hocket__limiter {
    const struct hocket_allocator *a;
    struct hocket__limits limits;
    struct hocket__limiter_share share;
    struct hocket__bucket own_requests, own_tokens;   /* given; or granted, when shared */
    struct hocket__bucket seen_requests, seen_tokens; /* told by the server */
    struct hocket__bucket pace;                       /* measured */
    bool windowed;                             /* the server refills all at once, not bit by bit */
    int64_t blocked_until;                     /* 0: not blocked */
    int64_t pace_since, pace_grown, pace_used; /* measured, sped up, held somebody back */
    int64_t epoch, accepted;                   /* how many got through since then … */
    int blocks;                                /* … and how many blocks there were */
    struct hocket__limiter_losses recent;
    int strikes; /* blocks in a row without a good answer between */
    int struck;  /* … before the answer that began well last */
    int64_t window, unanswered, unanswered_tokens;
    bool answered;              /* once, at least */
    int64_t silent_at;          /* if it was not: when that was looked at last; 0: not yet */
    int64_t flying, max_flying; /* went, and have not ended */
    int64_t idle_since;         /* nobody flies or waits; 0: somebody does */
    struct hocket__map runs;
    struct hocket__list ring; /* of runs that wait */
    size_t waiting, max_waiting;
    int64_t waiting_tokens;
};

void hocket__limiter_init(
    struct hocket__limiter *l, const struct hocket_allocator *a, struct hocket__limits limits);
/* Queued waits are forgotten. */
void hocket__limiter_deinit(struct hocket__limiter *l);
/* Gives other limits per minute, which count from now on; the same change nothing. */
void hocket__limiter_limit(struct hocket__limiter *l, struct hocket__limits limits, int64_t now);

struct hocket__limiter_ask {
    uint64_t run;        /* calls are shared out between runs */
    int64_t tokens;      /* estimated, input and output */
    bool again;          /* turned away before: goes first in its run */
    int64_t patience_ms; /* longer than this it would not wait; -1: for ever */
};
/* 1: go now. 0: queued, hocket__limiter_next will give it. ELIMIT: a limit is 0, too many
 * wait, or the block is longer than the call may wait (err->retry_after_ms says how long); ENOMEM. */
int hocket__limiter_ask(struct hocket__limiter *l, struct hocket__limiter_wait *w,
    const struct hocket__limiter_ask *ask, int64_t now, struct hocket_error *err);
/* Takes it out of the queue; false when it was not in it. */
bool hocket__limiter_leave(struct hocket__limiter *l, struct hocket__limiter_wait *w);
/* The next that may go, or NULL: then *delay says in how many milliseconds it is worth to
 * ask again (-1: after the next answer, or nobody waits). */
struct hocket__limiter_wait *hocket__limiter_next(
    struct hocket__limiter *l, int64_t now, int64_t *delay);

/* Time has passed in which an answer would have been seen: the network was looked at in it. Opens
 * the window of a server that has not answered yet. */
void hocket__limiter_no_answer_yet(struct hocket__limiter *l, int64_t now);

/* Of each call that went, exactly one: its answer began, with a status and resolved headers,
 * or it ended without. `tokens` as it was asked with. */
void hocket__limiter_answer(struct hocket__limiter *l, int64_t tokens, int status,
    const struct hocket__advice *advice, int64_t now);
void hocket__limiter_forget_call(struct hocket__limiter *l, int64_t tokens);
/* Of each call that went: it is over. */
void hocket__limiter_end(struct hocket__limiter *l, int64_t now);
/* The tokens that an answered call really took, in place of the estimate. */
void hocket__limiter_used(struct hocket__limiter *l, int64_t estimated, int64_t real);
/* An answer that began well told of a rate limit: counts as a 429. after_ms: when to come again; 0
 * and below: not told. */
void hocket__limiter_refused(struct hocket__limiter *l, int64_t after_ms, int64_t now);
/* Nobody goes before now + ms: for a wait that only the body told. */
void hocket__limiter_block(struct hocket__limiter *l, int64_t ms, int64_t now);

/* ---- Limits that are shared (share.c) ----
 *
 *   short? ──> look ──> whoever shares asks for it elsewhere ──> grant ──> the next may go */

/* From now on, nothing is left of any limit that was not granted; or, off, each is ours alone again. */
void hocket__limiter_share(struct hocket__limiter *l, bool on, int64_t now);
/* Whether somebody waits for more to be granted, little is left, places for calls are not used any more, or a provider's block is to be told. */
bool hocket__limiter_is_short(const struct hocket__limiter *l, int64_t now);

struct hocket__limiter_need {
    int64_t waiting, flying;
    int64_t waiting_tokens, head_tokens; /* of all waiting calls; of the next one */
    double requests, tokens;             /* granted and left; below 0: owed */
    int64_t took_requests, took_tokens;  /* since the last look */
    int64_t
        block_ms; /* the provider wants to be left alone for so long, which others do not know yet */
};
void hocket__limiter_need(
    struct hocket__limiter *l, struct hocket__limiter_need *need, int64_t now);

struct hocket__limiter_grant {
    double requests, tokens; /* more; below 0: given back */
    int64_t slots;           /* calls at once that are ours from now on; below 0: as before */
    double few_requests, few_tokens;
    int64_t block_ms; /* what others were told; 0: nothing */
};
void hocket__limiter_grant(
    struct hocket__limiter *l, const struct hocket__limiter_grant *grant, int64_t now);
