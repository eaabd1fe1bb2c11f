/* The part of a run that its other files share: makes it, finds it, and passes an embedder's requests to it (an answer, a signal, a
 * change, an end). Lua carries them out, in hocket.internal.host.entry.
 *
 * A durable run logs each request and repeats it from the log in a replay: the request and its words, not its result. The
 * run's own code produces the result again. A request that cannot be logged is not carried out. */
#include "host/run/stored.h"

#include <string.h>

#include <lauxlib.h>

#include "base/json/json.h"
#include "bind/fiber/fiber.h"
#include "bind/modules.h"
#include "bind/util.h"
#include "core/log/log.h"

/* ---- It is made ---------------------------------------------------------------------------------- */

int hocket__run_may_start(hocket_host *h, struct hocket_error *err)
{
    int rc = hocket__host_may_enter(h, err);
    if (rc < 0 || (rc = hocket__host_is_usable(h, err)) < 0)
        return rc;
    if (h->max_runs > 0 && h->n_runs >= h->max_runs)
        return hocket__error(err, HOCKET_ELIMIT, "more than %zu runs at once", h->max_runs);
    return 0;
}

/* Checked here, although call_start checks the whole text again: raw text that is put between
 * others must be one value, or it could add members of its own. */
int hocket__run_check_options(struct hocket__str options, struct hocket_error *err)
{
    struct hocket__json reader;
    hocket__json_init(&reader, options);
    bool is_object = hocket__json_next(&reader) == HOCKET__JSON_OBJECT;
    int rc = hocket__json_check(options, err);
    if (rc < 0 || is_object)
        return rc;
    return hocket__error(err, HOCKET_EINVAL, "the options have to be one JSON object");
}

struct hocket__run *hocket__run_new(
    hocket_host *h, const char *name, hocket_event_cb on_event, hocket_done_cb on_done, void *ud)
{
    struct hocket__run *r = hocket__zero(&h->alloc, sizeof(*r));
    if (!r)
        return NULL;
    *r = (struct hocket__run){ .host = h,
        .id = ++h->next_id,
        .on_event = on_event,
        .on_done = on_done,
        .ud = ud,
        .journal_ref = LUA_NOREF };
    hocket__buf_init(&r->text, &h->alloc, 0);
    hocket__buf_init(&r->json, &h->alloc, 0);
    hocket__list_init(&r->link);
    hocket__list_init(&r->due);
    hocket__list_init(&r->deltas);
    r->pulled = !on_event && !on_done;
    r->is_run = strcmp(name, "run") == 0;
    return r;
}

void hocket__run_join(struct hocket__run *r)
{
    hocket__list_add(&r->host->runs, &r->link);
    r->host->n_runs++;
}

void hocket__run_mark_due(struct hocket__run *r)
{
    if (hocket__list_empty(&r->due) && !r->pulled)
        hocket__list_add(&r->host->due, &r->due);
}

void hocket__run_report_soon(struct hocket__run *r)
{
    hocket__run_mark_due(r);
    r->host->rt->undelivered = true;
    hocket__fibers_settle(r->host->rt);
}

/* ---- It is found --------------------------------------------------------------------------------- */

struct hocket__run *hocket__run_find(hocket_host *h, uint64_t id)
{
    for (struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        struct hocket__run *r = hocket__container_of(l, struct hocket__run, link);
        if (r->id == id && !r->ended && r->journal)
            return r;
    }
    return NULL;
}

const char *hocket_run_name(hocket_host *h, uint64_t id)
{
    for (struct hocket__list *l = h ? h->runs.next : NULL; l && l != &h->runs; l = l->next) {
        struct hocket__run *r = hocket__container_of(l, struct hocket__run, link);
        if (r->id == id)
            return r->name[0] ? r->name : NULL;
    }
    return NULL;
}

bool hocket__run_is_durable(const struct hocket__run *r)
{
    return r->stored && !hocket__stored_is_off(r->stored);
}

bool hocket__run_is_replayed(const struct hocket__run *r)
{
    return r->kept && hocket__kept_is_replay(r->kept);
}

bool hocket__run_log_failed(const struct hocket__run *r)
{
    return r->kept && hocket__log_error(hocket__kept_log(r->kept));
}

/* ---- Requests to it ------------------------------------------------------------------------------ */

/* A text without a NUL, a NUL, a text. */
static void write_words(struct hocket__buf *out, struct hocket__str a, struct hocket__str b)
{
    hocket__buf_addstr(out, a);
    hocket__buf_addc(out, 0);
    hocket__buf_addstr(out, b);
}

/* Enters a durable run for a request: 0, or a status that says why it cannot now. `end` has to
 * follow. For other runs both do nothing. */
static int tell_begin(struct hocket__run *r, const char *wish, struct hocket__str a,
    struct hocket__str b, struct hocket_error *err)
{
    struct hocket__buf words;
    if (!r->kept)
        return 0;
    hocket__buf_init(&words, &r->host->alloc, 0);
    write_words(&words, a, b);
    int rc = words.status < 0 ? hocket__error_nomem(err)
                              : hocket__kept_tell_begin(
                                  r->kept, hocket__cstr(wish), hocket__buf_str(&words), err);
    hocket__buf_deinit(&words);
    return rc;
}

static void tell_end(struct hocket__run *r)
{
    if (r->kept)
        hocket__kept_tell_end(r->kept);
}

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

/* Lua logs the answers that it takes. */
static int say_answer(struct telling *t)
{
    int rc = t->run->kept ? hocket__kept_may_tell(t->run->kept, t->err) : 0;
    return rc < 0 ? rc : wish(t);
}

static int say(struct telling *t)
{
    if (strcmp(t->wish, "answer") == 0)
        return say_answer(t);
    int rc = tell_begin(t->run, t->wish, hocket__cstr(t->a), t->b, t->err);
    if (rc < 0)
        return rc;
    rc = wish(t);
    tell_end(t->run);
    return rc;
}

int hocket__run_ask(struct hocket__run *r, const char *word, const char *a, struct hocket__str b,
    hocket_json **reply, struct hocket_error *err)
{
    struct telling t = { .run = r, .wish = word, .a = a, .b = b, .err = err };
    int rc = say(&t);
    *reply = t.reply;
    return rc;
}

int hocket__run_say(struct hocket__run *r, const char *word, const char *a, struct hocket__str b,
    struct hocket_error *err)
{
    struct telling t = { .run = r, .wish = word, .a = a, .b = b, .err = err };
    return say(&t);
}

/* Calls a function of entry.lua with a journal alone. */
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
    int rc = tell_begin(r, "stop", hocket__cstr(""), hocket__cstr(""), err);
    if (rc < 0)
        return rc;
    rc = hocket__run_wish_stop(r);
    tell_end(r);
    return rc < 0 ? hocket__error(err, rc, "it cannot be stopped: %s", hocket_status_text(rc)) : 0;
}
