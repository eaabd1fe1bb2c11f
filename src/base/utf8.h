/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, at most U+10FFFF. */
#pragma once

#include "base/buf.h"

/* The sequence that the text begins with: its length (1 to 4) when it is valid, minus
 * the length of the maximal subpart to replace when it is not, 0 when n is 0. */
int hocket__utf8_sequence(const char *p, size_t n);

/* The length of the longest valid prefix; equals n when all is valid. */
size_t hocket__utf8_valid(const char *p, size_t n);

/* Appends the text with every maximal invalid part replaced by U+FFFD
 * (Unicode 15, 3.9, "substitution of maximal subparts"). */
int hocket__utf8_repair(struct hocket__buf *out, const char *p, size_t n);

/* Appends one code point; surrogates and values past U+10FFFF become U+FFFD. */
int hocket__utf8_add(struct hocket__buf *out, uint32_t code);
/* Likewise into memory: how many bytes it took. */
size_t hocket__utf8_put(uint32_t code, char out[4]);

/* The largest k <= n at which the text can be cut without splitting a sequence. Looks
 * at no byte past n; bytes that begin no sequence are not waited for. */
size_t hocket__utf8_cut(const char *p, size_t n);
