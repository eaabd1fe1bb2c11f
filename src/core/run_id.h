/* Ids of runs: unique everywhere, and sorted by the time at which they were made.
 *
 *     01KANC3V0QZJ9E4W2X6T8B5M7R      26 characters of Crockford's base 32, as ULIDs are
 *     \________/\______________/      (github.com/ulid/spec): 48 bits of milliseconds since 1970,
 *        time       random            80 random bits
 *
 * Pure: time and chance are arguments. */
#pragma once

#include <stdint.h>

enum { HOCKET__RUN_ID_LEN = 26, HOCKET__RUN_ID_RANDOM = 10 };

/* Writes the id and a NUL. Times before 1970 count as 1970, those after the year 10889 as that. */
void hocket__run_id(int64_t wall_ms, const unsigned char random[HOCKET__RUN_ID_RANDOM],
    char out[HOCKET__RUN_ID_LEN + 1]);
