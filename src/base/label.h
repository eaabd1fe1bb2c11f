/* Where text in a conversation came from: a set of bits, and their names in JSON. */
#pragma once

#include "base/str.h"

enum hocket__label { HOCKET__WEB = 1, HOCKET__OUTSIDE = 2, HOCKET__SERVER = 4 };

#define HOCKET__LABELS 7u /* all of them */

/* "web", "outside", "server". */
const char *hocket__label_name(enum hocket__label label);
/* The bit of a name, or 0. */
unsigned hocket__label_bit(struct hocket__str name);
