/* Writes chat requests. The order of a body's members is fixed and the messages stand
 * last: the body of a turn is the body of the turn before, without its last two bytes,
 * and then what is new. Whoever caches by prefix, or keeps bodies, gains by it. */
#include "net/protocol/openai_chat/openai_chat.h"

#include "net/protocol/blocks.h"

#include "net/protocol/protocol.h"

/* ---- Messages ---- */

static void put_image(struct hocket__buf *b, const struct hocket__neutral_part *part)
{
    hocket__buf_lit(b, "{\"type\":\"image_url\",\"image_url\":{\"url\":");
    hocket__neutral_url(part, b);
    hocket__buf_lit(b, "}}");
}

/* Two formats are known there. */
static void put_audio(struct hocket__buf *b, const struct hocket__neutral_part *part)
{
    bool wav = hocket__piece_is(&part->mime, "audio/wav");
    hocket__buf_lit(b, "{\"type\":\"input_audio\",\"input_audio\":{\"data\":");
    hocket__piece_write(&part->data, b);
    hocket__buf_adds(b, wav ? ",\"format\":\"wav\"}}" : ",\"format\":\"mp3\"}}");
}

static void put_file(struct hocket__buf *b, const struct hocket__neutral_part *part)
{
    hocket__buf_lit(b, "{\"type\":\"file\",\"file\":{\"filename\":");
    if (part->name.inside.n > 0)
        hocket__piece_write(&part->name, b);
    else
        hocket__buf_lit(b, "\"document.pdf\"");
    hocket__buf_lit(b, ",\"file_data\":");
    hocket__neutral_url(part, b);
    hocket__buf_lit(b, "}}");
}

static void put_data(struct hocket__buf *b, const struct hocket__neutral_part *part)
{
    hocket__jw_raw(b, HOCKET__STR("")); /* the comma */
    if (part->kind == HOCKET__PART_AUDIO)
        put_audio(b, part);
    else if (part->kind == HOCKET__PART_FILE)
        put_file(b, part);
    else
        put_image(b, part);
}

static void put_parts(struct hocket__buf *b, struct hocket__str parts)
{
    struct hocket__json j;
    struct hocket__neutral_part part;
    hocket__jw_open(b, '[');
    hocket__neutral_walk(&j, parts);
    while (hocket__neutral_part(&j, &part)) {
        if (part.text.set) {
            hocket__jw_open(b, '{');
            hocket__jw_key_cstring(b, "type", "text");
            hocket__member_piece(b, "text", &part.text);
            hocket__jw_close(b, '}');
        } else if (hocket__neutral_has_data(&part)) {
            put_data(b, &part);
        }
    }
    hocket__jw_close(b, ']');
}

/* The extra_content that came with a call (see replay.c), by its position.
 * Lists of calls and extras have one place for each call, so both are walked in step; a null is a
 * call without. */
static void put_call_extra(struct hocket__buf *b, struct hocket__json *extras)
{
    struct hocket__str value = { "", 0 };
    if (extras->depth == 0 || !hocket__json_element(extras))
        return;
    hocket__json_skip(extras, &value);
    if (extras->token != HOCKET__JSON_NULL && !extras->error) {
        hocket__jw_key(b, "extra_content");
        hocket__buf_addstr(b, value);
    }
}

static void put_calls(struct hocket__buf *b, const struct hocket__neutral *m,
    const struct hocket__proto_traits *t, struct hocket__str extra_list)
{
    struct hocket__json j, extras;
    struct hocket__neutral_call call;
    hocket__buf_lit(b, ",\"tool_calls\":[");
    hocket__neutral_walk(&j, m->calls);
    hocket__neutral_walk(&extras, extra_list);
    while (hocket__neutral_call(&j, &call)) {
        hocket__jw_open(b, '{');
        hocket__buf_lit(b, "\"id\":");
        hocket__proto_call_id(t, &call.id, b);
        hocket__buf_lit(b, ",\"type\":\"function\",\"function\":{\"name\":");
        hocket__piece_write(&call.name, b);
        hocket__buf_lit(b, ",\"arguments\":");
        hocket__arguments_write(b, &call.arguments);
        hocket__buf_addc(b, '}');
        put_call_extra(b, &extras);
        hocket__jw_close(b, '}');
    }
    hocket__jw_close(b, ']');
}

/* What came with the answer goes back as it came; some servers refuse a conversation in which it is
 * missing or changed. */
static void put_reasoning(struct hocket__buf *b, const struct hocket__neutral *m,
    const struct hocket__proto_traits *t, struct hocket__str replay)
{
    struct hocket__str value;
    /* Of a call without any reasoning, by another model, the empty member is asked for, too. */
    if (t->reasoning_back && (m->reasoning.set || m->calls.n > 2)) {
        hocket__jw_key(b, t->reasoning_field ? t->reasoning_field : "reasoning_content");
        hocket__piece_write(&m->reasoning, b);
    }
    if (replay.n == 0)
        return;
    if (hocket__json_find(replay, "reasoning_details", &value)) {
        hocket__jw_key(b, "reasoning_details");
        hocket__buf_addstr(b, value);
    }
    if (hocket__json_find(replay, "extra_content", &value)) {
        hocket__jw_key(b, "extra_content");
        hocket__buf_addstr(b, value);
    }
}

/* `content` is there also when it is null: servers differ about a message without it. */
static void put_assistant(
    struct hocket__buf *b, const struct hocket__neutral *m, const struct hocket__proto_traits *t)
{
    struct hocket__str replay = hocket__neutral_replay(m, hocket__proto_openai_chat.name),
                       extras = { "", 0 };
    bool has_calls = m->calls.n > 2;
    hocket__buf_lit(b, ",\"content\":");
    if (m->text.set || !has_calls)
        hocket__piece_write(&m->text, b);
    else
        hocket__buf_lit(b, "null");
    put_reasoning(b, m, t, replay);
    if (replay.n > 0)
        hocket__json_find(replay, "calls", &extras);
    if (has_calls)
        put_calls(b, m, t, extras);
}

static void put_content(struct hocket__buf *b, const struct hocket__neutral *m)
{
    hocket__buf_lit(b, ",\"content\":");
    if (m->parts.n > 0)
        put_parts(b, m->parts);
    else
        hocket__piece_write(&m->text, b);
}

static const char *role_word(enum hocket__role role, const struct hocket__proto_traits *t)
{
    switch (role) {
    case HOCKET__ROLE_SYSTEM: return t->system_role ? t->system_role : "system";
    case HOCKET__ROLE_ASSISTANT: return "assistant";
    case HOCKET__ROLE_TOOL: return "tool";
    default: return "user";
    }
}

/* An answer without anything in it: Mistral refuses a conversation that has one. */
static bool is_nothing(const struct hocket__neutral *m, const struct hocket__proto_traits *t)
{
    bool thought = t->reasoning_back && m->reasoning.inside.n > 0;
    return m->role == HOCKET__ROLE_ASSISTANT && hocket__piece_blank(&m->text) && m->calls.n <= 2
           && m->parts.n == 0 && m->replay.n == 0 && !thought;
}

int hocket__openai_chat_message(const struct hocket__neutral *m,
    const struct hocket__proto_traits *t, struct hocket__buf *wire, struct hocket_error *err)
{
    if (is_nothing(m, t))
        return 0;
    hocket__jw_open(wire, '{');
    hocket__buf_lit(wire, "\"role\":");
    hocket__jw_cstring(wire, role_word(m->role, t));
    if (m->role == HOCKET__ROLE_TOOL) {
        hocket__buf_lit(wire, ",\"tool_call_id\":");
        hocket__proto_call_id(t, &m->id, wire);
    }
    if (m->role == HOCKET__ROLE_ASSISTANT)
        put_assistant(wire, m, t);
    else
        put_content(wire, m);
    hocket__jw_close(wire, '}');
    return 0;
}

/* ---- Requests ---- */

typedef const struct hocket__llm_request *request;

/* Under the names and with the gaps of the server at hand: traits say which members it does not
 * take, and an unknown one is an error with some. */
static void put_limits(request q, const struct hocket__proto_traits *t, struct hocket__buf *b)
{
    hocket__openai_limits(q, "max_tokens", b);
    if (q->seed >= 0 && !t->no_seed && hocket__proto_key(q, b, "seed"))
        hocket__jw_int(b, q->seed);
    if (q->stop.n > 0 && hocket__proto_key(q, b, "stop"))
        hocket__buf_addstr(b, q->stop);
    const char *effort = hocket__proto_reasoning_word(q);
    if (effort && hocket__proto_key(q, b, "reasoning_effort"))
        hocket__jw_cstring(b, effort);
}

static void put_stream(request q, const struct hocket__proto_traits *t, struct hocket__buf *b)
{
    if (!q->stream || !hocket__proto_key(q, b, "stream"))
        return;
    hocket__jw_bool(b, true);
    if (!t->no_stream_usage && hocket__proto_key(q, b, "stream_options"))
        hocket__buf_adds(b, "{\"include_usage\":true}");
}

static void put_format(request q, const struct hocket__proto_traits *t, struct hocket__buf *b)
{
    if (q->schema.n == 0 || !hocket__proto_key(q, b, "response_format"))
        return;
    if (t->no_json_schema) {
        hocket__buf_adds(b, "{\"type\":\"json_object\"}");
        return;
    }
    hocket__buf_adds(b, "{\"type\":\"json_schema\",\"json_schema\":{");
    hocket__jw_key_cstring(b, "name", q->schema_name ? q->schema_name : "answer");
    hocket__jw_key(b, "schema");
    hocket__buf_addstr(b, q->schema);
    if (t->strict_tools)
        hocket__jw_key_bool(b, "strict", true);
    hocket__buf_adds(b, "}}");
}

static void put_tool(struct hocket__buf *b, const struct hocket__tool_spec *tool, bool strict)
{
    hocket__jw_open(b, '{');
    hocket__jw_key_cstring(b, "type", "function");
    hocket__jw_key_open(b, "function", '{');
    hocket__member_piece(b, "name", &tool->name);
    if (tool->description.set) {
        hocket__member_piece(b, "description", &tool->description);
    }
    if (tool->parameters.n > 0) {
        hocket__jw_key(b, "parameters");
        hocket__buf_addstr(b, tool->parameters);
    }
    if (tool->has_strict || strict)
        hocket__jw_key_bool(b, "strict", tool->has_strict ? tool->strict : strict);
    hocket__jw_close(b, '}');
    hocket__jw_close(b, '}');
}

static void put_tools(request q, const struct hocket__proto_traits *t, struct hocket__buf *b)
{
    struct hocket__json j;
    struct hocket__tool_spec tool;
    hocket__neutral_walk(&j, q->tools);
    if (!hocket__tool_walk(&j, &tool)) /* an empty list is refused by some servers */
        return;
    if (hocket__proto_key(q, b, "tools")) {
        hocket__jw_open(b, '[');
        do
            put_tool(b, &tool, t->strict_tools);
        while (hocket__tool_walk(&j, &tool));
        hocket__jw_close(b, ']');
    }
    hocket__openai_choice(q, true, b);
}

/* Where the server knows no schemas, the schema is said in words. */
static void put_system(request q, const struct hocket__proto_traits *t, struct hocket__buf *b)
{
    bool in_words = hocket__schema_only_in_prompt(q);
    if (!hocket__system_has(q, in_words))
        return;
    hocket__jw_open(b, '{');
    hocket__jw_key_cstring(b, "role", role_word(HOCKET__ROLE_SYSTEM, t));
    hocket__jw_key(b, "content");
    hocket__system_write(q, in_words, b);
    hocket__jw_close(b, '}');
}

/* Everything before the history. It is kept beside the request that it was written for: the next turn of the same
 * session copies it, and only what is new of the history is written behind. */
static void put_head(request q, const struct hocket__proto_traits *t, struct hocket__buf *b)
{
    size_t from = b->len;
    hocket__jw_open(b, '{');
    if (hocket__proto_key(q, b, "model"))
        hocket__jw_cstring(b, q->model);
    put_stream(q, t, b);
    put_limits(q, t, b);
    put_format(q, t, b);
    put_tools(q, t, b);
    hocket__proto_extra(q, b, from);
    hocket__jw_key_open(b, "messages", '[');
    put_system(q, t, b);
    if (b->status == 0)
        hocket__prepared_keep(
            q, &hocket__proto_openai_chat, hocket__str(b->data + from, b->len - from));
}

/* One reservation for all of it: a body of a megabyte would be copied several times while it grows. */
static void put_all(
    request q, const struct hocket__proto_traits *t, bool known, struct hocket__buf *b)
{
    size_t head = known ? q->prepared->head.len : q->system.n + 2 * q->tools.n + 512;
    hocket__buf_reserve(b, head + q->history->wire.len + 8);
    if (known)
        hocket__buf_addstr(b, hocket__buf_str(&q->prepared->head));
    else
        put_head(q, t, b);
    if (q->history->wire.len > 0)
        hocket__jw_raw(b, hocket__buf_str(&q->history->wire));
}

/* Where the last body of this history has come back, the new turn is written at its end, in front
 * of which two bytes ("]}") are taken away. */
int hocket__openai_chat_write(request q, struct hocket__buf *b, struct hocket_error *err)
{
    const struct hocket__proto_traits *t = hocket__proto_traits_of(q);
    int status = hocket__proto_prepare(q, &hocket__proto_openai_chat, err);
    if (status < 0)
        return status;
    bool known = hocket__prepared_is(q, &hocket__proto_openai_chat);
    if (!known || !hocket__history_resume(q->history, hocket__buf_str(&q->prepared->head), 2, b))
        put_all(q, t, known, b);
    hocket__buf_lit(b, "]}");
    return hocket__proto_written(b, err);
}
