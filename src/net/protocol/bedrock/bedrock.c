/* Amazon Bedrock's Converse: POST /model/M/converse and /converse-stream, one form for the models of all makers.
 *
 * Decided here, where the protocol leaves a choice:
 * - A stream is complete with messageStop, but we wait for the metadata (the counts) that follows.
 * - Tools stay in the request when none may be called. If there are no tools, a placeholder that must not be called
 *   stands there, since the server refuses messages with calls but without tools.
 * - Reasoning has a form for Claude alone, in the members that go to the model as they are.
 * - Its thoughts go back with their signatures, in front of the text and the calls of their turn.
 * - Prompt caching is asked for with Claude, at the places where anthropic.h has it. `body: {cachePoint: null}`
 *   switches it off.
 * - Without an answer's schema in the model's reach (`json_schema: false`) it is said in words. */
#include "base/bytes.h"
#include "net/protocol/blocks.h"
#include "net/protocol/claude/claude.h"
#include "net/protocol/finish.h"

#define HOCKET__BEDROCK_TAIL "],\"role\":\"user\"}"

/* Neutral messages as Converse's turns of blocks, each block an object with one key. */

#define HEAD           "{\"content\":["
#define TAIL_ASSISTANT "],\"role\":\"assistant\"}"

/* "image/png" -> png, "application/pdf" -> pdf */
static struct hocket__str format_of(struct hocket__str mime)
{
    const char *slash = hocket__find_last(mime.p, '/', mime.n);
    return slash ? hocket__str(slash + 1, (size_t) (mime.p + mime.n - slash - 1)) : mime;
}

/* Letters, digits, single blanks, - ( ) [ ] are taken in names, and a name is needed. */
static void put_name(struct hocket__buf *b, const struct hocket__piece *name)
{
    hocket__jw_key(b, "name");
    hocket__buf_addc(b, '"');
    size_t from = b->len;
    for (size_t i = 0; i < name->inside.n && b->len - from < 100; i++) {
        char c = name->inside.p[i];
        bool fits =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '(';
        hocket__buf_addc(b, fits || c == ')' || c == '[' || c == ']' ? c : '-');
    }
    hocket__buf_adds(b, b->len == from ? "document\"" : "\"");
}

/* An address has no form here, nor has a recording. */
static bool put_data(struct hocket__buf *b, const struct hocket__neutral_part *part,
    const struct hocket__image *image)
{
    if (part->kind == HOCKET__PART_AUDIO || image->data.n == 0)
        return false;
    bool is_image = part->kind == HOCKET__PART_IMAGE;
    hocket__jw_open(b, '{');
    hocket__jw_key_open(b, is_image ? "image" : "document", '{');
    hocket__member_raw(b, "format", format_of(image->mime));
    if (!is_image)
        put_name(b, &part->name);
    hocket__jw_key_open(b, "source", '{');
    hocket__member_raw(b, "bytes", image->data);
    hocket__buf_adds(b, "}}}");
    return true;
}

static void put_id(struct hocket__buf *b, const struct hocket__piece *id)
{
    hocket__jw_key(b, "toolUseId");
    hocket__id_write(b, id);
}

static void put_result(struct hocket__buf *b, const struct hocket__neutral *m)
{
    static const struct hocket__piece nothing = { { "(nothing)", 9 }, false, true };
    hocket__buf_adds(b, hocket__buf_ends(b, "[") ? "" : ",");
    hocket__buf_adds(b, "{\"toolResult\":{");
    put_id(b, &m->id);
    hocket__jw_key_open(b, "content", '[');
    hocket__text_block(b, hocket__piece_blank(&m->text) ? &nothing : &m->text, false);
    hocket__jw_close(b, ']');
    if (m->error)
        hocket__jw_key_cstring(b, "status", "error");
    hocket__buf_adds(b, "}}");
}

static void put_calls(struct hocket__buf *b, struct hocket__str calls)
{
    struct hocket__json j;
    struct hocket__neutral_call call;
    hocket__neutral_walk(&j, calls);
    while (hocket__neutral_call(&j, &call)) {
        hocket__buf_adds(b, hocket__buf_ends(b, "[") ? "" : ",");
        hocket__buf_adds(b, "{\"toolUse\":{");
        put_id(b, &call.id);
        hocket__member_piece(b, "name", &call.name);
        hocket__jw_key(b, "input");
        hocket__object_write(b, &call.arguments);
        hocket__buf_adds(b, "}}");
    }
}

static int bedrock_message(const struct hocket__neutral *m, const struct hocket__proto_traits *t,
    struct hocket__buf *wire, struct hocket_error *err)
{
    struct hocket__turn turn;
    (void) t;
    if (hocket__neutral_blank(m) || (m->role == HOCKET__ROLE_SYSTEM && wire->len == 0))
        return 0; /* the latter goes into `system` */
    bool is_answer = m->role == HOCKET__ROLE_ASSISTANT;
    hocket__turn_open(&turn, wire, HEAD, is_answer ? TAIL_ASSISTANT : HOCKET__BEDROCK_TAIL, true);
    if (is_answer)
        hocket__replay_blocks(wire, hocket__neutral_replay(m, hocket__proto_bedrock.name));
    if (m->role == HOCKET__ROLE_TOOL)
        put_result(wire, m);
    else
        hocket__text_block(wire, &m->text, false);
    hocket__part_blocks(wire, m->parts, false, put_data);
    put_calls(wire, m->calls);
    return hocket__turn_close(&turn, err);
}

/* Bodies of Converse requests. Members come in a fixed order, the messages last. */

/* Without the brace that ends it. */
#define CACHE "{\"cachePoint\":{\"type\":\"default\"}"

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
    bool thinking = thinks(q); /* beside it these are refused */
    if (q->max_tokens > 0) {
        bool budgeted = thinking && hocket__claude_only_budgets(q->model);
        hocket__jw_key_int(
            b, "maxTokens", budgeted ? hocket__claude_max_tokens(q, q->max_tokens) : q->max_tokens);
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
    hocket__member_close(b, before, "}");
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
    hocket__jw_key_cstring(b, "effort", hocket__claude_effort(q));
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
    size_t before = b->len;
    if (!hocket__proto_key(q, b, "system"))
        return;
    hocket__jw_open(b, '[');
    hocket__system_blocks(q, in_words, false, b);
    if (caches(q) && hocket__buf_ends(b, "}"))
        hocket__buf_adds(b, "," CACHE "}");
    hocket__member_close(b, before, "]");
}

static void put_tool(struct hocket__buf *b, const struct hocket__tool_spec *tool)
{
    hocket__jw_open(b, '{');
    hocket__jw_key_open(b, "toolSpec", '{');
    hocket__member_piece(b, "name", &tool->name);
    if (!hocket__piece_blank(&tool->description))
        hocket__member_piece(b, "description", &tool->description);
    hocket__buf_adds(b, ",\"inputSchema\":{\"json\":");
    hocket__tool_parameters(b, tool);
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
    hocket__jw_key_cstring(b, "name", c);
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
    if (!hocket__tool_walk(&j, &tool)) {
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
        hocket__buf_adds(b, "," CACHE "}");
    hocket__jw_close(b, ']');
    put_choice(q, b);
    hocket__jw_close(b, '}');
}

/* ---- The messages ---- */

/* Marks stand at the end of the two last user turns, as with Anthropic's own protocol: the brace behind a mark is that of
 * the block before it. */
static void put_messages(request q, struct hocket__buf *b)
{
    struct hocket__str wire = hocket__buf_str(&q->history->wire);
    size_t at[2];
    int n = hocket__user_turns(wire, HOCKET__BEDROCK_TAIL, at);
    if (!caches(q) || (n < 2 && q->tools.n <= 2))
        n = 0;
    hocket__marked_messages(b, wire, at, n, "}," CACHE);
}

static int bedrock_write(request q, struct hocket__buf *b, struct hocket_error *err)
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

/* Reads Converse's answers: events of a stream, and whole messages.
 *
 * In a stream only a call begins with contentBlockStart; other blocks begin with their first delta. r->state
 * gathers thoughts as the blocks that go back, r->scratch has the text of the open block. */

/* r->flags */
enum { THINKS = 1 };

struct event {
    int64_t index;
    struct hocket__piece stop_reason, call_id, call_name, text, call_input, thought, signature,
        redacted;
    struct hocket__str usage, output, input; /* JSON, or empty */
    bool is_call;
};

/* ---- Members ---- */

static void read_call(struct hocket__json *j, struct event *e)
{
    if (!hocket__json_want(j, HOCKET__JSON_OBJECT))
        return;
    e->is_call = true;
    while (hocket__json_key(j)) {
        if (hocket__json_is(j, "toolUseId"))
            hocket__piece_read(j, &e->call_id);
        else if (hocket__json_is(j, "name"))
            hocket__piece_read(j, &e->call_name);
        else if (hocket__json_is(j, "input")) {
            e->input = hocket__json_value(j);
            if (j->token == HOCKET__JSON_STRING)
                e->call_input = hocket__piece_of(j);
        }
    }
}

/* Of a stream the members stand in it, of a whole message in its reasoningText. */
static void read_thought(struct hocket__json *j, struct event *e)
{
    if (!hocket__json_want(j, HOCKET__JSON_OBJECT))
        return;
    while (hocket__json_key(j)) {
        if (hocket__json_is(j, "text"))
            hocket__piece_read(j, &e->thought);
        else if (hocket__json_is(j, "signature"))
            hocket__piece_read(j, &e->signature);
        else if (hocket__json_is(j, "redactedContent"))
            hocket__piece_read(j, &e->redacted);
        else if (hocket__json_is(j, "reasoningText"))
            read_thought(j, e);
    }
}

/* A delta, a block's start, or a whole block. */
static void read_block(struct hocket__json *j, struct event *e)
{
    if (!hocket__json_want(j, HOCKET__JSON_OBJECT))
        return;
    while (hocket__json_key(j)) {
        if (hocket__json_is(j, "text"))
            hocket__piece_read(j, &e->text);
        else if (hocket__json_is(j, "toolUse"))
            read_call(j, e);
        else if (hocket__json_is(j, "reasoningContent"))
            read_thought(j, e);
    }
}

static int read_event(struct event *e, struct hocket__str data, struct hocket_error *err)
{
    struct hocket__json j;
    *e = (struct event){ .index = -1 };
    hocket__json_init(&j, data);
    if (hocket__json_want(&j, HOCKET__JSON_OBJECT))
        while (hocket__json_key(&j)) {
            if (hocket__json_is(&j, "contentBlockIndex"))
                e->index = hocket__json_count(&j);
            else if (hocket__json_is(&j, "delta") || hocket__json_is(&j, "start"))
                read_block(&j, e);
            else if (hocket__json_is(&j, "stopReason"))
                hocket__piece_read(&j, &e->stop_reason);
            else if (hocket__json_is(&j, "usage"))
                e->usage = hocket__json_value(&j);
            else if (hocket__json_is(&j, "output"))
                e->output = hocket__json_value(&j);
        }
    return hocket__json_end(&j, NULL) < 0 ? hocket__proto_broken(&j, err) : 0;
}

/* ---- Thoughts ---- */

static void close_thought(struct hocket__reader *r)
{
    if (r->flags & THINKS)
        hocket__buf_adds(&r->state, "\"}}}");
    r->flags &= ~(uint32_t) THINKS;
}

static void open_thought(struct hocket__reader *r)
{
    if (r->flags & THINKS)
        return;
    r->flags |= THINKS;
    hocket__buf_adds(&r->state, r->state.len > 0 ? "," : "[");
    hocket__buf_adds(&r->state, "{\"reasoningContent\":{\"reasoningText\":{\"text\":\"");
}

/* The signature comes when the text is whole. */
static void sign(struct hocket__reader *r, const struct hocket__piece *signature)
{
    open_thought(r);
    hocket__buf_adds(&r->state, "\",\"signature\":\"");
    hocket__buf_addstr(&r->state, signature->inside);
    r->mask = 1; /* there is something that has to go back */
    close_thought(r);
}

static void take_thought(struct hocket__reader *r, const struct event *e)
{
    if (e->redacted.set) {
        close_thought(r);
        hocket__buf_adds(&r->state, r->state.len > 0 ? "," : "[");
        hocket__buf_adds(&r->state, "{\"reasoningContent\":{");
        hocket__member_piece(&r->state, "redactedContent", &e->redacted);
        hocket__buf_adds(&r->state, "}}");
        r->mask = 1;
    }
    if (e->thought.inside.n > 0) {
        open_thought(r);
        hocket__buf_addstr(&r->state, e->thought.inside);
        hocket__reader_text(r, HOCKET__DELTA_REASONING, &e->thought);
    }
    if (e->signature.inside.n > 0)
        sign(r, &e->signature);
}

/* ---- Blocks ---- */

static int start_call(struct hocket__reader *r, const struct event *e, struct hocket_error *err)
{
    struct hocket__call *c;
    int status = hocket__reader_call(r, &c, err);
    if (!c)
        return status;
    hocket__piece_set(&e->call_id, &c->id);
    hocket__piece_set(&e->call_name, &c->name);
    c->index = e->index;
    return 0;
}

static void add_input(struct hocket__reader *r, const struct event *e)
{
    for (size_t i = r->reply->n_calls; i-- > 0;)
        if (r->reply->calls[i].index == e->index) {
            r->reply->calls[i].has_raw = true;
            hocket__reader_arguments(r, i, &e->call_input);
            return;
        }
}

static void take_usage(struct hocket__reply *reply, struct hocket__str usage)
{
    struct hocket__json j;
    if (usage.n == 0 || usage.p[0] != '{')
        return;
    hocket__reply_set(&reply->usage_raw, usage);
    hocket__json_init(&j, usage);
    hocket__json_next(&j);
    while (hocket__json_key(&j)) {
        int64_t *to = hocket__json_is(&j, "inputTokens")             ? &reply->usage.input
                      : hocket__json_is(&j, "outputTokens")          ? &reply->usage.output
                      : hocket__json_is(&j, "cacheReadInputTokens")  ? &reply->usage.cached
                      : hocket__json_is(&j, "cacheWriteInputTokens") ? &reply->usage.cache_write
                                                                     : NULL;
        if (to)
            *to = hocket__json_count(&j);
    }
}

static void failed(struct hocket__reader *r, struct hocket__str type, struct hocket__str data)
{
    struct hocket__reply_error *e = &r->reply->error;
    hocket__reply_set_error(r->reply, "stream", 0, data);
    if (e->type.len == 0)
        hocket__reply_set(&e->type, type);
}

static int bedrock_event(struct hocket__reader *r, struct hocket__str type, struct hocket__str data,
    struct hocket_error *err)
{
    struct event e;
    if (r->fault) {
        failed(r, type, data);
        return 0;
    }
    int status = read_event(&e, data, err);
    if (status < 0)
        return status;
    if (hocket__str_is(type, "contentBlockDelta")) {
        if (e.call_input.set)
            add_input(r, &e);
        hocket__reader_text(r, HOCKET__DELTA_TEXT, &e.text);
        take_thought(r, &e);
    } else if (hocket__str_is(type, "contentBlockStart") && e.is_call) {
        status = start_call(r, &e, err);
    } else if (hocket__str_is(type, "contentBlockStop")) {
        close_thought(r);
    } else if (hocket__str_is(type, "messageStop")) {
        hocket__reply_finish(r->reply, &e.stop_reason);
        r->over = true;
    } else if (hocket__str_is(type, "metadata")) {
        take_usage(r->reply, e.usage);
        r->done = r->over;
    }
    return status;
}

/* ---- Whole messages ---- */

static int take_block(struct hocket__reader *r, struct event *e, struct hocket_error *err)
{
    hocket__reader_text(r, HOCKET__DELTA_TEXT, &e->text);
    take_thought(r, e);
    close_thought(r);
    if (!e->is_call)
        return 0;
    size_t before = r->reply->n_calls;
    int status = start_call(r, e, err);
    if (status == 0 && r->reply->n_calls > before)
        hocket__buf_addstr(&r->reply->calls[before].arguments, e->input);
    return status;
}

static int take_content(
    struct hocket__reader *r, struct hocket__str content, struct hocket_error *err)
{
    struct hocket__json j;
    int status = 0;
    hocket__json_init(&j, content);
    if (!hocket__json_want(&j, HOCKET__JSON_ARRAY))
        return 0;
    for (int64_t index = 0; status == 0 && hocket__json_element(&j); index++) {
        struct event e = { .index = index };
        read_block(&j, &e);
        status = take_block(r, &e, err);
    }
    return status;
}

static int bedrock_body(
    struct hocket__reader *r, int http_status, struct hocket__str body, struct hocket_error *err)
{
    struct event e;
    struct hocket__str message, content;
    int status = read_event(&e, body, err);
    if (status < 0)
        return status;
    if (!e.output.n && hocket__reply_foreign_error(r->reply, "body_200", http_status, body))
        return 0;
    if (!e.output.n || !hocket__json_find(e.output, "message", &message)
        || !hocket__json_find(message, "content", &content))
        return hocket__error(err, HOCKET_EPROTOCOL, "the answer is no message");
    hocket__reply_finish(r->reply, &e.stop_reason);
    take_usage(r->reply, e.usage);
    r->over = r->done = true;
    return take_content(r, content, err);
}

static int bedrock_end(struct hocket__reader *r, struct hocket_error *err)
{
    struct hocket__reply *reply = r->reply;
    if (!r->over)
        return hocket__error(err, HOCKET_ETRUNCATED, "the answer ended without messageStop");
    close_thought(r);
    if (r->mask && r->state.status == 0) {
        hocket__buf_addc(&r->state, ']');
        hocket__reply_set(&reply->replay, hocket__buf_str(&r->state));
    }
    reply->finish = hocket__finish_of(hocket__buf_str(&reply->finish_raw));
    hocket__reply_normalise(reply);
    reply->complete = true;
    return 0;
}

static int url(const struct hocket__llm_request *q, const char *base, struct hocket__buf *out)
{
    hocket__buf_addf(out, "%s/model/", base);
    hocket__path_write(out, q->model, "");
    return hocket__buf_adds(out, q->stream ? "/converse-stream" : "/converse");
}

const struct hocket__proto hocket__proto_bedrock = {
    .name = "bedrock",
    .framing = HOCKET__FRAMING_EVENTSTREAM,
    .url = url,
    .key_header = "authorization",
    .key_prefix = "Bearer ",
    .headers = (const char *const[]){ NULL },
    .write = bedrock_write,
    .message = bedrock_message,
    .event = bedrock_event,
    .body = bedrock_body,
    .end = bedrock_end,
};
