/* Several processes write the same runs in one database, and are killed, stopped past their leases, cut off, and left
 * without a server, or with the one that takes over from it; what they were told is compared with what is there. A
 * schedule is one such disturbance.
 *
 *   test_postgres_history           a short form; --full: 1,000 schedules; a number: so many, and
 *                                   `failovers` behind it: nothing but that
 *
 * Each process takes any run that it can have, appends entries that say who wrote them under which fence, and notes what
 * was acknowledged in a file of its own. In the end
 *   - the entries of every run follow each other without a gap;
 *   - fences only grow along them: nobody wrote who had lost the run;
 *   - what was acknowledged is there, as it was written;
 *   - nothing is there twice. */
#include "store/fixture.h"
#include "store/postgres/postgres.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { WORKERS = 3, RUNS = 5, LEASE_MS = 600 };

static char dir[TEST_TEMP_PATH], url[512];

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "history: %s\n", what);
    exit(1);
}

static const char *id_of(int run)
{
    static char id[HOCKET__STORE_ID + 1];
    snprintf(id, sizeof(id), "01KANC3V0QZJ9E4W2X6T8B%04d", run);
    return id;
}

static void nap(int ms)
{
    struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };
    while (nanosleep(&t, &t) < 0)
        ;
}

/* ---- A worker -------------------------------------------------------------------------------------- */

struct worker {
    uv_loop_t loop;
    struct hocket__store *s;
    FILE *notes;
    bool done;
    int status;
    struct hocket__store_run run; /* the last one that was read; its texts are not there any more */
};

static int on_row(void *ud, const struct hocket__store_row *row)
{
    struct worker *w = ud;
    if (row->kind == HOCKET__STORE_ROW_RUN)
        w->run = row->run;
    return 0;
}

static void on_done(void *ud, int status, const struct hocket_error *err)
{
    struct worker *w = ud;
    (void) err;
    w->status = status;
    w->done = true;
}

static int wait_for(struct worker *w, int rc)
{
    while (rc == 0 && !w->done)
        uv_run(&w->loop, UV_RUN_ONCE);
    return rc < 0 ? rc : w->status;
}

struct commit {
    struct hocket__store_wait wait;
    struct worker *w;
};

static void on_kept(struct hocket__store_wait *wait, int status, const struct hocket_error *err)
{
    on_done(hocket__container_of(wait, struct commit, wait)->w, status, err);
}

static int commit(struct worker *w, const struct hocket__store_claim *claim)
{
    struct commit c = { .wait.done = on_kept, .w = w };
    w->done = false;
    hocket__store_commit(w->s, claim, HOCKET__STORE_WRITTEN, &c.wait);
    return wait_for(w, 0);
}

static int open_store(struct worker *w)
{
    struct hocket_error err;
    struct hocket__store_options o = { .alloc = &hocket__malloc,
        .loop = &w->loop,
        .path = url,
        .linger_ms = -1,
        .lease_ms = LEASE_MS };
    int rc = hocket__store_postgres_open(&o, &w->s, &err);
    return rc < 0 ? rc : commit(w, NULL);
}

static void close_store(struct worker *w)
{
    hocket__store_close(w->s, NULL, NULL);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    w->s = NULL;
}

static int take(struct worker *w, int run, struct hocket__store_claim *claim)
{
    struct hocket__store_reply reply = { on_row, on_done, w };
    w->done = false;
    int rc = wait_for(w, hocket__store_take(w->s, hocket__cstr(id_of(run)), &reply, NULL));
    memcpy(claim->id, id_of(run), sizeof(claim->id));
    claim->fence = w->run.fence;
    return rc;
}

static int append(struct worker *w, const struct hocket__store_claim *claim, uint64_t n)
{
    char value[64];
    snprintf(value, sizeof(value), "%lld %d", (long long) claim->fence, (int) getpid());
    struct hocket__store_entry e = {
        .n = n, .name = HOCKET__STR("x"), .digest = HOCKET__STR(""), .value = hocket__cstr(value)
    };
    return hocket__store_append(w->s, claim, &e);
}

/* Numbers of records need not follow each other, so that nothing but the fence keeps a late one out: they say when. */
static void record(struct worker *w, const struct hocket__store_claim *claim)
{
    struct timespec t;
    char json[64];
    clock_gettime(CLOCK_REALTIME, &t);
    snprintf(json, sizeof(json), "%lld", (long long) claim->fence);
    struct hocket__store_record r = {
        (uint64_t) (t.tv_sec % 40000) * 100000 + (uint64_t) t.tv_nsec / 10000, hocket__cstr(json)
    };
    hocket__store_record(w->s, claim, &r);
}

/* What it is told is written down before anything else is done. */
static void note(struct worker *w, const struct hocket__store_claim *claim, uint64_t n)
{
    fprintf(w->notes, "%s %llu %llu %d\n", claim->id, (unsigned long long) n,
        (unsigned long long) claim->fence, (int) getpid());
    fflush(w->notes);
}

/* Some entries in a run, as long as it is ours. */
static void work_on(struct worker *w, const struct hocket__store_claim *claim)
{
    uint64_t n = w->run.last_n;
    for (int turns = (int) (random() % 5); turns >= 0; turns--) {
        int many = 1 + (int) (random() % 3);
        nap((int) (random() % 10)); /* where it may be stopped */
        record(w, claim);
        for (int i = 1; i <= many; i++)
            if (append(w, claim, n + (uint64_t) i) < 0)
                return;
        if (commit(w, claim) < 0)
            return;
        for (int i = 1; i <= many; i++)
            note(w, claim, ++n);
    }
    if (random() % 4)
        hocket__store_release(w->s, claim);
}

/* Until it is killed. A store that breaks, or a server that is away for too long, is a new start. */
static void work(int no)
{
    struct worker w = { .status = 0 };
    char name[TEST_TEMP_PATH + 32];
    snprintf(name, sizeof(name), "%s/%d", dir, no);
    srandom((unsigned) (no * 7919 + getpid()));
    w.notes = fopen(name, "a");
    must(w.notes && uv_loop_init(&w.loop) == 0, "a worker cannot begin");
    for (;;) {
        int rounds = open_store(&w) < 0 ? 0 : 200;
        for (int i = 0; i < rounds; i++) {
            struct hocket__store_claim claim;
            if (take(&w, (int) (random() % RUNS), &claim) == 0)
                work_on(&w, &claim);
            else
                nap(2);
        }
        if (w.s)
            close_store(&w);
        nap(10);
    }
}

/* ---- What is done to them ---------------------------------------------------------------------------- */

static pid_t workers[WORKERS];

static void start(int no)
{
    workers[no] = fork();
    must(workers[no] >= 0, "a worker cannot be started");
    if (workers[no] == 0)
        work(no);
}

static void stop(int no)
{
    kill(workers[no], SIGKILL);
    waitpid(workers[no], NULL, 0);
}

static void run(const char *what)
{
    char line[512];
    snprintf(line, sizeof(line), "sh %s/%s", getenv("HOCKET_TEST_POSTGRES_HOST"), what);
    must(system(line) == 0, what);
}

static void cut_all(void)
{
    char line[1024];
    snprintf(line, sizeof(line),
        "psql -X -q -At '%s' -c \"SELECT count(pg_terminate_backend(pid)) FROM "
        "pg_stat_activity WHERE application_name = 'hocket'\" >%s/psql 2>&1",
        getenv("HOCKET_TEST_POSTGRES_PAIR"), dir);
    must(system(line) == 0, "connections cannot be cut");
}

static bool only_failovers;

enum what { KILL, STOP, CUT, RESTART, FAIL_OVER };

static enum what choose(int i)
{
    if (only_failovers || i % 16 == 3)
        return FAIL_OVER;
    return i % 8 == 7 ? RESTART : (enum what)(random() % RESTART);
}

static void disturb(enum what what)
{
    int no = (int) (random() % WORKERS);
    nap(20 + (int) (random() % 60));
    switch (what) {
    case KILL:
        stop(no);
        start(no);
        break;
    case STOP: /* past its lease */
        kill(workers[no], SIGSTOP);
        nap(LEASE_MS + 100);
        kill(workers[no], SIGCONT);
        break;
    case CUT: cut_all(); break;
    case RESTART:
        run(random() % 2 ? "stop QUIT" : "stop INT");
        run("start");
        break;
    case FAIL_OVER:
        run("failover");
        nap((int) (random() % 300)); /* alone, and with a new one that is made meanwhile */
        run("standby");
    }
}

/* ---- What is there ------------------------------------------------------------------------------------- */

struct history {
    char (*values)[64]; /* by n; values[0] is not used */
    size_t count, cap;
    uint64_t fence, recorded;
};

static struct history histories[RUNS];

static int on_entry(void *ud, const struct hocket__store_row *row)
{
    struct history *h = ud;
    const struct hocket__store_entry *e = &row->entry;
    if (h->count + 1 >= h->cap) {
        h->cap = h->cap ? 2 * h->cap : 1024;
        h->values = realloc(h->values, h->cap * sizeof(*h->values));
        must(h->values, "memory");
    }
    must(e->n == h->count + 1, "an entry is missing, or there twice");
    snprintf(h->values[++h->count], sizeof(h->values[0]), "%.*s", (int) e->value.n, e->value.p);
    uint64_t fence = strtoull(h->values[h->count], NULL, 10);
    must(fence >= h->fence, "somebody wrote who had lost the run");
    h->fence = fence;
    return 0;
}

static int on_record(void *ud, const struct hocket__store_row *row)
{
    struct history *h = ud;
    uint64_t fence = strtoull(row->record.json.p, NULL, 10);
    must(fence >= h->recorded, "somebody recorded who had lost the run");
    h->recorded = fence;
    return 0;
}

static struct worker *reading;

static void on_read(void *ud, int status, const struct hocket_error *err)
{
    (void) ud;
    on_done(reading, status, err);
}

static void read_all(struct worker *w)
{
    reading = w;
    for (int i = 0; i < RUNS; i++) {
        struct hocket__store_reply reply = { on_entry, on_read, &histories[i] };
        w->done = false;
        must(wait_for(w, hocket__store_entries(w->s, hocket__cstr(id_of(i)), 1, &reply, NULL)) == 0,
            "a run cannot be read");
        reply.row = on_record;
        w->done = false;
        must(wait_for(w, hocket__store_records(w->s, hocket__cstr(id_of(i)), 1, &reply, NULL)) == 0,
            "records cannot be read");
    }
}

/* The lines of a worker's file; the last may be cut off. */
static size_t compare(int no)
{
    char name[TEST_TEMP_PATH + 32], line[128], id[32], want[64];
    unsigned long long n, fence;
    int pid;
    size_t notes = 0;
    snprintf(name, sizeof(name), "%s/%d", dir, no);
    FILE *f = fopen(name, "r");
    must(f, "a worker has noted nothing");
    while (fgets(line, sizeof(line), f) && strchr(line, '\n')) {
        must(sscanf(line, "%26s %llu %llu %d", id, &n, &fence, &pid) == 4, "a note makes no sense");
        int i = atoi(id + 22);
        snprintf(want, sizeof(want), "%llu %d", fence, pid);
        must(n <= histories[i].count, "what was acknowledged is not there");
        must(strcmp(histories[i].values[n], want) == 0, "what was acknowledged is another's");
        notes++;
    }
    fclose(f);
    return notes;
}

static void put_runs(struct worker *w)
{
    for (int i = 0; i < RUNS; i++) {
        struct hocket__store_run r = fixture_run(id_of(i));
        struct hocket__store_claim claim;
        must(hocket__store_put(w->s, &r, &claim) == 0, "a run cannot be put");
        hocket__store_release(w->s, &claim);
    }
    must(commit(w, NULL) == 0, "runs cannot be put");
}

/* In a process of its own, so that there is no thread when the workers are forked. */
static void apart(void (*body)(struct worker *w))
{
    pid_t pid = fork();
    int status;
    if (pid == 0) {
        struct worker w = { .status = 0 };
        must(uv_loop_init(&w.loop) == 0 && open_store(&w) == 0, "the store cannot be opened");
        body(&w);
        close_store(&w);
        exit(0);
    }
    must(waitpid(pid, &status, 0) == pid && status == 0, "the history is wrong");
}

static int schedules;

static void check(struct worker *w)
{
    size_t notes = 0, entries = 0;
    read_all(w);
    for (int i = 0; i < WORKERS; i++)
        notes += compare(i);
    for (int i = 0; i < RUNS; i++) {
        entries += histories[i].count;
        free(histories[i].values);
    }
    printf(
        "%d schedules: %zu entries, %zu acknowledged, all there once\n", schedules, entries, notes);
}

/* However slow the machine is: each has noted something. */
static void until_written(int no)
{
    char name[TEST_TEMP_PATH + 32];
    struct stat st;
    snprintf(name, sizeof(name), "%s/%d", dir, no);
    while (stat(name, &st) < 0 || st.st_size == 0)
        nap(50);
}

static void remove_files(void)
{
    char name[TEST_TEMP_PATH + 32];
    for (int i = 0; i < WORKERS; i++) {
        snprintf(name, sizeof(name), "%s/%d", dir, i);
        unlink(name);
    }
    snprintf(name, sizeof(name), "%s/psql", dir);
    unlink(name);
    rmdir(dir);
}

int main(int argc, char **argv)
{
    const char *server = getenv("HOCKET_TEST_POSTGRES_PAIR");
    if (!server)
        return 77;
    bool full = argc > 1 && strcmp(argv[1], "--full") == 0;
    schedules = full ? 1000 : argc > 1 ? atoi(argv[1]) : 16;
    snprintf(url, sizeof(url), "%s&schema=history", server);
    must(test_temp_dir(dir), "no folder");
    srandom(schedules > 16 ? (unsigned) time(NULL) : 1);
    only_failovers = argc > 2 && strcmp(argv[2], "failovers") == 0;
    apart(put_runs);
    run("standby");
    for (int i = 0; i < WORKERS; i++)
        start(i);
    for (int i = 0; i < schedules; i++)
        disturb(choose(i));
    for (int i = 0; i < WORKERS; i++)
        until_written(i);
    for (int i = 0; i < WORKERS; i++)
        stop(i);
    apart(check);
    remove_files();
    return 0;
}
