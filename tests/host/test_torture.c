/* Runs that are kept over a file, on a disk that fails: each workflow is run by a process that is killed at an operation
 * of its disk, before or behind it, or that finds the disk full or broken for a while. Others go on with it, some of them
 * killed as well, until it has ended. Then its answer, its tasks and document and what it used are those of a run that nobody
 * disturbed; what may be done once was done once; each answer was heard once; and its log tells the same again.
 *
 *   test_torture [--full] [WORKFLOW]    some hundred points, or several thousand; HOCKET_TORTURE_N tries one alone
 *
 * Each life is a process of its own; what it saw it leaves in memory that is shared with the one that judges it. */
#include "host/kept/workflows.h"

#include <glob.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "bind/store/store.h"
#include "store/disk.h"

enum { EVENTS = 8 << 20, TEXT = 1 << 20, AT_ONCE = 8, LIVES = 40 };

/* What a life leaves behind, however it ends. */
struct seen {
    char name[32], error[1024], warnings[4096];
    int done, status, asked[8];
    bool paused, going, lost; /* its disk; what it did at last */
    unsigned ops;
    size_t n_events;
    char text[TEXT], outcome[TEXT], events[EVENTS];
};

static struct seen *seen, *whole; /* of the newest life; of an undisturbed run */
static struct tally {
    unsigned points, killed, lives, failed;
} * tally;
static char store_dir[TEST_TEMP_PATH], store_file[TEST_TEMP_PATH + 16];
static bool full;

static struct seen *shared(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

static void forget(struct seen *s)
{
    size_t n = s->n_events;
    memset(s, 0, offsetof(struct seen, text));
    s->text[0] = s->outcome[0] = s->events[0] = 0;
    memset(s->events, 0, n < EVENTS ? n : EVENTS);
}

/* ---- A life, in its process ------------------------------------------------------------------- */

enum way { BEGIN, RESUME, REPLAY, SAY };

struct plan {
    const struct workflow *w;
    enum way way;
    enum disk_fault fault;
    unsigned at, count;
    bool parks; /* nobody is there: answers come as messages, from other processes */
};

static void on_log_line(enum hocket_log_level level, const char *text, void *ud)
{
    size_t n = strlen(seen->warnings);
    (void) level, (void) ud;
    snprintf(seen->warnings + n, sizeof(seen->warnings) - n, "%s\n", text);
    seen->paused |= strstr(text, "cannot be kept for now") != NULL;
    seen->going |= strstr(text, "are kept again") != NULL;
    seen->lost |= strstr(text, "could not be kept") != NULL;
}

/* What is open: answered when the run has told all that it told before, and once. */
static bool open_here[8];

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static void note_question(const struct hocket_event *e)
{
    bool asks = strcmp(e->type, "question_asked") == 0 || ends_with(e->type, "_requested");
    hocket_json *json = hocket_json_parse(e->json, e->json_len, NULL);
    int i = atoi(hocket_json_text(hocket_json_get(json, "id"), "q0", NULL) + 1) - 1;
    hocket_json_free(json);
    if (i < 0 || i >= 8)
        return;
    seen->asked[i] |= asks;
    open_here[i] = asks;
}

static const char *answer_of(const struct workflow *w, int i)
{
    return w->answers[i] ? w->answers[i] : w->signals[i];
}

static const char *signal_names[] = { "start", "a", "b", "end" };

static void answer_open(hocket_host *h, const struct plan *p, uint64_t run)
{
    struct hocket_error err;
    for (int i = 0; i < 8; i++) {
        char id[8];
        const char *kind = strcmp(p->w->name, "chat") == 0 ? "i" : "q", *text = answer_of(p->w, i);
        if (!open_here[i] || !text)
            continue;
        snprintf(id, sizeof(id), "%s%d", kind, i + 1);
        int rc = p->w->signals[i] ? hocket_run_signal(h, run, signal_names[i], text, &err)
                                  : hocket_run_answer(h, run, id, text, 0, &err);
        open_here[i] = rc == HOCKET_ESTATE;
    }
}

static void on_event_here(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    if (strcmp(e->type, "model_delta") == 0)
        return;
    if (seen->n_events + e->json_len + 2 < EVENTS) {
        memcpy(seen->events + seen->n_events, e->json, e->json_len);
        seen->n_events += e->json_len;
        seen->events[seen->n_events++] = '\n';
    }
    (void) h, (void) run, (void) ud;
    if (strncmp(e->type, "question_", 9) == 0 || strncmp(e->type, "input_", 6) == 0
        || strncmp(e->type, "signal_", 7) == 0)
        note_question(e);
}

static void on_done_here(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    (void) h, (void) run, (void) ud;
    seen->done++;
    seen->status = r->status;
    snprintf(seen->text, sizeof(seen->text), "%s", r->text);
    snprintf(seen->outcome, sizeof(seen->outcome), "%s", r->json ? r->json : "");
    snprintf(seen->error, sizeof(seen->error), "%s", r->error ? r->error->message : "");
}

static hocket_host *open_over_file(void)
{
    struct hocket_error err;
    struct hocket_options o;
    hocket_host *h = NULL;
    hocket_options_init(&o, sizeof(o));
    o.getenv_cb = variables;
    o.log_cb = on_log_line;
    o.launcher = "/proc/self/exe"; /* whose main says so, where it has to start programs */
    o.store = store_file;
    if (hocket_open(&o, &h, &err) < 0 || hocket_serve_attach(h, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        _exit(3);
    }
    return h;
}

/* One of the program's options, and what it adds. */
static const char *options_of(const struct plan *p, char out[1024])
{
    snprintf(
        out, 1024, "{\"park\":true%s%s", p->w->options[1] == '}' ? "" : ",", p->w->options + 1);
    return p->parks ? out : p->w->options;
}

static int begin_life(hocket_host *h, const struct plan *p, struct life *l)
{
    struct hocket_error err = { 0 };
    char options[1024];
    const char *o = options_of(p, options);
    int rc;
    if (p->way == BEGIN) {
        struct hocket_run_spec spec = {
            .size = sizeof(spec), .target = p->w->target, .input = p->w->input, .options = o
        };
        rc = hocket_run_start(h, &spec, &l->run, on_event_here, on_done_here, l, &err);
        if (rc >= 0)
            snprintf(seen->name, sizeof(seen->name), "%s", hocket_run_name(h, l->run));
    } else if (p->way == RESUME) {
        rc = hocket_run_resume(h, seen->name, o, &l->run, on_event_here, on_done_here, l, &err);
    } else {
        rc = hocket_run_replay(h, seen->name, &l->run, on_event_here, on_done_here, l, &err);
    }
    if (rc >= 0)
        return 0;
    snprintf(seen->error, sizeof(seen->error), "%s", err.message);
    seen->done = 1;
    seen->status = rc;
    return rc;
}

/* It may be put away while it waits, and on a slow machine is before it is answered: then it goes on at once. */
static bool was_put_away(const struct plan *p)
{
    return seen->done && seen->status == HOCKET_EPARKED && !p->parks && p->way != REPLAY
           && strstr(p->w->options, "\"park\":true");
}

static void live_muted(const struct plan *p, const volatile int *mute)
{
    struct plan on = *p;
    struct life l;
    life_init(&l, p->w);
    hocket_host *h = open_over_file();
    begin_life(h, p, &l);
    for (int i = 0; i < 6000 && !seen->done; i++) {
        hocket_wait(h, 10);
        if (was_put_away(p)) {
            seen->done = seen->status = 0;
            memset(open_here, 0, sizeof(open_here));
            on.way = RESUME;
            begin_life(h, &on, &l);
        }
        if (!p->parks && p->way != REPLAY && !seen->done && !*mute)
            answer_open(h, p, l.run);
    }
    hocket_close(h, NULL, NULL);
    life_free(&l);
}

static void live_here(const struct plan *p)
{
    int mute = 0;
    live_muted(p, &mute);
}

static int no_row(void *ud, const struct hocket__store_row *row)
{
    (void) ud, (void) row;
    return 0;
}

static void on_said(void *ud, int status, const struct hocket_error *err)
{
    int *left = ud;
    (void) err;
    if (status < 0 && status != HOCKET_EEXIST)
        seen->status = status;
    --*left;
}

/* Answers all that was asked, also what it may have answered before. */
static void say_here(const struct plan *p)
{
    hocket_host *h = open_over_file();
    struct hocket__store *s = hocket__runtime_store(h->rt, NULL);
    struct hocket__store_reply reply = { no_row, on_said, NULL };
    int left = 0;
    reply.ud = &left;
    for (int i = 0; i < 8; i++) {
        char id[8], json[256];
        if (!seen->asked[i] || !answer_of(p->w, i))
            continue;
        snprintf(id, sizeof(id), "m%d", i);
        snprintf(json, sizeof(json), "{\"wish\":\"answer\",\"question\":\"q%d\",\"text\":\"%s\"}",
            i + 1, answer_of(p->w, i));
        struct hocket__store_message m = { hocket__cstr(id), 1, hocket__cstr(json) };
        left += hocket__store_message(s, hocket__cstr(seen->name), &m, &reply, NULL) == 0;
    }
    for (int i = 0; i < 3000 && left > 0; i++)
        hocket_wait(h, 10);
    seen->done = left == 0;
    hocket_close(h, NULL, NULL);
}

/* Whether it was killed, as it was to be. */
static bool live_once(const struct plan *p)
{
    char name[32];
    int asked[8], how;
    memcpy(name, seen->name, sizeof(name));
    memcpy(asked, seen->asked, sizeof(asked));
    forget(seen);
    if (p->way != BEGIN) {
        memcpy(seen->name, name, sizeof(name));
        memcpy(seen->asked, asked, sizeof(asked));
    }
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(100);
        disk_begin(p->fault, p->at, p->count);
        if (p->way == SAY)
            say_here(p);
        else
            live_here(p);
        seen->ops = disk_count();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    __atomic_add_fetch(&tally->lives, 1, __ATOMIC_RELAXED);
    bool killed = WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL;
    if (!killed && !(WIFEXITED(how) && WEXITSTATUS(how) == 0))
        fail_msg("%s, operation %u: a life ended by %x; %s\n%s", p->w->name, p->at, how,
            seen->warnings, seen->error);
    return killed;
}

/* ---- What has to be ---------------------------------------------------------------------------- */

static void remove_store(void)
{
    static const char *const endings[] = { "", "-wal", "-shm" };
    char path[TEST_TEMP_PATH + 32];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s%s", store_file, endings[i]);
        unlink(path);
    }
    glob_t ahead;
    snprintf(path, sizeof(path), "%s-ahead-*", store_file);
    if (glob(path, 0, NULL, &ahead) == 0)
        for (size_t i = 0; i < ahead.gl_pathc; i++)
            unlink(ahead.gl_pathv[i]);
    globfree(&ahead);
}

static void new_world(void)
{
    FILE *f = fopen(letters, "w");
    assert_non_null(f);
    fclose(f);
    unlink(book);
    remove_store();
}

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

/* Each run has chance of its own. */
static void same_answer(const struct plan *p, char *was, char *is)
{
    char *a = strstr(was, "chance "), *b = strstr(is, "chance ");
    if (a && b)
        b[7] = a[7];
    same_words("the answer", p->w->name, p->at, was, is, 0);
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

static void check_log(const struct plan *p)
{
    struct plan again = *p;
    again.way = REPLAY;
    again.fault = DISK_WELL;
    again.at = 0;
    char *text = strdup(seen->text[0] ? seen->text : whole->text);
    char *before = strdup(seen->warnings);
    live_once(&again);
    if (seen->status != 0)
        fail_msg("%s, operation %u (fault %d): its replay: %d: %s; before: %s", p->w->name, p->at,
            p->fault, seen->status, seen->error, before);
    same_answer(p, text, seen->text);
    free(before);
    free(text);
}

/* ---- Points ----------------------------------------------------------------------------------------- */

/* Where the lives behind the first one are killed: some of them, each time further on. */
static unsigned next_kill(const struct plan *first, int life)
{
    unsigned x = first->at * 2654435761u + (unsigned) life * 40503u;
    if (life > 3 || (first->at + (unsigned) life) % 3 != 0)
        return 0;
    return 3 + (x >> 8) % (whole->ops + 8);
}

static bool is_over_already(void)
{
    return seen->status == HOCKET_ESTATE && strstr(seen->error, "it is done");
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

static void all_points(const struct workflow *w, bool parks)
{
    struct plan p = { .w = w, .way = BEGIN };
    undisturbed(p);
    p.parks = parks;
    unsigned n = whole->ops, step = full ? 1 : 1 + n / 6, only = 0;
    if (getenv("HOCKET_TORTURE_N"))
        only = (unsigned) atoi(getenv("HOCKET_TORTURE_N"));
    for (p.at = only ? only : 1; p.at <= n + 4; p.at += step) {
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
    printf("%s%s: %u operations\n", w->name, parks ? ", answered later" : "", n);
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

static void work(const struct workflow *w, bool parks)
{
    seen = shared(sizeof(*seen));
    whole = shared(sizeof(*whole));
    make_world();
    assert_true(test_temp_dir(store_dir));
    snprintf(store_file, sizeof(store_file), "%s/runs.db", store_dir);
    disk_install();
    both(w, parks);
    all_points(w, parks);
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

static void give(const struct workflow *w, bool parks, int *working)
{
    if (*working >= AT_ONCE)
        reap(working);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        work(w, parks);
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
        if (only && strcmp(only, w->name) != 0)
            continue;
        give(w, false, &working);
        if (may_park(w))
            give(w, true, &working);
    }
    while (working > 0)
        reap(&working);
    printf("%u points, %u of them kills, %u lives, %u workflows failed\n", tally->points,
        tally->killed, tally->lives, tally->failed);
    return tally->failed > 0;
}
