/* Inside of the board: the two changes that exist, how they are made ready,
 * recorded and applied. Operations (board.c) and replay (record.c) meet here. */
#pragma once

#include "core/board/board.h"

struct hocket__board {
    const struct hocket_allocator *a;
    struct hocket__task *tasks; /* tasks[id - 1] */
    size_t count, cap;
    size_t in[HOCKET__TASK_STATUSES]; /* how many there are in each state */
    size_t max_tasks, max_text;
    struct hocket__str *agents; /* owned */
    size_t agent_count;
    bool any_agent;
    struct hocket__emitter emitter;
};

/* What becomes of one task. Borrowed text. */
struct hocket__task_update {
    int64_t id;
    enum hocket__task_status status;
    struct hocket__str completed_by, error, result;
    bool corrected;
    int64_t corrected_from;           /* the id that was asked for */
    struct hocket__str reassigned_to; /* empty: to nobody */
};

/* Whether the table of transitions has the step. A task that another agent gets stays running. */
bool hocket__task_can(const struct hocket__task *task, const struct hocket__task_update *u);

/* Records the change (unless `record` is false: it was read from a record) and
 * applies it, or changes nothing. Sizes, names and transitions have been
 * checked by the caller. */
int hocket__board_add_tasks(struct hocket__board *b, struct hocket__str agent,
    const struct hocket__task_spec *specs, size_t count, bool record, struct hocket_error *err);
int hocket__board_update_task(struct hocket__board *b, struct hocket__str agent,
    const struct hocket__task_update *u, bool record, struct hocket_error *err);

/* The payloads of the two records. */
void hocket__board_write_tasks(const struct hocket__board *b, struct hocket__buf *out,
    const struct hocket__task *tasks, size_t count);
void hocket__board_write_update(const struct hocket__board *b, struct hocket__buf *out,
    const struct hocket__task *task, const struct hocket__task_update *u);

/* The member "board", where the board has a number. */
void hocket__board_write_number(const struct hocket__board *b, struct hocket__buf *out);
