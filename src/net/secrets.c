/* Keys that must not be written down, in all forms in which they may come up. They are plain, as JSON
 * has them, percent-encoded in both cases, and in base64. In base64 they may begin at three places of a
 * larger text. Masking replaces bytes by as many stars, so that places that are
 * known in a text stay true.
 *
 * The list is zeroed before it is freed. Keys shorter than SHORTEST are left out: a text would be
 * full of stars by chance. */
#include "net/secrets.h"

#include <strings.h>

#include "base/bytes.h"

#define SHORTEST 6
#define LONG                                                                                       \
    512 /* bytes of a text from which on hocket__find, which skips ahead, is worth its start */

void hocket__secrets_init(struct hocket__secrets *s, const struct hocket_allocator *a)
{
    memset(s, 0, sizeof(*s));
    hocket__buf_init(&s->list, a, 1 << 20);
}

void hocket__secrets_deinit(struct hocket__secrets *s)
{
    if (s->list.data)
        memset(s->list.data, 0, s->list.len);
    hocket__buf_deinit(&s->list);
}

/* ---- Adding ------------------------------------------------------------------------ */

/* Texts one behind another, each with a zero byte: keys hold none. */
static bool is_known(const struct hocket__secrets *s, struct hocket__str key)
{
    for (size_t at = 0; at < s->list.len; at += strlen(s->list.data + at) + 1)
        if (hocket__str_is(key, s->list.data + at))
            return true;
    return false;
}

static void write_plain(struct hocket__buf *out, char c)
{
    hocket__buf_addc(out, c);
}

static void write_json(struct hocket__buf *out, char c)
{
    if (c == '"' || c == '\\' || c == '/')
        hocket__buf_addc(out, '\\');
    hocket__buf_addc(out, c);
}

static void write_percent(struct hocket__buf *out, char c)
{
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain || c == '-' || c == '_' || c == '.' || c == '~')
        hocket__buf_addc(out, c);
    else
        hocket__buf_addf(out, "%%%02X", (unsigned) (unsigned char) c);
}

/* 0 to 1023, of two bytes. */
static unsigned hash(const char *p)
{
    return ((unsigned char) p[0] * 37u + (unsigned char) p[1]) & 1023;
}

/* What was written to the list since `from` becomes one, unless it is there already. */
static void end_form(struct hocket__secrets *s, size_t from)
{
    struct hocket__str made = hocket__str(s->list.data + from, s->list.len - from);
    size_t end = s->list.len;
    s->list.len = from; /* so that it does not find itself */
    if (made.n < SHORTEST || is_known(s, made))
        return;
    unsigned h = hash(made.p);
    s->begin[h / 64] |= (uint64_t) 1 << h % 64;
    s->list.len = end;
    hocket__buf_addc(&s->list, 0);
    s->shortest = s->shortest == 0 || made.n < s->shortest ? made.n : s->shortest;
    s->longest = made.n > s->longest ? made.n : s->longest;
}

static void write_percent_small(struct hocket__buf *out, char c)
{
    size_t from = out->len;
    write_percent(out, c);
    for (size_t i = from; i < out->len && out->len - from == 3; i++)
        if (out->data[i] >= 'A' && out->data[i] <= 'F')
            out->data[i] |= 0x20;
}

static void add_as(struct hocket__secrets *s, struct hocket__str key,
    void (*write)(struct hocket__buf *out, char c))
{
    size_t from = s->list.len;
    for (size_t i = 0; i < key.n; i++)
        write(&s->list, key.p[i]);
    end_form(s, from);
}

/* Behind `before` other bytes (0 to 2): those letters that the key alone decides. */
static void add_base64(
    struct hocket__secrets *s, struct hocket__str key, size_t before, const char *last_two)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    size_t from = s->list.len, bits = (before + key.n) * 8;
    for (size_t bit = (before * 8 + 5) / 6 * 6; bit + 6 <= bits; bit += 6) {
        unsigned value = 0;
        for (size_t b = bit; b < bit + 6; b++) {
            unsigned byte = (unsigned char) key.p[b / 8 - before];
            value = value << 1 | (byte >> (7 - b % 8) & 1);
        }
        hocket__buf_addc(&s->list, value < 62 ? letters[value] : last_two[value - 62]);
    }
    end_form(s, from);
}

/* Reserved before: none of the forms is longer, and half a list would mask half of them. */
int hocket__secrets_add(struct hocket__secrets *s, struct hocket__str key)
{
    if (key.n < SHORTEST || memchr(key.p, 0, key.n) || is_known(s, key))
        return 0;
    size_t before = s->list.len;
    if (hocket__buf_reserve(&s->list, key.n * 20 + 20) < 0) {
        s->list.len = before;
        return HOCKET_ENOMEM;
    }
    add_as(s, key, write_plain);
    add_as(s, key, write_json);
    add_as(s, key, write_percent);
    add_as(s, key, write_percent_small);
    for (size_t into = 0; into < 3; into++) {
        add_base64(s, key, into, "+/");
        add_base64(s, key, into, "-_");
    }
    return 0;
}

/* ---- Masking ----------------------------------------------------------------------- */

static bool may_begin(const struct hocket__secrets *s, unsigned h)
{
    return s->begin[h / 64] >> h % 64 & 1;
}

/* The length of the longest secret that the text begins with, or 0. */
static size_t longest_at(const struct hocket__secrets *s, struct hocket__str text)
{
    size_t most = 0, n;
    for (const char *one = s->list.data, *end = one + s->list.len; one < end; one += n + 1) {
        n = strlen(one);
        if (n > most && n <= text.n && memcmp(one, text.p, n) == 0)
            most = n;
    }
    return most;
}

static bool holds_one(const struct hocket__secrets *s, const char *text, size_t n)
{
    size_t len;
    for (const char *one = s->list.data, *end = one + s->list.len; one < end; one += len + 1) {
        len = strlen(one);
        if (hocket__find(text, n, one, len))
            return true;
    }
    return false;
}

/* A byte is overwritten once everything that begins at it was found: what is compared is always the
 * text as it came. */
void hocket__secrets_mask(const struct hocket__secrets *s, char *text, size_t n)
{
    if (s->shortest == 0 || n < s->shortest || (n > LONG && !holds_one(s, text, n)))
        return;
    char *end = text + n, *last = end - s->shortest, *hidden = text;
    for (char *p = text; p <= last || p < hidden; p++) {
        if (p <= last && may_begin(s, hash(p))) {
            char *to = p + longest_at(s, hocket__str(p, (size_t) (end - p)));
            hidden = to > hidden ? to : hidden;
        }
        if (p < hidden)
            *p = '*';
    }
}

static bool sounds_secret(const char *name, size_t n)
{
    static const char *const words[] = { "key", "token", "secret", "password", "passwd", "auth",
        "authorization", "cookie", "signature", "sig", "credential" };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t len = strlen(words[i]);
        if (n >= len && strncasecmp(name + n - len, words[i], len) == 0)
            return true;
    }
    return false;
}

bool hocket__secrets_named(struct hocket__str name)
{
    return sounds_secret(name.p, name.n);
}

static size_t begun(struct hocket__str text, struct hocket__str secret)
{
    size_t most = secret.n - 1 < text.n ? secret.n - 1 : text.n;
    const char *end = text.p + text.n, *p = end - most;
    for (; (p = memchr(p, secret.p[0], (size_t) (end - p))); p++)
        if (memcmp(p, secret.p, (size_t) (end - p)) == 0)
            return (size_t) (end - p);
    return 0;
}

size_t hocket__secrets_begun(const struct hocket__secrets *s, struct hocket__str text)
{
    size_t most = 0;
    for (size_t at = 0; at < s->list.len; at += strlen(s->list.data + at) + 1) {
        size_t n = begun(text, hocket__cstr(s->list.data + at));
        most = n > most ? n : most;
    }
    return most;
}

/* "…//user:password@host…" */
static void mask_password(char *url, size_t n)
{
    size_t from = 0, at = 0, colon = 0;
    while (from + 1 < n && (url[from] != '/' || url[from + 1] != '/'))
        from++;
    for (size_t i = from + 2; i < n && !memchr("/?#", url[i], 3); i++) {
        if (url[i] == ':' && colon == 0)
            colon = i;
        if (url[i] == '@')
            at = i;
    }
    if (colon > 0 && at > colon)
        memset(url + colon + 1, '*', at - colon - 1);
}

void hocket__secrets_mask_url(const struct hocket__secrets *s, char *url, size_t n)
{
    hocket__secrets_mask(s, url, n);
    mask_password(url, n);
    char *query = memchr(url, '?', n), *end = url + n;
    while (query && ++query < end) {
        char *next = memchr(query, '&', (size_t) (end - query));
        char *stop = next ? next : end;
        char *equals = memchr(query, '=', (size_t) (stop - query));
        if (equals && sounds_secret(query, (size_t) (equals - query)))
            memset(equals + 1, '*', (size_t) (stop - equals) - 1);
        query = next;
    }
}
