/* Reads lists of task ids in all the forms in which models write them (ids.h). One pass over the
 * JSON, into an array of the caller's: no list of a model's grows without limit. An id that is
 * given twice counts once, so that nobody starts a task twice by it; what cannot be read is shown
 * back in the message, cut, because a model repairs what it sees. */
#include "core/ids.h"

#include <limits.h>

#include "base/json/json.h"
#include "core/text.h"

struct parse {
    const struct hocket_allocator *a;
    int64_t *out;
    size_t n, cap;
    struct hocket_error *err;
};

bool hocket__ids_has(struct hocket__ids ids, int64_t id)
{
    for (size_t i = 0; i < ids.n; i++)
        if (ids.v[i] == id)
            return true;
    return false;
}

static int refuse(struct parse *p, struct hocket__str what)
{
    return hocket__error(p->err, HOCKET_EINVAL,
        "task ids have to be a list of whole numbers from 1, like [1, 2]; got \"%.*s\"",
        HOCKET__SHOWN(what));
}

static int add(struct parse *p, int64_t id)
{
    if (hocket__ids_has((struct hocket__ids){ p->out, p->n }, id))
        return 0;
    if (p->n >= p->cap)
        return hocket__error(p->err, HOCKET_ELIMIT, "more than %zu task ids in one list", p->cap);
    p->out[p->n++] = id;
    return 0;
}

static int add_number(struct parse *p, const struct hocket__json *r)
{
    int64_t id; /* of 1.0 too, as a Lua number may have been written */
    if (!hocket__json_int(r, &id) || id < 1 || id > HOCKET__ID_MAX)
        return refuse(p, r->text);
    return add(p, id);
}

/* By hand and not by strtoll: no sign, no blank, no base, and no overflow, since it stops behind
 * the limit. */
static int add_word(struct parse *p, struct hocket__str word)
{
    int64_t id = 0;
    for (size_t i = 0; i < word.n && id <= HOCKET__ID_MAX; i++) {
        if (word.p[i] < '0' || word.p[i] > '9')
            return refuse(p, word);
        id = id * 10 + (word.p[i] - '0');
    }
    return id >= 1 && id <= HOCKET__ID_MAX ? add(p, id) : refuse(p, word);
}

/* "1" or "1, 2". */
static int add_words(struct parse *p, struct hocket__str text)
{
    int status = 0;
    for (bool more = true; more && status == 0;) {
        const char *comma = memchr(text.p, ',', text.n);
        size_t n = comma ? (size_t) (comma - text.p) : text.n;
        status = add_word(p, hocket__text_trim(hocket__str(text.p, n)));
        more = comma != NULL;
        if (more)
            text = hocket__str(comma + 1, text.n - n - 1);
    }
    return status;
}

static int add_array(struct parse *p, struct hocket__json *r)
{
    int status = 0;
    while (status == 0 && hocket__json_element(r)) {
        if (r->token == HOCKET__JSON_NUMBER)
            status = add_number(p, r);
        else if (r->token == HOCKET__JSON_STRING)
            status = add_word(p, hocket__text_trim(r->text));
        else
            status = refuse(p, hocket__cstr("a list with something else in it"));
    }
    return status;
}

/* "[1,2]": JSON once more, inside of a string. */
static int add_inner(struct parse *p, struct hocket__str text)
{
    struct hocket__json r;
    hocket__json_init(&r, text);
    hocket__json_next(&r);
    int status = add_array(p, &r);
    if (status == 0 && hocket__json_end(&r, NULL) < 0)
        status = refuse(p, text);
    return status;
}

static int add_string(struct parse *p, const struct hocket__json *r)
{
    struct hocket__buf decoded = hocket__buf(p->a, 0);
    int status = hocket__json_decode(r, &decoded);
    if (status < 0) {
        status = hocket__error_nomem(p->err);
    } else {
        struct hocket__str text = hocket__text_trim(hocket__buf_str(&decoded));
        if (text.n > 0)
            status = text.p[0] == '[' ? add_inner(p, text) : add_words(p, text);
    }
    hocket__buf_deinit(&decoded);
    return status;
}

/* null is what several models send for "none": it is an empty list and no mistake. */
static int add_value(struct parse *p, struct hocket__json *r, struct hocket__str json)
{
    switch (hocket__json_next(r)) {
    case HOCKET__JSON_NULL: return 0;
    case HOCKET__JSON_NUMBER: return add_number(p, r);
    case HOCKET__JSON_STRING: return add_string(p, r);
    case HOCKET__JSON_ARRAY: return add_array(p, r);
    default: return refuse(p, json);
    }
}

int hocket__ids_parse(const struct hocket_allocator *a, struct hocket__str json, int64_t *out,
    size_t cap, struct hocket_error *err)
{
    struct parse p = { .a = a, .out = out, .cap = cap < INT_MAX ? cap : INT_MAX, .err = err };
    struct hocket__json r;
    hocket__json_init(&r, json);
    int status = add_value(&p, &r, json);
    if (status == 0 && hocket__json_end(&r, NULL) < 0)
        status = refuse(&p, json);
    return status < 0 ? status : (int) p.n;
}
