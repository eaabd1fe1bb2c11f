/* The write-ahead file: a byte that others set, a head, records one behind the other. When the
 * database has caught up the next record is written over the first: what is behind it then has another place, and does not
 * count. So the file is neither cut nor made longer while all goes well, which is what a write costs most by. */
#include "store/writer/wal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash/hash.h"
#include "os/own_file.h"
#include "os/own.h"

/* The file: MARK, then HEAD, then records. */
enum { MARK = 1, HEAD = 64, FIRST = 80, RECORD = 24 };

struct record {
    uint64_t hash, from, n; /* the hash is of all behind it */
};
_Static_assert(sizeof(struct record) == RECORD, "it has no holes");

struct head {
    char form[8], version[32]; /* the version is for people */
    uint8_t key[16];
    uint64_t hash; /* of what stands before, by the key */
};
_Static_assert(sizeof(struct head) == HEAD, "it has no holes");

static uint64_t hash_of_head(const struct head *h)
{
    uint64_t w[2];
    memcpy(w, h->key, sizeof(w));
    return hocket__siphash(w, hocket__str((const char *) h, offsetof(struct head, hash)));
}

static void describe(struct head *h, const uint8_t key[16])
{
    memset(h, 0, sizeof(*h));
    snprintf(h->form, sizeof(h->form), "ahead %d", HOCKET__STORE_FORM);
    snprintf(h->version, sizeof(h->version), "%s", HOCKET_VERSION);
    memcpy(h->key, key, sizeof(h->key));
    h->hash = hash_of_head(h);
}

static uint64_t hash_of(const uint8_t key[16], struct hocket__str record)
{
    uint64_t w[2];
    memcpy(w, key, sizeof(w));
    return hocket__siphash(w, hocket__str(record.p + 8, record.n - 8));
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void reset(struct hocket__wal *a, uint64_t place)
{
    static const char room[RECORD];
    a->from = place;
    hocket__buf_reset(&a->bytes);
    a->lost = hocket__buf_add(&a->bytes, room, sizeof(room)) < 0;
}

void hocket__wal_init(struct hocket__wal *a)
{
    memset(a, 0, sizeof(*a));
    hocket__buf_init(&a->bytes, &hocket__malloc, 0);
}

void hocket__wal_deinit(struct hocket__wal *a)
{
    hocket__buf_deinit(&a->bytes);
    if (a->fd > 0)
        hocket__own_file_close(a->fd);
    a->fd = 0;
}

void hocket__wal_begin(struct hocket__wal *a, uint64_t place)
{
    a->on = true;
    reset(a, place);
}

static uint64_t gathered(const struct hocket__wal *a)
{
    return a->lost ? 0 : a->bytes.len - RECORD;
}

/* What cannot be gathered leaves a gap, which is over when the database has passed it. */
void hocket__wal_gather(
    struct hocket__wal *a, struct hocket__str bytes, uint64_t to, uint64_t written)
{
    uint64_t first = to - bytes.n;
    if (!a->on || a->off)
        return;
    if (written >= a->from + gathered(a))
        reset(a, first > a->from ? first : a->from);
    size_t skip = a->from + gathered(a) > first ? (size_t) (a->from + gathered(a) - first) : 0;
    if (skip >= bytes.n)
        return;
    if (a->lost || a->bytes.len + bytes.n > HOCKET__WAL_MOST
        || hocket__buf_add(&a->bytes, bytes.p + skip, bytes.n - skip) < 0) {
        reset(a, to);
        a->lost = true;
    }
}

static bool open_file(struct hocket__wal *a, const char *path)
{
    struct hocket_error err;
    struct head h;
    if (a->fd > 0)
        return true;
    int fd = hocket__own_file_open(path, true, &err);
    if (fd <= 0 || hocket__random(a->key, sizeof(a->key)) < 0)
        goto fail;
    describe(&h, a->key);
    if (!hocket__own_file_write(fd, &h, sizeof(h), FIRST - HEAD))
        goto fail;
    a->fd = fd;
    a->at = FIRST;
    return true;
fail:
    if (fd >= 0) /* 0 is somebody's who reads what is typed */
        hocket__own_file_close(fd);
    return false;
}

/* By another process; or somebody has removed it, and nobody would find it. */
static bool is_closed(const struct hocket__wal *a)
{
    char mark = 1;
    return hocket__own_file_read(a->fd, &mark, MARK, 0) != MARK || mark != 0
           || !hocket__own_file_is_there(a->fd);
}

static bool write_record(struct hocket__wal *a)
{
    size_t n = a->bytes.len;
    struct record r = { 0, a->from, n - RECORD };
    memcpy(a->bytes.data, &r, sizeof(r));
    r.hash = hash_of(a->key, hocket__buf_str(&a->bytes));
    memcpy(a->bytes.data, &r.hash, sizeof(r.hash));
    return hocket__own_file_write(a->fd, a->bytes.data, n, (int64_t) a->at);
}

/* Behind what the file has; or in its place, where the database has all of that, and says how far it has come. */
static bool has_place(struct hocket__wal *a, uint64_t noted)
{
    if (noted >= a->end && a->from <= noted) {
        a->begin = a->end = a->from;
        a->at = FIRST;
    }
    return a->end == a->from && a->at + a->bytes.len <= HOCKET__WAL_MOST;
}

bool hocket__wal_secure(struct hocket__wal *a, const char *path, uint64_t noted)
{
    if (a->off || a->lost || noted == 0 || !open_file(a, path))
        return false;
    if (gathered(a) > 0) {
        if (!has_place(a, noted) || !write_record(a))
            return false;
        a->at += a->bytes.len;
        a->end = a->from + gathered(a);
        reset(a, a->end);
    } else if (a->end != a->from && noted < a->from) {
        return false;
    }
    a->off = is_closed(a);
    return !a->off;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Retryable: the reason may be gone in the next attempt. */
static int fail(struct hocket_error *err, int rc)
{
    char why[sizeof(err->message)];
    snprintf(why, sizeof(why), "%s", err->message);
    hocket__error(err, rc,
        "%s: the last that a process of hocket did is in this file: see that it can be read, or "
        "remove it, and that is lost",
        why);
    err->retryable = rc == HOCKET_EIO;
    return rc;
}

static int read_all(int fd, const char *path, struct hocket__buf *out, struct hocket_error *err)
{
    char piece[16384];
    int64_t n, at = 0;
    while (
        (n = hocket__own_file_read(fd, piece, sizeof(piece), at)) > 0 && at <= HOCKET__WAL_MOST) {
        at += n;
        if (hocket__buf_add(out, piece, (size_t) n) < 0)
            return hocket__error_nomem(err);
    }
    if (n >= 0)
        return 0;
    hocket__error(err, HOCKET_EIO, "%s: %s", path, strerror(errno));
    return fail(err, HOCKET_EIO);
}

/* Up to what is no printable ASCII. */
static int length_of(const char *text, size_t most)
{
    size_t n = 0;
    while (n < most && text[n] > ' ' && text[n] <= '~')
        n++;
    return (int) n;
}

/* 1: it has records; 0: none was ever written; a head that is half written comes before all of them. */
static int check_head(
    struct hocket__str all, const char *path, struct head *h, struct hocket_error *err)
{
    struct head ours;
    if (all.n < FIRST)
        return 0;
    memcpy(h, all.p + FIRST - HEAD, sizeof(*h));
    describe(&ours, h->key);
    if (memcmp(h->form, "ahead ", 6) != 0 || h->hash != hash_of_head(h))
        return 0;
    if (memcmp(h->form, ours.form, sizeof(ours.form)) == 0)
        return 1;
    return hocket__error(err, HOCKET_EUNSUPPORTED,
        "%s: the last that its process did was written by another hocket (%.*s, this one is %s): "
        "go on with that one once, or remove the file, and that is lost",
        path, length_of(h->version, sizeof(h->version)), h->version, ours.version);
}

/* Records are read as long as each begins where the one before ended. */
static void take_records(
    struct hocket__str all, const uint8_t key[16], uint64_t from, struct hocket__buf *out)
{
    struct record r;
    bool first = true;
    uint64_t next = 0;
    for (size_t at = FIRST; all.n - at >= RECORD; at += RECORD + (size_t) r.n) {
        memcpy(&r, all.p + at, sizeof(r));
        if (r.n > all.n - at - RECORD || (first ? r.from > from : r.from != next)
            || hash_of(key, hocket__str(all.p + at, RECORD + (size_t) r.n)) != r.hash)
            return;
        first = false;
        next = r.from + r.n;
        uint64_t skip = from > r.from ? from - r.from : 0;
        if (skip < r.n)
            hocket__buf_add(out, all.p + at + RECORD + skip, (size_t) (r.n - skip));
    }
}

static int take_file(
    int fd, const char *path, uint64_t from, struct hocket__buf *out, struct hocket_error *err)
{
    struct hocket__buf all;
    struct head h;
    hocket__buf_init(&all, &hocket__malloc, 0);
    int rc = read_all(fd, path, &all, err);
    if (rc == 0)
        rc = check_head(hocket__buf_str(&all), path, &h, err);
    if (rc == 1)
        take_records(hocket__buf_str(&all), h.key, from, out);
    hocket__buf_deinit(&all);
    if (rc >= 0)
        rc = out->status < 0 ? hocket__error_nomem(err) : 0;
    return rc;
}

int hocket__wal_read(
    const char *path, bool closes, uint64_t from, struct hocket__buf *out, struct hocket_error *err)
{
    int fd = hocket__own_file_open(path, closes, err), rc = 0;
    if (fd < 0)
        return fd == HOCKET_ENOTFOUND ? 0 : fail(err, fd);
    if (closes && !hocket__own_file_write(fd, "\1", MARK, 0)) {
        hocket__error(err, HOCKET_EIO, "%s: %s", path, strerror(errno));
        rc = fail(err, HOCKET_EIO);
    }
    if (rc == 0)
        rc = take_file(fd, path, from, out, err);
    hocket__own_file_close(fd);
    return rc;
}

int hocket__wal_path(struct hocket__buf *out, struct hocket__str database, int64_t store)
{
    hocket__buf_reset(out);
    hocket__buf_addstr(out, database);
    return hocket__buf_addf(out, "-ahead-%016" PRIx64, (uint64_t) store);
}
