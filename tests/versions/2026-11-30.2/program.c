/* A program of this version, compiled with the header beside it and linked with a later library (tests/versions/program.sh).
 *   program FILE write     has a conversation, and saves it
 *   program FILE           loads it, goes on, and uses other parts of the interface */
#include <hocket/hocket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char talker[] =
    "---\nname: smith\ndescription: Knows iron\nmodel: sim\n---\nYou are a smith.\n";

struct game {
    char question[16], *bytes;
    size_t len;
    int asked, again, events, calls, done;
};

static void on_event(hocket_host *host, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct game *g = ud;
    hocket_json *json = hocket_json_parse(e->json, e->json_len, NULL);
    (void) host;
    (void) run;
    g->events++;
    g->again += e->again;
    if (strcmp(e->type, "input_requested") == 0) {
        snprintf(g->question, sizeof(g->question), "%s",
            hocket_json_text(hocket_json_get(json, "id"), "", NULL));
        g->asked++;
    }
    hocket_json_free(json);
}

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    struct game *g = ud;
    (void) host;
    (void) run;
    printf("ended: %s, %s\n", hocket_status_word(result->status), result->text ? result->text : "");
    g->done++;
}

static void on_call(hocket_host *host, const struct hocket_tool_call *call, void *ud)
{
    struct game *g = ud;
    g->calls++;
    hocket_tool_answer(host, call->id, 0, "Two ships.", 0);
}

static void on_save(
    hocket_host *host, const void *bytes, size_t len, const struct hocket_error *error, void *ud)
{
    struct game *g = ud;
    (void) host;
    if (!error && (g->bytes = malloc(len)))
        memcpy(g->bytes, bytes, g->len = len);
    g->done += error != NULL;
}

static void die(const char *what, const struct hocket_error *error)
{
    fprintf(stderr, "program: %s: %s\n", what, error->message);
    exit(1);
}

static hocket_host *open_host(struct game *g)
{
    static const struct hocket_tool_spec look = { .size = sizeof(look),
        .name = "look",
        .description = "Looks at a place.",
        .parameters = "{\"type\":\"object\",\"properties\":{\"place\":{\"type\":\"string\"}},"
                      "\"required\":[\"place\"]}" };
    struct hocket_options options;
    struct hocket_error error;
    hocket_host *host;
    hocket_options_init(&options, sizeof(options));
    options.store = "memory";
    if (hocket_open(&options, &host, &error) < 0 || hocket_serve_attach(host, &error) < 0
        || hocket_tool_add(host, &look, on_call, NULL, g, &error) < 0
        || hocket_load_buffer(host, "smith.md", talker, 0, &error) < 0)
        die("it does not open", &error);
    return host;
}

static void begin(hocket_host *host, struct game *g, uint64_t *id)
{
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = "buffer:smith.md",
        .input = "Good day!",
        .options = "{\"conversation\":true}" };
    struct hocket_error error;
    if (hocket_run_start(host, &spec, id, on_event, on_done, g, &error) < 0)
        die("it does not start", &error);
}

static void save(hocket_host *host, struct game *g, const char *path)
{
    struct hocket_error error;
    if (hocket_save(host, on_save, g, &error) < 0)
        die("it does not save", &error);
    while (!g->bytes && !g->done)
        hocket_wait(host, -1);
    FILE *file = fopen(path, "wb");
    if (!g->bytes || !file || fwrite(g->bytes, 1, g->len, file) != g->len || fclose(file) != 0)
        exit(1);
}

static void load(hocket_host *host, struct game *g, const char *path, uint64_t *id)
{
    static char bytes[1 << 20];
    struct hocket_error error;
    FILE *file = fopen(path, "rb");
    size_t len = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
    if (!file
        || hocket_load(host, bytes, len, "{\"trust\":true}", id, on_event, on_done, g, &error) < 0)
        die("it does not load", &error);
    fclose(file);
}

int main(int argc, char **argv)
{
    struct game g = { .asked = 0 };
    struct hocket_error error;
    struct hocket_host_stats stats = { .size = sizeof(stats) };
    uint64_t id = 0;
    int writes = argc > 2;
    hocket_host *host = open_host(&g);
    if (writes)
        begin(host, &g, &id);
    else
        load(host, &g, argv[1], &id);
    while (!g.asked && !g.done)
        hocket_wait(host, -1);
    if (writes) {
        save(host, &g, argv[1]);
        hocket_close(host, NULL, NULL);
        free(g.bytes);
        return 0;
    }
    int before = g.asked;
    hocket_json *tree = hocket_run_tree(host, id, &error);
    if (!g.again || !tree || hocket_run_answer(host, id, g.question, "And you?", 0, &error) < 0)
        die("it has forgotten the conversation", &error);
    while (g.asked == before && !g.done)
        hocket_wait(host, -1);
    if (hocket_stats(host, &stats) < 0 || !strstr(hocket_build_info(), hocket_version()))
        return 1;
    printf("%d questions, %d events again of %d\n", g.asked, g.again > 0, g.events > g.again);
    hocket_json_free(tree);
    hocket_close(host, NULL, NULL);
    return g.asked > before && g.done == 1 ? 0 : 1;
}
