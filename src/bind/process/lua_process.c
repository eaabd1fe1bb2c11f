/* hocket.process: programs for tools, each in a sandbox, waited for like any call.
 *
 * The program is a child of the launcher and not of this process (os/launcher); what the fiber
 * waits for is a message on a socket. A cancel stops the whole tree, and a host that closes stops
 * all. */
#include "bind/life.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_names.h"
#include "bind/fiber/fiber.h"
#include "bind/open.h"
#include "bind/process/process_impl.h"
#include "bind/taker.h"
#include "bind/util.h"
#include "os/capture.h"
#include "os/fs.h"
#include "os/self.h"

/* A program's options as Lua gives them, and its end as Lua gets it.
 *
 * Limits that are absent or 0 are none. Texts are views into Lua strings, which the table holds
 * during the call; the message to the launcher copies them. */

#define MAX_WORDS 4096 /* of each list */

/* ---- Options -------------------------------------------------------------------------- */

/* The list of texts in field `name`, ended by NULL. Its memory and its texts stay while the options
 * and the stack do. NULL when absent. */
static const char *const *opt_list(lua_State *L, const char *name)
{
    int type = lua_getfield(L, 1, name);
    if (type == LUA_TNIL)
        return NULL;
    if (type != LUA_TTABLE)
        luaL_error(L, "bad option '%s' (a list of texts expected)", name);
    lua_Integer n = luaL_len(L, -1);
    if (n > MAX_WORDS)
        luaL_error(L, "bad option '%s' (more than %d texts)", name, MAX_WORDS);
    const char **list = lua_newuserdatauv(L, ((size_t) n + 1) * sizeof(*list), 0);
    for (lua_Integer i = 1; i <= n; i++) {
        size_t len;
        if (lua_rawgeti(L, -2, i) != LUA_TSTRING)
            luaL_error(L, "bad option '%s' (a list of texts expected)", name);
        list[i - 1] = lua_tolstring(L, -1, &len);
        if (strlen(list[i - 1]) != len)
            luaL_error(L, "bad option '%s' (a text with a NUL)", name);
        lua_pop(L, 1);
    }
    list[n] = NULL;
    return list;
}

static enum hocket__sandbox level_of(lua_State *L, const char *name)
{
    int level = name ? hocket__sandbox_from_name(name) : -1;
    if (level < 0)
        luaL_error(L, "bad option 'sandbox' (\"bubblewrap\", \"landlock\" or \"limits\" expected)");
    return (enum hocket__sandbox) level;
}

void hocket__program_read(lua_State *L, struct hocket__runtime *rt, const struct hocket__opt rows[],
    struct hocket__program_asked *asked)
{
    asked->spec.launchers = &rt->launchers;
    asked->spec.launcher = rt->launcher;
    asked->grace = 2;
    hocket__opt_read(L, 1, rows, asked);
    asked->spec.launch.limits.grace_ms = (int64_t) (asked->grace * 1000);
}

int hocket__program_check(
    lua_State *L, struct hocket__program_asked *asked, struct hocket_error *err)
{
    static const char *const none[] = { 0 };
    struct hocket__launch *l = &asked->spec.launch;
    l->argv = opt_list(L, "argv");
    l->env = opt_list(L, "env");
    l->readable = opt_list(L, "readable");
    l->writable = opt_list(L, "writable");
    l->guarded = opt_list(L, "guarded");
    l->sandbox = level_of(L, asked->sandbox);
    if (!l->argv || !l->argv[0])
        luaL_error(L, "bad option 'argv' (a program and its arguments expected)");
    if (l->protect && !hocket__fs_is_absolute(l->protect))
        luaL_error(L, "bad option 'protect' (an absolute path expected)");
    if (!l->cwd || !hocket__fs_is_absolute(l->cwd))
        luaL_error(L, "bad option 'cwd' (an absolute path expected)");
    if (!l->env)
        l->env = none;
    return asked->spec.launcher || !hocket__process_needs_launcher()
               ? 0
               : hocket__error(err, HOCKET_EUNSUPPORTED,
                   "programs cannot be started here: the embedding program has named "
                   "no launcher (hocket_options.launcher)");
}

/* ---- Its end --------------------------------------------------------------------------- */

/* Sets `name`, and name_omitted and name_tail where it was cut, in the table on top. */
static void program_push_output(lua_State *L, struct hocket__capture *c, const char *name)
{
    char omitted[32];
    uint64_t left_out = hocket__capture_finish(c);
    hocket__push_str(L, hocket__buf_str(&c->head));
    if (left_out > 0) {
        lua_setfield(L, -2, name);
        snprintf(omitted, sizeof(omitted), "%s_omitted", name);
        hocket__set_int(L, omitted, (lua_Integer) left_out);
        snprintf(omitted, sizeof(omitted), "%s_tail", name);
        hocket__push_str(L, hocket__buf_str(&c->tail));
        lua_setfield(L, -2, omitted);
        return;
    }
    hocket__push_str(L, hocket__buf_str(&c->tail));
    lua_concat(L, 2);
    lua_setfield(L, -2, name);
}

void hocket__program_push_end(lua_State *L, const struct hocket__launch_result *r)
{
    if (r->signal) {
        const char *name = hocket__signal_name(r->signal);
        hocket__set_cstr(L, "signal", name ? name : "?");
    } else {
        hocket__set_int(L, "code", r->code);
    }
    hocket__set_int(L, "left_behind", (lua_Integer) r->left_behind);
    hocket__set_number(L, "cpu", (double) r->cpu_ms / 1000);
    hocket__set_int(L, "max_rss", (lua_Integer) r->max_rss);
    if (r->unguarded) {
        hocket__set_bool(L, "unguarded", true);
    }
    if (r->refused > 0) {
        hocket__set_int(L, "refused", (lua_Integer) r->refused);
        hocket__set_cstr(L, "refused_names", r->refused_names);
    }
    if (r->overlooked) {
        hocket__set_bool(L, "overlooked", true);
    }
    if (r->limit[0]) {
        hocket__set_cstr(L, "limit", r->limit);
    }
}

/* bubblewrap says on its standard error what it could not do. */
int hocket__program_fail(
    lua_State *L, const struct hocket__launch_result *r, struct hocket__str said)
{
    struct hocket_error err;
    const char *line = said.n > 0 ? memchr(said.p, '\n', said.n) : NULL;
    if (line)
        said.n = (size_t) (line - said.p);
    hocket__error(&err, r->status, "%s%s%.*s", r->message, said.n > 0 ? ": " : "",
        (int) (said.n < 200 ? said.n : 200), said.p);
    return hocket__fail(L, &err);
}

#define META "hocket.process"

struct process {
    struct hocket__closer closer;
    struct hocket__runtime *rt;
    struct hocket__process *process; /* NULL: over */
    uint64_t fiber;
    bool done, timed_out;
    int self_ref;                /* keeps this userdata while the loop knows it */
    struct hocket__taker *proxy; /* in the options, on the stack of who waits */
    struct hocket__capture out, err;
    struct hocket__launch_result result;
};

/* ---- Callbacks from the loop -------------------------------------------------------- */

static void on_output(void *ud, int stream, const char *p, size_t n)
{
    struct process *u = ud;
    hocket__capture_add(stream == 1 ? &u->out : &u->err, p, n);
}

static void on_socket(void *ud, int fd)
{
    struct process *u = ud;
    u->proxy->take(u->proxy, fd);
}

/* Nothing of it is in the loop any more. */
static void let_go(void *ud)
{
    struct process *u = ud;
    u->process = NULL;
    luaL_unref(u->rt->L, LUA_REGISTRYINDEX, u->self_ref);
    hocket__runtime_release(u->rt, &u->closer);
}

static void on_exit_(void *ud, const struct hocket__launch_result *result)
{
    struct process *u = ud;
    u->result = *result;
    u->done = true;
    hocket__fiber_wake(u->rt, u->fiber);
    let_go(u);
}

static const struct hocket__process_handler handler = {
    .on_output = on_output, .on_socket = on_socket, .on_exit = on_exit_
};

/* A cancelled wait kills. */
static void abandon(void *ud)
{
    struct process *u = ud;
    if (u->process)
        hocket__process_close(u->process, let_go, u);
    u->process = NULL;
}

static void on_runtime_close(struct hocket__closer *c)
{
    abandon(hocket__container_of(c, struct process, closer));
}

static int process_gc(lua_State *L)
{
    struct process *u = hocket__gc_userdata(L, process_gc);
    if (!u)
        return 0;
    hocket__capture_deinit(&u->out);
    hocket__capture_deinit(&u->err);
    return 0;
}

/* ---- Results -------------------------------------------------------------------------- */

static int push_result(lua_State *L, struct process *u)
{
    if (!u->result.started)
        return hocket__program_fail(L, &u->result, hocket__buf_str(&u->err.head));
    lua_createtable(L, 0, 12);
    program_push_output(L, &u->out, "stdout");
    program_push_output(L, &u->err, "stderr");
    hocket__program_push_end(L, &u->result);
    hocket__set_bool(L, "timed_out", u->timed_out);
    return 1;
}

/* Stack: the options, the process. */
static int finish(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    (void) ctx;
    struct process *u = luaL_checkudata(L, 2, META);
    if (u->done)
        return push_result(L, u);
    if (!u->process || !hocket__timed_out(L))
        return hocket__await_rest(L, abandon, u, 0, finish);
    u->timed_out = true;
    hocket__process_stop(u->process);
    return hocket__await(L, -1, abandon, u, 0, finish);
}

static struct process *new_process(
    lua_State *L, struct hocket__runtime *rt, size_t head, size_t tail)
{
    struct process *u = lua_newuserdatauv(L, sizeof(*u), 0);
    *u = (struct process){ .rt = rt, .closer = { .close = on_runtime_close } };
    hocket__list_init(&u->closer.link);
    hocket__capture_init(&u->out, rt->alloc, head, tail);
    hocket__capture_init(&u->err, rt->alloc, head, tail);
    luaL_setmetatable(L, META);
    return u;
}

static int64_t timeout_ms(double s)
{
    return s <= 0 ? -1 : s > 1e9 ? INT64_C(1000000000000) : (int64_t) (s * 1000 + 0.5);
}

static struct hocket__taker *opt_proxy(lua_State *L, bool network)
{
    if (lua_getfield(L, 1, "proxy") == LUA_TNIL)
        return NULL;
    struct hocket__taker *t = luaL_testudata(L, -1, HOCKET__PROXY_META);
    if (!t)
        luaL_error(L, "bad option 'proxy' (one of hocket.internal.core.proxy expected)");
    if (network)
        luaL_error(L, "bad option 'proxy' (beside 'network' nothing goes through it)");
    return t;
}

/* run{argv=, cwd=, sandbox=, …} -> {code | signal, stdout, stderr, …} | nil, error */
static int l_run(lua_State *L)
{
    static const struct hocket__opt rows[] = { HOCKET__PROGRAM_ROWS,
        HOCKET__PROGRAM_ROW(TEXT, "input", spec.input),
        HOCKET__PROGRAM_ROW(NUMBER, "timeout", timeout),
        { HOCKET__OPT_INT("head", struct hocket__program_asked, head, 0, INT64_C(1) << 30) },
        { HOCKET__OPT_INT("tail", struct hocket__program_asked, tail, 1, INT64_C(1) << 30) },
        { HOCKET__OPT_OWN("proxy") }, { 0 } };
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__program_asked asked = { .head = 1 << 20, .tail = 1 << 16 };
    struct hocket__process_spec *spec = &asked.spec;
    struct hocket_error err;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    hocket__program_read(L, rt, rows, &asked);
    uint64_t fiber = hocket__fiber_current(L)->id;
    struct process *u = new_process(L, rt, asked.head, asked.tail);
    hocket__need_stack(L, 16);
    if (hocket__program_check(L, &asked, &err) < 0)
        return hocket__fail(L, &err);
    u->proxy = opt_proxy(L, spec->launch.network);
    spec->launch.proxied = u->proxy != NULL;
    lua_pushvalue(L, 2);
    u->self_ref = luaL_ref(L, LUA_REGISTRYINDEX);
    u->fiber = fiber;
    if (hocket__process_start(rt->loop, rt->alloc, spec, &handler, u, &u->process, &err) < 0) {
        luaL_unref(L, LUA_REGISTRYINDEX, u->self_ref);
        return hocket__fail(L, &err);
    }
    hocket__runtime_hold(rt, &u->closer);
    lua_settop(L, 2);
    return hocket__await(L, timeout_ms(asked.timeout), abandon, u, 0, finish);
}

/* launcher() -> path, LD_LIBRARY_PATH | nil. A link such as /proc/self/exe is followed: a sandbox has
 * another. */
static int l_launcher(lua_State *L)
{
    char real[4096];
    const char *path = hocket__runtime(L)->launcher;
    if (!path)
        return 0;
    lua_pushstring(L, hocket__fs_real(path, real, sizeof(real)) ? real : path);
    lua_pushstring(L, hocket__self_getenv("LD_LIBRARY_PATH"));
    return 2;
}

static const luaL_Reg functions[] = { { "run", l_run }, { "open", hocket__program_open },
    { "launcher", l_launcher }, { NULL, NULL } };
static const luaL_Reg methods[] = { { "__gc", process_gc }, { NULL, NULL } };

int hocket__open_process(lua_State *L)
{
    hocket__newmeta(L, META, methods);
    lua_pop(L, 1);
    hocket__program_register(L);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}
