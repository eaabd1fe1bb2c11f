/* The certificate and its key: read, looked at with suspicion, made into what sessions begin from, and read again
 * when they change. What is new replaces what was only when all of it is good. */
#include "serve/tls/tls_impl.h"

#include <errno.h>

#include "base/bytes.h"
#include "base/system_names.h"
#include "os/fs.h"

#define MAX_FILE 262144

const char *hocket__tls_reason(const struct hocket__ssl *lib)
{
    const char *reason = lib->ERR_reason_error_string(lib->ERR_peek_last_error());
    return reason ? reason : "no reason is known";
}

/* ---- Files ------------------------------------------------------------------------------ */

static struct hocket__tls_stamp stamp_of(const uv_stat_t *info)
{
    return (struct hocket__tls_stamp){ info->st_dev, info->st_ino, info->st_size, info->st_ctim };
}

/* What is not there has a stamp as well: none. */
static void look(const struct hocket__tls *t, struct hocket__tls_stamp out[2])
{
    const char *const paths[2] = { t->cert, t->key };
    uv_stat_t info;
    for (int i = 0; i < 2; i++)
        out[i] = hocket__fs_stat(paths[i], &info) == 0 ? stamp_of(&info)
                                                       : (struct hocket__tls_stamp){ 0 };
}

static bool same(const struct hocket__tls_stamp *a, const struct hocket__tls_stamp *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size
           && a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* As sshd and PostgreSQL have it: one's own is for nobody else; root's may be for a group (Debian's ssl-cert). */
static bool others_read(const uv_stat_t *info)
{
    return info->st_mode & (info->st_uid == 0 ? 027 : 077);
}

static int check_file(
    const char *path, const uv_stat_t *info, bool secret, struct hocket_error *err)
{
    if (!S_ISREG(info->st_mode) || info->st_size > MAX_FILE)
        return hocket__error(
            err, HOCKET_EINVAL, "%s: expected a file of at most 256 KiB, in PEM", path);
    if (secret && others_read(info))
        return hocket__error(err, HOCKET_EDENIED,
            "the key in %s can be read or written by others: chmod 600 %s", path, path);
    return 0;
}

static int read_all(int fd, struct hocket__buf *out)
{
    char piece[4096];
    int n = 1;
    while (n != 0 && out->len <= MAX_FILE) {
        n = hocket__fs_read(fd, piece, sizeof(piece));
        if (n < 0 && n != UV_EINTR)
            return -n;
        if (n > 0 && hocket__buf_add(out, piece, (size_t) n))
            return ENOMEM;
    }
    hocket__wipe(piece, sizeof(piece));
    return out->len > MAX_FILE ? EFBIG : 0;
}

/* The rights that count are those of the file that is read, whatever the name leads to by then. */
static int read_file(
    const char *path, bool secret, struct hocket__buf *out, struct hocket_error *err)
{
    uv_stat_t info = { 0 };
    int fd = hocket__fs_open(path), rc = fd < 0 ? fd : hocket__fs_fstat(fd, &info);
    if (rc < 0) {
        if (fd >= 0)
            hocket__fs_close(fd);
        return hocket__error(err, HOCKET_EIO, "cannot read %s: %s", path, hocket__errno_text(-rc));
    }
    rc = check_file(path, &info, secret, err);
    int error = rc == 0 ? read_all(fd, out) : 0;
    hocket__fs_close(fd);
    return error ? hocket__error(err, error == ENOMEM ? HOCKET_ENOMEM : HOCKET_EIO,
               "cannot read %s: %s", path, hocket__errno_text(error))
                 : rc;
}

bool hocket__tls_changed(const struct hocket__tls *t)
{
    struct hocket__tls_stamp now[2];
    look(t, now);
    return !same(&now[0], &t->seen[0]) || !same(&now[1], &t->seen[1]);
}

/* ---- What stands in them ------------------------------------------------------------------ */

/* OpenSSL would ask on the terminal. */
static int no_passphrase(char *out, int size, int writing, void *ud)
{
    (void) out;
    (void) size;
    (void) writing;
    *(bool *) ud = true;
    return -1;
}

static EVP_PKEY *read_key(struct hocket__tls *t, BIO *in, struct hocket_error *err)
{
    bool encrypted = false;
    EVP_PKEY *key = t->lib->PEM_read_bio_PrivateKey(in, NULL, no_passphrase, &encrypted);
    if (!key && encrypted)
        hocket__error(err, HOCKET_EINVAL,
            "the key in %s has a passphrase, which nobody can be asked for: openssl pkey -in %s "
            "-out NEW writes it without one",
            t->key, t->key);
    else if (!key)
        hocket__error(err, HOCKET_EINVAL, "%s has no private key in PEM (%s)", t->key,
            hocket__tls_reason(t->lib));
    return key;
}

/* The chain follows the certificate; what a file has besides is passed over. */
static int add_chain(struct hocket__tls *t, SSL_CTX *ctx, BIO *in, struct hocket_error *err)
{
    X509 *next;
    while ((next = t->lib->PEM_read_bio_X509(in, NULL, NULL, NULL))) {
        if (t->lib->SSL_CTX_ctrl(ctx, SSL_CTRL_CHAIN_CERT, 0, next) != 1) {
            t->lib->X509_free(next);
            return hocket__error(err, HOCKET_EINVAL, "%s: %s", t->cert, hocket__tls_reason(t->lib));
        }
    }
    unsigned long last = t->lib->ERR_peek_last_error();
    if (ERR_GET_REASON(last) == PEM_R_NO_START_LINE)
        return 0; /* the end */
    return hocket__error(err, HOCKET_EINVAL, "%s: a certificate of its chain cannot be read (%s)",
        t->cert, hocket__tls_reason(t->lib));
}

static int take_cert(
    struct hocket__tls *t, SSL_CTX *ctx, BIO *in, X509 **leaf, struct hocket_error *err)
{
    *leaf = t->lib->PEM_read_bio_X509(in, NULL, NULL, NULL);
    if (!*leaf)
        return hocket__error(err, HOCKET_EINVAL, "%s has no certificate in PEM (%s)", t->cert,
            hocket__tls_reason(t->lib));
    if (t->lib->SSL_CTX_use_certificate(ctx, *leaf) != 1)
        return hocket__error(err, HOCKET_EINVAL, "the certificate in %s cannot be used: %s",
            t->cert, hocket__tls_reason(t->lib));
    return add_chain(t, ctx, in, err);
}

static int take_key(
    struct hocket__tls *t, SSL_CTX *ctx, BIO *in, X509 *leaf, struct hocket_error *err)
{
    EVP_PKEY *key = read_key(t, in, err);
    int rc = key ? 0 : HOCKET_EINVAL;
    if (key && t->lib->X509_check_private_key(leaf, key) != 1)
        rc = hocket__error(err, HOCKET_EINVAL, "the key in %s is not that of the certificate in %s",
            t->key, t->cert);
    else if (key && t->lib->SSL_CTX_use_PrivateKey(ctx, key) != 1)
        rc = hocket__error(err, HOCKET_EINVAL, "the key in %s cannot be used: %s", t->key,
            hocket__tls_reason(t->lib));
    t->lib->EVP_PKEY_free(key);
    return rc;
}

/* A client that names protocols, and not this one, would be answered in one that it does not speak. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
    const unsigned char *in, unsigned in_len, void *ud)
{
    static const unsigned char ours[] = "http/1.1";
    (void) ssl;
    (void) ud;
    for (unsigned i = 0; i < in_len; i += in[i] + 1u) {
        if (in[i] != sizeof(ours) - 1 || in_len - i - 1 < in[i]
            || memcmp(in + i + 1, ours, in[i]) != 0)
            continue;
        *out = in + i + 1;
        *out_len = in[i];
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *new_context(const struct hocket__ssl *lib)
{
    SSL_CTX *ctx = lib->SSL_CTX_new(lib->TLS_server_method());
    if (!ctx)
        return NULL;
    lib->SSL_CTX_ctrl(ctx, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
    lib->SSL_CTX_ctrl(ctx, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, NULL);
    lib->SSL_CTX_ctrl(ctx, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
    lib->SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    lib->SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
    return ctx;
}

static int build(struct hocket__tls *t, const struct hocket__buf *cert,
    const struct hocket__buf *key, SSL_CTX *ctx, X509 **leaf, struct hocket_error *err)
{
    BIO *certs = t->lib->BIO_new_mem_buf(cert->len > 0 ? cert->data : "", (int) cert->len);
    BIO *keys = t->lib->BIO_new_mem_buf(key->len > 0 ? key->data : "", (int) key->len);
    int rc = ctx && certs && keys ? take_cert(t, ctx, certs, leaf, err) : hocket__error_nomem(err);
    if (rc == 0)
        rc = take_key(t, ctx, keys, *leaf, err);
    t->lib->BIO_free(certs);
    t->lib->BIO_free(keys);
    return rc;
}

static void wipe(struct hocket__buf *b)
{
    if (b->data)
        hocket__wipe(b->data, b->cap);
    hocket__buf_deinit(b);
}

int hocket__tls_reload(struct hocket__tls *t, struct hocket_error *err)
{
    struct hocket__buf cert, key;
    X509 *leaf = NULL;
    SSL_CTX *ctx = NULL;
    hocket__buf_init(&cert, t->a, 0);
    hocket__buf_init(&key, t->a, 0);
    look(t, t->seen); /* before they are read: a change in between is seen later */
    t->lib->ERR_clear_error();
    /* the key's buffer never moves, so that no copy of it is left */
    int rc = hocket__buf_reserve(&key, MAX_FILE + 4096) ? hocket__error_nomem(err) : 0;
    if (rc == 0)
        rc = read_file(t->cert, false, &cert, err);
    if (rc == 0)
        rc = read_file(t->key, true, &key, err);
    if (rc == 0)
        rc = build(t, &cert, &key, ctx = new_context(t->lib), &leaf, err);
    if (rc == 0) {
        SSL_CTX *old = t->ctx;
        X509 *old_leaf = t->leaf;
        t->ctx = ctx, ctx = old;
        t->leaf = leaf, leaf = old_leaf;
    }
    t->lib->SSL_CTX_free(ctx);
    t->lib->X509_free(leaf);
    t->lib->ERR_clear_error();
    hocket__buf_deinit(&cert);
    wipe(&key);
    return rc;
}

bool hocket__tls_expired(const struct hocket__tls *t)
{
    return t->lib->X509_cmp_current_time(t->lib->X509_get0_notAfter(t->leaf)) < 0;
}

bool hocket__tls_is_for(const struct hocket__tls *t, struct hocket__str host)
{
    char text[64];
    if (host.n == 0 || memchr(host.p, 0, host.n))
        return false;
    if (t->lib->X509_check_host(t->leaf, host.p, host.n, 0, NULL) == 1)
        return true;
    if (host.n >= sizeof(text))
        return false;
    memcpy(text, host.p, host.n);
    text[host.n] = 0;
    return t->lib->X509_check_ip_asc(t->leaf, text, 0) == 1;
}

/* ---- Its life ------------------------------------------------------------------------------ */

int hocket__tls_new(const struct hocket_allocator *a, const char *cert, const char *key,
    struct hocket__tls **out, struct hocket_error *err)
{
    const struct hocket__ssl *lib = hocket__ssl_load(err);
    if (!lib)
        return HOCKET_EUNSUPPORTED;
    struct hocket__tls *t = hocket__zero(a, sizeof(*t));
    if (!t)
        return hocket__error_nomem(err);
    t->a = a;
    t->lib = lib;
    hocket__buf_init(&t->sealed, a, 0);
    t->cert = hocket__strdup(a, cert, strlen(cert));
    t->key = hocket__strdup(a, key, strlen(key));
    t->method = hocket__tls_method(lib);
    int rc = t->cert && t->key && t->method ? hocket__tls_reload(t, err) : hocket__error_nomem(err);
    if (rc < 0)
        hocket__tls_free(t);
    else
        *out = t;
    return rc;
}

void hocket__tls_free(struct hocket__tls *t)
{
    if (!t)
        return;
    t->lib->SSL_CTX_free(t->ctx);
    t->lib->X509_free(t->leaf);
    t->lib->BIO_meth_free(t->method);
    hocket__strfree(t->a, t->cert);
    hocket__strfree(t->a, t->key);
    hocket__buf_deinit(&t->sealed);
    hocket__wipe(t->plain, sizeof(t->plain));
    hocket__free(t->a, t, sizeof(*t));
}
