/* Shared by the cassette's files: cassette.c what both modes have and how one is written,
 * load.c reads the file, play.c plays it, diff.c finds out what is
 * different. */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "net/cassette/cassette.h"
#include "net/secrets.h"

/* A recorded exchange. Its texts lie in cassette->text. */
struct hocket__exchange {
    uint64_t number;             /* as the file has it */
    struct hocket__str line;     /* the request's whole line */
    struct hocket__str identity; /* see hocket__cassette_identity */
    struct hocket__str answer;   /* the line of its answer, empty: none */
    bool cancelled;              /* … which is only what came before a cancel */
    enum { HOCKET__UNASKED, HOCKET__ASKED, HOCKET__OVER } state;
    bool missed;                                /* not waited for any more: it was late */
    bool shown;                                 /* what came before the cancel was handed over */
    const struct hocket__http_handler *handler; /* ASKED: whose it is */
    void *ud;
};

/* What happened, in order. */
struct hocket__cassette_event {
    size_t exchange;
    enum { HOCKET__EVENT_REQUEST, HOCKET__EVENT_ANSWER, HOCKET__EVENT_CANCEL } kind;
    uint64_t at;
    int64_t round; /* of an answer; -1: not known */
};

struct hocket__cassette_fact {
    struct hocket__str name, value; /* the name's inside; JSON */
};

struct hocket__cassette {
    struct hocket__transport transport; /* offline: it replays */
    const struct hocket_allocator *a;
    char *name;
    uint64_t seed[2];
    bool closed;
    struct hocket_error status;
    struct hocket__secrets secrets;
    struct hocket__buf scratch;

    /* Recording. */
    struct hocket__transport *below;
    int (*write)(void *ud, struct hocket__str line, struct hocket_error *err);
    void *ud;
    const uint64_t *rounds;              /* or NULL */
    uint64_t began, n_requests, n_ended; /* ended: its last line is written */
    struct hocket__list recordings;
    struct hocket__map by_id;

    /* Replaying. */
    struct hocket__buf text;
    struct hocket__exchange *exchanges;
    size_t n_exchanges, cap_exchanges;
    struct hocket__cassette_event *events;
    size_t n_events, cap_events, next_event;
    struct hocket__cassette_fact *facts;
    size_t n_facts, cap_facts;
    bool cut_off; /* the recording did not end in order */
    struct hocket__deadlines *deadlines;
    struct hocket__deadline turn;
    uint64_t moved; /* when the replay last went on */
    size_t n_asked; /* exchanges that somebody waits for */
};

/* Appends what identifies a request, with secrets masked: "to":…,"method":…,"path":…,"body":… */
int hocket__cassette_identity(
    struct hocket__cassette *c, const struct hocket__http_spec *spec, struct hocket__buf *out);

/* ---- load.c ---- */

int hocket__cassette_load(struct hocket__cassette *c, struct hocket_error *err);

/* ---- play.c ---- */

int64_t hocket__play_start(struct hocket__cassette *c, const struct hocket__http_spec *spec,
    const struct hocket__http_handler *handler, void *ud, struct hocket_error *err);
void hocket__play_cancel(struct hocket__cassette *c, int64_t id);
void hocket__play_turn(struct hocket__deadline *d);
/* Whether the request that was started as `id` was recorded once more, and nobody has made that one yet. */
bool hocket__play_has_another(const struct hocket__cassette *c, int64_t id);

/* ---- diff.c ---- */

/* An exchange that says the same in other words (another order of members, other white space),
 * or NULL with *err saying what is different from the nearest one. ENOMEM as well. */
struct hocket__exchange *hocket__cassette_nearest(
    struct hocket__cassette *c, struct hocket__str identity, struct hocket_error *err);
