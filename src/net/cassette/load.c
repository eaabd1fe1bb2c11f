/* A cassette's lines, checked and put in order: exchanges, events, facts.
 *
 * A recording may have been edited by hand, which is allowed: a line that makes no sense is named
 * by its number, and the recording is not played then. Only the last line may be half there, of a
 * program that was killed. */

#include "base/json/json.h"
#include "net/cassette/cassette_impl.h"

#include <stdlib.h>

/* The members of a line that matter; a number that is absent is -1. */
struct line {
    struct hocket__str text;
    int64_t cassette, request, answer, cancelled, at, round;
    struct hocket__str to, seed, fact, value; /* as they stand, strings without quotes */
};

static int64_t integer(struct hocket__json *r)
{
    int64_t v;
    return hocket__json_want(r, HOCKET__JSON_NUMBER) && hocket__json_int(r, &v) ? v : -1;
}

static struct hocket__str inside(struct hocket__json *r)
{
    return hocket__json_want(r, HOCKET__JSON_STRING) ? r->text : hocket__str("", 0);
}

static void read_member(struct hocket__json *r, struct line *l)
{
    static const struct {
        const char *name;
        size_t offset;
    } numbers[] = { { "cassette", offsetof(struct line, cassette) },
        { "request", offsetof(struct line, request) }, { "answer", offsetof(struct line, answer) },
        { "cancelled", offsetof(struct line, cancelled) }, { "at", offsetof(struct line, at) },
        { "round", offsetof(struct line, round) } };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (hocket__json_is(r, numbers[i].name)) {
            *(int64_t *) (void *) ((char *) l + numbers[i].offset) = integer(r);
            return;
        }
    if (hocket__json_is(r, "to"))
        l->to = inside(r);
    else if (hocket__json_is(r, "seed"))
        l->seed = inside(r);
    else if (hocket__json_is(r, "fact"))
        l->fact = inside(r);
    else if (hocket__json_is(r, "value"))
        hocket__json_skip(r, &l->value);
    else
        hocket__json_skip(r, NULL);
}

static int read_line(struct hocket__str text, struct line *l, struct hocket_error *err)
{
    struct hocket__json r;
    *l = (struct line){ .text = text,
        .cassette = -1,
        .request = -1,
        .answer = -1,
        .cancelled = -1,
        .at = -1,
        .round = -1 };
    hocket__json_init(&r, text);
    if (hocket__json_next(&r) != HOCKET__JSON_OBJECT)
        return hocket__error(err, HOCKET_EPARSE, "a JSON object is expected");
    while (hocket__json_key(&r))
        read_member(&r, l);
    return hocket__json_end(&r, err);
}

/* ---- Each kind of line -------------------------------------------------------------- */

static int take_head(struct hocket__cassette *c, const struct line *l, struct hocket_error *err)
{
    char half[17] = { 0 };
    if (l->cassette < 0)
        return hocket__error(err, HOCKET_EPARSE, "this is no cassette");
    if (l->cassette != 1)
        return hocket__error(err, HOCKET_EUNSUPPORTED,
            "a cassette of form %lld, which this version does not know", (long long) l->cassette);
    if (l->seed.n != 32 || strspn(l->seed.p, "0123456789abcdef") != 32)
        return hocket__error(err, HOCKET_EPARSE, "its 'seed' is missing or malformed");
    for (int i = 0; i < 2; i++) {
        memcpy(half, l->seed.p + 16 * i, 16);
        c->seed[i] = strtoull(half, NULL, 16);
    }
    return 0;
}

static int add_event(struct hocket__cassette *c, size_t exchange, int kind, const struct line *l)
{
    if (hocket__grow(c->a, &c->events, &c->cap_events, c->n_events + 1, sizeof(*c->events)) < 0)
        return HOCKET_ENOMEM;
    struct hocket__cassette_event *e = &c->events[c->n_events++];
    e->exchange = exchange;
    e->kind = kind;
    e->at = (uint64_t) l->at;
    e->round = l->round;
    return 0;
}

static int take_request(struct hocket__cassette *c, const struct line *l, struct hocket_error *err)
{
    if (l->request != (int64_t) c->n_exchanges + 1 || l->at < 0 || !l->to.p)
        return hocket__error(err, HOCKET_EPARSE,
            "request %llu is expected here, with 'at' and 'to'",
            (unsigned long long) c->n_exchanges + 1);
    if (hocket__grow(
            c->a, &c->exchanges, &c->cap_exchanges, c->n_exchanges + 1, sizeof(*c->exchanges))
        < 0)
        return hocket__error_nomem(err);
    /* The identity is a stretch of the line itself, from "to" to the last brace: it is
     * compared byte by byte with what a request makes now. */
    const char *from = l->to.p - sizeof("\"to\":\"") + 1, *end = l->text.p + l->text.n - 1;
    while (*end != '}')
        end--;
    c->exchanges[c->n_exchanges++] = (struct hocket__exchange){ .number = (uint64_t) l->request,
        .line = l->text,
        .identity = hocket__str(from, (size_t) (end - from)) };
    if (add_event(c, c->n_exchanges - 1, HOCKET__EVENT_REQUEST, l) < 0)
        return hocket__error_nomem(err);
    return 0;
}

static int take_answer(struct hocket__cassette *c, const struct line *l, struct hocket_error *err)
{
    int64_t number = l->answer > 0 ? l->answer : l->cancelled;
    if (number < 1 || number > (int64_t) c->n_exchanges || l->at < 0)
        return hocket__error(err, HOCKET_EPARSE, "an answer to no request");
    struct hocket__exchange *x = &c->exchanges[number - 1];
    if (x->answer.n > 0)
        return hocket__error(
            err, HOCKET_EPARSE, "a second answer to request %lld", (long long) number);
    x->answer = l->text;
    x->cancelled = l->answer < 0;
    int kind = x->cancelled ? HOCKET__EVENT_CANCEL : HOCKET__EVENT_ANSWER;
    if (add_event(c, (size_t) number - 1, kind, l) < 0)
        return hocket__error_nomem(err);
    return 0;
}

static int take_fact(struct hocket__cassette *c, const struct line *l, struct hocket_error *err)
{
    if (!l->value.p)
        return hocket__error(err, HOCKET_EPARSE, "a fact without a 'value'");
    if (hocket__grow(c->a, &c->facts, &c->cap_facts, c->n_facts + 1, sizeof(*c->facts)) < 0)
        return hocket__error_nomem(err);
    c->facts[c->n_facts++] = (struct hocket__cassette_fact){ l->fact, l->value };
    return 0;
}

static int take_line(
    struct hocket__cassette *c, struct hocket__str text, size_t number, struct hocket_error *err)
{
    struct line l;
    int rc = read_line(text, &l, err);
    if (rc < 0)
        return rc;
    if (number == 1)
        return take_head(c, &l, err);
    if (l.request >= 0)
        return take_request(c, &l, err);
    if (l.answer >= 0 || l.cancelled >= 0)
        return take_answer(c, &l, err);
    if (l.fact.p)
        return take_fact(c, &l, err);
    return hocket__error(err, HOCKET_EPARSE, "neither a request, an answer nor a fact");
}

/* ---- The file -------------------------------------------------------------------------- */

int hocket__cassette_load(struct hocket__cassette *c, struct hocket_error *err)
{
    struct hocket_error wrong;
    const char *p = c->text.data, *end = p + c->text.len;
    size_t number = 0;
    while (p && p < end) {
        const char *stop = memchr(p, '\n', (size_t) (end - p));
        if (!stop) /* its writer was killed in the middle of it */
            break;
        number++;
        int rc = take_line(c, hocket__str(p, (size_t) (stop - p)), number, &wrong);
        if (rc < 0)
            return hocket__error_because(err, &wrong, "%s:%zu", c->name, number);
        p = stop + 1;
    }
    if (number == 0)
        return hocket__error(
            err, HOCKET_EPARSE, "%s: this is no cassette, or nothing was recorded", c->name);
    c->cut_off = p < end;
    for (size_t i = 0; i < c->n_exchanges; i++)
        c->cut_off |= c->exchanges[i].answer.n == 0;
    return 0;
}
