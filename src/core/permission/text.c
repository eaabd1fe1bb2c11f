/* Globs and protected places: what permissions know of texts. */
#include <stdint.h>
#include <strings.h>

#include "base/utf8.h"
#include "core/permission/permission.h"

/* ---- Globs ------------------------------------------------------------------------ */

static size_t step(struct hocket__str text, size_t at)
{
    int n = hocket__utf8_sequence(text.p + at, text.n - at);
    return n > 0 ? (size_t) n : 1;
}

/* Backtracks to the last star only, which is enough: what an earlier star took could as well have
 * been taken by the last one. */
bool hocket__permission_glob(struct hocket__str glob, struct hocket__str text)
{
    size_t g = 0, t = 0, star = SIZE_MAX, from = 0;
    while (t < text.n) {
        if (g < glob.n && glob.p[g] == '*') {
            star = g++;
            from = t;
            continue;
        }
        bool escaped = g + 1 < glob.n && glob.p[g] == '\\';
        if (!escaped && g < glob.n && glob.p[g] == '?') {
            g++;
            t += step(text, t);
        } else if (g < glob.n && glob.p[g + escaped] == text.p[t]) {
            g += 1 + (size_t) escaped;
            t++;
        } else if (star != SIZE_MAX) {
            g = star + 1;
            t = ++from;
        } else {
            return false;
        }
    }
    while (g < glob.n && glob.p[g] == '*')
        g++;
    return g == glob.n;
}

/* ---- Protected places --------------------------------------------------------------- */

/* In any folder, with all below them. */
static const char *const protected_names[] = { ".git", ".gitconfig", ".gitmodules", ".ssh",
    ".gnupg", ".netrc", ".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout",
    ".bash_aliases", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc",
    ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc", ".envrc", ".xinitrc", ".xprofile",
    ".xsessionrc", ".pam_environment", ".npmrc", ".pypirc" };
/* Below .config. */
static const char *const protected_config[] = { "fish", "git", "autostart", "systemd",
    "environment.d" };

static bool is_one_of(struct hocket__str name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(list[i]) == name.n && strncasecmp(list[i], name.p, name.n) == 0)
            return true;
    return false;
}

#define IS_ONE_OF(name, list) is_one_of(name, list, sizeof(list) / sizeof((list)[0]))

static bool next_part(struct hocket__str *path, struct hocket__str *part)
{
    while (path->n && path->p[0] == '/')
        *path = hocket__str(path->p + 1, path->n - 1);
    const char *slash = memchr(path->p, '/', path->n);
    *part = hocket__str(path->p, slash ? (size_t) (slash - path->p) : path->n);
    *path = hocket__str(path->p + part->n, path->n - part->n);
    return part->n > 0;
}

bool hocket__permission_is_protected(struct hocket__str path)
{
    struct hocket__str part, before = { "", 0 };
    for (; next_part(&path, &part); before = part) {
        if (IS_ONE_OF(part, protected_names))
            return true;
        if (before.n == 7 && strncasecmp(before.p, ".config", 7) == 0
            && IS_ONE_OF(part, protected_config))
            return true;
    }
    return false;
}
