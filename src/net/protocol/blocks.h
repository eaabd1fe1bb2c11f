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

/* White space only, or no text at all. */
bool hocket__piece_blank(const struct hocket__piece *p);
/* A message that has nothing a block could be made of. */
bool hocket__neutral_blank(const struct hocket__neutral *m);
/* The system messages before all others, one a call; *at begins with 0. Protocols whose
 * system text is a member of its own send them there; later ones stand where they came. */
bool hocket__system_next(const struct hocket__history *h, size_t *at, struct hocket__neutral *m);

/* Whether the provider knows no other way to say the answer's schema than words. */
bool hocket__schema_only_in_prompt(const struct hocket__llm_request *q);
/* Whether the request itself has a text for the system: its own, or the answer's schema `in_words`;
 * and that text as a JSON string. */
bool hocket__system_has(const struct hocket__llm_request *q, bool in_words);
void hocket__system_write(
    const struct hocket__llm_request *q, bool in_words, struct hocket__buf *b);

/* Appends JSON without its line breaks. */
void hocket__line_write(struct hocket__buf *b, struct hocket__str json);

/* Appends the members of an object, without its braces, except those named in `but` (ended by
 * NULL); as they stood. */
void hocket__members_write(
    struct hocket__buf *b, struct hocket__str object, const char *const *but);

struct hocket__image {
    struct hocket__str mime, data, url; /* insides of JSON strings; url only without data */
};
/* False when the part has no image. A data: URL is taken apart. */
bool hocket__image_of(const struct hocket__neutral_part *part, struct hocket__image *out);

/* Appends a text as a part of a URL's path: letters, digits, -._~ and what is in `also` stay. */
void hocket__path_write(struct hocket__buf *b, const char *text, const char *also);
/* Whether the base URL names a version of the API (/v1, /v1beta …) already. */
bool hocket__base_has_version(const char *base);
/* A key and its value: a literal, a string as it stood, the inside of one. */
void hocket__member_string(struct hocket__buf *b, const char *key, const char *value);
void hocket__member_piece(
    struct hocket__buf *b, const char *key, const struct hocket__piece *value);
void hocket__member_raw(struct hocket__buf *b, const char *key, struct hocket__str inside);
