/* The Big List of Naughty Strings, for whatever takes text from outside. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Calls `body` with each string of strings/blns.json below HOCKET_SUITES; false,
 * with a line on stdout, when the variable is not set. A file that cannot be read fails the
 * test. */
bool test_strings_each(void (*body)(struct hocket__str text, void *ud), void *ud);
