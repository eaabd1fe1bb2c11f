/* A run grows by what it keeps, its journal and its agents. By itself the heap grows with it a page
 * at a time, each of which the kernel has to hand out and the processor to find, and gives its end back
 * whenever a larger block goes, to take it again for the next one.
 *
 * So addresses are taken once, more than most runs need, and kept. Past a beginning they are asked for
 * in large pages: there the kernel clears 2 MB at a time, which is a millisecond on machines that
 * have to find the memory first. In the beginning, where a thousand agents that start at once have
 * theirs, it would come just when nobody has time. */
#include "cli/heap.h"

#include <stdint.h>
#include <stdlib.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#define RESERVED   (512 << 20) /* bytes of addresses: some ten thousand agents */
#define BEGINNING  (64 << 20)  /* bytes */
#define LARGE_PAGE (2 << 20)
#define MAPPED     (4 << 20) /* blocks from this size on go back to the system at once */

static uintptr_t end_of_heap(void)
{
    return (uintptr_t) sbrk(0);
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

void cli_heap_prepare(void)
{
    if (getenv("GLIBC_TUNABLES"))
        return;
    uintptr_t from = end_of_heap() + BEGINNING;
    reserve();
    from = (from + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    if (end_of_heap() > from)
        madvise((void *) from, end_of_heap() - from, MADV_HUGEPAGE);
}

#else

void cli_heap_prepare(void)
{
}

#endif
