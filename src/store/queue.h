/* Pieces of SQL that several statements of the table `runs` share, and the indexes that are made of them. */
#pragma once

#include "store/row.h"

/* ---- Runs for workers -------------------------------------------------------------------------
 * Pieces of SQL that all statements of the table `runs` share. The first two are what the index runs_due is made of, which
 * is of use only to a statement that says the very same. */

/* One that a worker may take: now, at a time, or when its owner is gone. */
#define HOCKET__QUEUE_OPEN                                                                         \
    "removed = 0 AND pool IS NOT NULL AND (state IN ('queued', 'running')"                         \
    " OR (state IN ('waiting', 'parked') AND (owner_pid <> 0 OR due_ms > 0)))"
/* When it may start. 0 is at once, which comes after every run with a time. */
#define HOCKET__QUEUE_AT "(CASE WHEN owner_pid <> 0 THEN lease_ms ELSE due_ms END)"

#define HOCKET__QUEUE_INDEX                                                                        \
    "CREATE INDEX runs_due ON runs(pool, " HOCKET__QUEUE_AT ", id) WHERE " HOCKET__QUEUE_OPEN ";"

/* Sets: a message has come for it. Whoever has it looks by himself. */
#define HOCKET__QUEUE_ASLEEP "pool IS NOT NULL AND owner_pid = 0 AND state IN ('waiting', 'parked')"
#define HOCKET__QUEUE_SPEAK                                                                        \
    "news = 1, due_ms = CASE WHEN " HOCKET__QUEUE_ASLEEP " THEN 0 ELSE due_ms END,"                \
    " state = CASE WHEN " HOCKET__QUEUE_ASLEEP " THEN 'queued' ELSE state END"

/* Sets: nobody has it now. One that waits, and was spoken to meanwhile, is a worker's again: once for each message, also
 * where nobody wants it. */
#define HOCKET__QUEUE_SPOKEN                                                                       \
    "pool IS NOT NULL AND news = 1 AND state IN ('waiting', 'parked')"                             \
    " AND EXISTS (SELECT 1 FROM messages m WHERE m.run = runs.no AND m.json IS NOT NULL)"
#define HOCKET__QUEUE_LET_GO                                                                       \
    "owner_pid = 0, due_ms = CASE WHEN " HOCKET__QUEUE_SPOKEN " THEN 0 ELSE due_ms END,"           \
    " state = CASE WHEN " HOCKET__QUEUE_SPOKEN " THEN 'queued' ELSE state END"

/* Sets: a worker has it; beside the owner's columns. Attempts count workers that were lost with it at one place: what each
 * life of a run appends by itself (the time, the word of its operator) is no way further. */
#define HOCKET__QUEUE_TAKE                                                                         \
    "fence = fence + 1, state = 'running', due_ms = 0, news = 0, taken_n = last_n,"                \
    " attempts = CASE WHEN state <> 'running' THEN 0 WHEN last_n > taken_n + 2 THEN 1"             \
    " ELSE attempts + 1 END"

/* Those of a run that were not taken. Stores of version 2 may lack it: whoever opens one makes it, where he can, and it is of use to
 * older programs, too. */
#define HOCKET__MESSAGES_OPEN "messages_open"
#define HOCKET__MESSAGES_INDEX                                                                     \
    "CREATE INDEX IF NOT EXISTS " HOCKET__MESSAGES_OPEN                                            \
    " ON messages(run, no) WHERE json IS NOT NULL;"

/* ---- Calls ----------------------------------------------------------------------------------- */

/* For run `no`: its caller, if that has not ended. Also, if the run itself has not ended, one of its called runs that
 * has not. */
#define HOCKET__CALLS_OPEN "state NOT IN ('done', 'failed', 'cancelled')"
#define HOCKET__CALLS_OF(no)                                                                       \
    "SELECT (SELECT c.id FROM runs c WHERE c.id = r.caller AND c." HOCKET__CALLS_OPEN "),"         \
    " (SELECT k.id FROM runs k WHERE k.caller = r.id AND k.removed = 0"                            \
    " AND k." HOCKET__CALLS_OPEN " AND r." HOCKET__CALLS_OPEN " LIMIT 1)"                          \
    " FROM runs r WHERE r.no = " no

/* ---- What lies in pools, for whoever looks ----------------------------------------------------- */

/* A run that waits for somebody, and for no time; the index runs_asleep consists of them. */
#define HOCKET__QUEUE_SLEEPS                                                                       \
    "removed = 0 AND pool IS NOT NULL AND state IN ('waiting', 'parked') AND owner_pid = 0"        \
    " AND due_ms = 0"
#define HOCKET__QUEUE_SLEEPS_INDEX                                                                 \
    "CREATE INDEX runs_asleep ON runs(pool) WHERE " HOCKET__QUEUE_SLEEPS ";"

/* One that waits for somebody, until a time at most. */
#define HOCKET__QUEUE_LIMITED                                                                      \
    "state IN ('waiting', 'parked') AND owner_pid = 0 AND due_ms > 0"                              \
    " AND substr(waiting_for, 1, 15) <> '" HOCKET__STORE_WAITS_FOR_TIME "'"

#define HOCKET__QUEUE_HELD "owner_pid <> 0 AND lease_ms >= t.now"
#define HOCKET__QUEUE_PIECE                                                                        \
    "SELECT pool, CASE WHEN " HOCKET__QUEUE_HELD " THEN owner_host ELSE '' END AS host,"           \
    " CASE WHEN " HOCKET__QUEUE_HELD " THEN owner_pid ELSE 0 END AS pid,"                          \
    " CASE WHEN " HOCKET__QUEUE_HELD " THEN 'running' WHEN " HOCKET__QUEUE_SLEEPS " THEN state"    \
    " WHEN " HOCKET__QUEUE_AT " <= t.now THEN 'queued' WHEN " HOCKET__QUEUE_LIMITED " THEN state"  \
    " ELSE 'later' END AS what,"                                                                   \
    " CASE WHEN " HOCKET__QUEUE_HELD " THEN owner_since_ms"                                        \
    " WHEN " HOCKET__QUEUE_LIMITED " AND due_ms > t.now THEN updated_ms"                           \
    " WHEN " HOCKET__QUEUE_AT " > 0 THEN " HOCKET__QUEUE_AT " ELSE updated_ms END AS since"        \
    " FROM runs, t WHERE "
/* The columns of struct hocket__store_pool. `now` is a row with one value, the time. */
#define HOCKET__QUEUE_POOLS(now)                                                                   \
    "WITH t AS " now ", o AS (" HOCKET__QUEUE_PIECE HOCKET__QUEUE_OPEN                             \
    " UNION ALL " HOCKET__QUEUE_PIECE HOCKET__QUEUE_SLEEPS ")"                                     \
    " SELECT pool, what, host, pid, count(*), min(since) FROM o GROUP BY 1, 2, 3, 4"               \
    " ORDER BY 1, 2, 3, 4"
/* Which runs are blocked, as numbers. */
#define HOCKET__QUEUE_BLOCKED                                                                      \
    "(SELECT no FROM runs WHERE " HOCKET__QUEUE_SLEEPS " UNION ALL SELECT no FROM runs"            \
    " WHERE " HOCKET__QUEUE_OPEN " AND (caller IS NOT NULL OR " HOCKET__QUEUE_LIMITED "))"
