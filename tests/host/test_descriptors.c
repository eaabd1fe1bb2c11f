/* Descriptors may run out: the host is not opened, or its run fails with HOCKET_EIO; nothing aborts, and
 * when there are some again the same host works. */

#include "host/life.h"

#include <fcntl.h>
#include <sys/resource.h>

static void limit_to(rlim_t n)
{
    struct rlimit l;
    getrlimit(RLIMIT_NOFILE, &l);
    l.rlim_cur = n;
    if (setrlimit(RLIMIT_NOFILE, &l) < 0)
        life_wrong("no limit");
}

/* The lowest number that is free: all below it are taken. */
static int first_free(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(fd);
    return fd;
}

static void live(const struct life *l, int spare)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct hocket_error e = { 0 };
    struct rlimit all;
    hocket_host *h = NULL;
    getrlimit(RLIMIT_NOFILE, &all);
    o.thread = l->thread;
    o.getenv_cb = life_variable;
    o.launcher = "/proc/self/exe";
    limit_to((rlim_t) (first_free() + spare));
    int rc = life_first(l, &o, &h, &e);
    limit_to(all.rlim_cur);
    if (rc < 0 && rc != HOCKET_EIO)
        life_wrong("descriptors were out, and it says %s: %s", hocket_status_word(rc), e.message);
    if (rc < 0 && !strstr(e.message, " (the limit is "))
        life_wrong("it does not say why: %s", e.message);
    if (h)
        life_second(h, l);
    hocket_close(h, NULL, NULL);
}

static void test_spare_descriptors(void **state)
{
    int bad = 0;
    (void) state;
    for (size_t i = 0; i < LIVES; i++) {
        const struct life *l = &lives[i];
        if (l->foreign)
            continue;
        life_write_scripts(l->script);
        for (int spare = 0; spare <= 16; spare++) {
            pid_t child = life_fork();
            if (child == 0) {
                live(l, spare);
                _exit(0);
            }
            if (life_went_well(child))
                continue;
            fprintf(stderr, "  %s: with %d descriptors\n", l->name, spare);
            bad++;
        }
        life_drop_scripts();
    }
    assert_int_equal(bad, 0);
}

int main(int argc, char **argv)
{
    hocket_launcher_main(argc, argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_spare_descriptors) };
    return cmocka_run_group_tests(tests, life_start_models, life_stop_models);
}
