/* A village in SDL2: the player walks about while the innkeeper thinks. What the innkeeper says
 * appears word by word in the window's title, and the frames go on.
 *
 *   cc game.c $(pkg-config --cflags --libs sdl2 hocket-serve) -o game
 *   ./game examples/embed/village/agents [--test [save|load]]
 *
 * F5 saves the game into village.save, the innkeeper's thoughts with it; F9 goes on from there, also in another process.
 *
 * --test: ends when the answer has been shown, and prints what there was to see; save: presses F5 while the innkeeper thinks, and
 * ends; load: presses F9 first. */

#include <SDL.h>
#include <hocket/hocket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct game {
    SDL_Window *window;
    SDL_Renderer *renderer;
    hocket_host *agents;
    char says[512];
    bool answered, failed, saved;
    int frames, frames_while_thinking, steps_shown,
        looked; /* looked: the frame of the last call of on_look */
    double longest_pump_ms;
    SDL_Rect player;
    uint64_t run; /* the innkeeper's */
};

/* ---- The agents ------------------------------------------------------------------------ */

static const char *variable(const char *name, void *ud)
{
    (void) ud;
    return getenv(name);
}

/* A tool: what the innkeeper sees is what is in the game. It runs between two frames. */
static void on_look(hocket_host *h, const struct hocket_tool_call *call, void *ud)
{
    struct game *g = ud;
    char seen[96];
    snprintf(seen, sizeof(seen), "You see a traveller at %d paces.", g->player.x / 10);
    hocket_tool_answer(h, call->id, 0, seen, 0);
    g->looked = g->frames;
}

/* Text of the innkeeper's stream, gathered since the last frame. */
static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct game *g = ud;
    (void) h;
    if (run != g->run || strcmp(e->type, "model_delta") != 0)
        return;
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    if (strcmp(hocket_json_text(hocket_json_get(event, "agent"), "", NULL), "innkeeper") == 0) {
        const char *text = hocket_json_text(hocket_json_get(event, "text"), "", NULL);
        strncat(g->says, text, sizeof(g->says) - strlen(g->says) - 1);
        SDL_SetWindowTitle(g->window, g->says);
        g->steps_shown++;
    }
    hocket_json_free(event);
}

static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct game *g = ud;
    (void) h;
    if (run != g->run) /* one that ended for another that was loaded */
        return;
    g->answered = true;
    g->failed = r->status != HOCKET_OK;
    snprintf(g->says, sizeof(g->says), "%s", g->failed ? r->error->message : r->text);
    SDL_SetWindowTitle(g->window, g->says);
}

/* ---- Saving: the game's own state, and behind it what the agents are at ---------------------- */

#define SAVE "village.save"

static void on_save(
    hocket_host *h, const void *bytes, size_t n, const struct hocket_error *error, void *ud)
{
    struct game *g = ud;
    FILE *f = error ? NULL : fopen(SAVE, "wb");
    (void) h;
    g->saved =
        f && fwrite(&g->player.x, sizeof(g->player.x), 1, f) == 1 && fwrite(bytes, 1, n, f) == n;
    if ((f && fclose(f) != 0) || !g->saved)
        fprintf(stderr, "not saved: %s\n", error ? error->message : SAVE);
}

static void save(struct game *g)
{
    struct hocket_error e;
    g->saved = false;
    if (hocket_save(g->agents, on_save, g, &e) < 0)
        fprintf(stderr, "not saved: %s\n", e.message);
}

/* What is under way now ends: the game is as it was. */
static void load(struct game *g)
{
    struct hocket_error e;
    int x = 0;
    static char bytes[1 << 20];
    FILE *f = fopen(SAVE, "rb");
    size_t n = f && fread(&x, sizeof(x), 1, f) == 1 ? fread(bytes, 1, sizeof(bytes), f) : 0;
    uint64_t before = g->run;
    if (f)
        fclose(f);
    if (hocket_run_load(g->agents, bytes, n, NULL, &g->run, on_event, on_done, g, &e) < 0) {
        fprintf(stderr, "not loaded: %s\n", e.message);
        g->run = before;
        g->answered = g->failed = before == 0; /* nobody is at work */
        return;
    }
    hocket_run_cancel(g->agents, before);
    g->player.x = x;
    g->says[0] = 0;
    g->answered = false;
}

static int open_agents(struct game *g, const char *team, bool start)
{
    static const struct hocket_tool_spec look = { .size = sizeof(look),
        .name = "look_around",
        .description = "Looks at a place of the village.",
        .parameters = "{\"type\":\"object\",\"properties\":{\"place\":{\"type\":\"string\"}}}" };
    /* simulate: without a key the sim.lua beside the team plays */
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = team,
        .input = "Is there a room, and something to eat?",
        .options = "{\"deltas\":true,\"tools\":[\"look_around\"],\"simulate\":true}" };
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct hocket_error e;
    o.thread = true;    /* the budget is kept */
    o.store = "memory"; /* runs can be saved */
    o.getenv_cb = variable;
    if (hocket_open(&o, &g->agents, &e) < 0 || hocket_serve_attach(g->agents, &e) < 0
        || hocket_tool_add(g->agents, &look, on_look, NULL, g, &e) < 0
        || (start && hocket_run_start(g->agents, &spec, &g->run, on_event, on_done, g, &e) < 0)) {
        fprintf(stderr, "%s\n", e.message);
        return -1;
    }
    return 0;
}

/* ---- The game ---------------------------------------------------------------------------- */

static void draw(struct game *g)
{
    SDL_Rect inn = { 220, 60, 60, 50 };
    SDL_SetRenderDrawColor(g->renderer, 40, 90, 40, 255);
    SDL_RenderClear(g->renderer);
    SDL_SetRenderDrawColor(g->renderer, 150, 100, 60, 255);
    SDL_RenderFillRect(g->renderer, &inn);
    SDL_SetRenderDrawColor(g->renderer, 240, 220, 180, 255);
    SDL_RenderFillRect(g->renderer, &g->player);
    SDL_RenderPresent(g->renderer);
}

static void frame(struct game *g)
{
    Uint64 begin = SDL_GetPerformanceCounter();
    hocket_pump(g->agents, 1000); /* 1 ms of each frame */
    double ms = (double) (SDL_GetPerformanceCounter() - begin) * 1e3
                / (double) SDL_GetPerformanceFrequency();
    if (g->frames > 0 && ms > g->longest_pump_ms) /* the first one loads the scripts */
        g->longest_pump_ms = ms;
    g->player.x = (g->player.x + 1) % 320;
    draw(g);
    g->frames++;
    g->frames_while_thinking += !g->answered;
}

static bool goes_on(struct game *g, bool test, int *after)
{
    SDL_Event event;
    while (SDL_PollEvent(&event)) {
        if (event.type == SDL_QUIT)
            return false;
        if (event.type == SDL_KEYDOWN && event.key.keysym.sym == SDLK_F5)
            save(g);
        if (event.type == SDL_KEYDOWN && event.key.keysym.sym == SDLK_F9)
            load(g);
    }
    return !test || (g->answered ? (*after)++ < 10 : g->frames < 1800);
}

static void press(SDL_Keycode key)
{
    SDL_Event event = { .key = { .type = SDL_KEYDOWN, .keysym = { .sym = key } } };
    SDL_PushEvent(&event);
}

int main(int argc, char **argv)
{
    static struct game g = { .player = { 0, 120, 8, 16 } };
    bool test = argc > 2 && strcmp(argv[2], "--test") == 0;
    bool saves = argc > 3 && strcmp(argv[3], "save") == 0;
    bool loads = argc > 3 && strcmp(argv[3], "load") == 0;
    int after = 0;
    if (argc < 2 || SDL_Init(SDL_INIT_VIDEO) < 0) {
        fprintf(stderr, "usage: game TEAM [--test [save|load]]   %s\n", SDL_GetError());
        return 2;
    }
    g.window = SDL_CreateWindow("The village", 0, 0, 320, 200, 0);
    g.renderer = SDL_CreateRenderer(g.window, -1, SDL_RENDERER_SOFTWARE);
    int rc = !g.window || !g.renderer ? -1 : open_agents(&g, argv[1], !loads);
    if (loads)
        press(SDLK_F9);
    while (rc == 0 && goes_on(&g, test, &after) && !(saves && g.saved)) {
        Uint64 next = SDL_GetTicks64() + 16;
        frame(&g);
        if (saves && g.looked > 0
            && g.frames
                   == g.looked
                          + 2) /* not in the middle of the call, which would not be made again */
            press(SDLK_F5);
        if (SDL_GetTicks64() < next)
            SDL_Delay((Uint32) (next - SDL_GetTicks64()));
    }
    if (test && rc == 0)
        printf("title: %s\nframes while thinking: %d\ntext came in pieces: %d\nlongest pump: %.2f "
               "ms\n",
            SDL_GetWindowTitle(g.window), g.frames_while_thinking, g.steps_shown,
            g.longest_pump_ms);
    bool done = saves ? g.saved : g.answered && !g.failed; /* closing ends what is under way */
    hocket_close(g.agents, NULL, NULL);
    SDL_DestroyRenderer(g.renderer);
    SDL_DestroyWindow(g.window);
    SDL_Quit();
    return rc < 0 || !done;
}
