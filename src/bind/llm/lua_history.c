/* hocket.internal.core.llm.history: a conversation, as userdata over net/protocol/protocol.h.
 *
 * A history is kept in C twice, as neutral messages and as the bytes of the protocol in use; Lua
 * sees neither, but asks for messages when it needs them. */

#include "bind/llm/llm.h"

#include <stdio.h>

#include "base/label.h"
#include "bind/json/json.h"
#include "bind/event_writer.h"
#include "bind/util.h"
#include "net/protocol/protocol.h"

static const char META[] = "hocket.history";

/* Bytes that idle conversations may hold together for their next requests. */
#define RESTING_MAX ((size_t) 1 << 20)

struct object {
    struct hocket__history h; /* first: others know it by this */
    struct hocket__runtime *rt;
    struct hocket__list resting; /* in rt->resting, the one that waits longest first */
    size_t rests;                /* bytes that it has there */
};

struct hocket__history *hocket__check_history(lua_State *L, int arg)
{
    return hocket__check_object(L, arg, META);
}

/* ---- Idle conversations ------------------------------------------------------------------- */

static struct object *object_of(struct hocket__history *h)
{
    return hocket__container_of(h, struct object, h);
}

static void goes_on(struct object *o)
{
    o->rt->resting_bytes -= o->rests;
    o->rests = 0;
    hocket__list_del(&o->resting);
}

/* Its messages are everything that it needs. */
static void shrink(struct hocket__history *h)
{
    hocket__history_unwire(h);
    hocket__buf_shrink(&h->messages);
}

/* Only the conversations that were used last keep what can be made of their messages again: of thousands that
 * wait, as the characters of a game do, it would be most of their memory. */
void hocket__history_rests(struct hocket__history *h)
{
    struct object *o = object_of(h);
    struct hocket__runtime *rt = o->rt;
    goes_on(o);
    o->rests = h->wire.cap + h->body.cap + h->messages.cap - h->messages.len;
    rt->resting_bytes += o->rests;
    hocket__list_add(&rt->resting, &o->resting);
    while (rt->resting_bytes > RESTING_MAX && rt->resting.next != &o->resting) {
        struct object *first = hocket__container_of(rt->resting.next, struct object, resting);
        goes_on(first);
        shrink(&first->h);
    }
}

/* ---- Functions ------------------------------------------------------------------------- */

/* history() -> history */
static int l_history(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    /* Its user value is the provider of its wire form. */
    struct object *o = hocket__new_object(L, sizeof(*o), 1, META);
    hocket__history_init(&o->h, rt->alloc, rt->max_message * 4);
    hocket__list_init(&o->resting);
    o->rt = rt;
    o->rests = 0;
    luaL_setmetatable(L, META);
    return 1;
}

/* h:add(message) -> true | nil, error. The neutral form, as a table or as JSON text. */
static int l_add(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__history *h = hocket__check_history(L, 1);
    struct hocket_error err;
    hocket__buf_reset(&rt->scratch);
    if (lua_type(L, 2) == LUA_TSTRING)
        hocket__buf_addstr(&rt->scratch, hocket__check_str(L, 2));
    else
        hocket__json_encode(L, 2, &rt->scratch);
    return hocket__succeed(L, hocket__history_add(h, hocket__buf_str(&rt->scratch), &err), &err);
}

/* h:user(text) -> true | nil, error */
static int l_user(lua_State *L)
{
    struct hocket_error err;
    struct hocket__history *h = hocket__check_history(L, 1);
    struct hocket__str text = hocket__check_str(L, 2), quoted = hocket__json_quoted(L, 2);
    goes_on(object_of(h));
    int rc = quoted.n > 0 ? hocket__history_add_quoted(h, "user", quoted)
                          : hocket__history_add_text(h, "user", text);
    hocket__error(&err, rc, "%s", hocket_status_text(rc));
    return hocket__succeed(L, rc, &err);
}

/* h:result(call, text, is_error) -> true | nil, error. `call` is a call of a reply. */
static int l_result(lua_State *L)
{
    struct hocket__history *h = hocket__check_history(L, 1);
    struct hocket_error err;
    luaL_checktype(L, 2, LUA_TTABLE);
    struct hocket__str id = hocket__opt_str(L, 2, "id"), name = hocket__opt_str(L, 2, "name");
    int rc = hocket__history_add_result(h, id, name, hocket__check_str(L, 3), lua_toboolean(L, 4));
    hocket__error(&err, rc, "%s", hocket_status_text(rc));
    return hocket__succeed(L, rc, &err);
}

/* h:tell(tell, model?, simulated, turn): the event of a request with everything that was said so far */
static int l_tell(lua_State *L)
{
    struct hocket__history *h = hocket__check_history(L, 1);
    struct hocket__str model = lua_isnil(L, 3) ? hocket__str("", 0) : hocket__check_str(L, 3);
    lua_Integer turn = luaL_checkinteger(L, 5);
    struct hocket__event t;
    hocket__event_begin(&t, L, 2, HOCKET__STR("model_request"));
    hocket__event_int(&t, HOCKET__STR("messages"), (int64_t) h->count);
    if (model.n > 0)
        hocket__event_text(&t, HOCKET__STR("model"), model);
    if (lua_toboolean(L, 4))
        hocket__event_true(&t, HOCKET__STR("simulated"));
    hocket__event_int(&t, HOCKET__STR("turn"), turn);
    return hocket__event_end(&t, 0);
}

/* h:messages() -> array of neutral messages */
static int l_messages(lua_State *L)
{
    struct hocket__history *h = hocket__check_history(L, 1);
    struct hocket__str rest = hocket__buf_str(&h->messages);
    struct hocket_error err;
    hocket__runtime(L);
    lua_createtable(L, (int) h->count, 0);
    for (lua_Integer i = 1; rest.n > 0; i++) {
        const char *end = memchr(rest.p, '\n', rest.n);
        size_t n = end ? (size_t) (end - rest.p) : rest.n;
        if (hocket__json_push(L, hocket__str(rest.p, n), &err) < 0)
            return hocket__fail(L, &err);
        lua_rawseti(L, -2, i);
        size_t used = end ? n + 1 : n;
        rest = hocket__str(rest.p + used, rest.n - used);
    }
    return 1;
}

/* h:lines() -> the messages as JSON lines: what `add` takes back, line by line */
static int l_lines(lua_State *L)
{
    hocket__push_str(L, hocket__buf_str(&hocket__check_history(L, 1)->messages));
    return 1;
}

/* h:labels(more) -> bits, with more of them when they are given */
static int l_labels(lua_State *L)
{
    struct hocket__history *h = hocket__check_history(L, 1);
    h->labels |= (unsigned) luaL_optinteger(L, 2, 0) & HOCKET__LABELS;
    lua_pushinteger(L, (lua_Integer) h->labels);
    return 1;
}

/* h:shrink(): gives back memory that only a coming request needs */
static int l_shrink(lua_State *L)
{
    struct hocket__history *h = hocket__check_history(L, 1);
    goes_on(object_of(h));
    shrink(h);
    return 0;
}

/* h:size() -> bytes of its messages */
static int l_size(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer) hocket__check_history(L, 1)->messages.len);
    return 1;
}

/* h:tokens() -> counted, known, rest: what the provider has counted with the last answer (0: nothing yet), the guess for the
 * messages among that, the guess for those behind it */
static int l_tokens(lua_State *L)
{
    struct hocket__history_tokens t = hocket__history_tokens(hocket__check_history(L, 1));
    lua_pushinteger(L, (lua_Integer) t.counted);
    lua_pushinteger(L, (lua_Integer) t.known);
    lua_pushinteger(L, (lua_Integer) t.rest);
    return 3;
}

/* tokens(text) -> a guess at how many it has */
static int l_guess(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer) hocket__tokens_guess(hocket__check_str(L, 1)));
    return 1;
}

/* spoken(text) -> the text without what a model thinks aloud in it */
static int l_spoken(lua_State *L)
{
    struct hocket__str text = hocket__check_str(L, 1);
    size_t end = hocket__reasoning_end(text);
    hocket__push_str(L, hocket__str(text.p + end, text.n - end));
    return 1;
}

/* h:become(other): it has the other one's messages from now on, and the other one none */
static int l_become(lua_State *L)
{
    struct hocket__history *h = hocket__check_history(L, 1), *other = hocket__check_history(L, 2);
    luaL_argcheck(L, h != other, 2, "another history expected");
    hocket__history_become(h, other);
    return 0;
}

/* h:digest() -> 16 hexadecimal digits: of another history the same when the same was said in it */
static int l_digest(lua_State *L)
{
    char text[20];
    int n = snprintf(text, sizeof(text), "%016llx",
        (unsigned long long) hocket__history_digest(hocket__check_history(L, 1)));
    lua_pushlstring(L, text, (size_t) n);
    return 1;
}

static int l_len(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer) hocket__check_history(L, 1)->count);
    return 1;
}

static int l_gc(lua_State *L)
{
    struct hocket__history *h = hocket__gc_userdata(L, l_gc);
    if (!h)
        return 0;
    goes_on(object_of(h));
    hocket__history_deinit(h);
    return 0;
}

static const luaL_Reg functions[] = { { "history", l_history }, { "tokens", l_guess },
    { "spoken", l_spoken }, { NULL, NULL } };
static const luaL_Reg methods[] = {
    { "add", l_add },
    { "user", l_user },
    { "result", l_result },
    { "tell", l_tell },
    { "messages", l_messages },
    { "lines", l_lines },
    { "labels", l_labels },
    { "shrink", l_shrink },
    { "size", l_size },
    { "tokens", l_tokens },
    { "become", l_become },
    { "digest", l_digest },
    { "__len", l_len },
    { "__gc", l_gc },
    { NULL, NULL },
};

void hocket__open_history(lua_State *L)
{
    hocket__newmeta(L, META, methods);
    lua_pop(L, 1);
    hocket__setfuncs(L, functions);
}
