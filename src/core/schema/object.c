/* properties, patternProperties, additionalProperties, propertyNames, required,
 * dependent…, counts. The members are walked once; each finds its schemas.
 *
 * Members that models send and a schema does not know are the most common fault: the message for them names the
 * known members. */
#include "core/schema/run_impl.h"

#include <stdlib.h>

/* ---- Members by name */

/* By length first: any order will do for a search, and most names differ there already. */
static int compare_names(struct hocket__str a, struct hocket__str b)
{
    if (a.n != b.n)
        return a.n < b.n ? -1 : 1;
    return a.n ? memcmp(a.p, b.p, a.n) : 0;
}

static int compare_props(const void *x, const void *y)
{
    const struct hocket__schema_prop *a = x, *b = y;
    return compare_names(a->name, b->name);
}

void hocket__schema_props_sort(struct hocket__schema_props *props)
{
    if (props->count > 1)
        qsort(props->at, props->count, sizeof(*props->at), compare_props);
}

/* The member of that name, or NULL. */
static const struct hocket__schema_prop *prop_find(
    const struct hocket__schema_props *props, struct hocket__str name)
{
    size_t low = 0, high = props->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = compare_names(name, props->at[mid].name);
        if (order == 0)
            return &props->at[mid];
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

/* ---- Each member */

static int eval_patterns(struct hocket__schema_run *r, const struct hocket__schema_objects *rules,
    struct hocket__str name, const struct hocket__schema_inst *member, bool *known)
{
    int ok = 1;
    for (size_t i = 0; i < rules->pattern_count; i++) {
        int rc = hocket__schema_match(r, rules->patterns[i].regex, name);
        if (rc < 0)
            return rc;
        if (rc == 0)
            continue;
        *known = true;
        rc = hocket__schema_eval(r, rules->patterns[i].node, member, NULL);
        if (hocket__schema_stop(r, rc, &ok))
            break;
    }
    return ok;
}

static int eval_name(struct hocket__schema_run *r, const struct hocket__schema_node *n,
    struct hocket__str name, const struct hocket__schema_inst *member)
{
    /* a name is a string without a place of its own: messages tell the member's */
    struct hocket__schema_inst in = {
        .type = HOCKET__TREE_STRING, .text = name, .path = member->path
    };
    return hocket__schema_eval(r, n, &in, NULL);
}

static int eval_additional(struct hocket__schema_run *r, const struct hocket__schema_objects *rules,
    const struct hocket__schema_inst *member)
{
    /* The error that models make most: the message names the members that there are. */
    if (rules->additional->kind == HOCKET__SCHEMA_FALSE)
        return hocket__schema_report_unknown(r, member, &rules->props);
    return hocket__schema_eval(r, rules->additional, member, NULL);
}

static int eval_member(struct hocket__schema_run *r, const struct hocket__schema_objects *rules,
    struct hocket__str name, const struct hocket__schema_inst *member, bool *known)
{
    int ok = 1;
    const struct hocket__schema_prop *prop = prop_find(&rules->props, name);
    *known = prop != NULL;
    if (prop && hocket__schema_stop(r, hocket__schema_eval(r, prop->node, member, NULL), &ok))
        return ok;
    if (rules->pattern_count
        && hocket__schema_stop(r, eval_patterns(r, rules, name, member, known), &ok))
        return ok;
    if (!*known && rules->additional) {
        *known = true;
        if (hocket__schema_stop(r, eval_additional(r, rules, member), &ok))
            return ok;
    }
    if (rules->names)
        hocket__schema_stop(r, eval_name(r, rules->names, name, member), &ok);
    return ok;
}

static int eval_members(struct hocket__schema_run *r, const struct hocket__schema_objects *rules,
    const struct hocket__schema_inst *in, struct hocket__schema_seen *seen)
{
    int ok = 1;
    size_t i = 0;
    if (!rules->props.count && !rules->pattern_count && !rules->additional && !rules->names)
        return 1;
    for (const hocket_json *v = hocket__tree_first(in->json); v; v = hocket__tree_next(v), i++) {
        struct hocket__schema_path path = { .up = in->path, .name = hocket__tree_name(v) };
        struct hocket__schema_inst member = hocket__schema_inst(v, &path);
        bool known = false;
        int rc = hocket__schema_spend(r, 1) ? eval_member(r, rules, path.name, &member, &known)
                                            : HOCKET_ELIMIT;
        if (hocket__schema_stop(r, rc, &ok))
            break;
        if (known && seen)
            hocket__schema_seen_add(seen, i);
    }
    return ok;
}

/* ---- The object as a whole */

static int eval_count(struct hocket__schema_run *r, const struct hocket__schema_bounds *b,
    const struct hocket__schema_inst *in, unsigned long long n)
{
    if (b->has_min && n < b->min)
        return hocket__schema_report_plain(r, in, "minProperties",
            "expected at least %llu members, got %llu", (unsigned long long) b->min, n);
    if (b->has_max && n > b->max)
        return hocket__schema_report_plain(r, in, "maxProperties",
            "expected at most %llu members, got %llu", (unsigned long long) b->max, n);
    return 1;
}

static int has_member(
    struct hocket__schema_run *r, const struct hocket__schema_inst *in, struct hocket__str name)
{
    if (!hocket__schema_spend(r, 1))
        return HOCKET_ELIMIT;
    return hocket__tree_get(in->json, name) != NULL;
}

static int eval_required(struct hocket__schema_run *r, const struct hocket__schema_names *names,
    const struct hocket__schema_inst *in)
{
    int ok = 1;
    for (size_t i = 0; i < names->count; i++) {
        int rc = has_member(r, in, names->at[i]);
        if (rc == 0)
            hocket__schema_report_plain(r, in, "required", "the member \"%.*s\" is missing",
                HOCKET__SCHEMA_ARG(names->at[i]));
        if (hocket__schema_stop(r, rc, &ok))
            break;
    }
    return ok;
}

static int eval_needs(struct hocket__schema_run *r, const struct hocket__schema_needs *needs,
    const struct hocket__schema_inst *in)
{
    int ok = 1;
    int given = has_member(r, in, needs->name);
    for (size_t i = 0; given > 0 && i < needs->others.count; i++) {
        struct hocket__str other = needs->others.at[i];
        int rc = has_member(r, in, other);
        if (rc == 0)
            hocket__schema_report_plain(r, in, "dependentRequired",
                "the member \"%.*s\" is missing, which \"%.*s\" needs", HOCKET__SCHEMA_ARG(other),
                HOCKET__SCHEMA_ARG(needs->name));
        if (hocket__schema_stop(r, rc, &ok))
            break;
    }
    return given < 0 ? given : ok;
}

/* Schemas that apply to the whole object count as having seen what they have seen, for
 * unevaluatedProperties. */
static int eval_dependent(struct hocket__schema_run *r, const struct hocket__schema_objects *rules,
    const struct hocket__schema_inst *in, struct hocket__schema_seen *seen)
{
    int ok = 1;
    for (size_t i = 0; i < rules->needs_count; i++)
        if (hocket__schema_stop(r, eval_needs(r, &rules->needs[i], in), &ok))
            return ok;
    for (size_t i = 0; i < rules->dependent.count; i++) {
        const struct hocket__schema_prop *p = &rules->dependent.at[i];
        int rc = has_member(r, in, p->name);
        if (rc > 0)
            rc = hocket__schema_eval(r, p->node, in, seen);
        else if (rc == 0)
            rc = 1;
        if (hocket__schema_stop(r, rc, &ok))
            break;
    }
    return ok;
}

int hocket__schema_eval_object(struct hocket__schema_run *r,
    const struct hocket__schema_objects *rules, const struct hocket__schema_inst *in,
    struct hocket__schema_seen *seen)
{
    int ok = 1;
    size_t members = hocket_json_count(in->json);
    if (hocket__schema_stop(r, eval_count(r, &rules->count, in, members), &ok)
        || hocket__schema_stop(r, eval_required(r, &rules->required, in), &ok)
        || hocket__schema_stop(r, eval_members(r, rules, in, seen), &ok))
        return ok;
    hocket__schema_stop(r, eval_dependent(r, rules, in, seen), &ok);
    return ok;
}
