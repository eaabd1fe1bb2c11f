/* One run as bytes: to be moved to another store, sent to somebody, or kept as a game's save.
 *
 *     "hocket run 1\n"                        the format's version is in it
 *     RUN, FILE…, ENTRY…, RECORD…, MESSAGE…   rows as hocket__store_pack writes them, in this order
 *     END                                     the kind 255, 32 bytes: SHA-256 of all that stands before
 *
 * A fork is written whole, with what it reads of its parents, and is a run of its own then. Runs may stand
 * one behind another. Rows may get more fields at their end; what a reader does not know of them it
 * passes over. The checksum is against accidents: who wants to can make another one. */
#pragma once

#include "store/store.h"

#define HOCKET__EXPORT_HEAD "hocket run 1\n"
enum { HOCKET__EXPORT_END = 255 };

/* Who takes the bytes. `write` other than 0 ends it, and is the status. `done` is called once, last. */
struct hocket__store_sink {
    int (*write)(void *ud, struct hocket__str bytes);
    void (*done)(void *ud, int status, const struct hocket_error *err);
    void *ud;
    bool lean; /* without records: whoever resumes it tells them again */
};

/* Writes a run as far as it goes now, in pieces, from the loop. ENOMEM, EINVAL, ECLOSED: then nothing is
 * called. The store must not be closed before `done`, but then that comes with ECLOSED. */
int hocket__store_export(
    struct hocket__store *s, struct hocket__str id, const struct hocket__store_sink *sink);

/* Reads the run that *in begins with, wholly, and takes it from there; *run may be NULL, its texts lie in
 * what was read. EPARSE: it is damaged, or none; EUNSUPPORTED: of a newer format. */
int hocket__store_export_read(
    struct hocket__str *in, struct hocket__store_run *run, struct hocket_error *err);

/* Puts an exported run (the bytes of one, as read by hocket__store_export_read) into a store, whole or not at all,
 * claimed by us. If `id` is not NULL, it gets that id, and its files become a generation of its own. The mark of who
 * started it (`made` of its options) and unused permissions for tool calls are left out: people's consent holds only
 * where they gave it. A commit reports when it is saved; EEXIST comes there. EPARSE, EUNSUPPORTED; ENOMEM, ECLOSED and
 * then nothing was taken. */
int hocket__store_import(struct hocket__store *s, struct hocket__str bytes, const char *id,
    struct hocket__store_claim *claim, struct hocket_error *err);

/* What is copied, a fork or a run that was moved, is nobody's work: no worker takes it, and who called the one that it was made from
 * has not called it. */
void hocket__store_leave_queue(struct hocket__store_run *r);

/* Closes what a buffer holds from its beginning with its checksum. */
void hocket__store_export_close(struct hocket__buf *run);
