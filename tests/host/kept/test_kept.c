/* Runs that are kept: each workflow is run once with its log in memory. Then, in fresh hosts,
 *
 *   - the whole log is replayed: every event comes again byte for byte, and nobody is asked;
 *   - the log is cut behind each entry, replayed, and the run goes on live: it has the same answer, the same tasks and
 *     document, the same usage, and what it did to the world it did once.
 *
 * HOCKET_KEPT_ALL=1 cuts behind every entry; otherwise behind some six of each workflow. */

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
#include "support/temp.h"

#define CUTS 6

/* ---- A log in memory ------------------------------------------------------------------------ */

struct kept_log {
    struct hocket__buf bytes;
    size_t *ends; /* of each entry */
    size_t n, cap;
    size_t full_at; /* entries; 0: never */
};

static void log_init(struct kept_log *l)
{
    *l = (struct kept_log){ 0 };
    hocket__buf_init(&l->bytes, &hocket__malloc, 0);
}

static void log_free(struct kept_log *l)
{
    hocket__buf_deinit(&l->bytes);
    free(l->ends);
}

static int log_append(void *ud, const struct hocket__log_entry *e, struct hocket_error *err)
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
    }
    hocket__log_encode(e, &l->bytes);
    l->ends[l->n++] = l->bytes.len;
    return 0;
}

static struct hocket__log_entry entry_at(const struct kept_log *l, size_t i)
{
    struct hocket__log_entry e;
    size_t from = i > 0 ? l->ends[i - 1] : 0;
    struct hocket__str s = hocket__str(l->bytes.data + from, l->bytes.len - from);
    assert_true(hocket__log_decode(s, &e) > 0);
    return e;
}

static void log_copy(const struct kept_log *from, size_t n, struct kept_log *to)
{
    log_init(to);
    for (size_t i = 0; i < n; i++) {
        struct hocket__log_entry e = entry_at(from, i);
        assert_int_equal(log_append(to, &e, NULL), 0);
    }
}

/* ---- A life of a run --------------------------------------------------------------------------- */

struct workflow {
    const char *name, *target, *input, *options;
    const char *answers
        [8];    /* to its questions and inputs, in their order; "": no more, NULL: none is given */
    bool loose; /* what it has used depends on where it was cut */
    /* Makes the world as a life that was killed behind n entries may have left it; looks at what the next one left. */
    void (*before)(const struct kept_log *log, size_t n);
    void (*after)(const char *name, size_t n);
};

struct life {
    const struct workflow *w;
    struct hocket__buf events, text, outcome;
    int done, status;
    char error[512];
    uint64_t run;
    const char *stop_at; /* an event's type, once */
    int stop_how;        /* 0: cancelled, 1: stopped */
};

static void answer(hocket_host *h, struct life *l, const char *json, size_t n)
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

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
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
}

static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
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

static void life_free(struct life *l)
{
    hocket__buf_deinit(&l->events);
    hocket__buf_deinit(&l->text);
    hocket__buf_deinit(&l->outcome);
}

static const char *variables(const char *name, void *ud)
{
    (void) ud;
    return strcmp(name, "HOCKET_MODEL") == 0   ? "sim/default"
           : strcmp(name, "HOCKET_TRUST") == 0 ? "1"
                                               : NULL;
}

static hocket_host *open_host(void)
{
    struct hocket_error err;
    hocket_host *h = NULL;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.getenv_cb = variables;
    if (hocket_open(&o, &h, &err) < 0 || hocket_serve_attach(h, &err) < 0)
        fail_msg("%s", err.message);
    return h;
}

static const unsigned char seed[HOCKET__SEED] = "sixteen bytes!!";

static struct hocket__kept *keep(hocket_host *h, uint64_t id, struct kept_log *log)
{
    struct hocket_error err;
    struct hocket__log_sink sink = { log_append, log };
    struct hocket__kept *k = hocket__kept_new(h->rt, &sink, seed);
    for (size_t i = 0; i < log->n; i++) {
        struct hocket__log_entry e = entry_at(log, i);
        if (hocket__log_feed(hocket__kept_log(k), &e, &err) < 0)
            fail_msg("%s", err.message);
    }
    assert_int_equal(hocket__run_keep(h, id, k), 0);
    return k;
}

static void life_init(struct life *l, const struct workflow *w)
{
    *l = (struct life){ .w = w };
    hocket__buf_init(&l->events, &hocket__malloc, 0);
    hocket__buf_init(&l->text, &hocket__malloc, 0);
    hocket__buf_init(&l->outcome, &hocket__malloc, 0);
}

static void until_done(hocket_host *h, const struct life *l)
{
    for (int i = 0; i < 3000 && !l->done; i++)
        hocket_wait(h, 10);
    if (!l->done)
        fail_msg("%s: no end; events:\n%s", l->w->name, l->events.data);
}

/* Runs it in a host of its own, from its log as far as that goes, which is longer by what is new then; the host is closed
 * when it has ended, or after so many turns (below 0: never). */
static void live_for(const struct workflow *w, struct kept_log *log, struct life *l, int turns)
{
    struct hocket_error err;
    uint64_t id;
    hocket_host *h = open_host();
    life_init(l, w);
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = w->target, .input = w->input, .options = w->options
    };
    if (hocket_run_start(h, &spec, &id, on_event, on_done, l, &err) < 0)
        fail_msg("%s", err.message);
    struct hocket__kept *k = keep(h, id, log);
    if (turns < 0)
        until_done(h, l);
    for (int i = 0; i < turns && !l->done; i++)
        hocket_wait(h, 10);
    hocket__kept_unref(k);
    hocket_close(h, NULL, NULL);
}

static void live(const struct workflow *w, struct kept_log *log, struct life *l)
{
    live_for(w, log, l, -1);
}

/* ---- What has to be the same ------------------------------------------------------------------------ */

/* Without what may differ: the run's id; and where it went on live (n fields), times and how long things took. */
static char *plain(const char *json, int n_fields)
{
    static const char *const names[] = { "\"run\":\"", "\"time\":\"",
        "\"seconds\":", "\"first_seconds\":", NULL };
    char *out = strdup(json);
    for (int i = 0; i < n_fields && names[i]; i++)
        for (char *at = out; (at = strstr(at, names[i]));) {
            at += strlen(names[i]);
            size_t n = strcspn(at, names[i][strlen(names[i]) - 1] == '"' ? "\"" : ",}");
            memmove(at, at + n, strlen(at + n) + 1);
        }
    return out;
}

enum { ID_ONLY = 1, TIMES = 4 };

static void same(
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

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

/* The words of a text, sorted, one a line. */
static char *sorted_words(const char *text)
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
static void same_words(
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

/* ---- What was done to the world ------------------------------------------------------------------ */

static char letters[TEST_TEMP_PATH];

static bool digest_has(const struct hocket__log_entry *e, const char *line)
{
    return e->digest.n > 0 && memmem(e->digest.p, e->digest.n, line, strlen(line));
}

/* The file as the first life may have left it when it was killed behind n entries: whatever it had begun was
 * done, as far as nobody can know. Lines that may stand there twice are left out. */
static void letters_of(const struct kept_log *log, size_t n)
{
    FILE *f = fopen(letters, "w");
    assert_non_null(f);
    int posts = 0;
    for (size_t i = 0; i < n; i++) {
        struct hocket__log_entry e = entry_at(log, i);
        if (e.kind != HOCKET__LOG_BEGIN)
            continue;
        if (digest_has(&e, "tool=post"))
            fprintf(f, "post %s\n", posts++ == 0 ? "a" : "d");
        if (digest_has(&e, "step=seal"))
            fprintf(f, "post seal\n");
    }
    fclose(f);
}

static int count_line(const char *line)
{
    char text[256];
    int n = 0;
    FILE *f = fopen(letters, "r");
    assert_non_null(f);
    while (fgets(text, sizeof(text), f)) {
        text[strcspn(text, "\n")] = 0;
        n += strcmp(text, line) == 0;
    }
    fclose(f);
    return n;
}

static void check_letters(const char *name, size_t n)
{
    static const char *const once[] = { "post a", "post d", "post seal", NULL };
    for (int i = 0; once[i]; i++)
        if (count_line(once[i]) != 1)
            fail_msg(
                "%s, %zu entries: '%s' was done %d times", name, n, once[i], count_line(once[i]));
}

/* ---- Files ------------------------------------------------------------------------------------- */

static char folder[TEST_TEMP_PATH], book[TEST_TEMP_PATH + 16], folder_options[TEST_TEMP_PATH + 64];

static void book_of(const struct kept_log *log, size_t n)
{
    const char *text = NULL;
    for (size_t i = 0; i < n; i++) {
        struct hocket__log_entry e = entry_at(log, i);
        if (e.kind == HOCKET__LOG_BEGIN && digest_has(&e, "tool=write_file"))
            text = "one\ntwo\n";
        if (e.kind == HOCKET__LOG_BEGIN && digest_has(&e, "tool=edit_file"))
            text = "one\nthree\n";
    }
    unlink(book);
    FILE *f = text ? fopen(book, "w") : NULL;
    if (f) {
        fputs(text, f);
        fclose(f);
    }
}

static void check_book(const char *name, size_t n)
{
    char text[64] = "";
    FILE *f = fopen(book, "r");
    if (f) {
        text[fread(text, 1, sizeof(text) - 1, f)] = 0;
        fclose(f);
    }
    if (strcmp(text, "one\nthree\n") != 0)
        fail_msg("%s, %zu entries: the book is '%s'", name, n, text);
}

static void make_folder(void)
{
    assert_true(test_temp_dir(folder));
    snprintf(book, sizeof(book), "%s/book.txt", folder);
    snprintf(folder_options, sizeof(folder_options), "{\"workdir\":\"%s\",\"approve\":[\"allow\"]}",
        folder);
}

static void check_cut(
    const struct workflow *w, const struct kept_log *whole, size_t n, const struct life *first)
{
    struct kept_log log;
    struct life l;
    log_copy(whole, n, &log);
    if (w->before)
        w->before(whole, n);
    live(w, &log, &l);
    if (l.status != first->status)
        fail_msg("%s, %zu entries: %s", w->name, n, l.error);
    if (w->after)
        w->after(w->name, n);
    same_words("the answer", w->name, n, first->text.data, l.text.data, 0);
    if (!w->loose)
        same_words("the result", w->name, n, first->outcome.data, l.outcome.data, TIMES);
    life_free(&l);
    log_free(&log);
}

static void check_replay(
    const struct workflow *w, const struct kept_log *whole, const struct life *first)
{
    struct kept_log log;
    struct life l;
    log_copy(whole, whole->n, &log);
    live(w, &log, &l);
    if (l.status != first->status)
        fail_msg("%s, whole: %s", w->name, l.error);
    assert_int_equal(log.n, whole->n); /* nothing came from outside, and nothing was done */
    same("the answer", w->name, whole->n, first->text.data, l.text.data, 0);
    same("the events", w->name, whole->n, first->events.data, l.events.data, ID_ONLY);
    life_free(&l);
    log_free(&log);
}

static void check(const struct workflow *w)
{
    struct kept_log log;
    struct life first;
    log_init(&log);
    live(w, &log, &first);
    if (first.status != 0)
        fail_msg("%s: %s\n%s", w->name, first.error, first.events.data);
    if (w->after)
        w->after(w->name, log.n);
    printf("%s: %zu entries, %zu bytes\n", w->name, log.n, log.bytes.len);
    check_replay(w, &log, &first);
    if (w->after)
        w->after(w->name, log.n);
    size_t step = getenv("HOCKET_KEPT_ALL") || log.n < CUTS ? 1 : log.n / CUTS;
    for (size_t n = 0; n < log.n; n += step)
        check_cut(w, &log, n, &first);
    life_free(&first);
    log_free(&log);
}

static const struct workflow workflows[] = {
    { .name = "router", EXAMPLES "/router/agents", "I was charged twice", "{}" },
    { .name = "advisors", EXAMPLES "/advisors/agents", "Move the customer list", "{}" },
    { .name = "handoff",
        EXAMPLES "/handoff/agents",
        "announce: the library opens on Sundays",
        "{}" },
    { .name = "team", EXAMPLES "/team/agents", "Should users stay logged in?", "{}" },
    { .name = "delegation", EXAMPLES "/delegation/agents", "Why do cities plant trees?", "{}" },
    { .name = "background", EXAMPLES "/background/agents", "Why trees?", "{}" },
    { .name = "plan", EXAMPLES "/plan/plan.lua", "A garden party", "{}" },
    { .name = "facilitator", EXAMPLES "/travel/agents", "Three days in Lisbon", "{}" },
    { .name = "tools",
        HERE "/scripts/tools.lua",
        letters,
        "{}",
        .before = letters_of,
        .after = check_letters,
        .loose = true /* where a tool does not know, the model reads more */ },
    { .name = "ask",
        HERE "/scripts/ask.lua",
        NULL,
        "{\"interactive\":true}",
        .answers = { "Lisbon", "hills", "sea", NULL, "4" } },
    { .name = "flows",
        HERE "/scripts/flows.lua",
        HERE "/scripts/flows.lua",
        "{\"deltas\":true}",
        .loose = true /* what lost a race was under way, or not */ },
    { .name = "nested", HERE "/team/main.lua", NULL, "{}" },
    { .name = "chat",
        EXAMPLES "/chat/agents",
        NULL,
        "{\"conversation\":true}",
        .answers = { "A table for four, please", "Thank you", "" } },
    { .name = "files",
        HERE "/scripts/files.lua",
        NULL,
        folder_options,
        .before = book_of,
        .after = check_book,
        .loose = true },
    { .name = NULL },
};

static void test_workflows(void **state)
{
    const char *only = getenv("HOCKET_KEPT_ONLY");
    (void) state;
    assert_true(test_temp_file(letters, ".txt", ""));
    make_folder();
    for (const struct workflow *w = workflows; w->name; w++)
        if (!only || strcmp(only, w->name) == 0)
            check(w);
    unlink(letters);
    unlink(book);
    rmdir(folder);
}

/* ---- What goes wrong ------------------------------------------------------------------------------- */

static const struct workflow small = { .name = "small", HERE "/scripts/small.lua", "one", "{}" };

/* A run that asks something else than it did is no run at all: it says what, and calls nobody. */
static void test_diverged(void **state)
{
    struct kept_log log, again;
    struct life first, l;
    struct workflow other = small;
    (void) state;
    log_init(&log);
    live(&small, &log, &first);
    assert_int_equal(first.status, 0);
    log_copy(&log, log.n, &again);
    other.input = "two";
    live(&other, &again, &l);
    assert_int_equal(l.status, HOCKET_EREPLAY);
    if (!strstr(l.error, "begin of 'model' (1 of its fiber)") || !strstr(l.error, "messages was "))
        fail_msg("%s", l.error);
    assert_int_equal(again.n, log.n);
    life_free(&l);
    log_free(&again);

    log_copy(&log, log.n, &again);
    other.input = "none";
    live(&other, &again, &l);
    assert_int_equal(l.status, HOCKET_EREPLAY);
    assert_int_equal(again.n, log.n);
    life_free(&l);
    life_free(&first);
    log_free(&again);
    log_free(&log);
}

/* Where the log cannot be written the run ends, and can be continued from what there is. */
static void test_sink_fails(void **state)
{
    struct kept_log log, whole;
    struct life first, l;
    (void) state;
    log_init(&whole);
    live(&small, &whole, &first);
    for (size_t n = 1; n < whole.n; n++) {
        log_init(&log);
        log.full_at = n;
        live(&small, &log, &l);
        assert_int_equal(l.status, HOCKET_EIO);
        assert_string_equal(l.error, "the disk is full");
        assert_int_equal(log.n, n);
        life_free(&l);
        log.full_at = 0;
        live(&small, &log, &l);
        assert_int_equal(l.status, 0);
        same("the answer", "small", n, first.text.data, l.text.data, 0);
        life_free(&l);
        log_free(&log);
    }
    life_free(&first);
    log_free(&whole);
}

/* A host that is closed in the middle has not cancelled its runs: they go on in the next one. */
static void test_host_closed(void **state)
{
    struct kept_log log, whole;
    struct life first, l;
    (void) state;
    log_init(&whole);
    live(&small, &whole, &first);
    for (int turns = 0; turns < 12; turns++) {
        log_init(&log);
        live_for(&small, &log, &l, turns);
        life_free(&l);
        live(&small, &log, &l);
        if (l.status < 0)
            fail_msg("%d turns: %s", turns, l.error);
        same("the answer", "small", log.n, first.text.data, l.text.data, 0);
        life_free(&l);
        log_free(&log);
    }
    life_free(&first);
    log_free(&whole);
}

static void cancel_at(const char *type, int how, struct kept_log *log, struct life *l)
{
    struct hocket_error err;
    uint64_t id;
    hocket_host *h = open_host();
    life_init(l, &small);
    l->stop_at = type;
    l->stop_how = how;
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = small.target, .input = "one" };
    assert_int_equal(hocket_run_start(h, &spec, &id, on_event, on_done, l, &err), 0);
    struct hocket__kept *k = keep(h, id, log);
    until_done(h, l);
    hocket__kept_unref(k);
    hocket_close(h, NULL, NULL);
}

/* What an embedder does to a run is in its log: a cancel, and a wish to stop. */
static void test_stopped(void **state)
{
    (void) state;
    for (int how = 0; how < 2; how++) {
        struct kept_log log, again;
        struct life first, l;
        log_init(&log);
        cancel_at("model_request", how, &log, &first);
        assert_int_equal(first.status, how == 0 ? HOCKET_ECANCELLED : 0);
        log_copy(&log, log.n, &again);
        live(&small, &again, &l);
        assert_int_equal(l.status, first.status);
        assert_int_equal(again.n, log.n);
        same("the events", "stopped", log.n, first.events.data, l.events.data, ID_ONLY);
        life_free(&first);
        life_free(&l);
        log_free(&log);
        log_free(&again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_workflows),
        cmocka_unit_test(test_diverged), cmocka_unit_test(test_sink_fails),
        cmocka_unit_test(test_host_closed), cmocka_unit_test(test_stopped) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
