/* Descriptors 0, 1 and 2 may be closed: before a host is opened, later, and in a child of its process. Each
 * case is a process of its own: the host works there and is closed, and whatever was open stays what it was. */

#include "host/life.h"

#include <errno.h>
#include <fcntl.h>

enum when { BEFORE, LATER, FORKED };

static const struct life life = { .name = "short" };
static int told; /* where a case says what is wrong: its stderr may be closed */

__attribute__((format(printf, 1, 2), noreturn)) static void wrong(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vdprintf(told, fmt, ap);
    va_end(ap);
    exit(1);
}

static void close_those(unsigned mask)
{
    for (int fd = 0; fd < 3; fd++)
        if (mask >> fd & 1)
            close(fd);
}

/* As if it were closed still: whoever reads or writes there is told so. */
static void check_place(int fd)
{
    char byte = 0;
    ssize_t n = fd == 0 ? read(fd, &byte, 1) : write(fd, &byte, 1);
    if (n >= 0 || errno != EBADF)
        wrong("%d can be used\n", fd);
    if (fcntl(fd, F_GETFD) < 0)
        wrong("%d is free\n", fd);
}

static void check_places(unsigned mask, const struct stat before[3])
{
    struct stat now;
    for (int fd = 0; fd < 3; fd++)
        if (mask >> fd & 1)
            check_place(fd);
        else if (fstat(fd, &now) < 0 || now.st_ino != before[fd].st_ino
                 || now.st_dev != before[fd].st_dev)
            wrong("%d is another one\n", fd);
}

static hocket_host *open_one(bool thread)
{
    struct hocket_options o;
    struct hocket_error e;
    hocket_host *h;
    hocket_options_init(&o, sizeof(o));
    o.thread = thread;
    if (hocket_open(&o, &h, &e) < 0)
        wrong("%s\n", e.message);
    return h;
}

static void run_one(hocket_host *h)
{
    struct hocket_error e;
    struct life_run r;
    if (life_begin(h, &life, life_paths[1], NULL, &r, &e) < 0)
        wrong("%s\n", e.message);
    while (!r.done)
        hocket_wait(h, 1000);
    if (r.status < 0 || strcmp(r.text, "heard: again") != 0)
        wrong("%s\n", r.error);
}

/* It ends with exit: libuv closes what it has of its own there. */
static void live(enum when when, bool thread, unsigned mask)
{
    struct stat before[3];
    hocket_host *h = NULL;
    told = fcntl(2, F_DUPFD_CLOEXEC, 10);
    alarm(60);
    for (int fd = 0; fd < 3; fd++)
        fstat(fd, &before[fd]);
    if (when != BEFORE)
        h = open_one(thread);
    pid_t child = when == FORKED ? fork() : 0;
    if (child != 0)
        exit(life_went_well(child) ? 0 : 1);
    close_those(mask);
    if (!h)
        h = open_one(thread);
    run_one(h);
    check_places(mask, before);
    hocket_close(h, NULL, NULL);
    exit(0);
}

static void test_closed(void **state)
{
    static const char *const words[] = { "before", "later", "in a child" };
    int bad = 0;
    (void) state;
    life_write_scripts(NULL);
    for (int n = 0; n < 3 * 2 * 7; n++) {
        enum when when = (enum when)(n / 14);
        unsigned mask = (unsigned) n % 7 + 1;
        pid_t child = life_fork();
        if (child == 0)
            live(when, n / 7 % 2, mask);
        if (life_went_well(child))
            continue;
        fprintf(stderr, "  closed %s: %x, thread mode %d\n", words[when], mask, n / 7 % 2);
        bad++;
    }
    life_drop_scripts();
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_closed) };
    return cmocka_run_group_tests(tests, life_start_models, life_stop_models);
}
