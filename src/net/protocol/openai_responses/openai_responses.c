/* Reads the answers of the Responses protocol, and is its row in the protocol table. openai_responses.h says how it is spoken. */
#include "net/protocol/openai_responses/openai_responses.h"

#include "net/protocol/finish.h"
#include "net/protocol/twin.h"

/* Output items of the Responses protocol, one by one and as the list that ends an
 * answer.
 *
 * An item is found again by its id, or by its place where it has none. The items that have to come
 * back with the history (reasoning, calls of the provider's own tools) are kept as they came. */

static enum hocket__item_kind kind_of(const struct hocket__piece *type)
{
    static const struct {
        const char *word;
        enum hocket__item_kind kind;
    } map[] = {
        { "message", HOCKET__ITEM_MESSAGE },
        { "reasoning", HOCKET__ITEM_REASONING },
        { "function_call", HOCKET__ITEM_CALL },
        { "custom_tool_call", HOCKET__ITEM_CUSTOM_CALL },
    };
    for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++)
        if (hocket__piece_is(type, map[i].word))
            return map[i].kind;
    return HOCKET__ITEM_OTHER;
}

void hocket__item_read(struct hocket__json *j, struct hocket__item *item)
{
    const char *from = j->p - 1;
    *item = (struct hocket__item){ 0 };
    while (hocket__json_key(j)) {
        if (hocket__key_is(j, "type"))
            hocket__piece_read(j, &item->type);
        else if (hocket__key_is(j, "call_id"))
            hocket__piece_read(j, &item->call_id);
        else if (hocket__key_is(j, "name"))
            hocket__piece_read(j, &item->name);
        else if (hocket__key_is(j, "arguments") || hocket__key_is(j, "input"))
            hocket__piece_read(j, &item->arguments);
        else if (hocket__key_is(j, "content"))
            item->content = hocket__json_value(j);
        else if (hocket__key_is(j, "summary"))
            item->summary = hocket__json_value(j);
        else if (hocket__key_is(j, "encrypted_content"))
            item->encrypted = hocket__json_value(j);
    }
    item->kind = kind_of(&item->type);
    item->raw = hocket__str(from, (size_t) (j->p - from));
}

/* A part has its text under `text`, a refusal under `refusal`. */
static void add_part(struct hocket__json *j, struct hocket__buf *text, struct hocket__buf *refusal)
{
    while (hocket__json_key(j)) {
        bool is_refusal = hocket__key_is(j, "refusal");
        if (!is_refusal && !hocket__key_is(j, "text"))
            continue;
        struct hocket__piece p = { 0 };
        hocket__piece_read(j, &p);
        if (!is_refusal)
            hocket__piece_add(&p, text);
        else if (refusal)
            hocket__piece_add(&p, refusal);
    }
}

static void add_parts(
    struct hocket__str list, struct hocket__buf *text, struct hocket__buf *refusal)
{
    struct hocket__json j;
    hocket__json_init(&j, list);
    if (list.n == 0 || hocket__json_next(&j) != HOCKET__JSON_ARRAY)
        return;
    while (hocket__json_element(&j))
        if (j.token == HOCKET__JSON_OBJECT)
            add_part(&j, text, refusal);
        else
            hocket__json_pass(&j);
}

/* Appends the texts of a message or reasoning item to the buffers that are its kind's. */
static void item_texts(const struct hocket__item *item, struct hocket__buf *text,
    struct hocket__buf *reasoning, struct hocket__buf *refusal)
{
    if (item->kind == HOCKET__ITEM_MESSAGE) {
        add_parts(item->content, text, refusal);
    } else if (item->kind == HOCKET__ITEM_REASONING) {
        size_t before = reasoning->len;
        add_parts(item->content, reasoning, NULL);
        if (reasoning->len == before)
            add_parts(item->summary, reasoning, NULL);
    }
}

static bool has_id(const struct hocket__call *call, const struct hocket__item *item)
{
    struct hocket__str id = item->call_id.inside;
    return id.n > 0 && hocket__str_eq(id, hocket__buf_str(&call->id));
}

/* Finds the call of an item by its index (-1: none), else by call_id; n_calls when there is none.
 * Two items may have one call_id. */
static size_t find(
    const struct hocket__reply *reply, const struct hocket__item *item, int64_t index)
{
    for (size_t i = 0; i < reply->n_calls; i++)
        if (index >= 0 && reply->calls[i].index == index)
            return i;
    for (size_t i = 0; i < reply->n_calls; i++)
        if ((index < 0 || reply->calls[i].index < 0) && has_id(&reply->calls[i], item))
            return i;
    return reply->n_calls;
}

/* The text of a finished item replaces what its deltas made, and is reported when there were none.
 */
static void set_arguments(struct hocket__reader *r, size_t pos, const struct hocket__item *item)
{
    struct hocket__call *call = &r->reply->calls[pos];
    if (!item->arguments.set)
        return;
    call->has_raw = true;
    if (call->arguments.len == 0)
        hocket__reader_arguments(r, pos, &item->arguments);
    else if (item->arguments.inside.n > 0)
        hocket__piece_set(&item->arguments, &call->arguments);
}

/* Fills calls[pos], or a new call when pos is n_calls. */
static int responses_call(struct hocket__reader *r, const struct hocket__item *item, size_t pos,
    int64_t index, struct hocket_error *err)
{
    if (pos == r->reply->n_calls) {
        struct hocket__call *call;
        int status = hocket__reader_call(r, &call, err);
        if (!call)
            return status;
        call->index = index;
    }
    struct hocket__call *call = &r->reply->calls[pos];
    call->free_form |= item->kind == HOCKET__ITEM_CUSTOM_CALL;
    call->has_id |= item->call_id.set;
    hocket__piece_set(&item->call_id, &call->id);
    hocket__piece_set(&item->name, &call->name);
    set_arguments(r, pos, item);
    return 0;
}

/* ---- The whole list ---- */

struct sums {
    struct hocket__buf text, reasoning, refusal;
    bool taken[HOCKET__REPLY_MAX_CALLS]; /* calls that an item of the list stands for */
    bool wants_replay, broken;
};

/* Encrypted thoughts, compacted contexts and the work of the server's own tools mean something only to it. */
static bool is_wanted_back(const struct hocket__item *item)
{
    return item->kind == HOCKET__ITEM_REASONING || item->kind == HOCKET__ITEM_OTHER;
}

/* An id may stand twice in the list; and where relays make up new ids for the same calls, the
 * order tells which is meant. */
static size_t find_place(
    const struct hocket__reply *reply, const struct hocket__item *item, struct sums *s)
{
    size_t pos = reply->n_calls;
    for (size_t i = reply->n_calls; i-- > 0;)
        if (!s->taken[i])
            pos = i;
    for (size_t i = reply->n_calls; i-- > 0;)
        if (!s->taken[i] && has_id(&reply->calls[i], item))
            pos = i;
    if (pos < HOCKET__REPLY_MAX_CALLS)
        s->taken[pos] = true;
    return pos;
}

/* What its parts cite, and pictures. */
static void add_found(struct hocket__reply *reply, const struct hocket__item *item)
{
    struct hocket__json j;
    struct hocket__str part, notes;
    if (hocket__piece_is(&item->type, "image_generation_call"))
        hocket__reply_found(reply, item->raw);
    if (item->kind != HOCKET__ITEM_MESSAGE || item->content.n == 0)
        return;
    hocket__json_init(&j, item->content);
    hocket__json_next(&j);
    while (hocket__json_element(&j))
        if (hocket__json_skip(&j, &part) == 0 && hocket__json_find(part, "annotations", &notes))
            hocket__reply_found_all(reply, notes);
}

static int add_item(struct hocket__reader *r, const struct hocket__item *item, int64_t index,
    struct sums *s, struct hocket_error *err)
{
    s->wants_replay |= is_wanted_back(item);
    add_found(r->reply, item);
    item_texts(item, &s->text, &s->reasoning, &s->refusal);
    if (item->kind == HOCKET__ITEM_OTHER)
        hocket__reply_server_item(r->reply, &item->type);
    if (item->kind != HOCKET__ITEM_CALL && item->kind != HOCKET__ITEM_CUSTOM_CALL)
        return 0;
    s->broken |= item->call_id.inside.n == 0 || item->name.inside.n == 0;
    return responses_call(r, item, find_place(r->reply, item, s), index, err);
}

/* Takes over what the list says; a list that leaves the texts out does not take them away. */
static void take(struct hocket__buf *into, struct hocket__buf *from)
{
    if (from->len > 0 || from->status < 0) {
        hocket__buf_deinit(into);
        *into = *from;
    } else {
        hocket__buf_deinit(from);
    }
}

/* Calls in the order of the items, whatever order they came in. */
static void sort_calls(struct hocket__reply *reply)
{
    for (size_t i = 1; i < reply->n_calls; i++)
        for (size_t k = i; k > 0 && reply->calls[k - 1].index > reply->calls[k].index; k--) {
            struct hocket__call call = reply->calls[k];
            reply->calls[k] = reply->calls[k - 1];
            reply->calls[k - 1] = call;
        }
}

static int add_items(
    struct hocket__reader *r, struct hocket__str list, struct sums *s, struct hocket_error *err)
{
    struct hocket__json j;
    struct hocket__item item;
    int status = 0;
    hocket__json_init(&j, list);
    hocket__json_next(&j);
    for (int64_t index = 0; status == 0 && hocket__json_element(&j); index++) {
        if (j.token != HOCKET__JSON_OBJECT) {
            hocket__json_pass(&j);
            continue;
        }
        hocket__item_read(&j, &item);
        status = add_item(r, &item, index, s, err);
    }
    return status;
}

/* Takes the list of items that ends an answer as the authority: texts, calls, server
 * items and what has to be replayed. */
static int responses_output(
    struct hocket__reader *r, struct hocket__str list, struct hocket_error *err)
{
    struct hocket__reply *reply = r->reply;
    struct sums s = { 0 };
    hocket__buf_init(&s.text, reply->a, reply->max);
    hocket__buf_init(&s.reasoning, reply->a, reply->max);
    hocket__buf_init(&s.refusal, reply->a, reply->max);
    hocket__buf_cut(&reply->server_items, 0);
    hocket__buf_cut(&reply->found, 0);
    int status = add_items(r, list, &s, err);
    sort_calls(reply);
    take(&reply->text, &s.text);
    take(&reply->reasoning, &s.reasoning);
    take(&reply->refusal, &s.refusal);
    reply->has_refusal = reply->refusal.len > 0;
    hocket__buf_cut(&reply->replay, 0);
    if (s.wants_replay && !s.broken) /* a result could not name such a call */
        hocket__buf_addstr(&reply->replay, list);
    return status;
}

/* Reads the events and bodies of the Responses protocol. Events of items that the
 * provider works on itself, and events not known yet, are passed over.
 *
 * The event that ends a stream holds the whole response, which replaces what deltas had built: so a
 * delta that was missed or came twice changes nothing that is kept. */

/* ---- Responses: at the start and the end of a stream, or a whole body ---- */

struct response {
    struct hocket__piece status, reason;
    struct hocket__str output, error, usage;
};

static void read_reason(struct hocket__json *j, struct hocket__piece *reason)
{
    if (hocket__json_next(j) != HOCKET__JSON_OBJECT) {
        hocket__json_pass(j);
        return;
    }
    while (hocket__json_key(j))
        if (hocket__key_is(j, "reason"))
            hocket__piece_read(j, reason);
}

/* The object whose begin was read. */
static void read_response(struct hocket__json *j, struct hocket__reply *reply, struct response *res)
{
    while (hocket__json_key(j)) {
        if (hocket__key_is(j, "id"))
            hocket__openai_read_once(j, &reply->id);
        else if (hocket__key_is(j, "model"))
            hocket__openai_read_once(j, &reply->model);
        else if (hocket__key_is(j, "status"))
            hocket__piece_read(j, &res->status);
        else if (hocket__key_is(j, "incomplete_details"))
            read_reason(j, &res->reason);
        else if (hocket__key_is(j, "output"))
            res->output = hocket__json_value(j);
        else if (hocket__key_is(j, "error"))
            res->error = hocket__json_value(j);
        else if (hocket__key_is(j, "usage"))
            res->usage = hocket__json_value(j);
    }
}

static void set_usage(struct hocket__reply *reply, struct hocket__str usage)
{
    struct hocket__usage u = { -1, -1, -1, -1, -1 };
    struct hocket__json j;
    hocket__json_init(&j, usage);
    if (usage.n == 0 || hocket__json_next(&j) != HOCKET__JSON_OBJECT)
        return;
    while (hocket__json_key(&j)) {
        if (hocket__key_is(&j, "input_tokens"))
            u.input = hocket__json_count(&j);
        else if (hocket__key_is(&j, "output_tokens"))
            u.output = hocket__json_count(&j);
        else if (hocket__key_is(&j, "input_tokens_details")
                 || hocket__key_is(&j, "output_tokens_details"))
            hocket__openai_usage_details(&j, &u);
    }
    reply->usage = u;
    hocket__reply_set(&reply->usage_raw, usage);
}

/* Incomplete without a reason is a limit: filters say so. An unknown reason ("completed" as the reason of an
 * incomplete answer) is no good end. */
static enum hocket__finish incomplete(const struct hocket__piece *reason)
{
    enum hocket__finish f = hocket__finish_of(reason->inside);
    if (f == HOCKET__FINISH_NONE || f == HOCKET__FINISH_LENGTH)
        return HOCKET__FINISH_LENGTH;
    return f == HOCKET__FINISH_FILTER ? HOCKET__FINISH_FILTER : HOCKET__FINISH_ERROR;
}

static enum hocket__finish finish_of(const struct response *res)
{
    if (!res->status.set)
        return HOCKET__FINISH_NONE;
    if (hocket__piece_is(&res->status, "incomplete"))
        return incomplete(&res->reason);
    return hocket__piece_is(&res->status, "completed") ? HOCKET__FINISH_STOP : HOCKET__FINISH_ERROR;
}

/* Servers differ in which of the two they set. */
static bool has_failed(const struct response *res)
{
    return hocket__is_error_value(res->error) || hocket__piece_is(&res->status, "failed");
}

/* A response at its end. */
static int end_response(
    struct hocket__reader *r, const struct response *res, struct hocket_error *err)
{
    struct hocket__reply *reply = r->reply;
    int status = 0;
    if (res->output.n > 2 && res->output.p[0] == '[')
        status = responses_output(r, res->output, err);
    set_usage(reply, res->usage);
    hocket__reply_finish(reply, &res->status);
    if (res->reason.set) {
        hocket__buf_addc(&reply->finish_raw, ':');
        hocket__piece_add(&res->reason, &reply->finish_raw);
    }
    reply->finish = finish_of(res);
    if (has_failed(res))
        hocket__reply_set_error(
            reply, "response", 0, res->error.n > 0 ? res->error : HOCKET__STR("{}"));
    r->over = true;
    return status;
}

/* ---- Events ---- */

struct event {
    struct hocket__piece type, delta;
    int64_t index;
    struct hocket__str item, response, error;
    bool typed; /* by a member of its own */
};

/* r->mask remembers which items have sent deltas: such a one, finished, adds nothing. */
static uint64_t bit_of(int64_t index)
{
    return (uint64_t) 1 << (index < 0 ? 0 : index % 64);
}

static int add_text(struct hocket__reader *r, const struct event *e, enum hocket__delta_kind kind)
{
    r->mask |= bit_of(e->index);
    hocket__reader_text(r, kind, &e->delta);
    return 0;
}

static int add_refusal(struct hocket__reader *r, const struct event *e)
{
    r->mask |= bit_of(e->index);
    hocket__reader_refusal(r, &e->delta);
    r->reply->has_refusal = r->reply->refusal.len > 0;
    return 0;
}

/* Some servers leave out the event that begins a call: then its first arguments begin it. */
static int add_arguments(
    struct hocket__reader *r, const struct event *e, bool free_form, struct hocket_error *err)
{
    struct hocket__item item = { .kind = free_form ? HOCKET__ITEM_CUSTOM_CALL : HOCKET__ITEM_CALL };
    size_t pos = find(r->reply, &item, e->index);
    if (pos == r->reply->n_calls) {
        hocket__twin_give_up(r);
        int status = responses_call(r, &item, pos, e->index, err);
        if (status < 0 || pos == r->reply->n_calls)
            return status;
    }
    r->reply->calls[pos].has_raw = true;
    hocket__reader_arguments(r, pos, &e->delta);
    return 0;
}

/* Other items are text, thoughts, and what the provider works on itself. */
static bool is_call(const struct hocket__item *item)
{
    return item->kind == HOCKET__ITEM_CALL || item->kind == HOCKET__ITEM_CUSTOM_CALL;
}

static bool open_item(const struct event *e, struct hocket__item *item)
{
    struct hocket__json j;
    hocket__json_init(&j, e->item);
    if (e->item.n == 0 || hocket__json_next(&j) != HOCKET__JSON_OBJECT)
        return false;
    hocket__item_read(&j, item);
    return true;
}

/* A call's name is known from its start; arguments follow in deltas. */
static int begin_item(struct hocket__reader *r, const struct event *e, struct hocket_error *err)
{
    struct hocket__item item;
    if (!open_item(e, &item) || !is_call(&item))
        return 0;
    size_t pos = find(r->reply, &item, e->index);
    return responses_call(r, &item, pos, e->index, err);
}

static void report(struct hocket__reader *r, enum hocket__delta_kind kind,
    const struct hocket__buf *b, size_t from)
{
    if (r->on_delta && b->len > from)
        r->on_delta(r->ud, kind, 0, hocket__str(b->data + from, b->len - from));
}

static void add_finished(struct hocket__reader *r, const struct hocket__item *item)
{
    struct hocket__reply *reply = r->reply;
    size_t text = reply->text.len, reasoning = reply->reasoning.len;
    item_texts(item, &reply->text, &reply->reasoning, &reply->refusal);
    reply->has_refusal = reply->refusal.len > 0;
    report(r, HOCKET__DELTA_TEXT, &reply->text, text);
    report(r, HOCKET__DELTA_REASONING, &reply->reasoning, reasoning);
}

/* r->slot: the index of the item that was finished last. */
static bool is_again(const struct hocket__reader *r, const struct event *e, struct hocket__str raw)
{
    const struct hocket__buf *b = &r->state;
    return e->index >= 0 && r->slot == e->index && b->len > raw.n
           && memcmp(b->data + b->len - raw.n, raw.p, raw.n) == 0;
}

/* Finished items are kept (r->state), in case the end of the stream leaves them out. */
static int end_item(struct hocket__reader *r, const struct event *e, struct hocket_error *err)
{
    struct hocket__item item;
    if (!open_item(e, &item) || is_again(r, e, item.raw))
        return 0;
    r->slot = e->index;
    hocket__buf_addc(&r->state, r->state.len > 0 ? ',' : '[');
    hocket__buf_addstr(&r->state, item.raw);
    if (is_call(&item)) {
        size_t pos = find(r->reply, &item, e->index);
        return responses_call(r, &item, pos, e->index, err);
    }
    if (item.kind == HOCKET__ITEM_OTHER)
        hocket__reply_server_item(r->reply, &item.type);
    else if (!(r->mask & bit_of(e->index)))
        add_finished(r, &item);
    return 0;
}

/* A second response in the same stream (a server that runs its tools and goes on) stands for
 * itself: what the first one said is forgotten. */
static void forget(struct hocket__reader *r)
{
    hocket__reply_deinit(r->reply);
    hocket__buf_reset(&r->state);
    r->mask = 0;
    r->over = false;
    r->half.code = 0;
}

static int begin_response(struct hocket__reader *r, const struct event *e)
{
    struct hocket__json j;
    struct response res = { 0 };
    if (r->over)
        forget(r);
    hocket__json_init(&j, e->response);
    if (e->response.n > 0 && hocket__json_next(&j) == HOCKET__JSON_OBJECT)
        read_response(&j, r->reply, &res);
    return 0;
}

/* Of the event's name and the status in it the worse one counts; one that tells of work under way was not
 * brought up to date. "queued" is work that has not begun. */
static void settle_status(struct response *res, const char *word)
{
    const struct hocket__piece *s = &res->status;
    if (!s->set || hocket__piece_is(s, "completed") || hocket__piece_is(s, "in_progress")
        || strcmp(word, "failed") == 0)
        res->status = (struct hocket__piece){ hocket__cstr(word), false, true };
}

/* The last event. Where its response is missing or has no output, the finished items count. A
 * second one says nothing new. */
static int last_event(
    struct hocket__reader *r, const struct event *e, const char *word, struct hocket_error *err)
{
    struct hocket__json j;
    struct response res = { 0 };
    if (r->over)
        return 0;
    hocket__json_init(&j, e->response);
    if (e->response.n > 0 && hocket__json_next(&j) == HOCKET__JSON_OBJECT)
        read_response(&j, r->reply, &res);
    settle_status(&res, word);
    if (res.output.n <= 2 && r->state.len > 0) {
        hocket__buf_addc(&r->state, ']');
        res.output = hocket__buf_str(&r->state);
    }
    return end_response(r, &res, err);
}

enum event_kind {
    EVENT_TEXT,
    EVENT_ARGUMENTS,
    EVENT_INPUT,
    EVENT_SUMMARY,
    EVENT_REASONING, /* so far they add a text, and do nothing else */
    EVENT_REFUSAL,
    EVENT_ITEM_BEGIN,
    EVENT_ITEM_END,
    EVENT_BEGIN,
    EVENT_COMPLETED,
    EVENT_INCOMPLETE,
    EVENT_FAILED,
    EVENT_ERROR,
    EVENT_OTHER,
};

static enum event_kind event_kind(const struct hocket__piece *type)
{
    static const struct {
        struct hocket__str word;
        enum event_kind kind;
    } map[] = {
#define ROW(word, kind) { { word, sizeof(word) - 1 }, kind }
        ROW("response.output_text.delta", EVENT_TEXT),
        ROW("response.function_call_arguments.delta", EVENT_ARGUMENTS),
        ROW("response.reasoning_summary_text.delta", EVENT_SUMMARY),
        ROW("response.reasoning_text.delta", EVENT_REASONING),
        ROW("response.custom_tool_call_input.delta", EVENT_INPUT),
        ROW("response.refusal.delta", EVENT_REFUSAL),
        ROW("response.output_item.added", EVENT_ITEM_BEGIN),
        ROW("response.output_item.done", EVENT_ITEM_END),
        ROW("response.created", EVENT_BEGIN),
        ROW("response.in_progress", EVENT_BEGIN),
        ROW("response.queued", EVENT_BEGIN),
        ROW("response.completed", EVENT_COMPLETED),
        ROW("response.incomplete", EVENT_INCOMPLETE),
        ROW("response.failed", EVENT_FAILED),
        ROW("error", EVENT_ERROR),
#undef ROW
    };
    for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++)
        if (hocket__str_eq(type->inside, map[i].word))
            return map[i].kind;
    return EVENT_OTHER;
}

/* News of the protocol are passed over; what is none of its events may be somebody's error. */
static int take_other(struct hocket__reader *r, const struct event *e, struct hocket__str data)
{
    if (hocket__str_begins(e->type.inside, "response."))
        return 0;
    if (hocket__is_error_value(e->error))
        hocket__reply_set_error(r->reply, "stream", 0, data);
    else if (!e->typed)
        hocket__reply_foreign_error(r->reply, "stream", 0, data);
    return 0;
}

static int take_event(struct hocket__reader *r, const struct event *e, struct hocket__str data,
    struct hocket_error *err)
{
    enum event_kind kind = event_kind(&e->type);
    if (kind > EVENT_REASONING || !e->typed)
        hocket__twin_give_up(r);
    switch (kind) {
    case EVENT_TEXT: return add_text(r, e, HOCKET__DELTA_TEXT);
    case EVENT_SUMMARY:
    case EVENT_REASONING: return add_text(r, e, HOCKET__DELTA_REASONING);
    case EVENT_REFUSAL: return add_refusal(r, e);
    case EVENT_ARGUMENTS: return add_arguments(r, e, false, err);
    case EVENT_INPUT: return add_arguments(r, e, true, err);
    case EVENT_ITEM_BEGIN: return begin_item(r, e, err);
    case EVENT_ITEM_END: return end_item(r, e, err);
    case EVENT_BEGIN: return begin_response(r, e);
    case EVENT_COMPLETED: return last_event(r, e, "completed", err);
    case EVENT_INCOMPLETE: return last_event(r, e, "incomplete", err);
    case EVENT_FAILED: return last_event(r, e, "failed", err);
    case EVENT_ERROR: hocket__reply_set_error(r->reply, "stream", 0, data); return 0;
    default: return take_other(r, e, data);
    }
}

static void read_member(struct hocket__reader *r, struct hocket__json *j, struct event *e)
{
    if (hocket__key_is(j, "type")) {
        hocket__piece_read(j, &e->type);
    } else if (hocket__key_is(j, "delta")) {
        hocket__piece_read(j, &e->delta);
    } else if (hocket__key_is(j, "output_index")) {
        e->index = hocket__json_count(j);
    } else if (hocket__key_is(j, "sequence_number") || hocket__key_is(j, "obfuscation")) {
        hocket__json_next(j);
        hocket__twin_hole(r, j);
        hocket__json_pass(j);
    } else if (hocket__key_is(j, "item")) {
        e->item = hocket__json_value(j);
    } else if (hocket__key_is(j, "response")) {
        e->response = hocket__json_value(j);
    } else if (hocket__key_is(j, "error")) {
        e->error = hocket__json_value(j);
    }
}

/* Members may come in any order, so all are read first, and what the event means is decided then. */
static int read_event(struct hocket__reader *r, struct hocket__str type, struct hocket__str data,
    struct hocket_error *err)
{
    struct hocket__json j;
    struct event e = { .index = -1 };
    hocket__json_init(&j, data);
    if (hocket__json_next(&j) == HOCKET__JSON_OBJECT)
        while (hocket__json_key(&j))
            read_member(r, &j, &e);
    else
        hocket__json_pass(&j);
    if (hocket__json_end(&j, NULL) < 0)
        return hocket__proto_broken(&j, err);
    e.typed = e.type.set;
    if (!e.type.set) /* servers that name only the event, or send a bare error */
        e.type =
            (struct hocket__piece){ hocket__is_error_value(e.error) ? HOCKET__STR("error") : type,
                false, true };
    return take_event(r, &e, data, err);
}

/* Nearly all are deltas, each the one before but for its text and its number. */
static int openai_responses_event(struct hocket__reader *r, struct hocket__str type,
    struct hocket__str data, struct hocket_error *err)
{
    if (data.n >= 6 && memcmp(data.p, "[DONE]", 6) == 0)
        return 0; /* some copies send it; the end is the last response */
    return hocket__twin_event(r, type, data, read_event, err);
}

/* ---- Bodies ---- */

static int openai_responses_body(
    struct hocket__reader *r, int http_status, struct hocket__str body, struct hocket_error *err)
{
    struct hocket__json j;
    struct response res = { 0 };
    hocket__json_init(&j, body);
    if (hocket__json_next(&j) == HOCKET__JSON_OBJECT)
        read_response(&j, r->reply, &res);
    else
        hocket__json_pass(&j);
    if (hocket__json_end(&j, NULL) < 0)
        return hocket__proto_broken(&j, err);
    if (!res.status.set && hocket__is_error_value(res.error)) {
        hocket__reply_set_error(r->reply, "body_200", 0, body);
        return 0;
    }
    bool is_none = !res.status.set && res.output.n == 0;
    if (is_none && hocket__reply_foreign_error(r->reply, "body_200", 0, body))
        return 0;
    if (is_none)
        return hocket__error(err, HOCKET_EPROTOCOL, "the answer is no response");
    if (hocket__piece_is(&res.status, "in_progress"))
        return hocket__error(err, HOCKET_EPROTOCOL, "the response is not finished");
    return end_response(r, &res, err);
}

/* A stream that just stops is no answer, even if its text looks whole. */
static int openai_responses_end(struct hocket__reader *r, struct hocket_error *err)
{
    if (!r->over)
        return hocket__error(err, HOCKET_ETRUNCATED, "the answer ended before its last event");
    hocket__reply_normalise(r->reply);
    r->reply->complete = true;
    return r->state.status < 0 ? hocket__proto_written(&r->state, err) : 0;
}

static int url(const struct hocket__llm_request *q, const char *base, struct hocket__buf *out)
{
    hocket__buf_adds(out, base);
    return hocket__buf_adds(out, "/responses");
}

const struct hocket__proto hocket__proto_openai_responses = {
    .name = "openai_responses",
    .framing = HOCKET__FRAMING_SSE,
    .url = url,
    .key_header = "Authorization",
    .key_prefix = "Bearer ",
    .headers = (const char *const[]){ NULL },
    .write = hocket__openai_responses_write,
    .message = hocket__openai_responses_message,
    .event = openai_responses_event,
    .body = openai_responses_body,
    .end = openai_responses_end,
};
