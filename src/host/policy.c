/* The policies of a host (lua/hocket/internal/models/machine_policy.lua): read once, and asked when a run begins. What else they bind asks
 * there itself, where it is done. */
#include "host/policy.h"

#include <lauxlib.h>

#include "bind/modules.h"
#include "bind/store/store.h"
#include "bind/util.h"
#include "host/run/run.h"

#define MODULE "hocket.internal.models.machine_policy"

struct setting {
    struct hocket_host *host;
    const struct hocket_policy *list;
    size_t n;
    bool again;
};

static void push_policies(lua_State *L, const struct setting *s)
{
    lua_createtable(L, (int) s->n, 0);
    for (size_t i = 0; i < s->n; i++) {
        lua_createtable(L, 0, 2);
        hocket__set_cstr(L, "name", s->list[i].name);
        hocket__set_cstr(L, "text", s->list[i].text);
        lua_rawseti(L, -2, (lua_Integer) i + 1);
    }
}

/* Protected: policy.set_machine(list, again), then machine_policy.for_host() -> words, days */
static int set_protected(lua_State *L)
{
    const struct setting *s = lua_touserdata(L, 1);
    struct hocket__runtime *rt = s->host->rt;
    hocket__require(L, "hocket.internal.run.policy");
    lua_getfield(L, -1, "set_machine");
    push_policies(L, s);
    lua_pushboolean(L, s->again);
    lua_call(L, 2, 2);
    if (!lua_toboolean(L, -2)) {
        struct hocket_error err;
        hocket__error(&err, HOCKET_EINVAL, "%s", lua_tostring(L, -1));
        hocket__raise(L, &err);
    }
    hocket__require(L, MODULE);
    lua_getfield(L, -1, "for_host");
    lua_call(L, 0, 2);
    hocket__buf_reset(&rt->policy_words);
    hocket__buf_addstr(&rt->policy_words, hocket__check_str(L, -2));
    if (rt->policy_words.status < 0)
        luaL_error(L, "not enough memory");
    hocket__runtime_keep_days(rt, lua_tointeger(L, -1));
    rt->has_policy = s->n > 0;
    return 0;
}

static int set(struct hocket_host *h, const struct hocket_policy *list, size_t n, bool again,
    struct hocket_error *err)
{
    struct setting s = { h, list, n, again };
    for (size_t i = 0; i < n; i++)
        if (!list || !list[i].name || !list[i].text)
            return hocket__error(err, HOCKET_EINVAL, "a policy has a name and a text");
    return hocket__pcall(h->L, set_protected, &s, err);
}

int hocket__host_set_policies(
    struct hocket_host *h, const struct hocket_policy *list, size_t n, struct hocket_error *err)
{
    return set(h, list, n, false, err);
}

int hocket_set_policies(hocket_host *h, const struct hocket_policy *policies, size_t n_policies,
    struct hocket_error *err)
{
    if (!h)
        return hocket__error(err, HOCKET_EINVAL, "policies need a host");
    int rc = hocket__host_may_enter(h, err);
    if (rc == 0 && (rc = set(h, policies, n_policies, true, err)) == 0)
        hocket__runs_say_operator(h);
    return rc;
}

/* ---- A run begins ---------------------------------------------------------------------------------- */

struct narrowing {
    struct hocket__str options;
    struct hocket__buf *out;
};

/* Protected: machine_policy.narrow(options) -> options, both JSON */
static int narrow_protected(lua_State *L)
{
    const struct narrowing *n = lua_touserdata(L, 1);
    hocket__require(L, MODULE);
    lua_getfield(L, -1, "narrow");
    hocket__push_str(L, n->options);
    lua_call(L, 1, 1);
    hocket__buf_addstr(n->out, hocket__check_str(L, -1));
    return 0;
}

int hocket__host_narrow(struct hocket_host *h, struct hocket__str *options, struct hocket__buf *out,
    struct hocket_error *err)
{
    struct narrowing n = { *options, out };
    if (!h->rt->has_policy)
        return 0;
    int rc = hocket__host_may_enter(h, err);
    if (rc == 0)
        rc = hocket__pcall(h->L, narrow_protected, &n, err);
    if (rc == 0 && out->status < 0)
        rc = hocket__error_nomem(err);
    if (rc == 0)
        *options = hocket__buf_str(out);
    return rc;
}
