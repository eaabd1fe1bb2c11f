#include "cli/edit.h"

#include <stdbool.h>
#include <stdlib.h>

#ifdef HOCKET_EDIT

#include <dlfcn.h>
#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cli/text.h"

#define LIBRARY    "libedit.so.2"
#define LINES_KEPT 1000

/* X(name): what is used of it. */
#define EDIT_MAP(X)                                                                                \
    X(el_init)                                                                                     \
    X(el_set) X(el_get) X(el_gets) X(el_line) X(el_end) X(history_init) X(history) X(history_end)

struct cli_edit {
#define EDIT_MEMBER(name) __typeof__(name) *name;
    EDIT_MAP(EDIT_MEMBER)
#undef EDIT_MEMBER
    void *library;
    EditLine *line;
    History *past;
    locale_t utf8;
    const char *prompt;
    cli_edit_byte_cb next;
    void *ud;
    int stopped;
};

/* There is one terminal; so there is one editor. Callbacks of libedit find it here: el_get would
 * ask for the library's own function first. */
static struct cli_edit *only;

static char *give_prompt(EditLine *el)
{
    (void) el;
    return (char *) (size_t) only->prompt;
}

static int next_byte(unsigned char *byte)
{
    int rc = only->next(only->ud, byte);
    only->stopped = rc < 0;
    return rc;
}

/* A character, whose bytes come one by one. What is no UTF-8 becomes U+FFFD. */
static int give_character(EditLine *el, wchar_t *out)
{
    unsigned char bytes[4];
    unsigned code = 0;
    (void) el;
    int rc = next_byte(&bytes[0]);
    if (rc <= 0)
        return rc;
    size_t n = bytes[0] < 0xC0 ? 1 : bytes[0] < 0xE0 ? 2 : bytes[0] < 0xF0 ? 3 : 4;
    for (size_t i = 1; rc > 0 && i < n; i++)
        rc = next_byte(&bytes[i]);
    if (rc <= 0)
        return rc;
    *out = cli_utf8_next((const char *) bytes, n, &code) ? (wchar_t) code : (wchar_t) 0xFFFD;
    return 1;
}

static bool load(struct cli_edit *e)
{
    void *address;
    e->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
#define EDIT_FIND(name)                                                                            \
    if (!e->library || !(address = dlsym(e->library, #name)))                                      \
        return false;                                                                              \
    memcpy(&e->name, &address, sizeof(address));
    EDIT_MAP(EDIT_FIND)
#undef EDIT_FIND
    return true;
}

static void set_up(struct cli_edit *e)
{
    HistEvent event;
    e->el_set(e->line, EL_PROMPT, give_prompt);
    e->el_set(e->line, EL_EDITOR, "emacs");
    e->el_set(
        e->line, EL_SIGNAL, 0); /* its own handlers would pass signals to the whole process group */
    e->el_set(e->line, EL_GETCFN, give_character);
    e->el_set(e->line, EL_BIND, "^R", "em-inc-search-prev", NULL);
    e->history(e->past, &event, H_SETSIZE, LINES_KEPT);
    e->history(e->past, &event, H_SETUNIQUE, 1);
    e->el_set(e->line, EL_HIST, e->history, e->past);
}

struct cli_edit *cli_edit_new(cli_edit_byte_cb next, void *ud)
{
    struct cli_edit *e = calloc(1, sizeof(*e));
    if (!e)
        cli_nomem();
    only = e;
    e->next = next;
    e->ud = ud;
    e->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t) 0);
    if (!e->utf8 || !load(e)) {
        cli_edit_free(e);
        return NULL;
    }
    locale_t before = uselocale(e->utf8); /* it looks for the character set here */
    e->line = e->el_init("hocket", stdin, stderr, stderr);
    e->past = e->history_init();
    if (e->line && e->past)
        set_up(e);
    uselocale(before);
    if (e->line && e->past)
        return e;
    cli_edit_free(e);
    return NULL;
}

/* The library stays: terminfo keeps its table for the life of the process. */
void cli_edit_free(struct cli_edit *e)
{
    if (!e)
        return;
    if (e->past)
        e->history_end(e->past);
    if (e->line)
        e->el_end(e->line);
    if (e->utf8)
        freelocale(e->utf8);
    only = NULL;
    free(e);
}

int cli_edit_line(struct cli_edit *e, const char *prompt, struct cli_buf *out)
{
    int n = 0;
    e->prompt = prompt;
    e->stopped = 0;
    locale_t before = uselocale(e->utf8);
    const char *line = e->el_gets(e->line, &n);
    uselocale(before);
    if (e->stopped)
        return -1;
    if (!line || n <= 0)
        return 0;
    size_t len = strlen(line);
    while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
        len--;
    cli_buf_add(out, line, len);
    return 1;
}

size_t cli_edit_typed(const struct cli_edit *e)
{
    const LineInfo *info = e->el_line(e->line);
    return info ? (size_t) (info->lastchar - info->buffer) : 0;
}

void cli_edit_remember(struct cli_edit *e, const char *line)
{
    HistEvent event;
    e->history(e->past, &event, H_ENTER, line);
}

void cli_edit_load(struct cli_edit *e, const char *path)
{
    HistEvent event;
    e->history(e->past, &event, H_LOAD, path);
}

int cli_edit_save(struct cli_edit *e, const char *path)
{
    HistEvent event;
    errno = 0;
    if (e->history(e->past, &event, H_SAVE, path) >= 0)
        return 0;
    return errno ? errno : EIO;
}

#else

struct cli_edit *cli_edit_new(cli_edit_byte_cb next, void *ud)
{
    (void) next;
    (void) ud;
    return NULL;
}

void cli_edit_free(struct cli_edit *e)
{
    (void) e;
}

int cli_edit_line(struct cli_edit *e, const char *prompt, struct cli_buf *out)
{
    (void) e;
    (void) prompt;
    (void) out;
    return 0;
}

size_t cli_edit_typed(const struct cli_edit *e)
{
    (void) e;
    return 0;
}

void cli_edit_remember(struct cli_edit *e, const char *line)
{
    (void) e;
    (void) line;
}

void cli_edit_load(struct cli_edit *e, const char *path)
{
    (void) e;
    (void) path;
}

int cli_edit_save(struct cli_edit *e, const char *path)
{
    (void) e;
    (void) path;
    return 0;
}

#endif
