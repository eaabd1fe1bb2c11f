/* TLS and HTTP/2, against `openssl s_server`, which passes plain bytes through its pipes: the
 * frames of HTTP/2 are written and read here by hand. Skipped where there is no openssl. */
#include "net/http/fixture.h"
#include "support/loopback.h"
#include "support/temp.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char dir[TEST_TEMP_PATH], key[TEST_TEMP_PATH + 8], cert[TEST_TEMP_PATH + 8];

struct peer {
    pid_t pid;
    int in, out; /* to the client, from the client */
    char url[64];
    unsigned char got[65536];
    size_t len;
    bool ended;
};

/* ---- The server -------------------------------------------------------------------------- */

static pid_t spawn(const char *const argv[], int in, int out)
{
    pid_t pid;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", 1, 0);
    if (in >= 0)
        posix_spawn_file_actions_adddup2(&files, in, 0);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&files, out, 1);
    int status = posix_spawnp(&pid, argv[0], &files, NULL, (char *const *) argv, environ);
    posix_spawn_file_actions_destroy(&files);
    return status == 0 ? pid : -1;
}

/* Key and certificate for 127.0.0.1; false where there is no openssl. */
static bool make_certificate(void)
{
    const char *argv[] = { "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
        "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
        "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", NULL };
    int status = -1;
    assert_true(test_temp_dir(dir));
    snprintf(key, sizeof(key), "%s/key", dir);
    snprintf(cert, sizeof(cert), "%s/cert", dir);
    pid_t pid = spawn(argv, -1, -1);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static int free_port(void)
{
    struct sockaddr_in at;
    int fd = test_loopback(&at, 0);
    assert_true(fd >= 0);
    close(fd);
    return ntohs(at.sin_port);
}

/* /proc/net/tcp says when it listens: a connection to find out would be its only one. */
static bool listens(int port)
{
    char line[256], want[32];
    bool found = false;
    FILE *f = fopen("/proc/net/tcp", "r");
    snprintf(want, sizeof(want), "0100007F:%04X 00000000:0000 0A", port);
    while (f && !found && fgets(line, sizeof(line), f))
        found = strstr(line, want) != NULL;
    fclose(f);
    return found;
}

static void peer_start(struct peer *p, const char *alpn)
{
    int to[2], from[2], port = free_port();
    char address[64];
    memset(p, 0, sizeof(*p));
    snprintf(address, sizeof(address), "127.0.0.1:%d", port);
    snprintf(p->url, sizeof(p->url), "https://127.0.0.1:%d/", port);
    const char *argv[] = { "openssl", "s_server", "-quiet", "-naccept", "1", "-accept", address,
        "-key", key, "-cert", cert, "-alpn", alpn, NULL };
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    p->pid = spawn(argv, to[0], from[1]);
    assert_true(p->pid > 0);
    close(to[0]);
    close(from[1]);
    p->in = to[1];
    p->out = from[0];
    for (int i = 0; i < 500 && !listens(port); i++)
        uv_sleep(10);
}

static void peer_stop(struct peer *p)
{
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
    close(p->in);
    close(p->out);
}

static void peer_say(struct peer *p, const char *bytes, size_t n)
{
    assert_int_equal(write(p->in, bytes, n), n);
}

/* Reads what is there, waiting for so long at most. */
static void peer_read(struct peer *p, int ms)
{
    struct pollfd fd = { p->out, POLLIN, 0 };
    while (!p->ended && p->len < sizeof(p->got) && poll(&fd, 1, ms) > 0) {
        ssize_t n = read(p->out, p->got + p->len, sizeof(p->got) - p->len);
        p->ended = n <= 0;
        p->len += n > 0 ? (size_t) n : 0;
        ms = 0;
    }
}

/* Whether a frame of that type has come for that stream. */
static bool has_frame(const struct peer *p, int type, unsigned stream)
{
    const unsigned char *b = p->got;
    for (size_t i = 24; i + 9 <= p->len;) { /* behind the preface */
        unsigned id = (unsigned) b[i + 5] << 24 | b[i + 6] << 16 | b[i + 7] << 8 | b[i + 8];
        if (b[i + 3] == type && id == stream)
            return true;
        i += 9 + ((size_t) b[i] << 16 | b[i + 1] << 8 | b[i + 2]);
    }
    return false;
}

/* ---- Cases ------------------------------------------------------------------------------- */

enum { HEADERS = 1, RST_STREAM = 3 };
#define SETTINGS         "\0\0\0\x04\0\0\0\0\0"
#define STATUS_200(id)   "\0\0\x01\x01\x04\0\0\0" id "\x88"
#define DATA(id)         "\0\0\x02\0\0\0\0\0" id "ok"
#define DATA_AND_END(id) "\0\0\x02\0\x01\0\0\0" id "ok"
#define SAY(p, text)     peer_say(p, text, sizeof(text) - 1)

static void open_with(struct fixture *f, const char *ca_file)
{
    close_http(f);
    fixture_open(f, (struct hocket__http_options){ .ca_file = ca_file });
}

static void test_trusted_and_not(void **state)
{
    struct fixture *f = *state;
    struct peer p;
    struct seen good = { 0 }, bad = { 0 };
    open_with(f, cert);
    peer_start(&p, "http/1.1");
    SAY(&p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    get(f, &good, p.url);
    run_until_done(&good);
    assert_ok(&good);
    assert_string_equal(good.body, "ok");
    peer_stop(&p);

    open_with(f, NULL);
    peer_start(&p, "http/1.1");
    get(f, &bad, p.url);
    run_until_done(&bad);
    assert_int_equal(bad.err.status, HOCKET_ETLS);
    assert_contains(bad.err.message, "its certificate is not trusted");
    assert_false(bad.err.retryable);
    peer_read(&p, 100);
    assert_int_equal(p.len, 0);
    peer_stop(&p);
}

struct frame {
    struct peer *p;
    int type;
    unsigned stream;
};

static bool frame_came(void *ud)
{
    struct frame *w = ud;
    peer_read(w->p, 0);
    return has_frame(w->p, w->type, w->stream);
}

static bool has_body(void *ud)
{
    return ((struct seen *) ud)->body_len > 0;
}

/* Two streams on one connection; a cancelled one is reset at once, the last closes it. */
static void test_cancelled_streams(void **state)
{
    struct fixture *f = *state;
    struct peer p;
    struct seen a = { 0 }, b = { 0 }, c = { 0 };
    struct frame first = { &p, HEADERS, 1 }, second = { &p, HEADERS, 3 };
    struct frame third = { &p, HEADERS, 5 };
    open_with(f, cert);
    peer_start(&p, "h2");
    SAY(&p, SETTINGS);
    get(f, &a, p.url);
    run_until(f, frame_came, &first);
    SAY(&p, STATUS_200("\x01") DATA("\x01"));
    run_until(f, has_body, &a);
    get(f, &b, p.url);
    run_until(f, frame_came, &second);
    get(f, &c, p.url);
    run_until(f, frame_came, &third);

    assert_false(has_frame(&p, RST_STREAM, 1));
    hocket__http_cancel(f->http, a.id);
    peer_read(&p, 100);
    assert_true(has_frame(&p, RST_STREAM, 1));
    assert_false(p.ended);

    SAY(&p, STATUS_200("\x03") DATA_AND_END("\x03"));
    run_until_done(&b);
    assert_ok(&b);
    assert_true(b.timing.reused);
    assert_int_equal(b.status, 200);
    assert_string_equal(b.body, "ok");

    hocket__http_cancel(f->http, c.id);
    for (int i = 0; i < 10 && !p.ended; i++)
        peer_read(&p, 20);
    assert_true(p.ended || has_frame(&p, RST_STREAM, 5));
    assert_string_equal(a.log, "Sd");
    assert_string_equal(c.log, "");
    peer_stop(&p);
}

/* The same when a handler gives up, which libcurl learns from inside its callback. */
static void give_up(struct seen *s, char at)
{
    if (at == 'd')
        s->give_up = HOCKET_EPROVIDER;
}

static void test_handler_gives_up_a_stream(void **state)
{
    struct fixture *f = *state;
    struct peer p;
    struct seen a = { 0 }, b = { .act = give_up };
    struct frame first = { &p, HEADERS, 1 }, second = { &p, HEADERS, 3 };
    open_with(f, cert);
    peer_start(&p, "h2");
    SAY(&p, SETTINGS);
    get(f, &a, p.url);
    run_until(f, frame_came, &first);
    get(f, &b, p.url);
    run_until(f, frame_came, &second);
    SAY(&p, STATUS_200("\x03") DATA("\x03"));
    run_until_done(&b);
    assert_int_equal(b.err.status, HOCKET_EPROVIDER);
    peer_read(&p, 100);
    assert_true(has_frame(&p, RST_STREAM, 3));
    assert_int_equal(a.done, 0);
    peer_stop(&p);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_trusted_and_not),
        CASE(test_cancelled_streams),
        CASE(test_handler_gives_up_a_stream),
    };
    if (!make_certificate()) {
        printf("skipped: there is no openssl command\n");
        return 77;
    }
    signal(SIGPIPE, SIG_IGN);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(key);
    unlink(cert);
    rmdir(dir);
    return failed;
}
