/* What the parts of hocket_embed share: embed.c reads the files and writes the C source, match.c finds
 * what stands in a file for the second time, code.c gives frequent symbols short codes, pack.c chooses, trim.c
 * makes bytecode smaller. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/unpack.h"

struct file {
    char name[256], path[1024];
    unsigned char *data, *packed;
    size_t n, n_packed;
    struct matches *matches;
};

void die(const char *what);
void *must(void *p);

/* ---- trim.c ---- */

/* Leaves the names of locals and upvalues out of what lua_dump wrote. */
void trim(struct file *f);

/* ---- match.c ---- */

struct match {
    uint32_t n, distance;
};

/* Of each place in a text the matches that are worth a look: each is longer than the one before it, and farther away. */
struct matches {
    struct match *all;
    size_t *begin; /* n + 1 */
    size_t n, cap;
};

#define MIN_MATCH HOCKET__UNPACK_MIN_MATCH
#define MAX_MATCH 1024 /* a longer one is made of several */
#define MAX_DISTANCE                                                                               \
    (1 << 20) /* as far as a number of 17 bits and its class reach (base/unpack.c) */

struct matches *find_matches(
    const unsigned char *dictionary, size_t n_dictionary, const unsigned char *text, size_t n);

/* ---- code.c ---- */

/* Bytes, and behind them lengths of matches, by their class; distances have a code of their own. */
#define N_LENGTHS     40
#define N_SYMBOLS     (256 + N_LENGTHS)
#define N_DISTANCES   76
#define SYMBOL_BITS   HOCKET__UNPACK_SYMBOL_BITS
#define DISTANCE_BITS HOCKET__UNPACK_DISTANCE_BITS

struct code {
    unsigned n, max_bits;
    uint64_t count[N_SYMBOLS];
    unsigned char bits[N_SYMBOLS]; /* 0: it does not occur */
    uint16_t word[N_SYMBOLS];      /* to be written low bit first */
};

/* From how often each symbol occurs. */
void code_make(struct code *c);
/* The table of the reader. */
void code_table(const struct code *c, uint16_t *out);
/* Bits of a symbol; of one that has none yet, what a rare one would take. */
unsigned code_cost(const struct code *c, unsigned symbol);

/* A number as its class, and bits that tell it from others of the class. */
struct classed {
    unsigned of, bits, rest;
};
struct classed classify(uint32_t v);

/* ---- pack.c ---- */

struct codes {
    struct code symbols, distances;
};

struct codes codes_new(void);
void codes_make(struct codes *c);
/* Chooses how a file is written, by what the codes cost, and counts what that takes. */
void choose(struct file *f, const struct codes *codes, struct codes *counts);
void pack(struct file *f, const struct codes *codes);
