/* `hocket chat`: what its parts share.
 *
 *     chat.c            arguments, the loop: ask, read a line, or wait for the run
 *     show.c            events of the run: text as it comes, tool lines, the answer
 *     commands.c        /help and the others
 *
 * The conversation is one run. A line is an answer to its event input_requested; everything else
 * of it is the same as with `hocket run`. */
#pragma once

#include "cli/ask/ask.h"
#include "cli/view/view.h"
#include "cli/host/host.h"
#include "cli/kept/kept.h"
#include "cli/markdown/markdown.h"
#include "cli/run_args/run_args.h"
#include "cli/sink.h"

/* What a command waits for: an event that says how it went. */
enum cli_chat_work { CLI_CHAT_IDLE, CLI_CHAT_RELOADS, CLI_CHAT_CHANGES };

enum cli_chat_leave {
    CLI_CHAT_STAYS,
    CLI_CHAT_LEAVES,
    CLI_CHAT_CUTS /* in the middle of a turn, which continues later */
};

struct cli_chat {
    struct cli_run_args args;
    struct cli_screen screen;
    struct cli_feed feed;
    struct cli_reader reader;
    struct cli_asker asker;
    struct cli_sink *sink;
    struct cli_result result;
    hocket_host *host;
    uint64_t run;
    bool terminal; /* a person sits there */
    bool events_on_stdout;
    char input_id[24]; /* of the input that the run waits for; "" during a turn */
    bool prompting;    /* it is being read now */
    bool begun;        /* and continues a line before */
    bool cleared;      /* Ctrl-C took back the line that was being typed */
    bool warned;       /* that one more Ctrl-C leaves */
    bool interrupted;  /* the current turn */
    enum cli_chat_leave leaving;
    enum cli_chat_work working;    /* a change is one of what was said so far: /compact, /clear */
    bool again;                    /* the event was also reported in an earlier life of the run */
    struct cli_buf said, answered; /* last; answered: in an earlier life */
    bool left;                     /* no more lines come: it is put away where it waits for one */
    struct cli_parked parked;      /* what is open then */
    char name[32];                 /* of the run, when it is left */
    int status;                    /* of the last turn */

    struct {
        struct cli_markdown markdown;
        size_t shown, row, column; /* of its tail: bytes on the screen, and where the cursor is */
    } stream;
    struct cli_voice voice;    /* whose text is shown while it comes */
    struct cli_buf transcript; /* for /save: Markdown */
    hocket_json *late;         /* the event turn_finished that came while a question was asked */
    hocket_json *started;      /* the event conversation_started, or agent_reloaded since */
    char model[80];            /* that answered last */
    char speaker[72];          /* and the agent */
    long long turns, calls, input, output;
    double cost, seconds;
    bool cost_known;
};

/* Says a text to the conversation, which waits for it. */
void cli_chat_answer(struct cli_chat *c, const char *text, size_t n);

static inline void cli_chat_leave(struct cli_chat *c)
{
    if (c->leaving == CLI_CHAT_STAYS)
        c->leaving = CLI_CHAT_LEAVES;
}

/* show.c */
void cli_chat_event(struct cli_chat *c, const struct hocket_event *event);
void cli_chat_late(struct cli_chat *c);
void cli_chat_left_off(struct cli_chat *c);

/* commands.c: a line that begins with '/'. */
void cli_chat_command(struct cli_chat *c, const char *line);
void cli_chat_help_text(struct cli_buf *out);
