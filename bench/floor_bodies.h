/* The bodies that a run of hocket sent, in order of arrival, as conversations.
 *
 * The first body's model is the lead. Bodies of other models are its helpers: each model is
 * one conversation, and they run side by side, between the lead's bodies that came before
 * and after them:
 *
 *   lead ──> lead ──┬── a ──> a ──> a ──┬──> lead ──> lead
 *                   └── b ──> b ──> b ──┘
 */
#pragma once

#include <stddef.h>

struct body {
    const char *data;
    size_t size;
};

struct talk {
    const char *model; /* up to the closing quote */
    size_t n_model;
    struct body *bodies;
    size_t n;
};

struct bodies {
    char *text;
    struct talk *talks; /* the first is the lead's */
    size_t n_talks;
    size_t fork; /* bodies of the lead before its helpers begin */
};

/* Reads a file that bench_mock --record wrote. Ends the program when it cannot. */
struct bodies bodies_read(const char *path);
void bodies_free(struct bodies *b);
