/* What the files of this binding share: a question to the store that a fiber waits for. */
#pragma once

#include "bind/runtime.h"
#include "store/store.h"

#include <lua.h>

/* Rows of a page, and bytes that end one. */
enum { HOCKET__STORE_PAGE = 1000, HOCKET__STORE_PAGE_BYTES = 1 << 20 };

/* A userdata of the fiber that waits. What the store answers gathers here, in memory of C: no Lua is called by the
 * store. It lets go of the store when its fiber is cancelled, and when it is collected. */
struct hocket__store_ask {
    struct hocket__runtime *rt;
    struct hocket__store *s;
    struct hocket__store_call *call;  /* under way; or NULL */
    struct hocket__store_reply reply; /* what the store is to call */
    struct hocket__store_wait wait;   /* for what was put */
    struct hocket__store_claim claim;
    uint64_t fiber;
    size_t limit, count;     /* rows */
    struct hocket__buf rows; /* packed */
    struct hocket__buf text; /* of a caller, as long as it lasts */
    lua_KFunction next;
    uint64_t until; /* when its fiber waits no more (hocket__deadlines_now); 0: it does */
    bool done;
    bool takes,
        takes_next; /* runs that are given back when this ends before anybody has heard of them */
    int status;
    struct hocket_error err;
};

/* Pushes a question of the fiber that runs on L, with the store opened; or NULL after nil and an error were pushed. */
struct hocket__store_ask *hocket__store_ask_push(lua_State *L);

/* Of a question at the top of the stack that takes a run (or the next ones): until the caller has them, `takes` is
 * set, and they go back with the question. */
void hocket__store_ask_takes(lua_State *L, struct hocket__store_ask *a, bool next);

/* What the store calls in the end. */
void hocket__store_ask_done(void *ud, int status, const struct hocket_error *err);

/* Waits, after `rc` came of asking: then k finds the question at index `at` of the stack, done. */
int hocket__store_ask_wait(
    lua_State *L, struct hocket__store_ask *a, int rc, int at, lua_KFunction k);
/* The same for what was put so far; HOCKET__STORE_SYNCED. While writing is paused it waits, unless a->wait.no_pause was set. */
int hocket__store_ask_commit(lua_State *L, struct hocket__store_ask *a, int at, lua_KFunction k);

/* nil and why it failed; 0 when it has not. */
int hocket__store_ask_failed(lua_State *L, const struct hocket__store_ask *a);

/* list, more: the rows of the question at index `at`. */
int hocket__store_give_list(lua_State *L, int status, lua_KContext at);

/* The run that was asked for, or false where there is none. */
int hocket__store_give_run(lua_State *L, int status, lua_KContext at);
/* The id of the run that the question has claimed, when what was put is on the disk. */
int hocket__store_give_id(lua_State *L, int status, lua_KContext at);

enum { HOCKET__STORE_HASH = 65 };
/* A file of a generation, whose hash stands in `hash`. */
struct hocket__store_file hocket__store_file_of(struct hocket__str generation,
    struct hocket__str path, struct hocket__str text, char hash[HOCKET__STORE_HASH]);
/* The texts of the field `files` of the table at idx, by their names, as rows FILE of this generation (empty: none): a status. */
int hocket__store_pack_files(
    lua_State *L, int idx, struct hocket__str generation, struct hocket__buf *out);
/* The run that the table at idx describes, whose texts stay where they are: one that a worker of its pool may begin. */
void hocket__store_read_job(lua_State *L, int idx, struct hocket__store_run *run);

int hocket__l_store_submit(lua_State *L);
int hocket__l_store_take_next(lua_State *L);
int hocket__l_store_take_several(lua_State *L);
int hocket__l_store_take(lua_State *L);
int hocket__l_store_finish(lua_State *L);
int hocket__l_store_changed(lua_State *L);
int hocket__l_store_hurry(lua_State *L);
int hocket__l_store_is_away(lua_State *L);
int hocket__l_store_export(lua_State *L);
int hocket__l_store_export_end(lua_State *L);
int hocket__l_store_import(lua_State *L);
int hocket__l_store_fork(lua_State *L);
