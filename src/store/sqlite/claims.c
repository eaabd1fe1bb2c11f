/* Who has which run.
 *
 * A run is had by one process at a time: its row names the owner, a lease that the owner moves, and
 * a fence that goes up with each claim. A write is let in when owner and fence are those of the
 * claim; so a process that was stopped, and lost its run meanwhile, cannot write into it when it
 * goes on.
 *
 * Whether an owner is alive is asked of the machine where its process number means something (same
 * host, boot and pid namespace), and is the lease's word elsewhere. */
#include "store/sqlite/sqlite_impl.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Processes --------------------------------------------------------------------------------- */

/* The state, and the time at which it was started, in ticks since the machine was: together with its
 * number that is one process for as long as the machine runs. 0: not to be seen; -1: it has ended, and
 * nobody has asked how. */
static int64_t start_of(int64_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%lld/stat", (long long) pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n] = 0;
    const char *at = strrchr(text, ')'); /* its name may hold anything */
    char state = at && at[1] ? at[2] : 'X';
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return state == 'Z' || state == 'X' ? -1 : at ? strtoll(at, NULL, 10) : 0;
}

/* A file of /proc that is not there leaves the text empty, and the place is then less exact, never
 * wrong. */
static void read_line(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "re");
    if (!f || !fgets(out, (int) size, f))
        out[0] = 0;
    out[strcspn(out, "\n")] = 0;
    if (f)
        fclose(f);
}

/* `store` tells apart the stores of one process, and this process from one that got its number
 * after a reboot of the container. */
void hocket__self_init(struct hocket__self *self)
{
    char boot[64] = "";
    struct stat ns;
    self->pid = getpid();
    self->start = start_of(self->pid);
    gethostname(self->host, sizeof(self->host) - 1);
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
    unsigned long inode = stat("/proc/self/ns/pid", &ns) == 0 ? (unsigned long) ns.st_ino : 0;
    snprintf(self->place, sizeof(self->place), "%s/%s/%lu", self->host, boot, inode);
    if (getrandom(&self->store, sizeof(self->store), 0) != sizeof(self->store))
        self->store = self->start ^ (int64_t) (uintptr_t) self;
}

/* Where its number means something here; elsewhere only its lease tells.
 * A process number is used again: the time at which it was started tells the old one from the new. */
static bool has_ended(struct hocket__keeper *k, sqlite3_stmt *row)
{
    struct hocket__db *d = &k->db;
    int64_t pid = hocket__db_int(d, row, HOCKET__RUN_OWNER);
    int64_t start = hocket__db_int(d, row, HOCKET__RUN_PLACE + 1);
    if (!hocket__str_eq(hocket__db_str(d, row, HOCKET__RUN_PLACE), hocket__cstr(k->self.place)))
        return false;
    int64_t now = start_of(pid);
    if (now == 0)
        return kill((pid_t) pid, 0) < 0 && errno == ESRCH;
    return now < 0 || (start > 0 && now != start);
}

bool hocket__claims_is_held(struct hocket__keeper *k, sqlite3_stmt *row)
{
    return hocket__db_int(&k->db, row, HOCKET__RUN_OWNER) != 0
           && hocket__db_int(&k->db, row, HOCKET__RUN_LEASE) >= hocket__keeper_now(k)
           && !has_ended(k, row);
}

/* ---- What we have --------------------------------------------------------------------------------- */

/* 0 is no key of the map. */
static uint64_t hash(const char *id)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a: ids are random already */
    for (int i = 0; i < HOCKET__STORE_ID; i++)
        h = (h ^ (unsigned char) id[i]) * 0x100000001b3u;
    return h ? h : 1;
}

/* Ids are compared as well: the map knows hashes alone, and two ids may have the same. */
struct hocket__claimed *hocket__claims_get(struct hocket__keeper *k, const char *id)
{
    struct hocket__claimed *c = hocket__map_get(&k->claimed, hash(id));
    while (c && memcmp(c->id, id, HOCKET__STORE_ID) != 0)
        c = c->next_same;
    return c;
}

struct hocket__claimed *hocket__claims_need(struct hocket__keeper *k, const char *id)
{
    struct hocket__claimed *c = hocket__claims_get(k, id);
    if (c)
        return c;
    c = hocket__zero(&hocket__malloc, sizeof(*c));
    if (!c)
        return NULL;
    memcpy(c->id, id, HOCKET__STORE_ID);
    c->next_same = hocket__map_get(&k->claimed, hash(id));
    if (hocket__map_set(&k->claimed, hash(id), c) < 0) {
        hocket__free(&hocket__malloc, c, sizeof(*c));
        return NULL;
    }
    hocket__list_init(&c->touched);
    hocket__list_add(&k->claims, &c->link);
    return c;
}

void hocket__claims_drop(struct hocket__keeper *k, struct hocket__claimed *c)
{
    struct hocket__claimed *first = hocket__map_get(&k->claimed, hash(c->id));
    if (first == c) {
        if (c->next_same)
            hocket__map_set(&k->claimed, hash(c->id), c->next_same);
        else
            hocket__map_del(&k->claimed, hash(c->id));
    } else {
        while (first->next_same != c)
            first = first->next_same;
        first->next_same = c->next_same;
    }
    hocket__list_del(&c->link);
    hocket__list_del(&c->touched);
    hocket__free(&hocket__malloc, c, sizeof(*c));
}

void hocket__claims_free(struct hocket__keeper *k)
{
    while (!hocket__list_empty(&k->claims))
        hocket__claims_drop(k, hocket__container_of(k->claims.next, struct hocket__claimed, link));
    hocket__map_deinit(&k->claimed);
}

void hocket__claims_bind(struct hocket__keeper *k, sqlite3_stmt *st, int first)
{
    struct hocket__db *d = &k->db;
    int64_t now = hocket__keeper_now(k);
    hocket__db_bind_int(d, st, first, k->self.pid);
    hocket__db_bind_text(d, st, first + 1, hocket__cstr(k->self.host));
    hocket__db_bind_text(d, st, first + 2, hocket__cstr(k->self.place));
    hocket__db_bind_int(d, st, first + 3, k->self.start);
    hocket__db_bind_int(d, st, first + 4, k->self.store);
    hocket__db_bind_int(d, st, first + 5, now);
    hocket__db_bind_int(d, st, first + 6, now + k->o.lease_ms);
}

/* ---- Taking ---------------------------------------------------------------------------------------- */

static sqlite3_stmt *row_of(struct hocket__keeper *k, struct hocket__str id, int *rc)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(
        d, ST_TAKE_FIND, "SELECT " HOCKET__RUN_COLUMNS HOCKET__RUN_FROM " WHERE r.id = ?");
    if (!st) {
        *rc = d->error.status;
        return NULL;
    }
    hocket__db_bind_text(d, st, 1, id);
    *rc = hocket__db_step(d, st);
    return *rc == 1 ? st : NULL;
}

/* Packs the run as it is now. */
static int give(struct hocket__keeper *k, struct hocket__store_call *call, bool has_it)
{
    int rc;
    sqlite3_stmt *st = row_of(k, call->key, &rc);
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    if (!st)
        return rc;
    hocket__row_run(&k->db, st, &row.run);
    hocket__store_pack(&call->rows, &row);
    if (has_it)
        call->status = hocket__store_has_it(call, &row.run.owner);
    hocket__db_reset(&k->db, st);
    return 0;
}

static int claim(struct hocket__keeper *k, int64_t no)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_TAKE,
        "UPDATE runs SET fence = fence + 1, owner_pid = ?2, owner_host = ?3, owner_place = ?4,"
        " owner_start = ?5, owner_store = ?6, owner_since_ms = ?7, lease_ms = ?8 WHERE no = ?1");
    if (!st)
        return d->error.status;
    hocket__db_bind_int(d, st, 1, no);
    hocket__claims_bind(k, st, 2);
    return hocket__db_run(d, st);
}

static int take(struct hocket__keeper *k, struct hocket__store_call *call)
{
    int rc;
    sqlite3_stmt *st = row_of(k, call->key, &rc);
    if (!st) {
        if (rc == 0)
            call->status = hocket__store_not_found(call);
        return rc;
    }
    bool held = hocket__claims_is_held(k, st);
    int64_t no = hocket__db_int(&k->db, st, HOCKET__RUN_NO);
    hocket__db_reset(&k->db, st);
    rc = held ? 0 : claim(k, no);
    return rc < 0 ? rc : give(k, call, held);
}

/* What is remembered of an older claim is over: its refusal, too. */
int hocket__claims_take(struct hocket__keeper *k, struct hocket__store_call *call)
{
    char id[HOCKET__STORE_ID + 1] = "";
    memcpy(id, call->key.p, call->key.n);
    struct hocket__claimed *c = hocket__claims_need(k, id);
    if (!c)
        return hocket__error_nomem(&k->db.error);
    int rc = hocket__keeper_begin(k);
    if (rc == 0)
        rc = take(k, call);
    rc = hocket__keeper_end(k, rc);
    if (rc == 0 && call->status == 0) {
        c->refusal = 0;
        c->told = false;
        c->transaction = 0;
        struct hocket__str rows = hocket__buf_str(&call->rows);
        struct hocket__store_row row;
        if (hocket__store_unpack(&rows, &row) == 1)
            c->fence = row.run.fence;
    } else if (c->fence == 0 && !c->refusal) {
        hocket__claims_drop(k, c);
    }
    return rc;
}

/* ---- Keeping, letting go ------------------------------------------------------------------------------ */

static int renew(struct hocket__keeper *k, struct hocket__claimed *c)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_RENEW,
        "UPDATE runs SET lease_ms = ?1 WHERE id = ?2 AND fence = ?3 AND owner_store = ?4");
    if (!st)
        return d->error.status;
    hocket__db_bind_int(d, st, 1, hocket__keeper_now(k) + k->o.lease_ms);
    hocket__db_bind_text(d, st, 2, hocket__cstr(c->id));
    hocket__db_bind_int(d, st, 3, (int64_t) c->fence);
    hocket__db_bind_int(d, st, 4, k->self.store);
    int rc = hocket__db_run(d, st);
    if (rc == 0 && d->lib->changes(d->db) == 0)
        hocket__keeper_refuse(k, c, HOCKET__STORE_APPEND, HOCKET_ESTATE);
    return rc;
}

int hocket__claims_renew(struct hocket__keeper *k)
{
    if (hocket__list_empty(&k->claims))
        return 0;
    int rc = hocket__keeper_begin(k);
    for (struct hocket__list *l = k->claims.next; rc == 0 && l != &k->claims; l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, link);
        if (!c->refusal && c->fence)
            rc = renew(k, c);
    }
    return hocket__keeper_end(k, rc);
}

static int let_go(struct hocket__keeper *k, const char *id)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_LET_GO,
        "UPDATE runs SET owner_pid = 0 WHERE id = ?1 AND owner_pid = ?2 AND owner_store = ?3");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, hocket__cstr(id));
    hocket__db_bind_int(d, st, 2, k->self.pid);
    hocket__db_bind_int(d, st, 3, k->self.store);
    return hocket__db_run(d, st);
}

int hocket__claims_release(struct hocket__keeper *k)
{
    if (hocket__list_empty(&k->claims))
        return 0;
    int rc = hocket__keeper_begin(k);
    for (struct hocket__list *l = k->claims.next; rc == 0 && l != &k->claims; l = l->next)
        rc = let_go(k, hocket__container_of(l, struct hocket__claimed, link)->id);
    return hocket__keeper_end(k, rc);
}
