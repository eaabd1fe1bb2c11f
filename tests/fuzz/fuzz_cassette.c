/* Any bytes as a cassette: it is refused, or every request of it can be made, and each that is
 * made comes to one end. */
#include "net/cassette/cassette.h"

#include <stdlib.h>

#include "base/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct part {
    int done;
};

static int on_data(void *ud, const char *p, size_t n, struct hocket_error *err)
{
    struct part *x = ud;
    (void) p;
    (void) err;
    if (x->done || n == 0)
        abort();
    return 0;
}

static void on_done(void *ud, const struct hocket_error *err, const struct hocket__http_timing *t)
{
    struct part *x = ud;
    (void) err;
    (void) t;
    if (x->done++)
        abort();
}

static const struct hocket__http_handler handler = { .on_data = on_data, .on_done = on_done };

/* Asks for what stands in a line, as far as it is a request for "x". */
static int64_t ask(struct hocket__cassette *c, struct hocket__str line, struct part *x)
{
    struct hocket__str value;
    struct hocket_error err;
    struct hocket__buf body;
    struct hocket__http_spec spec = {
        .method = "POST", .url = "/p", .body = &body, .label = { .to = HOCKET__STR("x") }
    };
    struct hocket__transport *t = hocket__cassette_transport(c);
    if (!hocket__json_find(line, "body", &value))
        return 0;
    hocket__buf_init(&body, &hocket__malloc, 0);
    hocket__buf_addstr(&body, value);
    int64_t id = t->ops->start(t, &spec, &handler, x, &err);
    hocket__buf_deinit(&body);
    return id;
}

static void play(struct hocket__cassette *c, struct hocket__str text, uv_loop_t *loop)
{
    struct hocket__transport *t = hocket__cassette_transport(c);
    struct part parts[8] = { { 0 } };
    int64_t ids[8] = { 0 };
    const char *p = text.p, *end = p + text.n;
    for (int i = 0; i < 8 && p < end; i++) {
        const char *stop = memchr(p, '\n', (size_t) (end - p));
        stop = stop ? stop : end;
        ids[i] = ask(c, hocket__str(p, (size_t) (stop - p)), &parts[i]);
        p = stop + 1;
    }
    for (int i = 0; i < 32; i++)
        uv_run(loop, UV_RUN_NOWAIT);
    for (int i = 0; i < 8; i++)
        if (ids[i] > 0 && !parts[i].done)
            t->ops->cancel(t, ids[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uv_loop_t loop;
    struct hocket__deadlines ds;
    struct hocket__cassette *c;
    struct hocket__str text = hocket__str((const char *) data, size);
    uv_loop_init(&loop);
    hocket__deadlines_init(&ds, &hocket__malloc, &loop);
    struct hocket__cassette_options o = {
        .alloc = &hocket__malloc, .deadlines = &ds, .name = "fuzz"
    };
    if (hocket__cassette_replay(&o, text, &c, NULL) == 0) {
        play(c, text, &loop);
        hocket__cassette_close(c);
        hocket__cassette_free(c);
    }
    hocket__deadlines_close(&ds, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    hocket__deadlines_deinit(&ds);
    uv_loop_close(&loop);
    return 0;
}
