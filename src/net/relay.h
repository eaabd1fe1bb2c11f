/* The transport on a thread of its own: two threads that hand each other messages.
 *
 *   host's thread                                   the relay's thread
 *   send(msg) ────────── first in, first out ─────> msg->run(msg), may use relay_http
 *   msg->run(msg) <──── by the host's loop ──────── tell(msg)
 *
 * A message is a part of what it is about: sending allocates nothing and cannot fail, and a message under way is
 * not sent twice. So whoever produces faster than the other side takes (deltas of a stream) gathers behind one
 * message. Data of both sides is read under the lock. The thread has all signals blocked; it starts with the relay,
 * and a process that is forked afterwards has it no more (hocket__relay_is_here).
 *
 * Messages to the host run until its time is over (`until`), one at least; the rest in the loop's
 * next round. */
#pragma once

#include "base/list.h"
#include "net/http/http.h"

struct hocket__relay;

struct hocket__relay_msg {
    struct hocket__list link;
    void (*run)(struct hocket__relay_msg *m);
};

/* Something that has messages: told when the relay is closed, when no thread can touch it. */
struct hocket__relay_client {
    struct hocket__list link;
    void (*closed)(struct hocket__relay_client *c);
};

/* What the relay knows of its host. */
struct hocket__relay_host {
    const uint64_t *until;     /* when its turn ends (uv_hrtime; 0: no limit) */
    void (*on_news)(void *ud); /* called on the relay's thread when there are messages again, where
                                * there were none; may be NULL */
    void *ud;
};

/* Starts the thread. o->loop is the host's; o->alloc is used from both threads. Fails with ENOMEM,
 * EIO. */
int hocket__relay_new(const struct hocket__http_options *o, const struct hocket__relay_host *host,
    struct hocket__relay **out, struct hocket_error *err);

/* Cancels all, ends the thread; `on_closed` runs from the host's loop when nothing is left. */
void hocket__relay_close(struct hocket__relay *r, void (*on_closed)(void *ud), void *ud);

/* Whether this is the process that the thread runs in. */
bool hocket__relay_is_here(const struct hocket__relay *r);

/* Host's thread. While a client is joined the host's loop stays alive. */
void hocket__relay_join(struct hocket__relay *r, struct hocket__relay_client *c);
void hocket__relay_leave(struct hocket__relay *r, struct hocket__relay_client *c);
void hocket__relay_send(struct hocket__relay *r, struct hocket__relay_msg *m);
/* How many clients are joined. */
int hocket__relay_active(const struct hocket__relay *r);

/* The relay's thread, with the lock held, which it gives back: so the host cannot have seen what
 * was marked under the lock, and freed the message, before it is on its way. */
void hocket__relay_tell(struct hocket__relay *r, struct hocket__relay_msg *m);
/* NULL, and *err, when the transport does not start. */
struct hocket__http *hocket__relay_http(struct hocket__relay *r, struct hocket_error *err);

/* Either thread, for as short as possible. */
void hocket__relay_lock(struct hocket__relay *r);
void hocket__relay_unlock(struct hocket__relay *r);
