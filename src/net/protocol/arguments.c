/* Arguments of calls on their way back to a server.
 *
 * What a model wrote is often no strict JSON: it stands in single quotes, or is cut off. Servers parse the
 * arguments in a history (vLLM, llama.cpp, LiteLLM), and refuse a conversation that has others for good. So
 * what goes back is what the call was made with. */
#include "net/protocol/blocks.h"

/* A repetition is written with at most so many bytes where the arguments have one, or the other way round: escapes.
 * So comparing costs by the piece, however many come. */
#define LONGER 8

static bool is_blank(struct hocket__str s)
{
    while (s.n > 0 && memchr(" \t\r\n", s.p[0], 4))
        s = hocket__str(s.p + 1, s.n - 1);
    return s.n == 0;
}

static void add_meant(struct hocket__buf *b, struct hocket__str arguments)
{
    struct hocket__buf meant = hocket__buf(b->a, 0);
    int rc = hocket__lenient_meant(arguments, &meant);
    if (rc < 0 && b->status == 0)
        b->status = rc;
    if (rc == 1 && meant.data[0] == '{') {
        hocket__buf_addstr(b, hocket__buf_str(&meant));
    } else {
        hocket__buf_lit(b, "{\"invalid_json\":");
        hocket__jw_string(b, arguments);
        hocket__buf_addc(b, '}');
    }
    hocket__buf_deinit(&meant);
}

void hocket__object_add(struct hocket__buf *b, struct hocket__str arguments)
{
    if (is_blank(arguments) || hocket__str_is(arguments, "null"))
        hocket__buf_lit(b, "{}");
    else if (hocket__json_begins(arguments, '{'))
        hocket__buf_addstr(b, arguments);
    else
        add_meant(b, arguments);
}

/* Makes the object of a piece, for `b`; returns whether the piece is that object as it stands. */
static bool object_of(
    const struct hocket__piece *arguments, struct hocket__buf *object, struct hocket__buf *b)
{
    struct hocket__buf text = hocket__buf(b->a, 0);
    hocket__buf_init(object, b->a, 0);
    if (hocket__piece_add(arguments, &text) == 0)
        hocket__object_add(object, hocket__buf_str(&text));
    int status = text.status < 0 ? text.status : object->status;
    if (status < 0 && b->status == 0)
        b->status = status;
    bool same = arguments->set && hocket__str_eq(hocket__buf_str(object), hocket__buf_str(&text));
    hocket__buf_deinit(&text);
    return same;
}

void hocket__object_write(struct hocket__buf *b, const struct hocket__piece *arguments)
{
    struct hocket__buf object;
    object_of(arguments, &object, b);
    hocket__line_write(b, hocket__buf_str(&object));
    hocket__buf_deinit(&object);
}

void hocket__arguments_write(struct hocket__buf *b, const struct hocket__piece *arguments)
{
    struct hocket__buf object;
    if (object_of(arguments, &object, b))
        hocket__piece_write(arguments, b);
    else
        hocket__jw_string(b, hocket__buf_str(&object));
    hocket__buf_deinit(&object);
}

bool hocket__arguments_fit(const struct hocket__piece *arguments, struct hocket__buf *b)
{
    struct hocket__buf object;
    bool fits = object_of(arguments, &object, b);
    hocket__buf_deinit(&object);
    return fits;
}

bool hocket__arguments_reopen(const struct hocket__call *call, const struct hocket__piece *more)
{
    struct hocket__str old = hocket__buf_str(&call->arguments), text = more->inside;
    if (old.n < 2 || text.n < 2 || (text.p[0] != '{' && text.p[0] != '\\'))
        return false;
    return old.p[old.n - 1] == '}' || (old.p[0] == '"' && old.p[old.n - 1] == '"');
}

static hocket_json *meant(struct hocket__str text, const struct hocket_allocator *a)
{
    struct hocket__buf out;
    hocket_json *tree = NULL;
    hocket__buf_init(&out, a, 0);
    if (hocket__lenient_meant(text, &out) == 1 && out.data[0] == '{')
        tree = hocket__tree_new(a, hocket__buf_str(&out), 0, NULL);
    hocket__buf_deinit(&out);
    return tree;
}

static bool same_object(
    struct hocket__str a, struct hocket__str b, const struct hocket_allocator *m)
{
    hocket_json *one = meant(a, m), *other = one ? meant(b, m) : NULL;
    bool same = one && other && hocket__tree_equal(one, other);
    hocket_json_free(one);
    hocket_json_free(other);
    return same;
}

bool hocket__arguments_are_repeated(
    const struct hocket__call *call, const struct hocket__piece *more)
{
    struct hocket__str old = hocket__buf_str(&call->arguments);
    struct hocket__buf text;
    if (!hocket__arguments_reopen(call, more) || more->inside.n > LONGER * old.n
        || old.n > LONGER * more->inside.n)
        return false;
    hocket__buf_init(&text, call->arguments.a, 0);
    bool same = hocket__piece_add(more, &text) == 0
                && same_object(old, hocket__buf_str(&text), call->arguments.a);
    hocket__buf_deinit(&text);
    return same;
}
