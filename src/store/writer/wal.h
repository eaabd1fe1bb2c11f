/* What is handed over, in a file beside the database before it is in that: for whoever must know that it survives this
 * process, and would wait longest for the other thread and a transaction.
 *
 *   loop's thread   handed over ──> gathered ──secure──> FILE-ahead-STORE      one write, no wait
 *   store's thread  handed over ──────────> a transaction, with how far it has come ──> the file begins anew
 *   another process, when this one is gone: what of the file comes behind that is written first, then the run is taken
 *
 * Guarantees
 * - Secured means: after the end of this process, however that comes. A loss of power is not survived.
 * - The file continues what the database has, without a gap, or nothing of it counts: records carry their place
 *   among all writes, and a hash. A half-written record was not secured.
 * - Who takes a run from a process that may be alive marks its file as closed before reading it. Who secures looks at the
 *   mark after writing. So one of both sees the other, and a process that slept secures nothing that is not seen.
 *
 * The mark is a byte that its owner never writes; the rest others never write. */
#pragma once

#include "store/writer/writer.h"

/* Bytes of the file at most, and of what may be gathered. */
#define HOCKET__WAL_MOST (1 << 20)

/* Places count bytes that were handed over to the store since it was opened. */
struct hocket__wal {
    bool on;   /* gathers */
    bool off;  /* for good: it was closed by another, or cannot be made */
    bool lost; /* more was handed over than is gathered */
    int fd;    /* 0: none */
    uint8_t key[16];
    struct hocket__buf bytes; /* not in the file yet, behind room for a record's head */
    uint64_t from;            /* the place of their first */
    uint64_t begin, end;      /* what the file has */
    uint64_t at;              /* where its next record goes */
};

/* `a`: of the bytes, the loop's thread's. */
void hocket__wal_init(struct hocket__wal *a);
void hocket__wal_deinit(struct hocket__wal *a);
/* From this place on everything is gathered. */
void hocket__wal_begin(struct hocket__wal *a, uint64_t place);
/* What was handed over, whose end is at `to`; what the file has of it is passed over. `written`: so far the database has it. */
void hocket__wal_gather(
    struct hocket__wal *a, struct hocket__str bytes, uint64_t to, uint64_t written);
/* Whether every gathered record is in the file now. `noted`: up to where the database has them, by its own word.
 * False is no error: the caller must wait. */
bool hocket__wal_secure(struct hocket__wal *a, const char *path, uint64_t noted);
