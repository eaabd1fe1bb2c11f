/* Room on the file systems that a program may write to: a disk that is full harms everybody who
 * uses it, and what a program has filled it with is not always known to be the program's (a child
 * that nobody waited for). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HOCKET__SPACE_PATHS 8

struct hocket__space {
    const char *const *paths;
    uint64_t bytes[HOCKET__SPACE_PATHS], files[HOCKET__SPACE_PATHS]; /* free at the beginning */
    unsigned long systems[HOCKET__SPACE_PATHS];                      /* whose they are */
};

/* Notes how much there is; `paths` (ends with NULL, may be NULL) has to stay. Those past the eighth
 * are not looked at. */
void hocket__space_note(struct hocket__space *s, const char *const *paths);

/* Bytes that there are less than then, of all of them; what others write there is among it. */
int64_t hocket__space_used(const struct hocket__space *s);

/* Whether one is nearly full (1 GiB is left, or 2 % of a small one; the same share of its files) and
 * has become so since. */
bool hocket__space_is_short(const struct hocket__space *s);
