/* What a durable run is in, as four tables of states and events. Nothing else decides it; src/host/run feeds the events and
 * carries out the actions.
 *
 *     phase    loading -> suspended -> loading -> replaying -> catching up -> live -> ended
 *                                   (started here) ----------------------> live -> parked -> held -> ended
 *     claim    none -> made or taken -> confirmed -> given back;  or lost;  or off: the run goes on without a store
 *     inbox    stale -> reading -> read;  reading -> failed -> retrying
 *     room     for what waits in the store because the run has no place for it
 *
 * An event that means nothing in a state changes nothing and asks for nothing. */
#pragma once

#include <stdbool.h>

/* Of the built-in prompts and tool sets, that of runs that begin now: their log holds what models were asked, so that
 * whoever changes these raises it, and keeps the words of the older ones (lua/hocket/internal/base/edition.lua). */
#define HOCKET__EDITION 6

/* ---- Phase -------------------------------------------------------------------------------------- */

enum hocket__run_phase {
    HOCKET__RUN_LOADING,            /* its row, files and log are read; it has no fiber */
    HOCKET__RUN_SUSPENDED,          /* only its row was read; it waits for a message */
    HOCKET__RUN_SUSPENDED_REPORTED, /* and the embedder knows */
    HOCKET__RUN_RETELLING,          /* it runs from its log alone, and writes nothing */
    HOCKET__RUN_REPLAYING,          /* its log says what comes */
    HOCKET__RUN_CATCHING_UP,        /* its log is used up; messages from before are not read yet */
    HOCKET__RUN_LIVE,               /* it does new work and takes messages */
    HOCKET__RUN_CUT,                /* parked before its log was used up */
    HOCKET__RUN_PARKED,             /* it ends in this process and is not over */
    HOCKET__RUN_HELD,               /* its fibers have ended; the store has not answered yet */
    HOCKET__RUN_HELD_PARKED,        /* the same, of a parked run */
    HOCKET__RUN_ENDED,              /* its end can be reported */
    HOCKET__RUN_ENDED_PARKED,       /* the same, of a parked run */
    HOCKET__RUN_PHASES
};

enum hocket__run_event {
    HOCKET__RUN_START,   /* its fiber begins, with a log that begins with it */
    HOCKET__RUN_RETELL,  /* its log is to be read for a replay alone */
    HOCKET__RUN_REPLAY,  /* its fiber begins with the log of an earlier process */
    HOCKET__RUN_SUSPEND, /* no message waits, and it may sleep */
    HOCKET__RUN_TELL,    /* the embedder takes the event run_asleep */
    HOCKET__RUN_WAKE,    /* a message waits, or somebody speaks to it here */
    HOCKET__RUN_USED_UP, /* its log, of an earlier process, is used up, or was empty */
    HOCKET__RUN_HEARD,   /* the messages in the store were read */
    HOCKET__RUN_PARK,    /* somebody parks it */
    HOCKET__RUN_END,     /* its fibers have ended */
    HOCKET__RUN_HOLD,    /* its end has to wait for the store */
    HOCKET__RUN_LET_GO,  /* the store has answered, or nobody waits any more */
    HOCKET__RUN_EVENTS
};

enum hocket__run_action {
    HOCKET__RUN_WATCH = 1 << 0,   /* watch the store for messages, and report that it sleeps */
    HOCKET__RUN_UNWATCH = 1 << 1, /* stop watching it */
    HOCKET__RUN_LOAD = 1 << 2,    /* read its files and its log */
    HOCKET__RUN_ANNOUNCE = 1 << 3 /* its row says that it is running; read its messages */
};

/* Moves the phase; the actions that follow. */
unsigned hocket__run_phase_on(enum hocket__run_phase *phase, enum hocket__run_event event);

/* It has come to where its log ends, in this process: also of a run that has been parked since. */
bool hocket__run_phase_is_live(enum hocket__run_phase phase);
/* It has not come so far, and its log says more. */
bool hocket__run_phase_is_replaying(enum hocket__run_phase phase);
/* It takes messages. */
bool hocket__run_phase_hears(enum hocket__run_phase phase);
bool hocket__run_phase_is_suspended(enum hocket__run_phase phase);
/* It ends in this process without being over, or has ended so. */
bool hocket__run_phase_is_parked(enum hocket__run_phase phase);
bool hocket__run_phase_is_held(enum hocket__run_phase phase);

/* ---- Claim -------------------------------------------------------------------------------------- */

enum hocket__run_claim {
    HOCKET__CLAIM_NONE,      /* none yet; or the store broke before it had anything of the run */
    HOCKET__CLAIM_MADE,      /* by a new row, of which the store may have nothing yet */
    HOCKET__CLAIM_TAKEN,     /* of a row that was there */
    HOCKET__CLAIM_CONFIRMED, /* the store has written something under it */
    HOCKET__CLAIM_BACK_NEW,  /* given back; the store may have nothing of the run */
    HOCKET__CLAIM_BACK,      /* given back */
    HOCKET__CLAIM_BROKEN,    /* the store broke */
    HOCKET__CLAIM_LOST,      /* the store has refused it */
    HOCKET__CLAIM_OFF,       /* the run goes on without a store */
    HOCKET__CLAIM_OFF_LOST,  /* the same, and the refused claim is still to be given back */
    HOCKET__CLAIMS
};

enum hocket__claim_event {
    HOCKET__CLAIM_PUT,     /* its new row was handed over */
    HOCKET__CLAIM_TAKE,    /* the store gave the claim to this process */
    HOCKET__CLAIM_WRITTEN, /* the store has written something under it */
    HOCKET__CLAIM_REFUSED, /* the store refuses it: another process has the run */
    HOCKET__CLAIM_BREAK,   /* the store broke, and the run must not go on without */
    HOCKET__CLAIM_WITHOUT, /* the store cannot be used, and the run goes on without */
    HOCKET__CLAIM_ABANDON, /* the store is another process's since a fork(2), or the host ends */
    HOCKET__CLAIM_RETURN,  /* the run ends here */
    HOCKET__CLAIM_EVENTS
};

/* Moves the claim. True: it has to be given back to the store. */
bool hocket__run_claim_on(enum hocket__run_claim *claim, enum hocket__claim_event event);

/* This process may write under it. */
bool hocket__run_claim_is_ours(enum hocket__run_claim claim);
/* The run goes on without a store. */
bool hocket__run_claim_is_off(enum hocket__run_claim claim);
/* The store has something of the run. */
bool hocket__run_claim_is_known(enum hocket__run_claim claim);

/* ---- Inbox -------------------------------------------------------------------------------------- */

enum hocket__run_inbox {
    HOCKET__INBOX_STALE,    /* there may be messages that nobody has read */
    HOCKET__INBOX_READING,  /* the store was asked */
    HOCKET__INBOX_AGAIN,    /* the same, and there may be newer ones */
    HOCKET__INBOX_READ,     /* all were read since the run began to wait */
    HOCKET__INBOX_FAILED,   /* they could not be read, and the log of the program says so */
    HOCKET__INBOX_RETRYING, /* after a failure the store was asked again */
    HOCKET__INBOX_RETRYING_AGAIN,
    HOCKET__INBOXES
};

enum hocket__inbox_event {
    HOCKET__INBOX_ASK,      /* messages are to be read */
    HOCKET__INBOX_REFUSED,  /* the store could not even be asked */
    HOCKET__INBOX_FAIL,     /* the store has failed to answer */
    HOCKET__INBOX_DONE,     /* the store has given all */
    HOCKET__INBOX_DROP,     /* the answer does not matter: there is no store any more */
    HOCKET__INBOX_QUESTION, /* the run asks something: what was read before is no answer */
    HOCKET__INBOX_EVENTS
};

enum hocket__inbox_action {
    HOCKET__INBOX_START = 1 << 0, /* ask the store */
    HOCKET__INBOX_LATER = 1 << 1, /* ask again a moment later */
    HOCKET__INBOX_WARN = 1 << 2,  /* tell the log of the program */
    HOCKET__INBOX_LOOK = 1 << 3   /* look whether the run waits */
};

unsigned hocket__run_inbox_on(enum hocket__run_inbox *inbox, enum hocket__inbox_event event);

bool hocket__run_inbox_is_reading(enum hocket__run_inbox inbox);
/* Reading failed the last time. */
bool hocket__run_inbox_has_failed(enum hocket__run_inbox inbox);

/* ---- Room --------------------------------------------------------------------------------------- */

enum hocket__run_room {
    HOCKET__ROOM_FREE,    /* nothing waits for room */
    HOCKET__ROOM_FULL,    /* some messages wait, and the log of the program says so */
    HOCKET__ROOM_PASS,    /* all are read again from the beginning */
    HOCKET__ROOM_PASSING, /* and the run knows */
    HOCKET__ROOM_OWED,    /* they were gone: the run learns it with the next message */
    HOCKET__ROOMS
};

enum hocket__room_event {
    HOCKET__ROOM_BEGIN,  /* the store is asked for messages */
    HOCKET__ROOM_HEAR,   /* the run is about to take one */
    HOCKET__ROOM_NO,     /* it has no room for that one */
    HOCKET__ROOM_FINISH, /* all were read */
    HOCKET__ROOM_EVENTS
};

enum hocket__room_action {
    HOCKET__ROOM_SAY = 1 << 0, /* the run hears that messages come from the beginning again */
    HOCKET__ROOM_WARN = 1 << 1 /* tell the log of the program */
};

unsigned hocket__run_room_on(enum hocket__run_room *room, enum hocket__room_event event);
