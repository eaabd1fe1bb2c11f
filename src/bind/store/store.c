/* The store of a runtime: its settings from the host, and when it is opened and closed. It is opened by the first
 * who needs it, as a host whose runs are not kept has no use for a thread and a file. It holds the runtime until
 * its thread has written what was still to be written. */
#include "bind/store/store.h"

#include <stdlib.h>
#include <string.h>

#include "bind/fiber/fiber.h"
#include "bind/life.h"
#include "store/load.h"
#include "store/path.h"

#define DAY_MS   INT64_C(86400000)
#define AWAY_MS  5000 /* until a caller may wait its full time again */
#define BRIEF_MS 300

/* One per runtime, from the first word on that the host keeps runs. */
struct hocket__runtime_store {
    struct hocket__closer closer;
    struct hocket__runtime *rt;
    struct hocket__store *store; /* NULL: not opened yet */
    pid_t pid;                   /* that opened it */
    enum hocket__store_kept durability;
    int64_t max_age_ms;
    uint64_t max_bytes;
    void (*on_news)(
        void *ud, enum hocket__store_news news, const char *id, const struct hocket_error *err);
    void *news_ud;
    uint64_t waiter;     /* a fiber that wants to hear that something is new */
    bool watched;        /* for it, from its first wait on */
    bool patient;        /* who opens it waits */
    uint64_t away_until; /* since somebody has asked in vain (hocket__deadlines_now) */
    char path[];         /* "memory", or a file's */
};

/* ---- Settings of the host ------------------------------------------------------------- */

static int read_durability(const char *word, enum hocket__store_kept *out, struct hocket_error *err)
{
    if (word && strcmp(word, "full") != 0 && strcmp(word, "normal") != 0)
        return hocket__error(
            err, HOCKET_EINVAL, "the durability '%s' is neither normal nor full", word);
    *out = word && *word == 'f' ? HOCKET__STORE_SYNCED : HOCKET__STORE_WRITTEN;
    return 0;
}

static void close_store(struct hocket__closer *c);

int hocket__runtime_set_store(
    struct hocket__runtime *rt, const struct hocket_options *o, struct hocket_error *err)
{
    enum hocket__store_kept durability = HOCKET__STORE_WRITTEN;
    int rc = read_durability(o->durability, &durability, err);
    if (rc < 0 || !o->store)
        return rc;
    if (!*o->store || o->store_days < 0)
        return hocket__error(err, HOCKET_EINVAL,
            !*o->store ? "the store has no name: a file, \"memory\", or postgres://…"
                       : "the option store_days cannot be negative");
    rc = hocket__store_check_path(o->store, err);
    if (rc == 0 && !o->store_optional)
        rc = hocket__store_look(o->store, err);
    if (rc < 0)
        return rc;
    size_t n = strlen(o->store) + 1;
    rt->store = hocket__zero(rt->alloc, sizeof(*rt->store) + n);
    if (!rt->store)
        return hocket__error_nomem(err);
    memcpy(rt->store->path, o->store, n);
    rt->store->rt = rt;
    rt->store->closer.close = close_store;
    hocket__list_init(&rt->store->closer.link);
    rt->store->durability = durability;
    rt->store->max_age_ms = o->store_days * DAY_MS;
    rt->store->max_bytes = o->store_bytes;
    return 0;
}

void hocket__runtime_keep_days(struct hocket__runtime *rt, int64_t days)
{
    int64_t *ms = rt->store ? &rt->store->max_age_ms : NULL;
    if (ms && days > 0 && days < INT_MAX && (*ms == 0 || days * DAY_MS < *ms))
        *ms = days * DAY_MS;
}

/* Only once the store is closed: `held` sees to that. */
void hocket__runtime_drop_store(struct hocket__runtime *rt)
{
    if (rt->store)
        hocket__free(rt->alloc, rt->store, sizeof(*rt->store) + strlen(rt->store->path) + 1);
    rt->store = NULL;
}

bool hocket__runtime_has_store(const struct hocket__runtime *rt)
{
    return rt->store != NULL;
}

bool hocket__runtime_store_is_away(const struct hocket__runtime *rt)
{
    return rt->store && hocket__deadlines_now() < rt->store->away_until;
}

/* Many that ask one after the other would wait long, each for itself. */
int64_t hocket__runtime_store_patience(const struct hocket__runtime *rt, int64_t patience_ms)
{
    bool brief = hocket__runtime_store_is_away(rt) && patience_ms > BRIEF_MS;
    return brief ? BRIEF_MS : patience_ms;
}

void hocket__runtime_store_silent(struct hocket__runtime *rt)
{
    if (!hocket__runtime_store_is_away(rt))
        rt->store->away_until = hocket__deadlines_now() + AWAY_MS;
}

void hocket__runtime_store_spoke(struct hocket__runtime *rt)
{
    if (rt->store)
        rt->store->away_until = 0;
}

bool hocket__runtime_shares_store(const struct hocket__runtime *rt)
{
    return rt->store && strcmp(rt->store->path, "memory") != 0;
}

const char *hocket__runtime_store_file(const struct hocket__runtime *rt)
{
    bool is_file = hocket__runtime_shares_store(rt) && !hocket__store_is_postgres(rt->store->path);
    return is_file ? rt->store->path : NULL;
}

const struct hocket_error *hocket__runtime_store_broken(const struct hocket__runtime *rt)
{
    return rt->store && rt->store->store ? hocket__store_broken(rt->store->store) : NULL;
}

enum hocket__store_kept hocket__runtime_durability(const struct hocket__runtime *rt)
{
    return rt->store ? rt->store->durability : HOCKET__STORE_WRITTEN;
}

void hocket__runtime_store_news(struct hocket__runtime *rt,
    void (*on_news)(
        void *ud, enum hocket__store_news news, const char *id, const struct hocket_error *err),
    void *ud)
{
    if (!rt->store)
        return;
    rt->store->on_news = on_news;
    rt->store->news_ud = ud;
}

/* ---- Opening and closing ------------------------------------------------------------------ */

static void on_news(
    void *ud, enum hocket__store_news news, const char *id, const struct hocket_error *err)
{
    struct hocket__runtime_store *s = ud;
    const char *why = err ? err->message : "";
    if (news == HOCKET__STORE_CHANGED)
        hocket__fiber_wake(s->rt, s->waiter);
    if (news == HOCKET__STORE_PAUSED)
        hocket__runtime_log(
            s->rt, HOCKET_LOG_WARN, "runs cannot be kept for now, and wait: %s", why);
    else if (news == HOCKET__STORE_GOING)
        hocket__runtime_log(s->rt, HOCKET_LOG_WARN, "runs are kept again");
    else if (s->on_news)
        s->on_news(s->news_ud, news, id, err);
    else if (news == HOCKET__STORE_BROKEN || news == HOCKET__STORE_REFUSED)
        hocket__runtime_store_lost(s->rt, err);
}

void hocket__runtime_store_told(struct hocket__runtime *rt)
{
    if (rt->store && rt->store->store && rt->life == HOCKET__RUNTIME_OPEN)
        on_news(rt->store, HOCKET__STORE_CHANGED, NULL, NULL);
}

void hocket__runtime_store_lost(struct hocket__runtime *rt, const struct hocket_error *err)
{
    if (hocket__store_is_behind(rt->store->store))
        hocket__runtime_log(
            rt, HOCKET_LOG_WARN, "what runs did at last could not be kept: %s", err->message);
}

/* From here on nothing calls back into the runtime any more: it may end. */
static void on_closed(void *ud)
{
    struct hocket__runtime_store *s = ud;
    s->store = NULL;
    hocket__runtime_release(s->rt, &s->closer);
}

static void close_store(struct hocket__closer *c)
{
    struct hocket__runtime_store *s = hocket__container_of(c, struct hocket__runtime_store, closer);
    s->on_news = NULL; /* of hosts that are gone; losses are reported all the same */
    hocket__store_close(s->store, on_closed, s);
}

/* Of tests, and of machines whose clocks are far from each other: seconds. 0: the store's default. Every user of a store needs
 * the same value, so an unreadable one is refused instead of replaced by the default. */
static int read_lease(struct hocket__runtime *rt, int64_t *ms, struct hocket_error *err)
{
    const char *text = hocket__runtime_getenv(rt, "HOCKET_LEASE");
    char *end = NULL;
    if (!text || !*text)
        return 0;
    double seconds = strtod(text, &end);
    if (*end || !(seconds >= 0.1 && seconds <= 86400))
        return hocket__error(
            err, HOCKET_EINVAL, "HOCKET_LEASE=%s: expected seconds, from 0.1 to 86400", text);
    *ms = (int64_t) (seconds * 1000);
    return 0;
}

int hocket__runtime_store_hear(struct hocket__runtime *rt, uint64_t fiber, struct hocket_error *err)
{
    struct hocket__store *store = hocket__runtime_store(rt, err);
    if (!store)
        return err->status;
    rt->store->waiter = fiber;
    if (!rt->store->watched)
        hocket__store_watch(store, rt->store->watched = true);
    return 0;
}

void hocket__runtime_store_patient(struct hocket__runtime *rt)
{
    if (rt->store)
        rt->store->patient = true;
}

static int open_store(struct hocket__runtime_store *s, struct hocket_error *err)
{
    struct hocket__store_options o = { .alloc = s->rt->alloc,
        .loop = s->rt->loop,
        .path = s->path,
        .patient = s->patient,
        .max_age_ms = s->max_age_ms,
        .max_bytes = s->max_bytes,
        .on_news = on_news,
        .ud = s };
    bool memory = strcmp(s->path, "memory") == 0;
    int rc = read_lease(s->rt, &o.lease_ms, err);
    if (rc == 0)
        rc = memory ? hocket__store_memory_open(&o, &s->store, err)
                    : hocket__store_file_open(&o, &s->store, err);
    if (rc < 0)
        return rc;
    s->pid = uv_os_getpid();
    hocket__runtime_hold(s->rt, &s->closer);
    return 0;
}

/* The child of a fork has neither the thread of the store nor its locks, though it has its memory:
 * it is refused, and not left to wait for a thread that is not there. */
struct hocket__store *hocket__runtime_store(struct hocket__runtime *rt, struct hocket_error *err)
{
    struct hocket__runtime_store *s = rt->store;
    if (!s)
        hocket__error(err, HOCKET_EUNSUPPORTED, "this host keeps no runs: it has no store");
    else if (rt->life != HOCKET__RUNTIME_OPEN)
        hocket__error(err, HOCKET_ECLOSED, "the host is closing");
    else if (!s->store && open_store(s, err) < 0)
        return NULL;
    else if (s->pid != uv_os_getpid())
        hocket__error(err, HOCKET_ESTATE,
            "the process was forked after the store was opened: open a host in the child");
    else
        return s->store;
    return NULL;
}
