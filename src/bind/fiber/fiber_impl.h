/* What the files about fibers share among themselves; fiber.h is for all others. */
#pragma once

#include "bind/fiber/fiber.h"

/* Whether it is a run of its own: nobody else answers for it when it can never go on. */
static inline bool hocket__fiber_is_root(const struct hocket__fiber *f)
{
    return !f->parent && !(f->traits & (HOCKET__SERVICE | HOCKET__HELPER));
}

/* Whether it is the other one, or its parent, or that one's … */
static inline bool hocket__fiber_is_above(
    const struct hocket__fiber *f, const struct hocket__fiber *of)
{
    while (of && of != f)
        of = of->parent;
    return of == f;
}

/* Whether it waits for what is not its run's, and is done again in a replay. */
static inline bool hocket__fiber_waits_outside(const struct hocket__fiber *f)
{
    return f->waits_on == HOCKET__ON_OPERATION || f->waits_on == HOCKET__ON_THREAD;
}

/* Whether it waits for what somebody outside of the program may bring. */
static inline bool hocket__fiber_waits_on_program(const struct hocket__fiber *f)
{
    return f->waits_on == HOCKET__ON_PROGRAM || f->waits_on == HOCKET__ON_LOOK;
}

/* Of all waits, how many can be ended from outside: where it is 0 and nobody is ready, nobody ever will be. */
static inline void hocket__fiber_note_outside(struct hocket__fiber *f, bool outside)
{
    f->rt->n_outside += (size_t) outside - (size_t) f->outside;
    f->outside = outside;
}

/* ---- await.c ------------------------------------------------------------------------------------ */

/* Puts it into the queue of ready fibers and forgets what it waited for. */
void hocket__fiber_ready(struct hocket__fiber *f);
/* Runs a ready fiber up to its next wait or its end. */
void hocket__fiber_step(struct hocket__fiber *f);
/* The time of its wait is over: what it does then is up to the C function that waits. */
void hocket__fiber_on_timeout(struct hocket__deadline *d);
/* In how many milliseconds a time of day has come, or is to be looked at again. */
int64_t hocket__fiber_look_in(int64_t wall_due);
void hocket__fiber_expire(struct hocket__fiber *f);

/* Into the table on top: plain_resume, inside of which nothing waits. `replace`, for a Lua state of ours: puts functions into
 * `coroutine` inside of which a fiber can wait. */
void hocket__own_coroutines(lua_State *L, bool replace);
/* Nobody but its fiber resumes the coroutine; in a Lua state of ours. */
void hocket__own_claim(lua_State *co);

/* ---- fiber.c -------------------------------------------------------------------------------------- */

/* Its function is through, with what lua_resume said; the results or the error are on its stack. */
void hocket__fiber_ended(struct hocket__fiber *f, int status, int nresults);

/* Runs the to-be-closed variables of one that an error has ended. The status; the error is on top. */
int hocket__close_coroutine(lua_State *co, lua_State *from);

/* Has the loop turn again without sleeping. */
void hocket__fibers_go_on(struct hocket__runtime *rt);
/* Its wait raises that nothing can end it. */
void hocket__fiber_raise_stuck(struct hocket__fiber *f);
