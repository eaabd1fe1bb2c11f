/* The broker: microseconds per job (submit, start, complete, forget) with 1,
 * 1,000 and 100,000 jobs queued, and bytes per queued job, once as the
 * allocator counts them and once as the process's memory grows.
 *
 * The jobs are spread over 10 runs, 10 agents and 3 providers, each with a limit. */
#include "core/broker/broker.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 200000

static size_t live;

static void *count_cb(void *ud, void *ptr, size_t old_size, size_t new_size)
{
    (void) ud;
    live += new_size - old_size;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, new_size);
}

static const struct hocket_allocator counting = { count_cb, NULL };

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e6 + (double) t.tv_nsec / 1e3;
}

static long resident_bytes(void)
{
    long total, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &total, &pages) != 2)
        pages = 0;
    if (f)
        fclose(f);
    return pages * 4096;
}

static void check(int rc)
{
    if (rc < 0) {
        fprintf(stderr, "failed: %s\n", hocket_status_text(rc));
        exit(1);
    }
}

static uint64_t submit(struct hocket__broker *b, uint64_t i)
{
    static const char *const agents[] = { "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8",
        "a9" };
    static const char *const providers[] = { "openai", "anthropic", "gemini" };
    struct hocket__job_spec spec = hocket__job_spec_default();
    uint64_t id = 0;
    spec.run = 1 + i % 10;
    spec.agent = hocket__cstr(agents[i / 10 % 10]);
    spec.provider = hocket__cstr(providers[i / 10 % 3]);
    spec.data = HOCKET__STR("{\"prompt\":\"\"}");
    check(hocket__broker_submit(b, &spec, 1, 0, &id, NULL));
    return id;
}

static void one_job(struct hocket__broker *b, uint64_t i)
{
    struct hocket__claim claim;
    submit(b, i);
    if (!hocket__broker_next(b, 0, &claim))
        exit(1);
    uint64_t id = claim.job->id;
    check(
        hocket__broker_complete(b, id, claim.fence, 0, HOCKET__STR("null"), HOCKET__STR(""), NULL));
    check(hocket__broker_forget(b, id, NULL));
}

static void run(size_t queued)
{
    struct hocket__broker *b;
    long resident = resident_bytes();
    live = 0;
    check(hocket__broker_new(&counting, NULL, NULL, &b));
    for (int i = 0; i < 10; i++)
        check(hocket__broker_limit(
            b, HOCKET__LIMIT_AGENT, hocket__str((char[]){ 'a', (char) ('0' + i) }, 2), 8));
    size_t before = live;
    for (size_t i = 1; i < queued; i++)
        submit(b, i);
    size_t bytes = live - before;
    resident = resident_bytes() - resident;
    double start = now_us();
    for (uint64_t i = 0; i < ROUNDS; i++)
        one_job(b, i);
    double us = (now_us() - start) / ROUNDS;
    printf("%8zu queued: %.3f us per job", queued, us);
    if (queued > 1)
        printf(", %zu bytes per queued job (%ld resident)", bytes / (queued - 1),
            resident / (long) (queued - 1));
    printf("\n");
    hocket__broker_free(b);
}

int main(void)
{
    run(1);
    run(1000);
    run(100000);
    return 0;
}
