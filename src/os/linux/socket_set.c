/* The epoll set. An event carries the descriptor and its use number: between epoll_wait and
 * the callback, a descriptor may have been closed and given to another connection, which must not
 * get the event.
 *
 * libuv sees one readable descriptor, the set itself. It is level-triggered: the kernel reports
 * events again that were not fetched. At the end of a turn `batch` may hold events that were
 * fetched but not delivered, so we keep them. */
#include "os/socket_set.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/status.h"

#define BATCH  128 /* events that are fetched at once */
#define ROUNDS 16  /* batches in one turn of the loop, which has other things to do */

struct hocket__sockets_batch {
    int at, n; /* events that are not reported yet */
    struct epoll_event events[BATCH];
};

static unsigned to_epoll(int events)
{
    return (events & UV_READABLE ? EPOLLIN : 0u) | (events & UV_WRITABLE ? EPOLLOUT : 0u);
}

/* A hang-up alone counts as both: a reader or a writer has to try, and gets the error. */
static int from_epoll(unsigned events)
{
    if ((events & (EPOLLIN | EPOLLOUT)) == 0 && (events & EPOLLHUP))
        return UV_READABLE | UV_WRITABLE;
    return (events & EPOLLIN ? UV_READABLE : 0) | (events & EPOLLOUT ? UV_WRITABLE : 0);
}

static uint64_t key_of(int fd)
{
    return (uint64_t) fd + 1;
}

/* Removal does not fail: the kernel has already removed a descriptor that was closed. One that
 * was closed and opened again is added anew. */
static int watch(struct hocket__sockets *set, struct hocket__socket *s, int events)
{
    struct epoll_event e = { to_epoll(events),
        { .u64 = (uint64_t) s->number << 32 | (uint32_t) s->fd } };
    int op = events == 0 ? EPOLL_CTL_DEL : s->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (events == s->watched)
        return 0;
    s->watched = 0;
    int rc = epoll_ctl(set->fd, op, s->fd, &e);
    if (rc < 0 && op == EPOLL_CTL_MOD && errno == ENOENT)
        rc = epoll_ctl(set->fd, EPOLL_CTL_ADD, s->fd, &e);
    if (rc < 0 && events != 0)
        return HOCKET_EIO;
    s->watched = events;
    return 0;
}

static void note_wanted(struct hocket__sockets *set, struct hocket__socket *s, int events)
{
    bool was = s->wanted != 0, is = events != 0;
    s->wanted = events;
    set->wanted += is - was;
    if (is && !was && set->wanted == 1)
        uv_ref((uv_handle_t *) &set->poll);
    else if (was && !is && set->wanted == 0)
        uv_unref((uv_handle_t *) &set->poll);
}

/* A writable socket would cause events all the time, a readable one only when bytes arrive.
 * A socket that waits only to become writable is connecting. libcurl 7.88 closes it first
 * and reports that afterwards: by then the descriptor may belong to another thread, so it is not touched. If
 * it is still open, its first event removes it. */
int hocket__sockets_want(struct hocket__sockets *set, struct hocket__socket *s, int events)
{
    note_wanted(set, s, events);
    if (events == 0 && s->watched == UV_WRITABLE)
        return 0;
    return watch(set, s, events | (s->watched & UV_READABLE));
}

int hocket__sockets_add(struct hocket__sockets *set, struct hocket__socket *s, int fd)
{
    *s = (struct hocket__socket){ .fd = fd, .number = ++set->numbers };
    return hocket__map_set(&set->by_fd, key_of(fd), s);
}

struct hocket__socket *hocket__sockets_find(const struct hocket__sockets *set, int fd)
{
    return hocket__map_get(&set->by_fd, key_of(fd));
}

void hocket__sockets_forget(struct hocket__sockets *set, struct hocket__socket *s)
{
    note_wanted(set, s, 0);
    watch(set, s, 0);
    hocket__map_del(&set->by_fd, key_of(s->fd));
}

/* ---- Events --------------------------------------------------------------------------- */

static void report(struct hocket__sockets *set, const struct epoll_event *e)
{
    struct hocket__socket *s = hocket__sockets_find(set, (int) (uint32_t) e->data.u64);
    if (!s || s->number != e->data.u64 >> 32)
        return;
    int events = from_epoll(e->events) & s->wanted;
    bool broken = e->events & EPOLLERR;
    if (broken)
        watch(set, s, 0);
    /* Nobody wants this event (bytes on an idle connection, mostly the server's close): stop
     * watching it, or the set would stay readable and the loop would spin. */
    else if (events == 0)
        watch(set, s, s->wanted);
    if (s->wanted != 0 && (broken || events != 0))
        set->on_event(s, broken ? 0 : events);
}

static void fetch(struct hocket__sockets *set)
{
    int n = epoll_wait(set->fd, set->batch->events, BATCH, 0);
    set->batch->at = 0;
    set->batch->n = n > 0 ? n : 0;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct hocket__sockets *set = hocket__container_of(poll, struct hocket__sockets, poll);
    struct hocket__sockets_batch *b = set->batch;
    (void) status;
    (void) events;
    for (int round = 0; round < ROUNDS; round++) {
        if (b->at == b->n)
            fetch(set);
        while (b->at < b->n) {
            if (set->is_late(set->ud))
                return;
            report(set, &b->events[b->at++]);
            if (!set->batch) /* it was closed meanwhile */
                return;
        }
        if (b->n < BATCH) /* there were no more */
            return;
    }
}

/* ---- Life ------------------------------------------------------------------------------ */

void hocket__sockets_init(struct hocket__sockets *set, const struct hocket_allocator *a)
{
    *set = (struct hocket__sockets){ .fd = -1, .a = a };
    hocket__map_init(&set->by_fd, a);
}

void hocket__sockets_deinit(struct hocket__sockets *set)
{
    hocket__map_deinit(&set->by_fd);
}

static void free_batch(struct hocket__sockets *set)
{
    hocket__free(set->a, set->batch, sizeof(*set->batch));
    set->batch = NULL;
}

int hocket__sockets_open(struct hocket__sockets *set, uv_loop_t *loop)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0)
        return HOCKET_EIO;
    set->batch = hocket__zero(set->a, sizeof(*set->batch));
    int rc = set->batch ? uv_poll_init(loop, &set->poll, fd) : UV_ENOMEM;
    if (rc < 0) {
        close(fd);
        free_batch(set);
        errno = -rc;
        return rc == UV_ENOMEM ? HOCKET_ENOMEM : HOCKET_EIO;
    }
    /* idle connections do not keep a program alive */
    uv_unref((uv_handle_t *) &set->poll);
    uv_poll_start(&set->poll, UV_READABLE, on_poll); /* nothing in it fails once it is made */
    set->fd = fd;
    return 0;
}

void hocket__sockets_close(struct hocket__sockets *set, uv_close_cb closed)
{
    uv_close((uv_handle_t *) &set->poll, closed);
    close(set->fd);
    set->fd = -1;
    free_batch(set);
    hocket__map_deinit(&set->by_fd);
}
