/* Sockets between processes of one user on one machine, which carry lines.
 *
 *     hocket__listen ── a file of mode 0600 in a directory of mode 0700 ──┐
 *                                                                          v
 *     hocket__stream_connect ──────────────────────────────> hocket__accept ──> a stream on either side
 *
 * - Who is at the other end the kernel says (SO_PEERCRED), at once and for good.
 * - A file that a dead process has left is replaced; one behind which somebody listens is not. Two who
 *   want the same name at the same time are kept apart by a lock on the directory.
 * - All is bounded: a line, what waits to be read, what waits to be sent. A peer that hangs costs memory up to these
 *   bounds and no time; none of the functions blocks.
 *
 * `on_news` runs from the loop when a function that answered 0 (nothing yet) may answer otherwise. Source: unix(7). */
#pragma once

#include "base/status.h"
#include "base/str.h"

#include <uv.h>

/* The name of a system that has none of them here: all functions fail there. Else NULL. */
#ifdef _WIN32
#define HOCKET__SOCKETS_ABSENT "Windows"
#else
#define HOCKET__SOCKETS_ABSENT NULL
#endif

struct hocket__listener;
struct hocket__stream;

struct hocket__peer {
    int64_t pid; /* 0: not of this pid namespace */
    int64_t uid;
};

/* The limits in bytes of a line that is read, and of the data that waits to be sent. */
#define HOCKET__LINE_MAX  ((size_t) 256 << 10)
#define HOCKET__QUEUE_MAX ((size_t) 1 << 20)

/* Listens at dir/file. The directory is made where it is not there (not those above it), and has to be ours alone:
 * EDENIED where it is somebody else's, a link, or open to others. EEXIST: somebody listens there. ELIMIT: the path
 * is too long for a socket, or there are no descriptors. */
int hocket__listen(uv_loop_t *loop, const struct hocket_allocator *a, const char *dir,
    const char *file, void (*on_news)(void *ud), void *ud, struct hocket__listener **out,
    struct hocket_error *err);

/* Accepts the next client: 1 with *fd (the caller's) and *peer, 0 when there is none. */
int hocket__accept(struct hocket__listener *l, int *fd, struct hocket__peer *peer);

/* Takes the file away, unless another process has put its own there. `closed` (may be NULL) runs from the loop. */
void hocket__listener_close(struct hocket__listener *l, void (*closed)(void *ud), void *ud);

/* A descriptor that is connected to a path, *peer filled: who listens there. ENOTFOUND: nobody does. */
int hocket__connect(const char *path, int *fd, struct hocket__peer *peer, struct hocket_error *err);

/* Takes the descriptor, also when it fails. `keeps`: it keeps the loop alive. */
int hocket__stream_new(uv_loop_t *loop, const struct hocket_allocator *a, int fd, bool keeps,
    void (*on_news)(void *ud), void *ud, struct hocket__stream **out, struct hocket_error *err);

/* The same over this process's standard input and output, of which nobody else has anything from then on: its input is
 * empty, and what it prints goes to standard error, until the stream is closed. Closing loses unsent data. A line that
 * is too long is reported once (ELIMIT) and skipped; the next lines follow. */
int hocket__stream_stdio(uv_loop_t *loop, const struct hocket_allocator *a, size_t max_line,
    size_t max_queue, void (*on_news)(void *ud), void *ud, struct hocket__stream **out,
    struct hocket_error *err);

/* The next line without its end, valid until the next call: 1. 0: none is there yet. ECLOSED: the other side has
 * ended, ELIMIT: the line is too long; of a socket nothing comes after either. */
int hocket__stream_line(struct hocket__stream *s, struct hocket__str *line);

/* Sends a text and a line end, now or when there is room. ELIMIT: too much waits already, and nothing of it is sent;
 * ECLOSED: the other side reads no more. */
int hocket__stream_send(struct hocket__stream *s, struct hocket__str text);

/* Bytes that wait to be sent. */
size_t hocket__stream_queued(const struct hocket__stream *s);

/* What was queued and not sent is lost. `closed` (may be NULL) runs from the loop. */
void hocket__stream_close(struct hocket__stream *s, void (*closed)(void *ud), void *ud);
