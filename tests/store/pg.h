/* Stores in the server of tests/support/postgres.sh, each test with a schema of its own; statements beside them; and a way to
 * that server that ends where a test says. */
#pragma once

#include "store/fixture.h"

#include <pthread.h>
#include <stdatomic.h>

/* The folder of the server's socket; NULL: there is none, and the test is to be skipped. */
const char *pg_server(void);

extern const struct store_kind pg_kind;
extern char pg_schema[32];
extern const char
    *pg_host; /* of the stores that are opened next: the server's folder, or the proxy's */
extern const char *pg_user; /* and as whom */
int pg_setup(void **state); /* a fixture, not open, of a new schema */
int pg_teardown(void **state);

/* One of its folder's commands: "start", "stop QUIT", "standby", … */
void pg_control(const char *command);
/* Beside any store. */
void pg_sql(const char *script);
int pg_count(const char *query); /* its rows */
/* The same by a session that goes on, with whatever the script has begun and locked. */
struct hocket__pg;
struct hocket__pg *pg_begin(const char *script);
void pg_end(struct hocket__pg *d);
#define PG_CUT_ALL                                                                                 \
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"         \
    " AND application_name = 'hocket' AND backend_type = 'client backend'"

/* Passes bytes on until so many have gone by, in both directions; then it closes both sides, and begins anew. */
struct pg_proxy {
    char dir[TEST_TEMP_PATH], path[TEST_TEMP_PATH + 32];
    int listener;
    _Atomic int64_t left; /* bytes; below 0: no end */
    _Atomic bool ending;
    _Atomic size_t cuts;
    _Atomic int64_t passed; /* bytes */
    /* Does not close then, but lets nothing through. */
    _Atomic bool holds, is_holding;
    /* Below 0: all. At 0 the next one is held while `holds`, and then lost. */
    _Atomic int answers;
    /* The one that is held is that of a COMMIT, however many come before: a store also asks by itself. */
    _Atomic bool commits;
    /* Closes the store's side alone when it sends something with this text, which comes to the server late: when a test says
     * so, or, if `late`, before the store is let in again. */
    const char *mark;
    _Atomic bool delays, late;
    int late_db; /* the server's side of it; -1: none */
    char late_bytes[16384];
    size_t late_len;
    pthread_t thread;
};
extern struct pg_proxy pg_proxy;
void pg_proxy_start(void); /* stores that are opened next go through it */
void pg_proxy_end(void);   /* and no more */
/* What was delayed comes now; whether the server takes it. */
bool pg_proxy_late(void);

/* ---- Words ---- */

void pg_assert_entries(struct fixture *f, const char *id, uint64_t n);
int pg_find(struct fixture *f, const char *id);
int pg_take(struct fixture *f, const char *id, struct hocket__store_claim *claim);
int pg_message(struct fixture *f, const char *run, const char *id, struct hocket__str json);
int pg_care(struct fixture *f, enum hocket__store_maintenance_kind what);
/* Run number i, for whoever takes it. */
void pg_submit(struct fixture *f, int i);
bool pg_take_next(struct fixture *f, struct hocket__store_claim *claim);
