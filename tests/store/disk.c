#include "store/disk.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 8, PATH = 512 };

struct change {
    struct change *next;
    bool truncates;
    sqlite3_int64 at;
    int n;
    char bytes[];
};

struct image {
    char path[PATH];
    char *bytes;
    size_t n;
    struct change *first, **last;
};

struct file {
    sqlite3_file base;
    struct image *image;
    sqlite3_file *real; /* behind this struct */
};

static struct {
    sqlite3_vfs vfs, *real;
    sqlite3_io_methods methods;
    struct image images[FILES];
    enum disk_fault fault;
    unsigned from, count;
    atomic_uint done;
    atomic_bool struck;
    atomic_uint slow_us;
} disk;

static pthread_mutex_t at_work =
    PTHREAD_MUTEX_INITIALIZER; /* an operation of SQLite's is under way */

/* ---- Images ------------------------------------------------------------------------------------ */

static void clear(struct image *m)
{
    while (m->first) {
        struct change *c = m->first;
        m->first = c->next;
        free(c);
    }
    m->last = &m->first;
}

static void put(struct image *m, const struct change *c, int n)
{
    size_t end = c->truncates ? (size_t) c->at : (size_t) c->at + (size_t) n;
    if (end > m->n || c->truncates) {
        m->bytes = realloc(m->bytes, end + 1);
        if (end > m->n)
            memset(m->bytes + m->n, 0, end - m->n);
        m->n = end;
    }
    if (!c->truncates)
        memcpy(m->bytes + c->at, c->bytes, (size_t) n);
}

static void load(struct image *m)
{
    int fd = open(m->path, O_RDONLY);
    off_t n = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    m->bytes = malloc((size_t) n + 1);
    m->n = n > 0 ? (size_t) pread(fd, m->bytes, (size_t) n, 0) : 0;
    m->last = &m->first;
}

/* The file itself is not opened while SQLite has it: closing it would give back its locks. */
static struct image *image_of(const char *path)
{
    struct image *m = disk.images;
    while (m < disk.images + FILES && m->path[0] && strcmp(m->path, path) != 0)
        m++;
    if (m == disk.images + FILES)
        abort();
    if (!m->path[0]) {
        snprintf(m->path, sizeof(m->path), "%s", path);
        load(m);
    }
    return m;
}

static void note(struct image *m, bool truncates, sqlite3_int64 at, const void *p, int n)
{
    struct change *c = malloc(sizeof(*c) + (size_t) n);
    *c = (struct change){ .truncates = truncates, .at = at, .n = n };
    if (n > 0)
        memcpy(c->bytes, p, (size_t) n);
    *m->last = c;
    m->last = &c->next;
}

void disk_forget(void)
{
    for (struct image *m = disk.images; m < disk.images + FILES; m++) {
        clear(m);
        free(m->bytes);
        *m = (struct image){ .bytes = NULL };
    }
}

static uint64_t chance(uint64_t *seed)
{
    *seed += 0x9E3779B97F4A7C15u;
    uint64_t z = *seed;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

void disk_lose_power(uint64_t seed)
{
    for (struct image *m = disk.images; m < disk.images + FILES && m->path[0]; m++) {
        bool all_lost = chance(&seed) % 4 == 0;
        for (struct change *c = m->first; c && !all_lost; c = c->next) {
            unsigned fate = (unsigned) (chance(&seed) % 8);
            if (fate < 4)
                put(m, c, c->n);
            else if (fate == 4 && c->n > 512) /* torn between two sectors */
                put(m, c, (int) (chance(&seed) % ((unsigned) c->n / 512)) * 512);
        }
        int fd = open(m->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd < 0 || write(fd, m->bytes, m->n) != (ssize_t) m->n)
            abort();
        close(fd);
        char shm[PATH + 8];
        snprintf(shm, sizeof(shm), "%.*s-shm", PATH - 1, m->path);
        unlink(shm);
    }
    disk_forget();
}

void disk_power_off(uint64_t seed)
{
    pthread_mutex_lock(&at_work);
    disk_lose_power(seed);
    kill(getpid(), SIGKILL);
    abort();
}

/* ---- Faults ------------------------------------------------------------------------------------- */

void disk_begin(enum disk_fault fault, unsigned n, unsigned count)
{
    disk.fault = fault;
    disk.from = n;
    disk.count = count;
    disk.done = 0;
    disk.struck = false;
}

void disk_slow(unsigned us)
{
    disk.slow_us = us;
}

unsigned disk_count(void)
{
    return disk.done;
}

bool disk_struck(void)
{
    return disk.struck;
}

/* Whether this operation is one that fails. */
bool disk_strikes(void)
{
    unsigned n = ++disk.done;
    if (disk.slow_us)
        usleep(disk.slow_us);
    if (disk.from == 0 || n < disk.from)
        return false;
    if (disk.fault != DISK_OFF && n - disk.from >= disk.count)
        return false;
    disk.struck = true;
    if (disk.fault == DISK_KILL)
        kill(getpid(), SIGKILL);
    return disk.fault != DISK_WELL;
}

bool disk_kills_behind(void)
{
    return disk.fault == DISK_KILL_BEHIND;
}

void disk_done(bool struck)
{
    if (struck && disk.fault == DISK_KILL_BEHIND)
        kill(getpid(), SIGKILL);
}

/* ---- Files ---------------------------------------------------------------------------------------- */

static sqlite3_file *real(sqlite3_file *f)
{
    return ((struct file *) f)->real;
}

static int disk_close(sqlite3_file *f)
{
    return real(f)->pMethods->xClose(real(f));
}

static int disk_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    return real(f)->pMethods->xRead(real(f), p, n, at);
}

static int disk_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    bool struck = disk_strikes();
    if (struck && disk.fault != DISK_KILL_BEHIND)
        return disk.fault == DISK_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    pthread_mutex_lock(&at_work);
    int rc = real(f)->pMethods->xWrite(real(f), p, n, at);
    note(((struct file *) f)->image, false, at, p, n);
    pthread_mutex_unlock(&at_work);
    disk_done(struck);
    return rc;
}

static int disk_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    bool struck = disk_strikes();
    if (struck && disk.fault != DISK_KILL_BEHIND)
        return SQLITE_IOERR_TRUNCATE;
    pthread_mutex_lock(&at_work);
    int rc = real(f)->pMethods->xTruncate(real(f), n);
    note(((struct file *) f)->image, true, n, NULL, 0);
    pthread_mutex_unlock(&at_work);
    disk_done(struck);
    return rc;
}

static int disk_sync(sqlite3_file *f, int flags)
{
    bool struck = disk_strikes();
    if (struck && disk.fault != DISK_KILL_BEHIND && disk.fault != DISK_FULL)
        return SQLITE_IOERR_FSYNC;
    struct image *m = ((struct file *) f)->image;
    pthread_mutex_lock(&at_work);
    for (struct change *c = m->first; c; c = c->next)
        put(m, c, c->n);
    clear(m);
    pthread_mutex_unlock(&at_work);
    (void) flags; /* the machine does not fail: its cache is as good */
    disk_done(struck);
    return SQLITE_OK;
}

static int disk_size(sqlite3_file *f, sqlite3_int64 *n)
{
    return real(f)->pMethods->xFileSize(real(f), n);
}

static int disk_lock(sqlite3_file *f, int level)
{
    return real(f)->pMethods->xLock(real(f), level);
}

static int disk_unlock(sqlite3_file *f, int level)
{
    return real(f)->pMethods->xUnlock(real(f), level);
}

static int disk_check_lock(sqlite3_file *f, int *out)
{
    return real(f)->pMethods->xCheckReservedLock(real(f), out);
}

static int disk_control(sqlite3_file *f, int op, void *arg)
{
    return real(f)->pMethods->xFileControl(real(f), op, arg);
}

static int disk_sector(sqlite3_file *f)
{
    return real(f)->pMethods->xSectorSize(real(f));
}

static int disk_traits(sqlite3_file *f)
{
    (void) f;
    return 0; /* the worst of disks */
}

static int disk_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
    return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
}

static int disk_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    return real(f)->pMethods->xShmLock(real(f), offset, n, flags);
}

static void disk_shm_barrier(sqlite3_file *f)
{
    real(f)->pMethods->xShmBarrier(real(f));
}

static int disk_shm_unmap(sqlite3_file *f, int delete_it)
{
    return real(f)->pMethods->xShmUnmap(real(f), delete_it);
}

static int disk_open(
    sqlite3_vfs *vfs, const char *name, sqlite3_file *out, int flags, int *out_flags)
{
    struct file *f = (struct file *) out;
    (void) vfs;
    memset(f, 0, sizeof(*f));
    f->real = (sqlite3_file *) (f + 1);
    if (name)
        f->image = image_of(name);
    int rc = disk.real->xOpen(disk.real, name, f->real, flags, out_flags);
    if (rc == SQLITE_OK)
        f->base.pMethods = name ? &disk.methods : f->real->pMethods;
    return rc;
}

/* As if its directory were synced. */
static int disk_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void) vfs;
    pthread_mutex_lock(&at_work);
    int rc = disk.real->xDelete(disk.real, name, sync);
    struct image *m = image_of(name);
    clear(m);
    m->n = 0;
    pthread_mutex_unlock(&at_work);
    return rc;
}

/* ---- Installing ------------------------------------------------------------------------------------- */

static int checkpoint_often(sqlite3 *db, char **message, const void *api)
{
    (void) message, (void) api;
    return sqlite3_wal_autocheckpoint(db, 12);
}

void disk_install(void)
{
    disk.real = sqlite3_vfs_find(NULL);
    disk.vfs = *disk.real;
    disk.vfs.zName = "disk";
    disk.vfs.pNext = NULL;
    disk.vfs.szOsFile = (int) sizeof(struct file) + disk.real->szOsFile;
    disk.vfs.xOpen = disk_open;
    disk.vfs.xDelete = disk_delete;
    disk.methods = (sqlite3_io_methods){ 2, disk_close, disk_read, disk_write, disk_truncate,
        disk_sync, disk_size, disk_lock, disk_unlock, disk_check_lock, disk_control, disk_sector,
        disk_traits, disk_shm_map, disk_shm_lock, disk_shm_barrier, disk_shm_unmap, NULL, NULL };
    for (struct image *m = disk.images; m < disk.images + FILES; m++)
        m->last = &m->first;
    sqlite3_auto_extension((void (*)(void)) checkpoint_often);
    sqlite3_vfs_register(&disk.vfs, 1);
}
