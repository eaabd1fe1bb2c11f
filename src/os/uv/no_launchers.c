/* Launchers on systems that have none: only Linux needs them to start programs. */
#include <stdlib.h>

#include "os/process.h"

bool hocket__process_needs_launcher(void)
{
    return false;
}

void hocket__launchers_init(struct hocket__launchers *l, const struct hocket_allocator *a)
{
    hocket__buf_init(&l->path, a, 0);
    l->socket = l->pidfd = -1;
}

void hocket__launchers_close(struct hocket__launchers *l)
{
    hocket__buf_deinit(&l->path);
}

void hocket__launchers_after_fork(struct hocket__launchers *l)
{
    (void) l;
}

_Noreturn void hocket__launcher_main(void)
{
    exit(1);
}
