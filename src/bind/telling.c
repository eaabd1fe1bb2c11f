#include "bind/telling.h"

#include "base/json_write.h"
#include "bind/journal.h"
#include "bind/util.h"

static const char META[] = "hocket.teller";

/* User values: the journal, and a function that is called before each event, or nil. */
struct teller {
    struct hocket__lua_journal *journal;
    struct hocket__buf author; /* what all its records have between time and type */
    bool touches;
};

/* journal:teller(agent, op?, touch?) -> teller: who writes in an agent's name. `touch()` is called
 * before each event, and must not wait. */
int hocket__journal_l_teller(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__lua_journal *j = hocket__check_journal(L, 1);
    struct hocket__str agent = hocket__check_str(L, 2), op = { "", 0 };
    if (!lua_isnoneornil(L, 3))
        op = hocket__check_str(L, 3);
    lua_settop(L, 4);
    struct teller *t = lua_newuserdatauv(L, sizeof(*t), 2);
    *t = (struct teller){ .journal = j, .touches = lua_toboolean(L, 4) };
    hocket__buf_init(&t->author, rt->alloc, 0);
    lua_rawgetp(L, LUA_REGISTRYINDEX, META);
    lua_setmetatable(L, -2);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    lua_pushvalue(L, 4);
    lua_setiuservalue(L, -2, 2);
    if (hocket__journal_author(op, agent, &t->author) < 0)
        return luaL_error(L, "out of memory");
    return 1;
}

static int l_gc(lua_State *L)
{
    struct teller *t = hocket__gc_userdata(L, l_gc);
    if (t)
        hocket__buf_deinit(&t->author);
    return 0;
}

/* ---- Telling ---------------------------------------------------------------------- */

static void begin_record(struct hocket__telling *t, lua_State *L, int arg, struct hocket__str type)
{
    struct teller *who = hocket__check_object(L, arg, META);
    if (who->touches) {
        lua_getiuservalue(L, arg, 2);
        lua_call(L, 0, 0);
    }
    t->journal = who->journal;
    t->out = hocket__journal_begin(
        who->journal->journal, hocket__buf_str(&who->author), type, hocket__wall_ms(), NULL);
}

void hocket__tell_begin(struct hocket__telling *t, lua_State *L, int arg, struct hocket__str type)
{
    *t = (struct hocket__telling){ .L = L };
    if (lua_isfunction(L, arg)) {
        luaL_checkstack(L, 8, NULL);
        lua_pushvalue(L, arg);
        hocket__push_str(L, type);
        lua_newtable(L);
        t->table = true;
    } else if (lua_toboolean(L, arg)) {
        begin_record(t, L, arg, type);
    }
}

/* The comma, the name in quotes, the colon. */
static void write_name(struct hocket__buf *out, struct hocket__str name)
{
    if (hocket__buf_reserve(out, name.n + 4) < 0)
        return;
    char *at = out->data + out->len;
    if (at[-1] != '{')
        *at++ = ',';
    *at++ = '"';
    memcpy(at, name.p, name.n);
    at += name.n;
    *at++ = '"';
    *at++ = ':';
    *at = 0;
    out->len = (size_t) (at - out->data);
}

void hocket__tell_text(struct hocket__telling *t, struct hocket__str name, struct hocket__str v)
{
    if (t->out) {
        write_name(t->out, name);
        hocket__jw_string(t->out, v);
    } else if (t->table) {
        hocket__push_str(t->L, v);
        lua_setfield(t->L, -2, name.p);
    }
}

void hocket__tell_int(struct hocket__telling *t, struct hocket__str name, int64_t v)
{
    if (t->out) {
        write_name(t->out, name);
        hocket__jw_int(t->out, v);
    } else if (t->table) {
        lua_pushinteger(t->L, v);
        lua_setfield(t->L, -2, name.p);
    }
}

void hocket__tell_number(struct hocket__telling *t, struct hocket__str name, double v)
{
    if (t->out) {
        write_name(t->out, name);
        hocket__jw_double(t->out, v);
    } else if (t->table) {
        lua_pushnumber(t->L, v);
        lua_setfield(t->L, -2, name.p);
    }
}

void hocket__tell_true(struct hocket__telling *t, struct hocket__str name)
{
    if (t->out) {
        write_name(t->out, name);
        hocket__jw_bool(t->out, true);
    } else if (t->table) {
        lua_pushboolean(t->L, true);
        lua_setfield(t->L, -2, name.p);
    }
}

void hocket__tell_open(struct hocket__telling *t, struct hocket__str name)
{
    if (t->out) {
        write_name(t->out, name);
        hocket__buf_addc(t->out, '{');
    } else if (t->table) {
        lua_newtable(t->L);
        lua_pushvalue(t->L, -1);
        lua_setfield(t->L, -3, name.p);
    }
}

void hocket__tell_close(struct hocket__telling *t)
{
    if (t->out)
        hocket__jw_close(t->out, '}');
    else if (t->table)
        lua_pop(t->L, 1);
}

static int told(lua_State *L, int status, lua_KContext results)
{
    (void) L;
    (void) status;
    return (int) results;
}

int hocket__tell_end(struct hocket__telling *t, int results)
{
    if (t->out)
        hocket__journal_end(t->journal->journal, NULL);
    else if (t->table)
        lua_callk(t->L, 2, 0, results, told);
    return results;
}

void hocket__open_teller(lua_State *L)
{
    static const luaL_Reg methods[] = { { "__gc", l_gc }, { NULL, NULL } };
    hocket__newmeta(L, META, methods);
    lua_pop(L, 1);
}
