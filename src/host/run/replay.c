/* A run that is run again from its log alone: what it tells has to be what it told, byte by byte. */
#include "host/run/stored.h"

#include <string.h>

#include "base/bytes.h"
#include "bind/fiber/fiber.h"
#include "core/log/log.h"

/* Bytes that are shown before a difference, and of it. */
#define BEFORE 40
#define SHOWN  80

/* What a fork has of its parent was told under the parent's name. */
static void rename_run(char *json, size_t n, const char *name)
{
    static const char mark[] = "\"run\":\"";
    char *at = hocket__find(json, n, mark, sizeof(mark) - 1);
    if (at && json + n - at > (ptrdiff_t) (sizeof(mark) + HOCKET__STORE_ID))
        memcpy(at + sizeof(mark) - 1, name, HOCKET__STORE_ID);
}

int hocket__told_add(
    struct hocket__told *t, uint64_t seq, struct hocket__str json, const char *name)
{
    if (hocket__grow(t->texts.a, &t->list, &t->cap, t->count + 1, sizeof(*t->list)) < 0)
        return HOCKET_ENOMEM;
    if (hocket__buf_addstr(&t->texts, json) < 0)
        return HOCKET_ENOMEM;
    rename_run(t->texts.data + t->texts.len - json.n, json.n, name);
    t->list[t->count++] = (struct hocket__told_one){ seq, t->texts.len };
    return 0;
}

/* What it told as event `seq`; of a run that was left it has told all that its log leads to, and may have been cut off before.
 * Events that were never kept are not there, as those behind a checkpoint of one that was saved without them. */
static bool told(struct hocket__told *t, uint64_t seq, struct hocket__str *was)
{
    while (t->next < t->count && t->list[t->next].seq < seq)
        t->next++;
    if (t->next >= t->count || t->list[t->next].seq != seq)
        return false;
    size_t from = t->next > 0 ? t->list[t->next - 1].end : 0;
    *was = hocket__str(t->texts.data + from, t->list[t->next].end - from);
    return true;
}

/* Where the log ends nothing is begun. */
static int on_append(void *ud, const struct hocket__log_entry *e, struct hocket_error *err)
{
    (void) ud;
    (void) e;
    return hocket__error(err, HOCKET_EPARKED,
        "its log ends here: the run has not ended (it was left and can be resumed, or goes on "
        "elsewhere)");
}

struct hocket__kept *hocket__stored_told(
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

void hocket__told_compare(struct hocket__stored *s, const struct hocket__line *line)
{
    struct hocket_error err;
    struct hocket__str was, is = line->json;
    size_t at = 0;
    if (hocket__log_error(hocket__kept_log(s->run->kept)) || !told(&s->told, line->seq, &was))
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

void hocket__told_end(struct hocket__stored *s)
{
    struct hocket__run *r = s->run;
    const struct hocket__told *t = &s->told;
    uint64_t last = hocket__journal_last(r->journal);
    uint64_t was = t->count > 0 ? t->list[t->count - 1].seq : 0;
    if (r->status == HOCKET_EREPLAY || r->status == HOCKET_EPARKED || last >= was)
        return;
    r->status = hocket__error(&r->err, HOCKET_EREPLAY, "%llu events were told, and are %llu",
        (unsigned long long) was, (unsigned long long) last);
}

void hocket__told_free(struct hocket__stored *s)
{
    hocket__free(&s->run->host->alloc, s->told.list, s->told.cap * sizeof(*s->told.list));
    hocket__buf_deinit(&s->told.texts);
}
