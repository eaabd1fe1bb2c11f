/* What a program is started with, and how that request travels to the launcher.
 *
 * Programs of tools are not started by the embedding process itself but by a small
 * one beside it, the launcher (os/launcher.h says where it comes from):
 *
 *     host ──spec, stop──> launcher ──fork──> sandbox ──exec──> program
 *          <──result─────           (subreaper: daemons of the program are its children)
 *
 * So the host never forks (posix_spawn alone, once), needs no SIGCHLD handler, loses nothing when
 * somebody else in the process reaps children, and when it dies the launcher sees its socket close
 * and ends everything that it started. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

#include <stdint.h>

/* How far a program is shut in, the weakest first. */
enum hocket__sandbox {
    HOCKET__SANDBOX_LIMITS,   /* rlimits, a clean environment, no new privileges */
    HOCKET__SANDBOX_LANDLOCK, /* and Landlock for files, seccomp for sockets and system calls */
    HOCKET__SANDBOX_BWRAP,    /* and namespaces of its own, by bubblewrap */
};

/* "limits", "landlock", "bubblewrap". */
const char *hocket__sandbox_name(enum hocket__sandbox level);
/* The level of a name, or -1. */
int hocket__sandbox_from_name(const char *name);

/* 0 stands for: no such limit. */
struct hocket__launch_limits {
    int64_t cpu_s;      /* CPU seconds of each process */
    int64_t memory;     /* bytes: of each process's data, and of what all of them hold resident */
    int64_t file_bytes; /* of each file that is written */
    int64_t written;    /* bytes that all of them write to disks; a disk is not filled up besides */
    int64_t open_files; /* of each process */
    int64_t processes;  /* of the whole tree */
    int64_t grace_ms;   /* between SIGTERM and SIGKILL */
};

/* Lists end with NULL; a list may be NULL. Paths are absolute. */
struct hocket__launch {
    const char *const *argv; /* argv[0] is looked up in the PATH of `env` */
    const char *const *env;  /* "NAME=value": all of the environment */
    const char *cwd;
    const char *const *readable; /* beside what the system has (see sandbox.h) */
    const char *const *writable;
    const char *const *guarded; /* below what is writable, but not to be changed */
    const char *protect;        /* a folder that is looked through (os/protect), or "" or NULL */
    enum hocket__sandbox sandbox;
    bool network;
    bool proxied; /* a network of its own, with the host's proxy in it; not at the level limits */
    bool sockets; /* of AF_UNIX, which may lead to programs outside */
    struct hocket__launch_limits limits;
};

#define HOCKET__LAUNCH_MAX ((size_t) 4 << 20) /* bytes of a written request */

/* Appends the request. ENOMEM, ELIMIT. */
int hocket__launch_write(const struct hocket__launch *l, struct hocket__buf *out);

/* Reads what launch_write wrote; *out points into `text`, which has to stay, and at lists from
 * malloc that are never freed (the launcher lives as long as they do). EPARSE, ENOMEM. */
int hocket__launch_read(struct hocket__str text, struct hocket__launch *out);

/* How it ended. */
struct hocket__launch_result {
    bool started;   /* the program ran; otherwise `status` and `message` say why not */
    bool unguarded; /* what was to be guarded could be changed all the same */
    int status;     /* HOCKET_EUNSUPPORTED: its sandbox cannot be built; ENOTFOUND, EDENIED, EIO */
    int code;       /* its exit code, -1 when a signal ended it */
    int signal;     /* 0 when it exited by itself */
    char limit
        [16]; /* "memory", "processes", "written", "space" when that was why it was ended, or "" */
    bool overlooked;          /* `protect` holds too much, or what could not be set aside */
    int64_t refused;          /* names that it made below `protect`, and were set aside */
    char refused_names[1024]; /* the first of them, a line each */
    int64_t left_behind;      /* processes that it left, which were ended */
    int64_t cpu_ms;           /* of all processes that were waited for */
    int64_t max_rss;          /* bytes, of the largest */
    char message[256];
};

int hocket__launch_result_write(const struct hocket__launch_result *r, struct hocket__buf *out);
/* EPARSE: the launcher ended without a word, or is of another version. */
int hocket__launch_result_read(struct hocket__str text, struct hocket__launch_result *out);
