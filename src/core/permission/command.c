/* Takes command lines apart as far as rules need it (command.h): words with their quotes, options,
 * operands, one command after another. It is no shell. What it cannot tell (substitutions,
 * redirections to a program, a quote that does not end) counts as not covered, so that a mistake
 * here is a question too many and no permission too many. */
#include "core/permission/command.h"

#include "core/permission/permission.h"
#include "core/permission/programs.h"

#include <stdint.h>

#define MAX_TEXT  8192
#define MAX_WORDS 256

struct word {
    struct hocket__str text; /* without quotes */
    size_t end;              /* where it ends in the line */
};

struct command {
    char text[MAX_TEXT];
    size_t n_text, n;
    struct word words[MAX_WORDS];
};

/* ---- Words -------------------------------------------------------------------------------- */

/* Reads a quoted piece, from behind the quote on; false when there is more in it than text. */
static bool read_quoted(struct command *c, struct hocket__str line, size_t *at, char quote)
{
    for (; *at < line.n && line.p[*at] != quote; ++*at) {
        char b = line.p[*at];
        if ((unsigned char) b < ' ' || (quote == '"' && strchr("$`\\", b)) || c->n_text == MAX_TEXT)
            return false;
        c->text[c->n_text++] = b;
    }
    return (*at)++ < line.n;
}

/* What a shell would expand is refused, also where it would expand to itself. */
static bool read_word(struct command *c, struct hocket__str line, size_t *at)
{
    size_t from = c->n_text;
    while (*at < line.n && line.p[*at] != ' ' && line.p[*at] != '\t') {
        char b = line.p[(*at)++];
        if (b == '\'' || b == '"') {
            if (!read_quoted(c, line, at, b))
                return false;
        } else if ((unsigned char) b < ' ' || b == 0x7F || strchr(";&|<>`$()\\*?[", b)
                   || c->n_text == MAX_TEXT) {
            return false;
        } else {
            c->text[c->n_text++] = b;
        }
    }
    c->words[c->n++] = (struct word){ hocket__str(c->text + from, c->n_text - from), *at };
    return true;
}

/* One simple command: words, quotes, and nothing that a shell does more with. */
static bool read_command(struct command *c, struct hocket__str line)
{
    c->n_text = c->n = 0;
    for (size_t at = 0;;) {
        while (at < line.n && (line.p[at] == ' ' || line.p[at] == '\t'))
            at++;
        if (at == line.n)
            return c->n > 0;
        if (c->n == MAX_WORDS || !read_word(c, line, &at))
            return false;
    }
}

/* ---- What a model's words would run ------------------------------------------------------------ */

static const char *const runs_others = "another program could be run by it";

static bool is_option(struct hocket__str w)
{
    return w.n > 1 && w.p[0] == '-';
}

/* The part before '='. */
static struct hocket__str name_of(struct hocket__str w)
{
    const char *equals = memchr(w.p, '=', w.n);
    return equals ? hocket__str(w.p, (size_t) (equals - w.p)) : w;
}

/* A long option may be cut as long as it is the only one that begins so. */
static bool begins_one(const char *list, struct hocket__str name)
{
    for (const char *at = list; at && *at;) {
        const char *blank = strchr(at, ' ');
        size_t n = blank ? (size_t) (blank - at) : strlen(at);
        if (name.n > 2 && name.n <= n && memcmp(at, name.p, name.n) == 0)
            return true;
        at += n + (blank != NULL);
    }
    return false;
}

static bool has_letter(struct hocket__str w, const char *letters, bool single)
{
    if (!letters || !is_option(w) || w.p[1] == '-')
        return false;
    for (size_t i = 1; i < (single ? 2 : w.n); i++)
        if (strchr(letters, w.p[i]))
            return true;
    return false;
}

/* Whether this word, be it an option or an assignment, makes the program start another one. */
static bool runs_something(const struct hocket__program_facts *f, struct hocket__str w)
{
    struct hocket__str name = name_of(w);
    if (f->assigns && !is_option(w) && name.n < w.n)
        return true;
    return hocket__program_lists(f->words, name) || has_letter(w, f->letters, f->single)
           || (is_option(w)
               && (begins_one(f->longs, name) || hocket__program_lists(f->longs, name)));
}

/* Words that the rule itself spells out are its writer's; only those behind them are the model's. */
static const char *judge_options(
    const struct hocket__program_facts *f, const struct command *c, size_t spelled)
{
    /* tar takes its first word for letters without a dash. */
    bool bundled = f->letters && strcmp(f->letters, "IF") == 0;
    for (size_t i = spelled; i < c->n; i++) {
        struct hocket__str w = c->words[i].text;
        if (runs_something(f, w))
            return runs_others;
        for (size_t k = 0; bundled && i == 1 && k < w.n; k++)
            if (strchr(f->letters, w.p[k]))
                return runs_others;
    }
    return NULL;
}

/* The script has to be an operand; of options, all have to be spelled out, and then the script, too. */
static const char *judge_interpreter(
    const struct hocket__program_facts *f, const struct command *c, size_t spelled)
{
    size_t i = 1;
    for (; i < c->n && is_option(c->words[i].text); i++) {
        struct hocket__str w = c->words[i].text;
        if (i >= spelled)
            return runs_others;
        if (has_letter(w, f->letters, false)) /* what follows the next word is the script's */
            return i + 1 < spelled ? NULL : runs_others;
    }
    if (i == c->n || (i >= spelled && hocket__str_is(c->words[i].text, "-")))
        return runs_others;
    if (i == 1)
        return NULL;
    for (size_t k = spelled; k < c->n; k++)
        if (i >= spelled || is_option(c->words[k].text))
            return runs_others;
    return NULL;
}

/* ---- git ------------------------------------------------------------------------------------------ */

static const char *const git_globals =
    "--no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects --version -v";
/* Those that do what they say. Any other may be an alias, or git-NAME of somebody's. */
static const char *const git_commands =
    "add am apply archive blame branch cat-file check-attr check-ignore checkout cherry "
    "cherry-pick clean "
    "clone commit commit-tree count-objects describe diff diff-files diff-index diff-tree fetch "
    "for-each-ref format-patch fsck gc grep hash-object init log ls-files ls-remote ls-tree merge "
    "merge-base mktree mv name-rev notes pull push range-diff read-tree rebase reflog remote reset "
    "restore rev-list rev-parse revert rm shortlog show show-branch show-ref sparse-checkout stash "
    "status "
    "stripspace switch symbolic-ref tag update-index update-ref verify-commit verify-tag version "
    "whatchanged worktree write-tree bisect submodule";
static const char *const git_remotes = "clone fetch pull push ls-remote remote submodule archive";
static const char *const git_longs = "--upload-pack --receive-pack --exec --exec-path "
                                     "--open-files-in-pager --extcmd --config --config-env "
                                     "--template --separate-git-dir --interactive";

struct git_letters {
    const char *command, *letters, *words;
};

static const struct git_letters git_letters[] = {
    { "clone", "uc", NULL },
    { "init", "c", NULL },
    { "grep", "O", NULL },
    { "rebase", "xi", NULL },
    { "bisect", NULL, "run" },
    { "submodule", NULL, "foreach" },
};

/* "ext::sh -c …" as a remote's address runs a command. */
static bool has_transport(struct hocket__str w)
{
    for (size_t i = 0; i + 1 < w.n; i++)
        if (w.p[i] == ':' && w.p[i + 1] == ':')
            return true;
    return false;
}

static bool runs_in_git(struct hocket__str command, struct hocket__str w)
{
    if (is_option(w) && w.p[1] == '-' && begins_one(git_longs, name_of(w)))
        return true;
    for (size_t i = 0; i < sizeof(git_letters) / sizeof(git_letters[0]); i++)
        if (hocket__str_is(command, git_letters[i].command)
            && (has_letter(w, git_letters[i].letters, false)
                || hocket__program_lists(git_letters[i].words, w)))
            return true;
    return hocket__program_lists(git_remotes, command) && has_transport(w);
}

/* git's options before the command may run programs (-c core.pager=…), so all but harmless ones
 * count as such. */
static const char *judge_git(const struct command *c, size_t spelled)
{
    size_t i = spelled; /* the rule's own options are the rule's business */
    size_t at = 1;
    while (at < spelled && is_option(c->words[at].text))
        at += hocket__program_lists("-c -C --git-dir --work-tree --namespace", c->words[at].text)
                  ? 2
                  : 1;
    if (at > spelled) /* the value of an option of the rule's */
        return runs_others;
    for (; at == spelled && at < c->n && is_option(c->words[at].text); at++)
        if (!hocket__program_lists(git_globals, c->words[at].text))
            return runs_others;
        else
            spelled++;
    if (at >= c->n)
        return NULL;
    struct hocket__str command = c->words[at].text;
    if (at >= spelled && !hocket__program_lists(git_commands, command))
        return "it is none of git's own commands that are known to run nothing else";
    for (i = at + 1 > spelled ? at + 1 : spelled; i < c->n; i++)
        if (runs_in_git(command, c->words[i].text))
            return runs_others;
    return NULL;
}

/* ---- A rule --------------------------------------------------------------------------------------- */

/* Bytes that a glob spells out, and whether that is all of it. */
static size_t spelled_bytes(struct hocket__str glob, bool *all)
{
    size_t n = 0, i = 0;
    for (; i < glob.n && glob.p[i] != '*' && glob.p[i] != '?'; i++, n++)
        if (glob.p[i] == '\\' && i + 1 < glob.n)
            i++;
    *all = i >= glob.n;
    return n;
}

/* A rule that spells the whole line out leaves nothing open; a lone * is meant as it stands. */
const char *hocket__command_not_covered(struct hocket__str glob, struct hocket__str line)
{
    struct command c;
    bool all;
    size_t bytes = spelled_bytes(glob, &all), spelled = 0;
    if (all || hocket__str_is(glob, "*"))
        return NULL;
    if (!read_command(&c, line))
        return "it is more than one plain command";
    while (spelled < c.n && c.words[spelled].end <= bytes)
        spelled++;
    if (spelled == 0)
        return "the rule does not spell the program out";
    if (spelled == c.n)
        return NULL;
    const struct hocket__program_facts *f = hocket__program_facts(c.words[0].text);
    if (!f)
        return NULL;
    switch (f->kind) {
    case HOCKET__RUNS_OPERANDS: return "it runs whatever it is given";
    case HOCKET__INTERPRETS: return judge_interpreter(f, &c, spelled);
    case HOCKET__HAS_OPTIONS: return judge_options(f, &c, spelled);
    case HOCKET__IS_GIT: return judge_git(&c, spelled);
    }
    return runs_others;
}

/* ---- Commands inside of others --------------------------------------------------------------------- */

static void end_word(struct command *c)
{
    struct hocket__str *w = &c->words[c->n++].text;
    w->n = (size_t) (c->text + c->n_text - w->p);
}

/* Words of the line's next command, quotes and backslashes taken away; false at the end.
 * Here a mistake has to go the other way: this finds what is denied, so what looks like a command
 * in any reading counts as one. */
static bool next_command(struct command *c, struct hocket__str line, size_t *at)
{
    char quote = 0;
    bool in_word = false;
    c->n_text = c->n = 0;
    if (*at >= line.n)
        return false;
    for (; *at < line.n && c->n_text < MAX_TEXT && c->n < MAX_WORDS; ++*at) {
        char b = line.p[*at];
        bool ends = !quote && memchr(";&|()<>`\n\r", b, 10),
             blank = !quote && (b == ' ' || b == '\t');
        if ((ends || blank) && in_word)
            end_word(c);
        in_word = in_word && !ends && !blank;
        if (ends) {
            ++*at;
            return true;
        }
        if (blank)
            continue;
        if (!in_word)
            c->words[c->n].text = hocket__str(c->text + c->n_text, 0);
        in_word = true;
        if (b == quote)
            quote = 0;
        else if (!quote && (b == '"' || b == '\''))
            quote = b;
        else if (quote != '\'' && b == '\\' && *at + 1 < line.n)
            c->text[c->n_text++] = line.p[++*at];
        else
            c->text[c->n_text++] = b;
    }
    if (in_word && c->n < MAX_WORDS)
        end_word(c);
    return true;
}

static bool matches_from(
    struct hocket__str glob, const struct command *c, size_t first, size_t next)
{
    char joined[MAX_TEXT];
    size_t n = 0;
    for (size_t i = first; i < c->n; i = i == first ? next : i + 1) {
        struct hocket__str w = c->words[i].text;
        if (n + w.n + 1 > sizeof(joined))
            break;
        if (n)
            joined[n++] = ' ';
        memcpy(joined + n, w.p, w.n);
        n += w.n;
    }
    return hocket__permission_glob(glob, hocket__str(joined, n));
}

/* git's own options stand before its command. */
static size_t behind_options(const struct command *c, size_t first)
{
    size_t i = first + 1;
    while (i < c->n && is_option(c->words[i].text))
        i += hocket__program_lists("-c -C --git-dir --work-tree --namespace", c->words[i].text) ? 2
                                                                                                : 1;
    return i < c->n ? i : c->n;
}

/* An assignment (X=1) is passed over. Behind a program that is known to run others (env, sudo) each
 * word may be the start of one. */
static bool is_in_command(struct hocket__str glob, const struct command *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct hocket__program_facts *f = hocket__program_facts(c->words[i].text);
        if (matches_from(glob, c, i, i + 1))
            return true;
        if (f && f->kind == HOCKET__IS_GIT && matches_from(glob, c, i, behind_options(c, i)))
            return true;
        bool leads_on = memchr(c->words[i].text.p, '=', c->words[i].text.n) != NULL;
        const struct hocket__program_facts *first = hocket__program_facts(c->words[0].text);
        if (!leads_on && !(first && first->kind != HOCKET__IS_GIT))
            return false;
    }
    return false;
}

bool hocket__command_has(struct hocket__str glob, struct hocket__str line)
{
    struct command c;
    if (hocket__permission_glob(glob, line))
        return true;
    for (size_t at = 0; next_command(&c, line, &at);)
        if (is_in_command(glob, &c))
            return true;
    return false;
}
