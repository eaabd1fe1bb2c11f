/* Runs as one text: a game's save.
 *
 *     "hocket save 2\n"          the format's version is in it: the first one named the path of each file in each run
 *     run …, an empty one        rows as in export.h, without records; a file has the numbers of its text and its path
 *     count, (hash, text) …      what the runs have read, each once: agents, scripts; and its names
 *     32 bytes                   SHA-256 of all that stands before
 *
 * Numbers and texts are as base/pack.h has them. It is read whole or refused whole. */
#pragma once

#include "base/hash/hash.h"
#include "base/map.h"
#include "store/export.h"

/* ---- Writing ---------------------------------------------------------------------------- */

struct hocket__saving {
    struct hocket__buf texts;
    struct hocket__map known; /* the beginning of a hash ──> which of the places, from 1 */
    struct hocket__saved_text {
        size_t at, len; /* of hash and text, packed */
    } * places;
    size_t n, cap;
    struct hocket__sha256 sha;
};

void hocket__saving_init(struct hocket__saving *w, const struct hocket_allocator *a);
void hocket__saving_deinit(struct hocket__saving *w);
/* A piece of a run, as a lean sink of hocket__store_export gets it. `told`: how many events it has told at least; a run that
 * is just being loaded has not told them again. ESTATE: it has ended. */
int hocket__saving_add(
    struct hocket__saving *w, struct hocket__buf *run, struct hocket__str piece, uint64_t told);
/* The whole, in *out: which begins, gets each run that is complete, and is closed. Its status says whether all went well. */
void hocket__saving_begin(struct hocket__saving *w, struct hocket__buf *out);
void hocket__saving_put(
    struct hocket__saving *w, const struct hocket__buf *run, struct hocket__buf *out);
void hocket__saving_close(struct hocket__saving *w, struct hocket__buf *out);

/* ---- Reading ---------------------------------------------------------------------------- */

struct hocket__saved {
    const struct hocket_allocator *a;
    struct hocket__saved_file {
        struct hocket__str hash, text;
    } * files;
    size_t n_files, cap, count; /* count: of the runs */
    struct hocket__str runs;
};

struct hocket__saved_run {
    char id[HOCKET__STORE_ID + 1]; /* under which it is to stand */
    uint64_t told;                 /* how many events it had told; set by hocket__saved_put */
};

/* Checks all but the runs themselves, which hocket__saved_put does; *r lies in `bytes`. EPARSE, EUNSUPPORTED, ENOMEM,
 * and then there is nothing to close. */
int hocket__saved_open(struct hocket__saved *r, struct hocket__str bytes,
    const struct hocket_allocator *a, struct hocket_error *err);
void hocket__saved_close(struct hocket__saved *r);
/* Puts the runs into a store, all or none; nobody has them. Besides: ELIMIT. *before is for hocket__store_rewind, in the same turn: then they were never put. */
int hocket__saved_put(const struct hocket__saved *r, struct hocket__store *s,
    struct hocket__saved_run *runs, size_t *before, struct hocket_error *err);
