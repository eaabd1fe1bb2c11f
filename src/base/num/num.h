/* Numbers as text, independent of the process's locale. */
#pragma once

#include "base/str.h"

#include <stdint.h>

#define HOCKET__NUM_MAX    32
#define HOCKET__NUM_DIGITS 17 /* what a double has at most */

/* The shortest decimal text that reads back as the same double, in JSON's
 * grammar: 0.1, 1e+300, -0.0. Whole numbers keep a ".0" so that they come back
 * as doubles; exponents are written below 1e-4 and from 1e16 on. Of several shortest
 * texts it is the one nearest to the value. NaN and infinities give nothing, length 0.
 * Returns the length; a NUL follows. */
size_t hocket__num_print(double v, char out[HOCKET__NUM_MAX]);
size_t hocket__num_print_int(int64_t v, char out[HOCKET__NUM_MAX]);
/* The same without a NUL: where it ends. For writers that have made room, 20 bytes. */
char *hocket__num_put_int(char *out, int64_t v);
/* v, 0 or more, divided by 10^places (1 to 18): exactly, without zeros at the end but for one behind
 * the point, as doubles are printed: 1.25, 3.0. 21 bytes and no NUL; returns where it ends. */
char *hocket__num_put_decimal(char *out, int64_t v, int places);

/* The length of the JSON number that the text begins with, or 0; *at_fault (may be
 * NULL) is how far the grammar was kept. "012" begins with the number "0". */
size_t hocket__num_scan(struct hocket__str text, size_t *at_fault);

/* Reads a JSON number. `is_int` is set, and *i filled, when it is written
 * without fraction and exponent and fits 64 bits; *d is filled always (values
 * past the range of double become +-HUGE_VAL), correctly rounded. The text must be
 * valid: hocket__num_scan says so. */
void hocket__num_read(struct hocket__str text, bool *is_int, int64_t *i, double *d);

/* The value as an integer: also when it is written 3.0 or 3e0. False, and *out untouched,
 * when it is none, or does not fit. The text must be valid. */
bool hocket__num_int(struct hocket__str text, int64_t *out);
/* Whether reading it loses nothing that was written: a whole number keeps its digits, be it past 64
 * bits, and no number is past the range of double. Fractions are rounded. The text must be valid. */
bool hocket__num_fits(struct hocket__str text);
/* Whether two valid numbers are the same, to the last digit and past any range: 1 and
 * 10e-1, not 1e400 and 1e401. */
bool hocket__num_equal(struct hocket__str a, struct hocket__str b);

/* The digits, without trailing zeros, of what printf's %e printed with whatever decimal
 * point the locale has: their number, and *point so that v = 0.ddd * 10^point. Shared
 * only so that its indifference to the locale can be tested. */
int hocket__num_digits(const char *printed, char digits[HOCKET__NUM_DIGITS], int *point);
