/* The list of protected names and how they are compared (protected.h). Names are compared without
 * regard to ASCII case, as some file systems do: .GIT is .git there. A name in this list that is
 * not protected by a tool, or not by the walls around a command, would be a hole; so both ask here. */
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
    /* where packages come from, and what installing runs */
    ".npmrc",
    ".pypirc",
    ".yarnrc",
    ".yarnrc.yml",
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
    "nvim", "direnv", "mise" };

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
