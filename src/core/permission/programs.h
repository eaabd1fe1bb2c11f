/* Programs that run others when they are told to: which words of theirs say so. */
#pragma once

#include "base/str.h"

#include <stdbool.h>

enum hocket__program_kind {
    HOCKET__RUNS_OPERANDS, /* its operands are a command, or it has a shell inside */
    HOCKET__INTERPRETS,    /* its first operand is a script, its options may be */
    HOCKET__HAS_OPTIONS,   /* some of its options name programs */
    HOCKET__IS_GIT,
};

struct hocket__program_facts {
    const char *names; /* separated by blanks */
    enum hocket__program_kind kind;
    const char *letters; /* options of one letter that run something, or for INTERPRETS: whose
                          * next word ends the options */
    const char *longs;   /* whole options, separated by blanks; beginnings count as well */
    const char *words;   /* operands that do */
    bool assigns;        /* NAME=value does */
    bool single;         /* options of one letter are not put together */
};

/* By the last part of a path; version numbers at its end do not count. NULL: unknown. */
const struct hocket__program_facts *hocket__program_facts(struct hocket__str program);

/* Whether `word` stands in a list that is separated by blanks. */
bool hocket__program_lists(const char *list, struct hocket__str word);
