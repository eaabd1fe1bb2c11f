/* Tokens before anybody has counted them. Every provider cuts texts in its own way, none says how; what is the
 * same for all is that words are a token or two, digits go in threes, and letters beyond ASCII cost more. The
 * program docs/tools/tokens.lua measures how far off that is. */
#include "net/protocol/history.h"

#define PART 16 /* of a token: what is summed */

enum kind { WORD, DIGIT, BLANK, LINE, MARK, LETTER2, LETTER3, LETTER4, REST };

static enum kind kind_of(unsigned char c)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return WORD;
    if (c >= '0' && c <= '9')
        return DIGIT;
    if (c == ' ' || c == '\t')
        return BLANK;
    if (c == '\n' || c == '\r')
        return LINE;
    if (c < 0x80)
        return MARK;
    return c < 0xC0 ? REST : c < 0xE0 ? LETTER2 : c < 0xF0 ? LETTER3 : LETTER4;
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

/* Where the word that begins at i ends: also where small letters are followed by a capital, as in names of programs
 * and in base64. */
static size_t word_end(struct hocket__str s, size_t i)
{
    for (i++; i < s.n && kind_of((unsigned char) s.p[i]) == WORD; i++)
        if (is_lower(s.p[i - 1]) && !is_lower(s.p[i]))
            break;
    return i;
}

static size_t run_end(struct hocket__str s, size_t i, enum kind kind)
{
    if (kind == WORD)
        return word_end(s, i);
    do
        i++;
    while (i < s.n && kind_of((unsigned char) s.p[i]) == kind);
    return i;
}

static size_t parts_of(enum kind kind, size_t n)
{
    switch (kind) {
    case WORD: /* a further token for each four letters past the seventh */
        return PART + (n > 7 ? (n - 7) * PART / 4 : 0);
    case DIGIT: return (n + 2) / 3 * PART;
    case BLANK: /* one goes with the word behind it */ return n > 1 ? PART : 0;
    case LINE: return PART;
    case MARK: return 5 + n * 5; /* several are often one */
    case LETTER2: return n * 10;
    case LETTER3: return n * 16;
    case LETTER4: return n * 32;
    case REST: break;
    }
    return 0;
}

/* Where the base64 that begins at i ends; i when that is no picture's, recording's or document's. Within texts quotes
 * are escaped, so none can pose as it. */
static size_t data_end(struct hocket__str s, size_t i)
{
    static const struct hocket__str key = HOCKET__STR("data\":\"");
    if (i < 2 || s.p[i - 1] != '"' || s.p[i - 2] == '\\' || s.n - i < key.n
        || memcmp(s.p + i, key.p, key.n) != 0)
        return i;
    const char *end = memchr(s.p + i + key.n, '"', s.n - i - key.n);
    return end ? (size_t) (end - s.p) : i;
}

/* Of a picture's data nobody is charged by the byte. A large one has some thousands, a page of a PDF as well. */
static size_t data_parts(size_t n)
{
    return n < 4096 ? n * PART / 4 : (1000 + n / 512) * PART;
}

static size_t guess(struct hocket__str text)
{
    size_t parts = 0;
    for (size_t i = 0; i < text.n;) {
        enum kind kind = kind_of((unsigned char) text.p[i]);
        size_t data = kind == WORD ? data_end(text, i) : i;
        if (data > i) {
            parts += data_parts(data - i);
            i = data;
            continue;
        }
        size_t end = run_end(text, i, kind);
        parts += parts_of(kind, end - i);
        i = end;
    }
    return parts;
}

int64_t hocket__tokens_guess(struct hocket__str text)
{
    return (int64_t) (guess(text) / PART);
}

void hocket__history_count(struct hocket__history *h, int64_t tokens)
{
    h->counted = tokens;
    h->counted_at = h->messages.len;
}

/* The guess for the first `len` bytes; lines begin and end at `len`. */
static size_t guess_to(struct hocket__history *h, size_t len)
{
    if (len < h->guessed_at)
        h->guess = h->guessed_at = 0;
    h->guess += guess(hocket__str(h->messages.data + h->guessed_at, len - h->guessed_at));
    h->guessed_at = len;
    return h->guess;
}

struct hocket__history_tokens hocket__history_tokens(struct hocket__history *h)
{
    struct hocket__history_tokens t = { .counted = h->counted };
    if (h->messages.len == 0)
        return t;
    if (h->known_at != h->counted_at) {
        h->known = guess_to(h, h->counted_at);
        h->known_at = h->counted_at;
    }
    t.known = (int64_t) (h->known / PART);
    t.rest = (int64_t) ((guess_to(h, h->messages.len) - h->known) / PART);
    return t;
}
