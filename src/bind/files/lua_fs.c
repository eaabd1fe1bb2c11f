/* hocket.fs: files for scripts and loaders. Paths are the process's own; tools for models have
 * permissions and a root of their own.
 *
 * These block, for as long as a local file takes: scripts and loaders run before anything else
 * does. What tools do is in lua_files.c and does not. */

#include <stdlib.h>

#include "bind/runtime.h"
#include "bind/open.h"
#include "bind/options.h"
#include "bind/util.h"
#include "os/file.h"
#include "os/fs.h"

/* read(path, max?) -> text | nil, error */
static int l_read(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    const char *path = hocket__check_path(L, 1);
    lua_Integer max = luaL_optinteger(L, 2, (lua_Integer) HOCKET__FILE_MAX);
    luaL_argcheck(L, max >= 0, 2, "a size must not be negative");
    hocket__buf_reset(&rt->scratch);
    if (hocket__file_read(path, (size_t) max, &rt->scratch, &err) < 0)
        return hocket__fail(L, &err);
    hocket__push_str(L, hocket__buf_str(&rt->scratch));
    return 1;
}

/* write(path, text, {exclusive=, executable=, private=}?) -> true | nil, error; private: for its owner alone */
static int l_write(lua_State *L)
{
    struct asked {
        bool exclusive, executable, is_private;
    };
    static const struct hocket__opt rows[] = {
        { HOCKET__OPT_BOOL("exclusive", struct asked, exclusive) },
        { HOCKET__OPT_BOOL("executable", struct asked, executable) },
        { HOCKET__OPT_BOOL("private", struct asked, is_private) },
        { 0 },
    };
    struct asked asked = { .exclusive = false };
    struct hocket_error err;
    const char *path = hocket__check_path(L, 1);
    struct hocket__str text = hocket__check_str(L, 2);
    hocket__opt_read(L, 3, rows, &asked);
    int mode = (asked.executable ? 0777 : 0666) & (asked.is_private ? 0700 : 0777);
    return hocket__succeed(L, hocket__file_write(path, text, asked.exclusive, mode, &err), &err);
}

/* mkdir(path, {private = true}?) -> true | nil, error: parents too; private: for the user alone */
static int l_mkdir(lua_State *L)
{
    struct hocket_error err;
    bool is_private = false;
    if (lua_istable(L, 2)) {
        lua_getfield(L, 2, "private");
        is_private = lua_toboolean(L, -1);
        lua_pop(L, 1);
    }
    return hocket__succeed(L, hocket__dir_make(hocket__check_path(L, 1), is_private, &err), &err);
}

/* info(path) -> {kind = "file" | "directory" | "other", size, modified, private} | nil; nil, error */
static int l_info(lua_State *L)
{
    struct hocket_error err;
    struct hocket__file_info info;
    if (hocket__file_info(hocket__check_path(L, 1), &info, &err) < 0)
        return hocket__fail(L, &err);
    if (!info.exists)
        return 0;
    lua_createtable(L, 0, 4);
    hocket__set_cstr(L, "kind", info.is_dir ? "directory" : info.is_file ? "file" : "other");
    hocket__set_int(L, "size", info.size);
    hocket__set_number(L, "modified", (double) info.mtime_ms / 1000);
    hocket__set_bool(L, "private", info.is_private);
    return 1;
}

/* Lua is not entered from the callback: names are gathered first ("d" or "f", name, NUL). */
static void gather(void *ud, const char *name, bool is_dir)
{
    struct hocket__buf *b = ud;
    hocket__buf_addc(b, is_dir ? 'd' : 'f');
    hocket__buf_add(b, name, strlen(name) + 1);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *) a + 1, *(const char *const *) b + 1);
}

/* list(path) -> array of names, sorted, directories with a slash at the end | nil, error */
static int l_list(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    hocket__buf_reset(&rt->scratch);
    if (hocket__dir_list(hocket__check_path(L, 1), gather, &rt->scratch, &err) < 0)
        return hocket__fail(L, &err);
    size_t n = 0;
    for (size_t at = 0; at < rt->scratch.len; n++)
        at += strlen(rt->scratch.data + at) + 1;
    const char **names = lua_newuserdatauv(L, (n ? n : 1) * sizeof(*names), 0),
               *p = rt->scratch.data;
    for (size_t i = 0; i < n; i++, p += strlen(p) + 1)
        names[i] = p;
    qsort(names, n, sizeof(*names), by_name);
    lua_createtable(L, (int) n, 0);
    for (size_t i = 0; i < n; i++) {
        lua_pushfstring(L, "%s%s", names[i] + 1, names[i][0] == 'd' ? "/" : "");
        lua_rawseti(L, -2, (lua_Integer) i + 1);
    }
    return 1;
}

/* real(path) -> absolute path without links | nil */
static int l_real(lua_State *L)
{
    char real[4096];
    if (!hocket__fs_real(hocket__check_path(L, 1), real, sizeof(real)))
        return 0;
    lua_pushstring(L, real);
    return 1;
}

/* is_absolute(path) -> whether it begins at the top: of a drive or a share where the system has some */
static int l_is_absolute(lua_State *L)
{
    lua_pushboolean(L, hocket__fs_is_absolute(luaL_checkstring(L, 1)));
    return 1;
}

static const luaL_Reg functions[] = {
    { "read", l_read },
    { "write", l_write },
    { "mkdir", l_mkdir },
    { "info", l_info },
    { "list", l_list },
    { "real", l_real },
    { "is_absolute", l_is_absolute },
    { NULL, NULL },
};

int hocket__open_fs(lua_State *L)
{
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}
