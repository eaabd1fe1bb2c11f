/* What all Lua modules of one host share: the state, the loop, the transport,
 * the fibers. One per host; it lives in a userdata that the Lua registry
 * anchors, and every C function of ours has it as its first upvalue, so it
 * outlives whatever refers to it. */
#pragma once

#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "base/private.h"
#include "base/status.h"
#include "net/deadline.h"
#include "net/transport.h"
#include "os/clock.h"
#include "os/launcher.h"
#include "os/own.h"

#include <uv.h>
#include <stdatomic.h>

#include <lua.h>

struct hocket__http;
struct hocket__relay;
struct hocket__runtime_store;
struct hocket__fiber;
struct hocket__kept;
struct hocket__pack;

struct hocket__runtime;

/* Something else that has handles in the loop (a server). `close` is called when the runtime
 * closes and has to lead to hocket__runtime_release, at once or later. */
struct hocket__closer {
    struct hocket__list link;
    void (*close)(struct hocket__closer *c);
};

/* Whether memory is out in the code of a run that is kept (bind/fiber/kept.c). */
struct hocket__memory_watch {
    struct hocket_allocator below; /* behind rt->alloc; from any thread */
    _Atomic(uv_thread_t) thread;   /* the one that watches; 0: none */
    int depth;
    lua_Alloc lua; /* the state's own, while it is watched */
    void *lua_ud;
    struct hocket__kept *refused; /* whose code it has refused this once; NULL: nothing is open */
    const void *p;
    size_t size;
    void (*on_out)(
        struct hocket__runtime *rt); /* it is out in a C function; NULL: nobody wants to know */
};

enum hocket__runtime_life {
    HOCKET__RUNTIME_CLOSED, /* or not open yet */
    HOCKET__RUNTIME_OPEN,
    HOCKET__RUNTIME_CLOSING /* no fiber is left; its handles end */
};

struct hocket__runtime {
    lua_State *L; /* the main thread; used only by the drain */
    lua_State
        *from; /* the thread that turns the host from Lua, which fibers are resumed from; or NULL */
    struct hocket_allocator alloc_copy;
    const struct hocket_allocator *alloc;
    uv_loop_t *loop;
    struct hocket__deadlines deadlines;
    uv_check_t check; /* drains the ready fibers after each poll … */
    uv_idle_t idle;   /* … and keeps the loop awake while there are any */
    int open_handles;
    struct hocket__list closers;
    enum hocket__runtime_life life;
    struct hocket__http *http;
    struct hocket__transport
        direct; /* the same, opened by the first request that goes through it */
    struct hocket__runtime_store *store; /* NULL: no run is kept (bind/store/store.h) */
    struct hocket__relay *relay;         /* the transport of model calls in thread mode */
    bool threaded;
    bool taped; /* there has been a recording: fibers may have one */

    struct hocket__map fibers; /* id -> struct hocket__fiber * */
    struct hocket__list ready;
    struct hocket__fiber *running;
    bool begins;      /* a function is to be called first in each fiber */
    size_t n_outside; /* fibers of no service that wait for something from outside */
    size_t n_roots;   /* fibers of no service that have no parent */
    struct hocket__kept
        *kept; /* the run whose code runs now, where that is kept (bind/fiber/fiber.h) */
    struct hocket__list kept_runs;
    uint64_t n_kept; /* runs that were kept so far */
    struct hocket__memory_watch memory;
    int clock_step_ms; /* see hocket__script_ms */
    bool breaking;     /* a hook in `running` is to raise an error */
    uint64_t next_id;
    struct hocket__buf scratch; /* for one C function at a time, never across a call into Lua */
    struct hocket__buf block;   /* likewise, for what takes one block of memory (lua_schema.c) */
    struct hocket__buf plain, quoted; /* the text that was quoted last (lua_json.c) */
    int anchor;                       /* registry table: fiber id -> its userdata */
    uint64_t rounds;                  /* drains so far */
    uint64_t steps;                   /* times that a fiber went on */
    uint64_t budget_end_ns;           /* of the pump that is under way; 0: no limit */
    bool stepped;                     /* a fiber went on in that pump */
    uint64_t turn_end_ns;             /* the drain stops here and goes on in the next round */
    uint64_t left_ns;                 /* when the last drain left fibers that are ready; 0: none */
    int turns_held;                   /* drains that stopped there, and have not been told of */

    hocket_log_cb log_cb;
    void *log_ud;
    hocket_getenv_cb getenv_cb;
    void *getenv_ud;
    hocket_getenv_cb secret_cb;
    void *secret_ud;
    hocket_wakeup_cb wakeup_cb; /* from any thread */
    void *wakeup_ud;
    hocket_output_cb output_cb;
    void *output_ud;
    const struct hocket__pack *pack; /* scripts of an optional component, or NULL */
    const char *launcher;            /* held by the userdata; NULL: no programs can be started */
    struct hocket__launchers launchers;
    struct hocket__own own; /* by this process */
    size_t max_message;
    struct hocket__list resting; /* conversations that wait (bind/llm/lua_history.c) … */
    size_t resting_bytes;        /* … and what they have for requests to come */
    int max_connections;

    void (*on_drained)(void *ud); /* the host's turn after each drain; may be NULL */
    void (*on_turned)(
        void *ud); /* and after each turn of our own loop, when nothing of it is on the stack */
    void *on_drained_ud;
    bool in_loop;     /* a loop's callback drains: libuv is on the stack */
    bool in_callback; /* one of the program's has been called and has not returned */
    int asking; /* log_cb, getenv_cb, secret_cb likewise: they are in the middle of our work */
    bool lost;  /* a callback was left where it may not be */
    bool undelivered;                         /* its time was over: it wants another */
    bool own_state;                           /* the Lua state was made for the host */
    bool has_policy;                          /* runs begin with what it leaves of their options */
    struct hocket__buf policy_words, approve; /* what it says beside HOCKET_APPROVE, and both */
    bool foreign_loop; /* the loop is the embedding program's: never turned by us */
    void (*on_closed)(void *ud);
    void *on_closed_ud;
};

/* Where the registry of a state has its runtime. */
extern const char hocket__runtime_key;

/* The runtime of a state, or NULL when it has none that is open. */
struct hocket__runtime *hocket__runtime_of(lua_State *L);

/* The runtime of a C function of ours: its first upvalue. Raises when it is closed. */
HOCKET__PRIVATE struct hocket__runtime *hocket__runtime(lua_State *L);

/* Pushes the runtime's userdata: what open functions take as their upvalue. */
void hocket__runtime_push(lua_State *L);

/* Sets rt->direct up. */
void hocket__runtime_init_direct(struct hocket__runtime *rt);

/* HTTP on a thread of its own, which starts with it; for model calls in thread mode. NULL with *err filled when that fails. */
struct hocket__relay *hocket__runtime_relay(struct hocket__runtime *rt, struct hocket_error *err);

/* How many requests are under way. */
int hocket__runtime_requests(const struct hocket__runtime *rt);

/* To be called in a process that was forked: 0, or ESTATE when what was opened before cannot be
 * used in it. */
int hocket__runtime_after_fork(struct hocket__runtime *rt);

/* The variable's value or NULL, through the host's callback. */
const char *hocket__runtime_getenv(struct hocket__runtime *rt, const char *name);

/* Before a name it stands for the key itself, in scripts and in a provider's option. */
#define HOCKET__SECRET_MARK "secret:\t"

/* A key, through the callback for secrets, or NULL. Not to be shown to any script. */
const char *hocket__runtime_secret(struct hocket__runtime *rt, const char *name);

/* As a hocket_log_cb, for others that log. */
HOCKET__PRIVATE void hocket__runtime_log_text(
    enum hocket_log_level level, const char *text, void *runtime);

void hocket__runtime_log(struct hocket__runtime *rt, enum hocket_log_level level, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));
