/* What a run reports: the records of its journal, the text of its streams between them, its end.
 *
 *   journal   1   2       3       4
 *   deltas          a b c   d d         each knows the record before it, so that both are
 *   reported  1   2 abc   3 dd    4     reported in order; an agent's text comes in one piece
 *
 * Callbacks get it after a drain, when no Lua is running and while there is time; without callbacks it waits until
 * the embedder takes it. */

#include <stdio.h>
#include <string.h>

#include "base/json/json.h"
#include "bind/fiber/fiber.h"
#include "host/run/stored.h"
#include "host/tools/tools.h"

struct hocket__delta {
    struct hocket__list link;
    uint64_t after;         /* the record before it */
    struct hocket__buf who; /* kind, agent, op, each ended by a NUL */
    struct hocket__buf text;
};

/* ---- Taking note --------------------------------------------------------------------- */

void hocket__run_on_append(void *run)
{
    struct hocket__run *r = run;
    if (r->stored)
        hocket__stored_record(r->stored);
    hocket__run_mark_due(r);
}

static void free_delta(const struct hocket_allocator *a, struct hocket__delta *d)
{
    hocket__buf_deinit(&d->who);
    hocket__buf_deinit(&d->text);
    hocket__free(a, d, sizeof(*d));
}

static struct hocket__delta *take_oldest(struct hocket__run *r)
{
    struct hocket__delta *d = hocket__container_of(r->deltas.next, struct hocket__delta, link);
    hocket__list_del(&d->link);
    r->delta_bytes -= d->text.len;
    return d;
}

void hocket__host_forget_told(struct hocket_host *h)
{
    if (h->told)
        free_delta(&h->alloc, h->told);
    h->told = NULL;
}

void hocket__run_free_deltas(struct hocket__run *r)
{
    while (!hocket__list_empty(&r->deltas))
        free_delta(&r->host->alloc, take_oldest(r));
}

static struct hocket__delta *find_delta(
    struct hocket__run *r, uint64_t after, struct hocket__str who)
{
    /* From the newest: several agents stream at once, so the delta before may belong to another one. A
     * record ends the search. */
    for (struct hocket__list *l = r->deltas.prev; l != &r->deltas; l = l->prev) {
        struct hocket__delta *d = hocket__container_of(l, struct hocket__delta, link);
        if (d->after != after)
            return NULL;
        if (d->who.len == who.n && memcmp(d->who.data, who.p, who.n) == 0)
            return d;
    }
    return NULL;
}

static struct hocket__delta *new_delta(
    struct hocket__run *r, uint64_t after, struct hocket__str who)
{
    const struct hocket_allocator *a = &r->host->alloc;
    struct hocket__delta *d = hocket__zero(a, sizeof(*d));
    if (!d)
        return NULL;
    d->after = after;
    hocket__buf_init(&d->who, a, 0);
    hocket__buf_init(&d->text, a, 0);
    if (hocket__buf_addstr(&d->who, who) < 0) {
        hocket__buf_deinit(&d->who);
        hocket__free(a, d, sizeof(*d));
        return NULL;
    }
    hocket__list_add(&r->deltas, &d->link);
    return d;
}

static size_t delta_limit(const struct hocket_host *h)
{
    return h->max_journal ? h->max_journal : (size_t) 64 << 20;
}

void hocket__run_delta(struct hocket__run *r, struct hocket__str kind, struct hocket__str text,
    struct hocket__str agent, struct hocket__str op)
{
    struct hocket__buf *who = &r->host->event;
    struct hocket__str parts[] = { kind, agent, op };
    hocket__buf_reset(who);
    for (size_t i = 0; i < 3; i++) {
        hocket__buf_addstr(who, parts[i]);
        hocket__buf_addc(who, 0);
    }
    if (who->status < 0)
        return;
    uint64_t after = hocket__journal_last(r->journal);
    struct hocket__delta *d = find_delta(r, after, hocket__buf_str(who));
    if (!d && !(d = new_delta(r, after, hocket__buf_str(who))))
        return;
    size_t before = d->text.len;
    hocket__buf_addstr(&d->text, text);
    r->delta_bytes += d->text.len - before;
    /* Nobody takes them: the oldest are dropped. The answer at the end has the whole text. */
    while (r->delta_bytes > delta_limit(r->host))
        free_delta(&r->host->alloc, take_oldest(r));
    hocket__run_mark_due(r);
}

/* ---- The next event --------------------------------------------------------------------- */

static void member(struct hocket__buf *b, const char *name, const char *text)
{
    if (!*text)
        return;
    hocket__jw_key_string(b, name, hocket__cstr(text));
}

static void write_delta(
    struct hocket__buf *b, const char *run, const char *op, const struct hocket_event *e)
{
    hocket__buf_reset(b);
    hocket__jw_open(b, '{');
    hocket__jw_key_raw(b, "seq", HOCKET__STR("0"));
    member(b, "run", run);
    member(b, "op", op);
    member(b, "agent", e->agent);
    member(b, "type", e->type);
    member(b, "kind", e->kind);
    hocket__jw_key_string(b, "text", hocket__str(e->text, e->text_len));
    hocket__jw_close(b, '}');
}

/* The oldest delta. Its text stays until the next one is reported. */
static void take_delta(struct hocket__run *r, struct hocket_event *e)
{
    struct hocket__buf *b = &r->host->event;
    hocket__host_forget_told(r->host);
    struct hocket__delta *d = r->host->told = take_oldest(r);
    *e = (struct hocket_event){ .type = "model_delta",
        .run = r->id,
        .kind = d->who.data,
        .text = d->text.len ? d->text.data : "",
        .text_len = d->text.len,
        .again = d->after < r->reported_before };
    e->agent = e->kind + strlen(e->kind) + 1;
    write_delta(b, r->name, e->agent + strlen(e->agent) + 1, e);
    e->json = b->status < 0 ? "{}" : b->data;
    e->json_len = b->status < 0 ? 2 : b->len;
}

static void copy_type(struct hocket__str type, char *out, size_t size)
{
    size_t n = type.n < size ? type.n : size - 1;
    memcpy(out, type.p, n);
    out[n] = 0;
}

static bool next_event(struct hocket__run *r, struct hocket_event *e)
{
    static const size_t type_size = sizeof(r->host->type);
    struct hocket__line line;
    uint64_t cursor = r->cursor;
    if (!r->journal) /* it has not begun, is suspended, or could not be resumed */
        return hocket__suspended_event(r, e);
    bool has_line = hocket__journal_next(r->journal, &cursor, &line);
    struct hocket__delta *d = hocket__list_empty(&r->deltas) ? NULL
                                                             : hocket__container_of(r->deltas.next,
                                                                 struct hocket__delta, link);
    if (d && (!has_line || d->after < line.seq)) {
        take_delta(r, e);
    } else if (has_line) {
        r->cursor = cursor;
        copy_type(line.type, r->host->type, type_size);
        *e = (struct hocket_event){ .seq = line.seq, .type = r->host->type, .run = r->id };
        e->again = line.seq <= r->reported_before;
        e->json = line.json.p;
        e->json_len = line.json.n;
    } else {
        return false;
    }
    r->host->n_events++;
    return true;
}

static struct hocket_result result_of(const struct hocket__run *r)
{
    struct hocket__str text = hocket__buf_str(&r->text), json = hocket__buf_str(&r->json);
    return (struct hocket_result){ .status = r->status,
        .text = text.p,
        .text_len = text.n,
        .json = json.n ? json.p : "{}",
        .json_len = json.n ? json.n : 2,
        .error = r->status < 0 ? &r->err : NULL };
}

static void retire(struct hocket__run *r)
{
    hocket__list_del(&r->link);
    hocket__list_del(&r->due);
    r->host->n_runs--;
    r->host->n_ended++;
    r->host->starved |= r->status == HOCKET_ENOMEM;
}

/* ---- Pushing ------------------------------------------------------------------------------- */

static void push_end(struct hocket__run *r)
{
    struct hocket_host *h = r->host;
    /* The callback may ask for the host's end: take everything that is needed afterwards first. */
    struct hocket_result result = result_of(r);
    /* Before on_done: a run that is started in it counts against max_runs without this one. */
    retire(r);
    h->telling = NULL;
    h->ending = r;
    if (r->on_done)
        r->on_done(h, r->id, &result, r->ud);
    h->ending = NULL;
    hocket__run_free(r);
}

/* Callbacks may start and cancel runs, which makes them due and ends none of them here. */
static void push(struct hocket__run *r)
{
    struct hocket_event e;
    if (!r->on_event && r->journal) {
        hocket__run_free_deltas(r);
        r->cursor = hocket__journal_last(r->journal);
    }
    while (next_event(r, &e)) {
        r->on_event(r->host, r->id, &e, r->ud);
        if (hocket__over_budget(r->host->rt)) { /* the other runs' turn; the rest comes later */
            hocket__run_mark_due(r);
            return;
        }
    }
    if (r->ended && !hocket__stored_is_held(r->stored))
        push_end(r);
}

static void tell_runs(struct hocket_host *h)
{
    while (!hocket__list_empty(&h->due)) {
        struct hocket__run *r = hocket__container_of(h->due.next, struct hocket__run, due);
        hocket__list_del(&r->due);
        if (hocket__run_is_replayed(r)) /* it is marked again when it is live */
            continue;
        h->telling = r;
        push(r);
        h->telling = NULL;
        if (hocket__over_budget(h->rt))
            break;
    }
}

/* A callback was left: puts the host into the state after a callback's return, or gives it up if that is impossible. */
static void take_back(struct hocket_host *h)
{
    struct hocket__runtime *rt = h->rt;
    if (rt->in_loop || rt->running || rt->asking) {
        rt->lost = true;
        hocket__runtime_log(rt, HOCKET_LOG_ERROR,
            "a callback was left by an exception or a jump where it may not be: the host is lost");
        return;
    }
    rt->in_callback = h->complained = false;
    rt->from = NULL;
    rt->budget_end_ns = 0;
    if (h->telling)
        hocket__run_mark_due(h->telling);
    if (h->ending)
        hocket__run_free(h->ending);
    h->telling = h->ending = NULL;
    rt->undelivered = true; /* the loop looks again */
    hocket__fibers_settle(rt);
    if (h->life != HOCKET__HOST_OPEN)
        h->life = HOCKET__HOST_CLOSE_ASKED;
}

/* Runs when the scope is left, by an exception as well. */
static void end_delivery(struct hocket_host **h)
{
    if (*h)
        take_back(*h);
}

void hocket__host_deliver(struct hocket_host *h)
{
    if (h->rt->in_callback)
        return;
    __attribute__((cleanup(end_delivery))) struct hocket_host *left = h;
    /* Callbacks may turn the loop of the program; the drain inside of that delivers nothing. */
    h->rt->in_callback = true;
    hocket__tools_deliver(h);
    tell_runs(h);
    left = NULL;
    h->rt->in_callback = false;
    h->rt->undelivered = !hocket__list_empty(&h->due);
    hocket__host_close_asked(h);
}

/* ---- Left ---------------------------------------------------------------------------------------- */

int hocket_callback_left(hocket_host *h)
{
    if (!h)
        return HOCKET_EINVAL;
    if (h->rt->lost || !hocket__host_busy(h))
        return HOCKET_ESTATE;
    take_back(h);
    return h->rt->lost ? HOCKET_ESTATE : 0;
}

/* ---- Pulling --------------------------------------------------------------------------------- */

static void forget_taken(struct hocket_host *h)
{
    if (h->taken)
        hocket__run_free(h->taken);
    h->taken = NULL;
}

/* The embedder takes the run's end; its memory stays until the next call. */
static void take_end(struct hocket__run *r, struct hocket_event *e)
{
    struct hocket_host *h = r->host;
    retire(r);
    h->taken = r;
    h->result = result_of(r);
    *e = (struct hocket_event){ .type = "result",
        .json = h->result.json,
        .json_len = h->result.json_len,
        .run = r->id,
        .result = &h->result };
}

/* The next call begins with the next run. */
static bool take_event(struct hocket_host *h, struct hocket_event *e)
{
    for (struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        struct hocket__run *r = hocket__container_of(l, struct hocket__run, link);
        if (!r->pulled)
            continue;
        if (next_event(r, e)) {
            hocket__list_move(&h->runs, &r->link);
            return true;
        }
        if (r->ended && !hocket__stored_is_held(r->stored)) {
            take_end(r, e);
            return true;
        }
    }
    return false;
}

int hocket_event_next(hocket_host *h, const struct hocket_event **event)
{
    if (!h || !event)
        return HOCKET_EINVAL;
    *event = NULL;
    if (h->rt->in_callback || h->rt->lost || h->rt->asking)
        return HOCKET_ECALLBACK;
    forget_taken(h);
    if (!take_event(h, &h->pulled))
        return 0;
    *event = &h->pulled;
    return 1;
}
