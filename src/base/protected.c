/* The list of protected names and how they are compared (protected.h). Names are compared without
 * regard to ASCII case, as some file systems do: .GIT is .git there. A name that only the tools
 * protect, or only the sandbox of commands, would be a hole; so both ask here. */
#include "base/protected.h"

#include <strings.h>

#define REPOSITORY ".git"

/* In any folder, with all below them. They begin with a dot, all of them. */
static const char *const names[] = {
    /* git, and folders that its hooks are commonly kept in */
    ".gitconfig",
    ".gitmodules",
    ".githooks",
    ".husky",
    /* keys */
    ".ssh",
    ".gnupg",
    ".netrc",
    /* shells and sessions */
    ".profile",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".mkshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".inputrc",
    ".envrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".pam_environment",
    ".git-credentials",
    ".kube",
    ".aws",
    ".azure",
    ".pgpass",
    ".my.cnf",
    ".boto",
    ".terraformrc",
    /* where packages come from, and what building and installing runs */
    ".npmrc",
    ".pypirc",
    ".yarnrc",
    ".yarnrc.yml",
    ".cargo",
    ".mvn",
    ".m2",
    ".gem",
    ".gemrc",
    ".condarc",
    ".pip",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    ".lefthook.yml",
    ".mise.toml",
    ".ansible.cfg",
    ".hg",
    ".hgrc",
    /* editors */
    ".vscode",
    ".idea",
    ".zed",
    ".fleet",
    ".devcontainer",
    ".vimrc",
    ".exrc",
    ".gvimrc",
    ".nvimrc",
    ".nvim.lua",
    ".lvimrc",
    ".dir-locals.el",
    ".dir-locals-2.el",
    ".emacs.d",
    ".emacs",
    /* debuggers and prompts */
    ".gdbinit",
    ".lldbinit",
    ".pdbrc",
    ".curlrc",
    ".wgetrc",
    ".screenrc",
    ".tmux.conf",
    ".psqlrc",
    ".sqliterc",
    ".ghci",
    ".ocamlinit",
    ".Rprofile",
    ".Renviron",
    ".irbrc",
    ".pryrc",
    /* agents */
    ".hocket",
    ".agents",
    ".mcp.json",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".cursor",
    ".cursorrules",
    ".windsurf",
    ".windsurfrules",
    ".continue",
    ".clinerules",
    ".roo",
    ".aider.conf.yml",
    ".opencode",
};
/* Below .config. */
static const char *const config_names[] = { "fish", "git", "autostart", "systemd", "environment.d",
    "nvim", "direnv", "mise", "gh", "gcloud", "pip", "tmux" };

static const char *const fetched_names[] = { "node_modules", "site-packages", ".venv", "venv",
    ".tox", "vendor" };

static bool is(struct hocket__str name, const char *word)
{
    return strlen(word) == name.n && strncasecmp(word, name.p, name.n) == 0;
}

static bool is_one_of(struct hocket__str name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is(name, list[i]))
            return true;
    return false;
}

#define IS_ONE_OF(name, list) is_one_of(name, list, sizeof(list) / sizeof((list)[0]))

enum hocket__protected hocket__protected_name(struct hocket__str parent, struct hocket__str name)
{
    if (name.n && name.p[0] == '.') {
        if (is(name, REPOSITORY))
            return HOCKET__REPOSITORY;
        if (IS_ONE_OF(name, names))
            return HOCKET__PROTECTED;
    }
    return is(parent, ".config") && IS_ONE_OF(name, config_names) ? HOCKET__PROTECTED
                                                                  : HOCKET__UNPROTECTED;
}

static bool next_part(struct hocket__str *path, struct hocket__str *part)
{
    while (path->n && path->p[0] == '/')
        *path = hocket__str(path->p + 1, path->n - 1);
    const char *slash = memchr(path->p, '/', path->n);
    *part = hocket__str(path->p, slash ? (size_t) (slash - path->p) : path->n);
    *path = hocket__str(path->p + part->n, path->n - part->n);
    return part->n > 0;
}

bool hocket__protected_path(struct hocket__str path)
{
    struct hocket__str part, before = { "", 0 };
    for (; next_part(&path, &part); before = part)
        if (hocket__protected_name(before, part) != HOCKET__UNPROTECTED)
            return true;
    return hocket__str_is(before, "HEAD");
}

bool hocket__protected_is_fetched(struct hocket__str name)
{
    return IS_ONE_OF(name, fetched_names);
}

/* ---- Credentials, and what others obey ----------------------------------------------------- */

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
    "procfile", "sconstruct", "wscript", "build.bazel", "workspace", "*.bzl",
    "flake.nix", "shell.nix", "default.nix", "build.rs", "cargo.toml", ".cargo", "build.gradle*",
    "settings.gradle*", "gradlew*", "pom.xml", "mvnw*", ".mvn", "build.sbt", "*.csproj", "*.targets",
    "*.props", "*.podspec", "podfile", "package.swift", "mix.exs", "build.zig", "go.work",
    /* packages and their scripts */
    "package.json", "composer.json", "gemfile*", "*.gemspec", "setup.py", "setup.cfg",
    "pyproject.toml", "tox.ini", "noxfile.py", "tasks.py", "fabfile.py", "deno.json*", "bunfig.toml",
    "pnpm-workspace.yaml", ".pnpmfile.cjs", "pnpmfile.cjs", "lerna.json", "nx.json", "turbo.json",
    /* tests and linters that run what stands there */
    "conftest.py", "pytest.ini", "manage.py",
    "gulpfile*", "gruntfile*", "*.config.js", "*.config.ts", "*.config.mjs", "*.config.cjs",
    ".eslintrc*", ".babelrc*", ".mocharc*", ".prettierrc*", ".rspec", "spec_helper.rb", ".busted",
    ".luacheckrc", "karma.conf*",
    "netlify.toml", "vercel.json", "fly.toml", "renovate.json", ".husky", ".githooks",
    /* editors and agents */
    ".vscode", ".idea", ".zed", ".fleet", ".devcontainer*", ".editorconfig",
    ".mcp.json", "mcp.json", ".claude", "claude.md", "claude.local.md", "gemini.md", "agents.md",
    "agent.md", "agents", "copilot-instructions.md", ".cursor*", ".windsurf*", ".clinerules*",
    ".aider*", ".hocket", "skill.md",
};

/* Run by services with their keys, or by a program of yours on any command, without being part of a build. */
static const char *const run_unasked[] = {
    ".github", ".gitlab-ci*", ".gitlab", ".circleci", ".travis.yml", ".drone.yml", ".buildkite",
    ".woodpecker*", ".appveyor.yml", "appveyor.yml", "azure-pipelines*", "bitbucket-pipelines*",
    "cloudbuild.y*", "jenkinsfile", ".pre-commit-*", "lefthook.y*", ".lefthook*", ".tool-versions",
    "mise.toml", ".mise*", ".bundle", ".docker", "sitecustomize.py", "usercustomize.py", "*.pth",
    "*.code-workspace", "gradle.properties", "gradle-wrapper.properties", "pip.conf",
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

static bool fits_one_of(struct hocket__str name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fits(list[i], name))
            return true;
    return false;
}

#define FITS_ONE_OF(name, list) fits_one_of(name, list, sizeof(list) / sizeof((list)[0]))

bool hocket__credential_name(struct hocket__str parent, struct hocket__str name)
{
    if (FITS_ONE_OF(name, credentials))
        return !FITS_ONE_OF(name, harmless);
    return (fits(".config", parent) && FITS_ONE_OF(name, config_credentials))
           || (fits(".git", parent)
               && fits("config", name)); /* a remote's address may hold a token */
}

static bool is_obeyed(struct hocket__str parent, struct hocket__str name)
{
    (void) parent;
    return FITS_ONE_OF(name, obeyed) || FITS_ONE_OF(name, run_unasked);
}

static bool is_run_unasked(struct hocket__str parent, struct hocket__str name)
{
    return FITS_ONE_OF(name, run_unasked) || hocket__credential_name(parent, name);
}

static bool any_part(
    struct hocket__str path, bool (*holds)(struct hocket__str parent, struct hocket__str name))
{
    struct hocket__str parent = { "", 0 };
    while (path.n) {
        const char *slash = memchr(path.p, '/', path.n);
        struct hocket__str part = { path.p, slash ? (size_t) (slash - path.p) : path.n };
        if (part.n && holds(parent, part))
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

bool hocket__run_unasked_path(struct hocket__str path)
{
    return any_part(path, is_run_unasked);
}
