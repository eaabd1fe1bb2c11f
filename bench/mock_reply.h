/* The mock server's replies: for a model's name and a turn of the conversation, the bytes
 * of the whole HTTP answer, made once and kept.
 *
 * A name is words and numbers in pairs, in any order:
 *
 *   tools-T    T turns that call the tool "step", then a text
 *   lead-S     the facilitator of S specialists s1…sS: plan, dispatch, read, answer
 *   task-K     the specialist whose task is K: read, write, complete, answer
 *   chunks-N   pieces that a text or the arguments come in (20)
 *   delay-MS   milliseconds before the first byte (0)
 *   gap-US     microseconds between two pieces, each a packet of its own (0: all at once)
 *
 * so "tools-1-chunks-20-delay-1000" calls once and then answers, a second after each
 * request. Words that are not known are passed over; each event is one HTTP chunk. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct reply {
    char *data;
    size_t size;
    uint32_t *cuts; /* where each packet ends, when they are sent one by one */
    int n_cuts;
    uint64_t delay_ns, gap_ns;
};

struct replies; /* all replies made so far */

struct replies *replies_new(void);
void replies_free(struct replies *all);

/* The reply to a request with this body. Never NULL: out of memory ends the program. */
const struct reply *replies_find(struct replies *all, const char *body, size_t size);
