/* The schema of a document: which slots it can have, and in which order.
 *
 * A schema is a list of dimensions, each a whole number (0 is "general") or one
 * of some names; a slot is one value of each. For a travel plan
 *     day: integer, time_slot: general, morning, afternoon, evening, night
 * and a slot of it is {"day":1,"time_slot":"morning"}, with the heading
 * "Day 1 — Morning". What is no slot of the schema is refused, with the values
 * that are valid. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

#define HOCKET__DIMENSIONS      6   /* at most */
#define HOCKET__DIMENSION_NAMES 256 /* values of one dimension, at most */

enum hocket__dimension_kind { HOCKET__DIMENSION_INTEGER, HOCKET__DIMENSION_NAME };

struct hocket__dimension {
    struct hocket__str name; /* a letter, then letters, digits and underscores */
    enum hocket__dimension_kind kind;
    int64_t min, max; /* of an integer, beside 0, which is always valid; both 0: from 0 on */
    const struct hocket__str *values; /* of a name: 1 to 128 bytes each, in order */
    size_t value_count;
};

/* An owned copy; the members are the caller's to read. */
struct hocket__slots {
    const struct hocket_allocator *a;
    struct hocket__dimension dims[HOCKET__DIMENSIONS];
    size_t count;
};

/* One value of each dimension, in order: the integer, or the place of the name. */
struct hocket__slot {
    int64_t v[HOCKET__DIMENSIONS]; /* those past the last dimension are 0 */
};

/* Copies a schema. EINVAL (no or too many dimensions, a bad or repeated name or value, max
 * below min, …) with what to fix, or ENOMEM; nothing is left to free then. */
int hocket__slots_init(struct hocket__slots *s, const struct hocket_allocator *a,
    const struct hocket__dimension *dims, size_t count, struct hocket_error *err);
void hocket__slots_deinit(struct hocket__slots *s);

/* Reads {"day":1,"time_slot":"morning"}; integers may be written as strings.
 * EINVAL when a dimension is missing, unknown, given twice, or its value is not valid. */
int hocket__slots_parse(const struct hocket__slots *s, struct hocket__str json,
    struct hocket__slot *out, struct hocket_error *err);

/* 0, or EINVAL as above. */
int hocket__slots_check(
    const struct hocket__slots *s, const struct hocket__slot *slot, struct hocket_error *err);

/* Document order, below 0, 0 or above 0: the first dimension counts most; integers go
 * 0, then upwards; names as they were declared. */
int hocket__slots_compare(
    const struct hocket__slots *s, const struct hocket__slot *a, const struct hocket__slot *b);

/* Appends the slot's members, "day":1,"time_slot":"morning", to an object that is open. */
void hocket__slots_write(
    const struct hocket__slots *s, const struct hocket__slot *slot, struct hocket__buf *out);

/* Appends the heading's text: an integer with its dimension's name ("Day 1", and "General" for 0),
 * a name alone ("Morning"), joined by " — "; words in lower case begin with a capital.
 * A slot that is general in all dimensions is "General". */
void hocket__slots_heading(
    const struct hocket__slots *s, const struct hocket__slot *slot, struct hocket__buf *out);
