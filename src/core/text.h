/* Text that the state machines own, and text inside error messages.
 *
 * What comes from a model is of any length and any content. Owned copies are
 * length-aware and NUL-terminated; names are held to a strict form; contents
 * are repaired to valid UTF-8, so that what is in memory is what the record
 * of it says; whatever goes into an error message is cut short first. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

#define HOCKET__NAME_MAX 128 /* bytes of an agent's name */

/* Copies into *out; free with hocket__text_free. Empty text needs no memory.
 * HOCKET_ENOMEM leaves *out empty. */
int hocket__text_copy(
    const struct hocket_allocator *a, struct hocket__str in, struct hocket__str *out);
void hocket__text_free(const struct hocket_allocator *a, struct hocket__str *s);

/* Makes *s valid UTF-8: left alone when it is, otherwise repaired into
 * `scratch` (which is reset, and then owns what *s points to). 0 or ENOMEM. */
int hocket__text_repair(struct hocket__buf *scratch, struct hocket__str *s);

/* A copy of the text, repaired and cut to `max` bytes. As hocket__text_copy. */
int hocket__text_repaired_copy(
    const struct hocket_allocator *a, struct hocket__str in, size_t max, struct hocket__str *out);

/* The longest prefix of at most `max` bytes that splits no sequence. */
struct hocket__str hocket__text_cut(struct hocket__str s, size_t max);

/* Without white space at either end. */
struct hocket__str hocket__text_trim(struct hocket__str s);

/* A name of an agent: 1 to HOCKET__NAME_MAX bytes of valid UTF-8 without
 * control characters and square brackets (it stands as "[name]" in front of
 * what the agent wrote). `what` begins the message: "agent". 0 or EINVAL. */
int hocket__text_name(struct hocket__str name, const char *what, struct hocket_error *err);

/* For "%.*s" in messages: at most 60 bytes, split at no sequence. */
#define HOCKET__SHOWN(s) hocket__text_shown(s), (s).p
int hocket__text_shown(struct hocket__str s);

/* A list for an error message, "1, 2, 5", that ends with "and 12 more" when
 * its room is used up. Starts as {0}. */
struct hocket__said {
    char text[256];
    size_t len, left_out;
};

void hocket__said_add(struct hocket__said *list, struct hocket__str word);
void hocket__said_add_int(struct hocket__said *list, int64_t value);
const char *hocket__said(struct hocket__said *list); /* the whole; "" when nothing was added */
