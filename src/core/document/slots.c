/* The schema, and slots by it. What is wrong with a slot is mostly a model's mistake, so every
 * error names what would be right: the valid names of a dimension, the range of a number. */
#include "core/document/slots.h"

#include <inttypes.h>

#include "base/json/json.h"
#include "base/utf8.h"
#include "core/text.h"

#define INTEGER_MAX INT64_C(9007199254740991) /* what every JSON reader keeps exactly */

/* ---- The schema ------------------------------------------------------------ */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Names of dimensions become keys of JSON in tools' schemas and parts of template variables; so
 * they are words. */
static bool is_identifier(struct hocket__str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_letter(s.p[i]) && !(i > 0 && s.p[i] >= '0' && s.p[i] <= '9'))
            return false;
    return s.n > 0 && s.n <= HOCKET__NAME_MAX;
}

static int check_integer(const struct hocket__dimension *d, struct hocket_error *err)
{
    if (d->min < -INTEGER_MAX || d->max > INTEGER_MAX || d->min > d->max)
        return hocket__error(err, HOCKET_EINVAL,
            "document: %.*s cannot range from %" PRId64 " to %" PRId64, HOCKET__SHOWN(d->name),
            d->min, d->max);
    return 0;
}

/* At most some dozens of names: to look at each pair is fast enough. */
static int check_names(const struct hocket__dimension *d, struct hocket_error *err)
{
    if (d->value_count == 0 || d->value_count > HOCKET__DIMENSION_NAMES)
        return hocket__error(err, HOCKET_EINVAL, "document: %.*s needs 1 to %d values, not %zu",
            HOCKET__SHOWN(d->name), HOCKET__DIMENSION_NAMES, d->value_count);
    for (size_t i = 0; i < d->value_count; i++) {
        int status = hocket__text_name(d->values[i], "document: a value of a dimension", err);
        if (status < 0)
            return status;
        for (size_t k = 0; k < i; k++)
            if (hocket__str_eq(d->values[i], d->values[k]))
                return hocket__error(err, HOCKET_EINVAL, "document: %.*s has the value %.*s twice",
                    HOCKET__SHOWN(d->name), HOCKET__SHOWN(d->values[i]));
    }
    return 0;
}

static int check_dimension(const struct hocket__dimension *dims, size_t i, struct hocket_error *err)
{
    const struct hocket__dimension *d = &dims[i];
    if (!is_identifier(d->name))
        return hocket__error(err, HOCKET_EINVAL,
            "document: a dimension's name is made of letters, digits and _, not \"%.*s\"",
            HOCKET__SHOWN(d->name));
    for (size_t k = 0; k < i; k++)
        if (hocket__str_eq(d->name, dims[k].name))
            return hocket__error(err, HOCKET_EINVAL, "document: there are two dimensions %.*s",
                HOCKET__SHOWN(d->name));
    return d->kind == HOCKET__DIMENSION_INTEGER ? check_integer(d, err) : check_names(d, err);
}

static void dimension_deinit(const struct hocket_allocator *a, struct hocket__dimension *d)
{
    struct hocket__str *values = (struct hocket__str *) d->values;
    for (size_t i = 0; values && i < d->value_count; i++)
        hocket__text_free(a, &values[i]);
    hocket__free(a, values, d->value_count * sizeof(*values));
    hocket__text_free(a, &d->name);
}

/* 0 to 0 is a range that was not given. */
static int dimension_copy(const struct hocket_allocator *a, const struct hocket__dimension *from,
    struct hocket__dimension *to)
{
    *to = (struct hocket__dimension){ .kind = from->kind, .min = from->min, .max = from->max };
    if (hocket__text_copy(a, from->name, &to->name) < 0)
        return HOCKET_ENOMEM;
    if (from->kind == HOCKET__DIMENSION_INTEGER) {
        to->max = from->min == 0 && from->max == 0 ? INTEGER_MAX : from->max;
        return 0;
    }
    struct hocket__str *values = hocket__zero(a, from->value_count * sizeof(*values));
    if (!values)
        return HOCKET_ENOMEM;
    to->values = values;
    to->value_count = from->value_count;
    for (size_t i = 0; i < from->value_count; i++)
        if (hocket__text_copy(a, from->values[i], &values[i]) < 0)
            return HOCKET_ENOMEM;
    return 0;
}

/* Everything is checked before anything is copied. `count` goes up with each dimension that is
 * begun, since one that was copied in part is freed as well. */
int hocket__slots_init(struct hocket__slots *s, const struct hocket_allocator *a,
    const struct hocket__dimension *dims, size_t count, struct hocket_error *err)
{
    *s = (struct hocket__slots){ .a = a };
    if (count == 0 || count > HOCKET__DIMENSIONS)
        return hocket__error(err, HOCKET_EINVAL, "document: 1 to %d dimensions are needed, not %zu",
            HOCKET__DIMENSIONS, count);
    for (size_t i = 0; i < count; i++) {
        int status = check_dimension(dims, i, err);
        if (status < 0)
            return status;
    }
    for (s->count = 0; s->count < count;) {
        size_t i = s->count++;
        if (dimension_copy(a, &dims[i], &s->dims[i]) < 0) {
            hocket__slots_deinit(s);
            return hocket__error_nomem(err);
        }
    }
    return 0;
}

void hocket__slots_deinit(struct hocket__slots *s)
{
    for (size_t i = 0; i < s->count; i++)
        dimension_deinit(s->a, &s->dims[i]);
    s->count = 0;
}

/* ---- Slots ----------------------------------------------------------------- */

/* 0 is the slot that belongs to no number ("general"), in each dimension of integers, whatever its
 * range. */
static int bad_integer(
    const struct hocket__dimension *d, struct hocket__str got, struct hocket_error *err)
{
    if (d->max == INTEGER_MAX && d->min == 0)
        return hocket__error(err, HOCKET_EINVAL,
            "%.*s has to be a whole number, 0 (general) or more; got %.*s", HOCKET__SHOWN(d->name),
            HOCKET__SHOWN(got));
    return hocket__error(err, HOCKET_EINVAL,
        "%.*s has to be 0 (general) or a whole number from %" PRId64 " to %" PRId64 "; got %.*s",
        HOCKET__SHOWN(d->name), d->min, d->max, HOCKET__SHOWN(got));
}

static int bad_name(
    const struct hocket__dimension *d, struct hocket__str got, struct hocket_error *err)
{
    struct hocket__said valid = { 0 };
    for (size_t i = 0; i < d->value_count; i++)
        hocket__said_add(&valid, d->values[i]);
    return hocket__error(err, HOCKET_EINVAL, "%.*s has to be one of: %s; got %.*s",
        HOCKET__SHOWN(d->name), hocket__said(&valid), HOCKET__SHOWN(got));
}

static int bad_members(const struct hocket__slots *s, const char *fault, struct hocket__str name,
    struct hocket_error *err)
{
    struct hocket__said names = { 0 };
    for (size_t i = 0; i < s->count; i++)
        hocket__said_add(&names, s->dims[i].name);
    return hocket__error(err, HOCKET_EINVAL, "a slot of this document is made of: %s; %s %.*s",
        hocket__said(&names), fault, HOCKET__SHOWN(name));
}

/* A name is kept as its index, so slots are compared, and sorted, without looking at text. */
static bool is_valid(const struct hocket__dimension *d, int64_t v)
{
    if (d->kind == HOCKET__DIMENSION_INTEGER)
        return v == 0 || (v >= d->min && v <= d->max);
    return v >= 0 && (uint64_t) v < d->value_count;
}

static int check_value(const struct hocket__dimension *d, int64_t v, struct hocket_error *err)
{
    struct hocket__said got = { 0 };
    if (is_valid(d, v))
        return 0;
    hocket__said_add_int(&got, v);
    struct hocket__str text = hocket__cstr(hocket__said(&got));
    return d->kind == HOCKET__DIMENSION_INTEGER ? bad_integer(d, text, err)
                                                : bad_name(d, text, err);
}

int hocket__slots_check(
    const struct hocket__slots *s, const struct hocket__slot *slot, struct hocket_error *err)
{
    int status = 0;
    for (size_t i = 0; i < s->count && status == 0; i++)
        status = check_value(&s->dims[i], slot->v[i], err);
    return status;
}

/* Models put numbers into quotes now and then. */
static int read_integer(const struct hocket__dimension *d, const struct hocket__json *r,
    int64_t *out, struct hocket_error *err)
{
    bool is_one = r->token == HOCKET__JSON_NUMBER || r->token == HOCKET__JSON_STRING;
    if (!is_one || !hocket__json_int(r, out) || !is_valid(d, *out))
        return bad_integer(d, r->text, err);
    return 0;
}

/* Decoded into memory of the call: a value that is longer than all valid ones is none. */
static int read_name(const struct hocket__slots *s, const struct hocket__dimension *d,
    const struct hocket__json *r, int64_t *out, struct hocket_error *err)
{
    struct hocket__buf decoded = hocket__buf(s->a, HOCKET__NAME_MAX);
    int status = r->token == HOCKET__JSON_STRING ? hocket__json_decode(r, &decoded) : HOCKET_ELIMIT;
    struct hocket__str text = status == 0 ? hocket__buf_str(&decoded) : r->text;
    size_t i = 0;
    while (i < d->value_count && (status < 0 || !hocket__str_eq(d->values[i], text)))
        i++;
    *out = (int64_t) i;
    if (status == HOCKET_ENOMEM)
        hocket__error_nomem(err);
    else
        status = i < d->value_count ? 0 : bad_name(d, text, err);
    hocket__buf_deinit(&decoded);
    return status;
}

static size_t find_dimension(const struct hocket__slots *s, const struct hocket__json *r)
{
    size_t i = 0;
    while (i < s->count && !hocket__json_is(r, s->dims[i].name.p))
        i++;
    return i;
}

static int read_member(const struct hocket__slots *s, struct hocket__json *r, unsigned *seen,
    struct hocket__slot *out, struct hocket_error *err)
{
    size_t i = find_dimension(s, r);
    if (i == s->count)
        return bad_members(s, "it has no", r->text, err);
    if (*seen & 1u << i)
        return bad_members(s, "given twice:", r->text, err);
    *seen |= 1u << i;
    const struct hocket__dimension *d = &s->dims[i];
    hocket__json_next(r);
    if (r->token == HOCKET__JSON_ERROR)
        return 0; /* told at the end */
    return d->kind == HOCKET__DIMENSION_INTEGER ? read_integer(d, r, &out->v[i], err)
                                                : read_name(s, d, r, &out->v[i], err);
}

int hocket__slots_parse(const struct hocket__slots *s, struct hocket__str json,
    struct hocket__slot *out, struct hocket_error *err)
{
    struct hocket__json r;
    unsigned seen = 0;
    int status = 0;
    *out = (struct hocket__slot){ { 0 } };
    hocket__json_init(&r, json);
    if (hocket__json_next(&r) != HOCKET__JSON_OBJECT)
        return bad_members(s, "got", json, err);
    while (status == 0 && hocket__json_key(&r))
        status = read_member(s, &r, &seen, out, err);
    /* A model's slot is bad input, whatever kind of bad: EINVAL, and not EPARSE, which stands
     * for broken records. */
    if (status == 0 && hocket__json_end(&r, err) < 0)
        status = HOCKET_EINVAL;
    for (size_t i = 0; i < s->count && status == 0; i++)
        if (!(seen & 1u << i))
            status = bad_members(s, "missing:", s->dims[i].name, err);
    return status;
}

/* 0 comes before all other integers, whatever their sign. */
static int compare_integers(int64_t a, int64_t b)
{
    if (a == b)
        return 0;
    if (a == 0 || b == 0)
        return a == 0 ? -1 : 1;
    return a < b ? -1 : 1;
}

int hocket__slots_compare(
    const struct hocket__slots *s, const struct hocket__slot *a, const struct hocket__slot *b)
{
    int order = 0;
    for (size_t i = 0; i < s->count && order == 0; i++)
        order = compare_integers(a->v[i], b->v[i]);
    return order;
}

/* ---- Text ------------------------------------------------------------------ */

void hocket__slots_write(
    const struct hocket__slots *s, const struct hocket__slot *slot, struct hocket__buf *out)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct hocket__dimension *d = &s->dims[i];
        hocket__jw_keystr(out, d->name);
        if (d->kind == HOCKET__DIMENSION_INTEGER)
            hocket__jw_int(out, slot->v[i]);
        else
            hocket__jw_string(out, d->values[slot->v[i]]);
    }
}

static bool has_capital(struct hocket__str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] >= 'A' && s.p[i] <= 'Z')
            return true;
    return false;
}

/* "time_slot" -> "Time Slot"; "iOS" stays, its writer meant it so. */
static void add_title(struct hocket__buf *out, struct hocket__str name)
{
    bool keep = has_capital(name), begins = true;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i] == '_' ? ' ' : name.p[i];
        if (!keep && begins && c >= 'a' && c <= 'z')
            c = (char) (c - 'a' + 'A');
        begins = c == ' ' || c == '-';
        hocket__buf_addc(out, c);
    }
}

static bool is_general(const struct hocket__dimension *d, int64_t v)
{
    return d->kind == HOCKET__DIMENSION_INTEGER ? v == 0 : hocket__str_is(d->values[v], "general");
}

static bool all_general(const struct hocket__slots *s, const struct hocket__slot *slot)
{
    for (size_t i = 0; i < s->count; i++)
        if (!is_general(&s->dims[i], slot->v[i]))
            return false;
    return true;
}

static void add_value(struct hocket__buf *out, const struct hocket__dimension *d, int64_t v)
{
    if (is_general(d, v)) {
        hocket__buf_adds(out, "General");
    } else if (d->kind == HOCKET__DIMENSION_INTEGER) {
        add_title(out, d->name);
        hocket__buf_addf(out, " %" PRId64, v);
    } else {
        add_title(out, d->values[v]);
    }
}

void hocket__slots_heading(
    const struct hocket__slots *s, const struct hocket__slot *slot, struct hocket__buf *out)
{
    size_t count = all_general(s, slot) ? 1 : s->count;
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            hocket__buf_adds(out, " — ");
        add_value(out, &s->dims[i], slot->v[i]);
    }
}
