/* Ollama's messages and bodies. Members come in a fixed order, the messages last.
 *
 * Options of the model stand in an object of their own there; `extra` may add to it without taking
 * it over. */
#include "net/protocol/ollama/ollama.h"

typedef const struct hocket__llm_request *request;

/* ---- Messages ---- */

/* All texts of a message as one string, an image's address among them. */
static void put_content(struct hocket__buf *b, const struct hocket__neutral *m)
{
    struct hocket__json j;
    struct hocket__neutral_part part;
    struct hocket__image image;
    hocket__jw_key(b, "content");
    hocket__buf_addc(b, '"');
    size_t from = b->len;
    hocket__buf_addstr(b, m->text.inside);
    hocket__neutral_walk(&j, m->parts);
    while (hocket__neutral_part(&j, &part)) {
        /* Ollama fetches nothing: an address can only be told to the model. */
        bool address = hocket__image_of(&part, &image) && image.url.n > 0;
        bool other = part.kind > HOCKET__PART_IMAGE;
        if (part.text.inside.n == 0 && !address && !other)
            continue;
        hocket__buf_adds(b, b->len > from ? "\\n" : "");
        hocket__buf_addstr(b, part.text.inside);
        if (other)
            hocket__neutral_describe(&part, b);
        if (address) {
            hocket__buf_adds(b, "[image: ");
            hocket__buf_addstr(b, image.url);
            hocket__buf_addc(b, ']');
        }
    }
    hocket__buf_addc(b, '"');
}

static void put_images(struct hocket__buf *b, struct hocket__str parts)
{
    struct hocket__json j;
    struct hocket__neutral_part part;
    struct hocket__image image;
    bool some = false;
    hocket__neutral_walk(&j, parts);
    while (hocket__neutral_part(&j, &part)) {
        if (part.kind != HOCKET__PART_IMAGE || !hocket__image_of(&part, &image)
            || image.data.n == 0)
            continue;
        hocket__buf_adds(b, some ? ",\"" : ",\"images\":[\"");
        hocket__buf_addstr(b, image.data);
        hocket__buf_addc(b, '"');
        some = true;
    }
    if (some)
        hocket__buf_addc(b, ']');
}

static void put_calls(struct hocket__buf *b, struct hocket__str calls)
{
    struct hocket__json j;
    struct hocket__neutral_call call;
    hocket__jw_key(b, "tool_calls");
    hocket__jw_open(b, '[');
    hocket__neutral_walk(&j, calls);
    while (hocket__neutral_call(&j, &call)) {
        hocket__jw_open(b, '{');
        hocket__member_piece(b, "id", &call.id);
        hocket__jw_key(b, "function");
        hocket__jw_open(b, '{');
        hocket__member_piece(b, "name", &call.name);
        hocket__jw_key(b, "arguments");
        hocket__object_write(b, &call.arguments);
        hocket__buf_adds(b, "}}");
    }
    hocket__jw_close(b, ']');
}

static void put_rest(
    struct hocket__buf *b, const struct hocket__neutral *m, const struct hocket__proto_traits *t)
{
    /* more than "[]" */
    bool has_calls = m->calls.n > 2;
    if (m->role == HOCKET__ROLE_TOOL) {
        if (m->name.inside.n > 0)
            hocket__member_piece(b, "tool_name", &m->name);
        hocket__member_piece(b, "tool_call_id", &m->id);
    }
    if (m->role != HOCKET__ROLE_ASSISTANT)
        return;
    if (m->reasoning.inside.n > 0 && (has_calls || t->reasoning_back))
        hocket__member_piece(b, "thinking", &m->reasoning);
    if (has_calls)
        put_calls(b, m->calls);
}

int hocket__ollama_message(const struct hocket__neutral *m, const struct hocket__proto_traits *t,
    struct hocket__buf *wire, struct hocket_error *err)
{
    static const char *const words[] = { "user", "system", "user", "assistant", "tool" };
    if (hocket__neutral_blank(m))
        return 0;
    hocket__jw_open(wire, '{');
    hocket__member_string(wire, "role",
        m->role == HOCKET__ROLE_SYSTEM && t->system_role ? t->system_role : words[m->role]);
    put_content(wire, m);
    put_images(wire, m->parts);
    put_rest(wire, m, t);
    hocket__jw_close(wire, '}');
    return hocket__proto_written(wire, err);
}

/* ---- Requests ---- */

static bool key(struct hocket__buf *b, const char *name)
{
    hocket__jw_key(b, name);
    return true;
}

static void put_sampling(request q, struct hocket__buf *b)
{
    const struct hocket__proto_traits *t = hocket__proto_traits_of(q);
    if (hocket__proto_is_set(q->temperature) && key(b, "temperature"))
        hocket__jw_double(b, q->temperature);
    if (hocket__proto_is_set(q->top_p) && key(b, "top_p"))
        hocket__jw_double(b, q->top_p);
    if (q->top_k >= 0 && key(b, "top_k"))
        hocket__jw_int(b, q->top_k);
    if (q->seed >= 0 && !t->no_seed && key(b, "seed"))
        hocket__jw_int(b, q->seed);
    if (q->max_tokens >= 0 && key(b, t->max_tokens_field ? t->max_tokens_field : "num_predict"))
        hocket__jw_int(b, q->max_tokens);
    if (q->stop.n > 0 && key(b, "stop"))
        hocket__buf_addstr(b, q->stop);
}

/* What a person adds to them is merged in later. */
static void put_options(request q, struct hocket__buf *b)
{
    size_t before = b->len;
    if (!hocket__proto_key(q, b, "options"))
        return;
    hocket__jw_open(b, '{');
    size_t from = b->len;
    put_sampling(q, b);
    if (b->len == from)
        hocket__buf_cut(b, before);
    else
        hocket__jw_close(b, '}');
}

static void put_think(request q, struct hocket__buf *b)
{
    const char *word = hocket__proto_reasoning_word(q);
    if (!word || !hocket__proto_key(q, b, "think"))
        return;
    /* the one family that takes a word here and cannot think nothing at all; others take a
     * boolean, and some refuse a word */
    if (strstr(q->model, "gpt-oss"))
        hocket__jw_cstring(
            b, strcmp(word, "none") == 0 || strcmp(word, "minimal") == 0 ? "low" : word);
    else
        hocket__jw_bool(b, strcmp(word, "none") != 0);
}

/* There is no tool_choice: a choice is made by leaving the other tools out, and "required"
 * cannot be said. */
static bool is_wanted(request q, const struct hocket__tool_spec *tool)
{
    const char *c = q->tool_choice;
    return !c || strcmp(c, "auto") == 0 || strcmp(c, "required") == 0
           || hocket__piece_is(&tool->name, c);
}

static void put_tool(struct hocket__buf *b, const struct hocket__tool_spec *tool)
{
    hocket__jw_open(b, '{');
    hocket__member_string(b, "type", "function");
    hocket__jw_key(b, "function");
    hocket__jw_open(b, '{');
    hocket__member_piece(b, "name", &tool->name);
    if (tool->description.set)
        hocket__member_piece(b, "description", &tool->description);
    hocket__jw_key(b, "parameters");
    if (tool->parameters.n > 0 && tool->parameters.p[0] == '{')
        hocket__buf_addstr(b, tool->parameters);
    else
        hocket__buf_adds(b, "{\"type\":\"object\",\"properties\":{}}");
    hocket__buf_adds(b, "}}");
}

static void put_tools(request q, struct hocket__buf *b)
{
    struct hocket__json j;
    struct hocket__tool_spec tool;
    size_t before = b->len;
    if (q->tools.n == 0 || (q->tool_choice && strcmp(q->tool_choice, "none") == 0)
        || !hocket__proto_key(q, b, "tools"))
        return;
    hocket__jw_open(b, '[');
    size_t from = b->len;
    hocket__neutral_walk(&j, q->tools);
    while (hocket__tool_walk(&j, &tool))
        if (is_wanted(q, &tool))
            put_tool(b, &tool);
    if (b->len == from)
        hocket__buf_cut(b, before);
    else
        hocket__jw_close(b, ']');
}

static void put_head(request q, struct hocket__buf *b)
{
    if (hocket__proto_key(q, b, "model"))
        hocket__jw_cstring(b, q->model);
    if (hocket__proto_key(q, b, "stream"))
        hocket__jw_bool(b, q->stream);
    put_think(q, b);
    if (q->schema.n > 0 && hocket__proto_key(q, b, "format"))
        hocket__jw_raw(
            b, hocket__proto_traits_of(q)->no_json_schema ? HOCKET__STR("\"json\"") : q->schema);
    put_tools(q, b);
    put_options(q, b);
}

static void put_system(request q, struct hocket__buf *b)
{
    const char *role = hocket__proto_traits_of(q)->system_role;
    bool in_words = hocket__schema_only_in_prompt(q);
    if (!hocket__system_has(q, in_words))
        return;
    hocket__jw_open(b, '{');
    hocket__member_string(b, "role", role ? role : "system");
    hocket__jw_key(b, "content");
    hocket__system_write(q, in_words, b);
    hocket__jw_close(b, '}');
}

int hocket__ollama_write(request q, struct hocket__buf *b, struct hocket_error *err)
{
    int status = hocket__proto_prepare(q, &hocket__proto_ollama, err);
    if (status < 0)
        return status;
    size_t from = b->len;
    hocket__jw_open(b, '{');
    put_head(q, b);
    hocket__proto_extra(q, b, from);
    hocket__jw_key(b, "messages");
    hocket__jw_open(b, '[');
    put_system(q, b);
    if (q->history->wire.len > 0)
        hocket__jw_raw(b, hocket__buf_str(&q->history->wire));
    hocket__jw_close(b, ']');
    hocket__jw_close(b, '}');
    return hocket__proto_written(b, err);
}
