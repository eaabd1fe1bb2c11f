/* Shared by the files of the scanner. */
#pragma once

#include "os/scan.h"

#include <sys/stat.h>

/* Two files with the same one have the same content, unless one was written a moment ago. */
struct hocket__scan_sign {
    dev_t dev;
    ino_t ino;
    off_t size;
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
    dev_t dev; /* the last one whose file system was looked at */
    bool exists, told, has_dev;
    struct hocket_error *err;
};

int hocket__scan_walk(struct hocket__scan_walk *w);
void hocket__scan_walk_free(struct hocket__scan_walk *w);

/* Adds the directories that hold a link on the way to `path`, and what it leads to in the end; none
 * where no link is on the way. */
int hocket__scan_note_links(struct hocket__scan_dirs *dirs, const char *path);
int hocket__scan_add_dir(struct hocket__scan_dirs *dirs, const char *name);

struct hocket__scan_sign hocket__scan_sign_of(const struct stat *st);
void hocket__scan_file_free(struct hocket__scan_file *f);
void *hocket__scan_grow(void *list, size_t *cap, size_t n, size_t each);
