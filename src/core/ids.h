/* Lists of task ids, as they come from models.
 *
 * The tools declare an array of integers, and models send [1,2], "[1,2]",
 * "1", 1, "1, 2" or ["1"] all the same. All of them are accepted. Anything else is refused with a
 * message that the model can act on. */
#pragma once

#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"

#define HOCKET__ID_MAX INT64_C(2147483647)

struct hocket__ids {
    const int64_t *v;
    size_t n;
};

bool hocket__ids_has(struct hocket__ids ids, int64_t id);

/* Reads the ids from the text of one JSON value, in order and each once, into
 * `out`, which has room for `cap`. Returns how many there are (0 for null, ""
 * and []), or EINVAL (something that is no id; ids are 1 to HOCKET__ID_MAX),
 * ELIMIT (more than `cap`), ENOMEM. `out` is undefined after a failure. */
int hocket__ids_parse(const struct hocket_allocator *a, struct hocket__str json, int64_t *out,
    size_t cap, struct hocket_error *err);
