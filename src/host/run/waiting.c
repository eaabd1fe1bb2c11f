/* What runs in the store wait for.
 *
 *     question_asked, approval_requested, …  ──> open ──> its row: waiting_for, as soon as its fibers rest
 *     and nothing was said to it (inbox.c) ──> it may be parked */
#include "host/run/stored.h"

#include <string.h>

#include "base/bytes.h"
#include "base/json/json.h"
#include "bind/fiber/fiber.h"
#include "bind/store/store.h"

/* The longest time that a process waits for a time of day; for a later one the run parks. */
#define NEAR_MS 60000
/* The same for a worker, where the run may also wait for other runs. */
#define SOON_MS 1000

/* ---- What is open --------------------------------------------------------------------------- */

static const struct {
    const char *type, *kind;
    bool person;
} opening[] = {
    { "question_asked", "question", true },
    { "approval_requested", "approval", true },
    { "input_requested", "input", false },
    { "signal_requested", "signal", false },
    { "run_awaited", "run", false },
    { "caller_awaited", "caller", false },
    { "budget_awaited", "budget", false },
};
static const char *const closing[] = { "question_answered", "question_withdrawn",
    "approval_answered", "input_received", "signal_received", "run_returned", "caller_returned",
    "budget_returned" };

/* Members of an event that a person needs for an answer. */
static const char *const shown[] = { "id", "agent", "questions", "tool", "arguments", "schema",
    "reason", "always", "name", "child", "pool", "caller", "project", "limit", "until",
    "until_ms" };

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static void write_member(struct hocket__buf *b, const char *kind, struct hocket__str event)
{
    struct hocket__str value;
    hocket__jw_open(b, '{');
    hocket__jw_key_cstring(b, "kind", kind);
    if (hocket__str_is(hocket__cstr(kind), "question") && hocket__json_find(event, "kind", &value)
        && hocket__str_is(value, "\"approval\""))
        hocket__jw_key_bool(b, "plan", true);
    for (size_t i = 0; i < COUNT(shown); i++) {
        if (!hocket__json_find(event, shown[i], &value))
            continue;
        hocket__jw_key_raw(b, shown[i], value);
    }
    hocket__jw_close(b, '}');
}

static void free_open(struct hocket__stored *s, struct hocket__open *o)
{
    hocket__list_del(&o->link);
    hocket__buf_deinit(&o->id);
    hocket__buf_deinit(&o->json);
    hocket__free(&s->run->host->alloc, o, sizeof(*o));
}

/* Without memory its row does not show it; the run asks all the same. */
static void add(struct hocket__stored *s, const char *kind, bool person, struct hocket__str event)
{
    const struct hocket_allocator *a = &s->run->host->alloc;
    struct hocket__str id;
    struct hocket__open *o =
        hocket__json_find(event, "id", &id) ? hocket__zero(a, sizeof(*o)) : NULL;
    if (!o)
        return;
    hocket__list_init(&o->link);
    hocket__buf_init(&o->id, a, 0);
    hocket__buf_init(&o->json, a, 0);
    o->person = person;
    hocket__buf_addstr(&o->id, id);
    write_member(&o->json, kind, event);
    if (o->id.status < 0 || o->json.status < 0)
        free_open(s, o);
    else
        hocket__list_add(&s->opens, &o->link);
    hocket__run_inbox_on(&s->inbox, HOCKET__INBOX_QUESTION);
    s->changed = true;
}

static void take_out(struct hocket__stored *s, struct hocket__str event)
{
    struct hocket__str id;
    if (!hocket__json_find(event, "id", &id))
        return;
    for (struct hocket__list *l = s->opens.next; l != &s->opens; l = l->next) {
        struct hocket__open *o = hocket__container_of(l, struct hocket__open, link);
        if (o->id.len != id.n || memcmp(o->id.data, id.p, id.n) != 0)
            continue;
        free_open(s, o);
        break;
    }
    s->changed = true;
    if (!hocket__run_is_replayed(s->run))
        hocket__stored_set_state(s, HOCKET__STORE_RUNNING);
}

void hocket__waiting_note(struct hocket__stored *s, const struct hocket__line *line)
{
    for (size_t i = 0; i < COUNT(opening); i++)
        if (hocket__str_is(line->type, opening[i].type))
            add(s, opening[i].kind, opening[i].person, line->json);
    for (size_t i = 0; i < COUNT(closing); i++)
        if (hocket__str_is(line->type, closing[i]))
            take_out(s, line->json);
}

/* Appends the list of what is open, as JSON. */
static void write_waiting(const struct hocket__stored *s, struct hocket__buf *out)
{
    int64_t due = s->run->kept ? hocket__kept_wall_due(s->run->kept) : 0;
    hocket__jw_open(out, '[');
    for (struct hocket__list *l = s->opens.next; l != &s->opens; l = l->next)
        hocket__jw_raw(
            out, hocket__buf_str(&hocket__container_of(l, struct hocket__open, link)->json));
    if (due) {
        hocket__jw_open(out, '{');
        hocket__jw_key_cstring(out, "kind", "time");
        hocket__jw_key_int(out, "until_ms", due);
        hocket__jw_close(out, '}');
    }
    hocket__jw_close(out, ']');
}

void hocket__stored_set_state(struct hocket__stored *s, enum hocket__store_state state)
{
    struct hocket__buf waiting;
    bool row_stays = hocket__run_phase_is_replaying(s->phase)
                     && s->pool.len == 0; /* its row stays as it was until then */
    if ((s->state == state && !s->changed) || hocket__stored_is_off(s) || row_stays)
        return;
    hocket__buf_init(&waiting, &s->run->host->alloc, 0);
    if (state == HOCKET__STORE_WAITING || state == HOCKET__STORE_PARKED)
        write_waiting(s, &waiting);
    struct hocket__store_run row = { .state = state,
        .waiting_for = hocket__buf_str(&waiting),
        .pool = hocket__buf_str(&s->pool),
        .due_ms = s->due };
    unsigned set = HOCKET__STORE_SET_STATE | HOCKET__STORE_SET_WAITING_FOR;
    if (s->pool.len > 0 && waiting.len > 0)
        set |= HOCKET__STORE_SET_QUEUE;
    if (waiting.status == 0 && hocket__store_update(s->store, &s->claim, set, &row) >= 0)
        s->state = state;
    s->changed = false;
    hocket__buf_deinit(&waiting);
}

static bool has_word(const struct hocket__open *o, const char *word)
{
    return hocket__find(o->json.data, o->json.len, word, strlen(word)) != NULL;
}

static bool is_signal(const struct hocket__open *o)
{
    return has_word(o, "\"kind\":\"signal\"");
}

/* It waits for another run: one that it has called or submitted, or its caller. */
static bool is_for_run(const struct hocket__open *o)
{
    return has_word(o, "\"kind\":\"run\"") || has_word(o, "\"kind\":\"caller\"")
           || (is_signal(o) && has_word(o, "\"name\":\"run 0"));
}

static bool waits_for_run(const struct hocket__stored *s)
{
    for (struct hocket__list *l = s->opens.next; l != &s->opens; l = l->next)
        if (is_for_run(hocket__container_of(l, struct hocket__open, link)))
            return true;
    return false;
}

/* The process that has it gives it its next input. */
static bool waits_for_others(const struct hocket__stored *s)
{
    for (struct hocket__list *l = s->opens.next; l != &s->opens; l = l->next) {
        const struct hocket__open *o = hocket__container_of(l, struct hocket__open, link);
        if (o->person || is_signal(o) || is_for_run(o))
            return true;
    }
    return false;
}

/* The same, but waits for other runs count, too: the ends of runs that it has submitted, and messages of its agents' calls, come
 * by themselves. A process that runs only this run waits for them. A worker has other runs meanwhile. */
static bool waits_long(const struct hocket__stored *s)
{
    if (s->pool.len > 0)
        return waits_for_others(s);
    for (struct hocket__list *l = s->opens.next; l != &s->opens; l = l->next) {
        const struct hocket__open *o = hocket__container_of(l, struct hocket__open, link);
        if (o->person || (is_signal(o) && !is_for_run(o)))
            return true;
    }
    return false;
}

void hocket__waiting_free(struct hocket__stored *s)
{
    while (!hocket__list_empty(&s->opens))
        free_open(s, hocket__container_of(s->opens.next, struct hocket__open, link));
}

/* ---- Forks ----------------------------------------------------------------------------------- */

static void warn(const struct hocket__stored *s, const char *what, const struct hocket_error *err)
{
    hocket__runtime_log(
        s->run->host->rt, HOCKET_LOG_WARN, "run %s: %s: %s", s->run->name, what, err->message);
}

/* The input that a conversation waits for; "": none. */
static const char *open_input(const struct hocket__stored *s, struct hocket__buf *id)
{
    hocket__buf_reset(id);
    for (struct hocket__list *l = s->opens.next; l != &s->opens; l = l->next) {
        const struct hocket__open *o = hocket__container_of(l, struct hocket__open, link);
        if (!o->person && hocket__inbox_member(hocket__buf_str(&o->json), "id", false, id)
            && *id->data == 'i')
            return id->data;
    }
    return "";
}

static void change_model(struct hocket__stored *s, struct hocket__str model)
{
    struct hocket__buf change;
    struct hocket_error err;
    hocket__buf_init(&change, &s->run->host->alloc, 0);
    hocket__jw_open(&change, '{');
    hocket__jw_key_string(&change, "model", model);
    hocket__jw_close(&change, '}');
    if (change.status == 0
        && hocket__run_say(s->run, "change", change.data, HOCKET__STR(""), &err) < 0)
        warn(s, "the fork's model", &err);
    hocket__buf_deinit(&change);
}

static void give_input(struct hocket__stored *s, struct hocket__str text)
{
    struct hocket__buf id;
    struct hocket_error err;
    hocket__buf_init(&id, &s->run->host->alloc, 0);
    const char *input = open_input(s, &id);
    if (!*input)
        hocket__error(&err, HOCKET_ESTATE, "it waits for none where it was forked");
    if (!*input || hocket__run_say(s->run, "answer", input, text, &err) < 0)
        warn(s, "the fork's input", &err);
    hocket__buf_deinit(&id);
}

/* A fork continues for the first time: gives it its changes. */
static void begin_fork(struct hocket__stored *s)
{
    struct hocket__buf text;
    if (s->fork.len == 0 || !s->run->kept || s->run->ended || hocket__run_is_replayed(s->run))
        return;
    struct hocket__buf fork = s->fork;
    hocket__buf_init(&s->fork, &s->run->host->alloc, 0);
    hocket__buf_init(&text, &s->run->host->alloc, 0);
    if (hocket__inbox_member(hocket__buf_str(&fork), "model", false, &text))
        change_model(s, hocket__buf_str(&text));
    if (hocket__inbox_member(hocket__buf_str(&fork), "input", false, &text))
        give_input(s, hocket__buf_str(&text));
    hocket__buf_deinit(&text);
    hocket__buf_deinit(&fork);
}

int64_t hocket__waiting_until(const struct hocket__stored *s)
{
    for (struct hocket__list *l = s->opens.next; l != &s->opens; l = l->next)
        if (!has_word(hocket__container_of(l, struct hocket__open, link), "\"kind\":\"budget\""))
            return 0;
    return s->due;
}

/* ---- Resting --------------------------------------------------------------------------------- */

static bool has_person(const struct hocket__stored *s)
{
    for (struct hocket__list *l = s->opens.next; l != &s->opens; l = l->next)
        if (hocket__container_of(l, struct hocket__open, link)->person)
            return true;
    return false;
}

static bool waits(const struct hocket__stored *s)
{
    const struct hocket__run *r = s->run;
    return !r->ended && r->kept
           && (!hocket__list_empty(&s->opens) || hocket__kept_wall_due(r->kept) != 0)
           && hocket__kept_waits_for_person(r->kept);
}

/* It asked because it could park, and now cannot: nobody would ever answer. */
static void give_up(struct hocket__stored *s)
{
    struct hocket_error err;
    if (s->parks == HOCKET__STAYS || !has_person(s))
        return;
    hocket__error(&err, HOCKET_EUNSUPPORTED,
        "the run asks, nobody is there to answer, and it cannot be kept until somebody does");
    hocket__kept_fail(s->run->kept, &err);
}

bool hocket__waiting_state(struct hocket__stored *s)
{
    if (hocket__stored_is_off(s) || !waits(s))
        return false;
    int64_t due = hocket__kept_wall_due(s->run->kept);
    s->changed |= due != s->due;
    s->due = due;
    hocket__stored_set_state(s, has_person(s) ? HOCKET__STORE_PARKED : HOCKET__STORE_WAITING);
    return true;
}

/* Nobody is here to answer, and it waits for no near time. A worker that other runs wait for parks it sooner. */
static bool is_to_be_parked(const struct hocket__stored *s)
{
    int64_t due = hocket__kept_wall_due(s->run->kept);
    int64_t patience = s->pool.len > 0 && waits_for_others(s) ? SOON_MS : NEAR_MS;
    bool is_soon = due != 0 && due - hocket__wall_ms() < patience;
    return s->parks != HOCKET__STAYS && !is_soon
           && (waits_long(s) || (due != 0 && !waits_for_run(s)));
}

/* Its other work continues after the resume. */
static bool waits_for_input(const struct hocket__stored *s)
{
    struct hocket__buf id = hocket__buf(&s->run->host->alloc, 0);
    bool waits = s->run->kept && hocket__kept_is_settled(s->run->kept) && *open_input(s, &id);
    hocket__buf_deinit(&id);
    return waits;
}

/* Whether it is parked, or will be after it has taken its messages. A run that the store may not have yet cannot have
 * messages. */
static bool is_left(struct hocket__stored *s)
{
    if (s->parks != HOCKET__PARKS_FOR_INPUT || hocket__stored_is_parked(s) || s->run->ended
        || !waits_for_input(s))
        return false;
    if (s->inbox == HOCKET__INBOX_READ || hocket__run_inbox_has_failed(s->inbox)
        || !hocket__run_claim_is_known(s->claim_state))
        hocket_run_park(s->run->host, s->run->id);
    else if (!hocket__run_inbox_is_reading(s->inbox))
        hocket__inbox_read(s);
    return true;
}

void hocket__waiting_look(struct hocket__stored *s)
{
    begin_fork(s);
    if ((s->draining && hocket__pooled_park_drained(s)) || is_left(s))
        return;
    if (hocket__inbox_has_room(s)) {
        hocket__inbox_read(s);
        return;
    }
    if (!waits(s)) {
        if (s->due != 0 && !s->run->ended && !hocket__stored_is_parked(s))
            hocket__stored_set_state(s, HOCKET__STORE_RUNNING);
        s->due = 0;
        return;
    }
    if (hocket__stored_is_off(s)) {
        give_up(s);
        return;
    }
    if (s->inbox != HOCKET__INBOX_READ) {
        if (!hocket__run_inbox_is_reading(s->inbox))
            hocket__inbox_read(s);
        return;
    }
    hocket__waiting_state(s);
    if (is_to_be_parked(s))
        hocket_run_park(s->run->host, s->run->id);
}

/* It may rest already: then nothing else would park it. */
void hocket__waiting_look_soon(struct hocket__stored *s)
{
    struct hocket_host *h = s->run->host;
    if (hocket__list_empty(&s->idle))
        hocket__list_add(&h->idle, &s->idle);
    h->rt->undelivered = true;
    hocket__fibers_settle(h->rt);
}

void hocket__host_look(struct hocket_host *h)
{
    while (!hocket__list_empty(&h->idle)) {
        struct hocket__stored *s = hocket__container_of(h->idle.next, struct hocket__stored, idle);
        hocket__list_del(&s->idle);
        hocket__waiting_look(s);
    }
}
