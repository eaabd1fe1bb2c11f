/* How a transfer failed, in words: what was waited for, which host, how long; never
 * a header's value, a user, a password or a query. */
#pragma once

#include "net/curl.h"

struct hocket__request;

/* Of a result other than CURLE_OK. */
void hocket__http_explain(
    const struct hocket__request *req, CURLcode code, struct hocket_error *err);

enum hocket__wait { /* what was waited for */
    HOCKET__WAIT_CONNECT,
    HOCKET__WAIT_FIRST,
    HOCKET__WAIT_IDLE,
    HOCKET__WAIT_TOTAL,
};

/* libcurl has made no handle, which takes memory and descriptors: which of them it was. The status. */
int hocket__http_no_handle(struct hocket_error *err);

void hocket__http_explain_timeout(
    const struct hocket__request *req, enum hocket__wait wait, struct hocket_error *err);
