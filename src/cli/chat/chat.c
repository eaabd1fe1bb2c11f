/* `hocket chat`: one run with a conversation, from its beginning to the end of the
 * input. The run asks for each line by an event (input_id). Questions to the person and
 * stops of a turn come before that. There is one thread: waiting for the person also pumps
 * the host (go_on_reading).
 *
 * Ctrl-C during a turn stops the turn; a second one leaves. At the prompt it clears
 * the line; twice on an empty line leaves. */
#include "cli/chat/chat_impl.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/chat/chat.h"
#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/out.h"
#include "cli/signals.h"
#include "cli/store.h"
#include "cli/text.h"

/* ---- Events -------------------------------------------------------------- */

static void on_event(hocket_host *host, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct cli_chat *c = ud;
    (void) host;
    if (c->sink)
        cli_sink_add(c->sink, e->json, e->json_len, strcmp(e->type, "workflow_finished") == 0);
    cli_asker_event(&c->asker, run, e);
    cli_parked_event(&c->parked, e);
    cli_chat_event(c, e);
}

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    (void) host;
    (void) run;
    cli_result_set(&((struct cli_chat *) ud)->result, result);
}

/* ---- Signals ------------------------------------------------------------- */

static bool turn_goes_on(const struct cli_chat *c)
{
    return !c->input_id[0];
}

/* Between turns: the person may have meant to stop a turn that has just ended, so leaving
 * takes two. */
static bool takes_back(struct cli_chat *c)
{
    bool typed = c->begun || cli_reader_typed(&c->reader) > 0;
    if (!c->terminal || (c->prompting && !typed && c->warned))
        return false;
    c->warned = c->prompting && !typed;
    c->cleared = true;
    return true;
}

static void note_name(struct cli_chat *c)
{
    const char *name = hocket_run_name(c->host, c->run);
    snprintf(c->name, sizeof(c->name), "%s", name ? name : "");
}

/* In the middle of a turn: its work so far is stored, and it can continue later. */
static void cut_off(struct cli_chat *c)
{
    note_name(c);
    c->leaving = CLI_CHAT_CUTS;
    if (hocket_run_park(c->host, c->run) < 0)
        hocket_run_cancel(c->host, c->run);
}

/* The first Ctrl-C stops a turn; while it is being stopped a further one leaves. */
static void interrupt(struct cli_chat *c)
{
    struct hocket_error err;
    if (!c->left && turn_goes_on(c) && !c->interrupted
        && hocket_run_interrupt(c->host, c->run, &err) == 0) {
        c->interrupted = true;
        return;
    }
    if (!c->left && !turn_goes_on(c) && takes_back(c))
        return;
    if (c->left || turn_goes_on(c))
        cut_off(c);
    else
        cli_chat_leave(c);
}

static void check_signals(struct cli_chat *c)
{
    if (cli_signal_interrupted())
        interrupt(c);
    if (cli_signal_taken() && !c->leaving)
        cut_off(c);
}

/* ---- Reading ------------------------------------------------------------- */

/* While somebody types: a question, or the next input. */
static bool go_on_reading(void *ud)
{
    struct cli_chat *c = ud;
    if (c->result.done)
        return false;
    check_signals(c);
    if (c->leaving || c->cleared)
        return false;
    if (c->prompting) /* a question from the background goes before a line that is not begun */
        return c->begun || cli_asker_open(&c->asker) == 0 || cli_reader_typed(&c->reader) != 0;
    cli_feed_turn(&c->feed);
    return !c->interrupted && cli_asker_wanted(&c->asker);
}

void cli_chat_answer(struct cli_chat *c, const char *text, size_t n)
{
    char id[sizeof(c->input_id)];
    struct hocket_error err;
    memcpy(id, c->input_id, sizeof(id));
    c->input_id[0] = 0;
    c->feed.began = c->screen.drawn_at = cli_now();
    hocket_run_answer(c->host, c->run, id, text, n, &err);
}

/* A line, and its continuation lines. */
static enum cli_read read_input(struct cli_chat *c, struct cli_buf *out)
{
    enum cli_read got = cli_reader_line(&c->reader, "you> ", out);
    while (got == CLI_READ_LINE && out->n > 0 && out->p[out->n - 1] == '\\') {
        out->p[out->n - 1] = '\n';
        c->begun = true;
        got = cli_reader_line(&c->reader, "...> ", out);
    }
    c->begun = false;
    return got == CLI_READ_END && out->n > 0 ? CLI_READ_LINE : got;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\n")] == 0;
}

static void take_line(struct cli_chat *c, const struct cli_buf *line)
{
    const char *text = cli_buf_text(line);
    if (is_blank(text))
        return;
    if (text[0] == '/' && text[1] != '/')
        cli_chat_command(c, text);
    else
        cli_chat_answer(c, text[0] == '/' ? text + 1 : text, line->n - (text[0] == '/'));
}

/* A pipe's lines have ended: the run still takes messages of others (hocket answer), and its questions
 * wait for their answers. False: it is not durable, or a person may type again. */
static bool is_left(void *ud)
{
    struct cli_chat *c = ud;
    if (c->terminal || c->leaving)
        return false;
    note_name(c);
    c->left = hocket_run_leave(c->host, c->run) == 0;
    return c->left;
}

static bool is_empty(const struct cli_chat *c)
{
    return !c->args.resume && !c->args.has_input && c->said.n == 0 && c->turns == 0;
}

/* A kept conversation can continue another time; else, and where nothing was said, an empty answer ends it. */
static void leave(struct cli_chat *c)
{
    if (is_left(c))
        return;
    note_name(c);
    cli_chat_leave(c);
    if (is_empty(c) || hocket_run_park(c->host, c->run) < 0)
        cli_chat_answer(c, "", 0);
    c->input_id[0] = 0;
}

static void prompt(struct cli_chat *c)
{
    struct cli_buf line = { 0 };
    enum cli_read got = CLI_READ_STOPPED;
    cli_chat_left_off(c);
    if (!c->leaving) {
        cli_screen_hold(&c->screen);
        c->prompting = true;
        got = read_input(c, &line);
        c->prompting = false;
        cli_screen_release(&c->screen);
    }
    if (c->cleared && c->warned)
        cli_screen_say(&c->screen, CLI_DIM, "Ctrl-C once more, or Ctrl-D, leaves.");
    if (got == CLI_READ_LINE)
        c->warned = false;
    if (got == CLI_READ_LINE && !is_blank(cli_buf_text(&line)))
        cli_reader_remember(&c->reader, line.p);
    if (got == CLI_READ_LINE)
        take_line(c, &line);
    if (got == CLI_READ_END || c->leaving)
        leave(c);
    cli_buf_free(&line);
}

static void work(struct cli_chat *c)
{
    while (!c->result.done) {
        check_signals(c);
        c->cleared = false;
        bool asked = cli_asker_open(&c->asker) > 0;
        if (cli_asker_due(&c->asker) && !c->left && !c->leaving && !c->interrupted) {
            cli_feed_flush(&c->feed);
            cli_asker_ask(&c->asker);
        } else if (c->late)
            cli_chat_late(c);
        else if (c->input_id[0] && !c->left)
            prompt(c);
        else
            hocket_wait(c->host, cli_feed_wait_ms(&c->feed, asked));
        cli_feed_turn(&c->feed);
    }
}

/* ---- Beginning and end ----------------------------------------------------- */

static void go_on(struct cli_chat *c)
{
    struct cli_buf options = { 0 };
    struct hocket_error err;
    cli_run_args_resume_json(&c->args, &options);
    if (hocket_run_resume(c->host, c->args.resume, options.p, &c->run, on_event, on_done, c, &err)
        < 0)
        cli_result_fail(&c->result, &err);
    cli_buf_free(&options);
}

static void start(struct cli_chat *c)
{
    struct cli_buf options = { 0 };
    struct hocket_error err;
    if (c->args.resume) {
        go_on(c);
        return;
    }
    c->args.traced = true;
    cli_run_args_json(&c->args, &options);
    struct hocket_run_spec spec = {
        .size = sizeof(spec),
        .target = c->args.target,
        .input = c->args.has_input ? cli_buf_text(&c->args.input) : NULL,
        .input_len = c->args.input.n,
        .options = options.p,
    };
    if (hocket_run_start(c->host, &spec, &c->run, on_event, on_done, c, &err) < 0)
        cli_result_fail(&c->result, &err);
    cli_buf_free(&options);
}

static int open_sink(struct cli_chat *c)
{
    int error;
    if (!c->args.events)
        return CLI_GO_ON;
    c->events_on_stdout = strcmp(c->args.events, "-") == 0;
    if (c->events_on_stdout)
        cli_out_claim();
    c->sink = cli_sink_open(c->args.events, &error);
    if (c->sink)
        return CLI_GO_ON;
    return cli_usage(
        "chat", "cannot write events to '%s': %s", c->args.events, cli_sink_error(error));
}

/* Prints how to continue it. Returns its status: it waits for an answer in the middle of a turn, or was left. */
static int say_kept(struct cli_chat *c)
{
    struct cli_buf line = { 0 };
    if (c->left && c->leaving != CLI_CHAT_CUTS && turn_goes_on(c) && c->parked.count > 0) {
        cli_parked_say(&c->parked, &c->screen, c->args.store, NULL);
        return cli_store_outlives(c->args.store) ? HOCKET_EPARKED : HOCKET_EUNSUPPORTED;
    }
    if (!cli_store_outlives(c->args.store))
        return c->leaving == CLI_CHAT_CUTS ? HOCKET_ECANCELLED : 0;
    cli_buf_addf(&line, "the conversation is stored; next: hocket chat --resume %s", c->name);
    cli_store_hint(&line, c->args.store);
    if (!(c->args.flags & CLI_QUIET))
        cli_screen_say(&c->screen, CLI_DIM, line.p);
    cli_buf_free(&line);
    return c->leaving == CLI_CHAT_CUTS ? HOCKET_ECANCELLED : 0;
}

/* Nobody looks for a conversation in which nothing was said. */
static void forget(const struct cli_chat *c)
{
    struct hocket_options store = { 0 };
    struct cli_buf ids = { 0 };
    struct cli_result result = { 0 };
    cli_store_options(&store, c->args.store, NULL);
    cli_buf_addf(&ids, "{\"ids\":[\"%s\"]}", c->name);
    if (cli_host_call_store("remove", ids.p, &store, &result) < 0)
        cli_result_complain(&result, "chat");
    cli_result_free(&result);
    cli_buf_free(&ids);
}

/* A conversation that could not begin has an error; one that was left has none. In a pipe the last
 * turn decides: nobody has seen it fail. */
static int finish(struct cli_chat *c)
{
    struct cli_buf line = { 0 };
    int status = c->result.status;
    cli_feed_flush(&c->feed);
    cli_screen_end(&c->screen);
    if (status == HOCKET_EPARKED) {
        status = say_kept(c);
    } else if (status < 0 && status != HOCKET_ECANCELLED) {
        cli_buf_addf(&line, "error: %s", cli_buf_text(&c->result.message));
        cli_screen_say(&c->screen, CLI_BAD, line.p);
    }
    cli_buf_free(&line);
    cli_sink_close(c->sink, c->leaving, &c->screen);
    cli_signals_end();
    cli_host_close(c->host);
    if (c->result.status == 0 && c->name[0] && is_empty(c) && cli_store_outlives(c->args.store))
        forget(c);
    if (status == HOCKET_ECANCELLED)
        return cli_exit_of_signal(cli_signal_taken() ? cli_signal_taken() : SIGINT);
    int code = cli_exit_of(status < 0 || c->terminal ? status : c->status);
    return code == 0 ? cli_out_end() : code;
}

static int chat(struct cli_chat *c)
{
    struct hocket_options store = { 0 };
    cli_store_for_runs(&store, c->args.store, c->args.durability);
    store.store_optional &= !c->args.resume;
    int rc = open_sink(c);
    if (rc == CLI_GO_ON && c->args.workdir && chdir(c->args.workdir) != 0)
        rc = cli_usage("chat", "cannot work in '%s': %s", c->args.workdir, strerror(errno));
    if (cli_run_args_missing(&c->args))
        store.store = NULL;
    c->host = rc == CLI_GO_ON ? cli_host_open_store(&c->screen, &store, &rc) : NULL;
    if (!c->host) {
        cli_sink_close(c->sink, c->leaving, &c->screen);
        return rc;
    }
    rc = cli_host_offer(c->host, "chat", c->args.offer);
    if (rc != CLI_EXIT_DONE) {
        cli_host_close(c->host);
        cli_sink_close(c->sink, c->leaving, &c->screen);
        return rc;
    }
    c->args.on_terminal = c->terminal = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
    c->cost_known = true;
    cli_signals_start(c->host);
    cli_host_telemetry(c->host, &c->screen);
    cli_signals_soft();
    cli_screen_start(
        &c->screen, c->terminal && !(c->args.flags & CLI_QUIET), !(c->args.flags & CLI_NO_COLOR));
    cli_feed_start(
        &c->feed, &c->screen, (c->args.flags & CLI_QUIET), (c->args.flags & CLI_VERBOSE));
    cli_reader_start(&c->reader, c->host, c->terminal, go_on_reading, c);
    c->reader.history = c->args.history;
    cli_asker_start(&c->asker, c->host, &c->screen, &c->reader);
    c->asker.grace = c->args.resume ? CLI_ASK_GRACE : 0;
    c->asker.left = is_left;
    c->asker.ud = c;
    start(c);
    work(c);
    rc = finish(c);
    cli_asker_end(&c->asker);
    int error = cli_reader_end(&c->reader);
    if (error)
        fprintf(stderr, "hocket chat: cannot write '%s': %s\n", c->args.history, strerror(error));
    cli_feed_end(&c->feed);
    return rc;
}

int cli_chat_go(const struct cli_run_args *args)
{
    static struct cli_chat c;
    c = (struct cli_chat){ .args = *args };
    c.args.interactive = c.args.conversation = true;
    int rc = chat(&c);
    hocket_json_free(c.started);
    hocket_json_free(c.late);
    cli_buf_free(&c.stream.markdown.tail);
    cli_voice_free(&c.voice);
    cli_buf_free(&c.transcript);
    cli_buf_free(&c.said);
    cli_buf_free(&c.answered);
    cli_parked_free(&c.parked);
    cli_result_free(&c.result);
    return rc;
}

static int main_chat(const struct cli_command *self, int argc, char **argv)
{
    struct cli_run_args args = { .command = "chat", .consent = true };
    struct cli_buf id = { 0 };
    static char choose[] = "--resume=?";
    for (int i = 0; i < argc; i++) /* without one a list is shown */
        if (strcmp(argv[i], "--resume") == 0 && (i + 1 == argc || argv[i + 1][0] == '-'))
            argv[i] = choose;
    int rc = cli_run_args_read(self, argc, argv, &args);
    if (rc == CLI_GO_ON && args.resume)
        rc = cli_kept_choose(&args, &id);
    if (rc == CLI_GO_ON)
        rc = cli_chat_go(&args);
    cli_run_args_free(&args);
    cli_buf_free(&id);
    return rc;
}

static void more_help(struct cli_buf *out)
{
    cli_buf_adds(out, "\nin a conversation:\n");
    cli_chat_help_text(out);
}

const struct cli_command cli_chat = {
    .name = "chat",
    .usage = "[TARGET [INPUT…]]",
    .summary = "talk with an agent or a team",
    .about =
        "Talks with TARGET: you type a line, its answer appears as it is written, and the\n"
        "conversation continues. Questions and approvals appear in between.\n"
        "\n"
        "TARGET  an agent.md, a folder with agents, 'planner', or a script.lua: one that returns\n"
        "        an answer is run with each message; one that returns a function (or a table with\n"
        "        a function 'chat') is run once, and the function gets each message.\n"
        "        The default is 'assistant', which works in this folder with its files, its\n"
        "        programs, its AGENTS.md and its skills\n"
        "INPUT   the first message\n"
        "\n"
        "In a pipe each line of stdin is the next message, or answers the open question. Answers\n"
        "go to stdout, everything else to stderr. At the end of stdin, an open question waits for\n"
        "hocket answer.",
    .examples =
        "  hocket chat\n"
        "  hocket chat agents/guide.md\n"
        "  hocket chat team --model anthropic/claude-sonnet-5\n"
        "  printf 'Hello\\nAnd now in French\\n' | hocket chat agents/guide.md > answers.txt\n",
    .shared = cli_run_options,
    .bit = CLI_FOR_CHAT,
    .exit_codes = true,
    .main = main_chat,
    .more_help = more_help,
};
