/* The terminal on stderr: lines that stay, and rows below them that are drawn again and again.
 * A line erases the rows, takes their place and draws them again, in one write, so that
 * nothing flickers. */
#include "cli/screen.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/log/log.h"
#include "cli/signals.h"
#include "cli/text.h"

#define HIDE_CURSOR "\033[?25l"
#define SHOW_CURSOR "\033[?25h"

/* Bytes of the lines that wait while a person types. */
#define WAITING_MAX ((size_t) 64 << 10)

/* A stderr that fails is not worth a word: there is nowhere to say it. */
static void put(const struct cli_buf *b)
{
    for (size_t done = 0; done < b->n;) {
        ssize_t n = write(STDERR_FILENO, b->p + done, b->n - done);
        if (n > 0)
            done += (size_t) n;
        else if (n < 0 && errno == EAGAIN)
            poll(&(struct pollfd){ .fd = STDERR_FILENO, .events = POLLOUT }, 1, -1);
        else if (n == 0 || errno != EINTR)
            return;
    }
}

/* ---- Beginning and end ------------------------------------------------- */

static bool is_capable(void)
{
    const char *term = getenv("TERM");
    return term && *term && strcmp(term, "dumb") != 0;
}

void cli_screen_measure(struct cli_screen *s)
{
    struct winsize size = { 0 };
    s->columns = 80;
    s->lines = 24;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0)
        return;
    if (size.ws_col > 0)
        s->columns = size.ws_col;
    if (size.ws_row > 0)
        s->lines = size.ws_row;
}

/* A pipe or a dumb terminal gets plain lines with the time of day, and no row is ever drawn. */
void cli_screen_start(struct cli_screen *s, bool live, bool color)
{
    const char *no_color = getenv("NO_COLOR");
    *s = (struct cli_screen){ .name_width = 12 };
    s->terminal = isatty(STDERR_FILENO) && is_capable() && !cli_log_is_on();
    s->color = color && s->terminal && !(no_color && *no_color);
    s->unicode = cli_text_shows_unicode();
    s->live = live && s->terminal;
    cli_screen_measure(s);
    if (!s->live)
        return;
    struct cli_buf b = { 0 };
    cli_signals_view_on();
    cli_buf_adds(&b, HIDE_CURSOR);
    put(&b);
    cli_buf_free(&b);
}

void cli_screen_end(struct cli_screen *s)
{
    if (!s->live)
        return;
    struct cli_buf b = { 0 };
    cli_screen_erase(s);
    cli_buf_adds(&b, SHOW_CURSOR);
    put(&b);
    cli_buf_free(&b);
    cli_buf_free(&s->shown.text);
    cli_signals_view_off();
    s->live = false;
}

/* ---- Tones ------------------------------------------------------------- */

const char *cli_screen_tone(const struct cli_screen *s, enum cli_tone tone)
{
    static const char *const escapes[] = { [CLI_PLAIN] = "",
        [CLI_GOOD] = "\033[32m",
        [CLI_DIM] = "\033[2m",
        [CLI_ASK] = "\033[1m",
        [CLI_WARN] = "\033[33m",
        [CLI_BAD] = "\033[31m" };
    return s->color ? escapes[tone] : "";
}

const char *cli_screen_plain(const struct cli_screen *s)
{
    return s->color ? "\033[0m" : "";
}

static const char *mark(const struct cli_screen *s, enum cli_tone tone)
{
    static const char *const fine[] = { [CLI_PLAIN] = "·",
        [CLI_GOOD] = "✓",
        [CLI_DIM] = " ",
        [CLI_ASK] = "?",
        [CLI_WARN] = "!",
        [CLI_BAD] = "✗" };
    static const char *const plain[] = { [CLI_PLAIN] = "-",
        [CLI_GOOD] = "+",
        [CLI_DIM] = " ",
        [CLI_ASK] = "?",
        [CLI_WARN] = "!",
        [CLI_BAD] = "x" };
    return s->unicode ? fine[tone] : plain[tone];
}

/* ---- The rows ---------------------------------------------------------- */

/* A terminal that became narrower has wrapped the rows: they take more lines than they were. */
static size_t lines_taken(const struct cli_screen *s)
{
    size_t lines = 0;
    for (size_t i = 0; i < s->shown.count; i++)
        lines += s->shown.width[i] > 0 ? (s->shown.width[i] - 1) / s->columns + 1 : 1;
    return lines;
}

static void add_erase(struct cli_screen *s, struct cli_buf *b)
{
    size_t lines = lines_taken(s);
    if (s->mid_line)
        cli_buf_adds(b, "\n");
    s->mid_line = false;
    if (lines == 0)
        return;
    cli_buf_adds(b, "\r\033[K");
    while (--lines > 0) /* in one go, by \033[J, some terminals keep a copy of a full screen */
        cli_buf_adds(b, "\033[A\033[K");
}

void cli_screen_erase(struct cli_screen *s)
{
    struct cli_buf b = { 0 };
    add_erase(s, &b);
    put(&b);
    cli_buf_free(&b);
    s->shown.count = 0;
}

/* While a person answers a question: lines that come meanwhile wait, as they would tear apart what
 * is typed. */
void cli_screen_hold(struct cli_screen *s)
{
    struct cli_buf b = { 0 };
    cli_screen_erase(s);
    if (s->live)
        cli_buf_adds(&b, SHOW_CURSOR);
    put(&b);
    cli_buf_free(&b);
    s->held = true;
}

void cli_screen_release(struct cli_screen *s)
{
    s->held = false;
    if (s->passed_over > 0)
        cli_buf_addf(&s->waiting, "(%zu more lines came meanwhile)\n", s->passed_over);
    put(&s->waiting);
    cli_buf_free(&s->waiting);
    s->passed_over = 0;
}

void cli_screen_draw(struct cli_screen *s, struct cli_rows *rows)
{
    struct cli_buf b = { 0 };
    add_erase(s, &b);
    cli_buf_adds(&b, HIDE_CURSOR); /* again, for a terminal that another program had in between */
    cli_buf_adds(&b, cli_buf_text(&rows->text));
    put(&b);
    cli_buf_free(&b);
    cli_buf_free(&s->shown.text);
    s->shown = *rows;
    *rows = (struct cli_rows){ 0 };
    s->frame++;
}

/* ---- Lines ------------------------------------------------------------- */

/* Rows go away, the line comes in their place, rows come back below it: in one write. */
void cli_screen_put(struct cli_screen *s, const struct cli_buf *line)
{
    struct cli_buf b = { 0 };
    add_erase(s, &b);
    if (s->unicode)
        cli_buf_add(&b, cli_buf_text(line), line->n);
    else
        cli_text_ascii(&b, cli_buf_text(line), strlen(cli_buf_text(line)));
    if (s->shown.count > 0)
        cli_buf_add(&b, cli_buf_text(&s->shown.text), s->shown.text.n);
    put(&b);
    cli_buf_free(&b);
}

static void add_spaces(struct cli_buf *b, size_t n)
{
    while (n-- > 0)
        cli_buf_adds(b, " ");
}

/* The column grows with the longest name and never shrinks, or lines would jump to and fro. */
static void add_name(struct cli_screen *s, struct cli_buf *b, const char *who)
{
    size_t width = cli_text_width(who, strlen(who));
    if (width > s->name_width)
        s->name_width = width < 24 ? width : 24;
    cli_text_cut(b, who, strlen(who), s->name_width);
    add_spaces(b, width < s->name_width ? s->name_width - width + 2 : 2);
}

/* n bytes of text, wrapped and indented to `at`. */
static void add_wrapped(
    const struct cli_screen *s, struct cli_buf *b, const char *text, size_t n, size_t at)
{
    size_t room = s->columns > at + 8 ? s->columns - at - 1 : 8;
    while (n > 0) {
        size_t taken = cli_text_break(text, n, room);
        cli_buf_add(b, text, taken);
        text += taken;
        n -= taken;
        while (n > 0 && *text == ' ') {
            text++;
            n--;
        }
        if (n > 0) {
            cli_buf_adds(b, "\n");
            add_spaces(b, at);
        }
    }
}

/* Beside a column of names there has to be room for words. */
static bool has_column(const struct cli_screen *s)
{
    return s->columns >= s->name_width + 24;
}

static void add_terminal_line(
    struct cli_screen *s, struct cli_buf *b, enum cli_tone tone, const char *who, const char *text)
{
    bool marked_only = tone == CLI_GOOD || tone == CLI_PLAIN;
    enum cli_tone shown = tone == CLI_PLAIN ? CLI_DIM : tone;
    struct cli_buf named = { 0 };
    size_t at = 2;
    cli_buf_addf(b, "%s%s%s ", cli_screen_tone(s, shown), mark(s, tone),
        marked_only ? cli_screen_plain(s) : "");
    if (who && has_column(s)) {
        add_name(s, b, who);
        at += s->name_width + 2;
    } else if (who) {
        cli_buf_addf(&named, "%s: %s", who, text);
        text = named.p;
    }
    if (tone == CLI_DIM) /* details: one row each */
        cli_text_cut(b, text, strlen(text), s->columns > at + 1 ? s->columns - at - 1 : 1);
    else
        add_wrapped(s, b, text, strlen(text), at);
    cli_buf_addf(b, "%s\n", marked_only ? "" : cli_screen_plain(s));
    cli_buf_free(&named);
}

static void add_plain_line(const struct cli_screen *s, struct cli_buf *b, enum cli_tone tone,
    const char *who, const char *text)
{
    char clock[16] = "";
    time_t now = s->at ? s->at : time(NULL);
    struct tm parts;
    if (cli_text_moment(now, &parts))
        strftime(clock, sizeof(clock), "%H:%M:%S ", &parts);
    cli_buf_adds(b, clock);
    if (tone >= CLI_WARN)
        cli_buf_adds(b, tone == CLI_WARN ? "warning: " : "error: ");
    cli_buf_addf(b, "%s%s%s\n", who ? who : "", who ? " " : "", text);
}

static enum cli_log_level level_of(enum cli_tone tone)
{
    return tone == CLI_BAD ? CLI_LOG_ERROR : tone == CLI_WARN ? CLI_LOG_WARNING : CLI_LOG_INFO;
}

void cli_screen_line(struct cli_screen *s, enum cli_tone tone, const char *who, const char *text)
{
    struct cli_buf b = { 0 };
    if (cli_log_is_on()) {
        cli_log(level_of(tone), NULL, who, text);
        return;
    }
    if (s->terminal)
        add_terminal_line(s, &b, tone, who, text);
    else
        add_plain_line(s, &b, tone, who, text);
    if (!s->held)
        cli_screen_put(s, &b);
    else if (s->waiting.n < WAITING_MAX)
        cli_buf_add(&s->waiting, b.p, b.n);
    else
        s->passed_over++;
    cli_buf_free(&b);
}

static void add_lines(const struct cli_screen *s, struct cli_buf *b, const char *text)
{
    for (const char *line = text, *end;; line = end + 1) {
        end = line + strcspn(line, "\n");
        if (s->terminal)
            add_wrapped(s, b, line, (size_t) (end - line), 0);
        else
            cli_buf_add(b, line, (size_t) (end - line));
        if (!*end)
            return;
        cli_buf_adds(b, "\n");
    }
}

void cli_screen_say(struct cli_screen *s, enum cli_tone tone, const char *text)
{
    struct cli_buf b = { 0 }, shown = { 0 };
    if (cli_log_is_on()) {
        cli_log(level_of(tone), NULL, NULL, text);
        return;
    }
    cli_text_show(&shown, text, strlen(text), true);
    cli_buf_adds(&b, cli_screen_tone(s, tone));
    add_lines(s, &b, cli_buf_text(&shown));
    cli_buf_addf(&b, "%s\n", tone == CLI_PLAIN ? "" : cli_screen_plain(s));
    cli_screen_put(s, &b);
    cli_buf_free(&shown);
    cli_buf_free(&b);
}

double cli_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}
