/* `hocket decode`: a recorded answer as the record that is made of it.
 *
 * For whoever adds a provider: `curl … | hocket decode PROTOCOL` shows what hocket makes of an
 * answer. Nothing is sent. */
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/out.h"
#include "cli/text.h"

struct decode {
    int64_t status;
    const char *chunk;
    bool stream;
};

static const struct cli_option options[] = {
    { CLI_COUNT('s', "status", "N", struct decode, status, 100, 599, 200,
          "the HTTP status of the answer; default 200"),
        .expected = "an HTTP status, as in 429" },
    { CLI_TEXT('c', "chunk", "N", struct decode, chunk,
        "feed it in pieces of N bytes; random:SEED: of random sizes") },
    { CLI_FLAG(0, "stream", struct decode, stream,
        "treat it as the answer to a streaming request, which may be incomplete (usually\n"
        "detected)") },
    { 0 },
};

static void add_args(const struct decode *d, char **words, struct cli_buf *out)
{
    cli_buf_adds(out, "{");
    cli_buf_member(out, "protocol", words[0]);
    cli_buf_member(out, "file", words[1]);
    cli_buf_addf(out, ",\"status\":%lld", (long long) d->status);
    if (d->stream)
        cli_buf_adds(out, ",\"stream\":true");
    cli_buf_member(out, "chunk", d->chunk);
    cli_buf_adds(out, "}");
}

static int exit_of(int status)
{
    if (status == HOCKET_EINVAL || status == HOCKET_ENOTFOUND)
        return CLI_EXIT_USAGE;
    return status < 0 ? CLI_EXIT_FAILED : CLI_EXIT_DONE;
}

/* What was read before an error is printed as well. */
static int decode(const char *args)
{
    struct cli_result result;
    int code = exit_of(cli_host_call("decode", args, &result));
    if (result.json.n > 2)
        cli_out_json(result.json.p, result.json.n);
    if (code)
        cli_result_complain(&result, "decode");
    cli_result_free(&result);
    int out = cli_out_end();
    return code ? code : out;
}

static int main_decode(const struct cli_command *self, int argc, char **argv)
{
    struct decode d = { 0 };
    struct cli_args args = { .ud = &d };
    struct cli_buf json = { 0 };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count != 2)
        return cli_usage("decode", "expected a protocol and a file");
    add_args(&d, args.words, &json);
    rc = decode(json.p);
    cli_buf_free(&json);
    return rc;
}

const struct cli_command cli_decode = {
    .name = "decode",
    .usage = "PROTOCOL FILE",
    .summary = "parse a provider's recorded answer and print it as JSON",
    .about =
        "Reads the body of an answer, streamed or whole, as a run would, and prints it as one "
        "JSON\n"
        "object: text, reasoning_text, tool_calls, finish_reason, usage, error and so on. "
        "PROTOCOL\n"
        "is anthropic, bedrock, gemini, ollama, openai_chat or openai_responses; a FILE of '-' is\n"
        "stdin. If the answer is broken or cut, it prints the part before, stderr has the reason,\n"
        "and the exit code is 1.",
    .examples = "  curl -sN https://… | hocket decode openai_chat -\n"
                "  hocket decode anthropic answer.sse --chunk random:1\n"
                "  hocket decode gemini error.json --status 429 | jq .error\n",
    .options = options,
    .main = main_decode,
};
