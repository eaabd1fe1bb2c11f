/* Turns the bytes of a file into text. A byte order mark decides, then UTF-8 if all of it is valid.
 * Else it is an encoding of single bytes, recognized by its umlauts where that is possible, or it is
 * binary. The name of what was assumed goes along, so that a model knows when letters may be wrong. */
#include "os/decode.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

#define LOOK_AT ((size_t) 8192)

static uint32_t unit(const char *p, bool big)
{
    unsigned char a = (unsigned char) p[0], b = (unsigned char) p[1];
    return big ? (uint32_t) (a << 8 | b) : (uint32_t) (b << 8 | a);
}

static void from_utf16(struct hocket__str s, bool big, struct hocket__buf *out)
{
    for (size_t i = 0; i + 1 < s.n; i += 2) {
        uint32_t c = unit(s.p + i, big);
        if (c >= 0xD800 && c < 0xDC00 && i + 3 < s.n) {
            uint32_t low = unit(s.p + i + 2, big);
            if (low >= 0xDC00 && low < 0xE000) {
                c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
                i += 2;
            }
        }
        hocket__utf8_add(out, c); /* what is left of a pair becomes U+FFFD */
    }
}

/* The characters of Windows-1252 that Latin-1 has controls for, as far as texts of Western Europe have
 * them; 0 for others. */
static uint32_t windows(unsigned char c)
{
    switch (c) {
    case 0x80: return 0x20AC; /* euro */
    case 0x85: return 0x2026; /* ellipsis */
    case 0x91: return 0x2018; /* quotes … */
    case 0x92: return 0x2019;
    case 0x93: return 0x201C;
    case 0x94: return 0x201D;
    case 0x95: return 0x2022; /* bullet */
    case 0x96: return 0x2013; /* dashes … */
    case 0x97: return 0x2014;
    case 0x99: return 0x2122; /* trade mark */
    default: return 0;
    }
}

static void from_bytes(struct hocket__str s, bool known, struct hocket__buf *out)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char) s.p[i];
        uint32_t special = windows(c);
        hocket__utf8_add(out, c < 0x80 ? c : !known ? 0xFFFD : special ? special : c);
    }
}

static bool is_high(struct hocket__str s, size_t i)
{
    return i < s.n && (unsigned char) s.p[i] >= 0x80;
}

/* Pairs of letters that are neighbours in German words: ö and ß in "Größe". */
static bool is_umlaut(struct hocket__str s, size_t i)
{
    return s.p[i] && strchr("\xe4\xf6\xfc\xdf\xc4\xd6\xdc", s.p[i]) != NULL;
}

/* In Latin-1 letters beyond ASCII stand alone among others; in the encodings of Cyrillic, Greek,
 * Japanese, Chinese or Korean they follow each other, or are halves of pairs that use the
 * controls. Nothing tells such texts apart for certain: what is doubtful is unknown. */
static const char *name_of_bytes(struct hocket__str s)
{
    size_t high = 0, joined = 0;
    bool special = false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char) s.p[i];
        if (c < 0x80)
            continue;
        high++;
        if (c < 0xA0 && !windows(c))
            return "unknown";
        special = special || c < 0xA0;
        bool pair = is_high(s, i + 1) && !(is_umlaut(s, i) && is_umlaut(s, i + 1));
        joined += pair && !windows(c) && !windows((unsigned char) s.p[i + 1]);
    }
    return joined * 10 > high ? "unknown" : special ? "windows-1252" : "latin-1";
}

/* Controls that no text has; one in thirty is too many. */
static bool looks_binary(struct hocket__str s)
{
    size_t n = s.n < LOOK_AT ? s.n : LOOK_AT, odd = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char) s.p[i];
        odd += (c < 32 && !strchr("\t\n\r\f\b\033", c)) || c == 127;
    }
    return odd * 30 > n;
}

const char *hocket__decode_text(
    struct hocket__str s, struct hocket__buf *out, struct hocket__str *text)
{
    bool marked = s.n >= 3 && memcmp(s.p, "\xef\xbb\xbf", 3) == 0;
    const char *encoding;
    *text = hocket__str("", 0);
    if (s.n >= 2 && (memcmp(s.p, "\xff\xfe", 2) == 0 || memcmp(s.p, "\xfe\xff", 2) == 0)) {
        bool big = s.p[0] == '\xfe';
        encoding = big ? "utf-16be" : "utf-16le";
        from_utf16(hocket__str(s.p + 2, s.n - 2), big, out);
    } else if (memchr(s.p, 0, s.n)) {
        return "binary";
    } else if (hocket__utf8_valid(s.p, s.n) == s.n) {
        *text = marked ? hocket__str(s.p + 3, s.n - 3) : s;
        return marked ? "utf-8 with a byte order mark" : "utf-8";
    } else if (looks_binary(s)) {
        return "binary";
    } else {
        encoding = name_of_bytes(s);
        from_bytes(s, *encoding != 'u', out);
    }
    *text = hocket__buf_str(out);
    return encoding;
}

/* ---- Lines ------------------------------------------------------------------------ */

static const char *line_end(const char *p, const char *end)
{
    const char *at = memchr(p, '\n', (size_t) (end - p));
    return at ? at + 1 : end;
}

struct hocket__lines hocket__take_lines(
    struct hocket__str text, size_t first, size_t count, size_t max)
{
    const char *p = text.p, *end = p + text.n, *from = NULL, *to = NULL;
    struct hocket__lines l = { .first = first, .last = first - 1 };
    bool full = false;
    for (size_t number = 1; p < end; number++) {
        const char *next = line_end(p, end);
        l.total = number;
        if (number == first)
            from = to = p;
        if (from && number - first < count && !full) {
            size_t have = (size_t) (to - from);
            full = have + (size_t) (next - p) > max;
            l.cut = full && have == 0;
            if (l.cut)
                to = p + hocket__utf8_cut(p, max);
            else if (!full)
                to = next;
            if (!full || l.cut)
                l.last = number;
        }
        p = next;
    }
    l.piece = hocket__str(from ? from : "", from ? (size_t) (to - from) : 0);
    return l;
}
