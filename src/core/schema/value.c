/* Equality of values for const, enum and uniqueItems: numbers by value, exactly;
 * objects without regard to order. hocket__tree_equal() is not used because the
 * work has to come out of the budget: a schema that refers to the same big
 * constant a million times would not end otherwise. */
#include "core/schema/run_impl.h"

#include <stdlib.h>

/* 1, 0 or HOCKET_ELIMIT. */
static int equal(struct hocket__schema_run *r, const hocket_json *a, const hocket_json *b);

static int equal_arrays(struct hocket__schema_run *r, const hocket_json *a, const hocket_json *b)
{
    a = hocket__tree_first(a);
    b = hocket__tree_first(b);
    int rc = 1;
    for (; a && b && rc > 0; a = hocket__tree_next(a), b = hocket__tree_next(b))
        rc = equal(r, a, b);
    return rc <= 0 ? rc : !a && !b;
}

/* Counts are equal and each member has its like: then there is none that only the other has. */
static int equal_objects(struct hocket__schema_run *r, const hocket_json *a, const hocket_json *b)
{
    int rc = hocket_json_count(a) == hocket_json_count(b);
    for (a = hocket__tree_first(a); a && rc > 0; a = hocket__tree_next(a)) {
        const hocket_json *other = hocket__tree_get(b, hocket__tree_name(a));
        rc = other ? equal(r, a, other) : 0;
    }
    return rc;
}

static int equal_numbers(struct hocket__str a, struct hocket__str b)
{
    struct hocket__decimal x = hocket__decimal_read(a), y = hocket__decimal_read(b);
    return hocket__decimal_compare(&x, &y) == 0;
}

static int equal(struct hocket__schema_run *r, const hocket_json *a, const hocket_json *b)
{
    enum hocket__tree_type type = hocket__tree_type(a);
    if (!hocket__schema_spend(r, 1))
        return HOCKET_ELIMIT;
    if (type != hocket__tree_type(b))
        return 0;
    switch (type) {
    case HOCKET__TREE_NULL: return 1;
    case HOCKET__TREE_BOOL: return hocket__tree_bool(a) == hocket__tree_bool(b);
    case HOCKET__TREE_NUMBER:
        return equal_numbers(hocket__tree_number_text(a), hocket__tree_number_text(b));
    case HOCKET__TREE_STRING: return hocket__str_eq(hocket__tree_str(a), hocket__tree_str(b));
    case HOCKET__TREE_ARRAY: return equal_arrays(r, a, b);
    default: return equal_objects(r, a, b);
    }
}

/* ---- const, enum */

static int equals(
    struct hocket__schema_run *r, const struct hocket__schema_inst *in, const hocket_json *v)
{
    /* a member's name has no JSON of its own */
    if (in->json)
        return equal(r, in->json, v);
    return hocket__tree_type(v) == HOCKET__TREE_STRING
           && hocket__str_eq(in->text, hocket__tree_str(v));
}

static int is_listed(
    struct hocket__schema_run *r, const struct hocket__schema_inst *in, const hocket_json *list)
{
    int rc = 0;
    for (const hocket_json *v = hocket__tree_first(list); v && rc == 0; v = hocket__tree_next(v))
        rc = equals(r, in, v);
    return rc;
}

int hocket__schema_eval_values(struct hocket__schema_run *r,
    const struct hocket__schema_values *rules, const struct hocket__schema_inst *in)
{
    int rc = rules->constant ? equals(r, in, rules->constant) : 1;
    if (rc > 0 && rules->list)
        rc = is_listed(r, in, rules->list);
    return rc != 0 ? rc : hocket__schema_report_values(r, in, rules);
}

/* ---- uniqueItems */

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t hash_text(struct hocket__str s)
{
    uint64_t h = s.n;
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char) s.p[i]) * 0x100000001b3u;
    return h;
}

static uint64_t hash(const hocket_json *v);

static uint64_t hash_children(const hocket_json *v, bool object)
{
    uint64_t h = 1;
    for (v = hocket__tree_first(v); v; v = hocket__tree_next(v)) {
        if (object) /* a sum, which knows no order */
            h += mix(hash_text(hocket__tree_name(v)), hash(v));
        else
            h = mix(h, hash(v));
    }
    return h;
}

static uint64_t hash(const hocket_json *v)
{
    enum hocket__tree_type type = hocket__tree_type(v);
    uint64_t h = 0;
    if (type == HOCKET__TREE_BOOL) {
        h = hocket__tree_bool(v);
    } else if (type == HOCKET__TREE_NUMBER) {
        struct hocket__decimal d = hocket__decimal_read(hocket__tree_number_text(v));
        h = hocket__decimal_hash(&d);
    } else if (type == HOCKET__TREE_STRING) {
        h = hash_text(hocket__tree_str(v));
    } else if (type != HOCKET__TREE_NULL) {
        h = hash_children(v, type == HOCKET__TREE_OBJECT);
    }
    return mix(h, (uint64_t) type + 1);
}

/* All elements are hashed and sorted by that: n log n, where comparing each with each would
 * let an array of some ten thousand elements use up any budget. */
struct element {
    uint64_t hash;
    const hocket_json *json;
    size_t index;
};

static int compare(const void *x, const void *y)
{
    const struct element *a = x, *b = y;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Only elements with the same hash are compared. */
static int find_equal(struct hocket__schema_run *r, const struct element *e, size_t count,
    size_t *first, size_t *second)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count && e[j].hash == e[i].hash; j++) {
            int rc = equal(r, e[i].json, e[j].json);
            if (rc < 0)
                return rc;
            if (rc > 0) {
                *first = e[i].index;
                *second = e[j].index;
                return 0;
            }
        }
    return 1;
}

int hocket__schema_unique(
    struct hocket__schema_run *r, const hocket_json *array, size_t *first, size_t *second)
{
    size_t count = hocket_json_count(array), i = 0;
    if (count < 2)
        return 1;
    if (!hocket__schema_spend(r, count))
        return HOCKET_ELIMIT;
    struct element *e = hocket__new(r->a, count * sizeof(*e));
    if (!e)
        return HOCKET_ENOMEM;
    for (const hocket_json *v = hocket__tree_first(array); v; v = hocket__tree_next(v), i++)
        e[i] = (struct element){ hash(v), v, i };
    qsort(e, count, sizeof(*e), compare);
    int rc = find_equal(r, e, count, first, second);
    hocket__free(r->a, e, count * sizeof(*e));
    return rc;
}
