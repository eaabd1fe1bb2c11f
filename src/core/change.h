/* How a state machine tells what it is about to change.
 *
 * Board and document are folds over the journal's records. An operation
 *
 *     checks -> makes ready all it needs -> emits one record -> applies it
 *
 * and the last step cannot fail, so that a record exists exactly when the
 * change does. Replaying the record runs the same last step. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

/* Receives a change before it is applied: the record's type, the agent that
 * did it, and the payload, one compact JSON object; all valid for the call.
 * A negative return refuses the change: the operation returns that code (with
 * what was put into *err, which is never NULL here) and nothing has changed.
 * It must not call an operation of the same board or document: these return
 * HOCKET_ESTATE for as long as it runs. */
typedef int (*hocket__emit_cb)(const char *type, struct hocket__str agent,
    struct hocket__str payload, struct hocket_error *err, void *ud);

/* Where a board or a document sends its records. */
struct hocket__emitter {
    hocket__emit_cb cb; /* NULL: nobody listens */
    void *ud;
    bool busy; /* the callback is running */
    int64_t
        number; /* of the board or document among its run's, which its records tell; 0: not told */
};

/* Refuses (ESTATE) when it is called from inside of the callback. The first thing
 * that every operation does. */
int hocket__emitter_check(const struct hocket__emitter *e, struct hocket_error *err);

/* Whether a record with this number (0: it has none) belongs here. A state without a number takes the
 * number of the first record that is applied. */
bool hocket__emitter_is_about(const struct hocket__emitter *e, int64_t number);

/* Emits; a payload whose buffer has failed is ENOMEM instead. */
int hocket__emitter_send(struct hocket__emitter *e, const char *type, struct hocket__str agent,
    const struct hocket__buf *payload, struct hocket_error *err);
