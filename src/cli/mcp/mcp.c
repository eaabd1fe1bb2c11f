/* `hocket mcp`: a look at MCP servers by hand.
 *
 * Starts or asks the servers that are named, as an agent would, and says what they offer; for
 * finding out why an agent does not have a tool. Whether the folder is trusted with them is asked
 * on a terminal, as for a run. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/ask/ask.h"
#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/out.h"
#include "cli/screen.h"
#include "cli/signals.h"
#include "cli/text.h"

struct mcp {
    bool json, trust, terminal;
    const char *dir;
    hocket_host *host;
    struct cli_screen screen;
    struct cli_result result;
};

static const struct cli_option options[] = {
    { CLI_TEXT('i', "in", "DIR", struct mcp, dir,
        "the project of the servers; default: the current folder") },
    { CLI_FLAG('j', "json", struct mcp, json, "print one JSON object") },
    { CLI_FLAG(0, "trust", struct mcp, trust,
        "start and contact servers of the folder's files without a question") },
    { 0 },
};

static void add_args(const struct mcp *m, const struct cli_args *args, struct cli_buf *out)
{
    cli_buf_adds(out, "{\"words\":[");
    cli_add_words(out, args);
    cli_buf_adds(out, "]");
    cli_buf_member(out, "dir", m->dir);
    if (m->trust || m->terminal) {
        cli_buf_key(out, "trust");
        cli_buf_adds(out, m->trust ? "true" : "\"ask\"");
    }
    cli_buf_adds(out, "}");
}

/* ---- Working ------------------------------------------------------------ */

/* Where some of several servers do not work, how each is doing is the answer all the same. */
static int answer(struct mcp *m, const char *args)
{
    int rc = CLI_EXIT_DONE;
    cli_screen_start(&m->screen, false, true);
    m->host = cli_host_open(&m->screen, &rc);
    if (!m->host)
        return rc;
    cli_ask_call(m->host, &m->screen, m->terminal, "mcp", args, &m->result);
    cli_host_close(m->host);
    cli_screen_end(&m->screen);
    if (m->json && m->result.json.n > 0)
        cli_out_json(m->result.json.p, m->result.json.n);
    else if (m->result.text.n > 0 || m->result.status == 0)
        cli_out_line(cli_buf_text(&m->result.text), m->result.text.n);
    if (m->result.status < 0)
        cli_result_complain(&m->result, "mcp");
    int code = cli_exit_of(m->result.status), out = cli_out_end();
    cli_result_free(&m->result);
    return code ? code : out;
}

/* ---- The command -------------------------------------------------------- */

static int main_mcp(const struct cli_command *self, int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "serve") == 0)
        return self->below->main(self->below, argc - 1, argv + 1);
    struct mcp m = { .terminal = isatty(STDIN_FILENO) && isatty(STDERR_FILENO) };
    struct cli_args args = { .ud = &m };
    struct cli_buf json = { 0 };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count == 0)
        return cli_usage("mcp", "expected list, tools, call, doctor, login, logout or serve");
    add_args(&m, &args, &json);
    rc = answer(&m, cli_buf_text(&json));
    cli_buf_free(&json);
    return rc;
}

const struct cli_command cli_mcp = {
    .name = "mcp",
    .usage = "list | tools SERVER | call SERVER TOOL [JSON] | doctor [SERVER] | login SERVER | "
             "logout SERVER | serve TARGET…",
    .summary = "list, test and call MCP servers",
    .about =
        "Servers are named in a project's .mcp.json and in its agents' files (mcp:). A SERVER is "
        "one\n"
        "of these names, or an address. hocket starts or contacts servers from a folder's files "
        "only\n"
        "if you trust them: a terminal asks you; otherwise give --trust.\n"
        "\n"
        "  list     list the servers, without starting one\n"
        "  tools    list a server's tools\n"
        "  call     call a tool, with its arguments as a JSON object\n"
        "  doctor   connect to each, and show its protocol or why it does not work\n"
        "  login    let a person log in with a browser; tokens are stored in the state directory\n"
        "           (mcp-tokens.json, readable by you alone)\n"
        "  logout   delete its tokens\n"
        "  serve    be a server: offer agents to MCP clients (hocket mcp serve --help)\n",
    .examples = "  hocket mcp doctor\n"
                "  hocket mcp tools github\n"
                "  hocket mcp call files read_file '{\"path\": \"README.md\"}'\n"
                "  hocket mcp tools https://example.com/mcp\n",
    .options = options,
    .main = main_mcp,
    .below = &cli_mcp_serve,
};
