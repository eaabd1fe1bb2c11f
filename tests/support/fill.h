/* Puts runs into a store, by lines:
 *
 *     run ID STATE TARGET          a run; what describes it follows, then `put`
 *     input TEXT | options JSON | waiting JSON | generation NAME | usage NANO-DOLLARS TOKENS | created MS
 *     parent ID AT_N AT_SEQ
 *     put
 *     event JSON                   its next record; or any text
 *     entry AT_MS NAME VALUE       its next entry
 *     file PATH TEXT
 *     release                      nobody has it
 *     many N MS                    so many that are done, the first made at that time
 *     crash                        once all that is kept: the process ends, and lets go of nothing
 *     hold                         once all that is kept: says so on stdout, and goes on with the next line */
#pragma once

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/run_id.h"
#include "store/store.h"

struct fill {
    struct hocket__store *s;
    struct hocket__store_run run;
    struct hocket__store_claim claim;
    uint64_t n, seq;
    char *texts[6]; /* of the run that is described */
};

static inline struct hocket__str fill_keep(struct fill *f, int i, const char *text)
{
    free(f->texts[i]);
    f->texts[i] = strdup(text);
    return hocket__cstr(f->texts[i]);
}

static inline void fill_check(int rc, const char *what)
{
    if (rc < 0) {
        fprintf(stderr, "fill: %s: %d\n", what, rc);
        exit(1);
    }
}

static inline void fill_run(struct fill *f, const char *rest)
{
    char id[64], state[32];
    int at = 0;
    sscanf(rest, "%63s %31s %n", id, state, &at);
    f->run = (struct hocket__store_run){ .cost = -1, .tokens = -1, .created_ms = 1795251600000 };
    snprintf(f->run.id, sizeof(f->run.id), "%.26s", id);
    f->run.state = hocket__store_state_of(hocket__cstr(state));
    f->run.target = fill_keep(f, 0, rest + at);
    f->run.options = fill_keep(f, 1, "{}");
    f->run.input = f->run.generation = f->run.waiting_for = HOCKET__STR("");
    f->run.version = HOCKET__STR("0.1.0");
    memset(f->run.seed, 7, sizeof(f->run.seed));
    f->n = f->seq = 0;
}

static inline void fill_parent(struct fill *f, const char *rest)
{
    char id[64];
    sscanf(rest, "%63s %" SCNu64 " %" SCNu64, id, &f->run.at_n, &f->run.at_seq);
    snprintf(f->run.parent, sizeof(f->run.parent), "%.26s", id);
    f->n = f->run.at_n;
    f->seq = f->run.at_seq;
}

static inline void fill_entry(struct fill *f, const char *rest)
{
    char name[64];
    int at = 0;
    struct hocket__store_entry e = { .n = ++f->n, .tick = f->n, .kind = 1 };
    sscanf(rest, "%" SCNd64 " %63s %n", &e.at_ms, name, &at);
    e.name = hocket__cstr(name);
    e.digest = HOCKET__STR("");
    e.value = hocket__cstr(rest + at);
    fill_check(hocket__store_append(f->s, &f->claim, &e), "entry");
}

static inline void fill_file(struct fill *f, const char *rest)
{
    const char *space = strchr(rest, ' ');
    struct hocket__store_file file = { .generation = f->run.generation,
        .path = hocket__str(rest, (size_t) (space - rest)),
        .hash = HOCKET__STR("0000"),
        .text = hocket__cstr(space + 1) };
    fill_check(hocket__store_file(f->s, &file), "file");
}

static inline void fill_many(struct fill *f, const char *rest)
{
    long count = 0;
    int64_t ms = 0;
    sscanf(rest, "%ld %" SCNd64, &count, &ms);
    for (long i = 0; i < count; i++) {
        char id[HOCKET__RUN_ID_LEN + 1], line[128];
        unsigned char random[HOCKET__RUN_ID_RANDOM] = { 0 };
        memcpy(random, &i, sizeof(i));
        hocket__run_id(ms + i, random, id);
        snprintf(line, sizeof(line), "%s done team number %ld", id, i);
        fill_run(f, line);
        f->run.created_ms = ms + i;
        fill_check(hocket__store_put(f->s, &f->run, &f->claim), "put");
        fill_check(hocket__store_release(f->s, &f->claim), "release");
    }
}

/* One line, without its end. Not `crash` and `hold`, which need a loop. */
static inline void fill_line(struct fill *f, char *line)
{
    char *rest = strchr(line, ' ');
    if (rest)
        *rest++ = 0;
    else
        rest = line + strlen(line);
    if (strcmp(line, "run") == 0)
        fill_run(f, rest);
    else if (strcmp(line, "input") == 0)
        f->run.input = fill_keep(f, 2, rest);
    else if (strcmp(line, "options") == 0)
        f->run.options = fill_keep(f, 1, rest);
    else if (strcmp(line, "waiting") == 0)
        f->run.waiting_for = fill_keep(f, 3, rest);
    else if (strcmp(line, "generation") == 0)
        f->run.generation = fill_keep(f, 4, rest);
    else if (strcmp(line, "usage") == 0)
        sscanf(rest, "%" SCNd64 " %" SCNd64, &f->run.cost, &f->run.tokens);
    else if (strcmp(line, "created") == 0)
        sscanf(rest, "%" SCNd64, &f->run.created_ms);
    else if (strcmp(line, "parent") == 0)
        fill_parent(f, rest);
    else if (strcmp(line, "put") == 0)
        fill_check(hocket__store_put(f->s, &f->run, &f->claim), "put");
    else if (strcmp(line, "event") == 0)
        fill_check(hocket__store_record(f->s, &f->claim,
                       &(struct hocket__store_record){ ++f->seq, hocket__cstr(rest) }),
            "event");
    else if (strcmp(line, "entry") == 0)
        fill_entry(f, rest);
    else if (strcmp(line, "file") == 0)
        fill_file(f, rest);
    else if (strcmp(line, "release") == 0)
        fill_check(hocket__store_release(f->s, &f->claim), "release");
    else if (strcmp(line, "many") == 0)
        fill_many(f, rest);
    else
        fill_check(-1, line);
}

static inline void fill_end(struct fill *f)
{
    for (size_t i = 0; i < sizeof(f->texts) / sizeof(f->texts[0]); i++)
        free(f->texts[i]);
}
