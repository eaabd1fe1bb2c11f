/* Whether a tool call is the same one again: a number for its tool, its arguments and its result.
 *
 * For the watch over sessions that go in circles: the same tool with the same arguments and the
 * same result, whatever the random words of fences in it are. Two that have one digest by accident
 * cost a warning; so 64 bits do. */
#include <string.h>

#include "bind/llm/llm.h"

/* Letters are ASCII's, whatever the host's locale is. */
static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "<" or "</", letters, "-", and a word, which is new each time: see fence.lua. Returns the place
 * of the word, or NULL. */
static const char *frame_word(const char *p, const char *end)
{
    const char *from = ++p < end && *p == '/' ? ++p : p;
    while (p < end && *p >= 'a' && *p <= 'z')
        p++;
    return p > from && p + 1 < end && *p == '-' && is_alnum(p[1]) ? p + 1 : NULL;
}

/* The text without the words of its frames. */
static struct hocket__str without_words(struct hocket__str s, struct hocket__buf *out)
{
    const char *end = s.p + s.n, *from = s.p, *at = s.n ? memchr(s.p, '<', s.n) : NULL;
    if (!at)
        return s;
    hocket__buf_reset(out);
    for (; at; at = memchr(at, '<', (size_t) (end - at))) {
        const char *word = frame_word(at++, end);
        if (!word)
            continue;
        hocket__buf_add(out, from, (size_t) (word - from));
        while (word < end && is_alnum(*word))
            word++;
        from = at = word;
    }
    hocket__buf_add(out, from, (size_t) (end - from));
    return hocket__buf_str(out);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 32;
}

static uint64_t digest(uint64_t h, const char *p, size_t n)
{
    uint64_t word;
    for (h = mix(h, n); n >= sizeof(word); p += sizeof(word), n -= sizeof(word)) {
        memcpy(&word, p, sizeof(word));
        h = mix(h, word);
    }
    word = 0;
    if (n > 0)
        memcpy(&word, p, n);
    return mix(h, word);
}

/* Long texts count by their ends and their length. */
static uint64_t digest_ends(uint64_t h, struct hocket__str s)
{
    enum { END = 200 };
    /* Results of megabytes are compared after every call; two that differ in the middle alone
     * are rare, and taking them for the same costs a hint to the model. */
    if (s.n <= 2 * END)
        return digest(h, s.p, s.n);
    return digest(digest(mix(h, s.n), s.p, END), s.p + s.n - END, END);
}

uint64_t hocket__call_digest(
    const struct hocket__call *c, struct hocket__str result, struct hocket__buf *scratch)
{
    uint64_t h = digest(0, c->name.data, c->name.len);
    h = digest_ends(h, hocket__buf_str(&c->arguments));
    return digest_ends(h, without_words(result, scratch));
}
