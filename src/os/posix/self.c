#include "os/self.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* The state, and the time at which it was started, in ticks since the machine was: together with its
 * number that is one process for as long as the machine runs. 0: not to be seen; -1: it has ended, and
 * nobody has asked how. */
static int64_t start_of(int64_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%lld/stat", (long long) pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n] = 0;
    const char *at = strrchr(text, ')'); /* its name may hold anything */
    char state = at && at[1] ? at[2] : 'X';
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return state == 'Z' || state == 'X' ? -1 : at ? strtoll(at, NULL, 10) : 0;
}

/* A file of /proc that is not there leaves the text empty, and the place is then less exact, never
 * wrong. */
static void read_line(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "re");
    if (!f || !fgets(out, (int) size, f))
        out[0] = 0;
    out[strcspn(out, "\n")] = 0;
    if (f)
        fclose(f);
}

/* `store` distinguishes the stores of one process, and this process from one that got its number
 * after a reboot of the container. */
void hocket__self_init(struct hocket__self *self)
{
    char boot[64] = "";
    struct stat ns;
    self->pid = getpid();
    self->start = start_of(self->pid);
    gethostname(self->host, sizeof(self->host) - 1);
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
    unsigned long inode = stat("/proc/self/ns/pid", &ns) == 0 ? (unsigned long) ns.st_ino : 0;
    snprintf(self->place, sizeof(self->place), "%s/%s/%lu", self->host, boot, inode);
    if (getrandom(&self->store, sizeof(self->store), 0) != sizeof(self->store))
        self->store = self->start ^ (int64_t) (uintptr_t) self;
}

int64_t hocket__self_user(void)
{
    return geteuid();
}

const char *hocket__self_getenv(const char *name)
{
    return secure_getenv(name);
}

/* A process number is used again: the time at which it was started tells the old one from the new. */
bool hocket__self_knows_ended(
    const struct hocket__self *self, struct hocket__str place, int64_t pid, int64_t start)
{
    if (!hocket__str_eq(place, hocket__cstr(self->place)))
        return false;
    int64_t now = start_of(pid);
    if (now == 0)
        return kill((pid_t) pid, 0) < 0 && errno == ESRCH;
    return now < 0 || (start > 0 && now != start);
}
