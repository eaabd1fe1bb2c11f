/* Calls of tools that the program has registered:
 *
 *   call_tool (a fiber) ──> due ──(deliver, on the host's thread)──> the program's callback
 *        parked                                                            │
 *   call_tool goes on <── wake ── answered <──(wakeup)── hocket_tool_answer, on any thread
 *
 * A call ends by its answer or by being cancelled; then it is in no map and an answer finds
 * nothing. The map and the answers are under the lock, all else belongs to the host's thread. */

#include "host/tools/tools_impl.h"

#include <stdio.h>
#include <string.h>

#include <lauxlib.h>

#include "bind/fiber/fiber.h"
#include "bind/util.h"

#define WAITING "hocket.tool_wait"

static const char taken_back[] = "the program has taken this tool back";

struct tool_call {
    struct hocket__list link; /* due, answered, or nowhere */
    uint64_t id, fiber;
    struct hocket__tool *tool;
    struct hocket__buf args, agent; /* what it is called with */
    bool told;                      /* the program knows of it */
    bool cancelled;
    bool answered;
    int status;
    struct hocket__buf answer;
};

/* ---- Calls ---------------------------------------------------------------------------- */

static void free_call(struct hocket_host *h, struct tool_call *c)
{
    hocket__list_del(&c->link);
    hocket__buf_deinit(&c->args);
    hocket__buf_deinit(&c->agent);
    hocket__buf_deinit(&c->answer);
    hocket__free(&h->alloc, c, sizeof(*c));
}

static struct tool_call *take_call(struct hocket__tools *t, uint64_t id)
{
    uv_mutex_lock(&t->lock);
    struct tool_call *c = hocket__map_del(&t->calls, id);
    if (c)
        /* taken out of `answered`, too, under the lock: hocket__tools_answered then does not
         * meet it */
        hocket__list_del(&c->link);
    uv_mutex_unlock(&t->lock);
    return c;
}

/* While a call is open the program's loop is kept alive by the handle that its answer wakes. */
static void count(struct hocket_host *h, int more)
{
    h->tools->n_calls += (size_t) more;
    if (h->owns_loop)
        return;
    if (h->tools->n_calls > 0)
        uv_ref((uv_handle_t *) &h->wakeup);
    else
        uv_unref((uv_handle_t *) &h->wakeup);
}

static struct tool_call *new_call(struct hocket_host *h, struct hocket__tool *tool, uint64_t fiber,
    struct hocket__str args, struct hocket__str agent)
{
    struct hocket__tools *t = h->tools;
    struct tool_call *c = hocket__zero(&h->alloc, sizeof(*c));
    if (!c)
        return NULL;
    hocket__list_init(&c->link);
    c->id = ++t->last_id;
    c->fiber = fiber;
    c->tool = tool;
    hocket__buf_init(&c->args, &h->alloc, 0);
    hocket__buf_init(&c->agent, &h->alloc, 0);
    hocket__buf_init(&c->answer, &h->alloc, h->rt->max_message);
    hocket__buf_addstr(&c->args, args);
    hocket__buf_addstr(&c->agent, agent);
    uv_mutex_lock(&t->lock);
    int rc = c->args.status < 0 || c->agent.status < 0 ? HOCKET_ENOMEM
                                                       : hocket__map_set(&t->calls, c->id, c);
    uv_mutex_unlock(&t->lock);
    if (rc < 0) {
        free_call(h, c);
        return NULL;
    }
    hocket__list_add(&t->due, &c->link);
    count(h, 1);
    return c;
}

struct waiting {
    struct hocket_host *host;
    uint64_t id;
};

/* The wait was cancelled: informs the program, if it knows of the call. */
static void abandon(void *ud)
{
    struct waiting *w = ud;
    struct tool_call *c = take_call(w->host->tools, w->id);
    if (!c)
        return;
    count(w->host, -1);
    c->cancelled = true;
    if (c->told && !c->answered && c->tool->on_cancel)
        hocket__list_add(&w->host->tools->due, &c->link);
    else
        free_call(w->host, c);
}

/* For a fiber that was cancelled when its answer had come: it never looks at it. */
static int waiting_gc(lua_State *L)
{
    struct hocket__runtime *rt = lua_touserdata(L, lua_upvalueindex(1));
    struct waiting *w = hocket__gc_userdata(L, waiting_gc);
    if (w && w->id && rt->life != HOCKET__RUNTIME_CLOSED)
        abandon(w);
    if (w)
        w->id = 0;
    return 0;
}

static int push_answer(lua_State *L, struct tool_call *c)
{
    struct hocket_error err;
    if (c->status >= 0 && c->answer.status >= 0) {
        hocket__push_str(L, hocket__buf_str(&c->answer));
        return 1;
    }
    hocket__error(&err, c->status < 0 ? c->status : c->answer.status, "%s",
        c->answer.len > 0 ? c->answer.data : hocket_status_text(c->status));
    return hocket__fail(L, &err);
}

static bool is_answered(struct hocket__tools *t, uint64_t id)
{
    uv_mutex_lock(&t->lock);
    struct tool_call *c = hocket__map_get(&t->calls, id);
    bool answered = c && c->answered;
    uv_mutex_unlock(&t->lock);
    return answered;
}

/* Pushing may raise: the call stays where it is until its answer is on the stack. */
static int after_call(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    (void) ctx;
    struct waiting *w = lua_touserdata(L, 4);
    struct hocket__tools *t = w->host->tools;
    if (!is_answered(t, w->id))
        return hocket__await(L, -1, abandon, w, 0, after_call);
    uv_mutex_lock(&t->lock);
    struct tool_call *c = hocket__map_get(&t->calls, w->id);
    uv_mutex_unlock(&t->lock);
    int n = push_answer(L, c); /* answered: nobody else touches it */
    take_call(t, w->id);
    w->id = 0;
    count(w->host, -1);
    free_call(w->host, c);
    return n;
}

int hocket__call_tool(lua_State *L)
{
    struct hocket_host *h = hocket__runtime(L)->on_drained_ud;
    struct hocket__tool *tool = hocket__tools_find(h->tools, luaL_checkstring(L, 1));
    struct hocket__str args = hocket__check_str(L, 2), agent = hocket__check_str(L, 3);
    uint64_t fiber = hocket__fiber_current(L)->id;
    struct hocket_error err;
    if (!tool) {
        hocket__error(&err, HOCKET_ENOTFOUND, taken_back);
        return hocket__fail(L, &err);
    }
    if (!lua_isyieldable(L))
        return luaL_error(L, "cannot wait here for the program's answer");
    lua_settop(L, 3);
    struct waiting *w = lua_newuserdatauv(L, sizeof(*w), 0);
    /* The userdata first, then the call: out of memory, there is nothing that nobody would
     * end. */
    *w = (struct waiting){ h, 0 };
    luaL_setmetatable(L, WAITING);
    struct tool_call *c = new_call(h, tool, fiber, args, agent);
    if (!c)
        return hocket__raise_nomem(L);
    w->id = c->id;
    return hocket__await(L, -1, abandon, w, 0, after_call);
}

static const luaL_Reg waiting_methods[] = { { "__gc", waiting_gc }, { NULL, NULL } };

void hocket__tools_open(lua_State *L)
{
    hocket__newmeta(L, WAITING, waiting_methods);
    lua_pop(L, 1);
}

/* ---- On the host's thread ----------------------------------------------------------------- */

static void hand_over(struct hocket_host *h, struct tool_call *c)
{
    struct hocket__tool *tool = c->tool;
    struct hocket_tool_call call = { .id = c->id,
        .tool = tool->name + tool->shown,
        .agent = c->agent.len ? c->agent.data : "",
        .args = c->args.data,
        .args_len = c->args.len };
    /* out of `due` first: the callback may call back into the host */
    hocket__list_del(&c->link);
    if (c->cancelled) {
        uint64_t id = c->id;
        free_call(h, c);
        tool->on_cancel(h, id, tool->ud);
    } else {
        c->told = true;
        tool->on_call(
            h, &call, tool->ud); /* may answer at once; the texts stay until the fiber runs */
    }
}

void hocket__tools_deliver(struct hocket_host *h)
{
    struct hocket__tools *t = h->tools;
    while (!hocket__list_empty(&t->due))
        hand_over(h, hocket__container_of(t->due.next, struct tool_call, link));
    hocket__tools_forget(h, &t->gone);
}

void hocket__tools_answered(struct hocket_host *h)
{
    struct hocket__tools *t = h->tools;
    uv_mutex_lock(&t->lock);
    while (!hocket__list_empty(&t->answered)) {
        struct tool_call *c = hocket__container_of(t->answered.next, struct tool_call, link);
        hocket__list_del(&c->link);
        /* the answer stays with the call until the fiber fetches it, or is cancelled */
        hocket__fiber_wake(h->rt, c->fiber);
    }
    uv_mutex_unlock(&t->lock);
}

bool hocket__tools_due(const struct hocket_host *h)
{
    return !hocket__list_empty(&h->tools->due);
}

size_t hocket__tools_open_calls(const struct hocket_host *h)
{
    return h->tools->n_calls;
}

/* ---- The program's side ------------------------------------------------------------------- */

/* A result that is too long is an error. Its text states the limit for the model and the program. */
static int set_answer(struct tool_call *c, const char *text, size_t n)
{
    char words[128];
    if (n <= c->answer.max)
        return hocket__buf_add(&c->answer, text, n);
    snprintf(words, sizeof(words), "the tool's answer has %zu bytes: at most %zu (max_message)", n,
        c->answer.max);
    hocket__buf_adds(&c->answer, words);
    return c->status = HOCKET_ELIMIT;
}

int hocket_tool_answer(hocket_host *h, uint64_t id, int status, const char *text, size_t len)
{
    if (!h)
        return HOCKET_EINVAL;
    struct hocket__tools *t = h->tools;
    int rc = HOCKET_ENOTFOUND;
    if (!text)
        text = "";
    uv_mutex_lock(&t->lock);
    struct tool_call *c = hocket__map_get(&t->calls, id);
    if (c && c->told && !c->answered) {
        c->status = status < 0 ? status : 0;
        rc = set_answer(c, text, len ? len : strlen(text));
        c->answered = true;
        hocket__list_add(&t->answered, &c->link); /* told: it is in no other list */
    }
    uv_mutex_unlock(&t->lock);
    if (rc != HOCKET_ENOTFOUND)
        hocket__host_wake(h);
    return rc;
}

/* An open call of it is answered in the program's place; where it had only to be told of a cancel,
 * it is not. */
static void end_call(struct hocket_host *h, struct tool_call *c)
{
    hocket__list_del(&c->link);
    if (c->cancelled) {
        free_call(h, c);
        return;
    }
    c->status = HOCKET_ENOTFOUND;
    hocket__buf_adds(&c->answer, taken_back);
    c->answered = true;
    hocket__list_add(&h->tools->answered, &c->link);
}

void hocket__tools_end_calls(struct hocket_host *h, const struct hocket__tool *tool)
{
    struct hocket__tools *t = h->tools;
    uv_mutex_lock(&t->lock);
    for (struct hocket__list *l = t->due.next, *next; l != &t->due; l = next) {
        struct tool_call *c = hocket__container_of(l, struct tool_call, link);
        next = l->next;
        if (c->tool == tool)
            end_call(h, c);
    }
    for (size_t i = 0; i < t->calls.cap; i++) {
        struct tool_call *c = t->calls.slots[i].id ? t->calls.slots[i].value : NULL;
        if (c && c->tool == tool && !c->answered)
            end_call(h, c);
    }
    uv_mutex_unlock(&t->lock);
    hocket__host_wake(h);
}

/* ---- Life ------------------------------------------------------------------------------------ */

int hocket__tools_new(struct hocket_host *h)
{
    struct hocket__tools *t = hocket__zero(&h->alloc, sizeof(*t));
    if (!t)
        return HOCKET_ENOMEM;
    hocket__list_init(&t->known);
    hocket__list_init(&t->gone);
    hocket__list_init(&t->due);
    hocket__list_init(&t->answered);
    hocket__map_init(&t->calls, &h->alloc);
    uv_mutex_init(&t->lock);
    h->tools = t;
    return 0;
}

void hocket__tools_free(struct hocket_host *h)
{
    struct hocket__tools *t = h->tools;
    if (!t)
        return;
    while (!hocket__list_empty(&t->due))
        free_call(h, hocket__container_of(t->due.next, struct tool_call, link));
    hocket__tools_forget(h, &t->known);
    hocket__tools_forget(h, &t->gone);
    for (size_t i = 0; i < t->calls.cap; i++)
        if (t->calls.slots[i].id)
            free_call(h, t->calls.slots[i].value);
    hocket__map_deinit(&t->calls);
    uv_mutex_destroy(&t->lock);
    hocket__free(&h->alloc, t, sizeof(*t));
    h->tools = NULL;
}
