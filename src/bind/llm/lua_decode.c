/* hocket.internal.core.decode: recorded answers, read as live ones are: for whoever debugs a provider.
 *
 * `hocket decode` and tests of protocols use it: the bytes may be cut anywhere, as a network does,
 * and what comes out is what a live answer would have been. */

#include "bind/open.h"

#include "bind/options.h"
#include "bind/runtime.h"
#include "bind/util.h"
#include "net/protocol/protocol.h"

#define META "hocket.decoding"

/* What one call holds; a userdata, because pushing may raise. */
struct decoding {
    const struct hocket_allocator *a;
    struct hocket__reply reply;
    struct hocket__decoder *decoder;
    struct hocket__buf record;
};

/* What the answer is, and how its bytes are cut into pieces. */
struct pieces {
    int status;
    bool stream;
    size_t most;   /* bytes of one piece; 0: all at once */
    uint64_t seed; /* 0: every piece is as large as that; else random sizes up to it */
};

static int decoding_gc(lua_State *L)
{
    struct decoding *d = hocket__gc_userdata(L, decoding_gc);
    if (!d)
        return 0;
    if (d->decoder)
        hocket__decoder_free(d->decoder);
    d->decoder = NULL;
    hocket__reply_deinit(&d->reply);
    hocket__buf_deinit(&d->record);
    return 0;
}

static struct decoding *new_decoding(
    lua_State *L, struct hocket__runtime *rt, const struct hocket__proto *proto)
{
    struct decoding *d = lua_newuserdatauv(L, sizeof(*d), 0);
    *d = (struct decoding){ .a = rt->alloc };
    hocket__reply_init(&d->reply, rt->alloc, rt->max_message);
    hocket__buf_init(&d->record, rt->alloc, 0);
    luaL_setmetatable(L, META);
    if (hocket__decoder_new(rt->alloc, proto, rt->max_message, &d->reply, NULL, NULL, &d->decoder)
        < 0)
        hocket__raise_nomem(L);
    return d;
}

static size_t piece_size(struct pieces *p, size_t left)
{
    size_t n = p->most ? p->most : left;
    if (p->seed) { /* xorshift64 */
        p->seed ^= p->seed << 13;
        p->seed ^= p->seed >> 7;
        p->seed ^= p->seed << 17;
        n = 1 + (size_t) (p->seed % n);
    }
    return n < left ? n : left;
}

static int feed(
    struct decoding *d, struct hocket__str bytes, struct pieces how, struct hocket_error *err)
{
    int status = 0;
    while (bytes.n > 0 && status == 0) {
        size_t n = piece_size(&how, bytes.n);
        status = hocket__decoder_feed(d->decoder, bytes.p, n, err);
        bytes = hocket__str(bytes.p + n, bytes.n - n);
    }
    return status == 0 ? hocket__decoder_end(d->decoder, err) : status;
}

static const struct hocket__proto *check_protocol(lua_State *L)
{
    const struct hocket__proto *proto = hocket__proto_find(luaL_checkstring(L, 1));
    if (!proto)
        luaL_argerror(L, 1, "no such protocol");
    return proto;
}

/* decode(protocol, bytes, {status=, stream=, chunk=, seed=}) -> record, error
 * The record is JSON, and has what came before an error. `error` tells why the bytes are no whole
 * answer, nil when they are one; an error that the provider reports is part of the record. */
static int l_decode(lua_State *L)
{
    static const struct hocket__opt rows[] = {
        { HOCKET__OPT_INT("status", struct pieces, status, 100, 599) },
        { HOCKET__OPT_BOOL("stream", struct pieces, stream) },
        { HOCKET__OPT_INT("chunk", struct pieces, most, 0, INT32_MAX) },
        { HOCKET__OPT_INT("seed", struct pieces, seed, 0, INT64_MAX) },
        { 0 },
    };
    struct pieces how = { .status = 200, .stream = true };
    const struct hocket__proto *proto = check_protocol(L);
    struct hocket__str bytes = hocket__check_str(L, 2);
    luaL_checktype(L, 3, LUA_TTABLE);
    hocket__opt_read(L, 3, rows, &how);
    struct decoding *d = new_decoding(L, hocket__runtime(L), proto);
    struct hocket_error err;
    hocket__decoder_head(d->decoder, how.status, how.stream);
    int status = feed(d, bytes, how, &err);
    if (hocket__reply_print(&d->reply, &d->record) < 0)
        return hocket__raise_nomem(L);
    hocket__push_str(L, hocket__buf_str(&d->record));
    if (status == 0)
        lua_pushnil(L);
    else
        hocket__push_error(L, &err);
    return 2;
}

static const luaL_Reg functions[] = { { "decode", l_decode }, { NULL, NULL } };
static const luaL_Reg methods[] = { { "__gc", decoding_gc }, { NULL, NULL } };

int hocket__open_decode(lua_State *L)
{
    return hocket__open_class(L, META, methods, functions);
}
