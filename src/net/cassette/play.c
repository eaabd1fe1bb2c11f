/* Playing. The recorded events are gone through in order; `next_event` is the first that has not
 * happened again:
 *
 *   request ── made? ──> next          answer ── asked for? hand it over ──> next
 *      └─ not yet: wait, for its time      └─ nobody asks (any more) ──────> next
 *         and a little more, then go on
 *
 * Each turn of the loop delivers one answer, so that its consequences happen before the next one,
 * as when recorded. Answers that came in one round come in one turn. */

#include "base/json/json.h"
#include "net/cassette/cassette_impl.h"

#include <stdio.h>

/* How much later than it did something may happen before the replay goes on without it. */
#define PATIENCE_MS 2000

/* By its number, or NULL. */
static struct hocket__exchange *find(const struct hocket__cassette *c, int64_t number)
{
    return number >= 1 && number <= (int64_t) c->n_exchanges ? &c->exchanges[number - 1] : NULL;
}

/* ---- Handing over ---------------------------------------------------------------------- */

struct handing {
    struct hocket__exchange *x;
    struct hocket__buf text; /* decoded */
    bool headed;             /* a status has come */
    struct hocket__http_timing timing;
    struct hocket_error err; /* status 0: none */
};

static bool is_wanted(const struct handing *h)
{
    return h->x->state == HOCKET__ASKED && h->err.status == 0;
}

static void decode_hex(struct hocket__str s, struct hocket__buf *out)
{
    for (size_t i = 0; i + 1 < s.n; i += 2)
        if (hocket__hex_value(s.p[i]) >= 0 && hocket__hex_value(s.p[i + 1]) >= 0)
            hocket__buf_addc(
                out, (char) (hocket__hex_value(s.p[i]) * 16 + hocket__hex_value(s.p[i + 1])));
}

/* A string, or {"hex":"…"}, whose first token was read. */
static void read_bytes(struct hocket__json *r, struct hocket__buf *out)
{
    if (r->token == HOCKET__JSON_STRING) {
        hocket__json_decode(r, out);
    } else if (r->token == HOCKET__JSON_OBJECT) {
        while (hocket__json_key(r))
            if (hocket__json_want(r, HOCKET__JSON_STRING))
                decode_hex(r->text, out);
    } else {
        hocket__json_skip(r, NULL);
    }
}

/* ["name","value"] */
static void hand_header(struct hocket__json *r, struct handing *h)
{
    size_t split = 0;
    hocket__buf_reset(&h->text);
    if (r->token != HOCKET__JSON_ARRAY) {
        hocket__json_skip(r, NULL);
        return;
    }
    while (hocket__json_element(r)) {
        if (r->token == HOCKET__JSON_STRING)
            hocket__json_decode(r, &h->text);
        split = split ? split : h->text.len;
    }
    struct hocket__str all = hocket__buf_str(&h->text);
    if (split > 0 && is_wanted(h) && h->x->handler->on_header)
        h->x->handler->on_header(
            h->x->ud, hocket__str(all.p, split), hocket__str(all.p + split, all.n - split));
}

/* [at, bytes] */
static void hand_piece(struct hocket__json *r, struct handing *h)
{
    hocket__buf_reset(&h->text);
    if (r->token != HOCKET__JSON_ARRAY) {
        hocket__json_skip(r, NULL);
        return;
    }
    while (hocket__json_element(r)) {
        if (r->token != HOCKET__JSON_NUMBER) /* its time */
            read_bytes(r, &h->text);
    }
    if (h->text.status < 0)
        hocket__error_nomem(&h->err);
    if (!is_wanted(h) || h->text.len == 0)
        return;
    int rc = h->x->handler->on_data(h->x->ud, h->text.data, h->text.len, &h->err);
    if (rc < 0 && h->err.status == 0)
        hocket__error(&h->err, rc, "%s", hocket_status_text(rc));
}

static void read_error_member(struct hocket__json *r, struct handing *h, struct hocket_error *err)
{
    int64_t status = 0;
    if (hocket__json_is(r, "code")) {
        hocket__buf_reset(&h->text);
        if (hocket__json_want(r, HOCKET__JSON_STRING) && hocket__json_decode(r, &h->text) == 0)
            err->status = hocket__status_from_word(h->text.data ? h->text.data : "");
    } else if (hocket__json_is(r, "message")) {
        hocket__buf_reset(&h->text);
        if (hocket__json_want(r, HOCKET__JSON_STRING) && hocket__json_decode(r, &h->text) == 0)
            snprintf(err->message, sizeof(err->message), "%s", h->text.data ? h->text.data : "");
    } else if (hocket__json_is(r, "retryable")) {
        err->retryable = hocket__json_want(r, HOCKET__JSON_TRUE) && r->token == HOCKET__JSON_TRUE;
    } else if (hocket__json_is(r, "http_status")) {
        if (hocket__json_want(r, HOCKET__JSON_NUMBER) && hocket__json_int(r, &status))
            err->http_status = (int) status;
    } else {
        hocket__json_skip(r, NULL);
    }
}

static void hand_status(struct hocket__json *r, struct handing *h)
{
    int64_t status = 0;
    if (!hocket__json_want(r, HOCKET__JSON_NUMBER) || !hocket__json_int(r, &status) || status <= 0)
        return;
    h->headed = true;
    if (is_wanted(h) && h->x->handler->on_head)
        h->x->handler->on_head(h->x->ud, (int) status);
}

static void read_time(struct hocket__json *r, uint64_t *us)
{
    int64_t v;
    if (hocket__json_want(r, HOCKET__JSON_NUMBER) && hocket__json_int(r, &v) && v > 0)
        *us = (uint64_t) v;
}

static void hand_member(struct hocket__json *r, struct handing *h, struct hocket_error *recorded)
{
    if (hocket__json_is(r, "status")) {
        hand_status(r, h);
    } else if (hocket__json_is(r, "connect_us")) {
        read_time(r, &h->timing.connect_us);
    } else if (hocket__json_is(r, "first_us")) {
        read_time(r, &h->timing.first_byte_us);
    } else if (hocket__json_is(r, "total_us")) {
        read_time(r, &h->timing.total_us);
    } else if (h->headed && hocket__json_is(r, "headers")) {
        if (hocket__json_want(r, HOCKET__JSON_ARRAY))
            while (hocket__json_element(r))
                hand_header(r, h);
    } else if (h->headed && hocket__json_is(r, "body")) {
        if (hocket__json_want(r, HOCKET__JSON_ARRAY))
            while (hocket__json_element(r))
                hand_piece(r, h);
    } else if (hocket__json_is(r, "error")) {
        hocket__error(recorded, HOCKET_EINVAL, "an error that was recorded without a message");
        if (hocket__json_want(r, HOCKET__JSON_OBJECT))
            while (hocket__json_key(r))
                read_error_member(r, h, recorded);
    } else {
        hocket__json_skip(r, NULL);
    }
}

static void leave(struct hocket__cassette *c, struct hocket__exchange *x)
{
    x->state = HOCKET__OVER;
    c->n_asked--;
}

static void end(struct hocket__cassette *c, struct handing *h)
{
    struct hocket__exchange *x = h->x;
    if (x->state != HOCKET__ASKED)
        return;
    leave(c, x);
    x->handler->on_done(x->ud, h->err.status < 0 ? &h->err : NULL, &h->timing);
}

/* Its head, its body, and, unless it was cancelled in the middle, its end. */
static void hand_over(struct hocket__cassette *c, struct hocket__exchange *x)
{
    struct handing h = { .x = x };
    struct hocket_error recorded = { 0 };
    struct hocket__json r;
    hocket__buf_init(&h.text, c->a, 0);
    hocket__json_init(&r, x->answer);
    hocket__json_next(&r);
    while (hocket__json_key(&r))
        hand_member(&r, &h, &recorded);
    if (h.err.status == 0)
        h.err = recorded;
    if (!x->cancelled || h.err.status < 0)
        end(c, &h);
    x->shown = true;
    hocket__buf_deinit(&h.text);
}

static void give_up(struct hocket__cassette *c, struct hocket__exchange *x, const char *why)
{
    struct handing h = { .x = x };
    hocket__error(&h.err, HOCKET_EREPLAY, "request %llu in %s %s", (unsigned long long) x->number,
        c->name, why);
    if (c->status.status == 0)
        c->status = h.err;
    end(c, &h);
}

/* ---- In order ---------------------------------------------------------------------------- */

/* Whether it has happened again, or need not. */
static bool has_happened(const struct hocket__cassette *c, const struct hocket__cassette_event *e)
{
    const struct hocket__exchange *x = &c->exchanges[e->exchange];
    if (e->kind == HOCKET__EVENT_REQUEST)
        return x->missed || x->state != HOCKET__UNASKED;
    return x->state == HOCKET__OVER || (x->missed && x->state == HOCKET__UNASKED);
}

static void move_on(struct hocket__cassette *c)
{
    while (c->next_event < c->n_events && has_happened(c, &c->events[c->next_event])) {
        c->next_event++;
        c->moved = hocket__deadlines_now();
    }
}

static void set_turn(struct hocket__cassette *c, uint64_t at)
{
    if (!c->closed)
        hocket__deadline_set(c->deadlines, &c->turn, at);
}

/* When an event that the program has to bring about is late. */
static uint64_t due(const struct hocket__cassette *c)
{
    const struct hocket__cassette_event *e = &c->events[c->next_event];
    uint64_t before = c->next_event > 0 ? e[-1].at : 0;
    return c->moved + (e->at > before ? e->at - before : 0) + PATIENCE_MS;
}

/* What is asked for again after its own turn has gone by. */
static struct hocket__exchange *left_behind(struct hocket__cassette *c)
{
    for (size_t i = 0; i < c->n_exchanges; i++) {
        struct hocket__exchange *x = &c->exchanges[i];
        if (x->state == HOCKET__ASKED && x->missed && x->answer.n > 0 && !x->shown)
            return x;
    }
    return NULL;
}

static struct hocket__exchange *unanswered(struct hocket__cassette *c)
{
    for (size_t i = 0; i < c->n_exchanges; i++)
        if (c->exchanges[i].state == HOCKET__ASKED)
            return &c->exchanges[i];
    return NULL;
}

static void late(struct hocket__cassette *c, const struct hocket__cassette_event *e)
{
    struct hocket__exchange *x = &c->exchanges[e->exchange];
    if (e->kind == HOCKET__EVENT_REQUEST)
        x->missed = true;
    else
        give_up(c, x, "was cancelled when it was recorded, and is not now");
}

/* The next answer, and the answers that came with it. */
static void hand_over_round(struct hocket__cassette *c, int64_t round)
{
    do {
        hand_over(c, &c->exchanges[c->events[c->next_event].exchange]);
        move_on(c);
    } while (round >= 0 && c->next_event < c->n_events && c->events[c->next_event].round == round
             && c->events[c->next_event].kind == HOCKET__EVENT_ANSWER);
}

/* The event at hand: hands over, waits, or goes on without it. */
static void take_event(struct hocket__cassette *c)
{
    const struct hocket__cassette_event *e = &c->events[c->next_event];
    struct hocket__exchange *x = &c->exchanges[e->exchange];
    if (e->kind == HOCKET__EVENT_ANSWER)
        hand_over_round(c, e->round);
    else if (e->kind == HOCKET__EVENT_CANCEL && !x->shown)
        hand_over(c, x);
    else if (hocket__deadlines_now() >= due(c))
        late(c, e);
    else {
        set_turn(c, due(c));
        return;
    }
    set_turn(c, 0);
}

void hocket__play_turn(struct hocket__deadline *d)
{
    struct hocket__cassette *c = hocket__container_of(d, struct hocket__cassette, turn);
    if (c->n_asked == 0)
        return;
    struct hocket__exchange *x = left_behind(c);
    move_on(c);
    if (x) {
        hand_over(c, x);
        set_turn(c, 0);
    } else if (c->next_event < c->n_events) {
        take_event(c);
    } else if ((x = unanswered(c))) {
        give_up(c, x,
            x->answer.n ? "was cancelled when it was recorded, and is not now"
                        : "has no answer there: the recording was broken off");
        set_turn(c, 0);
    }
}

/* ---- Asking ----------------------------------------------------------------------------- */

static struct hocket__exchange *find_equal(
    const struct hocket__cassette *c, struct hocket__str identity)
{
    for (size_t i = 0; i < c->n_exchanges; i++) {
        struct hocket__exchange *x = &c->exchanges[i];
        if (x->state == HOCKET__UNASKED && hocket__str_eq(x->identity, identity))
            return x;
    }
    return NULL;
}

int64_t hocket__play_start(struct hocket__cassette *c, const struct hocket__http_spec *spec,
    const struct hocket__http_handler *handler, void *ud, struct hocket_error *err)
{
    /* the first request that differs ends the replay: what follows from it would only differ
     * more */
    if (c->status.status < 0) {
        *err = c->status;
        return err->status;
    }
    hocket__buf_reset(&c->scratch);
    hocket__jw_open(&c->scratch, '{');
    if (hocket__cassette_identity(c, spec, &c->scratch) < 0)
        return hocket__error_nomem(err);
    struct hocket__str identity = hocket__str(c->scratch.data + 1, c->scratch.len - 1);
    struct hocket__exchange *x = find_equal(c, identity);
    if (!x && !(x = hocket__cassette_nearest(c, identity, err))) {
        if (err->status == HOCKET_EREPLAY)
            c->status = *err;
        return err->status;
    }
    if (spec->body)
        hocket__buf_deinit(spec->body);
    x->state = HOCKET__ASKED;
    x->handler = handler;
    x->ud = ud;
    c->n_asked++;
    c->moved = hocket__deadlines_now();
    set_turn(c, 0);
    return (int64_t) x->number;
}

void hocket__play_cancel(struct hocket__cassette *c, int64_t id)
{
    struct hocket__exchange *x = find(c, id);
    if (!x || x->state != HOCKET__ASKED)
        return;
    leave(c, x);
    if (c->n_asked > 0)
        set_turn(c, 0);
}

bool hocket__play_has_another(const struct hocket__cassette *c, int64_t id)
{
    const struct hocket__exchange *x = find(c, id);
    return x && find_equal(c, x->identity);
}

size_t hocket__cassette_unused(const struct hocket__cassette *c, struct hocket__buf *first)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_exchanges; i++) {
        const struct hocket__exchange *x = &c->exchanges[i];
        if (x->state != HOCKET__UNASKED || x->cancelled)
            continue;
        if (n++ == 0 && first)
            hocket__buf_addf(first, "request %llu", (unsigned long long) x->number);
    }
    return n;
}
