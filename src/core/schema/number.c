/* minimum, maximum, exclusive…, multipleOf. */
#include "core/schema/run_impl.h"

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

int hocket__schema_eval_number(struct hocket__schema_run *r,
    const struct hocket__schema_numbers *rules, const struct hocket__schema_inst *in)
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
