/* Shows a run's events on stderr: permanent lines for what matters, rows of the live view for current work. */
#pragma once

#include "cli/progress.h"
#include "cli/screen.h"
#include "cli/view/speech.h"

struct cli_feed {
    struct cli_screen *screen;
    struct cli_progress progress;
    struct cli_speech speech; /* where the run tells text as it comes */
    bool quiet, verbose;
    bool noted_sim;         /* the note on simulated answers was made */
    struct cli_buf reason;  /* of the last agent that failed: said once, however many fail of it */
    struct cli_buf warning; /* held back for a moment: an `error` may say the same */
    double began, warned_at;
};

/* A feed begins as zeros. A later start keeps that the note was made: it is printed once for all runs of --watch. */
void cli_feed_start(struct cli_feed *f, struct cli_screen *screen, bool quiet, bool verbose);
void cli_feed_end(struct cli_feed *f);

void cli_feed_event(struct cli_feed *f, const struct hocket_event *event);
/* The same for one that came at another time of cli_now's clock. */
void cli_feed_event_at(struct cli_feed *f, const struct hocket_event *event, double now);

/* What of an answer was shown while it came stays, where no answer follows. */
void cli_feed_keep(struct cli_feed *f);

/* To be called when the events of one turn are through: writes what was held back for a moment, and draws the
 * view when it is due. */
void cli_feed_turn(struct cli_feed *f);
/* Writes what was held back: before anything else is written than what the feed writes. */
void cli_feed_flush(struct cli_feed *f);
/* Milliseconds until it should be called again; -1: when there are events. `asked`: a question is open. */
int cli_feed_wait_ms(const struct cli_feed *f, bool asked);

/* "4 agents, 19 model calls, 7.2k tokens in, 1.3k out, 4.2 s", from the result's `usage`. Cancelled calls have no
 * reply, and count. `run`: the name of the run, which follows; "": it is not kept. */
void cli_feed_summary(struct cli_feed *f, const hocket_json *usage, const char *run);
/* The same of what the feed has counted itself, for a run that took so long. */
void cli_feed_counted(struct cli_feed *f, double seconds);
