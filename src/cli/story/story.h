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
