/* Effects of a run that is kept: one is begun here or taken from the log. Which of both it is, is asked once, in
 * hocket__kept_l_effect. In a replay the fiber waits as it did, and the log's entry ends the wait. */

#include "bind/fiber/kept_impl.h"
#include "bind/fiber/work_clock.h"

#include "bind/util.h"

static void happens(struct hocket__fiber *f, enum hocket__effect_event event)
{
    f->effect.state = hocket__effect_next(f->effect.state, event);
}

static bool is(const struct hocket__fiber *f, enum hocket__effect_option option)
{
    return f->effect.options & option;
}

static bool may_start(const struct hocket__fiber *f)
{
    return hocket__gate_is_open(&f->kept->gate, f->effect.intent, is(f, HOCKET__EFFECT_WORLD));
}

static bool is_under_way(const struct hocket__fiber *f)
{
    enum hocket__effect_state state = f->effect.state;
    return state == HOCKET__EFFECT_ASKED || state == HOCKET__EFFECT_HELD
           || state == HOCKET__EFFECT_BEGUN;
}

/* For its place among what another run had: see hocket__effect_next_turn. */
static bool waits_for_turn(const struct hocket__fiber *f)
{
    return f->effect.state == HOCKET__EFFECT_ASKED && f->effect.turn > 0
           && is(f, HOCKET__EFFECT_REMEMBERED) && !f->kept->out_of_turn;
}

/* The name of an end whose outcome was another run's. */
#define REMEMBERED "remembered"

struct hocket__fiber *hocket__kept_running(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__fiber *f = rt->running;
    if (!f || !hocket__kept_here(rt) || f->kept != rt->kept)
        luaL_error(L, "no run that is kept is going on here");
    return f;
}

/* The entry of an effect that begins now: name and digest are the first two arguments. */
struct hocket__log_entry hocket__kept_next_effect(
    lua_State *L, struct hocket__fiber *f, enum hocket__log_kind kind)
{
    return (struct hocket__log_entry){ .kind = kind,
        .path = f->path,
        .ord = ++f->effects,
        .name = hocket__check_str(L, 1),
        .digest = hocket__check_str(L, 2) };
}

/* Where the registry has the outcome of an effect that had no memory to say so itself. */
static const char no_memory_key;

int hocket__kept_l_no_memory(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TSTRING);
    lua_settop(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &no_memory_key);
    return 0;
}

/* The registry keeps it. */
static struct hocket__str no_memory(lua_State *L)
{
    struct hocket__str s = { "", 0 };
    if (!lua_checkstack(L, 1))
        return s;
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &no_memory_key) == LUA_TSTRING)
        s.p = lua_tolstring(L, -1, &s.n);
    lua_pop(L, 1);
    return s;
}

/* Its outcome, when it was a text that it returned: on the child's stack. */
static struct hocket__str outcome_of(const struct hocket__fiber *child)
{
    struct hocket__str s = { "", 0 };
    if (hocket__fiber_has_failed(child) && child->nresults > 0 && !child->cancelled
        && hocket__is_nomem(child->co, -1))
        return no_memory(child->rt->L);
    if (!hocket__fiber_has_failed(child) && child->nresults == 1
        && lua_type(child->co, -1) == LUA_TSTRING)
        s.p = lua_tolstring(child->co, -1, &s.n);
    return s;
}

/* Wakes it as somebody inside. */
static void wake_inside(struct hocket__fiber *f)
{
    struct hocket__kept *outer = f->rt->kept;
    f->rt->kept = f->kept;
    hocket__fiber_wake(f->rt, f->id);
    f->rt->kept = outer;
}

/* The child has ended, and everything that it has started. */
static void on_ended(struct hocket__fiber *child, void *ud)
{
    struct hocket__fiber *f = ud;
    struct hocket__log_entry e = {
        .kind = HOCKET__LOG_END, .path = f->path, .ord = f->effects, .value = outcome_of(child)
    };
    if (is(f, HOCKET__EFFECT_REMEMBERED))
        e.name = HOCKET__STR(REMEMBERED);
    if (!hocket__kept_put(f->kept, &e))
        hocket__kept_stepped(f->kept); /* it has failed, and ends */
    happens(f, HOCKET__EFFECT_END);
    if (f->kept->draining && f->kept->hooks.rest)
        f->kept->hooks.rest(f->kept->hooks.rest_ud);
    wake_inside(f);
}

static void push_fiber(lua_State *L, const struct hocket__fiber *f)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, f->rt->anchor);
    lua_rawgeti(L, -1, (lua_Integer) f->id);
    lua_remove(L, -2);
}

/* It was cancelled before it began: what makes it ends without having begun. */
static bool is_off(const struct hocket__fiber *f)
{
    return f->cancelled && !is(f, HOCKET__EFFECT_SHELTERS);
}

/* The function is given whether the effect was begun before, by a process that did not see its end. */
static void start(lua_State *L, struct hocket__fiber *f)
{
    if (!is_off(f) && !may_start(f))
        luaL_error(L, "an effect starts when its intent is stored and the claim is confirmed, and "
                      "not before");
    hocket__need_stack(L, 8);
    push_fiber(L, f);
    lua_getiuservalue(L, -1, HOCKET__FIBER_EFFECT);
    lua_pushboolean(L, is(f, HOCKET__EFFECT_AGAIN));
    hocket__fiber_guard(L, 1);
    struct hocket__fiber *child = hocket__fiber_spawn_outside(L, f->rt, 2, f);
    if (is(f, HOCKET__EFFECT_SHELTERS)) {
        child->cancelled = false;
        child->traits |= HOCKET__SHELTERED;
    }
    child->on_done = on_ended;
    child->on_done_ud = f;
    child->away = f->away;
    happens(f, HOCKET__EFFECT_START);
    if (f->state == HOCKET__WAITING)
        hocket__work_clock_note(f, HOCKET__IDLE);
    lua_setiuservalue(L, -2, HOCKET__FIBER_EFFECT);
    lua_pop(L, 1);
}

/* The fiber that performs the effect of f; NULL: none has begun. */
static struct hocket__fiber *child_of(lua_State *L, const struct hocket__fiber *f)
{
    push_fiber(L, f);
    lua_getiuservalue(L, -1, HOCKET__FIBER_EFFECT);
    struct hocket__fiber *child = hocket__fiber_test(L, -1);
    lua_pop(L, 2);
    return child;
}

static void forget_effect(lua_State *L, struct hocket__fiber *f)
{
    happens(f, HOCKET__EFFECT_FORGET);
    f->effect.options = 0;
    f->effect.turn = 0;
    f->effect.outcome = NULL;
    push_fiber(L, f);
    lua_pushnil(L);
    lua_setiuservalue(L, -2, HOCKET__FIBER_EFFECT);
    lua_pop(L, 1);
}

/* Pushes what the effect came to, and whether it was remembered. */
static int take(lua_State *L, struct hocket__fiber *f, const struct hocket__fiber *child)
{
    const struct hocket__log_entry *e = f->effect.outcome;
    bool remembered = e ? e->name.n > 0 : is(f, HOCKET__EFFECT_REMEMBERED);
    bool counts = !is(f, HOCKET__EFFECT_LOOKS);
    bool is_former = f->kept->edition > 0 && f->kept->edition < 5; /* whose events said otherwise */
    f->kept->n_made += counts;
    f->kept->n_remembered += remembered && (counts || is_former);
    hocket__push_str(L, e ? e->value : outcome_of(child));
    if (e)
        hocket__log_forget(f->kept->log, e->n);
    forget_effect(L, f);
    lua_pushboolean(L, remembered);
    return 2;
}

/* It waits for the end though it is cancelled: the child is then, too, and its end is what ends the wait. */
static int after(lua_State *L, int status, lua_KContext ctx)
{
    struct hocket__fiber *f = hocket__fiber_current(L);
    const struct hocket__fiber *child = child_of(L, f);
    (void) status;
    (void) ctx;
    f->masked = false;
    if (f->effect.outcome || (child && child->state == HOCKET__DONE))
        return take(L, f, child);
    if (!child && hocket__kept_forsaken(f->kept)) {
        forget_effect(L, f);
        lua_pushliteral(L, "");
        return 1;
    }
    f->masked = true;
    return f->effect.state == HOCKET__EFFECT_HELD ? hocket__await_program(L, -1, 0, after)
                                                  : hocket__await_inside(L, -1, 0, after);
}

static int none(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    (void) ctx;
    lua_pushliteral(L, "");
    return 1;
}

void hocket__kept_check_log(lua_State *L, const struct hocket__kept *k)
{
    if (hocket__log_error(k->log))
        hocket__raise(L, hocket__log_error(k->log));
}

/* ---- The gate -------------------------------------------------------------------------------------- */

/* Asks whoever stores the log. False: the effect waits until it is released. */
static bool ask(lua_State *L, struct hocket__fiber *f)
{
    struct hocket__kept *k = f->kept;
    struct hocket_error err;
    bool world = is(f, HOCKET__EFFECT_WORLD);
    int held = k->hooks.hold ? k->hooks.hold(k->hooks.hold_ud, f->id, f->effect.intent, world) : 0;
    if (held < 0) {
        hocket__error(&err, held, "%s", hocket_status_text(held));
        hocket__log_fail(k->log, &err);
        hocket__kept_check_log(L, k);
    }
    if (held == 0) {
        hocket__gate_confirm(&k->gate, world ? f->effect.intent : 0);
        return true;
    }
    happens(f, HOCKET__EFFECT_HOLD);
    if (f->state == HOCKET__WAITING) /* since before the run was live */
        hocket__fiber_note_outside(f, true);
    return false;
}

/* The way of every effect to its start. */
static void enter(lua_State *L, struct hocket__fiber *f)
{
    if (is_off(f) || may_start(f) || ask(L, f))
        start(L, f);
}

/* Protected: (the fiber) */
static int enter_protected(lua_State *L)
{
    enter(L, lua_touserdata(L, 1));
    return 0;
}

void hocket__effect_enter(struct hocket__fiber *f)
{
    lua_State *L = f->rt->L;
    struct hocket_error err;
    if (f->effect.state != HOCKET__EFFECT_ASKED || waits_for_turn(f))
        return;
    if (lua_checkstack(L, 2)) {
        lua_pushcfunction(L, enter_protected);
        lua_pushlightuserdata(L, f);
        if (lua_pcall(L, 1, 0, 0) == LUA_OK)
            return;
        hocket__to_error(L, -1, &err);
        lua_pop(L, 1);
    } else {
        hocket__error_nomem(&err);
    }
    hocket__log_fail(f->kept->log, &err);
}

static void take_turn(struct hocket__fiber *f)
{
    f->effect.turn = 0;
    hocket__effect_enter(f);
}

/* One that waited at the gate goes on. */
static void leave_gate(struct hocket__fiber *f)
{
    happens(f, HOCKET__EFFECT_RELEASE);
    hocket__effect_enter(f);
    if (hocket__log_error(f->kept->log))
        hocket__kept_end(f->kept);
}

void hocket__kept_release(
    struct hocket__kept *k, uint64_t fiber, uint64_t intent, const struct hocket_error *err)
{
    struct hocket__fiber *f = hocket__map_get(&k->rt->fibers, fiber);
    if (k->over || !f || f->kept != k || f->effect.state != HOCKET__EFFECT_HELD
        || f->effect.intent != intent)
        return;
    if (err) {
        happens(f, HOCKET__EFFECT_RELEASE);
        hocket__kept_fail(k, err);
        return;
    }
    hocket__gate_confirm(&k->gate, is(f, HOCKET__EFFECT_WORLD) ? intent : 0);
    leave_gate(f);
}

void hocket__effect_cancelled(struct hocket__fiber *f)
{
    if (f->effect.state == HOCKET__EFFECT_HELD && !is(f, HOCKET__EFFECT_SHELTERS))
        leave_gate(f);
    else if (f->kept && f->kept->live && waits_for_turn(f))
        take_turn(f);
}

/* ---- Turns ----------------------------------------------------------------------------------------- */

/* What another run had is given in the order in which that got it, so that what depends on the order is the same: each when
 * nothing goes on. A model that is asked anew, and a wait that timed out there, keep their place: times are what they are, but a
 * wait whose time is over waits for the outcomes that came before its end there and are there already. */

/* What f waits for has this place; 0: none, or it is nothing that another run had. */
static uint64_t place_of(const struct hocket__fiber *f)
{
    if (f->effect.turn > 0 && is_under_way(f))
        return f->effect.turn;
    bool is_timed = f->state == HOCKET__WAITING && f->deadline.place > 0 && f->wall_due == 0;
    return is_timed ? hocket__kept_timeout_there(f) : 0;
}

/* The one whose turn it is; NULL: none waits, or something that comes anew comes before them. */
static struct hocket__fiber *first_of(const struct hocket__kept *k)
{
    struct hocket__fiber *first = NULL;
    uint64_t least = UINT64_MAX, place;
    for (const struct hocket__list *l = k->fibers.next; l != &k->fibers; l = l->next) {
        struct hocket__fiber *f = hocket__kept_fiber((struct hocket__list *) l);
        place = place_of(f);
        if (place == 0 || place >= least)
            continue;
        first = f;
        least = place;
    }
    return first && waits_for_turn(first) ? first : NULL;
}

/* Something goes on by itself, in the next round: the time of a wait that did not end there is over, as that of one who rests. */
static bool goes_on(const struct hocket__kept *k)
{
    int64_t now = (int64_t) hocket__deadlines_now();
    for (const struct hocket__list *l = k->fibers.next; l != &k->fibers; l = l->next) {
        const struct hocket__fiber *f = hocket__kept_fiber((struct hocket__list *) l);
        bool is_over = f->state == HOCKET__WAITING && f->deadline.place > 0 && f->wall_due == 0
                       && f->until_ms > 0 && f->until_ms <= now;
        if (is_over && hocket__kept_timeout_there(f) == 0)
            return true;
    }
    return false;
}

void hocket__effect_next_turn(struct hocket__kept *k)
{
    bool remembers = k->memory_ref != LUA_NOREF;
    struct hocket__fiber *f = remembers && !goes_on(k) ? first_of(k) : NULL;
    if (f)
        take_turn(f);
}

/* The one that was tried again before this one there, and waits for that here. */
static const struct hocket__fiber *put_off_before(const struct hocket__kept *k, uint64_t place)
{
    for (const struct hocket__list *l = k->fibers.next; l != &k->fibers; l = l->next) {
        const struct hocket__fiber *f = hocket__kept_fiber((struct hocket__list *) l);
        uint64_t other = f->traits & HOCKET__PUT_OFF ? place_of(f) : 0;
        if (other > 0 && other < place)
            return f;
    }
    return NULL;
}

static int64_t time_left(const struct hocket__fiber *f)
{
    int64_t left = f->until_ms - (int64_t) hocket__deadlines_now();
    return left > 1 ? left : 1;
}

int64_t hocket__effect_early_ms(const struct hocket__fiber *f)
{
    const struct hocket__kept *k = f->kept;
    bool has_place = k->live && k->memory_ref != LUA_NOREF && f->wall_due == 0;
    uint64_t place = has_place ? hocket__kept_timeout_there(f) : 0;
    const struct hocket__fiber *first = place > 0 ? first_of(k) : NULL;
    if (first && place_of(first) < place)
        return 1;
    bool is_put_off = place > 0 && (f->traits & HOCKET__PUT_OFF);
    first = is_put_off ? put_off_before(k, place) : NULL;
    return first ? time_left(first) : 0;
}

static int64_t first_wait(const struct hocket__kept *k)
{
    int64_t first = INT64_MAX;
    for (const struct hocket__list *l = k->fibers.next; l != &k->fibers; l = l->next) {
        const struct hocket__fiber *f = hocket__kept_fiber((struct hocket__list *) l);
        if (waits_for_turn(f) && f->effect.turn_since_ms < first)
            first = f->effect.turn_since_ms;
    }
    return first;
}

static void take_turns(struct hocket__kept *k)
{
    for (struct hocket__list *l = k->fibers.next; l != &k->fibers; l = l->next)
        if (waits_for_turn(hocket__kept_fiber(l)))
            take_turn(hocket__kept_fiber(l));
}

bool hocket__effect_end_turns(const struct hocket__fiber *f)
{
    struct hocket__kept *k = f->kept;
    bool may = f->limit_due != 0 && k->live && k->memory_ref != LUA_NOREF
               && hocket__kept_timeout_there(f) == 0;
    int64_t since = may ? first_wait(k) : INT64_MAX;
    if (since == INT64_MAX)
        return false;
    hocket__work_clock_set_back(f->work, hocket__kept_real_ms(k) - since);
    take_turns(k);
    k->out_of_turn = true;
    return true;
}

/* ---- Begun ----------------------------------------------------------------------------------------- */

/* What waits for its turn comes now: nothing else goes on that it could wait for. */
void hocket__kept_drain(struct hocket__kept *k)
{
    k->draining = true;
    take_turns(k);
}

bool hocket__kept_is_at_work(const struct hocket__kept *k)
{
    for (const struct hocket__list *l = k->fibers.next; k->live && l != &k->fibers; l = l->next)
        if (is_under_way(hocket__kept_fiber((struct hocket__list *) l)))
            return true;
    return false;
}

/* Upvalues: a text; what is called before it is there, or nil */
static int give(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(2));
    if (!lua_isnil(L, -1))
        lua_call(L, 0, 0);
    lua_pushvalue(L, lua_upvalueindex(1));
    return 1;
}

/* Appends that the effect begins, or finds in the log that it did. */
static void log_intent(lua_State *L, struct hocket__fiber *f, struct hocket__log_entry *e)
{
    struct hocket__kept *k = f->kept;
    bool again = hocket__log_replays(k->log);
    if (again)
        hocket__log_match(k->log, e, NULL);
    else
        hocket__kept_put(k, e);
    hocket__kept_check_log(L, k);
    f->effect.intent = hocket__log_last(k->log);
    f->effect.options = again ? HOCKET__EFFECT_AGAIN : 0;
    f->effect.outcome = NULL;
}

/* effect(name, digest, fn, reads, before, looks, sheltered, turn) -> text, remembered: calls fn(again) in a fiber that is not the run's, and gives
 * the text that it returned; "": none. `reads`: it changes nothing outside, and may be done twice. A text in place of fn is one that
 * another run had; before() is called outside of the run, and does not wait. `looks`: it is not counted. In a replay nothing is
 * called. Who is cancelled meanwhile gets its text all the same, and has to look. `sheltered`: fn is called, and gets to its end, also
 * for who is cancelled. `turn`: its place among what another run had, and among what is asked in its stead. Raises where the log says that something else was asked. */
int hocket__kept_l_effect(lua_State *L)
{
    struct hocket__fiber *f = hocket__kept_running(L);
    struct hocket__kept *k = f->kept;
    bool remembered = lua_type(L, 3) == LUA_TSTRING;
    bool world = !lua_toboolean(L, 4) && !remembered, looks = lua_toboolean(L, 6);
    bool shelters = lua_toboolean(L, 7);
    lua_Integer turn = luaL_optinteger(L, 8, 0);
    lua_settop(L, 5);
    lua_remove(L, 4);
    if (remembered)
        lua_pushcclosure(L, give, 2);
    lua_settop(L, 3);
    luaL_checktype(L, 3, LUA_TFUNCTION);
    hocket__fiber_current(
        L); /* raises in a coroutine of the script's own: it has to wait, and nothing has begun */
    if ((f->cancelled && !f->masked && !shelters) || f->state == HOCKET__UNWINDING
        || !lua_isyieldable(L))
        return hocket__await_inside(L, 0, 0, none); /* raises */
    hocket__kept_check_log(L, k);
    struct hocket__log_entry e = hocket__kept_next_effect(L, f, HOCKET__LOG_BEGIN);
    char name[HOCKET__KEPT_NAME];
    hocket__kept_hex(name, k->name, HOCKET__KEPT_NAME);
    e.value = hocket__str(name, sizeof(name));
    log_intent(L, f, &e);
    push_fiber(L, f);
    lua_pushvalue(L, 3);
    lua_setiuservalue(L, -2, HOCKET__FIBER_EFFECT);
    lua_pop(L, 1);
    f->effect.options |=
        (world ? HOCKET__EFFECT_WORLD : 0) | (remembered ? HOCKET__EFFECT_REMEMBERED : 0)
        | (looks ? HOCKET__EFFECT_LOOKS : 0) | (shelters ? HOCKET__EFFECT_SHELTERS : 0);
    happens(f, HOCKET__EFFECT_ASK);
    f->effect.turn = (uint64_t) turn;
    if (waits_for_turn(f))
        f->effect.turn_since_ms = hocket__kept_real_ms(k);
    else if (k->live)
        enter(L, f);
    return after(L, LUA_OK, 0);
}

bool hocket__effect_ended_again(struct hocket__fiber *f, const struct hocket__log_entry *e)
{
    if (!f || f->effect.state != HOCKET__EFFECT_ASKED || f->effects != e->ord)
        return false;
    happens(f, HOCKET__EFFECT_REPLAY);
    f->effect.outcome = e;
    hocket__log_advance(f->kept->log);
    wake_inside(f);
    return true;
}

void hocket__kept_fail(struct hocket__kept *k, const struct hocket_error *err)
{
    if (k->over)
        return;
    hocket__log_fail(k->log, err);
    hocket__kept_stepped(k);
}

void hocket__effect_forsake(struct hocket__fiber *f)
{
    if (f->effect.state != HOCKET__EFFECT_NONE && f->state == HOCKET__WAITING
        && hocket__list_empty(&f->children))
        wake_inside(f);
}
