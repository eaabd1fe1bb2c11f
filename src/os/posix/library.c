#include "os/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#if HOCKET_STATIC
/* A static program has no loader. Lua's `require` of a C module passes these words on. */
void *dlopen(const char *path, int mode)
{
    (void) path;
    (void) mode;
    return NULL;
}

void *dlsym(void *restrict handle, const char *restrict name)
{
    (void) handle;
    (void) name;
    return NULL;
}

int dlclose(void *handle)
{
    (void) handle;
    return -1;
}

char *dlerror(void)
{
    static char why[] =
        "this hocket is a static program, which cannot load libraries or C modules; "
        "that of a package (Debian: hocket) or of a build from source can";
    return why;
}

/* GCC's unwinder of a compiler for glibc asks for it first; without an answer it looks itself. */
int _dl_find_object(void *address, void *result);
int _dl_find_object(void *address, void *result)
{
    (void) address;
    (void) result;
    return -1;
}
#endif

/* macOS looks into /usr/lib and /usr/local/lib, and not where Homebrew puts libraries. */
static void *open_library(const char *library)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
#ifdef __APPLE__
    char path[PATH_MAX];
    if (!handle && snprintf(path, sizeof(path), "/opt/homebrew/lib/%s", library) < PATH_MAX)
        handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
#endif
    return handle;
}

enum hocket__library hocket__library_load(
    const char *library, const char *names, void *table, const char **why)
{
    void *handle = open_library(library), *address;
    char *to = table;
    if (!handle) {
        *why = dlerror();
        return HOCKET__LIBRARY_ABSENT;
    }
    for (const char *name = names; *name; name += strlen(name) + 1, to += sizeof(address)) {
        address = dlsym(handle, name);
        if (!address) {
            *why = name; /* dlclose ends the life of what dlerror says */
            dlclose(handle);
            return HOCKET__LIBRARY_OTHER;
        }
        /* POSIX lets a data pointer carry a function's address; ISO C has no cast for it. */
        memcpy(to, &address, sizeof(address));
    }
    return HOCKET__LIBRARY_LOADED;
}

static void *open_beside(const char *library)
{
    char path[PATH_MAX];
    Dl_info self;
    void *here;
    const void *(*us)(const char *, const char *, const char **) = hocket__library_component;
    memcpy(&here, &us, sizeof(here));
    const char *slash = dladdr(here, &self) ? strrchr(self.dli_fname, '/') : NULL;
    if (!slash)
        return NULL;
    int n = snprintf(
        path, sizeof(path), "%.*s/%s", (int) (slash - self.dli_fname), self.dli_fname, library);
    return n < (int) sizeof(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

const void *hocket__library_component(const char *library, const char *symbol, const char **why)
{
    void *handle = open_beside(library);
    if (!handle)
        handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    const void *found = handle ? dlsym(handle, symbol) : NULL;
    *why = found ? NULL : dlerror();
    return found;
}

bool hocket__library_same(const void *one, const void *other)
{
    Dl_info of_one, of_other;
    return !dladdr(one, &of_one) || !dladdr(other, &of_other)
           || of_one.dli_fbase == of_other.dli_fbase;
}
