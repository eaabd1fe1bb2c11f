/* Forked children that have to notice it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Whether a page that is to be empty in a child is, or the system says that it cannot be. qemu's user mode says that it is, and it is not. */
static inline bool test_fork_is_noticed(void)
{
#ifdef MADV_WIPEONFORK
    volatile char *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || madvise((void *) page, 4096, MADV_WIPEONFORK) != 0)
        return true;
    *page = 1;
    int status = 1;
    pid_t child = fork();
    if (child == 0)
        _exit(*page);
    waitpid(child, &status, 0);
    munmap((void *) page, 4096);
    return status == 0;
#else
    return true;
#endif
}

static inline void test_fork_noticed_or_skip(void)
{
    if (!test_fork_is_noticed()) {
        print_message("a forked child cannot notice it here\n");
        skip();
    }
}
