/* Compiling: a schema's tree is walked along its keywords; every schema in it
 * becomes a node, identifiers are entered, references are put aside. When a
 * document is walked, the references are resolved, which may bring in further
 * documents, until none is left.
 *
 *     documents -> nodes (build.c; keywords in assert.c and
 *     apply.c) -> references (ref.c) -> no loops */
#pragma once

#include "base/map.h"
#include "base/utf8.h"
#include "core/schema/schema_impl.h"
#include "core/schema/arena.h"

/* Where in a document the walk stands, for messages; frames on the C stack. */
struct hocket__schema_where {
    const struct hocket__schema_where *up;
    struct hocket__str name;
    size_t index;
    enum {
        HOCKET__WHERE_NAME,
        HOCKET__WHERE_INDEX,
        HOCKET__WHERE_DOCUMENT, /* a URI */
        HOCKET__WHERE_POINTER,  /* a JSON pointer, escaped already */
    } kind;
};

/* A reference that waits for its document. */
struct hocket__schema_pending {
    struct hocket__schema_pending *next;
    struct hocket__schema_node *node;
    struct hocket__str text, uri, fragment;
    const char *where;
    bool dynamic;
};

struct hocket__schema_uri {
    struct hocket__schema_uri *next;
    struct hocket__str uri;
    struct hocket__schema_res *res;
};

struct hocket__schema_build {
    struct hocket__schema *schema;
    const struct hocket_allocator *a;
    struct hocket__schema_options o; /* with defaults filled in */
    struct hocket_error *err;
    struct hocket__map nodes; /* by the address of their tree */
    struct hocket__schema_uri *uris;
    struct hocket__schema_pending *pending;
    struct hocket__schema_res *res; /* where the walk is */
    const struct hocket__schema_where *where;
    size_t node_count, name_count, document_count, regex_left;
    int depth;
};

/* A keyword that is met: in which schema, with what value. */
struct hocket__schema_met {
    struct hocket__schema_node *node;
    const hocket_json *schema, *value;
    const struct hocket__schema_keyword *row;
};

/* A row of the keyword tables. `arg` is the reader's own. */
struct hocket__schema_keyword {
    const char *name;
    uint32_t drafts; /* bit per enum hocket__schema_draft */
    uint32_t vocab;
    int (*read)(struct hocket__schema_build *b, const struct hocket__schema_met *k);
    size_t arg;
};

#define HOCKET__SCHEMA_IN_2020_12 (1u << HOCKET__SCHEMA_2020_12)
#define HOCKET__SCHEMA_IN_7       (1u << HOCKET__SCHEMA_DRAFT_7)
#define HOCKET__SCHEMA_IN_ALL     (HOCKET__SCHEMA_IN_2020_12 | HOCKET__SCHEMA_IN_7)

/* Both end with a row without name. */
extern const struct hocket__schema_keyword hocket__schema_assertions[];
extern const struct hocket__schema_keyword hocket__schema_applicators[];

/* The JSON pointer of a place, cut to fit. */
#define HOCKET__WHERE_MAX 160
void hocket__schema_where_text(const struct hocket__schema_where *w, char out[HOCKET__WHERE_MAX]);

/* A text of the schema for printf's %.*s, as far as messages show it. */
#define HOCKET__SCHEMA_SHOW(str)                                                                   \
    (int) hocket__utf8_cut((str).p, (str).n < 120 ? (str).n : 120), (str).p

/* Fails with "at POINTER: …". Returns `status`. */
int hocket__schema_fail(struct hocket__schema_build *b, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Zeroed memory of the schema; NULL, with the error set, when it is out. */
void *hocket__schema_alloc(struct hocket__schema_build *b, size_t count, size_t size);

/* Compiles `v`, a schema that stands where the walk is, or finds what it was
 * compiled to before. */
int hocket__schema_build_node(
    struct hocket__schema_build *b, const hocket_json *v, const struct hocket__schema_node **out);
/* The same one step below: `v` is a member (by its name), or element `index`. */
int hocket__schema_build_member(
    struct hocket__schema_build *b, const hocket_json *v, const struct hocket__schema_node **out);
int hocket__schema_build_element(struct hocket__schema_build *b, const hocket_json *v, size_t index,
    const struct hocket__schema_node **out);
/* A whole document, known at `uri`. */
int hocket__schema_build_document(struct hocket__schema_build *b, const hocket_json *tree,
    struct hocket__str uri, const struct hocket__schema_dialect *d,
    const struct hocket__schema_node **out);

/* The rules of a node for a type, made when first needed; NULL: out of memory. */
struct hocket__schema_arrays *hocket__schema_arrays(
    struct hocket__schema_build *b, struct hocket__schema_node *n);
struct hocket__schema_objects *hocket__schema_objects(
    struct hocket__schema_build *b, struct hocket__schema_node *n);

/* A value that has to be an array of strings. */
int hocket__schema_read_names(
    struct hocket__schema_build *b, const hocket_json *v, struct hocket__schema_names *out);

/* Compiles a pattern into the schema; errors name the place. */
int hocket__schema_build_regex(
    struct hocket__schema_build *b, struct hocket__str pattern, const struct hocket__regex **out);

/* ---- ref.c */

/* Enters what $id, $anchor and $dynamicAnchor say about the node of `schema`; with
 * an $id of its own, b->res becomes its resource. */
int hocket__schema_identify(
    struct hocket__schema_build *b, struct hocket__schema_node *n, const hocket_json *schema);
int hocket__schema_add_res(struct hocket__schema_build *b, const hocket_json *tree,
    struct hocket__str uri, const struct hocket__schema_dialect *d,
    struct hocket__schema_res **out);
int hocket__schema_add_ref(struct hocket__schema_build *b, struct hocket__schema_node *n,
    struct hocket__str text, bool dynamic);
int hocket__schema_resolve_refs(struct hocket__schema_build *b);

/* ---- dialect.c */

/* Which draft and vocabularies the $schema of a resource asks for; *d is left
 * alone when there is none. */
int hocket__schema_read_dialect(
    struct hocket__schema_build *b, const hocket_json *schema, struct hocket__schema_dialect *d);
#define HOCKET__VOCAB_DEFAULT                                                                      \
    (HOCKET__VOCAB_CORE | HOCKET__VOCAB_APPLICATOR | HOCKET__VOCAB_VALIDATION                      \
        | HOCKET__VOCAB_UNEVALUATED)

/* Parses a schema's text: 0, or negative with the error set. */
int hocket__schema_parse(const struct hocket_allocator *a, struct hocket__str text,
    hocket_json **out, struct hocket_error *err);

/* Parses the document at a URI: built in, or from the callback. The tree belongs
 * to the schema. HOCKET_ENOTFOUND (without message) when nobody has it. */
int hocket__schema_load(
    struct hocket__schema_build *b, struct hocket__str uri, const hocket_json **out);
