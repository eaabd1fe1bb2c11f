/* The task board: the plan that a facilitator makes and specialists work off.
 *
 *                  ┌──────────────▶ done                 (final when its agent has ended well)
 *     pending ──▶ running ────────▶ failed  ──▶ running  (tried again)
 *        │           └────────────▶ cancelled            (final)
 *        ├──▶ done, failed, cancelled
 *        └──▶ skipped ──▶ running
 *     done ──▶ failed                                    (its agent failed after it: settle)
 *
 * A task is assigned to an agent by name, and completed by it or by whom it has given its work to. Open is
 * what is pending or running; finished is done, and nothing else: a task that
 * failed, was skipped or was cancelled never reads as finished.
 *
 * Every change is one record (see core/change.h) of type tasks_created
 *     {"tasks":[{"id":1,"text":"…","assigned_to":"food","active_form":"…","parent":2,"unblocks":3}]}
 * or task_updated
 *     {"id":1,"text":"…","assigned_to":"food","finished":true,"status":"done",
 *      "completed_by":"auto","error":"…","result":"…","corrected_from":7,"reassigned_to":"senior"}
 * with what is empty left out, and with "board":2 where the board has a number. The board is
 * the fold over those with its number.
 *
 * All text is borrowed for the call and copied. Text that is not UTF-8 is
 * repaired (U+FFFD); error and result texts are cut to max_text. A failing
 * operation changes nothing. */
#pragma once

#include "base/buf.h"
#include "core/change.h"
#include "core/ids.h"

/* X(NAME, word, open) */
#define HOCKET__TASK_MAP(X)                                                                        \
    X(PENDING, "pending", true)                                                                    \
    X(RUNNING, "running", true)                                                                    \
    X(DONE, "done", false)                                                                         \
    X(FAILED, "failed", false)                                                                     \
    X(SKIPPED, "skipped", false)                                                                   \
    X(CANCELLED, "cancelled", false)

enum hocket__task_status {
#define HOCKET__TASK_ENUM(name, word, open) HOCKET__TASK_##name,
    HOCKET__TASK_MAP(HOCKET__TASK_ENUM)
#undef HOCKET__TASK_ENUM
        HOCKET__TASK_STATUSES
};

const char *hocket__task_word(enum hocket__task_status status);
bool hocket__task_open(enum hocket__task_status status);

struct hocket__task {
    int64_t id; /* from 1, without gaps */
    enum hocket__task_status status;
    bool waits;              /* its agent was sent to work on it, and works on another one first */
    struct hocket__str text; /* "Find restaurants" */
    struct hocket__str active_form; /* "Finding restaurants"; may be empty */
    struct hocket__str assigned_to;
    struct hocket__str completed_by; /* of a task that was done: the agent, or HOCKET__BY_AUTO */
    struct hocket__str error;        /* why it failed, was skipped or cancelled; may be empty */
    struct hocket__str result;       /* of a task that was done; may be empty */
    int64_t parent;                  /* the task that it is a part of; 0: of none */
    int64_t unblocks;                /* the blocked task that waits for it; 0: none does */
    struct hocket__str *reassigned;  /* who got it, in order, since assigned_to had failed at it */
    size_t reassigned_n, reassigned_cap;
};

#define HOCKET__BY_AUTO "auto"

struct hocket__board;

struct hocket__board_options {
    size_t max_tasks;                 /* that are ever created on this board; 0 is none */
    size_t max_text;                  /* bytes of one text */
    const struct hocket__str *agents; /* who tasks may be assigned to; NULL: any valid name */
    size_t agent_count;
    hocket__emit_cb emit; /* may be NULL */
    void *ud;
};

/* 20 tasks, 16 KiB, any agent, no emit. */
struct hocket__board_options hocket__board_options_default(void);

/* ENOMEM, or EINVAL when a name in `agents` is none. Free with hocket__board_free
 * (NULL is fine). The allocator has to outlive the board. */
int hocket__board_new(const struct hocket_allocator *a, const struct hocket__board_options *options,
    struct hocket__board **out, struct hocket_error *err);
void hocket__board_free(struct hocket__board *b);

/* The board's number in its run, from 1, which marks its records. 0: none. */
void hocket__board_set_number(struct hocket__board *b, int64_t number);
/* From now on n more tasks may be created on it, whatever limit it had. */
void hocket__board_allow(struct hocket__board *b, size_t n);
int64_t hocket__board_number(const struct hocket__board *b);

/* ---- Reading ----------------------------------------------------------- */

size_t hocket__board_count(const struct hocket__board *b);
/* NULL: no such task. Valid until the board is changed. */
const struct hocket__task *hocket__board_get(const struct hocket__board *b, int64_t id);
size_t hocket__board_in(const struct hocket__board *b, enum hocket__task_status status);

/* Appends "3/6 done, tasks 5, 6 pending": running, pending, failed, skipped and
 * cancelled tasks are listed where there are some. "no tasks yet" when empty.
 * 0 or the buffer's status. */
int hocket__board_status(const struct hocket__board *b, struct hocket__buf *out);

/* Appends the tasks as a JSON array, [{"id":…,"text":…,"assigned_to":…,
 * "active_form":…,"status":…,"finished":…,"completed_by":…,"error":…,
 * "result":…,"parent":…,"unblocks":…,"reassigned_to":[…],"board":…}], in the order of `ids`, or all when it is NULL. ENOTFOUND names
 * the ids that do not exist (nothing is appended then); the buffer's status. */
int hocket__board_read(const struct hocket__board *b, const struct hocket__ids *ids,
    struct hocket__buf *out, struct hocket_error *err);

/* ---- Changing ---------------------------------------------------------- */

/* The functions below may return ENOMEM, what emit returned, and ESTATE from inside emit. */

struct hocket__task_spec {
    struct hocket__str text, assigned_to, active_form;
    int64_t parent, unblocks; /* tasks that are there; 0: none */
};

/* Creates all the tasks, or none. `agent` is who plans. On success the ids are
 * *first (may be NULL) and those after it. ELIMIT tells how many exist, how many were asked
 * for and how many are left; EINVAL names the task (its place in the list), the
 * fault and, for an unknown assignee, the known ones. */
int hocket__board_create(struct hocket__board *b, struct hocket__str agent,
    const struct hocket__task_spec *specs, size_t count, int64_t *first, struct hocket_error *err);

enum hocket__board_pace { HOCKET__ALL_AT_ONCE, HOCKET__ONE_BY_ONE };

/* Checks that `agent` can be sent to work on all of `ids`: they exist (ENOTFOUND),
 * are its own (EDENIED) and are pending, failed or skipped (ESTATE); then makes
 * them running, each with a record of its own. When emit refuses one, those
 * before it are running already. One by one: the first is running, and the others wait; each is running when
 * hocket__board_complete has taken the one before it. The records do not say that a task waits. */
int hocket__board_start(struct hocket__board *b, struct hocket__str agent, struct hocket__ids ids,
    enum hocket__board_pace pace, struct hocket_error *err);

/* A running task goes to another agent, since whoever had it has failed with `error`. It stays running, and assigned_to is
 * whom it was planned for. ENOTFOUND, ESTATE where it is not running, ELIMIT after HOCKET__REASSIGNED_MAX times. */
#define HOCKET__REASSIGNED_MAX 100
int hocket__board_reassign(struct hocket__board *b, struct hocket__str agent, int64_t id,
    struct hocket__str to, struct hocket__str error, struct hocket_error *err);

struct hocket__completion {
    int64_t id;     /* the task that is done now */
    bool corrected; /* another id was asked for: worth a line in the log */
    bool already;   /* it was done before; nothing has changed */
};

/* `agent`, which was sent to work on `own`, reports task `id` as done. The agent owns the tasks of `own` that are
 * assigned to it. Another id counts as a slip, and is corrected, when the agent owns exactly one open task. Otherwise
 * it is refused (EINVAL) with the list of the open tasks. A task of its own that is done already is no error
 * (`already`, the first result stands). A failed, skipped or cancelled one is ESTATE. If none of `own` is running
 * afterwards, the next waiting one becomes running. `by`: who did the task in the agent's place; empty: the agent
 * itself. `result` may be empty, *out is filled on success. */
int hocket__board_complete(struct hocket__board *b, struct hocket__str agent, struct hocket__str by,
    struct hocket__ids own, int64_t id, struct hocket__str result, struct hocket__completion *out,
    struct hocket_error *err);

/* One open task fails, is skipped (only while pending) or is cancelled, with the reason.
 * ENOTFOUND, or ESTATE when its state does not allow it. `agent` is who says so. */
int hocket__board_fail(struct hocket__board *b, struct hocket__str agent, int64_t id,
    struct hocket__str error, struct hocket_error *err);
int hocket__board_skip(struct hocket__board *b, struct hocket__str agent, int64_t id,
    struct hocket__str cause, struct hocket_error *err);
int hocket__board_cancel(struct hocket__board *b, struct hocket__str agent, int64_t id,
    struct hocket__str cause, struct hocket_error *err);

/* The safety net, when `agent` has ended its work on `own`, the tasks of one hocket__board_start. On `success` its own
 * open tasks become done, completed_by "auto". Otherwise its own tasks fail with `error`: the open ones, and the ones
 * that it completed before it failed, which keep completed_by and result. Tasks of others, and failed, skipped or
 * cancelled tasks, stay as they are. Returns how many were changed, with their ids in `settled` (may be NULL, else
 * room for own.n): on success each is worth a warning. When emit refuses one, the tasks before it are settled
 * already. */
int hocket__board_settle(struct hocket__board *b, struct hocket__str agent, struct hocket__ids own,
    bool success, struct hocket__str error, int64_t *settled, struct hocket_error *err);

/* ---- Replaying --------------------------------------------------------- */

/* Applies one record, a line of the journal, and emits nothing. 1 when it
 * was applied, 0 when it is of another type or another board's, EPARSE when it is malformed,
 * ESTATE when it does not follow from the state (a gap, an illegal transition),
 * ENOMEM. Limits and the list of agents are not looked at: it has happened. */
int hocket__board_replay(
    struct hocket__board *b, struct hocket__str record, struct hocket_error *err);
