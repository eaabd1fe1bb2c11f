/* A run grows with its journal and its agents. By default the heap grows with it one page at a time; the kernel has
 * to map each page. It also gives its end back whenever a larger block is freed, and takes it again for the next one.
 *
 * So addresses are taken once, more than most runs need, and kept; and as the heap grows into them
 * the next ones are asked for in large pages. For one of those the kernel clears 2 MB at once, which takes
 * some milliseconds on machines that have to find the memory first. So only a heap that grows slowly
 * gets them, and a thousand agents that start together get small ones. */
#include "cli/host/heap.h"

#include <stdlib.h>

uintptr_t cli_heap_watched = UINTPTR_MAX;

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)

#include <malloc.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define RESERVED   (512 << 20) /* bytes of addresses: some ten thousand agents */
#define LARGE_PAGE (2 << 20)
#define AHEAD      (128 << 10) /* bytes before a large page's place at which it is asked for */
#define MAPPED     (4 << 20)   /* blocks from this size on go back to the system at once */
#define SLOWLY     UINT64_C(12000000) /* ns, or more, for each 2 MB */

static struct {
    uintptr_t next, end; /* the next place of a large page; where the addresses end */
    uint64_t came;       /* here, ns; 0 at first, which is slowly */
} heap;

static uintptr_t end_of_heap(void)
{
    return (uintptr_t) sbrk(0);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

static uintptr_t page_from(uintptr_t at)
{
    return (at + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
}

/* A block that has no room makes the heap grow, by itself and by what M_TOP_PAD says. */
static void reserve(void)
{
    void *volatile block;
    mallopt(M_MMAP_THRESHOLD, MAPPED);
    mallopt(M_TRIM_THRESHOLD, 2 * RESERVED);
    mallopt(M_TOP_PAD, RESERVED);
    block = malloc(MAPPED / 2);
    free(block);
    mallopt(M_TOP_PAD, LARGE_PAGE);
}

static void watch(uintptr_t from)
{
    heap.next = from;
    cli_heap_watched = from + LARGE_PAGE <= heap.end ? from - AHEAD : UINTPTR_MAX;
}

void cli_heap_prepare(void)
{
    if (getenv("GLIBC_TUNABLES"))
        return;
    uintptr_t from = end_of_heap() + LARGE_PAGE;
    reserve();
    heap.end = end_of_heap();
    watch(page_from(from));
}

void cli_heap_grew(uintptr_t end)
{
    if (end > heap.end) /* a block with addresses of its own */
        return;
    uint64_t now = now_ns();
    uintptr_t from = end > heap.next ? page_from(end) : heap.next;
    if (now - heap.came >= SLOWLY && from + LARGE_PAGE <= heap.end)
        madvise((void *) from, LARGE_PAGE, MADV_HUGEPAGE);
    heap.came = now;
    watch(from + LARGE_PAGE);
}

#else

void cli_heap_prepare(void)
{
}

void cli_heap_grew(uintptr_t end)
{
    (void) end;
}

#endif
