/* Runs that are kept over a file, on a disk that fails: each workflow is run by a process that is killed at an operation
 * of its disk, before or behind it, or that finds the disk full or broken for a while. Others go on with it, some of them
 * killed as well, until it has ended. Then its answer, its tasks and document and what it used are those of a run that nobody
 * disturbed; what may be done once was done once; each answer was heard once; and its log tells the same again.
 *
 *   test_torture [--full] [WORKFLOW]    some hundred points, or several thousand; HOCKET_TORTURE_N tries one alone
 *
 * Each life is a process of its own; what it saw it leaves in memory that is shared with the one that judges it. */
#include "host/kept/torture.h"

/* ---- What has to be ---------------------------------------------------------------------------- */

static void check_once(const struct plan *p)
{
    static const char *const lines[] = { "post a", "post d", "post seal" };
    for (int i = 0; i < 3; i++)
        if (count_line(lines[i]) > 1)
            fail_msg("%s, operation %u: '%s' was done %d times", p->w->name, p->at, lines[i],
                count_line(lines[i]));
}

/* A run of which the store knows nothing has done nothing either. */
static void check_nothing(const struct plan *p)
{
    if (count_line("post a") + count_line("post d") + count_line("post seal") > 0)
        fail_msg("%s, operation %u (fault %d): it is not kept, and has posted; %s\n%s", p->w->name,
            p->at, p->fault, seen->error, seen->warnings);
    if (access(book, F_OK) == 0)
        fail_msg("%s, operation %u: it is not kept, and has written", p->w->name, p->at);
}

/* What its specialists read, and so what they use, depends on who of them was there first. */
static bool is_raced(const struct workflow *w)
{
    return strcmp(w->name, "facilitator") == 0 || strcmp(w->name, "nested") == 0;
}

static void check_end(const struct plan *p)
{
    const struct workflow *w = p->w;
    if (!seen->done || seen->status != 0)
        fail_msg("%s, operation %u: %d, %d: %s\n%s", w->name, p->at, seen->done, seen->status,
            seen->error, seen->warnings);
    same_answer(p, whole->text, seen->text);
    if (!w->loose && !is_raced(w))
        same_words("the result", w->name, p->at, whole->outcome, seen->outcome, TOKENS);
    check_once(p);
    if (w->after == check_book)
        check_book_as_far(w->name, p->at);
}

enum { SLICES = 8 }; /* of the points of a workflow, with a process each, in the long form */

/* ---- Points ----------------------------------------------------------------------------------------- */

/* Where the lives behind the first one are killed: some of them, each time further on. */
static unsigned next_kill(const struct plan *first, int life)
{
    unsigned x = first->at * 2654435761u + (unsigned) life * 40503u;
    if (life > 3 || (first->at + (unsigned) life) % 3 != 0)
        return 0;
    return 3 + (x >> 8) % (whole->ops + 8);
}

/* Goes on with it until it has ended. False: nobody knows of it. */
static bool go_on(const struct plan *first)
{
    if (!seen->name[0])
        return false;
    struct plan p = *first;
    bool killed = true, said = false;
    for (int life = 0; life < LIVES; life++) {
        bool parked = !killed && seen->done && seen->status == HOCKET_EPARKED;
        if (!killed && !parked && (!said || p.way != SAY))
            return true;
        p.way = parked ? SAY : RESUME;
        said |= parked;
        p.fault = DISK_KILL + (life & 1);
        p.count = 1;
        if ((p.at = next_kill(first, life)) == 0)
            p.fault = DISK_WELL;
        killed = live_once(&p);
        if (killed)
            continue;
        if (p.way == RESUME && seen->status == HOCKET_ENOTFOUND)
            return false;
        if (p.way == RESUME && is_over_already())
            return true;
    }
    fail_msg("%s, operation %u: no end after %d lives", first->w->name, first->at, LIVES);
    return false;
}

static void kill_at(struct plan p)
{
    new_world();
    bool killed = live_once(&p);
    __atomic_add_fetch(&tally->points, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&tally->killed, killed, __ATOMIC_RELAXED);
    bool ended = seen->done && seen->status == 0;
    if (killed || (p.parks && !ended)) {
        if (!killed)
            seen->status = HOCKET_EPARKED;
        if (!go_on(&p)) {
            check_nothing(&p);
            return;
        }
    }
    if (is_over_already()) { /* its last words were told before the kill, or were not */
        check_once(&p);
        check_log(&p);
        return;
    }
    check_end(&p);
    if (full || p.at % 3 == 0)
        check_log(&p);
}

/* The disk is full or broken for some operations: the run waits, says so, and goes on. */
static void fail_at(struct plan p)
{
    new_world();
    live_once(&p);
    __atomic_add_fetch(&tally->points, 1, __ATOMIC_RELAXED);
    if (seen->status < 0 && !seen->paused) { /* it could not be opened */
        check_nothing(&p);
        return;
    }
    if (seen->going && !seen->paused)
        fail_msg("%s, operation %u: %s", p.w->name, p.at, seen->warnings);
    if (seen->lost && !go_on(&p)) { /* over before its file was open, which it never was */
        check_once(&p);
        return;
    }
    if (seen->paused && !seen->going && !go_on(&p)) { /* its host was closed meanwhile */
        check_nothing(&p);
        return;
    }
    if (is_over_already()) {
        check_log(&p);
        return;
    }
    check_end(&p);
    check_log(&p);
}

static void undisturbed(struct plan p)
{
    new_world();
    p.fault = DISK_WELL;
    p.at = 0;
    live_once(&p);
    if (seen->status != 0)
        fail_msg("%s: %s\n%s", p.w->name, seen->error, seen->warnings);
    forget(whole);
    memcpy(whole, seen, sizeof(*seen));
}

/* The points of a slice: each SLICES-th operation, so that those of a workflow that waits for its models are tried beside each other. */
static void all_points(const struct workflow *w, bool parks, unsigned slice)
{
    struct plan p = { .w = w, .way = BEGIN };
    undisturbed(p);
    p.parks = parks;
    unsigned n = whole->ops, step = full ? SLICES : 1 + n / 6, only = 0;
    if (getenv("HOCKET_TORTURE_N"))
        only = (unsigned) atoi(getenv("HOCKET_TORTURE_N"));
    for (p.at = only ? only : 1 + slice; p.at <= n + 4; p.at += step) {
        p.count = 1;
        for (int behind = 0; behind < 2; behind++) {
            p.fault = behind ? DISK_KILL_BEHIND : DISK_KILL;
            if (full || (p.at + (unsigned) behind) % 2 == 0)
                kill_at(p);
        }
        p.count = 1 + p.at % 3;
        p.fault = p.at % 2 ? DISK_FULL : DISK_ERROR;
        if (!parks && (full ? true : p.at % 3 == 0))
            fail_at(p);
        if (only)
            break;
    }
    printf("%s%s, slice %u: %u operations; %u points up to here\n", w->name,
        parks ? ", answered later" : "", slice + 1, n, tally->points);
}

/* ---- Two processes ---------------------------------------------------------------------------------- */

/* A life beside others, with memory of its own; it says nothing while `mute` is set. */
static pid_t live_apart(
    const struct plan *p, struct seen *own, const char *name, volatile int *mute)
{
    forget(own);
    snprintf(own->name, sizeof(own->name), "%s", name);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(100);
        seen = own;
        disk_begin(DISK_WELL, 0, 0);
        live_muted(p, mute);
        _exit(0);
    }
    return pid;
}

static void sql(const char *text)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(store_file, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", text, sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void until_asked(const struct seen *s)
{
    for (int i = 0; i < 3000 && !s->asked[0]; i++)
        usleep(10000);
    assert_true(s->asked[0]);
    usleep(200000); /* it is in the store, too */
}

/* One that was stopped past its lease writes nothing when it goes on, and says so. */
static void stopped_past_its_lease(const struct workflow *w)
{
    struct plan first = { .w = w, .way = BEGIN }, second = { .w = w, .way = RESUME };
    struct seen *a = shared(sizeof(*a));
    volatile int *mute = &shared(sizeof(*a))->done;
    int how;
    undisturbed(first);
    new_world();
    *mute = 1;
    pid_t pid = live_apart(&first, a, "", mute);
    until_asked(a);
    kill(pid, SIGSTOP);
    sql("UPDATE runs SET lease_ms = 1");
    memcpy(seen->name, a->name, sizeof(a->name));
    live_once(&second);
    check_end(&second);
    sql("CREATE TABLE before AS SELECT * FROM entries");
    *mute = 0;
    kill(pid, SIGCONT);
    assert_int_equal(waitpid(pid, &how, 0), pid);
    if (!a->done || a->status != HOCKET_ESTATE || !strstr(a->error, "another process"))
        fail_msg("the one that was stopped: %d %d: %s", a->done, a->status, a->error);
    sql("CREATE TABLE same(n CHECK(n = 0)); INSERT INTO same SELECT (SELECT count(*) FROM entries)"
        " - (SELECT count(*) FROM before)");
    check_log(&second);
    tally->points++;
}

/* Of two that resume a run at the same time one does; the other hears who. */
static void two_at_once(const struct workflow *w, int times)
{
    struct plan p = { .w = w, .way = BEGIN, .fault = DISK_KILL, .count = 1 };
    struct plan on = { .w = w, .way = RESUME };
    struct seen *two[] = { shared(sizeof(*two[0])), shared(sizeof(*two[0])) };
    volatile int *mute = &shared(sizeof(*two[0]))->done;
    undisturbed(p);
    for (int i = 0; i < times; i++) {
        char name[32];
        pid_t pids[2];
        p.at = whole->ops / 3 + (unsigned) i * 3;
        new_world();
        if (!live_once(&p) || !seen->name[0])
            continue;
        memcpy(name, seen->name, sizeof(name));
        for (int k = 0; k < 2; k++)
            pids[k] = live_apart(&on, two[k], name, mute);
        for (int k = 0; k < 2; k++)
            assert_int_equal(waitpid(pids[k], NULL, 0), pids[k]);
        int winner = two[0]->status == 0 ? 0 : 1;
        if (two[winner]->status == HOCKET_ENOTFOUND)
            continue;
        if (two[1 - winner]->status != HOCKET_ESTATE)
            fail_msg("%s, operation %u: %d: %s; %d: %s", w->name, p.at, two[0]->status,
                two[0]->error, two[1]->status, two[1]->error);
        memcpy(seen, two[winner], sizeof(*seen));
        check_end(&on);
        check_log(&on);
        tally->points++;
    }
}

static void both(const struct workflow *w, bool parks)
{
    if (strcmp(w->name, "ask") == 0 && !parks)
        stopped_past_its_lease(w);
    if (strcmp(w->name, "tools") == 0)
        two_at_once(w, full ? 20 : 4);
}

static bool may_park(const struct workflow *w)
{
    return strcmp(w->name, "ask") == 0;
}

/* ---- Workers ---------------------------------------------------------------------------------------- */

static void work(const struct workflow *w, bool parks, unsigned slice)
{
    seen = shared(sizeof(*seen));
    whole = shared(sizeof(*whole));
    make_world();
    assert_true(test_temp_dir(store_dir));
    snprintf(store_file, sizeof(store_file), "%s/runs.db", store_dir);
    disk_install();
    if (slice == 0)
        both(w, parks);
    all_points(w, parks, slice);
    remove_store();
    rmdir(store_dir);
    end_world();
    fflush(stdout);
}

static void reap(int *working)
{
    int how;
    wait(&how);
    tally->failed += !WIFEXITED(how) || WEXITSTATUS(how) != 0;
    --*working;
}

static void give(const struct workflow *w, bool parks, unsigned slice, int *working)
{
    if (*working >= AT_ONCE)
        reap(working);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        work(w, parks, slice);
        _exit(0);
    }
    ++*working;
}

int main(int argc, char **argv)
{
    hocket_launcher_main(argc, argv);
    int working = 0;
    const char *only = argc > 1 && argv[argc - 1][0] != '-' ? argv[argc - 1] : NULL;
    full = argc > 1 && strcmp(argv[1], "--full") == 0;
    tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (const struct workflow *w = workflows; w->name; w++) {
        if ((only && strcmp(only, w->name) != 0) || test_left_out(w->name))
            continue;
        for (unsigned slice = 0; slice < (full && !getenv("HOCKET_TORTURE_N") ? SLICES : 1);
             slice++) {
            give(w, false, slice, &working);
            if (may_park(w))
                give(w, true, slice, &working);
        }
    }
    while (working > 0)
        reap(&working);
    printf("%u points, %u of them kills, %u lives, %u workflows failed\n", tally->points,
        tally->killed, tally->lives, tally->failed);
    return tally->failed > 0;
}
