/* A run and its part of the host's store: what it hands over, what its log asks of the store, and a replay that has to report the
 * same events again. */
#include "host/run/stored.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash/hash.h"
#include "base/json/json.h"
#include "bind/fiber/fiber.h"
#include "bind/store/store.h"
#include "core/log/log.h"

/* Room for what a run lacks, so that the advice behind it stays readable. */
#define LACK_SHOWN 400

/* Bytes that are shown before a difference, and of it. */
#define BEFORE 40
#define SHOWN  80

/* The program reads its first words (cli/host/host.c). */
void hocket__host_warn_store(struct hocket_host *h, const struct hocket_error *err)
{
    if (!h->store_warned)
        hocket__runtime_log(h->rt, HOCKET_LOG_WARN, "runs are not kept: %s", err->message);
    h->store_warned = true;
}

/* ---- It is run from its log alone ---------------------------------------------------------------- */

/* A fork's parent reported its records under its own name. */
static void rename_run(char *json, size_t n, const char *name)
{
    static const char mark[] = "\"run\":\"";
    char *at = hocket__find(json, n, mark, sizeof(mark) - 1);
    if (at && json + n - at > (ptrdiff_t) (sizeof(mark) + HOCKET__STORE_ID))
        memcpy(at + sizeof(mark) - 1, name, HOCKET__STORE_ID);
}

int hocket__retold_add(
    struct hocket__retold *t, uint64_t seq, struct hocket__str json, const char *name)
{
    if (hocket__grow(t->texts.a, &t->list, &t->cap, t->count + 1, sizeof(*t->list)) < 0)
        return HOCKET_ENOMEM;
    if (hocket__buf_addstr(&t->texts, json) < 0)
        return HOCKET_ENOMEM;
    rename_run(t->texts.data + t->texts.len - json.n, json.n, name);
    t->list[t->count++] = (struct hocket__retold_event){ seq, t->texts.len };
    return 0;
}

/* The record that the run reported as event `seq`. An abandoned run may have been cut off before it stored every record that its
 * log leads to. Some records were never stored, such as those behind a checkpoint of a run that was saved without them. */
static bool told(struct hocket__retold *t, uint64_t seq, struct hocket__str *was)
{
    while (t->next < t->count && t->list[t->next].seq < seq)
        t->next++;
    if (t->next >= t->count || t->list[t->next].seq != seq)
        return false;
    size_t from = t->next > 0 ? t->list[t->next - 1].end : 0;
    *was = hocket__str(t->texts.data + from, t->list[t->next].end - from);
    return true;
}

/* At the end of the log no effect begins. */
static int on_append(void *ud, const struct hocket__log_entry *e, struct hocket_error *err)
{
    (void) ud;
    (void) e;
    return hocket__error(err, HOCKET_EPARKED,
        "its log ends here: the run has not ended (it was left and can be resumed, or goes on "
        "elsewhere)");
}

struct hocket__kept *hocket__stored_retell(
    struct hocket__stored *s, const uint8_t seed[HOCKET__STORE_SEED])
{
    struct hocket__log_sink sink = { on_append, s };
    hocket__run_phase_on(&s->phase, HOCKET__RUN_RETELL);
    return hocket__kept_new(s->run->host->rt, &sink, seed);
}

static void fail(struct hocket__stored *s, struct hocket_error *err)
{
    if (s->run->kept && !hocket__log_error(hocket__kept_log(s->run->kept)))
        hocket__log_fail(hocket__kept_log(s->run->kept), err); /* the run ends with its next step */
}

static struct hocket__str excerpt(struct hocket__str s, size_t at)
{
    size_t from = at > BEFORE ? at - BEFORE : 0, n = s.n - from;
    return hocket__str(s.p + from, n < SHOWN ? n : SHOWN);
}

/* The replay's record has to equal the stored one. */
static void compare_told(struct hocket__stored *s, const struct hocket__line *line)
{
    struct hocket_error err;
    struct hocket__str was, is = line->json;
    size_t at = 0;
    if (hocket__log_error(hocket__kept_log(s->run->kept)) || !told(&s->retold, line->seq, &was))
        return;
    if (was.n == is.n && memcmp(was.p, is.p, is.n) == 0)
        return;
    while (at < was.n && at < is.n && was.p[at] == is.p[at])
        at++;
    struct hocket__str a = excerpt(was, at), b = excerpt(is, at);
    hocket__error(&err, HOCKET_EREPLAY, "event %llu was …%.*s… and is …%.*s…",
        (unsigned long long) line->seq, (int) a.n, a.p, (int) b.n, b.p);
    fail(s, &err);
}

void hocket__retold_end(struct hocket__stored *s)
{
    struct hocket__run *r = s->run;
    const struct hocket__retold *t = &s->retold;
    uint64_t last = hocket__journal_last(r->journal);
    uint64_t was = t->count > 0 ? t->list[t->count - 1].seq : 0;
    if (r->status == HOCKET_EREPLAY || r->status == HOCKET_EPARKED || last >= was)
        return;
    r->status = hocket__error(&r->err, HOCKET_EREPLAY, "%llu events were told, and are %llu",
        (unsigned long long) was, (unsigned long long) last);
}

void hocket__retold_free(struct hocket__stored *s)
{
    hocket__free(&s->run->host->alloc, s->retold.list, s->retold.cap * sizeof(*s->retold.list));
    hocket__buf_deinit(&s->retold.texts);
}

/* ---- What is handed over ------------------------------------------------------------------------- */

/* 0, or why the run must not continue. It may continue without a store that broke (end.c). */
int hocket__stored_taken(const struct hocket__stored *s, int status, struct hocket_error *err)
{
    if (status >= 0 || hocket__stored_is_off(s))
        return 0;
    bool full = status == HOCKET_ELIMIT && hocket__store_is_full(s->store);
    hocket__error(err, status, "the run cannot be kept: %s",
        full ? "too much waits to be written" : hocket_status_text(status));
    err->retryable = full;
    return status;
}

static int on_entry(void *ud, const struct hocket__log_entry *e, struct hocket_error *err)
{
    struct hocket__stored *s = ud;
    struct hocket__store_entry row = { .n = e->n,
        .tick = e->tick,
        .at_ms = e->at_ms,
        .kind = (uint8_t) e->kind,
        .path = e->path,
        .ord = e->ord,
        .name = e->name,
        .digest = e->digest,
        .value = e->value };
    return hocket__stored_is_off(s)
               ? 0
               : hocket__stored_taken(s, hocket__store_append(s->store, &s->claim, &row), err);
}

void hocket__stored_record(struct hocket__stored *s)
{
    struct hocket__line line;
    while (!hocket__stored_is_parked(s)
           && hocket__journal_next(s->run->journal, &s->recorded, &line)) {
        struct hocket__store_record row = { line.seq, line.json };
        struct hocket_error err;
        if (s->phase == HOCKET__RUN_RETELLING) {
            compare_told(s, &line);
            continue;
        }
        /* after its log has failed, records follow from nothing that is stored: the process that continues the run reports others */
        if (!hocket__stored_is_off(s) && line.seq > s->recorded_before
            && !hocket__run_log_failed(s->run))
            hocket__stored_taken(
                s, hocket__store_record(s->store, &s->claim, &row), &err); /* for showing alone */
        hocket__waiting_note(s, &line);
        hocket__inbox_again(s);
    }
}

/* The files of its program, under its own name: another run may have read them at another time. */
void hocket__stored_file(struct hocket__stored *s, struct hocket__str name, struct hocket__str text)
{
    uint8_t bytes[HOCKET__SHA256];
    char hash[2 * HOCKET__SHA256 + 1];
    struct hocket_error err;
    hocket__sha256(text, bytes);
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(hash + 2 * i, 3, "%02x", bytes[i]);
    struct hocket__store_file file = { .generation = hocket__cstr(s->run->name),
        .path = name,
        .hash = hocket__cstr(hash),
        .text = text };
    int rc = hocket__stored_is_off(s)
                 ? 0
                 : hocket__stored_taken(s, hocket__store_file(s->store, &file), &err);
    if (rc < 0 && s->run->kept)
        hocket__kept_fail(s->run->kept, &err);
}

static void on_file(void *ud, struct hocket__str name, struct hocket__str text)
{
    hocket__stored_file(ud, name, text);
}

/* Another worker may have what is missing here, or somebody provides it: a key, trust in the run's code, a version that
 * knows the run. An absent store, or a standby that lags, comes back. The run waits for these without a limit. If the run
 * does not follow its log, it will likely fail everywhere: it stays at work, so that attempts are counted (a worker's
 * ATTEMPTS), with pauses that grow up to a lease. */
void hocket__pooled_put_off(struct hocket__stored *s, const struct hocket_error *why,
    struct hocket__buf *waiting, struct hocket__store_run *row, unsigned *set)
{
    int64_t lease = hocket__store_lease_ms(s->store), pause = lease / 4;
    bool lacks = why->status == HOCKET_EAUTH || why->status == HOCKET_EDENIED
                 || why->status == HOCKET_EUNSUPPORTED || why->retryable;
    if (!lacks)
        pause = lease >> (s->attempts < 3 ? 2 * (3 - s->attempts) : 0);
    hocket__store_write_why(waiting, why);
    row->state = lacks ? HOCKET__STORE_QUEUED : HOCKET__STORE_RUNNING;
    row->waiting_for = hocket__buf_str(waiting);
    row->pool = hocket__buf_str(&s->pool);
    row->due_ms = hocket__wall_ms() + pause;
    *set |= HOCKET__STORE_SET_STATE | HOCKET__STORE_SET_WAITING_FOR;
    if (s->pool.len > 0) /* else it stays as it is, and is due at once */
        *set |= HOCKET__STORE_SET_QUEUE;
}

void hocket__pooled_restore(
    const struct hocket__stored *s, struct hocket__store_run *row, unsigned *set)
{
    row->state = s->was;
    row->waiting_for = hocket__buf_str(&s->waits_for);
    *set |= HOCKET__STORE_SET_STATE
            | HOCKET__STORE_SET_WAITING_FOR; /* its pool and its time are still in the row */
}

void hocket__stored_give_back(struct hocket__stored *s)
{
    if (hocket__run_claim_on(&s->claim_state, HOCKET__CLAIM_RETURN))
        hocket__store_release(s->store, &s->claim);
}

void hocket__stored_abandon(struct hocket__stored *s)
{
    hocket__run_claim_on(&s->claim_state, HOCKET__CLAIM_ABANDON);
    hocket__run_inbox_on(&s->inbox, HOCKET__INBOX_DROP);
    s->watches_inbox = false;
    s->call = NULL;
}

/* ---- What its log asks of the store -------------------------------------------------------------- */

struct hocket__stored *hocket__stored_new(struct hocket__run *r, struct hocket__store *store)
{
    struct hocket__stored *s = hocket__zero(&r->host->alloc, sizeof(*s));
    if (s && hocket__deadlines_join(&r->host->rt->deadlines) < 0) {
        hocket__free(&r->host->alloc, s, sizeof(*s));
        s = NULL;
    }
    if (!s)
        return NULL;
    s->run = r;
    s->store = store;
    s->state = HOCKET__STORE_RUNNING;
    hocket__list_init(&s->opens);
    hocket__list_init(&s->idle);
    hocket__buf_init(&s->retold.texts, &r->host->alloc, 0);
    hocket__buf_init(&s->fork, &r->host->alloc, 0);
    hocket__buf_init(&s->consent, &r->host->alloc, 0);
    hocket__buf_init(&s->waits_for, &r->host->alloc, 0);
    hocket__buf_init(&s->pool, &r->host->alloc, 0);
    return s;
}

struct hocket__kept *hocket__stored_kept(
    struct hocket__stored *s, const uint8_t seed[HOCKET__STORE_SEED])
{
    struct hocket__log_sink sink = { on_entry, s };
    struct hocket__kept *k = hocket__kept_new(s->run->host->rt, &sink, seed);
    if (k)
        hocket__kept_set_name(k, hocket__cstr(s->run->name));
    return k;
}

/* An effect at the gate (core/gate.h) waits for a commit. If it changes the world, everything that was handed over has to be
 * committed; otherwise the claim alone, once in each process. */
struct hold {
    struct hocket__store_wait wait;
    struct hocket__kept *kept;
    struct hocket_host *host;
    uint64_t fiber, intent;
};

static void on_committed(struct hocket__store_wait *w, int status, const struct hocket_error *err)
{
    struct hold *hold = hocket__container_of(w, struct hold, wait);
    struct hocket__stored *s = hocket__kept_hooks(hold->kept)->hold_ud;
    if (s && status >= 0)
        hocket__run_claim_on(&s->claim_state, HOCKET__CLAIM_WRITTEN);
    bool without =
        !s || hocket__stored_is_off(s); /* a run that another process has must begin nothing */
    hocket__kept_release(
        hold->kept, hold->fiber, hold->intent, status < 0 && !without ? err : NULL);
    hocket__kept_unref(hold->kept);
    hocket__free(&hold->host->alloc, hold, sizeof(*hold));
}

/* Whether the store has, without waiting, what the effect needs. Losing power may take what is not synced, and the intent with it. */
static bool is_secure(const struct hocket__stored *s, bool world)
{
    bool synced = hocket__runtime_durability(s->run->host->rt) == HOCKET__STORE_SYNCED;
    return s->claim_state == HOCKET__CLAIM_CONFIRMED
           && (!world || (!synced && hocket__store_secure(s->store, &s->claim)));
}

static int on_hold(void *ud, uint64_t fiber, uint64_t intent, bool world)
{
    struct hocket__stored *s = ud;
    struct hocket_host *h = s->run->host;
    enum hocket__store_kept kept =
        world ? hocket__runtime_durability(h->rt) : HOCKET__STORE_WRITTEN;
    if (hocket__stored_is_off(s) || is_secure(s, world))
        return 0;
    struct hold *hold = hocket__zero(&h->alloc, sizeof(*hold));
    if (!hold)
        return HOCKET_ENOMEM;
    hold->wait.done = on_committed;
    hold->kept = hocket__kept_ref(s->run->kept);
    hold->host = h;
    hold->fiber = fiber;
    hold->intent = intent;
    hocket__store_commit(s->store, &s->claim, kept, &hold->wait);
    return 1;
}

/* A worker gives the run back. A resumed run waits for a process that has what it needs. A failure during its first start is
 * part of the run: its replay fails in the same way. */
static bool on_lack(void *ud, struct hocket__str message, struct hocket_error *err)
{
    const struct hocket__stored *s = ud;
    const char *name = s->run->name;
    int shown = (int) (message.n < LACK_SHOWN ? message.n : LACK_SHOWN);
    if (s->pool.len > 0 && hocket__stored_is_ours(s))
        hocket__error(err, HOCKET_EAUTH, "%.*s", (int) message.n, message.p);
    else if (s->origin != HOCKET__ORIGIN_STARTED
             && !hocket__log_replays(hocket__kept_log(s->run->kept)))
        hocket__error(err, HOCKET_EAUTH,
            "%.*s. The run is not over: 'hocket resume %s' goes on with it then", shown, message.p,
            name);
    else
        return false;
    return true;
}

static void on_rest(void *ud)
{
    struct hocket__stored *s = ud;
    bool looked_at = !hocket__list_empty(&s->opens) || s->fork.len > 0 || s->parks != HOCKET__STAYS
                     || s->draining || s->room == HOCKET__ROOM_FULL;
    if (looked_at && hocket__list_empty(&s->idle))
        hocket__list_add(&s->run->host->idle, &s->idle);
}

static bool is_deaf(void *ud)
{
    const struct hocket__stored *s = ud;
    return hocket__stored_is_ours(s)
           && (s->phase == HOCKET__RUN_REPLAYING || s->phase == HOCKET__RUN_CATCHING_UP);
}

int hocket__stored_keep(struct hocket__stored *s, struct hocket__kept *k, struct hocket_error *err)
{
    int rc = hocket__run_keep(s->run->host, s->run->id, k);
    if (rc < 0)
        return hocket__error(err, rc, "the run cannot be kept");
    struct hocket__kept_hooks *hooks = hocket__kept_hooks(k);
    if (s->phase == HOCKET__RUN_RETELLING)
        return 0;
    hooks->hold = on_hold;
    hooks->lack = on_lack;
    hooks->hold_ud = s;
    hooks->file = on_file;
    hooks->file_ud = s;
    hooks->rest = on_rest;
    hooks->deaf = is_deaf;
    hooks->rest_ud = s;
    hocket__inbox_listen(s);
    if (s->origin == HOCKET__ORIGIN_STARTED
        || !hocket__log_replays(hocket__kept_log(k))) /* it is live at once */
        hocket__inbox_live(s);
    return 0;
}

/* ---- Messages from its log ----------------------------------------------------------------------- */

/* It was sent once; its result is the same again. */
static void say_again(void *ud, struct hocket__str wish, struct hocket__str value)
{
    struct hocket__run *r = ud;
    struct hocket_error err;
    char word[32] = "";
    const char *end = value.n > 0 ? memchr(value.p, 0, value.n) : NULL;
    if (!end || wish.n >= sizeof(word))
        return;
    memcpy(word, wish.p, wish.n);
    struct hocket__str b = hocket__str(end + 1, value.n - (size_t) (end - value.p) - 1);
    if (hocket__str_is(wish, "stop"))
        hocket__run_wish_stop(r);
    else
        hocket__run_wish(r, word, value.p, b, &err);
}

/* The operator of this host says what a run may be allowed here (internal/run/policy.lua). A run that has not begun asks by
 * itself. */
static void say_operator(struct hocket__run *r)
{
    struct hocket_error err;
    const char *word = hocket__runtime_getenv(r->host->rt, "HOCKET_APPROVE");
    if (!word || !*word)
        return;
    int rc = hocket__run_say(r, "operator", word, HOCKET__STR(""), &err);
    if (rc < 0 && rc != HOCKET_ENOTFOUND)
        hocket__kept_fail(r->kept, &err);
}

void hocket__runs_say_operator(struct hocket_host *h)
{
    for (struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        struct hocket__run *r = hocket__container_of(l, struct hocket__run, link);
        if (r->stored && hocket__run_phase_is_live(r->stored->phase))
            say_operator(r);
    }
}

/* It must not continue with another operator's permission because this message failed. */
static bool say_consent(struct hocket__run *r)
{
    struct hocket_error err;
    struct hocket__stored *s = r->stored;
    if (!s || s->consent.len == 0)
        return false;
    if (hocket__run_say(r, "consent", "", hocket__buf_str(&s->consent), &err) < 0)
        hocket__kept_fail(r->kept, &err);
    hocket__buf_reset(&s->consent);
    return true;
}

static void on_live(void *ud)
{
    struct hocket__run *r = ud;
    if (!say_consent(r)) /* its message includes the operator's rules */
        say_operator(r);
    hocket__run_mark_due(r);
    if (r->stored)
        hocket__inbox_live(r->stored);
    hocket__journal_wake_others(r->lua_journal); /* it can take messages */
}

static bool owes(void *ud)
{
    const struct hocket__run *r = ud;
    return r->journal && hocket__journal_last(r->journal) < r->reported_before;
}

int hocket__run_keep(struct hocket_host *h, uint64_t id, struct hocket__kept *k)
{
    for (struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        struct hocket__run *r = hocket__container_of(l, struct hocket__run, link);
        if (r->id != id)
            continue;
        if (r->kept)
            return HOCKET_ESTATE;
        r->kept = hocket__kept_ref(k);
        hocket__kept_hooks(k)->tell = say_again;
        hocket__kept_hooks(k)->live = on_live;
        hocket__kept_hooks(k)->owes = owes;
        hocket__kept_hooks(k)->tell_ud = r;
        hocket__journal_keep(r->lua_journal, k);
        return 0;
    }
    return HOCKET_ENOTFOUND;
}

static void write_error(struct hocket__buf *out, const struct hocket_error *err)
{
    hocket__jw_open(out, '{');
    hocket__jw_key_cstring(out, "code", hocket_status_word(err->status));
    hocket__jw_key_cstring(out, "message", err->message);
    hocket__jw_close(out, '}');
}

/* Another value of a member of an object. */
static void amend(struct hocket__buf *json, const char *member, struct hocket__str value)
{
    struct hocket__buf out;
    struct hocket__str was, all = hocket__buf_str(json);
    if (!hocket__json_find(all, member, &was))
        return;
    hocket__buf_init(&out, json->a, 0);
    hocket__buf_add(&out, all.p, (size_t) (was.p - all.p));
    hocket__buf_addstr(&out, value);
    hocket__buf_add(&out, was.p + was.n, (size_t) (all.p + all.n - was.p) - was.n);
    hocket__buf_move(json, &out);
}

void hocket__run_fail_late(struct hocket__run *r, const struct hocket_error *why)
{
    struct hocket__str ok;
    struct hocket__buf error;
    r->err = *why;
    r->status = why->status;
    if (!hocket__json_find(hocket__buf_str(&r->json), "ok", &ok) || !hocket__str_is(ok, "true"))
        return;
    hocket__buf_init(&error, &r->host->alloc, 0);
    write_error(&error, why);
    amend(&r->json, "error", hocket__buf_str(&error));
    amend(&r->json, "ok", HOCKET__STR("false"));
    if (error.status < 0 || r->json.status < 0)
        r->status = hocket__error_nomem(&r->err);
    hocket__buf_deinit(&error);
}

/* Memory ran out before it had begun: the run has not failed, and can be resumed. */
static void note_not_begun(struct hocket__run *r)
{
    struct hocket__log *log = hocket__kept_log(r->kept);
    if (r->status == HOCKET_ENOMEM && hocket__log_last(log) == 0)
        hocket__log_fail(log, &r->err);
}

void hocket__run_kept_ended(struct hocket__run *r)
{
    if (r->kept)
        note_not_begun(r);
    const struct hocket_error *why = r->kept ? hocket__log_error(hocket__kept_log(r->kept)) : NULL;
    if (why)
        hocket__run_fail_late(r, why);
}

void hocket__run_unkeep(struct hocket__run *r)
{
    struct hocket__kept *k = r->kept;
    if (!k)
        return;
    r->kept = NULL;
    r->lua_journal->kept = NULL;
    *hocket__kept_hooks(k) = (struct hocket__kept_hooks){ 0 };
    hocket__kept_leave(k);
    hocket__kept_unref(k);
}
