/* A run starts: a journal, a fiber, a row in the host's store with its options and where it works, where the host has one. And its fiber
 * ends. */
#include "host/policy.h"
#include "host/run/stored.h"
#include "host/sized.h"

#include <stdio.h>
#include <string.h>

#include <lauxlib.h>

#include "base/json/json.h"
#include "bind/fiber/fiber.h"
#include "bind/modules.h"
#include "bind/store/store.h"
#include "bind/util.h"
#include "os/fs.h"

/* ---- In the store -------------------------------------------------------------------------------- */

struct marking {
    const struct hocket__run *run;
    struct hocket__str target, input;
    struct hocket__buf *options;
};

/* Protected: require("hocket.internal.run.proof").mark(id, target, input, options) -> options */
static int mark_protected(lua_State *L)
{
    const struct marking *m = lua_touserdata(L, 1);
    hocket__require(L, "hocket.internal.run.proof");
    lua_getfield(L, -1, "mark");
    lua_pushstring(L, m->run->name);
    hocket__push_str(L, m->target);
    hocket__push_str(L, m->input);
    hocket__push_str(L, hocket__buf_str(m->options));
    lua_call(L, 4, 1);
    hocket__buf_reset(m->options);
    hocket__buf_addstr(m->options, hocket__check_str(L, -1));
    return 0;
}

/* Adds the mark of the user who begins it to the options of a run that has `consent`, where the store is a file. 0, or a status
 * with *err. */
static int mark_consent(const struct hocket__run *r, struct hocket__str target,
    struct hocket__str input, struct hocket__buf *options, struct hocket_error *err)
{
    struct marking m = { r, target, input, options };
    if (!hocket__json_find(hocket__buf_str(options), "consent", NULL))
        return 0;
    int rc = hocket__pcall(r->host->L, mark_protected, &m, err);
    return rc < 0 ? rc : options->status < 0 ? hocket__error_nomem(err) : 0;
}

/* Of a JSON object's text the inside; empty where it has no members. */
static struct hocket__str inside(struct hocket__str object)
{
    const char *from = memchr(object.p, '{', object.n), *to = object.p + object.n;
    while (to > from && *--to != '}')
        ;
    for (from++; from < to && strchr(" \t\r\n", *from); from++)
        ;
    return hocket__str(from, (size_t) (to - from));
}

/* The other members of the spec. */
static void write_extras(struct hocket__buf *b, const struct hocket_run_spec *spec)
{
    if (spec->priority)
        hocket__jw_key_int(b, "priority", spec->priority);
    if (spec->deltas)
        hocket__jw_key_bool(b, "deltas", true);
}

/* The run's options, with the other members of the spec, and its working directory. */
static void write_options(
    struct hocket__buf *b, const struct hocket_run_spec *spec, struct hocket__str options)
{
    char cwd[4096];
    size_t n = sizeof(cwd);
    struct hocket__str rest = inside(options);
    hocket__jw_open(b, '{');
    if (rest.n > 0)
        hocket__buf_addstr(b, rest);
    if (!hocket__json_find(options, "edition", NULL))
        hocket__jw_key_int(b, "edition", HOCKET__EDITION);
    if (uv_cwd(cwd, &n) == 0)
        hocket__jw_key_string(b, "cwd", hocket__str(cwd, n));
    write_extras(b, spec);
    hocket__jw_close(b, '}');
}

/* A name, without its quotes; empty: none, or not a name. */
static struct hocket__str project_of(struct hocket__str options)
{
    struct hocket__str text;
    if (!hocket__json_find(options, "project", &text) || text.n < 3 || text.p[0] != '"'
        || memchr(text.p, '\\', text.n))
        return HOCKET__STR("");
    return hocket__str(text.p + 1, text.n - 2);
}

static struct hocket__str input_of(const struct hocket_run_spec *spec)
{
    return spec->input
               ? hocket__str(spec->input, spec->input_len ? spec->input_len : strlen(spec->input))
               : HOCKET__STR("");
}

static int put(struct hocket__stored *s, const struct hocket_run_spec *spec,
    struct hocket__str options, const uint8_t seed[HOCKET__STORE_SEED])
{
    struct hocket__store_run row = { .target = hocket__cstr(spec->target),
        .options = options,
        .generation = hocket__cstr(s->run->name),
        .project = project_of(options),
        .version = HOCKET__STR(HOCKET_VERSION),
        .state = HOCKET__STORE_RUNNING,
        .cost = -1,
        .tokens = -1,
        .created_ms = hocket__wall_ms() };
    memcpy(row.id, s->run->name, sizeof(row.id));
    memcpy(row.seed, seed, sizeof(row.seed));
    row.input = input_of(spec);
    int rc = hocket__store_put(s->store, &row, &s->claim);
    if (rc == 0)
        hocket__run_claim_on(&s->claim_state, HOCKET__CLAIM_PUT);
    s->put = hocket__store_handed(s->store);
    return rc;
}

/* It continues without a store that an earlier run could not open, as that run did. */
static int put_if_possible(struct hocket__stored *s, const struct hocket_run_spec *spec,
    struct hocket__str options, const uint8_t *seed, struct hocket_error *err)
{
    int rc = put(s, spec, options, seed);
    bool broken = rc < 0 && rc != HOCKET_ENOMEM && rc != HOCKET_ELIMIT;
    if (broken && hocket__host_may_do_without(s->run->host))
        hocket__run_claim_on(&s->claim_state, HOCKET__CLAIM_WITHOUT);
    return hocket__stored_taken(s, rc, err);
}

static int begin(struct hocket__stored *s, const struct hocket_run_spec *spec,
    struct hocket__str options, struct hocket_error *err)
{
    struct hocket__buf all;
    uint8_t seed[HOCKET__STORE_SEED];
    int rc = hocket__own_random(&s->run->host->rt->own, seed, sizeof(seed));
    struct hocket__kept *k = rc < 0 ? NULL : hocket__stored_kept(s, seed);
    if (!k)
        return hocket__error_nomem(err);
    hocket__buf_init(&all, &s->run->host->alloc, 0);
    write_options(&all, spec, options);
    rc = all.status < 0 ? hocket__error_nomem(err)
         : hocket__stored_is_off(s)
             ? 0
             : mark_consent(s->run, hocket__cstr(spec->target), input_of(spec), &all, err);
    if (rc == 0 && !hocket__stored_is_off(s))
        rc = put_if_possible(s, spec, hocket__buf_str(&all), seed, err);
    hocket__buf_deinit(&all);
    if (rc == 0)
        rc = hocket__stored_keep(s, k, err);
    hocket__kept_unref(k);
    return rc;
}

/* A recording is a log of its own, with its own random numbers. */
static bool is_wanted(struct hocket__str options)
{
    struct hocket__str v;
    if (hocket__json_find(options, "keep", &v) && hocket__str_is(v, "false"))
        return false;
    return !hocket__json_find(options, "record", &v) && !hocket__json_find(options, "replay", &v);
}

/* A run that was just started is put into the host's store, where it has one. */
static int put_in_store(struct hocket__run *r, const struct hocket_run_spec *spec,
    struct hocket__str options, struct hocket_error *err)
{
    struct hocket__runtime *rt = r->host->rt;
    struct hocket__str keep;
    if (!hocket__runtime_has_store(rt) || !is_wanted(options))
        return 0;
    struct hocket__store *store = hocket__runtime_store(rt, err);
    if (!store && !r->host->store_optional)
        return err->status;
    if (!store)
        hocket__host_warn_store(r->host, err);
    r->stored = hocket__stored_new(r, store);
    if (!r->stored)
        return hocket__error_nomem(err);
    if (!store)
        hocket__run_claim_on(&r->stored->claim_state, HOCKET__CLAIM_WITHOUT);
    if (hocket__json_find(options, "park", &keep) && hocket__str_is(keep, "true"))
        r->stored->parks = HOCKET__PARKS;
    return begin(r->stored, spec, options, err);
}

/* ---- Starting ------------------------------------------------------------------------------------ */

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

/* Removes it again; its fiber, which has not run, ends later. */
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
/* When memory is out, Lua collects without running finalizers, so everything stays to which they refer. */
static void collect_after_hunger(hocket_host *h)
{
    if (h->starved && h->owns_lua)
        lua_gc(h->L, LUA_GCCOLLECT);
    h->starved = false;
}

static struct hocket__run *start(hocket_host *h, const char *name, struct hocket__str args,
    hocket_event_cb on_event, hocket_done_cb on_done, void *ud, struct hocket_error *err)
{
    struct hocket__run *r = NULL;
    if (hocket__run_may_start(h, err) < 0 || hocket__json_check(args, err) < 0)
        return NULL;
    collect_after_hunger(h);
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

/* The arguments of the operation "run". */
static void write_args(
    struct hocket__buf *b, const struct hocket_run_spec *spec, struct hocket__str options)
{
    hocket__jw_open(b, '{');
    hocket__jw_key_cstring(b, "target", spec->target);
    if (spec->input)
        hocket__jw_key_string(b, "input", input_of(spec));
    hocket__jw_key_raw(b, "options", options);
    write_extras(b, spec);
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
    struct hocket__buf b, left, target;
    hocket__buf_init(&b, &h->alloc, 0);
    hocket__buf_init(&left, &h->alloc, 0);
    hocket__buf_init(&target, &h->alloc, 0);
    spec.target = hocket__fs_slashes(&target, spec.target);
    rc = hocket__host_narrow(h, &options, &left, err);
    write_args(&b, &spec, options);
    if (rc == 0 && (b.status < 0 || target.status < 0))
        hocket__error_nomem(err);
    else if (rc == 0)
        r = start(h, "run", hocket__buf_str(&b), on_event, on_done, ud, err);
    hocket__buf_deinit(&b);
    rc = r ? put_in_store(r, &spec, options, err) : err->status;
    hocket__buf_deinit(&left);
    hocket__buf_deinit(&target);
    if (r && rc < 0)
        give_up(r);
    else if (r && id)
        *id = r->id;
    return rc;
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

/* A run ends with workflow_finished, also one that has no other event: it was cancelled before it began. */
static void close_journal(struct hocket__run *r, int64_t now_ms)
{
    if (r->is_run && r->journal)
        hocket__journal_close(r->journal, r->status, now_ms);
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
    close_journal(r, hocket__journal_now_ms(r->lua_journal));
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
            hocket__stored_abandon(r->stored);
        close_journal(r, hocket__wall_ms());
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
    /* it is in no list, and only the next hocket_event_next, which does not come, would free it */
    h->taken = NULL;
    h->n_runs = 0;
}
