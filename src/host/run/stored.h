/* A run in the host's store: its row, its log and its records go there, and what others say to it comes from there.
 *
 *     start:   put ─> entries, records, states … ─────────────────────────> done, failed, cancelled; released
 *     resume:  find ─> take ─> files ─> entries, fed to its log ─> it begins, and replays ─> live ─> …
 *     park:    its data stays; the run ends here, and can be resumed
 *
 * Nothing here waits. The row names what the run needs from people (waiting_for), so that somebody who has the store alone
 * can answer. */
#pragma once

#include "core/run_state.h"
#include "host/run/run.h"
#include "store/store.h"

/* A question, approval, input or signal that the run waits for. */
struct hocket__open {
    struct hocket__list link;
    bool person;                 /* a person has to answer (a question, an approval) */
    struct hocket__buf id, json; /* a member of waiting_for */
};

/* The records of a run's earlier processes, which `hocket replay` has to report again (stored.c). */
struct hocket__retold {
    struct hocket__buf texts; /* each behind the other */
    struct hocket__retold_event {
        uint64_t seq; /* there may be gaps: some events are never stored */
        size_t end;
    } * list;
    size_t count, cap, next; /* next: the index that is compared next */
};

enum hocket__origin {
    HOCKET__ORIGIN_STARTED, /* here */
    HOCKET__ORIGIN_RESUMED, /* from the store */
    HOCKET__ORIGIN_BY_HAND, /* from the store by hand, although it waits in a pool for a worker */
};

/* Whether a run parks by itself. */
enum hocket__parks {
    HOCKET__STAYS,
    HOCKET__PARKS,           /* when it waits for a person, or for a time that is far away */
    HOCKET__PARKS_FOR_INPUT, /* also when a conversation waits for its next input */
};

/* Who has cancelled a run. Its log says so only where it is used up: otherwise this does, and its end is stored all the same. */
enum hocket__cancel {
    HOCKET__CANCEL_NONE,
    HOCKET__CANCEL_HERE, /* its program: with it end the calls of its agents, and what it has submitted goes on */
    HOCKET__CANCEL_SAID, /* a message: with it ends everything that it has called */
};

struct hocket__stored {
    struct hocket__run *run;
    struct hocket__store *store;
    struct hocket__store_claim claim;
    enum hocket__run_phase phase;
    enum hocket__run_claim claim_state; /* of the claim */
    enum hocket__run_inbox inbox;
    enum hocket__run_room room;
    enum hocket__origin origin;
    enum hocket__cancel cancel;
    enum hocket__store_state state, was; /* of its row now; and when it was taken */
    struct hocket__retold retold;
    struct hocket__buf fork;    /* the changes of a fork that has not continued yet, as JSON */
    struct hocket__buf pool;    /* the pool whose workers may take it; empty: none */
    struct hocket__buf consent; /* what say_consent says to it when it is live; empty: nothing */
    struct hocket__buf
        waits_for; /* waiting_for of its row, while it is suspended (inbox.c) or if it is put back */
    struct hocket__list opens;
    struct hocket__list idle;        /* host.idle, while waiting.c is to look at it */
    struct hocket__store_call *call; /* in flight: loading, or reading messages */
    struct hocket__store_wait opening;
    struct hocket__deadline later; /* when messages that could not be read are read again */
    uint64_t recorded;             /* the last record that was handed to the store */
    uint64_t recorded_before;      /* the last record that an earlier process stored */
    uint64_t put;      /* the place of its row in what was handed over; 0: the row existed */
    uint64_t ending;   /* the fiber that cancels what it has called (end.c); 0: none */
    int64_t due;       /* the time of day in its row; 0: none */
    unsigned attempts; /* how many workers in a row failed to get further with it */
    enum hocket__parks parks;
    bool draining;      /* it begins no new effect, and parks when none is in flight */
    bool changed;       /* waiting_for of its row is out of date */
    bool watches_inbox; /* the store is watched for messages */
    bool message_waits; /* a message came too early to be taken */
};

/* A run that is being resumed: what the store has answered so far, until the run begins. */
struct hocket__resuming {
    struct hocket__stored *stored;
    struct hocket__run *run;
    struct hocket__buf name, options;                  /* as asked for */
    struct hocket__buf target, input, own, generation; /* of its row: own are its options */
    uint8_t seed[HOCKET__STORE_SEED];
    bool has_input;
    uint64_t fence;            /* it is ours already, by this claim; 0: it has to be taken */
    size_t generations;        /* bytes of `generation` that are still to be asked for */
    bool latest;               /* it remembers its parent, and is made anew where it is another */
    bool forked;               /* and has not continued since */
    bool replay;               /* from its log alone */
    bool own_read;             /* its own files */
    bool lazy;                 /* it may stay suspended until it has a message */
    bool spoken_to;            /* it has one */
    struct hocket_error wrong; /* of its log, 0: nothing */
    struct hocket__kept *kept;
};

static inline bool hocket__stored_is_ours(const struct hocket__stored *s)
{
    return hocket__run_claim_is_ours(s->claim_state);
}

static inline bool hocket__stored_is_off(const struct hocket__stored *s)
{
    return hocket__run_claim_is_off(s->claim_state);
}

static inline bool hocket__stored_is_parked(const struct hocket__stored *s)
{
    return hocket__run_phase_is_parked(s->phase);
}

/* A store that was open has a part of its runs. A process that resumes them would repeat the effects that they have had since. */
static inline bool hocket__host_may_do_without(const struct hocket_host *h)
{
    return h->store_optional && !h->store_ready;
}

/* Its end is not reported yet: the store has neither confirmed nor refused it. */
static inline bool hocket__stored_is_held(const struct hocket__stored *s)
{
    return s && (hocket__run_phase_is_held(s->phase) || s->ending)
           && s->run->host->life < HOCKET__HOST_CLOSING;
}

/* ---- stored.c ------------------------------------------------------------------------------ */

/* Makes the state of a run that has no row yet. NULL: out of memory. */
struct hocket__stored *hocket__stored_new(struct hocket__run *r, struct hocket__store *store);
/* Makes its log go to the store from now on. */
int hocket__stored_keep(struct hocket__stored *s, struct hocket__kept *k, struct hocket_error *err);
struct hocket__kept *hocket__stored_kept(
    struct hocket__stored *s, const uint8_t seed[HOCKET__STORE_SEED]);
/* The state of its writes: 0, or why the run must not continue. It may continue without a store that broke (end.c). */
int hocket__stored_taken(const struct hocket__stored *s, int status, struct hocket_error *err);
void hocket__stored_record(struct hocket__stored *s); /* hands new records of its journal over */
void hocket__stored_abandon(
    struct hocket__stored *s); /* the store belongs to another process now (fork) */
void hocket__stored_give_back(struct hocket__stored *s); /* releases its claim, if it has one */
/* Stores a file of its own generation. */
void hocket__stored_file(
    struct hocket__stored *s, struct hocket__str name, struct hocket__str text);
/* For a run that was continued by hand and whose replay did not finish: sets the row back to what it said before. */
void hocket__pooled_restore(
    const struct hocket__stored *s, struct hocket__store_run *row, unsigned *set);
/* For a run that cannot continue here for a reason outside of it: fills the row so that another worker tries later. */
void hocket__pooled_put_off(struct hocket__stored *s, const struct hocket_error *why,
    struct hocket__buf *waiting, struct hocket__store_run *row, unsigned *set);

/* Its fiber has ended: an error of its log replaces the result of Lua. */
void hocket__run_kept_ended(struct hocket__run *r);
/* It finished and cannot be stored: its result gets the error and keeps the text. */
void hocket__run_fail_late(struct hocket__run *r, const struct hocket_error *why);
void hocket__run_unkeep(struct hocket__run *r);

/* 0 or ENOMEM. */
int hocket__retold_add(
    struct hocket__retold *t, uint64_t seq, struct hocket__str json, const char *name);
/* Makes the log of a run for `hocket replay`. NULL: out of memory. */
struct hocket__kept *hocket__stored_retell(
    struct hocket__stored *s, const uint8_t seed[HOCKET__STORE_SEED]);
/* Its fiber has ended: fails if it reported fewer records than before. */
void hocket__retold_end(struct hocket__stored *s);
void hocket__retold_free(struct hocket__stored *s);

/* ---- end.c --------------------------------------------------------------------------------- */

/* Its fibers have ended. If it was cancelled (s->cancel), its end waits until the runs that it has called are cancelled. */
void hocket__stored_end(struct hocket__stored *s);
/* False: it has none, or that has ended. */
bool hocket__run_cancel_fiber(struct hocket__run *r);
/* Parks a draining run whose fibers rest. Returns whether it was parked. */
bool hocket__pooled_park_drained(struct hocket__stored *s);
void hocket__stored_free(struct hocket__stored *s); /* NULL is fine */

/* ---- waiting.c ----------------------------------------------------------------------------- */

void hocket__stored_set_state(struct hocket__stored *s, enum hocket__store_state state);
/* Notes a record that opens or closes a question, approval, input or signal. */
void hocket__waiting_note(struct hocket__stored *s, const struct hocket__line *line);
/* Its fibers rest. If they wait for somebody outside, this writes it to the row and takes the run's messages; a run that may
 * park does so. Called when no Lua runs. */
void hocket__waiting_look(struct hocket__stored *s);
/* Does the same as soon as no Lua runs. */
void hocket__waiting_look_soon(struct hocket__stored *s);
/* Writes its state to the row if it waits only for events from outside. False: it waits for something else. */
bool hocket__waiting_state(struct hocket__stored *s);
/* The time of day for which alone it waits, and at which its budget begins anew; 0: it waits for something else. */
int64_t hocket__waiting_until(const struct hocket__stored *s);
void hocket__waiting_free(struct hocket__stored *s);

/* ---- inbox.c ------------------------------------------------------------------------------- */

/* The text of a member that is a string, or the JSON of any, in *out. False: there is none. */
bool hocket__inbox_member(
    struct hocket__str json, const char *name, bool as_json, struct hocket__buf *out);
/* It is ours and continues: from now on a message can cancel it. */
void hocket__inbox_listen(struct hocket__stored *s);
/* Its program cancels it, and its log cannot say so yet: a message in the store does, to this process or to the one that continues
 * it if this one ends before. False: it cannot be kept. */
bool hocket__inbox_cancel(struct hocket__stored *s);
/* The same of a run that is ours only now. 0, or a status. */
int hocket__inbox_cancel_taken(struct hocket__stored *s);
/* Its replay is over: from now on it takes all messages, also while it works. */
void hocket__inbox_live(struct hocket__stored *s);
/* Reads its messages, then calls hocket__waiting_look. */
void hocket__inbox_read(struct hocket__stored *s);
/* Whether the run has room again for messages that it refused. */
bool hocket__inbox_has_room(struct hocket__stored *s);
/* Its journal has grown: reads messages again that came too early. */
void hocket__inbox_again(struct hocket__stored *s);
void hocket__inbox_end(struct hocket__stored *s);
/* The store has changed: asks which runs have messages, and lets those read them. */
void hocket__inbox_ask(struct hocket_host *h);

/* Whether a run of this row, resumed with these options, may stay suspended until it gets a message. */
bool hocket__suspend_may(struct hocket__str options, const struct hocket__store_run *row);
/* It is claimed, or the store has changed: asks for messages; without any it stays suspended. 0, or a status. */
int hocket__suspend_check(struct hocket__stored *s);
/* Gives the event run_asleep, once. */
bool hocket__suspended_event(struct hocket__run *r, struct hocket_event *e);
void hocket__suspended_free(struct hocket__stored *s);

/* ---- resume.c ----------------------------------------------------------------------------------- */

/* Ends a run that is still being read, as cancelled, and leaves its row as it is. False: it is not being read. */
bool hocket__resume_cancel(struct hocket__run *r);
/* Ends a run that is still being read, and is not only replayed, as parked. False: it is not such a run. */
bool hocket__resume_park(struct hocket__run *r);
/* The same with a status and why; NULL: in its own words. */
void hocket__resume_end(struct hocket__run *r, int status, const struct hocket_error *err);
/* Reads what a claimed run needs to continue. An error ends the run. */
void hocket__resume_read(struct hocket__run *r);
void hocket__resume_free(struct hocket__resuming *g); /* NULL is fine */
/* Makes a run that will continue from the store, by its whole id; `told` is how many events it has reported at least. NULL:
 * out of memory. It is in no list; hocket__resume_start asks the store. */
struct hocket__run *hocket__resume_new(struct hocket_host *host, struct hocket__store *store,
    const char *name, const char *options, uint64_t told, hocket_event_cb on_event,
    hocket_done_cb on_done, void *ud);
int hocket__resume_start(struct hocket__run *r);
