/* A JSON tree, for the few places that need one: the public hocket_json_*
 * functions and the JSON Schema validator. The nodes are cJSON's, built by our
 * strict reader; tree.c is the only file that knows cJSON. Numbers keep
 * their text, strings their length: 64-bit integers and NULs survive.
 *
 * A tree is one block of memory: up to about 60 bytes for each byte of text, so bound
 * the text. Elements are found by index in constant time, members by name in
 * logarithmic time. Of members with the same name the last one stands, in its own place; the
 * others are not in the tree, so that nobody can be shown one and another be checked. */
#pragma once

#include "base/json/read.h"

enum hocket__tree_type {
    HOCKET__TREE_NULL,
    HOCKET__TREE_BOOL,
    HOCKET__TREE_NUMBER,
    HOCKET__TREE_STRING,
    HOCKET__TREE_ARRAY,
    HOCKET__TREE_OBJECT,
};

/* Besides the public functions of hocket.h. max_depth 0: the reader's default. The
 * second takes its memory from `a`, which has to outlive the tree. Both are freed with
 * hocket_json_free, and give NULL with ENOMEM or EPARSE in *err. */
hocket_json *hocket__tree_parse(struct hocket__str text, int max_depth, struct hocket_error *err);
hocket_json *hocket__tree_new(const struct hocket_allocator *a, struct hocket__str text,
    int max_depth, struct hocket_error *err);

/* These functions accept NULL: its type is NULL, its texts are empty. So are the texts of values of
 * another type. */
enum hocket__tree_type hocket__tree_type(const hocket_json *v);
struct hocket__str hocket__tree_str(const hocket_json *v); /* of a string; may hold NUL */
struct hocket__str hocket__tree_number_text(const hocket_json *v);
struct hocket__str hocket__tree_name(const hocket_json *v);  /* of an object's member */
const hocket_json *hocket__tree_first(const hocket_json *v); /* child */
const hocket_json *hocket__tree_next(const hocket_json *v);  /* sibling */
const hocket_json *hocket__tree_get(const hocket_json *object, struct hocket__str name);
bool hocket__tree_bool(const hocket_json *v); /* true, and nothing else */
/* Equality as JSON Schema has it: 1 equals 1.0, member order does not matter. */
bool hocket__tree_equal(const hocket_json *a, const hocket_json *b);
/* Appends the value as JSON. */
int hocket__tree_print(const hocket_json *v, struct hocket__buf *out);
/* The same, but for those of its members that are among the n in `left_out`. */
int hocket__tree_print_without(
    const hocket_json *v, const hocket_json *const *left_out, size_t n, struct hocket__buf *out);
/* The value at a JSON pointer (RFC 6901) in v; NULL when there is none. */
const hocket_json *hocket__tree_at(const hocket_json *v, const char *pointer);
