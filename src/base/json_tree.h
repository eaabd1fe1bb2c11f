/* A JSON tree, for the few places that need one: the public hocket_json_*
 * functions and the JSON Schema validator. The nodes are cJSON's, built by our
 * strict reader; json_tree.c is the only file that knows cJSON. Numbers keep
 * their text, strings their length: 64-bit integers and NULs survive. */
#pragma once

#include "base/json_read.h"

enum hocket__tree_type {
    HOCKET__TREE_NULL, HOCKET__TREE_BOOL, HOCKET__TREE_NUMBER,
    HOCKET__TREE_STRING, HOCKET__TREE_ARRAY, HOCKET__TREE_OBJECT,
};

/* Besides the public functions of hocket.h: */
hocket_json *hocket__tree_parse(struct hocket__str text, int max_depth, struct hocket_error *err);
enum hocket__tree_type hocket__tree_type(const hocket_json *v);
struct hocket__str hocket__tree_str(const hocket_json *v);    /* of a string; may hold NUL */
struct hocket__str hocket__tree_number_text(const hocket_json *v);
struct hocket__str hocket__tree_name(const hocket_json *v);   /* of an object's member */
const hocket_json *hocket__tree_first(const hocket_json *v);  /* child */
const hocket_json *hocket__tree_next(const hocket_json *v);   /* sibling */
const hocket_json *hocket__tree_get(const hocket_json *object, struct hocket__str name);
/* Equality as JSON Schema has it: 1 equals 1.0, member order does not matter. */
bool hocket__tree_equal(const hocket_json *a, const hocket_json *b);
/* Appends the value as JSON. */
int hocket__tree_print(const hocket_json *v, struct hocket__buf *out);
