/* Lives of runs over a file, on a disk that fails, each in a process of its own: what a life saw it leaves in memory that is
 * shared with the one that judges it (test_torture.c, test_torture_seam.c). */
#pragma once

#include "host/kept/workflows.h"

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
    unsigned points, killed, lives, failed, chance;
} * tally;
static const char *durability; /* of the lives */
static char store_dir[TEST_TEMP_PATH], store_file[TEST_TEMP_PATH + 16];
static bool full;

static inline struct seen *shared(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

static inline void forget(struct seen *s)
{
    size_t n = s->n_events;
    memset(s, 0, offsetof(struct seen, text));
    s->text[0] = s->outcome[0] = s->events[0] = 0;
    memset(s->events, 0, n < EVENTS ? n : EVENTS);
}

/* ---- A life, in its process ------------------------------------------------------------------- */

enum way { BEGIN, RESUME, REPLAY, SAY, WORK };

struct plan {
    const struct workflow *w;
    enum way way;
    enum disk_fault fault;
    unsigned at, count;
    bool parks; /* nobody is there: answers come as messages, from other processes */
};

static inline void on_log_line(enum hocket_log_level level, const char *text, void *ud)
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

static inline bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static inline void note_question(const struct hocket_event *e)
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

static inline const char *answer_of(const struct workflow *w, int i)
{
    return w->answers[i] ? w->answers[i] : w->signals[i];
}

static const char *signal_names[] = { "start", "a", "b", "end" };

static inline void answer_open(hocket_host *h, const struct plan *p, uint64_t run)
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

static inline void on_event_here(
    hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
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

static inline void on_done_here(
    hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    (void) h, (void) run, (void) ud;
    seen->done++;
    seen->status = r->status;
    snprintf(seen->text, sizeof(seen->text), "%s", r->text);
    snprintf(seen->outcome, sizeof(seen->outcome), "%s", r->json ? r->json : "");
    snprintf(seen->error, sizeof(seen->error), "%s", r->error ? r->error->message : "");
}

/* A worker's run has ended: so has the life. */
static inline void on_event_of_work(
    hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    (void) h, (void) run, (void) ud;
    if (strcmp(e->type, "run_ended") != 0)
        return;
    hocket_json *json = hocket_json_parse(e->json, e->json_len, NULL);
    seen->status = strcmp(hocket_json_text(hocket_json_get(json, "code"), "", NULL), "ok") == 0
                       ? 0
                       : HOCKET_ESTATE;
    snprintf(seen->error, sizeof(seen->error), "%.*s", (int) e->json_len, e->json);
    hocket_json_free(json);
    seen->done++;
}

static inline void on_done_of_work(
    hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    if (!seen->done)
        on_done_here(h, run, r, ud);
}

static inline hocket_host *open_over_file(void)
{
    struct hocket_error err;
    struct hocket_options o;
    hocket_host *h = NULL;
    hocket_options_init(&o, sizeof(o));
    o.getenv_cb = variables;
    o.log_cb = on_log_line;
    o.launcher = "/proc/self/exe"; /* whose main says so, where it has to start programs */
    o.store = store_file;
    o.durability = durability;
    if (hocket_open(&o, &h, &err) < 0 || hocket_serve_attach(h, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        _exit(3);
    }
    return h;
}

/* One of the program's options, and what it adds. */
static inline const char *options_of(const struct plan *p, char out[1024])
{
    snprintf(
        out, 1024, "{\"park\":true%s%s", p->w->options[1] == '}' ? "" : ",", p->w->options + 1);
    return p->parks ? out : p->w->options;
}

static inline int begin_life(hocket_host *h, const struct plan *p, struct life *l)
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
    } else if (p->way == WORK) {
        rc =
            hocket_call_start(h, "work", "{}", &l->run, on_event_of_work, on_done_of_work, l, &err);
    } else if (p->way == RESUME) {
        rc = hocket_run_resume(h, seen->name, o, &l->run, on_event_here, on_done_here, l, &err);
    } else {
        rc = hocket_run_replay(h, seen->name, NULL, &l->run, on_event_here, on_done_here, l, &err);
    }
    if (rc >= 0)
        return 0;
    snprintf(seen->error, sizeof(seen->error), "%s", err.message);
    seen->done = 1;
    seen->status = rc;
    return rc;
}

/* It may be put away while it waits, and on a slow machine is before it is answered: then it goes on at once. */
static inline bool was_put_away(const struct plan *p)
{
    return seen->done && seen->status == HOCKET_EPARKED && !p->parks && p->way != REPLAY
           && strstr(p->w->options, "\"park\":true");
}

static inline void live_muted(const struct plan *p, const volatile int *mute)
{
    struct plan on = *p;
    struct life l;
    life_init(&l, p->w);
    hocket_host *h = open_over_file();
    if (p->w->prepare)
        p->w->prepare(h);
    begin_life(h, p, &l);
    for (int i = 0; i < 6000 && !seen->done; i++) {
        hocket_wait(h, 10);
        if (p->w->turn)
            p->w->turn(h, &l);
        if (was_put_away(p)) {
            seen->done = seen->status = 0;
            memset(open_here, 0, sizeof(open_here));
            on.way = RESUME;
            begin_life(h, &on, &l);
        }
        if (!p->parks && p->way != REPLAY && p->way != WORK && !seen->done && !*mute)
            answer_open(h, p, l.run);
    }
    hocket_close(h, NULL, NULL);
    life_free(&l);
}

static inline void live_here(const struct plan *p)
{
    int mute = 0;
    live_muted(p, &mute);
}

static inline int no_row(void *ud, const struct hocket__store_row *row)
{
    (void) ud, (void) row;
    return 0;
}

static inline void on_said(void *ud, int status, const struct hocket_error *err)
{
    int *left = ud;
    (void) err;
    if (status < 0 && status != HOCKET_EEXIST)
        seen->status = status;
    --*left;
}

/* Answers all that was asked, also what it may have answered before. */
static inline void say_here(const struct plan *p)
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
static inline bool live_once(const struct plan *p)
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

/* Another life has ended it, and was killed before it could say so. */
static inline bool is_over_already(void)
{
    return seen->status == HOCKET_ESTATE && strstr(seen->error, "it is done");
}

/* ---- Its world, and its answer ----------------------------------------------------------------- */

static inline void remove_store(void)
{
    static const char *const endings[] = { "", "-wal", "-shm" };
    char path[TEST_TEMP_PATH + 32];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s%s", store_file, endings[i]);
        unlink(path);
    }
    snprintf(path, sizeof(path), "%s-ahead-*", store_file);
    unlink_all(path);
}

static inline void new_world(void)
{
    FILE *f = fopen(letters, "w");
    assert_non_null(f);
    fclose(f);
    unlink(book);
    remove_store();
}

/* Each run has chance of its own. */
static inline void same_answer(const struct plan *p, char *was, char *is)
{
    char *a = strstr(was, "chance "), *b = strstr(is, "chance ");
    if (a && b)
        b[7] = a[7];
    same_words("the answer", p->w->name, p->at, was, is, 0);
}

static inline void check_log(const struct plan *p)
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
