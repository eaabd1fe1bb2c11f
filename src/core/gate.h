/* The gate that every effect of a durable run passes before it starts: in a live run, at the end of a replay, after a resume,
 * held back or not.
 *
 *     it only reads (a model call, a look) ──> the claim of this process is confirmed
 *     it changes the world ──────────────────> and its intent is stored
 *
 * The intent is the entry of the log that says that the effect begins. A store keeps the log in its order, so what led to the
 * intent (the run's row, the model's reply that asked for a tool) is stored before it.
 *
 * Pure: whoever writes the log says what the store has confirmed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hocket__gate {
    bool claimed;    /* the store has written something under the claim of this process */
    uint64_t stored; /* and all entries of the log up to this one */
};

/* The store has confirmed the claim, and all entries up to this one; 0: the claim alone. */
void hocket__gate_confirm(struct hocket__gate *g, uint64_t stored);

/* Whether an effect may start now. `intent`: the number of its entry; `world`: it changes the world. */
bool hocket__gate_is_open(const struct hocket__gate *g, uint64_t intent, bool world);
