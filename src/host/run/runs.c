/* Runs: a fiber, a journal, and the embedder's callbacks. Callbacks are made from one place,
 * after a drain, when no Lua is running. */

#include "host/run/stored.h"
#include "host/sized.h"

#include <stdio.h>
#include <string.h>

#include <lauxlib.h>

#include "base/json/json.h"
#include "bind/fiber/fiber.h"
#include "bind/modules.h"
#include "bind/util.h"

/* ---- Starting --------------------------------------------------------------- */

struct starting {
    struct hocket__run *run;
    const char *name;
    struct hocket__str args;
};

static void on_fiber_done(struct hocket__fiber *f, void *ud);

/* Protected: require("hocket.internal.host.entry").start runs in a new fiber as start(name, args, journal, id). */
static int start_protected(lua_State *L)
{
    struct starting *s = lua_touserdata(L, 1);
    struct hocket_host *h = s->run->host;
    struct hocket__str id = hocket__str(s->run->name, HOCKET__RUN_ID_LEN);
    hocket__require(L, "hocket.internal.host.entry");
    lua_getfield(L, -1, "start");
    lua_pushstring(L, s->name);
    hocket__push_str(L, s->args);
    struct hocket__lua_journal *j = hocket__journal_push(L, h->rt, id, h->max_journal);
    j->on_append = hocket__run_on_append;
    j->ud = s->run;
    lua_pushvalue(L, -1);
    /* kept by the run itself: its events may be asked for long after the fiber has ended */
    s->run->journal_ref = luaL_ref(L, LUA_REGISTRYINDEX);
    s->run->journal = j->journal;
    s->run->lua_journal = j;
    hocket__push_str(L, id);
    struct hocket__fiber *f = hocket__fiber_spawn_outside(L, h->rt, 4, NULL);
    f->on_done = on_fiber_done;
    f->on_done_ud = s->run;
    s->run->fiber = f->id;
    if (!s->run->is_run)
        hocket__fiber_serve(f);
    return 0;
}

void hocket__run_free(struct hocket__run *r)
{
    const struct hocket_allocator *a = &r->host->alloc;
    hocket__run_unkeep(r);
    hocket__resume_free(r->resuming);
    hocket__save_leave(r->save);
    hocket__stored_free(r->stored);
    if (r->lua_journal) /* scripts may have it for longer */
        r->lua_journal->on_append = NULL;
    luaL_unref(r->host->L, LUA_REGISTRYINDEX, r->journal_ref);
    hocket__list_del(&r->due);
    hocket__run_free_deltas(r);
    hocket__buf_deinit(&r->text);
    hocket__buf_deinit(&r->json);
    hocket__free(a, r, sizeof(*r));
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

static int name_run(struct hocket__run *r, struct hocket_error *err)
{
    unsigned char random[HOCKET__RUN_ID_RANDOM];
    int rc = hocket__own_random(&r->host->rt->own, random, sizeof(random));
    if (rc < 0)
        return hocket__error(err, rc, "the system gives no random numbers");
    hocket__run_id(hocket__wall_ms(), random, r->name);
    return 0;
}

int hocket__run_begin(
    struct hocket__run *r, const char *name, struct hocket__str args, struct hocket_error *err)
{
    struct starting s = { r, name, args };
    int rc = r->name[0] ? 0 : name_run(r, err);
    return rc < 0 ? rc : hocket__pcall(r->host->L, start_protected, &s, err);
}

int hocket__run_may_start(hocket_host *h, struct hocket_error *err)
{
    int rc = hocket__host_may_enter(h, err);
    if (rc < 0)
        return rc;
    if (h->life != HOCKET__HOST_OPEN)
        return hocket__error(err, HOCKET_ECLOSED, "the host is closing");
    if (hocket__host_check_process(h) < 0)
        return hocket__error(err, HOCKET_ESTATE,
            "the process was forked after the host had begun to work: "
            "open a host in the child");
    if (h->max_runs > 0 && h->n_runs >= h->max_runs)
        return hocket__error(err, HOCKET_ELIMIT, "more than %zu runs at once", h->max_runs);
    return 0;
}

void hocket__run_join(struct hocket__run *r)
{
    hocket__list_add(&r->host->runs, &r->link);
    r->host->n_runs++;
}

/* Takes it out again; its fiber, which has not run, ends unheard. */
static void give_up(struct hocket__run *r)
{
    struct hocket__fiber *f = hocket__map_get(&r->host->rt->fibers, r->fiber);
    r->lua_journal->on_append = NULL;
    if (f) {
        f->on_done = NULL;
        hocket__fiber_cancel(f);
    }
    hocket__list_del(&r->link);
    r->host->n_runs--;
    hocket__run_free(r);
}

/* What is started; NULL: the host may not, or its memory is out. */
static struct hocket__run *start(hocket_host *h, const char *name, struct hocket__str args,
    hocket_event_cb on_event, hocket_done_cb on_done, void *ud, struct hocket_error *err)
{
    struct hocket__run *r = NULL;
    if (hocket__run_may_start(h, err) < 0 || hocket__json_check(args, err) < 0)
        return NULL;
    if (lua_checkstack(h->L, 4))
        r = hocket__run_new(h, name, on_event, on_done, ud);
    if (!r)
        hocket__error_nomem(err);
    if (r && hocket__run_begin(r, name, args, err) < 0) {
        hocket__run_free(r);
        return NULL;
    }
    if (r)
        hocket__run_join(r);
    return r;
}

int hocket_call_start(hocket_host *h, const char *name, const char *args_json, uint64_t *id,
    hocket_event_cb on_event, hocket_done_cb on_done, void *ud, struct hocket_error *err)
{
    struct hocket_error unused;
    err = err ? err : &unused;
    if (id)
        *id = 0;
    if (!h || !name)
        return hocket__error(err, HOCKET_EINVAL, "an operation needs a host and a name");
    struct hocket__run *r =
        start(h, name, hocket__cstr(args_json ? args_json : "{}"), on_event, on_done, ud, err);
    if (r && id)
        *id = r->id;
    return r ? 0 : err->status;
}

static void add_text(struct hocket__buf *b, const char *name, const char *p, size_t n)
{
    hocket__jw_key(b, name);
    hocket__jw_string(b, hocket__str(p, n));
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

/* The arguments of the operation "run". */
static void write_args(
    struct hocket__buf *b, const struct hocket_run_spec *spec, struct hocket__str options)
{
    hocket__jw_open(b, '{');
    add_text(b, "target", spec->target, strlen(spec->target));
    if (spec->input)
        add_text(b, "input", spec->input, spec->input_len ? spec->input_len : strlen(spec->input));
    hocket__jw_key(b, "options");
    hocket__jw_raw(b, options);
    if (spec->priority) {
        hocket__jw_key(b, "priority");
        hocket__jw_int(b, spec->priority);
    }
    if (spec->deltas) {
        hocket__jw_key(b, "deltas");
        hocket__jw_bool(b, true);
    }
    hocket__jw_close(b, '}');
}

static int take_spec(
    struct hocket_run_spec *ours, const struct hocket_run_spec *theirs, struct hocket_error *err)
{
    if (!theirs)
        return hocket__error(err, HOCKET_EINVAL, "a run needs a target");
    int rc = hocket__sized_take(ours, sizeof(*ours), theirs, "hocket_run_spec", err);
    if (rc == 0 && !ours->target)
        return hocket__error(err, HOCKET_EINVAL, "a run needs a target");
    if (rc == 0 && (ours->priority < -100 || ours->priority > 100))
        return hocket__error(
            err, HOCKET_EINVAL, "the priority %d is not within -100 and 100", ours->priority);
    return rc;
}

int hocket_run_start(hocket_host *h, const struct hocket_run_spec *theirs, uint64_t *id,
    hocket_event_cb on_event, hocket_done_cb on_done, void *ud, struct hocket_error *err)
{
    struct hocket_run_spec spec;
    struct hocket_error unused;
    struct hocket__run *r = NULL;
    err = err ? err : &unused;
    if (id)
        *id = 0;
    if (!h)
        return hocket__error(err, HOCKET_EINVAL, "a run needs a host");
    int rc = take_spec(&spec, theirs, err);
    struct hocket__str options = hocket__cstr(rc == 0 && spec.options ? spec.options : "{}");
    if (rc < 0 || (rc = hocket__run_check_options(options, err)) < 0)
        return rc;
    struct hocket__buf b;
    hocket__buf_init(&b, &h->alloc, 0);
    write_args(&b, &spec, options);
    if (b.status < 0)
        hocket__error_nomem(err);
    else
        r = start(h, "run", hocket__buf_str(&b), on_event, on_done, ud, err);
    hocket__buf_deinit(&b);
    if (!r)
        return err->status;
    rc = hocket__stored_begin(r, &spec, options, err);
    if (rc < 0)
        give_up(r);
    else if (id)
        *id = r->id;
    return rc;
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

int hocket_run_cancel(hocket_host *h, uint64_t id)
{
    if (!h)
        return HOCKET_EINVAL;
    for (struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        struct hocket__run *r = hocket__container_of(l, struct hocket__run, link);
        struct hocket__fiber *f = r->id == id ? hocket__map_get(&h->rt->fibers, r->fiber) : NULL;
        if (r->id == id && hocket__resume_cancel(r))
            return 0;
        if (f && hocket__fiber_cancel(f))
            return 0;
    }
    return HOCKET_ENOTFOUND;
}

/* ---- Ending ------------------------------------------------------------------- */

static void copy(struct hocket__buf *out, lua_State *co, int idx)
{
    size_t n = 0;
    const char *p = lua_type(co, idx) == LUA_TSTRING ? lua_tolstring(co, idx, &n) : NULL;
    if (p)
        hocket__buf_add(out, p, n);
}

/* What start() returns, from `first` on: code ("ok" or a status word), text, result as JSON, message. An
 * answer that cannot be kept whole is none. */
static void take_answer(struct hocket__run *r, lua_State *co, int first)
{
    const char *code = lua_tostring(co, first);
    copy(&r->text, co, first + 1);
    copy(&r->json, co, first + 2);
    if (r->text.status < 0 || r->json.status < 0) {
        hocket__buf_deinit(&r->text);
        hocket__buf_deinit(&r->json);
        r->status = hocket__error_nomem(&r->err);
    } else if (strcmp(code, "ok") != 0) {
        const char *message =
            lua_type(co, first + 3) == LUA_TSTRING ? lua_tostring(co, first + 3) : code;
        r->status = hocket__error(&r->err, hocket__status_from_word(code), "%s", message);
    }
}

/* Only looks at values on the stack, so nothing here can raise. */
static void on_fiber_done(struct hocket__fiber *f, void *ud)
{
    struct hocket__run *r = ud;
    /* first: whatever is wrong with the results, the run has ended */
    r->ended = true;
    hocket__run_mark_due(r);
    int first = lua_gettop(f->co) - f->nresults + 1;
    if (hocket__fiber_has_failed(f) && f->nresults > 0) {
        hocket__to_error(f->co, -1, &r->err);
        r->status = r->err.status;
        /* a fiber that was cancelled before it ran, or while it ended, has no results */
    } else if (f->nresults < 4 || lua_type(f->co, first) != LUA_TSTRING) {
        r->status = hocket__error(&r->err, HOCKET_ECANCELLED, "cancelled");
    } else {
        take_answer(r, f->co, first);
    }
    hocket__run_kept_ended(r);
    if (r->stored && hocket__stored_is_parked(r->stored))
        r->status =
            hocket__error(&r->err, HOCKET_EPARKED, "%s", hocket_status_text(HOCKET_EPARKED));
    if (r->is_run && hocket__journal_last(r->journal) > 0)
        hocket__journal_close(r->journal, r->status, hocket__journal_now_ms(r->lua_journal));
    if (r->stored)
        hocket__stored_end(r->stored);
}

void hocket__host_cancel_runs(struct hocket_host *h)
{
    for (struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        struct hocket__run *r = hocket__container_of(l, struct hocket__run, link);
        if (r->ended)
            continue;
        r->ended = true;
        r->status = hocket__error(&r->err, HOCKET_ECANCELLED, "cancelled");
        if (r->stored)
            hocket__stored_forsake(r->stored);
        if (r->is_run && r->journal && hocket__journal_last(r->journal) > 0)
            hocket__journal_close(r->journal, r->status, hocket__wall_ms());
        hocket__run_mark_due(r);
    }
    hocket__host_deliver(h);
}

void hocket__host_drop_runs(struct hocket_host *h)
{
    while (!hocket__list_empty(&h->runs)) {
        struct hocket__run *r = hocket__container_of(h->runs.next, struct hocket__run, link);
        hocket__list_del(&r->link);
        hocket__run_free(r);
    }
    /* it is in none of the lists, and freed by the next hocket_event_next, which does not come */
    h->taken = NULL;
    h->n_runs = 0;
}
