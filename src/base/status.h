/* Errors: one list of codes (in the public header), one struct that carries a
 * message. Every fallible function returns 0 or a negative HOCKET_E… and takes
 * an optional struct hocket_error *. */
#pragma once

#include <hocket/hocket.h>

/* Fills *err (when not NULL) and returns `status`, so that a failing function
 * can say: return hocket__error(err, HOCKET_EPARSE, "line %d: …", line);
 * A text that is too long is cut between characters; err->message may be an argument.
 * Clears http_status, sets retry_after_ms to -1 and `retryable` by the code. */
int hocket__error(struct hocket_error *err, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same of an error that has a cause: "CONTEXT: what the cause says", with the cause's status, HTTP status, and whether and
 * when the call may succeed later. `cause` may be `err`. Returns the cause's status. */
int hocket__error_because(struct hocket_error *err, const struct hocket_error *cause,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Out of memory, said the same way everywhere. */
int hocket__error_nomem(struct hocket_error *err);

/* The code that a word names ("timeout" -> HOCKET_ETIMEOUT), or HOCKET_EINVAL. */
int hocket__status_from_word(const char *word);
