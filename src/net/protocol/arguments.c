/* Arguments of calls on their way back to a server.
 *
 * What a model wrote is often no strict JSON: it stands in single quotes, or is cut off. Servers parse the
 * arguments in a history (vLLM, llama.cpp, LiteLLM), and refuse a conversation that has others for good. So
 * what goes back is what the call was made with. */
#include "net/protocol/blocks.h"

static bool is_blank(struct hocket__str s)
{
    while (s.n > 0 && memchr(" \t\r\n", s.p[0], 4))
        s = hocket__str(s.p + 1, s.n - 1);
    return s.n == 0;
}

static void add_meant(struct hocket__buf *b, struct hocket__str arguments)
{
    struct hocket__buf meant;
    hocket__buf_init(&meant, b->a, 0);
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
    struct hocket__buf text;
    hocket__buf_init(&text, b->a, 0);
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
