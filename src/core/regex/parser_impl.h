/* What the two halves of the parser share: parse.c (groups, quantifiers,
 * alternatives) and escape.c (escapes, classes). */
#pragma once

#include "core/regex/regex_impl.h"

struct hocket__regex_parser {
    struct hocket__regex *re;
    const char *begin, *p, *end;
    size_t max_size;
    int groups, aheads; /* open ones */
    struct hocket_error *err;
};

/* Fails with the offset. Returns `status`. */
int hocket__regex_fail(struct hocket__regex_parser *ps, int status, const char *what);
/* Whether the next character is c; whether the text comes next, which is then taken. */
bool hocket__regex_at(const struct hocket__regex_parser *ps, char c);
bool hocket__regex_accept(struct hocket__regex_parser *ps, const char *what);
int hocket__regex_emit(struct hocket__regex_parser *ps, enum hocket__regex_op op, int32_t arg);

/* Behind a '[': the class, up to its ']'. */
int hocket__regex_parse_class(struct hocket__regex_parser *ps);
/* Behind a backslash; *repeatable becomes false for \b and \B. */
int hocket__regex_parse_escape(struct hocket__regex_parser *ps, bool *repeatable);
