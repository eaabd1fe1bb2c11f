/* What a chat server wants back unchanged with the assistant's next message:
 *
 *   {"reasoning_details": [...], "extra_content": {...}, "calls": [null, {...}, ...]}
 *
 * (`calls`: the extra_content of each call, as Gemini's signatures come over this
 * protocol). A stream sends reasoning_details in small chunks; neighbours with the same type and
 * index are joined again, or the model would get as many thoughts as there were chunks. */
#include "net/protocol/openai_chat/openai_chat.h"

struct detail {
    struct hocket__piece type;
    struct hocket__str index, id, format, data, signature; /* JSON values, empty: none */
    struct hocket__piece text, summary;
};

static void keep(struct hocket__json *j, struct hocket__str *out)
{
    struct hocket__str value = hocket__json_value(j);
    if (value.n > 0)
        *out = value;
}

static void read_detail(struct hocket__json *j, struct detail *d)
{
    while (hocket__json_key(j)) {
        if (hocket__key_is(j, "type"))
            hocket__piece_read(j, &d->type);
        else if (hocket__key_is(j, "text"))
            hocket__piece_read(j, &d->text);
        else if (hocket__key_is(j, "summary"))
            hocket__piece_read(j, &d->summary);
        else if (hocket__key_is(j, "index"))
            keep(j, &d->index);
        else if (hocket__key_is(j, "id"))
            keep(j, &d->id);
        else if (hocket__key_is(j, "format"))
            keep(j, &d->format);
        else if (hocket__key_is(j, "data"))
            keep(j, &d->data);
        else if (hocket__key_is(j, "signature"))
            keep(j, &d->signature);
    }
}

static void put(struct hocket__buf *out, const char *key, struct hocket__str value)
{
    if (value.n > 0) {
        hocket__jw_key(out, key);
        hocket__buf_addstr(out, value);
    }
}

static void put_detail(struct hocket__buf *out, const struct detail *d, struct hocket__buf *text)
{
    hocket__jw_open(out, '{');
    hocket__jw_key(out, "type");
    hocket__piece_write(&d->type, out);
    if (d->text.set || d->summary.set) {
        struct hocket__piece joined = { hocket__buf_str(text), true, true };
        hocket__jw_key(out, d->text.set ? "text" : "summary");
        hocket__piece_write(&joined, out);
    }
    put(out, "data", d->data);
    put(out, "signature", d->signature);
    put(out, "id", d->id);
    put(out, "format", d->format);
    put(out, "index", d->index);
    hocket__jw_close(out, '}');
    hocket__buf_cut(text, 0);
}

/* Encrypted data comes whole: two of them are two. */
static bool continues(const struct detail *open, const struct detail *next)
{
    return open->type.set && hocket__str_eq(open->type.inside, next->type.inside)
           && hocket__str_eq(open->index, next->index) && next->data.n == 0;
}

static void join(struct detail *open, const struct detail *next)
{
    open->text.set |= next->text.set;
    open->summary.set |= next->summary.set;
    if (next->signature.n > 0)
        open->signature = next->signature;
    if (open->id.n == 0)
        open->id = next->id;
    if (open->format.n == 0)
        open->format = next->format;
}

/* `list` is an array of chunks; `text` is working space. */
static void put_joined(struct hocket__buf *out, struct hocket__str list, struct hocket__buf *text)
{
    struct hocket__json j;
    struct detail open = { 0 };
    hocket__json_init(&j, list);
    hocket__json_next(&j);
    hocket__buf_cut(text, 0);
    while (hocket__json_element(&j)) {
        struct detail next = { 0 };
        if (j.token != HOCKET__JSON_OBJECT) {
            hocket__json_pass(&j);
            continue;
        }
        read_detail(&j, &next);
        if (continues(&open, &next)) {
            join(&open, &next);
        } else {
            if (open.type.set)
                put_detail(out, &open, text);
            open = next;
        }
        hocket__buf_addstr(text, next.text.set ? next.text.inside : next.summary.inside);
    }
    if (open.type.set)
        put_detail(out, &open, text);
}

static void put_details(struct hocket__reader *r, struct hocket__buf *out)
{
    struct hocket__buf list;
    hocket__jw_key_open(out, "reasoning_details", '[');
    if (r->flags & HOCKET__CHAT_BODY) {
        hocket__buf_addstr(out, hocket__buf_str(&r->state));
    } else {
        hocket__buf_init(&list, r->reply->a, 0);
        hocket__buf_addc(&list, '[');
        hocket__buf_addstr(&list, hocket__buf_str(&r->state));
        hocket__buf_addc(&list, ']');
        put_joined(out, hocket__buf_str(&list), &r->scratch);
        if (list.status < 0)
            out->status = list.status;
        hocket__buf_deinit(&list);
    }
    hocket__jw_close(out, ']');
}

static bool any_extra(const struct hocket__reply *reply)
{
    for (size_t i = 0; i < reply->n_calls; i++)
        if (reply->calls[i].extra.len > 0)
            return true;
    return false;
}

static void put_calls(const struct hocket__reply *reply, struct hocket__buf *out)
{
    hocket__jw_key_open(out, "calls", '[');
    for (size_t i = 0; i < reply->n_calls; i++)
        if (reply->calls[i].extra.len > 0)
            hocket__jw_raw(out, hocket__buf_str(&reply->calls[i].extra));
        else
            hocket__jw_null(out);
    hocket__jw_close(out, ']');
}

int hocket__chat_replay(struct hocket__reader *r, struct hocket_error *err)
{
    struct hocket__reply *reply = r->reply;
    if (r->state.status < 0)
        return hocket__proto_written(&r->state, err);
    if (r->state.len == 0 && reply->replay.len == 0 && !any_extra(reply))
        return 0;
    struct hocket__buf extra = reply->replay, *out = &reply->replay;
    hocket__buf_init(out, reply->a, reply->max);
    hocket__jw_open(out, '{');
    if (r->state.len > 0)
        put_details(r, out);
    put(out, "extra_content", hocket__buf_str(&extra));
    if (any_extra(reply))
        put_calls(reply, out);
    hocket__jw_close(out, '}');
    hocket__buf_deinit(&extra);
    if (r->scratch.status < 0)
        out->status = r->scratch.status;
    return out->status < 0 ? hocket__proto_written(out, err) : 0;
}
