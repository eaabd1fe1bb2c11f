/* Programs, and what each may be told to do without starting another one or writing elsewhere: a table of what is
 * allowed. An option, a command or an operand that the table does not allow asks, whatever it does: a list of what is dangerous
 * in other people's programs is never complete, and grows old with their next release.
 *
 * The options of a row are words, separated by blanks. `-abc` in a row that bundles are three letters. What follows the name
 * says which value the option has:
 *
 *     none    no value
 *     =       perhaps one, in the same word (-n5, --color=auto)
 *     :       one, in the same word or the next
 *     ::      two, in the next words
 *     >       a path that is written or worked in: below the work directory, and not protected
 *     #       a plain name, in the same word or the next: letters, digits, '_', '+', '-'
 *     ~       a plain name, in the same word (-O2, -std=c11)
 *     *       anything, in the same word (-Iinclude)
 *
 * A word that begins with '!' is one that only the rule itself may say: the table knows it for its value's sake. */
#pragma once

#include "base/str.h"

#include <stdbool.h>

enum hocket__program_kind {
    HOCKET__KNOWN,         /* its options are those of the table: what a row is that does not say */
    HOCKET__RUNS_OPERANDS, /* its operands are a command, or it has a shell inside: asks */
    HOCKET__INTERPRETS,    /* its first operand is a script, its options may be */
    HOCKET__HARMLESS,      /* nothing in its manual starts a program or writes a file */
};

enum hocket__operands {
    HOCKET__ANY,
    HOCKET__NO_OPERANDS,
    HOCKET__INSIDE,        /* paths below the work directory */
    HOCKET__SECOND_INSIDE, /* the first is plain, the second a path below the work directory */
    HOCKET__PLAIN,   /* no list of arguments (@file, +toolchain), assignment or helper (ext::) */
    HOCKET__REMOTE,  /* the first is a plain name, the others are plain */
    HOCKET__ADDRESS, /* the last part is the name of a file that is written */
    HOCKET__BY_RULE, /* what is fetched and run: only a rule that spells the command leaves it open */
    HOCKET__OF_WORDS, /* each one of the row's words */
    HOCKET__FIRST_OF_WORDS,
    HOCKET__WITH_PLUS, /* they begin with '+' */
};

struct hocket__program_facts {
    const char *names; /* separated by blanks */
    enum hocket__program_kind kind;
    enum hocket__operands operands;
    bool
        single; /* options are whole words also behind one dash, and "--" ends nothing unless it is listed */
    bool letters_first; /* the first word may be letters without a dash (tar) */
    const char *options;
    const char *words; /* of INTERPRETS: whose next word ends the options */
    const struct hocket__program_facts
        *commands; /* the first operand is such a word; NULL at the end */
};

/* A row with names NULL is behind the last one. */
extern const struct hocket__program_facts hocket__programs[];
