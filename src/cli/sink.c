/* Events to a file, by a thread of its own: a slow disk or reader must not hold the run up,
 * and must not make it grow without bound either. A queue under a lock, of which the thread
 * takes all at once; what finds no room is counted, and told at the end. */
#include "cli/sink.h"

#include "cli/out.h"
#include "cli/signals.h"
#include "cli/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CLOSE_SECONDS 5.0 /* how long the end of a command waits for the file */
#define QUEUE_MAX     ((size_t) 64 << 20)
#define TICK_MS       50

struct cli_sink {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under the lock */
    struct cli_buf queue; /* lines that wait */
    unsigned long long queued, lost;
    bool ending, ended, abandoned, broken;
    int error; /* an errno: why lines were lost */
    /* the thread's own, after it was started */
    int fd;
    bool own_fd; /* ours to close, and non-blocking */
    char *fifo;  /* a FIFO that nobody reads yet, or NULL */
};

/* ---- The thread -------------------------------------------------------- */

static bool is_abandoned(struct cli_sink *s)
{
    pthread_mutex_lock(&s->lock);
    bool abandoned = s->abandoned;
    pthread_mutex_unlock(&s->lock);
    return abandoned;
}

/* Waits in slices, so that it hears when it was given up. Returns 0 or an errno. */
static int wait_writable(struct cli_sink *s)
{
    struct pollfd p = { .fd = s->fd, .events = POLLOUT };
    while (!is_abandoned(s)) {
        int rc = poll(&p, 1, TICK_MS);
        if (rc > 0)
            return 0;
        if (rc < 0 && errno != EINTR)
            return errno;
    }
    return ETIMEDOUT;
}

/* Writes all, or returns an errno with *done telling how far it came. A descriptor that is not
 * ours may block: it gets no more than a writable pipe takes at once. */
static int write_all(struct cli_sink *s, const char *p, size_t n, size_t *done)
{
    while (*done < n) {
        int rc = wait_writable(s);
        size_t most = s->own_fd ? 1 << 20 : PIPE_BUF, left = n - *done;
        if (rc != 0)
            return rc;
        ssize_t wrote = write(s->fd, p + *done, left < most ? left : most);
        if (wrote > 0)
            *done += (size_t) wrote;
        else if (wrote == 0)
            return EIO;
        else if (errno != EAGAIN && errno != EINTR)
            return errno;
    }
    return 0;
}

/* What a file has got of a line that found no room is taken back: its readers see whole lines. */
static void cut_line(struct cli_sink *s, const char *p, size_t done)
{
    const char *last = memrchr(p, '\n', done);
    size_t part = last ? done - (size_t) (last + 1 - p) : done;
    off_t at = s->own_fd && part > 0 ? lseek(s->fd, 0, SEEK_CUR) : -1;
    if (at >= (off_t) part && ftruncate(s->fd, at - (off_t) part) == 0)
        lseek(s->fd, at - (off_t) part, SEEK_SET);
}

static size_t count_lines(const char *p, size_t n)
{
    size_t lines = 0;
    for (const char *end = p + n; (p = memchr(p, '\n', (size_t) (end - p))) != NULL; p++)
        lines++;
    return lines;
}

static void fail(struct cli_sink *s, int error, size_t lines)
{
    pthread_mutex_lock(&s->lock);
    s->error = error;
    s->broken = true;
    s->lost += lines;
    pthread_mutex_unlock(&s->lock);
}

/* A FIFO without a reader cannot be opened; it is tried again until somebody reads. */
static int open_fifo(struct cli_sink *s)
{
    while (s->fd < 0) {
        s->fd = open(s->fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (s->fd >= 0)
            return 0;
        if (errno != ENXIO && errno != EINTR)
            return errno;
        if (is_abandoned(s))
            return ENXIO;
        nanosleep(&(struct timespec){ .tv_nsec = TICK_MS * 1000000L }, NULL);
    }
    return 0;
}

/* Takes the whole queue; false when there is none and none will come. */
static bool take(struct cli_sink *s, struct cli_buf *batch)
{
    struct cli_buf empty = *batch;
    cli_buf_reset(&empty);
    pthread_mutex_lock(&s->lock);
    while (s->queue.n == 0 && !s->ending)
        pthread_cond_wait(&s->changed, &s->lock);
    *batch = s->queue;
    s->queue = empty;
    pthread_mutex_unlock(&s->lock);
    return batch->n > 0;
}

static void *work(void *ud)
{
    struct cli_sink *s = ud;
    struct cli_buf batch = { 0 };
    while (take(s, &batch)) {
        size_t done = 0;
        int error = s->fifo ? open_fifo(s) : 0;
        if (error == 0 && !s->broken && (error = write_all(s, batch.p, batch.n, &done)) != 0)
            cut_line(s, batch.p, done);
        if (error != 0 || s->broken)
            fail(s, error ? error : s->error, count_lines(batch.p + done, batch.n - done));
    }
    if (s->own_fd && s->fd >= 0 && close(s->fd) != 0 && errno != EINTR)
        fail(s, errno, 0);
    cli_buf_free(&batch);
    pthread_mutex_lock(&s->lock);
    s->ended = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- Opening ----------------------------------------------------------- */

/* Names of descriptors are links, and the kernel's own. */
static bool is_descriptor(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
}

/* Lines of two runs in one file would be cut into each other. A last line that a killed run has cut
 * ends here. */
static int go_on_with(int fd)
{
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct stat st;
    char last = '\n';
    if (fstat(fd, &st) != 0)
        return errno;
    if (!S_ISREG(st.st_mode))
        return 0;
    if (fcntl(fd, F_OFD_SETLK, &all) != 0 && (errno == EAGAIN || errno == EACCES))
        return EWOULDBLOCK; /* other errors: a file system without locks */
    if (fstat(fd, &st) != 0 || (st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) != 1))
        return errno;
    return last == '\n' || write(fd, "\n", 1) == 1 ? 0 : errno;
}

static int open_file(struct cli_sink *s, const char *path)
{
    int flags =
        O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC | (is_descriptor(path) ? 0 : O_NOFOLLOW);
    struct stat st;
    if (strcmp(path, "-") == 0) {
        s->fd = cli_out_fd();
        return 0;
    }
    s->own_fd = true;
    bool special = stat(path, &st) == 0 && !S_ISREG(st.st_mode);
    s->fd = open(path, flags | (special ? O_WRONLY : O_RDWR), 0600);
    if (s->fd >= 0)
        return go_on_with(s->fd);
    if (errno != ENXIO || !special || !S_ISFIFO(st.st_mode))
        return errno;
    s->fifo = strdup(path);
    return s->fifo ? 0 : ENOMEM;
}

const char *cli_sink_error(int error)
{
    switch (error) {
    case EWOULDBLOCK: return "another run writes to it";
    case ELOOP: return "it is a symbolic link; name the file that it leads to";
    default: return strerror(error);
    }
}

/* Signals are the main thread's. */
static int start_thread(struct cli_sink *s)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&s->thread, NULL, work, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

static void free_sink(struct cli_sink *s)
{
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    cli_buf_free(&s->queue);
    free(s->fifo);
    free(s);
}

struct cli_sink *cli_sink_open(const char *path, int *error)
{
    struct cli_sink *s = calloc(1, sizeof(*s));
    pthread_condattr_t monotonic;
    if (!s)
        cli_nomem();
    s->fd = -1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    *error = open_file(s, path);
    if (*error == 0)
        *error = start_thread(s);
    if (*error == 0)
        return s;
    if (s->own_fd && s->fd >= 0)
        close(s->fd);
    free_sink(s);
    return NULL;
}

/* ---- The run's side ---------------------------------------------------- */

void cli_sink_add(struct cli_sink *s, const char *json, size_t n, bool last)
{
    pthread_mutex_lock(&s->lock);
    s->queued++;
    if (s->broken || (!last && s->queue.n + n + 1 > QUEUE_MAX)) {
        s->lost++;
    } else {
        cli_text_json(&s->queue, json, n);
        cli_buf_add(&s->queue, "\n", 1);
        pthread_cond_signal(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
}

static struct timespec in_ms(long ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += ms % 1000 * 1000000L;
    t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000L;
    t.tv_nsec %= 1000000000L;
    return t;
}

/* With the lock held. */
static bool wait_end(struct cli_sink *s, long ms, bool (*give_up)(void))
{
    for (long waited = 0; !s->ended && waited < ms && !(give_up && give_up()); waited += TICK_MS) {
        struct timespec until = in_ms(TICK_MS);
        while (!s->ended && pthread_cond_timedwait(&s->changed, &s->lock, &until) == 0)
            ;
    }
    return s->ended;
}

static const char *reason(const struct cli_sink *s)
{
    switch (s->error) {
    case 0: return "it was slower than the run";
    case EPIPE: return "the reader went away";
    case ENXIO: return "nobody read the FIFO";
    case ETIMEDOUT: return "it took no more";
    default: return strerror(s->error);
    }
}

static void explain(const struct cli_sink *s, struct cli_buf *problem)
{
    if (s->lost > 0)
        cli_buf_addf(problem, "%llu of %llu events were not written to the event file: %s", s->lost,
            s->queued, reason(s));
    else if (s->error != 0)
        cli_buf_addf(problem, "the event file may be incomplete: %s", reason(s));
}

void cli_sink_end(
    struct cli_sink *s, double seconds, bool (*give_up)(void), struct cli_buf *problem)
{
    pthread_mutex_lock(&s->lock);
    s->ending = true;
    pthread_cond_broadcast(&s->changed);
    bool ended = wait_end(s, (long) (seconds * 1000), give_up);
    s->abandoned = !ended;
    if (!ended)
        ended = wait_end(s, 4 * TICK_MS, NULL);
    if (!ended)
        cli_buf_adds(problem, "the event file is incomplete: the disk does not answer");
    else
        explain(s, problem);
    if (problem->n > 0 && !s->own_fd) /* the answer stands in these events alone */
        cli_out_fail(s->error ? s->error : EIO);
    pthread_mutex_unlock(&s->lock);
    if (!ended) {
        pthread_detach(s->thread); /* it hangs in the kernel; the process's end takes it along */
        return;
    }
    pthread_join(s->thread, NULL);
    free_sink(s);
}

static bool is_signalled(void)
{
    return cli_signal_taken() != 0;
}

void cli_sink_close(struct cli_sink *s, bool leaving, struct cli_screen *screen)
{
    struct cli_buf problem = { 0 }, line = { 0 };
    if (!s)
        return;
    cli_sink_end(s, CLOSE_SECONDS, leaving ? NULL : is_signalled, &problem);
    if (problem.n > 0) {
        cli_buf_addf(&line, "warning: %s", problem.p);
        cli_screen_say(screen, CLI_WARN, line.p);
    }
    cli_buf_free(&problem);
    cli_buf_free(&line);
}
