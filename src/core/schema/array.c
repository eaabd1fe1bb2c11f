/* items, prefixItems, contains, uniqueItems, counts.
 *
 * An array is walked once; each element finds the rule that is for its place, and `contains` counts
 * beside. */
#include "core/schema/run_impl.h"

static int eval_count(struct hocket__schema_run *r, const struct hocket__schema_bounds *b,
    const struct hocket__schema_inst *in)
{
    if (!b->has_min && !b->has_max)
        return 1;
    unsigned long long n = hocket_json_count(in->json), min = b->min, max = b->max;
    if (b->has_min && n < min)
        return hocket__schema_report_plain(
            r, in, "minItems", "expected at least %llu elements, got %llu", min, n);
    if (b->has_max && n > max)
        return hocket__schema_report_plain(
            r, in, "maxItems", "expected at most %llu elements, got %llu", max, n);
    return 1;
}

static int eval_unique(struct hocket__schema_run *r, const struct hocket__schema_inst *in)
{
    size_t first = 0, second = 0;
    int rc = hocket__schema_unique(r, in->json, &first, &second);
    if (rc != 0)
        return rc;
    return hocket__schema_report_plain(r, in, "uniqueItems",
        "expected different elements, but elements %zu and %zu are equal", first, second);
}

/* The schema for one element: its own of the prefix, or that of the rest. */
static const struct hocket__schema_node *element_rule(
    const struct hocket__schema_arrays *rules, size_t i)
{
    return i < rules->prefix.count ? rules->prefix.at[i] : rules->items;
}

static int eval_element(struct hocket__schema_run *r, const struct hocket__schema_arrays *rules,
    const struct hocket__schema_node *rule, const struct hocket__schema_inst *element, size_t i)
{
    if (rule->kind == HOCKET__SCHEMA_FALSE && i >= rules->prefix.count)
        return hocket__schema_report_plain(r, element, rules->items_keyword,
            "expected at most %zu elements here", rules->prefix.count);
    return hocket__schema_eval(r, rule, element, NULL);
}

static int eval_elements(struct hocket__schema_run *r, const struct hocket__schema_arrays *rules,
    const struct hocket__schema_inst *in, struct hocket__schema_seen *seen)
{
    int ok = 1;
    size_t i = 0;
    for (const hocket_json *v = hocket__tree_first(in->json); v; v = hocket__tree_next(v), i++) {
        const struct hocket__schema_node *rule = element_rule(rules, i);
        if (!rule)
            break;
        struct hocket__schema_path path = { .up = in->path, .index = i, .is_index = true };
        struct hocket__schema_inst element = hocket__schema_inst(v, &path);
        int rc =
            hocket__schema_spend(r, 1) ? eval_element(r, rules, rule, &element, i) : HOCKET_ELIMIT;
        if (hocket__schema_stop(r, rc, &ok))
            break;
        if (seen)
            hocket__schema_seen_add(seen, i);
    }
    return ok;
}

static int report_contains(struct hocket__schema_run *r, const struct hocket__schema_inst *in,
    const struct hocket__schema_bounds *b, uint64_t fitting)
{
    bool few = fitting < (b->has_min ? b->min : 1);
    return hocket__schema_report_plain(r, in,
        !few         ? "maxContains"
        : b->has_min ? "minContains"
                     : "contains",
        "expected %s %llu elements that fit the schema of `contains`, got %llu",
        few ? "at least" : "at most",
        (unsigned long long) (few ? (b->has_min ? b->min : 1) : b->max),
        (unsigned long long) fitting);
}

static int eval_contains(struct hocket__schema_run *r, const struct hocket__schema_arrays *rules,
    const struct hocket__schema_inst *in, struct hocket__schema_seen *seen)
{
    const struct hocket__schema_bounds *b = &rules->contained;
    uint64_t fitting = 0, least = b->has_min ? b->min : 1;
    size_t i = 0;
    for (const hocket_json *v = hocket__tree_first(in->json); v; v = hocket__tree_next(v), i++) {
        struct hocket__schema_path path = { .up = in->path, .index = i, .is_index = true };
        struct hocket__schema_inst element = hocket__schema_inst(v, &path);
        int rc = hocket__schema_spend(r, 1) ? hocket__schema_try(r, rules->contains, &element, NULL)
                                            : HOCKET_ELIMIT;
        if (rc < 0)
            return rc;
        fitting += rc > 0;
        if (rc > 0 && seen && rules->contains_counts)
            hocket__schema_seen_add(seen, i);
        if (!seen && fitting >= least && !b->has_max)
            break;
    }
    if (fitting >= least && (!b->has_max || fitting <= b->max))
        return 1;
    return report_contains(r, in, b, fitting);
}

int hocket__schema_eval_array(struct hocket__schema_run *r,
    const struct hocket__schema_arrays *rules, const struct hocket__schema_inst *in,
    struct hocket__schema_seen *seen)
{
    int ok = 1;
    if (hocket__schema_stop(r, eval_count(r, &rules->count, in), &ok))
        return ok;
    if (rules->unique && hocket__schema_stop(r, eval_unique(r, in), &ok))
        return ok;
    if (hocket__schema_stop(r, eval_elements(r, rules, in, seen), &ok))
        return ok;
    if (rules->contains)
        hocket__schema_stop(r, eval_contains(r, rules, in, seen), &ok);
    return ok;
}
