/* Times and durations as servers write them (when.h): seconds, "1m30.5s", RFC 3339, HTTP dates. By
 * hand, since strptime knows the locale and mktime the time zone. Everything is bounded, so that a
 * server cannot have us wait for a century. */
#include "net/when.h"

#include <stdbool.h>
#include <string.h>

#define MAX_EPOCH_MS INT64_C(253402300800000) /* the year 10000 */

/* ---- Reading pieces ---------------------------------------------------------- */

static bool take(struct hocket__str *s, char c)
{
    if (s->n == 0 || s->p[0] != c)
        return false;
    *s = hocket__str(s->p + 1, s->n - 1);
    return true;
}

/* From `min` to `max` digits (at most 9); -1 when there are fewer. */
static int64_t take_digits(struct hocket__str *s, size_t min, size_t max)
{
    int64_t v = 0;
    size_t i = 0;
    for (; i < s->n && i < max && hocket__is_digit(s->p[i]); i++)
        v = v * 10 + (s->p[i] - '0');
    *s = hocket__str(s->p + i, s->n - i);
    return i < min ? -1 : v;
}

/* A decimal number times `unit`, rounded down; -1 when there is none or it is past the limit. */
static int64_t take_decimal(struct hocket__str *s, int64_t unit, int64_t max)
{
    int64_t whole = 0, part = 0, scale = unit;
    size_t i = 0;
    for (; i < s->n && hocket__is_digit(s->p[i]); i++)
        if ((whole = whole * 10 + (s->p[i] - '0')) > max)
            return -1;
    size_t digits = i;
    if (i < s->n && s->p[i] == '.')
        for (i++; i < s->n && hocket__is_digit(s->p[i]); i++, digits++)
            part += (s->p[i] - '0') * (scale /= 10);
    *s = hocket__str(s->p + i, s->n - i);
    return digits == 0 || whole > max / unit ? -1 : whole * unit + part;
}

static struct hocket__str trim(struct hocket__str s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = hocket__str(s.p + 1, s.n - 1);
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

/* ---- Durations ----------------------------------------------------------------- */

int64_t hocket__when_number(struct hocket__str text, int64_t unit_ms)
{
    text = trim(text);
    /* In microseconds, so that "0.5" milliseconds is a number too. */
    int64_t us = take_decimal(&text, unit_ms * 1000, HOCKET__WHEN_MAX_MS * 1000);
    if (text.n > 0 || us < 0 || us > HOCKET__WHEN_MAX_MS * 1000)
        return -1;
    return (us + 999) / 1000;
}

/* The unit's nanoseconds; 0 when there is none. */
static int64_t take_unit(struct hocket__str *s)
{
    bool m = take(s, 'm');
    if (m)
        return take(s, 's') ? INT64_C(1000000) : INT64_C(60000000000);
    if (take(s, 's'))
        return INT64_C(1000000000);
    if (take(s, 'h'))
        return INT64_C(3600000000000);
    if (take(s, 'n'))
        return take(s, 's') ? 1 : 0;
    if (take(s, 'u') || (take(s, '\xc2') && take(s, '\xb5')))
        return take(s, 's') ? 1000 : 0;
    return 0;
}

int64_t hocket__when_duration(struct hocket__str text)
{
    int64_t total = 0, max = HOCKET__WHEN_MAX_MS * 1000000;
    text = trim(text);
    if (text.n == 0)
        return -1;
    while (text.n > 0) {
        struct hocket__str number = text, after = text;
        if (take_decimal(&after, 1, max) < 0)
            return -1;
        text = after;
        int64_t unit = take_unit(&text);
        number.n = (size_t) (after.p - number.p);
        int64_t ns = unit > 0 ? take_decimal(&number, unit, max) : -1;
        if (ns < 0 || ns > max - total)
            return -1;
        total += ns;
    }
    return (total + 999999) / 1000000;
}

/* ---- Words ------------------------------------------------------------------------ */

/* A word in lower case; "-" and "_" stand for the space between two, as in "retry-after". */
static bool begins(struct hocket__str s, const char *word)
{
    size_t i = 0;
    for (; word[i] && i < s.n; i++)
        if (word[i] != hocket__lower(s.p[i])
            && !(word[i] == ' ' && (s.p[i] == '-' || s.p[i] == '_')))
            return false;
    return !word[i];
}

static struct hocket__str behind(struct hocket__str s, size_t n)
{
    return hocket__str(s.p + n, s.n - n);
}

/* The unit as milliseconds; 0 when the word is none. */
static int64_t take_unit_word(struct hocket__str *s)
{
    static const struct {
        const char *word;
        int64_t ms;
    } units[] = { { "milliseconds", 1 }, { "millisecond", 1 }, { "msec", 1 }, { "ms", 1 },
        { "seconds", 1000 }, { "second", 1000 }, { "secs", 1000 }, { "sec", 1000 }, { "s", 1000 },
        { "minutes", 60000 }, { "minute", 60000 }, { "mins", 60000 }, { "min", 60000 },
        { "m", 60000 }, { "hours", 3600000 }, { "hour", 3600000 }, { "h", 3600000 } };
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (begins(*s, units[i].word)) {
            struct hocket__str rest = behind(*s, strlen(units[i].word));
            if (rest.n > 0 && hocket__is_letter(rest.p[0]))
                continue;
            *s = rest;
            return units[i].ms;
        }
    return 0;
}

/* "3s", "1m20.5s", "3 seconds", "2 minutes and 5 seconds", "3". */
static int64_t read_wait(struct hocket__str s)
{
    int64_t total = -1, max = HOCKET__WHEN_MAX_MS;
    for (s = trim(s); s.n > 0 && hocket__is_digit(s.p[0]); s = trim(s)) {
        struct hocket__str number = s, rest = s;
        if (take_decimal(&rest, 1, max) < 0)
            return -1;
        number.n = (size_t) (rest.p - number.p);
        rest = trim(rest);
        int64_t unit = take_unit_word(&rest);
        if (unit == 0)
            return total >= 0
                           || (rest.n > 0
                               && (hocket__is_letter(rest.p[0]) || memchr("-:/", rest.p[0], 3)))
                       ? total
                       : hocket__when_number(number, 1000);
        int64_t us = take_decimal(&number, unit * 1000, max * 1000);
        if (us < 0 || us > (max - (total > 0 ? total : 0)) * 1000)
            return -1;
        total = (total > 0 ? total : 0) + (us + 999) / 1000;
        rest = trim(rest);
        s = begins(rest, "and ") ? behind(rest, 4) : rest;
    }
    return total;
}

/* The longest of all waits that it tells of. */
int64_t hocket__when_sentence(struct hocket__str text)
{
    static const char *const words[] = { "again in ", "again after ", "retry in ", "retry after",
        "retrying in ", "retrying after ", "wait for ", "wait " };
    int64_t longest = -1;
    for (; text.n > 0; text = behind(text, 1))
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            if (hocket__lower(text.p[0]) != words[i][0] || !begins(text, words[i]))
                continue;
            struct hocket__str rest = trim(behind(text, strlen(words[i])));
            if (take(&rest, ':'))
                rest = trim(rest);
            int64_t ms = read_wait(rest);
            longest = ms > longest ? ms : longest;
        }
    return longest;
}

/* ---- Points in time --------------------------------------------------------------- */

struct civil {
    int64_t year, month, day, hour, minute, second, ms;
};

/* Days since 1970 of a date in the Gregorian calendar, the year's first being March. */
static int64_t days_of(int64_t y, int64_t m, int64_t d)
{
    y -= m <= 2;
    int64_t era = y / 400, yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static int64_t epoch_of(const struct civil *c)
{
    if (c->year < 1970 || c->month < 1 || c->month > 12 || c->day < 1 || c->day > 31 || c->hour < 0
        || c->hour > 23 || c->minute < 0 || c->minute > 59 || c->second < 0 || c->second > 60)
        return -1;
    int64_t s =
        days_of(c->year, c->month, c->day) * 86400 + c->hour * 3600 + c->minute * 60 + c->second;
    return s * 1000 + c->ms;
}

static bool take_time(struct hocket__str *s, struct civil *c)
{
    c->hour = take_digits(s, 2, 2);
    if (!take(s, ':'))
        return false;
    c->minute = take_digits(s, 2, 2);
    if (!take(s, ':'))
        return false;
    c->second = take_digits(s, 2, 2);
    return c->second >= 0;
}

/* "Z" or "+02:00", as milliseconds to subtract. */
static bool take_offset(struct hocket__str *s, int64_t *ms)
{
    *ms = 0;
    if (take(s, 'Z') || take(s, 'z'))
        return s->n == 0;
    int64_t sign = take(s, '+') ? 1 : take(s, '-') ? -1 : 0;
    int64_t h = take_digits(s, 2, 2);
    if (sign == 0 || h < 0 || !take(s, ':'))
        return false;
    int64_t m = take_digits(s, 2, 2);
    *ms = sign * (h * 60 + m) * 60000;
    return m >= 0 && s->n == 0;
}

int64_t hocket__when_rfc3339(struct hocket__str text)
{
    struct civil c = { .ms = 0 };
    struct hocket__str s = trim(text);
    int64_t offset;
    c.year = take_digits(&s, 4, 4);
    if (!take(&s, '-'))
        return -1;
    c.month = take_digits(&s, 2, 2);
    if (!take(&s, '-'))
        return -1;
    c.day = take_digits(&s, 2, 2);
    if (!take(&s, 'T') && !take(&s, 't') && !take(&s, ' '))
        return -1;
    if (!take_time(&s, &c))
        return -1;
    if (s.n > 0 && s.p[0] == '.')
        c.ms = take_decimal(&s, 1000, 0);
    int64_t at = c.ms < 0 || !take_offset(&s, &offset) ? -1 : epoch_of(&c);
    return at < 0 || at - offset < 0 || at >= MAX_EPOCH_MS ? -1 : at - offset;
}

static int64_t take_month(struct hocket__str *s)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int64_t m = 0; s->n >= 3 && m < 12; m++)
        if (memcmp(s->p, names + m * 3, 3) == 0) {
            *s = hocket__str(s->p + 3, s->n - 3);
            return m + 1;
        }
    return -1;
}

/* "Nov  6 08:49:37 1994" */
static bool take_asctime(struct hocket__str *s, struct civil *c)
{
    c->month = take_month(s);
    if (!take(s, ' '))
        return false;
    take(s, ' ');
    c->day = take_digits(s, 1, 2);
    if (!take(s, ' ') || !take_time(s, c) || !take(s, ' '))
        return false;
    c->year = take_digits(s, 4, 4);
    return true;
}

/* "06 Nov 1994 08:49:37 GMT" and "06-Nov-94 08:49:37 GMT" */
static bool take_fixdate(struct hocket__str *s, struct civil *c)
{
    c->day = take_digits(s, 2, 2);
    bool old = s->n > 0 && s->p[0] == '-';
    char between = old ? '-' : ' ';
    if (!take(s, between))
        return false;
    c->month = take_month(s);
    if (!take(s, between))
        return false;
    c->year = take_digits(s, old ? 2 : 4, old ? 2 : 4);
    if (old && c->year >= 0) /* the year that is meant is never far away */
        c->year += c->year < 70 ? 2000 : 1900;
    if (!take(s, ' ') || !take_time(s, c) || !take(s, ' '))
        return false;
    bool utc = hocket__str_is(*s, "GMT") || hocket__str_is(*s, "UTC");
    *s = hocket__str(s->p + s->n, 0);
    return utc;
}

int64_t hocket__when_http_date(struct hocket__str text)
{
    struct civil c = { .ms = 0 };
    struct hocket__str s = trim(text);
    while (s.n > 0 && s.p[0] != ',' && s.p[0] != ' ') /* the day's name says nothing more */
        s = hocket__str(s.p + 1, s.n - 1);
    bool comma = take(&s, ',');
    if (!take(&s, ' '))
        return -1;
    bool whole = comma ? take_fixdate(&s, &c) : take_asctime(&s, &c);
    return whole && s.n == 0 ? epoch_of(&c) : -1;
}

int64_t hocket__when_epoch(struct hocket__str text)
{
    struct hocket__str s = trim(text);
    int64_t v = take_decimal(&s, 1, MAX_EPOCH_MS);
    if (s.n > 0 || v < 1000000000 || v >= MAX_EPOCH_MS)
        return -1;
    return v >= INT64_C(1000000000000) ? v : v * 1000;
}
