/* What a schema is compiled to: one node per schema object or boolean, with
 * rules grouped by the type of instance they speak about. A group is NULL when
 * none of its keywords is there. All of it lives in the schema's arena; names
 * and values point into the trees of the documents. */
#pragma once

#include "core/schema/arena.h"
#include "core/regex/regex.h"
#include "core/schema/schema.h"
#include "core/schema/decimal.h"

/* Sets of types: a bit per enum hocket__tree_type, and one for "integer". */
#define HOCKET__TYPE_BIT(tree_type) (1u << (tree_type))
#define HOCKET__TYPE_INTEGER        (1u << 6)

/* A URI-identified part of a document, with the names that live in it. */
struct hocket__schema_anchor {
    struct hocket__schema_anchor *next;
    struct hocket__str name;
    const struct hocket__schema_node *node;
    bool dynamic;
};

#define HOCKET__VOCAB_APPLICATOR  (1u << 0)
#define HOCKET__VOCAB_VALIDATION  (1u << 1)
#define HOCKET__VOCAB_UNEVALUATED (1u << 2)
#define HOCKET__VOCAB_FORMAT      (1u << 3) /* format asserts */
#define HOCKET__VOCAB_CORE        (1u << 4)

struct hocket__schema_dialect {
    enum hocket__schema_draft draft;
    uint32_t vocab;
};

struct hocket__schema_res {
    struct hocket__str uri; /* "" for a document without one */
    const hocket_json *tree;
    struct hocket__schema_dialect dialect;
    struct hocket__schema_anchor *anchors;
};

struct hocket__schema_list {
    const struct hocket__schema_node **at;
    size_t count;
};

struct hocket__schema_names {
    struct hocket__str *at;
    size_t count;
};

struct hocket__schema_bounds { /* of lengths and counts */
    bool has_min, has_max;
    uint64_t min, max;
};

struct hocket__schema_values { /* const, enum */
    const hocket_json *constant, *list;
};

struct hocket__schema_numbers { /* decimals without text are absent */
    struct hocket__decimal minimum, maximum, above, below, multiple;
};

struct hocket__schema_format; /* format.c */

struct hocket__schema_strings {
    struct hocket__schema_bounds length;
    const struct hocket__regex *pattern;
    struct hocket__str pattern_text;
    const struct hocket__schema_format *format;
};

struct hocket__schema_arrays {
    struct hocket__schema_bounds count, contained;
    bool unique;
    bool contains_counts; /* what `contains` takes is evaluated (2020-12) */
    struct hocket__schema_list prefix;
    const struct hocket__schema_node *items, *contains, *unevaluated;
    const char *items_keyword;
};

struct hocket__schema_prop {
    struct hocket__str name;
    const struct hocket__schema_node *node;
};

struct hocket__schema_props { /* sorted by length, then bytes */
    struct hocket__schema_prop *at;
    size_t count;
};

struct hocket__schema_match {
    const struct hocket__regex *regex;
    const struct hocket__schema_node *node;
};

struct hocket__schema_needs { /* when `name` is there, all of `others` have to be */
    struct hocket__str name;
    struct hocket__schema_names others;
};

struct hocket__schema_objects {
    struct hocket__schema_bounds count;
    struct hocket__schema_props props, dependent;
    struct hocket__schema_match *patterns;
    size_t pattern_count;
    struct hocket__schema_needs *needs;
    size_t needs_count;
    struct hocket__schema_names required;
    const struct hocket__schema_node *additional, *names, *unevaluated;
};

struct hocket__schema_logic { /* applied to the instance itself */
    struct hocket__schema_list all, any, one;
    const struct hocket__schema_node *no, *when, *then, *otherwise;
};

enum hocket__schema_kind { HOCKET__SCHEMA_RULES, HOCKET__SCHEMA_TRUE, HOCKET__SCHEMA_FALSE };

struct hocket__schema_node {
    enum hocket__schema_kind kind;
    uint32_t types;                 /* 0: all */
    struct hocket__schema_res *res; /* not changed once compiled */
    const struct hocket__schema_node *ref, *dynamic;
    struct hocket__str dynamic_name; /* empty: `dynamic` is like `ref` */
    struct hocket__schema_values *values;
    struct hocket__schema_numbers *numbers;
    struct hocket__schema_strings *strings;
    struct hocket__schema_arrays *arrays;
    struct hocket__schema_objects *objects;
    struct hocket__schema_logic *logic;
    struct hocket__schema_node *next; /* of all */
    uint32_t index;
    const char *where; /* its reference, for messages */
};

struct hocket__schema_doc {
    struct hocket__schema_doc *next;
    hocket_json *tree;
};

struct hocket__schema_regex {
    struct hocket__schema_regex *next;
    struct hocket__regex *regex;
};

struct hocket__schema {
    struct hocket__arena arena;
    const struct hocket__schema_node *root;
    struct hocket__schema_node *nodes;
    struct hocket__schema_doc *docs; /* trees that are ours */
    struct hocket__schema_regex *regexes;
    size_t scratch; /* bytes that the greediest pattern needs */
    int max_depth;
    uint64_t max_steps;
};

void hocket__schema_props_sort(struct hocket__schema_props *props);

/* The anchor of that name, or NULL. */
const struct hocket__schema_anchor *hocket__schema_anchor_find(
    const struct hocket__schema_res *res, struct hocket__str name, bool dynamic_only);

/* A format by name, or NULL when it is none that is checked. */
const struct hocket__schema_format *hocket__schema_format_find(struct hocket__str name);
