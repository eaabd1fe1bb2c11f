/* Shared by the files of the scanner. */
#pragma once

#include "os/scan.h"

#include <stdint.h>
#include <time.h>

/* Two files with the same one have the same content, unless one was written a moment ago. */
struct hocket__scan_sign {
    uint64_t dev, ino;
    int64_t size;
    struct timespec changed, modified;
};

struct hocket__scan_file {
    char *path, *real, *why;
    struct hocket__scan_sign sign;
    bool fresh; /* written so shortly before it was read that a further write may not show */
    int status; /* of reading it */
    uint64_t hash;
    char change; /* 0, or as in struct hocket__scan_change */
    char *text;  /* while the change was not taken */
    size_t n;
};

struct hocket__scan_list {
    struct hocket__scan_file *files;
    size_t n, cap;
};

struct hocket__scan_dirs {
    char **names;
    size_t n, cap;
};

/* One walk through the tree: what it finds is in no order. */
struct hocket__scan_walk {
    const char *root, *endings;
    const int *cancelled;
    struct hocket__scan_list found;
    struct hocket__scan_dirs dirs;
    struct hocket__scan_sign *seen; /* directories */
    size_t n_seen, cap_seen;
    uint64_t dev; /* the last one whose file system was looked at */
    bool exists, told, has_dev;
    struct hocket_error *err;
};

/* The system's part. */
int hocket__scan_walk(struct hocket__scan_walk *w);
/* A file to read, which does not block: its descriptor, -1 and errno. */
int hocket__scan_open(const char *path);
/* Of an open file: false and errno. *regular: it is no device, pipe or directory. */
bool hocket__scan_look(int fd, struct hocket__scan_sign *sign, bool *regular);
/* How many of at most n bytes were read; 0: the end; -1 and errno. */
int64_t hocket__scan_read(int fd, char *to, size_t n);
void hocket__scan_close(int fd);

/* Whether the walk enters a hidden directory, and whether a file counts, by its name. */
bool hocket__scan_enters(const struct hocket__scan_walk *w, const char *name);
bool hocket__scan_counts(const struct hocket__scan_walk *w, const char *name);

void *hocket__scan_grow(void *list, size_t *cap, size_t n, size_t each);
/* Notes a directory: 0, or HOCKET_ENOMEM. */
int hocket__scan_add_dir(struct hocket__scan_dirs *dirs, const char *name);
/* Notes a file below the root that counts: HOCKET_ELIMIT for too many, HOCKET_ENOMEM. */
int hocket__scan_add_file(
    struct hocket__scan_walk *w, const char *path, struct hocket__scan_sign sign);
