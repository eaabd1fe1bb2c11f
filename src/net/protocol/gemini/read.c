/* Reads Gemini's answers: a stream's event, one whole answer, or a list of answers (a stream
 * without alt=sse) are all the same object.
 *
 * Parts of one answer come in any cut: a text in ten chunks, a call in one or, on Vertex AI, in
 * pieces of its arguments. What belongs together is told by kind and place. */
#include "net/protocol/gemini/gemini.h"

#include "net/protocol/finish.h"

struct chunk {
    struct hocket__piece id, model;
    struct hocket__str candidates, feedback, usage, error;
};

/* ---- Parts ---- */

static void read_call(struct hocket__json *j, struct hocket__part *p)
{
    p->is_call = hocket__json_want(j, HOCKET__JSON_OBJECT);
    if (!p->is_call)
        return;
    const char *from = j->p - 1;
    while (hocket__json_key(j)) {
        if (hocket__json_is(j, "name"))
            hocket__piece_read(j, &p->name);
        else if (hocket__json_is(j, "id"))
            hocket__piece_read(j, &p->id);
        else if (hocket__json_is(j, "args"))
            p->args = hocket__json_value(j);
        else if (hocket__json_is(j, "partialArgs"))
            p->partial = hocket__json_value(j);
        else if (hocket__json_is(j, "willContinue"))
            p->goes_on = hocket__json_true(j);
    }
    p->call = hocket__str(from, (size_t) (j->p - from));
}

/* What a part is beside its text or call: inlineData, executableCode, toolCall … */
static void read_other(struct hocket__json *j, struct hocket__part *p)
{
    bool about = hocket__json_is(j, "videoMetadata") || hocket__json_is(j, "partMetadata")
                 || hocket__json_is(j, "mediaResolution");
    struct hocket__piece key = hocket__piece_of(j);
    if (hocket__json_value(j).n > 0 && j->token == HOCKET__JSON_OBJECT_END && !about)
        p->kind = key;
}

static void read_part(struct hocket__json *j, struct hocket__part *p)
{
    *p = (struct hocket__part){ 0 };
    if (!hocket__json_want(j, HOCKET__JSON_OBJECT))
        return;
    const char *from = j->p - 1;
    while (hocket__json_key(j)) {
        if (hocket__json_is(j, "text"))
            hocket__piece_read(j, &p->text);
        else if (hocket__json_is(j, "thought"))
            p->thought = hocket__json_true(j);
        else if (hocket__json_is(j, "thoughtSignature"))
            p->has_signature = hocket__json_value(j).n > 2;
        else if (hocket__json_is(j, "functionCall"))
            read_call(j, p);
        else
            read_other(j, p);
    }
    p->whole = hocket__str(from, (size_t) (j->p - from));
}

/* `flags` remembers that a call is open whose arguments come in pieces. */
static void close_call(struct hocket__reader *r)
{
    if (!(r->flags & HOCKET__GEMINI_CALL))
        return;
    hocket__gemini_args_close(r);
    hocket__gemini_replay_close(r);
    r->flags &= ~(uint32_t) HOCKET__GEMINI_CALL;
}

static int start_call(
    struct hocket__reader *r, const struct hocket__part *p, struct hocket_error *err)
{
    struct hocket__call *c;
    int status = hocket__reader_call(r, &c, err);
    if (!c)
        return status;
    hocket__piece_set(&p->id, &c->id);
    hocket__piece_set(&p->name, &c->name);
    if (p->goes_on || p->partial.n > 0) {
        r->flags |= HOCKET__GEMINI_CALL;
    } else if (p->args.n > 0) {
        hocket__buf_addstr(&c->arguments, p->args);
        if (r->on_delta)
            r->on_delta(r->ud, HOCKET__DELTA_CALL, r->reply->n_calls - 1, p->args);
    }
    return 0;
}

static int take_call(
    struct hocket__reader *r, const struct hocket__part *p, struct hocket_error *err)
{
    int status = p->name.set ? start_call(r, p, err) : 0;
    if (status < 0 || !(r->flags & HOCKET__GEMINI_CALL))
        return status;
    if (p->partial.n > 0)
        status = hocket__gemini_args_add(r, p->partial, err);
    if (status == 0 && !p->goes_on)
        close_call(r);
    return status;
}

/* The order of parts is part of the answer: the replay has to send signatures back where they
 * stood. */
static int take_part(
    struct hocket__reader *r, const struct hocket__part *p, struct hocket_error *err)
{
    if (!p->is_call || p->name.set)
        close_call(r); /* its own end may be missing */
    hocket__gemini_replay_part(r, p);
    if (p->is_call)
        return take_call(r, p, err);
    if (p->kind.set)
        hocket__reply_server_item(r->reply, &p->kind);
    if (hocket__piece_is(&p->kind, "inlineData"))
        hocket__reply_found(r->reply, p->whole);
    hocket__reader_text(r, p->thought ? HOCKET__DELTA_REASONING : HOCKET__DELTA_TEXT, &p->text);
    return 0;
}

static int take_parts(struct hocket__reader *r, struct hocket__str parts, struct hocket_error *err)
{
    struct hocket__json j;
    struct hocket__part p;
    int status = 0;
    hocket__json_init(&j, parts);
    if (!hocket__json_want(&j, HOCKET__JSON_ARRAY))
        return 0;
    while (status == 0 && hocket__json_element(&j)) {
        read_part(&j, &p);
        status = take_part(r, &p, err);
    }
    return status;
}

/* ---- Candidates ---- */

/* Only the first candidate is read; it has index 0 or none. */
static int take_candidate(
    struct hocket__reader *r, struct hocket__json *j, struct hocket_error *err)
{
    struct hocket__piece finish = { 0 };
    struct hocket__str content = { "", 0 }, grounding = { "", 0 }, parts;
    int64_t index = 0;
    while (hocket__json_key(j)) {
        if (hocket__json_is(j, "content"))
            content = hocket__json_value(j);
        else if (hocket__json_is(j, "finishReason"))
            hocket__piece_read(j, &finish);
        else if (hocket__json_is(j, "index"))
            index = hocket__json_count(j);
        else if (hocket__json_is(j, "groundingMetadata"))
            grounding = hocket__json_value(j);
    }
    if (index > 0)
        return 0;
    hocket__reply_found(r->reply, grounding);
    hocket__reply_finish(r->reply, &finish);
    return hocket__json_find(content, "parts", &parts) ? take_parts(r, parts, err) : 0;
}

static int take_candidates(
    struct hocket__reader *r, struct hocket__str list, struct hocket_error *err)
{
    struct hocket__json j;
    hocket__json_init(&j, list);
    if (!hocket__json_want(&j, HOCKET__JSON_ARRAY))
        return 0;
    int status = 0;
    for (int i = 0; status == 0 && hocket__json_element(&j); i++)
        if (j.token == HOCKET__JSON_OBJECT && i == 0)
            status = take_candidate(r, &j, err);
        else
            hocket__json_pass(&j);
    return status;
}

/* A prompt that was blocked has no candidates at all. */
static void take_feedback(struct hocket__reply *reply, struct hocket__str feedback)
{
    struct hocket__json j;
    struct hocket__piece reason = { 0 };
    hocket__json_init(&j, feedback);
    if (hocket__json_want(&j, HOCKET__JSON_OBJECT))
        while (hocket__json_key(&j))
            if (hocket__json_is(&j, "blockReason"))
                hocket__piece_read(&j, &reason);
    if (reason.set && reply->finish_raw.len == 0) {
        hocket__buf_adds(&reply->finish_raw, "blocked:");
        hocket__piece_add(&reason, &reply->finish_raw);
    }
}

/* Every chunk may have it; the last one counts. */
static void take_usage(struct hocket__reply *reply, struct hocket__str usage)
{
    struct hocket__json j;
    struct hocket__usage *u = &reply->usage;
    *u = (struct hocket__usage){ -1, -1, -1, -1, -1 };
    hocket__reply_set(&reply->usage_raw, usage);
    hocket__json_init(&j, usage);
    hocket__json_next(&j);
    while (hocket__json_key(&j)) {
        if (hocket__json_is(&j, "promptTokenCount"))
            u->input = hocket__json_count(&j);
        else if (hocket__json_is(&j, "candidatesTokenCount"))
            u->output = hocket__json_count(&j);
        else if (hocket__json_is(&j, "cachedContentTokenCount"))
            u->cached = hocket__json_count(&j);
        else if (hocket__json_is(&j, "thoughtsTokenCount"))
            u->reasoning = hocket__json_count(&j);
    }
}

/* ---- Chunks ---- */

/* Reads the object that comes next, or whose begin was read. */
static bool read_chunk(struct hocket__json *j, struct chunk *c)
{
    *c = (struct chunk){ 0 };
    if (!hocket__json_want(j, HOCKET__JSON_OBJECT))
        return false;
    while (hocket__json_key(j)) {
        if (hocket__json_is(j, "candidates"))
            c->candidates = hocket__json_value(j);
        else if (hocket__json_is(j, "usageMetadata"))
            c->usage = hocket__json_value(j);
        else if (hocket__json_is(j, "modelVersion"))
            hocket__piece_read(j, &c->model);
        else if (hocket__json_is(j, "responseId"))
            hocket__piece_read(j, &c->id);
        else if (hocket__json_is(j, "promptFeedback"))
            c->feedback = hocket__json_value(j);
        else if (hocket__json_is(j, "error"))
            c->error = hocket__json_value(j);
    }
    return !j->error;
}

static int take_chunk(struct hocket__reader *r, const struct chunk *c, struct hocket_error *err)
{
    if (r->reply->id.len == 0)
        hocket__piece_set(&c->id, &r->reply->id);
    if (r->reply->model.len == 0)
        hocket__piece_set(&c->model, &r->reply->model);
    if (c->usage.n > 0 && c->usage.p[0] == '{')
        take_usage(r->reply, c->usage);
    int status = take_candidates(r, c->candidates, err);
    take_feedback(r->reply, c->feedback);
    return status;
}

static bool is_answer(const struct chunk *c)
{
    return c->candidates.n > 0 || c->feedback.n > 0 || c->usage.n > 0;
}

int hocket__gemini_event(struct hocket__reader *r, struct hocket__str type, struct hocket__str data,
    struct hocket_error *err)
{
    struct hocket__json j;
    struct chunk c;
    hocket__json_init(&j, data);
    read_chunk(&j, &c);
    if (hocket__json_end(&j, NULL) < 0)
        return hocket__proto_broken(&j, err);
    if (hocket__is_error_value(c.error) || hocket__str_is(type, "error")) {
        hocket__reply_set_error(r->reply, "stream", 0, data);
        return 0;
    }
    if (!is_answer(&c) && hocket__reply_foreign_error(r->reply, "stream", 0, data))
        return 0;
    return take_chunk(r, &c, err);
}

/* ---- Whole answers ---- */

/* One answer of a body: in a list, what came before an error is kept. */
static int take_answer(struct hocket__reader *r, struct hocket__json *j, int http_status,
    bool first, struct hocket_error *err)
{
    struct chunk c;
    const char *from = j->token == HOCKET__JSON_OBJECT ? j->p - 1 : j->p;
    if (!read_chunk(j, &c))
        return 0;
    struct hocket__str text = hocket__str(from, (size_t) (j->p - from));
    const char *where = first ? "body_200" : "stream";
    int status = first ? http_status : 0;
    if (hocket__is_error_value(c.error)) {
        hocket__reply_set_error(r->reply, where, status, text);
        return 0;
    }
    if (!is_answer(&c) && hocket__reply_foreign_error(r->reply, where, status, text))
        return 0;
    r->done = r->done || is_answer(&c);
    return take_chunk(r, &c, err);
}

static int take_list(
    struct hocket__reader *r, struct hocket__json *j, int http_status, struct hocket_error *err)
{
    int status = 0;
    for (bool first = true; status == 0 && hocket__json_element(j); first = false)
        if (j->token == HOCKET__JSON_OBJECT)
            status = take_answer(r, j, http_status, first, err);
        else
            hocket__json_pass(j);
    return status;
}

int hocket__gemini_body(
    struct hocket__reader *r, int http_status, struct hocket__str body, struct hocket_error *err)
{
    struct hocket__json j;
    hocket__json_init(&j, body);
    bool list = hocket__json_next(&j) == HOCKET__JSON_ARRAY;
    int status =
        list ? take_list(r, &j, http_status, err) : take_answer(r, &j, http_status, true, err);
    if (status == 0 && hocket__json_end(&j, NULL) < 0)
        status = hocket__proto_broken(&j, err);
    if (status == 0 && !r->done && !r->reply->error.where)
        status = hocket__error(err, HOCKET_EPROTOCOL, "the answer has no candidates");
    return status;
}

/* ---- The end ---- */

/* What was blocked has no answer, whatever the reason is called. */
static enum hocket__finish finish_of(struct hocket__str raw)
{
    bool blocked = raw.n > 8 && memcmp(raw.p, "blocked:", 8) == 0;
    return blocked ? HOCKET__FINISH_FILTER : hocket__finish_of(raw);
}

int hocket__gemini_end(struct hocket__reader *r, struct hocket_error *err)
{
    struct hocket__reply *reply = r->reply;
    if (!r->done && reply->finish_raw.len == 0)
        return hocket__error(err, HOCKET_ETRUNCATED, "the answer ended without a finishReason");
    close_call(r);
    hocket__gemini_replay_end(r);
    reply->finish = finish_of(hocket__buf_str(&reply->finish_raw));
    hocket__reply_normalise(reply);
    reply->complete = true;
    return 0;
}
