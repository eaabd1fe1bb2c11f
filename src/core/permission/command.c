/* Takes command lines apart as far as rules need it (command.h): words with their quotes, options,
 * operands, one command after another. It is no shell. What it cannot tell (substitutions,
 * redirections to a program, a quote that does not end) counts as not covered, so that a mistake
 * here is a question too many and no permission too many. */
#include "core/permission/command.h"

#include "base/protected.h"
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

/* ---- The table's rows ------------------------------------------------------------------------- */

/* Whether `word` stands in a list that is separated by blanks. */
static bool is_listed(const char *list, struct hocket__str word)
{
    for (const char *at = list; at && *at && word.n;) {
        const char *blank = strchr(at, ' ');
        size_t n = blank ? (size_t) (blank - at) : strlen(at);
        if (n == word.n && memcmp(at, word.p, n) == 0)
            return true;
        at += n + (blank != NULL);
    }
    return false;
}

/* NULL: unknown. */
static const struct hocket__program_facts *row_of(
    const struct hocket__program_facts *rows, struct hocket__str name)
{
    for (const struct hocket__program_facts *f = rows; f->names; f++)
        if (is_listed(f->names, name))
            return f;
    return NULL;
}

/* "python3.11" is python. */
static struct hocket__str without_version(struct hocket__str name)
{
    while (name.n > 1 && strchr("0123456789.-", name.p[name.n - 1]))
        name.n--;
    return name;
}

/* By the last part of a path; version numbers at its end do not count. NULL: unknown. */
static const struct hocket__program_facts *facts_of(struct hocket__str program)
{
    for (size_t i = program.n; i > 0; i--)
        if (program.p[i - 1] == '/') {
            program = hocket__str(program.p + i, program.n - i);
            break;
        }
    const struct hocket__program_facts *f = row_of(hocket__programs, program);
    return f ? f : row_of(hocket__programs, without_version(program));
}

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
static const char *const not_known =
    "it has words of which it is not known that they run nothing else and write nowhere else";

/* Words that the rule itself spells out are its writer's; only those behind them are the model's. */
struct reading {
    const struct command *c;
    size_t spelled, at;
};

static bool is_models(const struct reading *r, size_t word)
{
    return word >= r->spelled;
}

static bool is_option(struct hocket__str w)
{
    return w.n > 1 && w.p[0] == '-';
}

static bool is_all_of(struct hocket__str w, const char *others)
{
    for (size_t i = 0; i < w.n; i++) {
        char b = w.p[i];
        bool alphanumeric =
            (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9');
        if (!alphanumeric && !strchr(others, b))
            return false;
    }
    return true;
}

static bool is_name(struct hocket__str w)
{
    return is_all_of(w, "_+-.");
}

static bool holds(struct hocket__str w, const char *bytes)
{
    for (size_t i = 0; i < w.n; i++)
        if (strchr(bytes, w.p[i]))
            return true;
    return false;
}

static bool holds_twice(struct hocket__str w, char byte)
{
    for (size_t i = 0; i + 1 < w.n; i++)
        if (w.p[i] == byte && w.p[i + 1] == byte)
            return true;
    return false;
}

static bool has_parent(struct hocket__str path)
{
    for (size_t i = 0; i + 1 < path.n; i++)
        if (path.p[i] == '.' && path.p[i + 1] == '.' && (i == 0 || path.p[i - 1] == '/')
            && (i + 2 == path.n || path.p[i + 2] == '/'))
            return true;
    return false;
}

/* A name of pytest's (a.py::test) is one of a file. */
static struct hocket__str without_member(struct hocket__str w)
{
    for (size_t i = 1; i + 1 < w.n; i++)
        if (w.p[i] == ':' && w.p[i + 1] == ':')
            return hocket__str(w.p, i);
    return w;
}

/* A place below the work directory that may be written: nothing that leads out of it, no host, no package and its version,
 * and nothing that other programs obey. */
static bool is_inside(struct hocket__str w)
{
    w = without_member(w);
    if (is_listed("- /dev/null /dev/stdout /dev/stderr", w))
        return true;
    for (size_t i = 0; i < w.n; i++)
        if (w.p[i] == '@' && (i == 0 || w.p[i - 1] != '/'))
            return false;
    return w.n && !strchr("/~-", w.p[0]) && !holds(w, ":#") && !has_parent(w)
           && !hocket__protected_path(w);
}

/* No list of arguments, toolchain, assignment, helper, or what a shell in between would take apart. */
static bool is_plain(struct hocket__str w)
{
    return w.n && !strchr("@+~", w.p[0]) && !holds(w, "=;|&$`<>\"'\n") && !holds_twice(w, ':');
}

/* What is fetched gets the last part of its path as a name: none that is hidden, as protected ones are. */
static bool is_address(struct hocket__str w)
{
    size_t end = 0, from = 0;
    while (end < w.n && !strchr("?#", w.p[end]))
        end++;
    for (size_t i = 0; i < end; i++)
        if (w.p[i] == '/')
            from = i + 1;
    return from == end || !strchr(".%", w.p[from]);
}

static bool takes_operand(
    const struct hocket__program_facts *f, struct hocket__str w, size_t nth, bool by_rule)
{
    switch (f->operands) {
    case HOCKET__ANY: return true;
    case HOCKET__NO_OPERANDS: return false;
    case HOCKET__INSIDE: return is_inside(w);
    case HOCKET__SECOND_INSIDE: return nth == 1 ? is_plain(w) : is_inside(w);
    case HOCKET__PLAIN: return is_plain(w);
    case HOCKET__REMOTE: return nth == 1 ? is_name(w) : is_plain(w);
    case HOCKET__ADDRESS: return is_address(w);
    case HOCKET__BY_RULE: return by_rule;
    case HOCKET__OF_WORDS: return is_listed(f->words, w);
    case HOCKET__FIRST_OF_WORDS: return nth > 1 || is_listed(f->words, w);
    case HOCKET__WITH_PLUS: return w.n && w.p[0] == '+';
    }
    return false;
}

/* An option as the table has it, and the value that stands in its own word. */
struct option {
    char kind; /* ' ' for none, or a byte of programs.h; 0: it is not in the table */
    bool of_rule, has_value;
    struct hocket__str value;
};

#define KINDS ":=>#~*"

static bool next_token(const char **list, struct hocket__str *token)
{
    const char *at = *list;
    while (*at == ' ')
        at++;
    size_t n = strcspn(at, " ");
    *token = hocket__str(at, n);
    *list = at + n;
    return n > 0;
}

/* Takes the mark and the kind off a word of the table: what is left is the option's name. */
static struct option read_token(struct hocket__str *token)
{
    struct option o = { .kind = ' ' };
    if (token->p[0] == '!') {
        o.of_rule = true;
        *token = hocket__str(token->p + 1, token->n - 1);
    }
    if (token->n > 2 && strchr(KINDS, token->p[token->n - 1])) {
        o.kind = token->p[token->n - 1];
        token->n--;
    }
    if (o.kind == ':' && token->p[token->n - 1] == ':') {
        o.kind = '2';
        token->n--;
    }
    return o;
}

/* Whether the word is this option, perhaps with its value. */
static bool is_this(struct option *o, struct hocket__str name, struct hocket__str w)
{
    if (w.n < name.n || memcmp(w.p, name.p, name.n) != 0)
        return false;
    struct hocket__str rest = hocket__str(w.p + name.n, w.n - name.n);
    if (o->kind == '~' || o->kind == '*') {
        o->has_value = true;
        o->value = rest;
        return o->kind == '*' || is_name(rest);
    }
    if (rest.n == 0)
        return true;
    if (rest.p[0] != '=' || !strchr(":=>#", o->kind))
        return false;
    o->has_value = true;
    o->value = hocket__str(rest.p + 1, rest.n - 1);
    return true;
}

static struct option find_word(const char *list, struct hocket__str w)
{
    struct hocket__str token;
    while (list && next_token(&list, &token)) {
        struct option o = read_token(&token);
        if (is_this(&o, token, w))
            return o;
    }
    return (struct option){ 0 };
}

static struct option find_letter(const char *list, char letter)
{
    struct hocket__str token;
    while (list && next_token(&list, &token)) {
        struct option o = read_token(&token);
        if (token.p[1] == '-')
            continue;
        if (memchr(token.p + 1, letter, token.n - 1))
            return o;
    }
    return (struct option){ 0 };
}

/* Letters behind one dash: each without a value, but for the last. */
static struct option find_letters(const char *list, struct hocket__str letters, bool separate)
{
    struct option o = { 0 };
    for (size_t i = 0; i < letters.n; i++) {
        o = find_letter(list, letters.p[i]);
        if (o.kind == 0)
            return o;
        if (o.kind == ' ')
            continue;
        if (separate) /* the values stand behind all letters (tar xf a) */
            return i + 1 == letters.n ? o : (struct option){ 0 };
        o.value = hocket__str(letters.p + i + 1, letters.n - i - 1);
        o.has_value = o.value.n > 0 || o.kind == '=';
        return o;
    }
    return o;
}

static struct option find_option(const struct hocket__program_facts *f, struct hocket__str w)
{
    if (f->single || w.p[1] == '-')
        return find_word(f->options, w);
    return find_letters(f->options, hocket__str(w.p + 1, w.n - 1), false);
}

static bool takes_value(char kind, struct hocket__str value)
{
    return kind == '>' ? is_inside(value) : kind == '#' ? is_name(value) : true;
}

/* A word that is taken for a value, and could be an option where the table is wrong, is none. */
static bool is_value(struct hocket__str w)
{
    return !is_option(w) || strchr("0123456789", w.p[1]);
}

/* The option's values, in its own word or the next ones; r->at is left behind them. */
static bool takes_values(struct reading *r, struct option o, bool models)
{
    if (models && (o.of_rule || o.kind == 0))
        return false;
    if (o.kind == 0) /* the rule's, and nobody knows whether the next word is its value */
        return r->at == r->c->n || !is_models(r, r->at);
    if (o.has_value)
        return !models || takes_value(o.kind, o.value);
    for (int n = o.kind == '2' ? 2 : strchr(":>#", o.kind) ? 1 : 0; n > 0 && r->at < r->c->n; n--) {
        struct hocket__str value = r->c->words[r->at].text;
        if (is_models(r, r->at++) && (o.of_rule || !is_value(value) || !takes_value(o.kind, value)))
            return false;
    }
    return true;
}

/* Reads the words behind the program's (or command's) name; the word of a command is left to the caller. */
static bool takes_words(const struct hocket__program_facts *f, struct reading *r, bool by_rule)
{
    bool operands_only = false;
    for (size_t operands = 0; r->at < r->c->n;) {
        struct hocket__str w = r->c->words[r->at].text;
        bool models = is_models(r, r->at), first = r->at == 1;
        if (!operands_only && hocket__str_is(w, "--")
            && (!f->single || !models || find_word(f->options, w).kind)) {
            operands_only = true;
            r->at++;
        } else if (!operands_only && is_option(w)) {
            r->at++;
            if (!takes_values(r, find_option(f, w), models))
                return false;
        } else if (f->letters_first && first) {
            r->at++;
            if (!takes_values(r, find_letters(f->options, w, true), models))
                return false;
        } else if (f->commands) {
            return true;
        } else {
            r->at++;
            if (models && !takes_operand(f, w, ++operands, by_rule))
                return false;
        }
    }
    return true;
}

static const char *judge_known(
    const struct hocket__program_facts *f, const struct command *c, size_t spelled)
{
    struct reading r = { c, spelled, 1 };
    if (!takes_words(f, &r, false))
        return not_known;
    if (!f->commands || r.at == c->n)
        return NULL;
    bool by_rule = !is_models(&r, r.at);
    f = row_of(f->commands, c->words[r.at++].text);
    if (!f)
        return "it is no command that is known to run nothing else";
    if (f->kind == HOCKET__HARMLESS)
        return NULL;
    return takes_words(f, &r, by_rule) ? NULL : not_known;
}

static bool has_letter(struct hocket__str w, const char *letters)
{
    for (size_t i = 1; letters && i < w.n; i++)
        if (strchr(letters, w.p[i]))
            return true;
    return false;
}

/* A script: a file, and no address, list of arguments or command of the program's own. */
static bool is_script(struct hocket__str w)
{
    return !hocket__str_is(w, "-") && !strchr("@", w.p[0]) && !holds(w, ":")
           && !is_listed("inspect debug", w);
}

/* The script has to be an operand; of options, all have to be spelled out, and then the script, too. */
static const char *judge_interpreter(
    const struct hocket__program_facts *f, const struct command *c, size_t spelled)
{
    size_t i = 1;
    if (c->n == 2 && is_listed("--version -version", c->words[1].text))
        return NULL;
    for (; i < c->n && (is_option(c->words[i].text) || c->words[i].text.p[0] == '+'); i++) {
        struct hocket__str w = c->words[i].text;
        if (i >= spelled)
            return runs_others;
        if (has_letter(w, f->words)) /* what follows the next word is the script's */
            return i + 1 < spelled ? NULL : runs_others;
    }
    if (i == c->n || (i >= spelled && !is_script(c->words[i].text)))
        return runs_others;
    if (i == 1)
        return NULL;
    for (size_t k = spelled; k < c->n; k++)
        if (i >= spelled || is_option(c->words[k].text))
            return runs_others;
    return NULL;
}

static const char *judge(const struct command *c, size_t spelled)
{
    const struct hocket__program_facts *f = facts_of(c->words[0].text);
    if (!f || f->kind == HOCKET__HARMLESS)
        return NULL;
    switch (f->kind) {
    case HOCKET__INTERPRETS: return judge_interpreter(f, c, spelled);
    case HOCKET__KNOWN: return judge_known(f, c, spelled);
    default: return "it runs whatever it is given";
    }
}

/* ---- A rule --------------------------------------------------------------------------------------- */

/* The number of literal bytes of a glob, and whether it has nothing else. */
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
    return judge(&c, spelled);
}

struct hocket__str hocket__command_unknown(struct hocket__str glob)
{
    struct hocket__str program = glob;
    for (size_t i = 0; i < glob.n; i++)
        if (strchr(" \t*?\\'\"", glob.p[i])) {
            program = hocket__str(glob.p, i);
            break;
        }
    bool is_whole = program.n == glob.n || glob.p[program.n] == ' ';
    bool all;
    spelled_bytes(glob, &all);
    return all || !is_whole || facts_of(program) ? hocket__str(glob.p, 0) : program;
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
        i += is_listed("-c -C --git-dir --work-tree --namespace", c->words[i].text) ? 2 : 1;
    return i < c->n ? i : c->n;
}

/* An assignment (X=1) is passed over. Behind a program that runs others (env, sudo), or has words that could be made to
 * (find -exec), each word may be the start of one. */
static bool leads_on(const struct command *c, size_t word)
{
    struct hocket__str w = c->words[word].text;
    if (memchr(w.p, '=', w.n))
        return true;
    const struct hocket__program_facts *first = facts_of(c->words[0].text);
    if (!first || hocket__str_is(hocket__cstr(first->names), "git"))
        return false;
    return first->kind == HOCKET__RUNS_OPERANDS || first->kind == HOCKET__INTERPRETS
           || judge(c, 1) != NULL;
}

static bool is_in_command(struct hocket__str glob, const struct command *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct hocket__program_facts *f = facts_of(c->words[i].text);
        if (matches_from(glob, c, i, i + 1))
            return true;
        if (f && hocket__str_is(hocket__cstr(f->names), "git")
            && matches_from(glob, c, i, behind_options(c, i)))
            return true;
        if (!leads_on(c, i))
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
