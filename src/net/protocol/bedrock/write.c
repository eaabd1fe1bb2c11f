/* Bodies of Converse requests. Members come in a fixed order, the messages last. */
#include "base/bytes.h"
#include "net/protocol/bedrock/bedrock.h"

#define CACHE "{\"cachePoint\":{\"type\":\"default\"}}"

typedef const struct hocket__llm_request *request;

static bool is_claude(request q)
{
    return strstr(q->model, "anthropic.") || strstr(q->model, "claude");
}

static bool caches(request q)
{
    return is_claude(q) && !hocket__proto_says(q, "cachePoint", NULL);
}

/* ---- The model's settings ---- */

static bool thinks(request q)
{
    const char *word = hocket__proto_reasoning_word(q);
    return word && strcmp(word, "none") != 0 && is_claude(q) && !hocket__claude_forced(q);
}

static void put_config(request q, struct hocket__buf *b)
{
    size_t before = b->len;
    if (!hocket__proto_key(q, b, "inferenceConfig"))
        return;
    hocket__jw_open(b, '{');
    size_t from = b->len;
    bool thinking = thinks(q); /* beside it these are refused */
    if (q->max_tokens > 0) {
        int64_t least =
            thinking && hocket__claude_only_budgets(q->model) ? hocket__claude_budget(q) : 0;
        hocket__jw_key(b, "maxTokens"); /* it counts thinking as well */
        hocket__jw_int(b, q->max_tokens > least ? q->max_tokens : q->max_tokens + least);
    }
    if (hocket__proto_is_set(q->temperature) && !thinking) {
        hocket__jw_key(b, "temperature");
        hocket__jw_double(b, is_claude(q) && q->temperature > 1 ? 1 : q->temperature);
    }
    if (hocket__proto_is_set(q->top_p) && !thinking) {
        hocket__jw_key(b, "topP");
        hocket__jw_double(b, q->top_p);
    }
    if (q->stop.n > 0) {
        hocket__jw_key(b, "stopSequences");
        hocket__buf_addstr(b, q->stop);
    }
    if (b->len == from)
        hocket__buf_cut(b, before);
    else
        hocket__jw_close(b, '}');
}

static void put_thinking(request q, struct hocket__buf *b)
{
    if (!thinks(q) || !hocket__proto_key(q, b, "additionalModelRequestFields"))
        return;
    if (hocket__claude_only_budgets(q->model)) {
        hocket__buf_adds(b, "{\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":");
        hocket__jw_int(b, hocket__claude_budget(q));
        hocket__buf_adds(b, "}}");
        return;
    }
    hocket__buf_adds(b, "{\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{");
    hocket__member_string(b, "effort", hocket__claude_effort(q));
    hocket__buf_adds(b, "}}");
}

/* Returns whether the answer's schema is in it; it is a text there. One that says more than the servers take is said in
 * words. */
static bool put_format(request q, struct hocket__buf *b)
{
    struct hocket__buf schema;
    if (q->schema.n == 0 || hocket__schema_only_in_prompt(q))
        return false;
    hocket__buf_init(&schema, b->a, 0);
    bool fits = hocket__claude_schema(q->schema, &schema);
    if (fits && hocket__proto_key(q, b, "outputConfig")) {
        hocket__buf_adds(b,
            "{\"textFormat\":{\"type\":\"json_schema\",\"structure\":{\"jsonSchema\":{"
            "\"schema\":\"");
        hocket__jw_escape(b, hocket__buf_str(&schema));
        hocket__buf_adds(b, "\"}}}}");
    }
    if (schema.status < 0 && b->status == 0)
        b->status = schema.status;
    hocket__buf_deinit(&schema);
    return fits;
}

/* ---- What stands before the messages ---- */

static void put_system(request q, bool in_words, struct hocket__buf *b)
{
    struct hocket__neutral m;
    size_t at = 0, before = b->len;
    if (!hocket__proto_key(q, b, "system"))
        return;
    hocket__jw_open(b, '[');
    size_t from = b->len;
    if (hocket__system_has(q, in_words)) {
        hocket__buf_adds(b, "{\"text\":");
        hocket__system_write(q, in_words, b);
        hocket__buf_addc(b, '}');
    }
    while (hocket__system_next(q->history, &at, &m)) {
        hocket__jw_open(b, '{');
        hocket__member_piece(b, "text", &m.text);
        hocket__jw_close(b, '}');
    }
    if (b->len == from) {
        hocket__buf_cut(b, before);
        return;
    }
    if (caches(q))
        hocket__buf_adds(b, "," CACHE);
    hocket__jw_close(b, ']');
}

static void put_tool(struct hocket__buf *b, const struct hocket__tool_spec *tool)
{
    hocket__jw_open(b, '{');
    hocket__jw_key(b, "toolSpec");
    hocket__jw_open(b, '{');
    hocket__member_piece(b, "name", &tool->name);
    if (!hocket__piece_blank(&tool->description))
        hocket__member_piece(b, "description", &tool->description);
    hocket__buf_adds(b, ",\"inputSchema\":{\"json\":");
    bool has = tool->parameters.n > 0 && tool->parameters.p[0] == '{';
    hocket__buf_addstr(
        b, has ? tool->parameters : HOCKET__STR("{\"type\":\"object\",\"properties\":{}}"));
    hocket__buf_adds(b, "}}}");
}

static void put_choice(request q, struct hocket__buf *b)
{
    const char *c = q->tool_choice;
    if (!c || strcmp(c, "none") == 0)
        return;
    hocket__jw_key(b, "toolChoice");
    if (strcmp(c, "auto") == 0 || strcmp(c, "required") == 0) {
        hocket__buf_adds(b, *c == 'a' ? "{\"auto\":{}}" : "{\"any\":{}}");
        return;
    }
    hocket__buf_adds(b, "{\"tool\":{");
    hocket__member_string(b, "name", c);
    hocket__buf_adds(b, "}}");
}

/* A conversation that has calls is refused without tools, also where none is to be called any more. */
static void put_no_tool(request q, struct hocket__buf *b)
{
    static const struct hocket__str call = HOCKET__STR("{\"toolUse\":{\"toolUseId\":");
    struct hocket__str wire = hocket__buf_str(&q->history->wire);
    if (hocket__find(wire.p, wire.n, call.p, call.n) && hocket__proto_key(q, b, "toolConfig"))
        hocket__buf_adds(b,
            "{\"tools\":[{\"toolSpec\":{\"name\":\"none\",\"description\":\"Not to be "
            "called\",\"inputSchema\":{\"json\":{\"type\":\"object\"}}}}]}");
}

static void put_tools(request q, struct hocket__buf *b)
{
    struct hocket__json j;
    struct hocket__tool_spec tool;
    hocket__neutral_walk(&j, q->tools);
    if (q->tools.n == 0 || !hocket__tool_walk(&j, &tool)) {
        put_no_tool(q, b);
        return;
    }
    if (!hocket__proto_key(q, b, "toolConfig"))
        return;
    hocket__buf_adds(b, "{\"tools\":[");
    do
        put_tool(b, &tool);
    while (hocket__tool_walk(&j, &tool));
    if (caches(q))
        hocket__buf_adds(b, "," CACHE);
    hocket__jw_close(b, ']');
    put_choice(q, b);
    hocket__jw_close(b, '}');
}

/* ---- The messages ---- */

/* Marks stand at the end of the two last user turns, as with Anthropic's own protocol. */
static void put_messages(request q, struct hocket__buf *b)
{
    struct hocket__str wire = hocket__buf_str(&q->history->wire);
    size_t at[2], from = 0;
    int n = hocket__user_turns(wire, HOCKET__BEDROCK_TAIL, at);
    if (!caches(q) || (n < 2 && q->tools.n <= 2))
        n = 0;
    hocket__jw_key(b, "messages");
    hocket__buf_addc(b, '[');
    while (n-- > 0) {
        hocket__buf_add(b, wire.p + from, at[n] + 1 - from);
        hocket__buf_adds(b, "," CACHE);
        from = at[n] + 1;
    }
    hocket__buf_add(b, wire.p + from, wire.n - from);
    hocket__buf_addc(b, ']');
}

int hocket__bedrock_write(request q, struct hocket__buf *b, struct hocket_error *err)
{
    int status = hocket__proto_prepare(q, &hocket__proto_bedrock, err);
    if (status < 0)
        return status;
    size_t from = b->len;
    hocket__jw_open(b, '{');
    put_config(q, b);
    put_thinking(q, b);
    bool formatted = put_format(q, b);
    put_tools(q, b);
    put_system(q, q->schema.n > 0 && !formatted, b);
    hocket__proto_extra(q, b, from);
    put_messages(q, b);
    hocket__jw_close(b, '}');
    return hocket__proto_written(b, err);
}
