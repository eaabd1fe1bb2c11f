/* stdout, for answers alone. Its first failure is kept and told at the end, with an exit code:
 * an answer that could not be written must not look like success.
 *
 * Everything else that the program says goes to stderr: so an answer can be piped on whatever else
 * is told. */
#include "cli/out.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/text.h"

/* There is one stdout; so there is one state. */
static int failure;

bool cli_out_is_terminal(void)
{
    return isatty(STDOUT_FILENO);
}

int cli_out_failure(void)
{
    return failure;
}

/* A stdout that somebody else made non-blocking is waited for. */
static void write_all(const char *p, size_t n)
{
    while (n > 0 && failure == 0) {
        ssize_t done = write(STDOUT_FILENO, p, n);
        if (done >= 0) {
            p += done;
            n -= (size_t) done;
        } else if (errno == EAGAIN) {
            poll(&(struct pollfd){ .fd = STDOUT_FILENO, .events = POLLOUT }, 1, -1);
        } else if (errno != EINTR) {
            failure = errno;
        }
    }
}

void cli_out_styled(const char *p, size_t n)
{
    write_all(p, n);
}

void cli_out_text(const char *p, size_t n)
{
    if (n == 0)
        return;
    /* Into a pipe or a file goes what there is, byte for byte; on a terminal control
     * characters are shown and not obeyed. */
    if (!cli_out_is_terminal()) {
        write_all(p, n);
        return;
    }
    struct cli_buf shown = { 0 };
    cli_text_show(&shown, p, n, true);
    write_all(shown.p, shown.n);
    cli_buf_free(&shown);
}

void cli_out_line(const char *p, size_t n)
{
    struct cli_buf line = { 0 };
    cli_buf_add(&line, p, n);
    if (n == 0 || p[n - 1] != '\n')
        cli_buf_adds(&line, "\n");
    cli_out_text(line.p, line.n);
    cli_buf_free(&line);
}

int cli_out_end(void)
{
    if (failure == 0)
        return CLI_EXIT_DONE;
    if (failure == EPIPE) /* head, or a pager that was left: as if the signal had ended it */
        return CLI_EXIT_UNREAD;
    fprintf(stderr, "hocket: cannot write to stdout: %s\n", strerror(failure));
    return CLI_EXIT_FAILED;
}
