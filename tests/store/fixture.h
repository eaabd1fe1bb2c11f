/* A store of one kind in a loop of its own, and short words for what every test does. A kind says how
 * it is opened; what it keeps beyond its life lies below a directory of the test's. */
#pragma once

#include "store/store.h"
#include "support/alloc.h"
#include "support/temp.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <uv.h>

struct store_kind {
    const char *name;
    int (*open)(const struct hocket__store_options *o, struct hocket__store **out,
        struct hocket_error *err);
    bool lasts; /* what was kept is there when it is opened again */
};

#define RUN_1 "01KANC3V0QZJ9E4W2X6T8B5M7R"
#define RUN_2 "01KANC3V0QZJ9E4W2X6T8B5M7S"
#define RUN_3 "01KAPC3V0QZJ9E4W2X6T8B5M70"
#define RUN_4 "01KAQC3V0QZJ9E4W2X6T8B5M70"

enum { NEWS_COUNT = HOCKET__STORE_CHANGED + 1 };

struct fixture {
    const struct store_kind *kind;
    struct test_alloc t;
    uv_loop_t loop;
    struct hocket__store *s;
    struct hocket__store_options o;
    char dir[TEST_TEMP_PATH], path[TEST_TEMP_PATH];
    _Atomic int64_t now; /* the store's clock; 0: the system's */
    size_t news[NEWS_COUNT];
    char news_id[HOCKET__STORE_ID + 1];
    struct hocket_error news_error;

    /* of the last answer */
    bool done;
    int status;
    struct hocket_error error;
    struct hocket__buf rows; /* packed */
    size_t count;
    size_t stop_after; /* the row callback ends it then */
    bool impatient;    /* a commit ends with why it waits, where writing is paused */
};

void fixture_init(struct fixture *f, const struct store_kind *kind);
/* For the setup of a test: *state is an open fixture whose clock stands at `now` (0: the system's). */
int fixture_new(void **state, const struct store_kind *kind, int64_t now);
int fixture_end(void **state); /* for its teardown */
void fixture_assert_str(struct hocket__str s, const char *expected);
void fixture_open(struct fixture *f); /* fails the test */
int fixture_try(struct fixture *f, struct hocket_error *err);
void fixture_close(struct fixture *f); /* the store alone */
void fixture_deinit(struct fixture *f);

/* In a process that was forked: the loop's descriptors are still those of the other one. */
void fixture_forked(struct fixture *f);

/* Turns the loop until *flag. */
void fixture_until(struct fixture *f, const bool *flag);

/* The status of a commit of everything before. */
int fixture_commit(
    struct fixture *f, const struct hocket__store_claim *claim, enum hocket__store_kept kept);

struct hocket__store_reply fixture_reply(struct fixture *f);
/* The status of a call, with its rows in f->rows: `rc` is what asking it gave. */
int fixture_answer(struct fixture *f, int rc);
/* Row i of the last answer. */
struct hocket__store_row fixture_row(const struct fixture *f, size_t i);

struct hocket__store_run fixture_run(const char *id);
struct hocket__store_entry fixture_entry(uint64_t n, const char *value);
/* A new run that we have. */
struct hocket__store_claim fixture_put(struct fixture *f, const char *id);
void fixture_append(struct fixture *f, const struct hocket__store_claim *claim, uint64_t n);
/* Appends n entries, from `from` on. */
void fixture_entries(
    struct fixture *f, const struct hocket__store_claim *claim, uint64_t from, uint64_t n);

/* SQL by which columns of runs go that are new in this version of the tables, or a later one. */
void fixture_drop_columns(char *out, size_t size, int version);
