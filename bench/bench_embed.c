/* What an embedding program pays: an idle host, a pump with nothing to do, sessions that wait,
 * the library's size. Prints a table; the exit status is 1 when a limit is missed. */

#include <hocket/hocket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SESSIONS "10000"

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

struct sessions {
    char text[512];
    int status;
};

static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct sessions *s = ud;
    (void) h;
    (void) run;
    s->status = r->status;
    snprintf(s->text, sizeof(s->text), "%s", r->error ? r->error->message : r->text);
}

/* The script keeps them in a table of the state, and says how many microseconds each took. */
static const char make_sessions[] =
    "local session, llm, now = require 'hocket.session', require 'hocket.llm', "
    "require('hocket.flow').now\n"
    "local model = { id = 'x/y' }\n"
    "local spec = { model = model, system = 'You wait.' }\n"
    "local kept, best = {}, 1e9\n"
    "local answer = [[{\"role\":\"assistant\",\"content\":\"Fish, and only on Fridays.\"}]]\n"
    "package.loaded['bench.kept'] = kept\n"
    "for round = 1, 10 do\n"
    "  local begin = now()\n"
    "  for i = 1, " SESSIONS " / 10 do\n"
    "    local one = session.new(spec)\n"
    "    one.history:user('What do you sell?')\n"
    "    one.history:add(answer)\n"
    "    kept[#kept + 1] = one\n"
    "  end\n"
    "  best = math.min(best, (now() - begin) / (" SESSIONS " / 10) * 1e6)\n"
    "end\n"
    "collectgarbage() collectgarbage()\n"
    "return ('%.3f'):format(best)";

static void sessions(hocket_host *h)
{
    char path[] = "/tmp/hocket-bench-XXXXXX.lua";
    int fd = mkstemps(path, 4);
    struct hocket_error e;
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = path };
    struct sessions s = { .status = 1 };
    if (fd < 0 || write(fd, make_sessions, strlen(make_sessions)) < 0)
        exit(2);
    close(fd);
    size_t before = used;
    if (hocket_run_start(h, &spec, NULL, NULL, on_done, &s, &e) < 0)
        exit(2);
    while (hocket_wait(h, -1) > 0) {
    }
    unlink(path);
    if (s.status != 0) {
        printf("sessions: %s\n", s.text);
        missed = true;
        return;
    }
    row(SESSIONS " idle sessions: memory of each", (double) (used - before) / atof(SESSIONS) / 1024,
        3, "KiB");
    row(SESSIONS " idle sessions: to make one", atof(s.text), 2, "us");
}

/* The library stands one directory above this program. */
static void library_size(void)
{
    char self[512], command[1600], path[] = "/tmp/hocket-bench-XXXXXX";
    struct stat st;
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    int fd = mkstemp(path);
    if (n < 0 || fd < 0)
        return;
    self[n] = 0;
    *strrchr(self, '/') = 0;
    close(fd);
    snprintf(command, sizeof(command), "strip -o %s %s/../libhocket.so 2>/dev/null", path, self);
    if (system(command) == 0 && stat(path, &st) == 0)
        row("libhocket.so, stripped", (double) st.st_size / 1000, 900, "kB");
    unlink(path);
}

int main(void)
{
    printf("%-44s %10s %10s\n", "embedding", "measured", "limit");
    size_t before = used;
    hocket_host *h = open_host();
    row("an idle host: memory", (double) (used - before) / 1024, 256, "KiB");
    row("a pump with nothing to do", idle_pump(h), 5, "us");
    sessions(h);
    hocket_close(h, NULL, NULL);
    library_size();
    return missed;
}
