/* Permissions: what becomes of one tool call. (agent, tool, arguments, effects, labels) -> allow, ask
 * or deny, with the reason. Pure policy: it knows no tool and does nothing.
 *
 *     base        what the tool's effects and the conversation's labels call for by themselves
 *     layers      rules of the operator, of the run, of each agent on the way to this one
 *     decision    the strictest of all: deny > ask > allow
 *
 * Layers only narrow. What answers an "ask" beforehand is the word of people alone, the operator's and
 * the run's: of two that speak of a call both have to; an agent's file never does. The ask that labels
 * call for is answered only by a rule that names the tool. Protected places no rule reaches, whatever
 * its glob: only what the operator has granted by its path. Opening something for the person is
 * always asked, and so
 * is what people's own rules ask for.
 *
 * Two labels of text matter: whether it may be anybody's words (then programs, requests and changes
 * elsewhere ask, and so do changes of what other programs obey), and whether it may be a secret (then
 * requests ask, unless they go where a person has named). A call that was written as text asks beside
 * anybody's words, whatever it does. Credentials are not read without a question:
 * only a rule of people's that names one answers it beforehand.
 *
 * In one layer the strictest rule that matches holds. A layer that allows a tool for some arguments
 * only, asks for the others, unless its mode allows. */
#pragma once

#include "base/label.h"
#include "base/buf.h"
#include "base/status.h"
#include "base/str.h"

enum hocket__verdict { HOCKET__SILENT, HOCKET__ALLOW, HOCKET__ASK, HOCKET__DENY };

/* What a tool does, as bits. None: a tool of the host's own, which it answers for. */
enum hocket__effect {
    HOCKET__READS = 1,      /* inside of the root */
    HOCKET__WRITES = 2,     /* inside of the root */
    HOCKET__RUNS = 4,       /* programs */
    HOCKET__SENDS = 8,      /* requests to elsewhere */
    HOCKET__OPENS = 16,     /* something in front of the person */
    HOCKET__ELSEWHERE = 32, /* changes something outside of the root */
    HOCKET__FETCHES = 64,   /* gets something from elsewhere, for which it says what it wants */
};

enum hocket__layer { HOCKET__OPERATOR, HOCKET__RUN, HOCKET__AGENT };

struct hocket__permissions;

/* NULL: out of memory. Limits: 64 layers, 4096 rules; past them the functions give ELIMIT. */
struct hocket__permissions *hocket__permission_new(const struct hocket_allocator *a);
void hocket__permission_free(struct hocket__permissions *d);

/* Begins a layer; `name` is for reasons. Rules are added to the last layer begun. `mode` is what
 * becomes of the base's ask: ALLOW lifts it, DENY denies it, ASK and SILENT leave it; only operator
 * and run have one. */
int hocket__permission_layer(struct hocket__permissions *d, enum hocket__layer kind,
    struct hocket__str name, enum hocket__verdict mode);
int hocket__permission_rule(
    struct hocket__permissions *d, enum hocket__verdict verdict, struct hocket__str tool);
/* A condition of the last rule: an argument's glob. All of a rule's conditions have to hold. `name`
 * empty: the call's subject. */
int hocket__permission_when(
    struct hocket__permissions *d, struct hocket__str name, struct hocket__str glob);
/* One more protected place beside those of base/protected.h: a path below the root, with all below
 * it. */
int hocket__permission_protect(struct hocket__permissions *d, struct hocket__str path);
/* A path below the root that is not protected, with all below it: the operator says so. */
int hocket__permission_grant(struct hocket__permissions *d, struct hocket__str path);

/* An argument as text; a list gives one entry for each element. */
enum hocket__permission_kind {
    HOCKET__TEXT,
    HOCKET__PLACE,   /* a path that the call changes */
    HOCKET__READ,    /* a path whose content it shows or takes elsewhere */
    HOCKET__COMMAND, /* a shell's command line */
    HOCKET__URL,     /* the address of a request, put right by the tool */
};

struct hocket__permission_arg {
    struct hocket__str name, value;
    enum hocket__permission_kind kind;
};

struct hocket__permission_call {
    struct hocket__str agent, tool;
    struct hocket__str subject; /* the argument that plain globs are for; may be empty */
    const struct hocket__permission_arg *args;
    size_t n_args;
    unsigned effects, labels;
    bool as_text;    /* the model wrote it as text, as the text that it was given may have it */
    bool known_host; /* what it sends goes where a person has named, and nowhere else */
};

/* ALLOW, ASK or DENY. The reason, one phrase, is appended to *reason. *each_time: what is asked is to
 * be asked each time, whatever a person has answered before: it opens something, may hold keys, or
 * people's rules want it so. */
enum hocket__verdict hocket__permission_decide(const struct hocket__permissions *d,
    const struct hocket__permission_call *call, bool *each_time, struct hocket__buf *reason);

/* The program that the glob of a rule for commands spells out, and whose forms are not known; empty where there is none, or no
 * star. */
struct hocket__str hocket__command_unknown(struct hocket__str glob);

/* Whether a glob matches a whole text: '*' any bytes (also '/'), '?' one character, '\' takes the
 * next byte as it is. Linear in text times stars; ASCII case matters. */
bool hocket__permission_glob(struct hocket__str glob, struct hocket__str text);
