/* `hocket attach`: a prompt in a running host.
 *
 *     a line ──▶ hocket_run_answer(…, "line", …) ──▶ the event attach_answer, shown when it comes
 *                                                 ◀── attach_event, attach_note: above the line that is typed
 *
 * The operation "attach" is the client; this reads lines and shows what comes. From a pipe the next line is read when
 * the last one was answered. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/ask/ask.h"
#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/screen.h"
#include "cli/signals.h"
#include "cli/text.h"

/* What is answered at once stands before the next prompt, what takes longer is shown when it comes. */
#define PATIENCE_MS   300
#define COMPLETION_MS 1000
#define MAX_COMMANDS  64

struct attach {
    char *to;
    const char *commands[MAX_COMMANDS];
    size_t n_commands;
    bool json;
    const char *history;
    hocket_host *host;
    struct cli_reader reader;
    struct cli_result result;
    struct cli_buf prompt;
    hocket_json *completion; /* the last one that came */
    uint64_t run;
    long asked, answered;
    bool terminal, attached, prompting, leaving, refused;
};

static int read_command(void *args, const char *command, const char *name, const char *value)
{
    struct attach *a = args;
    (void) name;
    if (a->n_commands == MAX_COMMANDS)
        return cli_usage(command, "more than %d commands", MAX_COMMANDS);
    a->commands[a->n_commands++] = value;
    return 0;
}

static const struct cli_option options[] = {
    { CLI_OWN('c', "command", "COMMAND", read_command,
        "run a command instead of a prompt; repeatable; the first failure ends it (exit code\n"
        "1)") },
    { CLI_FLAG('j', "json", struct attach, json, "answers and events as JSON, one line each") },
    { CLI_TEXT(0, "history", "FILE", struct attach, history,
        "store your lines in FILE, for the arrow keys of later sessions; without it they are\n"
        "not stored") },
    { 0 },
};

/* ---- Showing --------------------------------------------------------------- */

/* Text of another process: shown, never obeyed, also in a pipe, which may end at a terminal. */
static void print(const struct attach *a, const hocket_json *event, const char *member)
{
    struct cli_buf shown = { 0 };
    size_t n;
    const char *text = hocket_json_text(hocket_json_get(event, member), "", &n);
    if (a->json)
        cli_text_json(&shown, text, n);
    else
        cli_text_show(&shown, text, n, true);
    if (shown.n > 0)
        cli_out_line(shown.p, shown.n);
    cli_buf_free(&shown);
}

/* Above the line that is being typed, which is drawn anew. */
static void show(struct attach *a, const hocket_json *event)
{
    const char *member = a->json ? "json" : "text";
    if (a->prompting)
        fputs("\r\033[K", stderr);
    print(a, event, member);
    if (a->prompting)
        cli_reader_redraw(&a->reader);
}

static void show_error(struct attach *a, const hocket_json *event)
{
    struct cli_buf line = { 0 };
    size_t n;
    const char *text = hocket_json_text(hocket_json_get(event, "text"), "", &n);
    cli_text_show(&line, text, n, true);
    fprintf(stderr, "%serror: %s\n", a->prompting ? "\r\033[K" : "", cli_buf_text(&line));
    cli_buf_free(&line);
    if (a->prompting)
        cli_reader_redraw(&a->reader);
}

static void answered(struct attach *a, const hocket_json *event)
{
    bool ok = cli_is(event, "ok");
    a->answered++;
    a->refused = a->refused || !ok;
    if (ok || a->json)
        show(a, event);
    else
        show_error(a, event);
}

static void greet(struct attach *a, const hocket_json *event)
{
    a->attached = true;
    cli_text_show(&a->prompt, cli_member(event, "name"), strlen(cli_member(event, "name")), false);
    if (a->terminal && a->n_commands == 0)
        fprintf(stderr, "attached to %s (process %lld)%s; 'help' lists the commands\n",
            cli_buf_text(&a->prompt), cli_int(event, "pid"),
            strcmp(cli_member(event, "rights"), "look") == 0 ? ", to look and no more" : "");
    cli_buf_adds(&a->prompt, "> ");
}

/* A completion is kept until the next one, as its words are read after this has returned. */
static void on_event(hocket_host *host, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct attach *a = ud;
    (void) host;
    (void) run;
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    if (strcmp(e->type, "attach_answer") == 0)
        answered(a, event);
    else if (strcmp(e->type, "attach_event") == 0 || strcmp(e->type, "attach_note") == 0)
        show(a, event);
    else if (strcmp(e->type, "attached") == 0)
        greet(a, event);
    if (strcmp(e->type, "attach_completion") == 0) {
        hocket_json_free(a->completion);
        a->completion = event;
        return;
    }
    hocket_json_free(event);
}

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    (void) host;
    (void) run;
    cli_result_set(&((struct attach *) ud)->result, result);
}

/* ---- Lines ------------------------------------------------------------------- */

static bool go_on(void *ud)
{
    struct attach *a = ud;
    if (cli_signal_interrupted() || cli_signal_taken())
        a->leaving = true;
    return !a->leaving && !a->result.done;
}

static void answer_run(struct attach *a, const char *what, const char *text, size_t n)
{
    struct hocket_error err;
    hocket_run_answer(a->host, a->run, what, text, n, &err);
}

/* Until as many answers have come as commands were given, or the time is over (< 0: no limit).
 * In a pipe there is no limit: the next command may build on this one. */
static void wait_answers(struct attach *a, double ms)
{
    double until = cli_now() + ms / 1000;
    while (go_on(a) && a->answered < a->asked && (ms < 0 || cli_now() < until))
        hocket_wait(a->host, ms < 0 ? -1 : 1 + (int) ((until - cli_now()) * 1000));
}

/* How the other side would complete the line. An empty text stands for the end, and so begins with a space. */
static void complete(void *ud, const char *line, size_t n, struct cli_buf *words, size_t *from)
{
    struct attach *a = ud;
    double until = cli_now() + COMPLETION_MS / 1000.0;
    hocket_json_free(a->completion);
    a->completion = NULL;
    answer_run(a, "complete", n > 0 ? line : " ", n > 0 ? n : 1);
    while (go_on(a) && !a->completion && cli_now() < until)
        hocket_wait(a->host, 50);
    const hocket_json *list = hocket_json_get(a->completion, "words");
    int64_t stay = cli_int(a->completion, "from");
    *from = stay >= 0 && (size_t) stay < n ? (size_t) stay : n;
    for (const hocket_json *one = hocket_json_first(list); one; one = hocket_json_next(one)) {
        size_t len;
        const char *word = hocket_json_text(one, "", &len);
        cli_text_show(words, word, len, false);
        cli_buf_adds(words, "\n");
    }
}

static bool is_quit(const char *line)
{
    return strcmp(line, "quit") == 0 || strcmp(line, "exit") == 0;
}

static void take_line(struct attach *a, const struct cli_buf *line)
{
    const char *text = cli_buf_text(line);
    if (text[strspn(text, " \t")] == 0)
        return;
    if (is_quit(text)) {
        a->leaving = true;
        return;
    }
    cli_reader_remember(&a->reader, text);
    a->asked++;
    answer_run(a, "line", text, line->n);
    wait_answers(a, a->terminal ? PATIENCE_MS : -1);
}

/* The last, empty line tells the other side that no more will come; it ends once all is answered. */
static void talk(struct attach *a)
{
    while (go_on(a) && !a->attached)
        hocket_wait(a->host, -1);
    while (go_on(a)) {
        struct cli_buf line = { 0 };
        a->prompting = a->terminal;
        enum cli_read got = cli_reader_line(&a->reader, cli_buf_text(&a->prompt), &line);
        a->prompting = false;
        if (got == CLI_READ_LINE)
            take_line(a, &line);
        if (got == CLI_READ_END)
            a->leaving = true;
        cli_buf_free(&line);
    }
    answer_run(a, "line", "", 0);
}

/* ---- Beginning and end -------------------------------------------------------- */

static void start(struct attach *a)
{
    struct cli_buf args = { 0 };
    struct hocket_error err;
    cli_buf_adds(&args, "{");
    cli_buf_member(&args, "to", a->to);
    cli_buf_addf(&args, ",\"talk\":%s,\"commands\":[", a->n_commands ? "false" : "true");
    for (size_t i = 0; i < a->n_commands; i++) {
        cli_buf_adds(&args, i ? "," : "");
        cli_buf_json(&args, a->commands[i], strlen(a->commands[i]));
    }
    cli_buf_adds(&args, "]}");
    if (hocket_call_start(a->host, "attach", args.p, &a->run, on_event, on_done, a, &err) < 0)
        cli_result_fail(&a->result, &err);
    cli_buf_free(&args);
}

/* A command that failed has said so; what ends the connection says so here. */
static int finish(struct attach *a)
{
    int status = a->result.status, signal = cli_signal_taken();
    bool said = a->refused && a->n_commands > 0;
    if (status < 0 && status != HOCKET_ECANCELLED && !said)
        cli_result_complain(&a->result, "attach");
    cli_signals_end();
    cli_host_close(a->host);
    if (signal)
        return cli_exit_of_signal(signal);
    int code = said                         ? CLI_EXIT_FAILED
               : status == HOCKET_EINVAL    ? CLI_EXIT_USAGE
               : status < 0                 ? CLI_EXIT_FAILED
               : a->refused && !a->terminal ? CLI_EXIT_FAILED
                                            : CLI_EXIT_DONE;
    int out = cli_out_end();
    return code ? code : out;
}

/* ^C at the prompt asks to leave (soft) and does not end the process: the client tells the other side and writes
 * the typed line to the history. */
static int attach(struct attach *a)
{
    int rc = CLI_EXIT_DONE;
    a->host = cli_host_open(NULL, &rc);
    if (!a->host)
        return rc;
    a->terminal = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
    cli_signals_start(a->host);
    if (a->n_commands == 0)
        cli_signals_soft();
    cli_reader_start(&a->reader, a->host, a->terminal, go_on, a);
    a->reader.history = a->history;
    a->reader.complete = complete;
    start(a);
    if (a->n_commands == 0)
        talk(a);
    if (cli_signal_taken())
        hocket_run_cancel(a->host, a->run);
    while (!a->result.done) {
        hocket_wait(a->host, -1);
        if (cli_signal_taken())
            hocket_run_cancel(a->host, a->run);
    }
    int code = finish(a);
    int error = cli_reader_end(&a->reader);
    if (error)
        fprintf(stderr, "hocket attach: cannot write '%s': %s\n", a->history, strerror(error));
    return code;
}

static int main_attach(const struct cli_command *self, int argc, char **argv)
{
    static struct attach a;
    struct cli_args args = { .ud = &a };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count > 1)
        return cli_usage("attach", "one name or process at a time");
    if (args.count == 0 && a.n_commands > 0)
        return cli_usage(
            "attach", "to whom is the command given? 'hocket attach' lists who is there");
    if (args.count == 0)
        return cli_host_answer("attach", "{}", a.json);
    a.to = args.words[0];
    rc = attach(&a);
    hocket_json_free(a.completion);
    cli_result_free(&a.result);
    cli_buf_free(&a.prompt);
    return rc;
}

const struct cli_command cli_attach = {
    .name = "attach",
    .usage = "[NAME|PID]",
    .summary = "look into a running host that offers itself, and control it",
    .about =
        "Opens a prompt into a running host: its agents, runs, boards, live events, Lua "
        "expressions\n"
        "in its state, reload, cancel, say AGENT TEXT; 'help' there lists all. Without NAME it\n"
        "lists the hosts that offer themselves: hocket run or chat --offer NAME, "
        "hocket.host:offer\n"
        "in Lua, hocket_offer in C. Only the same user may attach.\n"
        "\n"
        "In a pipe each line of stdin is a command; answers go to stdout, everything else to\n"
        "stderr.",
    .examples = "  hocket attach\n"
                "  hocket attach game\n"
                "  hocket attach 4711 -c runs -c 'board 2'\n"
                "  hocket attach game --json -c runs | jq '.[].target'\n",
    .options = options,
    .main = main_attach,
};
