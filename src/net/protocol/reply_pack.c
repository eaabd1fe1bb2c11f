/* A reply as bytes, so that it can be given again where nobody asks the provider: all that stands in it but
 * errors, which a reply that came has none of.
 *
 *     version    1 byte
 *     texts      each with its length before it, as a number
 *     numbers    8 bytes, low one first */

#include "net/protocol/reply.h"

#define VERSION 1

/* Its own texts, in the order in which they are written. */
#define EACH_TEXT(X, r)                                                                            \
    X(&(r)->text)                                                                                  \
    X(&(r)->reasoning)                                                                             \
    X(&(r)->refusal)                                                                               \
    X(&(r)->replay)                                                                                \
    X(&(r)->server_items)                                                                          \
    X(&(r)->finish_raw)                                                                            \
    X(&(r)->usage_raw)                                                                             \
    X(&(r)->id)                                                                                    \
    X(&(r)->model)

enum { HAS_REFUSAL = 1, SURPLUS = 2, HAS_FINISH_RAW = 4, COMPLETE = 8 };
enum { HAS_ID = 1, HAS_RAW = 2, FREE_FORM = 4 };

static void put_number(struct hocket__buf *out, int64_t v)
{
    char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (char) ((uint64_t) v >> 8 * i);
    hocket__buf_add(out, bytes, sizeof(bytes));
}

static void put_text(struct hocket__buf *out, const struct hocket__buf *b)
{
    put_number(out, (int64_t) b->len);
    hocket__buf_addstr(out, hocket__buf_str(b));
}

static void put_call(struct hocket__buf *out, const struct hocket__call *c)
{
    put_text(out, &c->id);
    put_text(out, &c->name);
    put_text(out, &c->arguments);
    put_text(out, &c->extra);
    put_number(out,
        (c->has_id ? HAS_ID : 0) | (c->has_raw ? HAS_RAW : 0) | (c->free_form ? FREE_FORM : 0));
    put_number(out, c->index);
}

static int64_t flags_of(const struct hocket__reply *r)
{
    return (r->has_refusal ? HAS_REFUSAL : 0) | (r->surplus ? SURPLUS : 0)
           | (r->has_finish_raw ? HAS_FINISH_RAW : 0) | (r->complete ? COMPLETE : 0);
}

void hocket__reply_pack(const struct hocket__reply *r, struct hocket__buf *out)
{
    const struct hocket__usage *u = &r->usage;
    const int64_t numbers[] = { r->finish, flags_of(r), u->input, u->output, u->cached,
        u->cache_write, u->reasoning, (int64_t) r->n_calls };
    hocket__buf_addc(out, VERSION);
#define PUT(b) put_text(out, b);
    EACH_TEXT(PUT, r)
#undef PUT
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        put_number(out, numbers[i]);
    for (size_t i = 0; i < r->n_calls; i++)
        put_call(out, &r->calls[i]);
}

/* ---- Read back: what was damaged is refused -------------------------------------------------- */

struct reader {
    struct hocket__str rest;
    bool wrong;
};

static int64_t number(struct reader *in)
{
    uint64_t v = 0;
    if (in->rest.n < 8) {
        in->wrong = true;
        return 0;
    }
    for (int i = 7; i >= 0; i--)
        v = v << 8 | (unsigned char) in->rest.p[i];
    in->rest = hocket__str(in->rest.p + 8, in->rest.n - 8);
    return (int64_t) v;
}

static void text(struct reader *in, struct hocket__buf *b)
{
    int64_t n = number(in);
    if (in->wrong || n < 0 || (uint64_t) n > in->rest.n) {
        in->wrong = true;
        return;
    }
    hocket__buf_add(b, in->rest.p, (size_t) n);
    in->rest = hocket__str(in->rest.p + n, in->rest.n - (size_t) n);
}

static int64_t between(struct reader *in, int64_t from, int64_t to)
{
    int64_t v = number(in);
    in->wrong |= v < from || v > to;
    return in->wrong ? from : v;
}

static void call(struct reader *in, struct hocket__call *c)
{
    text(in, &c->id);
    text(in, &c->name);
    text(in, &c->arguments);
    text(in, &c->extra);
    int64_t flags = between(in, 0, HAS_ID | HAS_RAW | FREE_FORM);
    c->has_id = flags & HAS_ID;
    c->has_raw = flags & HAS_RAW;
    c->free_form = flags & FREE_FORM;
    c->index = between(in, -1, INT32_MAX);
}

static void set_flags(struct hocket__reply *r, int64_t flags)
{
    r->has_refusal = flags & HAS_REFUSAL;
    r->surplus = flags & SURPLUS;
    r->has_finish_raw = flags & HAS_FINISH_RAW;
    r->complete = flags & COMPLETE;
}

int hocket__reply_unpack(struct hocket__str from, struct hocket__reply *r)
{
    struct reader in = { from, from.n == 0 || from.p[0] != VERSION };
    if (in.wrong)
        return HOCKET_EPARSE;
    in.rest = hocket__str(from.p + 1, from.n - 1);
#define GET(b) text(&in, b);
    EACH_TEXT(GET, r)
#undef GET
    r->finish = (enum hocket__finish) between(&in, HOCKET__FINISH_NONE, HOCKET__FINISH_ERROR);
    set_flags(r, between(&in, 0, HAS_REFUSAL | SURPLUS | HAS_FINISH_RAW | COMPLETE));
    int64_t *counts[] = { &r->usage.input, &r->usage.output, &r->usage.cached,
        &r->usage.cache_write, &r->usage.reasoning };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        *counts[i] = between(&in, -1, INT64_MAX);
    int64_t n = between(&in, 0, HOCKET__REPLY_MAX_CALLS);
    for (int64_t i = 0; i < n && !in.wrong; i++) {
        struct hocket__call *c = hocket__reply_add_call(r);
        if (!c)
            return HOCKET_ENOMEM;
        call(&in, c);
    }
    return in.wrong || in.rest.n > 0 ? HOCKET_EPARSE : hocket__reply_status(r);
}
