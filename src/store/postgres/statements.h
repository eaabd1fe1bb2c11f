/* The statements of PostgreSQL alone; the ones shared with SQLite stand in store/statements.h. Statements after ONCE
 * are planned each time. */

S(BEGIN, "BEGIN")
S(COMMIT, "COMMIT")
/* $4: the seed of a run that is to be put, else empty. */
S(LOAD, "SELECT no, CASE WHEN owner_store = $2 AND owner_pid = $3 THEN fence ELSE 0 END, last_n,"
        " last_seq, updated_ms, (caller IS NOT NULL)::int::bigint, writes,"
        " (seed = $4)::int::bigint FROM runs WHERE id = $1 FOR UPDATE")
/* Of a run that is to be put: its number, and its parent's. */
S(NUMBER,
    "SELECT nextval(pg_get_serial_sequence('runs', 'no')), (SELECT no FROM runs WHERE id = $1)")
S(FILE_SHARE, "SELECT pg_advisory_xact_lock_shared(" FILES_OF ")")
S(FILE_LOCK, "SELECT pg_advisory_xact_lock(" FILES_OF ")")
S(SNAPSHOT, "SELECT left(pg_current_snapshot()::text, 60)")
S(NOTIFY, "SELECT pg_notify($1, '')")

/* ---- Claims ----------------------------------------------------------------------------------- */

S(RENEW,
    "WITH m AS MATERIALIZED (SELECT * FROM unnest(string_to_array($2, ','),"
    " string_to_array($3, ',')::bigint[]) m(id, fence)), free AS MATERIALIZED (SELECT r.no, m.id"
    " FROM m JOIN runs r ON r.id = m.id COLLATE \"C\" AND r.fence = m.fence"
    " WHERE r.owner_store = $4 FOR NO KEY UPDATE OF r SKIP LOCKED), done AS (UPDATE runs r"
    " SET lease_ms = $1 FROM free WHERE r.no = free.no RETURNING free.id)"
    " SELECT m.id, (done.id IS NOT NULL)::int::bigint,"
    " (SELECT count(*) FROM runs r WHERE r.id = m.id COLLATE \"C\" AND r.fence = m.fence"
    " AND r.owner_store = $4) FROM m LEFT JOIN done ON done.id = m.id")
S(RELEASE, "UPDATE runs SET " HOCKET__QUEUE_LET_GO " WHERE owner_pid = $1 AND owner_store = $2")
/* Of one pool, as nearly all workers ask: the server plans it once, and looks a second time only where the first look finds
 * too few. Of several the first of each are locked, and the first of those taken: others pass over them for that moment. */
S(TAKE_NEXT, BEST "SELECT * FROM " LOOK "$1 AND " HOCKET__QUEUE_AT
                  " BETWEEN 1 AND (SELECT now FROM t)" FIRST " a UNION ALL SELECT * FROM " LOOK
                  "$1 AND " HOCKET__QUEUE_AT " = 0" FIRST " b LIMIT $11" TAKEN)
S(TAKE_NEXT_OF,
    BEST "SELECT b.* FROM unnest(string_to_array($1, ',')) p(name)"
         " CROSS JOIN (SELECT 1::bigint AS low, now AS high FROM t UNION ALL SELECT 0, 0) w"
         " CROSS JOIN LATERAL " LOOK "p.name AND " HOCKET__QUEUE_AT
         " BETWEEN w.low AND w.high" FIRST " b ORDER BY b.at_ms = 0, b.at_ms, b.id LIMIT $11" TAKEN)
S(LOST, "SELECT id, no, fence, attempts FROM runs WHERE owner_pid = $1 AND owner_store = $2"
        " AND state = 'running' AND pool = ANY(string_to_array($3, ',')) AND removed = 0"
        " ORDER BY attempts DESC, id")
S(RETAKE, "WITH t AS MATERIALIZED " NOW(8) " UPDATE runs r SET fence = fence + 1, " OWN
                                           " WHERE r.no = ANY(string_to_array($1, ',')::bigint[])"
                                           " AND r.owner_pid = $2 AND r.owner_store = $6" TOLD)
S(PUT_OFF, "UPDATE runs SET owner_pid = 0, state = 'queued', due_ms = $4"
           " WHERE no = ANY(string_to_array($1, ',')::bigint[])"
           " AND owner_pid = $2 AND owner_store = $3")
S(OWNERS, "WITH t AS MATERIALIZED " NOW(
              4) " SELECT DISTINCT owner_pid, owner_start"
                 " FROM unnest(string_to_array($1, ',')) p(name) JOIN runs"
                 " ON pool = p.name COLLATE \"C\""
                 " WHERE " HOCKET__QUEUE_OPEN " AND " HOCKET__QUEUE_AT " > (SELECT now FROM t)"
                 " AND " HOCKET__QUEUE_AT " <= (SELECT now + $3 FROM t)"
                 " AND owner_pid <> 0 AND owner_place = $2")
S(BURY, "UPDATE runs SET lease_ms = $4 WHERE owner_pid = $1 AND owner_start = $2"
        " AND owner_place = $3 AND " HOCKET__QUEUE_OPEN)
S(SPOKEN, "SELECT id, fence FROM runs r WHERE id = ANY(string_to_array($1, ',') COLLATE \"C\")"
          " AND EXISTS (SELECT 1 FROM messages m WHERE m.run = r.no AND m.json IS NOT NULL)")

/* ---- Sweeping --------------------------------------------------------------------------------- */

S(TRACES, "DELETE FROM runs WHERE no IN (SELECT no FROM runs WHERE removed = 2 AND updated_ms < $1"
          " AND id >= '" HOCKET__REMOVED "' AND id < 'removed!' LIMIT 500 FOR UPDATE SKIP LOCKED)")
S(NUMBERS, "SELECT coalesce(min(no), 1), coalesce(max(no), 0) + 1 FROM runs")
S(OLD, "SELECT no FROM runs r WHERE no >= $3 AND no < $4"
       " AND removed = 0 AND (state NOT IN ('waiting', 'parked', 'queued')"
       " OR (state = 'waiting' AND waiting_for LIKE '[{\"kind\":\"input\"%'"
       " AND waiting_for NOT LIKE '%\"kind\":\"signal\"%'"
       " AND waiting_for NOT LIKE '%\"kind\":\"time\"%'))"
       " AND NOT (state = 'running' AND pool IS NOT NULL)"
       " AND (owner_pid = 0 OR lease_ms < $1) AND updated_ms < $2"
       " AND NOT EXISTS (SELECT 1 FROM runs f WHERE f.parent = r.no)"
       " ORDER BY no DESC LIMIT 1 FOR UPDATE SKIP LOCKED")

/* ---- Notes ------------------------------------------------------------------------------------ */

S(NOTE_LOCK, "SELECT pg_advisory_xact_lock(hashtextextended('hocket memory ' || $1, 0))")
S(NOTE_PUT,
    "INSERT INTO notes(memory, id, text, meta, labels, created_ms, updated_ms, bytes, words,"
    " vector)"
    " VALUES($1, $2, $3, $4, $5, $6, $6, $7, to_tsvector('simple', $8), nullif($9, ''))"
    " ON CONFLICT(memory, id) DO UPDATE SET text = $3, meta = $4, labels = $5, updated_ms = $6,"
    " bytes = $7, words = to_tsvector('simple', $8), vector = nullif($9, '')")
S(NOTE_DEL, "DELETE FROM notes WHERE memory = $1 AND id = $2")

/* ---- Limits ----------------------------------------------------------------------------------- */

S(NO_SYNC, "SET LOCAL synchronous_commit = off")
S(LIMIT_MAKE, "INSERT INTO limits(name, used, at_ms, blocked_ms) VALUES($1, 0, 0, 0)"
              " ON CONFLICT(name) DO UPDATE SET at_ms = limits.at_ms"
              " RETURNING used::bigint, at_ms, blocked_ms")
S(LIMIT_LOOK,
    "SELECT coalesce(max(used), 0)::bigint, coalesce(max(at_ms), 0), coalesce(max(blocked_ms), 0),"
    " (SELECT coalesce(sum(n), 0)::bigint FROM leases WHERE name = $1 AND until_ms > $2)"
    " FROM limits WHERE name = $1")

/* ---- Seldom ----------------------------------------------------------------------------------- */

ONCE S(CLOCK, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
    /* One that was removed before $3 is another: somebody may read a run in again that he has as a file. */
    S(IS_PUT, "SELECT 1 FROM runs WHERE seed = $2 AND (id = $1 OR (updated_ms >= $3"
              " AND id >= '" HOCKET__REMOVED "' || $1 || ' '"
              " AND id < '" HOCKET__REMOVED "' || $1 || '!'))")
        S(IS_CHANGED, "SELECT fence, writes FROM runs WHERE id = $1 FOR UPDATE") S(REPLICATED,
            "SELECT pg_logical_emit_message(true, 'hocket', '') IS NULL") S(SHARED_FILES,
            "SELECT string_agg(DISTINCT generation, ',') FROM files WHERE length(generation) <> 26")
    /* Texts that nobody has, left by two that let go of one at once. */
    S(DROP_TEXTS, "DELETE FROM texts t WHERE NOT EXISTS (SELECT 1 FROM entries WHERE text = t.no)"
                  " AND NOT EXISTS (SELECT 1 FROM files WHERE text = t.no)")
    /* How the server is set, where that takes away from what is promised. */
    S(SETTINGS,
        "SELECT name || ' is ' || setting || ': ' || CASE name"
        " WHEN 'fsync' THEN 'a loss of power may damage the database'"
        " WHEN 'full_page_writes' THEN 'a loss of power may damage the database'"
        " ELSE 'what was acknowledged last may be lost with the server' END FROM pg_settings"
        " WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'"
        " ORDER BY name")
