/* For the tests of the protocols: one request, its body; one answer, its reply as JSON. */
#pragma once

#include "net/protocol/protocol.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/alloc.h"

static inline struct hocket__llm_request request_of(struct hocket__history *h)
{
    return (struct hocket__llm_request){ .model = "m",
        .history = h,
        .temperature = NAN,
        .top_p = NAN,
        .top_k = -1,
        .max_tokens = -1,
        .seed = -1 };
}

/* Compares what the protocol writes with `want`. */
static inline void check_body(
    const struct hocket__proto *proto, const struct hocket__llm_request *q, const char *want)
{
    struct hocket__buf b;
    struct hocket_error err = { 0 };
    hocket__buf_init(&b, &hocket__malloc, 0);
    if (proto->write(q, &b, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(b.data, want);
    hocket__buf_deinit(&b);
}

/* Decodes `answer` and returns its status; *out is the reply as JSON (free it). */
static inline int decode_text(const struct hocket__proto *proto, int http_status,
    const char *answer, char **out, struct hocket_error *err)
{
    struct hocket__reply reply;
    struct hocket__decoder *d;
    struct hocket__buf b;
    hocket__reply_init(&reply, &hocket__malloc, 0);
    hocket__buf_init(&b, &hocket__malloc, 0);
    assert_int_equal(hocket__decoder_new(&hocket__malloc, proto, 0, &reply, NULL, NULL, &d), 0);
    hocket__decoder_head(d, http_status, true);
    int status = hocket__decoder_feed(d, answer, strlen(answer), err);
    if (status == 0)
        status = hocket__decoder_end(d, err);
    hocket__reply_print(&reply, &b);
    *out = strdup(b.data);
    assert_true(reply.complete ? status == 0 : status < 0 || reply.error.where);
    hocket__buf_deinit(&b);
    hocket__decoder_free(d);
    hocket__reply_deinit(&reply);
    return status;
}

/* The answer decodes, and its JSON holds `want` somewhere. */
static inline void check_answer(
    const struct hocket__proto *proto, const char *answer, const char *want)
{
    struct hocket_error err = { 0 };
    char *json;
    if (decode_text(proto, 200, answer, &json, &err) < 0)
        fail_msg("%s\n%s", err.message, answer);
    if (!strstr(json, want))
        fail_msg("answer: %s\nwant: %s\nhave: %s", answer, want, json);
    free(json);
}

static inline void check_fails(const struct hocket__proto *proto, const char *answer, int want)
{
    struct hocket_error err = { 0 };
    char *json;
    assert_int_equal(decode_text(proto, 200, answer, &json, &err), want);
    assert_int_equal(err.status, want);
    assert_true(err.message[0] != 0);
    free(json);
}

/* Decodes and gives the neutral message that goes into the history (free it). */
static inline char *message_of(const struct hocket__proto *proto, const char *answer)
{
    struct hocket__reply reply;
    struct hocket__decoder *d;
    struct hocket__buf b;
    uint64_t next = 1;
    struct hocket_error err;
    hocket__reply_init(&reply, &hocket__malloc, 0);
    hocket__buf_init(&b, &hocket__malloc, 0);
    assert_int_equal(hocket__decoder_new(&hocket__malloc, proto, 0, &reply, NULL, NULL, &d), 0);
    hocket__decoder_head(d, 200, true);
    assert_int_equal(hocket__decoder_feed(d, answer, strlen(answer), &err), 0);
    assert_int_equal(hocket__decoder_end(d, &err), 0);
    assert_int_equal(
        hocket__reply_place(&reply, proto->name, &next, &b, &(struct hocket__reply_places){ 0 }),
        0);
    char *text = strdup(b.data);
    hocket__buf_deinit(&b);
    hocket__decoder_free(d);
    hocket__reply_deinit(&reply);
    return text;
}
