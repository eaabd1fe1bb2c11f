/* Reads Anthropic's answers. A stream's end is message_stop and nothing else. Members may
 * come in any order; what is not known is passed over; a relay that begins the message
 * twice is read on. */
#include "net/protocol/anthropic/anthropic.h"

#include "net/protocol/finish.h"
#include "net/protocol/twin.h"

/* One event, or a whole message: they share their members. */
struct message {
    struct hocket__piece type, id, model, stop_reason;
    int64_t index;
    struct hocket__block block; /* content_block or delta */
    struct hocket__str message, content, usage, error;
};

/* ---- Parts ---- */

static void read_block_member(struct hocket__json *j, struct hocket__block *b)
{
    if (hocket__json_is(j, "type"))
        hocket__piece_read(j, &b->type);
    else if (hocket__json_is(j, "text"))
        hocket__piece_read(j, &b->text);
    else if (hocket__json_is(j, "partial_json"))
        hocket__piece_read(j, &b->partial_json);
    else if (hocket__json_is(j, "thinking"))
        hocket__piece_read(j, &b->thinking);
    else if (hocket__json_is(j, "signature"))
        hocket__piece_read(j, &b->signature);
    else if (hocket__json_is(j, "id"))
        hocket__piece_read(j, &b->id);
    else if (hocket__json_is(j, "name"))
        hocket__piece_read(j, &b->name);
    else if (hocket__json_is(j, "stop_reason"))
        hocket__piece_read(j, &b->stop_reason);
    else if (hocket__json_is(j, "input"))
        b->input = hocket__json_value(j);
    else if (hocket__json_is(j, "citations"))
        b->citations = hocket__json_value(j);
    else if (hocket__json_is(j, "citation"))
        b->citation = hocket__json_value(j);
    else if (hocket__json_is(j, "content"))
        b->partial_content = hocket__json_value(j);
}

/* Reads the object that comes next, or whose begin was read (in a list). */
static void read_block(struct hocket__json *j, struct hocket__block *b)
{
    *b = (struct hocket__block){ 0 };
    if (!hocket__json_want(j, HOCKET__JSON_OBJECT))
        return;
    const char *from = j->p - 1;
    while (hocket__json_key(j))
        read_block_member(j, b);
    b->whole = hocket__str(from, (size_t) (j->p - from));
}

static void read_member(struct hocket__json *j, struct message *m)
{
    if (hocket__json_is(j, "type"))
        hocket__piece_read(j, &m->type);
    else if (hocket__json_is(j, "index"))
        m->index = hocket__json_count(j);
    else if (hocket__json_is(j, "delta") || hocket__json_is(j, "content_block"))
        read_block(j, &m->block);
    else if (hocket__json_is(j, "message"))
        m->message = hocket__json_value(j);
    else if (hocket__json_is(j, "usage"))
        m->usage = hocket__json_value(j);
    else if (hocket__json_is(j, "error"))
        m->error = hocket__json_value(j);
    else if (hocket__json_is(j, "id"))
        hocket__piece_read(j, &m->id);
    else if (hocket__json_is(j, "model"))
        hocket__piece_read(j, &m->model);
    else if (hocket__json_is(j, "stop_reason"))
        hocket__piece_read(j, &m->stop_reason);
    else if (hocket__json_is(j, "content"))
        m->content = hocket__json_value(j);
}

static int read_message(struct message *m, struct hocket__str text, struct hocket_error *err)
{
    struct hocket__json j;
    *m = (struct message){ .index = -1 };
    hocket__json_init(&j, text);
    if (hocket__json_want(&j, HOCKET__JSON_OBJECT))
        while (hocket__json_key(&j))
            read_member(&j, m);
    return hocket__json_end(&j, NULL) < 0 ? hocket__proto_broken(&j, err) : 0;
}

/* ---- Blocks ---- */

static int start_call(struct hocket__reader *r, const struct hocket__block *b, int64_t index,
    struct hocket_error *err)
{
    struct hocket__call *c;
    int status = hocket__reader_call(r, &c, err);
    if (!c)
        return status;
    hocket__piece_set(&b->id, &c->id);
    hocket__piece_set(&b->name, &c->name);
    c->index = index;
    if (b->input.n > 2) /* whole already; {} as a rule */
        hocket__buf_addstr(&c->arguments, b->input);
    return 0;
}

static int start_block(struct hocket__reader *r, const struct hocket__block *b, int64_t index,
    struct hocket_error *err)
{
    int64_t call = -1;
    if (b->whole.n == 0)
        return 0;                     /* there is no block in it */
    hocket__anthropic_replay_stop(r); /* the end of the last one may be missing */
    if (hocket__piece_is(&b->type, "tool_use")) {
        size_t before = r->reply->n_calls;
        int status = start_call(r, b, index, err);
        if (status < 0 || r->reply->n_calls == before)
            return status;
        call = (int64_t) before;
    }
    hocket__anthropic_replay_start(r, b, index, call);
    hocket__reply_found_all(r->reply, b->citations);
    if (hocket__piece_is(&b->type, "text"))
        hocket__reader_text(r, HOCKET__DELTA_TEXT, &b->text);
    else if (hocket__piece_is(&b->type, "thinking"))
        hocket__reader_text(r, HOCKET__DELTA_REASONING, &b->thinking);
    else if (call < 0 && !hocket__piece_is(&b->type, "redacted_thinking"))
        hocket__reply_server_item(r->reply, &b->type);
    return 0;
}

/* The last call that has this index: indexes begin anew when a message does. */
static int64_t find_call(const struct hocket__reply *reply, int64_t index)
{
    for (size_t i = reply->n_calls; i-- > 0;)
        if (reply->calls[i].index == index)
            return (int64_t) i;
    return -1;
}

static void add_json(struct hocket__reader *r, const struct hocket__piece *json, int64_t index)
{
    int64_t call = find_call(r->reply, index);
    if (call < 0 || json->inside.n == 0)
        return; /* of a tool that the server runs, or nothing yet */
    /* Text replaces what the block began with. */
    if (!r->reply->calls[call].has_raw)
        hocket__buf_cut(&r->reply->calls[call].arguments, 0);
    r->reply->calls[call].has_raw = true;
    hocket__reader_arguments(r, (size_t) call, json);
}

static void add_delta(struct hocket__reader *r, const struct hocket__block *d, int64_t index)
{
    hocket__anthropic_replay_delta(r, d, index);
    hocket__reply_found(r->reply, d->citation);
    if (d->partial_json.set)
        add_json(r, &d->partial_json, index);
    if (d->text.set)
        hocket__reader_text(r, HOCKET__DELTA_TEXT, &d->text);
    if (d->thinking.set)
        hocket__reader_text(r, HOCKET__DELTA_REASONING, &d->thinking);
}

/* Arguments that did not come in pieces are reported when the block ends. */
static void stop_block(struct hocket__reader *r, int64_t index)
{
    int64_t pos = find_call(r->reply, index);
    const struct hocket__call *c = pos >= 0 ? &r->reply->calls[pos] : NULL;
    if (c && !c->has_raw && c->arguments.len > 0 && r->on_delta)
        r->on_delta(r->ud, HOCKET__DELTA_CALL, (size_t) pos, hocket__buf_str(&c->arguments));
    hocket__anthropic_replay_stop(r);
}

/* ---- Events ---- */

static void take_head(struct hocket__reader *r, const struct message *m)
{
    if (r->reply->id.len == 0)
        hocket__piece_set(&m->id, &r->reply->id);
    if (r->reply->model.len == 0)
        hocket__piece_set(&m->model, &r->reply->model);
    hocket__reply_finish(r->reply, &m->stop_reason);
    hocket__anthropic_usage(r->reply, m->usage);
}

static int start_message(
    struct hocket__reader *r, struct hocket__str text, struct hocket_error *err)
{
    struct message m;
    if (text.n == 0 || text.p[0] != '{')
        return hocket__error(err, HOCKET_EPROTOCOL, "message_start has no message");
    int status = read_message(&m, text, err);
    if (status == 0)
        take_head(r, &m);
    return status;
}

static int take_event(struct hocket__reader *r, const struct message *m, struct hocket__str type,
    struct hocket__str data, struct hocket_error *err)
{
    if (hocket__str_is(type, "content_block_delta")) {
        add_delta(r, &m->block, m->index);
        return 0;
    }
    hocket__twin_give_up(r);
    if (hocket__str_is(type, "content_block_start")) {
        return start_block(r, &m->block, m->index, err);
    } else if (hocket__str_is(type, "content_block_stop")) {
        stop_block(r, m->index);
    } else if (hocket__str_is(type, "message_start")) {
        return start_message(r, m->message, err);
    } else if (hocket__str_is(type, "message_delta")) {
        hocket__reply_finish(r->reply, &m->block.stop_reason);
        hocket__anthropic_usage(r->reply, m->usage);
    } else if (hocket__str_is(type, "message_stop")) {
        r->done = true;
    } else if (!m->type.set) { /* what has a type is news of the protocol, and passed over */
        hocket__reply_foreign_error(r->reply, "stream", 0, data);
    }
    return 0;
}

static int read_event(struct hocket__reader *r, struct hocket__str type, struct hocket__str data,
    struct hocket_error *err)
{
    struct message m;
    int status = read_message(&m, data, err);
    if (status < 0)
        return status;
    /* the name in the data counts: relays lose that of the event */
    if (m.type.set)
        type = m.type.inside;
    else
        hocket__twin_give_up(r);
    if (hocket__str_is(type, "error") || hocket__is_error_value(m.error)) {
        hocket__twin_give_up(r);
        hocket__reply_set_error(r->reply, "stream", 0, data);
        return 0;
    }
    return take_event(r, &m, type, data, err);
}

int hocket__anthropic_event(struct hocket__reader *r, struct hocket__str type,
    struct hocket__str data, struct hocket_error *err)
{
    if (hocket__twin_take(r, data))
        return 0;
    hocket__twin_begin(r);
    int status = read_event(r, type, data, err);
    if (status < 0)
        hocket__twin_give_up(r);
    int kept = hocket__twin_keep(r, data);
    return status < 0 ? status : kept;
}

/* ---- Whole messages ---- */

static int take_content(
    struct hocket__reader *r, struct hocket__str content, struct hocket_error *err)
{
    struct hocket__json j;
    struct hocket__block b;
    int status = 0;
    int64_t index = 0;
    hocket__json_init(&j, content);
    if (!hocket__json_want(&j, HOCKET__JSON_ARRAY))
        return 0;
    while (status == 0 && hocket__json_element(&j)) {
        read_block(&j, &b);
        status = start_block(r, &b, index, err);
        stop_block(r, index++);
    }
    return status;
}

int hocket__anthropic_body(
    struct hocket__reader *r, int http_status, struct hocket__str body, struct hocket_error *err)
{
    struct message m;
    int status = read_message(&m, body, err);
    if (status < 0)
        return status;
    if (hocket__piece_is(&m.type, "error") || hocket__is_error_value(m.error)) {
        hocket__reply_set_error(r->reply, "body_200", http_status, body);
        return 0;
    }
    if (m.content.n == 0 && hocket__reply_foreign_error(r->reply, "body_200", http_status, body))
        return 0;
    if (m.content.n == 0)
        return hocket__error(err, HOCKET_EPROTOCOL, "the answer is no message");
    take_head(r, &m);
    r->done = true;
    return take_content(r, m.content, err);
}

int hocket__anthropic_end(struct hocket__reader *r, struct hocket_error *err)
{
    struct hocket__reply *reply = r->reply;
    if (!r->done)
        return hocket__error(err, HOCKET_ETRUNCATED, "the answer ended without message_stop");
    hocket__anthropic_replay_end(r);
    reply->finish = hocket__finish_of(hocket__buf_str(&reply->finish_raw));
    hocket__reply_normalise(reply);
    reply->complete = true;
    return 0;
}
