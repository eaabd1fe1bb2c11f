/* Any rows as an exported run, under a checksum that fits: it is refused, or a store takes it and gives
 * it back as the same run. */
#include "store/export.h"

#include "base/hash/hash.h"

#include <stdlib.h>
#include <uv.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                                                    \
    do {                                                                                           \
        if (!(x))                                                                                  \
            abort();                                                                               \
    } while (0)

struct waiting {
    struct hocket__store_wait wait;
    int told, status;
};

static void on_kept(struct hocket__store_wait *w, int status, const struct hocket_error *err)
{
    struct waiting *waiting = hocket__container_of(w, struct waiting, wait);
    (void) err;
    waiting->told++;
    waiting->status = status;
}

static int on_bytes(void *ud, struct hocket__str bytes)
{
    return hocket__buf_addstr(ud, bytes);
}

static void on_done(void *ud, int status, const struct hocket_error *err)
{
    (void) ud, (void) err;
    MUST(status == 0);
}

static void close_export(struct hocket__buf *b)
{
    uint8_t digest[HOCKET__SHA256];
    hocket__sha256(hocket__buf_str(b), digest);
    hocket__buf_lit(b, "\xff\x20\0\0\0");
    hocket__buf_add(b, (const char *) digest, sizeof(digest));
}

/* Once around: what comes back is what went in, but for fields that are the store's. */
static void around(struct hocket__store *s, uv_loop_t *loop, struct hocket__str bytes)
{
    struct hocket__store_claim claim;
    struct hocket_error err;
    struct hocket__buf out;
    struct hocket__store_run in_run, out_run;
    struct hocket__str in = bytes;
    hocket__buf_init(&out, &hocket__malloc, 0);
    MUST(hocket__store_export_read(&in, &in_run, &err) == 0);
    MUST(hocket__store_import(s, bytes, NULL, &claim, &err) == 0);
    struct waiting w = { .wait.done = on_kept };
    hocket__store_commit(s, &claim, HOCKET__STORE_WRITTEN, &w.wait);
    uv_run(loop, UV_RUN_DEFAULT);
    MUST(w.told == 1 && w.status == 0);
    struct hocket__store_sink sink = { .write = on_bytes, .done = on_done, .ud = &out };
    MUST(hocket__store_export(s, hocket__cstr(claim.id), &sink) == 0);
    uv_run(loop, UV_RUN_DEFAULT);
    in = hocket__buf_str(&out);
    MUST(hocket__store_export_read(&in, &out_run, &err) == 0 && in.n == 0);
    MUST(out_run.last_n == in_run.last_n && hocket__str_eq(out_run.target, in_run.target));
    hocket__buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hocket__buf b;
    struct hocket_error err;
    struct hocket__store *s;
    struct hocket__store_claim claim;
    uv_loop_t loop;
    MUST(uv_loop_init(&loop) == 0);
    struct hocket__store_options o = { .alloc = &hocket__malloc, .loop = &loop };
    MUST(hocket__store_memory_open(&o, &s, &err) == 0);
    hocket__buf_init(&b, &hocket__malloc, 0);
    hocket__buf_lit(&b, "hocket run 1\n");
    if (size > 0)
        hocket__buf_add(&b, (const char *) data, size);
    MUST(hocket__store_import(s, hocket__buf_str(&b), NULL, &claim, &err) < 0);
    close_export(&b);
    struct hocket__str in = hocket__buf_str(&b);
    if (hocket__store_export_read(&in, NULL, &err) == 0 && in.n == 0)
        around(s, &loop, hocket__buf_str(&b));
    hocket__store_close(s, NULL, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    MUST(uv_loop_close(&loop) == 0);
    hocket__buf_deinit(&b);
    return 0;
}
