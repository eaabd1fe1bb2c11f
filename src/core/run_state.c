#include "core/run_state.h"

#include <stdint.h>

/* A cell: the next state and the actions. A cell that is not listed stays and asks for nothing. */
struct cell {
    bool is_set;
    uint8_t next, actions;
};

static unsigned step(const struct cell *c, unsigned *state)
{
    if (!c->is_set)
        return 0;
    *state = c->next;
    return c->actions;
}

#define TO(state)                                                                                  \
    {                                                                                              \
        true, HOCKET__##state, 0                                                                   \
    }
#define TO_DO(state, action)                                                                       \
    {                                                                                              \
        true, HOCKET__##state, (action)                                                            \
    }

/* ---- Phase -------------------------------------------------------------------------------------- */

static const struct cell phases[HOCKET__RUN_PHASES][HOCKET__RUN_EVENTS] = {
    [HOCKET__RUN_LOADING] = {
        [HOCKET__RUN_START] = TO(RUN_LIVE),
        [HOCKET__RUN_RETELL] = TO(RUN_RETELLING),
        [HOCKET__RUN_REPLAY] = TO(RUN_REPLAYING),
        [HOCKET__RUN_SUSPEND] = TO_DO(RUN_SUSPENDED, HOCKET__RUN_WATCH),
        [HOCKET__RUN_WAKE] = TO_DO(RUN_LOADING, HOCKET__RUN_LOAD),
    },
    [HOCKET__RUN_SUSPENDED] = {
        [HOCKET__RUN_TELL] = TO(RUN_SUSPENDED_REPORTED),
        [HOCKET__RUN_WAKE] = TO_DO(RUN_LOADING, HOCKET__RUN_UNWATCH | HOCKET__RUN_LOAD),
    },
    [HOCKET__RUN_SUSPENDED_REPORTED] = {
        [HOCKET__RUN_WAKE] = TO_DO(RUN_LOADING, HOCKET__RUN_UNWATCH | HOCKET__RUN_LOAD),
    },
    [HOCKET__RUN_RETELLING] = {
        [HOCKET__RUN_END] = TO(RUN_ENDED),
    },
    [HOCKET__RUN_REPLAYING] = {
        [HOCKET__RUN_USED_UP] = TO_DO(RUN_CATCHING_UP, HOCKET__RUN_ANNOUNCE),
        [HOCKET__RUN_PARK] = TO(RUN_CUT),
        [HOCKET__RUN_END] = TO(RUN_ENDED),
    },
    [HOCKET__RUN_CATCHING_UP] = {
        [HOCKET__RUN_USED_UP] = TO_DO(RUN_CATCHING_UP, HOCKET__RUN_ANNOUNCE),
        [HOCKET__RUN_HEARD] = TO(RUN_LIVE),
        [HOCKET__RUN_PARK] = TO(RUN_PARKED),
        [HOCKET__RUN_END] = TO(RUN_ENDED),
    },
    [HOCKET__RUN_LIVE] = {
        [HOCKET__RUN_USED_UP] = TO_DO(RUN_LIVE, HOCKET__RUN_ANNOUNCE),
        [HOCKET__RUN_PARK] = TO(RUN_PARKED),
        [HOCKET__RUN_END] = TO(RUN_ENDED),
    },
    [HOCKET__RUN_CUT] = {
        [HOCKET__RUN_END] = TO(RUN_ENDED_PARKED),
    },
    [HOCKET__RUN_PARKED] = {
        [HOCKET__RUN_END] = TO(RUN_ENDED_PARKED),
    },
    [HOCKET__RUN_HELD] = {
        [HOCKET__RUN_LET_GO] = TO(RUN_ENDED),
    },
    [HOCKET__RUN_HELD_PARKED] = {
        [HOCKET__RUN_LET_GO] = TO(RUN_ENDED_PARKED),
    },
    [HOCKET__RUN_ENDED] = {
        [HOCKET__RUN_HOLD] = TO(RUN_HELD),
    },
    [HOCKET__RUN_ENDED_PARKED] = {
        [HOCKET__RUN_HOLD] = TO(RUN_HELD_PARKED),
    },
};

unsigned hocket__run_phase_on(enum hocket__run_phase *phase, enum hocket__run_event event)
{
    unsigned state = *phase, actions = step(&phases[state][event], &state);
    *phase = state;
    return actions;
}

bool hocket__run_phase_is_live(enum hocket__run_phase phase)
{
    return phase == HOCKET__RUN_CATCHING_UP || phase == HOCKET__RUN_LIVE
           || phase == HOCKET__RUN_PARKED;
}

bool hocket__run_phase_is_replaying(enum hocket__run_phase phase)
{
    return phase == HOCKET__RUN_REPLAYING || phase == HOCKET__RUN_CUT;
}

bool hocket__run_phase_hears(enum hocket__run_phase phase)
{
    return phase == HOCKET__RUN_CATCHING_UP || phase == HOCKET__RUN_LIVE;
}

bool hocket__run_phase_is_suspended(enum hocket__run_phase phase)
{
    return phase == HOCKET__RUN_SUSPENDED || phase == HOCKET__RUN_SUSPENDED_REPORTED;
}

bool hocket__run_phase_is_parked(enum hocket__run_phase phase)
{
    return phase == HOCKET__RUN_CUT || phase == HOCKET__RUN_PARKED
           || phase == HOCKET__RUN_HELD_PARKED || phase == HOCKET__RUN_ENDED_PARKED;
}

bool hocket__run_phase_is_held(enum hocket__run_phase phase)
{
    return phase == HOCKET__RUN_HELD || phase == HOCKET__RUN_HELD_PARKED;
}

/* ---- Claim -------------------------------------------------------------------------------------- */

/* Of a claim the one action: it is given back to the store. */
#define BACK 1

static const struct cell claims[HOCKET__CLAIMS][HOCKET__CLAIM_EVENTS] = {
    [HOCKET__CLAIM_NONE] = {
        [HOCKET__CLAIM_PUT] = TO(CLAIM_MADE),
        [HOCKET__CLAIM_TAKE] = TO(CLAIM_TAKEN),
        [HOCKET__CLAIM_WITHOUT] = TO(CLAIM_OFF),
        [HOCKET__CLAIM_ABANDON] = TO(CLAIM_OFF),
    },
    [HOCKET__CLAIM_MADE] = {
        [HOCKET__CLAIM_WRITTEN] = TO(CLAIM_CONFIRMED),
        [HOCKET__CLAIM_REFUSED] = TO(CLAIM_LOST),
        [HOCKET__CLAIM_BREAK] = TO(CLAIM_NONE),
        [HOCKET__CLAIM_WITHOUT] = TO(CLAIM_OFF),
        [HOCKET__CLAIM_ABANDON] = TO(CLAIM_OFF),
        [HOCKET__CLAIM_RETURN] = TO_DO(CLAIM_BACK_NEW, BACK),
    },
    [HOCKET__CLAIM_TAKEN] = {
        [HOCKET__CLAIM_WRITTEN] = TO(CLAIM_CONFIRMED),
        [HOCKET__CLAIM_REFUSED] = TO(CLAIM_LOST),
        [HOCKET__CLAIM_BREAK] = TO(CLAIM_BROKEN),
        [HOCKET__CLAIM_WITHOUT] = TO(CLAIM_OFF),
        [HOCKET__CLAIM_ABANDON] = TO(CLAIM_OFF),
        [HOCKET__CLAIM_RETURN] = TO_DO(CLAIM_BACK, BACK),
    },
    [HOCKET__CLAIM_CONFIRMED] = {
        [HOCKET__CLAIM_REFUSED] = TO(CLAIM_LOST),
        [HOCKET__CLAIM_BREAK] = TO(CLAIM_BROKEN),
        [HOCKET__CLAIM_WITHOUT] = TO(CLAIM_OFF),
        [HOCKET__CLAIM_ABANDON] = TO(CLAIM_OFF),
        [HOCKET__CLAIM_RETURN] = TO_DO(CLAIM_BACK, BACK),
    },
    [HOCKET__CLAIM_BACK_NEW] = {
        [HOCKET__CLAIM_WRITTEN] = TO(CLAIM_BACK),
        [HOCKET__CLAIM_WITHOUT] = TO(CLAIM_OFF),
        [HOCKET__CLAIM_ABANDON] = TO(CLAIM_OFF),
    },
    [HOCKET__CLAIM_BACK] = {
        [HOCKET__CLAIM_WITHOUT] = TO(CLAIM_OFF),
        [HOCKET__CLAIM_ABANDON] = TO(CLAIM_OFF),
    },
    [HOCKET__CLAIM_BROKEN] = {
        [HOCKET__CLAIM_WITHOUT] = TO(CLAIM_OFF),
        [HOCKET__CLAIM_ABANDON] = TO(CLAIM_OFF),
    },
    [HOCKET__CLAIM_LOST] = {
        [HOCKET__CLAIM_WITHOUT] = TO(CLAIM_OFF_LOST),
        [HOCKET__CLAIM_ABANDON] = TO(CLAIM_OFF),
        [HOCKET__CLAIM_RETURN] = TO_DO(CLAIM_BACK, BACK),
    },
    [HOCKET__CLAIM_OFF_LOST] = {
        [HOCKET__CLAIM_ABANDON] = TO(CLAIM_OFF),
        [HOCKET__CLAIM_RETURN] = TO_DO(CLAIM_OFF, BACK),
    },
};

bool hocket__run_claim_on(enum hocket__run_claim *claim, enum hocket__claim_event event)
{
    unsigned state = *claim, actions = step(&claims[state][event], &state);
    *claim = state;
    return actions != 0;
}

bool hocket__run_claim_is_ours(enum hocket__run_claim claim)
{
    return claim == HOCKET__CLAIM_MADE || claim == HOCKET__CLAIM_TAKEN
           || claim == HOCKET__CLAIM_CONFIRMED;
}

bool hocket__run_claim_is_off(enum hocket__run_claim claim)
{
    return claim == HOCKET__CLAIM_OFF || claim == HOCKET__CLAIM_OFF_LOST;
}

bool hocket__run_claim_is_known(enum hocket__run_claim claim)
{
    return claim == HOCKET__CLAIM_TAKEN || claim == HOCKET__CLAIM_CONFIRMED
           || claim == HOCKET__CLAIM_BACK || claim == HOCKET__CLAIM_BROKEN
           || claim == HOCKET__CLAIM_LOST;
}

/* ---- Inbox -------------------------------------------------------------------------------------- */

static const struct cell inboxes[HOCKET__INBOXES][HOCKET__INBOX_EVENTS] = {
    [HOCKET__INBOX_STALE] = {
        [HOCKET__INBOX_ASK] = TO_DO(INBOX_READING, HOCKET__INBOX_START),
    },
    [HOCKET__INBOX_READING] = {
        [HOCKET__INBOX_ASK] = TO(INBOX_AGAIN),
        [HOCKET__INBOX_REFUSED] = TO_DO(INBOX_STALE, HOCKET__INBOX_LATER),
        [HOCKET__INBOX_FAIL] = TO_DO(INBOX_FAILED, HOCKET__INBOX_LATER | HOCKET__INBOX_WARN),
        [HOCKET__INBOX_DONE] = TO_DO(INBOX_READ, HOCKET__INBOX_LOOK),
        [HOCKET__INBOX_DROP] = TO(INBOX_STALE),
    },
    [HOCKET__INBOX_AGAIN] = {
        [HOCKET__INBOX_FAIL] = TO_DO(INBOX_FAILED, HOCKET__INBOX_LATER | HOCKET__INBOX_WARN),
        [HOCKET__INBOX_DONE] = TO_DO(INBOX_READING, HOCKET__INBOX_START),
        [HOCKET__INBOX_DROP] = TO(INBOX_STALE),
    },
    [HOCKET__INBOX_READ] = {
        [HOCKET__INBOX_ASK] = TO_DO(INBOX_READING, HOCKET__INBOX_START),
        [HOCKET__INBOX_QUESTION] = TO(INBOX_STALE),
    },
    [HOCKET__INBOX_FAILED] = {
        [HOCKET__INBOX_ASK] = TO_DO(INBOX_RETRYING, HOCKET__INBOX_START),
    },
    [HOCKET__INBOX_RETRYING] = {
        [HOCKET__INBOX_ASK] = TO(INBOX_RETRYING_AGAIN),
        [HOCKET__INBOX_REFUSED] = TO_DO(INBOX_FAILED, HOCKET__INBOX_LATER),
        [HOCKET__INBOX_FAIL] = TO_DO(INBOX_FAILED, HOCKET__INBOX_LATER),
        [HOCKET__INBOX_DONE] = TO_DO(INBOX_READ, HOCKET__INBOX_LOOK),
        [HOCKET__INBOX_DROP] = TO(INBOX_FAILED),
    },
    [HOCKET__INBOX_RETRYING_AGAIN] = {
        [HOCKET__INBOX_FAIL] = TO_DO(INBOX_FAILED, HOCKET__INBOX_LATER),
        [HOCKET__INBOX_DONE] = TO_DO(INBOX_READING, HOCKET__INBOX_START),
        [HOCKET__INBOX_DROP] = TO(INBOX_FAILED),
    },
};

unsigned hocket__run_inbox_on(enum hocket__run_inbox *inbox, enum hocket__inbox_event event)
{
    unsigned state = *inbox, actions = step(&inboxes[state][event], &state);
    *inbox = state;
    return actions;
}

bool hocket__run_inbox_is_reading(enum hocket__run_inbox inbox)
{
    return inbox == HOCKET__INBOX_READING || inbox == HOCKET__INBOX_AGAIN
           || inbox == HOCKET__INBOX_RETRYING || inbox == HOCKET__INBOX_RETRYING_AGAIN;
}

bool hocket__run_inbox_has_failed(enum hocket__run_inbox inbox)
{
    return inbox == HOCKET__INBOX_FAILED || inbox == HOCKET__INBOX_RETRYING
           || inbox == HOCKET__INBOX_RETRYING_AGAIN;
}

/* ---- Room --------------------------------------------------------------------------------------- */

static const struct cell rooms[HOCKET__ROOMS][HOCKET__ROOM_EVENTS] = {
    [HOCKET__ROOM_FREE] = {
        [HOCKET__ROOM_NO] = TO_DO(ROOM_FULL, HOCKET__ROOM_WARN),
    },
    [HOCKET__ROOM_FULL] = {
        [HOCKET__ROOM_BEGIN] = TO(ROOM_PASS),
    },
    [HOCKET__ROOM_PASS] = {
        [HOCKET__ROOM_HEAR] = TO_DO(ROOM_PASSING, HOCKET__ROOM_SAY),
        [HOCKET__ROOM_FINISH] = TO(ROOM_OWED),
    },
    [HOCKET__ROOM_PASSING] = {
        [HOCKET__ROOM_NO] = TO(ROOM_FULL),
        [HOCKET__ROOM_FINISH] = TO(ROOM_FREE),
    },
    [HOCKET__ROOM_OWED] = {
        [HOCKET__ROOM_HEAR] = TO_DO(ROOM_FREE, HOCKET__ROOM_SAY),
    },
};

unsigned hocket__run_room_on(enum hocket__run_room *room, enum hocket__room_event event)
{
    unsigned state = *room, actions = step(&rooms[state][event], &state);
    *room = state;
    return actions;
}
