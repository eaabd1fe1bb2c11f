/* What the machine's owner lets a host's runs do. */
#pragma once

#include "base/buf.h"
#include "host/host.h"

/* Sets the policies of a host: 0, or a status with *err; those from before stay then. */
int hocket__host_set_policies(
    struct hocket_host *h, const struct hocket_policy *list, size_t n, struct hocket_error *err);

/* Narrows the options of a run that begins, a JSON object; what is left stands in `out`. Nothing happens where there is no policy. */
int hocket__host_narrow(struct hocket_host *h, struct hocket__str *options, struct hocket__buf *out,
    struct hocket_error *err);
