/* stdout, for answers alone. Its first failure is kept and told at the end, with an exit code:
 * an answer that could not be written must not look like success.
 *
 * Everything else that the program prints goes to stderr, so an answer can always be piped. */
#include "cli/out.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/buf.h"
#include "cli/exit.h"
#include "cli/log/log.h"
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

void cli_out_fail(int error)
{
    if (failure == 0)
        failure = error;
}

void cli_out_flush(void)
{
    if (fflush(stdout) != 0)
        cli_out_fail(errno);
}

/* Waits for a stdout that somebody else made non-blocking. Text that scripts wrote by io.write before comes first. */
static void write_all(const char *p, size_t n)
{
    cli_out_flush();
    while (n > 0 && failure == 0) {
        ssize_t done = write(out, p, n);
        if (done > 0) {
            p += done;
            n -= (size_t) done;
        } else if (done == 0) { /* some files take nothing, and never say why */
            failure = EIO;
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
    /* A pipe or a file gets the text byte for byte; on a terminal control characters are shown and not obeyed. */
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

void cli_out_give(void)
{
    static char gathered[1 << 16];
    if (!cli_out_is_terminal())
        setvbuf(stdout, gathered, _IOFBF, sizeof(gathered));
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

void cli_out_shown(const char *p, size_t n)
{
    struct cli_buf shown = { 0 };
    cli_text_show(&shown, p, n, true);
    cli_out_line(cli_buf_text(&shown), shown.n);
    cli_buf_free(&shown);
}

int cli_out_end(void)
{
    if (failure == 0)
        return CLI_EXIT_DONE;
    if (failure == EPIPE) /* head, or a pager that was left: as if the signal had ended it */
        return CLI_EXIT_UNREAD;
    cli_logf(CLI_LOG_ERROR, "hocket: cannot write to stdout: %s", strerror(failure));
    return CLI_EXIT_FAILED;
}

/* ---- Files ------------------------------------------------------------------------------------ */

static bool is_other_than_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

bool cli_part_open(struct cli_part *p, const char *file)
{
    *p = (struct cli_part){ .fd = out };
    if (strcmp(file, "-") == 0)
        return true;
    if (is_other_than_file(file)) {
        p->fd = open(file, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return p->fd >= 0;
    }
    if (asprintf(&p->path, "%s.XXXXXX", file) < 0)
        cli_nomem();
    p->fd = mkostemp(p->path, O_CLOEXEC);
    int error = errno;
    if (p->fd < 0) {
        free(p->path);
        p->path = NULL;
    }
    errno = error;
    return p->fd >= 0;
}

bool cli_part_close(struct cli_part *p, const char *file, bool whole)
{
    if (!p->path)
        return p->fd == out || close(p->fd) == 0;
    bool there = whole && fsync(p->fd) == 0;
    there = close(p->fd) == 0 && there && rename(p->path, file) == 0;
    int error = errno;
    if (!there)
        unlink(p->path);
    free(p->path);
    p->path = NULL;
    errno = error;
    return there || !whole;
}
