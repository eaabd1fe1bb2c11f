/* Schemas of tools and answers in the form that a protocol's servers take.
 *
 * A server that refuses one schema refuses the whole request. So what it would refuse is left out here, and said in
 * the description: the model knows it, and arguments and answers are checked by the whole schema when they
 * come. What is left out of an object opens it for that, too.
 *
 *     all        type object with properties at the top, and nothing there that combines schemas; no true or false
 *                for a schema; MAX_DEPTH schemas in each other
 *     names      names of members that Claude's servers take
 *     grammar    what llama.cpp makes grammars of: expressions from beginning to end, without classes such as \\d
 *                and lookarounds; texts and lists of at most MAX_TIMES. A bound above that is left out unsaid */
#include "base/num/num.h"
#include "net/protocol/protocol_impl.h"

#define MAX_DEPTH 32
#define MAX_NOTE  4000 /* bytes that a description grows by */
#define MAX_NAME  64
#define MAX_TIMES 1000

struct fit {
    unsigned rules;
    struct hocket__buf *out, *note;
    const struct hocket__piece *description; /* at the top of an answer's schema; NULL: of a tool */
    bool changed;
};

static void put_schema(struct fit *f, struct hocket__str text, int depth);

/* ---- What a server takes ---- */

bool hocket__fit_is_name(struct hocket__str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i], small = (char) (c | 0x20);
        if (!(small >= 'a' && small <= 'z') && !(c >= '0' && c <= '9') && c != '_' && c != '.'
            && c != '-')
            return false;
    }
    return s.n > 0 && s.n <= MAX_NAME;
}

static bool takes_name(const struct fit *f, struct hocket__str inside)
{
    return !(f->rules & HOCKET__FIT_NAMES) || hocket__fit_is_name(inside);
}

/* Of a JSON string's text whether an expression is a plain one: no \\d or \\b, no (?=…). */
static bool is_plain_pattern(struct hocket__str value)
{
    for (size_t i = 0; i + 2 < value.n; i++) {
        const char *p = value.p + i;
        if (p[0] == '(' && p[1] == '?')
            return false;
        if (p[0] != '\\')
            continue;
        char c = (char) (p[2] | 0x20);
        if (p[1] == 'u' || (p[1] == '\\' && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))))
            return false;
        i += p[1] == '\\' ? 2 : 1;
    }
    return true;
}

static bool takes_pattern(const struct fit *f, struct hocket__str value)
{
    if (!(f->rules & HOCKET__FIT_GRAMMAR))
        return true;
    return value.n >= 4 && value.p[1] == '^' && value.p[value.n - 2] == '$'
           && value.p[value.n - 3] != '\\' && is_plain_pattern(value);
}

static bool is_one_of(const struct hocket__piece *key, const char *const *words)
{
    for (; *words; words++)
        if (hocket__piece_is(key, *words))
            return true;
    return false;
}

/* Whether a grammar could count so far. */
static bool takes_bound(
    const struct fit *f, const struct hocket__piece *key, struct hocket__str value)
{
    static const char *const bounds[] = { "maxLength", "minLength", "maxItems", "minItems", NULL };
    bool is_int;
    int64_t n;
    double d;
    if (!(f->rules & HOCKET__FIT_GRAMMAR) || !is_one_of(key, bounds) || value.n == 0
        || value.p[0] < '0' || value.p[0] > '9')
        return true;
    hocket__num_read(value, &is_int, &n, &d);
    return d <= MAX_TIMES;
}

/* They say of a whole object what its members do not: servers want these plain. */
static bool combines(const struct hocket__piece *key)
{
    static const char *const keys[] = { "anyOf", "oneOf", "allOf", "not", "enum", "const", "if",
        "then", "else", "$ref", NULL };
    return is_one_of(key, keys);
}

/* ---- What is said in words ---- */

static void say(struct fit *f, const char *how, const struct hocket__piece *name, const char *what,
    struct hocket__str value)
{
    f->changed = true;
    if (f->note->len + name->inside.n + value.n > MAX_NOTE)
        return;
    hocket__buf_adds(f->note, how);
    hocket__piece_write(name, f->note);
    hocket__buf_adds(f->note, what);
    hocket__buf_addstr(f->note, value);
    hocket__buf_addc(f->note, '.');
}

/* ---- Schemas ---- */

static void put_key(struct fit *f, const struct hocket__piece *key, size_t from)
{
    if (f->out->len > from)
        hocket__buf_addc(f->out, ',');
    hocket__piece_write(key, f->out);
    hocket__buf_addc(f->out, ':');
}

/* Members of a truth value instead of a schema: anything, or nothing. */
static void put_value(struct fit *f, struct hocket__str value, int depth)
{
    if (value.n > 0 && value.p[0] == '{') {
        put_schema(f, value, depth);
        return;
    }
    f->changed |= hocket__str_is(value, "true");
    hocket__buf_addstr(f->out, hocket__str_is(value, "true") ? HOCKET__STR("{}") : value);
}

/* Named schemas: `plain` for what are no members (definitions). */
static void put_named(struct fit *f, struct hocket__str text, int depth, bool members)
{
    struct hocket__json j;
    hocket__json_init(&j, text);
    hocket__buf_addc(f->out, '{');
    size_t from = f->out->len;
    if (hocket__json_next(&j) == HOCKET__JSON_OBJECT)
        while (hocket__json_key(&j)) {
            struct hocket__piece key = hocket__piece_of(&j);
            struct hocket__str value = hocket__json_value(&j);
            if (members && !takes_name(f, key.inside)) {
                say(f, "\nA further member: ", &key, " is ", value);
            } else if (members && hocket__str_is(value, "false")) {
                f->changed = true;
            } else {
                put_key(f, &key, from);
                put_value(f, value, depth + 1);
            }
        }
    hocket__buf_addc(f->out, '}');
}

static void put_list(struct fit *f, struct hocket__str text, int depth)
{
    struct hocket__json j;
    struct hocket__str value;
    hocket__json_init(&j, text);
    hocket__buf_addc(f->out, '[');
    size_t from = f->out->len;
    if (hocket__json_next(&j) == HOCKET__JSON_ARRAY)
        while (hocket__json_element(&j) && hocket__json_skip(&j, &value) == 0) {
            if (f->out->len > from)
                hocket__buf_addc(f->out, ',');
            put_value(f, value, depth + 1);
        }
    hocket__buf_addc(f->out, ']');
}

/* Names that are left out cannot be asked for. */
static void put_required(struct fit *f, struct hocket__str text)
{
    struct hocket__json j;
    hocket__json_init(&j, text);
    hocket__buf_addc(f->out, '[');
    size_t from = f->out->len;
    if (hocket__json_next(&j) == HOCKET__JSON_ARRAY)
        while (hocket__json_element(&j)) {
            struct hocket__piece name = hocket__piece_of(&j);
            if (j.token != HOCKET__JSON_STRING || !takes_name(f, name.inside)) {
                hocket__json_pass(&j);
                continue;
            }
            if (f->out->len > from)
                hocket__buf_addc(f->out, ',');
            hocket__piece_write(&name, f->out);
        }
    hocket__buf_addc(f->out, ']');
}

/* Whether some of its members are said in words alone. */
static bool leaves_out(const struct fit *f, struct hocket__str object)
{
    struct hocket__json j;
    struct hocket__str members;
    if (!(f->rules & HOCKET__FIT_NAMES) || !hocket__json_find(object, "properties", &members))
        return false;
    hocket__json_init(&j, members);
    if (hocket__json_next(&j) != HOCKET__JSON_OBJECT)
        return false;
    while (hocket__json_key(&j)) {
        struct hocket__piece key = hocket__piece_of(&j);
        hocket__json_value(&j);
        if (!takes_name(f, key.inside))
            return true;
    }
    return false;
}

struct seen {
    size_t from;
    bool type, properties, open;
};

/* A member whose value holds schemas. */
static bool put_inner(
    struct fit *f, const struct hocket__piece *key, struct hocket__str value, int depth)
{
    static const char *const named[] = { "$defs", "definitions", "patternProperties",
        "dependentSchemas", NULL };
    static const char *const lists[] = { "anyOf", "oneOf", "allOf", "prefixItems", NULL };
    static const char *const single[] = { "items", "additionalProperties", "not", "contains", "if",
        "then", "else", "propertyNames", "unevaluatedProperties", NULL };
    char first = value.n > 0 ? value.p[0] : 0;
    if (first == '{' && is_one_of(key, named))
        put_named(f, value, depth, false);
    else if (first == '[' && is_one_of(key, lists))
        put_list(f, value, depth);
    else if (first == '{' && is_one_of(key, single))
        put_schema(f, value, depth + 1);
    else
        return false;
    return true;
}

static void put_member(struct fit *f, struct hocket__json *j, int depth, struct seen *seen)
{
    struct hocket__piece key = hocket__piece_of(j);
    struct hocket__str value = hocket__json_value(j);
    bool top = depth == 0;
    if (top && hocket__piece_is(&key, "type") && !hocket__str_is(value, "\"object\"")) {
        f->changed = true; /* it is written below */
        return;
    }
    if (top && combines(&key)) {
        say(f,
            f->description ? "\nThe answer also has to fit " : "\nThe arguments also have to fit ",
            &key, ": ", value);
        return;
    }
    if (!takes_bound(f, &key, value)) {
        f->changed = true;
        return;
    }
    if (hocket__piece_is(&key, "pattern") && !takes_pattern(f, value)) {
        say(f, "\nA text in it has to match its ", &key, ": ", value);
        return;
    }
    if (seen->open && hocket__piece_is(&key, "additionalProperties"))
        return;
    if (top && f->description && hocket__piece_is(&key, "description"))
        return; /* it is written below, with what is said */
    put_key(f, &key, seen->from);
    seen->type |= hocket__piece_is(&key, "type");
    if (hocket__piece_is(&key, "properties") && value.n > 0 && value.p[0] == '{') {
        seen->properties = true;
        put_named(f, value, depth, true);
    } else if (hocket__piece_is(&key, "required") && value.n > 0 && value.p[0] == '[') {
        put_required(f, value);
    } else if (!put_inner(f, &key, value, depth)) {
        hocket__buf_addstr(f->out, value);
    }
}

/* What an object at the top lacks. */
static void complete(struct fit *f, const struct seen *seen)
{
    static const char *const parts[] = { "\"type\":\"object\"", "\"properties\":{}" };
    const bool has[] = { seen->type, seen->properties };
    for (size_t i = 0; i < 2; i++) {
        if (has[i])
            continue;
        f->changed = true;
        if (f->out->len > seen->from)
            hocket__buf_addc(f->out, ',');
        hocket__buf_adds(f->out, parts[i]);
    }
}

static void put_schema(struct fit *f, struct hocket__str text, int depth)
{
    struct hocket__json j;
    hocket__buf_addc(f->out, '{');
    struct seen seen = { .from = f->out->len, .open = leaves_out(f, text) };
    hocket__json_init(&j, text);
    if (depth > MAX_DEPTH) {
        f->changed = true;
    } else if (hocket__json_next(&j) == HOCKET__JSON_OBJECT) {
        while (hocket__json_key(&j))
            put_member(f, &j, depth, &seen);
    }
    if (depth == 0)
        complete(f, &seen);
    hocket__buf_addc(f->out, '}');
}

/* ---- Tools ---- */

/* One of another type than an object is said in words. */
static void put_parameters(struct fit *f, struct hocket__str parameters)
{
    static const struct hocket__piece none = { { "schema", 6 }, false, true };
    bool object = parameters.n > 0 && parameters.p[0] == '{';
    struct hocket__str type;
    if (object && hocket__json_find(parameters, "type", &type)
        && !hocket__str_is(type, "\"object\"")) {
        say(f, "\nThe arguments fit this ", &none, ": ", parameters);
        object = false;
    }
    put_schema(f, object ? parameters : HOCKET__STR("{}"), 0);
}

static int put_description(
    struct hocket__buf *out, const struct hocket__piece *description, struct hocket__str note)
{
    struct hocket__buf text = hocket__buf(out->a, 0);
    hocket__piece_add(description, &text);
    while (text.len == 0 && note.n > 0 && note.p[0] == '\n')
        note = hocket__str(note.p + 1, note.n - 1);
    if (hocket__buf_addstr(&text, note) == 0 && text.len > 0)
        hocket__jw_key_string(out, "description", hocket__buf_str(&text));
    int status = text.status;
    hocket__buf_deinit(&text);
    return status;
}

static bool put_tool(unsigned rules, const struct hocket__tool_spec *tool, struct hocket__buf *out)
{
    struct hocket__buf schema, note;
    hocket__buf_init(&schema, out->a, 0);
    hocket__buf_init(&note, out->a, 0);
    struct fit f = { .rules = rules, .out = &schema, .note = &note };
    put_parameters(&f, tool->parameters);
    hocket__jw_open(out, '{');
    hocket__jw_key(out, "name");
    hocket__piece_write(&tool->name, out);
    int status = put_description(out, &tool->description, hocket__buf_str(&note));
    hocket__jw_key(out, "parameters");
    hocket__buf_addstr(out, f.changed ? hocket__buf_str(&schema) : tool->parameters);
    if (tool->has_strict)
        hocket__jw_key_bool(out, "strict", tool->strict);
    hocket__jw_close(out, '}');
    if (out->status == 0)
        out->status = status < 0 ? status : schema.status < 0 ? schema.status : note.status;
    hocket__buf_deinit(&schema);
    hocket__buf_deinit(&note);
    return f.changed;
}

/* ---- Answers ---- */

/* Whether it is a schema of objects, or of anything. */
static bool is_of_objects(struct hocket__str schema)
{
    struct hocket__str type;
    return schema.n > 0 && schema.p[0] == '{'
           && (!hocket__json_find(schema, "type", &type) || hocket__str_is(type, "\"object\""));
}

int hocket__fit_schema(unsigned rules, struct hocket__str schema, struct hocket__buf *out)
{
    struct hocket__buf note;
    struct hocket__piece description = { .set = false };
    struct hocket__json j;
    size_t from = out->len;
    if (!is_of_objects(schema))
        return 0;
    hocket__json_init(&j, schema);
    hocket__json_next(&j);
    while (hocket__json_key(&j)) {
        bool is = hocket__json_is(&j, "description");
        hocket__json_next(&j);
        if (is && j.token == HOCKET__JSON_STRING)
            description = hocket__piece_of(&j);
        hocket__json_pass(&j);
    }
    hocket__buf_init(&note, out->a, 0);
    struct fit f = { .rules = rules, .out = out, .note = &note, .description = &description };
    put_schema(&f, schema, 0);
    if (f.changed)
        hocket__buf_cut(out, out->len - 1); /* its last bracket */
    int status = f.changed ? put_description(out, &description, hocket__buf_str(&note)) : 0;
    if (f.changed)
        hocket__buf_addc(out, '}');
    else
        hocket__buf_cut(out, from);
    if (out->status == 0)
        out->status = status < 0 ? status : note.status;
    hocket__buf_deinit(&note);
    return out->status;
}

/* Servers that make grammars speak chat completions, at whatever address, or Ollama's protocol. */
unsigned hocket__fit_rules(const struct hocket__proto *proto, const struct hocket__proto_traits *t)
{
    bool claude = strcmp(proto->name, "anthropic") == 0 || strcmp(proto->name, "bedrock") == 0;
    bool grammar = strcmp(proto->name, "openai_chat") == 0 || strcmp(proto->name, "ollama") == 0;
    bool schema = !claude && !(t && t->no_json_schema);
    return HOCKET__FIT_ALL | (claude ? HOCKET__FIT_NAMES : 0) | (grammar ? HOCKET__FIT_GRAMMAR : 0)
           | (schema ? HOCKET__FIT_SCHEMA : 0);
}

int hocket__fit_tools(unsigned rules, struct hocket__str tools, struct hocket__buf *out)
{
    struct hocket__json j;
    struct hocket__tool_spec tool;
    size_t from = out->len;
    bool changed = false;
    hocket__neutral_walk(&j, tools);
    hocket__jw_open(out, '[');
    while (hocket__tool_walk(&j, &tool))
        changed |= put_tool(rules, &tool, out);
    hocket__jw_close(out, ']');
    if (out->status == 0 && !changed)
        hocket__buf_cut(out, from);
    return out->status;
}
