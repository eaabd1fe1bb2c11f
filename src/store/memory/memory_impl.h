/* What the parts of the memory store share. */
#pragma once

#include "store/store_impl.h"

struct hocket__block {
    uint64_t key; /* of an entry its n, of a record its seq */
    size_t n;
    char bytes[];
};

struct hocket__blocks {
    struct hocket__block **at;
    size_t count, cap;
};

struct hocket__memory_run {
    char id[HOCKET__STORE_ID + 1], parent[HOCKET__STORE_ID + 1];
    uint64_t at_n, at_seq, fence, taken_n;
    uint32_t attempts;
    char caller[HOCKET__STORE_ID + 1];
    enum hocket__store_state state;
    int64_t updated_ms, due_ms;
    bool owned, removed, refused;
    bool pooled; /* its row names a pool */
    bool spoken; /* a message came since it was claimed */
    int64_t since_ms;
    struct hocket__block *row;
    struct hocket__blocks entries, records, messages;
};

struct hocket__memory {
    struct hocket__store_backend base;
    const struct hocket_allocator *a;
    struct hocket__memory_run **runs; /* by id */
    size_t n_runs, cap;
    struct hocket__blocks files; /* by generation and path */
    struct hocket__blocks items; /* by kind, time and id */
    struct hocket__memory_limit *limits;
    struct hocket__memory_lease *leases;
    struct hocket__blocks notes; /* the one that was written last is the last */
    uint64_t commits;
    struct hocket__store_refused *spare; /* for the next refusal; NULL: none yet */
    bool hint;                           /* a run was queued or got a message: report CHANGED */
    char host[256];
};

/* ---- rows.c ---- */

/* A row as bytes of its own; NULL: out of memory. What is unpacked points into them. */
struct hocket__block *hocket__memory_pack(
    struct hocket__memory *m, const struct hocket__store_row *row, uint64_t key);
void hocket__memory_unpack(const struct hocket__block *b, struct hocket__store_row *row);
/* Packs a row and puts it at i; 0 or ENOMEM. */
int hocket__memory_insert(struct hocket__memory *m, struct hocket__blocks *to, size_t i,
    const struct hocket__store_row *row, uint64_t key);
/* It is the caller's then. */
struct hocket__block *hocket__memory_take_out(struct hocket__blocks *from, size_t i);
/* The order of names: by bytes. */
int hocket__memory_compare(struct hocket__str a, struct hocket__str b);
void hocket__memory_free_block(struct hocket__memory *m, struct hocket__block *b);
void hocket__memory_free_blocks(struct hocket__memory *m, struct hocket__blocks *b);

/* Where an id is, or would be; a prefix counts as the first that begins so. */
size_t hocket__memory_place(const struct hocket__memory *m, struct hocket__str id);
/* NULL: there is none. */
struct hocket__memory_run *hocket__memory_find_run(
    const struct hocket__memory *m, struct hocket__str id);
void hocket__memory_free_run(struct hocket__memory *m, struct hocket__memory_run *r);
/* The number of its last entry, which may be its parent's. */
uint64_t hocket__memory_last_n(const struct hocket__memory_run *r);
uint64_t hocket__memory_last_seq(const struct hocket__memory_run *r);
/* The row as it was put, with the fields that the store knows. */
void hocket__memory_row(const struct hocket__memory *m, const struct hocket__memory_run *r,
    struct hocket__store_row *row);
/* This process has it from now on, under a new fence. */
void hocket__memory_own(struct hocket__memory *m, struct hocket__memory_run *r);

/* ---- apply.c ---- */

/* Does one command: 0, ENOMEM, and it may be done again, or what is wrong with it: then its run is refused. */
int hocket__memory_apply(struct hocket__memory *m, const struct hocket__store_command *c);
/* Where a file stands, or would. `found` may be NULL. */
size_t hocket__memory_file(
    const struct hocket__memory *m, const struct hocket__store_file *file, bool *found);
/* Where a message of this id stands, also one that was deleted; SIZE_MAX: it never came. */
size_t hocket__memory_message(const struct hocket__memory_run *r, struct hocket__str id);
/* 0 or ENOMEM. Wakes the run: a waiting run that nobody has becomes queued. */
int hocket__memory_say(struct hocket__memory *m, struct hocket__memory_run *r,
    const struct hocket__store_message *message);

/* ---- queue.c ---- */

/* Nobody has it now. */
void hocket__memory_let_go(struct hocket__memory_run *r);
void hocket__memory_take_next(struct hocket__memory *m, struct hocket__store_call *c);
void hocket__memory_spoken(struct hocket__memory *m, struct hocket__store_call *c);

/* ---- ask.c ---- */

/* Answers a question into the call. */
void hocket__memory_answer(struct hocket__memory *m, struct hocket__store_call *c);

/* Forgets the files of the given generations that no run and no item has. */
void hocket__memory_drop_files(struct hocket__memory *m, struct hocket__str generations);

/* ---- submit.c ---- */

/* Puts the bundle: all of it, or nothing. 0, ENOMEM, EEXIST. */
int hocket__memory_put_along(struct hocket__memory *m, const struct hocket__store_call *c);
void hocket__memory_submit(struct hocket__memory *m, struct hocket__store_call *c);

/* ---- draw.c ---- */

void hocket__memory_draw(struct hocket__memory *m, struct hocket__store_call *c);
void hocket__memory_free_limits(struct hocket__memory *m);

/* ---- notes.c ---- */
