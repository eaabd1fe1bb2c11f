/* Reasoning that a model writes into its text: many servers hand over what stands between <think> and </think>
 * as a part of the answer. Here, and nowhere else, the two are parted.
 *
 *     <think>Perhaps 3? No.</think>\n{"floor": 9}
 *     └────────── reasoning ─────────┘└── text ─┘
 *
 * The rule, for the tags think, thinking and reasoning in any case of letters:
 * - All text before the last closing tag is reasoning, also where no tag opens it: templates open it in the prompt.
 * - Text that begins with an opening tag, and has no closing one, is reasoning as a whole: the answer was cut.
 * - A JSON object or list that reaches from the beginning, or from a closing tag, to the end of the text is text as a
 *   whole: tags in its strings are data. */
#pragma once

#include "net/protocol/reply/reply.h"

/* How many bytes at the beginning of an answer's text are reasoning, with the blanks that follow them. */
size_t hocket__reasoning_end(struct hocket__str text);

/* Moves the reasoning of a whole reply's text, without its tags, to the end of its `reasoning`. Failures are the
 * buffers' (hocket__reply_status). */
void hocket__reply_part(struct hocket__reply *r);

/* The same for an answer that streams: deltas go in and come out as text or as reasoning. What may still become either
 * is held back: the beginning of a tag, and text from an opening tag in the middle on, until it is closed or the answer
 * ends. Text that went out before a closing tag without an opening one cannot be taken back. */
struct hocket__think_splitter {
    hocket__delta_cb out;
    void *ud;
    struct hocket__buf held;
    size_t looked; /* bytes of what is held in which there is no closing tag */
    enum {
        HOCKET__PARTING_BLANK, /* nothing but blanks so far, or since a closing tag */
        HOCKET__PARTING_TEXT,
        HOCKET__PARTING_JSON,      /* text to its end */
        HOCKET__PARTING_REASONING, /* in a block that stands at the beginning */
        HOCKET__PARTING_HELD,      /* in a block, or behind the mention of a tag */
    } state;
    bool parted; /* there was a block before */
};

/* `max`: bytes that are held back at most. */
void hocket__think_splitter_init(struct hocket__think_splitter *p, const struct hocket_allocator *a,
    size_t max, hocket__delta_cb out, void *ud);
void hocket__think_splitter_deinit(struct hocket__think_splitter *p);
/* A hocket__delta_cb, whose `ud` is the parting. Where memory is out, what is held goes out as text. */
void hocket__think_splitter_delta(
    void *ud, enum hocket__delta_kind kind, size_t call, struct hocket__str text);
/* The answer has ended: what is held goes out. */
void hocket__think_splitter_end(struct hocket__think_splitter *p);
