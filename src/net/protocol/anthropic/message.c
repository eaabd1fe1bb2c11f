/* Neutral messages as Anthropic's turns of blocks.
 *
 * Written when a message is added to a history, once: the bytes then stay as they are for as long
 * as the conversation lasts. */
#include "net/protocol/anthropic/anthropic.h"

#define HEAD           "{\"content\":["
#define TAIL_ASSISTANT "],\"role\":\"assistant\"}"

static void put_text(struct hocket__buf *b, const struct hocket__piece *text)
{
    if (hocket__piece_blank(text))
        return; /* refused by the server */
    hocket__jw_open(b, '{');
    hocket__member_string(b, "type", "text");
    hocket__member_piece(b, "text", text);
    hocket__jw_close(b, '}');
}

static void put_words(struct hocket__buf *b, const struct hocket__neutral_part *part)
{
    hocket__jw_open(b, '{');
    hocket__member_string(b, "type", "text");
    hocket__jw_key(b, "text");
    hocket__buf_addc(b, '"');
    hocket__neutral_describe(part, b);
    hocket__buf_addc(b, '"');
    hocket__jw_close(b, '}');
}

static void put_data(struct hocket__buf *b, const struct hocket__image *image, bool is_image)
{
    hocket__jw_open(b, '{');
    hocket__member_string(b, "type", is_image ? "image" : "document");
    hocket__jw_key(b, "source");
    hocket__jw_open(b, '{');
    if (image->data.n > 0) {
        hocket__member_string(b, "type", "base64");
        hocket__member_raw(b, "media_type", image->mime);
        hocket__member_raw(b, "data", image->data);
    } else {
        hocket__member_string(b, "type", "url");
        hocket__member_raw(b, "url", image->url);
    }
    hocket__buf_adds(b, "}}");
}

static void put_parts(struct hocket__buf *b, struct hocket__str parts)
{
    struct hocket__json j;
    struct hocket__neutral_part part;
    struct hocket__image image;
    hocket__neutral_walk(&j, parts);
    while (hocket__neutral_part(&j, &part)) {
        put_text(b, &part.text);
        if (!hocket__image_of(&part, &image))
            continue;
        if (part.kind == HOCKET__PART_AUDIO) /* there is no form for it */
            put_words(b, &part);
        else
            put_data(b, &image, part.kind == HOCKET__PART_IMAGE);
    }
}

/* A system message in the middle: this role is not known there to most models. */
static void put_system(struct hocket__buf *b, const struct hocket__piece *text)
{
    if (hocket__piece_blank(text))
        return;
    hocket__jw_open(b, '{');
    hocket__member_string(b, "type", "text");
    hocket__jw_key(b, "text");
    hocket__buf_adds(b, "\"<system>");
    hocket__buf_addstr(b, text->inside);
    hocket__buf_adds(b, "</system>\"");
    hocket__jw_close(b, '}');
}

/* Only [A-Za-z0-9_-] is taken in ids; those of other providers hold more. The same text
 * comes out in the call and in its result. */
static void put_id(struct hocket__buf *b, const char *key, const struct hocket__piece *id,
    const struct hocket__proto_traits *t)
{
    hocket__jw_key(b, key);
    if (t->call_id_length > 0) {
        hocket__proto_call_id(t, id, b);
        return;
    }
    hocket__buf_addc(b, '"');
    for (size_t i = 0; i < id->inside.n; i++) {
        char c = id->inside.p[i];
        bool fits =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
        hocket__buf_addc(b, fits ? c : '_');
    }
    hocket__buf_addc(b, '"');
}

static void put_result(
    struct hocket__buf *b, const struct hocket__neutral *m, const struct hocket__proto_traits *t)
{
    hocket__jw_open(b, '{');
    hocket__member_string(b, "type", "tool_result");
    put_id(b, "tool_use_id", &m->id, t);
    if (!hocket__piece_blank(&m->text))
        hocket__member_piece(b, "content", &m->text);
    if (m->error) {
        hocket__jw_key(b, "is_error");
        hocket__jw_bool(b, true);
    }
    hocket__jw_close(b, '}');
}

static void put_calls(
    struct hocket__buf *b, struct hocket__str calls, const struct hocket__proto_traits *t)
{
    struct hocket__json j;
    struct hocket__neutral_call call;
    hocket__neutral_walk(&j, calls);
    while (hocket__neutral_call(&j, &call)) {
        hocket__jw_open(b, '{');
        hocket__member_string(b, "type", "tool_use");
        put_id(b, "id", &call.id, t);
        hocket__member_piece(b, "name", &call.name);
        hocket__jw_key(b, "input");
        hocket__object_write(b, &call.arguments);
        hocket__jw_close(b, '}');
    }
}

/* The blocks as they came; false when there are none. */
static bool put_replay(struct hocket__buf *b, struct hocket__str replay)
{
    struct hocket__json j;
    struct hocket__str block;
    size_t from = b->len;
    hocket__neutral_walk(&j, replay);
    while (j.depth > 0 && hocket__json_element(&j)) {
        if (j.token != HOCKET__JSON_OBJECT || hocket__json_skip(&j, &block) < 0)
            break;
        hocket__buf_adds(b, b->len > from ? "," : "");
        hocket__line_write(b, block);
    }
    return b->len > from;
}

static int put_assistant(struct hocket__buf *wire, const struct hocket__neutral *m,
    const struct hocket__proto_traits *t, struct hocket_error *err)
{
    struct hocket__turn turn;
    struct hocket__str replay = hocket__neutral_replay(m, hocket__proto_anthropic.name);
    /* Two answers in a row happen (pause_turn), and are one turn to the server. */
    hocket__turn_open(&turn, wire, HEAD, TAIL_ASSISTANT, false);
    if (!put_replay(wire, replay)) {
        put_text(wire, &m->text);
        put_calls(wire, m->calls, t);
    }
    return hocket__turn_close(&turn, err);
}

int hocket__anthropic_message(const struct hocket__neutral *m, const struct hocket__proto_traits *t,
    struct hocket__buf *wire, struct hocket_error *err)
{
    struct hocket__turn turn;
    if (hocket__neutral_blank(m))
        return 0;
    if (m->role == HOCKET__ROLE_ASSISTANT)
        return put_assistant(wire, m, t, err);
    if (m->role == HOCKET__ROLE_SYSTEM && wire->len == 0)
        return 0; /* goes into `system` */
    hocket__turn_open(&turn, wire, HEAD, HOCKET__ANTHROPIC_TAIL, true);
    if (m->role == HOCKET__ROLE_SYSTEM)
        put_system(wire, &m->text);
    else if (m->role == HOCKET__ROLE_TOOL)
        put_result(wire, m, t);
    else {
        put_text(wire, &m->text);
        put_parts(wire, m->parts);
    }
    return hocket__turn_close(&turn, err);
}
