/* Signals. The first SIGINT, SIGTERM or SIGHUP only sets a flag and wakes the host; the run is
 * then cancelled in order. A second one ends the process at once, with the cursor shown again.
 * Code that never waits notices no cancel: it is interrupted after a second, or a quarter of one after its time limit. When
 * it catches that again and again, the process ends without it.
 *
 * SIGPIPE is ignored. SIGHUP stays ignored where it was (nohup). While a live view is on,
 * SIGTSTP shows the cursor before the process stops, and going on redraws the view. */
#pragma once

#include <stdbool.h>

#include <hocket/hocket.h>

void cli_signals_start(hocket_host *host); /* on the thread that pumps */
void cli_signals_end(void);                /* the host is closed next: nothing wakes it any more */

/* The run that begins now ends by itself when it has worked for so many seconds, unless its code never waits; 0: it has ended, or
 * has no such limit. */
void cli_signals_limit(double seconds);

/* For what goes on for long, many runs side by side: from now on code that lets nothing else go on for so many seconds is
 * broken into. The loop says that it has turned, more often than that. */
void cli_signals_watch(unsigned seconds);
void cli_signals_turned(void);

/* From now on SIGINT is a wish of the person, not an end: cli_signal_interrupted tells of it once.
 * A third one that nobody has heard of ends the process at once. */
void cli_signals_soft(void);
bool cli_signal_interrupted(void);

/* From now on a first signal leaves what is at work alone: nothing is broken into. */
void cli_signals_patient(void);

/* From now on SIGHUP ends nothing: it asks to read files again, which cli_signal_reload tells of once. */
void cli_signals_reload(void);
bool cli_signal_reload(void);

/* For a process that becomes another program: from now on SIGINT, SIGTERM and SIGHUP wait, over execve as well, until the
 * program that is there then hears them. */
void cli_signals_hold(void);
void cli_signals_release(void);

int cli_signal_taken(void); /* the first one's number, or 0 */

/* The live view hides the cursor between these. */
void cli_signals_view_on(void);
void cli_signals_view_off(void);
/* Since the last call: the terminal's size changed; the process went on after a stop, and other
 * programs have written since. */
bool cli_signal_resized(void);
bool cli_signal_resumed(void);

/* A process whose stdin, stdout or stderr is closed would open its files in their places, and
 * write its answer into one of them: gives it descriptors that only fail. */
void cli_guard_descriptors(void);
