/* The columns of the table `runs`, written once. The tables of both databases and their migrations, the statements that put,
 * change and read a run, the bytes of a row and what an update merges come from this list.
 *
 *   X(how, column, member, WHOSE, KIND, since, SET, declaration)
 *
 *   how          the list's second argument, handed on
 *   member       of struct hocket__store_run
 *   WHOSE        RUN: whoever puts the run says it; STORE: the store sets it; KEPT: no member, but read with the row;
 *                HIDDEN: only statements know it
 *   KIND         how the member is written and read: the rows below, sql/runs.c and row.c have a macro for each
 *   since        the version of the tables in which it is new
 *   SET          by which HOCKET__STORE_SET_… an update changes it; NONE: by none
 *   declaration  its type in the terms of dialect.h, and its constraints
 *
 * The order is that of the tables and of the bytes of a row: a new column comes last. The key `no` stands before all of them. */
#pragma once

/* Of the tables; and MIGRATION(version) for each from 3 on that brings columns of runs alone. */
#define HOCKET__STORE_VERSION 3
#define HOCKET__RUN_MIGRATIONS(MIGRATION)

#define HOCKET__RUN_COLUMNS(X, how)                                                                           \
    X(how, id, id, RUN, ID, 0, NONE, SQL_NAME " NOT NULL UNIQUE")                                             \
    X(how, parent, parent, RUN, PARENT, 0, NONE, SQL_INT " REFERENCES runs(no)") /* of a fork */              \
    X(how, at_n, at_n, RUN, NUM, 0, NONE, SQL_INT " NOT NULL DEFAULT 0")                                      \
    X(how, at_seq, at_seq, RUN, NUM, 1, NONE, SQL_INT " NOT NULL DEFAULT 0")                                  \
    X(how, target, target, RUN, TEXT, 0, NONE, "TEXT NOT NULL")                                               \
    X(how, input, input, RUN, LONG, 0, NONE, "TEXT NOT NULL")                                                 \
    X(how, options, options, RUN, LONG, 0, OPTIONS, "TEXT NOT NULL")                                          \
    X(how, generation, generation, RUN, TEXT_OR_NULL, 0, GENERATION, SQL_NAME)                                \
    X(how, waiting_for, waiting_for, RUN, TEXT_OR_NULL, 0, WAITING_FOR, "TEXT")                               \
    X(how, version, version, RUN, TEXT, 0, NONE, "TEXT NOT NULL")                                             \
    X(how, seed, seed, RUN, SEED, 0, NONE, SQL_BYTES " NOT NULL")                                             \
    X(how, state, state, RUN, STATE, 0, STATE, SQL_NAME " NOT NULL")                                          \
    X(how, simulated, simulated, RUN, FLAG, 1, USAGE, "INTEGER NOT NULL DEFAULT 0")                           \
    X(how, cost, cost, RUN, COUNT, 0, USAGE, SQL_INT) /* nano-dollars; NULL: not known */                     \
    X(how, tokens, tokens, RUN, COUNT, 0, USAGE, SQL_INT)                                                     \
    X(how, created_ms, created_ms, RUN, INT, 0, NONE, SQL_INT " NOT NULL")                                    \
    X(how, updated_ms, updated_ms, STORE, INT, 0, NONE, SQL_INT " NOT NULL")                                  \
    X(how, last_n, last_n, STORE, NUM, 0, NONE, SQL_INT " NOT NULL DEFAULT 0")                                \
    X(how, last_seq, last_seq, STORE, NUM, 0, NONE, SQL_INT " NOT NULL DEFAULT 0")                            \
    /* Forks may still read through one that was removed. */                                                  \
    X(how, removed, , HIDDEN, NOTHING, 0, NONE, "INTEGER NOT NULL DEFAULT 0")                                 \
    X(how, fence, fence, STORE, NUM, 0, NONE, SQL_INT " NOT NULL DEFAULT 0")                                  \
    /* 0: nobody has it. The place is the machine, boot and namespace in which the number means something, */ \
    /* the store which of the process's stores. */                                                            \
    X(how, owner_pid, owner.pid, STORE, INT, 0, NONE, SQL_INT " NOT NULL DEFAULT 0")                          \
    X(how, owner_host, owner.host, STORE, OWNER_TEXT, 0, NONE, "TEXT")                                        \
    X(how, owner_place, , KEPT, NOTHING, 0, NONE, "TEXT")                                                     \
    X(how, owner_start, , KEPT, NOTHING, 0, NONE, SQL_INT)                                                    \
    X(how, owner_store, , KEPT, NOTHING, 0, NONE, SQL_INT)                                                    \
    X(how, owner_since_ms, owner.since_ms, STORE, OWNER_INT, 0, NONE, SQL_INT)                                \
    X(how, lease_ms, owner.lease_ms, STORE, OWNER_INT, 0, NONE, SQL_INT)                                      \
    X(how, pool, pool, RUN, TEXT_OR_NULL, 2, QUEUE, SQL_NAME)                                                 \
    X(how, due_ms, due_ms, RUN, INT, 2, QUEUE, SQL_INT " NOT NULL DEFAULT 0")                                 \
    X(how, caller, caller, RUN, ID_OR_NULL, 2, NONE, SQL_NAME)                                                \
    X(how, project, project, RUN, TEXT_OR_NULL, 2, NONE, "TEXT")                                              \
    /* Workers that were lost with it, at entry taken_n. */                                                   \
    X(how, attempts, attempts, STORE, SMALL, 2, NONE, SQL_INT " NOT NULL DEFAULT 0")                          \
    X(how, taken_n, , HIDDEN, NOTHING, 2, NONE, SQL_INT " NOT NULL DEFAULT 0")                                \
    /* A message came since it was claimed. */                                                                \
    X(how, news, , HIDDEN, NOTHING, 2, NONE, SQL_INT " NOT NULL DEFAULT 0")                                   \
    /* Checksums (sum.h); NULL where nobody has made one. */                                                  \
    X(how, sum, , KEPT, NOTHING, 3, NONE, SQL_INT)                                                            \
    X(how, sum_set, , KEPT, NOTHING, 3, NONE, SQL_INT)

/* USE(KIND, member, column, since) of each column that has a member, for X = HOCKET__RUN_MEMBER and how = USE. */
#define HOCKET__RUN_MEMBER(USE, column, member, WHOSE, KIND, since, SET, declaration)              \
    HOCKET__RUN_MEMBER_##WHOSE(USE, KIND, member, column, since)
#define HOCKET__RUN_MEMBER_RUN(USE, ...)   USE(__VA_ARGS__)
#define HOCKET__RUN_MEMBER_STORE(USE, ...) USE(__VA_ARGS__)
#define HOCKET__RUN_MEMBER_KEPT(USE, ...)
#define HOCKET__RUN_MEMBER_HIDDEN(USE, ...)

/* The same of each that whoever puts the run says. */
#define HOCKET__RUN_PUT(USE, column, member, WHOSE, KIND, since, SET, declaration)                 \
    HOCKET__RUN_PUT_##WHOSE(USE, KIND, member, column, since)
#define HOCKET__RUN_PUT_RUN(USE, ...) USE(__VA_ARGS__)
#define HOCKET__RUN_PUT_STORE(USE, ...)
#define HOCKET__RUN_PUT_KEPT(USE, ...)
#define HOCKET__RUN_PUT_HIDDEN(USE, ...)

/* USE(KIND, member, column, SET) of each that an update changes. */
#define HOCKET__RUN_UPDATE(USE, column, member, WHOSE, KIND, since, SET, declaration)              \
    HOCKET__RUN_UPDATE_##SET(USE, KIND, member, column, SET)
#define HOCKET__RUN_UPDATE_NONE(USE, ...)
#define HOCKET__RUN_UPDATE_STATE(USE, ...)       USE(__VA_ARGS__)
#define HOCKET__RUN_UPDATE_WAITING_FOR(USE, ...) USE(__VA_ARGS__)
#define HOCKET__RUN_UPDATE_USAGE(USE, ...)       USE(__VA_ARGS__)
#define HOCKET__RUN_UPDATE_GENERATION(USE, ...)  USE(__VA_ARGS__)
#define HOCKET__RUN_UPDATE_OPTIONS(USE, ...)     USE(__VA_ARGS__)
#define HOCKET__RUN_UPDATE_QUEUE(USE, ...)       USE(__VA_ARGS__)
