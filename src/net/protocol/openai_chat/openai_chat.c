/* Reads the answers of chat completions, and is their row in the protocol table. */
#include "net/protocol/openai_chat/openai_chat.h"

#include "net/protocol/finish.h"
#include "net/protocol/twin.h"

/* What a tool call in a delta or a message carries. */
struct hocket__chat_call {
    int64_t index;
    struct hocket__piece id, name, arguments;
    struct hocket__str object; /* arguments as JSON, against the rules */
    struct hocket__str extra;  /* extra_content: wanted back */
    bool free_form;
};

/* Usage as chat servers tell it: with the details where OpenAI has them, or flat beside the counts. */

/* Reads the usage object that chat servers send, whose begin was read. */
static void chat_usage(struct hocket__reply *reply, struct hocket__json *j)
{
    struct hocket__usage u = { -1, -1, -1, -1, -1 };
    struct hocket__usage flat = u; /* the same counts without the details around them */
    const char *from = j->p - 1;
    while (hocket__json_key(j)) {
        if (hocket__key_is(j, "prompt_tokens"))
            u.input = hocket__json_count(j);
        else if (hocket__key_is(j, "completion_tokens"))
            u.output = hocket__json_count(j);
        else if (hocket__key_is(j, "prompt_tokens_details")
                 || hocket__key_is(j, "completion_tokens_details"))
            hocket__openai_usage_details(j, &u);
        else if (hocket__key_is(j, "prompt_cache_hit_tokens") || hocket__key_is(j, "cached_tokens"))
            flat.cached = hocket__json_count(j);
        else if (hocket__key_is(j, "reasoning_tokens"))
            flat.reasoning = hocket__json_count(j);
    }
    if (j->error)
        return;
    u.cached = u.cached < 0 ? flat.cached : u.cached;
    u.reasoning = u.reasoning < 0 ? flat.reasoning : u.reasoning;
    reply->usage = u;
    hocket__reply_set(&reply->usage_raw, hocket__str(from, (size_t) (j->p - from)));
}

/* Which call a delta of tool_calls belongs to. The rule book says "by index"; servers
 * send none, always 0, from 1, repeat ids and names, or give a new id under an old
 * index. In words:
 *
 *   index known      the latest call with it, unless the delta brings a new id and a name, or
 *                    after complete arguments another name or further ones: then it begins a call
 *   no index, an id  the call with that id (same exception), else a new one
 *   neither          with a name a new call, without one the latest
 *
 * What says once more what the call is already belongs to none: gateways send a finished call again, in one piece.
 * Calls that nothing but their place tells apart (a name, no id) are as many as they are. */

/* Reads the value of `function`, `custom` or `function_call`. */
static void function_read(struct hocket__json *j, struct hocket__chat_call *c)
{
    if (hocket__json_next(j) != HOCKET__JSON_OBJECT) {
        hocket__json_pass(j);
        return;
    }
    while (hocket__json_key(j)) {
        if (hocket__key_is(j, "name")) {
            hocket__piece_read(j, &c->name);
        } else if (hocket__key_is(j, "arguments")) {
            if (hocket__json_next(j) == HOCKET__JSON_STRING)
                c->arguments = hocket__piece_of(j);
            else if (j->token == HOCKET__JSON_OBJECT)
                hocket__json_skip(j, &c->object);
            else
                hocket__json_pass(j);
        } else if (hocket__key_is(j, "input")) {
            hocket__piece_read(j, &c->arguments);
        }
    }
}

/* Reads one element of tool_calls (an object whose begin was read). */
static void call_read(struct hocket__json *j, struct hocket__chat_call *c)
{
    struct hocket__chat_call custom = { .index = -1 };
    *c = (struct hocket__chat_call){ .index = -1 };
    while (hocket__json_key(j)) {
        if (hocket__key_is(j, "index")) {
            c->index = hocket__json_count(j);
        } else if (hocket__key_is(j, "id")) {
            hocket__piece_read(j, &c->id);
        } else if (hocket__key_is(j, "function")) {
            function_read(j, c);
        } else if (hocket__key_is(j, "custom")) {
            function_read(j, &custom);
        } else if (hocket__key_is(j, "extra_content")) {
            c->extra = hocket__json_value(j);
        }
    }
    /* Some servers send both members, and one of them empty. */
    if (custom.name.inside.n > 0 || custom.arguments.inside.n > 0) {
        if (custom.name.inside.n > 0)
            c->name = custom.name;
        c->arguments = custom.arguments;
        c->object = hocket__str("", 0);
        c->free_form = true;
    }
}

static bool same(const struct hocket__piece *p, const struct hocket__buf *text)
{
    if (!p->escaped)
        return hocket__str_eq(p->inside, hocket__buf_str(text));
    return false; /* ids and names have nothing to escape; a stranger begins a new call */
}

static bool is_complete(const struct hocket__call *call)
{
    const struct hocket__buf *b = &call->arguments;
    return b->len > 0 && b->data[b->len - 1] == '}'
           && hocket__json_check(hocket__buf_str(b), NULL) == 0;
}

static bool opens_object(const struct hocket__chat_call *c)
{
    return c->object.n > 0 || (c->arguments.inside.n > 0 && c->arguments.inside.p[0] == '{');
}

/* The delta names a call that exists, and yet it is another one. */
static bool begins_new(const struct hocket__chat_call *c, const struct hocket__call *old)
{
    bool has_name = c->name.inside.n > 0;
    if (c->id.inside.n > 0 && old->id.len > 0 && !same(&c->id, &old->id) && has_name)
        return true;
    bool other_name = old->name.len > 0 && !same(&c->name, &old->name);
    return has_name && (other_name || opens_object(c)) && is_complete(old);
}

static struct hocket__piece arguments_of(const struct hocket__chat_call *c)
{
    return c->object.n > 0 ? (struct hocket__piece){ c->object, false, true } : c->arguments;
}

static bool repeats(const struct hocket__chat_call *c, const struct hocket__call *old)
{
    bool has_name = c->name.inside.n > 0, has_id = c->id.inside.n > 0;
    struct hocket__piece arguments = arguments_of(c);
    if ((has_name && (old->id.len == 0 || !same(&c->name, &old->name)))
        || (has_id && !same(&c->id, &old->id)))
        return false;
    return arguments.set && hocket__arguments_are_repeated(old, &arguments);
}

/* In a whole answer each is a call of its own, but for what has the index and the id of another one. */
static bool stands_already(const struct hocket__reply *reply, const struct hocket__chat_call *c)
{
    for (size_t i = 0; c->index >= 0 && c->id.inside.n > 0 && i < reply->n_calls; i++)
        if (reply->calls[i].index == c->index && repeats(c, &reply->calls[i]))
            return true;
    return false;
}

#define NOWHERE ((size_t) -1)

static size_t find(const struct hocket__reply *reply, const struct hocket__chat_call *c)
{
    size_t n = reply->n_calls;
    for (size_t i = n; i-- > 0;) {
        const struct hocket__call *old = &reply->calls[i];
        bool match = c->index >= 0        ? old->index == c->index
                     : c->id.inside.n > 0 ? same(&c->id, &old->id)
                                          : c->name.inside.n == 0;
        if (match)
            return repeats(c, old) ? NOWHERE : begins_new(c, old) ? n : i;
    }
    return n;
}

/* Texts are set, never appended: servers repeat them. An id that changes without a
 * name (some relays make one up per chunk) keeps the first. */
static void fill(struct hocket__reader *r, size_t pos, const struct hocket__chat_call *c)
{
    struct hocket__call *call = &r->reply->calls[pos];
    if (c->id.set || c->name.set || c->extra.n > 0 || c->free_form || !c->arguments.set)
        hocket__twin_give_up(r);
    call->has_id |= c->id.set;
    if (call->id.len == 0)
        hocket__piece_set(&c->id, &call->id);
    if (c->name.inside.n > 0)
        hocket__piece_set(&c->name, &call->name);
    call->free_form |= c->free_form;
    if (c->extra.n > 0)
        hocket__reply_set(&call->extra, c->extra);
    struct hocket__piece arguments = arguments_of(c);
    call->has_raw |= c->arguments.set;
    if (arguments.set)
        hocket__reader_arguments(r, pos, &arguments);
}

/* r->slot: the index of the last call that there was no room for. Pieces that continue it belong to no call, also
 * where an older call had that index, or where they have none. */
static bool goes_on_nowhere(const struct hocket__reader *r, const struct hocket__chat_call *c)
{
    if (!r->reply->surplus || c->name.inside.n > 0)
        return false;
    return c->index >= 0 ? c->index == r->slot : c->id.inside.n == 0;
}

/* Finds or makes the call that a delta belongs to (see call.c) and adds it. */
static int call_add(struct hocket__reader *r, const struct hocket__chat_call *c, bool whole,
    struct hocket_error *err)
{
    if (goes_on_nowhere(r, c) || (whole && stands_already(r->reply, c)))
        return 0;
    size_t pos = whole ? r->reply->n_calls : find(r->reply, c);
    if (pos == NOWHERE) {
        hocket__twin_give_up(r);
        return 0;
    }
    if (pos == r->reply->n_calls) {
        struct hocket__call *call;
        int status = hocket__reader_call(r, &call, err);
        if (!call) {
            r->slot = c->index;
            return status;
        }
        call->index = c->index;
    }
    fill(r, pos, c);
    return 0;
}

/* Reads what chat servers answer. A chunk is read in one pass, its strings go
 * straight into the reply; only a choice whose `index` stands behind its delta is
 * read twice.
 *
 * A server that speaks this protocol may leave out almost anything. So nothing is required but a
 * choice and an end, members may come in any order, and a text is taken from wherever it stands.
 * Chunks that are alike but for their text are not read at all, but compared (twin.h): whatever is
 * rare says so by hocket__twin_give_up. */

/* ---- Texts ---- */

/* A part of a content list: {type: text, text} or {type: thinking, thinking: [parts]}. */
static void read_part(
    struct hocket__reader *r, struct hocket__json *j, enum hocket__delta_kind kind)
{
    while (hocket__json_key(j)) {
        bool thinking = hocket__key_is(j, "thinking");
        if (!thinking && !hocket__key_is(j, "text"))
            continue;
        enum hocket__delta_kind inner = thinking ? HOCKET__DELTA_REASONING : kind;
        if (hocket__json_next(j) == HOCKET__JSON_STRING) {
            struct hocket__piece text = hocket__piece_of(j);
            hocket__reader_text(r, inner, &text);
        } else if (j->token == HOCKET__JSON_ARRAY && kind == HOCKET__DELTA_TEXT) {
            while (hocket__json_element(j))
                if (j->token == HOCKET__JSON_OBJECT)
                    read_part(r, j, inner);
                else
                    hocket__json_pass(j);
        } else {
            hocket__json_pass(j);
        }
    }
}

/* A string with nearly all servers; with some a list of parts, of which reasoning is one. */
static void read_content(
    struct hocket__reader *r, struct hocket__json *j, struct hocket__piece *text)
{
    if (hocket__json_next(j) == HOCKET__JSON_STRING) {
        *text = hocket__piece_of(j);
    } else if (j->token == HOCKET__JSON_ARRAY) {
        while (hocket__json_element(j))
            if (j->token == HOCKET__JSON_OBJECT)
                read_part(r, j, HOCKET__DELTA_TEXT);
            else
                hocket__json_pass(j);
    } else {
        hocket__json_pass(j);
    }
}

static void add_refusal(struct hocket__reader *r, const struct hocket__piece *p)
{
    struct hocket__reply *reply = r->reply;
    if (p->inside.n > 0) {
        hocket__twin_give_up(r);
        reply->has_refusal = true;
        hocket__reader_refusal(r, p);
    }
}

/* Kept chunk by chunk, joined at the end (replay.c). */
static void keep_details(struct hocket__reader *r, struct hocket__str list)
{
    if (list.n <= 2 || list.p[0] != '[')
        return;
    if (r->state.len > 0)
        hocket__buf_addc(&r->state, ',');
    hocket__buf_add(&r->state, list.p + 1, list.n - 2);
}

/* ---- Messages and deltas ---- */

static int read_calls(
    struct hocket__reader *r, struct hocket__json *j, bool whole, struct hocket_error *err)
{
    struct hocket__chat_call c;
    if (hocket__json_next(j) != HOCKET__JSON_ARRAY) {
        hocket__json_pass(j);
        return 0;
    }
    while (hocket__json_element(j)) {
        if (j->token != HOCKET__JSON_OBJECT) {
            hocket__json_pass(j);
            continue;
        }
        call_read(j, &c);
        int status = j->error ? 0 : call_add(r, &c, whole, err);
        if (status < 0)
            return status;
    }
    return 0;
}

/* The one call of the deprecated function_call.
 * Deprecated for years, and still what some servers send. */
static int read_function_call(
    struct hocket__reader *r, struct hocket__json *j, bool whole, struct hocket_error *err)
{
    struct hocket__chat_call c = { .index = -1 };
    function_read(j, &c);
    bool any = c.name.set || c.arguments.set || c.object.n > 0;
    return any && !j->error ? call_add(r, &c, whole, err) : 0;
}

/* The same reasoning may stand under both names: one of them counts. */
static void add_texts(struct hocket__reader *r, const struct hocket__piece *content,
    const struct hocket__piece *reasoning, const struct hocket__piece *other)
{
    const struct hocket__piece *thought = reasoning->inside.n > 0 ? reasoning : other;
    if (thought->inside.n > 0)
        hocket__reader_text(r, HOCKET__DELTA_REASONING, thought);
    if (content->inside.n > 0)
        hocket__reader_text(r, HOCKET__DELTA_TEXT, content);
}

static int read_rare(
    struct hocket__reader *r, struct hocket__json *j, bool whole, struct hocket_error *err)
{
    if (hocket__key_is(j, "function_call")) {
        hocket__twin_give_up(r);
        return read_function_call(r, j, whole, err);
    }
    if (hocket__key_is(j, "reasoning_details")) {
        hocket__twin_give_up(r);
        keep_details(r, hocket__json_value(j));
    } else if (hocket__key_is(j, "extra_content")) {
        hocket__twin_give_up(r);
        hocket__reply_set(&r->reply->replay, hocket__json_value(j));
    }
    return 0;
}

/* A delta, or (`whole`) a message. */
static int read_message(
    struct hocket__reader *r, struct hocket__json *j, bool whole, struct hocket_error *err)
{
    struct hocket__piece content = { 0 }, reasoning = { 0 }, other = { 0 }, refusal = { 0 };
    int status = 0;
    if (hocket__json_next(j) != HOCKET__JSON_OBJECT) {
        hocket__json_pass(j);
        return 0;
    }
    while (status == 0 && hocket__json_key(j)) {
        if (hocket__key_is(j, "content"))
            read_content(r, j, &content);
        else if (hocket__key_is(j, "reasoning_content"))
            hocket__piece_read(j, &reasoning);
        else if (hocket__key_is(j, "reasoning"))
            hocket__piece_read(j, &other);
        else if (hocket__key_is(j, "tool_calls"))
            status = read_calls(r, j, whole, err);
        else if (hocket__key_is(j, "refusal"))
            hocket__piece_read(j, &refusal);
        else
            status = read_rare(r, j, whole, err);
    }
    add_texts(r, &content, &reasoning, &other);
    add_refusal(r, &refusal);
    return status;
}

/* ---- Choices ---- */

struct choice {
    int64_t index;
    struct hocket__str delta, message; /* put off: the index was not known yet */
    struct hocket__str error;
    struct hocket__piece finish;
    bool has_delta;
    int status;
};

static int read_later(
    struct hocket__reader *r, struct hocket__str text, bool whole, struct hocket_error *err)
{
    struct hocket__json j;
    hocket__json_init(&j, text);
    return text.n > 0 ? read_message(r, &j, whole, err) : 0;
}

static void read_delta(
    struct hocket__reader *r, struct hocket__json *j, struct choice *c, struct hocket_error *err)
{
    c->has_delta = true;
    /* Read on the spot where it is known to count; one that stands before its index, and one
     * in a whole body, waits until the choice has been read. */
    if (c->index == 0 && !(r->flags & HOCKET__CHAT_BODY))
        c->status = read_message(r, j, false, err);
    else
        c->delta = hocket__json_value(j);
}

/* Some servers send an empty reason with every chunk: it ends nothing, and does not replace one. */
static void take_finish(struct hocket__reader *r, const struct hocket__piece *finish)
{
    bool empty = finish->inside.n == 0;
    if (!finish->set || (empty && r->reply->has_finish_raw))
        return;
    hocket__twin_give_up(r);
    hocket__reply_finish(r->reply, finish);
    if (!empty)
        r->flags |= HOCKET__CHAT_FINISH;
}

static const char *where_of(const struct hocket__reader *r)
{
    return r->flags & HOCKET__CHAT_BODY ? "body_200" : "stream";
}

/* Whether there is anything that a caller could use: an empty message beside a delta with text must
 * not replace it. */
static bool says_something(const struct hocket__reply *reply)
{
    return reply->text.len > 0 || reply->reasoning.len > 0 || reply->refusal.len > 0
           || reply->n_calls > 0;
}

/* Of a whole body its message counts, a delta only where that says nothing. Inside a stream it is
 * the other way round; where no delta has said anything, the message that comes with the end has. */
static int read_both(struct hocket__reader *r, struct choice *c, struct hocket_error *err)
{
    bool body = r->flags & HOCKET__CHAT_BODY, ends = c->finish.inside.n > 0;
    int status = 0;
    if (body)
        status = read_later(r, c->message, true, err);
    if (status == 0 && (!body || !says_something(r->reply)))
        status = read_later(r, c->delta, body, err);
    bool unsaid =
        c->has_delta ? ends && !says_something(r->reply) : !(r->flags & HOCKET__CHAT_DELTA);
    return status == 0 && !body && unsaid ? read_later(r, c->message, true, err) : status;
}

/* A choice with another index is an answer that nobody asked for. */
static int end_choice(struct hocket__reader *r, struct choice *c, struct hocket_error *err)
{
    if (c->index > 0 && !(r->flags & HOCKET__CHAT_BODY))
        return 0;
    take_finish(r, &c->finish);
    if (hocket__is_error_value(c->error))
        hocket__reply_set_error(r->reply, where_of(r), 0, c->error);
    int status = read_both(r, c, err);
    if (c->has_delta)
        r->flags |= HOCKET__CHAT_DELTA;
    return status;
}

static int read_choice(struct hocket__reader *r, struct hocket__json *j, struct hocket_error *err)
{
    struct choice c = { .index = -1 };
    while (c.status == 0 && hocket__json_key(j)) {
        if (hocket__key_is(j, "index"))
            c.index = hocket__json_count(j);
        else if (hocket__key_is(j, "delta"))
            read_delta(r, j, &c, err);
        else if (hocket__key_is(j, "message"))
            c.message = hocket__json_value(j);
        else if (hocket__key_is(j, "finish_reason"))
            hocket__piece_read(j, &c.finish);
        else if (hocket__key_is(j, "error"))
            c.error = hocket__json_value(j);
    }
    return c.status < 0 || j->error ? c.status : end_choice(r, &c, err);
}

/* Of a whole body the first choice counts, of a stream the one with index 0. */
static int read_choices(struct hocket__reader *r, struct hocket__json *j, struct hocket_error *err)
{
    int status = 0;
    if (hocket__json_next(j) != HOCKET__JSON_ARRAY) {
        hocket__json_pass(j);
        return 0;
    }
    for (bool first = true; status == 0 && hocket__json_element(j); first = false) {
        if (j->token == HOCKET__JSON_OBJECT && (first || !(r->flags & HOCKET__CHAT_BODY)))
            status = read_choice(r, j, err);
        else
            hocket__json_pass(j);
        r->flags |= HOCKET__CHAT_CHOICE | HOCKET__CHAT_KNOWN;
    }
    return status;
}

/* ---- Chunks and bodies ---- */

static void read_usage(struct hocket__reader *r, struct hocket__json *j)
{
    if (hocket__json_next(j) != HOCKET__JSON_OBJECT) {
        hocket__json_pass(j);
        return;
    }
    hocket__twin_give_up(r);
    r->flags |= HOCKET__CHAT_KNOWN;
    chat_usage(r->reply, j);
}

/* Groq puts usage and errors into a member of its own. */
static void read_groq(struct hocket__reader *r, struct hocket__json *j, struct hocket__str *error)
{
    if (hocket__json_next(j) != HOCKET__JSON_OBJECT) {
        hocket__json_pass(j);
        return;
    }
    while (hocket__json_key(j)) {
        if (hocket__key_is(j, "usage"))
            read_usage(r, j);
        else if (hocket__key_is(j, "error"))
            *error = hocket__json_value(j);
    }
}

/* The members before the first `choices` are id, model and such, mostly: whoever knows them goes on
 * there. */
static int read_chunk(struct hocket__reader *r, struct hocket__json *j, struct hocket__str *error,
    struct hocket_error *err)
{
    bool known = hocket__head_jump(r, j), plain = !known;
    int status = known ? read_choices(r, j, err) : 0;
    while (status == 0 && hocket__json_key(j)) {
        if (hocket__key_is(j, "choices")) {
            if (plain)
                status = hocket__head_keep(r, j);
            plain = false;
            if (status == 0)
                status = read_choices(r, j, err);
        } else if (hocket__key_is(j, "id")) {
            hocket__openai_read_once(j, &r->reply->id);
        } else if (hocket__key_is(j, "model")) {
            hocket__openai_read_once(j, &r->reply->model);
        } else if (hocket__key_is(j, "usage")) {
            plain = false;
            read_usage(r, j);
        } else if (hocket__key_is(j, "error")) {
            plain = false;
            *error = hocket__json_value(j);
        } else if (hocket__key_is(j, "x_groq")) {
            plain = false;
            read_groq(r, j, error);
        } else if (hocket__key_is(j, "obfuscation")) {
            plain = false;
            hocket__json_next(j);
            hocket__twin_hole(r, j);
            hocket__json_pass(j);
        }
    }
    if (status == 0 && hocket__json_end(j, NULL) < 0)
        status = hocket__proto_broken(j, err);
    return status;
}

/* An error may come with a status of 200, in a chunk or as the whole body. */
static int read_text(
    struct hocket__reader *r, struct hocket__str text, const char *where, struct hocket_error *err)
{
    struct hocket__json j;
    struct hocket__str error = { "", 0 };
    hocket__json_init(&j, text);
    if (hocket__json_next(&j) != HOCKET__JSON_OBJECT) {
        hocket__json_pass(&j);
        return hocket__json_end(&j, NULL) < 0 ? hocket__proto_broken(&j, err) : 0;
    }
    /* an object that has nothing of a chunk is a proxy's word, and most likely its error */
    r->flags &= ~(uint32_t) HOCKET__CHAT_KNOWN;
    int status = read_chunk(r, &j, &error, err);
    if (status == 0 && hocket__is_error_value(error))
        hocket__reply_set_error(r->reply, where, 0, text);
    else if (status == 0 && !(r->flags & HOCKET__CHAT_KNOWN))
        hocket__reply_foreign_error(r->reply, where, 0, text);
    return status;
}

static int read_event(struct hocket__reader *r, struct hocket__str type, struct hocket__str data,
    struct hocket_error *err)
{
    (void) type;
    int status = read_text(r, data, "stream", err);
    if (r->reply->error.where)
        hocket__twin_give_up(r);
    return status;
}

/* Checks for [DONE] before anything is read as JSON, which it is not. */
static int openai_chat_event(struct hocket__reader *r, struct hocket__str type,
    struct hocket__str data, struct hocket_error *err)
{
    if (data.n >= 6 && memcmp(data.p, "[DONE]", 6) == 0) {
        r->done = true;
        return 0;
    }
    if (hocket__str_is(type, "error")) {
        hocket__reply_set_error(r->reply, "stream", 0, data);
        return 0;
    }
    return hocket__twin_event(r, type, data, read_event, err);
}

static int openai_chat_body(
    struct hocket__reader *r, int http_status, struct hocket__str body, struct hocket_error *err)
{
    r->flags |= HOCKET__CHAT_BODY;
    int status = read_text(r, body, "body_200", err);
    if (status == 0 && !r->reply->error.where && !(r->flags & HOCKET__CHAT_CHOICE))
        status = hocket__error(err, HOCKET_EPROTOCOL, "the answer has no choices");
    r->done = status == 0;
    return status;
}

/* A connection that ends is no end: libcurl calls a stream that was cut complete. */
static int openai_chat_end(struct hocket__reader *r, struct hocket_error *err)
{
    struct hocket__reply *reply = r->reply;
    /* some servers send no [DONE], others no finish_reason: either will do */
    bool ended = r->done || (r->flags & HOCKET__CHAT_FINISH);
    if (!ended || !(r->flags & HOCKET__CHAT_CHOICE))
        return hocket__error(err, HOCKET_ETRUNCATED, "the answer ended before its end was said");
    reply->finish = hocket__finish_of(hocket__buf_str(&reply->finish_raw));
    if (reply->has_finish_raw && reply->finish == HOCKET__FINISH_NONE)
        reply->finish = HOCKET__FINISH_STOP; /* as it is read; whether it is enough, see finish.h */
    hocket__reply_normalise(reply);
    reply->complete = true;
    return hocket__chat_replay(r, err);
}

static int url(const struct hocket__llm_request *q, const char *base, struct hocket__buf *out)
{
    hocket__buf_adds(out, base);
    return hocket__buf_adds(out, "/chat/completions");
}

const struct hocket__proto hocket__proto_openai_chat = {
    .name = "openai_chat",
    .framing = HOCKET__FRAMING_SSE,
    .url = url,
    .key_header = "Authorization",
    .key_prefix = "Bearer ",
    .headers = (const char *const[]){ NULL },
    .write = hocket__openai_chat_write,
    .message = hocket__openai_chat_message,
    .event = openai_chat_event,
    .body = openai_chat_body,
    .end = openai_chat_end,
};
