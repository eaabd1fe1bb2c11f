#include "net/cassette/secrets.h"

#include <strings.h>

#define SHORTEST 6

void hocket__secrets_init(struct hocket__secrets *s, const struct hocket_allocator *a)
{
    hocket__buf_init(&s->list, a, 1 << 20);
}

void hocket__secrets_deinit(struct hocket__secrets *s)
{
    if (s->list.data)
        memset(s->list.data, 0, s->list.len);
    hocket__buf_deinit(&s->list);
}

/* ---- Adding ------------------------------------------------------------------------ */

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

static void add_as(struct hocket__secrets *s, struct hocket__str key,
    void (*write)(struct hocket__buf *out, char c))
{
    size_t from = s->list.len;
    for (size_t i = 0; i < key.n; i++)
        write(&s->list, key.p[i]);
    struct hocket__str made = hocket__str(s->list.data + from, s->list.len - from);
    size_t end = s->list.len;
    s->list.len = from; /* so that it does not find itself */
    bool known = is_known(s, made);
    s->list.len = known ? from : end;
    if (!known)
        hocket__buf_addc(&s->list, 0);
}

int hocket__secrets_add(struct hocket__secrets *s, struct hocket__str key)
{
    if (key.n < SHORTEST || memchr(key.p, 0, key.n) || is_known(s, key))
        return 0;
    size_t before = s->list.len;
    if (hocket__buf_reserve(&s->list, key.n * 6 + 3) < 0) {
        s->list.len = before;
        return HOCKET_ENOMEM;
    }
    add_as(s, key, write_plain);
    add_as(s, key, write_json);
    add_as(s, key, write_percent);
    return 0;
}

/* ---- Masking ----------------------------------------------------------------------- */

static void mask_one(char *text, size_t n, struct hocket__str secret)
{
    if (n < secret.n) /* there may be no text at all */
        return;
    char *end = text + n;
    for (char *p = text; (size_t) (end - p) >= secret.n;) {
        p = memchr(p, secret.p[0], (size_t) (end - p) - secret.n + 1);
        if (!p)
            return;
        if (memcmp(p, secret.p, secret.n) == 0) {
            memset(p, '*', secret.n);
            p += secret.n;
        } else {
            p++;
        }
    }
}

void hocket__secrets_mask(const struct hocket__secrets *s, char *text, size_t n)
{
    for (size_t at = 0; at < s->list.len; at += strlen(s->list.data + at) + 1)
        mask_one(text, n, hocket__cstr(s->list.data + at));
}

static bool sounds_secret(const char *name, size_t n)
{
    static const char *const words[] = { "key", "token", "secret", "password", "passwd", "auth",
        "signature", "sig", "credential" };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t len = strlen(words[i]);
        if (n >= len && strncasecmp(name + n - len, words[i], len) == 0)
            return true;
    }
    return false;
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
