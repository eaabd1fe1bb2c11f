#include "bind/fiber/kept_impl.h"

#include <stdio.h>
#include <stdlib.h>

#include <lauxlib.h>

#include "base/hash/hash.h"
#include "bind/util.h"

/* Of its clock, when it begins: 0 stands for no time in many places. */
#define BEGIN_MS 1000

/* ---- Its life ----------------------------------------------------------------------------- */

struct hocket__kept *hocket__kept_new(struct hocket__runtime *rt,
    const struct hocket__log_sink *sink, const unsigned char seed[HOCKET__SEED])
{
    struct hocket__kept *k = hocket__zero(rt->alloc, sizeof(*k));
    if (!k)
        return NULL;
    k->rt = rt;
    k->refs = 1;
    k->own_ref = LUA_NOREF;
    memcpy(k->seed, seed, HOCKET__SEED);
    hocket__list_init(&k->link);
    hocket__list_init(&k->fibers);
    hocket__map_init(&k->by_path, rt->alloc);
    k->log = hocket__log_new(rt->alloc, sink);
    if (!k->log) {
        hocket__free(rt->alloc, k, sizeof(*k));
        return NULL;
    }
    hocket__list_add(&rt->kept_runs, &k->link);
    return k;
}

struct hocket__kept *hocket__kept_ref(struct hocket__kept *k)
{
    k->refs++;
    return k;
}

void hocket__kept_unref(struct hocket__kept *k)
{
    if (--k->refs > 0)
        return;
    hocket__list_del(&k->link);
    hocket__log_free(k->log);
    hocket__map_deinit(&k->by_path);
    luaL_unref(k->rt->L, LUA_REGISTRYINDEX, k->own_ref);
    hocket__free(k->rt->alloc, k, sizeof(*k));
}

struct hocket__log *hocket__kept_log(struct hocket__kept *k)
{
    return k->log;
}

struct hocket__kept_hooks *hocket__kept_hooks(struct hocket__kept *k)
{
    return &k->hooks;
}

struct hocket__kept *hocket__kept_here(const struct hocket__runtime *rt)
{
    return rt->kept && !rt->kept->over ? rt->kept : NULL;
}

bool hocket__kept_forsaken(const struct hocket__kept *k)
{
    return k->over || hocket__log_error(k->log);
}

static bool is_free(const struct hocket__kept *k)
{
    return k->live || hocket__kept_forsaken(k);
}

bool hocket__kept_is_replay(const struct hocket__kept *k)
{
    return k->root != 0 && !is_free(k);
}

static struct hocket__fiber *fiber_of(struct hocket__list *l)
{
    return hocket__container_of(l, struct hocket__fiber, kin);
}

/* Those without a parent (the broker's dispatcher) would go on for ever. */
static void end_detached(struct hocket__kept *k)
{
    for (struct hocket__list *l = k->fibers.next; l != &k->fibers; l = l->next) {
        hocket__effect_forsake(fiber_of(l));
        if (!fiber_of(l)->parent)
            hocket__fiber_cancel(fiber_of(l));
    }
}

void hocket__kept_leave(struct hocket__kept *k)
{
    struct hocket__kept *outer = k->rt->kept;
    if (k->over)
        return;
    k->over = true;
    k->rt->kept = k;
    end_detached(k);
    k->rt->kept = outer;
}

/* The run cannot go on: its root is told to end. */
static void end_by(struct hocket__kept *k)
{
    struct hocket__kept *outer = k->rt->kept;
    struct hocket__fiber *root = hocket__map_get(&k->rt->fibers, k->root);
    k->rt->kept = k;
    for (struct hocket__list *l = k->fibers.next; l != &k->fibers; l = l->next)
        hocket__effect_forsake(fiber_of(l));
    if (root)
        hocket__fiber_cancel(root);
    k->rt->kept = outer;
}

void hocket__kept_leave_all(struct hocket__runtime *rt)
{
    for (struct hocket__list *l = rt->kept_runs.next; l != &rt->kept_runs; l = l->next)
        hocket__kept_leave(hocket__container_of(l, struct hocket__kept, link));
}

/* ---- Clocks, and chance -------------------------------------------------------------------- */

/* Of the run's clock, as it goes on. */
static int64_t clock_ms(const struct hocket__kept *k)
{
    return (int64_t) hocket__deadlines_now() - k->offset_ms;
}

static int64_t now_ms(const struct hocket__kept *k)
{
    return hocket__kept_forsaken(k) ? clock_ms(k) : hocket__log_now_ms(k->log);
}

int64_t hocket__kept_wall_ms(const struct hocket__kept *k)
{
    return k->wall_ms + now_ms(k);
}

int64_t hocket__now_ms(const struct hocket__runtime *rt)
{
    return rt->kept ? now_ms(rt->kept) : (int64_t) hocket__deadlines_now();
}

uint64_t hocket__now_ns(const struct hocket__runtime *rt)
{
    return rt->kept ? (uint64_t) now_ms(rt->kept) * 1000000 : uv_hrtime();
}

int64_t hocket__wall_here(const struct hocket__runtime *rt)
{
    return rt->kept ? hocket__kept_wall_ms(rt->kept) : hocket__wall_ms();
}

void hocket__kept_random(struct hocket__kept *k, void *out, size_t n)
{
    unsigned char *at = out;
    for (size_t i = 0; i < n; i++) {
        uint64_t v = i % 8 == 0 ? ++k->drawn : 0;
        if (i % 8 == 0) {
            v = hocket__siphash(k->seed, hocket__str((const char *) &v, sizeof(v)));
            memcpy(at + i, &v, n - i < 8 ? n - i : 8);
        }
    }
}

/* ---- What it appends ------------------------------------------------------------------------- */

/* The step that has used up the log ends before the clock goes on. */
bool hocket__kept_put(struct hocket__kept *k, struct hocket__log_entry *e)
{
    if (hocket__kept_forsaken(k))
        return true;
    int64_t now = k->live ? clock_ms(k) : hocket__log_now_ms(k->log);
    return hocket__log_put(k->log, e, now, NULL) == 0;
}

static void put(struct hocket__kept *k, struct hocket__log_entry *e)
{
    if (!hocket__kept_put(k, e))
        end_by(k);
}

static void put_of(const struct hocket__fiber *f, enum hocket__log_kind kind)
{
    struct hocket__log_entry e = { .kind = kind, .path = f->path };
    put(f->kept, &e);
}

static void put_life(struct hocket__kept *k)
{
    char text[32];
    k->wall_ms = hocket__wall_ms() - clock_ms(k);
    int n = snprintf(text, sizeof(text), "%lld", (long long) k->wall_ms);
    struct hocket__log_entry e = { .kind = HOCKET__LOG_LIFE,
        .value = hocket__str(text, (size_t) n) };
    put(k, &e);
}

/* ---- From outside ------------------------------------------------------------------------------ */

static bool is_due(const struct hocket__log_entry *e, const struct hocket__fiber *f)
{
    return e && e->kind == HOCKET__LOG_WAKE && e->path == f->path;
}

/* A wake that finds it not waiting is kept for its next wait, once. What is held back in a replay
 * counts as come: where the fiber waits for something that is really done again, the log's wake has to
 * wait for that. */
bool hocket__kept_woken(struct hocket__fiber *f)
{
    struct hocket__kept *k = f->kept;
    if (f->state >= HOCKET__CLOSING)
        return false;
    if (!is_free(k)) {
        f->outer_woken = true;
        if (!k->rt->running && is_due(hocket__log_due(k->log), f))
            hocket__kept_stepped(k);
        return false;
    }
    if (f->state != HOCKET__WAITING && f->woken)
        return false;
    put_of(f, HOCKET__LOG_WAKE);
    return true;
}

void hocket__kept_timed_out(struct hocket__fiber *f)
{
    put_of(f, HOCKET__LOG_TIMEOUT);
}

void hocket__kept_stuck(struct hocket__fiber *f)
{
    put_of(f, HOCKET__LOG_STUCK);
}

/* A cancel cannot wait for the end of a replay: then the run ends with it, and can be resumed. */
void hocket__kept_cancelled(struct hocket__fiber *f)
{
    struct hocket__kept *k = f->kept;
    struct hocket_error err;
    if (is_free(k)) {
        put_of(f, HOCKET__LOG_CANCEL);
        return;
    }
    hocket__error(&err, HOCKET_ECANCELLED, "cancelled while it was replayed");
    hocket__log_fail(k->log, &err);
}

bool hocket__kept_waits(struct hocket__fiber *f, int64_t timeout_ms)
{
    f->held_due = timeout_ms < 0 ? 0 : now_ms(f->kept) + timeout_ms;
    return is_free(f->kept);
}

static struct hocket__log_entry rest_of(const struct hocket__fiber *f)
{
    return (struct hocket__log_entry){
        .kind = HOCKET__LOG_REST, .path = f->path, .ord = f->kept->rests
    };
}

bool hocket__kept_rests(struct hocket__fiber *f, bool over)
{
    struct hocket__kept *k = f->kept;
    k->rests++;
    struct hocket__log_entry e = rest_of(f);
    if (hocket__log_replays(k->log))
        return hocket__log_is_next(k->log, &e) && hocket__log_match(k->log, &e, NULL);
    return over && hocket__kept_put(k, &e);
}

int hocket__kept_tell_begin(struct hocket__kept *k, struct hocket__str name,
    struct hocket__str value, struct hocket_error *err)
{
    struct hocket__log_entry e = { .kind = HOCKET__LOG_TELL, .name = name, .value = value };
    if (k->over || k->root == 0)
        return hocket__error(err, HOCKET_ESTATE, "the run is not going on");
    if (!k->live)
        return hocket__error(
            err, HOCKET_ESTATE, "the run is being replayed: say it again when it goes on");
    if (hocket__kept_forsaken(k) || !hocket__kept_put(k, &e)) {
        if (err)
            *err = *hocket__log_error(k->log);
        end_by(k);
        return hocket__log_error(k->log)->status;
    }
    k->rt->kept = k;
    return 0;
}

void hocket__kept_tell_end(struct hocket__kept *k)
{
    k->rt->kept = NULL;
}

bool hocket__kept_notice(struct hocket__kept *k, struct hocket__str value)
{
    struct hocket__log_entry e = { .kind = HOCKET__LOG_NOTICE, .value = value };
    if (k->rt->kept == k)
        return true;
    if (is_free(k))
        put(k, &e);
    return is_free(k);
}

/* ---- Replay --------------------------------------------------------------------------------------- */

static void diverge(struct hocket__kept *k, const char *what, const struct hocket__log_entry *e)
{
    struct hocket_error err;
    hocket__error(&err, HOCKET_EREPLAY, "%s: entry %llu of its log is a %s of fiber %llx", what,
        (unsigned long long) e->n, hocket__log_word(e->kind), (unsigned long long) e->path);
    hocket__log_fail(k->log, &err);
}

static void read_life(struct hocket__kept *k, const struct hocket__log_entry *e)
{
    char text[32] = "";
    if (e->value.n < sizeof(text))
        memcpy(text, e->value.p, e->value.n);
    k->wall_ms = strtoll(text, NULL, 10);
}

/* What is for a fiber. False: it has to wait for something that is done again. */
static bool apply_to(struct hocket__fiber *f, const struct hocket__log_entry *e)
{
    if (e->kind == HOCKET__LOG_WAKE && f->outer && f->state == HOCKET__WAITING && !f->outer_woken)
        return false;
    bool needs_wait = e->kind == HOCKET__LOG_TIMEOUT || e->kind == HOCKET__LOG_STUCK;
    if (needs_wait && f->state != HOCKET__WAITING) {
        diverge(f->kept, "the fiber does not wait now", e);
        return true;
    }
    hocket__log_pass(f->kept->log);
    f->outer_woken = false;
    if (e->kind == HOCKET__LOG_WAKE)
        hocket__fiber_wake(f->rt, f->id);
    else if (e->kind == HOCKET__LOG_CANCEL)
        hocket__fiber_cancel(f);
    else if (e->kind == HOCKET__LOG_STUCK)
        hocket__fiber_raise_stuck(f);
    else
        hocket__fiber_expire(f);
    return true;
}

static void apply_to_run(struct hocket__kept *k, const struct hocket__log_entry *e)
{
    hocket__log_pass(k->log);
    if (e->kind == HOCKET__LOG_LIFE)
        read_life(k, e);
    else if (e->kind == HOCKET__LOG_TELL && k->hooks.tell)
        k->hooks.tell(k->hooks.tell_ud, e->name, e->value);
    else if (e->kind == HOCKET__LOG_NOTICE && k->hooks.notice)
        k->hooks.notice(k->hooks.notice_ud, e->value);
}

static bool apply(struct hocket__kept *k, const struct hocket__log_entry *e)
{
    struct hocket__fiber *f = e->path ? hocket__map_get(&k->by_path, e->path) : NULL;
    if (e->path && !f) {
        diverge(k, "the run has no such fiber now", e);
        return true;
    }
    if (e->kind == HOCKET__LOG_END) {
        if (!hocket__effect_ended_again(f, e))
            diverge(k, "the fiber waits for another effect now", e);
        return true;
    }
    uint64_t n = e->n;
    if (f && !apply_to(f, e))
        return false;
    if (!f)
        apply_to_run(k, e);
    hocket__log_forget(k->log, n);
    return true;
}

static void let_go(struct hocket__fiber *f)
{
    struct hocket__kept *k = f->kept;
    if (f->state == HOCKET__WAITING && f->held_due > 0)
        hocket__deadline_set(
            &k->rt->deadlines, &f->deadline, (uint64_t) (f->held_due + k->offset_ms));
    if (f->outer_woken) {
        put_of(f, HOCKET__LOG_WAKE);
        hocket__fiber_wake(k->rt, f->id);
    }
    f->outer_woken = false;
    if (!hocket__effect_begin_held(f)) {
        struct hocket_error err;
        hocket__error_nomem(&err);
        hocket__log_fail(k->log, &err);
    }
}

/* What was held back comes, in the order in which its fibers were made. Those that are made for effects are
 * none of its. */
static void go_live(struct hocket__kept *k)
{
    k->live = true;
    k->offset_ms = (int64_t) hocket__deadlines_now() - hocket__log_now_ms(k->log);
    put_life(k);
    for (struct hocket__list *l = k->fibers.next; l != &k->fibers; l = l->next)
        let_go(fiber_of(l));
    if (hocket__log_error(k->log))
        end_by(k);
    if (k->hooks.live)
        k->hooks.live(k->hooks.tell_ud);
}

/* Fibers that nothing can wake any more: the log expects steps that nobody makes. */
static void check_stuck(struct hocket__kept *k)
{
    struct hocket_error err;
    if (k->n_ready > 0 || !hocket__log_waits(k->log))
        return;
    hocket__error(&err, HOCKET_EREPLAY,
        "the run has come to a stop after %llu steps, where it went on when it was logged",
        (unsigned long long) hocket__log_tick(k->log));
    hocket__log_fail(k->log, &err);
}

/* Its code is the run's: what follows from an entry is inside. */
static void replay(struct hocket__kept *k)
{
    const struct hocket__log_entry *e;
    while ((e = hocket__log_due(k->log)) && apply(k, e))
        ;
    if (!e && hocket__log_replays(k->log))
        check_stuck(k);
    if (hocket__log_error(k->log))
        end_by(k);
    else if (!hocket__log_replays(k->log))
        go_live(k);
}

void hocket__kept_stepped(struct hocket__kept *k)
{
    struct hocket__kept *outer = k->rt->kept;
    if (k->over)
        return;
    k->rt->kept = k;
    if (hocket__log_error(k->log))
        end_by(k);
    else if (!k->live)
        replay(k);
    k->rt->kept = outer;
}

/* ---- Its fibers -------------------------------------------------------------------------------------- */

/* splitmix64's last part: any two numbers give one that is hardly met again. */
static uint64_t path_of(uint64_t above, uint64_t i)
{
    uint64_t v = above + i * UINT64_C(0x9E3779B97F4A7C15);
    v = (v ^ v >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    v = (v ^ v >> 27) * UINT64_C(0x94D049BB133111EB);
    v ^= v >> 31;
    return v ? v : 1;
}

static int join(struct hocket__kept *k, struct hocket__fiber *f, uint64_t path)
{
    if (hocket__map_set(&k->by_path, path, f) < 0)
        return HOCKET_ENOMEM;
    f->kept = k;
    f->path = path;
    k->refs++;
    hocket__list_add(&k->fibers, &f->kin);
    return 0;
}

void hocket__kept_adopt(struct hocket__fiber *f, struct hocket__fiber *parent)
{
    struct hocket__kept *k = f->rt->kept;
    struct hocket_error err;
    if (!k || k->over || (parent && parent->kept != k))
        return;
    uint64_t path = parent ? path_of(parent->path, ++parent->made) : path_of(2, ++k->detached);
    if (join(k, f, path) < 0) {
        hocket__error_nomem(&err);
        hocket__log_fail(k->log, &err);
    }
}

void hocket__kept_ending(struct hocket__fiber *f)
{
    struct hocket__kept *k = f->kept;
    struct hocket__log_entry e = { .kind = HOCKET__LOG_OVER };
    if (f->id != k->root || hocket__kept_forsaken(k))
        return;
    if (hocket__log_replays(k->log))
        hocket__log_match(k->log, &e, NULL);
    else
        hocket__kept_put(k, &e);
}

void hocket__kept_drop(struct hocket__fiber *f)
{
    struct hocket__kept *k = f->kept;
    hocket__map_del(&k->by_path, f->path);
    hocket__list_del(&f->kin);
    if (f->id == k->root)
        hocket__kept_leave(k);
    f->kept = NULL;
    if (k->rt->kept == k && k->refs == 1)
        k->rt->kept = NULL;
    hocket__kept_unref(k);
}

void hocket__kept_step(struct hocket__fiber *f)
{
    f->kept->n_ready--;
    hocket__log_step(f->kept->log);
}

/* A run that begins is live at once; one that goes on has its first entry for its clock. */
void hocket__kept_enter(lua_State *L, struct hocket__kept *k)
{
    struct hocket__fiber *f = hocket__fiber_current(L);
    if (f->kept || k->root || k->over)
        luaL_error(L, "a run that is kept is entered once");
    lua_newtable(L);
    k->own_ref = luaL_ref(L, LUA_REGISTRYINDEX);
    if (join(k, f, path_of(1, 1)) < 0)
        hocket__raise_nomem(L);
    k->root = f->id;
    k->rt->kept = k;
    const struct hocket__log_entry *e = hocket__log_due(k->log);
    if (e && e->kind == HOCKET__LOG_LIFE)
        apply_to_run(k, e);
    if (hocket__log_replays(k->log) || hocket__log_last(k->log) > 0)
        return;
    k->live = true;
    k->offset_ms = (int64_t) hocket__deadlines_now() - BEGIN_MS;
    put_life(k);
}
