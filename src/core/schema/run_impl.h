/* One validation: its budget, where in the instance and in the schema it
 * stands, and where its errors go. The functions that judge answer 1 when the
 * instance fits, 0 when not (reported already, if anybody listens), or a
 * negative code when it cannot be known. */
#pragma once

#include "base/utf8.h"
#include "core/schema/schema_impl.h"

/* Where the instance stands in the whole; the frames are on the C stack. */
struct hocket__schema_path {
    const struct hocket__schema_path *up;
    struct hocket__str name;
    size_t index;
    bool is_index;
};

/* A value, or the name of a member (then `json` is NULL). */
struct hocket__schema_inst {
    enum hocket__tree_type type;
    const hocket_json *json;
    struct hocket__str text; /* of a string or number */
    const struct hocket__schema_path *path;
};

/* The documents that lead here, for $dynamicRef. */
struct hocket__schema_scope {
    const struct hocket__schema_scope *outer;
    const struct hocket__schema_res *res;
};

/* Where errors go. Beyond `max` they only set `more`. */
struct hocket__schema_sink {
    struct hocket__schema_error *at;
    size_t max, count;
    bool more;
};

struct hocket__schema_run {
    const struct hocket__schema *schema;
    const struct hocket_allocator *a;
    uint64_t steps;                   /* left */
    int depth;                        /* left */
    struct hocket__schema_sink *sink; /* NULL: nobody listens, stop at the first error */
    const struct hocket__schema_scope *scope;
    void *scratch; /* for patterns; made when first needed */
    bool brief;    /* alternatives inside of alternatives are not explained */
};

/* Members or elements that a schema has looked at, for unevaluated…. */
struct hocket__schema_seen {
    uint64_t *bits; /* NULL up to 64 of them: they are in `few` */
    uint64_t few;
    size_t count;
};

struct hocket__schema_inst hocket__schema_inst(
    const hocket_json *json, const struct hocket__schema_path *path);

/* Takes from the budget; false when it is used up. */
static inline bool hocket__schema_spend(struct hocket__schema_run *r, uint64_t steps)
{
    bool enough = r->steps >= steps;
    r->steps = enough ? r->steps - steps : 0;
    return enough;
}

/* Notes the answer `rc` of one part in *ok. True when the rest need not be
 * looked at: an answer is impossible, or is no and nobody wants more reasons. */
static inline bool hocket__schema_stop(const struct hocket__schema_run *r, int rc, int *ok)
{
    if (rc > 0)
        return false;
    *ok = rc;
    return rc < 0 || !r->sink || r->sink->more;
}

/* Applies a node. `seen` may be NULL; it is only right when the answer is 1. */
int hocket__schema_eval(struct hocket__schema_run *r, const struct hocket__schema_node *n,
    const struct hocket__schema_inst *in, struct hocket__schema_seen *seen);
/* The same without reporting. */
int hocket__schema_try(struct hocket__schema_run *r, const struct hocket__schema_node *n,
    const struct hocket__schema_inst *in, struct hocket__schema_seen *seen);

int hocket__schema_eval_values(struct hocket__schema_run *r,
    const struct hocket__schema_values *rules, const struct hocket__schema_inst *in);
int hocket__schema_eval_string(struct hocket__schema_run *r,
    const struct hocket__schema_strings *rules, const struct hocket__schema_inst *in);
int hocket__schema_eval_object(struct hocket__schema_run *r,
    const struct hocket__schema_objects *rules, const struct hocket__schema_inst *in,
    struct hocket__schema_seen *seen);
int hocket__schema_eval_logic(struct hocket__schema_run *r,
    const struct hocket__schema_logic *rules, const struct hocket__schema_inst *in,
    struct hocket__schema_seen *seen);
/* Whether a pattern matches: 1, 0 or negative. */
int hocket__schema_match(
    struct hocket__schema_run *r, const struct hocket__regex *regex, struct hocket__str text);
int hocket__schema_check_format(struct hocket__schema_run *r,
    const struct hocket__schema_format *format, const struct hocket__schema_inst *in);
/* All elements differ: 1; 0 with the places of two equal ones; or negative. */
int hocket__schema_unique(
    struct hocket__schema_run *r, const hocket_json *array, size_t *first, size_t *second);

/* ---- seen */

int hocket__schema_seen_init(struct hocket__schema_run *r, struct hocket__schema_seen *s,
    const struct hocket__schema_inst *in);
void hocket__schema_seen_deinit(struct hocket__schema_run *r, struct hocket__schema_seen *s);
void hocket__schema_seen_add(struct hocket__schema_seen *s, size_t i);
bool hocket__schema_seen_has(const struct hocket__schema_seen *s, size_t i);
void hocket__schema_seen_merge(
    struct hocket__schema_seen *into, const struct hocket__schema_seen *from);

/* ---- Reports. All answer 0; "…, got VALUE" is added by the first. */

int hocket__schema_report(struct hocket__schema_run *r, const struct hocket__schema_inst *in,
    const char *keyword, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
int hocket__schema_report_plain(struct hocket__schema_run *r, const struct hocket__schema_inst *in,
    const char *keyword, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
int hocket__schema_report_type(
    struct hocket__schema_run *r, const struct hocket__schema_inst *in, uint32_t types);
int hocket__schema_report_values(struct hocket__schema_run *r, const struct hocket__schema_inst *in,
    const struct hocket__schema_values *rules);
/* A member that the schema does not know. */
int hocket__schema_report_unknown(struct hocket__schema_run *r,
    const struct hocket__schema_inst *in, const struct hocket__schema_props *known);
/* None of the alternatives fits: says what each of them misses. */
int hocket__schema_report_alternatives(struct hocket__schema_run *r,
    const struct hocket__schema_inst *in, const char *keyword,
    const struct hocket__schema_list *list);

/* A text for printf's %.*s, at most 80 bytes of it. */
#define HOCKET__SCHEMA_ARG(str)                                                                    \
    (int) hocket__utf8_cut((str).p, (str).n < 80 ? (str).n : 80), (str).p
