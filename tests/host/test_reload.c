/* Agents that change while runs go on: a run that begins is always well, whatever half of a file
 * stands there at that moment, and a save is live soon. */

#include "host/run_util.h"

#include <time.h>

/* More than anybody should wait for a save, on a machine that does much else; emulated ones are slower. */
#define SLOWEST_MS (2000 * slower())
#define AT_ONCE    4

static int slower(void)
{
    const char *times = getenv("HOCKET_TEST_SLOWER");
    return times && atoi(times) > 1 ? atoi(times) : 1;
}

static const char whole[] =
    "---\nname: main\ndescription: Does things\nmax_turns: 3\nmodel: sim\n---\n"
    "You answer in one line, and shortly.\n";

struct bench {
    hocket_host *h;
    char dir[TEST_TEMP_PATH], path[TEST_TEMP_PATH + 16];
    int watching, reloads, failures, going, ended, failed;
    uint64_t generations; /* one bit for each that a run has had */
    char last[64];        /* type of the last event of a run */
    char error[512];
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

/* Not in one step, as an editor does it that does not take care. */
static void save(const struct bench *b, const char *text, size_t n)
{
    FILE *f = fopen(b->path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void on_watch(hocket_host *h, uint64_t id, const struct hocket_event *e, void *ud)
{
    struct bench *b = ud;
    (void) h;
    (void) id;
    b->watching += strcmp(e->type, "agent_watch") == 0;
    b->reloads += strcmp(e->type, "agent_reloaded") == 0;
    b->failures += strcmp(e->type, "agent_reload_failed") == 0;
}

/* Each event of a run says which state of its files it works with, and always the same. */
static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct bench *b = ud;
    const char *at = strstr(e->json, "\"generation\":");
    (void) h;
    (void) run;
    assert_non_null(at);
    snprintf(b->last, sizeof(b->last), "%s", e->type);
    b->generations |= UINT64_C(1) << (strtoull(at + strlen("\"generation\":"), NULL, 10) & 63);
}

static void on_run_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct bench *b = ud;
    (void) h;
    (void) run;
    b->going--;
    b->ended++;
    if (r->status == HOCKET_OK)
        return;
    b->failed++;
    snprintf(b->error, sizeof(b->error), "%s", r->error->message);
}

static void keep_going(struct bench *b)
{
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = b->dir, .input = "Hello" };
    struct hocket_error e;
    while (b->going < AT_ONCE) {
        if (hocket_run_start(b->h, &spec, NULL, on_event, on_run_done, b, &e) < 0)
            fail_msg("%s", e.message);
        b->going++;
    }
}

static void open_bench(struct bench *b)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct hocket_error e;
    char args[TEST_TEMP_PATH + 32];
    *b = (struct bench){ 0 };
    assert_true(test_temp_dir(b->dir));
    snprintf(b->path, sizeof(b->path), "%s/main.md", b->dir);
    save(b, whole, strlen(whole));
    b->h = host_with(NULL, &o);
    snprintf(args, sizeof(args), "{\"path\":\"%s\"}", b->dir);
    assert_int_equal(hocket_call_start(b->h, "watch", args, NULL, on_watch, NULL, b, &e), 0);
    for (double until = now_ms() + 5 * SLOWEST_MS; !b->watching && now_ms() < until;)
        hocket_wait(b->h, 5);
    assert_int_equal(b->watching, 1);
}

static void close_bench(struct bench *b)
{
    hocket_close(b->h, NULL, NULL);
    unlink(b->path);
    rmdir(b->dir);
}

/* Until the next reload; in how many milliseconds. */
static double wait_for_reload(struct bench *b, int before)
{
    double from = now_ms();
    while (b->reloads == before && now_ms() - from < SLOWEST_MS)
        hocket_wait(b->h, 5);
    assert_int_equal(b->reloads, before + 1);
    return now_ms() - from;
}

static void test_truncated(void **state)
{
    struct bench b;
    (void) state;
    open_bench(&b);
    for (size_t cut = 0; cut <= strlen(whole); cut++) {
        save(&b, whole, cut);
        int told = b.reloads + b.failures;
        double from = now_ms(); /* 70 ms: longer than the moment of quiet that a reload waits for */
        while (now_ms() < from + 70
               || (b.reloads + b.failures == told && now_ms() < from + SLOWEST_MS / 4)) {
            keep_going(&b);
            hocket_wait(b.h, 5);
        }
    }
    while (b.going > 0)
        hocket_wait(b.h, 100);
    if (b.failed > 0)
        fail_msg("%d of %d runs failed: %s", b.failed, b.ended, b.error);
    assert_true(b.ended > 100);
    assert_true(b.failures > 10); /* some of the states were bad … */
    assert_true(b.reloads > 10);  /* … some good, and runs had them */
    assert_true(b.generations & (b.generations - 1));
    print_message(
        "%d runs, %d reloads, %d changes that were not taken\n", b.ended, b.reloads, b.failures);
    close_bench(&b);
}

static void test_save_to_live(void **state)
{
    struct bench b;
    double sum = 0, most = 0;
    char text[256];
    (void) state;
    open_bench(&b);
    for (int i = 0; i < 10; i++) {
        int n = snprintf(text, sizeof(text), "%sRound %d.\n", whole, i);
        save(&b, text, (size_t) n);
        double ms = wait_for_reload(&b, b.reloads);
        sum += ms;
        most = ms > most ? ms : most;
    }
    print_message("from a save to the event: %.0f ms, %.0f ms at most\n", sum / 10, most);
    close_bench(&b);
}

static void wait_for_event(struct bench *b, const char *type)
{
    for (int i = 0; i < 1000 && strcmp(b->last, type) != 0; i++)
        hocket_wait(b->h, 10);
    assert_string_equal(b->last, type);
}

/* A conversation stays with what it began with until it is told to reload. */
static void test_conversation(void **state)
{
    struct bench b;
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .input = "Hello", .options = "{\"conversation\":true}"
    };
    struct hocket_error e;
    uint64_t run;
    char text[256];
    (void) state;
    open_bench(&b);
    spec.target = b.dir;
    assert_int_equal(hocket_run_start(b.h, &spec, &run, on_event, on_run_done, &b, &e), 0);
    wait_for_event(&b, "input_requested");
    int n = snprintf(text, sizeof(text), "%sAnd in rhymes.\n", whole);
    save(&b, text, (size_t) n);
    wait_for_reload(&b, 0);
    assert_int_equal(b.generations, 1 << 1);
    assert_int_equal(hocket_run_change(b.h, run, "{\"reload\":true}", &e), 0);
    wait_for_event(&b, "agent_reloaded");
    assert_int_equal(b.generations, 1 << 1 | 1 << 2);
    close_bench(&b);
}

#define MANY       400
#define LONGEST_US 20000 /* many times what it takes; read and validated at once it would be more */
#define SLICE_US   1000

static double cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double) t.tv_sec * 1e6 + (double) t.tv_nsec / 1e3;
}

static void save_one(struct bench *b, int i, const char *prompt)
{
    char text[2048];
    snprintf(b->path, sizeof(b->path), "%s/a%d.md", b->dir, i);
    int n = snprintf(text, sizeof(text), "---\nname: a%d\nmodel: sim\n%s---\n%s\n", i,
        i == 0 ? "agents: [a1, a2]\n" : "", prompt);
    save(b, text, (size_t) n);
}

/* Many agents are read and validated in slices: no pump takes much longer than it may. */
static void test_slices(void **state)
{
    struct bench b = { 0 };
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct hocket_error e;
    char args[TEST_TEMP_PATH + 32];
    double longest = 0;
    (void) state;
    assert_true(test_temp_dir(b.dir));
    for (int i = 0; i < MANY; i++)
        save_one(&b, i, "You answer in one line.");
    b.h = host_with(NULL, &o);
    snprintf(args, sizeof(args), "{\"path\":\"%s/a0.md\"}", b.dir);
    assert_int_equal(hocket_call_start(b.h, "watch", args, NULL, on_watch, NULL, &b, &e), 0);
    for (int round = 0; round < 3; round++) {
        double until = now_ms() + 5 * SLOWEST_MS;
        const int *done = round == 0 ? &b.watching : &b.reloads;
        int before = *done;
        for (int i = 0; i < (round == 0 ? 0 : round == 1 ? 1 : MANY); i++)
            save_one(&b, i, round == 1 ? "You answer shortly." : "You answer at length.");
        while (now_ms() < until && *done == before && b.failures == 0) {
            double us = cpu_us();
            hocket_pump(b.h, SLICE_US);
            us = cpu_us() - us;
            longest = us > longest && round > 0 ? us : longest; /* the first reads scripts, too */
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        }
        assert_int_equal(b.failures, 0);
        assert_true(*done > before);
    }
    print_message("the longest pump: %.2f ms\n", longest / 1000);
    assert_true(longest < LONGEST_US);
    hocket_close(b.h, NULL, NULL);
    for (int i = 0; i < MANY; i++) {
        snprintf(b.path, sizeof(b.path), "%s/a%d.md", b.dir, i);
        unlink(b.path);
    }
    rmdir(b.dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_save_to_live),
        cmocka_unit_test(test_conversation),
        cmocka_unit_test(test_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
