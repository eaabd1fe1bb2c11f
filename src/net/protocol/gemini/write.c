/* Bodies of Gemini requests. Members come in a fixed order, the contents last. */
#include "net/protocol/gemini/gemini.h"

#define LEAST_PRO 128 /* tokens: the larger models cannot be kept from thinking */

typedef const struct hocket__llm_request *request;

/* ---- generationConfig ---- */

static bool key(struct hocket__buf *b, const char *name)
{
    hocket__jw_key(b, name);
    return true;
}

static int64_t budget_of(request q)
{
    static const struct {
        const char *word;
        int64_t tokens;
    } map[] = { { "none", 0 }, { "minimal", 512 }, { "low", 4096 }, { "medium", 12288 } };
    int64_t tokens = hocket__proto_reasoning_tokens(q);
    for (size_t i = 0; tokens < 0 && i < sizeof(map) / sizeof(map[0]); i++)
        if (strcmp(q->reasoning, map[i].word) == 0)
            tokens = map[i].tokens;
    if (tokens >= 0 && tokens < LEAST_PRO && strstr(q->model, "pro"))
        return LEAST_PRO;
    return tokens < 0 ? 24576 : tokens;
}

/* Gemini 3 cannot be kept from thinking; its larger models know no "minimal". */
static const char *level_of(request q)
{
    const char *word = hocket__proto_reasoning_word(q);
    bool least = strcmp(word, "none") == 0 || strcmp(word, "minimal") == 0;
    return !least ? word : strstr(q->model, "pro") ? "low" : "minimal";
}

static void put_thinking(request q, struct hocket__buf *b)
{
    const char *word = hocket__proto_reasoning_word(q);
    if (!word || !key(b, "thinkingConfig"))
        return;
    hocket__jw_open(b, '{');
    hocket__jw_key_bool(b, "includeThoughts", strcmp(word, "none") != 0);
    if (strstr(q->model, "gemini-2") || hocket__proto_reasoning_tokens(q) > 0) {
        hocket__jw_key_int(b, "thinkingBudget", budget_of(q));
    } else {
        hocket__jw_key_cstring(b, "thinkingLevel", level_of(q));
    }
    hocket__jw_close(b, '}');
}

static bool has_any(request q)
{
    return hocket__tool_any(q) || q->server_tools.n > 2;
}

/* Models before 3 refuse requests that have tools and want JSON. */
static bool wants_plain_text(request q)
{
    bool old = strstr(q->model, "gemini-2") || strstr(q->model, "gemini-1");
    return q->schema.n > 0 && old && has_any(q);
}

static void put_format(request q, struct hocket__buf *b)
{
    if (q->schema.n == 0 || wants_plain_text(q))
        return;
    if (key(b, "responseMimeType"))
        hocket__jw_cstring(b, "application/json");
    if (!hocket__proto_traits_of(q)->no_json_schema && key(b, "responseJsonSchema"))
        hocket__buf_addstr(b, q->schema);
}

static void put_limits(request q, struct hocket__buf *b)
{
    const struct hocket__proto_traits *t = hocket__proto_traits_of(q);
    if (hocket__proto_is_set(q->temperature) && key(b, "temperature"))
        hocket__jw_double(b, q->temperature);
    if (hocket__proto_is_set(q->top_p) && key(b, "topP"))
        hocket__jw_double(b, q->top_p);
    if (q->top_k >= 0 && key(b, "topK"))
        hocket__jw_int(b, q->top_k);
    if (q->max_tokens >= 0 && key(b, t->max_tokens_field ? t->max_tokens_field : "maxOutputTokens"))
        hocket__jw_int(b, q->max_tokens);
    if (q->stop.n > 0 && key(b, "stopSequences"))
        hocket__buf_addstr(b, q->stop);
    if (q->seed >= 0 && !t->no_seed && key(b, "seed"))
        hocket__jw_int(b, q->seed);
}

/* What a person adds to it is merged in later. */
static void put_config(request q, struct hocket__buf *b)
{
    size_t before = b->len;
    if (!hocket__proto_key(q, b, "generationConfig"))
        return;
    hocket__jw_open(b, '{');
    put_limits(q, b);
    put_format(q, b);
    put_thinking(q, b);
    hocket__member_close(b, before, "}");
}

/* ---- Tools and the system's text ---- */

static void put_declaration(struct hocket__buf *b, const struct hocket__tool_spec *tool)
{
    hocket__jw_open(b, '{');
    hocket__member_piece(b, "name", &tool->name);
    if (tool->description.set)
        hocket__member_piece(b, "description", &tool->description);
    if (tool->parameters.n > 0 && tool->parameters.p[0] == '{') {
        hocket__jw_key(b, "parametersJsonSchema");
        hocket__buf_addstr(b, tool->parameters);
    }
    hocket__jw_close(b, '}');
}

static void put_choice(request q, struct hocket__buf *b)
{
    const char *c = q->tool_choice;
    if (!c || !hocket__proto_key(q, b, "toolConfig"))
        return;
    const char *mode = strcmp(c, "auto") == 0 ? "AUTO" : strcmp(c, "none") == 0 ? "NONE" : "ANY";
    hocket__buf_adds(b, "{\"functionCallingConfig\":{");
    hocket__jw_key_cstring(b, "mode", mode);
    if (strcmp(mode, "ANY") == 0 && strcmp(c, "required") != 0) {
        hocket__jw_key_open(b, "allowedFunctionNames", '[');
        hocket__jw_cstring(b, c);
        hocket__jw_close(b, ']');
    }
    hocket__buf_adds(b, "}}");
}

static void put_tools(request q, struct hocket__buf *b)
{
    struct hocket__json j;
    struct hocket__tool_spec tool;
    if (!has_any(q))
        return;
    hocket__neutral_walk(&j, q->tools);
    if (hocket__proto_key(q, b, "tools")) {
        hocket__jw_open(b, '[');
        if (hocket__tool_any(q)) {
            hocket__buf_adds(b, "{\"functionDeclarations\":[");
            while (hocket__tool_walk(&j, &tool))
                put_declaration(b, &tool);
            hocket__buf_adds(b, "]}");
        }
        hocket__server_tools_write(q, b);
        hocket__jw_close(b, ']');
    }
    if (hocket__tool_any(q))
        put_choice(q, b);
}

static void put_system(request q, struct hocket__buf *b)
{
    size_t before = b->len;
    if (!hocket__proto_key(q, b, "systemInstruction"))
        return;
    hocket__buf_adds(b, "{\"parts\":[");
    bool in_words = hocket__schema_only_in_prompt(q) || wants_plain_text(q);
    hocket__system_blocks(q, in_words, false, b);
    hocket__member_close(b, before, "]}");
}

/* ---- The body ---- */

int hocket__gemini_write(request q, struct hocket__buf *b, struct hocket_error *err)
{
    int status = hocket__proto_prepare(q, &hocket__proto_gemini, err);
    if (status < 0)
        return status;
    size_t from = b->len;
    hocket__jw_open(b, '{');
    put_system(q, b);
    put_tools(q, b);
    put_config(q, b);
    hocket__proto_extra(q, b, from);
    hocket__jw_key_open(b, "contents", '[');
    hocket__buf_addstr(b, hocket__buf_str(&q->history->wire));
    hocket__jw_close(b, ']');
    hocket__jw_close(b, '}');
    return hocket__proto_written(b, err);
}
