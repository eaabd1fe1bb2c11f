/* Saves, and runs that go on from one. */
#include "bridge_impl.h"

#include <stdlib.h>
#include <string.h>

static void on_saved(
    hocket_host *h, const void *bytes, size_t len, const struct hocket_error *error, void *ud)
{
    struct save *s = ud;
    (void) h;
    s->bytes = error ? NULL : malloc(len);
    if (s->bytes)
        memcpy(s->bytes, bytes, s->len = len);
    else if (error)
        s->err = *error;
    else
        s->err = (struct hocket_error){ .status = HOCKET_ENOMEM, .message = "out of memory" };
    s->next = s->bridge->saved;
    s->bridge->saved = s;
}

/* save(host, run?) -> what saved() will name | nil, err */
int bridge_save(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    struct hocket_error err;
    bool one = !lua_isnoneornil(L, 2);
    uint64_t id = one ? bridge_check_id(L, 2) : 0;
    struct save *s = calloc(1, sizeof(*s));
    if (!s)
        return bridge_fail(L, "memory", "out of memory");
    s->bridge = b;
    int rc = one ? bridge_hocket->run_save(b->host, id, on_saved, s, &err)
                 : bridge_hocket->save(b->host, on_saved, s, &err);
    if (rc < 0) {
        free(s);
        return bridge_fail_with(L, &err);
    }
    lua_pushlightuserdata(L, s);
    return 1;
}

/* saved(host) -> which, bytes | which, nil, err; nothing when there is none */
int bridge_saved(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    struct save *s = b->saved;
    if (!s)
        return 0;
    lua_pushlightuserdata(L, s);
    int n = 1;
    if (s->bytes)
        lua_pushlstring(L, s->bytes, s->len);
    else
        n = bridge_fail_with(L, &s->err);
    b->saved = s->next; /* after every call that may raise */
    free(s->bytes);
    free(s);
    return 1 + n;
}

/* restore(host, bytes, options?) -> the first run, how many | nil, err */
int bridge_restore(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    struct hocket_error err;
    size_t len;
    uint64_t first;
    const char *bytes = luaL_checklstring(L, 2, &len);
    int n = bridge_hocket->load(
        b->host, bytes, len, luaL_optstring(L, 3, NULL), &first, NULL, NULL, NULL, &err);
    if (n < 0)
        return bridge_fail_with(L, &err);
    lua_pushnumber(L, (lua_Number) first);
    lua_pushnumber(L, n);
    return 2;
}
