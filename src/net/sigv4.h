/* AWS Signature Version 4, for requests whose body is at hand. Debian's libcurl (7.88) signs paths with an
 * escape in them wrongly, which are those of most models' ids (right from about 8.14 on), so this is done here. */
#pragma once

#include "base/buf.h"

#include <stdint.h>

struct hocket__sigv4 {
    struct hocket__str region, service; /* "us-east-1", "bedrock" */
    struct hocket__str id, secret;      /* of the access key */
    struct hocket__str token;           /* of the session; may be empty */
};

/* Appends header lines "name: value", each ended by a NUL: x-amz-date, x-amz-security-token, authorization. `url` is
 * what is sent, without a query; content-type is application/json. `now`: seconds since 1970. The status of
 * `lines`; EINVAL for a URL with a query, or without a host. */
int hocket__sigv4_sign(const struct hocket__sigv4 *k, struct hocket__str url,
    struct hocket__str body, int64_t now, struct hocket__buf *lines);
