/* What a run may do that begins, and that is continued: the one place in C that asks hocket.internal.run.consent
 * and hocket.internal.runner.stored_code. */
#pragma once

#include "host/run/resume_impl.h"

/* A run begins whose options say whether people consent to it (`consent`): they get the mark of who has begun it, where runs are kept in
 * a file. 0, or a status with *err. */
int hocket__consent_mark(const struct hocket__run *r, struct hocket__str target,
    struct hocket__str input, struct hocket__buf *options, struct hocket_error *err);
/* Its log is read, and nothing of it was done here: its options, and what is in their place, are those that hold. 0, or a status with
 * *err: EDENIED where code that it brings may not run here (hocket.internal.runner.stored_code). */
int hocket__consent_decide(struct hocket__resuming *g, struct hocket_error *err);
/* It is live: it hears what holds from here on, with what the operator says. What goes wrong is its end. False: nothing was to be said. */
bool hocket__consent_say(struct hocket__run *r);
