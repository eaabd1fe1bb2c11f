/* The glue between libcurl's socket callbacks and the epoll set. Each descriptor in use has
 * one `sock`, found by its number; it is freed when libcurl closes the descriptor, or, for
 * descriptors that it opened without asking, when it loses interest.
 *
 * A descriptor that is closed without our knowledge (libcurl's resolver pipe) comes back under
 * the same number: add() forgets the old one first. */
#include "net/http/poll.h"

#include <errno.h>

#include "net/http/http_impl.h"
#include "net/http/request.h"
#include "net/http/shard.h"
#include "os/tcp.h"

struct sock {
    struct hocket__socket socket;
    struct hocket__shard *shard;
    bool kept; /* watched as long as the descriptor is there */
};

static struct sock *of(struct hocket__socket *socket)
{
    return hocket__container_of(socket, struct sock, socket);
}

static struct sock *find(const struct hocket__http *http, curl_socket_t fd)
{
    struct hocket__socket *socket = hocket__sockets_find(&http->sockets, fd);
    return socket ? of(socket) : NULL;
}

static void forget(struct hocket__http *http, struct sock *s)
{
    hocket__sockets_forget(&http->sockets, &s->socket);
    hocket__free(http->a, s, sizeof(*s));
}

/* ---- The set ------------------------------------------------------------------------- */

/* A closing actor takes no more events: its shards are about to go. */
static bool is_late(void *ud)
{
    struct hocket__http *http = ud;
    return http->closing || hocket__http_is_late(http);
}

static void on_event(struct hocket__socket *socket, int events)
{
    struct hocket__shard *shard = of(socket)->shard;
    struct hocket__http *http = shard->http;
    int flags = events == 0 ? CURL_CSELECT_ERR : 0;
    if (events & UV_READABLE)
        flags |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        flags |= CURL_CSELECT_OUT;
    hocket__http_enter(http);
    hocket__shard_run(shard, socket->fd, flags);
    hocket__http_leave(http);
}

static int open_set(struct hocket__http *http)
{
    if (http->sockets.fd >= 0)
        return 0;
    http->sockets.on_event = on_event;
    http->sockets.is_late = is_late;
    http->sockets.ud = http;
    int status = hocket__sockets_open(&http->sockets, http->loop);
    http->handles += status == 0;
    return status;
}

/* ---- Sockets --------------------------------------------------------------------------- */

static struct sock *add(struct hocket__shard *shard, curl_socket_t fd, bool kept)
{
    struct hocket__http *http = shard->http;
    struct sock *s = find(http, fd);
    if (s) /* closed behind our back */
        forget(http, s);
    if (open_set(http) < 0 || !(s = hocket__zero(http->a, sizeof(*s))))
        return NULL;
    s->shard = shard;
    s->kept = kept;
    if (hocket__sockets_add(&http->sockets, &s->socket, fd) == 0)
        return s;
    hocket__free(http->a, s, sizeof(*s));
    return NULL;
}

curl_socket_t hocket__poll_open(struct hocket__shard *shard, const struct curl_sockaddr *to)
{
    int fd = hocket__tcp_open(to->family, to->socktype, to->protocol);
    errno = fd < 0 ? -fd : 0;
    if (fd < 0)
        return CURL_SOCKET_BAD;
    if (!add(shard, fd, true)) {
        int why = errno ? errno : ENOMEM;
        hocket__tcp_close(fd);
        errno = why;
        return CURL_SOCKET_BAD;
    }
    return fd;
}

int hocket__poll_close(void *http, curl_socket_t fd)
{
    struct sock *s = find(http, fd);
    if (s)
        forget(http, s);
    hocket__tcp_close(fd);
    return 0;
}

int hocket__poll_want(CURL *easy, curl_socket_t fd, int what, void *shard_ud, void *unused)
{
    struct hocket__shard *shard = shard_ud;
    struct hocket__http *http = shard->http;
    struct sock *s = find(http, fd);
    int events = 0;
    (void) unused;
    if (what != CURL_POLL_REMOVE)
        events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    else if (!s)
        return 0;
    else if (!s->kept) {
        forget(http, s);
        return 0;
    }
    if (!s)
        s = add(shard, fd, false);
    /* Returning an error here would end all transfers of the multi handle. */
    if (!s || hocket__sockets_want(&http->sockets, &s->socket, events) < 0)
        hocket__request_abort_easy(shard, easy);
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct hocket__sockets *set =
        hocket__container_of((uv_poll_t *) handle, struct hocket__sockets, poll);
    hocket__http_handle_closed(set->ud);
}

void hocket__poll_close_all(struct hocket__http *http)
{
    const struct hocket__map *left = &http->sockets.by_fd;
    for (size_t i = 0; i < left->cap; i++)
        if (left->slots[i].id)
            hocket__free(http->a, of(left->slots[i].value), sizeof(struct sock));
    if (http->sockets.fd >= 0)
        hocket__sockets_close(&http->sockets, on_closed);
}
