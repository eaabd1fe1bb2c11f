/* hocket.process: programs for tools, each in a sandbox, waited for like any call. */

#include "bind/life.h"
#include "bind/open.h"

#include "bind/fiber/fiber.h"
#include "bind/util.h"
#include "sys/capture.h"
#include "sys/process.h"

#include <stdio.h>
#include <stdlib.h>

#define META      "hocket.process"
#define MAX_WORDS 4096 /* of each list */

struct process {
    struct hocket__closer closer;
    struct hocket__runtime *rt;
    struct hocket__process *process; /* NULL: over */
    uint64_t fiber;
    bool done, timed_out;
    int self_ref; /* keeps this userdata while the loop knows it */
    struct hocket__capture out, err;
    struct hocket__launch_result result;
};

/* ---- Callbacks from the loop -------------------------------------------------------- */

static void on_output(void *ud, int stream, const char *p, size_t n)
{
    struct process *u = ud;
    hocket__capture_add(stream == 1 ? &u->out : &u->err, p, n);
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

static const struct hocket__process_handler handler = { on_output, on_exit_ };

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

static void read_limits(lua_State *L, struct hocket__launch_limits *m)
{
    const int64_t most = INT64_C(1) << 50;
    m->cpu_s = hocket__opt_int(L, 1, "cpu", 0, 0, most);
    m->memory = hocket__opt_int(L, 1, "memory", 0, 0, most);
    m->file_bytes = hocket__opt_int(L, 1, "file_size", 0, 0, most);
    m->written = hocket__opt_int(L, 1, "written", 0, 0, most);
    m->open_files = hocket__opt_int(L, 1, "open_files", 0, 0, most);
    m->processes = hocket__opt_int(L, 1, "processes", 0, 0, most);
    m->grace_ms = (int64_t) (hocket__opt_number(L, 1, "grace", 2) * 1000);
}

static enum hocket__sandbox read_level(lua_State *L)
{
    struct hocket__str name = hocket__opt_str(L, 1, "sandbox");
    int level = name.p ? hocket__sandbox_from_name(name.p) : -1;
    if (level < 0)
        luaL_error(L, "bad option 'sandbox' (\"bubblewrap\", \"landlock\" or \"limits\" expected)");
    return (enum hocket__sandbox) level;
}

static void read_spec(lua_State *L, struct hocket__runtime *rt, struct hocket__process_spec *spec)
{
    static const char *const none[] = { NULL };
    struct hocket__launch *l = &spec->launch;
    spec->launcher = hocket__opt_str(L, 1, "launcher").p;
    if (!spec->launcher)
        spec->launcher = rt->launcher;
    spec->launchers = &rt->launchers;
    spec->input = hocket__opt_str(L, 1, "input");
    l->argv = opt_list(L, "argv");
    l->env = opt_list(L, "env");
    l->readable = opt_list(L, "readable");
    l->writable = opt_list(L, "writable");
    l->guarded = opt_list(L, "guarded");
    l->protect = hocket__opt_str(L, 1, "protect").p;
    l->cwd = hocket__opt_str(L, 1, "cwd").p;
    l->sandbox = read_level(L);
    l->network = hocket__opt_bool(L, 1, "network", false);
    l->sockets = hocket__opt_bool(L, 1, "sockets", false);
    if (!l->argv || !l->argv[0])
        luaL_error(L, "bad option 'argv' (a program and its arguments expected)");
    if (l->protect && l->protect[0] != '/')
        luaL_error(L, "bad option 'protect' (an absolute path expected)");
    if (!l->cwd || l->cwd[0] != '/')
        luaL_error(L, "bad option 'cwd' (an absolute path expected)");
    if (!l->env)
        l->env = none;
    read_limits(L, &l->limits);
}

/* ---- Results -------------------------------------------------------------------------- */

static void push_output(lua_State *L, struct hocket__capture *c, const char *name)
{
    char omitted[32];
    uint64_t left_out = hocket__capture_finish(c);
    hocket__push_str(L, hocket__buf_str(&c->head));
    if (left_out > 0) {
        lua_setfield(L, -2, name);
        snprintf(omitted, sizeof(omitted), "%s_omitted", name);
        lua_pushinteger(L, (lua_Integer) left_out);
        lua_setfield(L, -2, omitted);
        snprintf(omitted, sizeof(omitted), "%s_tail", name);
        hocket__push_str(L, hocket__buf_str(&c->tail));
        lua_setfield(L, -2, omitted);
        return;
    }
    hocket__push_str(L, hocket__buf_str(&c->tail));
    lua_concat(L, 2);
    lua_setfield(L, -2, name);
}

static void push_numbers(lua_State *L, const struct hocket__launch_result *r)
{
    if (r->signal) {
        const char *name = sigabbrev_np(r->signal);
        lua_pushstring(L, name ? name : "?");
        lua_setfield(L, -2, "signal");
    } else {
        lua_pushinteger(L, r->code);
        lua_setfield(L, -2, "code");
    }
    lua_pushinteger(L, (lua_Integer) r->left_behind);
    lua_setfield(L, -2, "left_behind");
    lua_pushnumber(L, (double) r->cpu_ms / 1000);
    lua_setfield(L, -2, "cpu");
    lua_pushinteger(L, (lua_Integer) r->max_rss);
    lua_setfield(L, -2, "max_rss");
    if (r->unguarded) {
        lua_pushboolean(L, true);
        lua_setfield(L, -2, "unguarded");
    }
    if (r->refused > 0) {
        lua_pushinteger(L, (lua_Integer) r->refused);
        lua_setfield(L, -2, "refused");
        lua_pushstring(L, r->refused_names);
        lua_setfield(L, -2, "refused_names");
    }
    if (r->overlooked) {
        lua_pushboolean(L, true);
        lua_setfield(L, -2, "overlooked");
    }
    if (r->limit[0]) {
        lua_pushstring(L, r->limit);
        lua_setfield(L, -2, "limit");
    }
}

/* bubblewrap says on its standard error what it could not do. */
static int push_failure(lua_State *L, struct process *u)
{
    struct hocket_error err;
    struct hocket__str said = hocket__buf_str(&u->err.head);
    const char *line = said.n > 0 ? memchr(said.p, '\n', said.n) : NULL;
    if (line)
        said.n = (size_t) (line - said.p);
    hocket__error(&err, u->result.status, "%s%s%.*s", u->result.message, said.n > 0 ? ": " : "",
        (int) (said.n < 200 ? said.n : 200), said.p);
    return hocket__fail(L, &err);
}

static int push_result(lua_State *L, struct process *u)
{
    if (!u->result.started)
        return push_failure(L, u);
    lua_createtable(L, 0, 12);
    push_output(L, &u->out, "stdout");
    push_output(L, &u->err, "stderr");
    push_numbers(L, &u->result);
    lua_pushboolean(L, u->timed_out);
    lua_setfield(L, -2, "timed_out");
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
    if (hocket__fiber_current(L)->timed_out && u->process && !u->timed_out) {
        u->timed_out = true;
        hocket__process_stop(u->process);
    }
    return hocket__await(L, -1, abandon, u, 0, finish);
}

static struct process *new_process(lua_State *L, struct hocket__runtime *rt)
{
    size_t head = (size_t) hocket__opt_int(L, 1, "head", 1 << 20, 0, INT64_C(1) << 30);
    size_t tail = (size_t) hocket__opt_int(L, 1, "tail", 1 << 16, 1, INT64_C(1) << 30);
    struct process *u = lua_newuserdatauv(L, sizeof(*u), 0);
    *u = (struct process){ .rt = rt, .closer = { .close = on_runtime_close } };
    hocket__list_init(&u->closer.link);
    hocket__capture_init(&u->out, rt->alloc, head, tail);
    hocket__capture_init(&u->err, rt->alloc, head, tail);
    luaL_setmetatable(L, META);
    return u;
}

static int64_t timeout_ms(lua_State *L)
{
    double s = hocket__opt_number(L, 1, "timeout", 0);
    return s <= 0 ? -1 : s > 1e9 ? INT64_C(1000000000000) : (int64_t) (s * 1000 + 0.5);
}

/* run{argv=, cwd=, sandbox=, …} -> {code | signal, stdout, stderr, …} | nil, error */
static int l_run(lua_State *L)
{
    static const char *const names[] = { "argv", "env", "cwd", "input", "readable", "writable",
        "guarded", "protect", "sandbox", "network", "sockets", "cpu", "memory", "file_size", "written",
        "open_files", "processes", "grace", "timeout", "head", "tail", "launcher", NULL };
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__process_spec spec;
    struct hocket_error err;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    hocket__opt_only(L, 1, names);
    uint64_t fiber = hocket__fiber_current(L)->id;
    int64_t timeout = timeout_ms(L);
    struct process *u = new_process(L, rt);
    luaL_checkstack(L, 16, NULL);
    read_spec(L, rt, &spec);
    if (!spec.launcher) {
        hocket__error(&err, HOCKET_EUNSUPPORTED,
            "programs cannot be started here: the embedding program has named no launcher "
            "(hocket_options.launcher)");
        return hocket__fail(L, &err);
    }
    lua_pushvalue(L, 2);
    u->self_ref = luaL_ref(L, LUA_REGISTRYINDEX);
    u->fiber = fiber;
    if (hocket__process_start(rt->loop, rt->alloc, &spec, &handler, u, &u->process, &err) < 0) {
        luaL_unref(L, LUA_REGISTRYINDEX, u->self_ref);
        return hocket__fail(L, &err);
    }
    hocket__runtime_hold(rt, &u->closer);
    lua_settop(L, 2);
    return hocket__await(L, timeout, abandon, u, 0, finish);
}

/* launcher() -> path | nil. A link such as /proc/self/exe is followed: a sandbox has another. */
static int l_launcher(lua_State *L)
{
    const char *path = hocket__runtime(L)->launcher;
    char *real = path ? realpath(path, NULL) : NULL;
    lua_pushstring(L, real ? real : path);
    free(real);
    return 1;
}

static const luaL_Reg functions[] = { { "run", l_run }, { "launcher", l_launcher },
    { NULL, NULL } };
static const luaL_Reg methods[] = { { "__gc", process_gc }, { NULL, NULL } };

int hocket__open_process(lua_State *L)
{
    hocket__newmeta(L, META, methods);
    lua_pop(L, 1);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}
