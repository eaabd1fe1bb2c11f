/* Puts runs into a file, by lines of stdin: fill FILE. See support/fill.h. */
#include "support/fill.h"

#include "base/alloc.h"
#include "store/load.h"

#include <uv.h>

static void on_news(
    void *ud, enum hocket__store_news news, const char *id, const struct hocket_error *err)
{
    (void) ud;
    (void) id;
    if (news == HOCKET__STORE_BROKEN || news == HOCKET__STORE_REFUSED) {
        fprintf(stderr, "fill: %s\n", err ? err->message : "refused");
        exit(1);
    }
}

static bool kept;

static void on_kept(struct hocket__store_wait *w, int status, const struct hocket_error *err)
{
    (void) w;
    fill_check(status, err ? err->message : "commit");
    kept = true;
}

static void commit(struct fill *f, uv_loop_t *loop)
{
    struct hocket__store_wait wait = { .done = on_kept };
    kept = false;
    hocket__store_commit(f->s, NULL, HOCKET__STORE_WRITTEN, &wait);
    while (!kept)
        uv_run(loop, UV_RUN_ONCE);
}

static void on_closed(void *ud)
{
    (void) ud;
}

int main(int argc, char **argv)
{
    static uv_loop_t loop;
    static char line[4 << 20];
    struct fill f = { 0 };
    struct hocket_error err;
    uv_loop_init(&loop);
    struct hocket__store_options o = {
        .alloc = &hocket__malloc, .loop = &loop, .path = argc > 1 ? argv[1] : "", .on_news = on_news
    };
    if (hocket__store_file_open(&o, &f.s, &err) < 0)
        fill_check(-1, err.message);
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (strcmp(line, "crash") == 0 || strcmp(line, "hold") == 0) {
            commit(&f, &loop);
            if (*line == 'c')
                _exit(0);
            puts("held");
            fflush(stdout);
        } else if (*line) {
            fill_line(&f, line);
        }
        if (f.seq % 100 == 99)
            commit(&f, &loop);
    }
    commit(&f, &loop);
    fill_end(&f);
    hocket__store_close(f.s, on_closed, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    return 0;
}
