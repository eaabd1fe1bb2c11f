/* Status line and headers of an answer, line by line as libcurl hands them over:
 * 1xx answers are passed by, trailers are left out, and the head of a redirect that
 * may be followed is kept until it is known whether it will be. */
#pragma once

#include "base/buf.h"

struct hocket__request;

struct hocket__head {
    struct hocket__buf target; /* not empty: a redirect that will be followed */
    enum {
        HOCKET__HEAD_STATUS, /* the status line comes next */
        HOCKET__HEAD_LINES,
        HOCKET__HEAD_PASS, /* lines of a 1xx answer */
        HOCKET__HEAD_DONE,
    } state;
    int status;
    bool held;         /* lines go into `lines`, not to the handler */
    size_t bytes, max; /* of all header lines */
    struct hocket__buf lines;
    struct hocket__buf location;
};

/* One line with its end. 0, or a negative code with req->err filled. */
int hocket__head_line(struct hocket__request *req, struct hocket__str line);
