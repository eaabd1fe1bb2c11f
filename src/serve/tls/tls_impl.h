/* What the files of TLS share; nobody else includes this. */
#pragma once

#include "serve/tls/lib.h"
#include "serve/tls/tls.h"

#include <uv.h>

#define HOCKET__TLS_RECORD 16384 /* plain bytes of one record, at most */

/* Which file it was: another one, or one with another text, differs in this. */
struct hocket__tls_stamp {
    uint64_t dev, ino, size;
    uv_timespec_t changed;
};

struct hocket__tls {
    const struct hocket_allocator *a;
    const struct hocket__ssl *lib;
    char *cert, *key; /* names of the files */
    struct hocket__tls_stamp seen[2];
    BIO_METHOD *method;
    SSL_CTX *ctx; /* sessions hold it as well */
    X509 *leaf;
    struct hocket__buf sealed;
    char plain[HOCKET__TLS_RECORD];
};

struct hocket__tls_session {
    struct hocket__tls *tls;
    SSL *ssl;
    struct hocket__str input;
    bool failed;
};

BIO_METHOD *hocket__tls_method(const struct hocket__ssl *lib);
/* OpenSSL's word for what has just failed. */
const char *hocket__tls_reason(const struct hocket__ssl *lib);
