/* Modules to functions, line by line. The page's modules keep to a few forms, at the beginning of a line each:
 *
 *     import { a, b as c } from "./view.js";     const { a, b: c } = $view;
 *     import * as format from "../format.js";    const format = $format;
 *     export function a() {                      function a() {           … and at the end: return { a };
 *     export const b = 1;                        const b = 1;
 *
 * A module is identified by its name, whatever folder it is in. What begins with either word and has another form is an error, which a test
 * finds. */
#include "cli/html/bundle.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inflate/inflate.h"
#include "cli/page/page.h"
#include "cli/text.h"

#define NAME 64

enum state { WAITING, UNDER_WAY, DONE };

struct bundle {
    struct cli_buf *script, *problem;
    enum state *states; /* of each file */
};

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const struct cli_page_file *find(const char *name)
{
    for (const struct cli_page_file *f = cli_page_files; f->name; f++)
        if (strcmp(base_of(f->name), name) == 0)
            return f;
    return NULL;
}

static bool fail(struct bundle *b, const char *file, const char *what)
{
    cli_buf_addf(b->problem, "page/%s: %s", file, what);
    return false;
}

static bool unpack(struct cli_buf *out, const char *name, struct cli_buf *problem)
{
    const struct cli_page_file *f = find(name);
    const char *wrong = f ? cli_inflate(out, f->packed, f->n) : "there is no such file";
    if (wrong)
        cli_buf_addf(problem, "page/%s: %s", name, wrong);
    return !wrong;
}

/* ---- Lines ------------------------------------------------------------------------------------- */

/* "a, b as c" becomes "a, b: c". */
static void add_names(struct cli_buf *out, const char *names)
{
    for (const char *as; (as = strstr(names, " as ")); names = as + 4) {
        cli_buf_add(out, names, (size_t) (as - names));
        cli_buf_adds(out, ": ");
    }
    cli_buf_adds(out, names);
}

/* "../view.js" is the module "view". */
static bool read_module(const char *path, char module[NAME])
{
    int end = 0;
    const char *base = base_of(path);
    sscanf(base, "%63[a-z0-9_].js%n", module, &end);
    return base > path && end > 0 && base[end] == 0;
}

/* The module that a line imports, "view"; false: it imports none in a form that is known. */
static bool read_import(const char *line, char names[512], char file[NAME])
{
    char path[NAME];
    int end = 0;
    sscanf(line, "import { %511[^}] } from \"%63[a-z0-9_/.]\";%n", names, path, &end);
    return end > 0 && line[end] == 0 && read_module(path, file);
}

static bool read_import_all(const char *line, char name[512], char file[NAME])
{
    char path[NAME];
    int end = 0;
    sscanf(line, "import * as %511[A-Za-z0-9_$] from \"%63[a-z0-9_/.]\";%n", name, path, &end);
    return end > 0 && line[end] == 0 && read_module(path, file);
}

static bool add_import(struct cli_buf *out, const char *line, char file[NAME])
{
    char names[512];
    if (read_import_all(line, names, file)) {
        cli_buf_addf(out, "const %s = $%s;\n", names, file);
        return true;
    }
    if (!read_import(line, names, file))
        return false;
    cli_buf_adds(out, "const { ");
    add_names(out, names);
    cli_buf_addf(out, "} = $%s;\n", file);
    return true;
}

/* What a line declares: the name behind "export [async] function|class|const". */
static bool add_export(struct cli_buf *out, struct cli_buf *names, const char *line)
{
    static const char *const kinds[] = { "async function ", "function* ", "function ", "class ",
        "const " };
    const char *rest = line + strlen("export ");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t n = strlen(kinds[i]), end = n;
        if (strncmp(rest, kinds[i], n) != 0)
            continue;
        while (isalnum((unsigned char) rest[end]) || rest[end] == '_' || rest[end] == '$')
            end++;
        if (end == n)
            return false;
        cli_buf_adds(names, names->n > 0 ? ", " : "");
        cli_buf_add(names, rest + n, end - n);
        cli_buf_addf(out, "%s\n", rest);
        return true;
    }
    return false;
}

/* ---- Modules ----------------------------------------------------------------------------------- */

static bool add_module(struct bundle *b, const char *name);

static bool begins(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

/* Each line as it is to be, and what it imports before it. */
static bool add_lines(
    struct bundle *b, const char *file, char *text, struct cli_buf *body, struct cli_buf *names)
{
    char imported[NAME + 4];
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        if (begins(line, "import ")) {
            char module[NAME] = "";
            if (!add_import(body, line, module))
                return fail(b, file, line);
            snprintf(imported, sizeof(imported), "%s.js", module);
            if (!add_module(b, imported))
                return false;
        } else if (begins(line, "export ")) {
            if (!add_export(body, names, line))
                return fail(b, file, line);
        } else {
            cli_buf_addf(body, "%s\n", line);
        }
    }
    return true;
}

/* "view.js" becomes `const $view = (() => { … return { h, show }; })();` */
static bool add_module(struct bundle *b, const char *name)
{
    struct cli_buf text = { 0 }, body = { 0 }, names = { 0 };
    const struct cli_page_file *f = find(name);
    enum state *state = f ? &b->states[f - cli_page_files] : NULL;
    if (state && *state == DONE)
        return true;
    if (state && *state == UNDER_WAY)
        return fail(b, name, "it imports itself, by others");
    if (state)
        *state = UNDER_WAY;
    bool ok = unpack(&text, name, b->problem) && add_lines(b, name, text.p, &body, &names);
    if (ok) {
        cli_buf_addf(b->script, "const $%.*s = (() => {\n", (int) (strlen(name) - 3), name);
        cli_buf_add(b->script, cli_buf_text(&body), body.n);
        cli_buf_addf(b->script, "return { %s };\n})();\n", cli_buf_text(&names));
        *state = DONE;
    }
    cli_buf_free(&text);
    cli_buf_free(&body);
    cli_buf_free(&names);
    return ok;
}

/* ---- Style ------------------------------------------------------------------------------------- */

/* The files that index.html names, in its order. */
static bool add_styles(struct cli_buf *style, struct cli_buf *problem)
{
    static const char mark[] = "href=\"/page/";
    struct cli_buf index = { 0 };
    bool ok = unpack(&index, "index.html", problem);
    for (const char *at = cli_buf_text(&index); ok && (at = strstr(at, mark)); at++) {
        char name[NAME] = "";
        sscanf(at + strlen(mark), "%63[a-z0-9_.]", name);
        if (cli_text_ends(name, ".css"))
            ok = unpack(style, name, problem);
    }
    cli_buf_free(&index);
    return ok;
}

/* What would end the element that they stand in. */
static bool is_safe(const struct cli_buf *text)
{
    const char *p = cli_buf_text(text);
    return !strcasestr(p, "</script") && !strcasestr(p, "</style") && !strstr(p, "<!--");
}

bool cli_bundle(struct cli_buf *script, struct cli_buf *style, struct cli_buf *problem)
{
    size_t n = 0;
    while (cli_page_files[n].name)
        n++;
    struct bundle b = { script, problem, calloc(n + 1, sizeof(enum state)) };
    if (!b.states)
        cli_nomem();
    bool ok = add_module(&b, "main.js") && add_styles(style, problem);
    if (ok && !(is_safe(script) && is_safe(style))) {
        cli_buf_adds(problem, "the page holds the end of an element");
        ok = false;
    }
    free(b.states);
    return ok;
}
