/* What an embedding program pays: an idle host, a pump with nothing to do, conversations that wait,
 * the library's size. Prints a table; the exit status is 1 when a limit is missed. */

#include "beside.h"

#include <hocket/hocket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static size_t used;
static bool missed;

static void *counted(void *ud, void *p, size_t old_size, size_t new_size)
{
    (void) ud;
    used += new_size - (p ? old_size : 0);
    if (new_size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, new_size);
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e6 + (double) t.tv_nsec / 1e3;
}

static void row(const char *what, double value, double limit, const char *unit)
{
    bool over = value > limit;
    missed |= over;
    printf("%-44s %10.2f %10.2f  %-5s %s\n", what, value, limit, unit, over ? "MISSED" : "");
}

static hocket_host *open_host(void)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct hocket_error e;
    hocket_host *h;
    o.allocator.realloc_cb = counted;
    o.getenv_cb = bench_mock_variable;
    o.max_journal = 64 << 10; /* events are the run's, and no conversation's */
    if (hocket_open(&o, &h, &e) < 0) {
        fprintf(stderr, "%s\n", e.message);
        exit(2);
    }
    return h;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

/* The median of batches: one pump is too short for the clock. */
static double idle_pump(hocket_host *h)
{
    double batches[101];
    for (int i = 0; i < 101; i++) {
        double begin = now_us();
        for (int k = 0; k < 1000; k++)
            hocket_pump(h, 1000);
        batches[i] = (now_us() - begin) / 1000;
    }
    qsort(batches, 101, sizeof(batches[0]), by_size);
    return batches[50];
}

/* ---- Conversations that wait --------------------------------------------------------------- */

#define OPENED 10000
#define SPOKEN 3000

/* As a script's writer makes them. It says where it is, with nothing left to collect, by an event, and waits until that was
 * told. */
static const char script[] =
    "local hocket = require 'hocket'\n"
    "local step = hocket.tool { name = 'step', description = 'Take one step', run = function() "
    "return 'done' end }\n"
    "local guide = hocket.agent { name = 'guide', tools = { step },\n"
    "  prompt = ('You are a careful worker who goes step by step and wastes no words. '):rep(10) "
    "}\n"
    "local opened, spoken, now = tonumber((...):match '^%d+'), tonumber((...):match '%d+$'), "
    "hocket.flow.now\n"
    "local kept = {}\n"
    "local function mark(name, value)\n"
    "  collectgarbage() collectgarbage()\n"
    "  hocket.events.emit('output', { text = ('%s %.3f'):format(name, value) })\n"
    "  hocket.flow.sleep(0.02)\n"
    "end\n"
    "assert(assert(hocket.conversation(guide)):send 'Go through all the steps.')\n"
    "mark('begin', 0)\n"
    "local begin = now()\n"
    "for i = 1, opened do kept[i] = assert(hocket.conversation(guide)) end\n"
    "mark('opened', (now() - begin) / opened * 1e6)\n"
    "local texts = 0\n"
    "for i = 1, spoken do\n"
    "  assert(kept[i]:send 'Go through all the steps.')\n"
    "  assert(#kept[i].history == 10)\n"
    "  texts = texts + #kept[i].history:lines()\n"
    "end\n"
    "mark('spoken', texts)\n"
    "return 'done'\n";

struct conversations {
    char text[512];
    int status;
    size_t begin, opened, spoken; /* bytes in use */
    double open_us, texts;
};

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct conversations *c = ud;
    const char *at = strstr(e->json, "\"text\":\"");
    (void) h;
    (void) run;
    if (strcmp(e->type, "output") != 0 || !at)
        return;
    if (sscanf(at, "\"text\":\"opened %lf", &c->open_us) == 1)
        c->opened = used;
    else if (sscanf(at, "\"text\":\"spoken %lf", &c->texts) == 1)
        c->spoken = used;
    else
        c->begin = used;
}

static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct conversations *c = ud;
    (void) h;
    (void) run;
    c->status = r->status;
    snprintf(c->text, sizeof(c->text), "%s", r->error ? r->error->message : r->text);
}

static void run_script(hocket_host *h, struct conversations *c)
{
    char path[] = "/tmp/hocket-bench-XXXXXX.lua", input[32];
    int fd = mkstemps(path, 4);
    struct hocket_error e;
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = path, .input = input };
    spec.options = "{\"model\":\"openai/tools-4\"}";
    snprintf(input, sizeof(input), "%d %d", OPENED, SPOKEN);
    if (fd < 0 || write(fd, script, strlen(script)) < 0)
        exit(2);
    close(fd);
    if (hocket_run_start(h, &spec, NULL, on_event, on_done, c, &e) < 0)
        exit(2);
    while (hocket_wait(h, -1) > 0) {
    }
    unlink(path);
}

static double kib(size_t from, size_t to, int n)
{
    return ((double) to - (double) from) / n / 1024;
}

static void conversations(hocket_host *h)
{
    struct conversations c = { .status = 1 };
    run_script(h, &c);
    if (c.status != 0) {
        printf("conversations: %s\n", c.text);
        missed = true;
        return;
    }
    row("10000 conversations, opened: memory of each", kib(c.begin, c.opened, OPENED), 1.5, "KiB");
    row("10000 conversations: to open one", c.open_us, 5, "us");
    row("3000 of 10 messages: each, beside its texts",
        kib(c.opened + (size_t) c.texts, c.spoken, SPOKEN) + kib(c.begin, c.opened, OPENED), 4,
        "KiB");
}

/* Library and program stand one directory above this one. */
static void stripped_size(const char *name, double most)
{
    char self[512], command[1600], title[64], path[] = "/tmp/hocket-bench-XXXXXX";
    struct stat st;
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    int fd = mkstemp(path);
    if (n < 0 || fd < 0)
        return;
    self[n] = 0;
    *strrchr(self, '/') = 0;
    close(fd);
    snprintf(command, sizeof(command), "strip -o %s %s/../%s 2>/dev/null", path, self, name);
    snprintf(title, sizeof(title), "%s, stripped", name);
    if (system(command) == 0 && stat(path, &st) == 0)
        row(title, (double) st.st_size / 1000, most, "kB");
    unlink(path);
}

int main(void)
{
    printf("%-44s %10s %10s\n", "embedding", "measured", "limit");
    size_t before = used;
    hocket_host *h = open_host();
    row("an idle host: memory", (double) (used - before) / 1024, 256, "KiB");
    row("a pump with nothing to do", idle_pump(h), 5, "us");
    bench_mock_start();
    conversations(h);
    bench_mock_stop();
    hocket_close(h, NULL, NULL);
    stripped_size("libhocket.so", 1600);
    stripped_size("hocket", 3145.7); /* 3 MiB */
    return missed;
}
