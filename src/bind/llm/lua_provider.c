/* hocket.internal.core.llm.provider and .lane: where a model is and how it is spoken to, with its key;
 * and the rate limiter that all calls with that key go through.
 *
 * A key of the environment comes here as a mark with its name: its value goes from the host into
 * the provider's memory and is never a Lua string, where a script or a traceback could show it. It
 * is added to the secrets that recordings and logs mask. */

#include "bind/llm/llm.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash/hash.h"
#include "bind/fiber/fiber.h"
#include "bind/options.h"
#include "bind/runtime.h"
#include "bind/util.h"
#include "net/http/http.h"

static const char PROVIDER[] = "hocket.provider";
static const char LANE[] = "hocket.lane";

#define MANY_SECRETS 65536 /* bytes of them, with all the forms that they have */

/* ---- Lanes -------------------------------------------------------------------------- */

struct lua_lane {
    struct hocket__lane lane;
    struct hocket__runtime *rt;
    uint64_t fiber; /* who grants, where its limits are shared */
};

static struct hocket__limits read_limits(lua_State *L, int arg)
{
    static const struct hocket__opt rows[] = {
        { HOCKET__OPT_INT("requests", struct hocket__limits, requests, 0, INT32_MAX) },
        { HOCKET__OPT_INT("tokens", struct hocket__limits, tokens, 0, INT64_MAX / 2) },
        { HOCKET__OPT_INT("concurrent", struct hocket__limits, calls, 0, INT32_MAX) },
        { HOCKET__OPT_OWN("shared") },
        { 0 },
    };
    struct hocket__limits limits = { -1, -1, -1 };
    luaL_checktype(L, arg, LUA_TTABLE);
    hocket__opt_read(L, arg, rows, &limits);
    return limits;
}

/* lane{requests=, tokens=, concurrent=} -> lane: limits per minute and at once, none where absent */
static int l_lane(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__limits limits = read_limits(L, 1);
    struct lua_lane *made = hocket__new_object(L, sizeof(*made), 0, LANE);
    int connections = hocket__http_per_host(rt->max_connections);
    if (hocket__lane_init(&made->lane, rt->alloc, &rt->deadlines, limits, connections) < 0)
        return hocket__raise_nomem(L);
    luaL_setmetatable(L, LANE);
    return 1;
}

/* lane:limit{requests=, tokens=, concurrent=}: other limits, from now on */
static int l_limit(lua_State *L)
{
    struct lua_lane *lane = hocket__check_object(L, 1, LANE);
    hocket__runtime(L);
    hocket__lane_limit(&lane->lane, read_limits(L, 2));
    return 0;
}

static void on_short(void *ud)
{
    struct lua_lane *lane = ud;
    hocket__fiber_wake(lane->rt, lane->fiber);
}

/* lane:share(fiber): what is left of its limits is granted by this fiber, which is woken when it is short (net/limit/share.c);
 * nil: they are this process's alone again */
static int l_share(lua_State *L)
{
    struct lua_lane *lane = hocket__check_object(L, 1, LANE);
    const struct hocket__fiber *f = hocket__fiber_test(L, 2);
    lane->rt = hocket__runtime(L);
    lane->fiber = f ? f->id : 0;
    hocket__lane_share(&lane->lane, lane->fiber ? on_short : NULL, lane);
    return 0;
}

/* lane:look() -> waiting, flying, waiting_tokens, head_tokens, requests, tokens, took_requests, took_tokens, block_ms */
static int l_look(lua_State *L)
{
    struct lua_lane *lane = hocket__check_object(L, 1, LANE);
    struct hocket__limiter_need need;
    hocket__lane_need(&lane->lane, &need);
    lua_pushinteger(L, need.waiting);
    lua_pushinteger(L, need.flying);
    lua_pushinteger(L, need.waiting_tokens);
    lua_pushinteger(L, need.head_tokens);
    lua_pushnumber(L, need.requests);
    lua_pushnumber(L, need.tokens);
    lua_pushinteger(L, need.took_requests);
    lua_pushinteger(L, need.took_tokens);
    lua_pushinteger(L, need.block_ms);
    return 9;
}

/* lane:grant(requests, tokens, slots, few_requests, few_tokens, block_ms); slots: nil, as before */
static int l_grant(lua_State *L)
{
    struct lua_lane *lane = hocket__check_object(L, 1, LANE);
    struct hocket__limiter_grant grant = { .requests = luaL_checknumber(L, 2),
        .tokens = luaL_checknumber(L, 3),
        .slots = luaL_optinteger(L, 4, -1),
        .few_requests = luaL_optnumber(L, 5, 0),
        .few_tokens = luaL_optnumber(L, 6, 0),
        .block_ms = luaL_optinteger(L, 7, 0) };
    hocket__lane_grant(&lane->lane, &grant);
    return 0;
}

/* fingerprint(key) -> what two keys have in common only when they are the same, and which does not tell them */
static int l_fingerprint(lua_State *L)
{
    static const size_t mark = sizeof(HOCKET__SECRET_MARK) - 1;
    struct hocket__str key = hocket__check_str(L, 1);
    uint8_t digest[HOCKET__SHA256];
    char out[17];
    if (key.n > mark && memcmp(key.p, HOCKET__SECRET_MARK, mark) == 0) {
        const char *value = hocket__runtime_secret(hocket__runtime(L), key.p + mark);
        key = hocket__cstr(value ? value : "");
    }
    hocket__sha256(key, digest);
    for (int i = 0; i < 8; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
    lua_pushlstring(L, out, 16);
    return 1;
}

static int lane_gc(lua_State *L)
{
    struct lua_lane *l = hocket__gc_userdata(L, lane_gc);
    if (l)
        hocket__lane_deinit(&l->lane);
    return 0;
}

/* ---- Providers ------------------------------------------------------------------- */

struct hocket__lua_provider *hocket__check_provider(lua_State *L, int arg)
{
    return hocket__check_object(L, arg, PROVIDER);
}

/* Copies an optional text into the provider's own memory and gives its place, or NULL. Room
 * for all texts was reserved before, so that places stay. */
static const char *keep(struct hocket__provider *p, struct hocket__str s)
{
    if (!s.p)
        return NULL;
    const char *at = p->texts.data + p->texts.len;
    hocket__buf_add(&p->texts, s.p, s.n);
    hocket__buf_addc(&p->texts, 0);
    return at;
}

/* fields = {"temperature", …}: no others are sent. */
static unsigned read_fields(lua_State *L)
{
    unsigned bits = 0;
    if (lua_getfield(L, 1, "fields") == LUA_TTABLE) {
        bits = HOCKET__FIELD_LIST;
        lua_Integer n = (lua_Integer) lua_rawlen(L, -1);
        for (lua_Integer i = 1; i <= n; i++, lua_pop(L, 1)) {
            lua_rawgeti(L, -1, i);
            bits |= hocket__field_bit(luaL_checkstring(L, -1));
        }
    }
    lua_pop(L, 1);
    return bits;
}

/* The options of a provider; its texts are those of the table. */
struct options {
    struct hocket__proto_traits traits;
    struct hocket__str name, protocol, base, key, key_header, key_id, key_token, pool, region, role,
        max_tokens_field, reasoning_field;
    bool simulated;
};

#define ROW(kind, name, field) HOCKET__OPT_##kind(name, struct options, field)

static const struct hocket__opt rows[] = {
    { ROW(TEXT, "name", name) },
    { ROW(TEXT, "protocol", protocol) },
    { ROW(TEXT, "base", base) },
    { ROW(TEXT, "key", key) },
    { ROW(TEXT, "key_header", key_header) },
    { ROW(TEXT, "key_id", key_id) },
    { ROW(TEXT, "key_token", key_token) },
    { ROW(TEXT, "pool", pool) },
    { ROW(TEXT, "sign_region", region) },
    { ROW(TEXT, "system_role", role) },
    { ROW(TEXT, "max_tokens_field", max_tokens_field) },
    { ROW(TEXT, "reasoning_field", reasoning_field) },
    { ROW(TEXT, "body", traits.body) },
    { ROW(NOT, "stream_usage", traits.no_stream_usage) },
    { ROW(NOT, "parallel_field", traits.no_parallel_field) },
    { ROW(NOT, "seed", traits.no_seed) },
    { ROW(BOOL, "top_k", traits.top_k) },
    { ROW(NOT, "json_schema", traits.no_json_schema) },
    { ROW(BOOL, "reasoning_back", traits.reasoning_back) },
    { ROW(BOOL, "strict_tools", traits.strict_tools) },
    { ROW(BOOL, "vertex", traits.vertex) },
    { ROW(NOT, "finish_reason", traits.no_finish_reason) },
    { HOCKET__OPT_INT("call_id_length", struct options, traits.call_id_length, 0, 64) },
    { ROW(BOOL, "simulated", simulated) },
    { HOCKET__OPT_OWN("headers") },
    { HOCKET__OPT_OWN("fields") },
    { HOCKET__OPT_OWN("lane") },
    { 0 },
};

static void keep_traits(lua_State *L, struct hocket__provider *p, const struct options *o)
{
    /* Pointers into p->texts: reserved once for all of them, so that none moves. */
    size_t n =
        o->name.n + o->role.n + o->max_tokens_field.n + o->reasoning_field.n + o->traits.body.n + 8;
    if (hocket__buf_reserve(&p->texts, n) < 0)
        hocket__raise_nomem(L);
    p->traits = o->traits;
    p->traits.provider = keep(p, o->name);
    p->traits.system_role = keep(p, o->role);
    p->traits.max_tokens_field = keep(p, o->max_tokens_field);
    p->traits.reasoning_field = keep(p, o->reasoning_field);
    p->traits.body.p = keep(p, o->traits.body);
    p->traits.fields = read_fields(L);
}

/* "Authorization", "Bearer …": what stands behind the word. */
static void add_secret(
    lua_State *L, struct hocket__provider *p, const char *header, const char *value)
{
    const char *blank = strrchr(value, ' ');
    if (hocket__secrets_named(hocket__cstr(header))
        && hocket__secrets_add(&p->secrets, hocket__cstr(blank ? blank + 1 : value)) < 0)
        hocket__raise_nomem(L);
}

static void read_headers(lua_State *L, struct hocket__provider *p)
{
    if (lua_getfield(L, 1, "headers") != LUA_TNIL) {
        luaL_checktype(L, -1, LUA_TTABLE);
        int left = HOCKET__LLM_MAX_HEADERS;
        for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
            if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING || left-- == 0)
                luaL_error(L,
                    "bad option 'headers' (a table of %d names and texts at most expected)",
                    HOCKET__LLM_MAX_HEADERS);
            hocket__buf_addf(&p->headers, "%s: %s", lua_tostring(L, -2), lua_tostring(L, -1));
            hocket__buf_addc(&p->headers, 0);
            add_secret(L, p, lua_tostring(L, -2), lua_tostring(L, -1));
        }
    }
    lua_pop(L, 1);
}

static void add_text(lua_State *L, struct hocket__buf *b, struct hocket__str s)
{
    if (s.p && hocket__buf_addstr(b, s) < 0)
        hocket__raise_nomem(L);
}

/* A secret is looked up here, so that no script has it. */
static void add_key(lua_State *L, struct hocket__buf *b, struct hocket__str s)
{
    static const size_t n = sizeof(HOCKET__SECRET_MARK) - 1;
    /* What a script has is a mark with the key's name; the key goes from the host's callback
     * into the provider's memory, past Lua, whose strings stay until they are collected. */
    if (s.n > n && memcmp(s.p, HOCKET__SECRET_MARK, n) == 0) {
        const char *key = hocket__runtime_secret(hocket__runtime(L), s.p + n);
        s = hocket__cstr(key ? key : "");
    }
    if (s.p && hocket__buf_addstr(b, s) < 0)
        hocket__raise_nomem(L);
}

#define BUFFERS(p)                                                                                 \
    &(p)->base, &(p)->query, &(p)->key, &(p)->key_header, &(p)->headers, &(p)->pool, &(p)->texts,  \
        &(p)->region, &(p)->key_id, &(p)->token

static struct hocket__lua_provider *new_provider(lua_State *L, const struct hocket_allocator *a)
{
    struct hocket__lua_provider *made = hocket__new_object(L, sizeof(*made), 1, PROVIDER);
    struct hocket__provider *p = &made->net;
    memset(made, 0, sizeof(*made));
    p->a = a;
    struct hocket__buf *all[] = { BUFFERS(p) };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        hocket__buf_init(all[i], a, 1 << 20);
    hocket__secrets_init(&p->secrets, a);
    luaL_setmetatable(L, PROVIDER);
    return made;
}

/* "https://h/v1/?a=b": the path that calls go on from, and the query that stands behind it. */
static void set_base(lua_State *L, struct hocket__provider *p, struct hocket__str given)
{
    struct hocket__buf *base = &p->base;
    add_text(L, base, given);
    const char *query = base->len > 0 ? strchr(base->data, '?') : NULL;
    if (query) {
        if (hocket__buf_adds(&p->query, query + 1) < 0)
            hocket__raise_nomem(L);
        hocket__buf_cut(base, (size_t) (query - base->data));
    }
    while (base->len > 0 && base->data[base->len - 1] == '/')
        hocket__buf_cut(base, base->len - 1);
    luaL_argcheck(L, base->len > 0, 1, "option 'base' (the URL of the API) is missing");
}

/* "api-key" or "Authorization: Bearer": where the key stands; without it, where the protocol has
 * it. */
static void set_key_header(lua_State *L, struct hocket__provider *p, struct hocket__str given)
{
    struct hocket__buf *b = &p->key_header;
    if (given.p)
        hocket__buf_addf(b, "%s%s", given.p, memchr(given.p, ':', given.n) ? " " : ": ");
    else if (p->proto->key_header)
        hocket__buf_addf(
            b, "%s: %s", p->proto->key_header, p->proto->key_prefix ? p->proto->key_prefix : "");
    if (b->status < 0)
        hocket__raise_nomem(L);
}

/* Keys that are gone are secrets for a while: an answer that is under way may quote one. */
static void keep_secrets(lua_State *L, struct hocket__provider *p)
{
    if (p->secrets.list.len > MANY_SECRETS) {
        hocket__secrets_deinit(&p->secrets);
        hocket__secrets_init(&p->secrets, p->a);
        for (size_t at = 0; at < p->headers.len; at += strlen(p->headers.data + at) + 1) {
            const char *line = p->headers.data + at, *colon = strchr(line, ':');
            if (colon && hocket__secrets_named(hocket__str(line, (size_t) (colon - line)))
                && hocket__secrets_add(&p->secrets, hocket__cstr(strrchr(line, ' ') + 1)) < 0)
                hocket__raise_nomem(L);
        }
    }
    if (hocket__secrets_add(&p->secrets, hocket__buf_str(&p->key)) < 0
        || hocket__secrets_add(&p->secrets, hocket__buf_str(&p->token)) < 0)
        hocket__raise_nomem(L);
}

static void set_key(lua_State *L, struct hocket__provider *p, struct hocket__str key,
    struct hocket__str id, struct hocket__str token)
{
    struct hocket__buf *to[] = { &p->key, &p->key_id, &p->token };
    struct hocket__str from[] = { key, id, token };
    for (int i = 0; i < 3; i++) {
        if (to[i]->data)
            hocket__wipe(to[i]->data, to[i]->len);
        hocket__buf_cut(to[i], 0);
        add_key(L, to[i], from[i]);
    }
    keep_secrets(L, p);
}

/* The lane in the options, which the provider on top keeps alive; NULL: none. */
static struct hocket__lane *read_lane(lua_State *L)
{
    struct lua_lane *lane = NULL;
    if (lua_getfield(L, 1, "lane") != LUA_TNIL)
        lane = hocket__check_object(L, -1, LANE);
    lua_setiuservalue(L, -2, 1);
    return lane ? &lane->lane : NULL;
}

/* provider{name=, protocol=, base=, key=, key_header=, headers=, lane=, simulated=, …traits} -> provider */
static int l_provider(lua_State *L)
{
    struct options o = { .simulated = false };
    luaL_checktype(L, 1, LUA_TTABLE);
    hocket__opt_read(L, 1, rows, &o);
    struct hocket__lua_provider *made = new_provider(L, hocket__runtime(L)->alloc);
    struct hocket__provider *p = &made->net;
    made->lane = read_lane(L);
    made->simulated = o.simulated;
    p->proto = o.protocol.p ? hocket__proto_find(o.protocol.p) : NULL;
    if (!p->proto)
        return luaL_error(L,
            "bad option 'protocol' (openai_chat, openai_responses, anthropic, gemini, ollama or "
            "bedrock expected, got %s)",
            o.protocol.p ? o.protocol.p : "nothing");
    set_base(L, p, o.base);
    add_text(L, &p->region, o.region);
    set_key(L, p, o.key, o.key_id, o.key_token);
    set_key_header(L, p, o.key_header);
    add_text(L, &p->pool, o.pool);
    read_headers(L, p);
    keep_traits(L, p, &o);
    return 1;
}

/* provider:set_key(key, id?, token?): calls that begin from now on are made with this one. */
static int l_set_key(lua_State *L)
{
    struct hocket__provider *p = &hocket__check_provider(L, 1)->net;
    struct hocket__str key = hocket__check_str(L, 2), none = { NULL, 0 };
    set_key(L, p, key, lua_isnoneornil(L, 3) ? none : hocket__check_str(L, 3),
        lua_isnoneornil(L, 4) ? none : hocket__check_str(L, 4));
    return 0;
}

static int provider_gc(lua_State *L)
{
    struct hocket__lua_provider *made = hocket__gc_userdata(L, provider_gc);
    if (!made)
        return 0;
    struct hocket__provider *p = &made->net;
    struct hocket__buf *all[] = { BUFFERS(p) };
    if (p->key.data)
        memset(p->key.data, 0, p->key.len);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        hocket__buf_deinit(all[i]);
    hocket__secrets_deinit(&p->secrets);
    return 0;
}

static const luaL_Reg functions[] = { { "provider", l_provider }, { "lane", l_lane },
    { "fingerprint", l_fingerprint }, { NULL, NULL } };
static const luaL_Reg provider_methods[] = { { "set_key", l_set_key }, { "__gc", provider_gc },
    { NULL, NULL } };
static const luaL_Reg lane_methods[] = { { "limit", l_limit }, { "share", l_share },
    { "look", l_look }, { "grant", l_grant }, { "__gc", lane_gc }, { NULL, NULL } };

void hocket__open_provider(lua_State *L)
{
    hocket__newmeta(L, PROVIDER, provider_methods);
    hocket__newmeta(L, LANE, lane_methods);
    lua_pop(L, 2);
    hocket__setfuncs(L, functions);
}
