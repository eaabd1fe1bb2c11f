/* Writes the ids of runs. Time stands first, so that ids in a directory or a table sort by age;
 * chance behind it makes two that were made in the same millisecond differ, in other processes too.
 * A clock that is off gives an id all the same: before 1970 is 1970, behind the year 10889 the last
 * moment that fits. */
#include "core/run_id.h"

#define LATEST ((INT64_C(1) << 48) - 1)

/* Without I, L, O and U, which are misread. */
static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/* `n` digits of five bits each, the last one first. */
static void write_digits(uint64_t value, char *out, int n)
{
    while (n-- > 0) {
        out[n] = digits[value & 31];
        value >>= 5;
    }
}

void hocket__run_id(int64_t wall_ms, const unsigned char random[HOCKET__RUN_ID_RANDOM],
    char out[HOCKET__RUN_ID_LEN + 1])
{
    uint64_t high = 0, low = 0; /* 40 bits each, so that both are whole digits */
    int64_t time = wall_ms < 0 ? 0 : wall_ms > LATEST ? LATEST : wall_ms;
    for (int i = 0; i < 5; i++) {
        high = high << 8 | random[i];
        low = low << 8 | random[i + 5];
    }
    write_digits((uint64_t) time, out, 10);
    write_digits(high, out + 10, 8);
    write_digits(low, out + 18, 8);
    out[HOCKET__RUN_ID_LEN] = 0;
}
