/* The program that the parser makes of a pattern and regex.c runs. All
 * jumps are relative, so a piece of program can be copied (which is how counted
 * repetitions are made) and moved (which is how a branch gets in front of it).
 *
 *     a|b      SPLIT 3, a, JUMP 2, b          a*     SPLIT 3, a, JUMP -2
 *     a+       a, SPLIT -1                    a?     SPLIT 2, a
 *     (?=a)    AHEAD 3, a, MATCH              a{2,3} a, a, SPLIT 2, a            */
#pragma once

#include "core/regex/regex.h"

enum hocket__regex_op {
    HOCKET__RE_CHAR,      /* arg: the code point */
    HOCKET__RE_ANY,       /* all but line ends */
    HOCKET__RE_CLASS,     /* arg: index into classes */
    HOCKET__RE_SPLIT,     /* goes to the next instruction and to the arg-th from here */
    HOCKET__RE_JUMP,      /* goes to the arg-th from here */
    HOCKET__RE_BEGIN,     /* ^ */
    HOCKET__RE_END,       /* $ */
    HOCKET__RE_WORD,      /* \b */
    HOCKET__RE_NOT_WORD,  /* \B */
    HOCKET__RE_AHEAD,     /* a program follows, up to its MATCH; arg: behind it */
    HOCKET__RE_NOT_AHEAD, /* the same, must not match */
    HOCKET__RE_MATCH,
};

struct hocket__regex_code {
    uint32_t op;
    int32_t arg;
};

struct hocket__regex_range {
    uint32_t first, last;
};

/* A set of code points: ranges and general categories, negated as a whole.
 * Characters below 128 are looked up in `ascii`, in which negation is done. */
struct hocket__regex_class {
    struct hocket__regex_range *ranges; /* sorted, apart, once closed */
    size_t count, cap;
    uint32_t categories; /* one bit per general category, see unicode.c */
    bool negated;
    uint32_t ascii[4];
};

struct hocket__regex {
    const struct hocket_allocator *a;
    struct hocket__regex_code *code;
    size_t size, code_cap;
    struct hocket__regex_class *classes;
    size_t class_count, class_cap;
    int depth; /* of lookaheads inside each other */
};

/* ---- Parser (parse.c) */

int hocket__regex_parse(struct hocket__regex *re, struct hocket__str pattern, size_t max_size,
    struct hocket_error *err);

/* ---- Classes */

bool hocket__regex_class_has(const struct hocket__regex_class *c, uint32_t code);

/* ---- Unicode (unicode.c) */

/* The bit of a code point's general category. */
uint32_t hocket__unicode_category(uint32_t code);
/* The bits of a category by its short or long name ("L", "Letter",
 * "Uppercase_Letter"), or 0. */
uint32_t hocket__unicode_category_mask(struct hocket__str name);
#define HOCKET__UNICODE_ALL 0x3fffffffu

/* ---- Reading text */

/* The code point at *p, which is moved behind it. Bytes that are no UTF-8
 * count as one U+FFFD each. *p < end. */
uint32_t hocket__regex_read(const char **p, const char *end);
