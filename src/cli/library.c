#include "cli/library.h"

#include <dlfcn.h>
#include <string.h>

bool cli_library_load(const char *library, const char *names, void *table)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL), *address;
    char *to = table;
    if (!handle)
        return false;
    for (const char *name = names; *name; name += strlen(name) + 1, to += sizeof(address)) {
        address = dlsym(handle, name);
        if (!address)
            return false;
        /* POSIX lets a data pointer carry a function's address; ISO C has no cast for it. */
        memcpy(to, &address, sizeof(address));
    }
    return true;
}
