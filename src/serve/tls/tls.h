/* TLS for the server: a certificate with its key, and a session for each connection. Bytes go in and come out;
 * no socket is known here.
 *
 *   from the socket ──> feed ──> shake … read ──> plain bytes
 *   plain bytes ──> write ─┐
 *   shake, read, bye ──────┴──> hocket__tls_sealed: what the socket has to be given next, in this order
 *
 * TLS 1.2 and 1.3, ciphers as the library (and the system's settings for it) would have them; HTTP/1.1 alone by
 * ALPN; no renegotiation, no early data. One thread. OpenSSL's own memory is malloc's. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

struct hocket__tls;
struct hocket__tls_session;

/* Reads certificate (with its chain, in order) and key, both PEM. EDENIED: others may read the key. EINVAL: one of
 * them is not what it should be, or they do not belong together. EIO, EUNSUPPORTED (no OpenSSL), ENOMEM. */
int hocket__tls_new(const struct hocket_allocator *a, const char *cert, const char *key,
    struct hocket__tls **out, struct hocket_error *err);
void hocket__tls_free(struct hocket__tls *t); /* after its sessions; NULL is fine */

/* Reads both files again, for sessions that come after; when that fails all stays as it was. */
int hocket__tls_reload(struct hocket__tls *t, struct hocket_error *err);
/* Whether a file is another one than when it was last looked at, by its signature. */
bool hocket__tls_changed(const struct hocket__tls *t);
bool hocket__tls_expired(const struct hocket__tls *t);
/* Whether the certificate is for that host: a name or an address, without a port. */
bool hocket__tls_is_for(const struct hocket__tls *t, struct hocket__str host);

struct hocket__tls_session *hocket__tls_session_new(struct hocket__tls *t); /* NULL: no memory */
void hocket__tls_session_free(struct hocket__tls_session *s);               /* NULL is fine */

/* What has come from the socket; it is used by the calls that follow, until one says that it wants more. */
void hocket__tls_feed(struct hocket__tls_session *s, const char *p, size_t n);
/* Continues the handshake: 1 it is done, 0 it needs more data, ETLS (the reason in *err). */
int hocket__tls_shake(struct hocket__tls_session *s, struct hocket_error *err);
/* 1 and bytes, good until the next call for any session; 0 it wants more; ECLOSED the other side has said that it
 * sends no more; ETLS. */
int hocket__tls_read(struct hocket__tls_session *s, struct hocket__str *plain);
/* 0, ENOMEM, ETLS (the session is of no use any more). */
int hocket__tls_write(struct hocket__tls_session *s, struct hocket__str plain);
/* Says that nothing follows (close_notify). */
void hocket__tls_bye(struct hocket__tls_session *s);

/* Of all sessions: to be emptied after each call above. */
struct hocket__buf *hocket__tls_sealed(struct hocket__tls *t);
/* The most that n plain bytes may become. */
size_t hocket__tls_grown(size_t n);
