/* What a model call has brought. Most replies are tool calls, of which nobody needs more than each
 * call's tool and arguments: so they are handed out one by one, on request, and this file writes the events about
 * them.
 *
 *     accept ──> how many calls, and how it finished
 *       arguments(i), result(i, text) …        for each
 *     close  ──> every call has its result in the history
 *
 * A conversation in which calls have no results is refused by every provider: so a call is a
 * to-be-closed value, and those whose result is missing then were cancelled. Only reply() makes a
 * table of all. */
#include "base/bytes.h"
#include "bind/llm/llm.h"

#include <string.h>

#include "bind/event_writer.h"
#include "bind/schema/schema.h"
#include "bind/util.h"
#include "core/text.h"
#include "net/protocol/protocol.h"

/* Whether a tool call is the same one again: a number for its tool, its arguments and its result.
 *
 * For the watch over sessions that go in circles: the same tool with the same arguments and the
 * same result, whatever the random words of fences in it are. Two that have one digest by accident
 * cost a warning; so 64 bits do. */

/* "<" or "</", letters, "-", and a word, which is new each time: see fence.lua. Returns the place
 * of the word, or NULL. */
static const char *frame_word(const char *p, const char *end)
{
    const char *from = ++p < end && *p == '/' ? ++p : p;
    while (p < end && *p >= 'a' && *p <= 'z')
        p++;
    return p > from && p + 1 < end && *p == '-' && hocket__is_alnum(p[1]) ? p + 1 : NULL;
}

/* The text without the words of its frames. */
static struct hocket__str without_words(struct hocket__str s, struct hocket__buf *out)
{
    const char *end = s.p + s.n, *from = s.p, *at = s.n ? memchr(s.p, '<', s.n) : NULL;
    if (!at)
        return s;
    hocket__buf_reset(out);
    for (; at; at = memchr(at, '<', (size_t) (end - at))) {
        const char *word = frame_word(at++, end);
        if (!word)
            continue;
        hocket__buf_add(out, from, (size_t) (word - from));
        while (word < end && hocket__is_alnum(*word))
            word++;
        from = at = word;
    }
    hocket__buf_add(out, from, (size_t) (end - from));
    return hocket__buf_str(out);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 32;
}

static uint64_t digest(uint64_t h, const char *p, size_t n)
{
    uint64_t word;
    for (h = mix(h, n); n >= sizeof(word); p += sizeof(word), n -= sizeof(word)) {
        memcpy(&word, p, sizeof(word));
        h = mix(h, word);
    }
    word = 0;
    if (n > 0)
        memcpy(&word, p, n);
    return mix(h, word);
}

/* Long texts count by their ends and their length. */
static uint64_t digest_ends(uint64_t h, struct hocket__str s)
{
    enum { END = 200 };
    /* Results of megabytes are compared after every call; two that differ in the middle alone
     * are rare, and taking them for the same costs a hint to the model. */
    if (s.n <= 2 * END)
        return digest(h, s.p, s.n);
    return digest(digest(mix(h, s.n), s.p, END), s.p + s.n - END, END);
}

/* The same for calls of the same tool with the same arguments and the same result, but for the random
 * words of frames in it; hardly for others. */
static uint64_t call_digest(
    const struct hocket__call *c, struct hocket__str result, struct hocket__buf *scratch)
{
    uint64_t h = digest(0, c->name.data, c->name.len);
    h = digest_ends(h, hocket__buf_str(&c->arguments));
    return digest_ends(h, without_words(result, scratch));
}

/* A model's reply as a Lua table.
 *
 * Fields that the provider did not give are nil, not 0 or "". Texts are pushed once and not copied
 * before. */

static void set_text(lua_State *L, const char *name, const struct hocket__buf *b)
{
    hocket__push_str(L, hocket__buf_str(b));
    lua_setfield(L, -2, name);
}

static void set_count(lua_State *L, const char *name, int64_t v)
{
    if (v >= 0) {
        hocket__set_int(L, name, v);
    }
}

static void set_cost(lua_State *L, int64_t cost)
{
    if (cost < 0)
        return;
    hocket__set_number(L, "cost", (double) cost / (double) HOCKET__DOLLAR);
}

static void push_usage(lua_State *L, const struct hocket__usage *u, int64_t cost)
{
    lua_createtable(L, 0, 6);
    set_cost(L, cost);
    set_count(L, "input", u->input);
    set_count(L, "output", u->output);
    set_count(L, "cached", u->cached);
    set_count(L, "cache_write", u->cache_write);
    set_count(L, "reasoning", u->reasoning);
}

static void set_usage(lua_State *L, const struct hocket__answer *a)
{
    struct hocket__usage usage = hocket__usage_of(a->llm);
    push_usage(L, &usage, a->cost);
    lua_setfield(L, -2, "usage");
}

static void push_call(lua_State *L, const struct hocket__call *c)
{
    lua_createtable(L, 0, 3);
    set_text(L, "id", &c->id);
    set_text(L, "name", &c->name);
    set_text(L, "arguments", &c->arguments);
}

static void push_calls(lua_State *L, const struct hocket__reply *r)
{
    lua_createtable(L, (int) r->n_calls, 0);
    for (size_t i = 0; i < r->n_calls; i++) {
        push_call(L, &r->calls[i]);
        lua_rawseti(L, -2, (lua_Integer) i + 1);
    }
}

/* Its tools are at work, or the conversation was made shorter: it goes on from there. */
static bool is_paused(struct hocket__str finish)
{
    return hocket__str_is(finish, "pause_turn") || hocket__str_is(finish, "compaction");
}

/* Pushes the reply of a call that is done. */
static void push_reply(lua_State *L, const struct hocket__answer *a, bool with_usage)
{
    const struct hocket__reply *r = hocket__llm_reply(a->llm);
    struct hocket__llm_timing t = hocket__llm_timing(a->llm);
    lua_createtable(L, 0, 14);
    set_text(L, "text", &r->text);
    if (r->reasoning.len > 0)
        set_text(L, "reasoning", &r->reasoning);
    if (r->in_tags) {
        hocket__set_bool(L, "in_tags", true);
    }
    if (r->has_refusal)
        set_text(L, "refusal", &r->refusal);
    push_calls(L, r);
    lua_setfield(L, -2, "calls");
    hocket__set_cstr(L, "finish", r->finish ? hocket__finish_word(r->finish) : "stop");
    if (is_paused(hocket__buf_str(&r->finish_raw))) {
        hocket__set_bool(L, "paused", true);
    }
    if (with_usage)
        set_usage(L, a);
    set_cost(L, a->cost);
    set_text(L, "model", &r->model);
    set_text(L, "id", &r->id);
    hocket__set_number(L, "seconds", (double) t.total_us / 1e6);
    hocket__set_number(L, "waited", (double) a->waited_ms / 1000);
    if (t.first_us > 0) {
        hocket__set_number(L, "first_seconds", (double) t.first_us / 1e6);
    }
}

static const struct hocket__reply *reply_of(const struct hocket__answer *a)
{
    return hocket__llm_reply(a->llm);
}

static size_t index_at(lua_State *L, int arg, const struct hocket__answer *a)
{
    lua_Integer i = luaL_checkinteger(L, arg);
    luaL_argcheck(
        L, i >= 1 && (size_t) i <= reply_of(a)->n_calls, arg, "the reply has no such call");
    return (size_t) i - 1;
}

static const struct hocket__call *call_at(lua_State *L, int arg, const struct hocket__answer *a)
{
    return &reply_of(a)->calls[index_at(L, arg, a)];
}

/* ---- The whole -------------------------------------------------------------------- */

/* What the provider has counted stays with the history; reasoning does not. */
static void count_tokens(const struct hocket__answer *a)
{
    struct hocket__usage u = hocket__usage_of(a->llm);
    if (u.input <= 0 || u.input > HOCKET__TOKENS_MAX || u.output < 0
        || u.output > HOCKET__TOKENS_MAX)
        return;
    int64_t gone = u.reasoning > 0 && u.reasoning <= u.output ? u.reasoning : 0;
    hocket__history_count(a->history, u.input + u.output - gone);
}

static int keep(struct hocket__answer *a, struct hocket_error *err)
{
    if (a->kept)
        return 0;
    a->kept_at = a->history->messages.len;
    a->kept_behind = a->history->count;
    int rc = hocket__history_add_reply(a->history, reply_of(a), hocket__llm_protocol(a->llm), err);
    a->kept = rc == 0;
    if (a->kept)
        count_tokens(a);
    return rc;
}

/* call:keep() -> true | nil, error: adds the reply, which has come, to the history */
static int l_keep(lua_State *L)
{
    struct hocket__answer *a = hocket__check_answer(L, 1);
    struct hocket_error err;
    return hocket__succeed(L, keep(a, &err), &err);
}

/* call:reply() -> the reply as a table: mostly an answer, after which the conversation waits */
static int l_reply(lua_State *L)
{
    struct hocket__answer *a = hocket__check_answer(L, 1);
    hocket__history_rests(a->history);
    push_reply(L, a, !lua_toboolean(L, 2));
    return 1;
}

/* call:metered() -> whether the server has told how many tokens it took */
static int l_metered(lua_State *L)
{
    lua_pushboolean(L, hocket__answer_is_metered(hocket__check_answer(L, 1)));
    return 1;
}

/* call:count() -> how many tools it calls */
static int l_count(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer) reply_of(hocket__check_answer(L, 1))->n_calls);
    return 1;
}

static void write_count(struct hocket__event *t, struct hocket__str name, int64_t v)
{
    if (v >= 0)
        hocket__event_int(t, name, v);
}

static void write_usage(struct hocket__event *t, const struct hocket__answer *a)
{
    struct hocket__usage u = hocket__usage_of(a->llm);
    hocket__event_open(t, HOCKET__STR("usage"));
    write_count(t, HOCKET__STR("cache_write"), u.cache_write);
    write_count(t, HOCKET__STR("cached"), u.cached);
    if (a->cost >= 0)
        hocket__event_decimal(t, HOCKET__STR("cost"), a->cost, HOCKET__DOLLAR_PLACES);
    write_count(t, HOCKET__STR("input"), u.input);
    write_count(t, HOCKET__STR("output"), u.output);
    write_count(t, HOCKET__STR("reasoning"), u.reasoning);
    hocket__event_close(t);
}

static const char *finish_of(const struct hocket__reply *r)
{
    return r->finish ? hocket__finish_word(r->finish) : "stop";
}

static void write_reply(struct hocket__event *t, const struct hocket__answer *a,
    struct hocket__str model, int64_t attempts)
{
    const struct hocket__reply *r = reply_of(a);
    struct hocket__llm_timing time = hocket__llm_timing(a->llm);
    if (r->as_text)
        hocket__event_true(t, HOCKET__STR("as_text"));
    hocket__event_int(t, HOCKET__STR("attempts"), attempts);
    hocket__event_int(t, HOCKET__STR("calls"), (int64_t) r->n_calls);
    hocket__event_text(t, HOCKET__STR("finish"), hocket__cstr(finish_of(r)));
    if (time.first_us > 0)
        hocket__event_decimal(t, HOCKET__STR("first_seconds"), (int64_t) time.first_us, 6);
    if (model.n > 0)
        hocket__event_text(t, HOCKET__STR("model"), model);
    hocket__event_decimal(t, HOCKET__STR("seconds"), (int64_t) time.total_us, 6);
    write_usage(t, a);
}

/* Blanks are ASCII's, whatever the host's locale is. */
static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_blank(const struct hocket__buf *b)
{
    for (size_t i = 0; i < b->len; i++)
        if (!is_space(b->data[i]))
            return false;
    return true;
}

static bool has_found(const struct hocket__reply *r)
{
    return r->found.len > 0 || r->server_items.len > 0;
}

/* Bytes of a reply's reasoning that its event shows. */
#define REASONING_SHOWN 4000

static void push_unless_blank(lua_State *L, const struct hocket__buf *b, size_t max)
{
    if (is_blank(b))
        lua_pushnil(L);
    else
        hocket__push_str(L, hocket__text_cut(hocket__buf_str(b), max));
}

/* call:accept(tell, model, attempts) -> calls, finish, text?, found, reasoning? | nil, error: adds the reply
 * to the history and tells of it. The text only where it is not blank; whether call:found() has anything; as
 * much of the reasoning as its event shows. */
static int l_accept(lua_State *L)
{
    struct hocket__answer *a = hocket__check_answer(L, 1);
    const struct hocket__reply *r = reply_of(a);
    struct hocket__str model = lua_isnil(L, 3) ? hocket__str("", 0) : hocket__check_str(L, 3);
    lua_Integer attempts = luaL_checkinteger(L, 4);
    struct hocket__event t;
    struct hocket_error err;
    if (keep(a, &err) < 0)
        return hocket__fail(L, &err);
    /* Before the event is written: a journal record cannot be taken back, and pushing may raise. */
    lua_pushinteger(L, (lua_Integer) r->n_calls);
    lua_pushstring(L, finish_of(r));
    push_unless_blank(L, &r->text, r->text.len);
    lua_pushboolean(L, has_found(r));
    push_unless_blank(L, &r->reasoning, REASONING_SHOWN);
    hocket__event_begin(&t, L, 2, HOCKET__STR("model_reply"));
    write_reply(&t, a, model, attempts);
    return hocket__event_end(&t, 5);
}

/* ---- Another answer in its place ---------------------------------------------------------------- */

/* call:replace(text): the reply, which is not in the history yet, has this text and nothing else: it calls no tool */
static int l_replace(lua_State *L)
{
    struct hocket__answer *a = hocket__check_answer(L, 1);
    struct hocket__str text = hocket__check_str(L, 2);
    struct hocket__reply *r = (struct hocket__reply *) reply_of(a);
    struct hocket__buf *texts[] = { &r->text, &r->reasoning, &r->refusal, &r->replay,
        &r->server_items, &r->found, &r->finish_raw };
    luaL_argcheck(L, !a->kept, 1, "its reply is in the history");
    hocket__reply_drop_calls(r);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        hocket__buf_cut(texts[i], 0);
    r->has_refusal = r->in_tags = r->has_finish_raw = false;
    r->finish = HOCKET__FINISH_STOP;
    if (hocket__buf_addstr(&r->text, text) < 0)
        return hocket__raise_nomem(L);
    return 0;
}

/* ---- Calls written as text --------------------------------------------------------------- */

static struct hocket__reply *own_reply(const struct hocket__answer *a)
{
    return (struct hocket__reply *) reply_of(a);
}

/* An answer: whether it may be a call that is broken, which nearly none is. */
static int push_answer(lua_State *L, const struct hocket__reply *r)
{
    static const char key[] = "\"name\"";
    struct hocket__str text = hocket__buf_str(&r->text);
    lua_pushnil(L);
    lua_pushboolean(L, hocket__find(text.p, text.n, key, sizeof(key) - 1) != NULL);
    return 2;
}

/* call:read_text() -> how many calls its text is, of which all is calls: they are the reply's, until take_text says that they
 * are none; nil, and whether "name" stands in it as a key: it is an answer */
static int l_read_text(lua_State *L)
{
    struct hocket__reply *r = own_reply(hocket__check_answer(L, 1));
    bool whole = r->finish == HOCKET__FINISH_STOP || r->finish == HOCKET__FINISH_NONE;
    if (r->n_calls > 0 || r->surplus || r->has_refusal || !whole)
        return push_answer(L, r);
    int n = hocket__text_calls(hocket__buf_str(&r->text), r);
    if (n < 0)
        return hocket__raise_nomem(L);
    if (n == 0)
        return push_answer(L, r);
    r->as_text = true;
    lua_pushinteger(L, n);
    return 1;
}

/* call:take_text(are_calls): they are made in place of the text, or the text stays and they are dropped */
static int l_take_text(lua_State *L)
{
    struct hocket__answer *a = hocket__check_answer(L, 1);
    struct hocket__reply *r = own_reply(a);
    luaL_argcheck(L, r->as_text, 1, "its text was not read as calls");
    if (!lua_toboolean(L, 2)) {
        hocket__reply_drop_calls(r);
        return 0;
    }
    hocket__buf_cut(&r->text, 0);
    hocket__buf_cut(&r->replay, 0);
    r->finish = HOCKET__FINISH_CALLS;
    if (hocket__reply_name_calls(r, hocket__buf_str(&a->history->messages), &a->history->next_call)
        < 0)
        return hocket__raise_nomem(L);
    return 0;
}

/* call:as_text() -> whether its calls were written as text */
static int l_as_text(lua_State *L)
{
    lua_pushboolean(L, reply_of(hocket__check_answer(L, 1))->as_text);
    return 1;
}

/* begins_calls(text) -> whether it begins as calls do that are written as text; nil: it is too short for that */
static int l_begins_calls(lua_State *L)
{
    enum hocket__text_calls_begin begin = hocket__text_calls_begin(hocket__check_str(L, 1));
    if (begin == HOCKET__TEXT_CALLS_SHORT)
        lua_pushnil(L);
    else
        lua_pushboolean(L, begin == HOCKET__TEXT_CALLS_YES);
    return 1;
}

void hocket__open_text_calls(lua_State *L)
{
    static const luaL_Reg functions[] = { { "begins_calls", l_begins_calls }, { NULL, NULL } };
    hocket__setfuncs(L, functions);
}

/* ---- A tool call -------------------------------------------------------------------- */

/* call:name(i) -> the name of the tool that it calls */
static int l_name(lua_State *L)
{
    hocket__push_str(L, hocket__buf_str(&call_at(L, 2, hocket__check_answer(L, 1))->name));
    return 1;
}

/* call:found() -> what its answer has beside words and calls, and the kinds of what the provider's own tools did, as JSON
 * lists' insides; nothing when there is neither */
static int l_found(lua_State *L)
{
    const struct hocket__reply *r = hocket__llm_reply(hocket__check_answer(L, 1)->llm);
    if (!has_found(r))
        return 0;
    hocket__push_str(L, hocket__buf_str(&r->found));
    hocket__push_str(L, hocket__buf_str(&r->server_items));
    hocket__push_str(L, hocket__buf_str(&r->usage_raw));
    return 3;
}

/* call:id(i) */
static int l_id(lua_State *L)
{
    hocket__push_str(L, hocket__buf_str(&call_at(L, 2, hocket__check_answer(L, 1))->id));
    return 1;
}

static struct hocket__str arguments_of(const struct hocket__call *c)
{
    struct hocket__str text = hocket__buf_str(&c->arguments);
    return is_blank(&c->arguments) || hocket__str_is(text, "null") ? HOCKET__STR("{}") : text;
}

/* Bytes of a call's arguments that its preview shows. */
#define PREVIEW 120

/* Of the arguments as much as is shown of them, and a little more; blanks and ends of lines as one
 * blank each. */
static size_t squeeze(struct hocket__str text, char *out, size_t room)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n && n < room; i++)
        if (!is_space(text.p[i]))
            out[n++] = text.p[i];
        else if (n == 0 || out[n - 1] != ' ')
            out[n++] = ' ';
    return n;
}

/* call:preview(i) -> "name arguments", on one line, for whoever looks on */
static int l_preview(lua_State *L)
{
    const struct hocket__call *c = call_at(L, 2, hocket__check_answer(L, 1));
    char text[PREVIEW + 1];
    size_t n = squeeze(hocket__buf_str(&c->arguments), text, sizeof(text));
    struct hocket__str shown = hocket__str(text, n);
    if (n > PREVIEW)
        shown = hocket__text_cut(shown, PREVIEW - 1);
    hocket__push_str(L, hocket__buf_str(&c->name));
    lua_pushliteral(L, " ");
    hocket__push_str(L, shown);
    lua_pushstring(L, n > PREVIEW ? "…" : "");
    lua_concat(L, 4);
    return 1;
}

/* call:arguments(i, schema?) -> the arguments as a table | nil, what is wrong with them, for the
 * model: they are no JSON, no object, or do not fit the schema */
static int l_arguments(lua_State *L)
{
    const struct hocket__call *c = call_at(L, 2, hocket__check_answer(L, 1));
    return hocket__schema_read(L, 3, arguments_of(c));
}

/* call:change(i, arguments): it is made with these, which are JSON; what the history has of it stays */
static int l_change(lua_State *L)
{
    struct hocket__answer *a = hocket__check_answer(L, 1);
    struct hocket__buf *b = &own_reply(a)->calls[index_at(L, 2, a)].arguments;
    struct hocket__str text = hocket__check_str(L, 3);
    luaL_argcheck(L, a->kept, 1, "its reply is not in the history");
    hocket__buf_cut(b, 0);
    if (hocket__buf_addstr(b, text) < 0)
        return hocket__raise_nomem(L);
    return 0;
}

enum { SHOWN = 500 }; /* bytes of the texts in the events of a call */

/* call:begins(i, tell): the event of a tool call that is about to be made */
static int l_begins(lua_State *L)
{
    const struct hocket__call *c = call_at(L, 2, hocket__check_answer(L, 1));
    struct hocket__event t;
    hocket__event_begin(&t, L, 3, HOCKET__STR("tool_started"));
    hocket__event_text(
        &t, HOCKET__STR("arguments"), hocket__text_cut(hocket__buf_str(&c->arguments), SHOWN));
    hocket__event_text(&t, HOCKET__STR("tool"), hocket__buf_str(&c->name));
    return hocket__event_end(&t, 0);
}

/* call:tell(i, tell, text, is_error): the event of a tool call that was made */
static int l_tell(lua_State *L)
{
    const struct hocket__call *c = call_at(L, 2, hocket__check_answer(L, 1));
    struct hocket__str result = hocket__check_str(L, 4);
    struct hocket__event t;
    hocket__event_begin(&t, L, 3, HOCKET__STR("tool_call"));
    hocket__event_text(
        &t, HOCKET__STR("arguments"), hocket__text_cut(hocket__buf_str(&c->arguments), SHOWN));
    if (lua_toboolean(L, 5))
        hocket__event_true(&t, HOCKET__STR("error"));
    hocket__event_text(&t, HOCKET__STR("phase"), HOCKET__STR("complete"));
    hocket__event_text(&t, HOCKET__STR("result"), hocket__text_cut(result, SHOWN));
    hocket__event_text(&t, HOCKET__STR("tool"), hocket__buf_str(&c->name));
    return hocket__event_end(&t, 0);
}

/* ---- Results --------------------------------------------------------------------------- */

/* The results of a call are a table by number; of a single one it is the text. */
static void push_result(lua_State *L, const struct hocket__answer *a, size_t i)
{
    lua_getiuservalue(L, 1, HOCKET__CALL_RESULTS);
    if (reply_of(a)->n_calls > 1 && lua_istable(L, -1)) {
        lua_rawgeti(L, -1, (lua_Integer) i + 1);
        lua_remove(L, -2);
    }
}

/* Takes the text from the top. */
static void set_result(lua_State *L, const struct hocket__answer *a, size_t i)
{
    size_t n = reply_of(a)->n_calls;
    if (n == 1) {
        lua_setiuservalue(L, 1, HOCKET__CALL_RESULTS);
        return;
    }
    if (lua_getiuservalue(L, 1, HOCKET__CALL_RESULTS) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_createtable(L, (int) n, 0);
        lua_pushvalue(L, -1);
        lua_setiuservalue(L, 1, HOCKET__CALL_RESULTS);
    }
    lua_insert(L, -2);
    lua_rawseti(L, -2, (lua_Integer) i + 1);
    lua_pop(L, 1);
}

static uint64_t bit_of(size_t i)
{
    return UINT64_C(1) << i % 64;
}

/* call:result(i, text, is_error): what came of it, for the history */
static int l_result(lua_State *L)
{
    struct hocket__answer *a = hocket__check_answer(L, 1);
    size_t i = index_at(L, 2, a);
    uint64_t *word = &a->wrong[i / 64];
    luaL_checkstring(L, 3);
    *word = lua_toboolean(L, 4) ? *word | bit_of(i) : *word & ~bit_of(i);
    lua_settop(L, 3);
    set_result(L, a, i);
    return 0;
}

/* call:remark(i, text): appends it to the result */
static int l_remark(lua_State *L)
{
    struct hocket__answer *a = hocket__check_answer(L, 1);
    size_t i = index_at(L, 2, a);
    luaL_checkstring(L, 3);
    push_result(L, a, i);
    lua_pushvalue(L, 3);
    lua_concat(L, 2);
    set_result(L, a, i);
    return 0;
}

/* Calls that were too many are not in the history: no result could say of them that they were not
 * run. */
static struct hocket__str with_surplus(lua_State *L, struct hocket__str text)
{
    struct hocket__str all;
    hocket__push_str(L, text);
    lua_pushfstring(L,
        "\n\n[This answer had more than %d calls: those behind this one were not run. Make them in "
        "further answers.]",
        HOCKET__REPLY_MAX_CALLS);
    lua_concat(L, 2);
    all.p = lua_tolstring(L, -1, &all.n);
    return all;
}

static int add_result(lua_State *L, struct hocket__answer *a, size_t i)
{
    int top = lua_gettop(L);
    const struct hocket__call *c = &reply_of(a)->calls[i];
    struct hocket__str text = HOCKET__STR("error: cancelled");
    bool is_error = true;
    push_result(L, a, i);
    if (lua_type(L, -1) == LUA_TSTRING) {
        text.p = lua_tolstring(L, -1, &text.n);
        is_error = a->wrong[i / 64] & bit_of(i);
    }
    if (reply_of(a)->surplus && i + 1 == reply_of(a)->n_calls)
        text = with_surplus(L, text);
    int rc = hocket__history_add_result(
        a->history, hocket__buf_str(&c->id), hocket__buf_str(&c->name), text, is_error);
    lua_settop(L, top);
    return rc;
}

/* Calls of which one has no result would spoil the conversation for good: without room for it, the turn
 * was never there. */
static int give_up(lua_State *L, struct hocket__answer *a, int status)
{
    struct hocket_error err;
    size_t max = a->history->messages.max;
    hocket__history_cut(a->history, a->kept_at, a->kept_behind);
    if (status == HOCKET_ENOMEM)
        return hocket__raise_nomem(L);
    if (status == HOCKET_ELIMIT)
        hocket__error(&err, status, "the conversation is longer than %zu bytes", max);
    else
        hocket__error(&err, status, "%s", hocket_status_text(status));
    return hocket__raise(L, &err);
}

/* call:close(): the results go into the history; once. Raises when they do not fit into it */
static int l_close(lua_State *L)
{
    struct hocket__answer *a = hocket__check_answer(L, 1);
    if (a->closed)
        return 0;
    a->closed = true;
    for (size_t i = 0; i < reply_of(a)->n_calls; i++) {
        int rc = add_result(L, a, i);
        if (rc < 0)
            return give_up(L, a, rc);
    }
    return 0;
}

/* call:refuse(text): every call gets it for a result, an error, and they go into the history */
static int l_refuse(lua_State *L)
{
    struct hocket__answer *a = hocket__check_answer(L, 1);
    luaL_checkstring(L, 2);
    for (size_t i = 0; i < reply_of(a)->n_calls; i++) {
        lua_pushvalue(L, 2);
        set_result(L, a, i);
        a->wrong[i / 64] |= bit_of(i);
    }
    return l_close(L);
}

/* call:digest(i) -> a number that a call of the same tool with the same arguments and the same
 * result has too, and hardly another */
static int l_digest(lua_State *L)
{
    struct hocket__answer *a = hocket__check_answer(L, 1);
    size_t i = index_at(L, 2, a);
    struct hocket__str text = { "", 0 };
    push_result(L, a, i);
    if (lua_type(L, -1) == LUA_TSTRING)
        text.p = lua_tolstring(L, -1, &text.n);
    uint64_t h = call_digest(&reply_of(a)->calls[i], text, &a->rt->scratch);
    lua_pushinteger(L, (lua_Integer) h);
    return 1;
}

void hocket__open_answer(lua_State *L)
{
    static const luaL_Reg methods[] = {
        { "keep", l_keep },
        { "reply", l_reply },
        { "count", l_count },
        { "metered", l_metered },
        { "accept", l_accept },
        { "read_text", l_read_text },
        { "take_text", l_take_text },
        { "replace", l_replace },
        { "as_text", l_as_text },
        { "found", l_found },
        { "name", l_name },
        { "id", l_id },
        { "preview", l_preview },
        { "arguments", l_arguments },
        { "change", l_change },
        { "begins", l_begins },
        { "tell", l_tell },
        { "result", l_result },
        { "remark", l_remark },
        { "refuse", l_refuse },
        { "close", l_close },
        { "__close", l_close },
        { "digest", l_digest },
        { NULL, NULL },
    };
    hocket__setfuncs(L, methods);
}
