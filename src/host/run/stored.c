#include "host/run/stored.h"

#include <stdio.h>

#include "base/hash/hash.h"
#include "bind/fiber/fiber.h"
#include "bind/store/store.h"
#include "core/log/log.h"

/* Of what a run lacks, so that what to do then stays readable. */
#define LACK_SHOWN 400

void hocket__host_warn_store(struct hocket_host *h, const struct hocket_error *err)
{
    if (!h->store_warned)
        hocket__runtime_log(h->rt, HOCKET_LOG_WARN, "runs are not kept: %s", err->message);
    h->store_warned = true;
}

/* A store that was open has a part of its runs: whoever resumed them would do again what is done without it. */
bool hocket__host_may_do_without(const struct hocket_host *h)
{
    return h->store_optional && !h->store_ready;
}

void hocket__stored_break(struct hocket__stored *s, const struct hocket_error *err)
{
    if (hocket__host_may_do_without(s->run->host)) {
        hocket__stored_do_without(s);
        return;
    }
    hocket__run_claim_on(&s->standing, HOCKET__CLAIM_BREAK);
    hocket__stored_fail(s, err);
}

/* It may wait already for somebody who would answer it in the store. */
void hocket__stored_do_without(struct hocket__stored *s)
{
    hocket__run_claim_on(&s->standing, HOCKET__CLAIM_WITHOUT);
    if (s->run->kept)
        hocket__waiting_look_soon(s);
}

bool hocket__stored_may_lack(const struct hocket__stored *s, int status)
{
    return s->run->host->store_optional && status == HOCKET_EDENIED
           && !hocket__run_claim_is_known(s->standing);
}

void hocket__stored_fail(struct hocket__stored *s, const struct hocket_error *why)
{
    if (s->run->kept)
        hocket__kept_fail(s->run->kept, why);
    else if (s->run->resuming)
        hocket__resume_end(s->run, why->status, why);
}

/* ---- What is handed over -------------------------------------------------------------------- */

/* 0, or why the run must not go on. A store that broke may be done without (hocket__stored_break). */
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
            hocket__told_compare(s, &line);
            continue;
        }
        /* what is told once its log has failed follows from nothing that is kept: who goes on with it tells something else */
        if (!hocket__stored_is_off(s) && line.seq > s->recorded_before
            && !hocket__run_log_failed(s->run))
            hocket__stored_taken(
                s, hocket__store_record(s->store, &s->claim, &row), &err); /* for showing alone */
        hocket__waiting_note(s, &line);
        hocket__hearing_again(s);
    }
}

void hocket__stored_set_state(struct hocket__stored *s, enum hocket__store_state state)
{
    struct hocket__buf waiting;
    struct hocket_error err;
    bool asleep = hocket__run_phase_is_replaying(s->phase)
                  && s->pool.len == 0; /* its row stays as it was until then */
    if ((s->state == state && !s->changed) || hocket__stored_is_off(s) || asleep)
        return;
    hocket__buf_init(&waiting, &s->run->host->alloc, 0);
    if (state == HOCKET__STORE_WAITING || state == HOCKET__STORE_PARKED)
        hocket__waiting_write(s, &waiting);
    struct hocket__store_run row = { .state = state,
        .waiting_for = hocket__buf_str(&waiting),
        .pool = hocket__buf_str(&s->pool),
        .due_ms = s->due };
    unsigned set = HOCKET__STORE_SET_STATE | HOCKET__STORE_SET_WAITING_FOR;
    if (s->pool.len > 0 && waiting.len > 0)
        set |= HOCKET__STORE_SET_QUEUE;
    if (waiting.status == 0
        && hocket__stored_taken(s, hocket__store_update(s->store, &s->claim, set, &row), &err) == 0)
        s->state = state;
    s->changed = false;
    hocket__buf_deinit(&waiting);
}

/* ---- What its log asks of the store ------------------------------------------------------------------------------- */

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
    hocket__list_init(&s->resting);
    hocket__buf_init(&s->told.texts, &r->host->alloc, 0);
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

/* What it has read of its program, under its own name: another run may have read it at another time. */
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

/* An effect at the gate (core/gate.h) waits for a commit: of all that was handed over, where it changes the world; else of the claim,
 * once in each life. */
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
        hocket__run_claim_on(&s->standing, HOCKET__CLAIM_WRITTEN);
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
    return s->standing == HOCKET__CLAIM_CONFIRMED
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

/* One that workers do is given back. One that was resumed waits for whoever resumes it with what it needs; but what happened
 * to it while it was first run, its replay does again. */
static bool on_lack(void *ud, struct hocket__str message, struct hocket_error *err)
{
    const struct hocket__stored *s = ud;
    const char *name = s->run->name;
    int shown = (int) (message.n < LACK_SHOWN ? message.n : LACK_SHOWN);
    if (s->pool.len > 0 && hocket__stored_is_ours(s))
        hocket__error(err, HOCKET_EAUTH, "%.*s", (int) message.n, message.p);
    else if (s->way != HOCKET__WAY_STARTED && !hocket__log_replays(hocket__kept_log(s->run->kept)))
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
    if (looked_at && hocket__list_empty(&s->resting))
        hocket__list_add(&s->run->host->resting, &s->resting);
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
    hocket__hearing_listen(s);
    if (s->way == HOCKET__WAY_STARTED
        || !hocket__log_replays(hocket__kept_log(k))) /* it is live at once */
        hocket__hearing_live(s);
    return 0;
}

bool hocket__stored_may_be_parked(const struct hocket__stored *s)
{
    return s && s->run->kept && s->phase != HOCKET__RUN_RETELLING && !hocket__stored_is_off(s);
}

/* ---- Its end in this process -------------------------------------------------------------------- */

void hocket__stored_give_back(struct hocket__stored *s)
{
    if (hocket__run_claim_on(&s->standing, HOCKET__CLAIM_RETURN))
        hocket__store_release(s->store, &s->claim);
}

void hocket__stored_forsake(struct hocket__stored *s)
{
    hocket__run_claim_on(&s->standing, HOCKET__CLAIM_FORSAKE);
    hocket__run_inbox_on(&s->inbox, HOCKET__INBOX_DROP);
    s->listening = false;
    s->call = NULL;
}

void hocket__stored_free(struct hocket__stored *s)
{
    if (!s)
        return;
    struct hocket__deadlines *deadlines = &s->run->host->rt->deadlines;
    if (s->call)
        hocket__store_cancel(s->store, s->call);
    hocket__deadline_clear(deadlines, &s->later);
    hocket__deadlines_leave(deadlines);
    hocket__hearing_end(s);
    hocket__buf_deinit(&s->pool);
    hocket__stored_drop_end(s);
    hocket__list_del(&s->resting);
    hocket__told_free(s);
    hocket__buf_deinit(&s->fork);
    hocket__buf_deinit(&s->consent);
    hocket__waiting_free(s);
    hocket__asleep_free(s);
    hocket__free(&s->run->host->alloc, s, sizeof(*s));
}
