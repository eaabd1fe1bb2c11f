/* How an answer has ended: the words of all protocols in one table, since relays mix them.
 *
 * A word that is not in it is no good end. Servers have many for what broke (abort, network_error,
 * OTHER, MALFORMED_FUNCTION_CALL …) and will have more: half an answer must never pass for a whole
 * one because its word was new. */
#pragma once

#include "net/protocol/reply/reply.h"

/* What a word of the wire says, in any case of letters. NONE: nothing; ERROR also for what is not
 * known. */
enum hocket__finish hocket__finish_of(struct hocket__str word);

/* Whether `a` is at least as bad an end as `b`: of two that one answer has, the worse one counts. */
bool hocket__finish_covers(enum hocket__finish a, enum hocket__finish b);
