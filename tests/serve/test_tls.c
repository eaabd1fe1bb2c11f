/* TLS as clients see it, good ones and others: OpenSSL's own client on the sockets of client.h. Certificates are made
 * here. */
#include "serve/client.h"
#include "serve/tls/tls.h"
#include "support/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define GET_HELLO "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
#define HELLO     "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
#define MANY      300 /* more than handshakes may go on at once */

static char dir[TEST_TEMP_PATH], cert[TEST_TEMP_PATH + 16], key[TEST_TEMP_PATH + 16];
static char other[TEST_TEMP_PATH + 16], other_key[TEST_TEMP_PATH + 16];

/* ---- Certificates -------------------------------------------------------------------------- */

static void write_key(const char *path, EVP_PKEY *pkey, const char *passphrase)
{
    unlink(path); /* with its rights */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    assert_int_equal(PEM_write_PrivateKey(f, pkey, passphrase ? EVP_aes_128_cbc() : NULL,
                         (const unsigned char *) passphrase,
                         passphrase ? (int) strlen(passphrase) : 0, NULL, NULL),
        1);
    fclose(f);
}

static void write_cert(const char *path, X509 *x)
{
    FILE *f = fopen(path, "w");
    assert_int_equal(PEM_write_X509(f, x), 1);
    fclose(f);
}

static void add_names(X509 *x, const char *names)
{
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
    assert_non_null(e);
    X509_add_ext(x, e, -1);
    X509_EXTENSION_free(e);
}

/* For `names`, good for so many seconds from yesterday. */
static void make(const char *cert_path, const char *key_path, const char *names, long seconds)
{
    EVP_PKEY *pkey = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    X509_NAME *name = X509_NAME_new();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -86400);
    X509_gmtime_adj(X509_getm_notAfter(x), seconds);
    X509_set_pubkey(x, pkey);
    X509_NAME_add_entry_by_txt(
        name, "CN", MBSTRING_ASC, (const unsigned char *) "box.example", -1, -1, 0);
    X509_set_subject_name(x, name);
    X509_set_issuer_name(x, name);
    X509_NAME_free(name);
    add_names(x, names);
    assert_true(X509_sign(x, pkey, EVP_sha256()) > 0);
    write_cert(cert_path, x);
    write_key(key_path, pkey, NULL);
    X509_free(x);
    EVP_PKEY_free(pkey);
}

static void replace(const char *path, const char *by)
{
    assert_int_equal(rename(by, path), 0);
}

static int make_all(void **state)
{
    if (!test_temp_dir(dir))
        return -1;
    snprintf(cert, sizeof(cert), "%s/cert", dir);
    snprintf(key, sizeof(key), "%s/key", dir);
    snprintf(other, sizeof(other), "%s/other", dir);
    snprintf(other_key, sizeof(other_key), "%s/other_key", dir);
    SSL_CTX_free(
        SSL_CTX_new(TLS_method())); /* what the library opens for itself it has opened now */
    return 0;
}

static int make_pairs(void **state)
{
    make(cert, key, "DNS:box.example,DNS:*.wild.example,IP:127.0.0.1,IP:::1", 86400);
    make(other, other_key, "DNS:other.example", 86400);
    return 0;
}

static int remove_all(void **state)
{
    for (const char *const *p = (const char *const[]){ cert, key, other, other_key, NULL }; *p; p++)
        unlink(*p);
    return rmdir(dir);
}

/* ---- A client -------------------------------------------------------------------------------- */

struct client {
    struct bench *b;
    int fd;
    SSL_CTX *ctx;
    SSL *ssl;
};

static void open_on(struct client *c, struct bench *b, int fd, int version, const char *alpn)
{
    *c = (struct client){ .b = b, .fd = fd, .ctx = SSL_CTX_new(TLS_client_method()) };
    SSL_CTX_set_cipher_list(c->ctx, "DEFAULT:@SECLEVEL=0"); /* so that it offers what is refused */
    SSL_CTX_set_min_proto_version(c->ctx, version);
    SSL_CTX_set_max_proto_version(c->ctx, version);
    if (alpn)
        SSL_CTX_set_alpn_protos(c->ctx, (const unsigned char *) alpn, (unsigned) strlen(alpn));
    c->ssl = SSL_new(c->ctx);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    SSL_set_fd(c->ssl, fd);
    SSL_set_connect_state(c->ssl);
}

static void client_free(struct client *c)
{
    SSL_free(c->ssl);
    SSL_CTX_free(c->ctx);
    close(c->fd);
}

/* Whether to try again, after a turn of the loop. */
static bool waits(struct client *c, int rc)
{
    int why = SSL_get_error(c->ssl, rc);
    bench_turn(c->b);
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
}

/* 1, or what SSL_get_error says. */
static int shake(struct client *c)
{
    int rc;
    do {
        ERR_clear_error();
        rc = SSL_do_handshake(c->ssl);
    } while (rc != 1 && waits(c, rc));
    return rc == 1 ? 1 : -SSL_get_error(c->ssl, rc);
}

static void begin(struct client *c, struct bench *b, int version)
{
    open_on(c, b, client_open(b), version, "\x08http/1.1");
    assert_int_equal(shake(c), 1);
}

static void say(struct client *c, const char *text, size_t n)
{
    size_t done = 0, all = 0;
    while (all < n) {
        ERR_clear_error();
        int rc = SSL_write_ex(c->ssl, text + all, n - all, &done);
        if (rc == 1)
            all += done;
        else
            assert_true(waits(c, rc));
    }
}

/* How many bytes; 0: the other side said that it is over; negative: it is gone without a word. */
static int hear(struct client *c, char *out, size_t size)
{
    int n;
    do {
        ERR_clear_error();
        n = SSL_read(c->ssl, out, (int) size);
    } while (n <= 0 && waits(c, n));
    if (n > 0)
        return n;
    return SSL_get_error(c->ssl, n) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

static void expect(struct client *c, const char *text)
{
    char got[1024];
    size_t have = 0, want = strlen(text);
    while (have < want) {
        int n = hear(c, got + have, want - have);
        assert_true(n > 0);
        have += (size_t) n;
    }
    assert_memory_equal(got, text, want);
}

static void start(struct bench *b)
{
    bench_open(b);
    b->options.cert = cert;
    b->options.key_file = key;
    bench_start(b);
}

/* ---- Good clients ---------------------------------------------------------------------------- */

static void both_versions_are_spoken(void **state)
{
    static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
    struct bench b;
    start(&b);
    for (int i = 0; i < 2; i++) {
        struct client c;
        const unsigned char *chosen;
        unsigned n;
        begin(&c, &b, versions[i]);
        SSL_get0_alpn_selected(c.ssl, &chosen, &n);
        assert_int_equal(n, 8);
        assert_memory_equal(chosen, "http/1.1", 8);
        for (int k = 0; k < 3; k++) { /* one after the other, and two at once */
            say(&c, GET_HELLO GET_HELLO, strlen(GET_HELLO) * (k == 2 ? 2 : 1));
            expect(&c, HELLO);
        }
        expect(&c, HELLO);
        client_free(&c);
    }
    bench_close(&b);
}

static void much_goes_both_ways(void **state)
{
    enum { SIZE = 3000000 };
    struct bench b;
    struct client c;
    char head[100], *body = malloc(SIZE), *got = malloc(SIZE);
    size_t have = 0;
    for (int i = 0; i < SIZE; i++)
        body[i] = (char) ('a' + i % 23);
    start(&b);
    begin(&c, &b, TLS1_3_VERSION);
    int n = snprintf(
        head, sizeof(head), "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", SIZE);
    say(&c, head, (size_t) n);
    say(&c, body, SIZE);
    expect(&c, "HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n");
    while (have < SIZE) {
        n = hear(&c, got + have, SIZE - have);
        assert_true(n > 0);
        have += (size_t) n;
    }
    assert_memory_equal(got, body, SIZE);
    client_free(&c);
    bench_close(&b);
    free(body);
    free(got);
}

static uint64_t begin_stream(struct bench *b, struct client *c)
{
    int n = b->n_open;
    say(c, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n", 32);
    bench_wait(b, &b->n_open, n + 1);
    assert_int_equal(hocket__server_begin(b->server, b->open[n % 256], 200, NULL, 0), 0);
    expect(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    return b->open[n % 256];
}

static void a_stream_comes_piece_by_piece(void **state)
{
    struct bench b;
    struct client c;
    start(&b);
    begin(&c, &b, TLS1_3_VERSION);
    uint64_t id = begin_stream(&b, &c);
    hocket__server_write(b.server, id, HOCKET__STR("one"));
    expect(&c, "3\r\none\r\n");
    hocket__server_write(b.server, id, HOCKET__STR("two"));
    hocket__server_finish(b.server, id);
    expect(&c, "3\r\ntwo\r\n0\r\n\r\n");
    say(&c, GET_HELLO, strlen(GET_HELLO));
    expect(&c, HELLO);
    client_free(&c);
    bench_close(&b);
}

static void a_client_that_goes_is_noticed(void **state)
{
    struct bench b;
    struct client c;
    start(&b);
    begin(&c, &b, TLS1_3_VERSION);
    begin_stream(&b, &c);
    SSL_shutdown(c.ssl); /* "I send no more" */
    bench_wait(&b, &b.closed, 1);
    client_free(&c);
    begin(&c, &b, TLS1_3_VERSION);
    begin_stream(&b, &c);
    client_free(&c); /* without a word */
    bench_wait(&b, &b.closed, 2);
    bench_close(&b);
}

/* Of an answer without a length the end says whether it is whole. */
static void tells_an_end_from_a_cut(void **state)
{
    struct bench b;
    struct client c;
    char got[500];
    for (int whole = 0; whole < 2; whole++) {
        start(&b);
        begin(&c, &b, TLS1_3_VERSION);
        say(&c, "GET /later HTTP/1.0\r\n\r\n", 23);
        bench_wait(&b, &b.n_open, 1);
        hocket__server_begin(b.server, b.open[0], 200, NULL, 0);
        hocket__server_write(b.server, b.open[0], HOCKET__STR("text"));
        expect(&c, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ntext");
        if (whole)
            hocket__server_finish(b.server, b.open[0]);
        else
            hocket__server_abort(b.server, b.open[0], HOCKET__SERVER_EOF);
        assert_int_equal(hear(&c, got, sizeof(got)), whole ? 0 : -1);
        client_free(&c);
        bench_close(&b);
    }
}

static void a_slow_client_meets_the_limit(void **state)
{
    static char block[10000];
    struct bench b;
    struct client c;
    char got[65536];
    size_t wrote = 0, refused = 0, read = 0;
    bench_open(&b);
    b.options.cert = cert;
    b.options.key_file = key;
    b.options.max_queue = 200000;
    bench_start(&b);
    open_on(&c, &b, client_open_small(&b), TLS1_3_VERSION, NULL);
    assert_int_equal(shake(&c), 1);
    uint64_t id = begin_stream(&b, &c);
    for (int i = 0; i < 2000; i++) {
        int rc = hocket__server_write(b.server, id, hocket__str(block, sizeof(block)));
        assert_true(rc == 0 || rc == HOCKET_ELIMIT);
        wrote += rc == 0;
        refused += rc != 0;
        assert_true(hocket__server_queued(b.server, id) <= 200000);
        assert_true(b.alloc.bytes < 1500000);
    }
    assert_true(refused > 0);
    assert_int_equal(hocket__server_finish(b.server, id), 0); /* there is always room for that */
    size_t total = wrote * (sizeof(block) + 8) + 5;
    while (read < total) {
        int n = hear(&c, got, sizeof(got));
        assert_true(n > 0);
        read += (size_t) n;
    }
    assert_int_equal(read, total);
    say(&c, GET_HELLO, strlen(GET_HELLO));
    expect(&c, HELLO);
    client_free(&c);
    bench_close(&b);
}

/* ---- Others ---------------------------------------------------------------------------------- */

static void what_is_not_spoken_is_refused(void **state)
{
    struct bench b;
    struct client c;
    start(&b);
    open_on(&c, &b, client_open(&b), TLS1_1_VERSION, NULL);
    assert_true(shake(&c) < 0);
    client_free(&c);
    open_on(&c, &b, client_open(&b), TLS1_3_VERSION, "\x02h2");
    assert_true(shake(&c) < 0);
    client_free(&c);
    open_on(&c, &b, client_open(&b), TLS1_3_VERSION, "\x02h2\x08http/1.1");
    assert_int_equal(shake(&c), 1);
    client_free(&c);
    begin(&c, &b, TLS1_2_VERSION);
    SSL_renegotiate(c.ssl);
    assert_true(shake(&c) < 0);
    client_free(&c);
    assert_int_equal(b.requests, 0);
    bench_close(&b);
}

static void plain_words_are_answered_in_plain_words(void **state)
{
    struct bench b;
    char got[500];
    start(&b);
    int fd = client_open(&b);
    client_say(&b, fd, GET_HELLO);
    client_read_all(&b, fd, got, sizeof(got));
    assert_non_null(strstr(got, "HTTP/1.1 400 Bad Request\r\n"));
    assert_non_null(strstr(got, "https://"));
    close(fd);
    fd = client_open(&b);
    client_send(&b, fd, "\0\1\2garbage", 10);
    assert_int_equal(client_read_all(&b, fd, got, sizeof(got)), 0);
    close(fd);
    fd = client_open(&b);
    client_send(&b, fd, "\x16\x03\x01\x02\x00garbage of a hello that is none, and more of it", 50);
    close(fd);
    fd = client_open(&b);
    client_send(&b, fd, "\x16garbage", 8);
    assert_true(client_read_all(&b, fd, got, sizeof(got)) <= 7); /* an alert at most */
    close(fd);
    assert_int_equal(b.requests, 0);
    bench_close(&b);
}

/* The time of a handshake is counted once, whatever drips in meanwhile. */
static void a_handshake_has_its_time(void **state)
{
    struct bench b;
    char got[500];
    long n = 0;
    bench_open(&b);
    b.options.cert = cert;
    b.options.key_file = key;
    b.options.idle_ms = 100;
    bench_start(&b);
    int silent = client_open(&b), slow = client_open(&b);
    client_send(&b, slow, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
    while ((n = recv(slow, got, sizeof(got), MSG_DONTWAIT)) < 0 && errno == EAGAIN) {
        send(slow, "x", 1, MSG_NOSIGNAL);
        bench_turn(&b);
        uv_sleep(5);
    }
    assert_int_equal(client_read_all(&b, silent, got, sizeof(got)), 0);
    while (hocket__server_connections(b.server) > 0)
        bench_turn(&b);
    close(silent);
    close(slow);
    bench_close(&b);
}

/* Those that only begin keep nobody out. */
static void many_that_begin_keep_nobody_out(void **state)
{
    struct bench b;
    struct client c;
    int fds[MANY];
    start(&b);
    for (int i = 0; i < MANY; i++) {
        fds[i] = client_open(&b);
        client_send(&b, fds[i], "\x16", 1);
    }
    bench_turn(&b);
    assert_true(hocket__server_connections(b.server) <= 256);
    begin(&c, &b, TLS1_3_VERSION);
    say(&c, GET_HELLO, strlen(GET_HELLO));
    expect(&c, HELLO);
    client_free(&c);
    for (int i = 0; i < MANY; i++)
        close(fds[i]);
    bench_close(&b);
}

/* A request of which the end is missing is none. */
static void half_a_request_is_none(void **state)
{
    struct bench b;
    struct client c;
    start(&b);
    begin(&c, &b, TLS1_3_VERSION);
    say(&c, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf", 55);
    bench_turn(&b);
    client_free(&c);
    while (hocket__server_connections(b.server) > 0)
        bench_turn(&b);
    assert_int_equal(b.requests, 0);
    bench_close(&b);
}

/* A record that was changed on the way ends the connection, and nothing of it is taken. */
static void a_changed_record_ends_it(void **state)
{
    static const char forged[] = "\x17\x03\x03\x00\x20 this is no record of this session";
    struct bench b;
    struct client c;
    char got[100];
    start(&b);
    begin(&c, &b, TLS1_3_VERSION);
    uint64_t id = begin_stream(&b, &c);
    client_send(&b, c.fd, forged, sizeof(forged) - 1);
    bench_wait(&b, &b.closed, 1);
    assert_int_equal(b.closed_id, id);
    assert_true(hear(&c, got, sizeof(got)) < 0);
    client_free(&c);
    bench_close(&b);
}

/* Each new key that is asked for is answered: one that never reads the answers does not fill the memory. */
static void asking_for_keys_fills_nothing(void **state)
{
    struct bench b;
    struct client c;
    start(&b);
    open_on(&c, &b, client_open_small(&b), TLS1_3_VERSION, NULL);
    assert_int_equal(shake(&c), 1);
    for (int i = 0; i < 3000 && b.closed == 0; i++) {
        SSL_key_update(c.ssl, SSL_KEY_UPDATE_REQUESTED);
        SSL_do_handshake(c.ssl);
        if (i % 50 == 0)
            bench_turn(&b);
        assert_true(b.alloc.bytes < 500000);
    }
    client_free(&c);
    bench_close(&b);
}

/* ---- Certificate and key --------------------------------------------------------------------- */

static void refused(const char *c, const char *k, int status, const char *words)
{
    struct bench b;
    struct hocket_error err;
    bench_open(&b);
    b.options.cert = c;
    b.options.key_file = k;
    assert_int_equal(hocket__server_new(&b.options, &b.server, &err), status);
    if (!strstr(err.message, words))
        fail_msg("'%s' should say '%s'", err.message, words);
    b.server = NULL;
    bench_close(&b);
}

static void empty(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
}

static void what_does_not_fit_is_refused(void **state)
{
    char none[TEST_TEMP_PATH + 16];
    snprintf(none, sizeof(none), "%s/none", dir);
    refused(cert, NULL, HOCKET_EINVAL, "go together");
    refused(NULL, key, HOCKET_EINVAL, "go together");
    refused(none, key, HOCKET_EIO, "cannot read");
    refused(cert, none, HOCKET_EIO, "cannot read");
    refused(dir, key, HOCKET_EINVAL, "expected a file");
    refused("/dev/zero", key, HOCKET_EINVAL, "expected a file");
    refused(key, key, HOCKET_EINVAL, "no certificate in PEM");
    refused(cert, other_key, HOCKET_EINVAL, "is not that of the certificate");
    chmod(key, 0644);
    refused(cert, key, HOCKET_EDENIED, "chmod 600");
    chmod(key, 0600);
    empty(other_key, "");
    refused(cert, other_key, HOCKET_EINVAL, "no private key");
    EVP_PKEY *pkey = EVP_EC_gen("P-256");
    write_key(other_key, pkey, "sesame");
    EVP_PKEY_free(pkey);
    refused(cert, other_key, HOCKET_EINVAL, "has a passphrase");
    pkey = EVP_RSA_gen(2048);
    write_key(other_key, pkey, NULL);
    EVP_PKEY_free(pkey);
    refused(cert, other_key, HOCKET_EINVAL, "is not that of the certificate");
    FILE *f = fopen(cert, "a");
    fputs("-----BEGIN CERTIFICATE-----\nbroken\n-----END CERTIFICATE-----\n", f);
    fclose(f);
    refused(cert, key, HOCKET_EINVAL, "its chain");
    make_pairs(NULL);
}

static bool serves(struct bench *b, const char *name)
{
    struct client c;
    begin(&c, b, TLS1_3_VERSION);
    X509 *x = SSL_get1_peer_certificate(c.ssl);
    bool yes = X509_check_host(x, name, 0, 0, NULL) == 1;
    X509_free(x);
    client_free(&c);
    return yes;
}

static void a_new_certificate_is_taken(void **state)
{
    struct bench b;
    struct client before;
    struct hocket_error err;
    start(&b);
    open_on(&before, &b, client_open(&b), TLS1_3_VERSION, NULL);
    replace(cert, other);
    replace(key, other_key);
    assert_int_equal(shake(&before), 1); /* it had begun, or not */
    say(&before, GET_HELLO, strlen(GET_HELLO));
    expect(&before, HELLO);
    assert_int_equal(hocket__server_refresh(b.server, &err), 0);
    assert_true(serves(&b, "other.example"));
    say(&before, GET_HELLO, strlen(GET_HELLO)); /* and those that are there go on */
    expect(&before, HELLO);
    client_free(&before);
    chmod(key, 0644);
    assert_int_equal(hocket__server_refresh(b.server, &err), HOCKET_EDENIED);
    assert_true(serves(&b, "other.example"));
    unlink(cert);
    assert_int_equal(hocket__server_refresh(b.server, &err), HOCKET_EIO);
    assert_true(serves(&b, "other.example"));
    make_pairs(NULL);
    bench_close(&b);
}

/* Files that changed are found without a word of anybody. */
static void a_change_is_seen(void **state)
{
    struct test_alloc t;
    struct hocket__tls *tls;
    test_alloc_init(&t);
    assert_int_equal(hocket__tls_new(&t.a, cert, key, &tls, NULL), 0);
    assert_false(hocket__tls_changed(tls));
    replace(cert, other);
    assert_true(hocket__tls_changed(tls));
    assert_int_equal(
        hocket__tls_reload(tls, NULL), HOCKET_EINVAL); /* the key has not followed yet */
    assert_false(hocket__tls_changed(tls));            /* said once */
    assert_true(hocket__tls_is_for(tls, HOCKET__STR("box.example")));
    replace(key, other_key);
    assert_true(hocket__tls_changed(tls));
    assert_int_equal(hocket__tls_reload(tls, NULL), 0);
    assert_true(hocket__tls_is_for(tls, HOCKET__STR("other.example")));
    hocket__tls_free(tls);
    test_alloc_check(&t);
    make_pairs(NULL);
}

static void it_is_for_its_names(void **state)
{
    struct test_alloc t;
    struct hocket__tls *tls;
    test_alloc_init(&t);
    assert_int_equal(hocket__tls_new(&t.a, cert, key, &tls, NULL), 0);
    static const char *const yes[] = { "box.example", "BOX.example", "a.wild.example", "127.0.0.1",
        "::1" };
    static const char *const no[] = { "", "example", "evil.example", "a.b.wild.example",
        "wild.example", "127.0.0.2", ".box.example", "*.wild.example.evil" };
    for (size_t i = 0; i < 5; i++)
        assert_true(hocket__tls_is_for(tls, hocket__cstr(yes[i])));
    for (size_t i = 0; i < 8; i++)
        assert_false(hocket__tls_is_for(tls, hocket__cstr(no[i])));
    assert_false(hocket__tls_is_for(tls, hocket__str("box.example\0.evil", 17)));
    assert_false(hocket__tls_expired(tls));
    hocket__tls_free(tls);
    make(cert, key, "DNS:box.example", -10);
    assert_int_equal(hocket__tls_new(&t.a, cert, key, &tls, NULL), 0);
    assert_true(hocket__tls_expired(tls)); /* said, and served: the client decides */
    hocket__tls_free(tls);
    test_alloc_check(&t);
    make_pairs(NULL);
}

static void try_all(struct test_alloc *t, void *ud)
{
    struct hocket__tls *tls;
    int rc = hocket__tls_new(&t->a, cert, key, &tls, NULL);
    if (rc < 0) {
        assert_true(t->failed);
        assert_int_equal(rc, HOCKET_ENOMEM);
        return;
    }
    struct hocket__tls_session *s = hocket__tls_session_new(tls);
    if (!s)
        assert_true(t->failed);
    hocket__tls_session_free(s);
    hocket__tls_free(tls);
}

static void every_allocation_may_fail(void **state)
{
    assert_true(test_alloc_each(try_all, NULL) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(both_versions_are_spoken, make_pairs),
        cmocka_unit_test(much_goes_both_ways),
        cmocka_unit_test(a_stream_comes_piece_by_piece),
        cmocka_unit_test(a_client_that_goes_is_noticed),
        cmocka_unit_test(tells_an_end_from_a_cut),
        cmocka_unit_test(a_slow_client_meets_the_limit),
        cmocka_unit_test(what_is_not_spoken_is_refused),
        cmocka_unit_test(plain_words_are_answered_in_plain_words),
        cmocka_unit_test(a_handshake_has_its_time),
        cmocka_unit_test(many_that_begin_keep_nobody_out),
        cmocka_unit_test(half_a_request_is_none),
        cmocka_unit_test(a_changed_record_ends_it),
        cmocka_unit_test(asking_for_keys_fills_nothing),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_new_certificate_is_taken),
        cmocka_unit_test(a_change_is_seen),
        cmocka_unit_test(it_is_for_its_names),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_all, remove_all);
}
