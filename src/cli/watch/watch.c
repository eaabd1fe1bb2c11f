/* `hocket watch`: a run of the store, followed from outside.
 *
 *     the operation "follow" ──records behind the last one──▶ lines, live view     (stderr)
 *              ▲                                              what scripts print, the answer (stdout)
 *              └── again, until the run has ended
 *
 * It looks and never touches: nothing is claimed, written or answered here, and whoever has the run does not notice. */
#include <hocket/hocket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/markdown/markdown.h"
#include "cli/out.h"
#include "cli/paper.h"
#include "cli/progress.h"
#include "cli/screen.h"
#include "cli/signals.h"
#include "cli/store.h"
#include "cli/story/story.h"
#include "cli/text.h"
#include "cli/view/view.h"

/* Questions of a watched run to people. An open question is printed with the command that answers it; an answered
 * question is a line. A fold over the run's records. */

struct cli_asked {
    struct cli_asked_one {
        char id[24];
        bool told;
        struct cli_buf who, text; /* shown */
    } * list;                     /* what is open */
    size_t count, cap;
};

/* Questions, approvals, inputs and signals by their ids. What a store says of them may be a stranger's: texts are shown, and
 * of a list that grows without end the first are known. */

/* Open at once; columns of a question in one line. */
#define MAX_OPEN 1024
#define BRIEF    200

static void add_shown(struct cli_buf *out, const hocket_json *value)
{
    struct cli_buf shown = { 0 };
    size_t n;
    const char *text = hocket_json_text(value, "", &n);
    cli_text_show(&shown, text, n, false);
    cli_text_cut(out, cli_buf_text(&shown), shown.n, BRIEF);
    cli_buf_free(&shown);
}

static void add_member(struct cli_buf *out, const hocket_json *event, const char *name)
{
    add_shown(out, hocket_json_get(event, name));
}

/* "q1: Which city?", "a2: may it call write_file {…}" */
static void describe(struct cli_buf *out, const hocket_json *event)
{
    const hocket_json *questions = hocket_json_get(event, "questions");
    add_member(out, event, "id");
    cli_buf_adds(out, ":");
    for (const hocket_json *q = hocket_json_first(questions); q; q = hocket_json_next(q)) {
        cli_buf_adds(out, " ");
        add_shown(out, q);
    }
    if (!*cli_member(event, "tool"))
        return;
    cli_buf_adds(out, " may it call ");
    add_member(out, event, "tool");
    cli_buf_adds(out, " ");
    add_member(out, event, "arguments");
}

static struct cli_asked_one *find(const struct cli_asked *a, const char *id)
{
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->list[i].id, id) == 0)
            return &a->list[i];
    return NULL;
}

static void add(struct cli_asked *a, const hocket_json *event)
{
    const char *id = cli_member(event, "id");
    size_t n = strlen(id);
    if (n == 0 || n >= sizeof(a->list->id) || a->count == MAX_OPEN || find(a, id))
        return;
    if (a->count == a->cap) {
        a->cap = a->cap ? 2 * a->cap : 8;
        a->list = realloc(a->list, a->cap * sizeof(*a->list));
        if (!a->list)
            cli_nomem();
    }
    struct cli_asked_one *one = &a->list[a->count++];
    *one = (struct cli_asked_one){ 0 };
    memcpy(one->id, id, n);
    add_member(&one->who, event, "agent");
    describe(&one->text, event);
}

static void drop(struct cli_asked *a, struct cli_asked_one *one)
{
    size_t i = (size_t) (one - a->list);
    cli_buf_free(&one->who);
    cli_buf_free(&one->text);
    memmove(one, one + 1, (--a->count - i) * sizeof(*one));
}

/* "q1 was answered: Lisbon", "a2 was answered: deny (not today)", "q3 is asked no more" */
static void describe_end(struct cli_buf *out, const char *type, const hocket_json *event)
{
    bool approval = strcmp(type, "approval_answered") == 0;
    add_member(out, event, "id");
    if (strcmp(type, "question_withdrawn") == 0) {
        cli_buf_adds(out, " is asked no more");
        return;
    }
    cli_buf_adds(out, " was answered: ");
    add_member(out, event, approval ? "decision" : "text");
    if (!approval || !*cli_member(event, "reason"))
        return;
    cli_buf_adds(out, " (");
    add_member(out, event, "reason");
    cli_buf_adds(out, ")");
}

static void answered(struct cli_asked *a, struct cli_screen *screen, const char *type,
    const hocket_json *event, bool again)
{
    struct cli_asked_one *one = find(a, cli_member(event, "id"));
    struct cli_buf line = { 0 };
    if (!one)
        return;
    if (!again) {
        const char *who = one->who.n > 0 ? one->who.p : NULL;
        if (!one->told)
            cli_screen_line(screen, CLI_ASK, who, cli_buf_text(&one->text));
        describe_end(&line, type, event);
        cli_screen_line(screen, CLI_PLAIN, who, cli_buf_text(&line));
        cli_buf_free(&line);
    }
    drop(a, one);
}

/* The conversation's own code prints inputs, and a signal is nobody's words. */
static void taken(struct cli_asked *a, const hocket_json *event)
{
    struct cli_asked_one *one = find(a, cli_member(event, "id"));
    if (one)
        drop(a, one);
}

/* Takes a record. One that was printed before (`again`) makes no line. */
static void asked_take(struct cli_asked *a, struct cli_screen *screen, const char *type,
    const hocket_json *event, bool again)
{
    static const char *const opening[] = { "question_asked", "approval_requested",
        "input_requested", "signal_requested", NULL };
    static const char *const answering[] = { "question_answered", "approval_answered",
        "question_withdrawn", NULL };
    static const char *const taking[] = { "input_received", "signal_received", NULL };
    if (cli_is_one_of(type, opening))
        add(a, event);
    else if (cli_is_one_of(type, answering))
        answered(a, screen, type, event, again);
    else if (cli_is_one_of(type, taking))
        taken(a, event);
}

/* Whether something is open that was not told. */
static bool asked_untold(const struct cli_asked *a)
{
    for (size_t i = 0; i < a->count; i++)
        if (!a->list[i].told)
            return true;
    return false;
}

/* Tells it; `open`: what the operation "answer" says of it. `id`: the run's, as commands are to have it. */
static void asked_tell(
    struct cli_asked *a, struct cli_screen *screen, const hocket_json *open, const char *id)
{
    struct cli_paper p;
    cli_paper_start_on(&p, screen);
    for (const hocket_json *q = hocket_json_first(open); q; q = hocket_json_next(q)) {
        struct cli_asked_one *one = find(a, cli_member(q, "id"));
        if (one && !one->told)
            cli_story_open_one(&p, q, id);
    }
    cli_paper_end(&p);
    for (size_t i = 0; i < a->count; i++)
        a->list[i].told = true; /* what is not in the list was answered meanwhile */
}

/* All open questions are printed again: another process has the run now. */
static void asked_forget(struct cli_asked *a)
{
    for (size_t i = 0; i < a->count; i++)
        a->list[i].told = false;
}

static void asked_free(struct cli_asked *a)
{
    while (a->count > 0)
        drop(a, &a->list[a->count - 1]);
    free(a->list);
}

/* Seconds of one question to the store: it comes back earlier where there is something. */
#define PATIENCE 30

struct watch {
    const char *id, *store;
    int64_t from;
    bool json, no_wait, quiet, verbose, no_color;

    hocket_host *host;
    struct cli_screen screen;
    struct cli_feed feed;
    struct cli_asked asked;
    struct cli_result result;
    char name[32], state[16], error[32]; /* the whole id; how it stood last; the code of its end */
    struct cli_buf command;              /* its id, as commands about it are to have it */
    struct cli_buf answer, message;
    int64_t after, broken;
    double last; /* when its last record was made, on cli_now's clock */
    bool over, at_work, left;
};

static const struct cli_option options[] = {
    { CLI_COUNT('n', "from", "N", struct watch, from, 1, INT64_MAX, 0,
          "report from record N on; earlier records only count"),
        .expected = "the number of a record, from 1" },
    { CLI_FLAG('j', "json", struct watch, json, "only its events, on stdout as lines of JSON") },
    { CLI_FLAG(0, "no-wait", struct watch, no_wait,
        "end if nobody continues the run: parked (exit code 75) or interrupted (1)") },
    { CLI_FLAG('q', "quiet", struct watch, quiet, "only questions, errors and the answer") },
    { CLI_FLAG('v', "verbose", struct watch, verbose, "also tool calls and model calls") },
    { CLI_FLAG(0, "no-color", struct watch, no_color,
        "no colours; NO_COLOR in the environment does the same") },
    { CLI_TEXT(0, "store", "FILE", struct watch, store, CLI_STORE_HELP) },
    { 0 },
};

/* ---- Asking the store ---------------------------------------------------------------------- */

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    (void) host;
    (void) run;
    cli_result_set(ud, result);
}

/* False: it failed, or somebody wants to leave. */
static bool call(struct watch *w, const char *operation, const char *args)
{
    struct hocket_error err;
    uint64_t id = 0;
    cli_result_free(&w->result);
    w->result = (struct cli_result){ 0 };
    if (hocket_call_start(w->host, operation, args, &id, NULL, on_done, &w->result, &err) < 0)
        cli_result_fail(&w->result, &err);
    while (!w->result.done) {
        if (cli_signal_taken() && !w->left) {
            w->left = true;
            hocket_run_cancel(w->host, id);
        }
        hocket_wait(w->host, w->at_work ? cli_feed_wait_ms(&w->feed, false) : -1);
        if (w->at_work)
            cli_feed_turn(&w->feed);
    }
    w->left = w->left || cli_signal_taken() || cli_out_failure();
    return w->result.status >= 0 && !w->left;
}

static bool ask(struct watch *w)
{
    struct cli_buf args = { 0 };
    const char *id = *w->name ? w->name : w->id;
    cli_buf_adds(&args, "{");
    cli_buf_member(&args, "id", id);
    cli_buf_addf(&args, ",\"after\":%lld,\"wait\":%d,\"state\":\"%s\"}", (long long) w->after,
        PATIENCE, w->state);
    bool ok = call(w, "follow", args.p);
    cli_buf_free(&args);
    return ok;
}

/* ---- Records --------------------------------------------------------------------------------- */

static double now_wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

/* Seconds since 1970 of "2026-11-23T04:00:00.123Z"; now for what is no such text. */
static double time_of(const hocket_json *event)
{
    struct tm tm = { 0 };
    double seconds;
    const char *text = cli_member(event, "time");
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%lf", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
            &tm.tm_min, &seconds)
            != 6
        || !(seconds >= 0 && seconds < 61))
        return now_wall();
    tm.tm_year -= 1900;
    tm.tm_mon--;
    time_t t = timegm(&tm);
    return t == (time_t) -1 ? now_wall() : (double) t + seconds;
}

/* What is no line of the feed: it goes to stdout, or says how the run ended. */
static void say_text(struct watch *w, const hocket_json *event, const char *name, bool answer)
{
    size_t n;
    const char *text = hocket_json_text(hocket_json_get(event, name), "", &n);
    cli_screen_erase(&w->screen);
    if (answer)
        cli_answer(&w->screen, text, n);
    else
        cli_out_line(text, n);
}

/* How a turn of a conversation ended. */
static void say_turn(struct watch *w, const hocket_json *event)
{
    const hocket_json *error = hocket_json_get(event, "error");
    struct cli_buf line = { 0 };
    if (cli_is(event, "ok")) {
        say_text(w, event, "content", true);
        return;
    }
    cli_buf_addf(&line, "error: %s", cli_member(error, "message"));
    cli_screen_say(&w->screen, CLI_BAD, line.p);
    cli_buf_free(&line);
}

static void say_input(struct watch *w, const hocket_json *event)
{
    struct cli_buf shown = { 0 };
    size_t n;
    const char *text = hocket_json_text(hocket_json_get(event, "text"), "", &n);
    cli_text_show(&shown, text, n, false);
    cli_screen_line(&w->screen, CLI_ASK, "you", cli_buf_text(&shown));
    cli_buf_free(&shown);
}

static void note_end(struct watch *w, const char *type, const hocket_json *event)
{
    size_t n;
    if (strcmp(type, "final_answer") == 0) {
        const char *text = hocket_json_text(hocket_json_get(event, "content"), "", &n);
        cli_buf_reset(&w->answer);
        cli_buf_add(&w->answer, text, n);
    } else if (strcmp(type, "error") == 0) {
        const char *code = hocket_json_text(hocket_json_get(event, "code"), "failed", NULL);
        snprintf(w->error, sizeof(w->error), "%s", code);
        cli_buf_reset(&w->message);
        cli_buf_adds(&w->message, cli_member(event, "message"));
    }
}

static void report(struct watch *w, const char *type, const hocket_json *event, bool again)
{
    if (strcmp(type, "output") == 0 && !again)
        say_text(w, event, "text", false);
    else if (strcmp(type, "turn_finished") == 0 && !again)
        say_turn(w, event);
    else if (strcmp(type, "input_received") == 0 && !again && !w->quiet)
        say_input(w, event);
    asked_take(&w->asked, &w->screen, type, event, again || w->quiet);
}

/* A record may be anything. */
static void take(struct watch *w, const hocket_json *record)
{
    size_t n, len;
    const char *text = hocket_json_text(hocket_json_get(record, "json"), "", &n);
    hocket_json *event = hocket_json_parse(text, n, NULL);
    const char *type = hocket_json_text(hocket_json_get(event, "type"), "", &len);
    w->after = hocket_json_int(hocket_json_get(record, "seq"), w->after + 1);
    bool again = w->after < w->from;
    w->broken += len == 0;
    if (len > 0 && w->json && !again)
        cli_out_json(text, n);
    if (len > 0)
        note_end(w, type, event);
    if (len > 0 && !w->json) {
        double wall = time_of(event);
        struct hocket_event e = {
            .seq = (uint64_t) w->after, .type = type, .json = text, .json_len = n, .again = again
        };
        w->last = cli_now() - (now_wall() - wall);
        w->feed.began = w->after == 1 ? w->last : w->feed.began;
        w->screen.at = (time_t) wall;
        report(w, type, event, again);
        cli_feed_event_at(&w->feed, &e, w->last);
        w->screen.at = 0;
    }
    hocket_json_free(event);
}

/* ---- How it stands ----------------------------------------------------------------------------- */

static bool is(const char *state, const char *word)
{
    return strcmp(state, word) == 0;
}

/* "01M83JBCX4…  running  travel.lua  Three days in Lisbon" */
static void say_head(struct watch *w, const hocket_json *run)
{
    struct cli_paper p;
    size_t n;
    cli_paper_start_on(&p, &w->screen);
    cli_paper_add(&p, CLI_PLAIN, w->name);
    cli_paper_add(&p, CLI_PLAIN, "  ");
    cli_story_state(&p, cli_member(run, "state"));
    for (const char *const *name = (const char *const[]){ "target", "input", NULL }; *name;
         name++) {
        const char *text = hocket_json_text(hocket_json_get(run, *name), "", &n);
        cli_paper_add(&p, CLI_PLAIN, "  ");
        cli_paper_shown(&p, CLI_PLAIN, text, n, cli_paper_left(&p));
    }
    cli_paper_line(&p);
    cli_paper_end(&p);
}

static void begin(struct watch *w, const hocket_json *run)
{
    snprintf(w->name, sizeof(w->name), "%s", cli_member(run, "id"));
    cli_buf_adds(&w->command, w->name);
    cli_store_hint(&w->command, w->store);
    if (!w->json && !w->quiet)
        say_head(w, run);
}

/* Nobody has it now, or somebody has it again. */
static void say_change(struct watch *w, const char *before, const hocket_json *run)
{
    struct cli_buf line = { 0 };
    const hocket_json *owner = hocket_json_get(run, "owner");
    const char *id = cli_buf_text(&w->command);
    if (owner && is(w->state, "parked"))
        cli_buf_addf(&line, "process %lld on %s has the run, and asks there too",
            cli_int(owner, "pid"), cli_member(owner, "host"));
    else if (is(w->state, "parked") || is(w->state, "forked"))
        cli_buf_addf(&line, "no process has the run now; next: hocket resume %s", id);
    else if (is(w->state, "cut_off"))
        cli_buf_addf(
            &line, "the run was cut off: its process has ended; next: hocket resume %s", id);
    else if (is(w->state, "queued"))
        cli_buf_adds(&line, "the run waits for a worker");
    else if (owner
             && (is(before, "parked") || is(before, "cut_off") || is(before, "forked")
                 || is(before, "queued")))
        cli_buf_addf(&line, "the run goes on: process %lld on %s", cli_int(owner, "pid"),
            cli_member(owner, "host"));
    if (line.n > 0)
        cli_screen_say(&w->screen, CLI_WARN, line.p);
    cli_buf_free(&line);
}

/* What is open is asked for once it is clear that no later record answers it. */
static bool tell_open(struct watch *w)
{
    struct cli_buf args = { 0 };
    if (!asked_untold(&w->asked))
        return true;
    cli_buf_adds(&args, "{");
    cli_buf_member(&args, "id", w->name);
    cli_buf_adds(&args, "}");
    bool ok = call(w, "answer", args.p);
    cli_buf_free(&args);
    if (!ok)
        return !w->left && w->result.status == HOCKET_ESTATE; /* it has ended meanwhile */
    hocket_json *open = hocket_json_parse(w->result.json.p, w->result.json.n, NULL);
    asked_tell(&w->asked, &w->screen, hocket_json_get(open, "waiting_for"), w->command.p);
    hocket_json_free(open);
    return true;
}

/* Everything was printed. */
static bool stand(struct watch *w, const hocket_json *run)
{
    char before[sizeof(w->state)];
    const char *state = cli_member(run, "state");
    memcpy(before, w->state, sizeof(before));
    bool changed = !is(before, state),
         rests = is(state, "parked") || is(state, "cut_off") || is(state, "forked");
    snprintf(w->state, sizeof(w->state), "%s", state);
    w->at_work = !rests && !w->over && !w->json && !w->quiet;
    if (w->json || w->over)
        return !w->over && !(w->no_wait && rests);
    if (changed && rests)
        asked_forget(&w->asked);
    if (!tell_open(w))
        return false;
    if (!w->at_work)
        cli_screen_erase(&w->screen);
    if (changed)
        say_change(w, before, run);
    return !(w->no_wait && rests);
}

/* Takes what was answered; false: there is nothing more to ask. */
static bool go_on(struct watch *w)
{
    hocket_json *told = hocket_json_parse(w->result.json.p, w->result.json.n, NULL);
    const hocket_json *run = hocket_json_get(told, "run"), *list = hocket_json_get(told, "records");
    if (!*w->name)
        begin(w, run);
    for (const hocket_json *r = hocket_json_first(list); r; r = hocket_json_next(r))
        take(w, r);
    w->over = cli_is(told, "over");
    bool more = cli_is(told, "more");
    bool stays = more || stand(w, run);
    if (w->over)
        snprintf(w->state, sizeof(w->state), "%s", cli_member(run, "state"));
    hocket_json_free(told);
    return stays;
}

/* ---- The end --------------------------------------------------------------------------------------- */

/* The status whose word a record has; of a word of another version, that it failed. */
static int status_of(const char *word)
{
    static const int all[] = {
#define STATUS(name, value, word, text) value,
        HOCKET_STATUS_MAP(STATUS)
#undef STATUS
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strcmp(hocket_status_word(all[i]), word) == 0)
            return all[i];
    return HOCKET_ELUA;
}

static int exit_of(const struct watch *w)
{
    if (cli_signal_taken())
        return cli_exit_of_signal(cli_signal_taken());
    if (w->result.status < 0)
        return cli_exit_of(w->result.status);
    if (is(w->state, "done"))
        return CLI_EXIT_DONE;
    if (is(w->state, "parked"))
        return CLI_EXIT_PARKED;
    if (is(w->state, "cancelled"))
        return CLI_EXIT_INTERRUPTED;
    return is(w->state, "failed") && *w->error ? cli_exit_of(status_of(w->error)) : CLI_EXIT_FAILED;
}

static void say_end(struct watch *w)
{
    struct cli_buf line = { 0 };
    bool spaced = w->screen.terminal && !w->quiet && cli_out_is_terminal();
    if (w->answer.n > 0 && w->from <= w->after) {
        cli_out_text("\n", spaced);
        cli_answer(&w->screen, w->answer.p, w->answer.n);
        cli_out_text("\n", spaced);
    }
    if (!is(w->state, "done")) {
        cli_buf_addf(&line, is(w->state, "cancelled") ? "the run was cancelled" : "error: %s",
            w->message.n > 0 ? w->message.p : "the run failed");
        cli_screen_say(&w->screen, CLI_BAD, line.p);
    }
    cli_feed_counted(&w->feed, w->last - w->feed.began);
    cli_buf_free(&line);
}

/* Messages may hold words of a stranger: shown, never obeyed. */
static void say_failure(struct watch *w)
{
    struct cli_buf line = { 0 };
    cli_buf_addf(&line, "hocket watch: %s", cli_buf_text(&w->result.message));
    cli_screen_say(&w->screen, CLI_BAD, line.p);
    cli_buf_free(&line);
}

static int finish(struct watch *w)
{
    cli_screen_end(&w->screen);
    if (w->over && !w->json)
        say_end(w);
    else if (w->result.status < 0 && !w->left)
        say_failure(w);
    if (w->broken > 0 && !w->quiet)
        fprintf(stderr, "hocket watch: %lld records cannot be read\n", (long long) w->broken);
    int code = exit_of(w), out = cli_out_end();
    cli_signals_end();
    cli_host_close(w->host);
    return code ? code : out;
}

static int watch(struct watch *w)
{
    struct hocket_options store = { 0 };
    int rc = CLI_EXIT_FAILED;
    if (!cli_store_look(&store, "watch", w->store))
        return rc;
    w->host = cli_host_open_store(&w->screen, &store, &rc);
    if (!w->host)
        return rc;
    cli_signals_start(w->host);
    cli_screen_start(&w->screen, !w->quiet && !w->json, !w->no_color);
    cli_feed_start(&w->feed, &w->screen, w->quiet || w->json, w->verbose);
    while (ask(w) && go_on(w))
        ;
    rc = finish(w);
    cli_feed_end(&w->feed);
    asked_free(&w->asked);
    cli_result_free(&w->result);
    cli_buf_free(&w->answer);
    cli_buf_free(&w->message);
    cli_buf_free(&w->command);
    return rc;
}

static int main_watch(const struct cli_command *self, int argc, char **argv)
{
    struct watch w = { 0 };
    struct cli_args args = { .ud = &w };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count != 1)
        return cli_usage("watch", "expected the id of one run: hocket runs lists them");
    w.id = args.words[0];
    return watch(&w);
}

const struct cli_command cli_watch = {
    .name = "watch",
    .usage = "ID",
    .summary = "follow a stored run until it ends",
    .about =
        "Shows a run of any process of the same user, as 'hocket run' shows its own: first its "
        "past,\n"
        "then its work. For a question it shows the command that answers it. If no process "
        "executes\n"
        "the run, it waits until somebody continues it. Ctrl-C does not affect the run. The exit\n"
        "code is the run's.",
    .examples = "  hocket watch 01KANC3V0Q\n"
                "  hocket watch 01KANC3V0Q --json | jq -c 'select(.type == \"tool_call\")'\n"
                "  hocket watch 01KANC3V0Q --no-wait -q\n",
    .options = options,
    .exit_codes = true,
    .main = main_watch,
};
