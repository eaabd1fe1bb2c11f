#include "os/fs.h"

#include <stdlib.h>

#include "os/windows/wide.h"

bool hocket__win_real(const char *path, char *out, size_t size)
{
    char *real = hocket__real_path(path);
    bool fits = real && strlen(real) < size;
    if (fits)
        strcpy(out, real);
    free(real);
    return fits;
}

/* A folder has at most 248 characters otherwise, and SQLite adds eight to the name of a store. */
const char *hocket__fs_long(const char *path, char *room)
{
    wchar_t *wide = strlen(path) < 240 ? NULL : hocket__wide_path(path);
    bool fits =
        wide && WideCharToMultiByte(CP_UTF8, 0, wide, -1, room, HOCKET__FS_ROOM, NULL, NULL) > 0;
    free(wide);
    return fits ? room : path;
}
