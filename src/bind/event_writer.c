/* Writes events from C straight into the journal's record, member by member (event_writer.h). A
 * writer is one userdata for a journal, an agent and an operation. It has the beginning of the record
 * ready made, so most of an event's cost comes once for each agent at work. */
#include "bind/event_writer.h"

#include <string.h>

#include "base/json/json.h"
#include "base/num/num.h"
#include "bind/broker/broker.h"
#include "bind/journal/journal.h"
#include "bind/json/json.h"
#include "bind/util.h"

static const char META[] = "hocket.event_writer";

/* User values. Without a finalizer, which would keep them, and everything that a job refers to, for one more
 * cycle of the collector. */
enum { JOURNAL = 1, JOB, OP, AGENT, VALUES = AGENT };

struct writer {
    struct hocket__lua_journal *journal;
    struct hocket__lua_job *job;  /* that gets on with each event; NULL: none */
    struct hocket__str op, agent; /* its user values have them */
    size_t n, room;
    char author[]; /* n bytes: what all its records have between time and type */
};

#define SPARE 8 /* bytes: an operation that comes later may have a longer name */

static struct hocket__str write_author(
    lua_State *L, struct hocket__str op, struct hocket__str agent)
{
    struct hocket__buf *out = &hocket__runtime(L)->scratch;
    hocket__buf_reset(out);
    if (hocket__journal_shared_members(op, agent, out) < 0)
        hocket__raise_nomem(L);
    return hocket__buf_str(out);
}

static struct writer *push_new(lua_State *L, struct hocket__lua_journal *j, size_t room)
{
    struct writer *t = hocket__new_object(L, sizeof(*t) + room, VALUES, META);
    *t = (struct writer){ .journal = j, .room = room };
    lua_rawgetp(L, LUA_REGISTRYINDEX, META);
    lua_setmetatable(L, -2);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, JOURNAL);
    return t;
}

/* The one at 5, where it writes into this journal and has the room. */
static struct writer *push_old(lua_State *L, const struct hocket__lua_journal *j, size_t room)
{
    struct writer *t = lua_toboolean(L, 5) ? hocket__check_object(L, 5, META) : NULL;
    if (!t || t->journal != j || t->room < room)
        return NULL;
    lua_pushvalue(L, 5);
    return t;
}

/* journal:writer(agent, op?, job?, old?) -> writer: writes events in an agent's name. Each event
 * counts as progress of the job. `old`: a writer that is no longer needed, whose memory may be used
 * again. */
static int l_writer(lua_State *L)
{
    struct hocket__lua_journal *j = hocket__check_journal(L, 1);
    struct hocket__str agent = hocket__check_str(L, 2), op = { "", 0 };
    if (!lua_isnoneornil(L, 3))
        op = hocket__check_str(L, 3);
    lua_settop(L, 5);
    struct hocket__lua_job *job = lua_toboolean(L, 4) ? hocket__check_job(L, 4) : NULL;
    struct hocket__str author = write_author(L, op, agent);
    struct writer *t = push_old(L, j, author.n);
    if (!t)
        t = push_new(L, j, author.n + SPARE);
    t->job = job;
    t->n = author.n;
    memcpy(t->author, author.p, author.n);
    t->op = op;
    t->agent = agent;
    static const int of_argument[] = { 0, 0, AGENT, OP, JOB };
    for (int arg = 2; arg <= 4; arg++) {
        lua_pushvalue(L, arg);
        lua_setiuservalue(L, -2, of_argument[arg]);
    }
    return 1;
}

/* ---- Telling ---------------------------------------------------------------------- */

static struct hocket__buf *begin(
    struct writer *who, struct hocket__str type, struct hocket_error *err)
{
    if (who->job)
        hocket__job_touch(who->job);
    struct hocket__str author = hocket__str(who->author, who->n);
    return hocket__journal_write(who->journal, &author, who->op, who->agent, type, err);
}

static void begin_record(struct hocket__event *t, lua_State *L, int arg, struct hocket__str type)
{
    struct writer *who = hocket__check_object(L, arg, META);
    t->journal = who->journal;
    t->out = begin(who, type, NULL);
}

void hocket__event_begin(struct hocket__event *t, lua_State *L, int arg, struct hocket__str type)
{
    *t = (struct hocket__event){ .L = L };
    if (lua_isfunction(L, arg)) {
        hocket__need_stack(L, 8);
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

void hocket__event_text(struct hocket__event *t, struct hocket__str name, struct hocket__str v)
{
    if (t->out) {
        write_name(t->out, name);
        hocket__jw_string(t->out, v);
    } else if (t->table) {
        hocket__push_str(t->L, v);
        lua_setfield(t->L, -2, name.p);
    }
}

void hocket__event_int(struct hocket__event *t, struct hocket__str name, int64_t v)
{
    if (t->out) {
        write_name(t->out, name);
        hocket__jw_int(t->out, v);
    } else if (t->table) {
        lua_pushinteger(t->L, v);
        lua_setfield(t->L, -2, name.p);
    }
}

void hocket__event_decimal(struct hocket__event *t, struct hocket__str name, int64_t v, int places)
{
    if (t->out) {
        char text[HOCKET__NUM_MAX], *end = hocket__num_put_decimal(text, v, places);
        write_name(t->out, name);
        hocket__buf_add(t->out, text, (size_t) (end - text));
    } else if (t->table) {
        double one = 1;
        while (places-- > 0)
            one *= 10;
        lua_pushnumber(t->L, (double) v / one);
        lua_setfield(t->L, -2, name.p);
    }
}

void hocket__event_true(struct hocket__event *t, struct hocket__str name)
{
    if (t->out) {
        write_name(t->out, name);
        hocket__jw_bool(t->out, true);
    } else if (t->table) {
        lua_pushboolean(t->L, true);
        lua_setfield(t->L, -2, name.p);
    }
}

void hocket__event_open(struct hocket__event *t, struct hocket__str name)
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

void hocket__event_close(struct hocket__event *t)
{
    if (t->out)
        hocket__jw_close(t->out, '}');
    else if (t->table)
        lua_pop(t->L, 1);
}

static int continued(lua_State *L, int status, lua_KContext results)
{
    (void) L;
    (void) status;
    return (int) results;
}

int hocket__event_end(struct hocket__event *t, int results)
{
    if (t->out)
        hocket__journal_written(t->journal, NULL);
    else if (t->table)
        lua_callk(t->L, 2, 0, results, continued);
    return results;
}

/* ---- For scripts ------------------------------------------------------------------- */

/* Names have to come sorted, so that an event looks the same whichever way it was written. */
static void check_order(lua_State *L, struct hocket__str before, struct hocket__str name)
{
    size_t n = before.n < name.n ? before.n : name.n;
    int c = memcmp(before.p, name.p, n);
    if (c > 0 || (c == 0 && before.n >= name.n))
        luaL_error(L, "'%s' has to come before '%s'", name.p, before.p);
}

/* The name at idx and the value behind it. */
static struct hocket__str write_member(
    lua_State *L, int idx, struct hocket__str before, struct hocket__buf *out)
{
    struct hocket__str name = hocket__check_str(L, idx);
    check_order(L, before, name);
    hocket__refuse_reserved(L, name);
    if (!lua_isnil(L, idx + 1)) {
        struct hocket__str quoted = hocket__json_quoted(L, idx + 1);
        hocket__jw_keystr(out, name);
        if (quoted.n > 0)
            hocket__buf_addstr(out, quoted);
        else
            hocket__json_encode(L, idx + 1, out);
    }
    return name;
}

/* writer:write(type, name, value, name, value, …) -> seq | nil, error: an event without a table for
 * its payload. Names are sorted; members that are nil are left out. What is raised in the middle
 * leaves no record. */
static int l_write(lua_State *L)
{
    struct hocket_error err;
    struct writer *who = hocket__check_object(L, 1, META);
    struct hocket__str type = hocket__check_str(L, 2), name = { "", 0 };
    int last = lua_gettop(L);
    luaL_argcheck(L, last % 2 == 0, last, "a name without a value");
    if (hocket__journal_check_type(type, &err) < 0)
        return hocket__fail(L, &err);
    struct hocket__buf *out = begin(who, type, &err);
    if (!out)
        return hocket__fail(L, &err);
    for (int i = 3; i < last; i += 2)
        name = write_member(L, i, name, out);
    int64_t seq = hocket__journal_written(who->journal, &err);
    if (seq < 0)
        return hocket__fail(L, &err);
    lua_pushinteger(L, seq);
    return 1;
}

void hocket__open_event_writer(lua_State *L)
{
    static const luaL_Reg methods[] = { { "write", l_write }, { NULL, NULL } };
    static const luaL_Reg of_journals[] = { { "writer", l_writer }, { NULL, NULL } };
    hocket__newmeta(L, META, methods);
    lua_rawgetp(L, LUA_REGISTRYINDEX, hocket__journal_name);
    hocket__setfuncs(L, of_journals);
    lua_pop(L, 2);
}
