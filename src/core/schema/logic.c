/* allOf, anyOf, oneOf, not, if/then/else: schemas that are combined. What a
 * schema looked at counts only when it fits, so wherever not fitting is no
 * error of the whole, it is tried with an account of its own. */
#include "core/schema/run_impl.h"

int hocket__schema_try(struct hocket__schema_run *r, const struct hocket__schema_node *n,
    const struct hocket__schema_inst *in, struct hocket__schema_seen *seen)
{
    struct hocket__schema_sink *sink = r->sink;
    struct hocket__schema_seen own;
    int rc = seen ? hocket__schema_seen_init(r, &own, in) : 0;
    if (rc < 0)
        return rc;
    r->sink = NULL;
    rc = hocket__schema_eval(r, n, in, seen ? &own : NULL);
    r->sink = sink;
    if (seen) {
        if (rc > 0)
            hocket__schema_seen_merge(seen, &own);
        hocket__schema_seen_deinit(r, &own);
    }
    return rc;
}

static int eval_all(struct hocket__schema_run *r, const struct hocket__schema_list *list,
    const struct hocket__schema_inst *in, struct hocket__schema_seen *seen)
{
    int ok = 1;
    for (size_t i = 0; i < list->count; i++)
        if (hocket__schema_stop(r, hocket__schema_eval(r, list->at[i], in, seen), &ok))
            break;
    return ok;
}

static int eval_any(struct hocket__schema_run *r, const struct hocket__schema_list *list,
    const struct hocket__schema_inst *in, struct hocket__schema_seen *seen)
{
    bool any = false;
    /* one that fits is enough, unless somebody wants to know what the others look at */
    for (size_t i = 0; i < list->count && (!any || seen); i++) {
        int rc = hocket__schema_try(r, list->at[i], in, seen);
        if (rc < 0)
            return rc;
        any = any || rc > 0;
    }
    return any ? 1 : hocket__schema_report_alternatives(r, in, "anyOf", list);
}

static int eval_one(struct hocket__schema_run *r, const struct hocket__schema_list *list,
    const struct hocket__schema_inst *in, struct hocket__schema_seen *seen)
{
    size_t fitting = 0, first = 0;
    for (size_t i = 0; i < list->count; i++) {
        int rc = hocket__schema_try(r, list->at[i], in, seen);
        if (rc < 0)
            return rc;
        if (rc == 0)
            continue;
        if (fitting++ == 0)
            first = i;
        else
            return hocket__schema_report_plain(r, in, "oneOf",
                "fits alternatives %zu and %zu, expected exactly one to fit", first + 1, i + 1);
    }
    return fitting ? 1 : hocket__schema_report_alternatives(r, in, "oneOf", list);
}

static int eval_not(struct hocket__schema_run *r, const struct hocket__schema_node *n,
    const struct hocket__schema_inst *in)
{
    int rc = hocket__schema_try(r, n, in, NULL);
    if (rc <= 0)
        return rc < 0 ? rc : 1;
    return hocket__schema_report(r, in, "not", "expected a value that the schema does not exclude");
}

static int eval_when(struct hocket__schema_run *r, const struct hocket__schema_logic *rules,
    const struct hocket__schema_inst *in, struct hocket__schema_seen *seen)
{
    int rc = hocket__schema_try(r, rules->when, in, seen);
    if (rc < 0)
        return rc;
    const struct hocket__schema_node *next = rc > 0 ? rules->then : rules->otherwise;
    return next ? hocket__schema_eval(r, next, in, seen) : 1;
}

int hocket__schema_eval_logic(struct hocket__schema_run *r,
    const struct hocket__schema_logic *rules, const struct hocket__schema_inst *in,
    struct hocket__schema_seen *seen)
{
    int ok = 1;
    if (hocket__schema_stop(r, eval_all(r, &rules->all, in, seen), &ok))
        return ok;
    if (rules->any.count && hocket__schema_stop(r, eval_any(r, &rules->any, in, seen), &ok))
        return ok;
    if (rules->one.count && hocket__schema_stop(r, eval_one(r, &rules->one, in, seen), &ok))
        return ok;
    if (rules->no && hocket__schema_stop(r, eval_not(r, rules->no, in), &ok))
        return ok;
    if (rules->when)
        hocket__schema_stop(r, eval_when(r, rules, in, seen), &ok);
    return ok;
}
