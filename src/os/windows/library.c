#include "os/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "os/windows/wide.h"

#define MAX_WIDE 32768 /* characters of a path */

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

/* Room for the name of the library that this code is in, with the name of another one behind its folder: from malloc. */
static wchar_t *beside(const wchar_t *between, const wchar_t *name)
{
    const void *(*us)(const char *, const char *, const char **) = hocket__library_component;
    wchar_t *path = malloc(MAX_WIDE * sizeof(*path)), *slash = NULL;
    HMODULE self = NULL;
    LPCWSTR here;
    memcpy(&here, &us, sizeof(here));
    GetModuleHandleExW(
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, here,
        &self);
    DWORD n = path && self ? GetModuleFileNameW(self, path, MAX_WIDE) : 0;
    if (n && n < MAX_WIDE)
        slash = wcsrchr(path, L'\\');
    if (slash && slash - path + wcslen(between) + wcslen(name) + 2 < MAX_WIDE) {
        wcscpy(slash + 1, between);
        wcscat(slash + 1, name);
        return path;
    }
    free(path);
    return NULL;
}

static HMODULE load_beside(const char *library, const wchar_t *between)
{
    wchar_t *name = hocket__wide(library), *path = name ? beside(between, name) : NULL;
    HMODULE m = path ? LoadLibraryExW(path, NULL, LOAD_WITH_ALTERED_SEARCH_PATH) : NULL;
    free(path);
    free(name);
    return m;
}

/* hocket.dll has its components in it; a module for another Lua finds hocket with it, in its folder or in that above. */
const void *hocket__library_component(const char *library, const char *symbol, const char **why)
{
    HMODULE m = load_beside(library, L"");
    FARPROC address;
    const void *found = NULL;
    m = m ? m : load_beside(library, L"..\\");
    m = m ? m : load(library);
    if (!m) {
        *why = words_of(library);
        return NULL;
    }
    if ((address = GetProcAddress(m, symbol)))
        memcpy(&found, &address, sizeof(found));
    else
        snprintf(words, sizeof(words), "%s has no %s: it is of another version", library, symbol);
    *why = found ? NULL : words;
    return found;
}

/* A DLL names the library that each of its functions is from. */
bool hocket__library_same(const void *one, const void *other)
{
    (void) one;
    (void) other;
    return true;
}
