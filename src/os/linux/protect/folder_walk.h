/* A look through a folder for protected names (base/protected.h), the upper folders first. */
#pragma once

#include "os/root.h"

/* A repository without a folder of its own: HEAD beside what git keeps with it makes its folder one.
 * `path` is of the HEAD then. Below the root. */
typedef void (*hocket__look_cb)(void *ud, const char *path, bool bare);

struct hocket__folder_walk {
    struct hocket__root *root;
    hocket__look_cb found;
    void *ud;
    char **queue; /* folders that are still to be looked into */
    size_t at, n, cap;
    size_t entries;   /* seen so far */
    int64_t since_s;  /* wall clock: folders that were closed since are opened up; 0: none is */
    int64_t until_ms; /* CLOCK_MONOTONIC */
    bool over;        /* there was too much of it */
    bool whole;       /* nothing was left out */
};

int64_t hocket__folder_walk_now_ms(void);

/* Calls look->found for everything below root, for at most `most_ms`. Sets look->whole. A folder of
 * somebody else's that it may not read is not left out: no program of ours may, either. */
void hocket__folder_walk_run(struct hocket__folder_walk *look, int64_t most_ms);

/* One more folder, from within `found`. */
void hocket__folder_walk_add(struct hocket__folder_walk *look, const char *path);
