/* Applying a node to an instance: first what the node says itself, by type of
 * the instance, then what it says through other schemas, then unevaluated…, which has to know everything that the
 * others evaluated. */
#include "core/schema/run_impl.h"

/* minimum, maximum, exclusive…, multipleOf. */

static bool present(const struct hocket__decimal *d)
{
    return d->text.n > 0;
}

static int eval_low(struct hocket__schema_run *r, const struct hocket__schema_numbers *rules,
    const struct hocket__schema_inst *in, const struct hocket__decimal *d)
{
    int ok = 1;
    const struct hocket__decimal *low = &rules->minimum, *above = &rules->above;
    if (present(low) && hocket__decimal_compare(d, low) < 0)
        ok = hocket__schema_report(
            r, in, "minimum", "expected a number of at least %.*s", HOCKET__SCHEMA_ARG(low->text));
    if (present(above) && hocket__decimal_compare(d, above) <= 0)
        ok = hocket__schema_report(r, in, "exclusiveMinimum", "expected a number above %.*s",
            HOCKET__SCHEMA_ARG(above->text));
    return ok;
}

static int eval_high(struct hocket__schema_run *r, const struct hocket__schema_numbers *rules,
    const struct hocket__schema_inst *in, const struct hocket__decimal *d)
{
    int ok = 1;
    const struct hocket__decimal *high = &rules->maximum, *below = &rules->below;
    if (present(high) && hocket__decimal_compare(d, high) > 0)
        ok = hocket__schema_report(
            r, in, "maximum", "expected a number of at most %.*s", HOCKET__SCHEMA_ARG(high->text));
    if (present(below) && hocket__decimal_compare(d, below) >= 0)
        ok = hocket__schema_report(r, in, "exclusiveMaximum", "expected a number below %.*s",
            HOCKET__SCHEMA_ARG(below->text));
    return ok;
}

static int eval_number(struct hocket__schema_run *r, const struct hocket__schema_numbers *rules,
    const struct hocket__schema_inst *in)
{
    int ok = 1;
    struct hocket__decimal d = hocket__decimal_read(in->text);
    if (!hocket__schema_spend(r, in->text.n / 64))
        return HOCKET_ELIMIT;
    if (hocket__schema_stop(r, eval_low(r, rules, in, &d), &ok)
        || hocket__schema_stop(r, eval_high(r, rules, in, &d), &ok))
        return ok;
    if (present(&rules->multiple) && !hocket__decimal_divides(&rules->multiple, &d))
        ok = hocket__schema_report(r, in, "multipleOf", "expected a multiple of %.*s",
            HOCKET__SCHEMA_ARG(rules->multiple.text));
    return ok;
}

/* items, prefixItems, contains, uniqueItems, counts.
 *
 * An array is walked once; each element finds the rule that is for its place, and `contains` counts
 * beside. */

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

static int eval_array(struct hocket__schema_run *r, const struct hocket__schema_arrays *rules,
    const struct hocket__schema_inst *in, struct hocket__schema_seen *seen)
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

struct hocket__schema_inst hocket__schema_inst(
    const hocket_json *json, const struct hocket__schema_path *path)
{
    struct hocket__schema_inst in = { .type = hocket__tree_type(json), .json = json, .path = path };
    if (in.type == HOCKET__TREE_STRING)
        in.text = hocket__tree_str(json);
    else if (in.type == HOCKET__TREE_NUMBER)
        in.text = hocket__tree_number_text(json);
    return in;
}

/* 1.0 and 1e2 are integers here, as the specification has it. */
static int eval_type(
    struct hocket__schema_run *r, uint32_t types, const struct hocket__schema_inst *in)
{
    if (types & HOCKET__TYPE_BIT(in->type))
        return 1;
    if (in->type == HOCKET__TREE_NUMBER && (types & HOCKET__TYPE_INTEGER)) {
        struct hocket__decimal d = hocket__decimal_read(in->text);
        if (hocket__decimal_is_integer(&d))
            return 1;
    }
    return hocket__schema_report_type(r, in, types);
}

static int eval_by_type(struct hocket__schema_run *r, const struct hocket__schema_node *n,
    const struct hocket__schema_inst *in, struct hocket__schema_seen *seen)
{
    switch (in->type) {
    case HOCKET__TREE_NUMBER: return n->numbers ? eval_number(r, n->numbers, in) : 1;
    case HOCKET__TREE_STRING: return n->strings ? hocket__schema_eval_string(r, n->strings, in) : 1;
    case HOCKET__TREE_ARRAY: return n->arrays ? eval_array(r, n->arrays, in, seen) : 1;
    case HOCKET__TREE_OBJECT:
        return n->objects ? hocket__schema_eval_object(r, n->objects, in, seen) : 1;
    default: return 1;
    }
}

/* The outermost document on the way here that has the name decides. */
static const struct hocket__schema_node *dynamic_target(
    const struct hocket__schema_run *r, const struct hocket__schema_node *n)
{
    const struct hocket__schema_node *target = n->dynamic;
    if (n->dynamic_name.n == 0)
        return target;
    for (const struct hocket__schema_scope *s = r->scope; s; s = s->outer) {
        const struct hocket__schema_anchor *anchor =
            hocket__schema_anchor_find(s->res, n->dynamic_name, true);
        if (anchor)
            target = anchor->node;
    }
    return target;
}

/* Evaluates everything although something has failed, as long as the caller has room for errors: a model that gets
 * all faults at once needs one more attempt and not three (hocket__schema_stop). */
static int eval_rules(struct hocket__schema_run *r, const struct hocket__schema_node *n,
    const struct hocket__schema_inst *in, struct hocket__schema_seen *seen)
{
    int ok = 1;
    if (n->types && hocket__schema_stop(r, eval_type(r, n->types, in), &ok))
        return ok;
    if (n->values && ok > 0
        && hocket__schema_stop(r, hocket__schema_eval_values(r, n->values, in), &ok))
        return ok;
    if (hocket__schema_stop(r, eval_by_type(r, n, in, seen), &ok))
        return ok;
    if (n->ref && hocket__schema_stop(r, hocket__schema_eval(r, n->ref, in, seen), &ok))
        return ok;
    if (n->dynamic
        && hocket__schema_stop(r, hocket__schema_eval(r, dynamic_target(r, n), in, seen), &ok))
        return ok;
    if (n->logic)
        hocket__schema_stop(r, hocket__schema_eval_logic(r, n->logic, in, seen), &ok);
    return ok;
}

static int eval_rest(struct hocket__schema_run *r, const struct hocket__schema_node *rule,
    const char *keyword, const struct hocket__schema_inst *child, bool array)
{
    if (rule->kind != HOCKET__SCHEMA_FALSE)
        return hocket__schema_eval(r, rule, child, NULL);
    return hocket__schema_report_plain(
        r, child, keyword, "unknown %s, not allowed here", array ? "element" : "member");
}

/* Looked at last, and only where all else fits: whether something is left over is known then. */
static int eval_unevaluated(struct hocket__schema_run *r, const struct hocket__schema_node *rule,
    const char *keyword, const struct hocket__schema_inst *in, struct hocket__schema_seen *seen)
{
    int ok = 1;
    size_t i = 0;
    bool array = in->type == HOCKET__TREE_ARRAY;
    for (const hocket_json *v = hocket__tree_first(in->json); v; v = hocket__tree_next(v), i++) {
        if (hocket__schema_seen_has(seen, i))
            continue;
        struct hocket__schema_path path = { .up = in->path, .index = i, .is_index = array };
        if (!array)
            path.name = hocket__tree_name(v);
        struct hocket__schema_inst child = hocket__schema_inst(v, &path);
        int rc = eval_rest(r, rule, keyword, &child, array);
        if (hocket__schema_stop(r, rc, &ok))
            break;
        hocket__schema_seen_add(seen, i);
    }
    return ok;
}

static const struct hocket__schema_node *unevaluated_rule(
    const struct hocket__schema_node *n, enum hocket__tree_type type)
{
    if (type == HOCKET__TREE_OBJECT && n->objects)
        return n->objects->unevaluated;
    return type == HOCKET__TREE_ARRAY && n->arrays ? n->arrays->unevaluated : NULL;
}

/* A node with unevaluated… sees only what it looked at itself, so it keeps its
 * own account; what it found out goes to the schema around it in the end. */
static int eval_with_rest(struct hocket__schema_run *r, const struct hocket__schema_node *n,
    const struct hocket__schema_node *rule, const struct hocket__schema_inst *in,
    struct hocket__schema_seen *seen)
{
    struct hocket__schema_seen own;
    int rc = hocket__schema_seen_init(r, &own, in);
    if (rc < 0)
        return rc;
    rc = eval_rules(r, n, in, &own);
    if (rc > 0) {
        bool array = in->type == HOCKET__TREE_ARRAY;
        rc = eval_unevaluated(
            r, rule, array ? "unevaluatedItems" : "unevaluatedProperties", in, &own);
    }
    if (rc > 0 && seen)
        hocket__schema_seen_merge(seen, &own);
    hocket__schema_seen_deinit(r, &own);
    return rc;
}

/* Depth and steps go down here and nowhere else, so that no keyword can be walked without paying. */
int hocket__schema_eval(struct hocket__schema_run *r, const struct hocket__schema_node *n,
    const struct hocket__schema_inst *in, struct hocket__schema_seen *seen)
{
    if (n->kind == HOCKET__SCHEMA_TRUE)
        return 1;
    if (n->kind == HOCKET__SCHEMA_FALSE)
        return hocket__schema_report_plain(r, in, "false", "nothing is allowed here");
    if (r->depth == 0 || !hocket__schema_spend(r, 1))
        return HOCKET_ELIMIT;
    const struct hocket__schema_scope *outer = r->scope;
    struct hocket__schema_scope scope = { outer, n->res };
    const struct hocket__schema_node *rule = unevaluated_rule(n, in->type);
    /* A scope is entered where another resource begins; within one nothing is added, so that a
     * deep recursion has a short chain. */
    if (!outer || outer->res != n->res)
        r->scope = &scope;
    r->depth--;
    int rc = rule ? eval_with_rest(r, n, rule, in, seen) : eval_rules(r, n, in, seen);
    r->depth++;
    r->scope = outer;
    return rc;
}
