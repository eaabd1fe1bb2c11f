#include "net/http/fixture.h"

#include <dirent.h>
#include <stdlib.h>

/* ---- Handlers ------------------------------------------------------------------------ */

static void note(struct seen *s, char what)
{
    size_t n = strlen(s->log);
    assert_int_equal(s->done, 0);
    if (n + 1 < sizeof(s->log) && (n == 0 || s->log[n - 1] != what))
        s->log[n] = what;
}

static void act(struct seen *s, char at)
{
    if (s->act)
        s->act(s, at);
}

static void on_head(void *ud, int status)
{
    struct seen *s = ud;
    note(s, 'S');
    s->status = status;
    act(s, 'S');
}

static void on_header(void *ud, struct hocket__str name, struct hocket__str value)
{
    struct seen *s = ud;
    size_t n = strlen(s->headers);
    note(s, 'h');
    snprintf(s->headers + n, sizeof(s->headers) - n, "%.*s=%.*s;", (int) name.n, name.p,
        (int) value.n, value.p);
    act(s, 'h');
}

static int on_data(void *ud, const char *p, size_t n, struct hocket_error *err)
{
    struct seen *s = ud;
    note(s, 'd');
    if (s->body_len + n < sizeof(s->body))
        memcpy(s->body + s->body_len, p, n);
    s->body_len += n;
    s->pieces++;
    act(s, 'd');
    if (s->give_up < 0)
        snprintf(err->message, sizeof(err->message), "given up"), err->status = s->give_up;
    return s->give_up == 0 && s->progress ? HOCKET__HTTP_PROGRESS : s->give_up;
}

static void on_done(
    void *ud, const struct hocket_error *err, const struct hocket__http_timing *timing)
{
    struct seen *s = ud;
    note(s, 'D');
    s->done++;
    if (err)
        s->err = *err;
    s->timing = *timing;
    act(s, 'D');
}

const struct hocket__http_handler seen_handler = {
    .on_head = on_head, .on_header = on_header, .on_data = on_data, .on_done = on_done
};

/* ---- Opening and closing --------------------------------------------------------------- */

static int entries(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

void fixture_open(struct fixture *f, struct hocket__http_options o)
{
    struct hocket_error err = { 0 };
    o.alloc = &f->alloc.a;
    o.loop = &f->loop;
    if (hocket__http_new(&o, &f->http, &err) < 0)
        fail_msg("%s", err.message);
}

static void do_nothing(void *ud)
{
}

/* The first loop of a process makes a pipe for signals that stays, and the first thread one of the
 * thread sanitizer's own. */
static void warm_up(void)
{
    uv_loop_t loop;
    uv_thread_t thread;
    assert_int_equal(uv_thread_create(&thread, do_nothing, NULL), 0);
    assert_int_equal(uv_thread_join(&thread), 0);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    *state = f;
    warm_up();
    f->fds = entries("/proc/self/fd");
    f->threads = entries("/proc/self/task");
    f->server = test_server_new();
    test_alloc_init(&f->alloc);
    assert_int_equal(uv_loop_init(&f->loop), 0);
    fixture_open(f, (struct hocket__http_options){ 0 });
    return 0;
}

static void on_closed(void *ud)
{
    ((struct fixture *) ud)->closed++;
}

void close_http(struct fixture *f)
{
    int before = f->closed;
    hocket__http_close(f->http, on_closed, f);
    assert_int_equal(f->closed, before);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(f->closed, before + 1);
    f->http = NULL;
}

int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    if (f->http)
        close_http(f);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    test_alloc_check(&f->alloc);
    test_server_free(f->server);
    for (int i = 0; i < 100 && entries("/proc/self/task") > f->threads; i++)
        uv_sleep(20); /* a resolver's thread that nobody waits for */
    /* Fewer are no leak: on a slow machine a thread of the test before was still there. */
    assert_in_range(entries("/proc/self/task"), 0, f->threads);
    assert_int_equal(entries("/proc/self/fd"), f->fds);
    free(f);
    return 0;
}

/* ---- Requests -------------------------------------------------------------------------- */

int64_t start(struct fixture *f, struct seen *s, struct hocket__http_spec spec, const char *path)
{
    struct hocket_error err = { 0 };
    char url[512];
    snprintf(url, sizeof(url), "%s", path[0] == '/' ? test_server_url(f->server, path) : path);
    spec.url = url;
    if (!spec.method)
        spec.method = spec.body ? "POST" : "GET";
    s->f = f;
    s->id = hocket__http_start(f->http, &spec, &seen_handler, s, &err);
    if (s->id < 0)
        fail_msg("%s", err.message);
    return s->id;
}

int64_t get(struct fixture *f, struct seen *s, const char *path)
{
    return start(f, s, (struct hocket__http_spec){ 0 }, path);
}

int64_t post(struct fixture *f, struct seen *s, const char *path, const char *body)
{
    struct hocket__buf b;
    hocket__buf_init(&b, &f->alloc.a, 0);
    hocket__buf_adds(&b, body);
    int64_t id = start(f, s, (struct hocket__http_spec){ .body = &b }, path);
    assert_int_equal(b.len, 0);
    hocket__buf_deinit(&b);
    return id;
}

static void on_tick(uv_timer_t *timer)
{
}

/* The ticks are for uv_run: it may block once more after the timer that one waits for. */
void run_until(struct fixture *f, bool (*reached)(void *ud), void *ud)
{
    uint64_t start = uv_hrtime();
    uv_timer_t timer;
    uv_timer_init(&f->loop, &timer);
    uv_timer_start(&timer, on_tick, 2, 2);
    bool late = false;
    while (!late && !reached(ud)) {
        uv_run(&f->loop, UV_RUN_ONCE);
        f->turns++;
        late = uv_hrtime() - start > (uint64_t) 10e9;
    }
    uv_close((uv_handle_t *) &timer, NULL);
    uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_false(late);
}

static bool is_done(void *ud)
{
    return ((struct seen *) ud)->done > 0;
}

void run_until_done(struct seen *s)
{
    run_until(s->f, is_done, s);
}

static bool is_past(void *ud)
{
    return uv_hrtime() >= *(uint64_t *) ud;
}

void run_for(struct fixture *f, int ms)
{
    uint64_t until = uv_hrtime() + (uint64_t) ms * 1000000;
    run_until(f, is_past, &until);
}
