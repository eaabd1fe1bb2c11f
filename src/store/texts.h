/* What the texts of statements.h are made of. */
#pragma once

#include "store/columns.h"
#include "store/dialect.h"
#include "store/queue.h"

/* What the id of a removed run begins with, that it had, and its number: above all others. */
#define HOCKET__REMOVED "removed "

/* ---- Columns of runs, as columns.h has them --------------------------------------------------- */

#define HOCKET__COMMA_COLUMN(KIND, member, column, ...) ", " #column
#define HOCKET__COMMA_MARK(...)                         ", ?"

/* The number of each bit in a text. */
#define HOCKET__COMMA_SET(KIND, member, column, SET)                                               \
    ", " #column " = CASE WHEN $1 & " HOCKET__BIT_##SET " <> 0 THEN ? ELSE " #column " END"
#define HOCKET__BIT_STATE       "1"
#define HOCKET__BIT_WAITING_FOR "2"
#define HOCKET__BIT_USAGE       "4"
#define HOCKET__BIT_GENERATION  "8"
#define HOCKET__BIT_OPTIONS     "16"
#define HOCKET__BIT_QUEUE       "32"

/* The columns read of run r, after its number, in the order of enum hocket__run_column. Three forms for its parent p
 * and for long texts: JOINED; SHORT, without long texts; or as RETURNING allows. */
#define HOCKET__RUN_LIST(how) HOCKET__RUN_COLUMNS(HOCKET__RUN_ITEM, how)
#define HOCKET__RUN_ITEM(how, column, member, WHOSE, KIND, ...)                                    \
    HOCKET__RUN_ITEM_##WHOSE(how, KIND, column)
#define HOCKET__RUN_ITEM_RUN(how, KIND, column)   HOCKET__RUN_AS_##KIND(how, column)
#define HOCKET__RUN_ITEM_STORE(how, KIND, column) ", r." #column
#define HOCKET__RUN_ITEM_KEPT(how, KIND, column)  ", r." #column
#define HOCKET__RUN_ITEM_HIDDEN(how, KIND, column)
#define HOCKET__RUN_AS_ID(how, column)           ", r." #column
#define HOCKET__RUN_AS_ID_OR_NULL(how, column)   ", r." #column
#define HOCKET__RUN_AS_PARENT(how, column)       HOCKET__RUN_PARENT_##how
#define HOCKET__RUN_AS_NUM(how, column)          ", r." #column
#define HOCKET__RUN_AS_TEXT(how, column)         ", r." #column
#define HOCKET__RUN_AS_LONG(how, column)         HOCKET__RUN_LONG_##how(column)
#define HOCKET__RUN_AS_TEXT_OR_NULL(how, column) ", r." #column
#define HOCKET__RUN_AS_SEED(how, column)         ", r." #column
#define HOCKET__RUN_AS_STATE(how, column)        ", r." #column
#define HOCKET__RUN_AS_FLAG(how, column)         ", r." #column
#define HOCKET__RUN_AS_COUNT(how, column)        ", r." #column
#define HOCKET__RUN_AS_INT(how, column)          ", r." #column
#define HOCKET__RUN_PARENT_JOINED                ", p.id"
#define HOCKET__RUN_PARENT_SHORT                 ", p.id"
#define HOCKET__RUN_PARENT_RETURNED              ", (SELECT f.id FROM runs f WHERE f.no = r.parent)"
#define HOCKET__RUN_LONG_JOINED(column)          ", r." #column
#define HOCKET__RUN_LONG_RETURNED(column)        ", r." #column
#define HOCKET__RUN_LONG_SHORT(column)           ", ''"

/* The table, behind its key. */
#define HOCKET__RUN_TABLE                                                                          \
    "CREATE TABLE runs( no " SQL_KEY HOCKET__RUN_COLUMNS(HOCKET__RUN_DECLARE, )
#define HOCKET__RUN_DECLARE(how, column, member, WHOSE, KIND, since, SET, declaration)             \
    ", " #column " " declaration

/* What brings a table of the version before to this one: the columns that are new in it. */
#define HOCKET__RUN_MIGRATE(version) HOCKET__RUN_COLUMNS(HOCKET__RUN_ADD, version)
#define HOCKET__RUN_ADD(version, column, member, WHOSE, KIND, since, SET, declaration)             \
    HOCKET__RUN_PICK(HOCKET__RUN_SAME_##version##_##since, HOCKET__RUN_OTHER, )(column, declaration)
#define HOCKET__RUN_PICK(...)         HOCKET__RUN_SECOND(__VA_ARGS__)
#define HOCKET__RUN_SECOND(a, b, ...) b
#define HOCKET__RUN_OTHER(column, declaration)
#define HOCKET__RUN_ADDED(column, declaration)                                                     \
    "ALTER TABLE runs ADD COLUMN " #column " " declaration ";"
#define HOCKET__RUN_SAME_1_1 , HOCKET__RUN_ADDED
#define HOCKET__RUN_SAME_2_2 , HOCKET__RUN_ADDED
#define HOCKET__RUN_SAME_3_3 , HOCKET__RUN_ADDED
#define HOCKET__RUN_SAME_4_4 , HOCKET__RUN_ADDED
#define HOCKET__RUN_SAME_5_5 , HOCKET__RUN_ADDED
#define HOCKET__RUN_SAME_6_6 , HOCKET__RUN_ADDED

/* Of version 3, beside those of runs. */
#define HOCKET__SUM_COLUMNS                                                                        \
    "ALTER TABLE entries ADD COLUMN sum " SQL_INT ";"                                              \
    "ALTER TABLE records ADD COLUMN sum " SQL_INT ";"                                              \
    "ALTER TABLE messages ADD COLUMN sum " SQL_INT ";"

#define HOCKET__RUN_FROM " FROM runs r LEFT JOIN runs p ON p.no = r.parent"
/* In PostgreSQL also how often a claim has changed it: the last column. */
#define HOCKET__RUN_SELECT                                                                         \
    "SELECT r.no" HOCKET__RUN_LIST(JOINED) SQL("", ", r.writes") HOCKET__RUN_FROM

/* $1: below which id; $2: states; $3: not changed since, or 0; $4: parent; $5: pool; $6: project; $7: how many at most.
 * PostgreSQL finds the rows that fill a piece by their lengths alone, and then reads them. */
#define HOCKET__RUNS_THAT(of_caller)                                                               \
    " WHERE r.id < $1 AND r.removed = 0 AND " SQL_HAS("$2",                                        \
        "' ' || r.state || ' '") " AND ($3 = 0 OR r.updated_ms < $3) AND ($4 = '' OR p.id = $4)"   \
                                 " AND ($5 = '' OR r.pool = $5) AND ($6 = '' OR r.project = "      \
                                 "$6)" of_caller
#define HOCKET__RUNS(of_caller)                                                                    \
    SQL(HOCKET__RUN_SELECT HOCKET__RUNS_THAT(of_caller) " ORDER BY r.id DESC LIMIT $7",            \
        "SELECT r.no" HOCKET__RUN_LIST(                                                            \
            JOINED) ", s.all_of FROM (SELECT no, all_of FROM"                                      \
                    " (SELECT *, sum(size) OVER (ORDER BY id DESC) AS total, count(*) OVER () AS " \
                    "all_of FROM"                                                                  \
                    " (SELECT r.no, r.id, octet_length(r.input) + octet_length(r.options)"         \
                    " + coalesce(octet_length(r.waiting_for), 0) + "                               \
                    "coalesce(octet_length(r.generation), 0)"                                      \
                    " + 300 AS size" HOCKET__RUN_FROM HOCKET__RUNS_THAT(                           \
                        of_caller) " ORDER BY r.id DESC LIMIT $7) i) p WHERE total - size < "      \
                                   "262144 ORDER BY id DESC) s"                                    \
                                   " JOIN runs r ON r.no = s.no LEFT JOIN runs p ON p.no = "       \
                                   "r.parent ORDER BY r.id DESC")

/* Sets columns of the run `no`, by its claim. In PostgreSQL, where a claim may be lost at any time, the claim and which write of it
 * this is are parameters, too; where the row is another one the statement divides by zero, and nothing of the transaction is there. */
#define HOCKET__IF_OURS(sets)                                                                      \
    SQL("UPDATE runs SET " sets " WHERE no = ?",                                                   \
        "WITH ours AS (UPDATE runs SET " sets ", writes = writes + 1 WHERE no = ? AND fence = ?"   \
        " AND owner_pid = ? AND owner_store = ? AND writes = ? AND removed = 0 RETURNING 1)"       \
        " SELECT 1 / count(*) FROM ours")

/* ---- The rest --------------------------------------------------------------------------------- */

/* SQLite has both parts of a key in one number, since a table is ordered by such a key alone, without an index beside it. */
#define HOCKET__APPEND(value)                                                                      \
    SQL("INSERT INTO entries(key, tick", "INSERT INTO entries(run, n, tick")                       \
    ", at_ms, kind, path, ord, name, digest, sum, value, text) VALUES(" SQL(                       \
        "($1 << 32) + $2", "$1, $2") ", $3, $4, $5, $6, $7, $8, $9, $10, " value ")"
#define HOCKET__OF_RUN(n)                                                                          \
    SQL(" WHERE key BETWEEN ($1 << 32) + $2 AND ($1 << 32) + $3",                                  \
        " WHERE run = $1 AND " n " BETWEEN $2 AND $3")
/* Of an entry, without a value that is a text elsewhere. */
#define ENTRY_BYTES                                                                                \
    SQL_BYTES_OF("name")                                                                           \
    " + " SQL_BYTES_OF("digest") " + coalesce(" SQL_BYTES_OF("value") ", 0) + 48"
#define SQL_BEHIND(n)                                                                              \
    SQL(" WHERE key > ($1 << 32) + $2 ORDER BY key",                                               \
        " WHERE (run, " n ") > ($1, $2) ORDER BY run, " n)
#define HOCKET__PURGE(table, n)                                                                    \
    SQL("DELETE FROM " table " WHERE key IN (SELECT key FROM " table                               \
        " WHERE key BETWEEN $1 << 32 AND ($1 << 32) + 4294967295 LIMIT 500)",                      \
        "DELETE FROM " table " WHERE run = $1 AND " n " IN (SELECT " n " FROM " table              \
        " WHERE run = $1 LIMIT 500)")
#define HOCKET__HAS_GENERATION SQL_HAS("',' || generation || ','", "',' || $1 || ','")
#define HOCKET__NOTES                                                                              \
    "SELECT n.memory, n.id, n.text, n.meta, n.labels, n.created_ms, n.updated_ms, 0, 0"
