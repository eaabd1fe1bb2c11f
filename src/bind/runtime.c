/* What all bindings of one host share. The runtime is a userdata that the registry holds.
 * Every C function of ours has it as an upvalue, so it cannot go before the last of them; `closed`
 * says that everything else of it is gone. */
#include "bind/runtime.h"

#include <stdarg.h>
#include <stdio.h>

#include <lauxlib.h>

#include "os/descriptors.h"
#include "net/http/http.h"
#include "net/relay.h"

const char hocket__runtime_key;

struct hocket__runtime *hocket__runtime(lua_State *L)
{
    struct hocket__runtime *rt = lua_touserdata(L, lua_upvalueindex(1));
    /* Objects outlive the host when a script of the embedding program keeps them: each call
     * says so. */
    if (!rt || rt->life == HOCKET__RUNTIME_CLOSED)
        luaL_error(L, "the hocket host is closed");
    return rt;
}

struct hocket__runtime *hocket__runtime_of(lua_State *L)
{
    if (!lua_checkstack(L, 1))
        return NULL;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &hocket__runtime_key);
    struct hocket__runtime *rt = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return rt && rt->life != HOCKET__RUNTIME_CLOSED ? rt : NULL;
}

void hocket__runtime_push(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &hocket__runtime_key);
}

/* `until`: the end of the loop's turn, where it has one. */
static struct hocket__http_options http_options(struct hocket__runtime *rt, const uint64_t *until)
{
    const char *ca = hocket__runtime_getenv(rt, "CURL_CA_BUNDLE");
    return (struct hocket__http_options){
        .alloc = rt->alloc,
        .loop = rt->loop,
        .max_per_host = rt->max_connections,
        .ca_file = ca ? ca : hocket__runtime_getenv(rt, "SSL_CERT_FILE"),
        .user_agent = "hocket/" HOCKET_VERSION,
        /* on a thread of its own nobody waits for the end of a turn */
        .until = until,
    };
}

static struct hocket__runtime *runtime_of(const struct hocket__transport *t)
{
    return hocket__container_of(t, struct hocket__runtime, direct);
}

static int64_t start(struct hocket__transport *t, const struct hocket__http_spec *spec,
    const struct hocket__http_handler *handler, void *ud, struct hocket_error *err)
{
    struct hocket__runtime *rt = runtime_of(t);
    if (!rt->http) {
        struct hocket__http_options o = http_options(rt, &rt->budget_end_ns);
        int rc = hocket__http_new(&o, &rt->http, err);
        if (rc < 0)
            return rc;
    }
    return hocket__http_start(rt->http, spec, handler, ud, err);
}

/* What is under way has ended with HTTP, which the end of the runtime closes before the objects of Lua. */
static void cancel(struct hocket__transport *t, int64_t id)
{
    if (runtime_of(t)->http)
        hocket__http_cancel(runtime_of(t)->http, id);
}

static bool multiplexed(const struct hocket__transport *t, int64_t id)
{
    const struct hocket__http *http = runtime_of(t)->http;
    return http && hocket__http_multiplexed(http, id);
}

void hocket__runtime_init_direct(struct hocket__runtime *rt)
{
    static const struct hocket__transport_ops ops = { start, cancel, multiplexed };
    rt->direct.ops = &ops;
}

struct hocket__relay *hocket__runtime_relay(struct hocket__runtime *rt, struct hocket_error *err)
{
    if (!rt->relay) {
        struct hocket__http_options o = http_options(rt, NULL);
        struct hocket__relay_host host = { &rt->budget_end_ns, rt->wakeup_cb, rt->wakeup_ud };
        if (hocket__relay_new(&o, &host, &rt->relay, err) < 0)
            return NULL;
    }
    if (hocket__relay_is_here(rt->relay))
        return rt->relay;
    hocket__error(err, HOCKET_ESTATE,
        "the process was forked after the first model call: its thread is not here");
    return NULL;
}

int hocket__runtime_requests(const struct hocket__runtime *rt)
{
    return (rt->http ? hocket__http_active(rt->http) : 0)
           + (rt->relay ? hocket__relay_active(rt->relay) : 0);
}

int hocket__runtime_after_fork(struct hocket__runtime *rt)
{
    /* Sockets and epoll sets are shared with the parent after a fork: both would read the same
     * stream. */
    if (rt->relay || rt->http || !hocket__list_empty(&rt->closers))
        return HOCKET_ESTATE;
    if (hocket__descriptors_hold_standard() != 0) /* daemons close them between the fork and this */
        return HOCKET_EIO;
    hocket__launchers_after_fork(&rt->launchers);
    hocket__own_take_over(&rt->own);
    return uv_loop_fork(rt->loop) < 0 ? HOCKET_EIO : 0;
}

/* Counted, so that one that never returns is noticed. */
static const char *ask(struct hocket__runtime *rt, hocket_getenv_cb cb, void *ud, const char *name)
{
    if (!cb)
        return NULL;
    rt->asking++;
    const char *v = cb(name, ud);
    rt->asking--;
    return v && *v ? v : NULL;
}

/* The variable, and below it the policy's layers, a line each: all of them bind (internal/run/policy.lua). Where there is no memory to put
 * them together nothing is allowed. */
static const char *approve(struct hocket__runtime *rt, const char *own)
{
    hocket__buf_reset(&rt->approve);
    if (own)
        hocket__buf_adds(&rt->approve, own);
    hocket__buf_addc(&rt->approve, '\n');
    hocket__buf_addstr(&rt->approve, hocket__buf_str(&rt->policy_words));
    hocket__buf_addc(&rt->approve, 0);
    return rt->approve.status < 0 ? "deny" : rt->approve.data;
}

const char *hocket__runtime_getenv(struct hocket__runtime *rt, const char *name)
{
    const char *own = ask(rt, rt->getenv_cb, rt->getenv_ud, name);
    bool bound = rt->policy_words.len > 0 && strcmp(name, "HOCKET_APPROVE") == 0;
    return bound ? approve(rt, own) : own;
}

const char *hocket__runtime_secret(struct hocket__runtime *rt, const char *name)
{
    return ask(rt, rt->secret_cb, rt->secret_ud, name);
}

void hocket__runtime_log_text(enum hocket_log_level level, const char *text, void *runtime)
{
    struct hocket__runtime *rt = runtime;
    if (!rt->log_cb)
        return;
    rt->asking++;
    rt->log_cb(level, text, rt->log_ud);
    rt->asking--;
}

void hocket__runtime_log(
    struct hocket__runtime *rt, enum hocket_log_level level, const char *fmt, ...)
{
    if (!rt->log_cb)
        return;
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    hocket__runtime_log_text(level, text, rt);
}
