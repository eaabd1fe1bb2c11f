/* Resuming runs of the store: finding them (kept.c), choosing a conversation (choose.c), and what is printed about
 * a run that waits (parked.c). */
#pragma once

#include <hocket/hocket.h>

#include "cli/buf.h"
#include "cli/run_args/run_args.h"
#include "cli/screen.h"

/* Asks the operation "resumable" (`wish`: its arguments). Returns CLI_GO_ON with its result in *runs, to
 * free with hocket_json_free; or the exit code, after having said why. */
int cli_kept_find(const struct cli_run_args *args, const char *wish, hocket_json **runs);
/* The id of the run that a person names: "last" and "last:TARGET" are looked up, all else is one as it stands. CLI_GO_ON, or the exit
 * code, after having said why. */
int cli_kept_named(const char *command, const char *store, const char *word, struct cli_buf *id);
/* Goes to the directory in which it was begun, and asks whether its code may run (cli_admit). CLI_GO_ON or an exit code. */
int cli_kept_place(const struct cli_run_args *args, const hocket_json *run);

/* A conversation: args->resume names one, is "" (the one that was left last) or "?" (a person chooses from a list). Puts
 * its name into *id, where args->resume then points, and goes to its directory. CLI_GO_ON, or the exit code. */
int cli_kept_choose(struct cli_run_args *args, struct cli_buf *id);

/* What a run waits for that nobody is there to answer. */
struct cli_parked {
    char run[32]; /* its name; "" until it has told something */
    struct cli_parked_one {
        char id[24];
        bool leave, plan;            /* a tool's call, or a plan: allowed or denied */
        bool always;                 /* and so each time */
        struct cli_buf line, signal; /* signal: the name of what it waits for; else empty */
    } * list;                        /* what is open */
    size_t count, cap;
    size_t calls;     /* agents that work in runs of their own */
    const char *ping; /* the URL of --ping, which the printed `hocket resume` repeats; or NULL */
};

void cli_parked_event(struct cli_parked *p, const struct hocket_event *e);
/* Says what is open, and the command that answers and goes on. `store`: that of --store, or NULL. `why`: what is said where
 * nothing is open, or NULL. */
void cli_parked_say(
    struct cli_parked *p, struct cli_screen *screen, const char *store, const char *why);
void cli_parked_free(struct cli_parked *p);

/* On a terminal, without `trust`: asks whether the code of a run that somebody else has begun may run. `store`: that of --store, or
 * NULL. CLI_GO_ON, also where nobody can be asked (the run itself says then what it lacks); or the exit code, after having said why. */
int cli_admit(const char *command, const char *store, const char *id, bool trust);
