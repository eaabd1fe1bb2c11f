/* A program of somebody else: it knows the installed header and libraries alone. */
#include <hocket/hocket.h>

#include <stdio.h>
#include <string.h>

struct outcome {
    int ended;
    int events;
    int good;
};

static void on_event(hocket_host *host, uint64_t run, const struct hocket_event *event, void *ud)
{
    struct outcome *o = ud;
    (void) host;
    (void) run;
    o->events += event->seq == (uint64_t) o->events + 1;
}

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    struct outcome *o = ud;
    (void) host;
    (void) run;
    o->ended = 1;
    o->good = result->status == HOCKET_OK && strstr(result->text, "hello from outside") != NULL;
    printf("%s\n", result->error ? result->error->message : result->text);
}

int main(int argc, char **argv)
{
    struct hocket_options options;
    hocket_options_init(&options, sizeof(options));
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = argc > 1 ? argv[1] : "echo.lua",
        .input = "hello from outside" };
    struct outcome outcome = { 0, 0, 0 };
    struct hocket_error error;
    hocket_host *host;
    if (hocket_open(&options, &host, &error) < 0 || hocket_serve_attach(host, &error) < 0
        || hocket_run_start(host, &spec, NULL, on_event, on_done, &outcome, &error) < 0) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    while (!outcome.ended)
        hocket_wait(host, -1);
    hocket_close(host, NULL, NULL);
    printf("hocket %s, %d events\n", hocket_version(), outcome.events);
    return outcome.good && outcome.events > 3 ? 0 : 1;
}
