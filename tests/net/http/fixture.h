/* What the tests of the HTTP client share: a loop, an actor with a counting allocator, a
 * server, and handlers that write down what they see. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "net/http/http.h"
#include "support/alloc.h"
#include "support/server.h"

struct fixture {
    uv_loop_t loop;
    struct test_alloc alloc;
    struct hocket__http *http;
    struct test_server *server;
    int closed; /* on_closed ran */
    int fds, threads;
    int turns; /* of the loop in run_until */
};

/* What one request saw. `log` has a letter per callback: S status, h header, d data, D done;
 * equal ones that follow each other are written once. */
struct seen {
    struct fixture *f;
    int64_t id;
    int status, done;
    char log[64], headers[4096], body[4096];
    size_t body_len; /* all of it; `body` keeps the beginning */
    int pieces;
    struct hocket_error err; /* of on_done; status 0: none */
    struct hocket__http_timing timing;
    void (*act)(struct seen *s, char at); /* called in each callback, at the end */
    void *ud;
    int give_up;   /* what on_data returns */
    bool progress; /* on_data returns HOCKET__HTTP_PROGRESS, where it does not give up */
};

extern const struct hocket__http_handler seen_handler;

/* cmocka's set-up and tear-down for one case: *state is the fixture. The tear-down closes
 * everything and checks memory, descriptors, threads and the loop. */
int fixture_setup(void **state);
int fixture_teardown(void **state);
/* The same with options of one's own (allocator and loop are filled in). */
void fixture_open(struct fixture *f, struct hocket__http_options o);

/* Starts a GET (body NULL) or POST of a path of the server, or of a whole URL. */
int64_t get(struct fixture *f, struct seen *s, const char *path);
int64_t post(struct fixture *f, struct seen *s, const char *path, const char *body);
int64_t start(struct fixture *f, struct seen *s, struct hocket__http_spec spec, const char *path);

/* Runs the loop until the request is done, or for at most 10 s; or for a time. */
void run_until_done(struct seen *s);
void run_for(struct fixture *f, int ms);
void run_until(struct fixture *f, bool (*reached)(void *ud), void *ud);

void close_http(struct fixture *f);

#define assert_ok(s)                                                                               \
    do {                                                                                           \
        if ((s)->err.status != 0)                                                                  \
            fail_msg("%s", (s)->err.message);                                                      \
        assert_int_equal((s)->done, 1);                                                            \
    } while (0)
#define assert_contains(text, part)                                                                \
    do {                                                                                           \
        if (!strstr(text, part))                                                                   \
            fail_msg("\"%s\" lacks \"%s\"", text, part);                                           \
    } while (0)
#define assert_lacks(text, part)                                                                   \
    do {                                                                                           \
        if (strstr(text, part))                                                                    \
            fail_msg("\"%s\" holds \"%s\"", text, part);                                           \
    } while (0)
