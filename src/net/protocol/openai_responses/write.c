/* Writes Responses requests. As with chat, the input stands last, so that the bodies of
 * a conversation share their beginning.
 *
 * The provider stores nothing (store: false), so each request sends again whatever an answer needs to be
 * continued. */
#include "net/protocol/openai_responses/openai_responses.h"

#include "net/protocol/blocks.h"

/* ---- Input items ---- */

static void put_type(struct hocket__buf *b, const char *type)
{
    hocket__jw_open(b, '{');
    hocket__jw_key_cstring(b, "type", type);
}

static void put_text(struct hocket__buf *b, const char *type, const struct hocket__piece *text)
{
    put_type(b, type);
    hocket__jw_key(b, "text");
    hocket__piece_write(text, b);
    hocket__jw_close(b, '}');
}

static void put_image(struct hocket__buf *b, const struct hocket__neutral_part *part)
{
    put_type(b, "input_image");
    hocket__jw_key(b, "image_url");
    hocket__neutral_url(part, b);
    hocket__jw_close(b, '}');
}

static void put_file(struct hocket__buf *b, const struct hocket__neutral_part *part)
{
    put_type(b, "input_file");
    hocket__jw_key(b, "filename");
    if (part->name.inside.n > 0)
        hocket__piece_write(&part->name, b);
    else
        hocket__jw_cstring(b, "document.pdf");
    hocket__jw_key(b, "file_data");
    hocket__neutral_url(part, b);
    hocket__jw_close(b, '}');
}

/* Recordings have no form here. */
static void put_words(struct hocket__buf *b, const struct hocket__neutral_part *part)
{
    put_type(b, "input_text");
    hocket__jw_key(b, "text");
    hocket__buf_addc(b, '"');
    hocket__neutral_describe(part, b);
    hocket__buf_addc(b, '"');
    hocket__jw_close(b, '}');
}

static void put_data(struct hocket__buf *b, const struct hocket__neutral_part *part)
{
    if (part->kind == HOCKET__PART_IMAGE)
        put_image(b, part);
    else if (part->kind == HOCKET__PART_FILE)
        put_file(b, part);
    else
        put_words(b, part);
}

static void put_parts(struct hocket__buf *b, struct hocket__str parts)
{
    struct hocket__json j;
    struct hocket__neutral_part part;
    hocket__neutral_walk(&j, parts);
    while (hocket__neutral_part(&j, &part))
        if (part.text.set)
            put_text(b, "input_text", &part.text);
        else if (hocket__neutral_has_data(&part))
            put_data(b, &part);
}

/* An assistant's text is "output_text", any other "input_text": servers refuse one in place of the other. */
static void put_message(
    struct hocket__buf *b, const char *role, const char *type, const struct hocket__neutral *m)
{
    hocket__jw_open(b, '{');
    hocket__jw_key_cstring(b, "role", role);
    hocket__jw_key_open(b, "content", '[');
    if (m->parts.n > 0)
        put_parts(b, m->parts);
    else
        put_text(b, type, &m->text);
    hocket__jw_close(b, ']');
    hocket__jw_close(b, '}');
}

/* For messages of another protocol or of ours, which have no items to send back. */
static void put_calls(
    struct hocket__buf *b, const struct hocket__proto_traits *t, struct hocket__str calls)
{
    struct hocket__json j;
    struct hocket__neutral_call call;
    hocket__neutral_walk(&j, calls);
    while (hocket__neutral_call(&j, &call)) {
        put_type(b, "function_call");
        hocket__jw_key(b, "call_id");
        hocket__proto_call_id(t, &call.id, b);
        hocket__member_piece(b, "name", &call.name);
        hocket__jw_key(b, "arguments");
        hocket__arguments_write(b, &call.arguments);
        hocket__jw_close(b, '}');
    }
}

static bool fits(const struct hocket__item *item, struct hocket__buf *b)
{
    return item->kind != HOCKET__ITEM_CALL || !item->arguments.set
           || hocket__arguments_fit(&item->arguments, b);
}

static void put_item(struct hocket__buf *b, const struct hocket__item *item)
{
    if (fits(item, b)) {
        hocket__jw_raw(b, item->raw);
        return;
    }
    hocket__jw_open(b, '{');
    hocket__members_write(b, item->raw, (const char *const[]){ "arguments", NULL });
    hocket__jw_key(b, "arguments");
    hocket__arguments_write(b, &item->arguments);
    hocket__jw_close(b, '}');
}

/* The server's own items, as they came but for arguments that are no JSON object. */
static void put_items(struct hocket__buf *b, struct hocket__str items)
{
    struct hocket__json j;
    struct hocket__item item;
    hocket__neutral_walk(&j, items);
    while (hocket__json_element(&j))
        if (j.token == HOCKET__JSON_OBJECT) {
            hocket__item_read(&j, &item);
            put_item(b, &item);
        } else {
            hocket__json_pass(&j);
        }
}

/* Items that came with reasoning go back as they came, and nothing else of the message does. */
static void put_assistant(
    struct hocket__buf *b, const struct hocket__neutral *m, const struct hocket__proto_traits *t)
{
    struct hocket__str items = hocket__neutral_replay(m, hocket__proto_openai_responses.name);
    if (items.n > 2 && items.p[0] == '[') {
        put_items(b, items);
        return;
    }
    if (m->text.inside.n > 0 || m->calls.n <= 2)
        put_message(b, "assistant", "output_text", m);
    put_calls(b, t, m->calls);
}

static void put_result(
    struct hocket__buf *b, const struct hocket__neutral *m, const struct hocket__proto_traits *t)
{
    put_type(b, "function_call_output");
    hocket__jw_key(b, "call_id");
    hocket__proto_call_id(t, &m->id, b);
    hocket__member_piece(b, "output", &m->text);
    hocket__jw_close(b, '}');
}

int hocket__openai_responses_message(const struct hocket__neutral *m,
    const struct hocket__proto_traits *t, struct hocket__buf *wire, struct hocket_error *err)
{
    if (m->role == HOCKET__ROLE_ASSISTANT)
        put_assistant(wire, m, t);
    else if (m->role == HOCKET__ROLE_TOOL)
        put_result(wire, m, t);
    else if (m->role == HOCKET__ROLE_SYSTEM)
        put_message(wire, t->system_role ? t->system_role : "system", "input_text", m);
    else
        put_message(wire, "user", "input_text", m);
    return 0;
}

/* ---- Requests ---- */

typedef const struct hocket__llm_request *request;

/* A summary is asked for with the effort: without it thoughts come encrypted alone. */
static void put_reasoning(request q, struct hocket__buf *b)
{
    const char *effort = hocket__proto_reasoning_word(q);
    if (!effort || !hocket__proto_key(q, b, "reasoning"))
        return;
    hocket__jw_open(b, '{');
    hocket__jw_key_cstring(b, "effort", effort);
    if (strcmp(effort, "none") != 0) {
        hocket__jw_key_cstring(b, "summary", "auto");
    }
    hocket__jw_close(b, '}');
}

static void put_format(request q, struct hocket__buf *b)
{
    const struct hocket__proto_traits *t = hocket__proto_traits_of(q);
    if (q->schema.n == 0 || !hocket__proto_key(q, b, "text"))
        return;
    if (t->no_json_schema) {
        hocket__buf_adds(b, "{\"format\":{\"type\":\"json_object\"}}");
        return;
    }
    hocket__buf_adds(b, "{\"format\":{\"type\":\"json_schema\"");
    hocket__jw_key_cstring(b, "name", q->schema_name ? q->schema_name : "answer");
    hocket__jw_key(b, "schema");
    hocket__buf_addstr(b, q->schema);
    hocket__jw_key_bool(b, "strict", t->strict_tools);
    hocket__buf_adds(b, "}}");
}

/* `strict` must always be said here: left out it means true. */
static void put_tool(struct hocket__buf *b, const struct hocket__tool_spec *tool, bool strict)
{
    put_type(b, "function");
    hocket__member_piece(b, "name", &tool->name);
    if (tool->description.set) {
        hocket__member_piece(b, "description", &tool->description);
    }
    hocket__jw_key(b, "parameters");
    hocket__buf_addstr(b, tool->parameters.n > 0 ? tool->parameters : HOCKET__STR("null"));
    hocket__jw_key_bool(b, "strict", tool->has_strict ? tool->strict : strict);
    hocket__jw_close(b, '}');
}

static void put_tools(request q, struct hocket__buf *b)
{
    const struct hocket__proto_traits *t = hocket__proto_traits_of(q);
    struct hocket__json j;
    struct hocket__tool_spec tool;
    hocket__neutral_walk(&j, q->tools);
    bool any = hocket__tool_walk(&j, &tool);
    if (!any && q->server_tools.n <= 2)
        return;
    if (hocket__proto_key(q, b, "tools")) {
        hocket__jw_open(b, '[');
        hocket__server_tools_write(q, b);
        for (; any; any = hocket__tool_walk(&j, &tool))
            put_tool(b, &tool, t->strict_tools);
        hocket__jw_close(b, ']');
    }
    hocket__openai_choice(q, false, b);
}

/* Where the server knows no schemas, the schema is said in words. */
static void put_instructions(request q, struct hocket__buf *b)
{
    bool in_words = hocket__schema_only_in_prompt(q);
    if (!q->cache_mark && hocket__system_has(q, in_words)
        && hocket__proto_key(q, b, "instructions"))
        hocket__system_write(q, in_words, b);
}

/* Only a part of a message can have a mark: the system prompt is the first message then. */
static void put_marked_system(request q, struct hocket__buf *b)
{
    bool in_words = hocket__schema_only_in_prompt(q);
    if (!q->cache_mark || !hocket__system_has(q, in_words))
        return;
    put_type(b, "message");
    hocket__jw_key_cstring(b, "role", "developer");
    hocket__jw_key_open(b, "content", '[');
    put_type(b, "input_text");
    hocket__jw_key(b, "text");
    hocket__system_write(q, in_words, b);
    hocket__jw_key_raw(b, "prompt_cache_breakpoint", HOCKET__STR("{\"mode\":\"explicit\"}"));
    hocket__jw_close(b, '}');
    hocket__jw_close(b, ']');
    hocket__jw_close(b, '}');
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Models that have no thoughts refuse to give them sealed. */
static bool may_reason(const char *model)
{
    return !begins(model, "gpt-4") && !begins(model, "gpt-3") && !begins(model, "chatgpt-")
           && !strstr(model, "-chat");
}

/* The order is fixed, and what changes from one request to the next stands last: providers' caches
 * go by the beginning. */
int hocket__openai_responses_write(request q, struct hocket__buf *b, struct hocket_error *err)
{
    int status = hocket__proto_prepare(q, &hocket__proto_openai_responses, err);
    if (status < 0)
        return status;
    size_t from = b->len;
    hocket__jw_open(b, '{');
    if (hocket__proto_key(q, b, "model"))
        hocket__jw_cstring(b, q->model);
    if (q->stream && hocket__proto_key(q, b, "stream"))
        hocket__jw_bool(b, true);
    if (hocket__proto_key(q, b, "store"))
        hocket__jw_bool(b, false);
    if (may_reason(q->model) && hocket__proto_key(q, b, "include"))
        hocket__buf_adds(b, "[\"reasoning.encrypted_content\"]");
    hocket__openai_limits(q, "max_output_tokens", b);
    put_reasoning(q, b);
    put_format(q, b);
    put_tools(q, b);
    put_instructions(q, b);
    hocket__proto_extra(q, b, from);
    hocket__jw_key_open(b, "input", '[');
    put_marked_system(q, b);
    if (q->history->wire.len > 0)
        hocket__jw_raw(b, hocket__buf_str(&q->history->wire));
    hocket__jw_close(b, ']');
    hocket__jw_close(b, '}');
    return hocket__proto_written(b, err);
}
