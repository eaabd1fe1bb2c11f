/* Something is short once in a conversation that is kept: an allocation or more, descriptors. Whatever becomes of the turn, what
 * was kept is a whole: the conversation can be saved and loaded, replayed, parked and resumed, and each tells again what was told
 * and goes on. Where the run has ended of it, it is resumed; and the host does a second run. */

#include "base/system_names.h"
#include "host/life.h"

#include <errno.h>
#include <fcntl.h>

#include <lauxlib.h>
#include <lualib.h>

/* ---- What is played ---------------------------------------------------------------------------- */

/* Agents of three kinds of models, one of which the process serves itself, a tool of the program, a step, a pcall that would hide
 * what is short. */
static const char talk[] = LIFE_SCRIPT
    "local seer = hocket.agent { name = 'seer', model = 'own/m', prompt = 'You look.', tools = { "
    "'look' } }\n"
    "local played = hocket.agent { name = 'played', model = 'sim', prompt = 'You play.' }\n"
    "local board = hocket.board { limit = 100 }\n"
    "local function part(agent, text) return function() return assert(hocket.run(agent, text)) end "
    "end\n"
    "return { chat = function(text)\n"
    "  local at = hocket.step('at', function() return 'here' end)\n"
    "  local list = hocket.flow.all { part(seer, 'sea'), part(helper, text), part(played, text) }\n"
    "  pcall(function() board:create { { text = at:rep(100) .. text } } end)\n"
    "  return list[2]\n"
    "end }\n";

/* One agent of a model that the process serves itself. */
static const char play[] = LIFE_SCRIPT
    "local played = hocket.agent { name = 'played', model = 'sim', prompt = 'You play.' }\n"
    "return { chat = function(text) return assert(hocket.run(played, text)) end }\n";

struct way {
    const char *name;
    size_t only;          /* blocks of so many bytes are short; 0: all */
    bool thread, foreign; /* mode; a Lua state of the program's, whose blocks come one by one */
    bool file;            /* the store; else memory */
};

static const struct way ways[] = {
    { "memory", .thread = false },
    { "memory, thread mode", .thread = true },
    { "memory, in the program's state", .foreign = true },
    { "a file", .file = true },
    { "a file, thread mode", .thread = true, .file = true },
};

/* Lua 5.4's CallInfo: what a coroutine needs to call, first of all for its first function. */
static const struct way frames = { "frames of Lua", .only = sizeof(void *) == 8 ? 64 : 36,
    .foreign = true };

enum { WAYS = sizeof(ways) / sizeof(ways[0]), MOST = 128 /* descriptors */ };

/* ---- A conversation ----------------------------------------------------------------------------- */

struct talk {
    uint64_t run;
    int asked, done, status;
    int again;      /* turns that it told again */
    bool failed;    /* a turn has */
    bool cancelled; /* and says so; nobody has done that */
    char question[32], name[64], error[512];
    void *saved;
    size_t n_saved;
    int save_status;
};

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct talk *t = ud;
    (void) h;
    (void) run;
    if (strcmp(e->type, "turn_finished") == 0) {
        t->again += e->again;
        t->failed |= memmem(e->json, e->json_len, "\"error\":{", 9) != NULL;
        t->cancelled |= memmem(e->json, e->json_len, "\"cancelled\"", 11) != NULL;
    }
    if (strcmp(e->type, "input_requested") != 0)
        return;
    hocket_json *json = hocket_json_parse(e->json, e->json_len, NULL);
    snprintf(t->question, sizeof(t->question), "%s",
        hocket_json_text(hocket_json_get(json, "id"), "", NULL));
    hocket_json_free(json);
    t->asked++;
}

static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct talk *t = ud;
    (void) h;
    (void) run;
    t->done++;
    t->status = r->status;
    snprintf(t->error, sizeof(t->error), "%s", r->error ? r->error->message : "");
}

static void on_saved(
    hocket_host *h, const void *bytes, size_t n, const struct hocket_error *error, void *ud)
{
    struct talk *t = ud;
    (void) h;
    t->save_status = error ? error->status : 1;
    if (error) {
        snprintf(t->error, sizeof(t->error), "%s", error->message);
        return;
    }
    t->saved = malloc(n);
    memcpy(t->saved, bytes, t->n_saved = n);
}

static void turn_until(
    hocket_host *h, const struct talk *t, int asked, const int *what, const char *doing)
{
    time_t until = time(NULL) + 30;
    while (!*what && t->asked < asked && !t->done && time(NULL) < until)
        hocket_wait(h, 50);
    if (!*what && t->asked < asked && !t->done)
        life_wrong("%s: it does not go on", doing);
}

static const int never;

static void wait_for_input(hocket_host *h, const struct talk *t, int asked, const char *doing)
{
    turn_until(h, t, asked, &never, doing);
}

/* It waits for its next input, and has not ended. */
static void must_ask(hocket_host *h, const struct talk *t, int asked, const char *doing)
{
    wait_for_input(h, t, asked, doing);
    if (t->done)
        life_wrong("%s: it ends with %s: %s", doing, hocket_status_word(t->status), t->error);
}

/* A turn that goes well. What was asked in an earlier life may have been answered there: then it asks the next. */
static void go_on(hocket_host *h, struct talk *t, const char *doing)
{
    struct hocket_error e;
    int asked;
    do {
        asked = t->asked;
        t->failed = false;
        if (hocket_run_answer(h, t->run, t->question, "more", 0, &e) == 0)
            break;
        if (e.status != HOCKET_ENOTFOUND && e.status != HOCKET_ESTATE)
            life_wrong("%s: it cannot be answered: %s", doing, e.message);
        must_ask(h, t, asked + 1, doing);
    } while (true);
    must_ask(h, t, asked + 1, doing);
    if (t->failed)
        life_wrong("%s: the next turn fails", doing);
}

/* ---- Afterwards ----------------------------------------------------------------------------------- */

static void load_it(hocket_host *h, struct talk *t)
{
    struct hocket_error e;
    struct talk other = { 0 };
    if (hocket_save(h, on_saved, t, &e) < 0)
        life_wrong("it is not saved: %s", e.message);
    turn_until(h, t, t->asked + 1, &t->save_status, "saved");
    if (!t->saved)
        life_wrong("it is not saved: %s", t->error);
    if (hocket_load(h, t->saved, t->n_saved, NULL, &other.run, on_event, on_done, &other, &e) < 0)
        life_wrong("it is not loaded: %s", e.message);
    free(t->saved);
    must_ask(h, &other, 1, "loaded");
    go_on(h, &other, "loaded");
    hocket_run_cancel(h, other.run);
    wait_for_input(h, &other, 1000, "loaded, cancelled");
}

/* What could not be opened is opened again a moment later. */
static void look_again(
    hocket_host *h, const char *name, struct talk *t, bool replay, const char *doing)
{
    struct hocket_error e;
    for (time_t until = time(NULL) + 10; time(NULL) < until;) {
        *t = (struct talk){ 0 };
        int rc = replay ? hocket_run_replay(h, name, NULL, &t->run, on_event, on_done, t, &e)
                        : hocket_run_resume(h, name, NULL, &t->run, on_event, on_done, t, &e);
        if (rc < 0)
            life_wrong("%s: %s", doing, e.message);
        wait_for_input(h, t, replay ? 1000 : 1, doing);
        if (!strstr(t->error, hocket__errno_text(EMFILE)) || strstr(t->error, "cannot read"))
            return;
    }
}

/* Byte by byte what it told: up to where its log ends, or to its own end. Whether it is that. */
static bool replay_it(hocket_host *h, const struct talk *was)
{
    struct talk t;
    look_again(h, was->name, &t, true, "replayed");
    bool over = was->done && t.status == was->status && strcmp(t.error, was->error) == 0;
    if (t.status != HOCKET_EPARKED && t.status != HOCKET_ENOTFOUND && !over)
        life_wrong("its replay ends with %s: %s", hocket_status_word(t.status), t.error);
    return over;
}

/* What is over is over, in the store as well; one of which nothing could be kept is not there. */
static void resume_it(hocket_host *h, const char *name, bool over)
{
    struct talk t;
    look_again(h, name, &t, false, "resumed");
    if (t.done && t.status == (over ? HOCKET_ESTATE : HOCKET_ENOTFOUND))
        return;
    must_ask(h, &t, 1, "resumed");
    go_on(h, &t, "resumed");
    hocket_run_cancel(h, t.run);
    wait_for_input(h, &t, 1000, "resumed, cancelled");
}

static void start(hocket_host *h, struct talk *t)
{
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = life_paths[0],
        .input = "Good day",
        .options = "{\"conversation\":true}" };
    struct hocket_error e;
    *t = (struct talk){ 0 };
    t->status = hocket_run_start(h, &spec, &t->run, on_event, on_done, t, &e);
    t->done = t->status < 0;
    if (t->done)
        snprintf(t->error, sizeof(t->error), "%s", e.message);
    else
        snprintf(t->name, sizeof(t->name), "%s", hocket_run_name(h, t->run));
}

/* Two turns while something may be short. */
static void short_turns(hocket_host *h, struct talk *t)
{
    struct hocket_error e;
    start(h, t);
    if (t->done)
        return;
    wait_for_input(h, t, 1, "the first turn");
    if (t->done)
        return;
    for (int i = 0; i < 100; i++) /* is short of memory as well, or ends it with that */
        if (hocket_run_answer(h, t->run, t->question, "more", 0, &e) != HOCKET_ENOMEM)
            break;
    wait_for_input(h, t, 2, "the second turn");
}

static void check_after(hocket_host *h, struct talk *t)
{
    struct talk second;
    if (t->cancelled)
        life_wrong("a turn says that it was cancelled");
    if (!t->done) {
        load_it(h, t);
        hocket_run_park(h, t->run);
        wait_for_input(h, t, 1000, "parked");
    }
    if (t->name[0])
        resume_it(h, t->name, replay_it(h, t));
    start(h, &second);
    must_ask(h, &second, 1, "a second run");
    go_on(h, &second, "a second run");
    hocket_run_cancel(h, second.run);
    wait_for_input(h, &second, 1000, "a second run, cancelled");
}

static hocket_host *open_one(const struct way *w, const char *file, struct hocket_options *o)
{
    static const struct hocket_tool_spec look = { .size = sizeof(look),
        .name = "look",
        .description = "Looks.",
        .parameters = "{\"type\":\"object\",\"properties\":{\"at\":{\"type\":\"string\"}}}" };
    struct hocket_error e;
    hocket_host *h;
    o->getenv_cb = life_variable;
    o->thread = w->thread;
    o->store = w->file ? file : "memory";
    if (hocket_open(o, &h, &e) < 0 || hocket_serve_attach(h, &e) < 0
        || hocket_tool_add(h, &look, life_on_call, NULL, NULL, &e) < 0)
        life_wrong("the host does not open: %s", e.message);
    return h;
}

/* ---- Short of memory ------------------------------------------------------------------------------- */

/* How often a life was short and what became of its run: for the counts of a test. */
struct tried {
    int lives, bad, turns, runs;
};

static void write_verdict(int out, bool was_short, const struct talk *t)
{
    char verdict = !was_short ? 'n' : t->done ? 'r' : t->failed ? 't' : 'w';
    if (write(out, &verdict, 1) != 1)
        life_wrong("no verdict");
}

static void live_short(const struct way *w, const char *file, size_t n, size_t more, int out)
{
    struct hocket_options o;
    struct test_alloc a;
    struct talk t;
    test_alloc_init(&a);
    a.fail_more = more;
    a.only = w->only;
    lua_State *L = w->foreign ? lua_newstate(a.a.realloc_cb, a.a.ud) : NULL;
    if (L)
        luaL_openlibs(L);
    hocket_options_init(&o, sizeof(o));
    o.allocator = a.a;
    o.lua_state = L;
    hocket_host *h = open_one(w, file, &o);
    a.fail_at = a.calls + n;
    short_turns(h, &t);
    a.fail_at = 0;
    write_verdict(out, a.failed, &t);
    if (t.done && t.status != HOCKET_ENOMEM)
        life_wrong("memory was out, and it says %s: %s", hocket_status_word(t.status), t.error);
    check_after(h, &t);
    hocket_close(h, NULL, NULL);
    if (L)
        lua_close(L);
    if (a.blocks > 0)
        life_wrong("%zu blocks are left", a.blocks);
}

/* ---- Short of descriptors --------------------------------------------------------------------------- */

/* All but so many are taken. */
static int take_descriptors(int *taken, int spare)
{
    int n = 0;
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ MOST, MOST });
    while (n < MOST && (taken[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        n++;
    while (n > 0 && spare-- > 0)
        close(taken[--n]);
    return n;
}

static void live_without(const struct way *w, const char *file, size_t spare, size_t more, int out)
{
    struct hocket_options o;
    struct talk t;
    int taken[MOST];
    (void) more;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = open_one(w, file, &o);
    int n = take_descriptors(taken, (int) spare - 1);
    short_turns(h, &t);
    while (n > 0)
        close(taken[--n]);
    write_verdict(out, t.done || t.failed, &t);
    if (t.done && t.status != HOCKET_EIO)
        life_wrong(
            "descriptors were out, and it says %s: %s", hocket_status_word(t.status), t.error);
    check_after(h, &t);
    hocket_close(h, NULL, NULL);
}

/* ---- Each in a process ------------------------------------------------------------------------------ */

typedef void live_fn(const struct way *w, const char *file, size_t n, size_t more, int out);

static void remove_store(const char *dir)
{
    char command[TEST_TEMP_PATH + 16];
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
}

/* 'n': nothing was short; 't', 'r': a turn or the run has failed; 'w': neither; '?': it says nothing. */
static char try_one(const struct way *w, live_fn *live, size_t n, size_t more, struct tried *tried)
{
    char dir[TEST_TEMP_PATH], file[TEST_TEMP_PATH + 16], verdict = '?';
    int ends[2];
    assert_true(test_temp_dir(dir));
    snprintf(file, sizeof(file), "%s/runs.db", dir);
    assert_int_equal(pipe(ends), 0);
    pid_t child = life_fork();
    if (child == 0) {
        live(w, file, n, more, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    bool well = life_went_well(child);
    if (read(ends[0], &verdict, 1) != 1)
        verdict = '?';
    close(ends[0]);
    remove_store(dir);
    tried->lives++;
    tried->turns += verdict == 't';
    tried->runs += verdict == 'r';
    tried->bad += !well;
    if (!well)
        fprintf(stderr, "  %s: %zu and %zu more: %c\n", w->name, n, more, verdict);
    return verdict;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ONE_BY_ONE                                                                                 \
    true /* Lua's blocks, so that the sanitizer sees each: a life has some thirty thousand */
#else
#define ONE_BY_ONE false
#endif

/* HOCKET_LONG=1: every allocation. */
static size_t step_of(const struct way *w, size_t more)
{
    return getenv("HOCKET_LONG") ? 1 : (w->foreign || ONE_BY_ONE ? 9973 : 347) + more;
}

static void test_memory(void **state)
{
    static const size_t more[] = { 0, 1, 7 };
    struct tried all = { 0 };
    (void) state;
    for (size_t i = 0; i < WAYS; i++)
        for (size_t j = 0; j < sizeof(more) / sizeof(more[0]); j++)
            for (size_t n = 1 + i + j; try_one(&ways[i], live_short, n, more[j], &all) != 'n';)
                n += step_of(&ways[i], more[j]);
    print_message(
        "%d lives: %d bad, %d turns failed, %d runs\n", all.lives, all.bad, all.turns, all.runs);
    assert_int_equal(all.bad, 0);
    assert_true(all.runs > 0); /* of so few lives maybe no turn fails alone */
}

static void test_frames(void **state)
{
    struct tried all = { 0 };
    (void) state;
    life_write_scripts(play);
    for (size_t n = 1; try_one(&frames, live_short, n, 1, &all) != 'n';)
        n += getenv("HOCKET_LONG") ? 1 : 41;
    print_message(
        "%d lives: %d bad, %d turns failed, %d runs\n", all.lives, all.bad, all.turns, all.runs);
    assert_int_equal(all.bad, 0);
    assert_true(all.runs > 0); /* which turns fail is up to few blocks of so many */
}

static void test_descriptors(void **state)
{
    struct tried all = { 0 };
    (void) state;
    for (size_t i = 0; i < WAYS; i++)
        for (size_t spare = 0; !ways[i].foreign && spare <= 12; spare++)
            try_one(&ways[i], live_without, spare + 1, 0, &all);
    print_message(
        "%d lives: %d bad, %d turns failed, %d runs\n", all.lives, all.bad, all.turns, all.runs);
    assert_int_equal(all.bad, 0);
    assert_true(all.turns > 0);
}

/* What a report says, in this process, for a debugger: test_host_stored_short WAY memory|descriptors N MORE */
static int live_again(char **args)
{
    char dir[TEST_TEMP_PATH], file[TEST_TEMP_PATH + 16];
    bool memory = strcmp(args[1], "memory") == 0;
    test_temp_dir(dir);
    snprintf(file, sizeof(file), "%s/runs.db", dir);
    bool is_frames = strcmp(args[0], frames.name) == 0;
    life_start_models(NULL);
    life_write_scripts(is_frames ? play : talk);
    if (is_frames)
        live_short(&frames, file, strtoull(args[2], NULL, 10), strtoull(args[3], NULL, 10), 2);
    for (size_t i = 0; i < WAYS; i++)
        if (strcmp(ways[i].name, args[0]) == 0)
            (memory ? live_short : live_without)(
                &ways[i], file, strtoull(args[2], NULL, 10), strtoull(args[3], NULL, 10), 2);
    life_drop_scripts();
    remove_store(dir);
    return life_stop_models(NULL);
}

static int set_up(void **state)
{
    life_write_scripts(talk);
    (void) state;
    return 0;
}

static int tear_down(void **state)
{
    life_drop_scripts();
    (void) state;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5)
        return live_again(argv + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory, set_up, tear_down),
        cmocka_unit_test_teardown(test_frames, tear_down),
        cmocka_unit_test_setup_teardown(test_descriptors, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, life_start_models, life_stop_models);
}
