#include <hocket/hocket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static bool done; static int rc;
static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud) { (void)h;(void)run;(void)ud; fprintf(stderr, "%s\n", e->json); }
static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud) { (void)h;(void)run;(void)ud; done = true; rc = r->status; printf("%s\n", r->text); if (r->error) fprintf(stderr, "error: %s: %s\n", hocket_status_word(r->status), r->error->message); if (getenv("J")) printf("%s\n", r->json); }
static const char *env(const char *n, void *ud) { (void)ud; return getenv(n); }
static void lg(enum hocket_log_level l, const char *t, void *ud) { (void)ud; fprintf(stderr, "log %d %s\n", (int) l, t); }
int main(int argc, char **argv) {
    if (argc < 3) return 2;
    struct hocket_options o = hocket_options_default(); struct hocket_error e; hocket_host *h;
    o.getenv_cb = env; o.log_cb = lg; o.lua_path = getenv("HOCKET_LUA_PATH");
    if (hocket_open(&o, &h, &e) < 0) { fprintf(stderr, "%s\n", e.message); return 1; }
    hocket_serve_attach(h, &e);
    struct hocket_run_spec s = { .target = argv[2], .input = argc > 3 ? argv[3] : NULL, .options = getenv("OPTS") };
    int st = hocket_run_start(h, &s, NULL, on_event, on_done, NULL, &e);
    if (st < 0) { fprintf(stderr, "start: %s\n", e.message); hocket_close(h, NULL, NULL); return 1; }
    while (!done) hocket_wait(h, -1);
    hocket_close(h, NULL, NULL);
    return rc ? 1 : 0;
}
