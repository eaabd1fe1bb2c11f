#include "core/usage.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json_write.h"

static void add(int64_t *sum, int64_t more)
{
    if (more > 0)
        *sum = *sum > INT64_MAX - more ? INT64_MAX : *sum + more;
}

void hocket__usage_sum_add(struct hocket__usage_sum *sum, const struct hocket__usage_sum *more)
{
    add(&sum->input, more->input);
    add(&sum->output, more->output);
    add(&sum->cached, more->cached);
    add(&sum->cache_write, more->cache_write);
    add(&sum->reasoning, more->reasoning);
    add(&sum->calls, more->calls);
    add(&sum->tool_calls, more->tool_calls);
    add(&sum->cost, more->cost);
    add(&sum->unpriced, more->unpriced);
    add(&sum->ms, more->ms);
}

static void print_count(struct hocket__buf *out, const char *name, int64_t value)
{
    hocket__jw_key(out, name);
    hocket__jw_int(out, value);
}

/* In decimal, because a double has no exact thousandths. One digit stays behind the point:
 * readers that tell integers from floats get a float always. */
static void print_decimal(
    struct hocket__buf *out, const char *name, int64_t value, int64_t one, int digits)
{
    char text[40];
    int n =
        snprintf(text, sizeof(text), "%" PRId64 ".%0*" PRId64, value / one, digits, value % one);
    while (text[n - 1] == '0' && text[n - 2] != '.')
        n--;
    hocket__jw_key(out, name);
    hocket__jw_raw(out, hocket__str(text, (size_t) n));
}

static void print_cost(struct hocket__buf *out, const struct hocket__usage_sum *sum)
{
    if (sum->unpriced > 0) {
        hocket__jw_key(out, "cost");
        hocket__jw_null(out);
        print_count(out, "unpriced", sum->unpriced);
    }
    print_decimal(out, sum->unpriced > 0 ? "cost_known" : "cost", sum->cost, HOCKET__DOLLAR, 9);
}

void hocket__usage_sum_print(const struct hocket__usage_sum *sum, struct hocket__buf *out)
{
    hocket__jw_open(out, '{');
    print_count(out, "input", sum->input);
    print_count(out, "output", sum->output);
    print_count(out, "cached", sum->cached);
    print_count(out, "cache_write", sum->cache_write);
    print_count(out, "reasoning", sum->reasoning);
    print_count(out, "calls", sum->calls);
    print_count(out, "tool_calls", sum->tool_calls);
    print_cost(out, sum);
    print_decimal(out, "seconds", sum->ms, 1000, 3);
    hocket__jw_close(out, '}');
}
