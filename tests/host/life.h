/* Lives for tests in which something runs out: a host, a run that does a bit of everything, and a second
 * one when there is enough again. Each life is a process of its own, so that a crash says where it came.
 * The models are served by another process, which is never short of anything. */
#pragma once

#include "host/run_util.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

/* ---- The models ------------------------------------------------------------------------------ */

static char life_bases[256]; /* as read from the other process: two lines */
static const char *life_base, *life_travel_base;
static pid_t life_models;

static const char life_served[] =
    "local hocket = require 'hocket'\n"
    "local function reply(q)\n"
    "  if q.last.role ~= 'user' then return { text = 'I have seen it, and say so at length.', "
    "fragment = 6 } end\n"
    "  if q.tools.look then return { text = 'I look.', calls = { { name = 'look', arguments = { at "
    "= 'sea' } } } } end\n"
    "  if q.tools.delegate then return { calls = { { name = 'delegate', arguments = {\n"
    "    agent_name = 'helper', prompt = 'help' } } } } end\n"
    "  return { text = 'heard: ' .. q.last.text, reasoning = 'hm' }\n"
    "end\n"
    "local served = hocket.sim.serve { reply = reply }\n"
    "local script = dofile('" EXAMPLES "/travel/sim.lua')\n"
    "script.latency, script.pause = 0, 0\n"
    "local travel = hocket.sim.serve(script)\n"
    "hocket.events.emit('ready', { bases = served.base .. '\\n' .. travel.base .. '\\n' })\n"
    "hocket.flow.sleep(100000)\n";

static inline void life_on_ready(
    hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    (void) h;
    (void) run;
    if (strcmp(e->type, "ready") != 0)
        return;
    drop_file(NULL); /* it has been read, and this process does not get to its end */
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    const char *text = hocket_json_text(hocket_json_get(event, "bases"), "", NULL);
    if (write(*(int *) ud, text, strlen(text)) < 0)
        _exit(1);
    hocket_json_free(event);
}

static inline void life_serve(int out)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = file_with(life_served) };
    hocket_host *h;
    if (hocket_open(&o, &h, NULL) < 0 || hocket_serve_attach(h, NULL) < 0
        || hocket_run_start(h, &spec, NULL, life_on_ready, NULL, &out, NULL) < 0)
        _exit(1);
    for (;;)
        hocket_wait(h, -1);
}

/* A group's setup and teardown. */
static inline int life_start_models(void **state)
{
    int out[2];
    (void) state;
    if (pipe(out) < 0 || (life_models = fork()) < 0)
        return -1;
    if (life_models == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(out[0]);
        life_serve(out[1]);
    }
    close(out[1]);
    ssize_t n = read(out[0], life_bases, sizeof(life_bases) - 1);
    close(out[0]);
    life_base = n > 0 ? strtok(life_bases, "\n") : NULL;
    life_travel_base = life_base ? strtok(NULL, "\n") : NULL;
    return life_travel_base ? 0 : -1;
}

static inline int life_stop_models(void **state)
{
    (void) state;
    kill(life_models, SIGKILL);
    waitpid(life_models, NULL, 0);
    return 0;
}

static inline const char *life_variable(const char *name, void *ud)
{
    (void) ud;
    if (strcmp(name, "OPENAI_API_KEY") == 0)
        return "none";
    return strcmp(name, "OPENAI_BASE_URL") == 0 ? life_travel_base : NULL;
}

/* ---- What is done in one ------------------------------------------------------------------------ */

struct life {
    const char *name;
    const char *script; /* NULL: the travel example's agents */
    const char *options;
    bool thread;  /* mode */
    bool foreign; /* a Lua state of the program's, whose blocks come one by one */
    bool pulled;
    bool reload;     /* a watched directory, of which a file changes */
    int close_after; /* so many events the host is closed; 0: not */
};

#define LIFE_SCRIPT                                                                                \
    "local hocket = require 'hocket'\n"                                                            \
    "hocket.provider('own', { protocol = 'openai_chat', base = base })\n"                          \
    "local helper = hocket.agent { name = 'helper', model = 'own/m', prompt = 'You help.' }\n"

static const char life_everything[] = LIFE_SCRIPT
    "local board, doc = hocket.board { limit = 3 }, hocket.document { { 'day', 'integer' } }\n"
    "local answer = assert(require('hocket.ask')('which?'))\n"
    "local seer = hocket.agent { name = 'seer', model = 'own/m', prompt = 'You look.', tools = { "
    "'look' } }\n"
    "local chief = hocket.agent { name = 'chief', model = 'own/m', prompt = 'You lead.', agents = "
    "{ 'helper' }, team = { helper = helper } }\n"
    "local list = hocket.flow.all {\n"
    "  function() return assert(hocket.run(seer, 'sea', { board = board, document = doc })) end,\n"
    "  function() return assert(hocket.run(chief, 'help')) end,\n"
    "}\n"
    "return answer .. ': ' .. list[1].text .. ' ' .. list[2].text\n";

/* What needs descriptors beside connections. */
static const char life_programs[] =
    LIFE_SCRIPT "local fs, process = require 'hocket.fs', require 'hocket.process'\n"
                "local function echo()\n"
                "  return assert(process.run { argv = { '/bin/echo', 'hello' }, cwd = '/', sandbox "
                "= 'limits' }).stdout\n"
                "end\n"
                "local list = hocket.flow.all { echo, echo, function() return assert(fs.read "
                "'/proc/self/status') end,\n"
                "  function() return assert(hocket.run(helper, 'help')).text end }\n"
                "return assert(list[1] .. list[2])\n";

static const char life_chat[] =
    LIFE_SCRIPT "return { chat = function(text) return hocket.run(helper, text) end }\n";

/* A directory with an agent beside the script, which it is started in. */
static const char life_reloaded[] =
    "local hocket = require 'hocket'\n"
    "hocket.provider('own', { protocol = 'openai_chat', base = base })\n"
    "return assert(hocket.run(hocket.agents(here .. '/agents').helper, 'help')).text\n";

static const char life_short[] = LIFE_SCRIPT "return assert(hocket.run(helper, 'again')).text\n";

#define LIFE_ALL  "{\"deltas\":true,\"interactive\":true}"
#define LIFE_TEAM "{\"deltas\":true,\"model\":\"openai/m\"}"
#define LIFE_CHAT "{\"deltas\":true,\"conversation\":true}"

static const struct life lives[] = {
    { .name = "everything", .script = life_everything, .options = LIFE_ALL },
    { "everything, pulled", life_everything, LIFE_ALL, .pulled = true },
    { "everything, thread mode", life_everything, LIFE_ALL, .thread = true },
    { "everything, in the program's state", life_everything, LIFE_ALL, .foreign = true },
    { "a team", NULL, LIFE_TEAM, .thread = true },
    { "a team, in the program's state", NULL, LIFE_TEAM, .foreign = true },
    { "a conversation, in the program's state", life_chat, LIFE_CHAT, .foreign = true },
    { "programs", life_programs, LIFE_ALL, .thread = true },
    { "programs, in the program's state", life_programs, LIFE_ALL, .foreign = true },
    { "reload", life_reloaded, NULL, .reload = true },
    { "reload, in the program's state", life_reloaded, NULL, .foreign = true, .reload = true },
    { "closed", life_everything, LIFE_ALL, .thread = true, .close_after = 9 },
    { "closed, in the program's state", life_everything, LIFE_ALL, .foreign = true,
        .close_after = 9 },
};

enum { LIVES = sizeof(lives) / sizeof(lives[0]) };

struct life_run {
    uint64_t id;
    int done, status, inputs, events;
    bool began, finished_last;
    bool gave_up; /* it was cancelled */
    char text[256], error[512];
};

/* What is wrong with this life; in its process. */
__attribute__((format(printf, 1, 2), noreturn)) static inline void life_wrong(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    _exit(1);
}

static inline void life_answer(
    hocket_host *h, uint64_t run, const struct hocket_event *e, struct life_run *r)
{
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    const char *id = hocket_json_text(hocket_json_get(event, "id"), NULL, NULL);
    bool input = strcmp(e->type, "input_requested") == 0;
    const char *text = !input ? "this" : r->inputs < 2 ? "more" : "";
    struct hocket_error err = { .status = HOCKET_ENOMEM };
    for (int i = 0; id && err.status != 0 && i < 1000; i++)
        err.status = hocket_run_answer(h, run, id, text, 0, &err); /* is short of memory as well */
    if (err.status != 0) /* and stays so: nobody will ever answer */
        hocket_run_cancel(h, run);
    r->gave_up |= err.status != 0;
    r->inputs += input;
    hocket_json_free(event);
}

static inline void life_on_event(
    hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct life_run *r = ud;
    r->began = true;
    r->events++;
    r->finished_last = strcmp(e->type, "workflow_finished") == 0;
    if (strcmp(e->type, "question_asked") == 0 || strcmp(e->type, "input_requested") == 0)
        life_answer(h, run, e, r);
}

static inline void life_on_done(
    hocket_host *h, uint64_t run, const struct hocket_result *result, void *ud)
{
    struct life_run *r = ud;
    (void) h;
    (void) run;
    r->done++;
    r->status = result->status;
    snprintf(r->text, sizeof(r->text), "%s", result->text);
    snprintf(r->error, sizeof(r->error), "%s", result->error ? result->error->message : "");
}

static inline void life_on_call(hocket_host *h, const struct hocket_tool_call *c, void *ud)
{
    (void) ud;
    for (int i = 0; i < 1000; i++)
        if (hocket_tool_answer(h, c->id, 0, "a ship", 0) != HOCKET_ENOMEM)
            break;
}

static inline void life_take(hocket_host *h, struct life_run *r)
{
    const struct hocket_event *e;
    while (hocket_event_next(h, &e) > 0)
        if (e->result)
            life_on_done(h, e->run, e->result, r);
        else
            life_on_event(h, e->run, e, r);
}

/* Waits for its end, which always has to come, once, with workflow_finished before it. */
static inline void life_finish(hocket_host *h, const struct life *l, struct life_run *r)
{
    time_t until = time(NULL) + 20;
    while (!r->done && time(NULL) < until) {
        hocket_wait(h, 200);
        if (l->pulled)
            life_take(h, r);
    }
    if (!r->done)
        life_wrong("the run has not ended");
    if (r->done > 1)
        life_wrong("the run has ended twice");
    if (r->began && !r->finished_last)
        life_wrong("workflow_finished has not come");
}

static inline int life_begin(hocket_host *h, const struct life *l, const char *path,
    const char *options, struct life_run *r, struct hocket_error *e)
{
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = path, .input = "in", .options = options
    };
    *r = (struct life_run){ 0 };
    return hocket_run_start(
        h, &spec, &r->id, l->pulled ? NULL : life_on_event, l->pulled ? NULL : life_on_done, r, e);
}

/* ---- The first run, and the second ------------------------------------------------------------------ */

static char life_paths[2][TEST_TEMP_PATH];
static char life_dir[TEST_TEMP_PATH], life_main[TEST_TEMP_PATH + 32],
    life_agents[TEST_TEMP_PATH + 32], life_helper[TEST_TEMP_PATH + 64];

static inline void life_write(int i, const char *text)
{
    char whole[4096];
    snprintf(whole, sizeof(whole), "local base = '%s'\n%s", life_base, text);
    assert_true(test_temp_file(life_paths[i], ".lua", whole));
}

/* By somebody who is not short of descriptors. */
static inline void life_save(const char *path, const char *text)
{
    struct rlimit now, all;
    getrlimit(RLIMIT_NOFILE, &now);
    all = (struct rlimit){ now.rlim_max, now.rlim_max };
    setrlimit(RLIMIT_NOFILE, &all);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        life_wrong("cannot write %s", path);
    setrlimit(RLIMIT_NOFILE, &now);
}

#define LIFE_HELPER "---\nname: helper\nmodel: own/m\n---\nYou help.\n"

static inline void life_write_dir(void)
{
    char whole[4096];
    assert_true(test_temp_dir(life_dir));
    snprintf(life_agents, sizeof(life_agents), "%s/agents", life_dir);
    snprintf(life_main, sizeof(life_main), "%s/main.lua", life_dir);
    snprintf(life_helper, sizeof(life_helper), "%s/agents/helper.md", life_dir);
    assert_int_equal(mkdir(life_agents, 0700), 0);
    snprintf(whole, sizeof(whole), "local base, here = '%s', '%s'\n%s", life_base, life_dir,
        life_reloaded);
    life_save(life_main, whole);
}

static inline void life_write_scripts(const char *script)
{
    if (script == life_reloaded)
        life_write_dir();
    life_write(0, script ? script : "");
    life_write(1, life_short);
}

static inline void life_drop_scripts(void)
{
    unlink(life_paths[0]);
    unlink(life_paths[1]);
    unlink(life_helper);
    rmdir(life_agents);
    unlink(life_main);
    rmdir(life_dir);
}

struct life_watch {
    bool live, told; /* of the change */
    struct life_run op;
};

static inline void life_on_change(
    hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct life_watch *w = ud;
    (void) h;
    (void) run;
    w->live = true;
    w->told |= strncmp(e->type, "agent_reload", 12) == 0;
}

static inline void life_on_watched(
    hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    life_on_done(h, run, r, &((struct life_watch *) ud)->op);
}

static inline void life_wait_for(hocket_host *h, const struct life_watch *w, const bool *what)
{
    time_t until = time(NULL) + 20;
    while (!*what && !w->op.done && time(NULL) < until)
        hocket_wait(h, 200);
    if (!*what && !w->op.done)
        life_wrong("nothing is said of a change");
}

/* A run, and another one when a file has changed. The first thing that fails. */
static inline int life_change(hocket_host *h, const struct life *l, struct hocket_error *e)
{
    char args[TEST_TEMP_PATH + 32];
    struct life_watch w = { 0 };
    struct life_run r = { 0 };
    life_save(life_helper, LIFE_HELPER);
    snprintf(args, sizeof(args), "{\"path\":\"%s\"}", life_dir);
    int rc = hocket_call_start(h, "watch", args, &w.op.id, life_on_change, life_on_watched, &w, e);
    if (rc < 0)
        return rc;
    life_wait_for(h, &w, &w.live);
    for (int i = 0; i < 2 && rc == 0; i++) {
        if ((rc = life_begin(h, l, life_dir, NULL, &r, e)) < 0)
            break;
        life_finish(h, l, &r);
        rc = r.status;
        life_save(life_helper, LIFE_HELPER "And gladly.\n");
        if (i == 0)
            life_wait_for(h, &w, &w.told);
    }
    hocket_run_cancel(h, w.op.id);
    life_finish(h, l, &w.op);
    if (rc < 0 && r.done)
        snprintf(e->message, sizeof(e->message), "%.400s", r.error);
    if (rc == 0 && w.op.status != HOCKET_ECANCELLED) {
        rc = w.op.status;
        snprintf(e->message, sizeof(e->message), "%.400s", w.op.error);
    }
    return rc;
}

/* The host is closed before the run has ended, which then ends with that. */
static inline int life_close(
    hocket_host **h, const struct life *l, struct life_run *r, struct hocket_error *e)
{
    time_t until = time(NULL) + 20;
    while (!r->done && r->events < l->close_after && time(NULL) < until)
        hocket_wait(*h, 200);
    hocket_close(*h, NULL, NULL);
    *h = NULL;
    if (r->done != 1)
        life_wrong("the host is closed, and the run has not ended");
    if (r->began && !r->finished_last)
        life_wrong("workflow_finished has not come");
    snprintf(e->message, sizeof(e->message), "%.400s", r->error);
    return r->status == HOCKET_ECANCELLED ? 0 : r->status;
}

/* Opens the host, and does the first run: its status, with the message in *e. */
static inline int life_first(
    const struct life *l, const struct hocket_options *o, hocket_host **h, struct hocket_error *e)
{
    static const struct hocket_tool_spec look = { .size = sizeof(look),
        .name = "look",
        .description = "Looks.",
        .parameters = "{\"type\":\"object\",\"properties\":{\"at\":{\"type\":\"string\"}}}" };
    const char *target = l->script ? life_paths[0] : EXAMPLES "/travel/agents";
    struct life_run r;
    int rc = hocket_open(o, h, e);
    if (rc < 0 || (rc = hocket_tool_add(*h, &look, life_on_call, NULL, NULL, e)) < 0
        || (!l->reload && (rc = life_begin(*h, l, target, l->options, &r, e)) < 0))
        return rc;
    if (l->reload)
        return life_change(*h, l, e);
    if (l->close_after)
        return life_close(h, l, &r, e);
    life_finish(*h, l, &r);
    snprintf(e->message, sizeof(e->message), "%.400s", r.error);
    return r.gave_up && r.status == HOCKET_ECANCELLED ? HOCKET_ENOMEM : r.status;
}

/* When there is enough again. */
static inline void life_second(hocket_host *h, const struct life *l)
{
    struct hocket_error e;
    struct life_run r;
    if (life_begin(h, l, life_paths[1], NULL, &r, &e) < 0)
        life_wrong("a second run does not start: %s", e.message);
    life_finish(h, l, &r);
    if (r.status < 0 || strcmp(r.text, "heard: again") != 0)
        life_wrong("the second run fails: %s", r.error);
}

/* In a child: cmocka's handlers would go on there with what the parent does. */
static inline pid_t life_fork(void)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    for (int i = 1; child == 0 && i < 32; i++)
        signal(i, SIG_DFL);
    return child;
}

/* Whether a life that was forked went well; says so when not. */
static inline bool life_went_well(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        fprintf(stderr, "signal %d\n", WTERMSIG(status));
    return status == 0;
}
