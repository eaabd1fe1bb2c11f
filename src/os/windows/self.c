#include "os/self.h"

#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "os/own.h"

/* When it was started: with its number that is one process. 0: not to be seen; -1: it has ended. */
static int64_t start_of(int64_t pid)
{
    FILETIME created, exited, kernel, user;
    HANDLE p = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE, FALSE, (DWORD) pid);
    int64_t start = 0;
    if (!p) /* a number that nobody has is an invalid parameter */
        return GetLastError() == ERROR_INVALID_PARAMETER ? -1 : 0;
    if (WaitForSingleObject(p, 0) == WAIT_OBJECT_0)
        start = -1;
    else if (GetProcessTimes(p, &created, &exited, &kernel, &user))
        start = (int64_t) created.dwHighDateTime << 32 | created.dwLowDateTime;
    CloseHandle(p);
    return start;
}

/* The machine's own number; its name may be another one's as well. */
static void machine(char *out, size_t size)
{
    DWORD n = (DWORD) size;
    if (RegGetValueA(HKEY_LOCAL_MACHINE, "SOFTWARE\\Microsoft\\Cryptography", "MachineGuid",
            RRF_RT_REG_SZ | RRF_SUBKEY_WOW6464KEY, NULL, out, &n)
        != ERROR_SUCCESS)
        out[0] = 0;
}

/* Numbers of processes are used again after a boot as well; the time at which one was started tells them apart. */
void hocket__self_init(struct hocket__self *self)
{
    char id[64];
    size_t n = sizeof(self->host);
    self->pid = uv_os_getpid();
    self->start = start_of(self->pid);
    if (uv_os_gethostname(self->host, &n) < 0)
        self->host[0] = 0;
    machine(id, sizeof(id));
    snprintf(self->place, sizeof(self->place), "%s/%s", self->host, id);
    if (hocket__random(&self->store, sizeof(self->store)) != 0)
        self->store = self->start ^ (int64_t) (uintptr_t) self;
}

int64_t hocket__self_user(void)
{
    return 0;
}

const char *hocket__self_getenv(const char *name)
{
    return getenv(name);
}

bool hocket__self_knows_ended(
    const struct hocket__self *self, struct hocket__str place, int64_t pid, int64_t start)
{
    if (!hocket__str_eq(place, hocket__cstr(self->place)))
        return false;
    int64_t now = start_of(pid);
    return now < 0 || (now > 0 && start > 0 && now != start);
}
