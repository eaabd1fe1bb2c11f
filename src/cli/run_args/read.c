/* Reads the arguments: the options, the target, and the input behind it or from stdin. Paths are meant from the
 * current folder, wherever the run will work. */
#include "cli/run_args/run_args_impl.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/store.h"
#include "cli/text.h"

#define INPUT_MAX ((size_t) 16 << 20)

static int read_stdin(struct cli_run_args *a)
{
    struct cli_buf *out = &a->input;
    char chunk[16384];
    for (;;) {
        ssize_t n = read(STDIN_FILENO, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return cli_usage(a->command, "cannot read the input from stdin: %s", strerror(errno));
        if (n == 0)
            return 0;
        cli_buf_add(out, chunk, (size_t) n);
        if (out->n > INPUT_MAX)
            return cli_usage(a->command, "the input is larger than %zu MiB", INPUT_MAX >> 20);
    }
}

int cli_run_args_input(struct cli_run_args *a, char **words, int count)
{
    a->has_input = count > 0;
    if (count == 1 && strcmp(words[0], "-") == 0 && strcmp(a->command, "chat") == 0)
        return cli_usage(
            "chat", "'-': what comes from stdin is said line by line anyway: leave it out");
    if (count == 1 && strcmp(words[0], "-") == 0) {
        a->input_from_stdin = true;
        int rc = read_stdin(a);
        if (rc != 0)
            return rc;
    } else {
        for (int i = 0; i < count; i++)
            cli_buf_addf(&a->input, "%s%s", i ? " " : "", words[i]);
    }
    if (!cli_text_is_utf8(cli_buf_text(&a->input), a->input.n))
        return cli_usage(a->command, "the input is not valid UTF-8");
    return 0;
}

/* FILE as it is seen from here, wherever the run will work. */
static const char *from_here(const struct cli_run_args *a, const char *path, struct cli_buf *made)
{
    char here[PATH_MAX];
    if (!path || !a->workdir || path[0] == '/' || !getcwd(here, sizeof(here)))
        return path;
    cli_buf_addf(made, "%s/%s", here, path);
    return made->p;
}

/* The same file, wherever a run continues. */
static const char *store_from_here(const char *store, struct cli_buf *made)
{
    char here[PATH_MAX];
    if (!store || !*store || *store == '/' || strcmp(store, "off") == 0
        || strcmp(store, "memory") == 0 || cli_store_is_url(store) || !getcwd(here, sizeof(here)))
        return store;
    cli_buf_addf(made, "%s/%s", here, store);
    return made->p;
}

/* A run that continues has its target and its options. */
static int read_resume(struct cli_run_args *a, const struct cli_args *args)
{
    bool is_resume = strcmp(a->command, "resume") == 0;
    if ((a->flags & CLI_JSON) && a->events && strcmp(a->events, "-") == 0)
        return cli_usage(a->command, "'--json' and '--events -' both want stdout");
    if (is_resume && args->count > 0)
        a->resume = args->words[0];
    if (is_resume && args->count == ((a->flags & CLI_ALL_RUNS) ? 0 : 1))
        return CLI_GO_ON;
    if (is_resume)
        return cli_usage("resume", "which run? One ID (hocket runs lists them), or --all");
    if (args->count > 0)
        return cli_usage(a->command, "a conversation that goes on has its target: leave '%s' out",
            args->words[0]);
    return CLI_GO_ON;
}

/* A question without a target goes to the assistant, but only if a person can see that: a typo in a crontab must
 * not cost money. */
static bool is_question(const struct cli_run_args *a, const char *word)
{
    return strcmp(a->command, "run") == 0 && strchr(word, ' ') && !strchr(word, '/')
           && !cli_text_ends(word, ".md") && !cli_text_ends(word, ".lua") && access(word, F_OK) != 0
           && isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

static bool is_built_in(const char *name)
{
    static const char *const names[] = { CLI_AGENTS };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* workflows/NAME.lua, or NAME with the ending of another language that compiles to Lua. */
static bool is_workflow(const char *name)
{
    size_t n = strlen(name);
    DIR *dir = opendir("workflows");
    const struct dirent *entry = NULL;
    while (dir && (entry = readdir(dir)))
        if (strncmp(entry->d_name, name, n) == 0 && entry->d_name[n] == '.')
            break;
    if (dir)
        closedir(dir);
    return entry != NULL;
}

bool cli_run_args_missing(const struct cli_run_args *a)
{
    return a->target && !a->resume && !(a->flags & CLI_WATCH) && access(a->target, F_OK) != 0
           && (errno == ENOENT || errno == ENOTDIR) && !is_built_in(a->target)
           && !is_workflow(a->target);
}

int cli_run_args_read(
    const struct cli_command *self, int argc, char **argv, struct cli_run_args *out)
{
    struct cli_args args = { .ud = out };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    out->store = store_from_here(out->store, &out->store_path);
    if (out->resume || strcmp(out->command, "resume") == 0)
        return read_resume(out, &args);
    bool is_chat = strcmp(out->command, "chat") == 0;
    if (args.count == 0 && !is_chat && !out->plan)
        return cli_usage(out->command,
            out->agent
                ? "what is to be done? hocket workflow \"audit the files in src\""
                : "what is to be run? A script.lua, an agent.md, or a directory with agents");
    if ((out->flags & CLI_JSON) && out->events && strcmp(out->events, "-") == 0)
        return cli_usage(
            out->command, "'--json' and '--events -' both want stdout: write the events to a file");
    if (out->record && out->replay)
        return cli_usage(
            out->command, "'--record' and '--replay': a run is either recorded or replayed");
    out->record = from_here(out, out->record, &out->record_path);
    out->replay = from_here(out, out->replay, &out->replay_path);
    if (out->plan && out->agent)
        return cli_usage(out->command, "--plan is for a plan: hocket run --plan");
    if (out->plan) {
        out->target = out->plan;
        out->as = "plan";
        rc = args.count > 0 ? cli_run_args_input(out, args.words, args.count) : 0;
        return rc ? rc : CLI_GO_ON;
    }
    out->asks = !out->agent && args.count > 0 && is_question(out, args.words[0]);
    bool is_named = !out->agent && args.count > 0 && !out->asks;
    out->target = is_named ? args.words[0] : out->agent ? out->agent : "assistant";
    out->as = is_named ? NULL : "built-in";
    int behind = is_named;
    rc = args.count > 0 ? cli_run_args_input(out, args.words + behind, args.count - behind) : 0;
    return rc ? rc : CLI_GO_ON;
}

void cli_run_args_free(struct cli_run_args *a)
{
    cli_pairs_free(&a->models);
    cli_pairs_free(&a->variables);
    cli_pairs_free(&a->labels);
    cli_pairs_free(&a->prices);
    cli_pairs_free(&a->approve);
    cli_pairs_free(&a->context);
    cli_pairs_free(&a->files);
    cli_buf_free(&a->input);
    cli_buf_free(&a->record_path);
    cli_buf_free(&a->replay_path);
    cli_buf_free(&a->store_path);
}

int cli_run_args_enter(const struct cli_run_args *a, struct cli_args *targets)
{
    if (!a->workdir)
        return 0;
    for (int i = 0; i < targets->count; i++) {
        char *path = realpath(targets->words[i], NULL);
        targets->words[i] = path ? path : targets->words[i]; /* kept until the program ends */
    }
    if (chdir(a->workdir) == 0)
        return 0;
    return cli_usage(a->command, "cannot work in '%s': %s", a->workdir, strerror(errno));
}
