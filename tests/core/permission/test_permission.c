#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/str.h"
#include "core/permission/permission.h"
#include "support/alloc.h"

/* A policy as text: "operator[:mode] | run[:mode] | agent", then rules "deny tool", "ask tool
 * glob", "allow tool name=glob"; "protect path", "grant path". Separated by ';'. */
static enum hocket__verdict word_of(const char *w, size_t n)
{
    if (n == 5 && memcmp(w, "allow", 5) == 0)
        return HOCKET__ALLOW;
    return n == 3 && memcmp(w, "ask", 3) == 0 ? HOCKET__ASK
           : n == 4                           ? HOCKET__DENY
                                              : HOCKET__SILENT;
}

static int add_line(struct hocket__permissions *d, const char *p, size_t n)
{
    char line[200], *save, *rest = line;
    assert_true(n < sizeof(line));
    memcpy(line, p, n);
    line[n] = 0;
    char *word = strtok_r(rest, " ", &save), *mode = strchr(word, ':');
    enum hocket__verdict m = mode ? word_of(mode + 1, strlen(mode + 1)) : HOCKET__SILENT;
    if (mode)
        *mode = 0;
    if (strcmp(word, "operator") == 0)
        return hocket__permission_layer(d, HOCKET__OPERATOR, HOCKET__STR("the operator"), m);
    if (strcmp(word, "run") == 0)
        return hocket__permission_layer(d, HOCKET__RUN, HOCKET__STR("--approve"), m);
    if (strcmp(word, "agent") == 0)
        return hocket__permission_layer(d, HOCKET__AGENT, HOCKET__STR("agent a"), HOCKET__SILENT);
    if (strcmp(word, "grant") == 0)
        return hocket__permission_grant(d, hocket__cstr(strtok_r(NULL, " ", &save)));
    if (strcmp(word, "protect") == 0)
        return hocket__permission_protect(d, hocket__cstr(strtok_r(NULL, " ", &save)));
    int rc = hocket__permission_rule(
        d, word_of(word, strlen(word)), hocket__cstr(strtok_r(NULL, " ", &save)));
    char *glob = strtok_r(NULL, "", &save), *equals = glob ? strchr(glob, '=') : NULL;
    if (rc < 0 || !glob)
        return rc;
    struct hocket__str name =
        equals ? hocket__str(glob, (size_t) (equals - glob)) : hocket__str("", 0);
    return hocket__permission_when(d, name, hocket__cstr(equals ? equals + 1 : glob));
}

static int build(struct hocket__permissions *d, const char *policy)
{
    while (*policy) {
        size_t n = strcspn(policy, ";");
        int rc = add_line(d, policy, n);
        if (rc < 0)
            return rc;
        policy += n + (policy[n] == ';');
    }
    return 0;
}

static char reason_text[512];
static bool each, as_text;

static enum hocket__verdict decide(const char *policy, const char *tool, unsigned effects,
    unsigned labels, const struct hocket__permission_arg *args, size_t n)
{
    struct test_alloc t;
    test_alloc_init(&t);
    struct hocket__permissions *d = hocket__permission_new(&t.a);
    struct hocket__buf reason;
    hocket__buf_init(&reason, &t.a, 0);
    assert_int_equal(build(d, policy), 0);
    struct hocket__permission_call call = { .agent = HOCKET__STR("a"),
        .tool = hocket__cstr(tool),
        .subject = n ? args[0].name : hocket__str("", 0),
        .args = args,
        .n_args = n,
        .effects = effects,
        .labels = labels,
        .as_text = as_text };
    enum hocket__verdict v = hocket__permission_decide(d, &call, &each, &reason);
    assert_true(reason.len > 0 && reason.len < sizeof(reason_text));
    memcpy(reason_text, reason.data, reason.len + 1);
    hocket__buf_deinit(&reason);
    hocket__permission_free(d);
    test_alloc_check(&t);
    return v;
}

static enum hocket__verdict with(
    const char *policy, const char *tool, unsigned effects, const char *value)
{
    struct hocket__permission_arg arg = { HOCKET__STR("command"), hocket__cstr(value),
        HOCKET__TEXT };
    return decide(policy, tool, effects, 0, &arg, 1);
}

static enum hocket__verdict plain(const char *policy, unsigned effects, unsigned labels)
{
    return decide(policy, "tool", effects, labels, NULL, 0);
}

static enum hocket__verdict write_to(const char *policy, const char *path)
{
    struct hocket__permission_arg arg = { HOCKET__STR("path"), hocket__cstr(path), HOCKET__PLACE };
    return decide(policy, "write_file", HOCKET__WRITES, 0, &arg, 1);
}

#define ALLOW HOCKET__ALLOW
#define ASK   HOCKET__ASK
#define DENY  HOCKET__DENY

static void test_base(void **state)
{
    assert_int_equal(plain("", 0, 0), ALLOW);
    assert_int_equal(plain("", HOCKET__READS, 0), ALLOW);
    assert_int_equal(plain("", HOCKET__SENDS, 0), ALLOW);
    assert_int_equal(plain("", HOCKET__WRITES, 0), ASK);
    assert_string_equal(reason_text, "it changes files");
    assert_int_equal(plain("", HOCKET__RUNS, 0), ASK);
    assert_int_equal(plain("", HOCKET__ELSEWHERE, 0), ASK);
    assert_int_equal(plain("", HOCKET__OPENS, 0), ASK);
    assert_int_equal(plain("", HOCKET__READS | HOCKET__WRITES, 0), ASK);
}

/* Beside anybody's words such a call asks, whatever it does; a general yes is no answer to that. */
static void test_written_as_text(void **state)
{
    as_text = true;
    assert_int_equal(plain("", HOCKET__READS, 0), ALLOW);
    assert_int_equal(plain("", HOCKET__READS, HOCKET__PRIVATE_TEXT), ALLOW);
    assert_int_equal(plain("", HOCKET__READS, HOCKET__WEB), ASK);
    assert_string_equal(
        reason_text, "it was written as text, and the conversation has text from the web");
    assert_int_equal(plain("", 0, HOCKET__WEB), ASK);
    assert_int_equal(plain("run:allow", HOCKET__READS, HOCKET__WEB), ASK);
    assert_int_equal(plain("agent;allow tool", HOCKET__READS, HOCKET__WEB), ASK);
    assert_int_equal(plain("run;allow tool", HOCKET__READS, HOCKET__WEB), ALLOW);
    assert_int_equal(plain("run:deny", HOCKET__READS, HOCKET__WEB), DENY);
    as_text = false;
    assert_int_equal(plain("", HOCKET__READS, HOCKET__WEB), ALLOW);
}

static void test_labels(void **state)
{
    assert_int_equal(plain("", HOCKET__READS, HOCKET__WEB), ALLOW);
    assert_int_equal(plain("", HOCKET__SENDS, HOCKET__WEB), ASK);
    assert_string_equal(
        reason_text, "it sends a request, and the conversation has text from the web");
    /* A general yes was not given for this; one for the tool was. */
    assert_int_equal(plain("run:allow", HOCKET__SENDS, HOCKET__OUTSIDE), ASK);
    assert_int_equal(plain("run:allow", HOCKET__RUNS, HOCKET__SERVER), ASK);
    assert_int_equal(plain("run;allow *", HOCKET__RUNS, HOCKET__SERVER), ASK);
    assert_int_equal(plain("run;allow t*", HOCKET__RUNS, HOCKET__SERVER), ALLOW);
    assert_int_equal(plain("run;allow tool", HOCKET__SENDS, HOCKET__WEB), ALLOW);
    assert_int_equal(plain("agent;allow tool", HOCKET__SENDS, HOCKET__WEB), ASK);
    assert_int_equal(plain("run:allow", HOCKET__WRITES, HOCKET__WEB), ALLOW);
    assert_int_equal(plain("run:deny", HOCKET__SENDS, HOCKET__WEB), DENY);
}

static void test_modes(void **state)
{
    assert_int_equal(plain("run:allow", HOCKET__RUNS, 0), ALLOW);
    assert_string_equal(reason_text, "approved beforehand");
    assert_int_equal(plain("run:ask", HOCKET__RUNS, 0), ASK);
    assert_int_equal(plain("run:deny", HOCKET__RUNS, 0), DENY);
    assert_int_equal(plain("run:deny", HOCKET__READS, 0), ALLOW);
    assert_int_equal(plain("run:ask", HOCKET__READS, 0), ALLOW);
    /* Opening is always asked. */
    assert_int_equal(plain("operator:allow;run:allow;allow tool", HOCKET__OPENS, 0), ASK);
    assert_int_equal(plain("run:deny", HOCKET__OPENS, 0), DENY);
}

static void test_layers_narrow(void **state)
{
    assert_int_equal(plain("operator:ask;run:allow", HOCKET__RUNS, 0), ASK);
    assert_int_equal(plain("operator:deny;run:allow", HOCKET__RUNS, 0), DENY);
    assert_int_equal(plain("operator:allow;run", HOCKET__RUNS, 0), ALLOW);
    /* The most that the operator grants is not what the run wants. */
    assert_int_equal(plain("operator:allow;run:deny", HOCKET__RUNS, 0), DENY);
    assert_int_equal(plain("operator:allow;run:ask", HOCKET__RUNS, 0), ASK);
    assert_int_equal(plain("operator:allow;run:deny", HOCKET__WRITES, 0), DENY);
    assert_int_equal(plain("operator;allow tool;run:deny", HOCKET__RUNS, 0), DENY);
    assert_int_equal(plain("operator:allow;run:deny;allow tool", HOCKET__RUNS, 0), ALLOW);
    assert_int_equal(plain("operator;allow tool;run:allow", HOCKET__RUNS, HOCKET__WEB), ASK);
    assert_int_equal(plain("operator;allow tool;run;allow tool", HOCKET__RUNS, HOCKET__WEB), ALLOW);
    assert_int_equal(plain("operator;allow other;run:allow", HOCKET__RUNS, 0), ALLOW);
    assert_int_equal(plain("operator:allow;run:deny;agent;ask tool", 0, 0), DENY);
    assert_int_equal(plain("operator:allow;run;deny tool", HOCKET__RUNS, 0), DENY);
    assert_int_equal(plain("operator;ask tool;run;allow tool", 0, 0), ASK);
    assert_int_equal(plain("operator;deny tool;run;allow tool;agent;allow tool", 0, 0), DENY);
    assert_string_equal(reason_text, "the operator says deny for tool");
    /* An agent's file lifts nothing; people answer what it asks. */
    assert_int_equal(plain("agent;allow tool", HOCKET__RUNS, 0), ASK);
    assert_int_equal(plain("agent;ask tool", 0, 0), ASK);
    assert_int_equal(plain("agent;ask tool;run:allow", 0, 0), ALLOW);
    assert_int_equal(plain("agent;deny tool;run:allow;allow tool", 0, 0), DENY);
    assert_int_equal(plain("run:allow;ask tool", HOCKET__RUNS, 0), ASK);
    assert_int_equal(plain("agent;allow tool;agent;deny t?ol", 0, 0), DENY);
}

static void test_order_in_a_layer(void **state)
{
    static const char *const orders[] = { "agent;allow tool;ask tool;deny tool",
        "agent;deny tool;ask tool;allow tool" };
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(plain(orders[i], 0, 0), DENY);
    assert_int_equal(plain("agent;ask tool;allow tool", 0, 0), ASK);
    assert_int_equal(plain("agent;deny other;allow *", 0, 0), ALLOW);
}

static void test_arguments(void **state)
{
    const char *git = "run;allow sh git *;deny sh git push*";
    assert_int_equal(with(git, "sh", HOCKET__RUNS, "git status"), ALLOW);
    assert_int_equal(with(git, "sh", HOCKET__RUNS, "git push -f"), DENY);
    assert_int_equal(with(git, "sh", HOCKET__RUNS, "rm -rf x"), ASK);
    assert_string_equal(reason_text, "--approve allows sh for other arguments only");
    assert_int_equal(with("agent;allow sh git *", "sh", 0, "ls"), ASK);
    assert_int_equal(with("run:allow;allow sh git *", "sh", HOCKET__RUNS, "ls"), ALLOW);
    assert_int_equal(with("operator:allow;run;allow sh git *", "sh", HOCKET__RUNS, "ls"), ASK);
    assert_int_equal(with("agent;allow sh command=git *", "sh", 0, "git x"), ALLOW);
    assert_int_equal(with("agent;allow sh other=git *", "sh", 0, "git x"), ASK);
    assert_int_equal(with("agent;deny sh other=*", "sh", 0, "git x"), ALLOW);
}

/* A glob for a command allows one command, whatever is behind it. */
static void test_one_command(void **state)
{
    static const char *const tricks[] = { "git log; rm x", "git log && rm x", "git log | sh",
        "git log\nrm x", "git log `rm x`", "git log $(rm x)", "git log > x", "git log & rm x",
        "git log \\\nrm" };
    for (size_t i = 0; i < sizeof(tricks) / sizeof(tricks[0]); i++) {
        assert_int_equal(with("run;allow sh git *", "sh", HOCKET__RUNS, tricks[i]), ASK);
        assert_int_equal(with("run;allow sh *", "sh", HOCKET__RUNS, tricks[i]), ALLOW);
        assert_int_equal(with("run;deny sh git *", "sh", HOCKET__RUNS, tricks[i]), DENY);
    }
}

/* To allow, all values of a list have to fit; to deny, one. */
static void test_lists(void **state)
{
    struct hocket__permission_arg args[] = { { HOCKET__STR("paths"), HOCKET__STR("a/1"),
                                                 HOCKET__TEXT },
        { HOCKET__STR("paths"), HOCKET__STR("b/1"), HOCKET__TEXT } };
    assert_int_equal(decide("agent;allow read a/*", "read", 0, 0, args, 2), ASK);
    assert_int_equal(decide("agent;allow read ?/*", "read", 0, 0, args, 2), ALLOW);
    assert_int_equal(decide("agent;deny read b/*", "read", 0, 0, args, 2), DENY);
    assert_int_equal(decide("agent;allow read a/*", "read", 0, 0, args, 1), ALLOW);
}

static void test_places(void **state)
{
    static const char *const places[] = { ".git", ".git/config", "a/.git/hooks/x", ".GIT/config",
        ".bashrc", "home/.zshrc", ".ssh/authorized_keys", ".config/fish/config.fish",
        "agents/file.md", "agents", "AGENTS/x.md", "sub/.vscode/tasks.json", ".mcp.json",
        ".CLAUDE/settings.json", "a/b/.envrc", "docs/HEAD" };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        assert_int_equal(write_to("protect agents", places[i]), DENY);
        assert_int_equal(write_to("protect agents;run:allow;allow write_file", places[i]), DENY);
        assert_int_equal(write_to("protect agents;agent;allow write_file *", places[i]), DENY);
        assert_int_equal(write_to("protect agents;run;allow write_file *", places[i]), DENY);
        char exact[100];
        snprintf(exact, sizeof(exact),
            "protect agents;operator:allow;allow write_file %s;run:allow", places[i]);
        assert_int_equal(write_to(exact, places[i]), DENY); /* whatever its glob */
    }
    static const char *const free_places[] = { ".githubx/x", "git", ".gitignore", "agents2/x",
        "x.bashrc", ".config/other", "HEAD/x", "docs/head", ".vscodex", "vscode" };
    for (size_t i = 0; i < sizeof(free_places) / sizeof(free_places[0]); i++)
        assert_int_equal(write_to("protect agents;run:allow", free_places[i]), ALLOW);
    static const char *const asking[] = { ".github/x", "a/Jenkinsfile", ".env", "a.pem", "x.pth" };
    for (size_t i = 0; i < sizeof(asking) / sizeof(asking[0]); i++) {
        char rule[100];
        snprintf(rule, sizeof(rule), "run;allow write_file %s", asking[i]);
        assert_int_equal(write_to("run:allow", asking[i]), ASK);
        assert_int_equal(write_to(rule, asking[i]), ALLOW);
    }
    assert_int_equal(write_to("protect a/agents;run:allow", "a"), DENY); /* what is above it */
    assert_int_equal(write_to("operator:allow;run;allow write_file .git/*", ".git/x"), DENY);
    assert_int_equal(write_to("operator;allow write_file .git/*;run:allow", ".git/x"), DENY);
    assert_int_equal(
        write_to("operator;allow write_file .git/*;run;allow write_file .git/*", ".git/x"), DENY);
}

/* What the operator names by its path, with all below it and nothing else. */
static void test_grants(void **state)
{
    const char *policy =
        "protect agents;grant .git/info;grant sub/.vscode;grant agents/b;run:allow";
    assert_int_equal(write_to(policy, ".git/info/exclude"), ALLOW);
    assert_int_equal(write_to(policy, "sub/.vscode"), ALLOW);
    assert_int_equal(write_to(policy, "agents/b/new.md"), ALLOW);
    assert_int_equal(write_to("grant .git/info", ".git/info/exclude"), ASK); /* as any other */
    static const char *const others[] = { ".git/config", ".git/information", ".git", ".vscode/x",
        "sub2/sub/.vscode", "agents/a", "agents" };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(write_to(policy, others[i]), DENY);
}

static enum hocket__verdict read_of(const char *policy, const char *path)
{
    struct hocket__permission_arg args[] = { { HOCKET__STR("path"), hocket__cstr(path),
                                                 HOCKET__TEXT },
        { HOCKET__STR("(read)"), hocket__cstr(path), HOCKET__READ } };
    return decide(policy, "read_file", HOCKET__READS, 0, args, 2);
}

/* Credentials are asked for, whatever is allowed in general: only a rule that names one is a word. */
static void test_credentials(void **state)
{
    static const char *const secret[] = { ".env", "a/.env", ".env.local", "prod.env", ".ENV",
        ".netrc", ".ssh/config", "home/.ssh/id_rsa", "id_ed25519", "tls/server.key", "server.PEM",
        ".aws/credentials", ".git/config", "x/.git/config", ".config/gh/hosts.yml",
        "credentials.json", "secrets.yaml", "terraform.tfstate", ".git-credentials",
        ".docker/config.json", "kubeconfig" };
    for (size_t i = 0; i < sizeof(secret) / sizeof(secret[0]); i++) {
        assert_int_equal(read_of("", secret[i]), ASK);
        assert_non_null(strstr(reason_text, "may hold keys"));
        assert_int_equal(read_of("run:allow", secret[i]), ASK);
        assert_int_equal(read_of("run:allow;allow read_file", secret[i]), ASK);
        assert_int_equal(read_of("run;allow read_file *", secret[i]), ASK);
        assert_int_equal(read_of("agent;allow read_file *.env", secret[i]), ASK);
        assert_int_equal(read_of("run:deny", secret[i]), DENY);
    }
    static const char *const plain_files[] = { ".env.example", "id_rsa.pub", "environment.md",
        "src/key.c", "README.md", "config", "keys.txt", "tests/secretary.c" };
    for (size_t i = 0; i < sizeof(plain_files) / sizeof(plain_files[0]); i++)
        assert_int_equal(read_of("", plain_files[i]), ALLOW);
    assert_int_equal(read_of("run;allow read_file .env", ".env"), ALLOW);
    assert_int_equal(read_of("run;allow read_file *.pem", "tls/a.pem"), ALLOW);
    assert_int_equal(read_of("run;allow read_file src/*", "src/.env"), ASK);
    assert_int_equal(read_of("operator:allow;run;allow read_file .env", ".env"), ASK);
}

static enum hocket__verdict fetch(const char *policy, unsigned labels, bool known)
{
    struct test_alloc t;
    test_alloc_init(&t);
    struct hocket__permissions *d = hocket__permission_new(&t.a);
    struct hocket__buf reason;
    hocket__buf_init(&reason, &t.a, 0);
    assert_int_equal(build(d, policy), 0);
    struct hocket__permission_arg arg = { HOCKET__STR("url"), HOCKET__STR("https://a.example/x"),
        HOCKET__URL };
    struct hocket__permission_call call = { .agent = HOCKET__STR("a"),
        .tool = HOCKET__STR("tool"),
        .subject = HOCKET__STR("url"),
        .args = &arg,
        .n_args = 1,
        .effects = HOCKET__FETCHES,
        .labels = labels,
        .known_host = known };
    enum hocket__verdict v = hocket__permission_decide(d, &call, &each, &reason);
    hocket__buf_deinit(&reason);
    hocket__permission_free(d);
    test_alloc_check(&t);
    return v;
}

/* What may be a secret leaves to nobody who was not named. */
static void test_egress(void **state)
{
    static const unsigned secret[] = { HOCKET__PRIVATE_TEXT, HOCKET__OUTSIDE, HOCKET__SERVER,
        HOCKET__PRIVATE_TEXT | HOCKET__WEB, HOCKET__LABELS };
    assert_int_equal(fetch("", 0, false), ALLOW);
    assert_int_equal(fetch("", HOCKET__WEB, false), ALLOW); /* it has read nothing private */
    for (size_t i = 0; i < sizeof(secret) / sizeof(secret[0]); i++) {
        assert_int_equal(fetch("", secret[i], false), ASK);
        assert_int_equal(fetch("run:allow", secret[i], false), ASK);
        assert_int_equal(fetch("run;allow *", secret[i], false), ASK);
        assert_int_equal(fetch("agent;allow tool", secret[i], false), ASK);
        assert_int_equal(fetch("run:deny", secret[i], false), DENY);
        assert_int_equal(fetch("", secret[i], true), ALLOW);
        assert_int_equal(fetch("run;allow tool https://a.example/*", secret[i], false), ALLOW);
        assert_int_equal(fetch("run;allow tool https://b.example/*", secret[i], false), ASK);
        assert_int_equal(fetch("run;deny tool", secret[i], true), DENY);
        assert_int_equal(plain("run:allow", HOCKET__SENDS, secret[i]), ASK);
        assert_int_equal(plain("run:allow", HOCKET__ELSEWHERE, secret[i]), ASK);
    }
    assert_int_equal(plain("run:allow", HOCKET__RUNS, HOCKET__PRIVATE_TEXT), ALLOW);
    assert_int_equal(plain("run:allow", HOCKET__WRITES, HOCKET__PRIVATE_TEXT), ALLOW);
    assert_int_equal(plain("", HOCKET__READS, HOCKET__PRIVATE_TEXT), ALLOW);
}

static enum hocket__verdict change(const char *policy, const char *path, unsigned labels)
{
    struct hocket__permission_arg arg = { HOCKET__STR("path"), hocket__cstr(path), HOCKET__PLACE };
    return decide(policy, "write_file", HOCKET__WRITES, labels, &arg, 1);
}

/* A stranger's words do not become what others obey, whatever is allowed in general. */
static void test_obeyed(void **state)
{
    static const char *const obeyed[] = { "Makefile", "sub/makefile", "package.json", "conftest.py",
        "tox.ini", "AGENTS.md", "docs/agents.md", "CLAUDE.md", "agents/new.md", "CMakeLists.txt",
        "setup.py", "pyproject.toml", "Dockerfile.dev", "netlify.toml", "vite.config.js",
        "build.rs", "mcp.json", "noxfile.py" };
    for (size_t i = 0; i < sizeof(obeyed) / sizeof(obeyed[0]); i++) {
        assert_int_equal(change("run:allow", obeyed[i], 0), ALLOW);
        assert_int_equal(change("run:allow", obeyed[i], HOCKET__PRIVATE_TEXT), ALLOW);
        assert_int_equal(change("run:allow", obeyed[i], HOCKET__WEB), ASK);
        assert_non_null(strstr(
            reason_text, "obeyed by other programs, and the conversation has text from the web"));
        assert_int_equal(change("run:allow;allow write_file", obeyed[i], HOCKET__OUTSIDE), ASK);
        assert_int_equal(change("run;allow write_file *", obeyed[i], HOCKET__WEB), ASK);
        assert_int_equal(change("run;allow write_file Makefile", "Makefile", HOCKET__WEB), ALLOW);
    }
    assert_int_equal(change("run:allow", "notes/page.md", HOCKET__WEB), ALLOW);
}

/* What no "always" answers. */
static void test_each_time(void **state)
{
    assert_int_equal(plain("", HOCKET__RUNS, 0), ASK);
    assert_false(each);
    assert_int_equal(plain("run:ask", HOCKET__RUNS, 0), ASK);
    assert_false(each);
    assert_int_equal(plain("agent;ask tool", HOCKET__READS, 0), ASK);
    assert_false(each);
    assert_int_equal(plain("", HOCKET__SENDS, HOCKET__WEB), ASK);
    assert_false(each);
    assert_int_equal(with("run;allow sh git *", "sh", HOCKET__RUNS, "ls"), ASK);
    assert_false(each);
    assert_int_equal(plain("", HOCKET__OPENS, 0), ASK);
    assert_true(each);
    assert_int_equal(plain("run;ask tool", HOCKET__READS, 0), ASK);
    assert_true(each);
    assert_int_equal(plain("operator;ask t*;run:allow", HOCKET__WRITES, 0), ASK);
    assert_true(each);
    assert_int_equal(read_of("", ".env"), ASK);
    assert_true(each);
}

static bool glob(const char *g, const char *text)
{
    return hocket__permission_glob(hocket__cstr(g), hocket__cstr(text));
}

static void test_globs(void **state)
{
    assert_true(glob("", "") && glob("*", "") && glob("**", "abc") && glob("a*c", "abbbc")
                && glob("?", "ä"));
    assert_true(glob("*.c", "x/y.c") && glob("a\\*", "a*") && glob("*a*b*", "xxaxxbxx")
                && glob("?\xff", "a\xff"));
    assert_false(glob("", "a") || glob("a", "") || glob("a\\*", "ab") || glob("*.c", "y.h")
                 || glob("??", "ä"));
    /* Stars do not multiply. */
    char text[50001], many[201];
    memset(text, 'a', 50000);
    text[50000] = 0;
    for (size_t i = 0; i < 200; i++)
        many[i] = i % 2 ? 'a' : '*';
    many[199] = 'b';
    many[200] = 0;
    assert_false(glob(many, text));
}

static void out_of_memory(struct test_alloc *t, void *ud)
{
    struct hocket__permissions *d = hocket__permission_new(&t->a);
    if (!d) {
        assert_true(t->failed);
        return;
    }
    int rc =
        build(d, "operator:ask;deny a;ask b x*;run:allow;allow c p=q;protect e;protect f;grant g");
    assert_true(t->failed || rc == 0);
    hocket__permission_free(d);
}

static void test_memory(void **state)
{
    assert_true(test_alloc_each(out_of_memory, NULL) >= 4);
}

static void test_limits(void **state)
{
    struct hocket__permissions *d = hocket__permission_new(&hocket__malloc);
    assert_int_equal(hocket__permission_rule(d, HOCKET__DENY, HOCKET__STR("x")), HOCKET_EINVAL);
    int rc = 0;
    for (int i = 0; i < 64; i++)
        assert_int_equal(
            hocket__permission_layer(d, HOCKET__AGENT, HOCKET__STR("x"), HOCKET__SILENT), 0);
    assert_int_equal(hocket__permission_layer(d, HOCKET__AGENT, HOCKET__STR("x"), HOCKET__SILENT),
        HOCKET_ELIMIT);
    assert_int_equal(hocket__permission_when(d, HOCKET__STR("x"), HOCKET__STR("y")), HOCKET_EINVAL);
    assert_int_equal(hocket__permission_rule(d, HOCKET__SILENT, HOCKET__STR("x")), HOCKET_EINVAL);
    for (int i = 0; i < 5000 && rc == 0; i++)
        rc = hocket__permission_rule(d, HOCKET__DENY, HOCKET__STR("x"));
    assert_int_equal(rc, HOCKET_ELIMIT);
    hocket__permission_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base),
        cmocka_unit_test(test_written_as_text),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_layers_narrow),
        cmocka_unit_test(test_order_in_a_layer),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_one_command),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_grants),
        cmocka_unit_test(test_credentials),
        cmocka_unit_test(test_egress),
        cmocka_unit_test(test_obeyed),
        cmocka_unit_test(test_each_time),
        cmocka_unit_test(test_globs),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
