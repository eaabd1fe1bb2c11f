/* Reads lines while the host goes on: one poll over the input and the host's descriptor (reader.h).
 * On a terminal with libedit bytes go through edit.c one by one; from a pipe whole lines are cut
 * out of what has come. */
#include "cli/ask/reader.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/text.h"

/* A line that is longer ends where it is: nobody types so much. */
#define LINE_MAX_BYTES ((size_t) 4 << 20)

static void show(const char *text)
{
    ssize_t unused = write(STDERR_FILENO, text, strlen(text));
    (void) unused;
}

void cli_reader_start(
    struct cli_reader *r, hocket_host *host, bool terminal, bool (*go_on)(void *ud), void *ud)
{
    *r = (struct cli_reader){ .host = host, .terminal = terminal, .go_on = go_on, .ud = ud };
}

int cli_reader_end(struct cli_reader *r)
{
    int error = r->edit && r->history ? cli_edit_save(r->edit, r->history) : 0;
    cli_edit_free(r->edit);
    cli_buf_free(&r->kept);
    return error;
}

long cli_reader_typed(const struct cli_reader *r)
{
    return r->edit ? (long) cli_edit_typed(r->edit) : -1;
}

void cli_reader_redraw(struct cli_reader *r)
{
    if (r->edit)
        cli_edit_redraw(r->edit);
    else if (r->terminal && r->prompt)
        show(r->prompt);
}

void cli_reader_remember(struct cli_reader *r, const char *line)
{
    if (r->edit)
        cli_edit_remember(r->edit, line);
}

void cli_reader_forget(struct cli_reader *r)
{
    if (!r->terminal)
        return;
    tcflush(STDIN_FILENO, TCIFLUSH);
    cli_buf_reset(&r->kept);
}

/* Waits until stdin has something, while the host works. False: the line is not wanted any more. */
static bool await_input(struct cli_reader *r)
{
    while (r->go_on(r->ud)) {
        struct pollfd fds[] = {
            { .fd = STDIN_FILENO, .events = POLLIN },
            { .fd = hocket_backend_fd(r->host), .events = POLLIN },
        };
        poll(fds, 2, hocket_backend_timeout(r->host));
        if (fds[0].revents)
            return r->go_on(r->ud);
        hocket_pump(r->host, 0);
    }
    return false;
}

/* How many bytes of what is kept are a line with its end; 0: none is whole. */
static size_t whole_line(const struct cli_reader *r)
{
    const char *end = r->kept.n > 0 ? memchr(r->kept.p, '\n', r->kept.n) : NULL;
    if (end)
        return (size_t) (end - r->kept.p) + 1;
    return r->ended || r->kept.n > LINE_MAX_BYTES ? r->kept.n : 0;
}

static void hand_out(struct cli_reader *r, size_t n, struct cli_buf *out)
{
    size_t len = n;
    while (len > 0 && (r->kept.p[len - 1] == '\n' || r->kept.p[len - 1] == '\r'))
        len--;
    if (cli_text_is_utf8(r->kept.p, len))
        cli_buf_add(out, r->kept.p, len);
    else
        cli_text_show(out, r->kept.p, len, true);
    memmove(r->kept.p, r->kept.p + n, r->kept.n - n);
    r->kept.n -= n;
    r->kept.p[r->kept.n] = 0;
}

static void read_some(struct cli_reader *r)
{
    char chunk[4096];
    ssize_t n = read(STDIN_FILENO, chunk, sizeof(chunk));
    if (n > 0)
        cli_buf_add(&r->kept, chunk, (size_t) n);
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
        r->ended = true;
}

/* ---- With line editing --------------------------------------------------- */

/* A Ctrl-D that came before the terminal was the editor's arrives as NUL. */
static int next_byte(void *ud, unsigned char *out)
{
    struct cli_reader *r = ud;
    ssize_t n;
    do {
        if (!await_input(ud))
            return -1;
        n = read(STDIN_FILENO, out, 1);
    } while (n < 0 && (errno == EINTR || errno == EAGAIN));
    if (n > 0 && *out == 0 && r->early)
        *out = 4;
    r->early = false;
    return n > 0 ? 1 : 0;
}

static void complete(void *ud, const char *line, size_t n, struct cli_buf *words, size_t *from)
{
    struct cli_reader *r = ud;
    r->complete(r->ud, line, n, words, from);
}

static bool can_edit(struct cli_reader *r)
{
    const char *term = getenv("TERM");
    if (r->tried || !r->terminal || !term || !*term || strcmp(term, "dumb") == 0)
        return r->edit != NULL;
    r->tried = true;
    r->edit = cli_edit_new(next_byte, r);
    if (r->edit && r->history)
        cli_edit_load(r->edit, r->history);
    if (r->edit && r->complete)
        cli_edit_complete(r->edit, complete);
    return r->edit != NULL;
}

static enum cli_read edited_line(struct cli_reader *r, const char *prompt, struct cli_buf *out)
{
    r->early = true;
    int got = cli_edit_line(r->edit, prompt, out);
    if (got <= 0)
        show("\n");
    return got > 0 ? CLI_READ_LINE : got == 0 ? CLI_READ_END : CLI_READ_STOPPED;
}

/* ---- Lines ---------------------------------------------------------------- */

enum cli_read cli_reader_line(struct cli_reader *r, const char *prompt, struct cli_buf *out)
{
    size_t n;
    r->prompt = prompt;
    if (can_edit(r))
        return edited_line(r, prompt, out);
    if (r->terminal)
        show(prompt);
    while ((n = whole_line(r)) == 0) {
        if (r->ended || !await_input(r)) {
            if (r->terminal)
                show("\n");
            bool ended = r->ended;
            r->ended = ended && !r->terminal; /* a person may type again */
            return ended ? CLI_READ_END : CLI_READ_STOPPED;
        }
        read_some(r);
    }
    hand_out(r, n, out);
    return CLI_READ_LINE;
}
