/* What a caller may ask for. It checks everything that ends up in the head of a request: nothing in it can end a
 * line, or set the body's length. */
#pragma once

#include "net/curl.h"
#include "net/http/http.h"

#define HOCKET__HTTP_METHOD_MAX 16 /* with its NUL */

/* Method and headers: 0, EINVAL or ELIMIT. */
int hocket__http_check_spec(const struct hocket__http_spec *spec, struct hocket_error *err);

/* The URL's characters, scheme and length: 0 or EINVAL. The message does not repeat it. */
int hocket__http_check_url(const char *url, struct hocket_error *err);

/* How much of a checked URL is scheme and authority. */
size_t hocket__http_origin_length(const char *url);

/* Takes a URL apart; *out is to be freed with url_cleanup. 0, EINVAL or ENOMEM. */
int hocket__http_parse_url(
    struct hocket__http *http, const char *url, CURLU **out, struct hocket_error *err);

/* Reads the host of a URL: *name is "host" or "host:port" for people, without user
 * or password, to be freed with hocket__strfree; *literal says that it needs no
 * look-up. 0, EINVAL or ENOMEM. */
int hocket__http_check_host(struct hocket__http *http, const char *url, char **name, bool *literal,
    struct hocket_error *err);
