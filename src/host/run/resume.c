/* Resumes a run of the store: find ─> claim ─> its files, the memory of its parent, its log ─> it begins. Each step asks the
 * store after the one before has answered; until the last one the run has no fiber. An error ends the run. */
#include "host/run/stored.h"

#include <string.h>

#include "base/json/json.h"
#include "bind/fiber/fiber.h"
#include "bind/modules.h"
#include "bind/store/store.h"
#include "bind/util.h"
#include "core/log/log.h"

static struct hocket__str id_of(const struct hocket__resuming *g)
{
    return hocket__cstr(g->run->name);
}

void hocket__resume_free(struct hocket__resuming *g)
{
    if (!g)
        return;
    const struct hocket_allocator *a = &g->run->host->alloc;
    if (g->kept)
        hocket__kept_unref(g->kept);
    hocket__buf_deinit(&g->name);
    hocket__buf_deinit(&g->options);
    hocket__buf_deinit(&g->target);
    hocket__buf_deinit(&g->input);
    hocket__buf_deinit(&g->own);
    hocket__buf_deinit(&g->generation);
    g->run->host->rt->n_outside -=
        g->run->resuming == g; /* the run waited for the store, and had no fiber */
    g->run->resuming = NULL;
    hocket__free(a, g, sizeof(*g));
}

/* ---- The end of the reading ------------------------------------------------------------------ */

/* It did nothing here: another worker takes it, or it waits as before. */
static void put_back(struct hocket__stored *s, const struct hocket_error *err)
{
    struct hocket__store_run row = { .state = HOCKET__STORE_QUEUED };
    struct hocket__buf waiting;
    unsigned set = HOCKET__STORE_SET_STATE;
    hocket__buf_init(&waiting, &s->run->host->alloc, 0);
    if (s->origin == HOCKET__ORIGIN_BY_HAND)
        hocket__pooled_restore(s, &row, &set);
    else if (err->status != HOCKET_ECANCELLED && err->status != HOCKET_EPARKED)
        hocket__pooled_put_off(s, err, &waiting, &row, &set);
    hocket__store_update(s->store, &s->claim, set, &row);
    hocket__buf_deinit(&waiting);
}

/* A run that was taken as the next one belongs to a pool, even if its row could not be read. */
static void let_go(const struct hocket__resuming *g, const struct hocket_error *err)
{
    struct hocket__stored *s = g->stored;
    if (!hocket__stored_is_ours(s))
        return;
    if (s->pool.len > 0 || g->fence)
        put_back(s, err);
    hocket__stored_give_back(s);
}

/* It has ended, by err, or else by the status. g is gone. */
static void fail(struct hocket__resuming *g, int status, const struct hocket_error *err)
{
    struct hocket__run *r = g->run;
    if (r->host->life >= HOCKET__HOST_CLOSING)
        hocket__error(&r->err, HOCKET_ECANCELLED, "cancelled");
    else if (err)
        r->err = *err;
    else
        hocket__error(&r->err, status, "%s", hocket_status_text(status));
    r->status = r->err.status;
    r->ended = true;
    let_go(g, &r->err);
    hocket__resume_free(g);
    hocket__run_report_soon(r);
}

/* One that has not begun yet. */
static bool end_unread(struct hocket__run *r, int status, const char *why)
{
    struct hocket_error err;
    if (!r->resuming || r->ended)
        return false;
    hocket__error(&err, status, "%s", why);
    hocket__resume_end(r, status, &err);
    return true;
}

bool hocket__resume_cancel(struct hocket__run *r)
{
    return end_unread(r, HOCKET_ECANCELLED, "cancelled");
}

bool hocket__resume_park(struct hocket__run *r)
{
    return r->resuming && !r->resuming->replay
           && end_unread(r, HOCKET_EPARKED, "the run waits until it is resumed");
}

void hocket__host_cancel_resuming(struct hocket_host *h)
{
    for (struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next)
        hocket__resume_cancel(hocket__container_of(l, struct hocket__run, link));
}

/* Cancels its open questions to the store, which would answer after its end. */
void hocket__resume_end(struct hocket__run *r, int status, const struct hocket_error *err)
{
    struct hocket__stored *s = r->stored;
    if (s->call)
        hocket__store_cancel(s->store, s->call);
    s->call = NULL;
    fail(r->resuming, status, err);
}

/* ---- What it may do ------------------------------------------------------------------------------ */

static void set_str(lua_State *L, const char *name, struct hocket__str s)
{
    hocket__push_str(L, s);
    lua_setfield(L, -2, name);
}

static void take(lua_State *L, int at, struct hocket__buf *to)
{
    hocket__buf_reset(to);
    if (lua_isstring(L, at))
        hocket__buf_addstr(to, hocket__check_str(L, at));
}

/* No process has done anything of it yet. */
static bool is_fresh(const struct hocket__resuming *g)
{
    const struct hocket__log *log = hocket__kept_log(g->kept);
    return !hocket__log_replays(log) && hocket__log_last(log) == 0;
}

static const char *how(const struct hocket__resuming *g)
{
    return g->replay ? "replay" : is_fresh(g) ? "new" : "old";
}

/* Protected: require("hocket.internal.runner.stored_code").begin(row, given, how, files) -> own, instead, wish */
static int decide_protected(lua_State *L)
{
    struct hocket__resuming *g = lua_touserdata(L, 1);
    hocket__require(L, "hocket.internal.runner.stored_code");
    lua_getfield(L, -1, "begin");
    lua_createtable(L, 0, 5);
    set_str(L, "id", id_of(g));
    set_str(L, "target", hocket__buf_str(&g->target));
    set_str(L, "input", hocket__buf_str(&g->input));
    set_str(L, "options", hocket__buf_str(&g->own));
    set_str(L, "generation", hocket__buf_str(&g->generation));
    hocket__push_str(L, hocket__buf_str(&g->options));
    lua_pushstring(L, how(g));
    hocket__kept_push_files(g->kept, L);
    lua_call(L, 4, 3);
    take(L, -3, &g->own);
    take(L, -2, &g->options);
    take(L, -1, &g->stored->consent);
    return 0;
}

/* For a run that has done nothing, its row holds from its first entry on. */
static int put_own(struct hocket__resuming *g)
{
    struct hocket__stored *s = g->stored;
    struct hocket__store_run row = { .options = hocket__buf_str(&g->own) };
    return is_fresh(g) && hocket__stored_is_ours(s)
               ? hocket__store_update(s->store, &s->claim, HOCKET__STORE_SET_OPTIONS, &row)
               : 0;
}

/* Its log is read, and it has done nothing here: decides which options hold. 0, or a status with *err: EDENIED if code
 * that it brings may not run here (hocket.internal.runner.stored_code). */
static int decide_consent(struct hocket__resuming *g, struct hocket_error *err)
{
    int rc = hocket__pcall(g->run->host->L, decide_protected, g, err);
    if (rc < 0)
        return rc;
    bool whole = g->own.status == 0 && g->options.status == 0 && g->stored->consent.status == 0;
    rc = !whole ? HOCKET_ENOMEM : g->replay ? 0 : put_own(g);
    return rc < 0 ? hocket__error(
               err, rc, "what the run may do cannot be kept: %s", hocket_status_text(rc))
                  : 0;
}

/* ---- It begins --------------------------------------------------------------------------------- */

static void write_args(const struct hocket__resuming *g, struct hocket__buf *b)
{
    hocket__jw_open(b, '{');
    hocket__jw_key_string(b, "target", hocket__buf_str(&g->target));
    if (g->has_input)
        hocket__jw_key_string(b, "input", hocket__buf_str(&g->input));
    hocket__jw_key_raw(b, "options", hocket__buf_str(&g->own));
    hocket__jw_key_raw(b, "instead", hocket__buf_str(&g->options));
    hocket__jw_close(b, '}');
}

/* Relative paths count from the process's working directory, which belongs to the embedder. */
static void check_place(const struct hocket__resuming *g)
{
    char cwd[4096];
    size_t n = sizeof(cwd);
    struct hocket__str was;
    struct hocket__buf is;
    if (g->replay || g->stored->pool.len > 0 /* its files travel with it */
        || !hocket__json_find(hocket__buf_str(&g->own), "cwd", &was) || uv_cwd(cwd, &n) < 0)
        return;
    hocket__buf_init(&is, &g->run->host->alloc, 0);
    hocket__jw_string(&is, hocket__str(cwd, n));
    if (is.status == 0 && !hocket__str_eq(was, hocket__buf_str(&is)))
        hocket__runtime_log(g->run->host->rt, HOCKET_LOG_WARN,
            "run %s was begun in %.*s, and goes on in %s: relative paths are meant from there",
            g->run->name, (int) (was.n < 512 ? was.n : 512), was.p, is.data);
    hocket__buf_deinit(&is);
}

static int begin(struct hocket__resuming *g, struct hocket_error *err)
{
    struct hocket__buf args;
    struct hocket__str park;
    int rc = decide_consent(g, err);
    if (rc < 0)
        return rc;
    check_place(g);
    hocket__buf_init(&args, &g->run->host->alloc, 0);
    write_args(g, &args);
    rc = args.status < 0 ? hocket__error_nomem(err)
                         : hocket__run_begin(g->run, "run", hocket__buf_str(&args), err);
    hocket__buf_deinit(&args);
    if (rc < 0)
        return rc;
    struct hocket__stored *s = g->stored;
    struct hocket__str fork;
    if (g->forked && hocket__json_find(hocket__buf_str(&g->own), "fork", &fork))
        hocket__buf_addstr(&s->fork, fork);
    if (g->replay)
        return hocket__stored_keep(s, g->kept, err);
    if (s->origin == HOCKET__ORIGIN_STARTED)
        s->origin = HOCKET__ORIGIN_RESUMED;
    hocket__run_phase_on(&s->phase, HOCKET__RUN_REPLAY);
    if (hocket__json_find(hocket__buf_str(&g->options), "park", &park)
        && hocket__str_is(park, "true"))
        s->parks = HOCKET__PARKS;
    if (s->pool.len
        > 0) { /* no worker takes it meanwhile; other rows stay as they are until then */
        s->state = HOCKET__STORE_STATE_COUNT;
        hocket__stored_set_state(s, HOCKET__STORE_RUNNING);
    }
    return hocket__stored_keep(s, g->kept, err);
}

static void on_entries(void *ud, int status, const struct hocket_error *err)
{
    struct hocket__resuming *g = ud;
    g->stored->call = NULL;
    if (status == 0)
        status = begin(g, &g->wrong);
    if (status < 0 && g->wrong.status < 0)
        err = &g->wrong;
    if (status < 0)
        fail(g, status, err);
    else
        hocket__resume_free(g);
}

static struct hocket__log_entry entry_of(const struct hocket__store_entry *e)
{
    return (struct hocket__log_entry){ .n = e->n,
        .tick = e->tick,
        .at_ms = e->at_ms,
        .kind = e->kind,
        .path = e->path,
        .ord = e->ord,
        .name = e->name,
        .digest = e->digest,
        .value = e->value };
}

static int on_entry(void *ud, const struct hocket__store_row *row)
{
    struct hocket__resuming *g = ud;
    struct hocket__log_entry entry = entry_of(&row->entry);
    return hocket__log_feed(hocket__kept_log(g->kept), &entry, &g->wrong);
}

/* ---- What is asked --------------------------------------------------------------------------- */

static int ask_entries(struct hocket__resuming *g)
{
    struct hocket__stored *s = g->stored;
    struct hocket__store_reply reply = { on_entry, on_entries, g };
    return hocket__store_entries(s->store, id_of(g), 1, &reply, &s->call);
}

static void on_memory(void *ud, int status, const struct hocket_error *err)
{
    struct hocket__resuming *g = ud;
    g->stored->call = NULL;
    if (status == HOCKET_ENOTFOUND) /* it came from another store without its parent */
        hocket__runtime_log(g->run->host->rt, HOCKET_LOG_WARN,
            "the run that %s was forked from is not in this store: what was asked there is asked "
            "again",
            g->run->name);
    if (status == 0 || status == HOCKET_ENOTFOUND)
        status = ask_entries(g);
    if (status < 0)
        fail(g, status, err);
}

static int on_remembered(void *ud, const struct hocket__store_row *row)
{
    struct hocket__resuming *g = ud;
    struct hocket__log_entry e = entry_of(&row->entry);
    return hocket__kept_remember(g->kept, &e);
}

/* The parent's effects, before its own log. */
static int ask_memory(struct hocket__resuming *g)
{
    struct hocket__stored *s = g->stored;
    struct hocket__store_reply reply = { on_remembered, on_memory, g };
    return g->latest ? hocket__store_past(s->store, id_of(g), &reply, &s->call) : ask_entries(g);
}

static void on_records(void *ud, int status, const struct hocket_error *err)
{
    struct hocket__resuming *g = ud;
    g->stored->call = NULL;
    if (status == 0)
        status = ask_memory(g);
    if (status < 0)
        fail(g, status, err);
}

static int on_record(void *ud, const struct hocket__store_row *row)
{
    struct hocket__resuming *g = ud;
    return hocket__retold_add(&g->stored->retold, row->record.seq, row->record.json, g->run->name);
}

static int ask_records(struct hocket__resuming *g)
{
    struct hocket__stored *s = g->stored;
    struct hocket__store_reply reply = { on_record, on_records, g };
    return hocket__store_records(s->store, id_of(g), 1, &reply, &s->call);
}

static int on_file(void *ud, const struct hocket__store_row *row)
{
    struct hocket__resuming *g = ud;
    return hocket__kept_feed_file(g->kept, row->file.path, row->file.text);
}

/* The farthest ancestor first, so that of two files with one name the nearest stays; its own come last. */
static struct hocket__str next_generation(struct hocket__resuming *g)
{
    const char *names = g->generation.data;
    size_t end = g->generations, from = end;
    while (from > 0 && names[from - 1] != ',')
        from--;
    g->generations = from > 0 ? from - 1 : 0;
    return hocket__str(names ? names + from : "", end - from);
}

static int ask_files(struct hocket__resuming *g);

static void on_files(void *ud, int status, const struct hocket_error *err)
{
    struct hocket__resuming *g = ud;
    bool more = g->generations > 0 || !g->own_read;
    g->stored->call = NULL;
    if (status == 0)
        status = more ? ask_files(g) : g->replay ? ask_records(g) : ask_memory(g);
    if (status < 0)
        fail(g, status, err);
}

static int ask_files(struct hocket__resuming *g)
{
    struct hocket__stored *s = g->stored;
    struct hocket__store_reply reply = { on_file, on_files, g };
    struct hocket__str name = next_generation(g);
    g->own_read = name.n == 0 || hocket__str_eq(name, id_of(g));
    return hocket__store_files(s->store, g->own_read ? id_of(g) : name, &reply, &s->call);
}

/* Asks for its files, its memory and its log; then it begins. */
static int read_run(struct hocket__resuming *g)
{
    g->kept = g->replay ? hocket__stored_retell(g->stored, g->seed)
                        : hocket__stored_kept(g->stored, g->seed);
    if (!g->kept)
        return HOCKET_ENOMEM;
    if (g->replay) /* all records, those before its checkpoints, too */
        hocket__log_keep_all(hocket__kept_log(g->kept));
    g->generations = g->generation.len;
    return ask_files(g);
}

void hocket__resume_read(struct hocket__run *r)
{
    int rc = read_run(r->resuming);
    if (rc < 0)
        fail(r->resuming, rc, NULL);
}

/* ---- It is found and taken ----------------------------------------------------------------- */

static bool is_here(const struct hocket__run *r)
{
    const struct hocket_host *h = r->host;
    for (const struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        const struct hocket__run *other = hocket__container_of(l, struct hocket__run, link);
        if (other != r && strcmp(other->name, r->name) == 0)
            return true;
    }
    return false;
}

/* Whether it can continue. */
static int check(
    const struct hocket__resuming *g, enum hocket__store_state state, struct hocket_error *err)
{
    bool over = state == HOCKET__STORE_DONE || state == HOCKET__STORE_FAILED
                || state == HOCKET__STORE_CANCELLED;
    if (g->replay)
        return 0;
    if (over)
        return hocket__error(err, HOCKET_ESTATE,
            "the run %s has ended: it is %s. 'hocket fork' goes on from a place in it",
            g->run->name, hocket__store_state_word(state));
    if (is_here(g->run))
        return hocket__error(err, HOCKET_ESTATE, "the run %s goes on in this host", g->run->name);
    return 0;
}

/* Another process may have ended it between both steps: then it stays as it is. */
static int claimed(struct hocket__resuming *g)
{
    struct hocket__stored *s = g->stored;
    int rc = check(g, s->state, &g->wrong);
    if (rc == 0)
        rc = hocket__inbox_cancel_taken(s);
    if (rc == 0)
        return g->lazy ? hocket__suspend_check(s) : read_run(g);
    hocket__stored_give_back(s);
    return rc;
}

static void on_taken(void *ud, int status, const struct hocket_error *err)
{
    struct hocket__resuming *g = ud;
    g->stored->call = NULL;
    if (status == 0)
        hocket__run_claim_on(&g->stored->claim_state, HOCKET__CLAIM_TAKE);
    if (status == 0)
        status = claimed(g);
    if (status < 0)
        fail(g, status, g->wrong.status < 0 ? &g->wrong : err);
}

static int on_claim(void *ud, const struct hocket__store_row *row)
{
    struct hocket__resuming *g = ud;
    struct hocket__stored *s = g->stored;
    s->claim.fence = row->run.fence;
    s->state = s->was = row->run.state;
    if (s->pool.len > 0)
        s->origin = HOCKET__ORIGIN_BY_HAND;
    if (s->pool.len > 0 && !g->lazy)
        hocket__buf_addstr(&s->waits_for, row->run.waiting_for);
    return s->waits_for.status;
}

static int on_found(void *ud, const struct hocket__store_row *row)
{
    struct hocket__resuming *g = ud;
    const struct hocket__store_run *run = &row->run;
    memcpy(g->run->name, run->id, sizeof(g->run->name));
    memcpy(g->stored->claim.id, run->id, sizeof(run->id));
    g->stored->recorded_before = run->last_seq;
    if (g->run->reported_before < run->last_seq)
        g->run->reported_before = run->last_seq;
    memcpy(g->seed, run->seed, sizeof(g->seed));
    hocket__buf_addstr(&g->target, run->target);
    hocket__buf_addstr(&g->input, run->input);
    hocket__buf_addstr(&g->generation, run->generation);
    hocket__buf_addstr(&g->stored->pool, run->pool);
    g->has_input = run->input.n > 0;
    hocket__buf_addstr(&g->own, run->options.n > 0 ? run->options : HOCKET__STR("{}"));
    g->stored->state = run->state;
    g->stored->attempts = run->attempts;
    g->forked = run->parent[0] && run->last_n == run->at_n;
    g->lazy = !g->replay && !g->forked && hocket__suspend_may(hocket__buf_str(&g->options), run);
    if (g->lazy)
        hocket__buf_addstr(&g->stored->waits_for, run->waiting_for);
    struct hocket__str latest;
    g->latest =
        hocket__json_find(run->options, "latest", &latest) && hocket__str_is(latest, "true");
    bool whole = g->target.status == 0 && g->input.status == 0 && g->own.status == 0
                 && g->generation.status == 0 && g->stored->waits_for.status == 0
                 && g->stored->pool.status == 0;
    return whole ? 0 : HOCKET_ENOMEM;
}

static void on_row(void *ud, int status, const struct hocket_error *err)
{
    struct hocket__resuming *g = ud;
    struct hocket__stored *s = g->stored;
    struct hocket_error wrong;
    struct hocket__store_reply reply = { on_claim, on_taken, g };
    s->call = NULL;
    if (status == 0 && (status = check(g, s->state, &wrong)) < 0)
        err = &wrong;
    if (status == 0)
        status = g->replay || g->fence ? read_run(g)
                                       : hocket__store_take(s->store, id_of(g), &reply, &s->call);
    if (status < 0)
        fail(g, status, err);
}

/* Asks for its row, and takes it. */
static int find(struct hocket__resuming *g)
{
    struct hocket__stored *s = g->stored;
    struct hocket__store_reply reply = { on_found, on_row, g };
    return hocket__store_find(s->store, hocket__buf_str(&g->name), &reply, &s->call);
}

/* ---- The interface ------------------------------------------------------------------------------- */

static struct hocket__resuming *new_resuming(
    struct hocket__run *r, const char *name, const char *options)
{
    const struct hocket_allocator *a = &r->host->alloc;
    struct hocket__resuming *g = hocket__zero(a, sizeof(*g));
    if (!g)
        return NULL;
    struct hocket__buf *all[] = { &g->name, &g->options, &g->target, &g->input, &g->own,
        &g->generation };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        hocket__buf_init(all[i], a, 0);
    g->run = r;
    g->stored = r->stored;
    hocket__buf_adds(&g->name, name);
    hocket__buf_adds(&g->options, options ? options : "{}");
    if (g->name.status == 0 && g->options.status == 0) {
        r->host->rt->n_outside++;
        return r->resuming = g;
    }
    hocket__resume_free(g);
    return NULL;
}

static int prepare_run(
    struct hocket__run *r, struct hocket__store *store, const char *name, const char *options)
{
    r->stored = hocket__stored_new(r, store);
    return r->stored && new_resuming(r, name, options) ? 0 : HOCKET_ENOMEM;
}

int hocket__resume_start(struct hocket__run *r)
{
    return find(r->resuming);
}

/* How to continue a run: live, from its log alone, or live by an existing claim. */
struct way {
    bool replay;
    uint64_t fence;
};

static int start(struct hocket__run *r, struct hocket__store *store, const char *name,
    const char *options, const struct way *way)
{
    int rc = prepare_run(r, store, name, options);
    if (rc < 0)
        return rc;
    r->resuming->replay = way->replay;
    r->resuming->fence = r->stored->claim.fence = way->fence;
    if (way->fence)
        hocket__run_claim_on(&r->stored->claim_state, HOCKET__CLAIM_TAKE);
    if (way->fence)
        memcpy(r->stored->claim.id, name, sizeof(r->stored->claim.id));
    return hocket__resume_start(r);
}

struct hocket__run *hocket__resume_new(struct hocket_host *h, struct hocket__store *store,
    const char *name, const char *options, uint64_t told, hocket_event_cb on_event,
    hocket_done_cb on_done, void *ud)
{
    struct hocket__run *r = hocket__run_new(h, "run", on_event, on_done, ud);
    if (!r)
        return NULL;
    r->reported_before = told;
    if (prepare_run(r, store, name, options) == 0) {
        memcpy(r->stored->claim.id, name, sizeof(r->stored->claim.id));
        return r;
    }
    hocket__run_free(r);
    return NULL;
}

struct callbacks {
    hocket_event_cb on_event;
    hocket_done_cb on_done;
    void *ud;
};

static int check_name(const char *name, struct hocket_error *err)
{
    size_t n = 0;
    while ((name[n] >= '0' && name[n] <= '9') || (name[n] >= 'A' && name[n] <= 'Z')
           || (name[n] >= 'a' && name[n] <= 'z'))
        n++;
    if (n > 0 && n <= HOCKET__STORE_ID && !name[n])
        return 0;
    return hocket__error(err, HOCKET_EINVAL,
        "a run is named by its id, or the beginning of one: 1 to %d letters and digits",
        HOCKET__STORE_ID);
}

static int again(hocket_host *h, const char *name, const char *options, const struct way *way,
    uint64_t *id, struct callbacks to, struct hocket_error *err)
{
    if (id)
        *id = 0;
    if (!h || !name)
        return hocket__error(err, HOCKET_EINVAL, "to go on with a run needs a host and its name");
    int rc = check_name(name, err);
    if (rc == 0)
        rc = hocket__run_may_start(h, err);
    if (rc == 0 && options)
        rc = hocket__run_check_options(hocket__cstr(options), err);
    struct hocket__store *store = rc == 0 ? hocket__runtime_store(h->rt, err) : NULL;
    if (!store)
        return rc < 0 ? rc : err->status;
    struct hocket__run *r =
        lua_checkstack(h->L, 4) ? hocket__run_new(h, "run", to.on_event, to.on_done, to.ud) : NULL;
    if (!r)
        return hocket__error_nomem(err);
    rc = start(r, store, name, options, way);
    if (rc < 0) {
        hocket__run_free(r);
        return hocket__error(err, rc, "the store cannot be asked: %s", hocket_status_text(rc));
    }
    hocket__run_join(r);
    if (id)
        *id = r->id;
    return 0;
}

int hocket_run_resume(hocket_host *h, const char *name, const char *options, uint64_t *id,
    hocket_event_cb on_event, hocket_done_cb on_done, void *ud, struct hocket_error *err)
{
    struct hocket_error unused;
    struct callbacks to = { on_event, on_done, ud };
    struct way way = { 0 };
    return again(h, name, options, &way, id, to, err ? err : &unused);
}

int hocket__run_go_on(hocket_host *h, const char *name, uint64_t fence, const char *options,
    uint64_t *id, hocket_done_cb on_done, void *ud, struct hocket_error *err)
{
    struct callbacks to = { NULL, on_done, ud };
    struct way way = { .fence = fence };
    if (!name || strlen(name) != HOCKET__STORE_ID)
        return hocket__error(err, HOCKET_EINVAL, "a run that was claimed has a whole name");
    return again(h, name, options, &way, id, to, err);
}

int hocket_run_replay(hocket_host *h, const char *name, const char *options, uint64_t *id,
    hocket_event_cb on_event, hocket_done_cb on_done, void *ud, struct hocket_error *err)
{
    struct hocket_error unused;
    struct callbacks to = { on_event, on_done, ud };
    struct way way = { .replay = true };
    return again(h, name, options, &way, id, to, err ? err : &unused);
}
