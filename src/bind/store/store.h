/* The store of a host (store/store.h): where its runs are kept. Opened when it is first needed, on the host's loop, and
 * closed with the runtime, after its fibers have ended and before the loop goes. */
#pragma once

#include "bind/runtime.h"
#include "store/store.h"

/* What options->store says: *path is copied. ENOMEM, or EINVAL where a value makes no sense. */
int hocket__runtime_set_store(
    struct hocket__runtime *rt, const struct hocket_options *o, struct hocket_error *err);

/* When the runtime has closed. */
void hocket__runtime_drop_store(struct hocket__runtime *rt);

/* Whether the host keeps runs. */
bool hocket__runtime_has_store(const struct hocket__runtime *rt);
/* Whether other processes may have the same one. */
bool hocket__runtime_shares_store(const struct hocket__runtime *rt);
/* The file that runs are kept in; NULL: they are in none. */
const char *hocket__runtime_store_file(const struct hocket__runtime *rt);
/* Why it cannot be used any more; NULL: it can, or was not opened yet. */
const struct hocket_error *hocket__runtime_store_broken(const struct hocket__runtime *rt);

/* The store, opened at its first use; it may still break (store/store.h). NULL with *err filled:
 * EUNSUPPORTED when the host keeps none, or what opening failed with; ESTATE in a forked process. */
struct hocket__store *hocket__runtime_store(struct hocket__runtime *rt, struct hocket_error *err);

/* From then on opening waits for a store that is away: callers wait, and the log says why. Call it before that. */
void hocket__runtime_store_patient(struct hocket__runtime *rt);

/* For a host whose callers have a deadline, `patience_ms` (a fiber's): how long the next call may wait. A call that has waited in vain
 * reports it: then the store counts as away for some seconds, for every call meanwhile. Any answer ends that. */
int64_t hocket__runtime_store_patience(const struct hocket__runtime *rt, int64_t patience_ms);
void hocket__runtime_store_silent(struct hocket__runtime *rt);
void hocket__runtime_store_spoke(struct hocket__runtime *rt);
bool hocket__runtime_store_is_away(const struct hocket__runtime *rt);

/* From now on this fiber is woken when something in the store is new. One at a time. 0, or why there is no store. */
int hocket__runtime_store_hear(
    struct hocket__runtime *rt, uint64_t fiber, struct hocket_error *err);

/* This process has written what runs of its own may wait for: they hear of it as of what others write. Called when no Lua
 * runs. */
void hocket__runtime_store_told(struct hocket__runtime *rt);

/* What an effect on the world waits for. */
/* Runs that ended longer ago than so many days are removed; fewer days than the option store_days says, never more. 0: nothing changes. */
void hocket__runtime_keep_days(struct hocket__runtime *rt, int64_t days);
enum hocket__store_kept hocket__runtime_durability(const struct hocket__runtime *rt);

/* Logs that the store broke before everything that was handed over was written; nothing where all is. */
void hocket__runtime_store_lost(struct hocket__runtime *rt, const struct hocket_error *err);

/* Who hears the store's news of runs: READY, BROKEN, REFUSED and CHANGED, as store/store.h has them (PAUSED and GOING
 * are logged). */
void hocket__runtime_store_news(struct hocket__runtime *rt,
    void (*on_news)(
        void *ud, enum hocket__store_news news, const char *id, const struct hocket_error *err),
    void *ud);
