/* What other processes say to runs of ours, by messages in the store.
 *
 *     {"wish":"answer","question":"q1","text":"…"}  ──> the run hears it, and the message is gone
 *     {"wish":"signal","name":"n","value":…}
 *     {"wish":"say","to":"writer","text":"…"}       ──> one at work hears it as well
 *     {"wish":"stop"}
 *     {"wish":"look"}                               ──> one that waits for its project's budget asks for it again
 *     {"wish":"cancel"}                             ──> heard also by one that is still being replayed; it stays until the run
 *                                                       has ended (end.c), so that whoever takes it over hears it, too
 *
 * Others have written ──> the store is asked once to which of our runs (spoken) ──> those read their messages. A message is
 * taken in the turn of the loop in which the run's log says so: it is heard once, whatever ends when.
 *
 * A signal that there is no room for stays in the store, and nothing of it is in the log; when fibers of the run have taken
 * some of those that wait, all are read again. What else is said to it is heard meanwhile.
 *
 * What could not be read was not read: until it was, a moment later, the run is not parked, and no limit of a time is over.
 *
 * Runs that were loaded or resumed with the option "lazy" and wait for somebody: nothing of them is read but their rows, until
 * somebody says something to them. A thousand conversations that wait are a thousand rows, and not a thousand replays.
 *
 *     its row ─> claimed ─> is there a message for it? ── no ──> suspended: reported as run_asleep ─┐
 *                                     │ yes                                                 │ an answer, a signal, any wish
 *                                     └────────────> it is read, and replayed <──────────────┘
 *
 * What is said to one that sleeps is a message of the store, which it takes when it waits again. It is handed over as all that
 * the run writes: nothing of it is lost while the disk is full or the server away, and the run wakes after that. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json/json.h"
#include "bind/fiber/fiber.h"
#include "bind/store/store.h"
#include "host/run/stored.h"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))
#define LATER_MS    500

/* What messages can wish, as what the run hears it, and their members; "stop" and "look" have none. `json`: the second as it
 * stands, and not its text. `logs`: it is Lua that has it in the log, where it is heard. */
static const struct wish {
    const char *name, *heard_as, *first, *second;
    bool json, logs;
} wishes[] = {
    { "answer", "answer", "question", "text", false, false },
    { "signal", "left", "name", "value", true, true },
    { "say", "mail", "to", "text", false, false },
    { "stop", NULL, NULL, NULL, false, false },
    { "look", "look", NULL, NULL, false, true },
};

bool hocket__inbox_member(
    struct hocket__str json, const char *name, bool as_json, struct hocket__buf *out)
{
    struct hocket__str value;
    struct hocket__json reader;
    hocket__buf_reset(out);
    if (!hocket__json_find(json, name, &value))
        return false;
    hocket__json_init(&reader, value);
    if (!as_json && hocket__json_next(&reader) == HOCKET__JSON_STRING)
        hocket__json_decode(&reader, out);
    else
        hocket__buf_addstr(out, value);
    return out->status == 0;
}

static const struct wish *wish_of(struct hocket__str json, struct hocket__buf *scratch)
{
    for (size_t i = 0; hocket__inbox_member(json, "wish", false, scratch) && i < COUNT(wishes); i++)
        if (hocket__str_is(hocket__buf_str(scratch), wishes[i].name))
            return &wishes[i];
    return NULL;
}

static int carry_out(struct hocket__stored *s, const struct wish *w, const char *a,
    struct hocket__str b, struct hocket_error *err)
{
    return w->logs ? hocket__run_wish(s->run, w->heard_as, a, b, err)
                   : hocket__run_say(s->run, w->heard_as, a, b, err);
}

/* Before words of a client the run loses what its owner allowed (internal/run/client_words.lua). */
static int carry_out_words(struct hocket__stored *s, const struct wish *w, struct hocket__str json,
    const char *a, struct hocket__str b, struct hocket_error *err)
{
    int rc = hocket__run_wish(s->run, "before", "", json, err);
    return rc < 0 ? rc : carry_out(s, w, a, b, err);
}

/* What the run was told, or why it could not be: 0, or a status. */
static int hear(struct hocket__stored *s, struct hocket__str json, struct hocket_error *err)
{
    const struct hocket_allocator *a = &s->run->host->alloc;
    struct hocket__buf first, second;
    int rc = HOCKET_EINVAL;
    hocket__buf_init(&first, a, 0);
    hocket__buf_init(&second, a, 0);
    const struct wish *w = wish_of(json, &first);
    if (w && !w->heard_as)
        rc = hocket__run_stop(s->run, err);
    else if (w && !w->first)
        rc = carry_out(s, w, "", HOCKET__STR(""), err);
    else if (w && hocket__inbox_member(json, w->first, false, &first)
             && hocket__inbox_member(json, w->second, w->json, &second))
        rc =
            carry_out_words(s, w, json, first.len ? first.data : "", hocket__buf_str(&second), err);
    else
        hocket__error(err, rc, "it is no message that a run understands");
    hocket__buf_deinit(&first);
    hocket__buf_deinit(&second);
    return rc;
}

/* That is begun, and the message stays. */
static bool cancels(struct hocket__stored *s, struct hocket__str json)
{
    struct hocket__str wish;
    if (!hocket__json_find(json, "wish", &wish) || !hocket__str_is(wish, "\"cancel\""))
        return false;
    if (hocket__stored_is_parked(s))
        return true;
    s->cancelled_by_message = true;
    hocket_run_cancel(s->run->host, s->run->id);
    return true;
}

/* Whether it has to be heard another time. */
static bool is_early(const struct hocket__stored *s, int rc)
{
    return rc == HOCKET_ENOMEM || rc == HOCKET_ECALLBACK
           || (rc == HOCKET_ENOTFOUND && hocket__journal_last(s->run->journal) == 0);
}

/* It stays until there is room. That is said once, until all were heard. */
static void note_full(struct hocket__stored *s, const struct hocket_error *err)
{
    if (hocket__run_room_on(&s->room, HOCKET__ROOM_NO) & HOCKET__ROOM_WARN)
        hocket__runtime_log(s->run->host->rt, HOCKET_LOG_WARN,
            "run %s: what was said to it waits in the store: %s", s->run->name, err->message);
}

/* They are read from the beginning: those that were refused come first. */
static void begin_pass(struct hocket__stored *s)
{
    struct hocket_error err;
    if (hocket__run_room_on(&s->room, HOCKET__ROOM_HEAR) & HOCKET__ROOM_SAY)
        hocket__run_wish(s->run, "left_again", "", HOCKET__STR(""), &err);
}

/* One that is on its way out, parked or cut off, hears nothing any more: whoever goes on with it does. */
static bool hears(const struct hocket__stored *s)
{
    return hocket__run_phase_hears(s->phase) && s->run->kept && hocket__kept_hears(s->run->kept);
}

static int on_message(void *ud, const struct hocket__store_row *row)
{
    struct hocket__stored *s = ud;
    struct hocket_error err;
    if (cancels(s, row->message.json))
        return 0;
    if (!hears(s)) { /* with its first record, where it is about to begin */
        s->message_waits |= hocket__run_phase_hears(s->phase);
        return 0;
    }
    begin_pass(s);
    int rc = hear(s, row->message.json, &err);
    s->message_waits = is_early(s, rc);
    if (s->message_waits)
        return 1;
    if (rc == HOCKET_ELIMIT) {
        note_full(s, &err);
        return 0;
    }
    if (rc < 0)
        hocket__runtime_log(s->run->host->rt, HOCKET_LOG_WARN,
            "run %s: what was said to it was not taken: %s", s->run->name, err.message);
    if (hocket__stored_is_ours(s))
        hocket__store_message_del(s->store, &s->claim, row->message.id);
    return 0;
}

/* It goes on here for the first time: what it was refused in another process it may get by now. One that has not begun was
 * refused nothing. */
static void look_once(struct hocket__stored *s)
{
    struct hocket_error err;
    if (s->phase != HOCKET__RUN_CATCHING_UP || !hears(s))
        return;
    int rc = hocket__run_wish(s->run, "look", "", HOCKET__STR(""), &err);
    if (rc < 0 && rc != HOCKET_ENOTFOUND)
        hocket__runtime_log(
            s->run->host->rt, HOCKET_LOG_WARN, "run %s: %s", s->run->name, err.message);
}

static void read_later(struct hocket__stored *s);

static void look(struct hocket__stored *s)
{
    bool suspended = hocket__run_phase_is_suspended(s->phase);
    if (!suspended && s->watches_inbox)
        hocket__inbox_read(s);
    else if (suspended && hocket__suspend_check(s) < 0)
        read_later(s);
}

static void on_later(struct hocket__deadline *d)
{
    struct hocket__stored *s = hocket__container_of(d, struct hocket__stored, later);
    if (hocket__stored_is_ours(s) && !s->run->ended)
        look(s);
}

/* It could not be read: it is read again, a moment later. */
static void read_later(struct hocket__stored *s)
{
    struct hocket__runtime *rt = s->run->host->rt;
    s->later.passed = on_later;
    if (rt->life == HOCKET__RUNTIME_OPEN)
        hocket__deadline_set(&rt->deadlines, &s->later, hocket__deadlines_now() + LATER_MS);
}

/* Asks the store; later, where it cannot be asked now. */
static void ask(struct hocket__stored *s);

/* All were read. */
static void finish_pass(struct hocket__stored *s)
{
    hocket__run_room_on(&s->room, HOCKET__ROOM_FINISH);
    look_once(s);
    hocket__run_phase_on(&s->phase, HOCKET__RUN_HEARD);
    hocket__waiting_look(s);
}

static enum hocket__inbox_event outcome(const struct hocket__stored *s, int status)
{
    return hocket__stored_is_off(s) ? HOCKET__INBOX_DROP
           : status < 0             ? HOCKET__INBOX_FAIL
                                    : HOCKET__INBOX_DONE;
}

static void on_messages(void *ud, int status, const struct hocket_error *err)
{
    struct hocket__stored *s = ud;
    s->call = NULL;
    unsigned todo = hocket__run_inbox_on(&s->inbox, outcome(s, status));
    if (todo & HOCKET__INBOX_WARN && status != HOCKET_ECLOSED)
        hocket__runtime_log(s->run->host->rt, HOCKET_LOG_WARN,
            "run %s: what was said to it cannot be read, and is read again: %s", s->run->name,
            err->message);
    if (todo & HOCKET__INBOX_LATER)
        read_later(s);
    if (todo & HOCKET__INBOX_START)
        ask(s);
    if (todo & HOCKET__INBOX_LOOK)
        finish_pass(s);
}

static void ask(struct hocket__stored *s)
{
    struct hocket__store_reply reply = { on_message, on_messages, s };
    hocket__run_room_on(&s->room, HOCKET__ROOM_BEGIN);
    if (hocket__store_messages(s->store, hocket__cstr(s->run->name), &reply, &s->call) < 0
        && hocket__run_inbox_on(&s->inbox, HOCKET__INBOX_REFUSED) & HOCKET__INBOX_LATER)
        read_later(s);
}

bool hocket__inbox_has_room(struct hocket__stored *s)
{
    struct hocket_error err;
    return s->room == HOCKET__ROOM_FULL && !hocket__run_inbox_is_reading(s->inbox) && hears(s)
           && hocket__run_wish(s->run, "left_has_room", "", HOCKET__STR(""), &err) == 0;
}

void hocket__inbox_read(struct hocket__stored *s)
{
    if (hocket__run_inbox_on(&s->inbox, HOCKET__INBOX_ASK) & HOCKET__INBOX_START)
        ask(s);
}

void hocket__inbox_again(struct hocket__stored *s)
{
    if (!s->message_waits || !hocket__stored_is_ours(s) || s->run->ended)
        return;
    s->message_waits = false;
    hocket__inbox_read(s);
}

/* ---- From when to when ------------------------------------------------------------------------ */

/* Of one that begins nobody knows yet. */
static bool may_be_known(const struct hocket__stored *s)
{
    return s->run->reported_before > 0 || s->pool.len > 0;
}

void hocket__inbox_listen(struct hocket__stored *s)
{
    if (hocket__stored_is_off(s) || s->watches_inbox)
        return;
    s->watches_inbox = true;
    hocket__store_watch(s->store, true);
    if (hocket__stored_is_ours(s) && may_be_known(s))
        hocket__inbox_read(s);
}

void hocket__inbox_live(struct hocket__stored *s)
{
    unsigned todo = hocket__run_phase_on(
        &s->phase, s->origin == HOCKET__ORIGIN_STARTED ? HOCKET__RUN_START : HOCKET__RUN_USED_UP);
    if (!(todo & HOCKET__RUN_ANNOUNCE) || hocket__stored_is_off(s))
        return;
    s->changed = true; /* whatever it was: from here on it is running */
    hocket__stored_set_state(s, HOCKET__STORE_RUNNING);
    hocket__inbox_read(s);
}

void hocket__inbox_end(struct hocket__stored *s)
{
    if (s->watches_inbox && !hocket__stored_is_off(s))
        hocket__store_watch(s->store, false);
    s->watches_inbox = false;
}

/* ---- To whom others have spoken ---------------------------------------------------------------- */

static int on_with_messages(void *ud, const struct hocket__store_row *row)
{
    struct hocket_host *h = ud;
    for (struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        struct hocket__run *r = hocket__container_of(l, struct hocket__run, link);
        struct hocket__stored *s = r->stored;
        if (!s || !hocket__stored_is_ours(s) || r->ended || strcmp(s->claim.id, row->run.id) != 0)
            continue;
        look(s);
        return 0;
    }
    return 0;
}

static void on_all_spoken(void *ud, int status, const struct hocket_error *err)
{
    struct hocket_host *h = ud;
    (void) status; /* it is asked again with the next news */
    (void) err;
    h->spoken = NULL;
    if (h->spoken_again)
        hocket__inbox_ask(h);
}

void hocket__inbox_ask(struct hocket_host *h)
{
    struct hocket__store_reply reply = { on_with_messages, on_all_spoken, h };
    struct hocket_error err;
    struct hocket__store *store =
        h->life >= HOCKET__HOST_CLOSING ? NULL : hocket__runtime_store(h->rt, &err);
    h->spoken_again = h->spoken != NULL;
    if (store && !h->spoken)
        hocket__store_spoken(store, &reply, &h->spoken);
}

void hocket__host_close_inbox(struct hocket_host *h)
{
    struct hocket_error err;
    if (h->spoken)
        hocket__store_cancel(hocket__runtime_store(h->rt, &err), h->spoken);
    h->spoken = NULL;
}

/* ---- It is suspended ------------------------------------------------------------------------------ */

static bool has(struct hocket__str json, const char *text)
{
    return json.n > 0 && hocket__find(json.p, json.n, text, strlen(text)) != NULL;
}

/* A time of day wakes nobody who sleeps. */
bool hocket__suspend_may(struct hocket__str options, const struct hocket__store_run *row)
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

static int on_found(void *ud, const struct hocket__store_row *row)
{
    struct hocket__stored *s = ud;
    (void) row;
    s->run->resuming->spoken_to = true;
    return 1;
}

static void on_looked(void *ud, int status, const struct hocket_error *err)
{
    struct hocket__stored *s = ud;
    struct hocket__run *r = s->run;
    s->call = NULL;
    if (status < 0 && hocket__run_phase_is_suspended(s->phase) && hocket__stored_is_ours(s)) {
        read_later(s);
    } else if (status < 0) {
        hocket__resume_end(r, status, err);
    } else if (r->resuming->spoken_to) {
        wake(s);
    } else if (hocket__run_phase_on(&s->phase, HOCKET__RUN_SUSPEND) & HOCKET__RUN_WATCH) {
        hocket__store_watch(s->store, true);
        hocket__run_report_soon(r);
    }
}

int hocket__suspend_check(struct hocket__stored *s)
{
    struct hocket__store_reply reply = { on_found, on_looked, s };
    if (s->call)
        return 0;
    return hocket__store_messages(s->store, hocket__cstr(s->run->name), &reply, &s->call);
}

void hocket__suspended_free(struct hocket__stored *s)
{
    if (hocket__run_phase_is_suspended(s->phase))
        hocket__store_watch(s->store, false);
    hocket__buf_deinit(&s->waits_for);
}

/* ---- What is told of it ---------------------------------------------------------------------------- */

bool hocket__suspended_event(struct hocket__run *r, struct hocket_event *e)
{
    struct hocket__stored *s = r->stored;
    struct hocket__buf *b = &r->host->event;
    if (!s || s->phase != HOCKET__RUN_SUSPENDED)
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

static struct hocket__run *suspended_find(const hocket_host *h, uint64_t id)
{
    for (const struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        struct hocket__run *r = hocket__container_of(l, struct hocket__run, link);
        if (r->id == id && r->resuming && r->stored
            && hocket__run_phase_is_suspended(r->stored->phase))
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

/* As the run reads them; whoever has the run says it, and may have it do what it is allowed (internal/run/origin.lua). */
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

/* It wakes; 0 for an answer to what it asks, and a signal: those are kept until it takes them. */
static int suspended_say(struct hocket__run *r, const char *wish, const char *a,
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

/* ---- What an embedder says, to a run that sleeps or is awake ------------------------------------------ */

struct saying {
    const char *wish, *a;
    struct hocket__str b;
    hocket_json *reply; /* in place of words, where the wish has one */
    struct hocket_error *err;
};

static int deliver(hocket_host *h, uint64_t id, struct saying *t)
{
    int rc = hocket__host_may_enter(h, t->err);
    if (rc < 0)
        return rc;
    struct hocket__run *r = hocket__run_find(h, id), *suspended = r ? NULL : suspended_find(h, id);
    if (suspended)
        return suspended_say(suspended, t->wish, t->a, t->b, t->err);
    if (!r)
        return hocket__error(
            t->err, HOCKET_ENOTFOUND, "there is no run %llu", (unsigned long long) id);
    return hocket__run_ask(r, t->wish, t->a, t->b, &t->reply, t->err);
}

int hocket_run_answer(hocket_host *h, uint64_t id, const char *question, const char *text,
    size_t len, struct hocket_error *err)
{
    if (!h || !question || !text)
        return hocket__error(
            err, HOCKET_EINVAL, "an answer needs a host, a question's id and a text");
    struct saying t = { .wish = "answer",
        .a = question,
        .b = hocket__str(text, len ? len : strlen(text)),
        .err = err };
    return deliver(h, id, &t);
}

int hocket_run_signal(
    hocket_host *h, uint64_t id, const char *name, const char *json, struct hocket_error *err)
{
    if (!h || !name || !json)
        return hocket__error(err, HOCKET_EINVAL, "a signal needs a host, a name and a value");
    struct saying t = { .wish = "signal", .a = name, .b = hocket__cstr(json), .err = err };
    int rc = hocket__json_check(t.b, err);
    return rc < 0 ? rc : deliver(h, id, &t);
}

int hocket_run_say(hocket_host *h, uint64_t id, const char *agent, const char *text, size_t len,
    struct hocket_error *err)
{
    if (!h || !text)
        return hocket__error(err, HOCKET_EINVAL, "to say something needs a host and a text");
    struct saying t = { .wish = "say",
        .a = agent ? agent : "",
        .b = hocket__str(text, len ? len : strlen(text)),
        .err = err };
    return deliver(h, id, &t);
}

int hocket_run_change(hocket_host *h, uint64_t id, const char *options, struct hocket_error *err)
{
    if (!h || !options)
        return hocket__error(err, HOCKET_EINVAL, "a change needs a host and options");
    struct saying t = { .wish = "change", .a = options, .err = err };
    return deliver(h, id, &t);
}

hocket_json *hocket_run_tree(hocket_host *h, uint64_t id, struct hocket_error *err)
{
    struct saying t = { .wish = "tree", .a = "", .err = err };
    if (!h) {
        hocket__error(err, HOCKET_EINVAL, "a tree needs a host");
        return NULL;
    }
    return deliver(h, id, &t) == 0 ? t.reply : NULL;
}

int hocket_run_interrupt(hocket_host *h, uint64_t id, struct hocket_error *err)
{
    if (!h)
        return hocket__error(err, HOCKET_EINVAL, "an interruption needs a host");
    struct saying t = { .wish = "interrupt", .a = "", .err = err };
    return deliver(h, id, &t);
}

int hocket_run_stop(hocket_host *h, uint64_t id)
{
    if (!h)
        return HOCKET_EINVAL;
    int rc = hocket__host_may_enter(h, NULL);
    if (rc < 0)
        return rc;
    struct hocket__run *r = hocket__run_find(h, id), *suspended = r ? NULL : suspended_find(h, id);
    if (suspended)
        return suspended_say(suspended, "stop", "", hocket__cstr(""), NULL);
    return r ? hocket__run_stop(r, NULL) : HOCKET_ENOTFOUND;
}
