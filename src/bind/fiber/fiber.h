/* Fibers: how Lua code waits. This file's .c is the only one that resumes Lua.
 *
 * A fiber is a coroutine with a parent, a place in the ready queue and at most
 * one thing that it waits for:
 *
 *             ┌───────────── wake, timeout, cancel ─────────────┐
 *             v                                                 │
 *   spawn ─> ready ─> running ─> (a waiting C function yields) waiting
 *                        │
 *                        └─ returns or raises ─> closing ─> done
 *                                 (its children are cancelled, and end first)
 *
 * So a done fiber has no child that still runs. Close handlers (`local x <close>`) that run because
 * an error ended the fiber are still inside of it (context, self, spawn), and may wait. Where Lua
 * closes the coroutine from outside (a fiber that was given up, one without hocket__fiber_guard)
 * they cannot.
 * Cancelling is sticky: the wait that is under way ends at once (its `unwait` runs inside cancel,
 * which is what closes sockets), and it and every later one raise an error with the code
 * "cancelled". A sheltered child is not reached by it, and its parent can wait for it all the same:
 * for clean-up that takes time. Wake-ups are hints: whoever was woken looks again at what it
 * waits for. Nothing here is called from another thread.
 *
 * Where every fiber waits for another one, nothing would ever go on. That is a mistake of somebody's
 * (memory that was out, jobs that wait for each other), and said to those without a parent: their wait
 * raises an error with the code "state". Fibers of a service (a model's server, a watch) do not count. */
#pragma once

#include "base/private.h"
#include "base/str.h"
#include "bind/runtime.h"
#include "core/effect.h"

#include <lua.h>

enum hocket__fiber_state {
    HOCKET__READY,
    HOCKET__RUNNING,
    HOCKET__WAITING,
    HOCKET__UNWINDING, /* an error has ended it: its close handlers run and cannot wait */
    HOCKET__CLOSING,
    HOCKET__DONE
};

/* How far its function has come. */
enum hocket__fiber_course {
    HOCKET__UNBEGUN,
    HOCKET__BEGUN,    /* and, once it is closing, has returned */
    HOCKET__RAISED,   /* the error is on top of co's stack */
    HOCKET__GIVEN_UP, /* the same; it caught "cancelled" too often, and is closed where it waited */
};

/* What it is to others. A set of bits. */
enum hocket__fiber_trait {
    HOCKET__SHELTERED = 1, /* a cancel of its parent does not reach it */
    HOCKET__AWAITED = 2,   /* its parent goes on only when it has ended, whatever else there is */
    HOCKET__SERVICE = 4,   /* what it waits for keeps only the fibers going that call it */
    HOCKET__HELPER = 8,    /* it does what others are waiting for, and nothing of its own */
    HOCKET__PUT_OFF =
        16 /* it waits until something is tried again: in a fork in the order of the other run */
};

/* What can end the wait of a fiber, beside its time and a cancel. */
enum hocket__waits_on {
    HOCKET__ON_FIBERS,    /* of its run */
    HOCKET__ON_OPERATION, /* which is not the run's, and is stopped when the wait is cancelled */
    HOCKET__ON_THREAD,    /* which is not the run's either, and is sure to end */
    HOCKET__ON_PROGRAM,   /* somebody outside of the program */
    HOCKET__ON_LOOK,      /* the same, and its time is one to look again: nothing more */
    HOCKET__ON_DAY        /* a time of day */
};

enum hocket__wait_end {
    HOCKET__WOKEN,
    HOCKET__TIMED_OUT,
    HOCKET__STUCK /* nothing can end it: it is to hear so */
};

/* What a fiber is to the clock of its run's work (work_clock.h). */
enum hocket__standing { HOCKET__IDLE, HOCKET__BUSY, HOCKET__ASKING, HOCKET__STANDINGS };

/* What the waits of a fiber are for: HOCKET__FOR_RUN is another run. */
enum hocket__away { HOCKET__AT_WORK, HOCKET__FOR_RUN, HOCKET__FOR_PEOPLE };

struct hocket__work_clock;
struct hocket__log_entry;

/* The effect that a fiber of a kept run waits for (kept_effect.c). */
struct hocket__effect {
    enum hocket__effect_state state;
    unsigned options;                        /* enum hocket__effect_option */
    uint64_t intent;                         /* the number of the entry that says that it begins */
    const struct hocket__log_entry *outcome; /* the entry of its end, while it is replayed */
    uint64_t
        turn; /* the number of the same one's end in the log of another run that is remembered; 0: no matter */
    int64_t turn_since_ms; /* since when it waits for that turn, in real time */
};

struct hocket__fiber {
    struct hocket__runtime *rt;
    uint64_t id;
    lua_State *co;
    lua_State *inner; /* the script's own coroutine in which it runs; NULL: none */
    bool passes;      /* what waits is such a coroutine: whoever has resumed it waits with it */
    struct hocket__fiber *parent;
    struct hocket__list ready, sibling, children;
    enum hocket__fiber_state state;
    enum hocket__fiber_course course;
    enum hocket__waits_on waits_on;
    enum hocket__wait_end wait_end; /* of the last one */
    unsigned traits;                /* enum hocket__fiber_trait */
    bool cancelled;                 /* sticky */
    bool masked;                    /* cancelled or not, it waits: for a sheltered child */
    bool woken;                     /* a wake came while it did not wait */
    bool
        outside; /* it is counted in rt->n_outside: something from outside, or a time, ends its wait */
    int cancel_raises, stuck_raises;
    int64_t patience_ms; /* for answers of the store; 0: as long as it takes. Its children's, too */
    int nargs;
    int nresults;
    void (*unwait)(void *ud);
    void *unwait_ud;
    lua_KFunction k;
    struct hocket__deadline deadline;
    int64_t
        until_ms; /* the end of its wait in real time, also before a wake for nothing; 0: none */
    uint64_t *watchers; /* fibers that are woken when this one is done */
    size_t n_watchers, cap_watchers;
    void (*on_done)(struct hocket__fiber *f, void *ud); /* for the host; may be NULL */
    void *on_done_ud;

    struct hocket__work_clock *work; /* of its run; NULL: of none */
    struct hocket__list limit;       /* work.limits, while it waits under one */
    int64_t limit_due;               /* on that clock; 0: it waits under none */
    uint64_t
        code_due_ns; /* code of it that still works then is ended; 0: at no time. Its children's, too */
    enum hocket__standing standing;
    enum hocket__away away;

    /* Of a run that is kept; see kept_impl.h. */
    struct hocket__kept *kept; /* NULL: of none */
    struct hocket__list kin;   /* the run's fibers */
    uint64_t path;             /* its name, the same again in every replay */
    uint64_t made;             /* children */
    int64_t
        wall_due; /* of a wait for a time of day: milliseconds since 1970; 0: it waits for none */
    int64_t held_due; /* on the run's clock, of the wait that is under way; 0: none */
    struct hocket__effect effect;
    uint32_t effects; /* that it has asked for so far */
    uint32_t draws;   /* of random bytes, where they go by place */
    uint32_t timeouts;
    bool outer_woken; /* by what is not the run's, while it was replayed */
};

/* User values of a fiber's userdata. */
enum {
    HOCKET__FIBER_CO = 1,
    HOCKET__FIBER_CONTEXT,
    HOCKET__FIBER_TRACEBACK,
    HOCKET__FIBER_EFFECT, /* what its effect is to call, then the fiber that does */
    HOCKET__FIBER_VALUES = HOCKET__FIBER_EFFECT
};

/* The fiber that runs on L. Raises "must run inside …" on the main thread, and in
 * coroutines that scripts or the embedding program made themselves. */
HOCKET__PRIVATE struct hocket__fiber *hocket__fiber_current(lua_State *L);
/* The same without raising: NULL. */
struct hocket__fiber *hocket__fiber_here(lua_State *L);
/* Whether the last wait of the fiber that runs on L ended because its time was over. */
static inline bool hocket__timed_out(lua_State *L)
{
    return hocket__fiber_current(L)->wait_end == HOCKET__TIMED_OUT;
}

static inline bool hocket__fiber_has_failed(const struct hocket__fiber *f)
{
    return f->course >= HOCKET__RAISED;
}

/* The fiber whose userdata is at idx; NULL when something else is. */
struct hocket__fiber *hocket__fiber_test(lua_State *L, int idx);
/* Pushes the value that the fiber on L hands down; false, and nothing, when none runs on L. */
bool hocket__fiber_push_context(lua_State *L);

/* Pushes a new fiber's userdata on L. Takes the function and `nargs` arguments from the top of
 * L's stack. The parent is the running fiber; `detached` makes one without. Raises
 * when memory is out. */
struct hocket__fiber *hocket__fiber_spawn(
    lua_State *L, struct hocket__runtime *rt, int nargs, bool detached);

/* The same under a given parent that has not ended (NULL: none). */
struct hocket__fiber *hocket__fiber_spawn_under(
    lua_State *L, struct hocket__runtime *rt, int nargs, struct hocket__fiber *parent);

/* The same; in a run that is kept its path is `path` (0: the next below its parent). */
struct hocket__fiber *hocket__fiber_spawn_at(lua_State *L, struct hocket__runtime *rt, int nargs,
    struct hocket__fiber *parent, uint64_t path);

/* The same, and it is no part of the kept run whose code runs now. */
struct hocket__fiber *hocket__fiber_spawn_outside(
    lua_State *L, struct hocket__runtime *rt, int nargs, struct hocket__fiber *parent);

/* A child of the running fiber (`outside`: one without a parent, and no part of a run that is kept). Its function, one in C, is
 * called however short memory is then: what the call needs is taken here, and raises here. */
HOCKET__PRIVATE struct hocket__fiber *hocket__fiber_spawn_sure(
    lua_State *L, struct hocket__runtime *rt, int nargs, bool outside);

/* Puts what a fiber's function needs around it below the function and its nargs arguments, on top of
 * the stack, so that one argument more is to be passed: the function's close handlers can wait then,
 * and an error that ends it keeps its traceback. */
void hocket__fiber_guard(lua_State *L, int nargs);
void hocket__fiber_open_guard(lua_State *L); /* once, before that */

/* Where the registry has the function that is called first in each fiber, while runtime.begins is set. */
extern const char hocket__fiber_begin_key;

/* Parks the fiber that runs on L until it is woken, its time is over (timeout_ms < 0: no
 * limit) or it is cancelled; then calls k(L, LUA_YIELD, ctx), or raises "cancelled".
 * Use as: return hocket__await(L, …). `unwait(ud)` is called at most once, when the wait
 * ends by cancel: it has to stop whatever would wake the fiber. */
HOCKET__PRIVATE int hocket__await(lua_State *L, int64_t timeout_ms, void (*unwait)(void *ud),
    void *ud, lua_KContext ctx, lua_KFunction k);

/* The wait that k belongs to goes on, to the end of its time: a wake was for something else. */
HOCKET__PRIVATE int hocket__await_rest(
    lua_State *L, void (*unwait)(void *ud), void *ud, lua_KContext ctx, lua_KFunction k);

/* The same as hocket__await, without `unwait`, for what is sure to come from outside of Lua, also to a service: a thread's work. */
int hocket__await_outside(lua_State *L, int64_t timeout_ms, lua_KContext ctx, lua_KFunction k);
/* The same for what the embedding program says. */
int hocket__await_program(lua_State *L, int64_t timeout_ms, lua_KContext ctx, lua_KFunction k);
/* The same until a time of day, in milliseconds since 1970; hocket__timed_out: it has come. `idle`: it is a time to look again, which a
 * run that is put away is not taken out for. */
int hocket__await_program_until(
    lua_State *L, int64_t due_ms, bool idle, lua_KContext ctx, lua_KFunction k);
/* A wait for a time of day, in milliseconds since 1970, whoever turns the clock; hocket__timed_out: it has come. */
int hocket__await_wall(lua_State *L, int64_t due_ms, lua_KContext ctx, lua_KFunction k);
/* A wait for fibers of the same run under a time limit, which ends at due_ms of the clock of the run's work: see hocket__work_ms.
 * hocket__timed_out: it has ended. */
int hocket__await_limit(lua_State *L, int64_t due_ms, lua_KContext ctx, lua_KFunction k);
/* A wait that fibers of the same run alone can end. */
int hocket__await_inside(lua_State *L, int64_t timeout_ms, lua_KContext ctx, lua_KFunction k);

/* It does nothing of its own, but for others: that it waits for them is as it should be. */
void hocket__fiber_help(struct hocket__fiber *f);

/* Makes it a fiber of a service, with everything that it starts from now on. */
void hocket__fiber_serve(struct hocket__fiber *f);

/* Lets the others go on when a millisecond, or what the pump has left, is over; does nothing
 * otherwise, or where no fiber can wait. Use as: return hocket__rest(L, rt). */
int hocket__rest(lua_State *L, const struct hocket__runtime *rt);

/* Wakes by id; unknown ids are ignored. Enqueues only: may be called from anywhere on
 * the loop's thread. */
HOCKET__PRIVATE void hocket__fiber_wake(struct hocket__runtime *rt, uint64_t id);

/* Ends it and its children (see above). Returns false when it was done already. */
bool hocket__fiber_cancel(struct hocket__fiber *f);

/* From now on it is a child of `parent`, which ends after it. Does nothing where one of both has ended, or belongs to another
 * kept run, or where f is above the parent. */
void hocket__fiber_adopt(struct hocket__fiber *f, struct hocket__fiber *parent);

/* Ends its wait, and leaves it: it never runs again. For a Lua state that is being closed. */
void hocket__fiber_abandon(struct hocket__fiber *f);

/* Whether the time of the pump that is under way, if it has any limit, is used up. */
bool hocket__over_budget(const struct hocket__runtime *rt);

/* The same for a fiber that goes on in the next round then. What it answered is in the log of a run that is kept. */
bool hocket__has_to_pause(const struct hocket__runtime *rt);

/* Runs ready fibers until none is left, or a millisecond or the time of the pump is over. Called
 * by the loop. */
void hocket__fibers_drain(struct hocket__runtime *rt);

/* The same from a callback of the loop. */
void hocket__fibers_drain_in_loop(struct hocket__runtime *rt);

/* Has the loop turn again at once when there is something left, and sleep otherwise. */
void hocket__fibers_settle(struct hocket__runtime *rt);

/* Raises an error in the Lua code that runs now, if any does. For signal handlers on its thread. */
bool hocket__fibers_break(struct hocket__runtime *rt);

/* ---- Runs that are kept ------------------------------------------------------------------------
 *
 * A run with a log (core/log/log.h): what comes into it from outside is appended, and in a replay comes from there, each
 * after as many steps of its fibers as it was the first time. `rt->kept` is the run whose code runs now; what code
 * of no run, or of another, does to its fibers is from outside. */

struct hocket__log;
struct hocket__log_sink;
struct hocket__kept;

#define HOCKET__SEED 16

/* What happens again in a replay, as its embedder did it. */
struct hocket__kept_hooks {
    void (*tell)(void *ud, struct hocket__str name, struct hocket__str value);
    void (*live)(void *ud); /* the log is used up: from here on it is written; tell_ud */
    void (*notice)(void *ud, struct hocket__str name, struct hocket__str value);
    void (*left)(void *
            ud); /* the log is used up, and no effect has begun again: what those of a process that is gone have left
                               open ends here; notice_ud. NULL: nothing */
    /* Whether it has not told all again yet that its earlier lives told: behind the last entry of its log nothing came in
     * between then, and nothing does now. NULL: no. tell_ud */
    bool (*owes)(void *ud);
    void *tell_ud, *notice_ud;
    /* The run has read what it had not read before: `name` says what, `text` what it was (base/sources/kept.lua). To be fed
     * to it when it goes on. NULL is fine. */
    void (*file)(void *ud, struct hocket__str name, struct hocket__str text);
    void *file_ud;
    /* An effect of this fiber, whose intent is this entry of the log, is at the gate (core/gate.h). 0: the store has confirmed
     * the claim and, where the effect changes the world, all of the log up to now; 1: hocket__kept_release is called when it
     * has; below 0: why the run cannot go on. Not inside of a release. NULL: nobody stores the run. */
    int (*hold)(void *ud, uint64_t fiber, uint64_t intent, bool world);
    /* It cannot go on here for want of what `message` says: whether it ends with *err, which is filled then, and is not over;
     * hold_ud. NULL: no */
    bool (*lack)(void *ud, struct hocket__str message, struct hocket_error *err);
    void *hold_ud;
    void (*rest)(void *ud); /* none of its fibers is ready; must only take note */
    bool (*deaf)(void *
            ud); /* whether something may have been said to it that it could not hear yet; rest_ud. NULL: no */
    void *rest_ud;
};

/* With one reference, which hocket__kept_unref gives back. Its past is fed to the log before it is entered. NULL:
 * out of memory. */
struct hocket__kept *hocket__kept_new(struct hocket__runtime *rt,
    const struct hocket__log_sink *sink, const unsigned char seed[HOCKET__SEED]);
/* The run's own name, before it is entered: a fork has its parent's chance, and is known by other keys outside. */
void hocket__kept_set_name(struct hocket__kept *k, struct hocket__str name);
/* Whether the code that runs now is of a run whose log is of a time when all members of JSON were written sorted by name:
 * what it asks has to be the same text again. */
bool hocket__kept_sorts(const struct hocket__runtime *rt);
struct hocket__kept *hocket__kept_ref(struct hocket__kept *k);
void hocket__kept_unref(struct hocket__kept *k);
struct hocket__log *hocket__kept_log(struct hocket__kept *k);
struct hocket__kept_hooks *hocket__kept_hooks(struct hocket__kept *k);

/* Before it is entered: what the hook `file` got in its earlier lives, in any order; copied. ENOMEM. */
int hocket__kept_feed_file(
    struct hocket__kept *k, struct hocket__str name, struct hocket__str text);
/* Pushes what it was fed with, by name; nil: nothing. */
void hocket__kept_push_files(const struct hocket__kept *k, lua_State *L);

/* Before it is entered: the next entry of another run's log, in its order; copied. What asks the same as there is answered
 * from there (base/memory.lua), everything else is done. To be said again to each of its lives. ENOMEM. */
int hocket__kept_remember(struct hocket__kept *k, const struct hocket__log_entry *e);

/* From here on the running fiber, and everything that it starts, is the run's. Raises what is wrong. */
void hocket__kept_enter(lua_State *L, struct hocket__kept *k);
/* What `hold` waited for is stored, and the effect starts; with an error the run ends with that. Does nothing where neither
 * waits any more. */
void hocket__kept_release(
    struct hocket__kept *k, uint64_t fiber, uint64_t intent, const struct hocket_error *err);

/* Ends the run, from outside, with an error that is no part of it: another process has it now. */
void hocket__kept_fail(struct hocket__kept *k, const struct hocket_error *err);

/* Nothing is appended any more: its fiber has ended, or the host is closing, and the run may go on some other time. */
void hocket__kept_leave(struct hocket__kept *k);
void hocket__kept_leave_all(struct hocket__runtime *rt);

/* From here on, once it is live, none of its fibers goes on: effects that are under way end, and are in the log. A fiber that
 * went on up to its next effect would do so before those ends, which a replay, that begins the effect there, could not follow. */
void hocket__kept_drain(struct hocket__kept *k);
/* Whether an effect of it is under way. */
bool hocket__kept_is_at_work(const struct hocket__kept *k);

/* Whether it has begun, and its log still says what comes. */
bool hocket__kept_is_replay(const struct hocket__kept *k);

/* Whether it is live, and nothing of it is ready. */
bool hocket__kept_is_settled(const struct hocket__kept *k);
/* Whether it goes on only when somebody outside says something, or a time of day has come: it is live, nothing of it is
 * ready or under way, and it waits for no other time. Then it may as well be put away, and go on some other day. */
bool hocket__kept_waits_for_person(const struct hocket__kept *k);
/* So many things more, or below 0 fewer, are about to be said to it by ourselves: until then it waits for nobody. */
void hocket__kept_hold(struct hocket__kept *k, int n);
/* The next time of day that one of its fibers waits for, in milliseconds since 1970; 0: none does. */
int64_t hocket__kept_wall_due(const struct hocket__kept *k);

/* The run whose code runs now; NULL: none that is kept. */
struct hocket__kept *hocket__kept_here(const struct hocket__runtime *rt);
/* A path below the running fiber that nobody else gets, for what begins later, when its time comes. 0: no fiber of a kept run is running, or the
 * run's edition is below 5. Then names follow the order of time. */
uint64_t hocket__kept_reserve(struct hocket__runtime *rt);
/* The fiber with this path; NULL: none, or the run is gone. */
struct hocket__fiber *hocket__kept_at(const struct hocket__kept *k, uint64_t path);
/* The path of the i-th attempt at what has this one; 0 for 0. */
uint64_t hocket__kept_attempt(uint64_t path, uint32_t i);

/* Whether it can be told anything: it goes on, and is not being replayed. */
bool hocket__kept_hears(const struct hocket__kept *k);
/* The same: 0, or ESTATE and why. */
int hocket__kept_may_tell(const struct hocket__kept *k, struct hocket_error *err);
/* An embedder says something: 0 when it may be said now, as something inside, until tell_end. ESTATE while the
 * run is replayed, or has ended. */
int hocket__kept_tell_begin(struct hocket__kept *k, struct hocket__str name,
    struct hocket__str value, struct hocket_error *err);
void hocket__kept_tell_end(struct hocket__kept *k);
/* Code that is not the run's, of a tool or a step, changes what is the run's: an event for its journal, or what `name` says. False:
 * it must not, since the replay does. */
bool hocket__kept_notice(struct hocket__kept *k, struct hocket__str name, struct hocket__str value);

/* The runtime's allocator (`ud`: that). Where it has nothing for the code of a run that is kept, the log of that has failed. */
void *hocket__kept_alloc(void *ud, void *p, size_t old_size, size_t new_size);

/* Before something follows from what the running code has done: where memory was out in it its log has failed (kept.c). */
void hocket__kept_settle_memory(struct hocket__runtime *rt);

/* Clocks, in milliseconds. There are two times, and each use says which it wants:
 *
 *     script time   what a script, and everything that follows from it in its run, may see. In a run that is kept it is in the log, and the
 *                   same again in a replay; a read may append an entry. Elsewhere it is hocket__deadlines_now, and the
 *                   system's time of day.
 *     real time     hocket__deadlines_now and hocket__wall_ms; of a run hocket__kept_real_ms, which begins where its log
 *                   does and stands still while nobody runs it. For deadlines and for whoever looks from outside. Nothing that a
 *                   replay has to do again may follow from it.
 *
 * Script time is at most rt->clock_step_ms behind real time, or a thousandth of the time since the running code last waited. */
int64_t hocket__script_ms(const struct hocket__runtime *rt);
int64_t hocket__script_wall_ms(const struct hocket__runtime *rt); /* since 1970 */
/* The same in whole seconds, with an entry for each second at most that is read. */
int64_t hocket__kept_script_wall_s(struct hocket__kept *k);
/* Whether script time has come to `due`: appends an entry only when it has. For limits of code that never waits. */
bool hocket__kept_has_come(struct hocket__kept *k, int64_t due);
int64_t hocket__kept_real_ms(const struct hocket__kept *k);
/* The clock of the work of the running fiber's run, as real time: it stands still while the run waits for people alone. Time limits
 * end at a time of it. Never 0. */
int64_t hocket__work_ms(const struct hocket__runtime *rt);
/* How long it has stood still so far, as script time. */
int64_t hocket__work_still_ms(const struct hocket__runtime *rt);
/* The running fiber's whole run may work for so long from now on; below 0: without end. Nothing ends by that. */
void hocket__work_limit_run(const struct hocket__runtime *rt, int64_t ms);
/* Whether code runs whose run has such a limit, and time left. For signal handlers on its thread, too. */
bool hocket__work_has_time(const struct hocket__runtime *rt);
/* As its log has it, without a read: milliseconds since 1970. */
int64_t hocket__kept_wall_ms(const struct hocket__kept *k);

/* Whose clock an object has that keeps times: that of the run whose code made it. It reads script time where that run's code
 * runs, and the run's real time everywhere else; it stops when the run is gone. */
struct hocket__clock;
/* NULL: the host's, which is hocket__deadlines_now. To be given back. */
struct hocket__clock *hocket__clock_here(const struct hocket__runtime *rt);
void hocket__clock_unref(struct hocket__clock *c); /* NULL is fine */
/* That run; NULL: it is gone, or c is NULL. */
struct hocket__kept *hocket__clock_run(const struct hocket__clock *c);
/* The same where the code that runs is not of it; else NULL. */
struct hocket__kept *hocket__clock_outside(const struct hocket__clock *c);
/* The time of the last entry of the run's log. Not of the host's. */
int64_t hocket__clock_log_ms(const struct hocket__clock *c);
int64_t hocket__clock_ms(const struct hocket__clock *c);
/* The same without the time for which the run waited for people alone: for time limits of what the object keeps. */
int64_t hocket__clock_work_ms(const struct hocket__clock *c);

/* Bytes that are the same again in every replay, and that nobody can foresee who does not know the run's seed. They hang on the
 * fiber that draws, its earlier draws and what they are for: a fork that does the same draws the same, in whatever order its
 * fibers go on. Runs of the first edition draw in the order of time. */
void hocket__kept_random(struct hocket__kept *k, struct hocket__str about, void *out, size_t n);
/* The same of the run whose code runs now; of no run, from the system: 0, or an error's code. */
int hocket__random_here(struct hocket__runtime *rt, struct hocket__str about, void *out, size_t n);
/* The same of a seed that somebody knows: for scripts, never for what is to be hard to guess. */
uint64_t hocket__kept_chance(struct hocket__kept *k, uint64_t seed);

/* Opens the module hocket.internal.core.kept (lua_kept.c). */
int hocket__open_kept(lua_State *L);

/* Opens the module hocket.internal.core.fiber (lua_fiber.c); its address is also the registry key
 * of the fibers' metatable. */
int hocket__open_fiber(lua_State *L);
