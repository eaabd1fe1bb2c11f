/* A strict, pull-style JSON reader (RFC 8259) over text that is wholly in
 * memory. It allocates nothing and copies nothing: strings and numbers are
 * slices of the text, decoded on demand. Everything that comes from outside
 * goes through it.
 *
 *     struct hocket__json r;
 *     hocket__json_init(&r, text);
 *     if (hocket__json_next(&r) == HOCKET__JSON_OBJECT)
 *         while (hocket__json_key(&r)) {                 // at a key
 *             if (!hocket__json_is(&r, "id"))
 *                 hocket__json_skip(&r, NULL);           // the whole value
 *             else if (hocket__json_want(&r, HOCKET__JSON_STRING))
 *                 hocket__json_decode(&r, out);          // a value of the wrong type is
 *         }                                              // passed over, never entered
 *     if (hocket__json_end(&r, err) < 0) …               // error, or trailing text
 *
 * Errors are sticky: after one every call returns HOCKET__JSON_ERROR (or
 * false), so a reading function may check once at its end.
 *
 * Decided where RFC 8259 leaves it open: duplicate names are passed through in
 * order (let the last one win, as everybody else does); \u escapes of lone
 * surrogates are accepted and decode to U+FFFD; raw bytes have to be valid UTF-8;
 * no byte order mark; any number in the grammar. */
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
    bool in_object;          /* the innermost level is an object's (private) */
    bool
        exact; /* for whoever makes values of the text: may be set after init, where no number is to
                 * lose digits */
    uint16_t depth;
    uint16_t max_depth; /* may be lowered after init; more than the default is not taken */
    const char *error;  /* NULL, or what is wrong, for people */
    uint64_t is_object[HOCKET__JSON_DEPTH / 64];
};

void hocket__json_init(struct hocket__json *r, struct hocket__str text);

enum hocket__json_token hocket__json_next(struct hocket__json *r);

/* Moves to the next key of the object whose begin, or whose previous member,
 * was read last; false at its end (which is consumed) or on an error. A value that was
 * not read is passed over, an array that was only begun too; but an object that was only
 * begun is entered: read values with hocket__json_want or _skip. Outside an object it is
 * an error. */
bool hocket__json_key(struct hocket__json *r);
/* Moves to the next element's first token; false at the array's end or on an error. An
 * object that was only begun is passed over, an array that was only begun is entered. */
bool hocket__json_element(struct hocket__json *r);
/* After a key, or at the start: reads the value's first token. True when it is of this
 * type; otherwise the whole value is passed over. TRUE and FALSE stand for each other.
 * After hocket__json_element it looks at the token that was read. */
bool hocket__json_want(struct hocket__json *r, enum hocket__json_token type);
/* Compares the key or string that was read last, without decoding when it has no escape. */
bool hocket__json_is(const struct hocket__json *r, const char *literal);

/* At the beginning of an object: goes to the value behind one of its keys, n bytes from the start
 * of the text, without reading what stands between. The caller has read the very same bytes
 * before, and was there at that key. */
void hocket__json_jump(struct hocket__json *r, size_t n);

/* Reads one whole value: after a key or at the start, the next one; otherwise that whose
 * first token was read last. Checks it, and gives its text in *value (may be NULL). */
int hocket__json_skip(struct hocket__json *r, struct hocket__str *value);

/* Appends the decoded string (or key) that was read last. */
int hocket__json_decode(const struct hocket__json *r, struct hocket__buf *out);
/* The code unit of the escape \uXXXX that the text begins with; -1 when it begins with none. */
int hocket__json_code_unit(struct hocket__str text);
/* Decodes a string's inside that was kept as a slice. */
int hocket__json_unescape(struct hocket__str inside, struct hocket__buf *out);

/* Number token, or string that holds a number, as an integer: 3, "3", 3.0 and 3e0. False,
 * and *out = -1, when it is none or does not fit. */
bool hocket__json_int(const struct hocket__json *r, int64_t *out);
/* Likewise as a double; 0 when it is none. */
double hocket__json_double(const struct hocket__json *r);
/* For a value that cannot be taken: what was read last is an error from now on. */
void hocket__json_refuse(struct hocket__json *r, const char *error);

/* 0 when the text held exactly one value and all of it was read; otherwise
 * HOCKET_EPARSE, with line, column and what is wrong in *err. */
int hocket__json_end(struct hocket__json *r, struct hocket_error *err);

/* Checks a whole text: 0, or HOCKET_EPARSE with line and column. */
int hocket__json_check(struct hocket__str text, struct hocket_error *err);

/* Finds a member of the object `text` by name, whole value as text (with its
 * quotes); false when absent, or when the text is malformed anywhere. Of members with
 * the same name it is the last; `value` may be NULL. For the odd look-up, not for loops. */
bool hocket__json_find(struct hocket__str text, const char *name, struct hocket__str *value);
