/* hocket: a runtime for teams of LLM agents.
 *
 * This is the whole public C interface. A host owns a Lua state, an event
 * loop, the transport and its runs. The embedder decides when it works:
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
 *   of the program's: also from that loop), when no Lua code runs. They may call every function except hocket_pump,
 *   hocket_wait and hocket_event_next, which return HOCKET_ECALLBACK there. hocket_close takes effect after they
 *   have returned.
 * - A C++ exception (or pthread_exit) may leave them and passes through hocket_pump, hocket_wait
 *   and hocket_close. The host then behaves as if the callback had returned; the next hocket_pump or
 *   hocket_close continues a close.
 * - longjmp may leave them, and so may a Lua error of the program. Call hocket_callback_left afterwards.
 *   Until then hocket_pump returns HOCKET_ECALLBACK.
 * - Neither is allowed where the program's own libuv loop has made the call: libuv survives neither.
 * - on_closed is called last. The host is gone; it may do anything.
 * - log_cb, getenv_cb, secret_cb, wakeup_cb, output_cb and the allocator are called in the middle of hocket's work. They
 *   call no function of this header, and they return.
 * A callback that is left in any other way makes its host unusable: every function returns HOCKET_ECALLBACK, and
 * its memory and sockets stay until the process ends.
 *
 * What may grow: functions, and members at the end of the structures below. Nothing else changes
 * under one name of the library (libhocket.so.0).
 * - A structure that the program fills begins with `size`, its sizeof. It tells a newer library which members
 *   exist. Zero means the default for every other member, now and in later versions. An older library accepts the
 *   structure while the members that it does not know are zero (EINVAL otherwise).
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

/* Reports that hocket_pump has new work, for a program whose loop cannot watch a descriptor.
 * hocket's own thread calls it, and so does a thread that calls hocket_tool_answer. It has to be quick and must
 * not call functions of this header: let it post a message to the program's own loop, or set a flag.
 * One call may stand for several pieces of work. Ask hocket_backend_timeout after each pump for work that becomes
 * due later. Only pumping notices the sockets of the host's own thread (without thread mode: all sockets). */
typedef void (*hocket_wakeup_cb)(void *ud);

/* What a script prints, as it prints it, with the line end. Its event "output" comes as well, when no Lua runs. */
typedef void (*hocket_output_cb)(const char *text, size_t text_len, void *ud);

/* A policy of the machine's owner (docs/guides/guardrails.md): what no run of the host may exceed, whatever its options say. */
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
    /* Where runs are kept, so that they go on after the end of the process (docs/guides/durable-execution.md): a file's path, a
     * postgres:// URL, "memory" (as long as the host lives), or NULL: nowhere. A file needs libhocket-store, a URL
     * libhocket-postgres. */
    const char *store;
    const char *
        durability; /* "normal" (NULL) or "full": whether what is kept survives a loss of power as well */
    int store_days; /* runs that ended longer ago are removed; 0: never */
    /* Not 0: log_cb reports a store that cannot be used, and runs continue without it. 0: runs end with its error, and
     * hocket_open fails where the path is a folder. */
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

/* Does what the first run would have to do: reads hocket's scripts, and loads libcurl. Some 15 ms of CPU, once: for a loading
 * screen, so that no pump has to do it. (With the option `thread` hocket_open has read the scripts already.)
 * Fails with EUNSUPPORTED (there is no libcurl: hosts without models work), ENOMEM, ECALLBACK. */
HOCKET_API int hocket_prepare(hocket_host *host, struct hocket_error *err);

/* Replaces the host's policies. New restrictions bind all runs at once; what they additionally allow holds for runs that begin
 * later. If one cannot be read (EINVAL), the former policies stay. Also fails with ENOMEM, ECALLBACK. */
HOCKET_API int hocket_set_policies(hocket_host *host, const struct hocket_policy *policies,
    size_t n_policies, struct hocket_error *err);

/* Does the work that is ready, for about `budget_us` microseconds at most (0: one round), without
 * blocking. Returns 1 while work is left (also work that waits for the network), 0 when the host is
 * idle, or a negative code. ECALLBACK: called inside of a callback. ESTATE: this process was forked
 * after the host had begun to work. */
HOCKET_API int hocket_pump(hocket_host *host, int64_t budget_us);

/* Blocks until something can be done, or until `timeout_ms` passed (-1: no limit), then pumps once.
 * For programs without a loop of their own. It does not block when the host has become idle since the
 * last call (the last result was taken by hocket_event_next), but answers 0. */
HOCKET_API int hocket_wait(hocket_host *host, int timeout_ms);

/* Makes a hocket_wait that sleeps return. May be called from any thread and from a signal
 * handler, until hocket_close is called. */
HOCKET_API void hocket_wakeup(hocket_host *host);

/* Tells the host that longjmp has left one of its callbacks, which will not return. Do not call it inside a callback.
 * Returns 0, and the host continues as if the callback had returned. ESTATE when no callback was left, and when the host is
 * unusable (see above). */
HOCKET_API int hocket_callback_left(hocket_host *host);

/* Interrupts Lua code that runs without ever waiting, which nothing else can end: the running code gets an
 * error with the code "cancelled". Returns 1; or 0, without effect, when no Lua code of the host's agents and
 * scripts is running. Code that catches the error continues. The error does not reach code in coroutines that a
 * script made itself. Call it from a signal handler on the thread that pumps (such as that of a watchdog timer),
 * or from a hook or an allocator there; not from other threads. */
HOCKET_API int hocket_break(hocket_host *host);

/* Returns 1 while Lua code runs whose run has a time limit (the option `timeout`) and time left; else 0. For a watchdog that calls
 * hocket_break, in the same places. A limit counts only work, so the start of a run says little about the time that is left. */
HOCKET_API int hocket_has_time(hocket_host *host);

/* A descriptor that becomes readable when hocket_pump has something to do, and how many milliseconds a poll may
 * sleep. 0: there is work now, or hocket_pump was never called. -1: for ever, since only the descriptor can
 * report work. A host without work (before a run, after it, while a conversation waits for its next input)
 * returns -1. A later hocket_pump closes unused connections: they are no reason to wake up. */
HOCKET_API int hocket_backend_fd(hocket_host *host);
HOCKET_API int hocket_backend_timeout(hocket_host *host);

/* On Windows, where hocket_backend_fd is -1: a HANDLE of an event that is set when hocket_pump has something to do, for
 * WaitForMultipleObjects and its like, with hocket_backend_timeout as the limit. The event resets itself when a wait ends; call
 * hocket_pump then. The first call starts a thread, which hocket_close ends: it only waits and sets the event.
 * NULL on other systems, on an embedder's loop, and without memory. Do not close the handle. */
HOCKET_API void *hocket_backend_handle(hocket_host *host);

typedef void (*hocket_closed_cb)(void *ud);

/* Cancels all runs (their on_done callbacks run with HOCKET_ECANCELLED), closes
 * all sockets and frees the host. With the host's own loop this completes
 * before it returns; on an embedder's loop `on_closed` (may be NULL) runs from
 * that loop, after which the host uses nothing of it. No run can be started
 * any more. Inside a callback the call only requests the end: the hocket_pump or
 * hocket_wait that made the callback closes the host and returns 0; an embedder's
 * loop does so by itself. A second call is ignored while the host exists.
 * In a forked child, a host without runs that has made no calls works; any other can
 * only be closed. Its runs end there with HOCKET_ECANCELLED. Its other resources stay until that
 * process ends, because the parent uses them as well; the parent's runs continue. */
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

/* One event, as one JSON object (see docs/reference/events.md). */
struct hocket_event {
    uint64_t seq;     /* without gaps, from 1, per run */
    const char *type; /* "task_updated" */
    const char *json; /* the whole object, without a line end */
    size_t json_len;
    uint64_t run;
    const struct hocket_result *result; /* only in a run's last event from hocket_event_next */
    /* Of a "model_delta", so that nothing has to be parsed; NULL and 0 otherwise. */
    const char *agent, *kind, *text;
    size_t text_len;
    bool again; /* in a resumed run: an earlier process reported this event already */
};

/* With hocket_run_spec.deltas (or the option {"deltas": true}) a run also reports the text of its streams, as events of the type
 * "model_delta" with "agent", "op", "kind" ("text" or "reasoning") and "text". Their seq is 0: they
 * are not records. Text of one agent that arrived since the last call comes as one event, so
 * a slow host gets longer pieces and not more of them. */

typedef void (*hocket_event_cb)(
    hocket_host *host, uint64_t run, const struct hocket_event *event, void *ud);
typedef void (*hocket_done_cb)(
    hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud);

struct hocket_run_spec {
    size_t size;         /* sizeof(struct hocket_run_spec) */
    const char *target;  /* a script.lua, an agent.md, or a directory with agents */
    const char *input;   /* UTF-8; may be NULL */
    size_t input_len;    /* 0 with a non-NULL input: strlen */
    const char *options; /* a JSON object of run options (docs/reference/commands.md), or NULL */
    int priority; /* -100 … 100: whose agents begin first, where not all may work at once */
    int deltas;   /* not 0: report the text of its streams as it arrives */
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
 * directory. Runs ask the hooks.lua of the directory; of a folder "agents" that of the project above it, which is taken
 * along with its modules (EAGENT where another file has the name of one). */
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

/* The name of a run, unique everywhere: "run" in its events and its result, and its id in the store. Valid until the run's
 * end was reported. NULL for an unknown id, and while the store looks for a run that is resumed. */
HOCKET_API const char *hocket_run_name(hocket_host *host, uint64_t id);

/* Resumes a run of the host's store (hocket_options.store) that has not ended: one that was cut off, is parked, or waits.
 * `name` may be shortened while it is unique. The run replays its log without asking a model, a tool or a person, reports its
 * events from the first one on, and continues live at the end of the log.
 *
 * `options`: NULL, or a JSON object with options that replace the run's own: "interactive", "park", "deltas", "trust" and "lazy".
 * - "trust": true lets code run that the run brings (scripts, providers.yaml, MCP servers) and that differs from what this
 *   program has at the same path or in the same buffer. Without it on_done gets EDENIED, and the run stays as it was. Runs
 *   that began in this process's memory or, with "consent", by this user need no trust.
 * - Permissions from the run's beginning do not hold: "approve", "sandbox", "network", "trust" and "workdir" in `options`, or
 *   the defaults, apply. What was forbidden stays forbidden, and the smaller of two limits holds
 *   (docs/guides/durable-execution.md).
 * - With "lazy": true a run that waits for an answer, an input or a signal stays suspended. Until a message for it arrives,
 *   only one event is reported (docs/reference/events.md), and the run is not read. The store keeps an answer or a signal (ELIMIT:
 *   too much waits to be written), and the run takes it after it woke up. Every other request wakes the run and returns ESTATE.
 *
 * on_done reports failures: ENOTFOUND; ESTATE (it has ended, a running process has it, or another one has taken it over);
 * EREPLAY (its files or this program do something else than they did). */
HOCKET_API int hocket_run_resume(hocket_host *host, const char *name, const char *options,
    uint64_t *id, hocket_event_cb on_event, hocket_done_cb on_done, void *ud,
    struct hocket_error *err);

/* Replays a run of the store from its log alone: asks no model, tool or person, and writes nothing. Compares each event with
 * the stored one, byte by byte. Its scripts run again: `options` is NULL, or a JSON object with "trust", as of
 * hocket_run_resume. on_done gets the run's result; EPARKED when the log ends before the run does; EREPLAY, with the
 * first difference, when the replay differs. */
HOCKET_API int hocket_run_replay(hocket_host *host, const char *name, const char *options,
    uint64_t *id, hocket_event_cb on_event, hocket_done_cb on_done, void *ud,
    struct hocket_error *err);

/* Parks a durable run: it stops here and can be resumed from where it is, in this process or another one. Calls that
 * are under way are cancelled, and made again after the resume. on_done gets HOCKET_EPARKED. A run
 * with the option {"park": true} parks by itself once it waits only for a person (a question, a plan,
 * an approval), a signal, or a time of day more than a minute away. If the store cannot write now and has nothing of
 * the run yet, on_done gets that error. ENOTFOUND when there is no such run, ESTATE when it is not durable. */
HOCKET_API int hocket_run_park(hocket_host *host, uint64_t id);

/* The same, but calls that are under way end first: the run begins no call of a model or a tool any more, and parks when
 * none is left. So a resume repeats no call. A run without open calls parks at once. */
HOCKET_API int hocket_run_drain(hocket_host *host, uint64_t id);

/* The same for a run whose user has left: first it takes its messages from the store. From then on it behaves as with the
 * option {"park": true}, and a conversation also parks while it waits for its next input. */
HOCKET_API int hocket_run_leave(hocket_host *host, uint64_t id);

/* ---- Saving (docs/guides/embedding.md) -------------------------------------------------- */

/* What was saved, in one piece that is valid until the callback returns; `error` NULL, or why nothing was. It is called
 * once, from a pump, when hocket_save or hocket_run_save has returned 0. The error is ECANCELLED where the host was closed. */
typedef void (*hocket_save_cb)(
    hocket_host *host, const void *bytes, size_t len, const struct hocket_error *error, void *ud);

/* Saves a durable run (hocket_options.store; "memory" suffices) in its state of one moment before the callback runs. It may
 * wait, be in the middle of a call, or have open questions. The run continues. Saving works within the budgets of the
 * pumps. ENOTFOUND: there is no such run; ESTATE: it has ended (the callback may get this, too) or is not durable;
 * EUNSUPPORTED: the host has no store; ECLOSED, ENOMEM. */
HOCKET_API int hocket_run_save(
    hocket_host *host, uint64_t id, hocket_save_cb cb, void *ud, struct hocket_error *err);

/* The same with all running runs, each at a moment of its own; ESTATE when there is none. */
HOCKET_API int hocket_save(
    hocket_host *host, hocket_save_cb cb, void *ud, struct hocket_error *err);

/* Continues a saved run under a new name, in this process or another one, as hocket_run_resume does. The host needs a
 * store. The run repeats a model call that was under way, and asks an open question again (its event is
 * reported with hocket_event.again). `options` as of hocket_run_resume. A save that does not fit is refused as a whole: EPARSE (damaged, or no save), EUNSUPPORTED (of another hocket, or the host has no store), EINVAL
 * (more than one run), ELIMIT, ENOMEM. A save contains the run's agents and scripts: code in it that is not this program's
 * own needs "trust": true in `options`, else on_done gets EDENIED (as of hocket_run_resume). */
HOCKET_API int hocket_run_load(hocket_host *host, const void *bytes, size_t len,
    const char *options, uint64_t *id, hocket_event_cb on_event, hocket_done_cb on_done, void *ud,
    struct hocket_error *err);

/* The same with all runs of a save. Returns their number; their ids count from *first, in the order in
 * which the runs had begun. `first` may be NULL. */
HOCKET_API int hocket_load(hocket_host *host, const void *bytes, size_t len, const char *options,
    uint64_t *first, hocket_event_cb on_event, hocket_done_cb on_done, void *ud,
    struct hocket_error *err);

/* Cancels a run: its sockets are closed, its agents end, then on_done runs with
 * HOCKET_ECANCELLED. A durable run is cancelled for good, also one that is being read, replayed or suspended: it ends once
 * the store has answered, or in its next process if this one ends before. Unknown or ended ids are ignored and return ENOTFOUND. */
HOCKET_API int hocket_run_cancel(hocket_host *host, uint64_t id);

/* Stops a run: its agents finish the turn that they are in, then each gives one last answer,
 * without tools. on_done gets HOCKET_OK and the result so far; "finish" in its JSON is "stopped".
 * Unknown or ended ids are ignored and return ENOTFOUND. */
HOCKET_API int hocket_run_stop(hocket_host *host, uint64_t id);

/* Answers a question of a run by the id in its event:
 *
 *   question_asked      {"id":"q1","kind":"clarification" or "approval","questions":["…"]}: any text
 *   approval_requested  {"id":"a2","tool":"…","arguments":"…","reason":"…","change":{"path":"…","diff":"…"}
 *                       of one that changes a file,"schema":"…"}: "allow", "deny" (a reason may
 *                       follow), "always" (this tool, for the rest of the run), or "edit" and
 *                       arguments that fit the schema
 *   input_requested     {"id":"i3"}: what the user says next; an empty text ends the conversation
 *
 * Several may be open; answer them in any order. An empty text is no answer: it denies an
 * approval. len 0: strlen. Runs ask only with the option {"interactive": true}; without it a question
 * ends the run (EUNSUPPORTED; the result's text has the question), and calls that need approval are denied.
 * ENOTFOUND when there is no such run, or no such open question in it; EINVAL when the text does
 * not answer the question, which then stays open. */
HOCKET_API int hocket_run_answer(hocket_host *host, uint64_t id, const char *question,
    const char *text, size_t len, struct hocket_error *err);

/* Sends a message to a run, for a hocket.signal(name) in it that waits or will wait. `json` is any JSON value. The run takes
 * messages of one name in their order. ENOTFOUND when there is no such run, or it has not begun. EINVAL for a name that
 * is empty or longer than 128 bytes. EPARSE for text that is no JSON. ELIMIT when 1000 messages wait to be taken. */
HOCKET_API int hocket_run_signal(
    hocket_host *host, uint64_t id, const char *name, const char *json, struct hocket_error *err);

/* Sends a user's message to an agent at work. The agent gets it with its next model call, after the results of its tools; an
 * agent that was about to answer continues instead. `agent`: its name, the end of its path ("lead/writer"), or the id of its operation
 * in events; NULL: the agent that works at the run itself, or the next one. A conversation that waits takes the text as its input.
 * Events: user_message_received, _delivered, and _dropped for a message that no agent got. len 0: strlen. ENOTFOUND: there is no such
 * run, or no such agent at work. ESTATE: the agent has ended. EINVAL: the name fits several agents, or the text is empty or not
 * UTF-8. ELIMIT: over 64 KiB, or 100 messages wait. */
HOCKET_API int hocket_run_say(hocket_host *host, uint64_t id, const char *agent, const char *text,
    size_t len, struct hocket_error *err);

/* A run with the option {"conversation": true} is a conversation: it answers its input (which may
 * be NULL), and then asks for the next with the event input_requested, which hocket_run_answer
 * answers. Each turn ends with the event turn_finished, even one that failed; with "deltas": true
 * its text comes meanwhile. The history stays from turn to turn, and background tasks
 * continue. The result is the last answer. */

/* Cancels the current turn of a conversation, down to its sockets. The conversation then asks for its next input,
 * with a valid transcript. ESTATE when no turn is running, ENOTFOUND when there is no such
 * run. */
HOCKET_API int hocket_run_interrupt(hocket_host *host, uint64_t id, struct hocket_error *err);

/* The usage of each agent in a run so far, as JSON (docs/guides/unattended.md). Free it with hocket_json_free. NULL with
 * *err filled when there is no such run, or memory is out. */
HOCKET_API hocket_json *hocket_run_tree(hocket_host *host, uint64_t id, struct hocket_error *err);

/* Changes options of a running run for agents that start later: a JSON
 * object with any of model, models, variables, max_turns, timeout, priority. {"reload": true} lets a
 * conversation read its agents or its script again before its next turn; the event agent_reloaded
 * reports the changes, agent_reload_failed why nothing changed. EINVAL when one option is not
 * possible: then none is changed. */
HOCKET_API int hocket_run_change(
    hocket_host *host, uint64_t id, const char *options, struct hocket_error *err);

/* ---- Looking into a running host ------------------------------------------ */

/* Lets this process's owner attach to the host with `hocket attach NAME` (docs/guides/observability.md): see its
 * runs, agents, boards and events, and act on them. It listens at $XDG_RUNTIME_DIR/hocket/NAME.sock
 * (mode 0600; the variable comes from getenv_cb) while the host is open. It costs nothing while
 * nobody is attached, and hocket_pump does not count it as work. `name` NULL: the process's
 * number; a path to a socket begins with '/'. `options`: NULL, or a JSON object:
 * {"look":true}: read-only; {"root":"look" or "all"}: also lets root in.
 * A second call with the same name does nothing. EEXIST: a running process has the name;
 * EINVAL, EDENIED (the directory is open to others), ENOMEM. */
HOCKET_API int hocket_offer(
    hocket_host *host, const char *name, const char *options, struct hocket_error *err);

/* Ends an offer (NULL: all of them) and disconnects its clients. ENOTFOUND. */
HOCKET_API int hocket_withdraw(hocket_host *host, const char *name, struct hocket_error *err);

/* The same commands from inside, for a console of the program's own:
 *     hocket_call_start(host, "command", "{\"line\":\"runs\"}", …)
 * answers with {"text":…,"value":…}. "attach" is the client: {"to":"NAME","commands":["runs"]} gives
 * commands to another process's host, {} lists the hosts that can be attached to. */

/* ---- Serving MCP clients --------------------------------------------------- */

/* The operation "mcp_serve" offers agents and tools of the program to other programs (docs/guides/mcp.md):
 *     hocket_call_start(host, "mcp_serve", "{\"targets\":[\"buffer:inn\"],\"tools\":[\"price\"]}", …)
 * over this process's standard input and output, until the input ends or the run is cancelled. With
 * "transport":"events" the program carries the messages: it passes a client's message with hocket_run_answer(host,
 * id, "message", text, …), gets messages to send as events {"type":"mcp_message","text":…}, and ends it with an
 * empty message. With "port" it is an HTTP server. The operation is in hocket-serve (hocket_serve_attach). */

/* ---- Tools -------------------------------------------------------------- */

/* A tool that the program carries out. An agent has it when its file names it in `tools:`, or when
 * the run's option {"tools": ["name"]} gives it to the agent that begins. */
struct hocket_tool_spec {
    size_t size;             /* sizeof(struct hocket_tool_spec) */
    const char *name;        /* 1 to 64 of [A-Za-z0-9_-] */
    const char *description; /* for the model */
    const char *parameters;  /* JSON Schema of the arguments, an object; NULL: none */
    int64_t timeout_ms;      /* then the model gets an error; 0: no limit */
    uint64_t flags;          /* HOCKET_TOOL_…; 0: none */
};

/* The tool only reads, or a second call does no harm: a call that was open when a save was made, or when the
 * process of a durable run ended, is made again. Without it the model learns that nobody knows whether it was
 * done, and the tool is not called. */
#define HOCKET_TOOL_IDEMPOTENT 1u

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
 * says, there too, that a call needs no answer any more. EINVAL (also a bad schema, an unknown flag),
 * EEXIST, ENOMEM. */
HOCKET_API int hocket_tool_add(hocket_host *host, const struct hocket_tool_spec *spec,
    hocket_tool_cb on_call, hocket_tool_cancel_cb on_cancel, void *ud, struct hocket_error *err);

/* Removes a tool: its functions are not called any more, so `ud` may be freed.
 * Open calls end with an error that says so, and so do later calls of agents that have it.
 * Agents that name it in `tools:` cannot begin a run until a tool of that name exists again.
 * May be called inside a callback. EINVAL, ENOTFOUND, ENOMEM. */
HOCKET_API int hocket_tool_remove(hocket_host *host, const char *name, struct hocket_error *err);

/* Answers a call, once: with a text for the model (status 0), or with an error code and words for
 * the model. len 0: strlen. May be called from any thread until hocket_close is called, and wakes
 * the host; the allocator is then called from that thread. ENOTFOUND when the call is not open.
 * ELIMIT when the text is longer than hocket_options.max_message: the call then ends with
 * that error. */
HOCKET_API int hocket_tool_answer(
    hocket_host *host, uint64_t call, int status, const char *text, size_t len);

/* ---- Hooks --------------------------------------------------------------- */

/* A hook of the program: it is asked before and after what every run does, before the hooks of the run's
 * project (docs/guides/hooks.md). */
struct hocket_hook_spec {
    size_t size;        /* sizeof(struct hocket_hook_spec) */
    const char *name;   /* 1 to 64 of [A-Za-z0-9_-] */
    const char *points; /* "before_tool after_agent": names with spaces between them */
    const char *match;  /* globs of tools, models or agents with spaces between them; NULL: all */
    int64_t timeout_ms; /* 0: 10 seconds. Then a call is denied, or there is a warning after it */
};

/* Registers a hook, for runs that begin from now on. `on_call` gets the event as JSON in `args`, and the hook's name in `tool`.
 * The program answers with hocket_tool_answer, at once or later: with a JSON object ({"deny": "why"},
 * {"arguments": {…}}, {"answer": "…"}, {"context": "…"}), or with "" to let it pass. An answer with an error is a hook
 * that has failed: it denies before a call, and is a warning after it. `on_cancel` as for tools.
 * EINVAL (also an unknown point), EEXIST, ENOMEM. */
HOCKET_API int hocket_hook_add(hocket_host *host, const struct hocket_hook_spec *spec,
    hocket_tool_cb on_call, hocket_tool_cancel_cb on_cancel, void *ud, struct hocket_error *err);

/* Removes a hook: it is not asked any more, so `ud` may be freed. A call that is open has failed.
 * May be called inside a callback. EINVAL, ENOTFOUND, ENOMEM. */
HOCKET_API int hocket_hook_remove(hocket_host *host, const char *name, struct hocket_error *err);

/* ---- Statistics ----------------------------------------------------------- */

struct hocket_host_stats {
    size_t
        size; /* set it to sizeof(struct hocket_host_stats); the call sets it to the bytes that it filled */
    uint64_t runs; /* that have not ended */
    uint64_t runs_ended;
    uint64_t events;                     /* that were reported */
    size_t fibers, requests, tool_calls; /* under way */
    size_t lua_bytes;                    /* of the Lua state, all of its program included */
};

/* EINVAL when size is not set. Members that this library does not know are zero and lie beyond the
 * size that it sets. */
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

/* Adds the contents of the library hocket-serve to a host: `sim` models, and the operations "sim", "faults", "serve",
 * "mcp_serve", "acp", "mcp", "doctor", "models" and "new". Without it these end with EUNSUPPORTED. The library needs no
 * libraries that hocket itself does not need. */
HOCKET_API int hocket_serve_attach(hocket_host *host, struct hocket_error *err);

/* ---- JSON, for reading events and results -------------------------------- */

/* Parses strictly (RFC 8259, depth at most 256). Free with hocket_json_free. */
HOCKET_API hocket_json *hocket_json_parse(const char *text, size_t len, struct hocket_error *err);
HOCKET_API void hocket_json_free(hocket_json *root);

/* A member by its exact name, an element by its index; NULL when absent. The
 * result belongs to the root. The functions below accept NULL and return it. */
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

/* hocket_version returns "0.1.0". hocket_build_info returns one line of JSON, an object with these members:
 *
 *     version      as above
 *     interface    the newest symbol version of this header's functions
 *     store        the version of a store's tables
 *     edition      the version of the built-in prompts and tool sets
 *     static       whether every library is linked in
 *     target, compiler, build, built_with    how it was built, and the versions of libraries
 *
 * Later versions may add members. Both are constants: never NULL, never freed. */
HOCKET_API const char *hocket_version(void);
HOCKET_API const char *hocket_build_info(void);

#ifdef __cplusplus
}
#endif
