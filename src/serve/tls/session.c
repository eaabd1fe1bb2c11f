/* One connection's session. OpenSSL reads and writes by a BIO of our own: it reads what was fed, and what it
 * writes goes into one buffer, which whoever has the socket empties at once. So no session holds bytes of its
 * own but a record that has not come whole. */
#include "serve/tls/tls_impl.h"

#include "base/alloc.h"

#define RECORD_MORE 128 /* that a record is larger than what stands in it, whatever the cipher */

/* ---- Where OpenSSL reads and writes ------------------------------------------------------------ */

static int bio_write(BIO *b, const char *p, int n)
{
    struct hocket__tls_session *s = hocket__ssl()->BIO_get_data(b);
    return n > 0 && hocket__buf_add(&s->tls->sealed, p, (size_t) n) == 0 ? n : -1;
}

static int bio_read(BIO *b, char *out, int size)
{
    const struct hocket__ssl *lib = hocket__ssl();
    struct hocket__tls_session *s = lib->BIO_get_data(b);
    size_t n = size > 0 && (size_t) size < s->input.n ? (size_t) size : s->input.n;
    lib->BIO_clear_flags(b, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    if (n == 0) {
        lib->BIO_set_flags(b, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
        return -1;
    }
    memcpy(out, s->input.p, n);
    s->input = hocket__str(s->input.p + n, s->input.n - n);
    return (int) n;
}

static long bio_ctrl(BIO *b, int what, long n, void *p)
{
    (void) b;
    (void) n;
    (void) p;
    return what == BIO_CTRL_FLUSH;
}

BIO_METHOD *hocket__tls_method(const struct hocket__ssl *lib)
{
    BIO_METHOD *m = lib->BIO_meth_new(BIO_TYPE_SOURCE_SINK | 0x7f, "hocket");
    if (m && lib->BIO_meth_set_write(m, bio_write) && lib->BIO_meth_set_read(m, bio_read)
        && lib->BIO_meth_set_ctrl(m, bio_ctrl))
        return m;
    lib->BIO_meth_free(m);
    return NULL;
}

/* ---- Sessions ---------------------------------------------------------------------------------- */

struct hocket__tls_session *hocket__tls_session_new(struct hocket__tls *t)
{
    const struct hocket__ssl *lib = t->lib;
    struct hocket__tls_session *s = hocket__zero(t->a, sizeof(*s));
    SSL *ssl = s ? lib->SSL_new(t->ctx) : NULL;
    BIO *bio = ssl ? lib->BIO_new(t->method) : NULL;
    if (!bio) {
        lib->SSL_free(ssl);
        lib->ERR_clear_error();
        hocket__free(t->a, s, sizeof(*s));
        return NULL;
    }
    s->tls = t;
    s->ssl = ssl;
    lib->BIO_set_data(bio, s);
    lib->BIO_set_init(bio, 1);
    lib->SSL_set_bio(ssl, bio, bio);
    lib->SSL_set_accept_state(ssl);
    return s;
}

void hocket__tls_session_free(struct hocket__tls_session *s)
{
    if (!s)
        return;
    s->tls->lib->SSL_free(s->ssl);
    hocket__free(s->tls->a, s, sizeof(*s));
}

struct hocket__buf *hocket__tls_sealed(struct hocket__tls *t)
{
    return &t->sealed;
}

size_t hocket__tls_grown(size_t n)
{
    return n + (n / HOCKET__TLS_RECORD + 1) * RECORD_MORE;
}

void hocket__tls_feed(struct hocket__tls_session *s, const char *p, size_t n)
{
    s->input = hocket__str(p, n);
}

static int failed(struct hocket__tls_session *s)
{
    s->failed = true;
    return HOCKET_ETLS;
}

/* The errors of this thread are libcurl's as well: what another left there would be taken for ours. */
int hocket__tls_shake(struct hocket__tls_session *s, struct hocket_error *err)
{
    const struct hocket__ssl *lib = s->tls->lib;
    lib->ERR_clear_error();
    int rc = lib->SSL_do_handshake(s->ssl);
    if (rc == 1)
        return 1;
    if (lib->SSL_get_error(s->ssl, rc) == SSL_ERROR_WANT_READ)
        return 0;
    hocket__error(err, HOCKET_ETLS, "%s", hocket__tls_reason(lib));
    lib->ERR_clear_error();
    return failed(s);
}

int hocket__tls_read(struct hocket__tls_session *s, struct hocket__str *plain)
{
    const struct hocket__ssl *lib = s->tls->lib;
    if (s->failed)
        return HOCKET_ETLS;
    lib->ERR_clear_error();
    int n = lib->SSL_read(s->ssl, s->tls->plain, sizeof(s->tls->plain));
    if (n > 0) {
        *plain = hocket__str(s->tls->plain, (size_t) n);
        return 1;
    }
    int why = lib->SSL_get_error(s->ssl, n);
    lib->ERR_clear_error();
    if (why == SSL_ERROR_WANT_READ)
        return 0;
    return why == SSL_ERROR_ZERO_RETURN ? HOCKET_ECLOSED : failed(s);
}

int hocket__tls_write(struct hocket__tls_session *s, struct hocket__str plain)
{
    const struct hocket__ssl *lib = s->tls->lib;
    size_t n;
    if (s->failed)
        return HOCKET_ETLS;
    if (plain.n == 0)
        return 0;
    lib->ERR_clear_error();
    if (lib->SSL_write_ex(s->ssl, plain.p, plain.n, &n) == 1)
        return 0;
    lib->ERR_clear_error();
    return failed(s);
}

void hocket__tls_bye(struct hocket__tls_session *s)
{
    const struct hocket__ssl *lib = s->tls->lib;
    if (s->failed)
        return;
    lib->ERR_clear_error();
    lib->SSL_shutdown(s->ssl);
    lib->ERR_clear_error();
}
