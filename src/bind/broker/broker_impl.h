/* What the files of hocket.internal.core.broker share: the broker and its jobs as Lua has them.
 *
 *   lua_broker.c  the broker: making it, limits, cancelling, forgetting; its methods
 *   submit.c      tables that describe jobs, and jobs that are made of them
 *   job.c         what a job's function is given: fields, notes, its account
 *   work.c        the dispatcher: jobs start, and go on; what a job's function came to
 *   wait.c        waits, which hold no slot, and the detection of waits that would never end
 *   tell.c        events, in the journal of the job's run or for functions of Lua; what is known of jobs, and their results
 *
 * A job is one userdata, from when it is submitted until the broker forgets it. The broker keeps
 * it in a table by its address, and core/broker/broker.h gives the address back with every event: so
 * neither an id is looked up nor a table made for what happens to each job. */
#pragma once

#include "base/buf.h"
#include "bind/fiber/fiber.h"
#include "bind/broker/broker.h"
#include "bind/util.h"
#include "core/broker/broker.h"

struct hocket__lua_accounts;
struct hocket__lua_journal;

struct hocket__lua_broker {
    struct hocket__runtime *rt;
    struct hocket__broker *broker;
    struct hocket__clock *clock; /* of the times of its jobs; NULL: the host's */
    /* What the callbacks of the broker took note of, for hocket__jobs_follow and l_take. */
    struct hocket__list over, dropped, told;
    struct hocket__str shown; /* of the result that is being told; NULL: the result itself */
    uint64_t random;          /* jitter; not for secrets */
    uint64_t dispatcher;      /* the fiber that is woken when there may be something to do */
    uint64_t starting;        /* the job that it makes a fiber for; else 0 */
    int failures;             /* of the dispatcher, since it last started a job */
    bool keyed;               /* jobs have paths, and jitter hangs on these */
    bool dead;                /* the dispatcher has ended, and nobody told it to */
    bool nudged;              /* it was woken and has not looked since: once is enough */
    bool lost;                /* an event could not be noted: memory was out */
};

/* The time by which its jobs go. Their deadlines count work, where the run is kept. */
static inline int64_t hocket__broker_now(const struct hocket__lua_broker *b)
{
    return hocket__clock_work_ms(b->clock);
}

/* User values of a broker: its jobs by address, their homes by run, the function of their fibers, the one that gives numbers. */
enum {
    HOCKET__BROKER_JOBS = 1,
    HOCKET__BROKER_HOMES,
    HOCKET__BROKER_WORK,
    HOCKET__BROKER_NUMBERS,
    HOCKET__BROKER_VALUES = HOCKET__BROKER_NUMBERS
};

/* What the jobs of one run at one broker have in common; each keeps it, and it keeps the rest. */
struct hocket__job_home {
    struct hocket__lua_broker *broker;
    struct hocket__lua_journal *journal; /* the run's; NULL: there is no run */
    struct hocket__lua_accounts *accounts;
};

/* User values of a home. */
enum {
    HOCKET__HOME_BROKER = 1,
    HOCKET__HOME_RUN,
    HOCKET__HOME_JOURNAL,
    HOCKET__HOME_ACCOUNTS,
    HOCKET__HOME_VALUES = HOCKET__HOME_ACCOUNTS
};

/* A hundred thousand may be queued, so it has nothing twice; test_memory.lua weighs it. */
struct hocket__lua_job {
    const struct hocket__job_home *home;
    struct hocket__str op;          /* what its events call it */
    struct hocket__list link;       /* in one of the broker's lists */
    struct hocket__job_wait *waits; /* of its fibers: see wait.c */
    uint64_t id, parent, fence;
    uint64_t fiber;   /* of its attempt, or of the one before; 0: none */
    uint64_t account; /* 0: not opened */
    uint64_t moved;   /* how often it got on */
    uint64_t
        path; /* in a run that is kept: what the paths of its attempts are made of; 0: nothing */
    uint32_t attempt;
    uint32_t waiters; /* fibers of it that wait for jobs: while there are any it holds no slot */
    uint32_t untold;  /* events that functions of Lua have not heard */
    bool tells : 1;   /* its events are for functions of Lua */
    bool quiet : 1;   /* and not for the journal */
    bool background : 1;
    bool parked : 1;
    bool resuming : 1;
    bool ending : 1;  /* its function has returned */
    bool put_off : 1; /* a fiber waits until its next attempt is due */
    bool ended : 1;   /* it is final */
    bool forgotten : 1;
    bool
        dropped : 1; /* nobody will ask for its outcome: it is forgotten once its function has returned */
};

/* A fiber that waits for jobs, or for its own job's slot: an object on its stack. */
struct hocket__job_wait {
    struct hocket__lua_broker *b;
    struct hocket__lua_job *job;   /* whose fiber waits, and holds no slot for it; NULL: nobody's */
    struct hocket__lua_job *holds; /* the same, or one of another broker, which keeps its slot */
    struct hocket__job_wait *next; /* of `holds`, while it waits for jobs or wants the slot */
    uint64_t fence, token;
    const uint64_t *ids; /* what it waits for; on the stack, too */
    size_t n;
    uint64_t waited; /* the awaited job, which is cancelled when the wait is given up; or 0 */
    uint64_t reads;  /* the job whose next event it waits for; or 0 */
    int64_t due_ms;  /* on the clock of the run's work; 0: never */
    enum hocket__wait_mode mode;
    bool left;   /* it is counted among the job's waiters */
    bool waits;  /* the broker has it */
    bool wants;  /* the slot back */
    bool listed; /* among the job's waits */
    bool timed_out;
    bool forgets;     /* what was waited for, once its result is taken */
    lua_KContext ctx; /* for what comes after */
    lua_KFunction after;
};

/* User values of a job. Those from DATA on it has only when one of them was given. */
enum {
    HOCKET__JOB_CALL = 1, /* its function, until it has ended; then its value, or its error */
    HOCKET__JOB_CONTEXT,  /* its submitter's */
    HOCKET__JOB_HOME,
    HOCKET__JOB_SHORT = HOCKET__JOB_HOME,
    HOCKET__JOB_DATA,
    HOCKET__JOB_KEEPS, /* names, sorted: these members of its value are the result; else all of it */
    HOCKET__JOB_EMIT,
    HOCKET__JOB_SCOPE,
    HOCKET__JOB_OP,
    HOCKET__JOB_TRIGGER,
    HOCKET__JOB_BUDGET,
    HOCKET__JOB_LONG = HOCKET__JOB_BUDGET
};

/* The first argument, of a host that is open. Raises when it is none. */
struct hocket__lua_broker *hocket__check_broker(lua_State *L);

static inline uint64_t hocket__job_id_at(lua_State *L, int arg)
{
    return (uint64_t) luaL_checkinteger(L, arg);
}

/* Pushes what its home keeps for the job at `job`: HOCKET__HOME_…; returns its type. */
int hocket__job_push_from_home(lua_State *L, int job, int value);
/* The job of an id, until it is forgotten; NULL. */
struct hocket__lua_job *hocket__job_find(const struct hocket__lua_broker *b, uint64_t id);
/* The fiber of its attempt; NULL: it is not at work. */
struct hocket__fiber *hocket__job_fiber(const struct hocket__lua_job *j);
/* It is about to be cancelled by the running fiber, which ends after it: so the accounts of who waits for that fiber's end are whole. */
void hocket__job_adopt(const struct hocket__lua_broker *b, uint64_t id);
/* Pushes its userdata; the broker's is at `at`. */
void hocket__job_push(lua_State *L, int at, const struct hocket__lua_job *j);
/* The job that the running fiber works for, when it is one of this broker's (NULL: of any); pushed. */
struct hocket__lua_job *hocket__job_here(lua_State *L, struct hocket__lua_broker *b);
/* The number of the run that the running fiber belongs to, or 0. */
uint64_t hocket__run_here(lua_State *L);

/* Wakes the dispatcher, unless it is the one that runs. */
void hocket__broker_nudge(struct hocket__lua_broker *b);
void hocket__job_leave_wait(struct hocket__lua_job *j);

/* Submits the table at idx (`many`: all in the list at idx, or none) and fills ids: how many, or
 * a negative code. Raises what is wrong with a table. */
int hocket__jobs_submit(lua_State *L, struct hocket__lua_broker *b, int idx, bool many,
    uint64_t *ids, struct hocket_error *err);
#define HOCKET__JOBS_MAX 1000 /* of one call */

/* The hooks of the broker, and what they noted: jobs that ended let go of what they held, and
 * their fibers are cancelled. To be called after each call of the broker that may end jobs, with
 * its userdata at `at`. */
struct hocket__broker_hooks hocket__broker_lua_hooks(struct hocket__lua_broker *b);
/* Cancels a job and forgets it: at once, or when its function has cleaned up, which needs it. The broker
 * is at `at`. */
void hocket__job_drop(lua_State *L, int at, struct hocket__lua_broker *b, uint64_t id);
void hocket__jobs_follow(lua_State *L, int at, struct hocket__lua_broker *b);
void hocket__broker_forget_told(struct hocket__lua_broker *b);

/* A text of at most max bytes, with HOCKET__JOB_REST for what was cut off: in `room`, which has
 * max + sizeof(HOCKET__JOB_REST) bytes, or as it is. */
struct hocket__str hocket__job_shorten(struct hocket__str text, size_t max, char *room);
#define HOCKET__JOB_REST "…"

/* What it and all below it have used, as JSON in HOCKET__USAGE_MAX bytes; empty for nothing. */
struct hocket__str hocket__job_put_usage(const struct hocket__lua_job *j, char *out);

/* Methods of the broker: see the files named. */
int hocket__broker_l_submit(lua_State *L); /* submit.c */
int hocket__broker_l_submit_all(lua_State *L);
int hocket__broker_l_led_by(lua_State *L); /* work.c */
int hocket__broker_l_work(lua_State *L);
int hocket__broker_l_give_up(lua_State *L);
int hocket__broker_l_wait(lua_State *L); /* wait.c */
int hocket__broker_l_wait_for(lua_State *L);
int hocket__broker_l_call(lua_State *L);
int hocket__broker_l_await_event(lua_State *L);
int hocket__broker_l_leave(lua_State *L);
int hocket__broker_l_come_back(lua_State *L);
int hocket__broker_l_take_told(lua_State *L); /* tell.c */
int hocket__broker_l_result(lua_State *L);
int hocket__broker_l_poll(lua_State *L);
int hocket__broker_l_has_ended(lua_State *L);
int hocket__broker_l_reap(lua_State *L);
int hocket__broker_l_take(lua_State *L);
int hocket__broker_l_background(lua_State *L);
int hocket__broker_l_is_background(lua_State *L);
int hocket__broker_l_counts(lua_State *L);

/* Pushes nil and an error whose message is fmt with the id and a word (%I and %s); returns 2. */
int hocket__job_fail(
    lua_State *L, const char *code, const char *fmt, uint64_t id, const char *word);
/* Pushes the outcome of a job that has ended, as b:result(id) gives it. */
int hocket__job_push_result(lua_State *L, struct hocket__lua_broker *b, uint64_t id);
/* See job.c. */
int hocket__job_l_account_here(lua_State *L);
/* Pushes the function of a job's fiber: it is given the job. */
void hocket__job_push_work(lua_State *L);
/* Waits until the job at `job` holds a slot, and calls k(L, status, ctx). */
int hocket__job_regain(lua_State *L, int job, lua_KContext ctx, lua_KFunction k);
/* The slot is there (or not, when others of the job's fibers wait by now): wakes who wants it. */
void hocket__job_wake(struct hocket__lua_job *j);

/* Open what jobs and waits need: leave nothing on the stack, and the jobs' methods. */
void hocket__open_job(lua_State *L);
extern const char
    hocket__job_meta[]; /* the registry's key of the jobs' metatable, and their mark */
void hocket__open_wait(lua_State *L);
