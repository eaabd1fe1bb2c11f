#include "os/self.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "os/own.h"
#include "os/posix/system.h"

/* `store` distinguishes the stores of one process, and this process from one that got its number
 * after a reboot of the container. */
void hocket__self_init(struct hocket__self *self)
{
    char place[128];
    self->pid = getpid();
    self->start = hocket__system_start_of(self->pid);
    gethostname(self->host, sizeof(self->host) - 1);
    hocket__system_place(place, sizeof(place));
    snprintf(self->place, sizeof(self->place), "%s/%s", self->host, place);
    if (hocket__random(&self->store, sizeof(self->store)) != 0)
        self->store = self->start ^ (int64_t) (uintptr_t) self;
}

int64_t hocket__self_user(void)
{
    return geteuid();
}

const char *hocket__self_getenv(const char *name)
{
    return hocket__system_getenv(name);
}

/* A process number is used again: the time at which it was started tells the old one from the new. */
bool hocket__self_knows_ended(
    const struct hocket__self *self, struct hocket__str place, int64_t pid, int64_t start)
{
    if (!hocket__str_eq(place, hocket__cstr(self->place)))
        return false;
    int64_t now = hocket__system_start_of(pid);
    if (now == 0)
        return kill((pid_t) pid, 0) < 0 && errno == ESRCH;
    return now < 0 || (start > 0 && now != start);
}
