/* The events of jobs in the journal of their run. They are written here and not by way of a table,
 * since every job has three of them. */

#include "base/json_write.h"
#include "bind/broker_impl.h"
#include "bind/journal.h"

static struct hocket__str opt_text(lua_State *L, int arg)
{
    return lua_isnoneornil(L, arg) ? hocket__str("", 0) : hocket__check_str(L, arg);
}

/* What an event calls its text. */
static const char *payload_name(struct hocket__str type)
{
    if (hocket__str_is(type, "completed"))
        return "result";
    return hocket__str_is(type, "failed") ? "error" : "message";
}

/* Members in the order of their names, as all events have them. */
static void write_payload(lua_State *L, struct hocket__buf *b, struct hocket__str type)
{
    struct hocket__str usage = opt_text(L, 7);
    hocket__jw_open(b, '{');
    if (!lua_isnoneornil(L, 6)) {
        hocket__jw_key(b, payload_name(type));
        hocket__jw_string(b, hocket__check_str(L, 6));
    }
    hocket__jw_key(b, "task");
    hocket__jw_int(b, luaL_checkinteger(L, 3));
    if (usage.n > 0) {
        hocket__jw_key(b, "usage");
        hocket__jw_raw(b, usage);
    }
    hocket__jw_close(b, '}');
}

/* record(journal, type, id, agent?, op?, text?, usage?) -> true | nil, error: type, id, text and
 * usage (JSON) as take() gave them */
int hocket__broker_l_record(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__lua_journal *j = hocket__check_journal(L, 1);
    struct hocket__str word = hocket__check_str(L, 2);
    struct hocket_error err;
    char type[40] = "task_";
    luaL_argcheck(L, word.n < sizeof(type) - 5, 2, "the type of an event expected");
    memcpy(type + 5, word.p, word.n);
    hocket__buf_reset(&rt->scratch);
    write_payload(L, &rt->scratch, word);
    if (rt->scratch.status < 0)
        return luaL_error(L, "out of memory");
    struct hocket__record r = { .type = hocket__str(type, 5 + word.n),
        .agent = opt_text(L, 4),
        .op = opt_text(L, 5),
        .payload = hocket__buf_str(&rt->scratch) };
    if (hocket__journal_append(j->journal, &r, hocket__wall_ms(), &err) < 0)
        return hocket__fail(L, &err);
    lua_pushboolean(L, true);
    return 1;
}
