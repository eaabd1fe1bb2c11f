/* Regular expressions for searching files: PCRE2, loaded when the first one is compiled.
 *
 * It is an optional component: without the library searches for plain text still work, and a
 * pattern is answered with EUNSUPPORTED. Patterns come from models: steps, depth and memory of a
 * match are limited, and a match that reaches a limit is an error, not a "no". */
#pragma once

#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>

struct hocket__pcre;

/* Compiles; `literal` takes the pattern as plain text. EPARSE (the message says where),
 * EUNSUPPORTED, ENOMEM. Used by one thread at a time. */
int hocket__pcre_new(struct hocket__str pattern, bool ignore_case, bool literal,
    struct hocket__pcre **out, struct hocket_error *err);
void hocket__pcre_free(struct hocket__pcre *re);

/* Finds the first match from `at` on: 1 with *start and *end, 0, or ELIMIT. */
int hocket__pcre_find(
    struct hocket__pcre *re, struct hocket__str text, size_t at, size_t *start, size_t *end);

/* For tests: what loading that library gives. */
int hocket__pcre_open(const char *library, struct hocket_error *err);
