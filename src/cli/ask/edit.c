/* The line editor of a terminal, by libedit, which is loaded when a person is asked for a line
 * first. Pasted text comes between brackets (ESC [200~ … ESC [201~) and is taken as text, so that a
 * line end in it does not send half of it. */
#include "cli/ask/edit.h"

#include <stdbool.h>
#include <stdlib.h>

#ifdef HOCKET_EDIT

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/library.h"
#include "cli/text.h"

#define LIBRARY    "libedit.so.2"
#define LINES_KEPT 1000

/* What a terminal puts around a paste once it was asked to, so that its line ends are none of ours. */
#define ASK_FOR_PASTES  "\033[?2004h"
#define ASK_NO_LONGER   "\033[?2004l"
#define PASTE_BEGINS    "\033[200~"
#define PASTE_ENDS      "\033[201~"
#define MAX_PASTE_BYTES ((size_t) 1 << 20)

/* X(name): what is used of it. */
#define EDIT_MAP(X)                                                                                \
    X(el_init)                                                                                     \
    X(el_set)                                                                                      \
    X(el_get)                                                                                      \
    X(el_gets)                                                                                     \
    X(el_insertstr) X(el_line) X(el_end) X(history_init) X(history) X(history_end)

struct cli_edit { /* begins with the functions of the library */
#define EDIT_MEMBER(name) __typeof__(name) *name;
    EDIT_MAP(EDIT_MEMBER)
#undef EDIT_MEMBER
    EditLine *line;
    History *past;
    locale_t utf8;
    const char *prompt;
    cli_edit_byte_cb next;
    cli_edit_words_cb words;
    void *ud;
    int stopped;
    size_t matched; /* bytes of PASTE_BEGINS */
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

/* ---- Pastes ---------------------------------------------------------------- */

static void say(const char *text)
{
    ssize_t unused = write(STDERR_FILENO, text, strlen(text));
    (void) unused;
}

/* The bytes up to the end of the paste, with the end. A paste that is too long is cut. */
static int read_paste(struct cli_buf *out)
{
    static const char end[] = PASTE_ENDS;
    size_t matched = 0;
    unsigned char byte;
    while (matched < sizeof(end) - 1) {
        int rc = next_byte(&byte);
        if (rc <= 0)
            return rc;
        matched =
            byte == (unsigned char) end[matched] ? matched + 1 : byte == (unsigned char) end[0];
        if (out->n <= MAX_PASTE_BYTES)
            cli_buf_add(out, (const char *) &byte, 1);
    }
    return 1;
}

/* Without the end. Terminals end pasted lines by a carriage return; the last one is none of the
 * text's. */
static void normalise_line_ends(struct cli_buf *b)
{
    size_t n = 0, all = b->n - (sizeof(PASTE_ENDS) - 1);
    for (size_t i = 0; i < all; i++)
        if (b->p[i] != '\r')
            b->p[n++] = b->p[i];
        else if (b->p[i + 1] != '\n')
            b->p[n++] = '\n';
    while (n > 0 && b->p[n - 1] == '\n')
        n--;
    b->n = n;
    b->p[n] = 0;
}

static void insert(EditLine *el, struct cli_buf *text)
{
    struct cli_buf shown = { 0 };
    normalise_line_ends(text);
    if (!cli_text_is_utf8(text->p, text->n))
        cli_text_show(&shown, text->p, text->n, true);
    only->el_insertstr(el, shown.n > 0 ? shown.p : text->p);
    cli_buf_free(&shown);
}

/* A paste of many lines stands in the line that is edited, as one text. */
static int take_paste(EditLine *el)
{
    struct cli_buf text = { 0 };
    int rc = read_paste(&text);
    if (rc > 0 && text.n <= MAX_PASTE_BYTES)
        insert(el, &text);
    else if (rc > 0)
        say("\r\n(not taken: a paste of more than 1 MiB)\r\n");
    cli_buf_free(&text);
    return rc;
}

/* The editor reads the key in front of a paste, and draws the line anew for it: with its last byte the
 * paste has to be there. */
static bool begins_paste(char byte)
{
    static const char key[] = PASTE_BEGINS;
    only->matched = byte == key[only->matched] ? only->matched + 1 : byte == key[0];
    if (only->matched < sizeof(key) - 1)
        return false;
    only->matched = 0;
    return true;
}

/* ---- Completion ------------------------------------------------------------ */

/* Bytes that all words have in common at the beginning, and how many words there are. */
static size_t common(const struct cli_buf *words, size_t *count)
{
    size_t n = 0;
    *count = 0;
    for (const char *w = cli_buf_text(words); *w; w += strcspn(w, "\n") + 1) {
        size_t len = strcspn(w, "\n"), same = 0;
        while (*count > 0 && same < n && same < len && w[same] == words->p[same])
            same++;
        n = (*count)++ > 0 ? same : len;
    }
    while (n > 0 && ((unsigned char) words->p[n] & 0xC0) == 0x80) /* not within a character */
        n--;
    return n;
}

static void list_words(struct cli_buf *words)
{
    for (size_t i = 0; i + 1 < words->n; i++)
        if (words->p[i] == '\n')
            words->p[i] = ' ';
    say("\r\n");
    say(words->p);
}

/* Types what all candidates have in common. Where they have nothing in common, shows all of them. The key itself
 * draws the line anew. */
static void complete(EditLine *el)
{
    struct cli_buf words = { 0 }, rest = { 0 };
    const LineInfo *info = only->el_line(el);
    size_t n = (size_t) (info->cursor - info->buffer), from = n, count;
    char *line = strndup(info->buffer, n);
    if (!line)
        cli_nomem();
    only->words(only->ud, line, n, &words, &from);
    free(line);
    size_t same = common(&words, &count), typed = from < n ? n - from : 0;
    if (count > 0 && same >= typed)
        cli_buf_add(&rest, words.p + typed, same - typed);
    if (count == 1)
        cli_buf_adds(&rest, " ");
    if (rest.n > 0)
        only->el_insertstr(el, rest.p);
    else if (count > 1)
        list_words(&words);
    cli_buf_free(&words);
    cli_buf_free(&rest);
}

/* ---- Keys ----------------------------------------------------------------- */

/* A character, whose bytes come one by one. What is no UTF-8 becomes U+FFFD. */
static int give_character(EditLine *el, wchar_t *out)
{
    unsigned char bytes[4];
    unsigned code = 0;
    int rc = next_byte(&bytes[0]);
    if (rc <= 0)
        return rc;
    size_t n = bytes[0] < 0xC0 ? 1 : bytes[0] < 0xE0 ? 2 : bytes[0] < 0xF0 ? 3 : 4;
    for (size_t i = 1; rc > 0 && i < n; i++)
        rc = next_byte(&bytes[i]);
    if (rc <= 0)
        return rc;
    if (begins_paste((char) bytes[0]))
        rc = take_paste(el);
    if (bytes[0] == '\t' && only->words)
        complete(el);
    if (rc <= 0)
        return rc;
    *out = cli_utf8_next((const char *) bytes, n, &code) ? (wchar_t) code : (wchar_t) 0xFFFD;
    return 1;
}

/* ---- The editor ------------------------------------------------------------ */

static bool load(struct cli_edit *e)
{
#if HOCKET_STATIC
#define EDIT_TAKE(name) e->name = name;
    EDIT_MAP(EDIT_TAKE)
#undef EDIT_TAKE
    return true;
#else
#define EDIT_NAME(name) #name "\0"
    return cli_library_load(LIBRARY, EDIT_MAP(EDIT_NAME), e);
#undef EDIT_NAME
#endif
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
    e->el_set(e->line, EL_BIND, PASTE_BEGINS, "ed-redisplay", NULL);
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

void cli_edit_complete(struct cli_edit *e, cli_edit_words_cb words)
{
    e->words = words;
    e->el_set(e->line, EL_BIND, "^I", "ed-redisplay", NULL);
}

void cli_edit_redraw(struct cli_edit *e)
{
    e->el_set(e->line, EL_REFRESH);
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
    say(ASK_FOR_PASTES);
    const char *line = e->el_gets(e->line, &n);
    say(ASK_NO_LONGER);
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

/* libedit escapes characters of the file by the character set. In that of the locale C, musl takes each byte for a character
 * of three bytes. */
static int use_file(struct cli_edit *e, int what, const char *path)
{
    HistEvent event;
    locale_t before = uselocale(e->utf8);
    errno = 0;
    int rc = e->history(e->past, &event, what, path);
    int why = errno ? errno : EIO;
    uselocale(before);
    return rc < 0 ? why : 0;
}

void cli_edit_load(struct cli_edit *e, const char *path)
{
    use_file(e, H_LOAD, path);
}

int cli_edit_save(struct cli_edit *e, const char *path)
{
    return use_file(e, H_SAVE, path);
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

void cli_edit_complete(struct cli_edit *e, cli_edit_words_cb words)
{
    (void) e;
    (void) words;
}

void cli_edit_redraw(struct cli_edit *e)
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
