/* Questions of a run, put to a person one after the other: clarifications, plans, permission to call a tool. Events
 * fill a queue; an answer goes back by the question's id.
 *
 *     question_asked, approval_requested ──▶ queue ──▶ screen, reader ──▶ hocket_run_answer
 *     …_answered, by whatever else ────────▶ leaves the queue
 *
 * While a question stands the live view steps aside, and what others say waits for the answer. */
#pragma once

#include "cli/ask/reader.h"
#include "cli/screen.h"

/* How long an answer of the store takes at most to arrive in a run that was resumed, in seconds. */
#define CLI_ASK_GRACE 0.4

struct cli_question;

struct cli_asker {
    hocket_host *host;
    struct cli_screen *screen;
    struct cli_reader *reader;
    struct cli_question *first;
    uint64_t run;
    double
        grace; /* seconds before a question is put: of a resumed run the store may have the answer */
    bool (*left)(
        void *ud); /* no more input comes: whether what is asked stays open. NULL: it does not */
    void *ud;
};

void cli_asker_start(
    struct cli_asker *a, hocket_host *host, struct cli_screen *screen, struct cli_reader *reader);
void cli_asker_end(struct cli_asker *a);

void cli_asker_event(struct cli_asker *a, uint64_t run, const struct hocket_event *event);

/* How many are open; whether the first one is to be put now; whether the question on the screen is still wanted. */
size_t cli_asker_open(const struct cli_asker *a);
bool cli_asker_due(const struct cli_asker *a);
bool cli_asker_wanted(const struct cli_asker *a);

/* Asks the first one and hands its answer over. No answer (Ctrl-D) is sent as such, unless the question stays
 * open. */
void cli_asker_ask(struct cli_asker *a);

struct cli_result;

/* Calls an operation of the host, until it has ended or a signal has cancelled it. Where a `person` is at the terminal, they are
 * asked what it asks. */
void cli_ask_call(hocket_host *host, struct cli_screen *screen, bool person, const char *operation,
    const char *args, struct cli_result *result);
