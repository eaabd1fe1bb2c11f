/* Thread mode in a frame loop: 1,000 streams (or `--streams N`) of 100 pieces a second each, and a budget of 1 ms for
 * each of 60 frames a second. Prints how long the pumps took while all streams were under way, by
 * the clock and in CPU time of the thread (on a machine that does other things the clock counts
 * those too), and whether all text arrived. The frames in which they start and end are told
 * apart. The exit status is 1 when a limit is missed.
 *
 *   bench_frames [--quick] [--agents] [--no-thread] [--streams N] [--reload]
 *
 * --reload: meanwhile a directory of 100 agents is watched, and one of them is saved every second.
 * --agents: whole agents and not model calls alone. There the longest pump is Lua's collector,
 * which looks at all coroutines in one step: some 0.4 us for each, and an agent has two; at the
 * very end it is the result, which tells what each of the thousand has used.
 * --no-thread: the same inside of the pump. Neither has limits. */

#include "beside.h"

#include <hocket/hocket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_PUMPS 20000
#define BUDGET_US 1000
#define AGENTS    100
#define FRAME_NS  16666667

static char dir[64];
static int streams = 1000;

struct state {
    double wall[MAX_PUMPS], cpu[MAX_PUMPS]; /* with all streams under way */
    int pumps;
    int others; /* before and after */
    double first, longest_other;
    uint64_t events, deltas, streamed;
    int done, status, saved, reloads;
    char text[512];
};

static double now_us(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double) t.tv_sec * 1e6 + (double) t.tv_nsec / 1e3;
}

/* A delta's text has no escapes here: its length is what stands between the quotes. */
static size_t text_length(const struct hocket_event *e)
{
    const char *at = strstr(e->json, "\"text\":\"");
    return at ? e->json_len - (size_t) (at - e->json) - strlen("\"text\":\"") - 2 : 0;
}

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct state *s = ud;
    (void) h;
    (void) run;
    s->events++;
    if (strcmp(e->type, "model_delta") == 0) {
        s->deltas++;
        s->streamed += text_length(e);
    }
}

static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct state *s = ud;
    (void) h;
    (void) run;
    s->done = 1;
    s->status = r->status;
    snprintf(s->text, sizeof(s->text), "%s", r->error ? r->error->message : r->text);
}

/* ---- Agents that change meanwhile -------------------------------------------------------- */

static void save_agent(int n, int version)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/agent_%d.md", dir, n);
    FILE *f = fopen(path, "w");
    if (!f)
        exit(2);
    fprintf(
        f, "---\nname: agent_%d\nmodel: sim\n---\nYou are agent %d, version %d.\n", n, n, version);
    fclose(f);
}

static void on_watch(hocket_host *h, uint64_t id, const struct hocket_event *e, void *ud)
{
    struct state *s = ud;
    (void) h;
    (void) id;
    s->reloads += strcmp(e->type, "agent_reloaded") == 0;
}

static void start_watch(hocket_host *h, struct state *s)
{
    char args[128];
    strcpy(dir, "/tmp/hocket-bench-XXXXXX"); /* what lies around a team is looked at, too */
    if (!mkdtemp(dir) || mkdir(strcat(dir, "/team"), 0700) < 0)
        exit(2);
    for (int i = 0; i < AGENTS; i++)
        save_agent(i, 0);
    snprintf(args, sizeof(args), "{\"path\":\"%s\"}", dir);
    if (hocket_call_start(h, "watch", args, NULL, on_watch, NULL, s, NULL) < 0)
        exit(2);
}

static void end_watch(void)
{
    char path[128];
    for (int i = 0; i < AGENTS; i++) {
        snprintf(path, sizeof(path), "%s/agent_%d.md", dir, i);
        unlink(path);
    }
    rmdir(dir);
    *strrchr(dir, '/') = 0;
    rmdir(dir);
}

/* ---- Frames --------------------------------------------------------------------------------- */

static void frames(hocket_host *h, struct state *s)
{
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    double saved = now_us(CLOCK_MONOTONIC);
    while (!s->done && s->pumps < MAX_PUMPS) {
        struct hocket_host_stats stats = { .size = sizeof(stats) };
        hocket_stats(h, &stats);
        double wall = now_us(CLOCK_MONOTONIC), cpu = now_us(CLOCK_THREAD_CPUTIME_ID);
        hocket_pump(h, BUDGET_US);
        cpu = now_us(CLOCK_THREAD_CPUTIME_ID) - cpu;
        wall = now_us(CLOCK_MONOTONIC) - wall;
        if (stats.requests == (size_t) streams) {
            s->cpu[s->pumps] = cpu;
            s->wall[s->pumps++] = wall;
        } else {
            s->first = s->others++ == 0 ? cpu : s->first;
            s->longest_other = cpu > s->longest_other ? cpu : s->longest_other;
        }
        if (dir[0] && now_us(CLOCK_MONOTONIC) - saved > 1e6) {
            saved = now_us(CLOCK_MONOTONIC);
            s->saved++;
            save_agent(s->saved % AGENTS, s->saved);
        }
        next.tv_nsec += FRAME_NS;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static bool row(const char *what, double value, double limit, const char *unit)
{
    bool over = limit > 0 && value > limit;
    if (limit > 0)
        printf("%-44s %10.2f %10.2f  %-3s %s\n", what, value, limit, unit, over ? "MISSED" : "");
    else
        printf("%-44s %10.2f %10s  %s\n", what, value, "", unit);
    return over;
}

static bool report(struct state *s, bool threaded, bool agents)
{
    int n = s->pumps;
    if (n == 0) {
        printf("frames: the streams were never all under way: %s\n", s->text);
        return true;
    }
    bool missed = s->status != 0 || (dir[0] && s->reloads < s->saved - 2)
                  || (agents && strtoull(s->text, NULL, 10) != s->streamed),
         judged = threaded && !agents;
    qsort(s->wall, (size_t) n, sizeof(s->wall[0]), by_size);
    qsort(s->cpu, (size_t) n, sizeof(s->cpu[0]), by_size);
    printf("%-44s %10s %10s\n", threaded ? "frames, with a thread" : "frames, without a thread",
        "measured", "limit");
    row("a pump, 99 of 100, by the clock", s->wall[n * 99 / 100] / 1000, 0, "ms");
    missed |= row("the longest pump, CPU time", s->cpu[n - 1] / 1000, judged ? 2 : 0, "ms");
    row("the longest pump, by the clock", s->wall[n - 1] / 1000, 0, "ms");
    missed |=
        row("a pump, 99 of 100, CPU time", s->cpu[n * 99 / 100] / 1000, judged ? 1.1 : 0, "ms");
    row("a pump, half of them", s->wall[n / 2] / 1000, 0, "ms");
    row("frames with all streams", n, 0, "");
    row("streams", streams, 0, "");
    if (dir[0])
        row("reloads meanwhile", s->reloads, 0, "");
    missed |= row("the first pump, CPU time", s->first / 1000, judged ? 2 : 0, "ms");
    row("frames before and after", s->others, 0, "");
    row("the longest of those, CPU time", s->longest_other / 1000, 0, "ms");
    if (agents)
        row("texts told", (double) s->deltas, 0, "");
    printf("%-44s %10s %s\n", s->status ? "FAILED" : "bytes of text, all of which arrived", s->text,
        missed && s->status == 0 && agents && strtoull(s->text, NULL, 10) != s->streamed
            ? "NOT ALL ARRIVED"
            : "");
    return missed;
}

/* Model calls alone: one fiber for each stream. */
static const char streams_script[] =
    "local hocket = require 'hocket'\n"
    "local model = assert(hocket.model.resolve 'openai/chunks-%d-gap-10000')\n"
    "local list, streamed, total = {}, 0, 0\n"
    "for i = 1, %d do list[i] = i end\n"
    "local replies, errors = hocket.flow.map(list, function()\n"
    "  local history = hocket.llm.history()\n"
    "  history:user 'go'\n"
    "  return hocket.llm.call(model, history, {}, function(_, text) streamed = streamed + #text "
    "end)\n"
    "end)\n"
    "for i in ipairs(list) do total = total + #assert(replies[i], errors[i] and "
    "errors[i].message).text end\n"
    "assert(streamed == total, 'not all text was handed over')\n"
    "return ('%%d'):format(total)";

/* Whole agents: a job of the broker, a session, some four fibers for each; their text as events. */
static const char agents_script[] =
    "local hocket = require 'hocket'\n"
    "local a = hocket.agent { name = 'a', prompt = 'p', model = 'openai/chunks-%d-gap-10000' }\n"
    "local list, total = {}, 0\n"
    "for i = 1, %d do list[i] = i end\n"
    "local replies, errors = hocket.flow.map(list, function() return hocket.run(a, 'go') end)\n"
    "for i in ipairs(list) do total = total + #assert(replies[i], errors[i] and "
    "errors[i].message).text end\n"
    "return ('%%d'):format(total)";

int main(int argc, char **argv)
{
    static struct state s;
    bool quick = false, threaded = true, agents = false, reload = false;
    char path[] = "/tmp/hocket-bench-XXXXXX.lua", text[2048];
    for (int i = 1; i < argc; i++) {
        quick |= strcmp(argv[i], "--quick") == 0;
        threaded &= strcmp(argv[i], "--no-thread") != 0;
        agents |= strcmp(argv[i], "--agents") == 0;
        reload |= strcmp(argv[i], "--reload") == 0;
        if (strcmp(argv[i], "--streams") == 0 && i + 1 < argc)
            streams = atoi(argv[++i]);
    }
    bench_mock_start();
    int n = snprintf(
        text, sizeof(text), agents ? agents_script : streams_script, quick ? 600 : 1500, streams);
    int fd = mkstemps(path, 4);
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct hocket_error e;
    hocket_host *h;
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = path, .options = "{\"deltas\":true}"
    };
    o.thread = threaded;
    o.getenv_cb = bench_mock_variable;
    if (fd < 0 || write(fd, text, (size_t) n) != n || hocket_open(&o, &h, &e) < 0
        || hocket_prepare(h, &e) < 0
        || hocket_run_start(h, &spec, NULL, on_event, on_done, &s, &e) < 0)
        return 2;
    close(fd);
    if (reload)
        start_watch(h, &s);
    frames(h, &s);
    hocket_close(h, NULL, NULL);
    unlink(path);
    if (reload)
        end_watch();
    bench_mock_stop();
    return report(&s, threaded, agents);
}
