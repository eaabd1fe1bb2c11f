/* OpenSSL as a table of functions, loaded with dlopen by the first server of the process that has a certificate:
 * whoever serves without one does not pay for it. With HOCKET_LINK_SSL, and under the sanitizers, the table holds
 * the linked functions. It is made once and never unloaded. */
#pragma once

#include "base/status.h"

#define OPENSSL_SUPPRESS_DEPRECATED /* 4.0 deprecates X509_cmp_current_time; its successor is not in 3.0 */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* All of OpenSSL that is used here; functions, none of its macros. */
#define HOCKET__SSL_MAP(X)                                                                         \
    X(BIO_clear_flags)                                                                             \
    X(BIO_free)                                                                                    \
    X(BIO_get_data)                                                                                \
    X(BIO_meth_free)                                                                               \
    X(BIO_meth_new)                                                                                \
    X(BIO_meth_set_ctrl)                                                                           \
    X(BIO_meth_set_read)                                                                           \
    X(BIO_meth_set_write)                                                                          \
    X(BIO_new)                                                                                     \
    X(BIO_new_mem_buf)                                                                             \
    X(BIO_set_data)                                                                                \
    X(BIO_set_flags)                                                                               \
    X(BIO_set_init)                                                                                \
    X(ERR_clear_error)                                                                             \
    X(ERR_peek_error)                                                                              \
    X(ERR_peek_last_error)                                                                         \
    X(ERR_reason_error_string)                                                                     \
    X(EVP_PKEY_free)                                                                               \
    X(PEM_read_bio_PrivateKey)                                                                     \
    X(PEM_read_bio_X509)                                                                           \
    X(SSL_CTX_ctrl)                                                                                \
    X(SSL_CTX_free)                                                                                \
    X(SSL_CTX_new)                                                                                 \
    X(SSL_CTX_set_alpn_select_cb)                                                                  \
    X(SSL_CTX_set_options)                                                                         \
    X(SSL_CTX_use_PrivateKey)                                                                      \
    X(SSL_CTX_use_certificate)                                                                     \
    X(SSL_do_handshake)                                                                            \
    X(SSL_free)                                                                                    \
    X(SSL_get_error)                                                                               \
    X(SSL_new)                                                                                     \
    X(SSL_read)                                                                                    \
    X(SSL_set_accept_state)                                                                        \
    X(SSL_set_bio)                                                                                 \
    X(SSL_shutdown)                                                                                \
    X(SSL_write_ex)                                                                                \
    X(TLS_server_method)                                                                           \
    X(X509_check_host)                                                                             \
    X(X509_check_ip_asc)                                                                           \
    X(X509_check_private_key)                                                                      \
    X(X509_cmp_current_time)                                                                       \
    X(X509_free)                                                                                   \
    X(X509_get0_notAfter)

struct hocket__ssl {
#define HOCKET__SSL_MEMBER(name) __typeof__(name) *name;
    HOCKET__SSL_MAP(HOCKET__SSL_MEMBER)
#undef HOCKET__SSL_MEMBER
};

/* The table; safe from any thread. NULL, and *err with EUNSUPPORTED, when there is no library, or another
 * version of it. A failure is tried again by whoever asks next. */
const struct hocket__ssl *hocket__ssl_load(struct hocket_error *err);

/* The same for whoever has something that was made by it: it is loaded. */
const struct hocket__ssl *hocket__ssl(void);
