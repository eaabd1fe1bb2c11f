/* Lua's collector in slices of a pump.
 *
 * Left to itself the collector works when memory is asked for: a millisecond at once in the middle
 * of a step, which no budget sees. So a pump that has a budget does a share of the collector's work
 * first, in small pieces, and gives it credit for what may be allocated in the pump's remainder.
 * The share grows with the heap, so that the collector always catches up; what needs more than the
 * credit in one pump (a script that makes megabytes in one step) is collected as ever. Only for a
 * state of our own: that of an engine is the engine's to pace.
 *
 * One piece of it cannot be cut, Lua's atomic phase, which looks at every coroutine once in each
 * cycle. Working first, with the whole budget ahead, is what keeps it inside of the budget.
 *
 * Without budgets the collector is Lua's to pace, and what is chosen is how it goes about it:
 *
 *     incremental     ── the heap fell by a fifth, and is small ──>  generational
 *     (a long pause)  <────────── it has become large ────────────
 *
 * Agents that begin make what stays, and to look at all of that again and again is work for nothing.
 * Agents at work make what dies at once, which a generational collector finds without looking at
 * what stays, and so early that its memory is still in the caches. It stops all else for as long as
 * it looks at everything, which it has to now and then: that is short while the heap is small. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <lua.h>

struct hocket__collector {
    size_t due;   /* bytes in use at which the next cycle begins; 0: it is not known yet */
    size_t began; /* bytes in use when the cycle that is under way began; 0: none is */
    size_t most;  /* bytes in use at most, since it works as it does */
    bool generational;
    bool taken; /* paced by budgets, or by a script: nothing is chosen any more */
};

/* For a new state: incremental, with a long pause. */
void hocket__collector_init(struct hocket__collector *c, lua_State *L);
/* A share of the collector's work in a pump of `budget_ns`, at least one piece when there is any.
 */
void hocket__collector_work(struct hocket__collector *c, lua_State *L, uint64_t budget_ns);
/* In a turn without a budget: how the collector is to work from now on. */
void hocket__collector_choose(struct hocket__collector *c, lua_State *L);
