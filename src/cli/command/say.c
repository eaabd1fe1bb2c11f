/* `hocket answer`, `hocket say` and `hocket signal`: messages to a run from elsewhere. */
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/command_impl.h"
#include "cli/exit.h"
#include "cli/out.h"
#include "cli/paper.h"
#include "cli/store.h"
#include "cli/story/story.h"
#include "cli/text.h"

struct say {
    const char *store, *verdict; /* "allow", "deny", "always", "edit"; or NULL */
    const char *arguments;       /* of an edit */
    const char *to;              /* the agent that is spoken to; NULL: not said */
    const char *url, *expires;   /* of a link */
    bool json, link;
};

/* --allow, --deny, --always and --edit JSON. */
static int read_verdict(void *args, const char *command, const char *name, const char *value)
{
    struct say *s = args;
    if (s->verdict)
        return cli_usage(command, "one of --allow, --deny, --always and --edit");
    s->verdict = name;
    s->arguments = value;
    return 0;
}

static int read_url(void *args, const char *command, const char *name, const char *value)
{
    return cli_read_address(&((struct say *) args)->url, command, name, value);
}

static const struct cli_option answer_options[] = {
    { CLI_OWN(0, "allow", NULL, read_verdict, "yes: allow the call, or accept the plan") },
    { CLI_OWN(
        0, "deny", NULL, read_verdict, "no; the words after the question's id are the reason") },
    { CLI_OWN(0, "always", NULL, read_verdict, "yes, also to later calls of the same kind") },
    { CLI_OWN(0, "edit", "JSON", read_verdict,
        "yes, with these arguments instead of the tool call's own") },
    { CLI_FLAG(0, "link", struct say, link,
        "print a link to hocket serve, with which anybody can answer this question once") },
    { CLI_OWN(0, "url", "URL", read_url,
        "--link: the address of hocket serve, for example https://agents.example.org\n"
        "(http://127.0.0.1:7333)") },
    { CLI_TEXT(0, "expires", "WHEN", struct say, expires,
        "--link: its end: in 12h, 15min or 7d, or at the beginning of a day (UTC); default\n"
        "24h, at most 30d") },
    { CLI_FLAG('j', "json", struct say, json, "what is open, or the link, as one JSON object") },
    { CLI_TEXT(0, "store", "FILE", struct say, store, CLI_STORE_HELP) },
    { 0 },
};

static const struct cli_option say_options[] = {
    { CLI_TEXT(0, "to", "AGENT", struct say, to,
        "the agent, by name, by the end of its path (lead/writer), or by its operation's id") },
    { CLI_TEXT(0, "store", "FILE", struct say, store, CLI_STORE_HELP) },
    { 0 },
};

static const struct cli_option signal_options[] = {
    { CLI_TEXT(0, "store", "FILE", struct say, store, CLI_STORE_HELP) },
    { 0 },
};

/* ---- answer -------------------------------------------------------------------------------------------- */

static void join(struct cli_buf *out, char **words, int count)
{
    for (int i = 0; i < count; i++) {
        cli_buf_adds(out, i > 0 ? " " : "");
        cli_buf_adds(out, words[i]);
    }
}

/* Its text: the words, or the verdict, with the words as the reason of a no. */
static int read_text(const struct say *s, char **words, int count, struct cli_buf *out)
{
    if (s->verdict && count > 0 && strcmp(s->verdict, "deny") != 0)
        return cli_usage("answer", "--%s says all: '%s' is too much", s->verdict, words[0]);
    if (!s->verdict && count == 0)
        return cli_usage(
            "answer", "what is the answer? A text, --allow, --deny, --always or --edit");
    cli_buf_adds(out, s->verdict ? s->verdict : "");
    cli_buf_adds(out, s->verdict && count > 0 ? ": " : "");
    if (s->arguments)
        cli_buf_addf(out, " %s", s->arguments);
    join(out, words, count);
    return CLI_GO_ON;
}

/* Of one run: its id as the person wrote it, and the store. */
struct named {
    const char *id, *store;
};

static void print_open(const struct cli_result *result, const void *ud)
{
    const struct named *run = ud;
    struct cli_buf id = { 0 };
    cli_buf_adds(&id, run->id);
    cli_store_hint(&id, run->store);
    hocket_json *answer = hocket_json_parse(result->json.p, result->json.n, NULL);
    struct cli_paper p;
    cli_paper_start(&p);
    if (!cli_story_open(&p, hocket_json_get(answer, "waiting_for"), id.p)) {
        cli_paper_addf(&p, CLI_PLAIN, "%s waits for nobody: it is ", run->id);
        cli_story_state(&p, cli_member(answer, "state"));
        cli_paper_line(&p);
    }
    cli_paper_end(&p);
    cli_buf_free(&id);
    hocket_json_free(answer);
}

static int list_open(const struct say *s, const char *id)
{
    const struct named run = { id, s->store };
    struct cli_buf args = { 0 };
    cli_buf_adds(&args, "{");
    cli_buf_member(&args, "id", id);
    cli_buf_adds(&args, "}");
    int rc = cli_stored_show("answer", "answer", args.p, s->store, s->json, print_open, &run);
    cli_buf_free(&args);
    return rc;
}

/* Who has it takes what is said by itself; else somebody has to go on. */
static void say_next(const char *command, const struct cli_result *result, const char *store)
{
    hocket_json *answer = hocket_json_parse(result->json.p, result->json.n, NULL);
    const char *id = cli_member(answer, "id");
    const char *state = cli_member(answer, "state");
    struct cli_buf line = { 0 };
    bool is_running = strcmp(state, "running") == 0 || hocket_json_get(answer, "owner");
    const char *pool = hocket_json_text(hocket_json_get(answer, "pool"), NULL, NULL);
    if (is_running)
        cli_buf_addf(&line, "%s: stored for %s; its process reads it", command, id);
    else if (pool)
        cli_buf_addf(&line, "%s: stored; a worker continues the run: hocket wait %s", command, id);
    else
        cli_buf_addf(&line, "%s: stored; next: hocket resume %s", command, id);
    if (!is_running)
        cli_store_hint(&line, store);
    fprintf(stderr, "hocket %s\n", line.p);
    cli_buf_free(&line);
    hocket_json_free(answer);
}

static int send(const char *command, struct cli_buf *args, const char *store)
{
    struct cli_result result;
    cli_buf_adds(args, ",\"consent\":true}");
    int rc = cli_stored_call(command, command, args->p, store, &result);
    cli_buf_free(args);
    if (rc != CLI_EXIT_DONE)
        return rc;
    say_next(command, &result, store);
    cli_result_free(&result);
    return rc;
}

static void print_link(const struct cli_result *result, const void *ud)
{
    hocket_json *answer = hocket_json_parse(result->json.p, result->json.n, NULL);
    const char *note = cli_member(answer, "note");
    (void) ud;
    cli_out_line(result->text.p, result->text.n);
    fprintf(stderr, "hocket answer: the link %s\n", note);
    hocket_json_free(answer);
}

static int make_link(const struct say *s, const struct cli_args *args)
{
    struct cli_buf json = { 0 };
    if (s->verdict || args->count != 2)
        return cli_usage("answer", "--link: expected a run and its question, without an answer");
    cli_buf_adds(&json, "{");
    cli_buf_member(&json, "id", args->words[0]);
    cli_buf_member(&json, "question", args->words[1]);
    cli_buf_member(&json, "url", s->url);
    cli_buf_member(&json, "expires", s->expires);
    cli_buf_adds(&json, "}");
    int rc = cli_stored_show("answer", "answer_link", json.p, s->store, s->json, print_link, NULL);
    cli_buf_free(&json);
    return rc;
}

static int main_answer(const struct cli_command *self, int argc, char **argv)
{
    struct say s = { 0 };
    struct cli_args args = { .ud = &s };
    struct cli_buf text = { 0 }, json = { 0 };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count == 0)
        return cli_usage("answer", "expected the id of a run, and of its question");
    if (s.link)
        return make_link(&s, &args);
    if (s.url || s.expires)
        return cli_usage("answer", "--url and --expires are for --link");
    if (args.count == 1 && !s.verdict)
        return list_open(&s, args.words[0]);
    if (args.count == 1)
        return cli_usage("answer", "which question? hocket answer %s lists them", args.words[0]);
    rc = read_text(&s, args.words + 2, args.count - 2, &text);
    if (rc == CLI_GO_ON) {
        cli_buf_adds(&json, "{");
        cli_buf_member(&json, "id", args.words[0]);
        cli_buf_member(&json, "question", args.words[1]);
        cli_buf_member(&json, "text", text.p);
        rc = send("answer", &json, s.store);
    }
    cli_buf_free(&text);
    return rc;
}

const struct cli_command cli_answer_run = {
    .name = "answer",
    .usage = "ID [QUESTION TEXT… | QUESTION --allow | QUESTION --deny [WHY…] | QUESTION --always | "
             "QUESTION --edit JSON | QUESTION --link]",
    .summary = "answer a run's open questions",
    .about =
        "Without a question it lists the open ones, with the commands that answer them. You may\n"
        "answer in any order. A process that executes the run takes the answer at once; otherwise\n"
        "hocket resume continues the run with it.",
    .examples = "  hocket answer 01KANC3V0Q\n"
                "  hocket answer 01KANC3V0Q q1 The second one\n"
                "  hocket answer 01KANC3V0Q a2 --deny only the fast tests\n"
                "  hocket answer 01KANC3V0Q a2 --edit '{\"command\": \"make test-fast\"}'\n"
                "  hocket answer 01KANC3V0Q a2 --link --url https://agents.example.org\n"
                "  hocket runs --state parked\n",
    .options = answer_options,
    .main = main_answer,
};

/* ---- say ---------------------------------------------------------------------------------------------- */

static int main_say(const struct cli_command *self, int argc, char **argv)
{
    struct say s = { 0 };
    struct cli_args args = { .ud = &s };
    struct cli_buf text = { 0 }, json = { 0 };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count < 2)
        return cli_usage("say", "expected the id of a run, and what to say");
    join(&text, args.words + 1, args.count - 1);
    cli_buf_adds(&json, "{");
    cli_buf_member(&json, "id", args.words[0]);
    if (s.to)
        cli_buf_member(&json, "to", s.to);
    cli_buf_member(&json, "text", text.p);
    cli_buf_free(&text);
    return send("say", &json, s.store);
}

const struct cli_command cli_say = {
    .name = "say",
    .usage = "ID [--to AGENT] TEXT…",
    .summary = "send a message to a working agent",
    .about =
        "The agent reads it before its next model call; if it has just finished its answer, it\n"
        "takes another turn. Without --to it goes to the agent that works directly for the run. A\n"
        "conversation that waits for input takes it as that input.",
    .examples = "  hocket say 01KANC3V0Q leave out the museums\n"
                "  hocket say 01KANC3V0Q --to writer 'no more than 200 words'\n",
    .options = say_options,
    .main = main_say,
};

/* ---- signal --------------------------------------------------------------------------------------------- */

/* JSON where it is some, else a text. */
static void add_value(struct cli_buf *args, const char *value)
{
    hocket_json *json = hocket_json_parse(value, strlen(value), NULL);
    cli_buf_key(args, "value");
    if (json)
        cli_buf_adds(args, value);
    else
        cli_buf_json(args, value, strlen(value));
    hocket_json_free(json);
}

static int main_signal(const struct cli_command *self, int argc, char **argv)
{
    struct say s = { 0 };
    struct cli_args args = { .ud = &s };
    struct cli_buf json = { 0 };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count < 2 || args.count > 3)
        return cli_usage(
            "signal", "expected the id of a run, the signal's name, and its value or none");
    cli_buf_adds(&json, "{");
    cli_buf_member(&json, "id", args.words[0]);
    cli_buf_member(&json, "name", args.words[1]);
    if (args.count == 3)
        add_value(&json, args.words[2]);
    return send("signal", &json, s.store);
}

const struct cli_command cli_signal = {
    .name = "signal",
    .usage = "ID NAME [VALUE]",
    .summary = "send a run a signal that it waits for",
    .about = "VALUE is JSON, or else a text. The store keeps the signal until the run takes it, "
             "even if\n"
             "the run does not wait for it yet; signals of one name keep their order.",
    .examples = "  hocket signal 01KANC3V0Q paid\n"
                "  hocket signal 01KANC3V0Q paid '{\"amount\": 12.50}'\n",
    .options = signal_options,
    .main = main_signal,
};
