/* A scriptable HTTP/1.1 server for tests: raw sockets on 127.0.0.1, on a thread of
 * its own. It answers a path with steps (bytes, pauses, an end), byte for byte as
 * they stand; it records requests and counts connections.
 *
 *     static const struct test_step hello[] = {
 *         TEST_SEND("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"),
 *         TEST_PAUSE(20),
 *         TEST_SEND("lo"),
 *     };
 *     struct test_server *s = test_server_new();
 *     test_server_on(s, "/hello", hello, 3);
 *     … test_server_url(s, "/hello") …
 *     test_server_free(s);
 *
 * After the steps of a request the connection waits for the next one. Paths that
 * were not set answer 404. All functions may be called while the server works. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct test_server;

enum test_end { TEST_GO_ON, TEST_CLOSE, TEST_RESET, TEST_HANG };

struct test_step {
    const char *data; /* NULL: none */
    size_t len;
    int times;    /* the data is sent so often; 0: once */
    int pause_ms; /* before each time */
    enum test_end then;
};

#define TEST_SEND(text)                                                                            \
    {                                                                                              \
        .data = text, .len = sizeof(text) - 1                                                      \
    }
#define TEST_REPEAT(text, n)                                                                       \
    {                                                                                              \
        .data = text, .len = sizeof(text) - 1, .times = n                                          \
    }
#define TEST_PAUSE(ms)                                                                             \
    {                                                                                              \
        .pause_ms = ms                                                                             \
    }
#define TEST_THEN(what)                                                                            \
    {                                                                                              \
        .then = what                                                                               \
    }
#define TEST_DRIP(text, n, ms)                                                                     \
    {                                                                                              \
        .data = text, .len = sizeof(text) - 1, .times = n, .pause_ms = ms                          \
    }
#define TEST_STEPS(array) (array), sizeof(array) / sizeof((array)[0])

struct test_server_counts {
    int accepted; /* connections so far */
    int closed;   /* of these, closed by the client */
    int open;     /* connections now */
    int requests; /* complete requests so far */
    int answers;  /* of these, answered to the last step */
};

/* Ends the process when there is no socket or thread to be had. */
struct test_server *test_server_new(void);
void test_server_free(struct test_server *s);

int test_server_port(const struct test_server *s);
/* "http://127.0.0.1:PORT" + path; valid until the next call for this server. */
const char *test_server_url(struct test_server *s, const char *path);

/* The steps are borrowed until the server is freed. Setting a path again replaces them. */
void test_server_on(
    struct test_server *s, const char *path, const struct test_step *steps, size_t n);

struct test_server_counts test_server_counts(struct test_server *s);
/* Wait until so many connections were closed by clients, or requests came, or were answered; false
 * when that has not happened within the time. They do not run any loop: what the client did is done. */
bool test_server_wait_closed(struct test_server *s, int n, int timeout_ms);
bool test_server_wait_requests(struct test_server *s, int n, int timeout_ms);
bool test_server_wait_answers(struct test_server *s, int n, int timeout_ms);

/* The n-th request (from 0), head and body, NUL-terminated: its first 16 KB. "" when there
 * is none. Valid until the server is freed. */
const char *test_server_request(struct test_server *s, int n);
