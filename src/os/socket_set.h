/* Sockets by the thousand, watched by an epoll set of their own, which is one descriptor to the
 * loop.
 *
 * A uv_poll asks the kernel seven times in a connection's life: libuv tries each descriptor, and
 * takes it out and puts it back whenever something else is wanted of it. Here it is put in once and
 * taken out once. What is watched for may be more than what is wanted: less is asked for when
 * something has come that nobody wanted, which mostly never happens.
 *
 * Events that were fetched but not delivered, because the turn of the loop was over, are delivered
 * first in the next turn. So every socket gets its turn, however little time there is. */
#pragma once

#include <uv.h>

#include "base/map.h"

struct hocket__socket {
    int fd;
    uint32_t number; /* of this use of the descriptor: an event that is late may be of another's */
    int watched;     /* UV_READABLE, UV_WRITABLE: what the kernel has been asked for */
    int wanted;      /* the events that are delivered; 0: idle */
};

struct hocket__sockets {
    uv_poll_t poll;
    int fd;                   /* -1: not open */
    struct hocket__map by_fd; /* by descriptor + 1 */
    uint32_t numbers;
    int wanted; /* sockets of which something is wanted */
    void *ud;
    /* Tells of what is wanted; 0: something is wrong with the socket. */
    void (*on_event)(struct hocket__socket *s, int events);
    /* Asked before each event: whether the others have to wait for the next turn. */
    bool (*is_late)(void *ud);
    const struct hocket_allocator *a;
    struct hocket__sockets_batch *batch; /* what was fetched; NULL: not open */
};

void hocket__sockets_init(struct hocket__sockets *set, const struct hocket_allocator *a);
/* 0, EIO (too many descriptors) or ENOMEM. The loop stays alive as long as something is wanted. */
int hocket__sockets_open(struct hocket__sockets *set, uv_loop_t *loop);
/* For an open set. Its sockets are forgotten, but stay open: they belong to the caller. */
void hocket__sockets_close(struct hocket__sockets *set, uv_close_cb closed);
void hocket__sockets_deinit(struct hocket__sockets *set);

/* Takes in a socket of which nothing is wanted yet: 0 or ENOMEM. */
int hocket__sockets_add(struct hocket__sockets *set, struct hocket__socket *s, int fd);
struct hocket__socket *hocket__sockets_find(const struct hocket__sockets *set, int fd);
/* Wants these events from now on; 0: none. 0 or EIO. */
int hocket__sockets_want(struct hocket__sockets *set, struct hocket__socket *s, int events);
/* To be called before its descriptor is closed, where that can be. Allowed in on_event. */
void hocket__sockets_forget(struct hocket__sockets *set, struct hocket__socket *s);
