/* The part of hocket.internal.core.store that is about notes: what agents remember. */
#include "bind/store/store_impl.h"

#include "bind/options.h"
#include "bind/util.h"

void hocket__store_push_note(lua_State *L, const struct hocket__store_note *n)
{
    static const char *const names[] = { "memory", "id", "text", "meta" };
    static const char *const numbers[] = { "labels", "created_ms", "updated_ms", "notes", "bytes" };
    const struct hocket__str texts[] = { n->memory, n->id, n->text, n->meta };
    const int64_t values[] = { (int64_t) n->labels, n->created_ms, n->updated_ms,
        (int64_t) n->notes, (int64_t) n->bytes };
    lua_createtable(L, 0, 9);
    for (int i = 0; i < 4; i++) {
        hocket__push_str(L, texts[i]);
        lua_setfield(L, -2, names[i]);
    }
    for (int i = 0; i < 5; i++) {
        lua_pushinteger(L, (lua_Integer) values[i]);
        lua_setfield(L, -2, numbers[i]);
    }
}

static int done(lua_State *L, int status, lua_KContext at)
{
    struct hocket__store_ask *a = lua_touserdata(L, (int) at);
    (void) status;
    if (a->status < 0)
        return hocket__store_ask_failed(L, a);
    lua_pushboolean(L, true);
    return 1;
}

/* note_put(memory, id, text, meta, labels, max_notes, max_bytes, vector?) -> true, when it is on the disk */
int hocket__l_store_note_put(lua_State *L)
{
    struct hocket__store_note n = { .memory = hocket__check_str(L, 1),
        .id = hocket__check_str(L, 2),
        .text = hocket__check_str(L, 3),
        .meta = hocket__check_str(L, 4),
        .labels = (uint64_t) luaL_checkinteger(L, 5),
        .updated_ms = hocket__wall_ms() };
    if (!lua_isnoneornil(L, 8))
        n.vector = hocket__check_str(L, 8);
    lua_Integer notes = luaL_checkinteger(L, 6), bytes = luaL_checkinteger(L, 7);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    struct hocket__store_reply reply = hocket__store_ask_reply(a);
    int rc = hocket__store_note_put(a->s, &n, (uint64_t) notes, (uint64_t) bytes, &reply, &a->call);
    return hocket__store_ask_wait(L, a, rc, -1, done);
}

/* note_del(memory, id) -> true */
int hocket__l_store_note_del(lua_State *L)
{
    struct hocket__str memory = hocket__check_str(L, 1), id = hocket__check_str(L, 2);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    struct hocket__store_reply reply = hocket__store_ask_reply(a);
    int rc = hocket__store_note_del(a->s, memory, id, &reply, &a->call);
    return hocket__store_ask_wait(L, a, rc, -1, done);
}

/* notes{memory=, id=, query=, vector=, from=, limit=} -> list, more */
int hocket__l_store_notes(lua_State *L)
{
    static const struct hocket__opt rows[] = {
        { HOCKET__OPT_TEXT("memory", struct hocket__store_note_query, memory) },
        { HOCKET__OPT_TEXT("id", struct hocket__store_note_query, id) },
        { HOCKET__OPT_TEXT("query", struct hocket__store_note_query, query) },
        { HOCKET__OPT_TEXT("vector", struct hocket__store_note_query, vector) },
        { HOCKET__OPT_INT("from", struct hocket__store_note_query, from, 0, INT64_C(1) << 40) },
        { HOCKET__OPT_INT("limit", struct hocket__store_note_query, limit, 1, HOCKET__STORE_PAGE) },
        { 0 },
    };
    struct hocket__store_note_query q = { .limit = HOCKET__STORE_PAGE };
    lua_settop(L, 1);
    luaL_checktype(L, 1, LUA_TTABLE);
    hocket__opt_read(L, 1, rows, &q);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    a->limit = q.limit++; /* one more says that there is more */
    struct hocket__store_reply reply = hocket__store_ask_reply(a);
    return hocket__store_ask_wait(
        L, a, hocket__store_notes(a->s, &q, &reply, &a->call), -1, hocket__store_give_list);
}
