/* What saving costs: 1,000 conversations that wait are saved as one text, and go on from it in another host. CPU time,
 * and the bytes of each beside the text of what was said. The exit status is 1 when a limit is missed. */

#include <hocket/hocket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MANY = 1000 };

static const char smith[] = "---\nname: smith\ndescription: Knows iron\nmodel: sim\n---\nYou are a "
                            "smith, and short of words.\n";

static bool missed;
static int asked, again, asleep;
static size_t said;
static char *saved;
static size_t saved_len;

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

static void row(const char *what, double value, double limit, const char *unit)
{
    bool over = value > limit;
    missed |= over;
    printf("%-52s %10.2f %10.2f  %-5s %s\n", what, value, limit, unit, over ? "MISSED" : "");
}

/* What was said stands in the answers; the inputs are known. */
static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    (void) h;
    (void) run;
    (void) ud;
    again += e->again;
    if (strcmp(e->type, "input_requested") == 0)
        asked++;
    asleep += strcmp(e->type, "run_asleep") == 0;
    if (strcmp(e->type, "turn_finished") != 0)
        return;
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    size_t n = 0;
    hocket_json_text(hocket_json_get(event, "content"), "", &n);
    said += n;
    hocket_json_free(event);
}

static void on_save(
    hocket_host *h, const void *bytes, size_t n, const struct hocket_error *error, void *ud)
{
    (void) h;
    (void) ud;
    saved = error ? NULL : malloc(n);
    if (!saved)
        exit(2);
    memcpy(saved, bytes, saved_len = n);
}

static void check(int rc, const struct hocket_error *e)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s\n", e->message);
    exit(2);
}

static hocket_host *open_host(void)
{
    struct hocket_error e;
    struct hocket_options o;
    hocket_host *h;
    hocket_options_init(&o, sizeof(o));
    o.store = "memory";
    check(hocket_open(&o, &h, &e), &e);
    check(hocket_serve_attach(h, &e), &e);
    return h;
}

static hocket_host *talk(void)
{
    struct hocket_error e;
    hocket_host *h = open_host();
    check(hocket_load_buffer(h, "smith.md", smith, 0, &e), &e);
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = "buffer:smith.md",
        .input = "Good day! I am Ana, and I need a knife.",
        .options = "{\"conversation\":true}" };
    for (int i = 0; i < MANY; i++)
        check(hocket_run_start(h, &spec, NULL, on_event, NULL, NULL, &e), &e);
    while (asked < MANY)
        hocket_wait(h, -1);
    said += MANY * strlen(spec.input);
    for (int i = 0; i < 1000; i++) /* until the store says so, too */
        hocket_wait(h, 1);
    return h;
}

/* Until all of them can be spoken to: told by `count`. */
static void load(const char *options, const int *count, double limit)
{
    struct hocket_error e;
    hocket_host *h = open_host();
    hocket_pump(h, 0);
    asked = asleep = 0;
    double begin = cpu_ms();
    check(hocket_load(h, saved, saved_len, options, NULL, on_event, NULL, NULL, &e), &e);
    while (*count < MANY)
        hocket_wait(h, -1);
    row(count == &asleep ? "1,000 waiting conversations: to load them, lazily"
                         : "1,000 waiting conversations: to load and replay them",
        cpu_ms() - begin, limit, "ms");
    hocket_close(h, NULL, NULL);
}

int main(void)
{
    struct hocket_error e;
    hocket_host *h = talk();
    double begin = cpu_ms();
    check(hocket_save(h, on_save, NULL, &e), &e);
    while (!saved)
        hocket_wait(h, -1);
    row("1,000 waiting conversations: to save them", cpu_ms() - begin, 50, "ms");
    row("each in the save, beside its text", ((double) saved_len - (double) said) / MANY / 1024, 1,
        "KiB");
    hocket_close(h, NULL, NULL);
    load("{\"lazy\":true}", &asleep, 100);
    load(NULL, &asked, 600);
    free(saved);
    return missed;
}
