/* What the files about fibers share about runs that are kept, and how such a run goes on.
 *
 *     live     what comes from outside is appended and then done
 *     replay   it is held back; the log's entries are done in its place. No effect is begun.
 *
 * When the log is exhausted the run goes live where it stands: times that were being waited for are set to
 * what was left of them, effects that have no end are begun. Where it has diverged, or its log cannot be
 * written, its root is cancelled, and whatever is still to be cleaned up goes on without the log.
 *
 * Effects run in a child fiber that is not the run's: the log has only its outcome, not what it does, waits for or
 * gets. */
#pragma once

#include "bind/fiber/fiber_impl.h"
#include "core/gate.h"
#include "core/log/log.h"

struct hocket__kept {
    struct hocket__runtime *rt;
    struct hocket__log *log;
    struct hocket__clock *clock;
    struct hocket__gate gate;
    struct hocket__kept_hooks hooks;
    struct hocket__list link;    /* rt->kept_runs */
    struct hocket__list fibers;  /* in the order in which they were made */
    struct hocket__map by_path;  /* path -> fiber */
    struct hocket__map timeouts; /* of another run that is remembered: kept_replay.c */
    size_t refs;                 /* who made it, and its fibers */
    size_t n_ready;
    uint64_t root;     /* the fiber that entered; 0: none yet */
    uint64_t detached; /* fibers without a parent that were made so far */
    int64_t offset_ms; /* of its clock behind the system's, while it is live */
    int64_t wall_ms;   /* what the real clock showed at 0 of the run's clock */
    int64_t step_ms;   /* what its clock showed when the step began that is under way */
    uint64_t seed[2], drawn;
    uint64_t
        name; /* another one in each fork: what interfaces know its effects by. The begin of an effect has it as its value */
    uint32_t rests;
    uint32_t epoch, settled; /* of its files: see base/sources/kept.lua */
    uint64_t n_made,
        n_remembered; /* effects that have ended, and those of them that another run had made */
    int edition;      /* lua/hocket/internal/base/edition.lua; 0: the newest */
    bool out_of_turn; /* outcomes of the run that is remembered come at once */
    bool live;
    uint32_t restless;          /* its log is used up, and it never waits */
    uint32_t owing;             /* the same, while it has not told again what it told */
    bool over;                  /* nothing is appended any more */
    bool draining;              /* its fibers do not go on any more */
    struct hocket__list frozen; /* fibers that would */
    int own_ref;                /* a table for what modules of Lua keep for this run */
    int fed_ref;                /* another with the files that it was fed with, by name */
    int memory_ref;             /* a list of what it remembers of another run */
    int held;                   /* things that are about to be said to it by ourselves */
    struct hocket__work_clock *work;
    int64_t still_ms; /* how long that stood still, as the log says */
};

/* ---- kept.c, for await.c and its like ----------------------------------------------------------- */

/* A fiber is made by code that runs now. Its path: 0 for the next below its parent. */
void hocket__kept_adopt(struct hocket__fiber *f, struct hocket__fiber *parent, uint64_t path);
void hocket__kept_ending(struct hocket__fiber *f); /* it is done: with it may be the run */
void hocket__kept_drop(struct hocket__fiber *f); /* afterwards: it is no part of the run any more */
/* A wake from outside: whether it is to be done now. */
bool hocket__kept_woken(struct hocket__fiber *f);
/* The end of its time, a cancel from outside: goes into the log. */
void hocket__kept_timed_out(struct hocket__fiber *f);
void hocket__kept_cancelled(struct hocket__fiber *f);
void hocket__kept_stuck(struct hocket__fiber *f);
/* A wait begins: whether its time is to be set now. */
bool hocket__kept_waits(struct hocket__fiber *f, int64_t timeout_ms);
/* Whether a step that might rest now does so. `over`: its time is over. */
bool hocket__kept_rests(struct hocket__fiber *f, bool over);
/* A step of f begins. */
void hocket__kept_step(struct hocket__fiber *f);
/* Whether it drains: then f, which is in no list, waits until it is over. */
bool hocket__kept_freeze(struct hocket__fiber *f);

/* ---- kept_clock.c ------------------------------------------------------------------------------- */

/* Script time, as the log has it: without a read. */
int64_t hocket__kept_ms(const struct hocket__kept *k);
/* Its clock goes on from where the log stands, unless it goes on already. */
void hocket__kept_start_clock(struct hocket__kept *k);
/* The clock of a run, for its objects; NULL: out of memory. The run leaves it when it is gone. */
struct hocket__clock *hocket__clock_new(struct hocket__kept *k);
void hocket__clock_leave(struct hocket__clock *c);

/* ---- kept.c ------------------------------------------------------------------------------------- */

/* Appends. False: it could not be kept; then the run is going to end. */
bool hocket__kept_put(struct hocket__kept *k, struct hocket__log_entry *e);
/* Whether it goes on without its log: it is over, or has failed. */
bool hocket__kept_forsaken(const struct hocket__kept *k);
/* The same, or it is live: what comes from outside is done at once. */
bool hocket__kept_is_free(const struct hocket__kept *k);
/* It cannot continue: its root is asked to end. */
void hocket__kept_end(struct hocket__kept *k);
/* Its log is used up, and what it told behind the last entry is not all told again yet. */
bool hocket__kept_owes(const struct hocket__kept *k);
/* It owes, and did something for the n-th time that it does a million times at most: ends a run that never comes to it. */
void hocket__kept_check_owing(struct hocket__kept *k, uint32_t n);
/* Appends that something came for f from outside. Ends the run where that could not be kept. */
void hocket__kept_put_of(const struct hocket__fiber *f, enum hocket__log_kind kind);
/* Appends the real time: a process begins to write here. */
void hocket__kept_put_life(struct hocket__kept *k);
/* Whether it has gone on in this process, and what was said to it meanwhile is not heard yet. */
bool hocket__kept_is_deaf(const struct hocket__kept *k);

static inline struct hocket__fiber *hocket__kept_fiber(struct hocket__list *kin)
{
    return hocket__container_of(kin, struct hocket__fiber, kin);
}

/* ---- kept.c, memory -------------------------------------------------------------------------------- */

/* Until it is unwatched as often: where memory is out in a run's own code its log has failed. Nothing where no run's code
 * runs. */
void hocket__kept_watch_memory(struct hocket__runtime *rt);
void hocket__kept_unwatch_memory(struct hocket__runtime *rt);

/* The name of the i-th that comes of what has this one. */
uint64_t hocket__kept_path_of(uint64_t above, uint64_t i);

/* ---- kept_replay.c ------------------------------------------------------------------------------ */

/* When the wait of f that is under way timed out in the log of the run that is remembered; 0: it did not. */
uint64_t hocket__kept_timeout_there(const struct hocket__fiber *f);

/* Its root has entered. */
void hocket__kept_begin(struct hocket__kept *k);
/* A step has ended: the log's entries that are due are done. */
void hocket__kept_stepped(struct hocket__kept *k);

/* ---- kept_replay.c, checkpoints ------------------------------------------------------------------ */

/* others() -> what fibers of the run that go on beside the running one and those above it hand down: a list */
int hocket__kept_l_others(lua_State *L);
/* checkpoint(text) -> text: see hocket.internal.run.checkpoint */
int hocket__kept_l_checkpoint(lua_State *L);

/* ---- kept_effect.c ------------------------------------------------------------------------------ */

/* The running fiber; raises where it is of no run that is kept. */
struct hocket__fiber *hocket__kept_running(lua_State *L);
/* Raises what ended the log. */
void hocket__kept_check_log(lua_State *L, const struct hocket__kept *k);
/* Its name as text: so many hexadecimal digits. */
#define HOCKET__KEPT_NAME 16
/* Writes the low digits of v, the high ones first; gives where they end. */
char *hocket__kept_hex(char *at, uint64_t v, int digits);
/* An entry for the next effect of f, of what stands on the stack at 1 and 2: its name, and a digest of what is asked. */
struct hocket__log_entry hocket__kept_next_effect(
    lua_State *L, struct hocket__fiber *f, enum hocket__log_kind kind);
int hocket__kept_l_effect(lua_State *L);
/* no_memory(text): the outcome of an effect that had no memory even for that */
int hocket__kept_l_no_memory(lua_State *L);

/* In a replay: the effect that f waits for has ended as the entry says, which is passed. False: it
 * waits for none, or another. */
bool hocket__effect_ended_again(struct hocket__fiber *f, const struct hocket__log_entry *e);
/* The run goes live, or what the gate waited for is stored: the effect of f that has no end yet starts (again), or waits at the
 * gate. Does nothing where there is none. What goes wrong ends the log. */
void hocket__effect_enter(struct hocket__fiber *f);
/* Nothing of the run goes on: the remembered outcome that came first then comes now, unless a model is still asked whose answer
 * came before it. */
void hocket__effect_next_turn(struct hocket__kept *k);
/* The time of a wait of f is over. 0: it ends now. Else in how many milliseconds to look again: an outcome that came before its end in the
 * other run is still to be given, or something is still to be tried again before it. */
int64_t hocket__effect_early_ms(const struct hocket__fiber *f);
/* The time of a wait of f is over. True where outcomes of the run wait for their turn and f's limit was kept in the other run:
 * they come now, and nothing waits for a turn from here on. Limits get back the time of that wait. */
bool hocket__effect_end_turns(const struct hocket__fiber *f);
/* f is cancelled: an effect that waits at the gate does not start any more, and ends. */
void hocket__effect_cancelled(struct hocket__fiber *f);
/* Nobody is going to begin it: who waits for it is let go. */
void hocket__effect_forsake(struct hocket__fiber *f);
