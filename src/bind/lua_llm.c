/* hocket.core.llm: model calls that look synchronous.
 *
 *   provider  where a model is and how it is spoken to; keeps the key
 *   call      one attempt: start, then next() for deltas or wait() for the reply
 *
 * The conversation is in lua_history.c. The transport's callbacks only note and
 * wake; everything that touches Lua happens in the fiber that waits. */

#include "bind/llm.h"

#include <math.h>
#include <string.h>

#include "bind/await.h"
#include "bind/util.h"
#include "net/llm.h"

#define PROVIDER "hocket.provider"
#define CALL "hocket.llm_call"

/* ---- Providers ------------------------------------------------------------------- */

static struct hocket__provider *check_provider(lua_State *L, int arg)
{
    return luaL_checkudata(L, arg, PROVIDER);
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

static void read_traits(lua_State *L, struct hocket__provider *p)
{
    struct hocket__str name = hocket__opt_str(L, 1, "name"), role = hocket__opt_str(L, 1, "system_role"),
                       tokens = hocket__opt_str(L, 1, "max_tokens_field"),
                       reasoning = hocket__opt_str(L, 1, "reasoning_field");
    if (hocket__buf_reserve(&p->texts, name.n + role.n + tokens.n + reasoning.n + 8) < 0)
        luaL_error(L, "out of memory");
    p->traits = (struct hocket__proto_traits) {
        .provider = keep(p, name),
        .system_role = keep(p, role),
        .max_tokens_field = keep(p, tokens),
        .reasoning_field = keep(p, reasoning),
        .no_stream_usage = !hocket__opt_bool(L, 1, "stream_usage", true),
        .no_parallel_field = !hocket__opt_bool(L, 1, "parallel_field", true),
        .no_seed = !hocket__opt_bool(L, 1, "seed", true),
        .no_json_schema = !hocket__opt_bool(L, 1, "json_schema", true),
        .reasoning_back = hocket__opt_bool(L, 1, "reasoning_back", false),
        .strict_tools = hocket__opt_bool(L, 1, "strict_tools", false),
        .call_id_length = (int) hocket__opt_int(L, 1, "call_id_length", 0, 0, 64),
    };
}

static void read_headers(lua_State *L, struct hocket__provider *p)
{
    if (lua_getfield(L, 1, "headers") != LUA_TNIL) {
        luaL_checktype(L, -1, LUA_TTABLE);
        for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
            if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
                luaL_error(L, "bad option 'headers' (a table of names and texts expected)");
            hocket__buf_addf(&p->headers, "%s: %s", lua_tostring(L, -2), lua_tostring(L, -1));
            hocket__buf_addc(&p->headers, 0);
        }
    }
    lua_pop(L, 1);
}

static void add_option(lua_State *L, struct hocket__buf *b, const char *name)
{
    struct hocket__str s = hocket__opt_str(L, 1, name);
    if (s.p && hocket__buf_addstr(b, s) < 0)
        luaL_error(L, "out of memory");
}

static struct hocket__provider *new_provider(lua_State *L, const struct hocket_allocator *a)
{
    struct hocket__provider *p = lua_newuserdatauv(L, sizeof(*p), 0);
    memset(p, 0, sizeof(*p));
    p->a = a;
    struct hocket__buf *all[] = { &p->base, &p->key, &p->headers, &p->pool, &p->texts };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        hocket__buf_init(all[i], a, 1 << 20);
    luaL_setmetatable(L, PROVIDER);
    return p;
}

/* provider{name=, protocol=, base=, key=, headers=, …traits} -> provider */
static int l_provider(lua_State *L)
{
    static const char *const names[] = { "name", "protocol", "base", "key", "headers", "pool", "system_role",
        "max_tokens_field", "reasoning_field", "stream_usage", "parallel_field", "seed", "json_schema",
        "reasoning_back", "strict_tools", "call_id_length", NULL };
    luaL_checktype(L, 1, LUA_TTABLE);
    hocket__opt_only(L, 1, names);
    struct hocket__provider *p = new_provider(L, hocket__runtime(L)->alloc);
    struct hocket__str protocol = hocket__opt_str(L, 1, "protocol");
    p->proto = protocol.p ? hocket__proto_find(protocol.p) : NULL;
    if (!p->proto)
        return luaL_error(L, "bad option 'protocol' (openai_chat, openai_responses, anthropic, gemini or "
                             "ollama expected, got %s)", protocol.p ? protocol.p : "nothing");
    add_option(L, &p->base, "base");
    add_option(L, &p->key, "key");
    add_option(L, &p->pool, "pool");
    read_headers(L, p);
    read_traits(L, p);
    while (p->base.len > 0 && p->base.data[p->base.len - 1] == '/')
        hocket__buf_cut(&p->base, p->base.len - 1);
    luaL_argcheck(L, p->base.len > 0, 1, "option 'base' (the URL of the API) is missing");
    return 1;
}

static int provider_gc(lua_State *L)
{
    struct hocket__provider *p = hocket__gc_userdata(L, provider_gc);
    if (!p)
        return 0;
    struct hocket__buf *all[] = { &p->base, &p->key, &p->headers, &p->pool, &p->texts };
    if (p->key.data)
        memset(p->key.data, 0, p->key.len);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        hocket__buf_deinit(all[i]);
    return 0;
}

/* ---- Calls -------------------------------------------------------------------------- */

struct call {
    struct hocket__runtime *rt;
    struct hocket__llm_call *llm;
    struct hocket__history *history; /* kept alive by the second user value */
    uint64_t fiber;                  /* who waits; 0: nobody */
    bool done, failed, kept;         /* kept: the reply is in the history */
    struct hocket_error err;
    struct hocket__buf text, reasoning; /* deltas not handed out yet */
};

static struct call *check_call(lua_State *L, int arg)
{
    return luaL_checkudata(L, arg, CALL);
}

static void on_delta(void *ud, enum hocket__delta_kind kind, size_t index, struct hocket__str text)
{
    struct call *c = ud;
    (void) index;
    if (kind == HOCKET__DELTA_CALL)
        return;
    hocket__buf_addstr(kind == HOCKET__DELTA_TEXT ? &c->text : &c->reasoning, text);
    hocket__fiber_wake(c->rt, c->fiber);
}

static void on_done(void *ud, const struct hocket_error *err)
{
    struct call *c = ud;
    c->done = true;
    c->failed = err != NULL;
    if (err)
        c->err = *err;
    hocket__fiber_wake(c->rt, c->fiber);
}

static const char *word(lua_State *L, const char *name)
{
    return hocket__opt_str(L, 3, name).p;
}

static struct hocket__str text(lua_State *L, const char *name)
{
    struct hocket__str s = hocket__opt_str(L, 3, name);
    return s.p ? s : hocket__str("", 0);
}

static struct hocket__llm_request read_request(lua_State *L)
{
    static const char *const names[] = { "model", "system", "tools", "tool_choice", "parallel", "stream",
        "temperature", "top_p", "top_k", "max_tokens", "seed", "stop", "reasoning", "schema", "schema_name",
        "extra", "connect_timeout", "first_timeout", "idle_timeout", "timeout", "deltas", NULL };
    hocket__opt_only(L, 3, names);
    const char *model = word(L, "model");
    if (!model)
        luaL_error(L, "option 'model' is missing");
    return (struct hocket__llm_request) {
        .model = model,
        .system = text(L, "system"),
        .tools = text(L, "tools"),
        .tool_choice = word(L, "tool_choice"),
        .no_parallel_calls = !hocket__opt_bool(L, 3, "parallel", true),
        .stream = hocket__opt_bool(L, 3, "stream", true),
        .temperature = hocket__opt_number(L, 3, "temperature", NAN),
        .top_p = hocket__opt_number(L, 3, "top_p", NAN),
        .top_k = hocket__opt_int(L, 3, "top_k", -1, 0, INT32_MAX),
        .max_tokens = hocket__opt_int(L, 3, "max_tokens", -1, 1, INT32_MAX),
        .seed = hocket__opt_int(L, 3, "seed", -1, 0, INT64_MAX),
        .stop = text(L, "stop"),
        .reasoning = word(L, "reasoning"),
        .schema = text(L, "schema"),
        .schema_name = word(L, "schema_name"),
        .extra = text(L, "extra"),
    };
}

static int option_ms(lua_State *L, const char *name)
{
    double s = hocket__opt_number(L, 3, name, 0);
    return s <= 0 ? 0 : s > 86400 * 20 ? INT32_MAX : s < 0.001 ? 1 : (int) (s * 1000);
}

static struct call *new_call(lua_State *L, struct hocket__runtime *rt, struct hocket__history *h)
{
    struct call *c = lua_newuserdatauv(L, sizeof(*c), 2);
    memset(c, 0, sizeof(*c));
    c->rt = rt;
    c->history = h;
    hocket__buf_init(&c->text, rt->alloc, rt->max_message);
    hocket__buf_init(&c->reasoning, rt->alloc, rt->max_message);
    luaL_setmetatable(L, CALL);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    lua_pushvalue(L, 2);
    lua_setiuservalue(L, -2, 2);
    return c;
}

/* start(provider, history, request) -> call | nil, error */
static int l_start(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    struct hocket__provider *p = check_provider(L, 1);
    struct hocket__history *h = hocket__check_history(L, 2);
    luaL_checktype(L, 3, LUA_TTABLE);
    struct hocket__llm_request q = read_request(L);
    q.history = h;
    q.traits = &p->traits;
    struct call *c = new_call(L, rt, h);
    struct hocket__llm_spec spec = {
        .provider = p,
        .request = &q,
        .connect_ms = option_ms(L, "connect_timeout"),
        .first_ms = option_ms(L, "first_timeout"),
        .idle_ms = option_ms(L, "idle_timeout"),
        .total_ms = option_ms(L, "timeout"),
        .max_message = rt->max_message,
        .on_delta = hocket__opt_bool(L, 3, "deltas", false) ? on_delta : NULL,
        .on_done = on_done,
        .ud = c,
    };
    struct hocket__http *http = hocket__runtime_http(rt, &err);
    if (!http || hocket__llm_start(http, rt->alloc, &spec, &c->llm, &err) < 0)
        return hocket__fail(L, &err);
    return 1;
}

static void abandon(void *ud)
{
    struct call *c = ud;
    hocket__llm_cancel(c->llm);
    c->fiber = 0;
    if (!c->done)
        hocket__error(&c->err, HOCKET_ECANCELLED, "the model call was cancelled");
    c->failed |= !c->done;
    c->done = true;
}

/* ---- The reply ------------------------------------------------------------------------ */

static void set_text(lua_State *L, const char *name, const struct hocket__buf *b)
{
    hocket__push_str(L, hocket__buf_str(b));
    lua_setfield(L, -2, name);
}

static void set_count(lua_State *L, const char *name, int64_t v)
{
    if (v >= 0) {
        lua_pushinteger(L, v);
        lua_setfield(L, -2, name);
    }
}

static void push_usage(lua_State *L, const struct hocket__usage *u)
{
    lua_createtable(L, 0, 5);
    set_count(L, "input", u->input);
    set_count(L, "output", u->output);
    set_count(L, "cached", u->cached);
    set_count(L, "cache_write", u->cache_write);
    set_count(L, "reasoning", u->reasoning);
}

static void push_calls(lua_State *L, const struct hocket__reply *r)
{
    lua_createtable(L, (int) r->n_calls, 0);
    for (size_t i = 0; i < r->n_calls; i++) {
        lua_createtable(L, 0, 3);
        set_text(L, "id", &r->calls[i].id);
        set_text(L, "name", &r->calls[i].name);
        set_text(L, "arguments", &r->calls[i].arguments);
        lua_rawseti(L, -2, (lua_Integer) i + 1);
    }
}

static int keep_reply(struct call *c, struct hocket_error *err)
{
    struct hocket__reply *r = (struct hocket__reply *) hocket__llm_reply(c->llm);
    if (c->kept)
        return 0;
    if (hocket__reply_name_calls(r, &c->history->next_call) < 0)
        return hocket__error_nomem(err);
    hocket__buf_reset(&c->rt->scratch);
    int rc = hocket__reply_message(r, hocket__llm_protocol(c->llm), &c->history->next_call, &c->rt->scratch);
    if (rc < 0)
        return hocket__error(err, rc, "%s", hocket_status_text(rc));
    c->kept = true;
    return hocket__history_add_own(c->history, hocket__buf_str(&c->rt->scratch), err);
}

static int push_reply(lua_State *L, struct call *c)
{
    const struct hocket__reply *r = hocket__llm_reply(c->llm);
    struct hocket__llm_timing t = hocket__llm_timing(c->llm);
    lua_createtable(L, 0, 10);
    set_text(L, "text", &r->text);
    if (r->reasoning.len > 0)
        set_text(L, "reasoning", &r->reasoning);
    if (r->has_refusal)
        set_text(L, "refusal", &r->refusal);
    push_calls(L, r);
    lua_setfield(L, -2, "calls");
    lua_pushstring(L, r->finish ? hocket__finish_word(r->finish) : "stop");
    lua_setfield(L, -2, "finish");
    push_usage(L, &r->usage);
    lua_setfield(L, -2, "usage");
    set_text(L, "model", &r->model);
    set_text(L, "id", &r->id);
    lua_pushnumber(L, (double) t.total_us / 1e6);
    lua_setfield(L, -2, "seconds");
    if (t.first_us > 0) {
        lua_pushnumber(L, (double) t.first_us / 1e6);
        lua_setfield(L, -2, "first_seconds");
    }
    return 1;
}

/* ---- Waiting ---------------------------------------------------------------------------- */

static int wait_more(lua_State *L, struct call *c, lua_KFunction k)
{
    c->fiber = hocket__fiber_current(L)->id;
    return hocket__await(L, -1, abandon, c, 0, k);
}

static int wait_done(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    (void) ctx;
    struct call *c = check_call(L, 1);
    if (!c->done)
        return wait_more(L, c, wait_done);
    if (c->failed || keep_reply(c, &c->err) < 0)
        return hocket__fail(L, &c->err);
    return push_reply(L, c);
}

/* call:wait() -> reply | nil, error. A reply is added to the history. */
static int l_wait(lua_State *L)
{
    hocket__runtime(L);
    return wait_done(L, LUA_OK, 0);
}

static int hand_out(lua_State *L, struct hocket__buf *b, const char *kind)
{
    lua_pushstring(L, kind);
    hocket__push_str(L, hocket__buf_str(b));
    hocket__buf_cut(b, 0);
    return 2;
}

static int next_delta(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    (void) ctx;
    struct call *c = check_call(L, 1);
    if (c->reasoning.len > 0)
        return hand_out(L, &c->reasoning, "reasoning");
    if (c->text.len > 0)
        return hand_out(L, &c->text, "text");
    return c->done ? 0 : wait_more(L, c, next_delta);
}

/* call:next() -> "text" | "reasoning", delta; nothing at the end */
static int l_next(lua_State *L)
{
    hocket__runtime(L);
    return next_delta(L, LUA_OK, 0);
}

/* call:partial() -> the text that came before a failure */
static int l_partial(lua_State *L)
{
    struct call *c = check_call(L, 1);
    hocket__push_str(L, hocket__buf_str(&hocket__llm_reply(c->llm)->text));
    return 1;
}

static int l_cancel(lua_State *L)
{
    struct call *c = check_call(L, 1);
    uint64_t fiber = c->fiber;
    abandon(c);
    hocket__fiber_wake(hocket__runtime(L), fiber);
    return 0;
}

static int call_gc(lua_State *L)
{
    struct call *c = hocket__gc_userdata(L, call_gc);
    if (!c)
        return 0;
    if (c->llm && !c->rt->http)
        hocket__llm_orphan(c->llm);
    hocket__llm_free(c->llm);
    c->llm = NULL;
    hocket__buf_deinit(&c->text);
    hocket__buf_deinit(&c->reasoning);
    return 0;
}

/* ---- The module ----------------------------------------------------------------------------- */

static const luaL_Reg functions[] = { { "provider", l_provider }, { "start", l_start }, { NULL, NULL } };
static const luaL_Reg provider_methods[] = { { "__gc", provider_gc }, { NULL, NULL } };
static const luaL_Reg call_methods[] = {
    { "wait", l_wait },
    { "next", l_next },
    { "partial", l_partial },
    { "cancel", l_cancel },
    { "__gc", call_gc },
    { NULL, NULL },
};

int hocket__open_llm(lua_State *L)
{
    hocket__newmeta(L, PROVIDER, provider_methods);
    hocket__newmeta(L, CALL, call_methods);
    lua_pop(L, 2);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    hocket__open_history(L);
    return 1;
}
