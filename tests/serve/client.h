/* A server on a loop of its own, raw client sockets beside it on the same thread, and a
 * handler that answers by the path. Nothing sleeps: the loop turns until what is waited
 * for has come, or the test fails after some seconds. */
#pragma once

#include "serve/server.h"

#include "support/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#include <uv.h>

struct bench {
    struct test_alloc alloc;
    uv_loop_t loop;
    struct hocket__server_options options;
    struct hocket__server_handler handler;
    struct hocket__server *server;
    int fds_before, threads_before;
    bool server_gone;

    int requests, closed, drained;
    uint64_t open[256]; /* requests to /later, in order */
    int n_open;
    uint64_t closed_id;
    char method[32], path[256], host[64];
    int logs;
    bool close_on_request;
};

/* Paths: /hello answers "hello", /echo the body, /later nothing; else 404. */
void bench_open(struct bench *b);  /* fills the options; a test may change them */
void bench_start(struct bench *b); /* and this starts the server by them */
/* Closes what is open; checks that no handle, byte, descriptor or thread is left. */
void bench_close(struct bench *b);

/* One turn of the loop, waiting a millisecond at most. */
void bench_turn(struct bench *b);
/* Is there something for the loop to do at once? */
bool bench_busy(struct bench *b);
/* Turns the loop until `*value` is at least `wanted`. */
void bench_wait(struct bench *b, const int *value, int wanted);

int client_open(struct bench *b);
/* With a small receive buffer: soon full. */
int client_open_small(struct bench *b);
void client_send(struct bench *b, int fd, const char *p, size_t n);
void client_say(struct bench *b, int fd, const char *text);
/* Reads exactly `text`. */
void client_expect(struct bench *b, int fd, const char *text);
/* Reads to the end: the number of bytes, or -errno after a reset; text in out. */
long client_read_all(struct bench *b, int fd, char *out, size_t size);
/* Nothing comes in a number of turns. */
void client_expect_silence(struct bench *b, int fd);
