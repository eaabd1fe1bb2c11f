/* Short words for tests of the write-ahead file: stores that write nothing to it by themselves, and processes that are
 * killed meanwhile. */
#pragma once

#include "store/fixture.h"

#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

/* In a process that was forked a test must not go on. */
#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "line %d: %s\n", __LINE__, #what);                                     \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

struct fixture *ahead_begin(void);
/* Fails the test when a file is left beside the database. */
void ahead_end(struct fixture *f);
/* The same for one that a killed process left, which whoever opens the store next removes. */
void ahead_end_later(struct fixture *f);

/* The file beside the database; "": there is none. */
const char *wal_of(const struct fixture *f);
off_t ahead_size_of(const char *path);
/* n = 0: cuts it off there. */
void ahead_change_file(const char *path, off_t at, const char *text, size_t n);

/* A run with n entries in the database, of a store that secures from here on. */
struct hocket__store_claim ahead_start(struct fixture *f, const char *id, uint64_t n);
/* One of the pool "default", not written yet. */
struct hocket__store_claim ahead_put_job(
    struct fixture *f, const char *id, enum hocket__store_state state);
/* How many a run has; they are whole. */
size_t ahead_entries(struct fixture *f, const char *id);
int ahead_take(struct fixture *f, const char *id, struct hocket__store_claim *claim);
/* The id of what was taken, or "". */
const char *ahead_take_next(struct fixture *f, struct hocket__store_claim *c);

/* Runs `life` in a process that is killed at its end. */
void ahead_killed(struct fixture *f, void (*life)(struct fixture *f));
/* The same while a store of another process, the one that is returned, was open. */
struct fixture *ahead_beside(void (*life)(struct fixture *f));
/* Lives: RUN_1 has 3 entries in the database and 39 that are secured. */
void ahead_secure_some(struct fixture *f);
/* RUN_1 and RUN_2 are a worker's; 3 and 1 are in the database, and 4 and 2 secured, with what RUN_1 became. */
void ahead_work_on_two(struct fixture *f, enum hocket__store_state then);
void ahead_work(struct fixture *f);
