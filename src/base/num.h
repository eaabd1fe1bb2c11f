/* Numbers as text, independent of the process's locale. */
#pragma once

#include "base/str.h"

#include <stdint.h>

#define HOCKET__NUM_MAX 32

/* The shortest decimal text that reads back as the same double, in JSON's
 * grammar: 0.1, 1e+300, -0.0. Whole numbers keep a ".0" so that they come back
 * as doubles. NaN and infinities give 0. Returns the length. */
size_t hocket__num_print(double v, char out[HOCKET__NUM_MAX]);
size_t hocket__num_print_int(int64_t v, char out[HOCKET__NUM_MAX]);

/* Reads a JSON number. `is_int` is set, and *i filled, when it is written
 * without fraction and exponent and fits 64 bits; *d is filled always (values
 * past the range of double become +-HUGE_VAL). The text must be valid. */
void hocket__num_read(struct hocket__str text, bool *is_int, int64_t *i, double *d);
