/* The host of the command line: opened with this process's environment and log, and the short
 * operations that are called, waited for and answered. */
#pragma once

#include <hocket/hocket.h>

#include "cli/buf.h"
#include "cli/screen.h"

/* For a command that is going to ask models, before it opens its host: begins to load libcurl on a thread beside. The linker
 * puts some thirty libraries together for it, which is a third of the time to the first request. What fails there the library
 * says when it needs it. */
void cli_host_early_http(void);
/* The host, or NULL after having said why, with the exit code in *code: a machine that has no memory or
 * descriptors left says nothing of any agent. `screen` (may be NULL) gets what is logged. */
hocket_host *cli_host_open(struct cli_screen *screen, int *code);
/* The same for a host that keeps runs: of *store (cli/store.h) what it says of the store is taken, and
 * output_cb. */
hocket_host *cli_host_open_store(
    struct cli_screen *screen, const struct hocket_options *store, int *code);
/* Lets `hocket attach` in under a name ("-": the process's number; NULL: not at all). CLI_EXIT_DONE, or the exit code
 * after having said why not. */
int cli_host_offer(hocket_host *host, const char *command, const char *name);
/* Lets the host's runs be told of, where the environment says to whom (docs/guides/observability.md); what is wrong with that is said, and ends
 * nothing. Before the first run; once in a process. cli_host_close sends the rest, for a moment at most. */
void cli_host_telemetry(hocket_host *host, struct cli_screen *screen);
/* For the end of the program: no host is used after it. */
void cli_host_close(hocket_host *host);

/* How an operation ended: a copy of its hocket_result. */
struct cli_result {
    bool done;
    int status;
    struct cli_buf text, json, message; /* message: what went wrong, in full */
};

/* Fill it: from an on_done callback, from a start that failed. */
void cli_result_set(struct cli_result *r, const struct hocket_result *from);
void cli_result_fail(struct cli_result *r, const struct hocket_error *err);
void cli_result_free(struct cli_result *r);
/* "hocket COMMAND: message" on stderr, or "error: message" where command is NULL. The message may hold words of a model, a server or a file: they are shown and never obeyed. */
void cli_result_complain(const struct cli_result *r, const char *command);

/* Whether the policies of this machine and user can be read: CLI_EXIT_DONE, or the exit code, after having said why not. */
int cli_host_check_policy(void);
/* They are read again: one that cannot be read is said, and those from before stay. */
void cli_host_policy_again(hocket_host *host);

/* Opens a host, runs one operation to its end, closes it. Returns its status. */
int cli_host_call(const char *name, const char *args_json, struct cli_result *out);
/* The same in a host that keeps runs (cli_host_open_store). */
int cli_host_call_store(const char *name, const char *args_json, const struct hocket_options *store,
    struct cli_result *out);

/* In a host that is open: the operation goes on until it ends, or a signal comes, which cancels it. `on_event` may be NULL. */
void cli_host_serve(hocket_host *host, const char *name, const char *args_json,
    hocket_event_cb on_event, void *ud, struct cli_result *out);

/* A command whose operation serves a client on standard input and output. */
struct cli_served {
    const char *command, *operation, *offer; /* offer: see cli_host_offer */
    struct hocket_options store;             /* see cli_host_open_store */
    struct cli_buf args;                     /* of the operation, JSON */
    hocket_event_cb on_event;                /* or NULL */
    void *ud;
};

/* Opens a host for it, and serves until the client's input ends or a signal comes. Returns the exit code, after having said what went
 * wrong. */
int cli_host_serve_stdin(const struct cli_served *s);

/* For a command that is one operation: its text on stdout, or with `json` its result; what went
 * wrong on stderr. Returns the exit code. */
int cli_host_answer(const char *name, const char *args_json, bool json);
