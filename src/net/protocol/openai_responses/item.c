/* Output items of the Responses protocol, one by one and as the list that ends an
 * answer.
 *
 * An item is found again by its id, or by its place where it has none. The items that have to come
 * back with the history (reasoning, calls of the provider's own tools) are kept as they came. */
#include "net/protocol/openai_responses/openai_responses.h"

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

void hocket__item_texts(const struct hocket__item *item, struct hocket__buf *text,
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

size_t hocket__responses_find(
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

int hocket__responses_call(struct hocket__reader *r, const struct hocket__item *item, size_t pos,
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
    hocket__item_texts(item, &s->text, &s->reasoning, &s->refusal);
    if (item->kind == HOCKET__ITEM_OTHER)
        hocket__reply_server_item(r->reply, &item->type);
    if (item->kind != HOCKET__ITEM_CALL && item->kind != HOCKET__ITEM_CUSTOM_CALL)
        return 0;
    s->broken |= item->call_id.inside.n == 0 || item->name.inside.n == 0;
    return hocket__responses_call(r, item, find_place(r->reply, item, s), index, err);
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

int hocket__responses_output(
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
