/* One uv_poll for each socket: Windows has no set of sockets that would be a descriptor to the loop. */
#include "os/socket_set.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/status.h"

/* What the loop has of a socket. It may outlive the socket's own structure, which is its owner's. */
struct polled {
    uv_poll_t poll; /* first */
    struct hocket__sockets_batch *all;
    struct hocket__socket *socket; /* NULL: forgotten */
};

/* What the open handles share. `set->poll` has the memory of a handle that does nothing: it is closed behind all others. */
struct hocket__sockets_batch {
    uv_loop_t *loop;
    struct hocket__sockets *set;
    struct hocket__map polled; /* by descriptor + 1 */
    size_t open;
    uv_close_cb closed; /* NULL: the set is not closed */
    const struct hocket_allocator *a;
};

static uint64_t key_of(int fd)
{
    return (uint64_t) (unsigned) fd + 1;
}

static struct polled *polled_of(const struct hocket__sockets *set, int fd)
{
    return set->batch ? hocket__map_get(&set->batch->polled, key_of(fd)) : NULL;
}

/* ---- Events --------------------------------------------------------------------------- */

/* libuv asks for the same events again after this: those for which it was too late come in the next turn. */
static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct polled *p = (struct polled *) poll;
    struct hocket__sockets *set = p->all->set;
    struct hocket__socket *s = p->socket;
    if (!s || s->wanted == 0 || set->is_late(set->ud))
        return;
    events = status < 0 ? 0 : events & s->wanted;
    if (status < 0)
        uv_poll_stop(poll);
    if (status < 0 || events != 0)
        set->on_event(s, events);
}

int hocket__sockets_want(struct hocket__sockets *set, struct hocket__socket *s, int events)
{
    struct polled *p = polled_of(set, s->fd);
    set->wanted += (events != 0) - (s->wanted != 0);
    s->wanted = events;
    if (!p)
        return events ? HOCKET_EIO : 0;
    int rc = events ? uv_poll_start(&p->poll, events, on_poll) : uv_poll_stop(&p->poll);
    return rc < 0 && events ? HOCKET_EIO : 0;
}

/* ---- Sockets --------------------------------------------------------------------------- */

static void end(struct hocket__sockets_batch *b)
{
    uv_close_cb closed = b->closed;
    struct hocket__sockets *set = b->set;
    if (!closed || b->open > 0)
        return;
    hocket__map_deinit(&b->polled);
    hocket__free(b->a, b, sizeof(*b));
    uv_close((uv_handle_t *) &set->poll, closed);
}

static void on_closed(uv_handle_t *handle)
{
    struct polled *p = (struct polled *) handle;
    struct hocket__sockets_batch *b = p->all;
    hocket__free(b->a, p, sizeof(*p));
    b->open--;
    end(b);
}

static void drop(struct hocket__sockets_batch *b, int fd, struct polled *p)
{
    hocket__map_del(&b->polled, key_of(fd));
    p->socket = NULL;
    uv_close((uv_handle_t *) &p->poll, on_closed);
}

int hocket__sockets_add(struct hocket__sockets *set, struct hocket__socket *s, int fd)
{
    struct hocket__sockets_batch *b = set->batch;
    struct polled *p = polled_of(set, fd);
    *s = (struct hocket__socket){ .fd = fd, .number = ++set->numbers };
    if (p) /* it was closed, and its number is used again */
        drop(b, fd, p);
    p = hocket__zero(set->a, sizeof(*p));
    if (!p)
        return HOCKET_ENOMEM;
    p->all = b;
    p->socket = s;
    if (uv_poll_init_socket(b->loop, &p->poll, (uv_os_sock_t) (unsigned) fd) < 0) {
        hocket__free(set->a, p, sizeof(*p));
        return HOCKET_ENOMEM;
    }
    b->open++;
    if (hocket__map_set(&b->polled, key_of(fd), p) == 0
        && hocket__map_set(&set->by_fd, key_of(fd), s) == 0)
        return 0;
    drop(b, fd, p);
    return HOCKET_ENOMEM;
}

struct hocket__socket *hocket__sockets_find(const struct hocket__sockets *set, int fd)
{
    return hocket__map_get(&set->by_fd, key_of(fd));
}

void hocket__sockets_forget(struct hocket__sockets *set, struct hocket__socket *s)
{
    struct polled *p = polled_of(set, s->fd);
    set->wanted -= s->wanted != 0;
    s->wanted = 0;
    hocket__map_del(&set->by_fd, key_of(s->fd));
    if (p)
        drop(set->batch, s->fd, p);
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

int hocket__sockets_open(struct hocket__sockets *set, uv_loop_t *loop)
{
    struct hocket__sockets_batch *b = hocket__zero(set->a, sizeof(*b));
    if (!b)
        return HOCKET_ENOMEM;
    *b = (struct hocket__sockets_batch){ .loop = loop, .set = set, .a = set->a };
    hocket__map_init(&b->polled, set->a);
    uv_prepare_init(loop, (uv_prepare_t *) &set->poll);
    uv_unref((uv_handle_t *) &set->poll);
    set->batch = b;
    set->fd = 0;
    return 0;
}

void hocket__sockets_close(struct hocket__sockets *set, uv_close_cb closed)
{
    struct hocket__sockets_batch *b = set->batch;
    set->batch = NULL;
    set->fd = -1;
    b->closed = closed;
    for (size_t i = 0; i < b->polled.cap; i++)
        if (b->polled.slots[i].id) {
            struct polled *p = b->polled.slots[i].value;
            p->socket = NULL;
            uv_close((uv_handle_t *) &p->poll, on_closed);
        }
    hocket__map_deinit(&set->by_fd);
    end(b);
}
