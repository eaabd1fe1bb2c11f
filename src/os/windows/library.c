#include "os/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "os/windows/wide.h"

static __thread char words[160];

static const char *words_of(const char *library)
{
    snprintf(words, sizeof(words), "%s cannot be loaded (error %lu of Windows)", library,
        GetLastError());
    return words;
}

/* Windows searches for a name without a folder beside the program and in its own folder, and nowhere else: not in the current
 * directory, where anybody may have put one. */
static HMODULE load(const char *library)
{
    wchar_t *name = hocket__wide(library);
    HMODULE m = name ? LoadLibraryExW(name, NULL,
                    strpbrk(library, "/\\") ? LOAD_WITH_ALTERED_SEARCH_PATH
                                            : LOAD_LIBRARY_SEARCH_DEFAULT_DIRS)
                     : NULL;
    free(name);
    return m;
}

enum hocket__library hocket__library_load(
    const char *library, const char *names, void *table, const char **why)
{
    HMODULE handle = load(library);
    char *to = table;
    FARPROC address;
    if (!handle) {
        *why = words_of(library);
        return HOCKET__LIBRARY_ABSENT;
    }
    for (const char *name = names; *name; name += strlen(name) + 1, to += sizeof(address)) {
        address = GetProcAddress(handle, name);
        if (!address) {
            *why = name;
            FreeLibrary(handle);
            return HOCKET__LIBRARY_OTHER;
        }
        memcpy(to, &address, sizeof(address));
    }
    return HOCKET__LIBRARY_LOADED;
}

/* hocket.dll has its components in it. */
const void *hocket__library_component(const char *library, const char *symbol, const char **why)
{
    (void) library;
    (void) symbol;
    *why = "there is none for Windows";
    return NULL;
}
