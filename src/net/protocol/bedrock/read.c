/* Reads Converse's answers: events of a stream, and whole messages.
 *
 * A block of a stream begins with contentBlockStart only where it is a call; all else begins with its first delta.
 * Thoughts are gathered in r->state as the blocks that go back, r->scratch has the text of the one that is open. */
#include "net/protocol/bedrock/bedrock.h"

#include "net/protocol/finish.h"

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

int hocket__bedrock_event(struct hocket__reader *r, struct hocket__str type,
    struct hocket__str data, struct hocket_error *err)
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

int hocket__bedrock_body(
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

int hocket__bedrock_end(struct hocket__reader *r, struct hocket_error *err)
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
