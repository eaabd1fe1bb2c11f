/* Regular expressions of ECMA-262 (the dialect of JSON Schema's `pattern`), for
 * patterns and texts that come from outside. A pattern becomes a small program
 * for an NFA, and a text is matched by following all its states side by side
 * (Thompson's construction): no backtracking, so the time is linear in the
 * text's length times the program's, and the memory is fixed beforehand.
 *
 * Understood: literals, `.`, classes with ranges, \d \w \s and their negations,
 * \p{…} and \P{…} of general categories (also Any, ASCII, Assigned), ^ and $ (the
 * text's ends), \b and \B, groups (capturing, named and (?:…)), alternation,
 * greedy and lazy quantifiers, lookahead, \t\n\r\v\f\0, \cX, \xHH, \uHHHH with
 * surrogate pairs, \u{…}. Characters are Unicode code points.
 * Refused, with a message: back-references, lookbehind, flags, scripts and
 * other properties. Read leniently, as schemas in the wild need it: a `{`, `}`
 * or `]` that closes nothing is itself, and so is any escaped punctuation.
 *
 * A search only answers yes or no; which text a group took is not kept. A
 * lookahead is matched by a run of its own from where it stands, so patterns
 * with lookaheads may cost up to the square of the text; the caller's budget of
 * steps bounds it. */
#pragma once

#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"

#include <stdint.h>

struct hocket__regex;

/* Compiles. `max_size` bounds the program (instructions; 0: 10000), which
 * counted repetitions multiply. Fails with HOCKET_EPARSE (the message says
 * where), HOCKET_EUNSUPPORTED, HOCKET_ELIMIT or HOCKET_ENOMEM. */
int hocket__regex_new(const struct hocket_allocator *a, struct hocket__str pattern, size_t max_size,
    struct hocket__regex **out, struct hocket_error *err);
void hocket__regex_free(struct hocket__regex *re); /* NULL is fine */

/* The instructions of the program, to keep a budget. */
size_t hocket__regex_size(const struct hocket__regex *re);
/* The bytes of memory that a search needs. */
size_t hocket__regex_scratch(const struct hocket__regex *re);

/* Whether the pattern matches somewhere in the text: 1 or 0, or HOCKET_ELIMIT
 * when *steps (which it counts down, about one per state and character) ran
 * out. `scratch` holds hocket__regex_scratch() bytes, aligned as malloc does;
 * what is in it does not matter. The regex itself is not changed. */
int hocket__regex_search(
    const struct hocket__regex *re, struct hocket__str text, void *scratch, uint64_t *steps);
