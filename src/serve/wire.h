/* How a connection's bytes come and go: as they are, or sealed by TLS. */
#pragma once

#include "serve/conn.h"

/* Begins the handshake where the server has a certificate; false: no memory. */
bool hocket__wire_open(struct hocket__conn *c);
void hocket__wire_free(struct hocket__conn *c);
/* What the socket gave. */
void hocket__wire_take(struct hocket__conn *c, const char *p, size_t n);
/* As hocket__outq_push. EIO: the connection is of no use any more. */
int hocket__wire_push(struct hocket__conn *c, const uv_buf_t *pieces, size_t n, size_t spare);
/* Says that the answers are over, where that can be said. */
void hocket__wire_bye(struct hocket__conn *c);
