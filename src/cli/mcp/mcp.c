/* `hocket mcp`: a look at MCP servers by hand.
 *
 * Starts or asks the servers that are named, as an agent would, and says what they offer; for
 * finding out why an agent does not have a tool. */
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/out.h"
#include "cli/text.h"

enum { JSON = 1, IN };

static const struct cli_option options[] = {
    { IN, 'i', "in", "DIR", "the project whose servers are meant; the current folder" },
    { JSON, 'j', "json", NULL, "print one JSON object" },
    { 0 },
};

struct mcp {
    bool json;
    const char *dir;
};

static int set(void *ud, int id, const char *value)
{
    struct mcp *m = ud;
    if (id == JSON)
        m->json = true;
    else
        m->dir = value;
    return 0;
}

static void add_args(const struct mcp *m, const struct cli_args *args, struct cli_buf *out)
{
    cli_buf_adds(out, "{\"words\":[");
    for (int i = 0; i < args->count; i++) {
        cli_buf_adds(out, i > 0 ? "," : "");
        cli_buf_json(out, args->words[i], strlen(args->words[i]));
    }
    cli_buf_adds(out, "]");
    if (m->dir) {
        cli_buf_key(out, "dir");
        cli_buf_json(out, m->dir, strlen(m->dir));
    }
    cli_buf_adds(out, "}");
}

/* Where some of several servers do not work, how each is doing is the answer all the same. */
static int answer(const char *args, bool json)
{
    struct cli_result result;
    int status = cli_host_call("mcp", args, &result);
    if (json && result.json.n > 0)
        cli_out_line(result.json.p, result.json.n);
    else if (result.text.n > 0 || status == 0)
        cli_out_line(cli_buf_text(&result.text), result.text.n);
    if (status < 0)
        fprintf(stderr, "hocket mcp: %s\n", cli_buf_text(&result.message));
    int code = cli_exit_of(status), out = cli_out_end();
    cli_result_free(&result);
    return code ? code : out;
}

static int main_mcp(const struct cli_command *self, int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "serve") == 0)
        return cli_mcp_serve.main(&cli_mcp_serve, argc - 1, argv + 1);
    struct mcp m = { 0 };
    struct cli_args args = { .ud = &m };
    struct cli_buf json = { 0 };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count == 0)
        return cli_usage("mcp", "expected list, tools, call, doctor, login, logout or serve");
    for (int i = 0; i < args.count; i++)
        if (!cli_text_is_utf8(args.words[i], strlen(args.words[i])))
            return cli_usage("mcp", "the words have to be UTF-8");
    if (m.dir && !cli_text_is_utf8(m.dir, strlen(m.dir)))
        return cli_usage("mcp", "the folder's name has to be UTF-8");
    add_args(&m, &args, &json);
    rc = answer(cli_buf_text(&json), m.json);
    cli_buf_free(&json);
    return rc;
}

const struct cli_command cli_mcp = {
    .name = "mcp",
    .usage = "list | tools SERVER | call SERVER TOOL [JSON] | doctor [SERVER] | login SERVER | "
             "logout SERVER | serve TARGET…",
    .summary = "look at MCP servers: which are named, what they offer, whether they work",
    .about = "Servers are named in a project's .mcp.json and in the heads of its agents (mcp:). A "
             "SERVER\n"
             "is one of these names, or an address.\n\n"
             "  list     which there are; none is started\n"
             "  tools    what one offers\n"
             "  call     call a tool, with its arguments as a JSON object\n"
             "  doctor   connect to each, and say what it speaks or why it does not work\n"
             "  login    let a person log in by a browser, where a server wants that; tokens are "
             "kept in\n"
             "           the state directory (mcp-tokens.json, for nobody else to read)\n"
             "  logout   forget its tokens\n"
             "  serve    be a server: offer agents to MCP clients (hocket mcp serve --help)\n",
    .examples = "  hocket mcp doctor\n"
                "  hocket mcp tools github\n"
                "  hocket mcp call files read_file '{\"path\": \"README.md\"}'\n"
                "  hocket mcp tools https://example.com/mcp\n",
    .options = options,
    .set = set,
    .main = main_mcp,
};
