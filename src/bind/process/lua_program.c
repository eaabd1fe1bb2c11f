/* hocket.process.open: a program that is talked with, line by line, as long as both want to.
 *
 *     write ──> (waits here) ──> its standard input
 *     read_line <── (kept here, then its pipe is full) <── its standard output
 *     stderr: the last of it
 *
 * The talk is an object of its own beside the userdata: the loop knows it until the program is gone,
 * also when nobody in Lua does any more. A program that nobody holds is ended. */
#include "bind/fiber/fiber.h"
#include "bind/life.h"
#include "bind/process/process_impl.h"
#include "bind/util.h"

#include <string.h>
#include <uv.h>

static const char META[] = "hocket.program";

#define AHEAD       (1 << 20)  /* bytes of output that are kept before its pipe has to wait */
#define WAITING     (1 << 20)  /* bytes of input that may wait before a writer does */
#define STDERR      (64 << 10) /* bytes of its standard error that are kept */
#define LINE        (32 << 20) /* bytes of a line, unless the reader says otherwise */
#define FAREWELL_MS 500        /* that a program has to end by itself when the host ends */

struct talk {
    struct hocket__closer closer;
    struct hocket__runtime *rt;
    struct hocket__process *process; /* NULL: over */
    bool held;                       /* a userdata has it */
    bool ended;                      /* `result` says how */
    uint64_t reader, writer, waiter; /* fibers, 0: none */
    struct hocket__buf out;          /* what it has written and nobody has read */
    size_t looked;                   /* so much of it has no line break */
    bool skipping;                   /* the rest of a line that was too long */
    struct hocket__buf err;          /* the last of its standard error: twice STDERR at most */
    uint64_t err_dropped;
    struct hocket__launch_result result;
    uv_timer_t farewell; /* once the host ends */
    bool parting;
};

static void wake(struct talk *t, uint64_t *fiber)
{
    uint64_t id = *fiber;
    *fiber = 0;
    if (id)
        hocket__fiber_wake(t->rt, id);
}

/* ---- Callbacks from the loop -------------------------------------------------------- */

static void keep_last(struct talk *t, size_t n)
{
    if (t->err.len <= n)
        return;
    t->err_dropped += t->err.len - n;
    hocket__buf_drop(&t->err, t->err.len - n);
}

static void hear_error(struct talk *t, const char *p, size_t n)
{
    hocket__buf_add(&t->err, p, n);
    if (t->err.len > 2 * STDERR)
        keep_last(t, STDERR);
}

static void on_output(void *ud, int stream, const char *p, size_t n)
{
    struct talk *t = ud;
    if (stream == 2) {
        hear_error(t, p, n);
        return;
    }
    hocket__buf_add(&t->out, p, n);
    if (t->out.len >= AHEAD)
        hocket__process_hold(t->process, true);
    wake(t, &t->reader);
}

static void on_taken(void *ud)
{
    struct talk *t = ud;
    wake(t, &t->writer);
}

static void free_talk(struct talk *t)
{
    hocket__buf_deinit(&t->out);
    hocket__buf_deinit(&t->err);
    hocket__free(t->rt->alloc, t, sizeof(*t));
}

static void leave(struct talk *t)
{
    hocket__runtime_release(t->rt, &t->closer);
    wake(t, &t->reader);
    wake(t, &t->writer);
    wake(t, &t->waiter);
    if (!t->held)
        free_talk(t);
}

static void on_farewell_closed(uv_handle_t *timer)
{
    leave(timer->data);
}

/* Nothing of the program is in the loop any more. */
static void let_go(void *ud)
{
    struct talk *t = ud;
    t->process = NULL;
    if (t->parting)
        uv_close((uv_handle_t *) &t->farewell, on_farewell_closed);
    else
        leave(t);
}

static void on_exit_(void *ud, const struct hocket__launch_result *result)
{
    struct talk *t = ud;
    t->result = *result;
    t->ended = true;
    let_go(t);
}

static const struct hocket__process_handler handler = {
    .on_output = on_output, .on_taken = on_taken, .on_exit = on_exit_
};

static void end(struct talk *t)
{
    struct hocket__process *p = t->process;
    t->process = NULL;
    if (p)
        hocket__process_close(p, let_go, t);
}

static void on_farewell(uv_timer_t *timer)
{
    end(timer->data);
}

/* What has something to write down does so when its input ends. */
static void on_runtime_close(struct hocket__closer *c)
{
    struct talk *t = hocket__container_of(c, struct talk, closer);
    if (!t->process || t->parting || uv_timer_init(t->rt->loop, &t->farewell) < 0) {
        end(t);
        return;
    }
    t->farewell.data = t;
    t->parting = true;
    uv_timer_start(&t->farewell, on_farewell, FAREWELL_MS, 0);
    hocket__process_end_input(t->process);
}

/* A talk whose program is gone is ours alone; otherwise the loop's last word frees it. */
static int program_gc(lua_State *L)
{
    struct talk **held = hocket__gc_userdata(L, program_gc);
    struct talk *t = held ? *held : NULL;
    if (!t)
        return 0;
    *held = NULL;
    t->held = false;
    if (t->process)
        end(t);
    else if (hocket__list_empty(&t->closer.link))
        free_talk(t);
    return 0;
}

static struct talk *check(lua_State *L)
{
    struct talk **held = luaL_checkudata(L, 1, META);
    luaL_argcheck(L, *held, 1, "this program was closed");
    return *held;
}

/* ---- Waiting -------------------------------------------------------------------------------- */

static void forget_reader(void *ud)
{
    ((struct talk *) ud)->reader = 0;
}

static void forget_writer(void *ud)
{
    ((struct talk *) ud)->writer = 0;
}

static void forget_waiter(void *ud)
{
    ((struct talk *) ud)->waiter = 0;
}

static void claim(lua_State *L, uint64_t *place, const char *what)
{
    struct hocket__fiber *f = hocket__fiber_current(L);
    if (*place != 0 && *place != f->id)
        luaL_error(L, "somebody else %s this program already", what);
    *place = f->id;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* The place of the next line break, or NULL. */
static const char *find_break(struct talk *t)
{
    const char *p = t->out.len > t->looked
                        ? memchr(t->out.data + t->looked, '\n', t->out.len - t->looked)
                        : NULL;
    t->looked = p ? 0 : t->out.len;
    return p;
}

static void take(struct talk *t, size_t n)
{
    hocket__buf_drop(&t->out, n);
    t->looked = 0;
    if (t->process && t->out.len < AHEAD)
        hocket__process_hold(t->process, false);
}

static int too_long(lua_State *L, size_t max)
{
    struct hocket_error err;
    hocket__error(&err, HOCKET_ELIMIT, "a line of more than %zu bytes was left out", max);
    return hocket__fail(L, &err);
}

/* The line that ends at `end`, without its break; 0 for the rest of one that was too long. */
static int take_line(lua_State *L, struct talk *t, const char *end, size_t max)
{
    size_t n = (size_t) (end - t->out.data), text = n > 0 && end[-1] == '\r' ? n - 1 : n;
    bool is_rest = t->skipping;
    if (!is_rest && n <= max)
        lua_pushlstring(L, t->out.data, text);
    take(t, n + 1);
    t->skipping = false;
    return is_rest ? 0 : n <= max ? 1 : too_long(L, max);
}

/* A line without an end so far, that is too long already. */
static int skip_line(lua_State *L, struct talk *t, size_t max)
{
    bool first = !t->skipping;
    t->skipping = true;
    take(t, t->out.len);
    return first ? too_long(L, max) : 0;
}

/* What it wrote last may lack the break. */
static int last_line(lua_State *L, struct talk *t)
{
    struct hocket_error err;
    if (t->out.status < 0)
        return hocket__fail(L, (hocket__error_nomem(&err), &err));
    if (t->out.len > 0 && !t->skipping)
        lua_pushlstring(L, t->out.data, t->out.len);
    else
        lua_pushnil(L);
    take(t, t->out.len);
    return 1;
}

static int read_on(lua_State *L, int status, lua_KContext max)
{
    struct talk *t = check(L);
    const char *end;
    int n = 0;
    (void) status;
    while (n == 0 && (end = find_break(t)) != NULL)
        n = take_line(L, t, end, (size_t) max);
    if (n == 0 && (t->out.len > (size_t) max || t->skipping))
        n = skip_line(L, t, (size_t) max);
    if (n > 0)
        return n;
    if (!t->process || t->out.status < 0)
        return last_line(L, t);
    hocket__process_hold(t->process, false); /* a line may be longer than what is kept ahead */
    claim(L, &t->reader, "reads from");
    return hocket__await(L, -1, forget_reader, t, max, read_on);
}

/* read_line([max]) -> text | nil: there is no more | nil, error: it is longer, and left out */
static int l_read_line(lua_State *L)
{
    lua_Integer max = luaL_optinteger(L, 2, LINE);
    luaL_argcheck(L, max >= 1 && max <= INT64_C(1) << 30, 2, "1 to 2^30 expected");
    lua_settop(L, 1);
    return read_on(L, LUA_OK, max);
}

/* ---- Writing -------------------------------------------------------------------------------- */

static int written(lua_State *L, int status, lua_KContext ctx)
{
    struct talk *t = check(L);
    (void) status;
    (void) ctx;
    if (t->process && hocket__process_waiting(t->process) > WAITING) {
        claim(L, &t->writer, "writes to");
        return hocket__await(L, -1, forget_writer, t, 0, written);
    }
    lua_pushboolean(L, true);
    return 1;
}

/* write(text) -> true | nil, error: it takes nothing any more */
static int l_write(lua_State *L)
{
    struct talk *t = check(L);
    struct hocket__str text = hocket__check_str(L, 2);
    struct hocket_error err;
    int rc = t->process ? hocket__process_write(t->process, text) : HOCKET_ECLOSED;
    if (rc == 0)
        return written(L, LUA_OK, 0);
    hocket__error(&err, rc,
        rc == HOCKET_ECLOSED ? "the program takes no input any more"
                             : "more waits for the program than is kept");
    return hocket__fail(L, &err);
}

static int l_end_input(lua_State *L)
{
    struct talk *t = check(L);
    if (t->process)
        hocket__process_end_input(t->process);
    return 0;
}

/* ---- Its end -------------------------------------------------------------------------------- */

static int push_end(lua_State *L, struct talk *t)
{
    struct hocket_error err;
    if (!t->ended)
        return hocket__fail(
            L, (hocket__error(&err, HOCKET_ECLOSED, "the program was closed"), &err));
    if (!t->result.started)
        return hocket__program_fail(L, &t->result, hocket__buf_str(&t->err));
    lua_createtable(L, 0, 8);
    hocket__program_push_end(L, &t->result);
    return 1;
}

static int waited(lua_State *L, int status, lua_KContext ctx)
{
    struct talk *t = check(L);
    (void) status;
    (void) ctx;
    if (!t->process)
        return push_end(L, t);
    if (hocket__timed_out(L)) {
        t->waiter = 0;
        return 0;
    }
    claim(L, &t->waiter, "waits for");
    return hocket__await_rest(L, forget_waiter, t, 0, waited);
}

/* wait([seconds]) -> {code | signal, …} | nil: not yet | nil, error */
static int l_wait(lua_State *L)
{
    struct talk *t = check(L);
    int64_t ms = hocket__opt_seconds(L, 2);
    if (!t->process)
        return push_end(L, t);
    claim(L, &t->waiter, "waits for");
    return hocket__await(L, ms, forget_waiter, t, 0, waited);
}

static int l_stop(lua_State *L)
{
    struct talk *t = check(L);
    if (t->process)
        hocket__process_stop(t->process);
    return 0;
}

/* Its last words are kept: `stderr` has them. */
static int l_close(lua_State *L)
{
    end(check(L));
    return 0;
}

/* stderr() -> text, bytes left out before it */
static int l_stderr(lua_State *L)
{
    struct talk *t = check(L);
    keep_last(t, STDERR);
    hocket__push_str(L, hocket__buf_str(&t->err));
    lua_pushinteger(L, (lua_Integer) t->err_dropped);
    return 2;
}

/* ---- Starting -------------------------------------------------------------------------------- */

static struct talk *new_talk(lua_State *L, struct hocket__runtime *rt)
{
    struct talk **held = lua_newuserdatauv(L, sizeof(struct talk *), 0);
    *held = NULL;
    luaL_setmetatable(L, META);
    struct talk *t = hocket__zero(rt->alloc, sizeof(*t));
    if (!t)
        hocket__raise_nomem(L);
    *t = (struct talk){ .rt = rt, .held = true, .closer = { .close = on_runtime_close } };
    hocket__list_init(&t->closer.link);
    hocket__buf_init(&t->out, rt->alloc, 0);
    hocket__buf_init(&t->err, rt->alloc, 0);
    *held = t;
    return t;
}

int hocket__program_open(lua_State *L)
{
    static const struct hocket__opt rows[] = { HOCKET__PROGRAM_ROWS, { 0 } };
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__program_asked asked = { .spec = { .talks = true } };
    struct hocket_error err;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    hocket__program_read(L, rt, rows, &asked);
    struct talk *t = new_talk(L, rt);
    hocket__need_stack(L, 16);
    if (hocket__program_check(L, &asked, &err) < 0)
        return hocket__fail(L, &err);
    if (hocket__process_start(rt->loop, rt->alloc, &asked.spec, &handler, t, &t->process, &err) < 0)
        return hocket__fail(L, &err);
    hocket__runtime_hold(rt, &t->closer);
    lua_settop(L, 2);
    return 1;
}

static const luaL_Reg methods[] = { { "read_line", l_read_line }, { "write", l_write },
    { "end_input", l_end_input }, { "wait", l_wait }, { "stop", l_stop }, { "close", l_close },
    { "stderr", l_stderr }, { "__gc", program_gc }, { "__close", l_close }, { NULL, NULL } };

void hocket__program_register(lua_State *L)
{
    hocket__newmeta(L, META, methods);
    lua_pop(L, 1);
}
