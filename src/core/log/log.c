/* The log of one run's effects (log.h): what it was fed with, where a replay stands in it, and the
 * comparison of what is done with what was done. It decides nothing about the run and knows no
 * fiber: bind/fiber asks it after each step what is due, tells it what a step does, and gives it
 * what comes while the run is live.
 *
 * Whatever goes wrong, in a replay or when something is to be kept, is kept as the log's error, the
 * first one for good. From then on it neither replays nor appends, and who runs the fibers ends the
 * run with that error. */
#include "core/log/log.h"

#include <inttypes.h>
#include <stdio.h>

/* One block for each entry with its texts: a log of a hundred thousand entries is fed one by one
 * and forgotten one by one, as soon as each is passed. */
struct fed {
    struct hocket__log_entry e;
    char text[]; /* name, digest, value */
};

struct hocket__log {
    const struct hocket_allocator *a;
    struct hocket__log_sink sink;
    struct fed **
        fed; /* fed[i] is entry i + 1, behind the first checkpoint i + 1 + gap; NULL once it is forgotten */
    size_t n_fed, cap_fed, next;
    uint64_t last, tick;
    int64_t now_ms;
    uint32_t looks; /* reads of the clock since the last entry, or since the step began */
    size_t first;   /* entries up to the first checkpoint; 0: there is none */
    uint64_t gap;   /* entries that were left out behind it */
    bool whole;
    bool failed;
    struct hocket_error err;
};

/* ---- Its life --------------------------------------------------------------------------- */

struct hocket__log *hocket__log_new(
    const struct hocket_allocator *a, const struct hocket__log_sink *sink)
{
    struct hocket__log *log = hocket__zero(a, sizeof(*log));
    if (!log)
        return NULL;
    log->a = a;
    if (sink)
        log->sink = *sink;
    return log;
}

static size_t size_of(const struct hocket__log_entry *e)
{
    return sizeof(struct fed) + e->name.n + e->digest.n + e->value.n;
}

static void drop(struct hocket__log *log, size_t i)
{
    struct fed *f = log->fed[i];
    log->fed[i] = NULL;
    if (f)
        hocket__free(log->a, f, size_of(&f->e));
}

void hocket__log_free(struct hocket__log *log)
{
    if (!log)
        return;
    for (size_t i = 0; i < log->n_fed; i++)
        drop(log, i);
    hocket__free(log->a, log->fed, log->cap_fed * sizeof(struct fed *));
    hocket__free(log->a, log, sizeof(*log));
}

/* `next` only moves on. So a log is replayed once, and live for ever after. */
bool hocket__log_replays(const struct hocket__log *log)
{
    return !log->failed && log->next < log->n_fed;
}

const struct hocket_error *hocket__log_error(const struct hocket__log *log)
{
    return log->failed ? &log->err : NULL;
}

int hocket__log_fail(struct hocket__log *log, const struct hocket_error *err)
{
    if (!log->failed)
        log->err = *err;
    log->failed = true;
    return log->err.status;
}

void hocket__log_step(struct hocket__log *log)
{
    log->tick++;
    log->looks = 0;
}

uint64_t hocket__log_tick(const struct hocket__log *log)
{
    return log->tick;
}

int64_t hocket__log_now_ms(const struct hocket__log *log)
{
    return log->now_ms;
}

uint64_t hocket__log_last(const struct hocket__log *log)
{
    return log->last;
}

/* ---- Its past ----------------------------------------------------------------------------- */

static struct hocket__str copy_text(char **at, struct hocket__str s)
{
    struct hocket__str copy = { *at, s.n };
    if (s.n > 0)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

static struct fed *copy(const struct hocket_allocator *a, const struct hocket__log_entry *e)
{
    struct fed *f = hocket__new(a, size_of(e));
    if (!f)
        return NULL;
    char *at = f->text;
    f->e = *e;
    f->e.name = copy_text(&at, e->name);
    f->e.digest = copy_text(&at, e->digest);
    f->e.value = copy_text(&at, e->value);
    return f;
}

/* Entries come from a store, which may be a file that was copied by hand. What does not follow
 * would be replayed at a place at which it never came. */
/* Whether a replay leaps to it from the first checkpoint. */
static bool is_leap(const struct hocket__log *log, const struct hocket__log_entry *e)
{
    return e->kind == HOCKET__LOG_CHECKPOINT && log->first > 0 && !log->whole;
}

static int check(
    const struct hocket__log *log, const struct hocket__log_entry *e, struct hocket_error *err)
{
    const struct hocket__log_entry *before = log->n_fed > 0 ? &log->fed[log->n_fed - 1]->e : NULL;
    uint64_t next = log->n_fed + log->gap + 1;
    if (e->n != next && !(is_leap(log, e) && e->n > next))
        return hocket__error(err, HOCKET_EINVAL,
            "the log has entry %" PRIu64 " where entry %" PRIu64 " has to be", e->n, next);
    if (e->kind < HOCKET__LOG_LIFE || e->kind >= HOCKET__LOG_KINDS)
        return hocket__error(
            err, HOCKET_EINVAL, "entry %" PRIu64 " of the log is of no kind that is known", e->n);
    if (before && (e->tick < before->tick || e->at_ms < before->at_ms))
        return hocket__error(err, HOCKET_EINVAL,
            "entry %" PRIu64 " of the log is earlier than the one before it", e->n);
    return 0;
}

/* All between the first checkpoint and entry n. */
static void leave_out(struct hocket__log *log, uint64_t n)
{
    while (log->n_fed > log->first)
        drop(log, --log->n_fed);
    log->gap = n - 1 - log->first;
}

int hocket__log_feed(
    struct hocket__log *log, const struct hocket__log_entry *e, struct hocket_error *err)
{
    int rc = check(log, e, err);
    if (rc < 0)
        return rc;
    if (hocket__grow(log->a, &log->fed, &log->cap_fed, log->n_fed + 1, sizeof(struct fed *)) < 0)
        return hocket__error_nomem(err);
    struct fed *f = copy(log->a, e);
    if (!f)
        return hocket__error_nomem(err);
    if (is_leap(log, e))
        leave_out(log, e->n);
    log->fed[log->n_fed++] = f;
    if (log->first == 0 && e->kind == HOCKET__LOG_CHECKPOINT)
        log->first = log->n_fed;
    return 0;
}

void hocket__log_keep_all(struct hocket__log *log)
{
    log->whole = true;
}

/* ---- Live ----------------------------------------------------------------------------------- */

/* The clock of the run never goes back, whatever the system's does: waits that were set by it would
 * end before they began.
 *
 * The sink may refuse (a full disk, a lost claim). An effect that could not be kept must not go on
 * as if it had been: the caller ends the run. */
int hocket__log_put(
    struct hocket__log *log, struct hocket__log_entry *e, int64_t now_ms, struct hocket_error *err)
{
    struct hocket_error why;
    if (log->failed) {
        if (err)
            *err = log->err;
        return log->err.status;
    }
    e->n = log->last + 1;
    e->tick = log->tick;
    e->at_ms = now_ms > log->now_ms ? now_ms : log->now_ms;
    int rc = log->sink.append ? log->sink.append(log->sink.ud, e, &why) : 0;
    if (rc < 0) {
        hocket__log_fail(log, &why);
        if (err)
            *err = log->err;
        return log->err.status;
    }
    log->last = e->n;
    log->now_ms = e->at_ms;
    log->looks = 0;
    return 0;
}

/* ---- Replay ------------------------------------------------------------------------------------ */

static const struct hocket__log_entry *head(const struct hocket__log *log)
{
    return hocket__log_replays(log) ? &log->fed[log->next]->e : NULL;
}

static const char *const words[HOCKET__LOG_KINDS] = { "?", "life", "wake", "timeout", "cancel",
    "stuck", "end", "tell", "notice", "begin", "value", "rest", "over", "checkpoint", "clock" };

const char *hocket__log_kind_word(enum hocket__log_kind kind)
{
    return kind >= HOCKET__LOG_LIFE && kind < HOCKET__LOG_KINDS ? words[kind] : words[0];
}

static int clip(struct hocket__str s)
{
    return s.n > 60 ? 60 : (int) s.n;
}

/* "begin of 'model' (2 of its fiber)" */
static void describe(const struct hocket__log_entry *e, char *out, size_t n)
{
    if (e->name.n > 0)
        snprintf(out, n, "%s of '%.*s' (%u of its fiber)", hocket__log_kind_word(e->kind),
            clip(e->name), e->name.p, e->ord);
    else
        snprintf(out, n, "%s", hocket__log_kind_word(e->kind));
}

static void not_done(struct hocket__log *log, const struct hocket__log_entry *e)
{
    struct hocket_error err;
    char what[128];
    describe(e, what, sizeof(what));
    hocket__error(&err, HOCKET_EREPLAY,
        "the run did not do again what entry %" PRIu64 " of its log says: %s after %" PRIu64
        " steps, and it has made %" PRIu64,
        e->n, what, e->tick, log->tick);
    hocket__log_fail(log, &err);
}

/* An entry of the run's own (a begin, a value) is not due but matched: the step that does the same
 * passes it. One whose tick is over without that was not done again, which is where a replay and
 * the run that it repeats part. */
const struct hocket__log_entry *hocket__log_due(struct hocket__log *log)
{
    const struct hocket__log_entry *e = head(log);
    if (!e || e->tick > log->tick)
        return NULL;
    if (e->tick == log->tick && e->kind < HOCKET__LOG_BEGIN)
        return e;
    not_done(log, e);
    return NULL;
}

/* What is next comes later: whoever has no fiber left that could make a step until then has come to
 * a stop (kept_replay.c). */
bool hocket__log_is_before_next(const struct hocket__log *log)
{
    const struct hocket__log_entry *e = head(log);
    return e && e->tick > log->tick;
}

void hocket__log_advance(struct hocket__log *log)
{
    const struct hocket__log_entry *e = head(log);
    if (!e)
        return;
    log->last = e->n;
    log->now_ms = e->at_ms;
    log->looks = 0;
    log->next++;
}

/* By number and not by pointer: an entry may be passed while somebody up the stack still reads its
 * value, who forgets it when it has done so. */
void hocket__log_forget(struct hocket__log *log, uint64_t n)
{
    uint64_t i = n > log->first ? n - log->gap : n;
    if (i > 0 && i <= log->next)
        drop(log, (size_t) i - 1);
}

const struct hocket__log_entry *hocket__log_skip_to_checkpoint(struct hocket__log *log)
{
    const struct hocket__log_entry *e = head(log);
    if (!e || log->next != log->first || !is_leap(log, e))
        return NULL;
    log->tick = e->tick;
    hocket__log_advance(log);
    return e;
}

/* What a step does, and is not what the log has next. */
static int misfit(struct hocket__log *log, const struct hocket__log_entry *was,
    const struct hocket__log_entry *is)
{
    struct hocket_error err;
    struct hocket__str field, old, now;
    char then[128], here[128];
    describe(was, then, sizeof(then));
    describe(is, here, sizeof(here));
    bool same = was->kind == is->kind && was->path == is->path && was->ord == is->ord
                && was->tick == log->tick && hocket__str_eq(was->name, is->name);
    if (same && hocket__log_differs(was->digest, is->digest, &field, &old, &now))
        hocket__error(&err, HOCKET_EREPLAY,
            "%s, entry %" PRIu64 " of the log, asks something else: %.*s was %.*s and is %.*s",
            here, was->n, clip(field), field.p, clip(old), old.p, clip(now), now.p);
    else
        hocket__error(&err, HOCKET_EREPLAY,
            "the run does something else than entry %" PRIu64
            " of its log: it was %s after %" PRIu64 " steps, and is %s after %" PRIu64,
            was->n, then, was->tick, here, log->tick);
    return hocket__log_fail(log, &err);
}

static bool fits(const struct hocket__log *log, const struct hocket__log_entry *was,
    const struct hocket__log_entry *is)
{
    return was->kind == is->kind && was->tick == log->tick && was->path == is->path
           && was->ord == is->ord && hocket__str_eq(was->name, is->name)
           && hocket__str_eq(was->digest, is->digest);
}

/* Without digest: asked where the answer may be no without that being a fault. */
const struct hocket__log_entry *hocket__log_peek(
    const struct hocket__log *log, const struct hocket__log_entry *is)
{
    const struct hocket__log_entry *was = head(log);
    bool same = was && was->kind == is->kind && was->tick == log->tick && was->path == is->path
                && was->ord == is->ord && (is->name.n == 0 || hocket__str_eq(was->name, is->name));
    return same ? was : NULL;
}

static bool begins_with(struct hocket__str s, struct hocket__str start)
{
    return s.n >= start.n && memcmp(s.p, start.p, start.n) == 0;
}

bool hocket__log_has_effect_ahead(
    const struct hocket__log *log, struct hocket__str name, struct hocket__str digest)
{
    for (size_t i = log->next; !log->failed && i < log->n_fed; i++) {
        const struct fed *f = log->fed[i];
        if (f && f->e.kind == HOCKET__LOG_BEGIN && hocket__str_eq(f->e.name, name)
            && begins_with(f->e.digest, digest))
            return true;
    }
    return false;
}

/* What it gives is good until it is forgotten. */
const struct hocket__log_entry *hocket__log_match(
    struct hocket__log *log, const struct hocket__log_entry *is, struct hocket_error *err)
{
    const struct hocket__log_entry *was = head(log);
    if (was && fits(log, was, is)) {
        hocket__log_advance(log);
        return was;
    }
    if (was)
        misfit(log, was, is);
    if (err && log->failed)
        *err = log->err;
    else
        hocket__error(err, HOCKET_ESTATE, "there is nothing to replay");
    return NULL;
}

/* ---- The clock ----------------------------------------------------------------------------------- */

/* A run makes an entry with its read LOOKS at the latest: a replay that comes so far has left its log, and
 * would read on for ever where it waits for the clock. */
static void look_again(struct hocket__log *log, uint64_t path)
{
    const struct hocket__log_entry *was = head(log);
    struct hocket__log_entry is = { .kind = HOCKET__LOG_CLOCK, .path = path, .ord = log->looks };
    bool now = was->kind == HOCKET__LOG_CLOCK && was->tick == log->tick;
    uint32_t most = now ? was->ord : HOCKET__LOG_LOOKS;
    if (fits(log, was, &is)) {
        hocket__log_advance(log);
        hocket__log_forget(log, log->last);
    } else if (log->looks >= most) {
        misfit(log, was, &is);
    }
}

uint32_t hocket__log_read_clock(struct hocket__log *log, uint64_t path)
{
    log->looks++;
    if (!hocket__log_replays(log))
        return log->failed ? 0 : log->looks;
    look_again(log, path);
    return 0;
}

/* ---- Digests ------------------------------------------------------------------------------------- */

static struct hocket__str next_line(struct hocket__str *rest)
{
    const char *end = rest->n > 0 ? memchr(rest->p, '\n', rest->n) : NULL;
    size_t n = end ? (size_t) (end - rest->p) : rest->n;
    struct hocket__str line = hocket__str(rest->p, n);
    size_t gone = end ? n + 1 : n;
    *rest = hocket__str(rest->p + gone, rest->n - gone);
    return line;
}

static void split(struct hocket__str line, struct hocket__str *field, struct hocket__str *value)
{
    const char *at = line.n > 0 ? memchr(line.p, '=', line.n) : NULL;
    size_t n = at ? (size_t) (at - line.p) : line.n;
    *field = hocket__str(line.p, n);
    *value = at ? hocket__str(at + 1, line.n - n - 1) : hocket__str("", 0);
}

/* Line by line, and the first that differs: a digest names its fields ("model=…", "prompt=…") so
 * that a message can say what has changed and not only that something has. */
bool hocket__log_differs(struct hocket__str was, struct hocket__str is, struct hocket__str *field,
    struct hocket__str *old, struct hocket__str *now)
{
    while (was.n > 0 || is.n > 0) {
        struct hocket__str before = next_line(&was), after = next_line(&is), other;
        if (hocket__str_eq(before, after))
            continue;
        split(after.n > 0 ? after : before, field, now);
        split(before, &other, old);
        if (after.n == 0)
            *now = hocket__str("", 0);
        else if (!hocket__str_eq(other, *field))
            *old = hocket__str("", 0);
        return true;
    }
    return false;
}
