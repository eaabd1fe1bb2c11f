/* What the live view knows of a run: folded from its events. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/progress.h"

static void take(struct cli_progress *p, const char *type, const char *json)
{
    hocket_json *event = hocket_json_parse(json, strlen(json), NULL);
    assert_non_null(event);
    cli_progress_take(p, type, event, 0);
    hocket_json_free(event);
}

static void check_activity(const struct cli_progress *p, const char *op, const char *expected)
{
    struct cli_buf b = { 0 };
    const struct cli_agent *agent = cli_progress_agent(p, op);
    assert_non_null(agent);
    cli_progress_activity(p, agent, &b);
    assert_string_equal(cli_buf_text(&b), expected);
    cli_buf_free(&b);
}

#define CREATED(board, doing)                                                                      \
    "{\"board\":" board ",\"tasks\":[{\"id\":1,\"text\":\"x\",\"assigned_to\":\"cook\","           \
    "\"active_form\":\"" doing "\"}]}"
#define UPDATED(board, status)                                                                     \
    "{\"board\":" board ",\"id\":1,\"assigned_to\":\"cook\",\"status\":\"" status "\"}"
#define STARTED(op, board)                                                                         \
    "{\"op\":\"" op "\",\"agent\":\"cook\",\"task_ids\":[1],\"board\":" board "}"

/* Two boards, each with a task 1 of the same agent, both at work. */
static void start_two(struct cli_progress *p)
{
    take(p, "tasks_created", CREATED("1", "Cooking lunch"));
    take(p, "tasks_created", CREATED("2", "Cooking dinner"));
    take(p, "task_updated", UPDATED("1", "running"));
    take(p, "agent_started", STARTED("o2", "1"));
    take(p, "task_updated", UPDATED("2", "running"));
    take(p, "agent_started", STARTED("o3", "2"));
}

static void test_tasks_of_two_boards(void **state)
{
    (void) state;
    struct cli_progress p = { 0 };
    start_two(&p);
    assert_true(p.several_boards);
    check_activity(&p, "o2", "Cooking lunch");
    check_activity(&p, "o3", "Cooking dinner");
    take(&p, "task_updated", UPDATED("1", "done"));
    assert_int_equal(p.done_tasks, 1);
    assert_int_equal(p.tasks[0].state, CLI_TASK_DONE);
    assert_int_equal(p.tasks[1].state, CLI_TASK_RUNNING);
    take(&p, "task_updated", UPDATED("2", "failed"));
    assert_int_equal(p.done_tasks, 1);
    assert_int_equal(p.undone_tasks, 1);
    cli_progress_free(&p);
}

/* Ids of no task, of another board, and none at all are nothing. */
static void test_unknown_tasks(void **state)
{
    (void) state;
    struct cli_progress p = { 0 };
    take(&p, "task_updated", UPDATED("1", "done"));
    take(&p, "tasks_created", CREATED("1", "Cooking"));
    take(&p, "task_updated", UPDATED("2", "done"));
    take(&p, "agent_started",
        "{\"op\":\"o2\",\"agent\":\"cook\",\"task_ids\":[7,\"x\"],\"board\":1}");
    take(&p, "task_updated", "{\"status\":\"done\"}");
    assert_int_equal(p.done_tasks, 0);
    assert_false(p.several_boards);
    assert_string_equal(p.tasks[0].op, "");
    cli_progress_free(&p);
}

/* How far a call is stands behind its tool, until the call is over. */
static void test_far(void **state)
{
    (void) state;
    struct cli_progress p = { 0 };
    take(&p, "agent_started", "{\"op\":\"o2\",\"agent\":\"cook\"}");
    take(&p, "tool_progress",
        "{\"op\":\"o2\",\"agent\":\"cook\",\"tool\":\"files__index\",\"progress\":2,\"total\":5,"
        "\"message\":\"page 2\"}");
    check_activity(&p, "o2", "files  index: 2 of 5, page 2");
    take(&p, "tool_call", "{\"op\":\"o2\",\"agent\":\"cook\",\"tool\":\"files__index\"}");
    check_activity(&p, "o2", "files  index");
    cli_progress_free(&p);
}

/* One that works in a run of its own, which nobody dispatched: there while that lasts, and what it has used is counted. */
static void test_another_run(void **state)
{
    (void) state;
    struct cli_progress p = { 0 };
    take(&p, "run_awaited",
        "{\"op\":\"o1\",\"agent\":\"cook\",\"id\":\"r1\",\"child\":\"01M\",\"pool\":\"gpu\"}");
    assert_non_null(cli_progress_agent(&p, "o1"));
    take(&p, "run_returned",
        "{\"op\":\"o1\",\"agent\":\"cook\",\"id\":\"r1\",\"usage\":{\"calls\":3,\"input\":40,"
        "\"output\":5}}");
    assert_null(cli_progress_agent(&p, "o1"));
    assert_int_equal(p.calls, 3);
    assert_int_equal(p.input, 40);
    assert_int_equal(p.output, 5);
    take(&p, "run_returned", "{\"id\":\"r2\"}");
    cli_progress_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks_of_two_boards),
        cmocka_unit_test(test_unknown_tasks),
        cmocka_unit_test(test_far),
        cmocka_unit_test(test_another_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
