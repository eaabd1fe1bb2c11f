/* The statements of SQLite alone; the ones shared with PostgreSQL stand in store/statements.h. */

/* What the file says of the run, once in a transaction, in which nobody else may change it. */
S(LOAD,
    "SELECT no, iif(owner_store = $2 AND owner_pid = $3, fence, 0), last_n, last_seq, updated_ms,"
    " caller IS NOT NULL FROM runs WHERE id = $1")
S(FILE_FIND, "SELECT 1 FROM files WHERE generation = $1 AND path = $2")
S(BEGIN, "BEGIN IMMEDIATE")
S(COMMIT, "COMMIT")
/* A sync of what was written before goes with any change. */
S(SYNC, "UPDATE meta SET value = value + 1 WHERE name = 'syncs'")

/* ---- Claims ----------------------------------------------------------------------------------- */

S(RENEW, "UPDATE runs SET lease_ms = $1 WHERE id = $2 AND fence = $3 AND owner_store = $4")
S(RELEASE, "UPDATE runs SET " HOCKET__QUEUE_LET_GO
           " WHERE id = $1 AND owner_pid = $2 AND owner_store = $3")
S(NEXT, "SELECT no, " HOCKET__QUEUE_AT ", id, owner_pid <> 0, state = 'running' FROM runs"
        " WHERE pool = $1 AND " HOCKET__QUEUE_OPEN " AND " HOCKET__QUEUE_AT " BETWEEN $2 AND $3"
        " AND (owner_pid = 0 OR lease_ms <= $4) AND NOT instr($5, id)"
        " ORDER BY " HOCKET__QUEUE_AT ", id LIMIT 1")
S(TAKE_NEXT,
    "UPDATE runs SET " HOCKET__QUEUE_TAKE ", owner_pid = $2, owner_host = $3, owner_place = $4,"
    " owner_start = $5, owner_store = $6, owner_since_ms = $7, lease_ms = $8 WHERE no = $1")
S(OWNERS, "SELECT DISTINCT owner_pid, owner_start FROM runs WHERE pool = $1 AND " HOCKET__QUEUE_OPEN
          " AND " HOCKET__QUEUE_AT " > $2 AND " HOCKET__QUEUE_AT " <= $3"
          " AND owner_pid <> 0 AND owner_place = $4")
S(BURY, "UPDATE runs SET lease_ms = $4 WHERE owner_pid = $1 AND owner_start = $2"
        " AND owner_place = $3 AND " HOCKET__QUEUE_OPEN)
S(PUT_OFF, "UPDATE runs SET lease_ms = $2, due_ms = iif(owner_pid = 0, $2, due_ms), waiting_for = "
           "iif(state = 'running', $3, waiting_for),"
           " sum_set = iif(state = 'running', (sum_set & ~$4) | $5, sum_set) WHERE no = $1")
S(SETTLE, "UPDATE runs SET owner_pid = 0 WHERE no = $1 AND NOT (" HOCKET__QUEUE_OPEN ")")
S(SPOKEN, "SELECT fence FROM runs r WHERE id = $1"
          " AND EXISTS (SELECT 1 FROM messages m WHERE m.run = r.no AND m.json IS NOT NULL)")

/* ---- Sweeping --------------------------------------------------------------------------------- */

/* The oldest of the kinds $3 that nobody has. Whose lease is over may have slept, and be about to go on: only after a day nobody has
 * it. */
S(OLDEST, "SELECT no FROM runs r WHERE removed = 0 AND $3 & CASE"
          " WHEN state IN ('done', 'failed', 'cancelled') THEN 1"
          " WHEN state = 'waiting' AND waiting_for GLOB '[[]{\"kind\":\"input\"*'"
          " AND waiting_for NOT GLOB '*\"kind\":\"signal\"*'"
          " AND waiting_for NOT GLOB '*\"kind\":\"time\"*' THEN 2"
          " WHEN state = 'running' AND pool IS NULL AND updated_ms < $1 THEN 4 ELSE 0 END"
          " AND (owner_pid = 0 OR lease_ms < $1) AND updated_ms < $2"
          " AND NOT EXISTS (SELECT 1 FROM runs f WHERE f.parent = r.no)"
          " ORDER BY updated_ms LIMIT 1")

/* ---- Notes ------------------------------------------------------------------------------------ */

S(NOTE_FIND, "SELECT no FROM notes WHERE memory = $1 AND id = $2")
S(NOTE_PUT, "INSERT INTO notes(memory, id, text, meta, labels, created_ms, updated_ms, bytes)"
            " VALUES($1, $2, $3, $4, $5, $6, $6, $7) ON CONFLICT(memory, id) DO UPDATE SET"
            " text = $3, meta = $4, labels = $5, updated_ms = $6, bytes = $7")
S(NOTE_DEL, "DELETE FROM notes WHERE no = $1")
S(NOTE_TEXT, "INSERT INTO notes_text(rowid, text) VALUES($1, $2)")
S(NOTE_NO_TEXT, "DELETE FROM notes_text WHERE rowid = $1")
S(NOTE_VECTOR, "INSERT INTO notes_vectors(no, memory, vector) VALUES($1, $2, $3)")
S(NOTE_NO_VECTOR, "DELETE FROM notes_vectors WHERE no = $1")

/* ---- Limits ----------------------------------------------------------------------------------- */

S(LIMIT_FIND, "SELECT used, at_ms, blocked_ms FROM limits WHERE name = $1")

/* ---- The write-ahead file ------------------------------------------------------------ */

S(AHEAD_PUT, "INSERT INTO meta(name, value) VALUES($1, $2)"
             " ON CONFLICT(name) DO UPDATE SET value = excluded.value")
S(AHEAD_FIND, "SELECT value FROM meta WHERE name = $1")
S(AHEAD_DEL, "DELETE FROM meta WHERE name = $1")
S(AHEAD_NEXT, "SELECT name, value FROM meta WHERE name > $1 AND name < 'ahead g' ORDER BY name")
S(AHEAD_HELD,
    "SELECT 1 FROM runs WHERE owner_store = $1 AND owner_pid <> 0 AND lease_ms >= $2 LIMIT 1")

/* ---- Checksums of rows from before there were any ------------------------------------------------ */

S(FILL_ENTRIES, "UPDATE entries SET sum = $3 WHERE key = ($1 << 32) + $2")
S(FILL_RECORDS, "UPDATE records SET sum = $3 WHERE key = ($1 << 32) + $2")
S(FILL_MESSAGES, "UPDATE messages SET sum = $3 WHERE $1 = 0 AND no = $2")
S(FILL_RUNS, "UPDATE runs SET sum = $3, sum_set = $4 WHERE $1 = 0 AND no = $2")

/* ---- What must hold between the tables -------------------------------------------------------- */

S(CHECK_PAGES, "PRAGMA integrity_check(20)")
S(CHECK_LONG, "SELECT 'a long text is not there: entry ' || key FROM entries WHERE value IS NULL"
              " AND text NOT IN (SELECT no FROM texts) LIMIT 20")
S(CHECK_FILES, "SELECT 'the text of ' || path || ' is not there' FROM files"
               " WHERE text NOT IN (SELECT no FROM texts) LIMIT 20")
S(CHECK_COUNTS, "SELECT 'a text is counted ' || refs || ' times: ' || no FROM texts t WHERE refs <>"
                " (SELECT count(*) FROM entries WHERE text = t.no)"
                " + (SELECT count(*) FROM files WHERE text = t.no) LIMIT 20")
