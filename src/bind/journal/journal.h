/* The journal of a run, shared between Lua (which appends and may read) and the host
 * (which delivers the events to C). */
#pragma once

#include "base/buf.h"
#include "bind/runtime.h"
#include "core/journal/journal.h"

struct hocket__lua_journal {
    struct hocket__runtime *rt;
    struct hocket__journal *journal;
    void (*on_append)(void *ud); /* the host's; may be NULL; must only take note */
    void *ud;
    uint64_t *waiting; /* fibers in journal:wait */
    size_t n_waiting, cap_waiting;
    struct hocket__kept *kept;             /* held; NULL: its run is not kept */
    struct hocket__lua_accounts *accounts; /* the run's; NULL: not said */
    struct hocket__str type, op,
        agent;                  /* of a record in the making that goes through the log; borrowed */
    struct hocket__buf members; /* … and the rest of it; unused: no record is in the making */
};

struct hocket__lua_accounts;

/* The name of their metatable. */
extern const char hocket__journal_name[];

/* Pushes a new journal. Raises when memory is out. */
struct hocket__lua_journal *hocket__journal_push(
    lua_State *L, struct hocket__runtime *rt, struct hocket__str run, size_t max_bytes);
struct hocket__lua_journal *hocket__check_journal(lua_State *L, int arg);
/* Raises when an event's payload cannot have a member of this name. */
void hocket__refuse_reserved(lua_State *L, struct hocket__str name);

/* It is the journal of a run that is kept: its times are the run's, and what others put into it is in the log. */
void hocket__journal_keep(struct hocket__lua_journal *j, struct hocket__kept *k);
/* The same for a reader outside of the run. What wakes a reader inside is in the log of a durable
 * run. */
void hocket__journal_wake_others(struct hocket__lua_journal *j);
/* Appends a record, whoever does so: its number; 0: not now, the replay does; below 0 as hocket__journal_append. */
int64_t hocket__journal_put(
    struct hocket__lua_journal *j, const struct hocket__record *r, struct hocket_error *err);
/* The same in place, as hocket__journal_begin and _end. `author`: what hocket__journal_shared_members made of op and agent, or NULL. All are
 * borrowed until the end. */
struct hocket__buf *hocket__journal_write(struct hocket__lua_journal *j,
    const struct hocket__str *author, struct hocket__str op, struct hocket__str agent,
    struct hocket__str type, struct hocket_error *err);
int64_t hocket__journal_written(struct hocket__lua_journal *j, struct hocket_error *err);
/* What a record that is written now has for its time. */
int64_t hocket__journal_now_ms(const struct hocket__lua_journal *j);

int hocket__open_journal(lua_State *L);
