/* The states of a job and the legal transitions between them: the one table
 * that everything else asks.
 *
 * Words for outside (events, records) are fewer than states: whether a job is queued or waits for
 * its turn again is nobody's business but the broker's. */
#include "core/broker/broker.h"

#define BIT(NAME) (1u << HOCKET__JOB_##NAME)

/* Any state that is not final may end so: a deadline, a cancellation. */
#define ENDS (BIT(FAILED) | BIT(CANCELLED))

/* An attempt that is under way may be lost and begun again. */
#define AGAIN (BIT(READY) | BIT(DELAYED))

/* PENDING is a state for the length of the submitting call alone. READY cannot become WAITING:
 * who waits has begun. */
static const unsigned legal[HOCKET__JOB_STATE_COUNT] = {
    [HOCKET__JOB_PENDING] = BIT(BLOCKED) | BIT(READY) | BIT(SKIPPED) | ENDS,
    [HOCKET__JOB_BLOCKED] = BIT(READY) | BIT(SKIPPED) | ENDS,
    [HOCKET__JOB_READY] = BIT(RUNNING) | ENDS,
    [HOCKET__JOB_DELAYED] = BIT(READY) | ENDS,
    [HOCKET__JOB_RUNNING] = BIT(WAITING) | BIT(COMPLETED) | AGAIN | ENDS,
    [HOCKET__JOB_WAITING] = BIT(RESUMING) | AGAIN | ENDS,
    [HOCKET__JOB_RESUMING] = BIT(RUNNING) | AGAIN | ENDS,
    [HOCKET__JOB_COMPLETED] = 0,
    [HOCKET__JOB_FAILED] = 0,
    [HOCKET__JOB_SKIPPED] = 0,
    [HOCKET__JOB_CANCELLED] = 0,
};

static const char *const words[] = {
#define WORD(NAME, word, outward) word,
    HOCKET__JOB_STATES(WORD)
#undef WORD
};

static const char *const outwards[] = {
#define OUTWARD(NAME, word, outward) outward,
    HOCKET__JOB_STATES(OUTWARD)
#undef OUTWARD
};

static const char *const events[] = { "pending", "running", "progress", "log", "completed",
    "failed", "cancelled", "skipped" };

const char *hocket__job_state_word(enum hocket__job_state state)
{
    return words[state];
}

const char *hocket__job_state_outward(enum hocket__job_state state)
{
    return outwards[state];
}

const char *hocket__broker_event_word(enum hocket__broker_event_type type)
{
    return events[type];
}

bool hocket__job_can(enum hocket__job_state from, enum hocket__job_state to)
{
    return legal[from] >> to & 1;
}

bool hocket__job_is_final(enum hocket__job_state state)
{
    return legal[state] == 0;
}

bool hocket__job_is_held(enum hocket__job_state state)
{
    return state == HOCKET__JOB_RUNNING || state == HOCKET__JOB_WAITING
           || state == HOCKET__JOB_RESUMING;
}
