/* minLength, maxLength, pattern; format through format.c. */
#include "core/schema/run_impl.h"

#define REGEX_STEPS 16 /* of a pattern for one of ours */

static uint64_t code_points(struct hocket__str s)
{
    uint64_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char) s.p[i] & 0xc0) != 0x80;
    return n;
}

int hocket__schema_match(
    struct hocket__schema_run *r, const struct hocket__regex *regex, struct hocket__str text)
{
    /* Made with the first pattern and kept until the end: it is as big as the largest needs. */
    size_t size = r->schema->scratch;
    if (!r->scratch)
        r->scratch = hocket__new(r->a, size);
    if (!r->scratch)
        return HOCKET_ENOMEM;
    uint64_t steps = r->steps * REGEX_STEPS;
    int rc = hocket__regex_search(regex, text, r->scratch, &steps);
    r->steps = steps / REGEX_STEPS;
    return rc;
}

static int eval_length(struct hocket__schema_run *r, const struct hocket__schema_bounds *b,
    const struct hocket__schema_inst *in)
{
    if (!b->has_min && !b->has_max)
        return 1;
    uint64_t n = code_points(in->text);
    if (b->has_min && n < b->min)
        return hocket__schema_report_plain(r, in, "minLength",
            "expected at least %llu characters, got %llu", (unsigned long long) b->min,
            (unsigned long long) n);
    if (b->has_max && n > b->max)
        return hocket__schema_report_plain(r, in, "maxLength",
            "expected at most %llu characters, got %llu", (unsigned long long) b->max,
            (unsigned long long) n);
    return 1;
}

static int eval_pattern(struct hocket__schema_run *r, const struct hocket__schema_strings *rules,
    const struct hocket__schema_inst *in)
{
    int rc = rules->pattern ? hocket__schema_match(r, rules->pattern, in->text) : 1;
    if (rc != 0)
        return rc;
    return hocket__schema_report(r, in, "pattern", "expected a string that matches %.*s",
        HOCKET__SCHEMA_ARG(rules->pattern_text));
}

int hocket__schema_eval_string(struct hocket__schema_run *r,
    const struct hocket__schema_strings *rules, const struct hocket__schema_inst *in)
{
    int ok = 1;
    if (!hocket__schema_spend(r, in->text.n / 256))
        return HOCKET_ELIMIT;
    if (hocket__schema_stop(r, eval_length(r, &rules->length, in), &ok)
        || hocket__schema_stop(r, eval_pattern(r, rules, in), &ok))
        return ok;
    if (rules->format)
        hocket__schema_stop(r, hocket__schema_check_format(r, rules->format, in), &ok);
    return ok;
}
