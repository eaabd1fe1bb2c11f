/* Who takes over a descriptor that comes with a program: the proxy of the optional component hocket-serve,
 * which programs are started without. */
#pragma once

#define HOCKET__PROXY_META "hocket.proxy"

/* The first member of what has the metatable above. */
struct hocket__taker {
    void (*take)(struct hocket__taker *t, int fd);
};
