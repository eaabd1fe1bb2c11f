/* Whether this is still the process that opened the host, without a system call at every pump: the
 * kernel empties a page in a forked child (MADV_WIPEONFORK). Kernels before 4.14, and other systems,
 * need getpid.
 *
 * The same page keeps random bytes, so that a forked child cannot hand out those of its
 * parent. */
#include "os/own.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/status.h"

#define ROOM 1024 /* bytes that are fetched at once */

struct hocket__own_page {
    bool here;
    size_t left; /* of the random bytes, which are given from the end and wiped */
    unsigned char random[ROOM];
};

void hocket__own_open(struct hocket__own *o)
{
    *o = (struct hocket__own){ .pid = getpid() };
#ifdef MADV_WIPEONFORK
    size_t size = sizeof(*o->page);
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return;
    if (madvise(p, size, MADV_WIPEONFORK) < 0) {
        munmap(p, size);
        return;
    }
    o->page = p;
    o->page->here = true;
#endif
}

void hocket__own_close(struct hocket__own *o)
{
    if (o->page)
        munmap(o->page, sizeof(*o->page));
    o->page = NULL;
}

bool hocket__own_is_forked(const struct hocket__own *o)
{
    return o->page ? !o->page->here : o->pid != getpid();
}

void hocket__own_take_over(struct hocket__own *o)
{
    o->pid = getpid();
    if (o->page)
        o->page->here = true;
}

static int fetch(void *out, size_t n)
{
    return hocket__random(out, n) == 0 ? 0 : HOCKET_EIO;
}

int hocket__own_random(struct hocket__own *o, void *out, size_t n)
{
    struct hocket__own_page *page = o->page;
    if (!page || n > ROOM)
        return fetch(out, n);
    if (page->left < n) {
        if (fetch(page->random, ROOM) < 0)
            return HOCKET_EIO;
        page->left = ROOM;
    }
    page->left -= n;
    memcpy(out, page->random + page->left, n);
    memset(page->random + page->left, 0, n);
    return 0;
}
