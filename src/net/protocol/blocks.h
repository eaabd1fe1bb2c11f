/* What the protocols share whose messages are lists of typed blocks: turns that
 * collect consecutive messages of one role, system texts that stand outside the
 * messages, images.
 *
 * A turn ends with a fixed tail, `],"role":"user"}`. The next message of the same role takes
 * the tail off, adds its blocks and puts it back: what was rendered once stays as it is but
 * for this tail, which is no part of what providers cache. Between turns stands a line
 * break, and nowhere else: so a turn's beginning can be found from the end, whatever text
 * the model or a tool has put into it. */
#pragma once

#include "net/protocol/protocol_impl.h"

struct hocket__image {
    struct hocket__str mime, data, url; /* insides of JSON strings; url only without data */
};

struct hocket__turn {
    struct hocket__buf *wire;
    struct hocket__str tail;
    size_t before; /* where the wire form is cut to undo the opening */
    size_t from;   /* where the new blocks begin */
    bool joined;
};

/* Opens a turn, or the last one again when `join` is set and it has this tail. */
void hocket__turn_open(struct hocket__turn *t, struct hocket__buf *wire, const char *head,
    const char *tail, bool join);
/* Closes it. Without a block, or out of memory, all is as it was before. */
int hocket__turn_close(struct hocket__turn *t, struct hocket_error *err);
bool hocket__buf_ends(const struct hocket__buf *b, const char *text);
/* The last turn that ends at or before `end` (an offset into the wire form). */
struct hocket__str hocket__turn_before(struct hocket__str wire, size_t end);

/* Offsets of the closing braces of the last block of the two last turns that have this tail, the later
 * one first; returns how many there are. */
int hocket__user_turns(struct hocket__str wire, const char *tail, size_t at[2]);
/* Appends the member "messages" of this wire form, with `mark` in front of n closing braces, the later brace first. */
void hocket__marked_messages(
    struct hocket__buf *b, struct hocket__str wire, const size_t *at, int n, const char *mark);

/* White space only, or no text at all. */
bool hocket__piece_blank(const struct hocket__piece *p);
/* A message that has nothing a block could be made of. */
bool hocket__neutral_blank(const struct hocket__neutral *m);
/* Whether the provider knows no other way to say the answer's schema than words. */
bool hocket__schema_only_in_prompt(const struct hocket__llm_request *q);
/* Whether the request itself has a text for the system: its own, or the answer's schema `in_words`;
 * and that text as a JSON string. */
bool hocket__system_has(const struct hocket__llm_request *q, bool in_words);
void hocket__system_write(
    const struct hocket__llm_request *q, bool in_words, struct hocket__buf *b);
/* That text and the system messages before all others, as objects {"text":…} in a list that is open, with the type "text"
 * where they are `typed`. */
void hocket__system_blocks(
    const struct hocket__llm_request *q, bool in_words, bool typed, struct hocket__buf *b);

/* Appends {"text":…}, with the type "text" where it is `typed`; nothing for a blank text, which servers refuse. */
void hocket__text_block(struct hocket__buf *b, const struct hocket__piece *text, bool typed);
/* Appends one block of a part that is no text; false, with nothing appended: the protocol has no form for it. */
typedef bool (*hocket__data_block)(struct hocket__buf *b, const struct hocket__neutral_part *part,
    const struct hocket__image *image);
/* Appends the parts of a message: texts directly, others by `put`, and parts without a form of their
 * own as words. */
void hocket__part_blocks(
    struct hocket__buf *b, struct hocket__str parts, bool typed, hocket__data_block put);
/* Appends the blocks of a replay as they came; false when there are none. */
bool hocket__replay_blocks(struct hocket__buf *b, struct hocket__str replay);

/* A call's id as a JSON string, for servers that take [A-Za-z0-9_-] alone: the same text comes out in the call and in its
 * result. */
void hocket__id_write(struct hocket__buf *b, const struct hocket__piece *id);

/* Appends JSON without its line breaks. */
void hocket__line_write(struct hocket__buf *b, struct hocket__str json);

/* Appends the members of an object, without its braces, except those named in `but` (ended by
 * NULL); as they stood. */
void hocket__members_write(
    struct hocket__buf *b, struct hocket__str object, const char *const *but);

/* False when the part has no image. A data: URL is taken apart. */
bool hocket__image_of(const struct hocket__neutral_part *part, struct hocket__image *out);

/* Appends a text as a part of a URL's path: letters, digits, -._~ and what is in `also` stay. */
void hocket__path_write(struct hocket__buf *b, const char *text, const char *also);
/* Whether the base URL names a version of the API (/v1, /v1beta …) already. */
bool hocket__base_has_version(const char *base);
/* Closes a member's object or list that was opened behind `before`, the length that the buffer had without its key. An
 * empty one is taken out again. */
void hocket__member_close(struct hocket__buf *b, size_t before, const char *tail);
/* A key and its value: a literal, a string as it stood, the inside of one. */
void hocket__member_piece(
    struct hocket__buf *b, const char *key, const struct hocket__piece *value);
void hocket__member_raw(struct hocket__buf *b, const char *key, struct hocket__str inside);
