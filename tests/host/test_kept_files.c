/* A run that goes on has the files that it began with, whatever has become of them: those that it has read come from its log,
 * those that it has not are read. What it has written itself is as it has written it. */
#include "host/kept/lives.h"

#include <ftw.h>
#include <sys/stat.h>

#include "support/temp.h"

static char dir[TEST_TEMP_PATH];

static const char *const names[] = { "main.lua", "words.lua", "later.lua", "sim.lua",
    "agents/writer.md", "agents/house.txt", "agents/editor.md", "agents/new.md" };

static void put(const char *name, const char *text)
{
    char path[TEST_TEMP_PATH + 32];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void drop(const char *name)
{
    char path[TEST_TEMP_PATH + 32];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    unlink(path);
}

static const char main_lua[] =
    "local hocket = require 'hocket'\n"
    "local here = (...)\n"
    "local team = hocket.agents(here .. '/agents')\n"
    "local one = assert(hocket.run(team.writer, require('words').greeting)).text\n"
    "hocket.fs.write(here .. '/agents/new.md', '---\\nname: new\\ndescription: d\\n---\\nYou are '"
    " .. #one .. ' letters.\\n')\n"
    "local again = hocket.agents(here .. '/agents')\n"
    "local two = assert(hocket.run(again.new, 'say ' .. again.new.prompt)).text\n"
    "local three = assert(hocket.run(again.editor, 'say ' .. again.editor.prompt)).text\n"
    "return one .. two .. three .. require('later')\n";

static void write_all(void)
{
    char path[TEST_TEMP_PATH + 16];
    snprintf(path, sizeof(path), "%s/agents", dir);
    mkdir(path, 0700);
    put("main.lua", main_lua);
    put("words.lua", "local words = ... greeting = 'global' return { greeting = 'say Hello' }\n");
    put("later.lua", "return 'later'\n");
    put("sim.lua",
        "return function(q) return { text = (q.last.text:match 'say (.*)' or q.last.text)"
        " .. ' [' .. q.system .. ']' } end\n");
    put("agents/writer.md",
        "---\nname: writer\ndescription: d\n---\nYou write. {{include house.txt}}\n");
    put("agents/house.txt", "Short.");
    put("agents/editor.md", "---\nname: editor\ndescription: d\n---\nYou edit.\n");
    drop("agents/new.md");
    drop("agents/third.md");
}

/* Everything is another text, or gone. */
static void spoil(void)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        drop(names[i]);
    put("agents/writer.md", "---\nname: writer\ndescription: d\n---\nSomebody else's.\n");
    put("words.lua", "return { greeting = 'say other words' }\n");
    put("agents/third.md", "---\nname: third\ndescription: d\n---\nNew.\n");
}

static bool has_file(const struct kept_log *log, const char *name)
{
    for (size_t i = 0; i < log->n_files; i++)
        if (strstr(log->files[i].name, name))
            return true;
    return false;
}

static bool has_written(const struct kept_log *log)
{
    for (size_t i = 0; i < log->n; i++)
        if (hocket__str_is(entry_at(log, i).name, "fs"))
            return true;
    return false;
}

/* With its whole log it does the same again, of which nothing is there. */
static void test_replay(void **state)
{
    struct workflow w = { .name = "files", dir, dir, "{}" };
    struct kept_log log, again;
    struct life first, l;
    (void) state;
    write_all();
    log_init(&log);
    live(&w, &log, &first);
    if (first.status != 0)
        fail_msg("%s\n%s", first.error, first.events.data);
    assert_true(has_file(&log, "words.lua") && has_file(&log, "/agents/house.txt"));
    log_copy(&log, log.n, &again);
    spoil();
    live(&w, &again, &l);
    if (l.status != 0)
        fail_msg("%s", l.error);
    same("the answer", "files", log.n, first.text.data, l.text.data, 0);
    same("the events", "files", log.n, first.events.data, l.events.data, ID_ONLY);
    assert_int_equal(again.n, log.n);
    assert_int_equal(again.n_files, log.n_files);
    life_free(&l);
    log_free(&again);
    life_free(&first);
    log_free(&log);
}

/* Pictures that it was started with, that a script has read, and that a tool has returned. */
static void test_given(void **state)
{
    static const char script[] =
        "local hocket = require 'hocket'\n"
        "local here = (...)\n"
        "local look = hocket.tool { name = 'look', description = 'Looks.', effects = { 'read' },\n"
        "  run = function() return { 'seen', assert(hocket.image(here .. '/dog.png')) } end }\n"
        "local eye = hocket.agent { name = 'eye', prompt = 'You see.' }\n"
        "local given = hocket.this_run().files\n"
        "local cat = assert(hocket.image(here .. '/cat.png'))\n"
        "return assert(hocket.run(eye, { 'Look.', given[1], cat }, { tools = { look } })).text\n";
    static const char sim[] =
        "return function(q)\n"
        "  if #q.messages == 1 then return { calls = { { name = 'look', arguments = {} } } } end\n"
        "  local seen = {}\n"
        "  for _, m in ipairs(q.messages) do for _, f in ipairs(m.files or {}) do seen[#seen + 1] ="
        " f.data end end\n"
        "  return { text = table.concat(seen, ' ') }\n"
        "end\n";
    char target[TEST_TEMP_PATH + 16], options[TEST_TEMP_PATH + 40];
    struct kept_log log;
    struct life first;
    (void) state;
    snprintf(target, sizeof(target), "%s/given.lua", dir);
    snprintf(options, sizeof(options), "{\"files\":[\"%s/own.pdf\"]}", dir);
    struct workflow w = { .name = "given", target, dir, options };
    put("given.lua", script);
    put("sim.lua", sim);
    put("own.pdf", "%PDF-1.4 own");
    put("cat.png", "\211PNG\r\n\032\ncat");
    put("dog.png", "\211PNG\r\n\032\ndog");
    log_init(&log);
    live(&w, &log, &first);
    if (first.status != 0)
        fail_msg("%s\n%s", first.error, first.events.data);
    assert_string_equal(first.text.data, "JVBERi0xLjQgb3du iVBORw0KGgpjYXQ= iVBORw0KGgpkb2c=");
    drop("own.pdf");
    drop("cat.png");
    drop("dog.png");
    for (size_t cut = 0; cut < 3; cut++) {
        struct kept_log again;
        struct life l;
        log_copy(&log, log.n - cut, &again);
        live(&w, &again, &l);
        if (l.status != 0)
            fail_msg("without its last %zu: %s", cut, l.error);
        same("the answer", "given", log.n, first.text.data, l.text.data, 0);
        life_free(&l);
        log_free(&again);
    }
    drop("given.lua");
    life_free(&first);
    log_free(&log);
}

/* In its first life the program has it as a text, or watches it; in the next nobody does. */
static void check_prepared(const char *target, void (*prepare)(hocket_host *h))
{
    struct workflow w = { .name = "prepared", target, dir, "{}", .prepare = prepare };
    struct kept_log log, again;
    struct life first, l;
    write_all();
    log_init(&log);
    live(&w, &log, &first);
    if (first.status != 0)
        fail_msg("%s\n%s", first.error, first.events.data);
    log_copy(&log, log.n, &again);
    spoil();
    w.prepare = NULL;
    live(&w, &again, &l);
    if (l.status != 0)
        fail_msg("%s", l.error);
    same("the events", target, log.n, first.events.data, l.events.data, ID_ONLY);
    assert_int_equal(again.n, log.n);
    life_free(&l);
    log_free(&again);
    log_copy(&log, log.n - 3, &again); /* and goes on live */
    put("later.lua", "return 'later'\n");
    live(&w, &again, &l);
    if (l.status != 0)
        fail_msg("%s", l.error);
    same("the answer", target, log.n, first.text.data, l.text.data, 0);
    life_free(&l);
    log_free(&again);
    life_free(&first);
    log_free(&log);
}

static void load_texts(hocket_host *h)
{
    struct hocket_error err;
    if (hocket_load_buffer(
            h, "inn/smith.md", "---\nname: smith\ndescription: d\n---\nYou forge.\n", 0, &err)
        < 0)
        fail_msg("%s", err.message);
}

static void test_buffer(void **state)
{
    (void) state;
    check_prepared("buffer:inn/smith.md", load_texts);
}

static void on_watching(hocket_host *h, uint64_t id, const struct hocket_event *e, void *ud)
{
    (void) h;
    (void) id;
    *(int *) ud += strcmp(e->type, "agent_watch") == 0;
}

static void watch(hocket_host *h)
{
    static int watching;
    struct hocket_error err;
    char args[TEST_TEMP_PATH + 32];
    uint64_t id;
    watching = 0;
    snprintf(args, sizeof(args), "{\"path\":\"%s\"}", dir);
    if (hocket_call_start(h, "watch", args, &id, on_watching, NULL, &watching, &err) < 0)
        fail_msg("%s", err.message);
    for (int i = 0; i < 500 && !watching; i++)
        hocket_wait(h, 10);
    assert_int_equal(watching, 1);
}

static void test_watched(void **state)
{
    char path[TEST_TEMP_PATH + 32];
    (void) state;
    check_prepared(dir, watch);
    snprintf(path, sizeof(path), "%s/agents/writer.md", dir);
    check_prepared(path, watch);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void) st, (void) type, (void) at;
    return remove(path);
}

/* Whether a folder is trusted is asked once in all lives: that it is remembered since changes nothing. */
static void test_trust(void **state)
{
    struct workflow w = { .name = "trust",
        .target = dir,
        .input = dir,
        .options = "{\"trust\":\"ask\",\"interactive\":true}",
        .answers = { "yes" } };
    struct kept_log log, again;
    struct life first, l;
    char home[TEST_TEMP_PATH], path[TEST_TEMP_PATH + 32];
    (void) state;
    assert_true(test_temp_dir(home));
    write_all();
    life_trust = NULL;
    life_state = home;
    log_init(&log);
    live(&w, &log, &first);
    assert_int_equal(first.status, 0);
    assert_non_null(strstr(first.events.data, "question_asked"));
    for (size_t n = 1; n <= log.n; n++) {
        log_copy(&log, n, &again);
        if (n == log.n)
            spoil();
        live(&w, &again, &l);
        if (l.status != 0)
            fail_msg("%zu entries: %s", n, l.error);
        if (n == log.n)
            same("the events", "trust", n, first.events.data, l.events.data, ID_ONLY);
        life_free(&l);
        log_free(&again);
    }
    life_trust = "1";
    life_state = NULL;
    life_free(&first);
    log_free(&log);
    snprintf(path, sizeof(path), "%s/hocket/trust", home);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(nftw(home, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* Cut behind each entry: what it had read stays as it was, what it had not read is as it is now. */
static void test_cut(void **state)
{
    struct workflow w = { .name = "files", dir, dir, "{}" };
    struct kept_log log;
    struct life first;
    (void) state;
    write_all();
    log_init(&log);
    live(&w, &log, &first);
    assert_int_equal(first.status, 0);
    for (size_t n = 1; n < log.n; n++) {
        struct kept_log cut;
        struct life l;
        write_all();
        log_copy(&log, n, &cut);
        if (has_written(&cut)) /* its own work is there, as far as it had come */
            put("agents/new.md", "---\nname: new\ndescription: d\n---\nChanged.\n");
        put("agents/writer.md", "---\nname: writer\ndescription: d\n---\nSomebody else's.\n");
        put("words.lua", "return { greeting = 'say other words' }\n");
        put("later.lua", "return 'much later'\n");
        bool writer = has_file(&cut, "house.txt");
        bool words = has_file(&cut, "words.lua"), later = has_file(&cut, "later.lua");
        live(&w, &cut, &l);
        if (l.status != 0)
            fail_msg("%zu entries: %s", n, l.error);
        if ((strstr(l.text.data, "[You write. Short.") != NULL) != writer
            || (strncmp(l.text.data, "Hello", 5) == 0) != words
            || (strstr(l.text.data, "much later") != NULL) != !later)
            fail_msg("%zu entries: %s", n, l.text.data);
        life_free(&l);
        log_free(&cut);
    }
    life_free(&first);
    log_free(&log);
}

static void clean(void)
{
    char path[TEST_TEMP_PATH + 16];
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        drop(names[i]);
    drop("agents/third.md");
    snprintf(path, sizeof(path), "%s/agents", dir);
    rmdir(path);
    rmdir(dir);
}

/* The model that nobody named is that of the key that was there when it was looked for. */
static void test_model(void **state)
{
    struct workflow w = { .name = "model", dir, dir, "{}" };
    struct kept_log log, cut;
    struct life first, l;
    (void) state;
    write_all();
    put("main.lua", "local hocket = require 'hocket'\n"
                    "local before = assert(hocket.model.default())\n"
                    "hocket.flow.sleep(0.001)\n"
                    "return before .. ' ' .. assert(hocket.model.default())\n");
    log_init(&log);
    life_key = "OPENAI_API_KEY";
    live(&w, &log, &first);
    assert_non_null(strstr(first.text.data, "openai/"));
    life_key = "GROQ_API_KEY";
    for (size_t n = 1; n <= log.n; n++) {
        log_copy(&log, n, &cut);
        live(&w, &cut, &l);
        if (n > 1) /* else it had not begun to look */
            assert_string_equal(l.text.data, first.text.data);
        life_free(&l);
        log_free(&cut);
    }
    life_key = NULL;
    life_free(&first);
    log_free(&log);
}

/* A file that was too large is too large again, whatever has become of it. */
static void test_too_large(void **state)
{
    static char large[(1 << 20) + 2];
    struct workflow w = { .name = "too large", dir, dir, "{}" };
    struct kept_log log, again;
    struct life first, l;
    (void) state;
    write_all();
    memset(large, 'x', sizeof(large) - 1);
    put("agents/house.txt", large);
    put("main.lua", "local hocket = require 'hocket'\n"
                    "local here = ...\n"
                    "local ok = pcall(function() return assert(hocket.agents(here .. '/agents')) "
                    "end)\n"
                    "return tostring(ok)\n");
    log_init(&log);
    live(&w, &log, &first);
    log_copy(&log, log.n, &again);
    put("agents/house.txt", "Short.");
    live(&w, &again, &l);
    if (strcmp(first.text.data, "false") != 0)
        fail_msg("%s %s", first.text.data, first.error);
    assert_string_equal(l.text.data, "false");
    life_free(&l);
    life_free(&first);
    log_free(&again);
    log_free(&log);
}

/* What a repository's configuration protects is asked once: a replay decides as it was decided then. */
static void test_protected(void **state)
{
    char options[TEST_TEMP_PATH + 64], path[TEST_TEMP_PATH + 16];
    struct workflow w = { .name = "protected", dir, dir, options };
    struct kept_log log, again;
    struct life first, l;
    (void) state;
    write_all();
    put("main.lua", "local hocket = require 'hocket'\n"
                    "local writer = hocket.agent { name = 'writer', prompt = 'You write.',"
                    " tools = { 'write_file' } }\n"
                    "return assert(hocket.run(writer, 'Go on.')).text\n");
    put("sim.lua", "return function(q)\n"
                   "  if q.last.role == 'tool' then return { text = q.last.text } end\n"
                   "  return { calls = { { name = 'write_file', arguments = "
                   "{ path = 'new.txt', content = 'x' } } } }\nend\n");
    snprintf(options, sizeof(options), "{\"workdir\":\"%s\",\"approve\":[\"allow\"]}", dir);
    log_init(&log);
    live(&w, &log, &first);
    if (first.status != 0 || !strstr(first.text.data, "new.txt"))
        fail_msg("%s %s", first.error, first.text.data);
    snprintf(path, sizeof(path), "%s/.git", dir);
    mkdir(path, 0700);
    put(".git/config", "[core]\n\thooksPath = new.txt\n");
    log_copy(&log, log.n, &again);
    live(&w, &again, &l);
    if (l.status != 0)
        fail_msg("%s", l.error);
    assert_string_equal(l.text.data, first.text.data);
    drop(".git/config");
    rmdir(path);
    drop("new.txt");
    life_free(&l);
    life_free(&first);
    log_free(&again);
    log_free(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_replay), cmocka_unit_test(test_given),
        cmocka_unit_test(test_buffer), cmocka_unit_test(test_watched), cmocka_unit_test(test_trust),
        cmocka_unit_test(test_cut), cmocka_unit_test(test_model), cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_protected) };
    if (!test_temp_dir(dir))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    clean();
    return failed;
}
