/* Neutral messages as Gemini's contents of parts.
 *
 * Roles are two there; a result is a part of the user's turn and names the function that was
 * called, so names of calls are looked up in what came before. */
#include "net/protocol/gemini/gemini.h"

#define HEAD       "{\"parts\":["
#define TAIL_USER  "],\"role\":\"user\"}"
#define TAIL_MODEL "],\"role\":\"model\"}"
/* A content of results ends so: an image has a brace less, a text two. */
#define TAIL_RESULTS "}}}" TAIL_USER
/* What Google names for calls that Gemini has not made: their signature is not checked. */
#define NO_SIGNATURE "\"thoughtSignature\":\"skip_thought_signature_validator\""

static void put_text(struct hocket__buf *b, const struct hocket__piece *text)
{
    if (text->inside.n == 0)
        return;
    hocket__jw_open(b, '{');
    hocket__member_piece(b, "text", text);
    hocket__jw_close(b, '}');
}

static void put_image(struct hocket__buf *b, const struct hocket__image *image)
{
    hocket__jw_open(b, '{');
    hocket__jw_key_open(b, image->data.n > 0 ? "inlineData" : "fileData", '{');
    if (image->data.n > 0) {
        hocket__member_raw(b, "mimeType", image->mime);
        hocket__member_raw(b, "data", image->data);
    } else {
        hocket__member_raw(b, "fileUri", image->url);
    }
    hocket__buf_adds(b, "}}");
}

static void put_user(struct hocket__buf *b, const struct hocket__neutral *m)
{
    struct hocket__json j;
    struct hocket__neutral_part part;
    struct hocket__image image;
    put_text(b, &m->text);
    hocket__neutral_walk(&j, m->parts);
    while (hocket__neutral_part(&j, &part)) {
        put_text(b, &part.text);
        if (hocket__image_of(&part, &image))
            put_image(b, &image);
    }
}

/* A system message in the middle: there is no such role. */
static void put_system(struct hocket__buf *b, const struct hocket__piece *text)
{
    hocket__jw_open(b, '{');
    hocket__jw_key(b, "text");
    hocket__buf_adds(b, "\"<system>");
    hocket__buf_addstr(b, text->inside);
    hocket__buf_adds(b, "</system>\"");
    hocket__jw_close(b, '}');
}

/* Whether the calls before, the last model's content, have this id. */
static bool was_sent(struct hocket__str wire, struct hocket__str id)
{
    struct hocket__str turn = hocket__turn_before(wire, wire.n);
    static const struct hocket__str user = HOCKET__STR(TAIL_USER);
    size_t from = (size_t) (turn.p - wire.p);
    if (from > 0 && turn.n > user.n && memcmp(turn.p + turn.n - user.n, user.p, user.n) == 0)
        turn = hocket__turn_before(wire, from - 1);
    for (size_t i = 0; i + id.n + 2 <= turn.n; i++) {
        const char *quote = memchr(turn.p + i, '"', turn.n - i - id.n - 1);
        if (!quote)
            break;
        i = (size_t) (quote - turn.p);
        if (memcmp(quote + 1, id.p, id.n) == 0 && quote[id.n + 1] == '"')
            return true;
    }
    return false;
}

static void put_result(struct hocket__buf *b, const struct hocket__neutral *m, bool with_id)
{
    hocket__jw_open(b, '{');
    hocket__jw_key_open(b, "functionResponse", '{');
    if (with_id)
        hocket__member_piece(b, "id", &m->id);
    hocket__member_piece(b, "name", m->name.inside.n > 0 ? &m->name : &m->id);
    hocket__jw_key_open(b, "response", '{');
    hocket__member_piece(b, m->error ? "error" : "output", &m->text);
    hocket__buf_adds(b, "}}}");
}

static int put_tool(
    struct hocket__buf *wire, const struct hocket__neutral *m, struct hocket_error *err)
{
    struct hocket__turn turn;
    bool with_id = m->id.inside.n > 0 && was_sent(hocket__buf_str(wire), m->id.inside);
    hocket__turn_open(&turn, wire, HEAD, TAIL_USER, hocket__buf_ends(wire, TAIL_RESULTS));
    put_result(wire, m, with_id);
    return hocket__turn_close(&turn, err);
}

/* Only objects are arguments. */
static void put_calls(struct hocket__buf *b, struct hocket__str calls)
{
    struct hocket__json j;
    struct hocket__neutral_call call;
    hocket__neutral_walk(&j, calls);
    for (bool first = true; hocket__neutral_call(&j, &call); first = false) {
        hocket__jw_open(b, '{');
        hocket__jw_key_open(b, "functionCall", '{');
        if (call.id.inside.n > 0)
            hocket__member_piece(b, "id", &call.id);
        hocket__member_piece(b, "name", &call.name);
        hocket__jw_key(b, "args");
        hocket__object_write(b, &call.arguments);
        hocket__jw_close(b, '}');
        hocket__buf_adds(b, first ? "," NO_SIGNATURE "}" : "}");
    }
}

static int put_model(
    struct hocket__buf *wire, const struct hocket__neutral *m, struct hocket_error *err)
{
    struct hocket__turn turn;
    struct hocket__str replay = hocket__neutral_replay(m, hocket__proto_gemini.name);
    hocket__turn_open(&turn, wire, HEAD, TAIL_MODEL, false);
    if (!hocket__replay_blocks(wire, replay)) {
        put_text(wire, &m->text);
        put_calls(wire, m->calls);
    }
    return hocket__turn_close(&turn, err);
}

int hocket__gemini_message(const struct hocket__neutral *m, const struct hocket__proto_traits *t,
    struct hocket__buf *wire, struct hocket_error *err)
{
    struct hocket__turn turn;
    if (hocket__neutral_blank(m))
        return 0;
    if (m->role == HOCKET__ROLE_ASSISTANT)
        return put_model(wire, m, err);
    if (m->role == HOCKET__ROLE_TOOL)
        return put_tool(wire, m, err);
    if (m->role == HOCKET__ROLE_SYSTEM && wire->len == 0)
        return 0; /* goes into systemInstruction */
    hocket__turn_open(&turn, wire, HEAD, TAIL_USER, false);
    if (m->role == HOCKET__ROLE_SYSTEM)
        put_system(wire, &m->text);
    else
        put_user(wire, m);
    return hocket__turn_close(&turn, err);
}
