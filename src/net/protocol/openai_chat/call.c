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
#include "net/protocol/openai_chat/openai_chat.h"

#include "net/protocol/twin.h"

void hocket__chat_function_read(struct hocket__json *j, struct hocket__chat_call *c)
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

void hocket__chat_call_read(struct hocket__json *j, struct hocket__chat_call *c)
{
    struct hocket__chat_call custom = { .index = -1 };
    *c = (struct hocket__chat_call){ .index = -1 };
    while (hocket__json_key(j)) {
        if (hocket__key_is(j, "index")) {
            c->index = hocket__json_count(j);
        } else if (hocket__key_is(j, "id")) {
            hocket__piece_read(j, &c->id);
        } else if (hocket__key_is(j, "function")) {
            hocket__chat_function_read(j, c);
        } else if (hocket__key_is(j, "custom")) {
            hocket__chat_function_read(j, &custom);
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

/* r->slot: the index of the last call that there was no room for. What goes on with it is nobody's,
 * also where an older call had that index, or none is said. */
static bool goes_on_nowhere(const struct hocket__reader *r, const struct hocket__chat_call *c)
{
    if (!r->reply->surplus || c->name.inside.n > 0)
        return false;
    return c->index >= 0 ? c->index == r->slot : c->id.inside.n == 0;
}

int hocket__chat_call_add(struct hocket__reader *r, const struct hocket__chat_call *c, bool whole,
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
