/* The lists of names that are credentials, and of those that other programs obey (sensitive.h).
 * They are kept by hand, from what is written about in practice: a name too many costs a question,
 * one too few a key. */
#include "base/sensitive.h"

#include <strings.h>

/* A star stands at one end at most. */
static const char *const credentials[] = { ".env*", "*.env", ".netrc", "_netrc", ".ssh", ".gnupg",
    ".aws", ".azure", ".kube", ".docker", ".git-credentials", ".npmrc", ".pypirc", ".pgpass",
    ".my.cnf", ".mylogin.cnf", ".htpasswd", ".vault-token", ".terraformrc", ".boto", ".s3cfg",
    ".dockercfg", ".password-store", ".bash_history", ".zsh_history", ".python_history",
    ".psql_history", ".mysql_history", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem",
    "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.tfvars", "*.tfstate",
    "credentials", "credentials.*", "client_secret*", "service-account*.json", "service_account*",
    "secrets", "secrets.*", "secret.*", "auth.json", "kubeconfig", "shadow" };
/* Below .config. */
static const char *const config_credentials[] = { "gcloud", "gh", "hub", "rclone", "op", "doctl" };
static const char *const harmless[] = { ".env.example", ".env.sample", ".env.template", ".env.dist",
    ".env.defaults", ".environment", "*.pub" };

/* The formatter would give each name a line of its own. */
/* clang-format off */
static const char *const obeyed[] = {
    /* builds */
    "makefile*", "gnumakefile", "*.mk", "cmakelists.txt", "*.cmake", "cmakepresets.json",
    "meson.build", "build.ninja", "configure", "configure.ac", "rakefile", "justfile", ".justfile",
    "taskfile.y*", "dockerfile*", "containerfile", "docker-compose*", "compose.y*", "vagrantfile",
    "jenkinsfile", "procfile", "sconstruct", "wscript", "build.bazel", "workspace", "*.bzl",
    "flake.nix", "shell.nix", "default.nix", "build.rs", "cargo.toml", ".cargo", "build.gradle*",
    "settings.gradle*", "gradlew*", "pom.xml", "mvnw*", ".mvn", "build.sbt", "*.csproj", "*.targets",
    "*.props", "*.podspec", "podfile", "package.swift", "mix.exs", "build.zig", "go.work",
    /* packages and their scripts */
    "package.json", "composer.json", "gemfile*", "*.gemspec", "setup.py", "setup.cfg",
    "pyproject.toml", "tox.ini", "noxfile.py", "tasks.py", "fabfile.py", "deno.json*", "bunfig.toml",
    "pnpm-workspace.yaml", ".pnpmfile.cjs", "pnpmfile.cjs", "lerna.json", "nx.json", "turbo.json",
    /* tests and linters that run what stands there */
    "conftest.py", "pytest.ini", "sitecustomize.py", "usercustomize.py", "*.pth", "manage.py",
    "gulpfile*", "gruntfile*", "*.config.js", "*.config.ts", "*.config.mjs", "*.config.cjs",
    ".eslintrc*", ".babelrc*", ".mocharc*", ".prettierrc*", ".rspec", "spec_helper.rb", ".busted",
    ".luacheckrc", "karma.conf*",
    /* services that run it */
    ".github", ".gitlab-ci*", ".gitlab", ".circleci", ".travis.yml", ".drone.yml", ".buildkite",
    ".woodpecker*", ".appveyor.yml", "appveyor.yml", "azure-pipelines*", "bitbucket-pipelines*",
    "cloudbuild.y*", "netlify.toml", "vercel.json", "fly.toml", "renovate.json", ".pre-commit-*",
    "lefthook.y*", ".lefthook*", ".husky", ".githooks", ".tool-versions", "mise.toml", ".mise*",
    /* editors and agents */
    ".vscode", "*.code-workspace", ".idea", ".zed", ".fleet", ".devcontainer*", ".editorconfig",
    ".mcp.json", "mcp.json", ".claude", "claude.md", "claude.local.md", "gemini.md", "agents.md",
    "agent.md", "agents", "copilot-instructions.md", ".cursor*", ".windsurf*", ".clinerules*",
    ".aider*", ".hocket", "skill.md",
};
/* clang-format on */

static bool fits(const char *pattern, struct hocket__str name)
{
    size_t n = strlen(pattern);
    if (pattern[0] == '*')
        return name.n >= n - 1 && strncasecmp(name.p + name.n - (n - 1), pattern + 1, n - 1) == 0;
    if (pattern[n - 1] == '*')
        return name.n >= n - 1 && strncasecmp(name.p, pattern, n - 1) == 0;
    return name.n == n && strncasecmp(name.p, pattern, n) == 0;
}

static bool is_one_of(struct hocket__str name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fits(list[i], name))
            return true;
    return false;
}

#define IS_ONE_OF(name, list) is_one_of(name, list, sizeof(list) / sizeof((list)[0]))

bool hocket__credential_name(struct hocket__str parent, struct hocket__str name)
{
    if (IS_ONE_OF(name, credentials))
        return !IS_ONE_OF(name, harmless);
    return (fits(".config", parent) && IS_ONE_OF(name, config_credentials))
           || (fits(".git", parent)
               && fits("config", name)); /* a remote's address may hold a token */
}

static bool is_obeyed(struct hocket__str parent, struct hocket__str name)
{
    (void) parent;
    return IS_ONE_OF(name, obeyed);
}

static bool any_part(
    struct hocket__str path, bool (*is)(struct hocket__str parent, struct hocket__str name))
{
    struct hocket__str parent = { "", 0 };
    while (path.n) {
        const char *slash = memchr(path.p, '/', path.n);
        struct hocket__str part = { path.p, slash ? (size_t) (slash - path.p) : path.n };
        if (part.n && is(parent, part))
            return true;
        parent = part;
        path = hocket__str(path.p + part.n + (slash != NULL), path.n - part.n - (slash != NULL));
    }
    return false;
}

bool hocket__credential_path(struct hocket__str path)
{
    return any_part(path, hocket__credential_name);
}

bool hocket__obeyed_path(struct hocket__str path)
{
    return any_part(path, is_obeyed);
}
