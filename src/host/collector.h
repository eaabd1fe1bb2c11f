/* Lua's collector in slices of a pump.
 *
 * Left to itself the collector works when memory is asked for: a millisecond at once in the middle
 * of a step, which no budget sees. So a pump that has a budget does the collector's work, in small
 * pieces, and gives it credit for what may be allocated meanwhile. How much work that is follows from
 * what was allocated, not from how often a program pumps:
 *
 *     heap     due ─────── began ────────────────────────────── ended      the next is due at twice
 *              nothing owed    each 4 KB that are allocated owe a piece    what is alive then
 *
 * A pump pays first, with a share of its budget that grows with what is owed; and last, when nothing else
 * is left to do, with what remains of it. As long as something is owed the host asks to be pumped: idle
 * pumps pay it off. What is owed takes from the credit, so that where nobody pumps (or a script makes
 * megabytes in one step) Lua collects as ever. Only for a state of our own: that of an engine is the
 * engine's to pace.
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
    size_t used;  /* bytes in use at the last look */
    size_t owed;  /* bytes that were allocated in this cycle, and not worked for yet */
    size_t most;  /* bytes in use at most, since it works as it does */
    bool generational;
    bool taken; /* paced by budgets, or by a script: nothing is chosen any more */
};

/* For a new state: incremental, with a long pause. */
void hocket__collector_init(struct hocket__collector *c, lua_State *L);
/* A share of the collector's work in a pump of `budget_ns`, at least one piece when it owes any. */
void hocket__collector_work(struct hocket__collector *c, lua_State *L, uint64_t budget_ns);
/* Works off what is owed until then (uv_hrtime). Does nothing where no budget ever paced it. */
void hocket__collector_pay(struct hocket__collector *c, lua_State *L, uint64_t until);
bool hocket__collector_owes(const struct hocket__collector *c);
/* In a turn without a budget: how the collector is to work from now on. */
void hocket__collector_choose(struct hocket__collector *c, lua_State *L);
