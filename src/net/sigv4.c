/* The canonical request and its digest, the text that is signed and its key, in the order of AWS's own description.
 * No look at the clock, and no memory but the buffers'. */
#include "net/sigv4.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash/hash.h"
#include "base/isotime.h"
#include "base/status.h"

#define SIGNED       "content-type;host;x-amz-date"
#define SIGNED_TOKEN SIGNED ";x-amz-security-token"
#define BLOCK        64

static void hmac(const uint8_t *key, size_t n, struct hocket__str text, uint8_t out[HOCKET__SHA256])
{
    uint8_t inner[BLOCK] = { 0 }, outer[BLOCK], digest[HOCKET__SHA256];
    struct hocket__sha256 s;
    if (n > BLOCK)
        hocket__sha256(hocket__str((const char *) key, n), inner);
    else
        memcpy(inner, key, n);
    for (int i = 0; i < BLOCK; i++) {
        outer[i] = inner[i] ^ 0x5c;
        inner[i] ^= 0x36;
    }
    hocket__sha256_init(&s);
    hocket__sha256_add(&s, hocket__str((const char *) inner, BLOCK));
    hocket__sha256_add(&s, text);
    hocket__sha256_end(&s, digest);
    hocket__sha256_init(&s);
    hocket__sha256_add(&s, hocket__str((const char *) outer, BLOCK));
    hocket__sha256_add(&s, hocket__str((const char *) digest, sizeof(digest)));
    hocket__sha256_end(&s, out);
    hocket__wipe(inner, sizeof(inner));
    hocket__wipe(outer, sizeof(outer));
}

static void put_hex(struct hocket__buf *b, const uint8_t digest[HOCKET__SHA256])
{
    for (int i = 0; i < HOCKET__SHA256; i++)
        hocket__buf_addf(b, "%02x", digest[i]);
}

static void put_digest(struct hocket__buf *b, struct hocket__str text)
{
    uint8_t digest[HOCKET__SHA256];
    hocket__sha256(text, digest);
    put_hex(b, digest);
}

/* The path as it is sent is escaped once more: %3A is signed as %253A. */
static void put_path(struct hocket__buf *b, struct hocket__str path)
{
    for (size_t i = 0; i < path.n; i++) {
        unsigned char c = (unsigned char) path.p[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
                     || memchr("-_.~/", c, 5);
        if (plain)
            hocket__buf_addc(b, (char) c);
        else
            hocket__buf_addf(b, "%%%02X", c);
    }
}

/* "https://host:443/path": the host as libcurl sends it, without the port that is usual. */
static bool split(struct hocket__str url, struct hocket__str *host, struct hocket__str *path)
{
    const char *scheme = hocket__find(url.p, url.n, "://", 3), *end = url.p + url.n;
    if (!scheme || memchr(url.p, '?', url.n))
        return false;
    const char *from = scheme + 3, *slash = memchr(from, '/', (size_t) (end - from));
    const char *stop = slash ? slash : end,
               *at = hocket__find_last(from, '@', (size_t) (stop - from));
    from = at ? at + 1 : from;
    *host = hocket__str(from, (size_t) (stop - from));
    *path = slash ? hocket__str(slash, (size_t) (end - slash)) : HOCKET__STR("/");
    bool https = scheme - url.p == 5;
    struct hocket__str usual = https ? HOCKET__STR(":443") : HOCKET__STR(":80");
    if (host->n > usual.n && memcmp(host->p + host->n - usual.n, usual.p, usual.n) == 0)
        host->n -= usual.n;
    return host->n > 0;
}

struct stamp {
    char text[17]; /* 20150830T123600Z; the first eight are the day */
};

static struct stamp stamp_of(int64_t now)
{
    struct stamp s;
    char text[HOCKET__ISOTIME_SIZE]; /* 2015-08-30T12:36:00.000Z */
    hocket__isotime(now * 1000, text);
    snprintf(s.text, sizeof(s.text), "%.4s%.2s%.5s%.2s%.2sZ", text, text + 5, text + 8, text + 14,
        text + 17);
    return s;
}

static void put_scope(struct hocket__buf *b, const struct hocket__sigv4 *k, const struct stamp *s)
{
    hocket__buf_add(b, s->text, 8);
    hocket__buf_addf(b, "/%.*s/%.*s/aws4_request", (int) k->region.n, k->region.p,
        (int) k->service.n, k->service.p);
}

static void put_request(struct hocket__buf *b, const struct hocket__sigv4 *k,
    struct hocket__str host, struct hocket__str path, struct hocket__str body,
    const struct stamp *s)
{
    hocket__buf_adds(b, "POST\n");
    put_path(b, path);
    hocket__buf_adds(b, "\n\ncontent-type:application/json\nhost:");
    hocket__buf_addstr(b, host);
    hocket__buf_addf(b, "\nx-amz-date:%s\n", s->text);
    if (k->token.n > 0) {
        hocket__buf_adds(b, "x-amz-security-token:");
        hocket__buf_addstr(b, k->token);
        hocket__buf_addc(b, '\n');
    }
    hocket__buf_addf(b, "\n%s\n", k->token.n > 0 ? SIGNED_TOKEN : SIGNED);
    put_digest(b, body);
}

static void put_signature(struct hocket__buf *b, const struct hocket__sigv4 *k,
    const struct stamp *s, struct hocket__str text)
{
    uint8_t key[HOCKET__SHA256];
    struct hocket__buf first = hocket__buf(b->a, 0);
    hocket__buf_adds(&first, "AWS4");
    hocket__buf_addstr(&first, k->secret);
    if (first.status < 0) {
        b->status = first.status;
        return;
    }
    hmac((const uint8_t *) first.data, first.len, hocket__str(s->text, 8), key);
    hmac(key, sizeof(key), k->region, key);
    hmac(key, sizeof(key), k->service, key);
    hmac(key, sizeof(key), HOCKET__STR("aws4_request"), key);
    hmac(key, sizeof(key), text, key);
    put_hex(b, key);
    hocket__wipe(first.data, first.len);
    hocket__buf_deinit(&first);
}

static void put_lines(struct hocket__buf *b, const struct hocket__sigv4 *k, const struct stamp *s,
    struct hocket__str text)
{
    hocket__buf_addf(b, "x-amz-date: %s", s->text);
    hocket__buf_addc(b, 0);
    if (k->token.n > 0) {
        hocket__buf_adds(b, "x-amz-security-token: ");
        hocket__buf_addstr(b, k->token);
        hocket__buf_addc(b, 0);
    }
    hocket__buf_adds(b, "authorization: AWS4-HMAC-SHA256 Credential=");
    hocket__buf_addstr(b, k->id);
    hocket__buf_addc(b, '/');
    put_scope(b, k, s);
    hocket__buf_addf(b, ", SignedHeaders=%s, Signature=", k->token.n > 0 ? SIGNED_TOKEN : SIGNED);
    put_signature(b, k, s, text);
    hocket__buf_addc(b, 0);
}

int hocket__sigv4_sign(const struct hocket__sigv4 *k, struct hocket__str url,
    struct hocket__str body, int64_t now, struct hocket__buf *lines)
{
    struct hocket__str host, path;
    struct hocket__buf request, text;
    struct stamp s = stamp_of(now);
    if (!split(url, &host, &path))
        return HOCKET_EINVAL;
    hocket__buf_init(&request, lines->a, 0);
    hocket__buf_init(&text, lines->a, 0);
    put_request(&request, k, host, path, body, &s);
    hocket__buf_addf(&text, "AWS4-HMAC-SHA256\n%s\n", s.text);
    put_scope(&text, k, &s);
    hocket__buf_addc(&text, '\n');
    put_digest(&text, hocket__buf_str(&request));
    int status = request.status < 0 ? request.status : text.status;
    if (status == 0)
        put_lines(lines, k, &s, hocket__buf_str(&text));
    hocket__buf_deinit(&request);
    hocket__buf_deinit(&text);
    return status < 0 ? status : lines->status;
}
