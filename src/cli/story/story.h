/* A kept run for people: what the operation "show" answers, on stdout.
 *
 *     who worked, with times and costs ── boards ── documents ── what each said and did ── what is open ── the answer */
#pragma once

#include <hocket/hocket.h>

#include "cli/paper.h"

/* `store`: that of --store, for the commands that go on; or NULL. */
void cli_story_print(struct cli_paper *p, const hocket_json *story, const char *store);

/* "cut off", in its tone. */
void cli_story_state(struct cli_paper *p, const char *state);
/* "3 min", "2 h", "5 d". */
void cli_story_age(struct cli_buf *out, double seconds);
/* What a run waits for, and how that is answered; false where nothing is open. `id` is as the person wrote it, with
 * what names its store behind it. */
bool cli_story_open(struct cli_paper *p, const hocket_json *open, const char *id);
/* One of them. */
void cli_story_open_one(struct cli_paper *p, const hocket_json *one, const char *id);

/* ---- how.c: commands that answer what a run waits for, to copy, one to a line ------------------------ */

/* One thing that it waits for. */
struct cli_how {
    const char *run;        /* its id, as commands are to have it */
    const char *id, *where; /* of the question; what stands behind it all (cli_store_hint), or "" */
    const char *signal;     /* the name of a signal, as a word of a command; else NULL */
    bool leave, plan, always;
};

/* One command: `what` is "allow:", "deny:", "always:", "change:", "answer:" or "send:". */
typedef void (*cli_how_cb)(void *ud, const char *what, const char *command);

/* Calls say for each command that answers it. */
void cli_how_to_answer(const struct cli_how *how, cli_how_cb say, void *ud);
