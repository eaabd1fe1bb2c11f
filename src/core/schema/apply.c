/* Keywords that apply other schemas: their schemas become nodes.
 *
 * Readers run once, when a schema is compiled; what they fill in is judged by eval.c, object.c and
 * logic.c for every value. The table at the end says which keyword is known in which draft and
 * vocabulary. Unknown keywords mean nothing. */
#include "core/schema/build_impl.h"

static int expected(struct hocket__schema_build *b, const char *what)
{
    return hocket__schema_fail(b, HOCKET_EINVAL, "expected %s", what);
}

/* ---- Shapes of values: an array of schemas, an object of schemas */

/* An empty list is refused, as the metaschema does: allOf of nothing is nearly always a
 * mistake of whoever generated the schema. */
static int read_list(
    struct hocket__schema_build *b, const hocket_json *v, struct hocket__schema_list *out)
{
    if (hocket__tree_type(v) != HOCKET__TREE_ARRAY || !hocket__tree_first(v))
        return expected(b, "an array of at least one schema");
    out->at = hocket__schema_alloc(b, hocket_json_count(v), sizeof(*out->at));
    int rc = out->at ? 0 : HOCKET_ENOMEM;
    for (v = hocket__tree_first(v); v && rc == 0; v = hocket__tree_next(v), out->count++)
        rc = hocket__schema_build_element(b, v, out->count, &out->at[out->count]);
    return rc;
}

static int read_props(
    struct hocket__schema_build *b, const hocket_json *v, struct hocket__schema_props *out)
{
    if (hocket__tree_type(v) != HOCKET__TREE_OBJECT)
        return expected(b, "an object of schemas");
    if (!hocket__tree_first(v))
        return 0;
    out->at = hocket__schema_alloc(b, hocket_json_count(v), sizeof(*out->at));
    int rc = out->at ? 0 : HOCKET_ENOMEM;
    for (v = hocket__tree_first(v); v && rc == 0; v = hocket__tree_next(v)) {
        struct hocket__schema_prop *p = &out->at[out->count++];
        p->name = hocket__tree_name(v);
        rc = hocket__schema_build_member(b, v, &p->node);
    }
    if (rc == 0)
        hocket__schema_props_sort(out);
    return rc;
}

/* ---- In place */

/* Groups of rules are made when the first keyword of theirs comes: most schemas have one or two. */
static struct hocket__schema_logic *logic(
    struct hocket__schema_build *b, struct hocket__schema_node *n)
{
    if (!n->logic)
        n->logic = hocket__schema_alloc(b, 1, sizeof(*n->logic));
    return n->logic;
}

enum { ALL_OF, ANY_OF, ONE_OF };

static int read_combined(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    struct hocket__schema_logic *rules = logic(b, k->node);
    if (!rules)
        return HOCKET_ENOMEM;
    struct hocket__schema_list *const lists[] = { &rules->all, &rules->any, &rules->one };
    return read_list(b, k->value, lists[k->row->arg]);
}

enum { NOT, IF, THEN, ELSE };

static int read_branch(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    struct hocket__schema_logic *rules = logic(b, k->node);
    if (!rules)
        return HOCKET_ENOMEM;
    const struct hocket__schema_node **const slots[] = { &rules->no, &rules->when, &rules->then,
        &rules->otherwise };
    return hocket__schema_build_node(b, k->value, slots[k->row->arg]);
}

static int read_ref(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    if (hocket__tree_type(k->value) != HOCKET__TREE_STRING)
        return expected(b, "a string");
    return hocket__schema_add_ref(b, k->node, hocket__tree_str(k->value), k->row->arg);
}

/* Schemas to refer to, which apply to nothing by themselves. */
static int read_definitions(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    struct hocket__schema_props ignored = { .count = 0 };
    return read_props(b, k->value, &ignored);
}

/* ---- Arrays */

static int read_prefix(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    struct hocket__schema_arrays *rules = hocket__schema_arrays(b, k->node);
    return rules ? read_list(b, k->value, &rules->prefix) : HOCKET_ENOMEM;
}

/* `items` changed its meaning: up to draft 7 an array of it is the prefix, and additionalItems
 * the rest; since 2020-12 these are prefixItems and items. Here both are `prefix` and `items`,
 * and items_keyword keeps the name for messages. */
static int read_items(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    struct hocket__schema_arrays *rules = hocket__schema_arrays(b, k->node);
    if (!rules)
        return HOCKET_ENOMEM;
    if (hocket__tree_type(k->value) == HOCKET__TREE_ARRAY) {
        if (k->node->res->dialect.draft != HOCKET__SCHEMA_DRAFT_7)
            return expected(b, "a schema; an array of schemas is called prefixItems since 2020-12");
        return hocket__tree_first(k->value) ? read_list(b, k->value, &rules->prefix) : 0;
    }
    rules->items_keyword = "items";
    return hocket__schema_build_node(b, k->value, &rules->items);
}

/* Draft 7; counts only beside an array of items. */
static int read_additional_items(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    const struct hocket__schema_node *node;
    struct hocket__schema_arrays *rules = hocket__schema_arrays(b, k->node);
    if (!rules)
        return HOCKET_ENOMEM;
    const hocket_json *items = hocket__tree_get(k->schema, HOCKET__STR("items"));
    int rc = hocket__schema_build_node(b, k->value, &node);
    if (rc < 0 || !items || hocket__tree_type(items) != HOCKET__TREE_ARRAY)
        return rc;
    rules->items_keyword = "additionalItems";
    rules->items = node;
    return 0;
}

static int read_contains(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    struct hocket__schema_arrays *rules = hocket__schema_arrays(b, k->node);
    if (!rules)
        return HOCKET_ENOMEM;
    /* since 2020-12 what `contains` fits counts as evaluated, for unevaluatedItems */
    rules->contains_counts = k->node->res->dialect.draft == HOCKET__SCHEMA_2020_12;
    return hocket__schema_build_node(b, k->value, &rules->contains);
}

static int read_unevaluated_items(
    struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    struct hocket__schema_arrays *rules = hocket__schema_arrays(b, k->node);
    return rules ? hocket__schema_build_node(b, k->value, &rules->unevaluated) : HOCKET_ENOMEM;
}

/* ---- Objects */

static int read_properties(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    struct hocket__schema_objects *rules = hocket__schema_objects(b, k->node);
    return rules ? read_props(b, k->value, &rules->props) : HOCKET_ENOMEM;
}

/* Read as properties are, and then each name is compiled as a pattern: for a name that is no
 * pattern the error gives its place. */
static int read_patterns(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    struct hocket__schema_objects *rules = hocket__schema_objects(b, k->node);
    struct hocket__schema_props props = { .count = 0 };
    int rc = rules ? read_props(b, k->value, &props) : HOCKET_ENOMEM;
    if (rc < 0 || props.count == 0)
        return rc;
    rules->patterns = hocket__schema_alloc(b, props.count, sizeof(*rules->patterns));
    if (!rules->patterns)
        return HOCKET_ENOMEM;
    for (size_t i = 0; i < props.count && rc == 0; i++) {
        struct hocket__schema_match *m = &rules->patterns[rules->pattern_count++];
        struct hocket__schema_where here = { b->where, props.at[i].name, 0, HOCKET__WHERE_NAME };
        m->node = props.at[i].node;
        b->where = &here;
        rc = hocket__schema_build_regex(b, props.at[i].name, &m->regex);
        b->where = here.up;
    }
    return rc;
}

enum { ADDITIONAL, NAMES, UNEVALUATED };

static int read_for_members(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    struct hocket__schema_objects *rules = hocket__schema_objects(b, k->node);
    if (!rules)
        return HOCKET_ENOMEM;
    const struct hocket__schema_node **const slots[] = { &rules->additional, &rules->names,
        &rules->unevaluated };
    return hocket__schema_build_node(b, k->value, slots[k->row->arg]);
}

static int read_dependent_schemas(
    struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    struct hocket__schema_objects *rules = hocket__schema_objects(b, k->node);
    return rules ? read_props(b, k->value, &rules->dependent) : HOCKET_ENOMEM;
}

/* One member of dependentRequired, or of draft 7's dependencies, which may be a
 * schema as well. */
static int add_dependency(struct hocket__schema_build *b, struct hocket__schema_objects *rules,
    const hocket_json *v, bool schemas_too)
{
    struct hocket__str name = hocket__tree_name(v);
    if (schemas_too && hocket__tree_type(v) != HOCKET__TREE_ARRAY) {
        struct hocket__schema_prop *p = &rules->dependent.at[rules->dependent.count++];
        p->name = name;
        return hocket__schema_build_member(b, v, &p->node);
    }
    struct hocket__schema_where here = { b->where, name, 0, HOCKET__WHERE_NAME };
    struct hocket__schema_needs *needs = &rules->needs[rules->needs_count++];
    needs->name = name;
    b->where = &here;
    int rc = hocket__schema_read_names(b, v, &needs->others);
    b->where = here.up;
    return rc;
}

static int read_dependencies(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    bool schemas_too = k->row->arg;
    struct hocket__schema_objects *rules = hocket__schema_objects(b, k->node);
    if (!rules)
        return HOCKET_ENOMEM;
    if (hocket__tree_type(k->value) != HOCKET__TREE_OBJECT)
        return expected(b, "an object");
    size_t count = hocket_json_count(k->value);
    if (count == 0)
        return 0;
    rules->needs = hocket__schema_alloc(b, count, sizeof(*rules->needs));
    if (schemas_too)
        rules->dependent.at = hocket__schema_alloc(b, count, sizeof(*rules->dependent.at));
    if (!rules->needs || (schemas_too && !rules->dependent.at))
        return HOCKET_ENOMEM;
    int rc = 0;
    for (const hocket_json *v = hocket__tree_first(k->value); v && rc == 0;
         v = hocket__tree_next(v))
        rc = add_dependency(b, rules, v, schemas_too);
    return rc;
}

#define V7    HOCKET__SCHEMA_IN_7
#define NEW   HOCKET__SCHEMA_IN_2020_12
#define ALL   HOCKET__SCHEMA_IN_ALL
#define CORE  HOCKET__VOCAB_CORE
#define APPLY HOCKET__VOCAB_APPLICATOR
#define REST  HOCKET__VOCAB_UNEVALUATED

/* name, drafts, vocabulary, reader, what the reader distinguishes by */
const struct hocket__schema_keyword hocket__schema_applicators[] = {
    { "$defs", NEW, CORE, read_definitions, 0 },
    { "$dynamicRef", NEW, CORE, read_ref, true },
    { "$ref", ALL, CORE, read_ref, false },
    { "additionalItems", V7, APPLY, read_additional_items, 0 },
    { "additionalProperties", ALL, APPLY, read_for_members, ADDITIONAL },
    { "allOf", ALL, APPLY, read_combined, ALL_OF },
    { "anyOf", ALL, APPLY, read_combined, ANY_OF },
    { "contains", ALL, APPLY, read_contains, 0 },
    { "definitions", ALL, CORE, read_definitions, 0 },
    { "dependencies", V7, APPLY, read_dependencies, true },
    { "dependentRequired", NEW, HOCKET__VOCAB_VALIDATION, read_dependencies, false },
    { "dependentSchemas", NEW, APPLY, read_dependent_schemas, 0 },
    { "else", ALL, APPLY, read_branch, ELSE },
    { "if", ALL, APPLY, read_branch, IF },
    { "items", ALL, APPLY, read_items, 0 },
    { "not", ALL, APPLY, read_branch, NOT },
    { "oneOf", ALL, APPLY, read_combined, ONE_OF },
    { "patternProperties", ALL, APPLY, read_patterns, 0 },
    { "prefixItems", NEW, APPLY, read_prefix, 0 },
    { "properties", ALL, APPLY, read_properties, 0 },
    { "propertyNames", ALL, APPLY, read_for_members, NAMES },
    { "then", ALL, APPLY, read_branch, THEN },
    { "unevaluatedItems", NEW, REST, read_unevaluated_items, 0 },
    { "unevaluatedProperties", NEW, REST, read_for_members, UNEVALUATED },
    { NULL, 0, 0, NULL, 0 },
};
