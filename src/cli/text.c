/* Texts of models and tools on a terminal, hostile until they were made visible: an escape
 * sequence could paint a false prompt, a mark of direction show a command backwards.
 *
 * Widths are those of terminals: two columns for wide letters, none for marks that combine. A text
 * is never cut within a letter and the marks that follow it. */
#include "cli/text.h"

#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

/* ---- UTF-8 ------------------------------------------------------------- */

size_t cli_utf8_next(const char *p, size_t n, unsigned *code)
{
    const unsigned char *s = (const unsigned char *) p;
    static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t len = s[0] < 0x80 ? 1 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    if ((s[0] >= 0x80 && s[0] < 0xC2) || s[0] > 0xF4 || len > n)
        return 0;
    unsigned c = len == 1 ? s[0] : s[0] & (0xFFu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3Fu);
    }
    if (c < least[len] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return 0;
    *code = c;
    return len;
}

bool cli_text_is_utf8(const char *p, size_t n)
{
    unsigned code;
    for (size_t i = 0, len; i < n; i += len)
        if ((len = cli_utf8_next(p + i, n - i, &code)) == 0)
            return false;
    return true;
}

/* ---- Showing ----------------------------------------------------------- */

static bool is_space(unsigned c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0x2028 || c == 0x2029;
}

/* Controls, and the marks that turn the direction of what follows them. */
static bool is_hidden(unsigned c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E)
           || (c >= 0x2066 && c <= 0x2069) || c == 0x2028 || c == 0x2029 || c == 0x200E
           || c == 0x200F || c == 0x061C;
}

static void show_hidden(struct cli_buf *out, unsigned c)
{
    if (c < 0x80)
        cli_buf_addf(out, "^%c", (int) (c ^ 0x40));
    else
        cli_buf_addf(out, "<U+%04X>", c);
}

/* A line end of two bytes is one. */
static bool is_line_end(const char *p, size_t n, unsigned c)
{
    return c == '\n' || c == '\t' || (c == '\r' && n > 1 && p[1] == '\n');
}

static void show_one(
    struct cli_buf *out, const char *p, size_t n, size_t len, unsigned c, bool lines)
{
    if (len == 0)
        cli_buf_adds(out, "\xEF\xBF\xBD");
    else if (lines && is_line_end(p, n, c))
        cli_buf_add(out, p, c == '\r' ? 0 : 1);
    else if (is_hidden(c))
        show_hidden(out, c);
    else
        cli_buf_add(out, p, len);
}

void cli_text_show(struct cli_buf *out, const char *p, size_t n, bool lines)
{
    bool after_space = true;
    for (size_t i = 0; i < n;) {
        unsigned c = 0;
        size_t len = cli_utf8_next(p + i, n - i, &c);
        bool space = !lines && len > 0 && is_space(c);
        if (space && !after_space)
            cli_buf_adds(out, " ");
        else if (!space)
            show_one(out, p + i, n - i, len, c, lines);
        after_space = space;
        i += len ? len : 1;
    }
}

/* First bytes of what is hidden beyond ASCII. */
static bool may_be_hidden(char b)
{
    return b == '\xC2' || b == '\xD8' || b == '\xE2' || b == 0x7F;
}

void cli_text_json(struct cli_buf *out, const char *p, size_t n)
{
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned c = 0;
        size_t len = may_be_hidden(p[i]) ? cli_utf8_next(p + i, n - i, &c) : 0;
        if (len == 0 || !is_hidden(c))
            continue;
        cli_buf_add(out, p + from, i - from);
        cli_buf_addf(out, "\\u%04x", c);
        i += len - 1;
        from = i + 1;
    }
    cli_buf_add(out, p + from, n - from);
}

/* ---- Widths ------------------------------------------------------------ */

/* wcwidth goes by the locale; the process's own is left alone, because Lua's character classes
 * would change with it. */
static size_t width_of(unsigned c)
{
    static locale_t utf8;
    if (c < 0x80)
        return 1;
    if (!utf8)
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t) 0);
    locale_t before = utf8 ? uselocale(utf8) : (locale_t) 0;
    int w = wcwidth((wchar_t) c);
    if (before)
        uselocale(before);
    return w < 0 ? 1 : (size_t) w;
}

size_t cli_text_width(const char *p, size_t n)
{
    size_t width = 0;
    for (size_t i = 0; i < n;) {
        unsigned c = 0xFFFD;
        size_t len = cli_utf8_next(p + i, n - i, &c);
        width += width_of(c);
        i += len ? len : 1;
    }
    return width;
}

/* Bytes of the longest beginning that takes at most `columns`. */
static size_t fitting(const char *p, size_t n, size_t columns)
{
    size_t i = 0, width = 0;
    while (i < n) {
        unsigned c = 0xFFFD;
        size_t len = cli_utf8_next(p + i, n - i, &c);
        width += width_of(c);
        if (width > columns)
            break;
        i += len ? len : 1;
    }
    return i;
}

void cli_text_cut(struct cli_buf *out, const char *p, size_t n, size_t columns)
{
    size_t all = fitting(p, n, columns);
    if (all == n) {
        cli_buf_add(out, p, n);
        return;
    }
    if (columns == 0)
        return;
    size_t kept = fitting(p, n, columns - 1);
    while (kept > 0 && p[kept - 1] == ' ')
        kept--;
    cli_buf_add(out, p, kept);
    cli_buf_adds(out, "…");
}

size_t cli_text_fit(const char *p, size_t n, size_t columns)
{
    unsigned c;
    size_t fits = fitting(p, n, columns), first = fits || n == 0 ? fits : cli_utf8_next(p, n, &c);
    return first || n == 0 ? first : 1;
}

size_t cli_text_break(const char *p, size_t n, size_t columns)
{
    unsigned c;
    size_t fits = fitting(p, n, columns), at = fits;
    if (fits == n)
        return n;
    while (at > 0 && p[at] != ' ')
        at--;
    if (at > 0)
        return at;
    size_t first = cli_utf8_next(p, n, &c);
    return fits ? fits : first ? first : 1;
}

/* ---- Amounts ----------------------------------------------------------- */

void cli_text_seconds(struct cli_buf *out, double seconds)
{
    if (seconds < 9.95)
        cli_buf_addf(out, "%.1f s", seconds < 0 ? 0.0 : seconds);
    else
        cli_text_elapsed(out, seconds + 0.5);
}

void cli_text_elapsed(struct cli_buf *out, double seconds)
{
    long long whole = seconds < 0 ? 0 : (long long) seconds;
    if (whole < 60)
        cli_buf_addf(out, "%lld s", whole);
    else if (whole < 3600)
        cli_buf_addf(out, "%lld min %02lld s", whole / 60, whole % 60);
    else
        cli_buf_addf(out, "%lld h %02lld min", whole / 3600, whole / 60 % 60);
}

void cli_text_count(struct cli_buf *out, long long n)
{
    if (n < 1000)
        cli_buf_addf(out, "%lld", n);
    else if (n < 99950)
        cli_buf_addf(out, "%.1fk", (double) n / 1000);
    else if (n < 999500)
        cli_buf_addf(out, "%.0fk", (double) n / 1000);
    else
        cli_buf_addf(out, "%.1fM", (double) n / 1000000);
}

void cli_text_cached(struct cli_buf *out, long long n)
{
    if (n <= 0)
        return;
    cli_buf_adds(out, " (");
    cli_text_count(out, n);
    cli_buf_adds(out, " cached)");
}

void cli_text_word(struct cli_buf *out, const char *p, size_t n)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-";
    struct cli_buf shown = { 0 };
    cli_text_show(&shown, p, n, false);
    const char *text = cli_buf_text(&shown);
    bool quotes = !*text || text[strspn(text, plain)] != 0;
    cli_buf_adds(out, quotes ? "'" : "");
    for (size_t i = 0; i < shown.n; i++)
        if (text[i] == '\'')
            cli_buf_adds(out, "'\\''");
        else
            cli_buf_add(out, text + i, 1);
    cli_buf_adds(out, quotes ? "'" : "");
    cli_buf_free(&shown);
}

void cli_text_plural(struct cli_buf *out, long long n, const char *word)
{
    cli_buf_addf(out, "%lld %s%s", n, word, n == 1 ? "" : "s");
}

/* Terminals of today show UTF-8 unless the locale names another character set, as C and POSIX do; the console of
 * the kernel has no font for it. */
bool cli_text_shows_unicode(void)
{
    const char *names[] = { "LC_ALL", "LC_CTYPE", "LANG" }, *term = getenv("TERM");
    if (term && strcmp(term, "linux") == 0)
        return false;
    for (size_t i = 0; i < 3; i++) {
        const char *value = getenv(names[i]), *charset = value ? strchr(value, '.') : NULL;
        if (value && *value && (strcmp(value, "C") == 0 || strcmp(value, "POSIX") == 0))
            return false;
        if (value && *value)
            return !charset || strncasecmp(charset, ".utf", 4) == 0;
    }
    return true;
}

void cli_text_ascii(struct cli_buf *out, const char *p, size_t n)
{
    static const struct {
        const char *fine, *plain;
    } signs[] = { { "…", "..." }, { "·", "-" }, { "—", "-" }, { "–", "-" }, { "→", "->" },
        { "“", "\"" }, { "”", "\"" }, { "’", "'" }, { "▸", ">" }, { "✓", "ok" }, { "✗", "x" },
        { "─", "-" }, { "│", "|" }, { "└", "`" }, { "├", "|" }, { "━", "=" }, { "⠹", "*" } };
    for (size_t done = 0; done < n;) {
        size_t i = 0, count = sizeof(signs) / sizeof(*signs), len = 1;
        while (i < count
               && !(len = strlen(signs[i].fine),
                   n - done >= len && memcmp(p + done, signs[i].fine, len) == 0))
            i++;
        if (i < count)
            cli_buf_adds(out, signs[i].plain);
        else
            cli_buf_add(out, p + done, len = 1);
        done += len;
    }
}

bool cli_is_one_of(const char *word, const char *const *list)
{
    while (*list && (**list != *word || strcmp(*list, word) != 0)) /* a call for each event */
        list++;
    return *list != NULL;
}

bool cli_text_ends(const char *text, const char *tail)
{
    size_t n = strlen(text), m = strlen(tail);
    return n >= m && strcmp(text + n - m, tail) == 0;
}

bool cli_text_moment(time_t t, struct tm *out)
{
    return localtime_r(&t, out) != NULL;
}
