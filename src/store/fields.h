/* The fields of each kind of row but RUN (columns.h), written once: how they are packed, read again and given to scripts follows.
 *
 *   F(KIND, of, field)   `of` the row's member, `field` a member of that
 *   KIND                 NUM, INT (signed), SMALL (32 bits), BYTE; TEXT: a script finds none where it is empty; FULL: it does;
 *                        OWN: a text that no script is given
 *
 * The order is that of the bytes: a new field comes last. */
#pragma once

/* clang-format off */
#define HOCKET__ROW_KINDS(K)                                                                                      \
    K(ENTRY, HOCKET__ROW_ENTRY) K(RECORD, HOCKET__ROW_RECORD) K(FILE, HOCKET__ROW_FILE)                           \
    K(MESSAGE, HOCKET__ROW_MESSAGE) K(STATS, HOCKET__ROW_STATS) K(NOTE, HOCKET__ROW_NOTE)                         \
    K(ITEM, HOCKET__ROW_ITEM) K(DRAWN, HOCKET__ROW_DRAWN) K(POOL, HOCKET__ROW_POOL)

/* path has all 64 bits: in a script it may be negative. */
#define HOCKET__ROW_ENTRY(F)                                                                                      \
    F(NUM, entry, n) F(NUM, entry, tick) F(INT, entry, at_ms) F(BYTE, entry, kind)                                \
    F(NUM, entry, path) F(SMALL, entry, ord) F(TEXT, entry, name) F(TEXT, entry, digest) F(TEXT, entry, value)
#define HOCKET__ROW_RECORD(F)                                                                                     \
    F(NUM, record, seq) F(FULL, record, json)
#define HOCKET__ROW_FILE(F)                                                                                       \
    F(OWN, file, generation) F(TEXT, file, path) F(TEXT, file, hash) F(FULL, file, text)
#define HOCKET__ROW_MESSAGE(F)                                                                                    \
    F(TEXT, message, id) F(INT, message, at_ms) F(TEXT, message, json)
#define HOCKET__ROW_STATS(F)                                                                                      \
    F(NUM, stats, runs) F(NUM, stats, bytes) F(NUM, stats, commits) F(NUM, stats, syncs) F(NUM, stats, pending)
#define HOCKET__ROW_NOTE(F)                                                                                       \
    F(FULL, note, memory) F(FULL, note, id) F(FULL, note, text) F(FULL, note, meta) F(NUM, note, labels)          \
    F(INT, note, created_ms) F(INT, note, updated_ms) F(NUM, note, notes) F(NUM, note, bytes) F(OWN, note, vector)
#define HOCKET__ROW_ITEM(F)                                                                                       \
    F(TEXT, item, kind) F(TEXT, item, id) F(INT, item, version) F(INT, item, due_ms) F(INT, item, at_ms)          \
    F(TEXT, item, generation) F(TEXT, item, json) F(INT, item, now_ms)
#define HOCKET__ROW_DRAWN(F)                                                                                      \
    F(INT, drawn, granted) F(INT, drawn, level) F(INT, drawn, retry_ms) F(INT, drawn, blocked_ms)                 \
    F(INT, drawn, holders) F(INT, drawn, hungry) F(INT, drawn, held)
#define HOCKET__ROW_POOL(F)                                                                                       \
    F(TEXT, pool, pool) F(TEXT, pool, what) F(TEXT, pool, host) F(INT, pool, pid) F(INT, pool, n)                 \
    F(INT, pool, since_ms)
/* clang-format on */
