/* The statements that both databases know, each once. Included by whoever has defined S(NAME, text), and not only once. Those behind
 * ONCE are asked so seldom that they are planned each time; what one database alone says stands with its driver. */

/* ---- Runs ------------------------------------------------------------------------------------- */

S(RUN_NO, "SELECT no FROM runs WHERE id = $1")
S(RUN_OF, HOCKET__RUN_SELECT " WHERE r.id = $1" SQL_LOCKED(" OF r"))
S(TAKEN, HOCKET__RUN_SELECT " WHERE r.no = $1")
S(FIND, HOCKET__RUN_SELECT " WHERE r.id >= $1 AND r.id < $1 || '~' AND r.removed = 0"
                           " ORDER BY r.id LIMIT 2")
S(RUNS, HOCKET__RUNS(""))
/* A caller has few, and an index: of a statement that may be about all it would be no part. */
S(RUNS_CALLED, HOCKET__RUNS(" AND r.caller = $8"))
S(CALLS, HOCKET__CALLS_OF("$1"))
S(TAKE, "UPDATE runs SET fence = fence + 1, owner_pid = $2, owner_host = $3, owner_place = $4,"
        " owner_start = $5, owner_store = $6, owner_since_ms = $7, lease_ms = $8 WHERE no = $1")

/* Fence 1: a run that is put has never had another owner. */
S(PUT,
    "INSERT INTO runs(no, updated_ms, last_n, last_seq, fence, owner_pid, owner_host, owner_place,"
    " owner_start, owner_store, owner_since_ms, lease_ms, sum, sum_set" HOCKET__RUN_COLUMNS(
        HOCKET__RUN_PUT, HOCKET__COMMA_COLUMN) ") VALUES(?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, "
                                               "?, ?, ?" HOCKET__RUN_COLUMNS(
                                                   HOCKET__RUN_PUT, HOCKET__COMMA_MARK) ")")
/* The bits of $1 choose the columns, so that there is one plan for whatever is set. */
S(CHANGE, HOCKET__IF_OURS("last_n = $2, last_seq = $3, updated_ms = $4,"
                          " owner_pid = CASE WHEN $5 <> 0 THEN 0 ELSE owner_pid END,"
                          " sum_set = (sum_set & ~$6) | $7" HOCKET__RUN_COLUMNS(
                              HOCKET__RUN_UPDATE, HOCKET__COMMA_SET)))
S(TOUCH, HOCKET__IF_OURS("last_n = ?, last_seq = ?, updated_ms = ?"))
S(GROW, HOCKET__IF_OURS("last_n = ?, last_seq = ?"))
S(LET_GO, "UPDATE runs SET " HOCKET__QUEUE_LET_GO " WHERE no = $1")

/* ---- What belongs to runs --------------------------------------------------------------------- */

/* Long texts stand in a table of their own, once. SQLite counts who has them; in PostgreSQL that would be a row on which all writers
 * wait for each other. There the next statement sees a text that another transaction has put meanwhile, for whose end this one has
 * waited. */
S(TEXT, SQL("INSERT INTO texts(hash, refs, text) VALUES($1, 1, $2)"
            " ON CONFLICT(hash) DO UPDATE SET refs = refs + 1",
            "INSERT INTO texts(hash, text) VALUES($1, $2) ON CONFLICT (hash) DO NOTHING"))
S(APPEND, HOCKET__APPEND("$11, NULL"))
S(APPEND_TEXT, HOCKET__APPEND("NULL, (SELECT no FROM texts WHERE hash = $11)"))
S(RECORD, SQL("INSERT INTO records(key, json, sum) VALUES(($1 << 32) + $2, $3, $4)",
              "INSERT INTO records(run, seq, json, sum) VALUES($1, $2, $3, $4)"))
S(FILE, "INSERT INTO files(generation, path, hash, text) VALUES($1, $2, $3,"
        " (SELECT no FROM texts WHERE hash = $4)) ON CONFLICT DO NOTHING")
S(MESSAGE,
    "INSERT INTO messages(run, id, at_ms, json, sum) VALUES($1, $2, $3, $4, $5) ON CONFLICT DO "
    "NOTHING")
S(MESSAGE_DEL, "UPDATE messages SET json = NULL WHERE run = $1 AND id = $2")
S(MESSAGE_SAME, "SELECT 1 FROM messages WHERE run = (SELECT no FROM runs WHERE id = $1) AND id = $2"
                " AND at_ms = $4 AND coalesce(json, $3) = $3")
/* A message has come for the run. */
S(HEAR, "UPDATE runs SET " HOCKET__QUEUE_SPEAK " WHERE no = $1")
S(SPEAK, SQL("SELECT no FROM runs WHERE id = $1",
             "UPDATE runs SET " HOCKET__QUEUE_SPEAK " WHERE id = $1 RETURNING no"))
S(SAY,
    SQL("INSERT INTO messages(run, id, at_ms, json, sum) VALUES($1, $2, $3, $4, $5)"
        " ON CONFLICT DO NOTHING",
        "WITH said AS (INSERT INTO messages(run, id, at_ms, json, sum) VALUES($1, $2, $3, $4, $5)"
        " ON CONFLICT DO NOTHING RETURNING run)"
        " UPDATE runs SET " HOCKET__QUEUE_SPEAK " WHERE no IN (SELECT run FROM said)"))
/* To whoever called run $1, unless that has ended. */
S(ENDED, SQL("INSERT INTO messages(run, id, at_ms, json, sum) SELECT c.no, $2, $3, $4, $5"
             " FROM runs r JOIN runs c ON c.id = r.caller WHERE r.no = $1 AND c." HOCKET__CALLS_OPEN
             " ON CONFLICT DO NOTHING",
             "WITH heard AS (UPDATE runs SET " HOCKET__QUEUE_SPEAK
             " WHERE id = (SELECT caller FROM runs r WHERE r.no = $1) AND " HOCKET__CALLS_OPEN
             " RETURNING no) INSERT INTO messages(run, id, at_ms, json, sum)"
             " SELECT no, $2, $3, $4, $5 FROM heard ON CONFLICT DO NOTHING"))
S(HEAR_CALLER,
    "UPDATE runs SET " HOCKET__QUEUE_SPEAK " WHERE id = (SELECT caller FROM runs WHERE no = $1)")

S(CHAIN, "SELECT coalesce(parent, 0), at_n, at_seq FROM runs WHERE no = $1")
S(ENTRIES,
    SQL_PIECE("n, tick, at_ms, kind, path, ord, name, digest, value, long_value, sum",
        SQL("key", "n"),
        "n, tick, at_ms, kind, path, ord, name, digest, " SQL(
            "coalesce(value, (SELECT t.text FROM texts t WHERE t.no = entries.text)), NULL, sum",
            "value, t.text AS long_value, sum"),
        "coalesce(octet_length(value), octet_length(t.text)) + 100",
        " FROM entries" SQL("", " e LEFT JOIN texts t ON t.no = e.text") HOCKET__OF_RUN("n")))
S(RECORDS, SQL_PIECE("seq, json, sum", SQL("key", "seq"), "seq, json, sum",
               "octet_length(json) + 20", " FROM records" HOCKET__OF_RUN("seq")))
S(FILES, SQL_PIECE("path, hash, content, digest", "path",
             "f.path, f.hash, t.text AS content, t.hash AS digest", "octet_length(t.text) + 100",
             " FROM files f JOIN texts t ON t.no = f.text WHERE f.generation = $1 AND f.path > $2"))
S(MESSAGES, SQL_PIECE("no, id, at_ms, json, sum", "no", "no, id, at_ms, json, sum",
                "octet_length(json) + 100",
                " FROM messages WHERE run = $1 AND json IS NOT NULL AND no > $2"))

/* ---- Items ------------------------------------------------------------------------------------ */

S(ITEM_FIND, "SELECT version, generation FROM items WHERE kind = $1 AND id = $2" SQL_LOCKED(""))
S(ITEM_NEW, "INSERT INTO items(kind, id, version, due_ms, at_ms, generation, json)"
            " VALUES($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING")
S(ITEM_PUT, "UPDATE items SET version = $3, due_ms = $4, at_ms = $5, generation = $6, json = $7"
            " WHERE kind = $1 AND id = $2")
S(ITEM_SAME, "SELECT 1 FROM items WHERE kind = $1 AND id = $2 AND due_ms = $3 AND json = $4")
S(ITEM_DEL, "DELETE FROM items WHERE kind = $1 AND id = $2")
S(ITEMS, SQL_PIECE("id, version, due_ms, at_ms, generation, json,"
                   " current_setting('transaction_read_only') = 'on'",
             "due_ms, id", SQL("id, version, due_ms, at_ms, generation, json, 0", "*"),
             "octet_length(json) + coalesce(octet_length(generation), 0) + 100",
             " FROM items WHERE kind = $1 AND ($2 = '' OR id = $2) AND (due_ms, id) > ($3, $4)"
             " AND due_ms <= $5"))

/* ---- Notes ------------------------------------------------------------------------------------ */

S(NOTE_SUM, "SELECT count(*), " SQL_SUM("bytes") " FROM notes WHERE memory = $1 AND id <> $2")
S(NOTE_MEMORIES,
    "SELECT memory, '', '', '', 0, 0, max(updated_ms), count(*), " SQL_SUM(
        "bytes") " FROM notes WHERE $1 = $2 GROUP BY memory ORDER BY memory LIMIT $3 OFFSET $4")
S(NOTE_GET, HOCKET__NOTES " FROM notes n WHERE memory = $1 AND id = $2 LIMIT $3 OFFSET $4")
S(NOTE_LIST, HOCKET__NOTES " FROM notes n WHERE memory = $1 AND $2 = ''"
                           " ORDER BY updated_ms DESC, no DESC LIMIT $3 OFFSET $4")
S(NOTE_SEARCH,
    HOCKET__NOTES SQL(" FROM notes_text t JOIN notes n ON n.no = t.rowid"
                      " WHERE notes_text MATCH $2 AND n.memory = $1"
                      " ORDER BY bm25(notes_text), n.updated_ms DESC, n.no DESC",
        " FROM notes n, to_tsquery('simple', $2) q WHERE memory = $1 AND words @@ q"
        " ORDER BY ts_rank(words, q) DESC, updated_ms DESC, no DESC") " LIMIT $3 OFFSET $4")
/* The text may be in the middle of a word: of languages that do not part them. */
S(NOTE_PART, HOCKET__NOTES " FROM notes n WHERE memory = $1 AND " SQL_HAS("lower(text)",
                 "lower($2)") " ORDER BY updated_ms DESC, no DESC LIMIT $3 OFFSET $4")
S(NOTE_VECTORS,
    "SELECT no, vector FROM " SQL("notes_vectors",
        "notes") " WHERE memory = $1 AND vector IS NOT NULL AND no < $2 ORDER BY no DESC LIMIT $3")
S(NOTE_NO, HOCKET__NOTES " FROM notes n WHERE no = $1")

/* ---- Limits ----------------------------------------------------------------------------------- */

S(LIMIT_PUT, SQL("INSERT INTO limits(name, used, at_ms, blocked_ms) VALUES($1, $2, $3, $4)"
                 " ON CONFLICT(name) DO UPDATE SET used = $2, at_ms = $3, blocked_ms = $4",
                 "UPDATE limits SET used = $2, at_ms = $3, blocked_ms = $4 WHERE name = $1"))
/* One that somebody is about to draw from is left alone. */
S(LIMIT_SWEEP,
    SQL("DELETE FROM limits WHERE at_ms < $1",
        "DELETE FROM limits WHERE name IN (SELECT name FROM limits WHERE at_ms BETWEEN 1 AND $1"
        " FOR UPDATE SKIP LOCKED)"))
S(LEASES, "SELECT " SQL_SUM("n") ", count(*), count(*) FILTER (WHERE n < want),"
                                 " (SELECT count(*) FROM leases WHERE name = $1 AND holder = $2)"
                                 " FROM leases WHERE name = $1 AND holder <> $2 AND until_ms > $3")
S(LEASE_DEL, "DELETE FROM leases WHERE name = $1 AND (holder = $2 OR until_ms <= $3)")
S(LEASE_PUT, "INSERT INTO leases(name, holder, n, want, until_ms) VALUES($1, $2, $3, $4, $5)")

/* ---- Sweeping --------------------------------------------------------------------------------- */

S(NAMES, "SELECT id || ',' || coalesce(generation, '') FROM runs WHERE no = $1")
S(REMOVE,
    "UPDATE runs SET removed = 1, id = '" HOCKET__REMOVED "' || id || ' ' || no, owner_pid = 0,"
    " input = '', options = '', waiting_for = NULL" SQL("", ", updated_ms = $2") " WHERE no = $1")
/* Files that no run and no item has. Forks have the generations of their ancestors; called runs have the generation of
 * their caller. Many runs share names that are no id of a run, and one remaining user is found soon. */
S(PURGE_FILES, "DELETE FROM files WHERE generation = $1"
               " AND NOT EXISTS (SELECT 1 FROM runs WHERE id = $1)"
               " AND NOT EXISTS (SELECT 1 FROM runs WHERE generation = $1 AND removed = 0)"
               " AND NOT EXISTS (SELECT 1 FROM runs WHERE parent IS NOT NULL AND removed = 0"
               " AND " HOCKET__HAS_GENERATION ")"
               " AND NOT EXISTS (SELECT 1 FROM runs WHERE caller = $1 AND removed = 0"
               " AND " HOCKET__HAS_GENERATION ")"
               " AND NOT (length($1) <> 26 AND EXISTS (SELECT 1 FROM runs WHERE removed = 0"
               " AND " HOCKET__HAS_GENERATION "))"
               " AND NOT EXISTS (SELECT 1 FROM items WHERE generation IS NOT NULL"
               " AND " HOCKET__HAS_GENERATION ")")
/* A fork reads what is before it from its parent: the parent's rows go when no fork has them any more. */
S(REMOVED, "SELECT no FROM runs r WHERE removed = 1"
           " AND NOT EXISTS (SELECT 1 FROM runs f WHERE f.parent = r.no) LIMIT 1" SQL_SKIPS_LOCKED)
S(PURGE_ENTRIES, HOCKET__PURGE("entries", "n"))
S(PURGE_RECORDS, HOCKET__PURGE("records", "seq"))
S(PURGE_MESSAGES,
    "DELETE FROM messages WHERE " SQL("", "run = $1 AND ") "no IN (SELECT no FROM messages"
                                                           " WHERE run = $1 LIMIT 500)")
/* In PostgreSQL its trace stays for a day. */
S(PURGE_RUN, SQL("DELETE FROM runs WHERE no = $1",
                 "UPDATE runs SET removed = 2, parent = NULL, target = '', generation = NULL,"
                 " caller = NULL, project = NULL WHERE no = $1"))

/* ---- Checksums -------------------------------------------------------------------------------- */

/* Rows behind a place ($1, $2), which is in the first two columns; sql/sums.c has what is read of them. */
S(SUM_ENTRIES,
    "SELECT " SQL("key >> 32, key & 4294967295",
        "run, n") ", tick, at_ms, kind, path, ord, name, digest, " SQL("coalesce(value, (SELECT "
                                                                       "t.text FROM texts t WHERE "
                                                                       "t.no = entries.text)), "
                                                                       "NULL",
        "value, t.text") ", sum, (SELECT id FROM runs r WHERE r.no = run)"
                         " FROM entries" SQL("", " LEFT JOIN texts t ON t.no = entries.text")
                             SQL_BEHIND("n") " LIMIT 200")
S(SUM_RECORDS, "SELECT " SQL("key >> 32, key & 4294967295",
                   "run, seq") ", json, sum, (SELECT id FROM runs r WHERE r.no = run)"
                               " FROM records" SQL_BEHIND("seq") " LIMIT 1000")
S(SUM_MESSAGES,
    "SELECT 0, no, id, at_ms, json, sum, (SELECT r.id FROM runs r WHERE r.no = run) FROM messages"
    " WHERE $1 = 0 AND no > $2 AND json IS NOT NULL ORDER BY no LIMIT 1000")
S(SUM_RUNS,
    HOCKET__RUN_SELECT " WHERE $1 = 0 AND r.no > $2 AND r.removed = 0 ORDER BY r.no LIMIT 200")
S(SUM_TEXTS, "SELECT 0, no, text, hash FROM texts WHERE $1 = 0 AND no > $2 ORDER BY no LIMIT 50")

/* ---- For people ------------------------------------------------------------------------------- */

ONCE S(COUNT, "SELECT count(*) FROM runs WHERE removed = 0")
    S(POOLS, HOCKET__QUEUE_POOLS(SQL("(SELECT $1 AS now)", "MATERIALIZED (SELECT $1 AS now)"))) S(
        BLOCKED, "SELECT r.no" HOCKET__RUN_LIST(SHORT) HOCKET__RUN_FROM
        " WHERE r.no IN " HOCKET__QUEUE_BLOCKED " ORDER BY r.id LIMIT $1") S(BYTES,
        SQL("SELECT (page_count - freelist_count) * page_size FROM pragma_page_count,"
            " pragma_freelist_count, pragma_page_size",
            "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r'"
            " AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'runs'::regclass)"))

    /* How much there is: a kind, its rows, its bytes without what the database adds, and the statements that wrote them; of entries
     * a row for each kind of the log, by its number. A long text is a statement of its own. */
    S(MEASURE_KINDS,
        "SELECT 'runs', count(*), " SQL_SUM("length(id) + " SQL_BYTES_OF(
            "input") " "
                     "+"
                     " " SQL_BYTES_OF("options") " + coalesce(" SQL_BYTES_OF(
                         "waiting_for") ", 0) + 300") ", count(*) FROM runs WHERE removed = 0"
                                                      " UNION ALL SELECT * FROM (SELECT 'entry/' "
                                                      "|| kind, count(*), " SQL_SUM(
                                                          ENTRY_BYTES) ", count(*) + count(text) "
                                                                       "FROM entries GROUP BY kind "
                                                                       "ORDER BY kind) e"
                                                                       " UNION ALL SELECT "
                                                                       "'events', "
                                                                       "count(*), " SQL_SUM(SQL_BYTES_OF(
                                                                           "json") " + 16") ", "
                                                                                            "count("
                                                                                            "*) "
                                                                                            "FROM "
                                                                                            "record"
                                                                                            "s"
                                                                                            " UNION"
                                                                                            " ALL "
                                                                                            "SELECT"
                                                                                            " '"
                                                                                            "texts'"
                                                                                            ", "
                                                                                            "count("
                                                                                            "*),"
                                                                                            " " SQL_SUM(SQL_BYTES_OF(
                                                                                                "te"
                                                                                                "x"
                                                                                                "t") " + 48") ", 0 FROM texts"
                                                                                                              " UNION ALL SELECT 'files', count(*), " SQL_SUM(
                                                                                                                  SQL_BYTES_OF("path") " + " SQL_BYTES_OF(
                                                                                                                      "generation") " + 24") ", 2 * count(*) FROM files"
                                                                                                                                             " UNION ALL SELECT 'messages', count(*), " SQL_SUM(
                                                                                                                                                 "coalesce(" SQL_BYTES_OF(
                                                                                                                                                     "json") ", 0) + 40") ", count(*) FROM messages"
                                                                                                                                                                          " UNION ALL SELECT 'items', count(*), " SQL_SUM(
                                                                                                                                                                              SQL_BYTES_OF(
                                                                                                                                                                                  "json") " + 60") ", count(*) FROM items")
    /* The ten whose log is largest. Long texts count where they are named. */
    S(MEASURE_RUNS,
        "SELECT r.id, m.n, m.bytes, m.statements FROM (SELECT e.run, count(*) AS n, " SQL_SUM(
            ENTRY_BYTES " + coalesce((SELECT " SQL_BYTES_OF(
                "t.text") " FROM texts t WHERE t.no = e.text), 0)") " AS bytes, count(*) + "
                                                                    "count(text) AS statements"
                                                                    " FROM entries e GROUP BY "
                                                                    "e.run ORDER BY 3 DESC LIMIT "
                                                                    "10) m JOIN runs r ON r.no = "
                                                                    "m.run ORDER BY m.bytes DESC")

    /* What must hold between the tables; each gives a text for each row that is wrong. */
    S(CHECK_ENDS,
        "SELECT 'run ' || r.id || ' has entries up to ' || coalesce(max(e.n), 0) || ' and says ' ||"
        " r.last_n FROM runs r LEFT JOIN entries e ON " SQL(
            "e.key BETWEEN r.no << 32 AND (r.no << 32) + 4294967295",
            "e.run = r.no") " WHERE r.removed = 0 GROUP BY r.no HAVING " SQL("max(",
            "greatest(") "coalesce(max(e.n), 0), r.at_n) <> r.last_n LIMIT 20") S(CHECK_GAPS,
        "SELECT 'run ' || r.id || ' lacks entries' FROM runs r WHERE r.removed = 0"
        " AND r.last_n - r.at_n <> (SELECT count(*) FROM entries WHERE " SQL(
            "key BETWEEN r.no << 32 AND (r.no << 32) + 4294967295",
            "run = r.no") ") LIMIT 20") S(CHECK_STRAY,
        "SELECT 'there are entries of no run: ' || c.n FROM (SELECT count(*) AS n FROM entries e"
        " WHERE NOT EXISTS (SELECT 1 FROM runs WHERE no = e.run)) c WHERE c.n > 0")
