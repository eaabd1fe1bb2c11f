/* Numbers to text and back, the same on every machine and in every locale (num.h). Reading: exact
 * where two operations on doubles are exact, else by strtod, which never sees a decimal point.
 * Writing: few decimals first, since most numbers have few; then more digits until the text reads
 * back as the same double. */
#include "base/num/num.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The C library converts correctly rounded but with the locale's decimal point. So
 * no point is ever shown to it: it gets whole digits and an exponent ("314e-2"), and of
 * what it prints only the digits are taken. */

/* No double lies so near the middle of two that more digits than this decide, when one more nonzero
 * digit stands for all further digits (767 are needed). */
#define DIGITS_MAX  780
#define EXACT_POWER 22 /* 10^22 is the last power of ten that a double holds exactly */

struct decimal {
    bool negative, whole; /* whole: neither fraction nor exponent */
    uint64_t leading;     /* the first 19 significant digits */
    int64_t digits;       /* how many significant digits there are */
    int64_t exponent;     /* of ten, for all digits as a whole number */
};

size_t hocket__num_scan(struct hocket__str text, size_t *at_fault)
{
    const char *p = text.p;
    size_t i = 0, n = text.n, unused;
    size_t *fault = at_fault ? at_fault : &unused;
    i += n > 0 && p[0] == '-';
    *fault = i;
    if (i == n || !hocket__is_digit(p[i]))
        return 0;
    if (p[i++] != '0')
        while (i < n && hocket__is_digit(p[i]))
            i++;
    if (i < n && p[i] == '.') {
        *fault = ++i;
        if (i == n || !hocket__is_digit(p[i]))
            return 0;
        while (i < n && hocket__is_digit(p[i]))
            i++;
    }
    if (i < n && (p[i] == 'e' || p[i] == 'E')) {
        i++;
        i += i < n && (p[i] == '+' || p[i] == '-');
        *fault = i;
        if (i == n || !hocket__is_digit(p[i]))
            return 0;
        while (i < n && hocket__is_digit(p[i]))
            i++;
    }
    *fault = i;
    return i;
}

/* Saturates far past the range of double and of any length that a text can have. */
static int64_t read_exponent(const char *p, const char *end)
{
    bool negative = p < end && *p == '-';
    int64_t v = 0;
    p += p < end && (*p == '-' || *p == '+');
    for (; p < end && hocket__is_digit(*p); p++)
        if (v < INT64_MAX / 100)
            v = v * 10 + (*p - '0');
    return negative ? -v : v;
}

static struct decimal read_decimal(struct hocket__str text)
{
    struct decimal d = { .whole = true };
    const char *p = text.p, *end = p + text.n;
    d.negative = p < end && *p == '-';
    for (p += d.negative; p < end && (hocket__is_digit(*p) || *p == '.'); p++) {
        if (*p == '.') {
            d.whole = false;
            continue;
        }
        if (d.digits > 0 || *p != '0') {
            if (d.digits++ < 19)
                d.leading = d.leading * 10 + (uint64_t) (*p - '0');
        }
        d.exponent -= !d.whole;
    }
    if (p < end) {
        d.whole = false;
        d.exponent += read_exponent(p + 1, end);
    }
    return d;
}

/* Both operands are exact, so the one operation rounds correctly (Clinger 1990); true
 * only where the compiler does not keep excess precision. */
static bool read_exact(const struct decimal *d, double *out)
{
    static const double power[EXACT_POWER + 1] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
        1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    if (FLT_EVAL_METHOD != 0 || d->digits > 19 || d->leading > (uint64_t) 1 << 53)
        return false;
    if (d->exponent > EXACT_POWER || d->exponent < -EXACT_POWER)
        return false;
    double v = (double) d->leading;
    v = d->exponent < 0 ? v / power[-d->exponent] : v * power[d->exponent];
    *out = d->negative ? -v : v;
    return true;
}

/* What is past DIGITS_MAX digits cannot change the result but by not being zero: one digit 1 stands
 * for all of it. The exponent is bounded so that strtod's answer for it is 0 or infinity, as it
 * would have been. */
static double read_digits(const char *p, const char *end, const struct decimal *d)
{
    char text[DIGITS_MAX + 32];
    size_t n = 0;
    bool more = false;
    for (; p < end && (hocket__is_digit(*p) || *p == '.' || *p == '-'); p++) {
        if (!hocket__is_digit(*p) || (n == 0 && *p == '0'))
            continue;
        if (n < DIGITS_MAX)
            text[n++] = *p;
        else
            more |= *p != '0';
    }
    int64_t exponent = d->exponent + (d->digits - (int64_t) n);
    if (more) {
        text[n++] = '1';
        exponent--;
    }
    exponent = exponent > 9999 ? 9999 : exponent < -9999 ? -9999 : exponent;
    snprintf(text + n, sizeof(text) - n, "e%d", (int) exponent);
    return strtod(text, NULL);
}

static double to_double(struct hocket__str text, const struct decimal *d)
{
    double v;
    if (d->digits == 0)
        return d->negative ? -0.0 : 0.0;
    if (read_exact(d, &v))
        return v;
    v = read_digits(text.p, text.p + text.n, d);
    return d->negative ? -v : v;
}

static bool to_int(const struct decimal *d, int64_t *out)
{
    uint64_t limit = (uint64_t) INT64_MAX + d->negative;
    if (!d->whole || d->digits > 19 || d->leading > limit)
        return false;
    *out = d->negative ? (int64_t) (0 - d->leading) : (int64_t) d->leading;
    return true;
}

void hocket__num_read(struct hocket__str text, bool *is_int, int64_t *i, double *d)
{
    struct decimal decimal = read_decimal(text);
    *is_int = to_int(&decimal, i);
    *d = *is_int && *i != 0 ? (double) *i : to_double(text, &decimal);
}

bool hocket__num_int(struct hocket__str text, int64_t *out)
{
    struct decimal d = read_decimal(text);
    double v;
    if (to_int(&d, out))
        return true;
    v = to_double(text, &d);
    if (d.whole || v != floor(v) || fabs(v) > (double) ((int64_t) 1 << 53))
        return false;
    *out = (int64_t) v;
    return true;
}

/* The next digit from the first significant one on; 0 after the last. */
static char next_digit(const char **p, const char *end, bool *begun)
{
    for (; *p < end && (hocket__is_digit(**p) || **p == '.' || **p == '-'); ++*p)
        if (hocket__is_digit(**p) && (*begun || **p != '0')) {
            *begun = true;
            return *(*p)++;
        }
    return 0;
}

static bool same_digits(struct hocket__str a, struct hocket__str b)
{
    const char *p = a.p, *q = b.p;
    bool p_begun = false, q_begun = false;
    for (;;) {
        char x = next_digit(&p, a.p + a.n, &p_begun), y = next_digit(&q, b.p + b.n, &q_begun);
        if (x == 0 && y == 0)
            return true;
        if (x != y && !(x == 0 && y == '0') && !(y == 0 && x == '0'))
            return false;
    }
}

bool hocket__num_equal(struct hocket__str a, struct hocket__str b)
{
    struct decimal x = read_decimal(a), y = read_decimal(b);
    if (x.digits == 0 || y.digits == 0)
        return x.digits == y.digits;
    return x.negative == y.negative && x.exponent + x.digits == y.exponent + y.digits
           && same_digits(a, b);
}

/* ---- Printing ---- */

int hocket__num_digits(const char *printed, char digits[HOCKET__NUM_DIGITS], int *point)
{
    const char *p = printed;
    int count = 0;
    for (; *p && *p != 'e'; p++)
        if (hocket__is_digit(*p) && count < HOCKET__NUM_DIGITS)
            digits[count++] = *p;
    *point = (*p ? atoi(p + 1) : 0) + 1;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    return count;
}

/* |v| rounded to n significant digits. */
static int round_digits(double v, int n, char *digits, int *point)
{
    char text[64];
    snprintf(text, sizeof(text), "%.*e", n - 1, fabs(v));
    return hocket__num_digits(text, digits, point);
}

static bool reads_back(const char *digits, int n, int point, double v)
{
    char text[32];
    double back;
    bool is_int;
    int64_t i;
    int len = snprintf(text, sizeof(text), "%.*se%d", n, digits, point - n);
    hocket__num_read(hocket__str(text, (size_t) len), &is_int, &i, &back);
    return back == fabs(v);
}

/* One more in the last of the n digits: 129 -> 13, 999 -> 1 with the point moved. */
static int next_digits(char *digits, int count, int n, int *point)
{
    while (count < n)
        digits[count++] = '0';
    while (count > 0 && digits[count - 1] == '9')
        count--;
    if (count == 0) {
        digits[0] = '1';
        *point += 1;
        return 1;
    }
    digits[count - 1]++;
    return count;
}

/* Below a power of two doubles lie half as far apart as above it: the nearest text
 * may fail from below where the next one above reads back. */
static int try_digits(double v, int n, char *digits, int *point)
{
    int exponent, count = round_digits(v, n, digits, point);
    if (reads_back(digits, count, *point, v))
        return count;
    if (fabs(frexp(v, &exponent)) != 0.5)
        return 0;
    count = next_digits(digits, count, n, point);
    return reads_back(digits, count, *point, v) ? count : 0;
}

/* A text of up to 15 digits survives the way through a normal double, so rounding to
 * 15 finds every shorter one as well; only subnormals have fewer digits to give. */
static int shortest_digits(double v, char *digits, int *point)
{
    int count = 0, n = fabs(v) < DBL_MIN ? 1 : DBL_DIG;
    for (; count == 0 && n < DBL_DECIMAL_DIG; n++)
        count = try_digits(v, n, digits, point);
    return count ? count : round_digits(v, DBL_DECIMAL_DIG, digits, point);
}

static char *put(char *out, const char *p, int n)
{
    memcpy(out, p, (size_t) n);
    return out + n;
}

static char *put_zeros(char *out, int n)
{
    memset(out, '0', (size_t) n);
    return out + n;
}

/* `point` is where the decimal point stands: before the first digit when 0. */
static char *layout_plain(char *out, const char *digits, int n, int point)
{
    if (point <= 0) {
        out = put(out, "0.", 2);
        out = put_zeros(out, -point);
        return put(out, digits, n);
    }
    if (point >= n) {
        out = put(out, digits, n);
        out = put_zeros(out, point - n);
        return put(out, ".0", 2);
    }
    out = put(out, digits, point);
    *out++ = '.';
    return put(out, digits + point, n - point);
}

static char *layout_exponent(char *out, const char *digits, int n, int point)
{
    *out++ = digits[0];
    if (n > 1) {
        *out++ = '.';
        out = put(out, digits + 1, n - 1);
    }
    return out + snprintf(out, 8, "e%+d", point - 1);
}

/* Most numbers that are printed have a few decimals: k / 10^d with k below 10^15. No other
 * decimal of up to 15 digits reads back as the same double, so that text is the shortest, and
 * dividing (which is correctly rounded, like reading) tells whether it is the one. Returns the
 * number of digits, or 0. */
static int few_decimals(double v, char *digits, int *point)
{
    static const double powers[] = { 1, 10, 100, 1e3, 1e4, 1e5, 1e6 };
    for (int d = 0; d < 7; d++) {
        double scaled = v * powers[d];
        if (scaled >= 1e15)
            return 0;
        uint64_t k = (uint64_t) (scaled + 0.5);
        if (k == 0 || (double) k / powers[d] != v)
            continue;
        int n = (int) hocket__num_print_int((int64_t) k, digits);
        *point = n - d;
        return n;
    }
    return 0;
}

size_t hocket__num_print(double v, char out[HOCKET__NUM_MAX])
{
    char digits[HOCKET__NUM_MAX], *end = out;
    int point = 1, n = 1;
    digits[0] = '0';
    if (isfinite(v)) {
        if (signbit(v))
            *end++ = '-';
        if (v != 0 && (n = few_decimals(fabs(v), digits, &point)) == 0)
            n = shortest_digits(v, digits, &point);
        end = point > -4 && point <= 16 ? layout_plain(end, digits, n, point)
                                        : layout_exponent(end, digits, n, point);
    }
    *end = 0;
    return (size_t) (end - out);
}

static size_t digits_of(uint64_t v)
{
    size_t n = 1;
    for (; v >= 100; v /= 100)
        n += 2;
    return n + (v >= 10);
}

/* Most are one digit. */
char *hocket__num_put_int(char *out, int64_t v)
{
    uint64_t rest = v < 0 ? 0 - (uint64_t) v : (uint64_t) v;
    if (v < 0)
        *out++ = '-';
    if (rest < 10) {
        *out = (char) ('0' + rest);
        return out + 1;
    }
    char *end = out + digits_of(rest);
    for (char *at = end; at > out; rest /= 10)
        *--at = (char) ('0' + rest % 10);
    return end;
}

size_t hocket__num_print_int(int64_t v, char out[HOCKET__NUM_MAX])
{
    char *end = hocket__num_put_int(out, v);
    *end = 0;
    return (size_t) (end - out);
}

/* In decimal, because a double has no exact thousandths. */
char *hocket__num_put_decimal(char *out, int64_t v, int places)
{
    int64_t one = 1;
    for (int i = 0; i < places; i++)
        one *= 10;
    out = hocket__num_put_int(out, v / one);
    *out++ = '.';
    int64_t rest = v % one;
    if (rest == 0) {
        *out++ = '0';
        return out;
    }
    for (int i = places; i-- > 0; rest /= 10)
        out[i] = (char) ('0' + rest % 10);
    out += places;
    while (out[-1] == '0')
        out--;
    return out;
}

bool hocket__num_fits(struct hocket__str text)
{
    char printed[HOCKET__NUM_MAX];
    int64_t i;
    double d;
    bool is_int, is_whole = true;
    if (hocket__num_int(text, &i))
        return true;
    hocket__num_read(text, &is_int, &i, &d);
    for (size_t k = 0; k < text.n; k++)
        is_whole &= !memchr(".eE", text.p[k], 3);
    if (!isfinite(d) || !is_whole)
        return isfinite(d);
    size_t n = hocket__num_print(d, printed);
    return hocket__num_equal(text, hocket__str(printed, n));
}
