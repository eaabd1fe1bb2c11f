/* stdout, for answers alone. Its first failure is kept and told at the end, with an exit code:
 * an answer that could not be written must not look like success.
 *
 * Everything else that the program says goes to stderr: so an answer can be piped on whatever else
 * is told. */
#include "cli/out.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/text.h"

/* There is one stdout; so there is one state. */
static int failure, out = STDOUT_FILENO;

void cli_out_claim(void)
{
    int own = out == STDOUT_FILENO ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
    if (own >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        out = own;
}

void cli_out_release(void)
{
    if (out != STDOUT_FILENO && dup2(out, STDOUT_FILENO) >= 0) {
        close(out);
        out = STDOUT_FILENO;
    }
}

int cli_out_fd(void)
{
    return out;
}

bool cli_out_is_terminal(void)
{
    return isatty(out);
}

int cli_out_failure(void)
{
    return failure;
}

void cli_out_flush(void)
{
    if (fflush(stdout) != 0 && failure == 0)
        failure = errno;
}

/* A stdout that somebody else made non-blocking is waited for. What scripts wrote by io.write before comes before. */
static void write_all(const char *p, size_t n)
{
    cli_out_flush();
    while (n > 0 && failure == 0) {
        ssize_t done = write(out, p, n);
        if (done >= 0) {
            p += done;
            n -= (size_t) done;
        } else if (errno == EAGAIN) {
            poll(&(struct pollfd){ .fd = out, .events = POLLOUT }, 1, -1);
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

void cli_out_script(const char *p, size_t n)
{
    if (cli_out_is_terminal() || (fcntl(out, F_GETFL) & O_NONBLOCK))
        cli_out_text(p, n);
    else if (fwrite(p, 1, n, stdout) < n && failure == 0)
        failure = errno;
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

void cli_out_json(const char *p, size_t n)
{
    struct cli_buf line = { 0 };
    cli_text_json(&line, p, n);
    cli_out_line(line.p, line.n);
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
