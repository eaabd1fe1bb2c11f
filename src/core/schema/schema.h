/* JSON Schema, drafts 2020-12 and 7: checks tool arguments and structured
 * answers of models. Schemas come from tool authors and remote servers, what
 * they check comes from models: both are hostile.
 *
 * A schema is compiled once: its text is checked ("type": 3 is refused, not
 * ignored), all references are resolved, patterns become programs. Compiling
 * never fetches; other documents come from a callback, and the metaschemas of
 * both drafts are built in. A compiled schema does not change: any number of
 * threads may validate with it, if the allocators they give may be used so.
 *
 * Validation is bounded: nesting by max_depth, work by max_steps; past either
 * the answer is HOCKET_ELIMIT, not a guess. References that lead back to
 * themselves without going into the instance are refused when compiling ($ref)
 * or reach max_depth ($dynamicRef).
 *
 * Numbers are compared exactly, as written, of any size: 1 equals 1.0, and
 * 9007199254740993 is not 9007199254740992. Lengths count code points. `format`
 * is an annotation unless assert_format is set or the metaschema asks for it;
 * content… keywords are annotations. Unknown keywords are ignored, as the
 * specification has it. A document whose $schema is draft 6 is read as draft 7.
 * Older drafts and 2019-09 are refused. */
#pragma once

#include "base/json/json.h"

struct hocket__schema;

enum hocket__schema_draft { HOCKET__SCHEMA_2020_12, HOCKET__SCHEMA_DRAFT_7 };

/* Appends the text of the document at the absolute URI (without fragment) to
 * `out`: 0, or negative (HOCKET_ENOTFOUND) when there is none. */
typedef int (*hocket__schema_resolve_cb)(struct hocket__str uri, struct hocket__buf *out, void *ud);

/* All zero is a good default. */
struct hocket__schema_options {
    enum hocket__schema_draft draft;      /* of documents without $schema */
    bool assert_format;                   /* let `format` refuse values */
    hocket__schema_resolve_cb resolve_cb; /* NULL: no other documents */
    void *resolve_ud;
    size_t max_nodes;     /* schemas inside the schema, other documents too; 0: 10000 */
    size_t max_documents; /* other documents; 0: 32 */
    size_t max_regex;     /* size of a pattern's program; 0: 10000, 20 times that for all */
    int max_depth;        /* schemas applied inside each other, 0.6 KB of stack each; 0: 256 */
    uint64_t max_steps;   /* of one validation; 0: 1000000, about 0.1 s */
};

/* Compiles a schema's text. `o` may be NULL. Fails with HOCKET_EPARSE (no
 * JSON), HOCKET_EINVAL (not a schema, or a reference that leads nowhere; the message
 * begins with the place: "at /properties/day/type: …"), HOCKET_EUNSUPPORTED (a draft,
 * vocabulary or pattern), HOCKET_ELIMIT, HOCKET_ENOMEM. */
int hocket__schema_new(const struct hocket_allocator *a, struct hocket__str text,
    const struct hocket__schema_options *o, struct hocket__schema **out, struct hocket_error *err);
void hocket__schema_free(struct hocket__schema *s); /* NULL is fine */

#define HOCKET__SCHEMA_ERRORS 8

/* One reason why an instance does not fit. Plain data, nothing to free; too
 * long texts end in "…". */
struct hocket__schema_error {
    char path[160];      /* JSON pointer into the instance, "" for all of it */
    const char *keyword; /* "required"; static text */
    char message[360];   /* one line: what was expected, what came */
};

struct hocket__schema_errors {
    size_t count;
    bool more; /* there are errors beyond these */
    struct hocket__schema_error at[HOCKET__SCHEMA_ERRORS];
};

/* 0 when the instance fits; HOCKET_EINVAL when not, with the reasons in
 * *errors (NULL: not wanted, which is faster); HOCKET_ELIMIT or HOCKET_ENOMEM when
 * that could not be found out. `a` may be NULL: the schema's own allocator. */
int hocket__schema_validate(const struct hocket__schema *s, const struct hocket_allocator *a,
    const hocket_json *instance, struct hocket__schema_errors *errors, struct hocket_error *err);

/* Appends one text for a model: "arguments do not fit the schema: /day: expected
 * integer, got string "two"", a list when there are several errors. `what` begins
 * it ("arguments do not fit"). Returns the buffer's status. */
int hocket__schema_explain(
    const struct hocket__schema_errors *errors, const char *what, struct hocket__buf *out);
