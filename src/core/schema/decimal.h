/* JSON numbers as they are written, compared exactly: sign, digits and a power
 * of ten, with the zeros at both ends left out. Nothing is converted, so there
 * is no size at which 1e400 or a 30-digit id turns into another number. */
#pragma once

#include "base/str.h"

#include <stdint.h>

/* digits × 10^exponent; the digits stand in `text`, which may hold a '.', and
 * neither begin nor end with 0. Zero has none. An all-zero struct is "absent". */
struct hocket__decimal {
    struct hocket__str text; /* as written, borrowed */
    const char *digits;
    size_t count;
    int64_t exponent; /* clamped at about ±10^15 */
    bool negative;
};

struct hocket__decimal hocket__decimal_read(struct hocket__str json_number);
int hocket__decimal_compare(const struct hocket__decimal *a, const struct hocket__decimal *b);
bool hocket__decimal_is_integer(const struct hocket__decimal *d);
/* As a count: false when negative or no integer; UINT64_MAX when it is larger. */
bool hocket__decimal_count(const struct hocket__decimal *d, uint64_t *out);
/* Whether a is a multiple of b; b is not 0 and has at most 19 digits. */
bool hocket__decimal_divides(const struct hocket__decimal *b, const struct hocket__decimal *a);
uint64_t hocket__decimal_hash(const struct hocket__decimal *d);

#define HOCKET__DECIMAL_DIVISOR_DIGITS 19
