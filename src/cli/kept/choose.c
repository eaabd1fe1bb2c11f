/* Which conversation `hocket chat --resume` means: the named one, the one used last in this folder, or anywhere
 * (--continue), or one that a person chooses from a list. The list is on stderr, since stdout has the conversation
 * alone. */

#include "cli/kept/kept.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/text.h"

/* Conversations in the list. */
#define SHOWN 20
/* Columns of what was said first. */
#define BRIEF 48

/* Of an imported one its folder is anybody's word. */
static void add_folder(struct cli_buf *line, const hocket_json *run, const char *here)
{
    const char *cwd = cli_member(run, "cwd");
    if (!*cwd || strcmp(cwd, here) == 0)
        return;
    cli_buf_adds(line, "  in ");
    cli_text_show(line, cwd, strlen(cwd), false);
}

static void list(const hocket_json *runs, const char *here)
{
    double now = (double) time(NULL);
    for (size_t i = 0; i < hocket_json_count(runs); i++) {
        const hocket_json *run = hocket_json_at(runs, i);
        struct cli_buf line = { 0 }, text = { 0 };
        const char *target = cli_member(run, "target"), *input = cli_member(run, "input");
        double ms = (double) cli_int(run, "updated_ms");
        cli_buf_addf(&line, "%3zu  %s  ", i + 1, cli_member(run, "id"));
        cli_text_elapsed(&line, now > ms / 1000 ? now - ms / 1000 : 0);
        cli_buf_adds(&line, " ago  ");
        cli_text_show(&line, target, strlen(target), false);
        cli_text_show(&text, input, strlen(input), false);
        cli_buf_adds(&line, "  ");
        cli_text_cut(&line, cli_buf_text(&text), text.n, BRIEF);
        add_folder(&line, run, here);
        fprintf(stderr, "%s\n", line.p);
        cli_buf_free(&line);
        cli_buf_free(&text);
    }
}

/* The number of a line, from 0; `count` when none was chosen. */
static size_t ask(size_t count)
{
    char line[64];
    fprintf(stderr, "which one? [1] ");
    if (!fgets(line, sizeof(line), stdin))
        return count;
    char *end;
    unsigned long n = line[0] == '\n' ? 1 : strtoul(line, &end, 10);
    return n >= 1 && n <= count ? n - 1 : count;
}

/* Nobody has asked for another folder. */
static void tell_folder(const hocket_json *run, const char *here)
{
    struct cli_buf line = { 0 };
    add_folder(&line, run, here);
    if (line.n > 0)
        fprintf(stderr, "hocket chat: going on with %s,%s\n", cli_member(run, "id"),
            cli_buf_text(&line) + 1);
    cli_buf_free(&line);
}

static void tell_held(const hocket_json *run)
{
    const hocket_json *held = hocket_json_get(run, "held");
    if (held)
        fprintf(stderr,
            "hocket chat: going on with %s: process %lld has %s, which was left later\n",
            cli_member(run, "id"), cli_int(held, "pid"), cli_member(held, "id"));
}

/* In a pipe the list is shown too: whoever wrote the script sees what could be named. */
static int choose(
    const struct cli_run_args *args, const hocket_json *runs, const char *here, size_t *which)
{
    size_t count = hocket_json_count(runs);
    *which = 0;
    if (count == 0) {
        fprintf(stderr, "hocket chat: there is no conversation that could go on\n");
        return CLI_EXIT_FAILED;
    }
    if (*args->resume == 0) {
        tell_held(hocket_json_at(runs, 0));
        tell_folder(hocket_json_at(runs, 0), here);
    }
    if (strcmp(args->resume, "?") != 0)
        return CLI_GO_ON;
    list(runs, here);
    if (!isatty(STDIN_FILENO))
        return cli_usage("chat", "'--resume': name one of them, nobody is there to choose");
    *which = ask(count);
    return *which < count ? CLI_GO_ON : CLI_EXIT_USAGE;
}

int cli_kept_choose(struct cli_run_args *args, struct cli_buf *id)
{
    struct cli_buf wish = { 0 };
    char here[PATH_MAX];
    hocket_json *found;
    size_t which;
    bool named = *args->resume && strcmp(args->resume, "?") != 0;
    if (!getcwd(here, sizeof(here)))
        *here = 0;
    cli_buf_adds(&wish, "{");
    if (named) {
        cli_buf_member(&wish, "id", args->resume);
    } else {
        cli_buf_addf(&wish, "\"conversation\":true,\"most\":%d", *args->resume ? SHOWN : 1);
        if (*args->resume == 0)
            cli_buf_member(&wish, "here", here);
    }
    cli_buf_adds(&wish, "}");
    int rc = cli_kept_find(args, wish.p, &found);
    cli_buf_free(&wish);
    if (rc != CLI_GO_ON)
        return rc;
    const hocket_json *runs = hocket_json_get(found, "runs");
    rc = choose(args, runs, here, &which);
    if (rc == CLI_GO_ON) {
        cli_buf_adds(id, cli_member(hocket_json_at(runs, which), "id"));
        args->resume = id->p;
        if (!cli_is(hocket_json_at(runs, which), "conversation"))
            rc = cli_usage("chat", "%s is no conversation: hocket resume %s", id->p, id->p);
        else
            rc = cli_kept_place(args, hocket_json_at(runs, which));
    }
    hocket_json_free(found);
    return rc;
}
