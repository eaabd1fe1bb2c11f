/* Texts that the build packed (cmake/embed.c): most of a program of scripts would be their words,
 * again and again. In the manner of LZ4, against a dictionary that all texts share:
 *
 *     token      how many literals (high half), how long the match is, less 4 (low half); 15 stands
 *                for "and more": bytes that are added, the last of which is below 255
 *     literals
 *     offset     two bytes, low one first: how far back the match is, into the dictionary when
 *                before the text; after the last literals there is none
 */
#pragma once

#include "base/str.h"

/* Unpacks into out[n]. False when `packed` is not the whole of such a text. */
bool hocket__unpack(struct hocket__str packed, struct hocket__str dictionary, char *out, size_t n);
