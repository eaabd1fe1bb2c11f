/* Runs that were loaded or resumed with the option "lazy" and wait for somebody: nothing of them is read but their rows, until
 * somebody says something to them. A thousand conversations that wait are a thousand rows, and not a thousand replays.
 *
 *     its row ─> claimed ─> is there a message for it? ── no ──> asleep: told as run_asleep ─┐
 *                                     │ yes                                                 │ an answer, a signal, any wish
 *                                     └────────────> it is read, and replayed <──────────────┘
 *
 * What is said to one that sleeps is a message of the store, which it takes when it waits again. It is handed over as all that
 * the run writes: nothing of it is lost while the disk is full or the server away, and the run wakes after that. */
#include "host/run/resume_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json/json.h"
#include "bind/fiber/fiber.h"

/* ---- Falling asleep ------------------------------------------------------------------------------ */

static bool has(struct hocket__str json, const char *text)
{
    return json.n > 0 && hocket__find(json.p, json.n, text, strlen(text)) != NULL;
}

/* A time of day wakes nobody who sleeps. */
bool hocket__asleep_may(struct hocket__str options, const struct hocket__store_run *row)
{
    struct hocket__str lazy;
    bool waits = row->state == HOCKET__STORE_WAITING || row->state == HOCKET__STORE_PARKED;
    return waits && has(row->waiting_for, "\"id\":") && !has(row->waiting_for, "\"kind\":\"time\"")
           && hocket__json_find(options, "lazy", &lazy) && hocket__str_is(lazy, "true");
}

static void wake(struct hocket__stored *s)
{
    unsigned todo = hocket__run_phase_on(&s->phase, HOCKET__RUN_WAKE);
    if (todo & HOCKET__RUN_UNWATCH)
        hocket__store_watch(s->store, false);
    if (s->call) /* a look for messages: it will look again */
        hocket__store_cancel(s->store, s->call);
    s->call = NULL;
    if (todo & HOCKET__RUN_LOAD)
        hocket__resume_read(s->run);
}

static int on_message(void *ud, const struct hocket__store_row *row)
{
    struct hocket__stored *s = ud;
    (void) row;
    s->run->resuming->spoken_to = true;
    return 1;
}

static void on_messages(void *ud, int status, const struct hocket_error *err)
{
    struct hocket__stored *s = ud;
    struct hocket__run *r = s->run;
    s->call = NULL;
    if (status < 0 && hocket__run_phase_is_asleep(s->phase) && hocket__stored_is_ours(s)) {
        hocket__hearing_later(s);
    } else if (status < 0) {
        hocket__resume_end(r, status, err);
    } else if (r->resuming->spoken_to) {
        wake(s);
    } else if (hocket__run_phase_on(&s->phase, HOCKET__RUN_SLEEP) & HOCKET__RUN_WATCH) {
        hocket__store_watch(s->store, true);
        hocket__run_mark_due(r);
        r->host->rt->undelivered = true; /* no fiber has run that would lead to it */
        hocket__fibers_settle(r->host->rt);
    }
}

int hocket__asleep_look(struct hocket__stored *s)
{
    struct hocket__store_reply reply = { on_message, on_messages, s };
    if (s->call)
        return 0;
    return hocket__store_messages(s->store, hocket__cstr(s->run->name), &reply, &s->call);
}

void hocket__asleep_free(struct hocket__stored *s)
{
    if (hocket__run_phase_is_asleep(s->phase))
        hocket__store_watch(s->store, false);
    hocket__buf_deinit(&s->waits_for);
}

/* ---- What is told of it ---------------------------------------------------------------------------- */

bool hocket__asleep_tell(struct hocket__run *r, struct hocket_event *e)
{
    struct hocket__stored *s = r->stored;
    struct hocket__buf *b = &r->host->event;
    if (!s || s->phase != HOCKET__RUN_ASLEEP)
        return false;
    hocket__run_phase_on(&s->phase, HOCKET__RUN_TELL);
    hocket__buf_reset(b);
    hocket__jw_open(b, '{');
    hocket__jw_key(b, "seq");
    hocket__jw_int(b, 0);
    hocket__jw_key(b, "run");
    hocket__jw_cstring(b, r->name);
    hocket__jw_key(b, "type");
    hocket__jw_cstring(b, "run_asleep");
    hocket__jw_key(b, "waiting_for");
    hocket__jw_raw(b, hocket__buf_str(&s->waits_for));
    hocket__jw_close(b, '}');
    *e = (struct hocket_event){ .type = "run_asleep", .run = r->id };
    e->json = b->status < 0 ? "{}" : b->data;
    e->json_len = b->status < 0 ? 2 : b->len;
    return true;
}

/* ---- What is said to it ---------------------------------------------------------------------------- */

struct hocket__run *hocket__asleep_find(const hocket_host *h, uint64_t id)
{
    for (const struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        struct hocket__run *r = hocket__container_of(l, struct hocket__run, link);
        if (r->id == id && r->resuming && r->stored
            && hocket__run_phase_is_asleep(r->stored->phase))
            return r;
    }
    return NULL;
}

/* Whether it asks so: an answer to anything else would be heard by nobody. */
static bool asks(const struct hocket__stored *s, const char *question)
{
    char id[80];
    int n = snprintf(id, sizeof(id), "\"id\":\"%s\"", question);
    return n > 0 && (size_t) n < sizeof(id) && strpbrk(question, "\"\\") == NULL
           && has(hocket__buf_str(&s->waits_for), id);
}

/* As hearing.c reads them; whoever has the run says it, and may have it do what it is allowed (internal/run/origin.lua). */
static void write_message(
    struct hocket__buf *b, const char *wish, const char *a, struct hocket__str text)
{
    bool is_signal = strcmp(wish, "signal") == 0, is_answer = strcmp(wish, "answer") == 0;
    hocket__jw_open(b, '{');
    hocket__jw_key(b, "wish");
    hocket__jw_cstring(b, wish);
    hocket__jw_key(b, is_signal ? "name" : is_answer ? "question" : "to");
    hocket__jw_cstring(b, a);
    hocket__jw_key(b, is_signal ? "value" : "text");
    if (is_signal)
        hocket__jw_raw(b, text);
    else
        hocket__jw_string(b, text);
    hocket__jw_key(b, "from");
    hocket__jw_cstring(b, "host");
    hocket__jw_close(b, '}');
}

/* With what its claim writes: it is tried until it is there, and before anything of the run is read. */
static int put_message(
    struct hocket__stored *s, const char *wish, const char *a, struct hocket__str text)
{
    struct hocket_host *h = s->run->host;
    struct hocket__buf json;
    char id[64];
    snprintf(id, sizeof(id), "here %lld %llu", (long long) hocket__wall_ms(),
        (unsigned long long) ++h->said);
    hocket__buf_init(&json, &h->alloc, 0);
    write_message(&json, wish, a, text);
    struct hocket__store_message m = {
        .id = hocket__cstr(id), .at_ms = hocket__wall_ms(), .json = hocket__buf_str(&json)
    };
    int rc = json.status < 0 ? json.status : hocket__store_message_put(s->store, &s->claim, &m);
    hocket__buf_deinit(&json);
    return rc;
}

int hocket__asleep_say(struct hocket__run *r, const char *wish, const char *a,
    struct hocket__str text, struct hocket_error *err)
{
    struct hocket__stored *s = r->stored;
    bool is_answer = strcmp(wish, "answer") == 0;
    if (is_answer && !asks(s, a))
        return hocket__error(err, HOCKET_ENOTFOUND, "the run does not ask '%.60s'", a);
    if (!is_answer && strcmp(wish, "signal") != 0 && strcmp(wish, "say") != 0) {
        wake(s);
        return hocket__error(
            err, HOCKET_ESTATE, "the run has slept, and wakes now: say it again when it goes on");
    }
    int rc = put_message(s, wish, a, text);
    if (rc < 0)
        return hocket__error(err, rc, "it cannot be said: %s",
            rc == HOCKET_ELIMIT && hocket__store_is_full(s->store)
                ? "too much waits to be written: say it again when the store takes it"
                : hocket_status_text(rc));
    wake(s);
    return 0;
}
