/* hocket: a runtime for teams of LLM agents.
 *
 * This is the whole public C interface. A host owns a Lua state, an event
 * loop, the transport and the runs that go on in it. The embedder decides when
 * it works:
 *
 *     struct hocket_options o;
 *     struct hocket_error e;
 *     hocket_host *h;
 *     hocket_options_init(&o, sizeof(o));
 *     if (hocket_open(&o, &h, &e) < 0) { fprintf(stderr, "%s\n", e.message); … }
 *     struct hocket_run_spec spec = { .size = sizeof(spec), .target = "team.lua", .input = "Hello" };
 *     hocket_run_start(h, &spec, on_event, on_done, NULL, &e);
 *     while (hocket_pump(h, 1000) > 0)           // in a frame loop, or:
 *         poll(&(struct pollfd){ hocket_backend_fd(h), POLLIN, 0 }, 1,
 *              hocket_backend_timeout(h));
 *     hocket_close(h, NULL, NULL);
 *
 * Rules that hold everywhere:
 * - One host is used from one thread at a time. Two hosts share nothing.
 * - No thread is started but the one that hocket_options.thread asks for, and those of libcurl's
 *   resolver while a name is looked up.
 * - The library never exits, prints, installs signal handlers, changes the
 *   environment or the locale, and reads neither configuration files nor
 *   environment variables on its own (see hocket_options.getenv_cb), but for
 *   LD_LIBRARY_PATH, which its launcher needs. Before it makes an event loop it opens /dev/null in the
 *   place of descriptor 0, 1 or 2 where that is closed (libuv aborts otherwise): using it fails with EBADF still.
 * - A function returns 0 or a positive value, or a negative HOCKET_E… code and
 *   fills the optional struct hocket_error. When a start function fails, its
 *   callbacks never run; when it succeeds, on_done runs exactly once, from
 *   inside hocket_pump or hocket_close and never before the start returned.
 * - A function that makes something sets *out (or *id) to NULL (or 0) when it fails. The host may be
 *   NULL everywhere: the answer is HOCKET_EINVAL then, and closing it does nothing.
 * - Pointers that go in are borrowed for the call. Pointers that a callback
 *   receives are valid until it returns.
 * - Text is UTF-8 with an explicit length; it may contain NUL.
 *
 * What callbacks may do.
 * - on_event, on_done, on_call and on_cancel are called from hocket_pump, hocket_wait and hocket_close (on a loop
 *   of the program's: also from that loop), when no Lua code runs. They may call everything but hocket_pump,
 *   hocket_wait and hocket_event_next, which answer HOCKET_ECALLBACK there; hocket_close is done when they
 *   have returned.
 * - They may be left by a C++ exception (or pthread_exit), which passes through hocket_pump, hocket_wait
 *   and hocket_close. The host is then as if the callback had returned; a close goes on with the next
 *   hocket_pump or hocket_close.
 * - They may be left by longjmp, which a Lua error of the program's is, too: hocket_callback_left then says so
 *   to the host. Until it does, hocket_pump answers HOCKET_ECALLBACK.
 * - Not so where the program's own libuv loop has made the call: libuv survives neither.
 * - on_closed is called last. The host is gone; it may do anything.
 * - log_cb, getenv_cb, secret_cb, wakeup_cb, output_cb and the allocator are called in the middle of hocket's work. They
 *   call no function of this header, and they return.
 * A host whose callback has been left where it may not be is lost: everything answers HOCKET_ECALLBACK, and
 * its memory and sockets stay until the process ends.
 *
 * What may grow: functions, and members at the end of the structures below. Nothing else changes
 * under one name of the library (libhocket.so.0).
 * - A structure that the program fills begins with its `size`, sizeof of it, by which a library that is
 *   newer knows which members there are. All members but the size are zero where nothing is
 *   wished, now and in later versions. A library that is older than the program takes it as long as
 *   the members that it does not know are zero (EINVAL otherwise).
 * - A structure that the library fills in the program's memory (hocket_stats) begins with its `size` too; it is
 *   set to what was filled.
 * - hocket_event, hocket_result and hocket_tool_call are made by the library alone, which hands out
 *   pointers: they have no size, and a program neither makes nor copies them.
 * - hocket_error and hocket_allocator stay as they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HOCKET_API __attribute__((visibility("default")))
#else
#define HOCKET_API
#endif

/* ---- Status codes ------------------------------------------------------ */

/* X(name, value, word, text): `word` is what Lua and JSON show as `code`. */
#define HOCKET_STATUS_MAP(X)                                                                       \
    X(ENOMEM, -1, "no_memory", "out of memory")                                                    \
    X(EINVAL, -2, "invalid", "invalid argument")                                                   \
    X(ELIMIT, -3, "limit", "a limit was reached")                                                  \
    X(ENOTFOUND, -4, "not_found", "not found")                                                     \
    X(EEXIST, -5, "exists", "exists already")                                                      \
    X(ESTATE, -6, "state", "not possible in this state")                                           \
    X(EPARSE, -7, "parse", "malformed input")                                                      \
    X(EDENIED, -8, "denied", "not allowed")                                                        \
    X(ECANCELLED, -9, "cancelled", "cancelled")                                                    \
    X(ETIMEOUT, -10, "timeout", "timed out")                                                       \
    X(EBUDGET, -11, "budget", "a budget is used up")                                               \
    X(EIO, -12, "io", "input or output failed")                                                    \
    X(ECONNECT, -13, "connect", "cannot connect")                                                  \
    X(ETLS, -14, "tls", "TLS failed")                                                              \
    X(EHTTP, -15, "http", "the server answered with an error")                                     \
    X(EPROTOCOL, -16, "protocol", "the server broke the protocol")                                 \
    X(ETRUNCATED, -17, "truncated", "the answer ended in the middle")                              \
    X(EPROVIDER, -18, "provider", "the provider reported an error")                                \
    X(EAUTH, -19, "auth", "the provider refused the key, or there is none")                        \
    X(ELUA, -20, "script", "a Lua error")                                                          \
    X(EAGENT, -21, "agent", "an invalid agent file")                                               \
    X(ECLOSED, -22, "closed", "closed")                                                            \
    X(EUNSUPPORTED, -23, "unsupported", "not supported here")                                      \
    X(EOFFLINE, -24, "offline", "network use is switched off")                                     \
    X(EREPLAY, -25, "replay", "the replay differs from what was recorded")                         \
    X(EMODEL, -26, "model", "the model answered what cannot be used")                              \
    X(ECALLBACK, -27, "callback",                                                                  \
        "a callback of the host has not returned: this was called inside of it, or it was left "   \
        "by a "                                                                                    \
        "jump or an exception")                                                                    \
    X(EPARKED, -28, "parked", "the run waits, and goes on when it is resumed")                     \
    X(ESERVER, -29, "server", "a server of tools failed")                                          \
    X(EDECLINED, -30, "declined", "a person refused the plan")

enum hocket_status {
    HOCKET_OK = 0,
#define HOCKET_STATUS_ENUM(name, value, word, text) HOCKET_##name = value,
    HOCKET_STATUS_MAP(HOCKET_STATUS_ENUM)
#undef HOCKET_STATUS_ENUM
};

/* The word of a code ("timeout"), and its text ("timed out"). Never NULL. */
HOCKET_API const char *hocket_status_word(int status);
HOCKET_API const char *hocket_status_text(int status);

/* What went wrong. Plain data, nothing to free; it does not grow. */
struct hocket_error {
    int status;             /* a HOCKET_E… code */
    int http_status;        /* 0 when no HTTP answer was involved */
    bool retryable;         /* the same call may succeed later */
    int64_t retry_after_ms; /* what the server asked for, or -1 */
    char message[496];      /* one line or more of UTF-8, never a secret */
};

/* ---- Options ----------------------------------------------------------- */

/* As lua_Alloc: new_size 0 frees; old_size is always exact. */
typedef void *(*hocket_realloc_cb)(void *ud, void *ptr, size_t old_size, size_t new_size);

struct hocket_allocator {
    hocket_realloc_cb realloc_cb;
    void *ud;
};

enum hocket_log_level { HOCKET_LOG_ERROR, HOCKET_LOG_WARN, HOCKET_LOG_INFO, HOCKET_LOG_DEBUG };

typedef void (*hocket_log_cb)(enum hocket_log_level level, const char *text, void *ud);

/* Answers a variable's value or NULL: keys, base URLs, HOCKET_MODEL. */
typedef const char *(*hocket_getenv_cb)(const char *name, void *ud);

/* Thread mode. Without it the loop works inside of hocket_pump, which ends after about its budget,
 * but cannot interrupt a TLS handshake or a large piece of data. With it, model calls run on a
 * thread of their own: it reads, decodes, and gathers the text of each stream until the host
 * takes it. hocket_pump then only hands over what has come until its budget is used up, and
 * is over it by one step of a script at most. The thread starts with the first model call, not
 * before, with all signals blocked, and ends in hocket_close. All callbacks still run from
 * hocket_pump; the allocator is called from both threads. After a fork the thread is not there. */

/* Says that hocket_pump has something new to do, for a program whose loop cannot watch a descriptor.
 * Called from hocket's own thread, and from one that calls hocket_tool_answer: it has to be quick, and
 * calls no function of this header; it posts a message to the program's own loop, or sets a flag.
 * One call may stand for many things. What else there may be to do is in hocket_backend_timeout,
 * to be asked after each pump; sockets of the host's own thread (without thread mode: all) are
 * seen by pumping alone. */
typedef void (*hocket_wakeup_cb)(void *ud);

/* What a script prints, as it prints it, with the line end. Its event "output" comes as well, when no Lua runs. */
typedef void (*hocket_output_cb)(const char *text, size_t text_len, void *ud);

/* A policy of the machine's owner (docs/policy.md): what no run of the host may exceed, whatever its options say. */
struct hocket_policy {
    const char *name; /* for messages, as in "/etc/hocket/policy.yaml" */
    const char *text; /* YAML or JSON */
};

struct hocket_options {
    size_t size;                       /* sizeof(struct hocket_options) */
    struct hocket_allocator allocator; /* {0}: malloc */
    void *uv_loop;                     /* a uv_loop_t *, or NULL: the host makes one */
    void *lua_state;                   /* a lua_State *, or NULL: the host makes one */
    hocket_log_cb log_cb;              /* NULL: nothing is logged */
    void *log_ud;
    hocket_getenv_cb getenv_cb; /* NULL: no variable is ever read */
    void *getenv_ud;
    bool thread; /* requests run on a thread of their own; see "Thread mode" */
    /* The program that starts the programs of tools (shell, code): the `hocket` executable, or any
     * that calls hocket_launcher_main first thing. NULL: such tools say that they cannot work. */
    const char *launcher;
    /* As getenv_cb, for keys alone (OPENAI_API_KEY), where that knows none: what it answers goes to
     * the provider and is shown to no script. NULL: none. */
    hocket_getenv_cb secret_cb;
    void *secret_ud;
    hocket_wakeup_cb wakeup_cb; /* NULL: none */
    void *wakeup_ud;
    const char *lua_path; /* a directory that replaces the built-in scripts (development) */
    int max_runs;         /* at once; 0: no limit. One more is refused with ELIMIT */
    size_t max_memory;    /* bytes of a Lua state that the host makes; 0: no limit */
    int max_connections;  /* per host name; 0: 16384, or what RLIMIT_NOFILE allows */
    size_t max_journal;   /* bytes of events kept in memory per run; 0: 64 MiB */
    size_t max_message;   /* bytes of one model message; 0: 32 MiB */
    /* Where runs are kept, so that they go on after the end of the process (docs/store.md): a file's path, a
     * postgres:// URL, "memory" (as long as the host lives), or NULL: nowhere. A file needs libhocket-store, a URL
     * libhocket-postgres. */
    const char *store;
    const char *
        durability; /* "normal" (NULL) or "full": whether what is kept survives a loss of power as well */
    int store_days; /* runs that ended longer ago are removed; 0: never */
    /* Not 0: a store that cannot be used is told by log_cb, and runs go on without. Otherwise they end with its error, and
     * a folder is an error of hocket_open. */
    int store_optional;
    uint64_t store_bytes;       /* and the oldest of them while the file is larger; 0: no limit */
    hocket_output_cb output_cb; /* NULL: what scripts print is an event alone */
    void *output_ud;
    const struct hocket_policy *policies; /* each only narrows the one before; NULL: none */
    size_t n_policies;
};

/* Fills it with the defaults. `size` is sizeof(struct hocket_options), as the program was compiled with it. */
HOCKET_API void hocket_options_init(struct hocket_options *options, size_t size);

/* ---- Host -------------------------------------------------------------- */

typedef struct hocket_host hocket_host;

/* Opens a host. On success *out is set and has to be closed with hocket_close; otherwise it is NULL.
 * Fails with ENOMEM, EINVAL (for a policy that cannot be read the message begins with NAME:LINE), ELUA (a broken lua_path). */
HOCKET_API int hocket_open(
    const struct hocket_options *options, hocket_host **out, struct hocket_error *err);

/* Replaces the host's policies. What they forbid more is forbidden at once; what they allow more is for runs that begin after that. Where
 * one cannot be read (EINVAL) those from before stay. Also fails with ENOMEM, ECALLBACK. */
HOCKET_API int hocket_set_policies(hocket_host *host, const struct hocket_policy *policies,
    size_t n_policies, struct hocket_error *err);

/* Does what can be done now, for about `budget_us` microseconds at most (0: one
 * round), without blocking. Returns 1 while work is left (also work that
 * waits for the network), 0 when the host is idle, or a negative code: ECALLBACK inside of a callback,
 * ESTATE in a process that was forked after the host had begun to work. */
HOCKET_API int hocket_pump(hocket_host *host, int64_t budget_us);

/* Blocks until something can be done, or until `timeout_ms` passed (-1: no limit), then pumps once.
 * For programs without a loop of their own. It does not block when the host has become idle since the
 * last call (the last result was taken by hocket_event_next), but answers 0. */
HOCKET_API int hocket_wait(hocket_host *host, int timeout_ms);

/* Makes a hocket_wait that sleeps return. May be called from any thread and from a signal
 * handler, until hocket_close is called. */
HOCKET_API void hocket_wakeup(hocket_host *host);

/* Says that a callback of this host was left by longjmp and will not return; not to be called inside of one.
 * Returns 0, and the host goes on as if it had returned. ESTATE when there is none, and when the host is
 * lost (see above). */
HOCKET_API int hocket_callback_left(hocket_host *host);

/* Breaks into Lua code that runs on and on without ever waiting, which nothing else can end: where
 * it stands it gets an error with the code "cancelled". Returns 1; or 0 when no Lua code of the
 * host's agents and scripts runs just now, and nothing is done. Code that catches the error goes
 * on, and code in coroutines that a script made itself is not reached. To be called from a signal
 * handler on the thread that pumps (of a timer that is a program's watchdog), or from a hook or an
 * allocator there; not from other threads. */
HOCKET_API int hocket_break(hocket_host *host);

/* Returns 1 while Lua code runs whose run has a time limit (the option `timeout`) and time left; else 0. For a watchdog that calls
 * hocket_break, in the same places: a limit counts work, so a run that has waited for people may have begun long ago. */
HOCKET_API int hocket_has_time(hocket_host *host);

/* A descriptor that becomes readable when hocket_pump has something to do, and how many
 * milliseconds a poll may sleep: 0 when there is something to do now, and before the first
 * hocket_pump; -1, for ever, when only the descriptor can tell of anything. A host without work (before
 * a run, after it, while a conversation waits for its next input) says -1. */
HOCKET_API int hocket_backend_fd(hocket_host *host);
HOCKET_API int hocket_backend_timeout(hocket_host *host);

typedef void (*hocket_closed_cb)(void *ud);

/* Cancels all runs (their on_done callbacks run with HOCKET_ECANCELLED), closes
 * all sockets and frees the host. With the host's own loop this completes
 * before it returns; on an embedder's loop `on_closed` (may be NULL) runs from
 * that loop, after which nothing of the host is left in it. No run can be started
 * any more. From inside of a callback it is only noted: the hocket_pump or
 * hocket_wait that made the callback closes the host and returns 0; an embedder's
 * loop does so by itself. A second call is ignored while the host is there.
 * In a child that was forked: a host without runs that has made no calls works there, any other can
 * only be closed. Its runs end there with HOCKET_ECANCELLED; what else it holds stays until that
 * process ends, since it is the parent's as well, whose runs go on. */
HOCKET_API void hocket_close(hocket_host *host, hocket_closed_cb on_closed, void *ud);

/* ---- In a Lua state ----------------------------------------------------- */

struct lua_State;

/* What `require "hocket"` calls in a Lua 5.4: a lua_CFunction that pushes the module. Where the
 * state has a host already (hocket_options.lua_state) it is that host's module. Otherwise it opens
 * one of its own, which reads variables with getenv where the state has an os.getenv, logs
 * through Lua's warn, and is closed with the state. Creates no globals. Raises a Lua error. */
HOCKET_API int hocket_luaopen(struct lua_State *L);

/* The host that works in a state, or NULL. */
HOCKET_API hocket_host *hocket_of_state(struct lua_State *L);

typedef struct hocket_json hocket_json; /* see below */

/* ---- Runs -------------------------------------------------------------- */

struct hocket_result {
    int status;       /* HOCKET_OK or a negative code */
    const char *text; /* the answer, "" when there is none */
    size_t text_len;
    const char *json; /* the result object of `hocket run --json` */
    size_t json_len;
    const struct hocket_error *error; /* NULL when status is HOCKET_OK */
};

/* One event, as one JSON object (see docs/events.md). */
struct hocket_event {
    uint64_t seq;     /* without gaps, from 1, per run */
    const char *type; /* "task_updated" */
    const char *json; /* the whole object, without a line end */
    size_t json_len;
    uint64_t run;
    const struct hocket_result *result; /* only of the last one that hocket_event_next gives */
    /* Of a "model_delta", so that nothing has to be parsed; NULL and 0 otherwise. */
    const char *agent, *kind, *text;
    size_t text_len;
    bool again; /* of a run that was resumed: it was told in an earlier life of the run, too */
};

/* With hocket_run_spec.deltas (or the option {"deltas": true}) a run also tells the text of its streams, as events of the type
 * "model_delta" with "agent", "op", "kind" ("text" or "reasoning") and "text". Their seq is 0: they
 * are no records. What has come since the last call for one agent comes as one event, so that
 * a host that is slow gets longer pieces and not more of them. */

typedef void (*hocket_event_cb)(
    hocket_host *host, uint64_t run, const struct hocket_event *event, void *ud);
typedef void (*hocket_done_cb)(
    hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud);

struct hocket_run_spec {
    size_t size;         /* sizeof(struct hocket_run_spec) */
    const char *target;  /* a script.lua, an agent.md, or a directory with agents */
    const char *input;   /* UTF-8; may be NULL */
    size_t input_len;    /* 0 with a non-NULL input: strlen */
    const char *options; /* a JSON object of run options (docs/commands.md), or NULL */
    int priority; /* -100 … 100: whose agents begin first, where not all may work at once */
    int deltas;   /* not 0: the text of its streams is told as it comes */
};

/* Starts a run and returns its id in *id (may be NULL). `on_event` may be NULL. When both callbacks
 * are, the events are kept for hocket_event_next. */
HOCKET_API int hocket_run_start(hocket_host *host, const struct hocket_run_spec *spec, uint64_t *id,
    hocket_event_cb on_event, hocket_done_cb on_done, void *ud, struct hocket_error *err);

/* Keeps a text in memory as the target "buffer:NAME", in place of a file: an agent ("smith.md") or
 * a script ("quest.lua"). Texts below one name ("inn/cook.md", "inn/maid.md") are a team, "buffer:inn". What
 * is wrong with it (EAGENT, with name and line in err->message) leaves what was there before. len
 * 0: strlen. */
HOCKET_API int hocket_load_buffer(
    hocket_host *host, const char *name, const char *text, size_t len, struct hocket_error *err);

/* The same with all agents and scripts of a directory, as they are now; all or nothing. Runs of
 * "buffer:NAME" read no file. A script that requires modules beside it has to be run from its
 * directory. */
HOCKET_API int hocket_load_dir(
    hocket_host *host, const char *name, const char *dir, struct hocket_error *err);

/* Starts one of the host's other operations by name ("check", "sim", "doctor",
 * "new", …) with a JSON object of arguments. Its answer is result->json. */
HOCKET_API int hocket_call_start(hocket_host *host, const char *name, const char *args_json,
    uint64_t *id, hocket_event_cb on_event, hocket_done_cb on_done, void *ud,
    struct hocket_error *err);

/* The next event of any run that was started without callbacks: 1 with *event set, 0 when there
 * is none now (*event is NULL). It is the host's, and valid until the next call with this host. The last of a run has the
 * type "result", the result's JSON, and `result`; until it was taken hocket_pump counts the run as
 * work. ECALLBACK inside of a callback. */
HOCKET_API int hocket_event_next(hocket_host *host, const struct hocket_event **event);

/* The name of a run, unique everywhere: "run" in its events and its result, and what the store knows it by. It is the
 * run's, until its end was told; NULL for what is none, and while one that is resumed is looked for. */
HOCKET_API const char *hocket_run_name(hocket_host *host, uint64_t id);

/* Goes on with a run of the host's store (hocket_options.store) that has not ended: one that was cut off, is parked, or
 * waits. `name` may be shortened while it is unique. It is the run that it was: what was logged comes again
 * without a model, a tool or a person being asked, its events are told from the first one on, and where the log
 * ends it goes on. `options`: NULL, or a JSON object with options that replace those that it began with:
 * "interactive", "park", "deltas", and "trust": code that the run brings (scripts, providers.yaml, MCP servers) and that is not,
 * byte for byte, what this program has at the same path or in the same buffer runs only with "trust": true, but for runs that
 * were begun in this process's memory or, with "consent", by this user; EDENIED else, and the run stays as it was. What the run was allowed when it began does not hold: "approve", "sandbox", "network",
 * "trust" and "workdir" of these options, or the defaults, do; what was forbidden stays so, and of limits the smaller holds
 * (docs/runs.md). With "lazy": true one that waits for an answer, an input or a signal sleeps: nothing of it is read or told but the event run_asleep, until somebody says something to it: an answer and a signal are kept as all that
 * it writes (ELIMIT: too much waits to be written), and taken when it has woken, every other wish wakes it and has ESTATE. What is wrong with it is told by on_done: ENOTFOUND, ESTATE (it has ended,
 * a process that lives has it, or another has taken it over), EREPLAY (its files or this program do not do what they did). */
HOCKET_API int hocket_run_resume(hocket_host *host, const char *name, const char *options,
    uint64_t *id, hocket_event_cb on_event, hocket_done_cb on_done, void *ud,
    struct hocket_error *err);

/* Runs a run of the store again from its log alone, as far as that goes: no model, tool or person is asked, nothing is written.
 * Each event is compared with what was told then, byte by byte. Its scripts run again: `options` is NULL, or a JSON object with "trust", as of
 * hocket_run_resume. on_done has what the run came to; EPARKED where its log ends
 * before it has; EREPLAY, with the first difference, where it is not the same. */
HOCKET_API int hocket_run_replay(hocket_host *host, const char *name, const char *options,
    uint64_t *id, hocket_event_cb on_event, hocket_done_cb on_done, void *ud,
    struct hocket_error *err);

/* Ends a run of a host with a store without ending it: it can be resumed from where it is, here or in another
 * process. Calls that are under way end, and are made again then. on_done runs with HOCKET_EPARKED. A run
 * with the option {"park": true} does so by itself once it waits for nothing but a person (a question, a plan,
 * an approval), a signal, or a time of day more than a minute away. A store that cannot write now and has nothing of
 * the run yet is on_done's error instead. ENOTFOUND when there is no such run, ESTATE when it is not kept. */
HOCKET_API int hocket_run_park(hocket_host *host, uint64_t id);

/* The same, but what is under way ends first: no call of a model or a tool is begun any more, and once none is left the run
 * is put away. So no call is made again when it goes on. One that calls nothing is put away at once. */
HOCKET_API int hocket_run_drain(hocket_host *host, uint64_t id);

/* The same for one that whoever was there for has left: first it hears what was said to it in the store. From then on it is as
 * one with the option {"park": true}, and a conversation is put away also where it waits for its next input. */
HOCKET_API int hocket_run_leave(hocket_host *host, uint64_t id);

/* ---- Saving (docs/embedding.md) -------------------------------------------------- */

/* What was saved, in one piece that is valid until the callback returns; `error` NULL, or why nothing was. It is called
 * once, from a pump, when hocket_save or hocket_run_save has returned 0. The error is ECANCELLED where the host was closed. */
typedef void (*hocket_save_cb)(
    hocket_host *host, const void *bytes, size_t len, const struct hocket_error *error, void *ud);

/* Saves a run of a host with a store (hocket_options.store, "memory" will do), as it stands at one moment until the callback
 * is called: a conversation that waits, one in the middle of a call, one with open questions. The run goes on. The
 * work is done within the budgets of the pumps. ENOTFOUND: there is no such run; ESTATE: it has ended (which may also come
 * to the callback), or it is not kept; EUNSUPPORTED: the host keeps none; ECLOSED, ENOMEM. */
HOCKET_API int hocket_run_save(
    hocket_host *host, uint64_t id, hocket_save_cb cb, void *ud, struct hocket_error *err);

/* The same with all runs that go on, each at a moment of its own; ESTATE when there is none. */
HOCKET_API int hocket_save(
    hocket_host *host, hocket_save_cb cb, void *ud, struct hocket_error *err);

/* Goes on with a run that was saved, in this process or another one, as hocket_run_resume does, under a new name: the
 * host needs a store. A model call that was under way is made again, a question that was open is asked again (its event is
 * told; hocket_event.again is set). `options` as of hocket_run_resume. What does not fit is refused whole, and nothing
 * of it begins: EPARSE (damaged, or no save), EUNSUPPORTED (of another hocket, or the host has no store), EINVAL (more
 * than one run), ELIMIT, ENOMEM. A save holds the agents and scripts that it goes on with: code in it that is not this program's own
 * needs "trust": true in `options`, else on_done has EDENIED (as of hocket_run_resume). */
HOCKET_API int hocket_run_load(hocket_host *host, const void *bytes, size_t len,
    const char *options, uint64_t *id, hocket_event_cb on_event, hocket_done_cb on_done, void *ud,
    struct hocket_error *err);

/* The same with all runs of a save. Returns how many there are; they have the ids from *first on, in the order in
 * which they had begun. `first` may be NULL. */
HOCKET_API int hocket_load(hocket_host *host, const void *bytes, size_t len, const char *options,
    uint64_t *first, hocket_event_cb on_event, hocket_done_cb on_done, void *ud,
    struct hocket_error *err);

/* Cancels a run: its sockets are closed, its agents end, then on_done runs with
 * HOCKET_ECANCELLED. Unknown or ended ids are ignored and return ENOTFOUND. */
HOCKET_API int hocket_run_cancel(hocket_host *host, uint64_t id);

/* Stops a run: its agents finish the turn that they are in, then each gives one last answer,
 * without tools. on_done runs with HOCKET_OK and what there is; "finish" in its JSON is "stopped".
 * Unknown or ended ids are ignored and return ENOTFOUND. */
HOCKET_API int hocket_run_stop(hocket_host *host, uint64_t id);

/* Answers a question of a run by the id in its event:
 *
 *   question_asked      {"id":"q1","kind":"clarification" or "approval","questions":["…"]}: any text
 *   approval_requested  {"id":"a2","tool":"…","arguments":"…","reason":"…","change":{"path":"…","diff":"…"}
 *                       of one that changes a file}: "allow", "deny" (a reason may follow) or "always"
 *                       (this tool, for the rest of the run)
 *   input_requested     {"id":"i3"}: what the user says next; an empty text ends the conversation
 *
 * Many may be open, and are answered in any order. An empty text is no answer: an approval is then
 * denied. len 0: strlen. Runs ask only with the option {"interactive": true}; without it a question
 * ends the run (EUNSUPPORTED; the result's text has it), and what needs approval is denied.
 * ENOTFOUND when there is no such run, or no such open question in it; EINVAL when the text does
 * not answer it, which then stays open. */
HOCKET_API int hocket_run_answer(hocket_host *host, uint64_t id, const char *question,
    const char *text, size_t len, struct hocket_error *err);

/* Sends a message to a run: what hocket.signal(name) in it waits for, or is going to wait for. `json` is any JSON value. Messages of
 * one name are taken in their order. ENOTFOUND when there is no such run, or it has not begun; EINVAL for a name that is empty or longer
 * than 128 bytes, EPARSE for what is no JSON; ELIMIT when 1000 of them wait to be taken. */
HOCKET_API int hocket_run_signal(
    hocket_host *host, uint64_t id, const char *name, const char *json, struct hocket_error *err);

/* Says something to an agent at work: it stands before its next model call as the user's words, behind what its tools have returned;
 * one that was about to answer goes on. `agent`: its name, the end of its path ("lead/writer"), or the id of its operation in events; NULL: whoever
 * works at the run itself, or will next. A conversation that waits for input is given that. Events: user_message_received, _delivered, and
 * _dropped of what nobody heard. len 0: strlen. ENOTFOUND: there is no such run, or no such agent at work; ESTATE when the agent has ended;
 * EINVAL when several are meant, or the text is empty or no UTF-8; ELIMIT: over 64 KiB, or 100 wait to be heard. */
HOCKET_API int hocket_run_say(hocket_host *host, uint64_t id, const char *agent, const char *text,
    size_t len, struct hocket_error *err);

/* A run with the option {"conversation": true} is a conversation: it answers its input (which may
 * be NULL), and then asks for the next with the event input_requested, which hocket_run_answer
 * answers. Each turn ends with the event turn_finished, also one that failed; with "deltas": true
 * its text comes meanwhile. The history is kept from turn to turn, and what was begun in the
 * background goes on. The result is the last answer. */

/* Ends what a conversation does just now, down to its sockets; it then asks for the next input,
 * with a transcript that is valid. ESTATE when it does nothing, ENOTFOUND when there is no such
 * run. */
HOCKET_API int hocket_run_interrupt(hocket_host *host, uint64_t id, struct hocket_error *err);

/* Who has used what in a run so far, as JSON (docs/budgets.md), to free with hocket_json_free; NULL with
 * *err filled when there is no such run, or memory is out. */
HOCKET_API hocket_json *hocket_run_tree(hocket_host *host, uint64_t id, struct hocket_error *err);

/* Changes options of a run that goes on, for the agents that begin to work from now on: a JSON
 * object with any of model, models, variables, max_turns, timeout, priority. {"reload": true} lets a
 * conversation read its agents or its script anew before its next turn; the event agent_reloaded
 * says what changed, agent_reload_failed why all stays as it was. EINVAL when one of them cannot
 * be: then none is changed. */
HOCKET_API int hocket_run_change(
    hocket_host *host, uint64_t id, const char *options, struct hocket_error *err);

/* ---- Looking into a running host ------------------------------------------ */

/* Lets this process's owner attach to the host with `hocket attach NAME` (docs/attach.md): see its
 * runs, agents, boards and events, and act on them. It listens at $XDG_RUNTIME_DIR/hocket/NAME.sock
 * (mode 0600; the variable comes from getenv_cb), as long as the host is open; nothing runs while
 * nobody is attached, and an offer counts as no work for hocket_pump. `name` NULL: the process's
 * number; a path to a socket has a '/' in front. `options`: NULL, or a JSON object:
 * {"look":true}: nothing can be changed; {"root":"look" or "all"}: root may, who is refused
 * otherwise. Again with the same name does nothing. EEXIST: the name is taken by a process that
 * lives; EINVAL, EDENIED (the directory is open to others), ENOMEM. */
HOCKET_API int hocket_offer(
    hocket_host *host, const char *name, const char *options, struct hocket_error *err);

/* Takes an offer back (NULL: all of them), and sends away who is attached. ENOTFOUND. */
HOCKET_API int hocket_withdraw(hocket_host *host, const char *name, struct hocket_error *err);

/* The same commands from inside, for a console of the program's own:
 *     hocket_call_start(host, "command", "{\"line\":\"runs\"}", …)
 * answers with {"text":…,"value":…}. "attach" is the client: {"to":"NAME","commands":["runs"]} gives
 * commands to another process's host, {} lists who offers himself. */

/* ---- Serving MCP clients --------------------------------------------------- */

/* The operation "mcp_serve" offers agents and tools of the program to other programs (docs/mcp.md):
 *     hocket_call_start(host, "mcp_serve", "{\"targets\":[\"buffer:inn\"],\"tools\":[\"price\"]}", …)
 * over this process's standard input and output, until the input ends or the run is cancelled. With
 * "transport":"events" the program carries the messages: what a client sends is hocket_run_answer(host,
 * id, "message", text, …), what is to be sent comes as events {"type":"mcp_message","text":…}, and an
 * empty message ends it. With "port" it is an HTTP server. It stands in hocket-serve (hocket_serve_attach). */

/* ---- Tools -------------------------------------------------------------- */

/* A tool that the program carries out. An agent has it when its file names it in `tools:`, or when
 * the run's option {"tools": ["name"]} gives it to the agent that begins. */
struct hocket_tool_spec {
    size_t size;             /* sizeof(struct hocket_tool_spec) */
    const char *name;        /* 1 to 64 of [A-Za-z0-9_-] */
    const char *description; /* for the model */
    const char *parameters;  /* JSON Schema of the arguments, an object; NULL: none */
    int64_t timeout_ms;      /* 0: no limit; then the model is told that it took too long */
};

/* A call that a model has made. The arguments have passed the schema. */
struct hocket_tool_call {
    uint64_t id;
    const char *tool, *agent;
    const char *args; /* a JSON object */
    size_t args_len;
};

typedef void (*hocket_tool_cb)(hocket_host *host, const struct hocket_tool_call *call, void *ud);
typedef void (*hocket_tool_cancel_cb)(hocket_host *host, uint64_t call, void *ud);

/* Registers a tool. `on_call` runs on the host's thread inside of
 * hocket_pump, and answers with hocket_tool_answer, at once or later. `on_cancel` (may be NULL)
 * says, there too, that a call needs no answer any more. EINVAL (also a bad schema), EEXIST,
 * ENOMEM. */
HOCKET_API int hocket_tool_add(hocket_host *host, const struct hocket_tool_spec *spec,
    hocket_tool_cb on_call, hocket_tool_cancel_cb on_cancel, void *ud, struct hocket_error *err);

/* Takes a tool back: none of its functions is called any more, so that what `ud` points to may go.
 * Calls that are open end, and agents that make one later hear, that the program has taken it back.
 * Agents that name it in `tools:` begin no run any more, until there is one of that name again.
 * May be called from inside of a callback. EINVAL, ENOTFOUND, ENOMEM. */
HOCKET_API int hocket_tool_remove(hocket_host *host, const char *name, struct hocket_error *err);

/* Answers a call, once: with a text for the model (status 0), or with an error code and words for
 * the model. len 0: strlen. May be called from any thread until hocket_close is called, and wakes
 * the host; the allocator is then called from that thread. ENOTFOUND when the call is not open.
 * ELIMIT when the text is longer than hocket_options.max_message: the call is answered all the same, with
 * an error that says so. */
HOCKET_API int hocket_tool_answer(
    hocket_host *host, uint64_t call, int status, const char *text, size_t len);

/* ---- Statistics ----------------------------------------------------------- */

struct hocket_host_stats {
    size_t size;   /* to be set to sizeof(struct hocket_host_stats); then: what of it was filled */
    uint64_t runs; /* that go on */
    uint64_t runs_ended;
    uint64_t events;                     /* that were told */
    size_t fibers, requests, tool_calls; /* under way */
    size_t lua_bytes;                    /* of the Lua state, all of its program included */
};

/* EINVAL when size is not set. What a newer program asks for that this library does not know is zero, and
 * not within the size. */
HOCKET_API int hocket_stats(hocket_host *host, struct hocket_host_stats *out);

/* ---- Programs of tools --------------------------------------------------- */

/* Tools that run programs start them through a process beside the host's (hocket_options.launcher):
 * it builds the sandbox, ends whole process trees, and ends them too when the host dies. An
 * embedding program may name itself as the launcher when its main begins with
 *
 *     hocket_launcher_main(argc, argv);
 *
 * which returns at once, unless this process was started as a launcher: then it does that work and
 * ends the process. Call it before anything opens a file, starts a thread or parses arguments. */
HOCKET_API void hocket_launcher_main(int argc, char **argv);

/* ---- Servers, an optional component --------------------------------------- */

/* Makes available in a host what stands in the library hocket-serve: `sim` models, and the operations "sim", "faults", "serve",
 * "mcp_serve", "acp", "mcp", "doctor", "models" and "new"; without it these end with EUNSUPPORTED. The library needs no other than
 * hocket itself does. */
HOCKET_API int hocket_serve_attach(hocket_host *host, struct hocket_error *err);

/* ---- JSON, for reading events and results -------------------------------- */

/* Parses strictly (RFC 8259, depth at most 256). Free with hocket_json_free. */
HOCKET_API hocket_json *hocket_json_parse(const char *text, size_t len, struct hocket_error *err);
HOCKET_API void hocket_json_free(hocket_json *root);

/* A member by its exact name, an element by its index; NULL when absent. The
 * result belongs to the root. All of these accept NULL and pass it on. */
HOCKET_API const hocket_json *hocket_json_get(const hocket_json *object, const char *name);
HOCKET_API const hocket_json *hocket_json_at(const hocket_json *array, size_t index);
HOCKET_API size_t hocket_json_count(const hocket_json *array_or_object);
/* The text of a string (`len` may be NULL), or `otherwise`. */
HOCKET_API const char *hocket_json_text(const hocket_json *v, const char *otherwise, size_t *len);
HOCKET_API int64_t hocket_json_int(const hocket_json *v, int64_t otherwise);
HOCKET_API double hocket_json_number(const hocket_json *v, double otherwise);
HOCKET_API bool hocket_json_bool(const hocket_json *v, bool otherwise);

/* What a value is, its children one after the other, and the name of an object's member ("" and 0
 * for others; `len` may be NULL). NULL is null and has no children. */
enum hocket_json_type {
    HOCKET_JSON_NULL,
    HOCKET_JSON_BOOL,
    HOCKET_JSON_NUMBER,
    HOCKET_JSON_STRING,
    HOCKET_JSON_ARRAY,
    HOCKET_JSON_OBJECT
};
HOCKET_API enum hocket_json_type hocket_json_kind(const hocket_json *v);
HOCKET_API const hocket_json *hocket_json_first(const hocket_json *array_or_object);
HOCKET_API const hocket_json *hocket_json_next(const hocket_json *child);
HOCKET_API const char *hocket_json_name(const hocket_json *member, size_t *len);

/* ---- Version ------------------------------------------------------------- */

/* "0.1.0", and one line with the versions of the libraries that it was built with. */
HOCKET_API const char *hocket_version(void);
HOCKET_API const char *hocket_build_info(void);

#ifdef __cplusplus
}
#endif
