/* What a root needs on each system: its errors, hashes of contents, and paths as texts (root.h). */
#include "os/root.h"

#include <errno.h>
#include <uv.h>

#include "base/hash/hash.h"
#include "os/errors.h"
#include "os/own.h"

/* ---- Errors -------------------------------------------------------------------------- */

int hocket__root_fail(struct hocket_error *err, const char *doing, const char *path)
{
    const char *words = errno == EXDEV     ? "it leads out of the project"
                        : errno == ELOOP   ? "it is, or leads through, a symbolic link"
                        : errno == ENOTDIR ? "a part of the path is no directory"
                                           : NULL;
    return hocket__errno_fail(err, doing, path, words);
}

/* ---- Hashes -------------------------------------------------------------------------- */

static struct {
    uv_once_t once;
    uint64_t key[2];
} secret = { .once = UV_ONCE_INIT };

static void make_key(void)
{
    if (hocket__random(secret.key, sizeof(secret.key)) != 0)
        secret.key[0] = 0x5a5a5a5a; /* still a good hash, though one that can be known */
}

#ifdef __SIZEOF_INT128__
/* A whole file is hashed at every read, so this is a fast one: 16 bytes a multiplication, as in
 * wyhash. Hashes leave the process as little as the key does, but for the log of a run that is kept, so that nobody can look
 * for two texts that have the same one. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 m = (unsigned __int128) a * b;
    return (uint64_t) m ^ (uint64_t) (m >> 64);
}

static uint64_t word(const char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof(w));
    return w;
}

static uint64_t hash_of(const uint64_t key[2], struct hocket__str s)
{
    const uint64_t *k = key;
    uint64_t a = k[0] ^ 0xa0761d6478bd642f, b = k[1] ^ 0xe7037ed1a0b428db, n = s.n;
    char last[32] = { 0 };
    for (; s.n >= 32; s = hocket__str(s.p + 32, s.n - 32)) {
        a = fold(word(s.p) ^ k[0], word(s.p + 8) ^ a);
        b = fold(word(s.p + 16) ^ k[1], word(s.p + 24) ^ b);
    }
    memcpy(last, s.p, s.n);
    a = fold(word(last) ^ k[0], word(last + 8) ^ a);
    b = fold(word(last + 16) ^ k[1], word(last + 24) ^ b);
    return fold(a ^ n, fold(b ^ k[1], k[0] ^ 0x8ebc6af09c88c6e3));
}
#else
static uint64_t hash_of(const uint64_t key[2], struct hocket__str s)
{
    return hocket__siphash(key, s);
}
#endif

void hocket__root_hash(struct hocket__str content, const unsigned char like[HOCKET__HASH],
    unsigned char hash[HOCKET__HASH])
{
    uint64_t key[2];
    uv_once(&secret.once, make_key);
    memcpy(key, like ? (const void *) like : secret.key, sizeof(key));
    uint64_t h = hash_of(key, content);
    memcpy(hash, key, sizeof(key));
    memcpy(hash + sizeof(key), &h, sizeof(h));
}

/* ---- Paths --------------------------------------------------------------------------- */

static void drop_part(struct hocket__buf *out, size_t from)
{
    size_t n = out->len;
    while (n > from && out->data[n - 1] != '/')
        n--;
    hocket__buf_cut(out, n > from ? n - 1 : from);
}

/* ".." is resolved as text and not by the file system: a/link/.. is a here, and the opening does
 * not come there by the link. */
int hocket__root_resolve(struct hocket__str text, struct hocket__str rest, struct hocket__buf *out,
    struct hocket_error *err)
{
    size_t from = out->len;
    while (rest.n > 0) {
        const char *slash = memchr(rest.p, '/', rest.n);
        size_t n = slash ? (size_t) (slash - rest.p) : rest.n, step = n + (slash != NULL);
        if (n == 2 && memcmp(rest.p, "..", 2) == 0) {
            if (out->len == from)
                return hocket__error(
                    err, HOCKET_EDENIED, "%.*s leads out of the project", (int) text.n, text.p);
            drop_part(out, from);
        } else if (n > 0 && !(n == 1 && rest.p[0] == '.')) {
            if (out->len > from)
                hocket__buf_addc(out, '/');
            hocket__buf_add(out, rest.p, n);
        }
        rest = hocket__str(rest.p + step, rest.n - step);
    }
    if (out->len == from)
        hocket__buf_addc(out, '.');
    return out->status < 0 ? hocket__error_nomem(err) : 0;
}
