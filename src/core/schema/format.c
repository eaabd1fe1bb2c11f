/* The formats that can be asserted. Formats that need tables of their own (idn-…,
 * iri, uri-template) are known to the specification but never refuse. Decided
 * for what RFCs leave open: an e-mail's local part is a dot-atom or a quoted
 * string, its domain a host name; a leap second is accepted where UTC has one. */
#include "base/bytes.h"
#include "core/schema/run_impl.h"

struct hocket__schema_format {
    const char *name;
    const char *expected;
    bool (*check)(struct hocket__str s);
};

/* ---- Helpers */

static bool in(char c, const char *set)
{
    return c != 0 && strchr(set, c) != NULL;
}

/* Takes exactly n digits off the front. */
static bool take_number(struct hocket__str *s, size_t n, int *out)
{
    *out = 0;
    if (s->n < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!hocket__is_digit(s->p[i]))
            return false;
        *out = *out * 10 + (s->p[i] - '0');
    }
    *s = hocket__str(s->p + n, s->n - n);
    return true;
}

static bool take_char(struct hocket__str *s, const char *set)
{
    if (s->n == 0 || !in(*s->p, set))
        return false;
    *s = hocket__str(s->p + 1, s->n - 1);
    return true;
}

/* ---- Dates and times (RFC 3339) */

/* Year 0000 is one: RFC 3339 has it. */
static bool take_date(struct hocket__str *s)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int year, month, day;
    if (!take_number(s, 4, &year) || !take_char(s, "-") || !take_number(s, 2, &month)
        || !take_char(s, "-") || !take_number(s, 2, &day) || month < 1 || month > 12)
        return false;
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return day >= 1 && day <= days[month - 1] + (month == 2 && leap);
}

static bool take_offset(struct hocket__str *s, int *minutes)
{
    int hours;
    *minutes = 0;
    if (take_char(s, "zZ"))
        return true;
    bool west = s->n > 0 && *s->p == '-';
    if (!take_char(s, "+-") || !take_number(s, 2, &hours) || !take_char(s, ":")
        || !take_number(s, 2, minutes) || hours > 23 || *minutes > 59)
        return false;
    *minutes = (hours * 60 + *minutes) * (west ? -1 : 1);
    return true;
}

/* A leap second is one in UTC, so the offset is subtracted before the check. */
static bool take_time(struct hocket__str *s)
{
    int hour, minute, second, offset;
    if (!take_number(s, 2, &hour) || !take_char(s, ":") || !take_number(s, 2, &minute)
        || !take_char(s, ":") || !take_number(s, 2, &second))
        return false;
    if (take_char(s, ".")) {
        if (!take_char(s, "0123456789"))
            return false;
        while (take_char(s, "0123456789"))
            ;
    }
    if (!take_offset(s, &offset) || hour > 23 || minute > 59 || second > 60)
        return false;
    /* two days more, so that the rest is of a positive number, whatever the offset */
    int utc = (hour * 60 + minute - offset + 2 * 1440) % 1440;
    return second < 60 || utc == 1439;
}

static bool check_date(struct hocket__str s)
{
    return take_date(&s) && s.n == 0;
}

static bool check_time(struct hocket__str s)
{
    return take_time(&s) && s.n == 0;
}

static bool check_date_time(struct hocket__str s)
{
    return take_date(&s) && take_char(&s, "tT") && take_time(&s) && s.n == 0;
}

/* Units in order, each at most once, and none of the middle ones left out:
 * "1Y3D" is none. */
static bool take_units(struct hocket__str *s, const char *units)
{
    const char *last = NULL;
    while (s->n > 0 && hocket__is_digit(*s->p)) {
        while (take_char(s, "0123456789"))
            ;
        const char *unit = s->n > 0 && *s->p != 0 ? strchr(units, *s->p) : NULL;
        if (!unit || (last && unit != last + 1))
            return false;
        last = unit;
        take_char(s, units);
    }
    return last != NULL;
}

static bool check_duration(struct hocket__str s)
{
    if (!take_char(&s, "P") || s.n == 0)
        return false;
    if (s.p[s.n - 1] == 'W')
        return take_units(&s, "W") && s.n == 0;
    if (*s.p != 'T' && !take_units(&s, "YMD"))
        return false;
    return s.n == 0 || (take_char(&s, "T") && take_units(&s, "HMS") && s.n == 0);
}

/* ---- Names and addresses */

static bool check_label(struct hocket__str s)
{
    if (s.n == 0 || s.n > 63 || s.p[0] == '-' || s.p[s.n - 1] == '-')
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!hocket__is_letter(s.p[i]) && !hocket__is_digit(s.p[i]) && s.p[i] != '-')
            return false;
    return true;
}

static bool check_hostname(struct hocket__str s)
{
    size_t start = 0;
    if (s.n == 0 || s.n > 253)
        return false;
    for (size_t i = 0; i <= s.n; i++)
        if (i == s.n || s.p[i] == '.') {
            if (!check_label(hocket__str(s.p + start, i - start)))
                return false;
            start = i + 1;
        }
    return true;
}

/* No leading zeros: some readers take them for octal, so the same text would be two addresses. */
static bool check_ipv4(struct hocket__str s)
{
    for (int part = 0; part < 4; part++) {
        int v = 0, digits = 0;
        bool zero = s.n > 0 && *s.p == '0';
        for (; s.n > 0 && hocket__is_digit(*s.p) && digits < 4; digits++)
            v = v * 10 + (*s.p - '0'), s = hocket__str(s.p + 1, s.n - 1);
        if (digits == 0 || v > 255 || (zero && digits > 1) || (part < 3 && !take_char(&s, ".")))
            return false;
    }
    return s.n == 0;
}

/* "::" may stand once, and for at least one group. */
static bool check_ipv6(struct hocket__str s)
{
    int groups = 0;
    bool gap = false;
    if (s.n >= 2 && s.p[0] == ':' && s.p[1] == ':') {
        gap = true;
        s = hocket__str(s.p + 2, s.n - 2);
        if (s.n == 0)
            return true;
    }
    for (;;) {
        size_t n = 0;
        while (n < s.n && hocket__is_hex(s.p[n]))
            n++;
        if (n < s.n && s.p[n] == '.')
            /* the last two groups as an IPv4 address; the digits are read again, as decimal */
            return check_ipv4(s) && (gap ? groups + 2 < 8 : groups + 2 == 8);
        if (n == 0 || n > 4)
            return false;
        groups++;
        s = hocket__str(s.p + n, s.n - n);
        if (s.n == 0)
            break;
        if (!take_char(&s, ":"))
            return false;
        if (take_char(&s, ":")) {
            if (gap)
                return false;
            gap = true;
            if (s.n == 0)
                break;
        }
    }
    return gap ? groups < 8 : groups == 8;
}

static bool check_local_part(struct hocket__str s)
{
    bool dot = true;
    if (s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"')
        return !memchr(s.p + 1, '"', s.n - 2);
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '.' && dot)
            return false;
        dot = s.p[i] == '.';
        if (!dot && !hocket__is_letter(s.p[i]) && !hocket__is_digit(s.p[i])
            && !in(s.p[i], "!#$%&'*+-/=?^_`{|}~"))
            return false;
    }
    return !dot;
}

static bool check_address_literal(struct hocket__str s)
{
    if (s.n > 5 && memcmp(s.p, "IPv6:", 5) == 0)
        return check_ipv6(hocket__str(s.p + 5, s.n - 5));
    return check_ipv4(s);
}

static bool check_email(struct hocket__str s)
{
    /* the last: a quoted local part may hold one */
    const char *at = s.n ? hocket__find_last(s.p, '@', s.n) : NULL;
    if (!at || !check_local_part(hocket__str(s.p, (size_t) (at - s.p))))
        return false;
    struct hocket__str domain = hocket__str(at + 1, (size_t) (s.p + s.n - at - 1));
    if (domain.n >= 2 && domain.p[0] == '[' && domain.p[domain.n - 1] == ']')
        return check_address_literal(hocket__str(domain.p + 1, domain.n - 2));
    return check_hostname(domain);
}

static bool check_uuid(struct hocket__str s)
{
    if (s.n != 36)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? s.p[i] != '-' : !hocket__is_hex(s.p[i]))
            return false;
    }
    return true;
}

/* ---- URIs (RFC 3986) */

static bool check_uri_reference(struct hocket__str s)
{
    bool fragment = false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '%') {
            if (s.n - i < 3 || !hocket__is_hex(s.p[i + 1]) || !hocket__is_hex(s.p[i + 2]))
                return false;
        } else if (c == '#') {
            if (fragment)
                return false;
            fragment = true;
        } else if (!hocket__is_letter(c) && !hocket__is_digit(c)
                   && !in(c, "-._~:/?[]@!$&'()*+,;=")) {
            return false;
        }
    }
    return true;
}

static size_t scheme_length(struct hocket__str s)
{
    size_t n = 0;
    if (s.n == 0 || !hocket__is_letter(s.p[0]))
        return 0;
    while (n < s.n && (hocket__is_letter(s.p[n]) || hocket__is_digit(s.p[n]) || in(s.p[n], "+-.")))
        n++;
    return n < s.n && s.p[n] == ':' ? n : 0;
}

static bool check_uri(struct hocket__str s)
{
    return scheme_length(s) > 0 && check_uri_reference(s);
}

/* ---- JSON pointers (RFC 6901) */

static bool check_json_pointer(struct hocket__str s)
{
    if (s.n > 0 && s.p[0] != '/')
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '~' && (i + 1 == s.n || !in(s.p[i + 1], "01")))
            return false;
    return true;
}

static bool check_relative_pointer(struct hocket__str s)
{
    bool zero = s.n > 0 && *s.p == '0';
    size_t digits = 0;
    for (; take_char(&s, "0123456789"); digits++)
        ;
    if (digits == 0 || (zero && digits > 1))
        return false;
    return hocket__str_is(s, "#") || check_json_pointer(s);
}

/* ---- The table */

static const struct hocket__schema_format formats[] = {
    { "date", "a date (2024-05-31)", check_date },
    { "date-time", "a date and time (2024-05-31T12:00:00Z)", check_date_time },
    { "duration", "a duration (P1DT2H)", check_duration },
    { "email", "an e-mail address", check_email },
    { "hostname", "a host name", check_hostname },
    { "ipv4", "an IPv4 address", check_ipv4 },
    { "ipv6", "an IPv6 address", check_ipv6 },
    { "json-pointer", "a JSON pointer", check_json_pointer },
    { "regex", "a regular expression of ECMA-262", NULL },
    { "relative-json-pointer", "a relative JSON pointer", check_relative_pointer },
    { "time", "a time with offset (12:00:00Z)", check_time },
    { "uri", "a URI", check_uri },
    { "uri-reference", "a URI or relative reference", check_uri_reference },
    { "uuid", "a UUID", check_uuid },
};

const struct hocket__schema_format *hocket__schema_format_find(struct hocket__str name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (hocket__str_is(name, formats[i].name))
            return &formats[i];
    return NULL;
}

/* What we do not understand may still be one. */
static int check_regex(struct hocket__schema_run *r, struct hocket__str s)
{
    struct hocket__regex *regex;
    int rc = hocket__regex_new(r->a, s, 0, &regex, NULL);
    if (rc == 0)
        hocket__regex_free(regex);
    return rc == HOCKET_ENOMEM ? rc : rc != HOCKET_EPARSE;
}

int hocket__schema_check_format(struct hocket__schema_run *r,
    const struct hocket__schema_format *format, const struct hocket__schema_inst *inst)
{
    int rc = format->check ? format->check(inst->text) : check_regex(r, inst->text);
    if (rc != 0)
        return rc;
    return hocket__schema_report(r, inst, "format", "expected %s", format->expected);
}
