/* A strict, pull-style JSON reader (RFC 8259) over text that is wholly in
 * memory. It allocates nothing and copies nothing: strings and numbers are
 * slices of the text, decoded on demand. Everything that comes from outside
 * goes through it.
 *
 *     struct hocket__json r;
 *     hocket__json_init(&r, text);
 *     if (hocket__json_next(&r) == HOCKET__JSON_OBJECT)
 *         while (hocket__json_key(&r)) {                 // at a key
 *             if (hocket__json_key_is(&r, "id")) {
 *                 hocket__json_next(&r);                 // its value's first token
 *                 …
 *             } else hocket__json_skip(&r);              // the whole value
 *         }
 *     if (hocket__json_end(&r) < 0) …                    // error, or trailing text
 *
 * Errors are sticky: after one every call returns HOCKET__JSON_ERROR (or
 * false), so a reading function may check once at its end.
 *
 * Decided where RFC 8259 leaves it open: duplicate names are passed through in
 * order; \u escapes of lone surrogates are accepted and decode to U+FFFD; raw
 * bytes have to be valid UTF-8; no byte order mark; any number in the grammar. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

#define HOCKET__JSON_DEPTH 512 /* arrays and objects inside each other */

enum hocket__json_token {
    HOCKET__JSON_END, /* after the one value and white space */
    HOCKET__JSON_NULL,
    HOCKET__JSON_FALSE,
    HOCKET__JSON_TRUE,
    HOCKET__JSON_NUMBER,
    HOCKET__JSON_STRING,
    HOCKET__JSON_KEY,
    HOCKET__JSON_ARRAY, /* begin */
    HOCKET__JSON_ARRAY_END,
    HOCKET__JSON_OBJECT, /* begin */
    HOCKET__JSON_OBJECT_END,
    HOCKET__JSON_ERROR,
};

struct hocket__json {
    const char *start, *p, *end;
    enum hocket__json_token token;
    struct hocket__str text; /* of a string or key: between the quotes; of a number: all */
    bool escaped;            /* the string holds at least one backslash */
    uint8_t expect;          /* what the grammar allows next (private) */
    uint16_t depth;
    uint16_t max_depth;
    const char *error; /* NULL, or what is wrong, for people */
    uint64_t is_object[HOCKET__JSON_DEPTH / 64];
};

void hocket__json_init(struct hocket__json *r, struct hocket__str text);

enum hocket__json_token hocket__json_next(struct hocket__json *r);

/* Moves to the next key of the object whose begin, or whose previous member,
 * was read last; false at its end (which is consumed) or on an error. */
bool hocket__json_key(struct hocket__json *r);
/* Moves to the next element's first token; false at the array's end or on an error. */
bool hocket__json_element(struct hocket__json *r);
/* Compares the key or string that was read last, without decoding when it has no escape. */
bool hocket__json_is(const struct hocket__json *r, const char *literal);

/* Reads one whole value: after a key, the value; when the token read last begins
 * an array or object, to its end. Gives its text in *value (may be NULL). */
int hocket__json_skip(struct hocket__json *r, struct hocket__str *value);

/* Appends the decoded string (or key) that was read last. */
int hocket__json_decode(const struct hocket__json *r, struct hocket__buf *out);
/* Decodes a string's inside that was kept as a slice. */
int hocket__json_unescape(struct hocket__str inside, struct hocket__buf *out);

/* Number or string token as an integer: -1 and false when it is none. */
bool hocket__json_int(const struct hocket__json *r, int64_t *out);
double hocket__json_double(const struct hocket__json *r);

/* 0 when the text held exactly one value and all of it was read; otherwise
 * HOCKET_EPARSE, with line, column and what is wrong in *err. */
int hocket__json_end(struct hocket__json *r, struct hocket_error *err);

/* Checks a whole text: 0, or HOCKET_EPARSE with line and column. */
int hocket__json_check(struct hocket__str text, struct hocket_error *err);

/* Line and column (from 1) of where the reader stands. */
void hocket__json_where(const struct hocket__json *r, int *line, int *column);

/* Finds a member of the object `text` by name, whole value as text (with its
 * quotes); false when absent or malformed. For the odd look-up, not for loops. */
bool hocket__json_find(struct hocket__str text, const char *name, struct hocket__str *value);
