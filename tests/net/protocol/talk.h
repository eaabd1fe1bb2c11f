/* A conversation for tests of the wire protocols: a history, a request, what is written of them and
 * what a recorded or made-up answer is read as. */
#pragma once

#include "net/protocol/protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/alloc.h"

struct talk {
    struct test_alloc t;
    const struct hocket__proto *proto;
    struct hocket__history history;
    struct hocket__llm_request q; /* for the model "m", with nothing set */
    struct hocket__buf out;
    struct hocket__reply reply;
    struct hocket__buf deltas; /* of calls */
    struct hocket_error err;
};

void talk_open(struct talk *k, const struct hocket__proto *proto);
/* Checks that nothing is left. */
void talk_close(struct talk *k);

/* Adds a neutral message. */
void talk_add(struct talk *k, const char *message);
/* The body, or the URL, of the next request. */
const char *talk_body(struct talk *k);
const char *talk_url(struct talk *k, const char *base);
/* The wire form of the history alone, each turn on a line. */
const char *talk_wire(struct talk *k);

/* Reads an answer: whole, then byte by byte, which has to give the same; returns the
 * status of the latter. */
int talk_read(struct talk *k, const char *answer, bool stream);
/* The events of a stream, one literal each, ended by NULL; for SSE with "data: " and blank lines.
 */
int talk_stream(struct talk *k, const char *const *events);
/* Adds the answer to the history. */
void talk_keep(struct talk *k);

#define assert_text(buf, text)         assert_string_equal((buf).data ? (buf).data : "", text)
#define assert_has(haystack, needle)   assert_non_null(strstr(haystack, needle))
#define assert_lacks(haystack, needle) assert_null(strstr(haystack, needle))
