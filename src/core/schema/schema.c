/* The entrance for whoever validates (schema.h): starts an evaluation with its limits, and turns
 * its end into a status and a message. */

#include "core/schema/run_impl.h"

/* Turns 1, 0 or negative into the caller's result. */
static int answer(const struct hocket__schema *s, int rc, struct hocket_error *err)
{
    if (rc > 0)
        return 0;
    if (rc == 0)
        return hocket__error(err, HOCKET_EINVAL, "the value does not fit the schema");
    if (rc == HOCKET_ENOMEM)
        return hocket__error_nomem(err);
    return hocket__error(err, rc,
        "checking the value takes more than %llu steps, or nests deeper than %d",
        (unsigned long long) s->max_steps, s->max_depth);
}

int hocket__schema_validate(const struct hocket__schema *s, const struct hocket_allocator *a,
    const hocket_json *instance, struct hocket__schema_errors *errors, struct hocket_error *err)
{
    struct hocket__schema_sink sink = { .max = HOCKET__SCHEMA_ERRORS };
    struct hocket__schema_run r = { .schema = s,
        .a = a ? a : s->arena.a,
        .steps = s->max_steps,
        .depth = s->max_depth,
        .sink = errors ? &sink : NULL };
    struct hocket__schema_inst in = hocket__schema_inst(instance, NULL);
    if (errors)
        sink.at = errors->at;
    int rc = hocket__schema_eval(&r, s->root, &in, NULL);
    hocket__free(r.a, r.scratch, s->scratch);
    if (errors) {
        errors->count = rc == 0 ? sink.count : 0;
        errors->more = rc == 0 && sink.more;
    }
    return answer(s, rc, err);
}
