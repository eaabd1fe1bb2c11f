/* The write-ahead file of a store (writer/wal.h; not the -wal of SQLite), as the database sees it: how far each store that writes such a file has come,
 * in a row of `meta` that changes with the rest of a transaction, and what becomes of the file of one that has ended.
 *
 * It is written as that store would have written it, under its claims: what one of them lost meanwhile is refused,
 * and what stands there already is not written twice, since the row says from where on it is missing. */
#include "store/sqlite/sqlite_impl.h"

#include <inttypes.h>
#include <stdio.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/fs.h"

#define ROW "ahead %016" PRIx64 /* of meta: "PLACE AT_MS PID START PROCESS" */
#define LEFT_MS                                                                                    \
    ((int64_t) 24 * 3600 * 1000) /* after which what cannot be seen to be alive is not */

static void name_of(char name[32], int64_t store)
{
    snprintf(name, 32, ROW, (uint64_t) store);
}

const char *hocket__wal_file(struct hocket__writer *base)
{
    struct hocket__sqlite_writer *w = hocket__sqlite_of(base);
    if (w->wal.len == 0)
        hocket__wal_path(&w->wal, hocket__buf_str(&w->path), w->base.self.store);
    return w->wal.status == 0 ? w->wal.data : "";
}

static int put_row(struct hocket__sqlite_writer *w, const struct hocket__wal_of *of, uint64_t to)
{
    char name[32], value[512];
    hocket__sql_new(&w->base, ST_AHEAD_PUT);
    name_of(name, of->store);
    snprintf(value, sizeof(value), "%" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %s", to,
        hocket__sqlite_now(w), of->pid, of->start, of->place);
    hocket__sql_text(&w->base, hocket__cstr(name));
    hocket__sql_text(&w->base, hocket__cstr(value));
    return hocket__sql_run(&w->base);
}

int hocket__wal_note(struct hocket__sqlite_writer *w)
{
    const struct hocket__self *self = &w->base.self;
    struct hocket__wal_of of = { self->store, self->pid, self->start, 0, "" };
    snprintf(of.place, sizeof(of.place), "%s", self->place);
    w->has_noted = true;
    return put_row(w, &of, w->base.wal_to);
}

static int del(struct hocket__sqlite_writer *w, int64_t store)
{
    char name[32];
    hocket__sql_new(&w->base, ST_AHEAD_DEL);
    name_of(name, store);
    hocket__sql_text(&w->base, hocket__cstr(name));
    return hocket__sql_run(&w->base);
}

int hocket__wal_forget(struct hocket__sqlite_writer *w)
{
    return del(w, w->base.self.store);
}

/* ---- Of another store ------------------------------------------------------------------------ */

static bool read_value(struct hocket__str value, uint64_t *to, struct hocket__wal_of *of)
{
    char text[512];
    snprintf(text, sizeof(text), "%.*s", (int) value.n, value.p);
    return sscanf(text, "%" SCNu64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %399[^\n]", to, &of->at_ms,
               &of->pid, &of->start, of->place)
           == 5;
}

/* 1: it has a row, and *to and *of say what that says; 0: it has none. */
static int find(
    struct hocket__sqlite_writer *w, int64_t store, uint64_t *to, struct hocket__wal_of *of)
{
    char name[32];
    hocket__sql_new(&w->base, ST_AHEAD_FIND);
    name_of(name, store);
    hocket__sql_text(&w->base, hocket__cstr(name));
    int rc = hocket__sql_step(&w->base);
    if (rc == 1)
        rc = read_value(hocket__sql_text_of(&w->base, 0), to, of);
    hocket__sql_done(&w->base);
    of->store = store;
    return rc;
}

static bool has_ended(const struct hocket__sqlite_writer *w, const struct hocket__wal_of *of)
{
    return hocket__self_knows_ended(&w->base.self, hocket__cstr(of->place), of->pid, of->start);
}

static bool has_runs(struct hocket__sqlite_writer *w, int64_t store)
{
    hocket__sql_new(&w->base, ST_AHEAD_HELD);
    hocket__sql_int(&w->base, store);
    hocket__sql_int(&w->base, hocket__sqlite_now(w));
    int rc = hocket__sql_step(&w->base);
    hocket__sql_done(&w->base);
    return rc != 0;
}

/* Where its process number means nothing here, as after a restart of the machine, silence and leases have to say it. If it is
 * alive all the same, it waits for its transactions from then on. */
static bool is_left(struct hocket__sqlite_writer *w, const struct hocket__wal_of *of)
{
    return has_ended(w, of)
           || (strcmp(of->place, w->base.self.place) != 0
               && of->at_ms < hocket__sqlite_now(w) - LEFT_MS && !has_runs(w, of->store));
}

static void be(struct hocket__self *self, const struct hocket__wal_of *of)
{
    memset(self, 0, sizeof(*self));
    self->store = of->store;
    self->pid = of->pid;
    self->start = of->start;
    snprintf(self->place, sizeof(self->place), "%s", of->place);
    snprintf(self->host, sizeof(self->host), "%.*s", (int) strcspn(of->place, "/"), of->place);
}

/* By a writer that stands for the other one, over the same connection. */
static int apply_as(struct hocket__sqlite_writer *w, const struct hocket__wal_of *of,
    struct hocket__str work, const char *only)
{
    struct hocket__sqlite_writer other = {
        .base = { .ops = w->base.ops, .sql = w->base.sql, .o = w->base.o }, .db = w->db
    };
    be(&other.base.self, of);
    other.base.error = &other.db.error;
    hocket__list_init(&other.base.claims);
    hocket__list_init(&other.base.touched);
    hocket__map_init(&other.base.claimed, &hocket__malloc);
    hocket__writer_begun(&other.base);
    int rc = hocket__sqlite_apply(&other.base, work, only);
    w->db = other.db;
    hocket__claims_free(&other.base);
    return rc;
}

static int recover(struct hocket__sqlite_writer *w, const struct hocket__wal_of *of, uint64_t from,
    const char *only, bool *unreadable)
{
    struct hocket__buf path, bytes;
    hocket__buf_init(&path, &hocket__malloc, 0);
    hocket__buf_init(&bytes, &hocket__malloc, 0);
    int rc = hocket__wal_path(&path, hocket__buf_str(&w->path), of->store);
    if (rc < 0)
        hocket__error_nomem(&w->db.error);
    else
        rc = hocket__wal_read(path.data, !has_ended(w, of), from, &bytes, &w->db.error);
    if (unreadable)
        *unreadable = rc < 0 && rc != HOCKET_ENOMEM;
    if (rc == 0)
        rc = apply_as(w, of, hocket__buf_str(&bytes), only);
    hocket__buf_deinit(&path);
    hocket__buf_deinit(&bytes);
    return rc;
}

int hocket__wal_recover_run(struct hocket__sqlite_writer *w, const struct hocket__wal_of *of,
    const char *id, bool *unreadable)
{
    struct hocket__wal_of noted;
    uint64_t to = 0;
    if (of->store == w->base.self.store) /* all its writes come before this */
        return 0;
    int rc = find(w, of->store, &to, &noted);
    if (rc < 0 || (rc == 0 && has_ended(w, of)))
        return rc;
    if (rc == 0)
        rc = put_row(w, of, 0); /* for who removes the file that is made now */
    return rc < 0 ? rc : recover(w, of, to, id, unreadable);
}

/* 1 when it is recovered; 0: it is not left after all, or another has done so at the same time and there is no row. */
static int recover_all(struct hocket__sqlite_writer *w, int64_t store)
{
    struct hocket__wal_of of;
    uint64_t to;
    int rc = find(w, store, &to, &of);
    if (rc != 1 || !is_left(w, &of))
        return rc < 0 ? rc : 0;
    rc = recover(w, &of, to, NULL, NULL);
    if (rc == 0)
        rc = del(w, store);
    return rc < 0 ? rc : 1;
}

static int recover_once(struct hocket__sqlite_writer *w, int64_t store)
{
    struct hocket__buf path;
    int rc = hocket__sqlite_begin(w);
    int done = rc == 0 ? recover_all(w, store) : rc;
    rc = hocket__sqlite_end(w, done < 0 ? done : 0);
    hocket__buf_init(&path, &hocket__malloc, 0);
    if (rc == 0 && done == 1 && hocket__wal_path(&path, hocket__buf_str(&w->path), store) == 0)
        hocket__fs_unlink(path.data);
    hocket__buf_deinit(&path);
    return rc;
}

static bool is_own_name(struct hocket__str name, int64_t *store)
{
    char text[32], own[32];
    snprintf(text, sizeof(text), "%.*s", (int) name.n, name.p);
    if (name.n >= sizeof(text) || sscanf(text, "ahead %" SCNx64, (uint64_t *) store) != 1)
        return false;
    name_of(own, *store);
    return strcmp(own, text) == 0;
}

/* The next store behind this one that has a row: 1, or 0, or a status. */
static int next_noted(
    struct hocket__sqlite_writer *w, char after[32], int64_t *store, struct hocket__wal_of *of)
{
    uint64_t to;
    int rc;
    bool is_one = false;
    hocket__sql_new(&w->base, ST_AHEAD_NEXT);
    hocket__sql_text(&w->base, hocket__cstr(after));
    while (!is_one && (rc = hocket__sql_step(&w->base)) == 1) {
        struct hocket__str name = hocket__sql_text_of(&w->base, 0);
        if (!is_own_name(name, store)) /* of a damaged file: others lead nowhere, or in a circle */
            continue;
        is_one = read_value(hocket__sql_text_of(&w->base, 1), &to, of);
        if (is_one)
            snprintf(after, 32, "%.*s", (int) name.n, name.p);
    }
    hocket__sql_done(&w->base);
    return rc;
}

/* The same of one whose file is left. */
static int next_left(struct hocket__sqlite_writer *w, char after[32], int64_t *store)
{
    struct hocket__wal_of of;
    int rc;
    while ((rc = next_noted(w, after, store, &of)) == 1 && (of.store = *store, !is_left(w, &of)))
        ;
    return rc;
}

void hocket__wal_recover(struct hocket__sqlite_writer *w)
{
    char after[32] = "ahead ";
    int64_t store;
    while (next_left(w, after, &store) == 1)
        recover_once(w, store);
}

/* ---- Files that no row leads to ------------------------------------------------------------------ */

/* The store to which a file of this name belongs; false: none. */
static bool store_of(const char *name, const char *database, int64_t *store)
{
    size_t n = strlen(database);
    char again[64];
    if (strncmp(name, database, n) != 0
        || sscanf(name + n, "-ahead-%16" SCNx64, (uint64_t *) store) != 1)
        return false;
    snprintf(again, sizeof(again), "-ahead-%016" PRIx64, (uint64_t) *store);
    return strcmp(name + n, again) == 0;
}

static bool is_old(const char *path)
{
    uv_stat_t st;
    return hocket__fs_lstat(path, &st) == 0 && S_ISREG(st.st_mode)
           && (int64_t) st.st_mtim.tv_sec < (hocket__wall_ms() - LEFT_MS) / 1000;
}

struct tidied {
    struct hocket__sqlite_writer *w;
    const char *name; /* of the database */
    struct hocket__buf path;
    size_t dir; /* bytes of the path */
};

static void tidy_one(void *ud, const char *name, bool is_dir)
{
    struct tidied *t = ud;
    struct hocket__wal_of of;
    int64_t store;
    uint64_t to;
    if (is_dir || !store_of(name, t->name, &store) || store == t->w->base.self.store)
        return;
    hocket__buf_cut(&t->path, t->dir);
    if (hocket__buf_adds(&t->path, name) == 0 && is_old(t->path.data)
        && find(t->w, store, &to, &of) == 0)
        hocket__fs_unlink(t->path.data);
}

/* Of a database that was removed without them, or gone back to; of who was killed between a transaction's end and this one's. */
void hocket__wal_tidy(struct hocket__sqlite_writer *w)
{
    const char *slash = strrchr(w->path.data, '/');
    struct tidied t = { .w = w, .name = slash + 1, .dir = (size_t) (slash - w->path.data) + 1 };
    hocket__buf_init(&t.path, &hocket__malloc, 0);
    if (hocket__buf_add(&t.path, w->path.data, t.dir) == 0)
        hocket__dir_list(t.path.data, tidy_one, &t, NULL);
    hocket__buf_deinit(&t.path);
}
