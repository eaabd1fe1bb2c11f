/* The commands of `hocket chat` that begin with a slash: a table of name, arguments, help and
 * function, so that the help cannot leave one out. They act at once, while a turn may be going on,
 * and what they say goes to stderr: stdout is for answers. */

#include "cli/chat/chat_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/args/args.h"
#include "cli/text.h"

/* How long /reload waits for a script that is read anew. */
#define RELOAD_SECONDS 10
/* How long /compact waits for a summary. */
#define COMPACT_SECONDS 120

struct command {
    const char *name, *arguments, *help;
    void (*run)(struct cli_chat *c, const char *argument);
};

static void say(struct cli_chat *c, enum cli_tone tone, struct cli_buf *b)
{
    cli_screen_say(&c->screen, tone, cli_buf_text(b));
    cli_buf_free(b);
}

static void complain(struct cli_chat *c, const char *text)
{
    cli_screen_say(&c->screen, CLI_WARN, text);
}

/* ---- The commands --------------------------------------------------------- */

static void show_agents(struct cli_chat *c, const char *argument)
{
    struct cli_buf b = { 0 };
    const hocket_json *agents = hocket_json_get(c->started, "agents");
    size_t n = hocket_json_count(agents);
    (void) argument;
    for (size_t i = 0; i < n; i++) {
        const hocket_json *one = hocket_json_at(agents, i);
        const char *model = cli_member(one, "model"), *about = cli_member(one, "description");
        cli_buf_addf(&b, "%s%s", i ? "\n" : "", cli_member(one, "name"));
        if (*about)
            cli_buf_addf(&b, ": %s", about);
        if (*model)
            cli_buf_addf(&b, " (%s)", model);
    }
    if (n == 0)
        cli_buf_adds(&b, "A script leads this conversation; it has named no agents.");
    say(c, CLI_PLAIN, &b);
}

static void show_usage(struct cli_chat *c, const char *argument)
{
    struct cli_buf b = { 0 };
    (void) argument;
    cli_text_plural(&b, c->turns, "turn");
    cli_buf_adds(&b, ", ");
    cli_text_plural(&b, c->calls, "model call");
    cli_buf_adds(&b, ", ");
    cli_text_count(&b, c->input);
    cli_buf_adds(&b, " tokens in, ");
    cli_text_count(&b, c->output);
    cli_buf_adds(&b, " out, ");
    if (c->turns > 0 && c->cost_known)
        cli_buf_addf(&b, "%.4f USD, ", c->cost);
    cli_text_seconds(&b, c->seconds);
    say(c, CLI_PLAIN, &b);
}

static void show_help(struct cli_chat *c, const char *argument)
{
    struct cli_buf b = { 0 };
    (void) argument;
    cli_chat_help_text(&b);
    say(c, CLI_PLAIN, &b);
}

/* ---- What changes something ------------------------------------------------- */

static void change_model(struct cli_chat *c, const char *argument)
{
    struct cli_buf b = { 0 };
    struct hocket_error err;
    if (!*argument) {
        cli_buf_adds(&b, c->model[0]
                             ? c->model
                             : "no model has been asked yet; /model PROVIDER/MODEL chooses one");
        say(c, CLI_PLAIN, &b);
        return;
    }
    cli_buf_adds(&b, "{");
    cli_buf_member(&b, "model", argument);
    cli_buf_adds(&b, "}");
    int rc = hocket_run_change(c->host, c->run, b.p, &err);
    cli_buf_free(&b);
    if (rc < 0) {
        complain(c, rc == HOCKET_EPROVIDER
                        ? err.message
                        : "expected /model PROVIDER/MODEL, as in /model openai/gpt-6.1-terra");
        return;
    }
    cli_buf_addf(&b, "from now on all agents ask %s", argument);
    say(c, CLI_GOOD, &b);
}

/* Lets the host work for so many seconds at most, or until an event has said how it went. */
static void work(struct cli_chat *c, double seconds)
{
    double until = cli_now() + seconds;
    while (c->working && !c->result.done && cli_now() < until)
        hocket_wait(c->host, 100);
}

static void reload(struct cli_chat *c, const char *argument)
{
    struct hocket_error err;
    (void) argument;
    c->working = CLI_CHAT_RELOADS;
    if (hocket_run_change(c->host, c->run, "{\"reload\":true}", &err) < 0)
        complain(c, err.message);
    else
        work(c, RELOAD_SECONDS);
    if (c->working)
        complain(c, "it is still being read; it will be said when that is done");
    c->working = CLI_CHAT_IDLE;
}

static void change(struct cli_chat *c, const char *what)
{
    struct hocket_error err;
    if (hocket_run_change(c->host, c->run, what, &err) < 0)
        complain(c, err.message);
}

static void change_mode(struct cli_chat *c, const char *argument)
{
    struct hocket_error err;
    bool plan = strcmp(argument, "plan") == 0;
    if (!plan && strcmp(argument, "act") != 0)
        complain(c, "expected /mode plan, or /mode act");
    else if (hocket_run_change(
                 c->host, c->run, plan ? "{\"mode\":\"plan\"}" : "{\"mode\":\"act\"}", &err)
             < 0)
        complain(c, err.message);
    else
        cli_screen_say(&c->screen, CLI_GOOD,
            plan ? "plan mode: agents only read, until you agree to a plan" : "plan mode is off");
}

/* Lets the host work at it until an event has said how it went. */
static void compact(struct cli_chat *c, const char *argument)
{
    (void) argument;
    c->working = CLI_CHAT_CHANGES;
    change(c, "{\"compact\":true}");
    work(c, COMPACT_SECONDS);
    if (c->working)
        complain(c, "it is still at it; it will be said when that is done");
    c->working = CLI_CHAT_IDLE;
}

/* The path from the current folder; a terminal drops a file's name in quotes, or with backslashes. */
static void add_path(struct cli_buf *out, const char *typed)
{
    char here[PATH_MAX];
    size_t n = strlen(typed);
    bool quoted = n > 1 && (*typed == '\'' || *typed == '"') && typed[n - 1] == *typed;
    const char *end = typed + n - quoted;
    typed += quoted;
    bool address = strncmp(typed, "https://", 8) == 0; /* of a picture */
    if (!address && *typed != '/' && getcwd(here, sizeof(here)))
        cli_buf_addf(out, "%s/", here);
    for (; typed < end; typed++) {
        if (!quoted && *typed == '\\' && typed + 1 < end)
            typed++;
        cli_buf_add(out, typed, 1);
    }
}

/* Whether a line is the path of a file that somebody has dropped in. */
static bool is_file(const char *line)
{
    struct cli_buf path = { 0 };
    struct stat info;
    add_path(&path, line);
    bool yes = stat(cli_buf_text(&path), &info) == 0 && S_ISREG(info.st_mode);
    cli_buf_free(&path);
    return yes;
}

static void attach(struct cli_chat *c, const char *argument)
{
    struct cli_buf path = { 0 }, b = { 0 };
    if (!*argument) {
        complain(c, "/attach needs a file's name");
        return;
    }
    add_path(&path, argument);
    cli_buf_adds(&b, "{\"attach\":");
    cli_buf_json(&b, cli_buf_text(&path), path.n);
    cli_buf_adds(&b, "}");
    c->working = CLI_CHAT_CHANGES;
    change(c, cli_buf_text(&b));
    work(c, RELOAD_SECONDS);
    c->working = CLI_CHAT_IDLE;
    cli_buf_free(&path);
    cli_buf_free(&b);
}

static void clear(struct cli_chat *c, const char *argument)
{
    (void) argument;
    c->working = CLI_CHAT_CHANGES;
    change(c, "{\"clear\":true}");
    work(c, RELOAD_SECONDS);
    c->working = CLI_CHAT_IDLE;
}

static bool write_file(int fd, const struct cli_buf *b)
{
    for (size_t done = 0; done < b->n;) {
        ssize_t n = write(fd, b->p + done, b->n - done);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t) n : 0;
    }
    return true;
}

/* Overwrites no existing file. */
static void save(struct cli_chat *c, const char *argument)
{
    struct cli_buf b = { 0 };
    if (!*argument) {
        complain(c, "/save needs a file's name");
        return;
    }
    int fd = open(argument, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool ok = fd >= 0 && write_file(fd, &c->transcript);
    int error = errno;
    if (fd >= 0 && close(fd) != 0 && ok) {
        ok = false;
        error = errno;
    }
    if (ok)
        cli_buf_addf(&b, "saved: %s", argument);
    else
        cli_buf_addf(&b, "not saved: %s: %s", argument, strerror(error));
    say(c, ok ? CLI_GOOD : CLI_BAD, &b);
}

static void quit(struct cli_chat *c, const char *argument)
{
    (void) argument;
    cli_chat_leave(c);
}

/* ---- Finding one ------------------------------------------------------------ */

static const struct command commands[] = {
    { "help", "", "this list", show_help },
    { "agents", "", "who takes part", show_agents },
    { "model", "[PROVIDER/MODEL]", "the model that answered last; another one from now on",
        change_model },
    { "usage", "", "turns, model calls, tokens, cost and time so far", show_usage },
    { "save", "FILE", "the conversation as Markdown, into a new file", save },
    { "mode", "plan|act", "plan: agents only read, until you agree to their plan", change_mode },
    { "reload", "", "reads the agents or the script anew, for the next turn", reload },
    { "compact", "", "makes what was said so far shorter: old turns give way to a summary",
        compact },
    { "attach", "FILE", "a picture, a recording, a PDF or a text that goes with what is said next",
        attach },
    { "clear", "", "forgets what was said so far, and begins anew", clear },
    { "quit", "", "leaves; so does Ctrl-D", quit },
    { 0 },
};

void cli_chat_help_text(struct cli_buf *out)
{
    for (const struct command *k = commands; k->name; k++) {
        struct cli_buf left = { 0 };
        cli_buf_addf(&left, "/%s %s", k->name, k->arguments);
        cli_buf_addf(out, "%-26s%s\n", left.p, k->help);
        cli_buf_free(&left);
    }
    cli_buf_adds(out,
        "/NAME WORDS sends a prompt of the project: prompts, .claude/commands, .github/prompts.\n"
        "A line that ends in \\ goes on in the next one; // begins a line with a slash.\n"
        "Ctrl-C stops a turn, or takes back what is typed; twice it leaves.");
}

/* Sends the text of a prompt file (prompts, .claude/commands, .github/prompts) as if it had been typed. False: there is none of that name. */
static bool say_prompt(struct cli_chat *c, const char *name, size_t n, const char *line)
{
    struct cli_buf args = { 0 };
    struct cli_result result;
    cli_buf_adds(&args, "{");
    cli_buf_key(&args, "name");
    cli_buf_json(&args, name, n);
    cli_buf_member(&args, "line", line);
    cli_buf_member(&args, "target", c->args.target);
    cli_buf_adds(&args, "}");
    int rc = cli_host_call("prompt", args.p, &result);
    hocket_json *told = hocket_json_parse(cli_buf_text(&result.json), result.json.n, NULL);
    if (*cli_member(told, "warning"))
        cli_screen_say(&c->screen, CLI_WARN, cli_member(told, "warning"));
    hocket_json_free(told);
    if (rc == 0)
        cli_chat_answer(c, cli_buf_text(&result.text), result.text.n);
    else if (rc != HOCKET_ENOTFOUND)
        complain(c, cli_buf_text(&result.message));
    cli_buf_free(&args);
    cli_result_free(&result);
    return rc != HOCKET_ENOTFOUND;
}

static const struct command *find(const char *name, size_t n)
{
    for (const struct command *k = commands; k->name; k++)
        if (strlen(k->name) == n && memcmp(k->name, name, n) == 0)
            return k;
    return NULL;
}

static void unknown(struct cli_chat *c, const char *name)
{
    struct cli_buf b = { 0 };
    const char *best = commands[0].name;
    for (const struct command *k = commands; k->name; k++)
        if (cli_distance(name, k->name) < cli_distance(name, best))
            best = k->name;
    cli_buf_addf(&b, "there is no command '/%s'", name);
    if (cli_is_slip(cli_distance(name, best), name))
        cli_buf_addf(&b, ": did you mean '/%s'?", best);
    else
        cli_buf_adds(&b, "; /help lists them");
    say(c, CLI_WARN, &b);
}

void cli_chat_command(struct cli_chat *c, const char *line)
{
    size_t n = strcspn(line + 1, " \t");
    const struct command *k = find(line + 1, n);
    const char *argument = line + 1 + n + strspn(line + 1 + n, " \t");
    struct cli_buf word = { 0 };
    size_t len = strlen(argument);
    while (len > 0 && (argument[len - 1] == ' ' || argument[len - 1] == '\t'))
        len--;
    cli_buf_add(&word, k ? argument : line + 1, k ? len : n);
    if (!k && is_file(line))
        attach(c, line);
    else if (!k && !say_prompt(c, line + 1, n, argument))
        unknown(c, cli_buf_text(&word));
    else if (k && *argument && !*k->arguments)
        complain(c, "this command takes nothing behind it");
    else if (k)
        k->run(c, cli_buf_text(&word));
    cli_buf_free(&word);
}
