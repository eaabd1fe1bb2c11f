#include "serve/listener.h"

#include <string.h>

#include "os/tcp.h"

int hocket__listener_error(struct hocket_error *err, int error, const char *address, int port)
{
    int status = error == UV_EADDRINUSE                            ? HOCKET_EEXIST
                 : error == UV_EACCES || error == UV_EPERM         ? HOCKET_EDENIED
                 : error == UV_EADDRNOTAVAIL || error == UV_EINVAL ? HOCKET_EINVAL
                                                                   : HOCKET_EIO;
    return hocket__error(
        err, status, "cannot listen on %s port %d: %s", address, port, uv_strerror(error));
}

int hocket__listener_open(const char *address, int port)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_storage at = { 0 };
    if (port < 0 || port > 65535)
        return UV_EINVAL;
    if (uv_ip4_addr(address, port, &v4) == 0)
        memcpy(&at, &v4, sizeof(v4));
    else if (uv_ip6_addr(address, port, &v6) == 0)
        memcpy(&at, &v6, sizeof(v6));
    else
        return UV_EINVAL;
    return hocket__tcp_listen((struct sockaddr *) &at);
}
