/* Neutral messages as Anthropic's turns of blocks.
 *
 * Written when a message is added to a history, once: the bytes then stay as they are for as long
 * as the conversation lasts. */
#include "net/protocol/anthropic/anthropic.h"

#define HEAD           "{\"content\":["
#define TAIL_ASSISTANT "],\"role\":\"assistant\"}"

/* There is no form for recordings. */
static bool put_data(struct hocket__buf *b, const struct hocket__neutral_part *part,
    const struct hocket__image *image)
{
    if (part->kind == HOCKET__PART_AUDIO)
        return false;
    hocket__jw_open(b, '{');
    hocket__jw_key_cstring(b, "type", part->kind == HOCKET__PART_IMAGE ? "image" : "document");
    hocket__jw_key_open(b, "source", '{');
    if (image->data.n > 0) {
        hocket__jw_key_cstring(b, "type", "base64");
        hocket__member_raw(b, "media_type", image->mime);
        hocket__member_raw(b, "data", image->data);
    } else {
        hocket__jw_key_cstring(b, "type", "url");
        hocket__member_raw(b, "url", image->url);
    }
    hocket__buf_adds(b, "}}");
    return true;
}

/* A system message in the middle: this role is not known there to most models. */
static void put_system(struct hocket__buf *b, const struct hocket__piece *text)
{
    if (hocket__piece_blank(text))
        return;
    hocket__jw_open(b, '{');
    hocket__jw_key_cstring(b, "type", "text");
    hocket__jw_key(b, "text");
    hocket__buf_adds(b, "\"<system>");
    hocket__buf_addstr(b, text->inside);
    hocket__buf_adds(b, "</system>\"");
    hocket__jw_close(b, '}');
}

static void put_id(struct hocket__buf *b, const char *key, const struct hocket__piece *id,
    const struct hocket__proto_traits *t)
{
    hocket__jw_key(b, key);
    if (t->call_id_length > 0) {
        hocket__proto_call_id(t, id, b);
        return;
    }
    hocket__id_write(b, id);
}

static void put_result(
    struct hocket__buf *b, const struct hocket__neutral *m, const struct hocket__proto_traits *t)
{
    hocket__jw_open(b, '{');
    hocket__jw_key_cstring(b, "type", "tool_result");
    put_id(b, "tool_use_id", &m->id, t);
    if (!hocket__piece_blank(&m->text))
        hocket__member_piece(b, "content", &m->text);
    if (m->error)
        hocket__jw_key_bool(b, "is_error", true);
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
        hocket__jw_key_cstring(b, "type", "tool_use");
        put_id(b, "id", &call.id, t);
        hocket__member_piece(b, "name", &call.name);
        hocket__jw_key(b, "input");
        hocket__object_write(b, &call.arguments);
        hocket__jw_close(b, '}');
    }
}

static int put_assistant(struct hocket__buf *wire, const struct hocket__neutral *m,
    const struct hocket__proto_traits *t, struct hocket_error *err)
{
    struct hocket__turn turn;
    struct hocket__str replay = hocket__neutral_replay(m, hocket__proto_anthropic.name);
    /* Two answers in a row happen (pause_turn), and are one turn to the server. */
    hocket__turn_open(&turn, wire, HEAD, TAIL_ASSISTANT, false);
    if (!hocket__replay_blocks(wire, replay)) {
        hocket__text_block(wire, &m->text, true);
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
        hocket__text_block(wire, &m->text, true);
        hocket__part_blocks(wire, m->parts, true, put_data);
    }
    return hocket__turn_close(&turn, err);
}
