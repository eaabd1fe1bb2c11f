#include "windows/posix.h"

#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

/* Puts six letters that nobody has drawn yet into the pattern. */
static void draw(char *at)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    unsigned char random[6];
    uv_random(NULL, NULL, random, sizeof(random), 0, NULL);
    for (int i = 0; i < 6; i++)
        at[i] = letters[random[i] % 32];
}

char *mkdtemp(char *pattern)
{
    draw(pattern + strlen(pattern) - 6);
    return _mkdir(pattern) == 0 ? pattern : NULL;
}

int mkstemps(char *pattern, int suffix)
{
    draw(pattern + strlen(pattern) - (size_t) suffix - 6);
    return _open(pattern, _O_RDWR | _O_CREAT | _O_EXCL | _O_BINARY, 0600);
}

int setenv(const char *name, const char *value, int overwrite)
{
    return !overwrite && getenv(name) ? 0 : uv_os_setenv(name, value);
}

int unsetenv(const char *name)
{
    return uv_os_unsetenv(name);
}

void *memmem(const void *in, size_t n, const void *what, size_t m)
{
    for (const char *at = in; n >= m; at++, n--)
        if (memcmp(at, what, m) == 0)
            return (void *) at;
    return NULL;
}

char *stpcpy(char *to, const char *from)
{
    size_t n = strlen(from);
    memcpy(to, from, n + 1);
    return to + n;
}

int rand_r(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return (int) (*seed >> 16 & 0x7fff);
}

void srandom(unsigned seed)
{
    srand(seed);
}

long random(void)
{
    return (long) rand() << 15 | rand();
}

struct tm *gmtime_r(const time_t *at, struct tm *out)
{
    return gmtime_s(out, at) == 0 ? out : NULL;
}
