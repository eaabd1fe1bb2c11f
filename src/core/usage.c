#include "core/usage.h"

#include <math.h>

#include "base/json_write.h"
#include "base/num.h"

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
    char text[2 * HOCKET__NUM_MAX];
    size_t n = hocket__num_print_int(value / one, text);
    int64_t rest = value % one;
    text[n] = '.';
    for (int i = digits; i > 0; i--, rest /= 10)
        text[n + (size_t) i] = (char) ('0' + rest % 10);
    n += (size_t) digits + 1;
    while (text[n - 1] == '0' && text[n - 2] != '.')
        n--;
    hocket__jw_key(out, name);
    hocket__jw_raw(out, hocket__str(text, n));
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

bool hocket__price_is_free(const struct hocket__price *p)
{
    return p->rate.input == 0 && p->rate.output == 0;
}

static double at_least_0(int64_t v)
{
    return v > 0 ? (double) v : 0;
}

int64_t hocket__price_cost(const struct hocket__price *p, int64_t input, int64_t output,
    int64_t cached, int64_t cache_write)
{
    if (hocket__price_is_free(p))
        return 0;
    if (input < 0 || output < 0)
        return -1;
    bool is_long = p->limit >= 0 && (double) input > p->limit;
    const struct hocket__rate *r = is_long ? &p->above : &p->rate;
    double read = at_least_0(cached), written = at_least_0(cache_write);
    if (r->input < 0 || r->output < 0 || (read > 0 && r->cached < 0))
        return -1;
    double fresh = fmax((double) input - read - written, 0);
    double sum = fresh * r->input + read * fmax(r->cached, 0)
                 + written * (r->cache_write < 0 ? r->input : r->cache_write)
                 + (double) output * r->output;
    double nano = floor(sum * 1000 + 0.5); /* dollars for a million: thousands of nano-dollars */
    return nano < 9e18 ? (int64_t) nano : INT64_MAX;
}
