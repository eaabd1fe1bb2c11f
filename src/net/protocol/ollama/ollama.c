/* Ollama's own chat API: POST /api/chat, one JSON object a line.
 *
 * Decided here, where the protocol leaves a choice:
 * - Calls and results carry ids (tool_calls[].id, tool_call_id) beside tool_name: newer servers
 * pair by them, older ones pass over what they do not know.
 * - tool_choice is not known there: "none" sends no tools, a name sends that tool alone.
 * - Thinking goes back with a message that has calls, or always with the trait reasoning_back.
 * - `think` is a switch; only gpt-oss takes levels.
 * - An image by address cannot be sent; the address stands in the text.
 * - Members of `options` in `extra` (num_ctx …) are added to ours, one by one, and win. */
#include "net/protocol/blocks.h"
#include "net/protocol/finish.h"

/* Ollama's messages and bodies. Members come in a fixed order, the messages last.
 *
 * Options of the model stand in an object of their own there; `extra` may add to it without taking
 * it over. */

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
    hocket__jw_key_open(b, "tool_calls", '[');
    hocket__neutral_walk(&j, calls);
    while (hocket__neutral_call(&j, &call)) {
        hocket__jw_open(b, '{');
        hocket__member_piece(b, "id", &call.id);
        hocket__jw_key_open(b, "function", '{');
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

static int ollama_message(const struct hocket__neutral *m, const struct hocket__proto_traits *t,
    struct hocket__buf *wire, struct hocket_error *err)
{
    static const char *const words[] = { "user", "system", "user", "assistant", "tool" };
    if (hocket__neutral_blank(m))
        return 0;
    hocket__jw_open(wire, '{');
    hocket__jw_key_cstring(wire, "role",
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
    put_sampling(q, b);
    hocket__member_close(b, before, "}");
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
    hocket__jw_key_cstring(b, "type", "function");
    hocket__jw_key_open(b, "function", '{');
    hocket__member_piece(b, "name", &tool->name);
    if (tool->description.set)
        hocket__member_piece(b, "description", &tool->description);
    hocket__jw_key(b, "parameters");
    hocket__tool_parameters(b, tool);
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
    hocket__neutral_walk(&j, q->tools);
    while (hocket__tool_walk(&j, &tool))
        if (is_wanted(q, &tool))
            put_tool(b, &tool);
    hocket__member_close(b, before, "]");
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
    hocket__jw_key_cstring(b, "role", role ? role : "system");
    hocket__jw_key(b, "content");
    hocket__system_write(q, in_words, b);
    hocket__jw_close(b, '}');
}

static int ollama_write(request q, struct hocket__buf *b, struct hocket_error *err)
{
    int status = hocket__proto_prepare(q, &hocket__proto_ollama, err);
    if (status < 0)
        return status;
    size_t from = b->len;
    hocket__jw_open(b, '{');
    put_head(q, b);
    hocket__proto_extra(q, b, from);
    hocket__jw_key_open(b, "messages", '[');
    put_system(q, b);
    if (q->history->wire.len > 0)
        hocket__jw_raw(b, hocket__buf_str(&q->history->wire));
    hocket__jw_close(b, ']');
    hocket__jw_close(b, '}');
    return hocket__proto_written(b, err);
}

/* Reads Ollama's answers: every line, and a whole body, is one object of the same kind; the one
 * with done:true ends it.
 *
 * Lines are cut by the decoder before (decode.c). A call comes whole in one line; counts stand in
 * the last. */

struct line {
    struct hocket__piece model, done_reason, content, thinking;
    struct hocket__str calls, error;
    bool done, has_message;
    struct hocket__str input, output; /* the counts as they stood */
};

struct ollama_call {
    struct hocket__piece id, name, text;
    struct hocket__str object;
    int64_t index;
};

/* ---- Members ---- */

static void read_message(struct hocket__json *j, struct line *l)
{
    if (!hocket__json_want(j, HOCKET__JSON_OBJECT))
        return;
    l->has_message = true;
    while (hocket__json_key(j)) {
        if (hocket__json_is(j, "content"))
            hocket__piece_read(j, &l->content);
        else if (hocket__json_is(j, "thinking"))
            hocket__piece_read(j, &l->thinking);
        else if (hocket__json_is(j, "tool_calls"))
            l->calls = hocket__json_value(j);
    }
}

static void read_line(struct hocket__json *j, struct line *l)
{
    *l = (struct line){ 0 };
    if (!hocket__json_want(j, HOCKET__JSON_OBJECT))
        return;
    while (hocket__json_key(j)) {
        if (hocket__json_is(j, "message"))
            read_message(j, l);
        else if (hocket__json_is(j, "done"))
            l->done = hocket__json_true(j);
        else if (hocket__json_is(j, "done_reason"))
            hocket__piece_read(j, &l->done_reason);
        else if (hocket__json_is(j, "model"))
            hocket__piece_read(j, &l->model);
        else if (hocket__json_is(j, "error"))
            l->error = hocket__json_value(j);
        else if (hocket__json_is(j, "prompt_eval_count"))
            l->input = hocket__json_value(j);
        else if (hocket__json_is(j, "eval_count"))
            l->output = hocket__json_value(j);
    }
}

static void read_function(struct hocket__json *j, struct ollama_call *c)
{
    if (!hocket__json_want(j, HOCKET__JSON_OBJECT))
        return;
    while (hocket__json_key(j)) {
        if (hocket__json_is(j, "name"))
            hocket__piece_read(j, &c->name);
        else if (hocket__json_is(j, "index"))
            c->index = hocket__json_count(j);
        else if (hocket__json_is(j, "arguments")) {
            c->object = hocket__json_value(j);
            if (j->token == HOCKET__JSON_STRING)
                c->text = hocket__piece_of(j);
        }
    }
}

/* ---- Into the reply ---- */

static int take_call(
    struct hocket__reader *r, const struct ollama_call *in, struct hocket_error *err)
{
    struct hocket__call *c;
    int status = hocket__reader_call(r, &c, err);
    if (!c)
        return status;
    hocket__piece_set(&in->id, &c->id);
    hocket__piece_set(&in->name, &c->name);
    c->index = in->index;
    c->has_raw = in->text.set;
    /* arguments are an object here; a text, as the others have it, comes from proxies */
    if (in->text.set)
        hocket__piece_set(&in->text, &c->arguments);
    else
        hocket__buf_addstr(&c->arguments, in->object);
    if (r->on_delta && c->arguments.len > 0)
        /* Calls come whole: one delta for all of the arguments, so that whoever shows them
         * streaming has the same picture as with the others. */
        r->on_delta(
            r->ud, HOCKET__DELTA_CALL, r->reply->n_calls - 1, hocket__buf_str(&c->arguments));
    return 0;
}

static int take_calls(struct hocket__reader *r, struct hocket__str calls, struct hocket_error *err)
{
    struct hocket__json j;
    int status = 0;
    hocket__json_init(&j, calls);
    if (!hocket__json_want(&j, HOCKET__JSON_ARRAY))
        return 0;
    while (status == 0 && hocket__json_element(&j)) {
        struct ollama_call c = { .index = -1 };
        if (!hocket__json_want(&j, HOCKET__JSON_OBJECT))
            continue;
        while (hocket__json_key(&j)) {
            if (hocket__json_is(&j, "id"))
                hocket__piece_read(&j, &c.id);
            else if (hocket__json_is(&j, "function"))
                read_function(&j, &c);
        }
        status = take_call(r, &c, err);
    }
    return status;
}

static void take_count(
    struct hocket__buf *raw, const char *key, struct hocket__str text, int64_t *out)
{
    struct hocket__json j;
    if (text.n == 0)
        return;
    hocket__json_init(&j, text);
    *out = hocket__json_count(&j);
    hocket__buf_cut(raw, raw->len - 1);
    hocket__jw_key(raw, key);
    hocket__buf_addstr(raw, text);
    hocket__buf_addc(raw, '}');
}

static void take_usage(struct hocket__reply *reply, const struct line *l)
{
    if (l->input.n == 0 && l->output.n == 0)
        return;
    hocket__reply_set(&reply->usage_raw, HOCKET__STR("{}"));
    if (reply->usage_raw.status < 0)
        return;
    take_count(&reply->usage_raw, "prompt_eval_count", l->input, &reply->usage.input);
    take_count(&reply->usage_raw, "eval_count", l->output, &reply->usage.output);
}

static int take_line(struct hocket__reader *r, const struct line *l, struct hocket_error *err)
{
    hocket__piece_set(&l->model, &r->reply->model);
    hocket__reader_text(r, HOCKET__DELTA_REASONING, &l->thinking);
    hocket__reader_text(r, HOCKET__DELTA_TEXT, &l->content);
    hocket__reply_finish(r->reply, &l->done_reason);
    take_usage(r->reply, l);
    r->done = r->done || l->done;
    return take_calls(r, l->calls, err);
}

static int ollama_event(struct hocket__reader *r, struct hocket__str type, struct hocket__str data,
    struct hocket_error *err)
{
    struct hocket__json j;
    struct line l;
    hocket__json_init(&j, data);
    read_line(&j, &l);
    if (hocket__json_end(&j, NULL) < 0)
        return hocket__proto_broken(&j, err);
    if (hocket__is_error_value(l.error)) {
        hocket__reply_set_error(r->reply, "stream", 0, data);
        return 0;
    }
    /* an object that is no line of an answer, as a proxy's error may be */
    if (!l.has_message && !l.done && hocket__reply_foreign_error(r->reply, "stream", 0, data))
        return 0;
    return take_line(r, &l, err);
}

/* A server that streams although it was not asked to sends several objects. */
static int ollama_body(
    struct hocket__reader *r, int http_status, struct hocket__str body, struct hocket_error *err)
{
    const char *end = body.p + body.n;
    bool first = true;
    while (!r->reply->error.where) {
        struct hocket__json j;
        struct hocket__str value;
        while (body.n > 0 && memchr(" \t\r\n", body.p[0], 4))
            body = hocket__str(body.p + 1, body.n - 1);
        if (body.n == 0)
            break;
        hocket__json_init(&j, body);
        if (hocket__json_skip(&j, &value) < 0)
            return hocket__proto_broken(&j, err);
        body = hocket__str(j.p, (size_t) (end - j.p));
        int status = ollama_event(r, hocket__str("", 0), value, err);
        if (status < 0)
            return status;
        if (first && r->reply->error.where) {
            r->reply->error.where = "body_200";
            r->reply->error.status = http_status;
        }
        first = false;
    }
    return 0;
}

static int ollama_end(struct hocket__reader *r, struct hocket_error *err)
{
    struct hocket__reply *reply = r->reply;
    if (!r->done)
        return hocket__error(err, HOCKET_ETRUNCATED, "the answer ended without done");
    reply->finish = hocket__finish_of(hocket__buf_str(&reply->finish_raw));
    hocket__reply_normalise(reply);
    reply->complete = true;
    return 0;
}

static int url(const struct hocket__llm_request *q, const char *base, struct hocket__buf *out)
{
    size_t n = strlen(base);
    hocket__buf_adds(out, base);
    return hocket__buf_adds(
        out, n > 4 && strcmp(base + n - 4, "/api") == 0 ? "/chat" : "/api/chat");
}

const struct hocket__proto hocket__proto_ollama = {
    .name = "ollama",
    .framing = HOCKET__FRAMING_NDJSON,
    .url = url,
    .key_header = "Authorization",
    .key_prefix = "Bearer ",
    .headers = (const char *const[]){ NULL },
    .write = ollama_write,
    .message = ollama_message,
    .event = ollama_event,
    .body = ollama_body,
    .end = ollama_end,
};
