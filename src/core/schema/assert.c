/* Keywords that judge by themselves: their values are checked and put into the
 * node.
 *
 * A value of the wrong form ("type": 3) is an error of the schema, with its place: a server's
 * schema with a slip in it is better refused than half obeyed. */
#include "core/schema/build_impl.h"

static int expected(struct hocket__schema_build *b, const char *what)
{
    return hocket__schema_fail(b, HOCKET_EINVAL, "expected %s", what);
}

/* ---- Groups of rules */

static struct hocket__schema_numbers *numbers_of(
    struct hocket__schema_build *b, struct hocket__schema_node *n)
{
    if (!n->numbers)
        n->numbers = hocket__schema_alloc(b, 1, sizeof(*n->numbers));
    return n->numbers;
}

static struct hocket__schema_strings *strings_of(
    struct hocket__schema_build *b, struct hocket__schema_node *n)
{
    if (!n->strings)
        n->strings = hocket__schema_alloc(b, 1, sizeof(*n->strings));
    return n->strings;
}

struct hocket__schema_arrays *hocket__schema_arrays(
    struct hocket__schema_build *b, struct hocket__schema_node *n)
{
    if (!n->arrays)
        n->arrays = hocket__schema_alloc(b, 1, sizeof(*n->arrays));
    return n->arrays;
}

struct hocket__schema_objects *hocket__schema_objects(
    struct hocket__schema_build *b, struct hocket__schema_node *n)
{
    if (!n->objects)
        n->objects = hocket__schema_alloc(b, 1, sizeof(*n->objects));
    return n->objects;
}

/* ---- type, const, enum */

static uint32_t type_bit(struct hocket__str name)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } types[] = {
        { "null", HOCKET__TYPE_BIT(HOCKET__TREE_NULL) },
        { "boolean", HOCKET__TYPE_BIT(HOCKET__TREE_BOOL) },
        { "number", HOCKET__TYPE_BIT(HOCKET__TREE_NUMBER) },
        { "string", HOCKET__TYPE_BIT(HOCKET__TREE_STRING) },
        { "array", HOCKET__TYPE_BIT(HOCKET__TREE_ARRAY) },
        { "object", HOCKET__TYPE_BIT(HOCKET__TREE_OBJECT) },
        { "integer", HOCKET__TYPE_INTEGER },
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (hocket__str_is(name, types[i].name))
            return types[i].bit;
    return 0;
}

static int add_type(
    struct hocket__schema_build *b, struct hocket__schema_node *n, const hocket_json *v)
{
    static const char what[] = "null, boolean, number, integer, string, array or object";
    uint32_t bit = hocket__tree_type(v) == HOCKET__TREE_STRING ? type_bit(hocket__tree_str(v)) : 0;
    n->types |= bit;
    return bit ? 0 : expected(b, what);
}

static int read_type(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    int rc = 0;
    if (hocket__tree_type(k->value) != HOCKET__TREE_ARRAY)
        return add_type(b, k->node, k->value);
    if (!hocket__tree_first(k->value))
        return expected(b, "at least one type");
    for (const hocket_json *v = hocket__tree_first(k->value); v && rc == 0;
         v = hocket__tree_next(v))
        rc = add_type(b, k->node, v);
    return rc;
}

static int read_value(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    bool list = k->row->arg;
    struct hocket__schema_node *n = k->node;
    if (list && hocket__tree_type(k->value) != HOCKET__TREE_ARRAY)
        return expected(b, "an array of values");
    if (!n->values)
        n->values = hocket__schema_alloc(b, 1, sizeof(*n->values));
    if (!n->values)
        return HOCKET_ENOMEM;
    *(list ? &n->values->list : &n->values->constant) = k->value;
    return 0;
}

/* ---- Numbers */

static int read_decimal(
    struct hocket__schema_build *b, const hocket_json *v, struct hocket__decimal *out)
{
    if (hocket__tree_type(v) != HOCKET__TREE_NUMBER)
        return expected(b, "a number");
    *out = hocket__decimal_read(hocket__tree_number_text(v));
    return 0;
}

enum { MINIMUM, MAXIMUM, ABOVE, BELOW };

static int read_limit(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    struct hocket__schema_numbers *rules = numbers_of(b, k->node);
    if (!rules)
        return HOCKET_ENOMEM;
    struct hocket__decimal *const limits[] = { &rules->minimum, &rules->maximum, &rules->above,
        &rules->below };
    return read_decimal(b, k->value, limits[k->row->arg]);
}

static int read_multiple(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    struct hocket__schema_numbers *rules = numbers_of(b, k->node);
    if (!rules)
        return HOCKET_ENOMEM;
    struct hocket__decimal *d = &rules->multiple;
    int rc = read_decimal(b, k->value, d);
    if (rc == 0 && (d->negative || d->count == 0))
        return expected(b, "a number above 0");
    /* the remainder is computed with 64 bits */
    if (rc == 0 && d->count > HOCKET__DECIMAL_DIVISOR_DIGITS)
        return hocket__schema_fail(
            b, HOCKET_ELIMIT, "more than %d digits", HOCKET__DECIMAL_DIVISOR_DIGITS);
    return rc;
}

/* ---- Lengths and counts */

/* Written as a number of JSON may be: 2, 2.0 and 0.2e1 are the same count. */
static int read_count(struct hocket__schema_build *b, const hocket_json *v, bool *has, uint64_t *n)
{
    struct hocket__decimal d;
    if (hocket__tree_type(v) != HOCKET__TREE_NUMBER)
        return expected(b, "an integer of at least 0");
    d = hocket__decimal_read(hocket__tree_number_text(v));
    *has = hocket__decimal_count(&d, n);
    return *has ? 0 : expected(b, "an integer of at least 0");
}

enum { OF_STRING, OF_ARRAY, OF_CONTAINS, OF_OBJECT };

static struct hocket__schema_bounds *find_bounds(
    struct hocket__schema_build *b, struct hocket__schema_node *n, size_t of)
{
    if (of == OF_STRING) {
        struct hocket__schema_strings *s = strings_of(b, n);
        return s ? &s->length : NULL;
    }
    if (of == OF_OBJECT) {
        struct hocket__schema_objects *o = hocket__schema_objects(b, n);
        return o ? &o->count : NULL;
    }
    struct hocket__schema_arrays *a = hocket__schema_arrays(b, n);
    if (!a)
        return NULL;
    return of == OF_CONTAINS ? &a->contained : &a->count;
}

static int read_min(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    struct hocket__schema_bounds *bounds = find_bounds(b, k->node, k->row->arg);
    return bounds ? read_count(b, k->value, &bounds->has_min, &bounds->min) : HOCKET_ENOMEM;
}

static int read_max(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    struct hocket__schema_bounds *bounds = find_bounds(b, k->node, k->row->arg);
    return bounds ? read_count(b, k->value, &bounds->has_max, &bounds->max) : HOCKET_ENOMEM;
}

/* ---- Strings */

static int read_pattern(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    struct hocket__schema_strings *rules = strings_of(b, k->node);
    if (!rules)
        return HOCKET_ENOMEM;
    if (hocket__tree_type(k->value) != HOCKET__TREE_STRING)
        return expected(b, "a string");
    rules->pattern_text = hocket__tree_str(k->value);
    return hocket__schema_build_regex(b, rules->pattern_text, &rules->pattern);
}

static int read_format(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    if (hocket__tree_type(k->value) != HOCKET__TREE_STRING)
        return expected(b, "a string");
    if (!b->o.assert_format && !(k->node->res->dialect.vocab & HOCKET__VOCAB_FORMAT))
        return 0;
    struct hocket__schema_strings *rules = strings_of(b, k->node);
    if (rules)
        /* one that nobody knows is NULL and never refuses, as the specification wants it */
        rules->format = hocket__schema_format_find(hocket__tree_str(k->value));
    return rules ? 0 : HOCKET_ENOMEM;
}

/* ---- Arrays, objects */

static int read_unique(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    struct hocket__schema_arrays *rules = hocket__schema_arrays(b, k->node);
    if (!rules)
        return HOCKET_ENOMEM;
    if (hocket__tree_type(k->value) != HOCKET__TREE_BOOL)
        return expected(b, "true or false");
    rules->unique = hocket__tree_bool(k->value);
    return 0;
}

int hocket__schema_read_names(
    struct hocket__schema_build *b, const hocket_json *v, struct hocket__schema_names *out)
{
    if (hocket__tree_type(v) != HOCKET__TREE_ARRAY)
        return expected(b, "an array of strings");
    size_t count = hocket_json_count(v);
    if (count == 0)
        return 0;
    out->at = hocket__schema_alloc(b, count, sizeof(*out->at));
    if (!out->at)
        return HOCKET_ENOMEM;
    for (v = hocket__tree_first(v); v; v = hocket__tree_next(v)) {
        if (hocket__tree_type(v) != HOCKET__TREE_STRING)
            return expected(b, "an array of strings");
        out->at[out->count++] = hocket__tree_str(v);
    }
    return 0;
}

static int read_required(struct hocket__schema_build *b, const struct hocket__schema_met *k)
{
    struct hocket__schema_objects *rules = hocket__schema_objects(b, k->node);
    return rules ? hocket__schema_read_names(b, k->value, &rules->required) : HOCKET_ENOMEM;
}

#define NEW   HOCKET__SCHEMA_IN_2020_12
#define ALL   HOCKET__SCHEMA_IN_ALL
#define VALID HOCKET__VOCAB_VALIDATION

/* `format` belongs to no vocabulary here: its reader decides whether it is asserted at all. */
const struct hocket__schema_keyword hocket__schema_assertions[] = {
    { "const", ALL, VALID, read_value, false },
    { "enum", ALL, VALID, read_value, true },
    { "exclusiveMaximum", ALL, VALID, read_limit, BELOW },
    { "exclusiveMinimum", ALL, VALID, read_limit, ABOVE },
    { "format", ALL, HOCKET__VOCAB_CORE, read_format, 0 },
    { "maxContains", NEW, VALID, read_max, OF_CONTAINS },
    { "maxItems", ALL, VALID, read_max, OF_ARRAY },
    { "maxLength", ALL, VALID, read_max, OF_STRING },
    { "maxProperties", ALL, VALID, read_max, OF_OBJECT },
    { "maximum", ALL, VALID, read_limit, MAXIMUM },
    { "minContains", NEW, VALID, read_min, OF_CONTAINS },
    { "minItems", ALL, VALID, read_min, OF_ARRAY },
    { "minLength", ALL, VALID, read_min, OF_STRING },
    { "minProperties", ALL, VALID, read_min, OF_OBJECT },
    { "minimum", ALL, VALID, read_limit, MINIMUM },
    { "multipleOf", ALL, VALID, read_multiple, 0 },
    { "pattern", ALL, VALID, read_pattern, 0 },
    { "required", ALL, VALID, read_required, 0 },
    { "type", ALL, VALID, read_type, 0 },
    { "uniqueItems", ALL, VALID, read_unique, 0 },
    { NULL, 0, 0, NULL, 0 },
};
