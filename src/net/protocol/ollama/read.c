/* Reads Ollama's answers: every line, and a whole body, is one object of the same kind; the one
 * with done:true ends it.
 *
 * Lines are cut by the decoder before (decode.c). A call comes whole in one line; counts stand in
 * the last. */
#include "net/protocol/ollama/ollama.h"

#include "net/protocol/finish.h"

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

int hocket__ollama_event(struct hocket__reader *r, struct hocket__str type, struct hocket__str data,
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
int hocket__ollama_body(
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
        int status = hocket__ollama_event(r, hocket__str("", 0), value, err);
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

int hocket__ollama_end(struct hocket__reader *r, struct hocket_error *err)
{
    struct hocket__reply *reply = r->reply;
    if (!r->done)
        return hocket__error(err, HOCKET_ETRUNCATED, "the answer ended without done");
    reply->finish = hocket__finish_of(hocket__buf_str(&reply->finish_raw));
    hocket__reply_normalise(reply);
    reply->complete = true;
    return 0;
}
