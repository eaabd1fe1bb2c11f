/* hocket_offer: a host that lets its owner in, from C: by every way of turning it, without memory, and gone with it. */

#include "host/run_util.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <uv.h>

static char runtime_dir[TEST_TEMP_PATH];

static const char *own_env(const char *name, void *ud)
{
    (void) ud;
    return strcmp(name, "XDG_RUNTIME_DIR") == 0 ? runtime_dir : NULL;
}

static const char *path_of(const char *name)
{
    static char path[TEST_TEMP_PATH + 64];
    snprintf(path, sizeof(path), "%s/hocket/%s.sock", runtime_dir, name);
    return path;
}

static int client(const char *name)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    strcpy(a.sun_path, path_of(name));
    if (connect(fd, (struct sockaddr *) &a, sizeof(a)) == 0)
        return fd;
    close(fd);
    return -1;
}

static void turn(hocket_host *h, uv_loop_t *loop, int64_t budget)
{
    struct pollfd p = { loop ? uv_backend_fd(loop) : hocket_backend_fd(h), POLLIN, 0 };
    int timeout = hocket_backend_timeout(h);
    poll(&p, 1, timeout < 0 || timeout > 10 ? 10 : timeout);
    if (loop)
        uv_run(loop, UV_RUN_NOWAIT);
    else
        assert_true(hocket_pump(h, budget) >= 0);
}

/* Whether a part of what is read contains `part`. */
static bool reads(hocket_host *h, uv_loop_t *loop, int64_t budget, int fd, const char *part)
{
    static char text[65536];
    size_t n = 0;
    for (int i = 0; i < 500; i++) {
        turn(h, loop, budget);
        ssize_t got = read(fd, text + n, sizeof(text) - 1 - n);
        if (got == 0)
            return false;
        n += got > 0 ? (size_t) got : 0;
        text[n] = 0;
        if (strstr(text, part))
            return true;
    }
    return false;
}

static void say(int fd, const char *line)
{
    assert_int_equal(write(fd, line, strlen(line)), strlen(line));
}

static void talk(hocket_host *h, uv_loop_t *loop, int64_t budget)
{
    int fd = client("game");
    assert_true(fd >= 0);
    assert_true(reads(h, loop, budget, fd, "\"hello\""));
    say(fd, "{\"id\":1,\"command\":\"help\"}\n{\"id\":2,\"comm");
    assert_true(reads(h, loop, budget, fd, "say AGENT TEXT"));
    say(fd, "and\":\"= 6 * 7\"}\n");
    assert_true(reads(h, loop, budget, fd, "\"text\":\"42\""));
    close(fd);
}

static hocket_host *offered(bool thread, uv_loop_t *loop)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct hocket_error e = { 0 };
    o.getenv_cb = own_env;
    o.thread = thread;
    o.uv_loop = loop;
    hocket_host *h = host_with(NULL, &o);
    if (hocket_offer(h, "game", NULL, &e) != 0)
        fail_msg("%s", e.message);
    return h;
}

static void test_own_loop(void **state)
{
    (void) state;
    for (int thread = 0; thread < 2; thread++)
        for (int64_t budget = 0; budget <= 500; budget += 500) {
            hocket_host *h = offered(thread, NULL);
            talk(h, NULL, budget);
            hocket_close(h, NULL, NULL);
            assert_int_not_equal(access(path_of("game"), F_OK), 0);
        }
}

static void on_own(uv_timer_t *timer)
{
    (void) timer;
}

/* An offer keeps an embedder's loop not alive, and neither does who is attached. */
static void test_foreign_loop(void **state)
{
    (void) state;
    uv_loop_t loop;
    uv_timer_t own;
    uv_loop_init(&loop);
    hocket_host *h = offered(false, &loop);
    uv_timer_init(&loop, &own);
    uv_timer_start(&own, on_own, 1000000, 0); /* something of the program's own */
    talk(h, &loop, 0);
    int fd = client("game");
    uv_close((uv_handle_t *) &own, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    hocket_close(h, NULL, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    close(fd);
}

static void test_names(void **state)
{
    (void) state;
    struct hocket_error e;
    struct stat st;
    char pid[32];
    hocket_host *h = offered(false, NULL);
    assert_int_equal(hocket_offer(h, "game", NULL, &e), 0); /* again */
    assert_int_equal(hocket_offer(h, "a b", NULL, &e), HOCKET_EINVAL);
    assert_int_equal(hocket_offer(h, "x", "[", &e), HOCKET_EINVAL);
    assert_int_equal(hocket_offer(h, "x", "{\"rot\":1}", &e), HOCKET_EINVAL);
    assert_non_null(strstr(e.message, "rot"));
    assert_int_equal(hocket_offer(NULL, "x", NULL, &e), HOCKET_EINVAL);
    assert_int_equal(hocket_offer(h, NULL, NULL, &e), 0);
    snprintf(pid, sizeof(pid), "%ld", (long) getpid());
    assert_int_equal(stat(path_of(pid), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(hocket_withdraw(h, "nobody", &e), HOCKET_ENOTFOUND);
    assert_int_equal(hocket_withdraw(h, NULL, &e), 0);
    assert_int_equal(hocket_withdraw(h, NULL, &e), HOCKET_ENOTFOUND);
    assert_int_equal(access(path_of(pid), F_OK), -1);
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *blind = host_with(NULL, &o); /* no variable is ever read */
    assert_int_equal(hocket_offer(blind, "x", NULL, &e), HOCKET_EINVAL);
    assert_non_null(strstr(e.message, "XDG_RUNTIME_DIR"));
    hocket_close(blind, NULL, NULL);
    hocket_close(h, NULL, NULL);
}

/* Two hosts, of one process or of two, do not take each other's name; a forked child takes none away. */
static void test_two(void **state)
{
    (void) state;
    struct hocket_error e;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = offered(false, NULL);
    o.getenv_cb = own_env;
    hocket_host *other = host_with(NULL, &o);
    assert_int_equal(hocket_offer(other, "game", NULL, &e), HOCKET_EEXIST);
    hocket_close(other, NULL, NULL);
    pid_t child = fork();
    if (child == 0) {
        hocket_close(h, NULL, NULL);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    talk(h, NULL, 0);
    hocket_close(h, NULL, NULL);
}

static void test_commands_inside(void **state)
{
    (void) state;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct outcome out = { 0 };
    hocket_host *h = host_with(NULL, &o);
    assert_int_equal(hocket_call_start(h, "command", "{\"line\":\"= 6 * 7\"}", NULL, NULL,
                         keep_outcome, &out, NULL),
        0);
    wait_for(h, &out);
    assert_string_equal(out.text, "42");
    out.done = 0;
    hocket_call_start(h, "command", "{\"line\":\"frob\"}", NULL, NULL, keep_outcome, &out, NULL);
    wait_for(h, &out);
    assert_int_equal(out.status, HOCKET_ENOTFOUND);
    hocket_close(h, NULL, NULL);
}

/* Each allocation fails in turn, while it is offered and while somebody talks: an error or an answer, and no leak. */
static void test_memory(void **state)
{
    (void) state;
    struct hocket_error e;
    bool through = false, rest = false;
    for (size_t n = 1; !through; n += n < 100 ? 7 : 1 + n / 20, rest = !rest) {
        struct test_alloc a;
        struct hocket_options o;
        hocket_options_init(&o, sizeof(o));
        o.getenv_cb = own_env;
        hocket_host *h = host_with(&a, &o);
        a.fail_at = a.calls + n;
        a.fail_rest = rest;
        a.failed = false;
        int rc = hocket_offer(h, "game", NULL, &e);
        assert_true(rc == 0 || rc == HOCKET_ENOMEM);
        int fd = rc == 0 ? client("game") : -1;
        if (fd >= 0) {
            say(fd, "{\"id\":1,\"command\":\"runs\"}\n");
            for (int i = 0; i < 3; i++)
                turn(h, NULL, 0);
            close(fd);
        }
        through = !a.failed;
        a.fail_at = 0;
        hocket_close(h, NULL, NULL);
        test_alloc_check(&a);
        assert_int_not_equal(access(path_of("game"), F_OK), 0);
    }
}

static int make_dir(void **state)
{
    (void) state;
    return test_temp_dir(runtime_dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
    char dir[TEST_TEMP_PATH + 16];
    (void) state;
    snprintf(dir, sizeof(dir), "%s/hocket", runtime_dir);
    return rmdir(dir) != 0 || rmdir(runtime_dir) != 0; /* nothing is left in it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_loop),
        cmocka_unit_test(test_foreign_loop),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_two),
        cmocka_unit_test(test_commands_inside),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
