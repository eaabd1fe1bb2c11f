/* Messages that other processes send to our runs through the store.
 *
 *     {"wish":"answer","question":"q1","text":"…"}  ──> the run gets it, and the message is deleted
 *     {"wish":"signal","name":"n","value":…}
 *     {"wish":"say","to":"writer","text":"…"}       ──> a run at work takes it as well
 *     {"wish":"stop"}
 *     {"wish":"look"}                               ──> a run that waits for its project's budget asks for it again
 *     {"wish":"cancel"}                             ──> a run in its replay takes it as well; the message stays until the run
 *                                                       has ended (end.c), so that a process that takes the run over gets it, too
 *
 * News from the store ──> we ask once which of our runs have messages (spoken) ──> those runs read their messages. A message is
 * deleted in the turn of the loop in which the run's log records it: the run gets it once, whatever ends when.
 *
 * A signal without room stays in the store, and the log has nothing of it. When fibers of the run have taken some of its
 * waiting signals, it reads all messages again. It takes other messages meanwhile.
 *
 * After a failed read the run reads again a moment later. Until then it does not park, and no time limit ends.
 *
 * Runs that were loaded or resumed with the option "lazy" and wait for somebody: only their rows are read until a message for
 * them arrives. A thousand waiting conversations cost a thousand rows, and not a thousand replays.
 *
 *     its row ─> claimed ─> is there a message for it? ── no ──> suspended: reported as run_asleep ─┐
 *                                     │ yes                                                 │ an answer, a signal, any wish
 *                                     └────────────> it is read, and replayed <──────────────┘
 *
 * An embedder's message to a suspended run goes into the store, and the run takes it when it waits again. It is handed over like
 * everything that the run writes: a full disk or an absent server loses nothing, and the run wakes up afterwards. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json/json.h"
#include "bind/fiber/fiber.h"
#include "bind/modules.h"
#include "bind/store/store.h"
#include "bind/util.h"
#include "host/run/stored.h"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))
#define LATER_MS    500

/* The wishes of messages, the kind that the run gets them as, and their members; "stop" and "look" have none. `json`: take the
 * second member as JSON, not as text. `logs`: Lua writes it to the log. */
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

/* Before it gets a client's words, the run loses what its owner allowed (internal/run/client_words.lua). */
static int carry_out_words(struct hocket__stored *s, const struct wish *w, struct hocket__str json,
    const char *a, struct hocket__str b, struct hocket_error *err)
{
    int rc = hocket__run_wish(s->run, "before", "", json, err);
    return rc < 0 ? rc : carry_out(s, w, a, b, err);
}

/* Gives the message to the run. 0, or a status that says why not. */
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

/* Begins to cancel it; the message stays. */
static bool cancels(struct hocket__stored *s, struct hocket__str json)
{
    struct hocket__str wish, from;
    if (!hocket__json_find(json, "wish", &wish) || !hocket__str_is(wish, "\"cancel\""))
        return false;
    if (hocket__stored_is_parked(s))
        return true;
    bool own = hocket__json_find(json, "from", &from) && hocket__str_is(from, "\"host\"");
    if (!own || !s->cancel)
        s->cancel = own ? HOCKET__CANCEL_HERE : HOCKET__CANCEL_SAID;
    hocket__run_cancel_fiber(s->run);
    return true;
}

/* Whether the message has to be read again later. */
static bool is_early(const struct hocket__stored *s, int rc)
{
    return rc == HOCKET_ENOMEM || rc == HOCKET_ECALLBACK
           || (rc == HOCKET_ENOTFOUND && hocket__journal_last(s->run->journal) == 0);
}

/* It stays until there is room. One warning is enough until the run has taken all. */
static void note_full(struct hocket__stored *s, const struct hocket_error *err)
{
    if (hocket__run_room_on(&s->room, HOCKET__ROOM_NO) & HOCKET__ROOM_WARN)
        hocket__runtime_log(s->run->host->rt, HOCKET_LOG_WARN,
            "run %s: what was said to it waits in the store: %s", s->run->name, err->message);
}

/* Reads from the beginning: messages that were refused come first. */
static void begin_pass(struct hocket__stored *s)
{
    struct hocket_error err;
    if (hocket__run_room_on(&s->room, HOCKET__ROOM_HEAR) & HOCKET__ROOM_SAY)
        hocket__run_wish(s->run, "left_again", "", HOCKET__STR(""), &err);
}

/* A run that is being parked or cut off takes no message any more: the process that continues it does. */
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

/* This process continues the run for the first time: signals that another process refused may have room by now. A run that has
 * not begun was refused nothing. */
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

/* The read failed: read again a moment later. */
static void read_later(struct hocket__stored *s)
{
    struct hocket__runtime *rt = s->run->host->rt;
    s->later.passed = on_later;
    if (rt->life == HOCKET__RUNTIME_OPEN)
        hocket__deadline_set(&rt->deadlines, &s->later, hocket__deadlines_now() + LATER_MS);
}

/* Asks the store, or later if it cannot ask now. */
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

/* Nobody can have sent a message to a run that begins. */
static bool may_be_known(const struct hocket__stored *s)
{
    return s->run->reported_before > 0 || s->pool.len > 0;
}

static void watch(struct hocket__stored *s)
{
    s->watches_inbox = true;
    hocket__store_watch(s->store, true);
}

void hocket__inbox_listen(struct hocket__stored *s)
{
    if (hocket__stored_is_off(s) || s->watches_inbox)
        return;
    watch(s);
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
    (void) status; /* the next news asks again */
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
    /* Runs whose results nobody has taken are freed after the store. */
    for (struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        struct hocket__stored *s = hocket__container_of(l, struct hocket__run, link)->stored;
        if (s)
            hocket__inbox_end(s);
    }
}

/* ---- It is suspended ------------------------------------------------------------------------------ */

static bool has(struct hocket__str json, const char *text)
{
    return json.n > 0 && hocket__find(json.p, json.n, text, strlen(text)) != NULL;
}

/* A time of day does not wake a suspended run. */
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
        hocket__inbox_end(s);
    if (s->call) /* it is reading messages, and will read again */
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
    } else if (r->resuming->spoken_to || s->cancel) {
        wake(s);
    } else if (hocket__run_phase_on(&s->phase, HOCKET__RUN_SUSPEND) & HOCKET__RUN_WATCH) {
        watch(s);
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
    hocket__buf_deinit(&s->waits_for);
}

/* ---- Its event ------------------------------------------------------------------------------------- */

bool hocket__suspended_event(struct hocket__run *r, struct hocket_event *e)
{
    struct hocket__stored *s = r->stored;
    struct hocket__buf *b = &r->host->event;
    if (!s || s->phase != HOCKET__RUN_SUSPENDED)
        return false;
    hocket__run_phase_on(&s->phase, HOCKET__RUN_TELL);
    hocket__buf_reset(b);
    hocket__jw_open(b, '{');
    hocket__jw_key_int(b, "seq", 0);
    hocket__jw_key_cstring(b, "run", r->name);
    hocket__jw_key_cstring(b, "type", "run_asleep");
    hocket__jw_key_raw(b, "waiting_for", hocket__buf_str(&s->waits_for));
    hocket__jw_close(b, '}');
    *e = (struct hocket_event){ .type = "run_asleep", .run = r->id };
    e->json = b->status < 0 ? "{}" : b->data;
    e->json_len = b->status < 0 ? 2 : b->len;
    return true;
}

/* ---- Messages to it -------------------------------------------------------------------------------- */

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

struct judging {
    const struct hocket__stored *stored;
    const char *question;
    struct hocket__str text;
    int status;
    struct hocket_error *err;
};

/* Protected: require("hocket.internal.host.entry").may_answer(waits_for, question, text) -> word, message. */
static int judge_protected(lua_State *L)
{
    struct judging *j = lua_touserdata(L, 1);
    hocket__require(L, "hocket.internal.host.entry");
    lua_getfield(L, -1, "may_answer");
    hocket__push_str(L, hocket__buf_str(&j->stored->waits_for));
    lua_pushstring(L, j->question);
    hocket__push_str(L, j->text);
    lua_call(L, 3, 2);
    const char *word = lua_tostring(L, -2), *message = lua_tostring(L, -1);
    if (word && strcmp(word, "ok") != 0)
        j->status = hocket__error(
            j->err, hocket__status_from_word(word), "%s", message ? message : "failed");
    return 0;
}

/* Whether it has this open question and the text answers it: the run is not there to judge. */
static int judge(const struct hocket__stored *s, const char *question, struct hocket__str text,
    struct hocket_error *err)
{
    struct judging j = { .stored = s, .question = question, .text = text, .err = err };
    int rc = hocket__pcall(s->run->host->L, judge_protected, &j, err);
    return rc < 0 ? rc : j.status;
}

/* In the form in which the run reads them. The sender has the run, so the words may use its permissions (internal/run/origin.lua). */
static void write_message(
    struct hocket__buf *b, const char *wish, const char *a, struct hocket__str text)
{
    bool is_signal = strcmp(wish, "signal") == 0, is_answer = strcmp(wish, "answer") == 0;
    hocket__jw_open(b, '{');
    hocket__jw_key_cstring(b, "wish", wish);
    hocket__jw_key_cstring(b, is_signal ? "name" : is_answer ? "question" : "to", a);
    hocket__jw_key(b, is_signal ? "value" : "text");
    if (is_signal)
        hocket__jw_raw(b, text);
    else
        hocket__jw_string(b, text);
    hocket__jw_key_cstring(b, "from", "host");
    hocket__jw_close(b, '}');
}

/* With the writes of its claim: retried until it is stored, and stored before anything of the run is read. */
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

/* Wakes it up. Returns 0 for an answer to its question, and for a signal: the store keeps them until it takes them. */
static int suspended_say(struct hocket__run *r, const char *wish, const char *a,
    struct hocket__str text, struct hocket_error *err)
{
    struct hocket__stored *s = r->stored;
    bool is_answer = strcmp(wish, "answer") == 0;
    int rc = is_answer ? judge(s, a, text, err) : 0;
    if (rc < 0)
        return rc;
    if (!is_answer && strcmp(wish, "signal") != 0 && strcmp(wish, "say") != 0) {
        wake(s);
        return hocket__error(
            err, HOCKET_ESTATE, "the run has slept, and wakes now: say it again when it goes on");
    }
    rc = put_message(s, wish, a, text);
    if (rc < 0)
        return hocket__error(err, rc, "it cannot be said: %s",
            rc == HOCKET_ELIMIT && hocket__store_is_full(s->store)
                ? "too much waits to be written: say it again when the store takes it"
                : hocket_status_text(rc));
    wake(s);
    return 0;
}

int hocket__inbox_cancel_taken(struct hocket__stored *s)
{
    return s->cancel ? put_message(s, "cancel", "", HOCKET__STR("")) : 0;
}

bool hocket__inbox_cancel(struct hocket__stored *s)
{
    if (s->cancel)
        return true;
    s->cancel = HOCKET__CANCEL_HERE;
    if (!hocket__stored_is_ours(s))
        return true;
    if (hocket__inbox_cancel_taken(s) < 0)
        return false;
    if (hocket__run_phase_is_suspended(s->phase))
        wake(s);
    else if (!s->run->resuming)
        hocket__inbox_read(s);
    return true;
}

/* ---- An embedder's messages, to a run that is suspended or awake -------------------------------------- */

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
