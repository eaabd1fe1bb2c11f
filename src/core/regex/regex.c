/* Matching (regex.h): the states of the program that are alive are followed side by side, a
 * character at a time. No state is in a list twice, so that the work for a character is bounded by
 * the program's size, whatever pattern and text are. Each instruction costs a step of the caller's,
 * who may have only so many.
 *
 * Memory comes from the caller, of a size that is known when the pattern is compiled; so matching
 * cannot fail for want of it, and two threads may match with one pattern. */
#include "core/regex/regex_impl.h"

#define SIZE_DEFAULT 10000

int hocket__regex_new(const struct hocket_allocator *a, struct hocket__str pattern, size_t max_size,
    struct hocket__regex **out, struct hocket_error *err)
{
    struct hocket__regex *re = hocket__zero(a, sizeof(*re));
    if (!re)
        return hocket__error_nomem(err);
    re->a = a;
    int rc = hocket__regex_parse(re, pattern, max_size ? max_size : SIZE_DEFAULT, err);
    if (rc < 0) {
        hocket__regex_free(re);
        return rc;
    }
    *out = re;
    return 0;
}

void hocket__regex_free(struct hocket__regex *re)
{
    if (!re)
        return;
    for (size_t i = 0; i < re->class_count; i++) {
        struct hocket__regex_class *c = &re->classes[i];
        hocket__free(re->a, c->ranges, c->cap * sizeof(*c->ranges));
    }
    hocket__free(re->a, re->classes, re->class_cap * sizeof(*re->classes));
    hocket__free(re->a, re->code, re->code_cap * sizeof(*re->code));
    hocket__free(re->a, re, sizeof(*re));
}

uint32_t hocket__regex_read(const char **p, const char *end)
{
    static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
    const unsigned char *s = (const unsigned char *) *p;
    size_t left = (size_t) (end - *p);
    size_t more = s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 1 : s[0] < 0xf0 ? 2 : 3;
    (*p)++;
    if (s[0] < 0x80)
        return s[0];
    if (more == 0 || s[0] > 0xf7 || left <= more)
        return 0xfffd;
    uint32_t code = s[0] & (0x3fu >> more);
    for (size_t i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0xfffd;
        code = code << 6 | (s[i] & 0x3fu);
    }
    if (code < least[more] || code > 0x10ffff)
        return 0xfffd;
    *p += more;
    return code;
}

/* ---- Matching ---- */

/* The states that are alive at one position, each once. `mark` says at which
 * round an instruction was visited last. */
struct states {
    uint32_t *list;
    size_t count;
};

struct run {
    const struct hocket__regex *re;
    const char *begin, *end;
    uint64_t *steps;
    uint32_t *mark, *stack;
    struct states now, next;
    uint32_t round;
    uint32_t *scratch; /* for the lookaheads inside */
};

/* mark, stack, and two lists. */
#define ARRAYS 4

size_t hocket__regex_size(const struct hocket__regex *re)
{
    return re->size;
}

size_t hocket__regex_scratch(const struct hocket__regex *re)
{
    return (size_t) (re->depth + 1) * ARRAYS * re->size * sizeof(uint32_t);
}

static void run_init(struct run *r, const struct hocket__regex *re, struct hocket__str text,
    uint32_t *scratch, uint64_t *steps)
{
    size_t n = re->size;
    *r = (struct run){ .re = re, .begin = text.p, .end = text.p + text.n, .steps = steps };
    r->mark = scratch;
    r->stack = scratch + n;
    r->now.list = scratch + 2 * n;
    r->next.list = scratch + 3 * n;
    r->scratch = scratch + ARRAYS * n;
    memset(r->mark, 0, n * sizeof(*r->mark));
}

static bool is_word(const char *p)
{
    char c = *p;
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Bytes are enough: letters of a word are ASCII in ECMA-262 without the flag u, and no byte of a
 * longer character is one. */
static bool at_word_edge(const struct run *r, const char *p)
{
    return (p > r->begin && is_word(p - 1)) != (p < r->end && is_word(p));
}

static int search_from(struct run *r, uint32_t start, const char *p, bool anchored);

static int look_ahead(struct run *r, uint32_t pc, const char *p)
{
    struct run inner;
    struct hocket__str text = hocket__str(r->begin, (size_t) (r->end - r->begin));
    uint64_t cost = r->re->size / 8; /* clearing the marks */
    if (*r->steps <= cost)
        return HOCKET_ELIMIT;
    *r->steps -= cost;
    run_init(&inner, r->re, text, r->scratch, r->steps);
    return search_from(&inner, pc + 1, p, true);
}

/* Where an instruction that reads nothing goes on: 1 when it lets through to
 * the next one, 0 when not, negative when the steps ran out. */
static int passes(struct run *r, uint32_t pc, const char *p)
{
    switch (r->re->code[pc].op) {
    case HOCKET__RE_BEGIN: return p == r->begin;
    case HOCKET__RE_END: return p == r->end;
    case HOCKET__RE_WORD: return at_word_edge(r, p);
    case HOCKET__RE_NOT_WORD: return !at_word_edge(r, p);
    default: return 0;
    }
}

static void push(struct run *r, size_t *top, uint32_t pc)
{
    if (r->mark[pc] != r->round) {
        r->mark[pc] = r->round;
        r->stack[(*top)++] = pc;
    }
}

/* Arguments of jumps are distances, so that parts of a program can be copied for quantifiers
 * without looking into them. */
static uint32_t target(uint32_t pc, int32_t arg)
{
    return (uint32_t) ((int32_t) pc + arg);
}

/* Adds to `next` all states that `start` leads to without reading. Answers 1
 * when one of them is the end of the pattern. */
static int add_states(struct run *r, uint32_t start, const char *p)
{
    size_t top = 0;
    push(r, &top, start);
    while (top > 0) {
        uint32_t pc = r->stack[--top];
        const struct hocket__regex_code *code = &r->re->code[pc];
        int rc;
        if (*r->steps == 0)
            return HOCKET_ELIMIT;
        --*r->steps;
        switch (code->op) {
        case HOCKET__RE_MATCH: return 1;
        case HOCKET__RE_CHAR:
        case HOCKET__RE_ANY:
        case HOCKET__RE_CLASS: r->next.list[r->next.count++] = pc; break;
        case HOCKET__RE_SPLIT:
            push(r, &top, pc + 1);
            push(r, &top, target(pc, code->arg));
            break;
        case HOCKET__RE_JUMP: push(r, &top, target(pc, code->arg)); break;
        case HOCKET__RE_AHEAD:
        case HOCKET__RE_NOT_AHEAD:
            rc = look_ahead(r, pc, p);
            if (rc < 0)
                return rc;
            if (rc == (code->op == HOCKET__RE_AHEAD))
                push(r, &top, target(pc, code->arg));
            break;
        default:
            if (passes(r, pc, p))
                push(r, &top, pc + 1);
        }
    }
    return 0;
}

static bool takes(const struct run *r, uint32_t pc, uint32_t c)
{
    const struct hocket__regex_code *code = &r->re->code[pc];
    switch (code->op) {
    case HOCKET__RE_CHAR: return c == (uint32_t) code->arg;
    case HOCKET__RE_ANY: return c != '\n' && c != '\r' && c != 0x2028 && c != 0x2029;
    default: return hocket__regex_class_has(&r->re->classes[code->arg], c);
    }
}

/* One character: the states that take it move on. */
static int advance(struct run *r, uint32_t c, const char *behind)
{
    /* The two lists change places: what was found for this position is read, the other is
     * filled for the next. */
    struct states done = r->now;
    r->now = r->next;
    r->next = (struct states){ done.list, 0 };
    r->round++;
    for (size_t i = 0; i < r->now.count; i++) {
        uint32_t pc = r->now.list[i];
        int rc = takes(r, pc, c) ? add_states(r, pc + 1, behind) : 0;
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Follows the pattern from `p` on, and, unless anchored, from every later
 * position too. Rounds are counted per character, which `push` relies on. */
static int search_from(struct run *r, uint32_t start, const char *p, bool anchored)
{
    r->round = 1;
    int rc = add_states(r, start, p);
    while (rc == 0 && p < r->end && (r->next.count > 0 || !anchored)) {
        uint32_t c = hocket__regex_read(&p, r->end);
        /* a round is never used twice, or a mark of long ago would count */
        if (r->round == UINT32_MAX)
            return HOCKET_ELIMIT;
        rc = advance(r, c, p);
        if (rc == 0 && !anchored)
            rc = add_states(r, start, p);
    }
    return rc;
}

int hocket__regex_search(
    const struct hocket__regex *re, struct hocket__str text, void *scratch, uint64_t *steps)
{
    struct run r;
    if (text.n == 0)
        text.p = "";
    run_init(&r, re, text, scratch, steps);
    /* A pattern that begins with ^ outside of all alternatives needs no other beginning; before one
     * within an alternative stands a SPLIT. */
    return search_from(&r, 0, text.p, re->code[0].op == HOCKET__RE_BEGIN);
}
