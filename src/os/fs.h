/* Files by their names, as libuv has them, at once. What fails gives a code of libuv. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <uv.h>

#include "base/buf.h"

/* A path that a program gives, as hocket has them on every system: with "/". On Windows it is a copy in `room`, an empty
 * buffer whose status the caller checks; elsewhere the path itself. */
static inline const char *hocket__fs_slashes(struct hocket__buf *room, const char *path)
{
#ifdef _WIN32
    hocket__buf_add(room, path, strlen(path) + 1);
    for (size_t i = 0; room->status == 0 && i < room->len; i++)
        if (room->data[i] == '\\')
            room->data[i] = '/';
    return room->status == 0 ? room->data : path;
#else
    (void) room;
    return path;
#endif
}

/* Whether paths begin with drives, and "\\" is a slash. */
static inline bool hocket__fs_has_drives(void)
{
#ifdef _WIN32
    return true;
#else
    return false;
#endif
}

/* Does a path begin at the top, of a drive or a share where there are some. */
static inline bool hocket__fs_is_absolute(const char *path)
{
#ifdef _WIN32
    if (((path[0] | 32) >= 'a' && (path[0] | 32) <= 'z') && path[1] == ':')
        path += 2;
    if (path[0] == '\\')
        return true;
#endif
    return path[0] == '/';
}

/* The form in which the system takes a path of any length. `room` is for a path that has to be written otherwise. */
#ifdef _WIN32
#define HOCKET__FS_ROOM 4500
const char *hocket__fs_long(const char *path, char *room);
/* As hocket__fs_real. */
bool hocket__win_real(const char *path, char *out, size_t size);
#else
#define HOCKET__FS_ROOM 1
static inline const char *hocket__fs_long(const char *path, char *room)
{
    (void) room;
    return path;
}
#endif

/* What a name leads to. */
static inline int hocket__fs_stat(const char *path, uv_stat_t *out)
{
    char room[HOCKET__FS_ROOM];
    uv_fs_t req;
    int rc = uv_fs_stat(NULL, &req, hocket__fs_long(path, room), NULL);
    if (rc == 0)
        *out = req.statbuf;
    uv_fs_req_cleanup(&req);
    return rc;
}

/* The same; of a link itself. */
static inline int hocket__fs_lstat(const char *path, uv_stat_t *out)
{
    char room[HOCKET__FS_ROOM];
    uv_fs_t req;
    int rc = uv_fs_lstat(NULL, &req, hocket__fs_long(path, room), NULL);
    if (rc == 0)
        *out = req.statbuf;
    uv_fs_req_cleanup(&req);
    return rc;
}

/* Whether the file that a name leads to can be read. */
static inline bool hocket__fs_may_read(const char *path)
{
    char room[HOCKET__FS_ROOM];
    uv_fs_t req;
    int rc = uv_fs_access(NULL, &req, hocket__fs_long(path, room), 4 /* R_OK */, NULL);
    uv_fs_req_cleanup(&req);
    return rc == 0;
}

static inline int hocket__fs_unlink(const char *path)
{
    char room[HOCKET__FS_ROOM];
    uv_fs_t req;
    int rc = uv_fs_unlink(NULL, &req, hocket__fs_long(path, room), NULL);
    uv_fs_req_cleanup(&req);
    return rc;
}

/* The path without links and dots; false: it is not there, or does not fit. */
static inline bool hocket__fs_real(const char *path, char *out, size_t size)
{
#ifdef _WIN32
    return hocket__win_real(path, out, size);
#else
    uv_fs_t req;
    bool fits = uv_fs_realpath(NULL, &req, path, NULL) == 0 && strlen(req.ptr) < size;
    if (fits)
        strcpy(out, req.ptr);
    uv_fs_req_cleanup(&req);
    return fits;
#endif
}

/* Bytes that this user may still write to the file system of a path; UINT64_MAX: nobody says. */
static inline uint64_t hocket__fs_room(const char *path)
{
    char name[HOCKET__FS_ROOM];
    uv_fs_t req;
    uint64_t room = UINT64_MAX;
    if (uv_fs_statfs(NULL, &req, hocket__fs_long(path, name), NULL) == 0) {
        const uv_statfs_t *fs = req.ptr;
        room = fs->f_bavail * fs->f_bsize;
    }
    uv_fs_req_cleanup(&req);
    return room;
}

/* ---- Reading ----------------------------------------------------------------------------- */

/* A file to read; a pipe that has this name does not block. */
static inline int hocket__fs_open(const char *path)
{
    char room[HOCKET__FS_ROOM];
    uv_fs_t req;
    int flags = UV_FS_O_RDONLY | UV_FS_O_NOCTTY | UV_FS_O_NONBLOCK;
    int fd = uv_fs_open(NULL, &req, hocket__fs_long(path, room), flags, 0, NULL);
    uv_fs_req_cleanup(&req);
    return fd;
}

static inline int hocket__fs_fstat(int fd, uv_stat_t *out)
{
    uv_fs_t req;
    int rc = uv_fs_fstat(NULL, &req, fd, NULL);
    if (rc == 0)
        *out = req.statbuf;
    uv_fs_req_cleanup(&req);
    return rc;
}

/* At most n bytes from where the last one ended; 0: the end. */
static inline int hocket__fs_read(int fd, char *to, unsigned n)
{
    uv_fs_t req;
    uv_buf_t buf = uv_buf_init(to, n);
    int rc = uv_fs_read(NULL, &req, fd, &buf, 1, -1, NULL);
    uv_fs_req_cleanup(&req);
    return rc;
}

static inline void hocket__fs_close(int fd)
{
    uv_fs_t req;
    uv_fs_close(NULL, &req, fd, NULL);
    uv_fs_req_cleanup(&req);
}
