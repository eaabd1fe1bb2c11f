/* Where something is written to, piece by piece: a file that is written beside the place where it is going to stand, which it
 * takes whole or not at all; or what is no file (a pipe, a device), which is written to as it is. */
#pragma once

#include "base/status.h"
#include "base/str.h"

struct hocket__target {
    int fd;
    bool lent;  /* a descriptor of the caller's */
    char *path; /* from malloc; NULL: a descriptor of the caller's */
    char *part; /* NULL: nothing is to be renamed */
};

/* Opens `path`. A file that stands there stays whole until the new one is. EDENIED, ENOTFOUND, EIO, ENOMEM: then it is to be
 * closed as well. */
int hocket__target_open(struct hocket__target *t, struct hocket_error *err);
/* Writes all of the text. Waits for a full pipe even if it is set not to block: a person asked for the text, and
 * nothing may be lost. */
int hocket__target_write(
    struct hocket__target *t, struct hocket__str text, struct hocket_error *err);
/* Moves it into its place. */
int hocket__target_finish(struct hocket__target *t, struct hocket_error *err);
/* What was not finished goes with its part of a file. */
void hocket__target_close(struct hocket__target *t);
