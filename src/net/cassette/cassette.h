/* A cassette: the model exchanges of a run, recorded to be replayed without a network. It stands
 * between a request and what sends it, as a transport (net/transport.h):
 *
 *     start, cancel ──> recording ──> the transport below ──┐   lines of JSON
 *                           └─ what comes ──────────────────┼─> (written as it happens)
 *                                                           │
 *     head, headers, data, done <───────────────────────────┴─ playing <── the same lines
 *
 * so a replay goes through the very decoder that read the answer first. The lines:
 *
 *     {"cassette":1,"made_by":"hocket 0.1.0","time":1795300512,"seed":"…"}
 *     {"request":1,"at":10,"url":"https://…","to":"openai","method":"POST",
 *      "path":"/chat/completions","body":{…}}
 *     {"answer":1,"at":420,"round":9,"connect_us":…,"first_us":…,"total_us":…,"status":200,
 *      "headers":[["name","value"],…],"body":[[310,"data: …"],…],"error":{…}}
 *                                                error: only where the transfer failed
 *     {"cancelled":2,"at":430,…as answer…}            by the program, with what had come
 *     {"fact":"…","value":…}                     what else a replay has to know
 *
 * Times are in milliseconds: since the beginning, and in a body since its request was made.
 *
 * No key is written: no request header is, and in all texts keys are masked. Bytes that are not
 * UTF-8 stand as {"hex":"…"}.
 *
 * A replay finds a request's answer by its content (whom it goes to, path, body); equal requests
 * are answered in the order in which they were recorded. Answers come at once, but in recorded
 * order: one is held back until whatever the program did before it has happened again (a request
 * made, a call cancelled), or is late. So what runs side by side meets in the same order as it
 * did, and asks the same. The first request that was not recorded ends the replay: it, and
 * every further one, fails with HOCKET_EREPLAY, which says what is different. */
#pragma once

#include "base/status.h"
#include "net/deadline.h"
#include "net/http/http.h"
#include "net/transport.h"

struct hocket__cassette;

struct hocket__cassette_options {
    const struct hocket_allocator *alloc;
    struct hocket__deadlines *deadlines; /* replays run on it; has to outlive the cassette's use */
    struct hocket__transport *below;     /* recording: what answers; has to outlive it, too */
    const char *name;                    /* for messages: the file's */
    int64_t wall_ms;                     /* recording: now, since 1970 … */
    uint64_t seed[2];                    /* … and 128 random bits */
    const uint64_t *rounds; /* counts how often the program has run; what ends within one round is
                             * handed over together in a replay, too. NULL: always one by one */
    /* Recording: one line, with its end, to the file. A failure ends the recording and is
     * reported by hocket__cassette_status; the run goes on. */
    int (*write)(void *ud, struct hocket__str line, struct hocket_error *err);
    void *ud;
};

/* 0, ENOMEM, or what `write` gave for the first line. */
int hocket__cassette_record(const struct hocket__cassette_options *o, struct hocket__cassette **out,
    struct hocket_error *err);
/* `text` is the file, and is copied. EPARSE with the line when it is no cassette; a last line
 * that was cut is passed over. */
int hocket__cassette_replay(const struct hocket__cassette_options *o, struct hocket__str text,
    struct hocket__cassette **out, struct hocket_error *err);
/* Ends it: what is under way is recorded as cancelled and goes on unrecorded; nothing can be
 * started any more. */
void hocket__cassette_close(struct hocket__cassette *c);
/* Only when nothing started on it is under way. */
void hocket__cassette_free(struct hocket__cassette *c);

/* What requests go through, as long as the cassette lives; offline when it replays. A start fails
 * with EREPLAY and ESTATE, too. */
struct hocket__transport *hocket__cassette_transport(struct hocket__cassette *c);

/* Never to be written, wherever it comes up from now on. 0 or ENOMEM. */
int hocket__cassette_secret(struct hocket__cassette *c, struct hocket__str secret);

/* A fact that decides what the run does (which model was chosen), as JSON. Recording: notes it.
 * In a replay hocket__cassette_recall_fact gives the first of that name; false: none was noted. */
void hocket__cassette_note_fact(
    struct hocket__cassette *c, struct hocket__str name, struct hocket__str json);
bool hocket__cassette_recall_fact(
    const struct hocket__cassette *c, struct hocket__str name, struct hocket__str *json);

/* A number that looks random and is the same in the replay: it depends on the recording, and
 * on `about`. */
uint64_t hocket__cassette_random(const struct hocket__cassette *c, struct hocket__str about);

/* How it went so far: 0, or what ended the recording or the replay (EREPLAY). */
int hocket__cassette_status(const struct hocket__cassette *c, struct hocket_error *err);
/* Of a recording: how many requests were made, and how many of them are not in it with their end;
 * final when it is closed. */
uint64_t hocket__cassette_missing(const struct hocket__cassette *c, uint64_t *of);
/* In a replay: recorded requests that nobody has made, other than cancelled ones; and the
 * first of them in a few words in *first (may be NULL). */
size_t hocket__cassette_unused(const struct hocket__cassette *c, struct hocket__buf *first);
