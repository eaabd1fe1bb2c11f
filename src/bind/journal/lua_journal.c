/* hocket.internal.core.journal: what happened in a run, in order.
 *
 * The journal's userdata is held by its run, by writers and by whoever reads; a reader has a cursor
 * and pulls. In a run that is kept a record that somebody outside has appended goes through the
 * run's log, so that a replay has it at the same place. */

#include "bind/journal/journal.h"

#include <string.h>

#include "base/json/json.h"
#include "bind/account/account.h"
#include "bind/fiber/fiber.h"
#include "bind/json/json.h"
#include "bind/options.h"
#include "bind/util.h"

const char hocket__journal_name[] = "hocket.journal";

struct hocket__lua_journal *hocket__check_journal(lua_State *L, int arg)
{
    return hocket__check_object(L, arg, hocket__journal_name);
}

/* Whoever waits for a line looks again. */
static void wake(struct hocket__lua_journal *j)
{
    for (size_t i = 0; i < j->n_waiting; i++)
        hocket__fiber_wake(j->rt, j->waiting[i]);
    j->n_waiting = 0;
}

static bool is_of_run(const struct hocket__lua_journal *j, uint64_t fiber)
{
    const struct hocket__fiber *f = hocket__map_get(&j->rt->fibers, fiber);
    return f && f->kept && f->kept == j->kept;
}

void hocket__journal_wake_others(struct hocket__lua_journal *j)
{
    size_t left = 0;
    for (size_t i = 0; i < j->n_waiting; i++)
        if (is_of_run(j, j->waiting[i]))
            j->waiting[left++] = j->waiting[i];
        else
            hocket__fiber_wake(j->rt, j->waiting[i]);
    j->n_waiting = left;
}

static void on_wake(void *ud)
{
    struct hocket__lua_journal *j = ud;
    hocket__kept_settle_memory(j->rt);
    wake(j);
    if (j->on_append)
        j->on_append(j->ud);
}

struct hocket__lua_journal *hocket__journal_push(
    lua_State *L, struct hocket__runtime *rt, struct hocket__str run, size_t max_bytes)
{
    struct hocket__lua_journal *j = hocket__new_object(L, sizeof(*j), 1, hocket__journal_name);
    *j = (struct hocket__lua_journal){ .rt = rt };
    hocket__buf_init(&j->members, rt->alloc, 0);
    luaL_setmetatable(L, hocket__journal_name);
    struct hocket__journal_options o = hocket__journal_options_default();
    o.run = run;
    o.max_bytes = max_bytes ? max_bytes : o.max_bytes;
    o.wake_cb = on_wake;
    o.ud = j;
    j->journal = hocket__journal_new(rt->alloc, &o);
    if (!j->journal)
        hocket__raise_nomem(L);
    return j;
}

/* new{run=, max_bytes=} -> journal */
static int l_new(lua_State *L)
{
    struct asked {
        struct hocket__str run;
        size_t max_bytes;
    } asked = { { "", 0 }, 0 };
    static const struct hocket__opt rows[] = {
        { HOCKET__OPT_TEXT("run", struct asked, run) },
        { HOCKET__OPT_INT("max_bytes", struct asked, max_bytes, 0, INT64_MAX / 2) },
        { 0 },
    };
    hocket__opt_read(L, 1, rows, &asked);
    hocket__journal_push(L, hocket__runtime(L), asked.run, asked.max_bytes);
    return 1;
}

void hocket__refuse_reserved(lua_State *L, struct hocket__str name)
{
    if (hocket__journal_is_member(name))
        luaL_error(L, "'%s' is a member of the event itself and cannot be in its payload", name.p);
}

/* ---- In a run that is kept ------------------------------------------------------------------ */

int64_t hocket__journal_now_ms(const struct hocket__lua_journal *j)
{
    if (!j->kept)
        return hocket__wall_ms();
    return hocket__kept_here(j->rt) == j->kept ? hocket__script_wall_ms(j->rt)
                                               : hocket__kept_wall_ms(j->kept);
}

/* type, op, agent and payload, with a line end behind the first three, which have none in them. */
static void write_notice(const struct hocket__record *r, struct hocket__buf *out)
{
    const struct hocket__str parts[] = { r->type, r->op, r->agent };
    for (int i = 0; i < 3; i++) {
        hocket__buf_addstr(out, parts[i]);
        hocket__buf_addc(out, '\n');
    }
    hocket__buf_addstr(out, r->payload);
}

static struct hocket__str take_line(struct hocket__str *rest)
{
    const char *end = rest->n > 0 ? memchr(rest->p, '\n', rest->n) : NULL;
    struct hocket__str line = hocket__str(rest->p, end ? (size_t) (end - rest->p) : rest->n);
    size_t gone = end ? line.n + 1 : line.n;
    *rest = hocket__str(rest->p + gone, rest->n - gone);
    return line;
}

static void append_again(struct hocket__lua_journal *j, struct hocket__str value)
{
    struct hocket__record r;
    r.type = take_line(&value);
    r.op = take_line(&value);
    r.agent = take_line(&value);
    r.payload = value;
    if (j->journal && hocket__journal_check(r.payload.n ? r.payload : HOCKET__STR("{}"), NULL) == 0)
        hocket__journal_append(j->journal, &r, hocket__journal_now_ms(j), NULL);
}

/* A replay has come to what somebody else put into the journal, or did with the accounts. */
static void on_notice(void *ud, struct hocket__str name, struct hocket__str value)
{
    struct hocket__lua_journal *j = ud;
    if (name.n == 0)
        append_again(j, value);
    else if (j->accounts && hocket__str_eq(name, HOCKET__ACCOUNTS_NOTICE))
        hocket__accounts_again(j->accounts, value);
}

static void on_left(void *ud)
{
    struct hocket__lua_journal *j = ud;
    if (j->accounts)
        hocket__accounts_left(j->accounts);
}

void hocket__journal_keep(struct hocket__lua_journal *j, struct hocket__kept *k)
{
    j->kept = k;
    hocket__kept_hooks(k)->notice = on_notice;
    hocket__kept_hooks(k)->left = on_left;
    hocket__kept_hooks(k)->notice_ud = j;
}

/* Whether code runs that is not of its run: what that appends goes through the log. */
static bool is_outside(const struct hocket__lua_journal *j)
{
    return j->kept && hocket__kept_here(j->rt) != j->kept;
}

/* Whether it is to be written now. */
static bool note(struct hocket__lua_journal *j, const struct hocket__record *r)
{
    struct hocket__buf b;
    if (!is_outside(j))
        return true;
    hocket__buf_init(&b, j->rt->alloc, 0);
    write_notice(r, &b);
    bool now = b.status < 0 || hocket__kept_notice(j->kept, HOCKET__STR(""), hocket__buf_str(&b));
    hocket__buf_deinit(&b);
    return now;
}

int64_t hocket__journal_put(
    struct hocket__lua_journal *j, const struct hocket__record *r, struct hocket_error *err)
{
    if (!note(j, r))
        return 0;
    return hocket__journal_append(j->journal, r, hocket__journal_now_ms(j), err);
}

/* Members follow it with their commas; it goes when they are whole. */
#define FIRST "{\"\":0"

/* One that goes through the log is there as a whole before it has its number and its time. */
static struct hocket__buf *begin_aside(struct hocket__lua_journal *j, struct hocket_error *err)
{
    hocket__buf_reset(&j->members);
    hocket__buf_lit(&j->members, FIRST);
    if (j->members.status < 0)
        hocket__error_nomem(err);
    return j->members.status < 0 ? NULL : &j->members;
}

struct hocket__buf *hocket__journal_write(struct hocket__lua_journal *j,
    const struct hocket__str *author, struct hocket__str op, struct hocket__str agent,
    struct hocket__str type, struct hocket_error *err)
{
    if (is_outside(j)) {
        j->type = type;
        j->op = op;
        j->agent = agent;
        return begin_aside(j, err);
    }
    int64_t now = hocket__journal_now_ms(j);
    return author ? hocket__journal_begin(j->journal, *author, type, now, err)
                  : hocket__journal_begin_as(j->journal, op, agent, type, now, err);
}

int64_t hocket__journal_written(struct hocket__lua_journal *j, struct hocket_error *err)
{
    struct hocket__buf *b = &j->members;
    if (!is_outside(j))
        return hocket__journal_end(j->journal, err);
    hocket__buf_addc(b, '}');
    if (b->status < 0)
        return hocket__error_nomem(err);
    size_t skip = sizeof(FIRST) - 1;
    if (b->len > skip + 1)
        b->data[skip] = '{'; /* in place of the comma */
    struct hocket__record r = { j->type, j->op, j->agent,
        b->len > skip + 1 ? hocket__str(b->data + skip, b->len - skip) : hocket__str("", 0) };
    return hocket__journal_put(j, &r, err);
}

static int append_record(
    lua_State *L, struct hocket__lua_journal *j, const struct hocket__record *r)
{
    struct hocket_error err;
    int64_t seq = hocket__journal_put(j, r, &err);
    if (seq == 0)
        return 0;
    if (seq < 0)
        return hocket__fail(L, &err);
    lua_pushinteger(L, seq);
    return 1;
}

/* The payload at 3, written into the scratch where it is a table: a list, which the journal refuses,
 * or members. As text it is JSON that C has written. */
static struct hocket__str payload_at(lua_State *L, struct hocket__runtime *rt)
{
    if (!lua_istable(L, 3))
        return hocket__text_at(L, 3);
    hocket__buf_reset(&rt->scratch);
    if (lua_rawlen(L, 3) == 0)
        hocket__json_encode_object(L, 3, &rt->scratch, hocket__refuse_reserved);
    else
        hocket__json_encode(L, 3, &rt->scratch);
    return hocket__buf_str(&rt->scratch);
}

/* j:append(type, payload?, agent?, op?) -> seq | nil, error */
static int l_append(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__lua_journal *j = hocket__check_journal(L, 1);
    struct hocket__record r = {
        .type = hocket__check_str(L, 2), .agent = hocket__text_at(L, 4), .op = hocket__text_at(L, 5)
    };
    r.payload = payload_at(L, rt);
    return append_record(L, j, &r);
}

/* j:next(cursor) -> line, seq, missed; nothing when there is none yet */
static int l_next(lua_State *L)
{
    struct hocket__lua_journal *j = hocket__check_journal(L, 1);
    uint64_t cursor = (uint64_t) luaL_optinteger(L, 2, 0);
    struct hocket__line line;
    if (!hocket__journal_next(j->journal, &cursor, &line))
        return 0;
    hocket__push_str(L, line.json);
    lua_pushinteger(L, (lua_Integer) line.seq);
    lua_pushinteger(L, (lua_Integer) line.missed);
    return 3;
}

static void forget(struct hocket__lua_journal *j, uint64_t id)
{
    for (size_t i = j->n_waiting; i-- > 0;)
        if (j->waiting[i] == id)
            j->waiting[i] = j->waiting[--j->n_waiting];
}

static int after_wait(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    (void) ctx;
    struct hocket__lua_journal *j = hocket__check_journal(L, 1);
    forget(j, hocket__fiber_current(L)->id);
    lua_pushboolean(L, hocket__journal_last(j->journal) > (uint64_t) luaL_optinteger(L, 2, 0));
    return 1;
}

/* j:wait(cursor, seconds?) -> whether there is a later line; returns at once when there is,
 * or when there can be none any more */
static int l_wait(lua_State *L)
{
    struct hocket__lua_journal *j = hocket__check_journal(L, 1);
    uint64_t id = hocket__fiber_current(L)->id;
    if (hocket__journal_last(j->journal) > (uint64_t) luaL_optinteger(L, 2, 0)
        || hocket__journal_finished(j->journal))
        return after_wait(L, LUA_OK, 0);
    if (hocket__grow(j->rt->alloc, &j->waiting, &j->cap_waiting, j->n_waiting + 1, sizeof(id)) < 0)
        return hocket__raise_nomem(L);
    j->waiting[j->n_waiting++] = id;
    return hocket__await_inside(L, hocket__opt_seconds(L, 3), 0, after_wait);
}

/* j:accounts(accounts): those of its run. What code that is not the run's does with them is in the log. */
static int l_accounts(lua_State *L)
{
    struct hocket__lua_journal *j = hocket__check_journal(L, 1);
    struct hocket__lua_accounts *a = hocket__check_accounts(L, 2);
    lua_settop(L, 2);
    lua_setiuservalue(L, 1, 1);
    j->accounts = a;
    a->logged = j->kept != NULL;
    return 0;
}

/* j:generation(n): each record from now on has it */
static int l_generation(lua_State *L)
{
    lua_Integer n = luaL_checkinteger(L, 2);
    luaL_argcheck(L, n > 0, 2, "a generation is a positive number");
    hocket__journal_set_generation(hocket__check_journal(L, 1)->journal, (uint64_t) n);
    return 0;
}

/* j:close(code): ends it in the run's place, with an error unless the code is "ok" */
static int l_close(lua_State *L)
{
    const char *code = luaL_checkstring(L, 2);
    struct hocket__lua_journal *j = hocket__check_journal(L, 1);
    int status = strcmp(code, "ok") == 0 ? HOCKET_OK : hocket__status_from_word(code);
    hocket__journal_close(j->journal, status, hocket__journal_now_ms(j));
    return 0;
}

/* j:enter(): from here on the running fiber, and everything that it starts, is the run's, where that is kept */
static int l_enter(lua_State *L)
{
    struct hocket__lua_journal *j = hocket__check_journal(L, 1);
    if (j->kept)
        hocket__kept_enter(L, j->kept);
    return 0;
}

/* A text without a NUL, a NUL, a text: as the host says it again. */
static int begin_telling(lua_State *L, struct hocket__lua_journal *j, struct hocket_error *err)
{
    struct hocket__buf words = hocket__buf(j->rt->alloc, 0);
    hocket__buf_addstr(&words, hocket__check_str(L, 3));
    hocket__buf_addc(&words, 0);
    hocket__buf_addstr(&words, hocket__check_str(L, 4));
    int rc = words.status < 0 ? hocket__error_nomem(err)
                              : hocket__kept_tell_begin(
                                  j->kept, hocket__check_str(L, 2), hocket__buf_str(&words), err);
    hocket__buf_deinit(&words);
    return rc;
}

/* Calls the function at 6 as somebody outside of the run. True: what it is asked before is fine; else its results are on top. */
static bool may_be_told(lua_State *L, struct hocket__lua_journal *j)
{
    struct hocket__kept *outer = j->rt->kept;
    j->rt->kept = NULL;
    lua_pushvalue(L, 6);
    int status = lua_pcall(L, 0, 2, 0);
    j->rt->kept = outer;
    if (status != LUA_OK)
        lua_error(L);
    return lua_toboolean(L, -2);
}

/* j:tell(wish, a, b, fn, check?) -> fn(), which says it to the run: where it is kept, as something in its log, whoever says it.
 * nil and an error while it cannot be said. check() is asked before: what it refuses, with nil and an error, is not in the log.
 * None of them waits. */
static int l_tell(lua_State *L)
{
    struct hocket__lua_journal *j = hocket__check_journal(L, 1);
    struct hocket_error err;
    for (int i = 2; i <= 4; i++)
        hocket__check_str(L, i);
    luaL_checktype(L, 5, LUA_TFUNCTION);
    lua_settop(L, 6);
    bool outside = j->kept && hocket__kept_here(j->rt) != j->kept;
    struct hocket__kept *outer = j->rt->kept;
    if (outside && hocket__kept_may_tell(j->kept, &err) < 0)
        return hocket__fail(L, &err);
    if (outside && !lua_isnil(L, 6) && !may_be_told(L, j))
        return 2;
    lua_settop(L, 5);
    if (outside && begin_telling(L, j, &err) < 0)
        return hocket__fail(L, &err);
    int status = lua_pcall(L, 0, LUA_MULTRET, 0);
    if (outside)
        hocket__kept_tell_end(j->kept);
    j->rt->kept = outer;
    if (status != LUA_OK)
        return lua_error(L);
    return lua_gettop(L) - 4;
}

/* j:hold(n): so many things more (below 0: fewer) are about to be said to it by ourselves, and it is not put away before */
static int l_hold(lua_State *L)
{
    struct hocket__lua_journal *j = hocket__check_journal(L, 1);
    lua_Integer n = luaL_checkinteger(L, 2);
    luaL_argcheck(L, n == 1 || n == -1, 2, "1 or -1 expected");
    if (j->kept)
        hocket__kept_hold(j->kept, (int) n);
    return 0;
}

/* j:skip(seq): the next record has the number behind it */
static int l_skip(lua_State *L)
{
    struct hocket__lua_journal *j = hocket__check_journal(L, 1);
    hocket__journal_skip(j->journal, (uint64_t) luaL_checkinteger(L, 2));
    return 0;
}

static int l_last(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer) hocket__journal_last(hocket__check_journal(L, 1)->journal));
    return 1;
}

static int l_finished(lua_State *L)
{
    lua_pushboolean(L, hocket__journal_finished(hocket__check_journal(L, 1)->journal));
    return 1;
}

static int l_gc(lua_State *L)
{
    struct hocket__lua_journal *j = hocket__gc_userdata(L, l_gc);
    if (!j)
        return 0;
    hocket__journal_free(j->journal);
    if (j->kept)
        hocket__kept_hooks(j->kept)->notice = NULL;
    if (j->kept)
        hocket__kept_hooks(j->kept)->left = NULL;
    hocket__buf_deinit(&j->members);
    hocket__free(j->rt->alloc, j->waiting, j->cap_waiting * sizeof(*j->waiting));
    j->journal = NULL;
    j->waiting = NULL;
    j->cap_waiting = j->n_waiting = 0;
    return 0;
}

static const luaL_Reg functions[] = { { "new", l_new }, { NULL, NULL } };
static const luaL_Reg methods[] = {
    { "append", l_append },
    { "next", l_next },
    { "wait", l_wait },
    { "accounts", l_accounts },
    { "generation", l_generation },
    { "close", l_close },
    { "enter", l_enter },
    { "tell", l_tell },
    { "hold", l_hold },
    { "skip", l_skip },
    { "last", l_last },
    { "finished", l_finished },
    { "__gc", l_gc },
    { NULL, NULL },
};

int hocket__open_journal(lua_State *L)
{
    return hocket__open_class(L, hocket__journal_name, methods, functions);
}
