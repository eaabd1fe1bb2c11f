/* What the log of a run costs: a script's run with its log in memory, or without any. It sees what is inside of the library: nobody
 * keeps anything here.
 *
 *   OPENAI_BASE_URL=… bench_kept MODEL ROUNDS 1 SCRIPT log|none */
#include <hocket/hocket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bind/fiber/fiber.h"
#include "core/log/log.h"
#include "host/host.h"

/* Bytes of the log, after which it begins anew. */
#define MOST (1 << 20)

struct bench {
    struct hocket__buf bytes;
    int done, status;
};

static int append(void *ud, const struct hocket__log_entry *e, struct hocket_error *err)
{
    struct bench *b = ud;
    (void) err;
    if (b->bytes.len > MOST)
        hocket__buf_cut(&b->bytes, 0);
    hocket__buf_addstr(&b->bytes, e->name);
    hocket__buf_addstr(&b->bytes, e->digest);
    return hocket__buf_addstr(&b->bytes, e->value);
}

static const char *variables(const char *name, void *ud)
{
    (void) ud;
    return strcmp(name, "OPENAI_API_KEY") == 0 ? "none" : getenv(name);
}

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    (void) h;
    (void) run;
    (void) e;
    (void) ud;
}

static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct bench *b = ud;
    (void) h;
    (void) run;
    b->done = 1;
    b->status = r->status;
    if (r->error)
        fprintf(stderr, "%s\n", r->error->message);
}

static void keep(struct bench *b, hocket_host *h, uint64_t run)
{
    struct hocket__log_sink sink = { append, b };
    struct hocket__kept *k =
        hocket__kept_new(h->rt, &sink, (const unsigned char *) "sixteen bytes!!!");
    if (!k || hocket__run_keep(h, run, k) < 0)
        exit(1);
    hocket__kept_unref(k);
}

int main(int argc, char **argv)
{
    struct bench b = { 0 };
    struct hocket_error err;
    struct hocket_options o;
    char options[256];
    hocket_host *h;
    uint64_t run;
    if (argc != 6) {
        fputs("usage: OPENAI_BASE_URL=… bench_kept MODEL ROUNDS 1 SCRIPT log|none\n", stderr);
        return 2;
    }
    snprintf(options, sizeof(options), "{\"model\":\"openai/%s\"}", argv[1]);
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = argv[4], .input = argv[2], .options = options
    };
    hocket_options_init(&o, sizeof(o));
    o.getenv_cb = variables;
    hocket__buf_init(&b.bytes, &hocket__malloc, 0);
    if (hocket_open(&o, &h, &err) < 0
        || hocket_run_start(h, &spec, &run, on_event, on_done, &b, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    if (strcmp(argv[5], "log") == 0)
        keep(&b, h, run);
    while (!b.done)
        hocket_wait(h, 100);
    hocket_close(h, NULL, NULL);
    hocket__buf_deinit(&b.bytes);
    return b.status < 0;
}
