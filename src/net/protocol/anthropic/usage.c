/* Usage of Anthropic's answers: message_start tells the input, message_delta what has come since,
 * as totals that replace and never add.
 *
 * What was read from the cache and written to it comes beside `input_tokens` there; the neutral
 * counts have it included, and unknown members are kept raw. */
#include "net/protocol/anthropic/anthropic.h"

#define MAX_USAGE 16384 /* past it an object is taken as it is: merging is quadratic */

/* Whether there is such a member, and its value unless it is null. */
static bool find_member(
    struct hocket__str object, struct hocket__str name, struct hocket__str *value)
{
    struct hocket__json j;
    hocket__json_init(&j, object);
    hocket__json_next(&j);
    while (hocket__json_key(&j)) {
        if (hocket__str_eq(j.text, name)) {
            struct hocket__str v = hocket__json_value(&j);
            *value = v.n > 0 ? v : *value;
            return true;
        }
    }
    return false;
}

static void put_usage_member(
    struct hocket__buf *b, struct hocket__str name, struct hocket__str value)
{
    hocket__buf_adds(b, b->data[b->len - 1] == '{' ? "\"" : ",\"");
    hocket__buf_addstr(b, name);
    hocket__buf_adds(b, "\":");
    hocket__buf_addstr(b, value);
}

/* Writes the merged object behind the old one; there is room. */
static void merge(struct hocket__buf *b, struct hocket__str old, struct hocket__str new)
{
    struct hocket__json j;
    hocket__buf_addc(b, '{');
    hocket__json_init(&j, old);
    hocket__json_next(&j);
    while (hocket__json_key(&j)) {
        struct hocket__str name = j.text, value;
        if (hocket__json_skip(&j, &value) < 0)
            break;
        find_member(new, name, &value);
        put_usage_member(b, name, value);
    }
    hocket__json_init(&j, new);
    hocket__json_next(&j);
    while (hocket__json_key(&j)) {
        struct hocket__str name = j.text, value = hocket__json_value(&j), before;
        if (value.n > 0 && !find_member(old, name, &before))
            put_usage_member(b, name, value);
    }
    hocket__buf_addc(b, '}');
}

static void set_count(struct hocket__json *j, int64_t *out)
{
    int64_t n = hocket__json_count(j);
    if (n >= 0)
        *out = n;
}

static void read_details(struct hocket__json *j, struct hocket__usage *u)
{
    if (hocket__json_want(j, HOCKET__JSON_OBJECT))
        while (hocket__json_key(j))
            if (hocket__json_is(j, "thinking_tokens"))
                set_count(j, &u->reasoning);
}

static void read_counts(struct hocket__str usage, struct hocket__usage *u)
{
    struct hocket__json j;
    hocket__json_init(&j, usage);
    hocket__json_next(&j);
    while (hocket__json_key(&j)) {
        if (hocket__json_is(&j, "input_tokens"))
            set_count(&j, &u->input);
        else if (hocket__json_is(&j, "output_tokens"))
            set_count(&j, &u->output);
        else if (hocket__json_is(&j, "cache_read_input_tokens"))
            set_count(&j, &u->cached);
        else if (hocket__json_is(&j, "cache_creation_input_tokens"))
            set_count(&j, &u->cache_write);
        else if (hocket__json_is(&j, "output_tokens_details"))
            read_details(&j, u);
    }
}

void hocket__anthropic_usage(struct hocket__reply *reply, struct hocket__str usage)
{
    struct hocket__buf *b = &reply->usage_raw;
    size_t old = b->len;
    if (usage.n == 0 || usage.p[0] != '{')
        return;
    read_counts(usage, &reply->usage);
    if (old == 0 || old + usage.n > MAX_USAGE) {
        hocket__reply_set(b, usage);
    } else if (hocket__buf_reserve(b, old + usage.n + 2) == 0) {
        merge(b, hocket__str(b->data, old), usage);
        hocket__buf_drop(b, old);
    }
}
