/* What an embedder says to a run that goes on: an answer, a signal, a change, an end. Lua does it, in
 * hocket.internal.host.entry; a run that is kept has it in its log. */
#include "host/run/stored.h"

#include <string.h>

#include <lauxlib.h>

#include "base/json/json.h"
#include "bind/fiber/fiber.h"
#include "bind/modules.h"
#include "bind/util.h"

struct telling {
    struct hocket__run *run;
    const char *wish, *a;
    struct hocket__str b;
    int status;
    hocket_json *reply; /* in place of words, where the wish has one */
    struct hocket_error *err;
};

/* A status word and a message on top of the stack. */
static int take_outcome(lua_State *L, struct telling *t)
{
    size_t len = 0;
    const char *code = lua_tostring(L, -2), *message = lua_tolstring(L, -1, &len);
    if (!code || strcmp(code, "ok") != 0)
        return hocket__error(t->err, hocket__status_from_word(code ? code : "script"), "%s",
            message ? message : "failed");
    if (len == 0)
        return 0;
    t->reply = hocket_json_parse(message, len, t->err);
    return t->reply ? 0 : HOCKET_ENOMEM;
}

/* Protected: require("hocket.internal.host.entry").tell(wish, journal, a, b) -> word, message. */
static int tell_protected(lua_State *L)
{
    struct telling *t = lua_touserdata(L, 1);
    hocket__require(L, "hocket.internal.host.entry");
    lua_getfield(L, -1, "tell");
    lua_pushstring(L, t->wish);
    lua_rawgeti(L, LUA_REGISTRYINDEX, t->run->journal_ref);
    lua_pushstring(L, t->a);
    hocket__push_str(L, t->b);
    lua_call(L, 4, 2);
    t->status = take_outcome(L, t);
    return 0;
}

struct hocket__run *hocket__run_find(hocket_host *h, uint64_t id)
{
    for (struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        struct hocket__run *r = hocket__container_of(l, struct hocket__run, link);
        if (r->id == id && !r->ended && r->journal)
            return r;
    }
    return NULL;
}

static int wish(struct telling *t)
{
    int rc = hocket__pcall(t->run->host->L, tell_protected, t, t->err);
    return rc < 0 ? rc : t->status;
}

int hocket__run_wish(struct hocket__run *r, const char *word, const char *a, struct hocket__str b,
    struct hocket_error *err)
{
    struct telling t = { .run = r, .wish = word, .a = a, .b = b, .err = err };
    return wish(&t);
}

/* Of answers Lua has those in the log that are taken. */
static int say_answer(struct telling *t)
{
    int rc = t->run->kept ? hocket__kept_may_tell(t->run->kept, t->err) : 0;
    return rc < 0 ? rc : wish(t);
}

static int say(struct telling *t)
{
    if (strcmp(t->wish, "answer") == 0)
        return say_answer(t);
    int rc = hocket__run_tell_begin(t->run, t->wish, hocket__cstr(t->a), t->b, t->err);
    if (rc < 0)
        return rc;
    rc = wish(t);
    hocket__run_tell_end(t->run);
    return rc;
}

int hocket__run_say(struct hocket__run *r, const char *word, const char *a, struct hocket__str b,
    struct hocket_error *err)
{
    struct telling t = { .run = r, .wish = word, .a = a, .b = b, .err = err };
    return say(&t);
}

static int deliver(hocket_host *h, uint64_t id, struct telling *t)
{
    int rc = hocket__host_may_enter(h, t->err);
    if (rc < 0)
        return rc;
    t->run = hocket__run_find(h, id);
    struct hocket__run *asleep = t->run ? NULL : hocket__asleep_find(h, id);
    if (asleep)
        return hocket__asleep_say(asleep, t->wish, t->a, t->b, t->err);
    if (!t->run)
        return hocket__error(
            t->err, HOCKET_ENOTFOUND, "there is no run %llu", (unsigned long long) id);
    return say(t);
}

int hocket_run_answer(hocket_host *h, uint64_t id, const char *question, const char *text,
    size_t len, struct hocket_error *err)
{
    if (!h || !question || !text)
        return hocket__error(
            err, HOCKET_EINVAL, "an answer needs a host, a question's id and a text");
    struct telling t = { .wish = "answer",
        .a = question,
        .b = hocket__str(text, len ? len : strlen(text)),
        .err = err };
    return deliver(h, id, &t);
}

int hocket_run_signal(
    hocket_host *h, uint64_t id, const char *name, const char *json, struct hocket_error *err)
{
    if (!h || !name || !json)
        return hocket__error(err, HOCKET_EINVAL, "a signal needs a host, a name and a value");
    struct telling t = { .wish = "signal", .a = name, .b = hocket__cstr(json), .err = err };
    int rc = hocket__json_check(t.b, err);
    return rc < 0 ? rc : deliver(h, id, &t);
}

int hocket_run_say(hocket_host *h, uint64_t id, const char *agent, const char *text, size_t len,
    struct hocket_error *err)
{
    if (!h || !text)
        return hocket__error(err, HOCKET_EINVAL, "to say something needs a host and a text");
    struct telling t = { .wish = "say",
        .a = agent ? agent : "",
        .b = hocket__str(text, len ? len : strlen(text)),
        .err = err };
    return deliver(h, id, &t);
}

int hocket_run_change(hocket_host *h, uint64_t id, const char *options, struct hocket_error *err)
{
    if (!h || !options)
        return hocket__error(err, HOCKET_EINVAL, "a change needs a host and options");
    struct telling t = { .wish = "change", .a = options, .err = err };
    return deliver(h, id, &t);
}

hocket_json *hocket_run_tree(hocket_host *h, uint64_t id, struct hocket_error *err)
{
    struct telling t = { .wish = "tree", .a = "", .err = err };
    if (!h) {
        hocket__error(err, HOCKET_EINVAL, "a tree needs a host");
        return NULL;
    }
    return deliver(h, id, &t) == 0 ? t.reply : NULL;
}

int hocket_run_interrupt(hocket_host *h, uint64_t id, struct hocket_error *err)
{
    if (!h)
        return hocket__error(err, HOCKET_EINVAL, "an interruption needs a host");
    struct telling t = { .wish = "interrupt", .a = "", .err = err };
    return deliver(h, id, &t);
}

/* What entry.lua is told of a journal, with nothing else to say. */
struct noting {
    const struct hocket__run *run;
    const char *function;
    int64_t number;
};

/* Protected: require("hocket.internal.host.entry")[function](journal, number). */
static int note_protected(lua_State *L)
{
    const struct noting *n = lua_touserdata(L, 1);
    hocket__require(L, "hocket.internal.host.entry");
    lua_getfield(L, -1, n->function);
    lua_rawgeti(L, LUA_REGISTRYINDEX, n->run->journal_ref);
    lua_pushinteger(L, (lua_Integer) n->number);
    lua_call(L, 2, 0);
    return 0;
}

static int note(const struct hocket__run *r, const char *function, int64_t number)
{
    struct noting n = { r, function, number };
    return hocket__pcall(r->host->L, note_protected, &n, NULL);
}

int hocket__run_wish_stop(struct hocket__run *r)
{
    return note(r, "stop", 0);
}

int hocket__run_wish_park(struct hocket__run *r, int64_t due_ms)
{
    return note(r, "park", due_ms / 1000);
}

int hocket__run_stop(struct hocket__run *r, struct hocket_error *err)
{
    int rc = hocket__run_tell_begin(r, "stop", hocket__cstr(""), hocket__cstr(""), err);
    if (rc < 0)
        return rc;
    rc = hocket__run_wish_stop(r);
    hocket__run_tell_end(r);
    return rc < 0 ? hocket__error(err, rc, "it cannot be stopped: %s", hocket_status_text(rc)) : 0;
}

int hocket_run_stop(hocket_host *h, uint64_t id)
{
    if (!h)
        return HOCKET_EINVAL;
    int rc = hocket__host_may_enter(h, NULL);
    if (rc < 0)
        return rc;
    struct hocket__run *r = hocket__run_find(h, id),
                       *asleep = r ? NULL : hocket__asleep_find(h, id);
    if (asleep)
        return hocket__asleep_say(asleep, "stop", "", hocket__cstr(""), NULL);
    return r ? hocket__run_stop(r, NULL) : HOCKET_ENOTFOUND;
}
