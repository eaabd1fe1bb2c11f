/* Windows has no fork: a process is always the one that opened its host. */
#include "os/own.h"

#include "base/status.h"

void hocket__own_open(struct hocket__own *o)
{
    *o = (struct hocket__own){ .pid = uv_os_getpid() };
}

void hocket__own_close(struct hocket__own *o)
{
    o->page = NULL;
}

bool hocket__own_is_forked(const struct hocket__own *o)
{
    (void) o;
    return false;
}

void hocket__own_take_over(struct hocket__own *o)
{
    (void) o;
}

int hocket__own_random(struct hocket__own *o, void *out, size_t n)
{
    (void) o;
    return hocket__random(out, n) == 0 ? 0 : HOCKET_EIO;
}
