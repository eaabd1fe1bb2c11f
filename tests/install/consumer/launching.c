/* A program that is its own launcher. The loader finds libhocket by LD_LIBRARY_PATH alone, which the launcher has
 * to be told as well, and no program that it starts. */
#include <hocket/hocket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The environment of a program, and a Lua script of a model's, which runs in the launcher's Lua. */
static const char script[] =
    "local hocket = require 'hocket'\n"
    "local process = require 'hocket.process'\n"
    "local seen = assert(process.run { argv = { '/usr/bin/env' }, cwd = '/tmp', sandbox = "
    "'limits', env = { 'A=1' } })\n"
    "assert(seen.code == 0 and seen.stdout:find 'A=1' and not seen.stdout:find 'LD_', "
    "seen.stdout)\n"
    "local served = hocket.sim.serve { reply = function(q)\n"
    "  if q.last.role == 'user' then return { calls = { { name = 'execute_lua', arguments = { code "
    "= 'print(6 * 7)' } } } } end\n"
    "  return q.last.text\n"
    "end }\n"
    "hocket.provider('own', { protocol = 'openai_chat', base = served.base })\n"
    "local coder = hocket.agent { name = 'coder', prompt = 'p', model = 'own/m', tools = { "
    "'execute_lua' } }\n"
    "return assert(hocket.run(coder, 'x')).text\n";

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    (void) host;
    (void) run;
    *(int *) ud = result->status == HOCKET_OK && strstr(result->text, "42") ? 1 : -1;
    printf("%s\n", result->error ? result->error->message : result->text);
}

int main(int argc, char **argv)
{
    hocket_launcher_main(argc, argv);
    struct hocket_options options = { .size = sizeof(options), .launcher = argv[1] };
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = "buffer:x.lua", .options = "{\"approve\":\"allow\"}"
    };
    struct hocket_error error;
    hocket_host *host;
    int done = 0;
    if (hocket_open(&options, &host, &error) < 0 || hocket_serve_attach(host, &error) < 0
        || hocket_load_buffer(host, "x.lua", script, 0, &error) < 0
        || hocket_run_start(host, &spec, NULL, NULL, on_done, &done, &error) < 0) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    while (!done)
        hocket_wait(host, -1);
    hocket_close(host, NULL, NULL);
    return done == 1 ? 0 : 1;
}
