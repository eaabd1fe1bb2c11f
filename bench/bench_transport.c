/* The transport alone: model calls through net/llm/llm.h and nothing above it, no Lua, no agent.
 *
 *   bench_transport MODEL ROUNDS [CLIENTS]
 *
 * So many clients at once (1) go through so many rounds. Each round is one conversation with the
 * mock server at OPENAI_BASE_URL: a request of a prepared form and the history, a streamed answer,
 * the normalised reply with its calls; the reply and a result for each call go into the history,
 * until an answer calls nothing. What a bare client takes to send the same bodies is what this is
 * compared with (bench/floor.c). The exit status is 1 when a call failed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "base/slab.h"
#include "net/http/http.h"
#include "net/llm/llm.h"
#include "net/protocol/protocol.h"

static const char PROMPT[] = "You are a careful worker who goes step by step and wastes no words. "
                             "You are a careful worker who goes step by step and wastes no words. "
                             "You are a careful worker who goes step by step and wastes no words. "
                             "You are a careful worker who goes step by step and wastes no words. "
                             "You are a careful worker who goes step by step and wastes no words. "
                             "You are a careful worker who goes step by step and wastes no words. ";

static const char TOOLS[] =
    "[{\"name\":\"step\",\"description\":\"Take one step of the work and say what came out.\","
    "\"parameters\":{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"n\":{\"type\":"
    "\"integer\",\"minimum\":0,\"description\":\"The number of the step\"},\"note\":{\"type\":"
    "\"string\",\"description\":\"One line on what it is for\"}}}}]";

struct bench {
    struct hocket__slab slab;
    uv_loop_t loop;
    struct hocket__http *http;
    struct hocket__provider provider;
    struct hocket__llm_request request;
    struct hocket__prepared prepared;
    struct client *clients;
    long rounds, n_clients;
    size_t calls, bytes; /* what was read */
    bool failed;
};

struct client {
    struct bench *bench;
    struct hocket__history history;
    struct hocket__llm_call *call;
    long rounds; /* left */
};

static void must(struct bench *b, int status, const struct hocket_error *err)
{
    if (status >= 0)
        return;
    fprintf(stderr, "transport: %s\n", err ? err->message : hocket_status_text(status));
    b->failed = true;
}

static void on_done(void *ud, const struct hocket_error *err);

static void ask(struct client *c)
{
    struct bench *b = c->bench;
    struct hocket_error err;
    struct hocket__llm_request request = b->request;
    request.history = &c->history;
    struct hocket__llm_spec spec = {
        .provider = &b->provider,
        .request = &request,
        .on_done = on_done,
        .ud = c,
    };
    must(b, hocket__llm_start(hocket__http_transport(b->http), &b->slab.a, &spec, &c->call, &err),
        &err);
}

static void begin(struct client *c)
{
    hocket__history_deinit(&c->history);
    hocket__history_init(&c->history, &c->bench->slab.a, 0);
    must(c->bench,
        hocket__history_add_text(
            &c->history, "user", HOCKET__STR("Go on, and tell me everything.")),
        NULL);
    ask(c);
}

static void keep(struct client *c, const struct hocket__reply *r)
{
    struct bench *b = c->bench;
    struct hocket__history *h = &c->history;
    struct hocket_error err;
    must(b,
        hocket__reply_name_calls(
            (struct hocket__reply *) r, hocket__buf_str(&h->messages), &h->next_call),
        NULL);
    must(b, hocket__history_add_reply(h, r, "openai_chat", &err), &err);
    for (size_t i = 0; i < r->n_calls; i++)
        must(b,
            hocket__history_add_result(h, hocket__buf_str(&r->calls[i].id),
                hocket__buf_str(&r->calls[i].name), HOCKET__STR("the step is done"), false),
            NULL);
}

static void on_done(void *ud, const struct hocket_error *err)
{
    struct client *c = ud;
    struct bench *b = c->bench;
    const struct hocket__reply *r = hocket__llm_reply(c->call);
    size_t n_calls = r->n_calls;
    must(b, err ? err->status : 0, err);
    b->calls++;
    b->bytes += r->text.len + (n_calls > 0 ? r->calls[0].arguments.len : 0);
    if (n_calls > 0 && !b->failed)
        keep(c, r);
    hocket__llm_free(c->call);
    c->call = NULL;
    if (b->failed)
        return;
    if (n_calls > 0)
        ask(c);
    else if (--c->rounds > 0)
        begin(c);
}

static void on_closed(void *ud)
{
    (void) ud;
}

static void open_all(struct bench *b, const char *model, const char *base)
{
    static const struct hocket__http_options none;
    struct hocket__http_options o = none;
    struct hocket_error err;
    hocket__slab_init(&b->slab, &hocket__malloc);
    const struct hocket_allocator *a = &b->slab.a;
    uv_loop_init(&b->loop);
    o.alloc = a;
    o.loop = &b->loop;
    must(b, hocket__http_new(&o, &b->http, &err), &err);
    b->provider.a = a;
    b->provider.proto = hocket__proto_find("openai_chat");
    struct hocket__provider *p = &b->provider;
    struct hocket__buf *texts[] = { &p->base, &p->key, &p->headers, &p->pool, &p->texts };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        hocket__buf_init(texts[i], a, 0);
    hocket__buf_adds(&p->base, base);
    b->request = (struct hocket__llm_request){
        .model = model,
        .system = hocket__cstr(PROMPT),
        .tools = hocket__cstr(TOOLS),
        .stream = true,
        .temperature = NAN,
        .top_p = NAN,
        .top_k = -1,
        .max_tokens = -1,
        .seed = -1,
        .traits = &p->traits,
        .prepared = &b->prepared,
    };
    hocket__prepared_init(&b->prepared, a);
}

static void close_all(struct bench *b)
{
    hocket__http_close(b->http, on_closed, NULL);
    uv_run(&b->loop, UV_RUN_DEFAULT);
    uv_loop_close(&b->loop);
    for (long i = 0; i < b->n_clients; i++)
        hocket__history_deinit(&b->clients[i].history);
    free(b->clients);
    hocket__prepared_reset(&b->prepared);
    hocket__buf_deinit(&b->provider.base);
    hocket__slab_deinit(&b->slab);
}

static void begin_all(struct bench *b)
{
    b->clients = calloc((size_t) b->n_clients, sizeof(*b->clients));
    must(b, b->clients ? 0 : HOCKET_ENOMEM, NULL);
    for (long i = 0; i < b->n_clients && !b->failed; i++) {
        struct client *c = &b->clients[i];
        c->bench = b;
        c->rounds = b->rounds;
        hocket__history_init(&c->history, &b->slab.a, 0);
        if (c->rounds > 0)
            begin(c);
    }
}

int main(int argc, char **argv)
{
    const char *base = getenv("OPENAI_BASE_URL");
    struct bench b = { 0 };
    if (argc < 3 || argc > 4 || !base) {
        fputs("usage: OPENAI_BASE_URL=… bench_transport MODEL ROUNDS [CLIENTS]\n", stderr);
        return 2;
    }
    b.rounds = atol(argv[2]);
    b.n_clients = argc == 4 ? atol(argv[3]) : 1;
    open_all(&b, argv[1], base);
    if (b.failed)
        return 1;
    begin_all(&b);
    uv_run(&b.loop, UV_RUN_DEFAULT);
    printf("%zu calls, %zu bytes of answers\n", b.calls, b.bytes);
    close_all(&b);
    return b.failed;
}
