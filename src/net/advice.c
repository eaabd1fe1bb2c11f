/* Reads the headers by which providers say when to come again (advice.h). A header that makes no
 * sense is passed over: advice may help, and its absence means the usual pace. */
#include "net/advice.h"

#include "net/when.h"

static const struct hocket__quota no_quota = { -1, -1, -1, -1 };

void hocket__advice_init(struct hocket__advice *a)
{
    *a = (struct hocket__advice){ .should_retry = -1,
        .after_ms = -1,
        .after_at = -1,
        .date_ms = -1,
        .requests = no_quota,
        .tokens = no_quota,
        .input = no_quota,
        .other = no_quota };
}

/* ---- Single headers --------------------------------------------------------------- */

static bool starts(struct hocket__str s, struct hocket__str with)
{
    return s.n >= with.n && memcmp(s.p, with.p, with.n) == 0;
}

static struct hocket__str after(struct hocket__str s, size_t n)
{
    return hocket__str(s.p + n, s.n - n);
}

/* A count; "Infinity", "" and the like are none. */
static int64_t count_of(struct hocket__str value)
{
    int64_t v = 0;
    if (value.n == 0 || value.n > 15)
        return -1;
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9')
            return -1;
        v = v * 10 + (value.p[i] - '0');
    }
    return v;
}

static bool is_digits(struct hocket__str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n > 0;
}

/* A number of units as milliseconds, -1 when it is none. One past a day, however long, is a day: the
 * wish is clear. */
static int64_t wait_of(struct hocket__str value, int64_t unit_ms)
{
    int64_t ms = hocket__when_number(value, unit_ms);
    return ms < 0 && is_digits(value) ? HOCKET__WHEN_MAX_MS : ms;
}

/* Seconds or a date. */
static void read_retry_after(struct hocket__advice *a, struct hocket__str value)
{
    int64_t ms = wait_of(value, 1000);
    if (ms < 0)
        ms = hocket__when_duration(value); /* "30s": not in any standard, and sent */
    if (ms < 0)
        a->after_at = hocket__when_http_date(value);
    else if (a->after_ms <= 0) /* retry-after-ms says the same more exactly */
        a->after_ms = ms;
}

static void read_reset(struct hocket__quota *q, struct hocket__str value)
{
    q->reset_ms = hocket__when_number(value, 1000);
    if (q->reset_ms < 0)
        q->reset_ms = hocket__when_duration(value);
    if (q->reset_ms < 0)
        q->reset_at = hocket__when_epoch(value);
    if (q->reset_ms < 0 && q->reset_at < 0)
        q->reset_at = hocket__when_rfc3339(value);
}

static void read_field(struct hocket__quota *q, struct hocket__str field, struct hocket__str value)
{
    if (!q)
        return;
    if (hocket__str_is(field, "limit"))
        q->limit = count_of(value);
    else if (hocket__str_is(field, "remaining"))
        q->remaining = count_of(value);
    else if (hocket__str_is(field, "reset"))
        read_reset(q, value);
}

/* anthropic-ratelimit-<what>-<field> */
static void read_anthropic(
    struct hocket__advice *a, struct hocket__str rest, struct hocket__str value)
{
    static const struct hocket__str requests = { "requests-", 9 }, tokens = { "tokens-", 7 },
                                    input = { "input-tokens-", 13 };
    if (starts(rest, requests))
        read_field(&a->requests, after(rest, requests.n), value);
    else if (starts(rest, tokens))
        read_field(&a->tokens, after(rest, tokens.n), value);
    else if (starts(rest, input))
        read_field(&a->input, after(rest, input.n), value);
}

static struct hocket__quota *quota_named(struct hocket__advice *a, struct hocket__str what)
{
    if (what.n == 0 || hocket__str_is(what, "requests") || hocket__str_is(what, "req-minute"))
        return &a->requests;
    if (hocket__str_is(what, "requests-minute"))
        return &a->requests;
    if (hocket__str_is(what, "tokens") || hocket__str_is(what, "tokens-minute"))
        return &a->tokens;
    static const struct hocket__str day = { "-day", 4 };
    bool daily = what.n > day.n && starts(after(what, what.n - day.n), day);
    return daily ? &a->other : NULL;
}

/* A daily limit that is not reached says nothing about a limit that is. */
static void read_other(struct hocket__advice *a, struct hocket__str field, struct hocket__str value)
{
    struct hocket__quota one = no_quota;
    read_field(&one, field, value);
    if (one.remaining >= 0 && (a->other.remaining < 0 || one.remaining < a->other.remaining))
        a->other.remaining = one.remaining;
    if (one.reset_ms > a->other.reset_ms)
        a->other.reset_ms = one.reset_ms;
    if (one.reset_at > a->other.reset_at)
        a->other.reset_at = one.reset_at;
}

/* The number behind one of two names in `"default";r=0;t=30` or `limit=9, remaining=0, reset=30`. */
static struct hocket__str parameter(struct hocket__str text, const char *name, const char *other)
{
    for (; text.n > 0; text = after(text, 1)) {
        size_t n = 0;
        const char *names[] = { name, other };
        for (int i = 0; i < 2 && n == 0; i++)
            if (text.n > strlen(names[i]) && memcmp(text.p, names[i], strlen(names[i])) == 0)
                n = strlen(names[i]);
        if (n > 0) {
            struct hocket__str value = after(text, n);
            size_t digits = 0;
            while (digits < value.n && value.p[digits] >= '0' && value.p[digits] <= '9')
                digits++;
            return hocket__str(value.p, digits);
        }
    }
    return hocket__str("", 0);
}

/* RateLimit of the IETF's drafts, in one line. */
static void read_line(struct hocket__advice *a, struct hocket__str value)
{
    a->requests.remaining = count_of(parameter(value, ";r=", "remaining="));
    read_reset(&a->requests, parameter(value, ";t=", "reset="));
}

/* x-ratelimit-<field>[-<what>] */
static void read_ratelimit(
    struct hocket__advice *a, struct hocket__str rest, struct hocket__str value)
{
    const char *dash = memchr(rest.p, '-', rest.n);
    size_t n = dash ? (size_t) (dash - rest.p) : rest.n;
    struct hocket__str what = dash ? after(rest, n + 1) : hocket__str("", 0);
    struct hocket__quota *q = quota_named(a, what);
    if (q == &a->other)
        read_other(a, hocket__str(rest.p, n), value);
    else if (hocket__str_is(rest, "timeremaining"))
        read_other(a, HOCKET__STR("reset"), value);
    else
        read_field(q, hocket__str(rest.p, n), value);
}

void hocket__advice_header(
    struct hocket__advice *a, struct hocket__str name, struct hocket__str value)
{
    static const struct hocket__str openai = { "x-ratelimit-", 12 },
                                    anthropic = { "anthropic-ratelimit-", 20 },
                                    ietf = { "ratelimit-", 10 },
                                    by_size = { "ratelimitbysize-", 16 };
    switch (name.n ? name.p[0] : 0) {
    case 'r':
        if (hocket__str_is(name, "retry-after"))
            read_retry_after(a, value);
        else if (hocket__str_is(name, "retry-after-ms") && wait_of(value, 1) > 0)
            a->after_ms = wait_of(value, 1);
        else if (starts(name, ietf))
            read_ratelimit(a, after(name, ietf.n), value);
        else if (starts(name, by_size)) /* Mistral's tokens */
            read_field(&a->tokens, after(name, by_size.n), value);
        else if (hocket__str_is(name, "ratelimit"))
            read_line(a, value);
        break;
    case 'x':
        if (starts(name, openai))
            read_ratelimit(a, after(name, openai.n), value);
        else if (hocket__str_is(name, "x-should-retry"))
            a->should_retry = hocket__str_is(value, "true")    ? 1
                              : hocket__str_is(value, "false") ? 0
                                                               : -1;
        break;
    case 'a':
        if (starts(name, anthropic))
            read_anthropic(a, after(name, anthropic.n), value);
        break;
    case 'd':
        if (hocket__str_is(name, "date"))
            a->date_ms = hocket__when_http_date(value);
        break;
    default: break;
    }
}

/* ---- All together -------------------------------------------------------------------- */

static int64_t until(int64_t at, int64_t now)
{
    int64_t ms = at > now ? at - now : 0;
    return ms < HOCKET__WHEN_MAX_MS ? ms : HOCKET__WHEN_MAX_MS;
}

static void resolve_quota(struct hocket__quota *q, int64_t now)
{
    if (q->reset_at >= 0)
        q->reset_ms = until(q->reset_at, now);
    q->reset_at = -1;
}

/* A time without figures beside it, and the end of a limit that is used up and is of no minute, are when to come again. */
static int64_t wait_for(const struct hocket__advice *a)
{
    const struct hocket__quota *all[] = { &a->requests, &a->tokens };
    int64_t ms = a->other.remaining <= 0 ? a->other.reset_ms : -1;
    for (size_t i = 0; i < 2; i++)
        if (all[i]->limit < 0 && all[i]->remaining <= 0 && all[i]->reset_ms > ms)
            ms = all[i]->reset_ms;
    return ms;
}

bool hocket__advice_needs_now(const struct hocket__advice *a)
{
    return a->date_ms < 0
           && (a->after_at >= 0 || a->requests.reset_at >= 0 || a->tokens.reset_at >= 0
               || a->input.reset_at >= 0 || a->other.reset_at >= 0);
}

void hocket__advice_resolve(struct hocket__advice *a, int64_t now_ms)
{
    int64_t now = a->date_ms >= 0 ? a->date_ms : now_ms;
    if (a->after_ms < 0 && a->after_at >= 0)
        a->after_ms = until(a->after_at, now);
    if (a->tokens.limit < 0 && a->tokens.remaining < 0)
        a->tokens = a->input;
    resolve_quota(&a->requests, now);
    resolve_quota(&a->tokens, now);
    resolve_quota(&a->other, now);
    if (a->after_ms < 0)
        a->after_ms = wait_for(a);
    a->after_at = a->date_ms = -1;
}
