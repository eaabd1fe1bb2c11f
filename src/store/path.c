/* What may be named as a store: a file, or a database of a kind that is known. What can be seen at once is said before
 * anything is done that was to be kept. */
#include "store/path.h"

#include <string.h>
#include <strings.h>

#include "os/fs.h"

bool hocket__store_is_postgres(const char *path)
{
    return strncasecmp(path, "postgres://", 11) == 0 || strncasecmp(path, "postgresql://", 13) == 0;
}

/* The letters of "word:/…", which is no path, whatever may be meant; 0. */
static int scheme_of(const char *path)
{
    size_t n = strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    return n > 1 && path[n] == ':' && path[n + 1] == '/' ? (int) n : 0;
}

int hocket__store_check_path(const char *path, struct hocket_error *err)
{
    int n = scheme_of(path);
    if (n == 0 || hocket__store_is_postgres(path))
        return 0;
    return hocket__error(err, HOCKET_EINVAL,
        "runs cannot be kept in a '%.*s:…': name a file, or postgres://…", n, path);
}

int hocket__store_look(const char *path, struct hocket_error *err)
{
    uv_stat_t st;
    size_t n = strlen(path);
    if (strcmp(path, "memory") == 0 || hocket__store_is_postgres(path))
        return 0;
    bool exists = hocket__fs_lstat(path, &st) == 0;
    if (path[n - 1] == '/' || (exists && S_ISDIR(st.st_mode)))
        return hocket__error(err, HOCKET_EINVAL,
            "%s is a folder: name a file in it to keep runs in (runs.db)", path);
    return 0;
}
