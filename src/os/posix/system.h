/* What the systems behind posix/ have each in their own way: linux/system.c, macos/system.c. Functions fail with errno. */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#ifdef __APPLE__
#define HOCKET__O_PASS   O_SEARCH                 /* a folder on the way: it need not be listed */
#define HOCKET__O_ITSELF (O_EVTONLY | O_NONBLOCK) /* whatever it is, and neither read nor written */
#define HOCKET__QUIETLY  0                        /* hocket__tcp_open sets SO_NOSIGPIPE */
#else
#define HOCKET__O_PASS   (O_PATH | O_DIRECTORY)
#define HOCKET__O_ITSELF O_PATH
#define HOCKET__QUIETLY  MSG_NOSIGNAL
#endif

/* ---- Files ------------------------------------------------------------------------------------ */

/* Opens what lies below a folder, links that stay inside included. ENOSYS: the system has no such call. */
int hocket__system_open_beneath(int dir, const char *path, int flags);

/* Makes a file without a name in a folder, for its user alone. EOPNOTSUPP, EISDIR, ENOENT or ENOSYS: there it cannot. */
int hocket__system_open_nameless(const char *dir);

/* Renames where nothing is (NEW), or two at once (SWAP). EINVAL, ENOSYS or EOPNOTSUPP: the file system cannot. */
enum hocket__system_rename { HOCKET__RENAME_NEW, HOCKET__RENAME_SWAP };
int hocket__system_rename(
    int from_dir, const char *from, int to_dir, const char *to, enum hocket__system_rename how);

/* Changes the rights of a folder that was looked at by its name: another thing of that name, and what a link leads to, keep
 * theirs. */
int hocket__system_chmod(int dir, const char *name, const struct stat *seen, mode_t mode);

/* Whether the file system is a network's, so that locks do not hold; and whether it tells of changes that others make. */
bool hocket__system_is_network(const char *path);
bool hocket__system_is_network_type(unsigned long type); /* statfs's f_type, on Linux */
bool hocket__system_gets_events(const char *path);

/* When a file's content or its rights were changed, and its content alone. */
static inline struct timespec hocket__system_changed(const struct stat *st)
{
#ifdef __APPLE__
    return st->st_ctimespec;
#else
    return st->st_ctim;
#endif
}

static inline struct timespec hocket__system_modified(const struct stat *st)
{
#ifdef __APPLE__
    return st->st_mtimespec;
#else
    return st->st_mtim;
#endif
}

/* ---- Processes --------------------------------------------------------------------------------- */

/* When a process was started, in a unit of the system's. 0: not to be seen; -1: it has ended, and nobody has asked how. */
int64_t hocket__system_start_of(int64_t pid);
/* What numbers of processes mean something in: this boot of the machine, and their namespace. */
void hocket__system_place(char *out, size_t size);
/* A variable; NULL also where the program runs with more rights than its user has. */
const char *hocket__system_getenv(const char *name);

/* ---- Descriptors -------------------------------------------------------------------------------- */

/* Who is at the other end of a local socket. */
bool hocket__system_peer(int fd, int64_t *pid, int64_t *uid);

/* A few descriptors that a loop watches as one. */
int hocket__system_set_open(void);
/* Whether it cannot be watched, since it is always ready. */
bool hocket__system_set_is_file(int set, int fd);
/* Reports `bit` while fd can be read, or written. A failure is reported by the next read or write. */
void hocket__system_set_add(int set, int fd, unsigned bit, bool writes);
void hocket__system_set_remove(int set, int fd, bool writes);
/* The bits that are ready now. */
unsigned hocket__system_set_ready(int set);
