/* Reload in slices: a directory of many agents is watched, each pump has 1 ms. Prints, for one file that
 * is saved and for all of them, how long the longest pump took, in CPU time of the thread, and how much
 * CPU time the whole process needed until the change was live. The exit status is 1 when a limit is
 * missed.
 *
 *   bench_reload [AGENTS…]    1000 and 5000 */

#include <hocket/hocket.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUDGET_US 1000

static char dir[64];

struct state {
    int reloads, failures, ready;
    double longest;
};

static double cpu_us(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double) t.tv_sec * 1e6 + (double) t.tv_nsec / 1e3;
}

/* Each but the first is named by the first of its ten. */
static void save(int n, int agents, int version)
{
    char path[128], below[512] = "";
    size_t used = 0;
    snprintf(path, sizeof(path), "%s/agent_%d.md", dir, n);
    FILE *f = fopen(path, "w");
    if (!f)
        exit(2);
    for (int i = n * 10 + 1; i <= n * 10 + 10 && i < agents; i++)
        used += (size_t) snprintf(
            below + used, sizeof(below) - used, "%sagent_%d", used ? ", " : "", i);
    fprintf(f,
        "---\nname: agent_%d\ndescription: Knows its part of the work\nmodel: sim\nmax_turns: 8\n"
        "temperature: 0.4\n%s%s%s---\nYou are agent %d of a team, version %d.\n",
        n, used ? "agents: [" : "", below, used ? "]\n" : "", n, version);
    for (int i = 0; i < 20; i++)
        fprintf(f, "%d. Do what you are asked for, shortly, and say what you do not know.\n", i);
    fclose(f);
}

static void on_event(hocket_host *h, uint64_t id, const struct hocket_event *e, void *ud)
{
    struct state *s = ud;
    (void) h;
    (void) id;
    s->ready += strcmp(e->type, "agent_watch") == 0;
    s->reloads += strcmp(e->type, "agent_reloaded") == 0;
    s->failures += strcmp(e->type, "agent_reload_failed") == 0;
    if (strcmp(e->type, "agent_reload_failed") == 0)
        fprintf(stderr, "%.*s\n", (int) e->json_len, e->json);
}

static void on_done(hocket_host *h, uint64_t id, const struct hocket_result *r, void *ud)
{
    (void) h;
    (void) id;
    (void) ud;
    if (r->error && r->status != HOCKET_ECANCELLED)
        fprintf(stderr, "%s\n", r->error->message);
}

static void pump(hocket_host *h, struct state *s)
{
    double us = cpu_us(CLOCK_THREAD_CPUTIME_ID);
    hocket_pump(h, BUDGET_US);
    us = cpu_us(CLOCK_THREAD_CPUTIME_ID) - us;
    s->longest = us > s->longest ? us : s->longest;
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static bool row(const char *what, int agents, double value, double limit, const char *unit)
{
    bool over = limit > 0 && value > limit;
    if (limit > 0)
        printf("%5d agents: %-36s %10.2f %10.2f  %-3s %s\n", agents, what, value, limit, unit,
            over ? "MISSED" : "");
    else
        printf("%5d agents: %-36s %10.2f %10s  %s\n", agents, what, value, "", unit);
    return over;
}

/* Until `done` is more than it was. `limit`: of the CPU time, in ms; 0 for none. */
static bool measure(
    hocket_host *h, struct state *s, int agents, const int *done, const char *what, double limit)
{
    int before = *done;
    char text[64];
    s->longest = 0;
    double cpu = cpu_us(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < 20000 && *done == before && s->failures == 0; i++)
        pump(h, s);
    cpu = cpu_us(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    if (*done == before)
        return printf("%5d agents: %s: it was never live\n", agents, what), true;
    snprintf(text, sizeof(text), "%s, the longest pump", what);
    bool missed = row(text, agents, s->longest / 1000, agents <= 1000 ? 2 : 0, "ms");
    snprintf(text, sizeof(text), "%s, CPU time in all", what);
    return row(text, agents, cpu / 1000, limit, "ms") || missed;
}

static bool measure_all(int agents)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct hocket_error e;
    struct state s = { 0 };
    hocket_host *h;
    char args[128];
    bool missed = false;
    strcpy(dir, "/tmp/hocket-bench-XXXXXX"); /* what lies around a team is looked at, too */
    if (!mkdtemp(dir) || mkdir(strcat(dir, "/team"), 0700) < 0)
        exit(2);
    for (int i = 0; i < agents; i++)
        save(i, agents, 1);
    o.thread = true;
    snprintf(args, sizeof(args), "{\"path\":\"%s\"}", dir);
    if (hocket_open(&o, &h, &e) < 0
        || hocket_call_start(h, "watch", args, NULL, on_event, on_done, &s, &e) < 0)
        exit(2);
    missed |= measure(h, &s, agents, &s.ready, "at first", 0);
    save(agents / 2, agents, 2);
    missed |= measure(h, &s, agents, &s.reloads, "one is saved", 0.06 * agents);
    for (int i = 0; i < agents; i++)
        save(i, agents, 3);
    missed |= measure(h, &s, agents, &s.reloads, "all are saved", 0);
    hocket_close(h, NULL, NULL);
    for (int i = 0; i < agents; i++) {
        snprintf(args, sizeof(args), "%s/agent_%d.md", dir, i);
        unlink(args);
    }
    rmdir(dir);
    *strrchr(dir, '/') = 0;
    rmdir(dir);
    return missed;
}

int main(int argc, char **argv)
{
    static const int usual[] = { 1000, 5000 };
    bool missed = false, quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
    bool given = argc > 1 && !quick;
    int n = given ? argc - 1 : quick ? 1 : 2;
    printf("%-49s %10s %10s\n", "reload, with 1 ms for each pump", "measured", "limit");
    for (int i = 0; i < n; i++)
        missed |= measure_all(given ? atoi(argv[i + 1]) : usual[i]);
    return missed;
}
