/* How a runtime begins and ends: its handles in the loop, and at the end the handles of its parts.
 *
 *     new ──> used by everything ──> close: cancels every fiber and runs them to their ends, closes
 *                  │                        what holds handles, forgets itself, on_closed
 *                  └─ abandon: the state goes first; no fiber runs any more ──> close
 */
#pragma once

#include "bind/runtime.h"

/* Makes the runtime in L (leaves the stack as it was) and opens its handles in the loop. */
int hocket__runtime_new(lua_State *L, const struct hocket_options *o, uv_loop_t *loop,
    struct hocket__runtime **out, struct hocket_error *err);

/* Ends every wait and forgets every fiber without running any: for a state that is being closed.
 * hocket__runtime_close has to follow. */
void hocket__runtime_abandon(struct hocket__runtime *rt);

/* Cancels every fiber, runs them to their ends, closes the transport and the handles.
 * `on_closed` runs from the loop when nothing of ours is left in it. */
void hocket__runtime_close(struct hocket__runtime *rt, void (*on_closed)(void *ud), void *ud);

/* Has c->close called when the runtime closes; release says that its handles are closed. */
HOCKET__PRIVATE void hocket__runtime_hold(struct hocket__runtime *rt, struct hocket__closer *c);
HOCKET__PRIVATE void hocket__runtime_release(struct hocket__runtime *rt, struct hocket__closer *c);
