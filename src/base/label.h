/* Where text in a conversation came from: a set of bits, and their names in JSON. */
#pragma once

#include "base/str.h"

enum hocket__label {
    HOCKET__WEB = 1,
    HOCKET__OUTSIDE = 2,
    HOCKET__SERVER = 4,
    HOCKET__PRIVATE_TEXT = 8, /* of files, programs, memory: not for strangers to see */
};

#define HOCKET__LABELS 15u /* all of them */
#define HOCKET__STRANGE                                                                            \
    (HOCKET__WEB | HOCKET__OUTSIDE | HOCKET__SERVER) /* may be anybody's words */
#define HOCKET__OUR_OWN                                                                            \
    (HOCKET__PRIVATE_TEXT | HOCKET__OUTSIDE | HOCKET__SERVER) /* may be a secret */

/* "web", "outside", "server", "private". */
const char *hocket__label_name(enum hocket__label label);
/* The bit of a name, or 0. */
unsigned hocket__label_bit(struct hocket__str name);
