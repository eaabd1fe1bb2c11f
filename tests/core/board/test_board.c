#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/json/json.h"
#include "core/board/board.h"
#include "support/alloc.h"
#include "support/strings.h"

#define FACILITATOR HOCKET__STR("facilitator")
#define FOOD        HOCKET__STR("food")
#define LOGISTICS   HOCKET__STR("logistics")
#define NONE        HOCKET__STR("")
#define IDS(...)                                                                                   \
    ((struct hocket__ids){ (const int64_t[]){ __VA_ARGS__ },                                       \
        sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t) })

/* A board that keeps the last record, and can refuse one. */
struct fixture {
    struct test_alloc t;
    struct hocket__board *b;
    struct hocket_error err;
    struct hocket__completion done;
    char type[32], agent[64], payload[1024];
    int records;
    int refuse_at; /* the n-th record from now is refused */
    int inner;     /* what an operation from inside of emit returned */
};

static int emit(const char *type, struct hocket__str agent, struct hocket__str payload,
    struct hocket_error *err, void *ud)
{
    struct fixture *f = ud;
    assert_non_null(err);
    assert_int_equal(hocket__json_check(payload, NULL), 0);
    f->inner = hocket__board_cancel(f->b, FACILITATOR, 1, NONE, NULL);
    if (f->refuse_at > 0 && --f->refuse_at == 0)
        return hocket__error(err, HOCKET_EIO, "the disk is full");
    f->records++;
    snprintf(f->type, sizeof(f->type), "%s", type);
    snprintf(f->agent, sizeof(f->agent), "%.*s", (int) agent.n, agent.p);
    snprintf(f->payload, sizeof(f->payload), "%.*s", (int) payload.n, payload.p);
    return 0;
}

#define TASK(what, who, doing)                                                                     \
    {                                                                                              \
        .text = what, .assigned_to = who, .active_form = doing                                     \
    }

static const struct hocket__task_spec six[] = {
    TASK(HOCKET__STR("Find flights"), LOGISTICS, HOCKET__STR("Finding flights")),
    TASK(HOCKET__STR("Find a hotel"), LOGISTICS, NONE),
    TASK(HOCKET__STR("Find \"tascas\""), FOOD, NONE),
    TASK(HOCKET__STR("Plan dinners"), FOOD, NONE),
    TASK(HOCKET__STR("Plan lunches"), FOOD, NONE),
    TASK(HOCKET__STR("Book a tram"), LOGISTICS, NONE),
};

static int setup(void **state)
{
    static struct fixture f;
    struct hocket__board_options o = hocket__board_options_default();
    memset(&f, 0, sizeof(f));
    test_alloc_init(&f.t);
    o.emit = emit;
    o.ud = &f;
    assert_int_equal(hocket__board_new(&f.t.a, &o, &f.b, &f.err), 0);
    *state = &f;
    return 0;
}

static int setup_six(void **state)
{
    setup(state);
    struct fixture *f = *state;
    return hocket__board_create(f->b, FACILITATOR, six, 6, NULL, &f->err);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    hocket__board_free(f->b);
    test_alloc_check(&f->t);
    return 0;
}

static void status_is(struct fixture *f, const char *expected)
{
    struct hocket__buf out;
    hocket__buf_init(&out, &hocket__malloc, 0);
    assert_int_equal(hocket__board_status(f->b, &out), 0);
    assert_string_equal(out.data, expected);
    hocket__buf_deinit(&out);
}

static void task_is(struct fixture *f, int64_t id, enum hocket__task_status status, const char *by,
    const char *error)
{
    const struct hocket__task *task = hocket__board_get(f->b, id);
    assert_non_null(task);
    assert_int_equal(task->status, status);
    assert_true(hocket__str_is(task->completed_by, by));
    assert_true(hocket__str_is(task->error, error));
}

static int complete(struct fixture *f, struct hocket__str agent, struct hocket__ids own, int64_t id)
{
    return hocket__board_complete(f->b, agent, NONE, own, id, NONE, &f->done, &f->err);
}

/* ---- Creating ------------------------------------------------------------ */

static void test_create(void **state)
{
    struct fixture *f = *state;
    int64_t first = 0;
    status_is(f, "no tasks yet");
    assert_int_equal(hocket__board_create(f->b, FACILITATOR, six, 3, &first, &f->err), 0);
    assert_int_equal(first, 1);
    assert_string_equal(f->type, "tasks_created");
    assert_string_equal(f->agent, "facilitator");
    assert_string_equal(f->payload,
        "{\"tasks\":[{\"id\":1,\"text\":\"Find flights\",\"assigned_to\":\"logistics\","
        "\"active_form\":\"Finding flights\"},"
        "{\"id\":2,\"text\":\"Find a hotel\",\"assigned_to\":\"logistics\"},"
        "{\"id\":3,\"text\":\"Find \\\"tascas\\\"\",\"assigned_to\":\"food\"}]}");
    assert_int_equal(hocket__board_create(f->b, FACILITATOR, six + 3, 3, &first, &f->err), 0);
    assert_int_equal(first, 4);
    assert_int_equal(hocket__board_count(f->b), 6);
    status_is(f, "0/6 done, tasks 1, 2, 3, 4, 5, 6 pending");
    task_is(f, 6, HOCKET__TASK_PENDING, "", "");
    assert_null(hocket__board_get(f->b, 0));
    assert_null(hocket__board_get(f->b, 7));
    assert_null(hocket__board_get(f->b, -1));
    assert_int_equal(f->records, 2);
}

static void test_limit(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(hocket__board_create(f->b, FACILITATOR, six, 6, NULL, &f->err), 0);
    assert_int_equal(hocket__board_create(f->b, FACILITATOR, six, 3, NULL, &f->err), HOCKET_ELIMIT);
    assert_string_equal(f->err.message,
        "too many tasks: 18 exist and 3 were asked for, but a plan has at most 20; 2 more can be "
        "created, so merge the work into fewer and larger tasks");
    assert_int_equal(hocket__board_count(f->b), 18);
    assert_int_equal(hocket__board_create(f->b, FACILITATOR, six, 2, NULL, &f->err), 0);
    assert_int_equal(hocket__board_create(f->b, FACILITATOR, six, 1, NULL, &f->err), HOCKET_ELIMIT);
    assert_int_equal(hocket__board_create(f->b, FACILITATOR, six, 0, NULL, &f->err), HOCKET_EINVAL);
    assert_int_equal(
        hocket__board_create(f->b, FACILITATOR, six, SIZE_MAX, NULL, NULL), HOCKET_ELIMIT);
    hocket__board_allow(f->b, 2);
    assert_int_equal(hocket__board_create(f->b, FACILITATOR, six, 3, NULL, &f->err), HOCKET_ELIMIT);
    assert_int_equal(hocket__board_create(f->b, FACILITATOR, six, 2, NULL, &f->err), 0);
    hocket__board_allow(f->b, 0);
    assert_int_equal(hocket__board_create(f->b, FACILITATOR, six, 1, NULL, &f->err), HOCKET_ELIMIT);
}

static void test_zero_is_zero(void **state)
{
    struct hocket__board *b;
    struct hocket__board_options o = hocket__board_options_default();
    o.max_tasks = 0;
    assert_int_equal(hocket__board_new(&hocket__malloc, &o, &b, NULL), 0);
    assert_int_equal(hocket__board_create(b, FACILITATOR, six, 1, NULL, NULL), HOCKET_ELIMIT);
    hocket__board_free(b);
}

static void test_create_all_or_nothing(void **state)
{
    struct fixture *f = *state;
    struct hocket__task_spec specs[2] = { six[0], six[1] };
    specs[1].text = HOCKET__STR(" \n");
    assert_int_equal(
        hocket__board_create(f->b, FACILITATOR, specs, 2, NULL, &f->err), HOCKET_EINVAL);
    assert_string_equal(f->err.message, "task 2 of 2: the text is empty");
    specs[1] = six[1];
    specs[1].assigned_to = NONE;
    assert_int_equal(
        hocket__board_create(f->b, FACILITATOR, specs, 2, NULL, &f->err), HOCKET_EINVAL);
    assert_string_equal(f->err.message, "task 2 of 2: a name is missing");
    static char text[20000];
    memset(text, 'x', sizeof(text));
    specs[1] = six[1];
    specs[1].active_form = hocket__str(text, sizeof(text));
    assert_int_equal(
        hocket__board_create(f->b, FACILITATOR, specs, 2, NULL, &f->err), HOCKET_ELIMIT);
    f->refuse_at = 1;
    assert_int_equal(hocket__board_create(f->b, FACILITATOR, six, 2, NULL, &f->err), HOCKET_EIO);
    assert_string_equal(f->err.message, "the disk is full");
    assert_int_equal(hocket__board_count(f->b), 0);
    assert_int_equal(f->records, 0);
    assert_int_equal(hocket__board_in(f->b, HOCKET__TASK_PENDING), 0);
}

/* Parts of a task, and what a blocked one needs; only of tasks that are there. */
static void test_links(void **state)
{
    struct fixture *f = *state;
    struct hocket__task_spec spec = TASK(HOCKET__STR("Buy stones"), FOOD, NONE);
    spec.parent = 2;
    spec.unblocks = 6;
    int before = f->records;
    assert_int_equal(hocket__board_create(f->b, LOGISTICS, &spec, 1, NULL, &f->err), 0);
    assert_string_equal(f->payload,
        "{\"tasks\":[{\"id\":7,\"text\":\"Buy stones\",\"assigned_to\":\"food\",\"parent\":2,"
        "\"unblocks\":6}]}");
    spec.unblocks = 0;
    for (int64_t id = -1; id <= 8; id += 9) { /* 8 is itself */
        spec.parent = id;
        assert_int_equal(
            hocket__board_create(f->b, LOGISTICS, &spec, 1, NULL, &f->err), HOCKET_EINVAL);
        assert_non_null(strstr(f->err.message, "that it could be a part of"));
    }
    assert_int_equal(f->records, before + 1);
    assert_int_equal(hocket__board_count(f->b), 7);
}

/* It stays running, and whom it was planned for stays; who got it stands in order. */
static void test_reassign(void **state)
{
    struct fixture *f = *state;
    struct hocket__str senior = HOCKET__STR("senior"), why = HOCKET__STR("no ladder");
    assert_int_equal(
        hocket__board_reassign(f->b, FOOD, 3, senior, why, &f->err), HOCKET_ESTATE); /* pending */
    assert_int_equal(hocket__board_start(f->b, FOOD, IDS(3), HOCKET__ALL_AT_ONCE, &f->err), 0);
    assert_int_equal(hocket__board_reassign(f->b, FOOD, 3, senior, why, &f->err), 0);
    assert_string_equal(f->payload,
        "{\"id\":3,\"text\":\"Find \\\"tascas\\\"\",\"assigned_to\":\"food\",\"finished\":false,"
        "\"status\":\"running\",\"error\":\"no ladder\",\"reassigned_to\":\"senior\"}");
    task_is(f, 3, HOCKET__TASK_RUNNING, "", "no ladder");
    assert_int_equal(hocket__board_reassign(f->b, senior, 3, NONE, why, &f->err), HOCKET_EINVAL);
    assert_int_equal(
        hocket__board_reassign(f->b, senior, 9, senior, why, &f->err), HOCKET_ENOTFOUND);
    for (int i = 1; i < HOCKET__REASSIGNED_MAX; i++)
        assert_int_equal(hocket__board_reassign(f->b, senior, 3, FOOD, why, &f->err), 0);
    assert_int_equal(hocket__board_reassign(f->b, senior, 3, FOOD, why, &f->err), HOCKET_ELIMIT);
    const struct hocket__task *task = hocket__board_get(f->b, 3);
    assert_int_equal(task->reassigned_n, HOCKET__REASSIGNED_MAX);
    assert_true(hocket__str_is(task->reassigned[0], "senior"));
    assert_int_equal(
        hocket__board_complete(f->b, FOOD, senior, IDS(3), 3, NONE, &f->done, &f->err), 0);
    task_is(f, 3, HOCKET__TASK_DONE, "senior", "");
    assert_int_equal(hocket__board_reassign(f->b, FOOD, 3, senior, why, &f->err), HOCKET_ESTATE);
}

static void test_assignees(void **state)
{
    const struct hocket__str agents[] = { FOOD, LOGISTICS };
    struct hocket__board *b;
    struct hocket_error err;
    struct hocket__board_options o = hocket__board_options_default();
    struct hocket__task_spec spec = TASK(HOCKET__STR("x"), HOCKET__STR("sights"), NONE);
    o.agents = agents;
    o.agent_count = 2;
    assert_int_equal(hocket__board_new(&hocket__malloc, &o, &b, &err), 0);
    assert_int_equal(hocket__board_create(b, FACILITATOR, &spec, 1, NULL, &err), HOCKET_EINVAL);
    assert_string_equal(err.message,
        "task 1 of 1: there is no agent \"sights\"; it has to be one of: food, logistics");
    assert_int_equal(hocket__board_create(b, FACILITATOR, six, 6, NULL, &err), 0);
    hocket__board_free(b);
    const struct hocket__str bad[] = { FOOD, HOCKET__STR("a]") };
    o.agents = bad;
    assert_int_equal(hocket__board_new(&hocket__malloc, &o, &b, &err), HOCKET_EINVAL);
}

/* ---- Completing ------------------------------------------------------------ */

static void test_complete(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(hocket__board_start(f->b, FOOD, IDS(3, 4), HOCKET__ALL_AT_ONCE, &f->err), 0);
    assert_int_equal(hocket__board_complete(f->b, FOOD, NONE, IDS(3, 4), 3,
                         HOCKET__STR("two found"), &f->done, &f->err),
        0);
    assert_true(f->done.id == 3 && !f->done.corrected && !f->done.already);
    task_is(f, 3, HOCKET__TASK_DONE, "food", "");
    assert_string_equal(f->type, "task_updated");
    assert_string_equal(f->agent, "food");
    assert_string_equal(f->payload,
        "{\"id\":3,\"text\":\"Find \\\"tascas\\\"\",\"assigned_to\":\"food\",\"finished\":true,"
        "\"status\":\"done\",\"completed_by\":\"food\",\"result\":\"two found\"}");
    int records = f->records;
    assert_int_equal(complete(f, FOOD, IDS(3, 4), 3), 0); /* once more */
    assert_true(f->done.id == 3 && f->done.already && !f->done.corrected);
    assert_int_equal(f->records, records);
    assert_true(hocket__str_is(hocket__board_get(f->b, 3)->result, "two found"));
    assert_int_equal(complete(f, FOOD, IDS(5), 5), 0); /* without a start */
    status_is(f, "2/6 done, task 4 running, tasks 1, 2, 6 pending");
}

static void test_complete_for_another(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(hocket__board_start(f->b, FOOD, IDS(3, 4), HOCKET__ALL_AT_ONCE, &f->err), 0);
    assert_int_equal(hocket__board_complete(
                         f->b, FOOD, HOCKET__STR("cook"), IDS(3, 4), 3, NONE, &f->done, &f->err),
        0);
    task_is(f, 3, HOCKET__TASK_DONE, "cook", "");
    assert_string_equal(f->agent, "cook");
    assert_true(hocket__str_is(hocket__board_get(f->b, 3)->assigned_to, "food"));
    assert_int_equal(complete(f, HOCKET__STR("cook"), IDS(3, 4), 4), HOCKET_EINVAL);
    assert_int_equal(
        hocket__board_settle(f->b, FOOD, IDS(3, 4), false, HOCKET__STR("why"), NULL, &f->err), 2);
    task_is(f, 3, HOCKET__TASK_FAILED, "cook", "why");
}

static void test_corrected(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(complete(f, FOOD, IDS(3, 4), 9), HOCKET_EINVAL);
    assert_string_equal(
        f->err.message, "task 9 is not one of your tasks; your open tasks are: 3, 4");
    assert_int_equal(complete(f, FOOD, IDS(3, 4), 4), 0);
    assert_int_equal(complete(f, FOOD, IDS(3, 4), 9), 0); /* exactly one is open */
    assert_true(f->done.id == 3 && f->done.corrected && !f->done.already);
    assert_non_null(strstr(f->payload, "\"corrected_from\":9"));
    task_is(f, 3, HOCKET__TASK_DONE, "food", "");
    assert_int_equal(complete(f, FOOD, IDS(3, 4), 9), HOCKET_EINVAL);
    assert_string_equal(
        f->err.message, "task 9 is not one of your tasks, and none of yours is open");
    assert_int_equal(complete(f, FOOD, IDS(5, 5, 5), 0), 0); /* one, however often it is named */
    assert_true(f->done.id == 5 && f->done.corrected);
    assert_non_null(strstr(f->payload, "\"corrected_from\":0"));
}

/* Whatever id is given, whatever ids the agent was sent with: nobody closes another's task. */
static void test_never_another(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(complete(f, FOOD, IDS(3), 1), 0); /* corrected to 3, not 1 */
    assert_int_equal(f->done.id, 3);
    task_is(f, 1, HOCKET__TASK_PENDING, "", "");
    assert_int_equal(complete(f, FOOD, IDS(1, 2), 1), HOCKET_EINVAL); /* sent with logistics' */
    assert_int_equal(complete(f, FOOD, IDS(1, 4), 1), 0);             /* only 4 is its own */
    assert_int_equal(f->done.id, 4);
    assert_int_equal(complete(f, FOOD, (struct hocket__ids){ NULL, 0 }, 5), HOCKET_EINVAL);
    assert_int_equal(complete(f, HOCKET__STR("Food"), IDS(5), 5), HOCKET_EINVAL);
    assert_int_equal(complete(f, FOOD, IDS(5), INT64_MIN), 0);
    assert_int_equal(hocket__board_in(f->b, HOCKET__TASK_DONE), 3);
    task_is(f, 1, HOCKET__TASK_PENDING, "", "");
    task_is(f, 2, HOCKET__TASK_PENDING, "", "");
}

/* An own task that is closed otherwise is no slip: it is not corrected, and stays as it is. */
static void test_complete_closed(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(hocket__board_fail(f->b, FOOD, 3, HOCKET__STR("no net"), &f->err), 0);
    assert_int_equal(complete(f, FOOD, IDS(3, 4), 3), HOCKET_ESTATE);
    assert_string_equal(f->err.message,
        "task 3 is failed, because: no net and cannot be completed; your open tasks are: 4");
    task_is(f, 3, HOCKET__TASK_FAILED, "", "no net");
    task_is(f, 4, HOCKET__TASK_PENDING, "", "");
    assert_int_equal(hocket__board_start(f->b, FOOD, IDS(3), HOCKET__ALL_AT_ONCE, &f->err), 0);
    task_is(f, 3, HOCKET__TASK_RUNNING, "", "");
    assert_int_equal(complete(f, FOOD, IDS(3, 4), 3), 0);
    assert_int_equal(hocket__board_cancel(f->b, FACILITATOR, 4, NONE, &f->err), 0);
    assert_int_equal(complete(f, FOOD, IDS(4), 4), HOCKET_ESTATE);
    assert_string_equal(
        f->err.message, "task 4 is cancelled and cannot be completed; your open tasks are: none");
}

/* ---- Other steps ------------------------------------------------------------- */

/* Of an agent's tasks one is running at a time; nobody else is sent to work on those that wait. */
static void test_one_by_one(void **state)
{
    struct fixture *f = *state;
    hocket__board_fail(f->b, FOOD, 5, HOCKET__STR("no net"), NULL);
    assert_int_equal(hocket__board_start(f->b, FOOD, IDS(3, 4, 5), HOCKET__ONE_BY_ONE, &f->err), 0);
    task_is(f, 3, HOCKET__TASK_RUNNING, "", "");
    task_is(f, 4, HOCKET__TASK_PENDING, "", "");
    task_is(f, 5, HOCKET__TASK_FAILED, "", "no net");
    assert_int_equal(
        hocket__board_start(f->b, FOOD, IDS(4), HOCKET__ONE_BY_ONE, &f->err), HOCKET_ESTATE);
    assert_string_equal(f->err.message, "task 4 is being worked on already");
    assert_int_equal(complete(f, FOOD, IDS(3, 4, 5), 5), 0); /* out of turn */
    task_is(f, 5, HOCKET__TASK_DONE, "food", "");
    assert_int_equal(hocket__board_in(f->b, HOCKET__TASK_RUNNING), 1);
    assert_int_equal(complete(f, FOOD, IDS(3, 4, 5), 3), 0);
    task_is(f, 4, HOCKET__TASK_RUNNING, "", "");
    assert_int_equal(complete(f, FOOD, IDS(3, 4, 5), 4), 0);
    assert_int_equal(hocket__board_in(f->b, HOCKET__TASK_RUNNING), 0);
}

/* What waits when its agent has ended is settled with the others, and can be begun anew after a failure. */
static void test_one_by_one_settled(void **state)
{
    struct fixture *f = *state;
    hocket__board_fail(f->b, FOOD, 4, HOCKET__STR("no net"), NULL);
    hocket__board_start(f->b, FOOD, IDS(3, 4), HOCKET__ONE_BY_ONE, NULL);
    assert_int_equal(
        hocket__board_settle(f->b, FOOD, IDS(3, 4), false, HOCKET__STR("gone"), NULL, &f->err), 1);
    task_is(f, 3, HOCKET__TASK_FAILED, "", "gone");
    task_is(f, 4, HOCKET__TASK_FAILED, "", "no net");
    assert_int_equal(hocket__board_start(f->b, FOOD, IDS(3, 4), HOCKET__ONE_BY_ONE, &f->err), 0);
    assert_int_equal(hocket__board_settle(f->b, FOOD, IDS(3, 4), true, NONE, NULL, &f->err), 2);
    task_is(f, 3, HOCKET__TASK_DONE, HOCKET__BY_AUTO, "");
    task_is(f, 4, HOCKET__TASK_DONE, HOCKET__BY_AUTO, "");
}

static void test_start(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(
        hocket__board_start(f->b, FOOD, IDS(3, 9), HOCKET__ALL_AT_ONCE, &f->err), HOCKET_ENOTFOUND);
    assert_string_equal(f->err.message, "there is no task 9; the tasks are 1 to 6");
    assert_int_equal(
        hocket__board_start(f->b, FOOD, IDS(3, 1), HOCKET__ALL_AT_ONCE, &f->err), HOCKET_EDENIED);
    assert_string_equal(f->err.message, "task 1 is assigned to \"logistics\", not to \"food\"");
    assert_int_equal(hocket__board_in(f->b, HOCKET__TASK_RUNNING), 0);
    assert_int_equal(
        hocket__board_start(f->b, FOOD, IDS(3, 3, 4), HOCKET__ALL_AT_ONCE, &f->err), 0);
    assert_int_equal(hocket__board_in(f->b, HOCKET__TASK_RUNNING), 2);
    assert_int_equal(
        hocket__board_start(f->b, FOOD, IDS(5, 4), HOCKET__ALL_AT_ONCE, &f->err), HOCKET_ESTATE);
    assert_string_equal(f->err.message, "task 4 is being worked on already");
    task_is(f, 5, HOCKET__TASK_PENDING, "", "");
    complete(f, FOOD, IDS(3), 3);
    assert_int_equal(
        hocket__board_start(f->b, FOOD, IDS(3), HOCKET__ALL_AT_ONCE, &f->err), HOCKET_ESTATE);
    assert_non_null(strstr(f->err.message, "create a new task"));
    f->refuse_at = 1;
    assert_int_equal(
        hocket__board_start(f->b, FOOD, IDS(5), HOCKET__ALL_AT_ONCE, &f->err), HOCKET_EIO);
    task_is(f, 5, HOCKET__TASK_PENDING, "", "");
}

/* Drives a fresh task into `from`. */
static int64_t task_in(struct fixture *f, enum hocket__task_status from)
{
    int64_t id;
    assert_int_equal(hocket__board_create(f->b, FACILITATOR, &six[2], 1, &id, &f->err), 0);
    struct hocket__ids ids = { &id, 1 };
    int status = 0;
    if (from == HOCKET__TASK_RUNNING)
        status = hocket__board_start(f->b, FOOD, ids, HOCKET__ALL_AT_ONCE, NULL);
    else if (from == HOCKET__TASK_DONE)
        status = complete(f, FOOD, ids, id);
    else if (from == HOCKET__TASK_FAILED)
        status = hocket__board_fail(f->b, FOOD, id, NONE, NULL);
    else if (from == HOCKET__TASK_SKIPPED)
        status = hocket__board_skip(f->b, FOOD, id, NONE, NULL);
    else if (from == HOCKET__TASK_CANCELLED)
        status = hocket__board_cancel(f->b, FOOD, id, NONE, NULL);
    assert_int_equal(status, 0);
    return id;
}

static int go(struct fixture *f, int64_t id, enum hocket__task_status to)
{
    struct hocket__ids ids = { &id, 1 };
    if (to == HOCKET__TASK_RUNNING)
        return hocket__board_start(f->b, FOOD, ids, HOCKET__ALL_AT_ONCE, NULL);
    if (to == HOCKET__TASK_DONE)
        return complete(f, FOOD, ids, id);
    if (to == HOCKET__TASK_FAILED)
        return hocket__board_fail(f->b, FOOD, id, NONE, NULL);
    if (to == HOCKET__TASK_SKIPPED)
        return hocket__board_skip(f->b, FOOD, id, NONE, NULL);
    return hocket__board_cancel(f->b, FOOD, id, NONE, NULL);
}

static void test_every_step(void **state)
{
    struct fixture *f = *state;
    static const char legal[6][7] = {
        /* to:  P R D F S C */
        "-yyyyy", /* pending */
        "--yy-y", /* running */
        "--y---", /* done: the repeat changes nothing */
        "-y----", /* failed */
        "-y----", /* skipped */
        "------", /* cancelled */
    };
    for (int from = 0; from < 6; from++)
        for (int to = 1; to < 6; to++) {
            struct hocket__board_options o = hocket__board_options_default();
            hocket__board_free(f->b);
            assert_int_equal(hocket__board_new(&f->t.a, &o, &f->b, NULL), 0);
            int64_t id = task_in(f, (enum hocket__task_status) from);
            int status = go(f, id, (enum hocket__task_status) to);
            assert_int_equal(status, legal[from][to] == 'y' ? 0 : HOCKET_ESTATE);
            assert_int_equal(hocket__board_get(f->b, id)->status, status == 0 ? to : from);
            assert_int_equal(hocket__board_in(f->b, hocket__board_get(f->b, id)->status), 1);
        }
}

static void test_unknown(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(hocket__board_fail(f->b, FOOD, 1, NONE, &f->err), HOCKET_ENOTFOUND);
    assert_string_equal(f->err.message, "there is no task 1: no tasks were created yet");
    assert_int_equal(hocket__board_skip(f->b, FOOD, 0, NONE, NULL), HOCKET_ENOTFOUND);
    assert_int_equal(hocket__board_cancel(f->b, FOOD, INT64_MIN, NONE, NULL), HOCKET_ENOTFOUND);
    assert_int_equal(hocket__board_settle(f->b, FOOD, IDS(1), true, NONE, NULL, NULL), 0);
}

static void test_finished_is_done(void **state)
{
    struct fixture *f = *state;
    hocket__board_fail(f->b, FOOD, 3, HOCKET__STR("x"), NULL);
    assert_non_null(strstr(f->payload, "\"finished\":false,\"status\":\"failed\",\"error\":\"x\""));
    hocket__board_skip(f->b, FOOD, 4, HOCKET__STR("task 3 failed"), NULL);
    assert_non_null(strstr(f->payload, "\"finished\":false,\"status\":\"skipped\""));
    hocket__board_cancel(f->b, FOOD, 5, NONE, NULL);
    assert_non_null(strstr(f->payload, "\"finished\":false,\"status\":\"cancelled\"}"));
    hocket__board_start(f->b, LOGISTICS, IDS(1), HOCKET__ALL_AT_ONCE, NULL);
    assert_non_null(strstr(f->payload, "\"finished\":false,\"status\":\"running\"}"));
    complete(f, LOGISTICS, IDS(2), 2);
    status_is(f, "1/6 done, task 1 running, task 6 pending, task 3 failed, task 4 skipped, task 5 "
                 "cancelled");
}

static void test_status_line(void **state)
{
    struct fixture *f = *state;
    complete(f, LOGISTICS, IDS(1), 1);
    complete(f, LOGISTICS, IDS(2), 2);
    complete(f, FOOD, IDS(3), 3);
    complete(f, FOOD, IDS(4), 4);
    status_is(f, "4/6 done, tasks 5, 6 pending");
    complete(f, FOOD, IDS(5), 5);
    status_is(f, "5/6 done, task 6 pending");
    complete(f, LOGISTICS, IDS(6), 6);
    status_is(f, "6/6 done");
}

/* ---- The safety net ------------------------------------------------------------ */

static void test_settle_success(void **state)
{
    struct fixture *f = *state;
    int64_t settled[5];
    complete(f, FOOD, IDS(3), 3);
    hocket__board_start(f->b, FOOD, IDS(4), HOCKET__ALL_AT_ONCE, NULL);
    assert_int_equal(hocket__board_settle(f->b, FOOD, IDS(3, 4, 4, 5, 1), true,
                         HOCKET__STR("not looked at"), settled, &f->err),
        2);
    assert_true(settled[0] == 4 && settled[1] == 5);
    task_is(f, 3, HOCKET__TASK_DONE, "food", "");
    task_is(f, 4, HOCKET__TASK_DONE, "auto", "");
    task_is(f, 5, HOCKET__TASK_DONE, "auto", "");
    task_is(f, 1, HOCKET__TASK_PENDING, "", "");
    assert_non_null(strstr(f->payload, "\"finished\":true,\"status\":\"done\","));
    assert_non_null(strstr(f->payload, "\"completed_by\":\"auto\""));
    assert_int_equal(hocket__board_settle(f->b, FOOD, IDS(3, 4, 5), true, NONE, settled, NULL), 0);
}

static void test_settle_failure(void **state)
{
    struct fixture *f = *state;
    hocket__board_start(f->b, FOOD, IDS(4), HOCKET__ALL_AT_ONCE, NULL);
    assert_int_equal(hocket__board_settle(f->b, FOOD, IDS(4, 5, 1), false,
                         HOCKET__STR("the model timed out"), NULL, &f->err),
        2);
    task_is(f, 1, HOCKET__TASK_PENDING, "", ""); /* another one's */
    task_is(f, 4, HOCKET__TASK_FAILED, "", "the model timed out");
    task_is(f, 5, HOCKET__TASK_FAILED, "", "the model timed out");
    assert_int_equal(hocket__board_settle(f->b, FOOD, IDS(4), true, NONE, NULL, NULL), 0);
    task_is(f, 4, HOCKET__TASK_FAILED, "", "the model timed out"); /* never done afterwards */
}

/* What an agent completes before it fails is not done; what it delivered stays, and may be tried again. */
static void test_settle_done(void **state)
{
    struct fixture *f = *state;
    int64_t settled[3];
    struct hocket__completion c;
    hocket__board_start(f->b, FOOD, IDS(3, 4), HOCKET__ALL_AT_ONCE, NULL);
    assert_int_equal(hocket__board_complete(
                         f->b, FOOD, NONE, IDS(3, 4), 3, HOCKET__STR("two tascas"), &c, &f->err),
        0);
    assert_int_equal(hocket__board_fail(f->b, FOOD, 3, NONE, &f->err), HOCKET_ESTATE);
    assert_int_equal(hocket__board_settle(f->b, FOOD, IDS(3, 3, 4), false,
                         HOCKET__STR("food was cut short"), settled, &f->err),
        2);
    assert_true(settled[0] == 3 && settled[1] == 4);
    task_is(f, 3, HOCKET__TASK_FAILED, "food", "food was cut short");
    assert_true(hocket__str_is(hocket__board_get(f->b, 3)->result, "two tascas"));
    task_is(f, 4, HOCKET__TASK_FAILED, "", "food was cut short");
    status_is(f, "0/6 done, tasks 1, 2, 5, 6 pending, tasks 3, 4 failed");
    assert_int_equal(hocket__board_start(f->b, FOOD, IDS(3), HOCKET__ALL_AT_ONCE, &f->err), 0);
    complete(f, FOOD, IDS(3), 3);
    task_is(f, 3, HOCKET__TASK_DONE, "food", "");
}

/* ---- Reading ------------------------------------------------------------------- */

static void test_read(void **state)
{
    struct fixture *f = *state;
    struct hocket__buf out;
    struct hocket__ids ids = IDS(3, 1);
    hocket__buf_init(&out, &hocket__malloc, 0);
    hocket__board_fail(f->b, FOOD, 3, HOCKET__STR("x\ny"), NULL);
    assert_int_equal(hocket__board_read(f->b, &ids, &out, &f->err), 0);
    assert_string_equal(out.data,
        "[{\"id\":3,\"text\":\"Find \\\"tascas\\\"\",\"assigned_to\":\"food\","
        "\"status\":\"failed\",\"finished\":false,\"error\":\"x\\ny\"},"
        "{\"id\":1,\"text\":\"Find flights\",\"active_form\":\"Finding flights\","
        "\"assigned_to\":\"logistics\",\"status\":\"pending\",\"finished\":false}]");
    ids = IDS(3, 7, 0);
    assert_int_equal(hocket__board_read(f->b, &ids, &out, &f->err), HOCKET_ENOTFOUND);
    assert_string_equal(f->err.message, "no such task: 7, 0; the tasks are 1 to 6");
    hocket__buf_reset(&out);
    assert_int_equal(hocket__board_read(f->b, NULL, &out, &f->err), 0);
    assert_int_equal(hocket__json_check(hocket__buf_str(&out), NULL), 0);
    assert_non_null(strstr(out.data, "{\"id\":6,"));
    hocket__buf_deinit(&out);
}

static void test_read_empty(void **state)
{
    struct fixture *f = *state;
    struct hocket__buf out;
    struct hocket__ids ids = IDS(1);
    hocket__buf_init(&out, &hocket__malloc, 0);
    assert_int_equal(hocket__board_read(f->b, NULL, &out, &f->err), 0);
    assert_string_equal(out.data, "[]");
    assert_int_equal(hocket__board_read(f->b, &ids, &out, &f->err), HOCKET_ENOTFOUND);
    assert_string_equal(f->err.message, "no such task: 1; no tasks were created yet");
    hocket__buf_deinit(&out);
}

/* ---- Trouble --------------------------------------------------------------------- */

static void test_from_inside(void **state)
{
    struct fixture *f = *state;
    complete(f, FOOD, IDS(3), 3);
    assert_int_equal(f->inner, HOCKET_ESTATE);
    task_is(f, 1, HOCKET__TASK_PENDING, "", "");
    assert_int_equal(hocket__board_cancel(f->b, FACILITATOR, 1, NONE, NULL), 0);
}

static void test_long_error(void **state)
{
    struct fixture *f = *state;
    static char text[100000];
    memset(text, '\xC3', sizeof(text));
    assert_int_equal(
        hocket__board_fail(f->b, FOOD, 3, hocket__str(text, sizeof(text)), &f->err), 0);
    const struct hocket__task *task = hocket__board_get(f->b, 3);
    assert_in_range(task->error.n, (16 << 10) - 3, 16 << 10);
    assert_memory_equal(task->error.p, "\xEF\xBF\xBD\xEF\xBF\xBD", 6);
}

static void test_bad_records(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *record;
        int status;
    } records[] = {
        { "{\"type\":\"agent_started\"}", 0 },
        { "{}", 0 },
        { "{\"type\":\"tasks_created\"}", HOCKET_ESTATE },
        { "{\"type\":\"tasks_created\",\"tasks\":[]}", HOCKET_ESTATE },
        { "{\"type\":\"tasks_created\",\"tasks\":{}}", HOCKET_EPARSE },
        { "{\"type\":\"tasks_created\",\"tasks\":[1]}", HOCKET_EPARSE },
        { "{\"type\":\"tasks_created\",\"tasks\":[{\"id\":7}]}", HOCKET_EPARSE },
        { "{\"type\":\"tasks_created\",\"tasks\":[{\"id\":7,\"text\":1,\"assigned_to\":\"a\"}]}",
            HOCKET_EPARSE },
        { "{\"type\":\"tasks_created\",\"tasks\":[{\"id\":8,\"text\":\"x\","
          "\"assigned_to\":\"a\"}]}",
            HOCKET_ESTATE },
        { "{\"type\":\"tasks_created\",\"tasks\":[{\"id\":7,\"text\":\"x\",\"assigned_to\":\"a\"},"
          "{\"id\":9,\"text\":\"x\",\"assigned_to\":\"a\"}]}",
            HOCKET_EPARSE },
        { "{\"type\":\"tasks_created\",\"tasks\":[{\"id\":7,\"text\":\"x\",\"assigned_to\":\"a\"}]",
            HOCKET_EPARSE },
        { "{\"type\":\"task_updated\"}", HOCKET_ESTATE },
        { "{\"type\":\"task_updated\",\"id\":9,\"status\":\"done\"}", HOCKET_ESTATE },
        { "{\"type\":\"task_updated\",\"id\":1,\"status\":\"finished\"}", HOCKET_EPARSE },
        { "{\"type\":\"task_updated\",\"id\":\"1\",\"status\":\"done\"}", HOCKET_EPARSE },
        { "{\"type\":\"task_updated\",\"id\":1,\"status\":\"pending\"}", HOCKET_ESTATE },
        { "{\"type\":\"task_updated\",\"id\":1,\"status\":\"done\"} x", HOCKET_EPARSE },
        { "{\"type\":\"task_updated\",\"id\":1,\"status\":\"done\",\"error\":[]}", HOCKET_EPARSE },
        { "{\"type\":\"task_updated\",\"id\":1,\"status\":\"done\",\"new\":[{}]}", 1 },
        { "{\"type\":\"task_updated\",\"id\":1,\"status\":\"running\"}", HOCKET_ESTATE },
        { "{\"type\":\"task_updated\",\"id\":1,\"status\":\"failed\",\"completed_by\":\"a\","
          "\"error\":\"e\",\"result\":\"r\"}",
            1 },
    };
    for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
        assert_int_equal(hocket__board_replay(f->b, hocket__cstr(records[i].record), &f->err),
            records[i].status);
    assert_int_equal(hocket__board_count(f->b), 6);
    task_is(f, 1, HOCKET__TASK_FAILED, "a", "e");
}

/* All operations, each of which may run out of memory: then the JSON of the board is what it
 * was, and the operation succeeds when it is tried again. */
struct steps {
    struct hocket__board *b;
    struct hocket__buf before, after;
};

static void print(struct steps *s, struct hocket__buf *out)
{
    hocket__buf_reset(out);
    assert_int_equal(hocket__board_read(s->b, NULL, out, NULL), 0);
    assert_int_equal(hocket__board_status(s->b, out), 0);
}

static int one_step(struct hocket__board *b, int i)
{
    struct hocket__completion c;
    int64_t settled[3];
    switch (i) {
    case 0: return hocket__board_create(b, FACILITATOR, six, 6, NULL, NULL);
    case 1: return hocket__board_start(b, FOOD, IDS(3), HOCKET__ALL_AT_ONCE, NULL);
    case 2: return hocket__board_reassign(b, FOOD, 3, LOGISTICS, HOCKET__STR("why"), NULL);
    case 3:
        return hocket__board_complete(b, FOOD, NONE, IDS(3), 9, HOCKET__STR("ok\xff"), &c, NULL);
    case 4: return hocket__board_fail(b, FOOD, 4, HOCKET__STR("why"), NULL);
    case 5: return hocket__board_settle(b, FOOD, IDS(5), true, NONE, settled, NULL);
    case 6: return hocket__board_settle(b, FOOD, IDS(3), false, HOCKET__STR("cut"), settled, NULL);
    case 7:
        return hocket__board_replay(b,
            HOCKET__STR("{\"type\":\"task_updated\",\"id\":1,\"status\":\"failed\","
                        "\"error\":\"e\"}"),
            NULL);
    default:
        return hocket__board_replay(b,
            HOCKET__STR("{\"type\":\"tasks_created\",\"tasks\":[{\"id\":7,\"text\":\"x\","
                        "\"assigned_to\":\"a\"},{\"id\":8,\"text\":\"y\",\"assigned_to\":\"a\"}]}"),
            NULL);
    }
}

static int emit_nothing(const char *type, struct hocket__str agent, struct hocket__str payload,
    struct hocket_error *err, void *ud)
{
    return hocket__json_check(payload, NULL);
}

static void memory_body(struct test_alloc *t, void *ud)
{
    const struct hocket__str agents[] = { FOOD, LOGISTICS };
    struct steps s = { 0 };
    struct hocket__board_options o = hocket__board_options_default();
    o.agents = agents;
    o.agent_count = 2;
    o.emit = emit_nothing;
    hocket__buf_init(&s.before, &hocket__malloc, 0);
    hocket__buf_init(&s.after, &hocket__malloc, 0);
    int status = hocket__board_new(&t->a, &o, &s.b, NULL);
    for (int i = 0; i < 9 && status >= 0; i++) {
        print(&s, &s.before);
        status = one_step(s.b, i);
        print(&s, &s.after);
        if (status < 0)
            assert_string_equal(s.before.data, s.after.data);
    }
    assert_true(status >= 0 || (status == HOCKET_ENOMEM && t->failed));
    hocket__board_free(s.b);
    hocket__buf_deinit(&s.before);
    hocket__buf_deinit(&s.after);
}

static void test_memory(void **state)
{
    assert_true(test_alloc_each(memory_body, NULL) > 30);
}

static void try_text(struct hocket__str text, void *ud)
{
    struct hocket__board *b;
    struct hocket__board_options o = hocket__board_options_default();
    struct hocket__task_spec spec = { .text = text, .assigned_to = FOOD, .active_form = text };
    struct hocket__buf out;
    o.emit = emit_nothing;
    hocket__buf_init(&out, &hocket__malloc, 0);
    assert_int_equal(hocket__board_new(&hocket__malloc, &o, &b, NULL), 0);
    int status = hocket__board_create(b, FACILITATOR, &spec, 1, NULL, NULL);
    if (status == 0) {
        assert_true(hocket__str_eq(hocket__board_get(b, 1)->text, text));
        assert_int_equal(hocket__board_fail(b, text, 1, text, NULL), 0);
        assert_int_equal(hocket__board_read(b, NULL, &out, NULL), 0);
        assert_int_equal(hocket__json_check(hocket__buf_str(&out), NULL), 0);
    } else {
        assert_int_equal(status, HOCKET_EINVAL); /* nothing but white space */
    }
    spec.assigned_to = text;
    status = hocket__board_create(b, FACILITATOR, &spec, 1, NULL, NULL);
    assert_true(status == 0 || status == HOCKET_EINVAL);
    hocket__board_free(b);
    hocket__buf_deinit(&out);
}

static void test_strings(void **state)
{
    if (!test_strings_each(try_text, NULL))
        skip();
}

#define CASE(name)     cmocka_unit_test_setup_teardown(name, setup, teardown)
#define CASE_SIX(name) cmocka_unit_test_setup_teardown(name, setup_six, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_create),
        CASE(test_limit),
        cmocka_unit_test(test_zero_is_zero),
        CASE(test_create_all_or_nothing),
        CASE_SIX(test_links),
        CASE_SIX(test_reassign),
        cmocka_unit_test(test_assignees),
        CASE_SIX(test_complete),
        CASE_SIX(test_complete_for_another),
        CASE_SIX(test_corrected),
        CASE_SIX(test_never_another),
        CASE_SIX(test_complete_closed),
        CASE_SIX(test_start),
        CASE_SIX(test_one_by_one),
        CASE_SIX(test_one_by_one_settled),
        CASE(test_every_step),
        CASE(test_unknown),
        CASE_SIX(test_finished_is_done),
        CASE_SIX(test_status_line),
        CASE_SIX(test_settle_success),
        CASE_SIX(test_settle_failure),
        CASE_SIX(test_settle_done),
        CASE_SIX(test_read),
        CASE(test_read_empty),
        CASE_SIX(test_from_inside),
        CASE_SIX(test_long_error),
        CASE_SIX(test_bad_records),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
