/* The schema of an answer as Claude's servers (Anthropic's, Bedrock's) take it, which is a part of JSON Schema: every
 * object says that it has no further members; no $ref (it could go in circles), no bounds of numbers and texts.
 * A request with more is refused as a whole. So objects are closed here, which takes from no answer
 * what it needs, and a schema with more than that is not sent as one. */
#include "net/protocol/claude/claude.h"

#define MAX_DEPTH 32

static bool put_schema(struct hocket__json *j, struct hocket__buf *out, int depth);

static bool is_word(struct hocket__str value, const char *const *words)
{
    for (; *words; words++)
        if (hocket__str_is(value, *words))
            return true;
    return false;
}

/* What stands in a schema and is no schema itself: as it is. */
static bool is_plain(const struct hocket__json *j)
{
    static const char *const keys[] = { "type", "required", "enum", "const", "title", "description",
        "default", "format", NULL };
    return is_word(j->text, keys);
}

static bool is_known_format(struct hocket__str value)
{
    static const char *const formats[] = { "\"date-time\"", "\"time\"", "\"date\"", "\"duration\"",
        "\"email\"", "\"hostname\"", "\"uri\"", "\"ipv4\"", "\"ipv6\"", "\"uuid\"", NULL };
    return is_word(value, formats);
}

/* The key that was read, in an object whose members begin at `from`. */
static void put_key(const struct hocket__json *j, struct hocket__buf *out, size_t from)
{
    struct hocket__piece key = hocket__piece_of(j);
    hocket__buf_adds(out, out->len > from ? "," : "");
    hocket__piece_write(&key, out);
    hocket__buf_addc(out, ':');
}

/* The named schemas of an object: its properties. */
static bool put_named(struct hocket__json *j, struct hocket__buf *out, int depth)
{
    bool fits = hocket__json_want(j, HOCKET__JSON_OBJECT);
    hocket__jw_open(out, '{');
    size_t from = out->len;
    while (fits && hocket__json_key(j)) {
        fits = hocket__fit_is_name(j->text);
        put_key(j, out, from);
        fits = fits && hocket__json_want(j, HOCKET__JSON_OBJECT) && put_schema(j, out, depth);
    }
    hocket__jw_close(out, '}');
    return fits;
}

static bool put_list(struct hocket__json *j, struct hocket__buf *out, int depth)
{
    bool fits = hocket__json_want(j, HOCKET__JSON_ARRAY);
    hocket__jw_open(out, '[');
    size_t from = out->len;
    while (fits && hocket__json_element(j)) {
        hocket__buf_adds(out, out->len > from ? "," : "");
        fits = j->token == HOCKET__JSON_OBJECT && put_schema(j, out, depth);
    }
    hocket__jw_close(out, ']');
    return fits;
}

struct seen {
    size_t from; /* where its members begin */
    bool object, properties;
};

static bool put_plain(struct hocket__json *j, struct hocket__buf *out, struct seen *seen)
{
    bool type = hocket__json_is(j, "type"), format = hocket__json_is(j, "format");
    struct hocket__str value;
    if (hocket__json_skip(j, &value) < 0)
        return false;
    hocket__buf_addstr(out, value);
    seen->object |= type && hocket__str_is(value, "\"object\"");
    return type ? value.p[0] == '"' : format ? is_known_format(value) : true;
}

/* The value behind the key that was read; false when it is not taken there. */
static bool put_member(
    struct hocket__json *j, struct hocket__buf *out, struct seen *seen, int depth)
{
    if (j->escaped)
        return false;
    if (hocket__json_is(j, "additionalProperties"))
        return !hocket__json_true(j) && j->token == HOCKET__JSON_FALSE;
    if (hocket__json_is(j, "$schema") || hocket__json_is(j, "maxLength"))
        return hocket__json_skip(j, NULL)
               == 0; /* a bound that is there for models that know no end */
    put_key(j, out, seen->from);
    if (is_plain(j))
        return put_plain(j, out, seen);
    if (hocket__json_is(j, "properties")) {
        seen->properties = true;
        return put_named(j, out, depth + 1);
    }
    if (hocket__json_is(j, "items"))
        return hocket__json_want(j, HOCKET__JSON_OBJECT) && put_schema(j, out, depth + 1);
    return hocket__json_is(j, "anyOf") && depth > 0 && put_list(j, out, depth + 1);
}

/* The object whose begin was read. One without named members would have none at all. */
static bool put_schema(struct hocket__json *j, struct hocket__buf *out, int depth)
{
    bool fits = depth < MAX_DEPTH;
    hocket__buf_addc(out, '{');
    struct seen seen = { .from = out->len };
    while (fits && hocket__json_key(j))
        fits = put_member(j, out, &seen, depth);
    if (seen.properties)
        hocket__buf_lit(out, ",\"additionalProperties\":false");
    hocket__buf_addc(out, '}');
    return fits && seen.object == seen.properties && out->status == 0;
}

bool hocket__claude_schema(struct hocket__str schema, struct hocket__buf *out)
{
    struct hocket__json j;
    size_t from = out->len;
    hocket__json_init(&j, schema);
    bool fits = hocket__json_want(&j, HOCKET__JSON_OBJECT) && put_schema(&j, out, 0)
                && hocket__json_end(&j, NULL) == 0;
    if (!fits)
        hocket__buf_cut(out, from);
    return fits;
}
