/* A reply as bytes, so that it can be given again without asking the provider. It has everything but errors: a reply
 * that came has none.
 *
 *     version    1 byte; another one is refused
 *     texts and numbers as in base/pack.h, the calls last
 *
 * The order is that of reply_impl.h: a text more there is another version. */

#include "net/protocol/reply/reply_impl.h"

#include "base/pack.h"

#define VERSION 3

enum { HAS_REFUSAL = 1, SURPLUS = 2, HAS_FINISH_RAW = 4, COMPLETE = 8, IN_TAGS = 16 };
enum { HAS_ID = 1, HAS_RAW = 2, FREE_FORM = 4 };

#define PUT(b) hocket__pack_str(out, hocket__buf_str(b));

static void put_call(struct hocket__buf *out, const struct hocket__call *c)
{
    HOCKET__CALL_TEXTS(PUT, c)
    hocket__pack_int(out,
        (c->has_id ? HAS_ID : 0) | (c->has_raw ? HAS_RAW : 0) | (c->free_form ? FREE_FORM : 0));
    hocket__pack_int(out, c->index);
}

static int64_t flags_of(const struct hocket__reply *r)
{
    return (r->has_refusal ? HAS_REFUSAL : 0) | (r->surplus ? SURPLUS : 0)
           | (r->has_finish_raw ? HAS_FINISH_RAW : 0) | (r->complete ? COMPLETE : 0)
           | (r->in_tags ? IN_TAGS : 0);
}

void hocket__reply_pack(const struct hocket__reply *r, struct hocket__buf *out)
{
    const struct hocket__usage *u = &r->usage;
    const int64_t numbers[] = { r->finish, flags_of(r), u->input, u->output, u->cached,
        u->cache_write, u->reasoning, (int64_t) r->n_calls };
    hocket__buf_addc(out, VERSION);
    HOCKET__REPLY_TEXTS(PUT, r)
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        hocket__pack_int(out, numbers[i]);
    for (size_t i = 0; i < r->n_calls; i++)
        put_call(out, &r->calls[i]);
}

/* ---- Read back: what was damaged is refused -------------------------------------------------- */

#define BEFORE_FOUND 2

#define GET(b) hocket__buf_addstr(b, hocket__unpack_str(in));

static int64_t between(struct hocket__packed *in, int64_t from, int64_t to)
{
    int64_t v = hocket__unpack_int(in);
    in->bad |= v < from || v > to;
    return in->bad ? from : v;
}

static void call(struct hocket__packed *in, struct hocket__call *c)
{
    HOCKET__CALL_TEXTS(GET, c)
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
    r->in_tags = flags & IN_TAGS;
}

static void usage(struct hocket__packed *in, struct hocket__usage *u)
{
    int64_t *counts[] = { &u->input, &u->output, &u->cached, &u->cache_write, &u->reasoning };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        *counts[i] = between(in, -1, INT64_MAX);
}

int hocket__reply_unpack(struct hocket__str from, struct hocket__reply *r)
{
    if (from.n == 0 || (from.p[0] != VERSION && from.p[0] != BEFORE_FOUND))
        return HOCKET_EPARSE;
    struct hocket__packed packed = hocket__packed(hocket__str(from.p + 1, from.n - 1)),
                          *in = &packed;
    HOCKET__REPLY_OLD_TEXTS(GET, r)
    if (from.p[0] == VERSION)
        GET(&r->found)
    r->finish = (enum hocket__finish) between(in, HOCKET__FINISH_NONE, HOCKET__FINISH_ERROR);
    set_flags(r, between(in, 0, HAS_REFUSAL | SURPLUS | HAS_FINISH_RAW | COMPLETE | IN_TAGS));
    usage(in, &r->usage);
    int64_t n = between(in, 0, HOCKET__REPLY_MAX_CALLS);
    for (int64_t i = 0; i < n && !in->bad; i++) {
        struct hocket__call *c = hocket__reply_add_call(r);
        if (!c)
            return HOCKET_ENOMEM;
        call(in, c);
    }
    return in->bad || in->p < in->end ? HOCKET_EPARSE : hocket__reply_status(r);
}
