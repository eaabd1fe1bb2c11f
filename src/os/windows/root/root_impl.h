/* What the files of a root share. */
#pragma once

#include "os/root.h"

#include <winsock2.h>
#include <windows.h>
#include <winternl.h>

#include "os/windows/wide.h"

struct hocket__root {
    int refs; /* atomic */
    HANDLE handle;
    char *dir; /* "C:/project" */
};

/* What a handle is of: 'f', 'd', or 'l' for a link or junction itself. */
struct hocket__at {
    char kind;
    BY_HANDLE_FILE_INFORMATION info;
};

/* One name in a folder; a link is opened itself. INVALID_HANDLE_VALUE and errno. `how` and `options` as of NtCreateFile. */
HANDLE hocket__at_open(HANDLE dir, const char *name, ACCESS_MASK access, ULONG how, ULONG options);
int hocket__at_look(HANDLE h, struct hocket__at *at);
/* EINVAL or EDENIED unless it is a file with one name. */
int hocket__at_check(const struct hocket__at *at, const char *path, struct hocket_error *err);
/* The folder that a path's last name is in; *name points into the path. */
HANDLE hocket__at_parent(struct hocket__root *r, const char *path, bool make, const char **name);
HANDLE hocket__at_path(struct hocket__root *r, const char *path, ACCESS_MASK access);
/* Until cb answers other than 0, which is the answer then; -1 and errno. */
int hocket__at_list(HANDLE dir,
    int (*cb)(void *ud, const char *name, const struct hocket__root_info *info), void *ud);

/* As hocket__root_fail, with words for names that are refused (EILSEQ). */
int hocket__at_fail(struct hocket_error *err, const char *doing, const char *path);
