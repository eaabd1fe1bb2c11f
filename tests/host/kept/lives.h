/* Lives of runs whose log is in memory: one begins, ends or is cut off; the next goes on from its log, in a host of its own. */
#pragma once

#include <hocket/hocket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bind/fiber/fiber.h"
#include "core/log/log.h"
#include "host/host.h"
#include "host/run/run.h"
#include "support/emulated.h"
#include "support/log_bytes.h"

/* ---- A log in memory ------------------------------------------------------------------------ */

struct kept_log {
    struct hocket__buf bytes;
    size_t *ends;                  /* of each entry */
    uint64_t *told;                /* events before it */
    uint64_t owed;                 /* events that were told behind the last one */
    const struct hocket__run *run; /* that is appending */
    size_t n, cap;
    size_t full_at;                /* entries; 0: never */
    int64_t turn_us;               /* the budget of each pump of who goes on with it; 0: it waits */
    bool pruned;                   /* what a replay does not need is not fed to it */
    bool whole;                    /* it is replayed through its checkpoints */
    const struct kept_log *memory; /* of another run; NULL: none */
    int (*hold)(void *ud, uint64_t fiber, uint64_t intent, bool world); /* its gate; NULL: open */
    struct kept_file {
        char *name, *text;
        size_t n_text;
        size_t at; /* entries that were there before it */
    } * files;
    size_t n_files;
};

static inline void log_init(struct kept_log *l)
{
    *l = (struct kept_log){ 0 };
    hocket__buf_init(&l->bytes, &hocket__malloc, 0);
}

static inline void log_free(struct kept_log *l)
{
    hocket__buf_deinit(&l->bytes);
    free(l->ends);
    free(l->told);
    for (size_t i = 0; i < l->n_files; i++) {
        free(l->files[i].name);
        free(l->files[i].text);
    }
    free(l->files);
}

static inline void log_file(void *ud, struct hocket__str name, struct hocket__str text)
{
    struct kept_log *l = ud;
    struct kept_file f = { strndup(name.p, name.n), malloc(text.n + 1), text.n, l->n };
    memcpy(f.text, text.p, text.n);
    f.text[text.n] = 0;
    for (size_t i = 0; i < l->n_files; i++)
        if (strcmp(l->files[i].name, f.name) == 0)
            fail_msg("'%s' is told twice", f.name);
    l->files = realloc(l->files, (l->n_files + 1) * sizeof(f));
    l->files[l->n_files++] = f;
}

static inline int log_append(void *ud, const struct hocket__log_entry *e, struct hocket_error *err)
{
    struct kept_log *l = ud;
    if (e->n != l->n + 1)
        return hocket__error(
            err, HOCKET_EIO, "entry %llu behind %zu", (unsigned long long) e->n, l->n);
    if (l->full_at && l->n >= l->full_at)
        return hocket__error(err, HOCKET_EIO, "the disk is full");
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->ends = realloc(l->ends, l->cap * sizeof(*l->ends));
        l->told = realloc(l->told, l->cap * sizeof(*l->told));
    }
    l->told[l->n] = l->run ? hocket__journal_last(l->run->journal) : 0;
    log_bytes_put(e, &l->bytes);
    l->ends[l->n++] = l->bytes.len;
    return 0;
}

static inline struct hocket__log_entry entry_at(const struct kept_log *l, size_t i)
{
    struct hocket__log_entry e;
    size_t from = i > 0 ? l->ends[i - 1] : 0;
    struct hocket__str s = hocket__str(l->bytes.data + from, l->bytes.len - from);
    assert_true(log_bytes_take(s, &e) > 0);
    return e;
}

static inline void log_copy(const struct kept_log *from, size_t n, struct kept_log *to)
{
    log_init(to);
    to->memory = from->memory;
    for (size_t i = 0; i < n; i++) {
        struct hocket__log_entry e = entry_at(from, i);
        assert_int_equal(log_append(to, &e, NULL), 0);
    }
    for (size_t i = 0; i < from->n_files; i++) {
        struct kept_file *f = &from->files[i];
        if (f->at <= n && n > 0)
            log_file(to, hocket__cstr(f->name), hocket__str(f->text, f->n_text));
    }
}

/* ---- A life of a run --------------------------------------------------------------------------- */

struct life;

struct workflow {
    const char *name, *target, *input, *options;
    const char *answers
        [8]; /* to its questions and inputs, in their order; "": no more, NULL: none is given */
    void (*prepare)(hocket_host *h);              /* before it begins */
    const char *signals[8];                       /* to its signals, in their order; as answers */
    void (*turn)(hocket_host *h, struct life *l); /* behind each turn of the loop */
    bool loose;                                   /* what it has used depends on where it was cut */
    /* Makes the world as a life that was killed behind n entries may have left it; looks at what the next one left. */
    void (*before)(const struct kept_log *log, size_t n);
    void (*after)(const char *name, size_t n);
};

struct life {
    const struct workflow *w;
    struct hocket__kept *kept;
    int parked; /* turns behind which it waited for people */
    struct hocket__buf events, text, outcome;
    int done, status;
    char error[512];
    uint64_t run;
    const char *stop_at; /* an event's type, once */
    int stop_how;        /* 0: cancelled, 1: stopped */
};

static inline void answer(hocket_host *h, struct life *l, const char *json, size_t n)
{
    struct hocket_error err;
    hocket_json *event = hocket_json_parse(json, n, &err);
    const char *id = hocket_json_text(hocket_json_get(event, "id"), "", NULL);
    int i = atoi(id + 1) - 1;
    const char *text = i >= 0 && i < 8 ? l->w->answers[i] : NULL;
    if (text) /* of a replay: it has its answer */
        hocket_run_answer(h, l->run, id, text, 0, &err);
    hocket_json_free(event);
}

static inline void send_signal(hocket_host *h, struct life *l, const char *json, size_t n)
{
    struct hocket_error err;
    hocket_json *event = hocket_json_parse(json, n, &err);
    int i = atoi(hocket_json_text(hocket_json_get(event, "id"), "", NULL) + 1) - 1;
    const char *name = hocket_json_text(hocket_json_get(event, "name"), "", NULL);
    const char *value = i >= 0 && i < 8 ? l->w->signals[i] : NULL;
    if (value) /* of a replay: it has come */
        hocket_run_signal(h, l->run, name, value, &err);
    hocket_json_free(event);
}

static inline void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct life *l = ud;
    l->run = run;
    if (strcmp(e->type, "model_delta") == 0)
        return;
    hocket__buf_add(&l->events, e->json, e->json_len);
    hocket__buf_addc(&l->events, '\n');
    if (l->stop_at && strcmp(e->type, l->stop_at) == 0) {
        l->stop_at = NULL;
        assert_int_equal(l->stop_how ? hocket_run_stop(h, run) : hocket_run_cancel(h, run), 0);
    }
    if (strcmp(e->type, "question_asked") == 0 || strcmp(e->type, "approval_requested") == 0
        || strcmp(e->type, "input_requested") == 0)
        answer(h, l, e->json, e->json_len);
    if (strcmp(e->type, "signal_requested") == 0)
        send_signal(h, l, e->json, e->json_len);
}

static inline void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct life *l = ud;
    (void) h;
    (void) run;
    l->done++;
    l->status = r->status;
    hocket__buf_adds(&l->text, r->text);
    hocket__buf_adds(&l->outcome, r->json ? r->json : "");
    snprintf(l->error, sizeof(l->error), "%s", r->error ? r->error->message : "");
}

static inline void life_free(struct life *l)
{
    hocket__buf_deinit(&l->events);
    hocket__buf_deinit(&l->text);
    hocket__buf_deinit(&l->outcome);
}

static const char *life_trust = "1", *life_state; /* HOCKET_TRUST, XDG_STATE_HOME */
static const char *life_key; /* a variable with a provider's key, in place of HOCKET_MODEL */

static inline const char *variables(const char *name, void *ud)
{
    (void) ud;
    if (life_key && (strcmp(name, life_key) == 0 || strcmp(name, "HOCKET_MODEL") == 0))
        return strcmp(name, life_key) == 0 ? "a key" : NULL;
    return strcmp(name, "HOCKET_MODEL") == 0     ? "sim/default"
           : strcmp(name, "HOCKET_TRUST") == 0   ? life_trust
           : strcmp(name, "XDG_STATE_HOME") == 0 ? life_state
                                                 : NULL;
}

static inline hocket_host *open_host(void)
{
    struct hocket_error err;
    hocket_host *h = NULL;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.getenv_cb = variables;
    o.launcher = "/proc/self/exe"; /* whose main says so, where it has to start programs */
    if (hocket_open(&o, &h, &err) < 0 || hocket_serve_attach(h, &err) < 0)
        fail_msg("%s", err.message);
    return h;
}

static const unsigned char seed[HOCKET__SEED] = "sixteen bytes!!";

/* Where the first is, and the newest; both at the end where there are none. */
static inline size_t newest_checkpoint(const struct kept_log *log, size_t *newest)
{
    size_t first = log->n;
    *newest = log->n;
    for (size_t i = 0; i < log->n; i++) {
        if (entry_at(log, i).kind != HOCKET__LOG_CHECKPOINT)
            continue;
        first = first < i ? first : i;
        *newest = i;
    }
    return first;
}

static inline struct hocket__kept *keep(hocket_host *h, uint64_t id, struct kept_log *log)
{
    struct hocket_error err;
    struct hocket__log_sink sink = { log_append, log };
    struct hocket__kept *k = hocket__kept_new(h->rt, &sink, seed);
    size_t newest = 0, first = newest_checkpoint(log, &newest);
    if (log->whole)
        hocket__log_keep_all(hocket__kept_log(k));
    for (size_t i = 0; i < log->n; i++) {
        struct hocket__log_entry e = entry_at(log, i);
        if (log->pruned && i > first && i < newest)
            continue;
        if (hocket__log_feed(hocket__kept_log(k), &e, &err) < 0)
            fail_msg("%s", err.message);
    }
    for (size_t i = 0; i < log->n_files; i++) {
        struct kept_file *f = &log->files[i];
        assert_int_equal(
            hocket__kept_feed_file(k, hocket__cstr(f->name), hocket__str(f->text, f->n_text)), 0);
    }
    for (size_t i = 0; log->memory && i < log->memory->n; i++) {
        struct hocket__log_entry e = entry_at(log->memory, i);
        assert_int_equal(hocket__kept_remember(k, &e), 0);
    }
    assert_int_equal(hocket__run_keep(h, id, k), 0);
    struct hocket__run *run = hocket__run_find(h, id);
    run->reported_before = log->owed;
    log->run = run;
    hocket__kept_hooks(k)->hold = log->hold;
    hocket__kept_hooks(k)->file = log_file;
    hocket__kept_hooks(k)->file_ud = log;
    return k;
}

static inline void life_init(struct life *l, const struct workflow *w)
{
    *l = (struct life){ .w = w };
    hocket__buf_init(&l->events, &hocket__malloc, 0);
    hocket__buf_init(&l->text, &hocket__malloc, 0);
    hocket__buf_init(&l->outcome, &hocket__malloc, 0);
}

static inline void turn(hocket_host *h, struct life *l)
{
    hocket_wait(h, 10);
    l->parked += hocket__kept_waits_for_person(l->kept);
    if (l->w->turn)
        l->w->turn(h, l);
}

static inline void until_done(hocket_host *h, struct life *l)
{
    for (int i = 0; i < 3000 && !l->done; i++)
        turn(h, l);
    if (!l->done)
        fail_msg("%s: no end; events:\n%s", l->w->name, l->events.data);
}

/* So that whoever may rest does, as on a machine that has much else to do. */
static inline void until_done_in_pieces(hocket_host *h, struct life *l, int64_t us)
{
    while (!l->done)
        if (hocket_pump(h, us) < 0)
            fail_msg("%s: it cannot be pumped", l->w->name);
}

/* Runs it in a host of its own, from its log as far as that goes, which is longer by what is new then; the host is closed
 * when it has ended, or after so many turns (below 0: never). */
static inline void live_for(
    const struct workflow *w, struct kept_log *log, struct life *l, int turns)
{
    struct hocket_error err;
    uint64_t id;
    hocket_host *h = open_host();
    life_init(l, w);
    if (w->prepare)
        w->prepare(h);
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = w->target, .input = w->input, .options = w->options
    };
    if (hocket_run_start(h, &spec, &id, on_event, on_done, l, &err) < 0)
        fail_msg("%s", err.message);
    l->kept = keep(h, id, log);
    if (log->turn_us)
        until_done_in_pieces(h, l, log->turn_us);
    else if (turns < 0)
        until_done(h, l);
    for (int i = 0; i < turns && !l->done; i++)
        turn(h, l);
    hocket__kept_unref(l->kept);
    hocket_close(h, NULL, NULL);
}

static inline void live(const struct workflow *w, struct kept_log *log, struct life *l)
{
    live_for(w, log, l, -1);
}

/* ---- What has to be the same ------------------------------------------------------------------------ */

/* Without what may differ: the run's id; and where it went on live (n fields), times and how long things took. */
static inline char *plain(const char *json, int n_fields)
{
    static const char *const names[] = { "\"run\":\"", "\"time\":\"",
        "\"seconds\":", "\"first_seconds\":", "\"input\":", "\"output\":", NULL };
    char *out = strdup(json);
    for (int i = 0; i < n_fields && names[i]; i++)
        for (char *at = out; (at = strstr(at, names[i]));) {
            at += strlen(names[i]);
            size_t n = strcspn(at, names[i][strlen(names[i]) - 1] == '"' ? "\"" : ",}");
            memmove(at, at + n, strlen(at + n) + 1);
        }
    return out;
}

/* How much agents that work beside each other read of each other is a matter of who was first. */
enum { ID_ONLY = 1, TIMES = 4, TOKENS = 6 };

static inline void same(
    const char *what, const char *name, size_t cut, const char *a, const char *b, int without)
{
    char *x = plain(a, without), *y = plain(b, without);
    size_t i = 0;
    while (x[i] && x[i] == y[i])
        i++;
    if (x[i] != y[i]) {
        size_t from = i > 300 ? i - 300 : 0;
        fail_msg("%s, %zu entries: %s differs:\n…%.600s\nis\n…%.600s", name, cut, what, x + from,
            y + from);
    }
    free(x);
    free(y);
}

static inline int compare_words(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

/* The words of a text, sorted, one a line. */
static inline char *sorted_words(const char *text)
{
    enum { MOST = 20000 };
    static char *words[MOST];
    char *copy = strdup(text), *out = calloc(1, strlen(text) + MOST + 1), *at = out;
    size_t n = 0;
    for (char *line = copy;
         (line = strstr(line, "\\n"));) /* a line's end within JSON parts words, too */
        memcpy(line, "  ", 2);
    for (char *w = strtok(copy, " ,\n\":{}[]"); w && n < MOST; w = strtok(NULL, " ,\n\":{}[]"))
        words[n++] = w;
    qsort(words, n, sizeof(*words), compare_words);
    for (size_t i = 0; i < n; i++)
        at += sprintf(at, "%s\n", words[i]);
    free(copy);
    return out;
}

/* What goes on live beside each other comes in any order, as it does in two runs that are kept by nobody: the same words have
 * to be there. */
static inline void same_words(
    const char *what, const char *name, size_t cut, const char *a, const char *b, int without)
{
    char *x = plain(a, without), *y = plain(b, without);
    char *v = sorted_words(x), *w = sorted_words(y);
    same(what, name, cut, v, w, 0);
    free(v);
    free(w);
    free(x);
    free(y);
}
