/* Sockets of the network. None of them blocks, and no program that is started gets one. What fails gives a code of libuv:
 * UV_EAGAIN, UV_EADDRINUSE … */
#pragma once

#include <stdbool.h>
#include <uv.h>

/* A socket that is not connected. */
int hocket__tcp_open(int family, int type, int protocol);
/* A socket that listens at an address. */
int hocket__tcp_listen(const struct sockaddr *address);
/* One that a program that started us has opened: itself. UV_EINVAL: it does not listen. */
int hocket__tcp_take(int fd);
/* Accepts the next client. UV_EAGAIN: none is waiting. */
int hocket__tcp_accept(int listener);
/* Begins to connect: the socket can be written to when that has ended, and hocket__tcp_error says how. */
int hocket__tcp_connect(const struct sockaddr *to, size_t len);
/* What has become of the socket: 0, or what went wrong. */
int hocket__tcp_error(int fd);

/* Whether the other side has closed the connection, even if something that it sent before can still be read. */
bool hocket__tcp_ended(int fd);
/* How many bytes were read, 0: the other side has ended. UV_EAGAIN: there is nothing now. */
int64_t hocket__tcp_read(int fd, void *to, size_t n);
/* How many bytes went out of all pieces together. UV_EAGAIN: there is no room now. No signal is sent. */
int64_t hocket__tcp_write(int fd, const uv_buf_t *pieces, size_t n);

/* What is written goes out at once. */
void hocket__tcp_no_delay(int fd);
/* Nothing more will be written; what comes can be read. */
void hocket__tcp_end(int fd);
/* Lets nobody in any more. */
void hocket__tcp_mute(int listener);
/* Closing it drops what was not sent, and tells the other side so. */
void hocket__tcp_reset_at_close(int fd);
void hocket__tcp_close(int fd);

/* The port at this end, 0: it has none. */
int hocket__tcp_port(int fd);
/* The numeric address of the other side; false: it has none (a Unix socket). */
bool hocket__tcp_peer(int fd, char *out, size_t size);
