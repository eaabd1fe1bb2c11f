/* Bodies of Anthropic requests. Members come in a fixed order, the messages last.
 *
 * What a model cannot take (budgets for thinking, effort, schemas) is known by its name's beginning
 * and by traits, and is left out or written in another way instead of sent and refused. */
#include "net/protocol/anthropic/anthropic.h"

#include <math.h>

#include "net/protocol/claude/claude.h"

#define MAX_TOKENS 8192
#define CACHE      "\"cache_control\":{\"type\":\"ephemeral\"}"

typedef const struct hocket__llm_request *request;

/* ---- Thinking ---- */

enum thinking { THINKING_UNSET, THINKING_OFF, THINKING_BUDGET, THINKING_EFFORT };

/* Whether the calls whose results go out were made without thinking: by another provider's model,
 * or before it was asked for. */
static bool works_on_plain_calls(request q)
{
    struct hocket__str wire = hocket__buf_str(&q->history->wire);
    struct hocket__str last = hocket__turn_before(wire, wire.n);
    size_t from = (size_t) (last.p - wire.p);
    if (from == 0 || !hocket__str_begins(last, "{\"content\":[{\"type\":\"tool_result\""))
        return false;
    struct hocket__str answer = hocket__turn_before(wire, from - 1);
    return !hocket__str_begins(answer, "{\"content\":[{\"type\":\"thinking\"")
           && !hocket__str_begins(answer, "{\"content\":[{\"type\":\"redacted_thinking\"");
}

/* Where thinking would be refused, it is left out: together with a forced call and, with a budget,
 * after an answer that did not begin with it. */
static enum thinking thinking_of(request q)
{
    const char *word = hocket__proto_reasoning_word(q);
    if (!word || hocket__claude_forced(q))
        return THINKING_UNSET;
    if (strcmp(word, "none") == 0)
        return THINKING_OFF;
    if (!hocket__claude_only_budgets(q->model))
        return THINKING_EFFORT;
    return works_on_plain_calls(q) ? THINKING_UNSET : THINKING_BUDGET;
}

static void put_thinking(request q, enum thinking thinking, struct hocket__buf *b)
{
    if (thinking == THINKING_UNSET || !hocket__proto_key(q, b, "thinking"))
        return;
    if (thinking == THINKING_BUDGET) {
        hocket__jw_open(b, '{');
        hocket__jw_key_cstring(b, "type", "enabled");
        hocket__jw_key_int(b, "budget_tokens", hocket__claude_budget(q));
        hocket__jw_close(b, '}');
    } else {
        hocket__buf_adds(
            b, thinking == THINKING_OFF ? "{\"type\":\"disabled\"}" : "{\"type\":\"adaptive\"}");
    }
}

/* ---- Limits and the answer's form ---- */

static void put_max_tokens(request q, enum thinking thinking, struct hocket__buf *b)
{
    const struct hocket__proto_traits *t = hocket__proto_traits_of(q);
    int64_t n = q->max_tokens > 0 ? q->max_tokens : MAX_TOKENS;
    if (thinking == THINKING_BUDGET)
        n = hocket__claude_max_tokens(q, n);
    if (hocket__proto_key(q, b, t->max_tokens_field ? t->max_tokens_field : "max_tokens"))
        hocket__jw_int(b, n);
}

static void put_sampling(request q, enum thinking thinking, struct hocket__buf *b)
{
    /* beside thinking the server refuses temperature, top_k, and a top_p below 0.95 */
    bool thinks = thinking == THINKING_BUDGET || thinking == THINKING_EFFORT;
    if (!thinks && hocket__proto_is_set(q->temperature) && hocket__proto_key(q, b, "temperature"))
        hocket__jw_double(b, q->temperature > 1 ? 1 : q->temperature); /* 0 to 1 here */
    if (!thinks && q->top_k >= 0 && hocket__proto_key(q, b, "top_k"))
        hocket__jw_int(b, q->top_k);
    if (hocket__proto_is_set(q->top_p) && (!thinks || q->top_p >= 0.95)
        && hocket__proto_key(q, b, "top_p"))
        hocket__jw_double(b, q->top_p);
    if (q->stop.n > 0 && hocket__proto_key(q, b, "stop_sequences"))
        hocket__buf_addstr(b, q->stop);
    if (q->stream && hocket__proto_key(q, b, "stream"))
        hocket__jw_bool(b, true);
}

/* Claude 3 and 4.0 do not. */
static bool knows_schemas(const char *model)
{
    static const char *const old[] = { "claude-3", "-4-0", "-4-2", "-4@2" };
    size_t n = strlen(model);
    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++)
        if (strstr(model, old[i]))
            return false;
    return n < 2 || strcmp(model + n - 2, "-4") != 0;
}

/* `,"format":{…}` with the answer's schema; false, and nothing, where it has to be said in words. */
static bool put_format(request q, struct hocket__buf *b)
{
    size_t from = b->len;
    if (q->schema.n == 0 || hocket__schema_only_in_prompt(q) || !knows_schemas(q->model))
        return false;
    hocket__jw_key_open(b, "format", '{');
    hocket__jw_key_cstring(b, "type", "json_schema");
    hocket__jw_key(b, "schema");
    bool fits = hocket__claude_schema(q->schema, b);
    if (fits)
        hocket__jw_close(b, '}');
    else
        hocket__buf_cut(b, from);
    return fits;
}

/* Returns whether the answer's schema is in it. */
static bool put_output(request q, enum thinking thinking, struct hocket__buf *b)
{
    size_t before = b->len;
    if (!hocket__proto_key(q, b, "output_config"))
        return true;
    hocket__jw_open(b, '{');
    if (thinking == THINKING_EFFORT)
        hocket__jw_key_cstring(b, "effort", hocket__claude_effort(q));
    bool formatted = put_format(q, b);
    hocket__member_close(b, before, "}");
    return formatted;
}

/* ---- What stands before the messages ---- */

static bool caches(request q)
{
    return !hocket__proto_says(q, "cache_control", NULL);
}

/* Marks the object that was closed last. */
static void mark(request q, struct hocket__buf *b)
{
    if (!caches(q) || b->len == 0 || b->data[b->len - 1] != '}')
        return;
    hocket__buf_cut(b, b->len - 1);
    hocket__buf_adds(b, "," CACHE "}");
}

static void put_system(request q, bool in_words, struct hocket__buf *b)
{
    size_t before = b->len;
    if (!hocket__proto_key(q, b, "system"))
        return;
    hocket__jw_open(b, '[');
    hocket__system_blocks(q, in_words, true, b);
    mark(q, b);
    hocket__member_close(b, before, "]");
}

static void put_tool(struct hocket__buf *b, const struct hocket__tool_spec *tool, bool strict)
{
    hocket__jw_open(b, '{');
    hocket__member_piece(b, "name", &tool->name);
    if (tool->description.set)
        hocket__member_piece(b, "description", &tool->description);
    hocket__jw_key(b, "input_schema");
    hocket__tool_parameters(b, tool);
    if (strict)
        hocket__jw_key_bool(b, "strict", true);
    hocket__jw_close(b, '}');
}

static void put_choice(request q, struct hocket__buf *b)
{
    const char *c = q->tool_choice;
    if ((!c && !q->no_parallel_calls) || !hocket__proto_key(q, b, "tool_choice"))
        return;
    bool named =
        c && strcmp(c, "auto") != 0 && strcmp(c, "none") != 0 && strcmp(c, "required") != 0;
    hocket__jw_open(b, '{');
    hocket__jw_key_cstring(b, "type",
        !c                           ? "auto"
        : named                      ? "tool"
        : strcmp(c, "required") == 0 ? "any"
                                     : c);
    if (named)
        hocket__jw_key_cstring(b, "name", c);
    if (q->no_parallel_calls && (!c || strcmp(c, "none") != 0))
        hocket__jw_key_bool(b, "disable_parallel_tool_use", true);
    hocket__jw_close(b, '}');
}

static bool has_tools(request q)
{
    return q->server_tools.n > 2 || hocket__tool_any(q);
}

static void put_tools(request q, struct hocket__buf *b)
{
    struct hocket__json j;
    struct hocket__tool_spec tool;
    bool all_strict = hocket__proto_traits_of(q)->strict_tools;
    if (!has_tools(q))
        return;
    if (hocket__proto_key(q, b, "tools")) {
        hocket__jw_open(b, '[');
        hocket__server_tools_write(q, b);
        hocket__neutral_walk(&j, q->tools);
        while (hocket__tool_walk(&j, &tool))
            put_tool(b, &tool, tool.has_strict ? tool.strict : all_strict);
        mark(q, b);
        hocket__jw_close(b, ']');
    }
    put_choice(q, b);
}

/* ---- The messages ---- */

/* A single question without tools will not be asked again: keeping it would cost more
 * than it saves. */
static bool goes_on(request q, int user_turns)
{
    return user_turns > 1 || has_tools(q);
}

static void put_messages(request q, struct hocket__buf *b)
{
    struct hocket__str wire = hocket__buf_str(&q->history->wire);
    size_t at[2];
    /* Two marks: at the later one this call's prefix is kept for the next, at the earlier one
     * the last call has kept its own. */
    int n = hocket__user_turns(wire, HOCKET__ANTHROPIC_TAIL, at);
    if (!caches(q) || !goes_on(q, n))
        n = 0;
    hocket__marked_messages(b, wire, at, n, "," CACHE);
}

int hocket__anthropic_write(request q, struct hocket__buf *b, struct hocket_error *err)
{
    int status = hocket__proto_prepare(q, &hocket__proto_anthropic, err);
    if (status < 0)
        return status;
    enum thinking thinking = thinking_of(q);
    size_t from = b->len;
    hocket__jw_open(b, '{');
    if (hocket__proto_traits_of(q)->vertex)
        hocket__jw_key_cstring(b, "anthropic_version", "vertex-2023-10-16");
    else if (hocket__proto_key(q, b, "model"))
        hocket__jw_cstring(b, q->model);
    put_max_tokens(q, thinking, b);
    put_sampling(q, thinking, b);
    put_thinking(q, thinking, b);
    bool formatted = put_output(q, thinking, b);
    put_tools(q, b);
    put_system(q, q->schema.n > 0 && !formatted, b);
    hocket__proto_extra(q, b, from);
    put_messages(q, b);
    hocket__jw_close(b, '}');
    return hocket__proto_written(b, err);
}
