/* One pass over the text: marks of the forms, and between them JSON, which the strict reader bounds. Where that cannot read a value, the
 * lenient one may, if the value reaches to the mark that ends it. */
#include "net/protocol/text_calls.h"

#include "base/json/json.h"

#include <string.h>

struct reader {
    struct hocket__str text;
    size_t at;
    bool fenced, no_memory;
    struct hocket__reply *reply;
    struct hocket__buf loose; /* a value that was put right */
};

static struct hocket__str rest_of(const struct reader *t)
{
    return hocket__str(t->text.p + t->at, t->text.n - t->at);
}

static bool take(struct reader *t, const char *mark)
{
    size_t at = hocket__str_blanks(t->text, t->at);
    if (!hocket__str_begins(hocket__str(t->text.p + at, t->text.n - at), mark))
        return false;
    t->at = at + strlen(mark);
    return true;
}

static bool is_at_end(struct reader *t)
{
    t->at = hocket__str_blanks(t->text, t->at);
    return t->at == t->text.n;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'
           || c == '-' || c == '.';
}

static struct hocket__str word_at(struct hocket__str s, size_t at)
{
    size_t end = at;
    while (end < s.n && is_word(s.p[end]))
        end++;
    return hocket__str(s.p + at, end - at);
}

static struct hocket__str take_word(struct reader *t)
{
    struct hocket__str word = word_at(t->text, t->at);
    t->at += word.n;
    return word;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static size_t find(struct hocket__str s, const char *mark)
{
    for (size_t at = 0; at < s.n; at++) {
        const char *hit = memchr(s.p + at, *mark, s.n - at);
        if (!hit)
            break;
        at = (size_t) (hit - s.p);
        if (hocket__str_begins(hocket__str(hit, s.n - at), mark))
            return at;
    }
    return s.n;
}

/* The value at this place; `closing`: the mark that stands behind it, or NULL. */
static bool take_json(struct reader *t, const char *closing, struct hocket__str *value)
{
    struct hocket__json j;
    t->at = hocket__str_blanks(t->text, t->at);
    struct hocket__str rest = rest_of(t);
    if (rest.n == 0 || (*rest.p != '{' && *rest.p != '['))
        return false;
    hocket__json_init(&j, rest);
    if (hocket__json_skip(&j, value) == 0) {
        t->at += (size_t) (j.p - j.start);
        return true;
    }
    rest.n = closing ? find(rest, closing) : rest.n;
    hocket__buf_reset(&t->loose);
    int whole = hocket__lenient_whole(rest, &t->loose);
    t->no_memory = t->no_memory || whole == HOCKET_ENOMEM;
    if (whole != 1)
        return false;
    t->at += rest.n;
    *value = hocket__buf_str(&t->loose);
    return true;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Where the parts of one stand, as JSON; p is NULL: there is none. */
struct parts {
    struct hocket__str name, arguments;
};

static bool set(struct hocket__str *part, struct hocket__str value, const char *kinds)
{
    if (part->p || !strchr(kinds, *value.p))
        return false;
    *part = value;
    return true;
}

static bool read_parts(struct hocket__str object, struct parts *p, bool inside);

static bool read_member(struct hocket__json *j, struct parts *p, bool inside)
{
    bool is_name = hocket__json_is(j, "name"),
         is_function = !inside && hocket__json_is(j, "function");
    bool is_arguments = hocket__json_is(j, "arguments") || hocket__json_is(j, "parameters");
    bool is_aside = hocket__json_is(j, "type") || hocket__json_is(j, "id");
    struct hocket__str value;
    if (hocket__json_skip(j, &value) < 0)
        return false;
    if (is_function && *value.p == '{')
        return read_parts(value, p, true);
    if (is_name || is_function)
        return set(&p->name, value, "\"");
    return is_arguments ? set(&p->arguments, value, "{\"") : is_aside;
}

/* False for an object with any other member. */
static bool read_parts(struct hocket__str object, struct parts *p, bool inside)
{
    struct hocket__json j;
    hocket__json_init(&j, object);
    if (hocket__json_next(&j) != HOCKET__JSON_OBJECT)
        return false;
    while (hocket__json_key(&j))
        if (!read_member(&j, p, inside))
            return false;
    return hocket__json_end(&j, NULL) == 0;
}

/* NULL: more than are kept. */
static struct hocket__call *new_call(struct reader *t)
{
    if (t->reply->n_calls == HOCKET__REPLY_MAX_CALLS) {
        t->reply->surplus = true;
        return NULL;
    }
    struct hocket__call *c = hocket__reply_add_call(t->reply);
    t->no_memory = t->no_memory || !c;
    return c;
}

static struct hocket__str inside(struct hocket__str quoted)
{
    return hocket__str(quoted.p + 1, quoted.n - 2);
}

static bool is_object(struct hocket__str text)
{
    size_t at = hocket__str_blanks(text, 0);
    return at < text.n && text.p[at] == '{' && hocket__json_check(text, NULL) == 0;
}

static bool add(struct reader *t, const struct parts *p)
{
    struct hocket__call *c = new_call(t);
    if (!c)
        return t->reply->surplus;
    hocket__json_unescape(inside(p->name), &c->name);
    if (*p->arguments.p == '{')
        hocket__buf_addstr(&c->arguments, p->arguments);
    else
        hocket__json_unescape(inside(p->arguments), &c->arguments);
    c->has_raw = true;
    return c->name.len > 0 && is_object(hocket__buf_str(&c->arguments));
}

static bool add_object(struct reader *t, struct hocket__str object)
{
    struct parts p = { { NULL, 0 }, { NULL, 0 } };
    return read_parts(object, &p, false) && p.name.p && p.arguments.p && add(t, &p);
}

static bool add_list(struct reader *t, struct hocket__str list)
{
    struct hocket__json j;
    struct hocket__str one;
    size_t n = 0;
    hocket__json_init(&j, list);
    hocket__json_next(&j);
    for (; hocket__json_element(&j); n++)
        if (hocket__json_skip(&j, &one) < 0 || *one.p != '{' || !add_object(t, one))
            return false;
    return n > 0;
}

static bool take_calls(struct reader *t, const char *closing)
{
    struct hocket__str value;
    return take_json(t, closing, &value)
           && (*value.p == '[' ? add_list(t, value) : add_object(t, value));
}

/* The name stands before its arguments. */
static bool take_named(struct reader *t, struct hocket__str name, const char *closing)
{
    struct hocket__str arguments;
    if (name.n == 0 || !take_json(t, closing, &arguments) || *arguments.p != '{')
        return false;
    struct hocket__call *c = new_call(t);
    if (!c)
        return t->reply->surplus;
    hocket__buf_addstr(&c->name, name);
    hocket__buf_addstr(&c->arguments, arguments);
    c->has_raw = true;
    return true;
}

/* ---- The forms ------------------------------------------------------------------------------- */

static bool take_mistral(struct reader *t)
{
    size_t at = hocket__str_blanks(t->text, t->at);
    if (at < t->text.n && (t->text.p[at] == '[' || t->text.p[at] == '{'))
        return take_calls(t, NULL);
    t->at = at;
    struct hocket__str name = take_word(t);
    if (take(t, "[CALL_ID]"))
        take_word(t);
    take(t, "[ARGS]");
    return take_named(t, name, "[TOOL_CALLS]");
}

/* The last mark is often missing: it ended the answer. */
static bool ends_with(struct reader *t, const char *mark)
{
    return take(t, mark) || is_at_end(t);
}

static bool take_item(struct reader *t)
{
    if (take(t, "<tool_call>"))
        return take_calls(t, "</tool_call>") && ends_with(t, "</tool_call>");
    if (take(t, "<function=")) {
        struct hocket__str name = take_word(t);
        return take(t, ">") && take_named(t, name, "</function>") && ends_with(t, "</function>");
    }
    if (take(t, "[TOOL_CALLS]"))
        return take_mistral(t);
    take(t, "<|python_tag|>");
    return take_calls(t, t->fenced ? "```" : NULL);
}

static bool take_fence(struct reader *t)
{
    if (!take(t, "```"))
        return false;
    if (!t->fenced)
        take_word(t);
    t->fenced = !t->fenced;
    return true;
}

/* What servers leave of the end of a turn. */
static bool take_ends(struct reader *t)
{
    static const char *const ends[] = { "<|eom_id|>", "<|eot_id|>", "<|im_end|>", "</s>" };
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (take(t, ends[i]))
            return is_at_end(t);
    return false;
}

static bool take_all(struct reader *t)
{
    while (!is_at_end(t)) {
        if (take_fence(t))
            continue;
        if (t->reply->n_calls > 0 && take_ends(t))
            break;
        if (!take_item(t))
            return false;
        if (!take(t, ";"))
            take(t, ",");
    }
    return !t->fenced && t->reply->n_calls > 0;
}

int hocket__text_calls(struct hocket__str text, struct hocket__reply *r)
{
    if (hocket__text_calls_begin(text) != HOCKET__TEXT_CALLS_YES)
        return 0;
    struct reader t = { .text = text, .reply = r };
    hocket__buf_init(&t.loose, r->a, r->max);
    bool read = take_all(&t);
    hocket__buf_deinit(&t.loose);
    t.no_memory = t.no_memory || hocket__reply_status(r) == HOCKET_ENOMEM;
    if (!read || t.no_memory)
        hocket__reply_drop_calls(r);
    return t.no_memory ? HOCKET_ENOMEM : (int) r->n_calls;
}

/* ---- How they begin -------------------------------------------------------------------------- */

/* Whether a text begins with a mark, or is too short for it. */
static enum hocket__text_calls_begin compare(struct hocket__str s, const char *mark)
{
    size_t n = strlen(mark);
    if (memcmp(s.p, mark, s.n < n ? s.n : n) != 0)
        return HOCKET__TEXT_CALLS_NO;
    return s.n < n ? HOCKET__TEXT_CALLS_SHORT : HOCKET__TEXT_CALLS_YES;
}

static enum hocket__text_calls_begin any_of(struct hocket__str s, const char *const *marks)
{
    enum hocket__text_calls_begin found = HOCKET__TEXT_CALLS_NO;
    for (; *marks; marks++) {
        enum hocket__text_calls_begin one = compare(s, *marks);
        found = one > found ? one : found;
    }
    return found;
}

static enum hocket__text_calls_begin object_begins(struct hocket__str s, size_t at)
{
    static const char *const keys[] = { "name", "arguments", "parameters", "function", "type",
        "id" };
    at = hocket__str_blanks(s, at);
    if (at < s.n && (s.p[at] == '"' || s.p[at] == '\''))
        at++;
    struct hocket__str key = word_at(s, at);
    bool is_cut = at + key.n == s.n;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (is_cut ? strncmp(keys[i], key.p, key.n) == 0 : hocket__str_is(key, keys[i]))
            return is_cut ? HOCKET__TEXT_CALLS_SHORT : HOCKET__TEXT_CALLS_YES;
    return HOCKET__TEXT_CALLS_NO;
}

static enum hocket__text_calls_begin value_begins(struct hocket__str s, size_t at)
{
    if (s.p[at] == '{')
        return object_begins(s, at + 1);
    if (s.p[at] != '[')
        return HOCKET__TEXT_CALLS_NO;
    at = hocket__str_blanks(s, at + 1);
    return at == s.n        ? HOCKET__TEXT_CALLS_SHORT
           : s.p[at] == '{' ? object_begins(s, at + 1)
                            : HOCKET__TEXT_CALLS_NO;
}

static enum hocket__text_calls_begin item_begins(struct hocket__str s, size_t at)
{
    static const char *const marks[] = { "<tool_call>", "<function=", "<|python_tag|>",
        "[TOOL_CALLS]", NULL };
    if (at == s.n)
        return HOCKET__TEXT_CALLS_SHORT;
    enum hocket__text_calls_begin marked = any_of(hocket__str(s.p + at, s.n - at), marks),
                                  value = value_begins(s, at);
    return marked > value ? marked : value;
}

enum hocket__text_calls_begin hocket__text_calls_begin(struct hocket__str text)
{
    static const char *const fence[] = { "```", NULL };
    size_t at = hocket__str_blanks(text, 0);
    if (at == text.n)
        return HOCKET__TEXT_CALLS_SHORT;
    enum hocket__text_calls_begin fenced = any_of(hocket__str(text.p + at, text.n - at), fence);
    if (fenced == HOCKET__TEXT_CALLS_SHORT)
        return fenced;
    if (fenced == HOCKET__TEXT_CALLS_NO)
        return item_begins(text, at);
    at += 3;
    return item_begins(text, hocket__str_blanks(text, at + word_at(text, at).n));
}
