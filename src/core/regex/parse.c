/* From a pattern to a program: recursive descent that writes code as it reads.
 * Groups nest GROUP_DEPTH deep at most, which bounds the recursion.
 *
 * Repetition copies the code that is repeated, which is what the limit on a program's size is
 * about: (a{1000}){1000} is refused here and takes no memory before. */
#include "core/regex/parser_impl.h"

#define GROUP_DEPTH 100
#define AHEAD_DEPTH 4
#define NO_MAX      UINT32_MAX

int hocket__regex_fail(struct hocket__regex_parser *ps, int status, const char *what)
{
    return hocket__error(
        ps->err, status, "at offset %zu of the pattern: %s", (size_t) (ps->p - ps->begin), what);
}

bool hocket__regex_at(const struct hocket__regex_parser *ps, char c)
{
    return ps->p < ps->end && *ps->p == c;
}

bool hocket__regex_accept(struct hocket__regex_parser *ps, const char *what)
{
    size_t n = strlen(what);
    if ((size_t) (ps->end - ps->p) < n || memcmp(ps->p, what, n) != 0)
        return false;
    ps->p += n;
    return true;
}

/* ---- Writing code */

static int reserve(struct hocket__regex_parser *ps, size_t more)
{
    struct hocket__regex *re = ps->re;
    if (more > ps->max_size || re->size > ps->max_size - more)
        return hocket__regex_fail(ps, HOCKET_ELIMIT, "the pattern is too big");
    if (hocket__grow(re->a, &re->code, &re->code_cap, re->size + more, sizeof(*re->code)) < 0)
        return hocket__error_nomem(ps->err);
    return 0;
}

int hocket__regex_emit(struct hocket__regex_parser *ps, enum hocket__regex_op op, int32_t arg)
{
    int rc = reserve(ps, 1);
    if (rc == 0)
        ps->re->code[ps->re->size++] = (struct hocket__regex_code){ op, arg };
    return rc;
}

/* All jumps are relative: what is moved stays right as long as no jump leads across `where`,
 * and none does, since only whole atoms and alternatives get something put in front. */
static int insert(
    struct hocket__regex_parser *ps, size_t where, enum hocket__regex_op op, int32_t arg)
{
    int rc = reserve(ps, 1);
    if (rc < 0)
        return rc;
    struct hocket__regex_code *code = ps->re->code + where;
    memmove(code + 1, code, (ps->re->size - where) * sizeof(*code));
    *code = (struct hocket__regex_code){ op, arg };
    ps->re->size++;
    return 0;
}

static int emit_copy(struct hocket__regex_parser *ps, size_t from, size_t n)
{
    int rc = reserve(ps, n);
    if (rc < 0)
        return rc;
    struct hocket__regex *re = ps->re;
    memcpy(re->code + re->size, re->code + from, n * sizeof(*re->code));
    re->size += n;
    return 0;
}

/* ---- Quantifiers */

static int repeat_for_ever(struct hocket__regex_parser *ps, size_t start, size_t len, uint32_t min)
{
    int rc = 0;
    if (min == 0) {
        rc = insert(ps, start, HOCKET__RE_SPLIT, (int32_t) len + 2);
        return rc < 0 ? rc : hocket__regex_emit(ps, HOCKET__RE_JUMP, -(int32_t) len - 1);
    }
    for (uint32_t i = 1; i < min && rc == 0; i++)
        rc = emit_copy(ps, start, len);
    return rc < 0 ? rc : hocket__regex_emit(ps, HOCKET__RE_SPLIT, -(int32_t) len);
}

/* All optional copies leave to the same end, so that a text's position is in
 * one of them at a time. */
static int repeat_up_to(
    struct hocket__regex_parser *ps, size_t start, size_t len, uint32_t min, uint32_t max)
{
    size_t stop = start + len * max + (max - min), block = start;
    int rc = 0;
    if (min == 0) {
        rc = insert(ps, start, HOCKET__RE_SPLIT, (int32_t) (stop - start));
        block++;
    }
    for (uint32_t i = 1; i < max && rc == 0; i++) {
        if (i >= min)
            rc = hocket__regex_emit(ps, HOCKET__RE_SPLIT, (int32_t) (stop - ps->re->size));
        if (rc == 0)
            rc = emit_copy(ps, block, len);
    }
    return rc;
}

static int repeat(struct hocket__regex_parser *ps, size_t start, uint32_t min, uint32_t max)
{
    size_t len = ps->re->size - start;
    uint64_t copies = max != NO_MAX ? max : min ? min : 1;
    uint64_t splits = max != NO_MAX ? max - min : 2;
    if (len == 0)
        return 0;
    /* Checked before anything is copied: (((a{100}){100}){100}) is refused and not tried. */
    if (copies * len + splits > ps->max_size)
        return hocket__regex_fail(ps, HOCKET_ELIMIT, "the pattern repeats too often");
    if (max == 0) {
        ps->re->size = start;
        return 0;
    }
    return max == NO_MAX ? repeat_for_ever(ps, start, len, min)
                         : repeat_up_to(ps, start, len, min, max);
}

static const char *read_number(const char *p, const char *end, uint32_t *out)
{
    uint32_t n = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        n = n < 100000000 ? n * 10 + (uint32_t) (*p - '0') : n;
    *out = n;
    return p;
}

/* {m} {m,} {m,n}; anything else in braces is text. */
static bool read_braces(struct hocket__regex_parser *ps, uint32_t *min, uint32_t *max)
{
    const char *p = ps->p + 1, *q = read_number(p, ps->end, min);
    if (q == p)
        return false;
    *max = *min;
    if (q < ps->end && *q == ',') {
        p = q + 1;
        q = read_number(p, ps->end, max);
        if (q == p)
            *max = NO_MAX;
    }
    if (q >= ps->end || *q != '}')
        return false;
    ps->p = q + 1;
    return true;
}

static bool read_quantifier(struct hocket__regex_parser *ps, uint32_t *min, uint32_t *max)
{
    *min = hocket__regex_at(ps, '+');
    *max = hocket__regex_at(ps, '?') ? 1 : NO_MAX;
    if (hocket__regex_at(ps, '*') || hocket__regex_at(ps, '+') || hocket__regex_at(ps, '?'))
        ps->p++;
    else if (!hocket__regex_at(ps, '{') || !read_braces(ps, min, max))
        return false;
    if (hocket__regex_at(ps, '?')) /* lazy: the answer is the same */
        ps->p++;
    return true;
}

/* ---- Atoms, sequences, alternatives */

static int alternatives(struct hocket__regex_parser *ps);

static int group_end(struct hocket__regex_parser *ps)
{
    ps->groups--;
    return hocket__regex_accept(ps, ")")
               ? 0
               : hocket__regex_fail(ps, HOCKET_EPARSE, "the ) of a group is missing");
}

static int lookahead(struct hocket__regex_parser *ps, enum hocket__regex_op op)
{
    if (++ps->aheads > AHEAD_DEPTH)
        return hocket__regex_fail(ps, HOCKET_ELIMIT, "too many lookaheads inside each other");
    if (ps->aheads > ps->re->depth)
        ps->re->depth = ps->aheads;
    size_t start = ps->re->size;
    int rc = hocket__regex_emit(ps, op, 0);
    if (rc == 0)
        rc = alternatives(ps);
    if (rc == 0)
        rc = hocket__regex_emit(ps, HOCKET__RE_MATCH, 0);
    if (rc < 0)
        return rc;
    ps->re->code[start].arg = (int32_t) (ps->re->size - start);
    ps->aheads--;
    return group_end(ps);
}

static int group(struct hocket__regex_parser *ps, bool *repeatable)
{
    if (++ps->groups > GROUP_DEPTH)
        return hocket__regex_fail(ps, HOCKET_ELIMIT, "too many groups inside each other");
    if (hocket__regex_at(ps, '?') && !hocket__regex_accept(ps, "?:")) {
        bool not_ahead = hocket__regex_accept(ps, "?!");
        if (not_ahead || hocket__regex_accept(ps, "?=")) {
            *repeatable = false;
            return lookahead(ps, not_ahead ? HOCKET__RE_NOT_AHEAD : HOCKET__RE_AHEAD);
        }
        if (hocket__regex_accept(ps, "?<=") || hocket__regex_accept(ps, "?<!"))
            return hocket__regex_fail(ps, HOCKET_EUNSUPPORTED, "lookbehind is not supported");
        /* a group's name is skipped: nothing can refer to it */
        const char *name_end =
            hocket__regex_accept(ps, "?<") ? memchr(ps->p, '>', (size_t) (ps->end - ps->p)) : NULL;
        if (!name_end)
            return hocket__regex_fail(
                ps, HOCKET_EUNSUPPORTED, "this kind of group is not supported");
        ps->p = name_end + 1;
    }
    int rc = alternatives(ps);
    return rc < 0 ? rc : group_end(ps);
}

static int atom(struct hocket__regex_parser *ps, bool *repeatable)
{
    uint32_t min, max;
    /* Where an atom should begin. A brace that is no quantifier is text, so only what reads as
     * one is an error. */
    if (read_quantifier(ps, &min, &max))
        return hocket__regex_fail(ps, HOCKET_EPARSE, "there is nothing to repeat");
    if (hocket__regex_accept(ps, "("))
        return group(ps, repeatable);
    if (hocket__regex_accept(ps, "["))
        return hocket__regex_parse_class(ps);
    if (hocket__regex_accept(ps, "\\"))
        return hocket__regex_parse_escape(ps, repeatable);
    if (hocket__regex_accept(ps, "."))
        return hocket__regex_emit(ps, HOCKET__RE_ANY, 0);
    if (hocket__regex_at(ps, '^') || hocket__regex_at(ps, '$')) {
        *repeatable = false;
        return hocket__regex_emit(ps, *ps->p++ == '^' ? HOCKET__RE_BEGIN : HOCKET__RE_END, 0);
    }
    return hocket__regex_emit(ps, HOCKET__RE_CHAR, (int32_t) hocket__regex_read(&ps->p, ps->end));
}

static int sequence(struct hocket__regex_parser *ps)
{
    while (ps->p < ps->end && *ps->p != '|' && *ps->p != ')') {
        size_t start = ps->re->size;
        bool repeatable = true;
        uint32_t min, max;
        int rc = atom(ps, &repeatable);
        if (rc < 0)
            return rc;
        if (!repeatable || !read_quantifier(ps, &min, &max))
            continue;
        if (max < min)
            return hocket__regex_fail(ps, HOCKET_EPARSE, "the numbers in braces are out of order");
        rc = repeat(ps, start, min, max);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* A further alternative puts its branch in front of all that stands before. */
static int alternatives(struct hocket__regex_parser *ps)
{
    size_t start = ps->re->size;
    int rc = sequence(ps);
    while (rc == 0 && hocket__regex_accept(ps, "|")) {
        size_t jump = ps->re->size + 1;
        rc = insert(ps, start, HOCKET__RE_SPLIT, (int32_t) (jump + 1 - start));
        if (rc == 0)
            rc = hocket__regex_emit(ps, HOCKET__RE_JUMP, 0);
        if (rc == 0)
            rc = sequence(ps);
        if (rc == 0)
            ps->re->code[jump].arg = (int32_t) (ps->re->size - jump);
    }
    return rc;
}

int hocket__regex_parse(
    struct hocket__regex *re, struct hocket__str pattern, size_t max_size, struct hocket_error *err)
{
    struct hocket__regex_parser ps = { .re = re,
        .begin = pattern.p,
        .p = pattern.p,
        .end = pattern.p + pattern.n,
        .max_size = max_size,
        .err = err };
    if (pattern.n > 4 * max_size)
        return hocket__regex_fail(&ps, HOCKET_ELIMIT, "the pattern is too long");
    int rc = alternatives(&ps);
    if (rc == 0 && ps.p < ps.end)
        rc = hocket__regex_fail(&ps, HOCKET_EPARSE, "there is no ( for this )");
    return rc < 0 ? rc : hocket__regex_emit(&ps, HOCKET__RE_MATCH, 0);
}
