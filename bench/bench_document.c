/* What a write costs as the document grows, and what it costs to look at an
 * old version.
 *
 * A write is measured on documents that hold 10, 100, … 100,000 entries in 40
 * slots: the time of a batch of appends (a tenth of the entries, 5 to 2000),
 * with the record built and given to a callback. Flat is what is promised, so each line shows the
 * ratio to the smallest. A rendering of version k is compared with the other way to have it:
 * a new document that replays the first k records and renders itself. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/document/document.h"

#define DAYS         8
#define TIMES        5
#define APPENDS      20000 /* measured per size */
#define CONTENT      "Breakfast at the corner: coffee, two pastéis de nata, and a look at the map."
#define REPLAY_SIZE  10000
#define REPLAY_ROUND 20

static const struct hocket__str times[TIMES] = { HOCKET__STR("general"), HOCKET__STR("morning"),
    HOCKET__STR("afternoon"), HOCKET__STR("evening"), HOCKET__STR("night") };

static const struct hocket__dimension dims[] = {
    { .name = HOCKET__STR("day"), .kind = HOCKET__DIMENSION_INTEGER },
    { .name = HOCKET__STR("time_slot"),
        .kind = HOCKET__DIMENSION_NAME,
        .values = times,
        .value_count = TIMES },
};

/* The records of a document, one after the other. */
struct records {
    struct hocket__buf text;
    size_t ends[REPLAY_SIZE], count;
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_document: %s failed\n", what);
        exit(1);
    }
}

static int look(const char *type, struct hocket__str agent, struct hocket__str payload,
    struct hocket_error *err, void *ud)
{
    *(size_t *) ud += payload.n;
    return 0;
}

static int keep(const char *type, struct hocket__str agent, struct hocket__str payload,
    struct hocket_error *err, void *ud)
{
    struct records *r = ud;
    hocket__buf_addf(&r->text, "{\"type\":\"%s\",", type);
    hocket__buf_add(&r->text, payload.p + 1, payload.n - 1);
    r->ends[r->count++] = r->text.len;
    return r->text.status;
}

static struct hocket__document *open_document(hocket__emit_cb emit, void *ud)
{
    struct hocket__document *d;
    struct hocket__document_options o = hocket__document_options_default();
    o.dims = dims;
    o.dim_count = 2;
    o.max_entries = o.max_versions = 1000000;
    o.max_bytes = (size_t) 1 << 30;
    o.emit = emit;
    o.ud = ud;
    must(hocket__document_new(&hocket__malloc, &o, &d, NULL) == 0, "opening");
    return d;
}

static void append(struct hocket__document *d, int i)
{
    struct hocket__slot slot = { { i / TIMES % DAYS, i % TIMES } };
    must(hocket__document_append(
             d, &slot, HOCKET__STR("food"), HOCKET__STR(CONTENT), 1795251600123, NULL)
             > 0,
        "appending");
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static double one_batch(int size, int batch, size_t *bytes)
{
    struct hocket__document *d = open_document(look, bytes);
    for (int i = 0; i < size; i++)
        append(d, i);
    int64_t begin = now_ns();
    for (int i = 0; i < batch; i++)
        append(d, size + i);
    int64_t end = now_ns();
    hocket__document_free(d);
    return (double) (end - begin) / batch;
}

/* Nanoseconds per append at `size` entries: the median of many batches, so that other
 * work on the machine does not count. */
static double append_cost(int size)
{
    static double costs[APPENDS];
    int batch = size / 10 < 5 ? 5 : size / 10 > 2000 ? 2000 : size / 10;
    int rounds = APPENDS / batch;
    size_t bytes = 0;
    for (int i = 0; i < rounds; i++)
        costs[i] = one_batch(size, batch, &bytes);
    must(bytes > 0, "recording");
    qsort(costs, (size_t) rounds, sizeof(*costs), compare);
    return costs[rounds / 2];
}

static void bench_appends(void)
{
    double smallest = 0;
    printf("document: one append\n%10s %10s %8s\n", "entries", "ns", "ratio");
    append_cost(1000); /* warms up */
    for (int size = 10; size <= 100000; size *= 10) {
        double cost = append_cost(size);
        if (size == 10)
            smallest = cost;
        printf("%10d %10.0f %8.2f\n", size, cost, cost / smallest);
    }
}

static void render(struct hocket__document *d, int64_t version, struct hocket__buf *out)
{
    hocket__buf_reset(out);
    must(hocket__document_render(d, version, HOCKET__RENDER_TAGGED, out, NULL) == 0, "rendering");
}

static void replay(struct records *r, int k, struct hocket__buf *out)
{
    struct hocket__document *d = open_document(NULL, NULL);
    for (size_t i = 0, from = 0; i < (size_t) k; from = r->ends[i++])
        must(hocket__document_replay(d, hocket__str(r->text.data + from, r->ends[i] - from), NULL)
                 == 1,
            "replaying");
    render(d, 0, out);
    hocket__document_free(d);
}

static void bench_versions(void)
{
    struct records *r = calloc(1, sizeof(*r));
    struct hocket__buf direct, again;
    must(r != NULL, "memory");
    hocket__buf_init(&r->text, &hocket__malloc, 0);
    hocket__buf_init(&direct, &hocket__malloc, 0);
    hocket__buf_init(&again, &hocket__malloc, 0);
    struct hocket__document *d = open_document(keep, r);
    for (int i = 0; i < REPLAY_SIZE; i++)
        append(d, i);
    printf("\ndocument: version k of %d\n%10s %12s %12s %8s\n", REPLAY_SIZE, "k", "render us",
        "replay us", "ratio");
    for (int k = 10; k <= REPLAY_SIZE; k *= 10) {
        int64_t begin = now_ns();
        for (int i = 0; i < REPLAY_ROUND; i++)
            render(d, k, &direct);
        int64_t middle = now_ns();
        for (int i = 0; i < REPLAY_ROUND; i++)
            replay(r, k, &again);
        int64_t end = now_ns();
        must(hocket__str_eq(hocket__buf_str(&direct), hocket__buf_str(&again)), "comparing");
        printf("%10d %12.1f %12.1f %8.1f\n", k, (double) (middle - begin) / REPLAY_ROUND / 1000,
            (double) (end - middle) / REPLAY_ROUND / 1000,
            (double) (end - middle) / (double) (middle - begin));
    }
    hocket__document_free(d);
    hocket__buf_deinit(&r->text);
    hocket__buf_deinit(&direct);
    hocket__buf_deinit(&again);
    free(r);
}

int main(void)
{
    bench_appends();
    bench_versions();
    return 0;
}
