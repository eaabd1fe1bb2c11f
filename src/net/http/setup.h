/* A transfer's options in its easy handle. What is the same for all requests is
 * set once, when the handle is made; of the rest, only what differs from the
 * request that had the handle before. Resetting and setting some thirty options
 * would cost as much as sending the request. */
#pragma once

#include "net/http/http.h"

struct hocket__request;

/* Once for each easy handle: 0 or ENOMEM. */
int hocket__setup_init(struct hocket__request *req);

/* Everything that the spec says, except the body: 0, ENOMEM, EINVAL (a URL that libcurl
 * refuses). After a failure the request can only be freed. */
int hocket__setup_spec(
    struct hocket__request *req, const struct hocket__http_spec *spec, struct hocket_error *err);
/* Takes the body's content. Cannot fail. */
void hocket__setup_body(struct hocket__request *req, struct hocket__buf *body);

/* Single parts, for redirects. */
int hocket__setup_url(struct hocket__request *req, const char *url, struct hocket_error *err);
int hocket__setup_method(struct hocket__request *req, const char *method, bool has_body);
/* Keeps only those headers that may be sent to anybody. 0 or ENOMEM. */
int hocket__setup_strip(struct hocket__request *req);
