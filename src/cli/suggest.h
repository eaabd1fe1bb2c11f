/* The known word that somebody probably meant. */
#pragma once

#include <stddef.h>

/* How many letters to change, add, leave out or swap; words of more than 64 bytes are far from
 * all others. */
size_t cli_distance(const char *a, const char *b);

/* Whether a distance is small enough for a slip in a word. */
int cli_is_slip(size_t distance, const char *word);
