#include "net/http_poll.h"

#include <unistd.h>

#include "net/http_actor.h"
#include "net/http_request.h"
#include "net/http_shard.h"

struct sock {
    uv_poll_t poll;
    struct hocket__shard *shard;
    curl_socket_t fd;
    int events;  /* what the poll watches for */
    bool wanted; /* libcurl wants to hear of it; otherwise it lies idle */
    bool kept;   /* its poll lives as long as the descriptor */
};

static void on_closed(uv_handle_t *handle)
{
    struct sock *s = hocket__container_of(handle, struct sock, poll);
    struct hocket__http *http = handle->data;
    hocket__free(http->a, s, sizeof(*s));
    hocket__http_handle_closed(http);
}

static uint64_t key_of(curl_socket_t fd)
{
    return (uint64_t) fd + 1;
}

static struct sock *find(const struct hocket__http *http, curl_socket_t fd)
{
    return hocket__map_get(&http->socks, key_of(fd));
}

static void forget(struct sock *s)
{
    struct hocket__http *http = s->poll.data;
    hocket__map_del(&http->socks, key_of(s->fd));
    uv_close((uv_handle_t *) &s->poll, on_closed);
}

static struct sock *add(struct hocket__shard *shard, curl_socket_t fd, bool kept)
{
    struct hocket__http *http = shard->http;
    struct sock *s = find(http, fd);
    if (s) /* closed behind our back */
        forget(s);
    if (!(s = hocket__zero(http->a, sizeof(*s))))
        return NULL;
    s->shard = shard;
    s->fd = fd;
    s->kept = kept;
    if (hocket__map_set(&http->socks, key_of(fd), s) < 0)
        goto no_room;
    if (uv_poll_init_socket(http->loop, &s->poll, fd) < 0)
        goto no_poll;
    s->poll.data = http;
    http->handles++;
    return s;
no_poll:
    hocket__map_del(&http->socks, key_of(fd));
no_room:
    hocket__free(http->a, s, sizeof(*s));
    return NULL;
}

curl_socket_t hocket__poll_open(struct hocket__shard *shard, const struct curl_sockaddr *to)
{
    int fd = socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
    if (fd < 0)
        return CURL_SOCKET_BAD;
    if (!add(shard, fd, true)) {
        close(fd);
        return CURL_SOCKET_BAD;
    }
    return fd;
}

int hocket__poll_close(void *http, curl_socket_t fd)
{
    struct sock *s = find(http, fd);
    if (s)
        forget(s);
    return close(fd);
}

static void stop(struct sock *s)
{
    uv_poll_stop(&s->poll);
    s->events = 0;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct sock *s = hocket__container_of(poll, struct sock, poll);
    struct hocket__http *http = poll->data;
    int flags = 0;
    if (status >= 0 && hocket__http_is_late(http)) /* libuv tells of it again */
        return;
    if (status < 0) { /* libuv has stopped it */
        s->events = 0;
        flags = CURL_CSELECT_ERR;
    }
    if (!s->wanted) {
        stop(s);
        return;
    }
    if (events & UV_READABLE)
        flags |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        flags |= CURL_CSELECT_OUT;
    hocket__http_enter(http);
    hocket__shard_run(s->shard, s->fd, flags);
    hocket__http_leave(http);
}

static int start(struct sock *s, int events)
{
    if (!s->wanted) {
        s->wanted = true;
        uv_ref((uv_handle_t *) &s->poll);
    }
    if (s->events == events)
        return 0;
    s->events = events;
    return uv_poll_start(&s->poll, events, on_poll);
}

/* An idle connection does not keep the loop alive. */
static void rest(struct sock *s)
{
    if (!s->kept) {
        forget(s);
        return;
    }
    s->wanted = false;
    uv_unref((uv_handle_t *) &s->poll);
    if (s->events & UV_WRITABLE) /* it would fire all the time */
        stop(s);
}

int hocket__poll_want(CURL *easy, curl_socket_t fd, int what, void *shard_ud, void *unused)
{
    struct hocket__shard *shard = shard_ud;
    struct sock *s = find(shard->http, fd);
    if (what == CURL_POLL_REMOVE) {
        if (s && s->wanted)
            rest(s);
        return 0;
    }
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    if (!s)
        s = add(shard, fd, false);
    /* Returning an error here would end all transfers of the multi handle. */
    if (!s || start(s, events) < 0)
        hocket__request_doom_easy(shard, easy);
    return 0;
}

void hocket__poll_close_all(struct hocket__http *http)
{
    for (size_t i = 0; i < http->socks.cap; i++) {
        struct sock *s = http->socks.slots[i].id ? http->socks.slots[i].value : NULL;
        if (s)
            uv_close((uv_handle_t *) &s->poll, on_closed);
    }
    hocket__map_deinit(&http->socks);
}
