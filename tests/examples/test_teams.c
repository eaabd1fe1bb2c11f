/* The examples, run offline through the public API: with the scripted models beside them, over real
 * HTTP. Runs of one example go on side by side in one host, as they would in a server. */

#include <hocket/hocket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/alloc.h"

enum { MAX_TYPES = 16 };

/* What a run's events and its end have shown. */
struct seen {
    uint64_t last_seq;
    int running, most_running; /* specialists at work at a time */
    int consolidated;
    int dispatch_calls; /* tool_call events of call_… tools: there should be none */
    int errors, simulated;
    int counts[MAX_TYPES];
    char last_type[32];
    bool ended;
    int status;
    char *answer; /* of the event final_answer */
    char *text;
    hocket_json *result;
};

static const char *const types[] = { "workflow_started", "tasks_created", "agent_started",
    "tool_call", "task_updated", "document_updated", "agent_message", "agent_finished",
    "facilitator_message", "final_answer", "workflow_finished", NULL };

static const char *text_of(const hocket_json *object, const char *name)
{
    return hocket_json_text(hocket_json_get(object, name), "", NULL);
}

static void count_type(struct seen *s, const char *type)
{
    for (int i = 0; types[i]; i++)
        s->counts[i] += strcmp(types[i], type) == 0;
}

/* Every type has its section in docs/reference/events.md. */
static void check_documented(const char *type)
{
    static char text[64 * 1024];
    char heading[64];
    if (text[0] == '\0') {
        FILE *f = fopen(DOCUMENTS "/reference/events.md", "rb");
        assert_non_null(f);
        text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
        fclose(f);
    }
    snprintf(heading, sizeof(heading), "\n### %s\n", type);
    if (!strstr(text, heading))
        fail_msg("docs/reference/events.md lacks '%s'", type);
}

static void on_event(hocket_host *host, uint64_t run, const struct hocket_event *event, void *ud)
{
    struct seen *s = ud;
    struct hocket_error error;
    hocket_json *json = hocket_json_parse(event->json, event->json_len, &error);
    (void) host;
    (void) run;
    assert_non_null(json);
    assert_int_equal(event->seq, s->last_seq + 1);
    s->last_seq = event->seq;
    strcpy(s->last_type, event->type);
    count_type(s, event->type);
    check_documented(event->type);
    if (strcmp(event->type, "agent_started") == 0 && ++s->running > s->most_running)
        s->most_running = s->running;
    s->running -= strcmp(event->type, "agent_finished") == 0;
    s->consolidated += strcmp(text_of(json, "change"), "consolidate") == 0;
    s->dispatch_calls +=
        strcmp(event->type, "tool_call") == 0 && strncmp(text_of(json, "tool"), "call_", 5) == 0;
    s->simulated += strcmp(event->type, "model_request") == 0
                    && hocket_json_bool(hocket_json_get(json, "simulated"), false);
    s->errors += strcmp(event->type, "error") == 0 || strcmp(event->type, "warning") == 0;
    if (strcmp(event->type, "final_answer") == 0)
        s->answer = strdup(text_of(json, "content"));
    hocket_json_free(json);
}

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    struct seen *s = ud;
    (void) host;
    (void) run;
    s->ended = true;
    s->status = result->status;
    s->text = strdup(result->text);
    s->result = hocket_json_parse(result->json, result->json_len, NULL);
}

struct work {
    const char *target, *input, *options;
};

/* Runs them all at once, in a host of their own. */
static void run_all(const struct work *work, struct seen *seen, size_t n)
{
    struct hocket_options options;
    hocket_options_init(&options, sizeof(options));
    struct hocket_error error;
    struct test_alloc alloc;
    hocket_host *host;
    size_t ended = 0;
    test_alloc_init(&alloc);
    options.allocator = alloc.a;
    assert_int_equal(hocket_open(&options, &host, &error), 0);
    assert_int_equal(hocket_serve_attach(host, &error), 0);
    for (size_t i = 0; i < n; i++) {
        struct hocket_run_spec spec = { .size = sizeof(spec),
            .target = work[i].target,
            .input = work[i].input,
            .options = work[i].options ? work[i].options : "{\"simulate\":true}" };
        seen[i] = (struct seen){ 0 };
        assert_int_equal(
            hocket_run_start(host, &spec, NULL, on_event, on_done, &seen[i], &error), 0);
    }
    while (ended < n) {
        hocket_wait(host, 1000);
        ended = 0;
        for (size_t i = 0; i < n; i++)
            ended += seen[i].ended;
    }
    hocket_close(host, NULL, NULL);
    test_alloc_check(&alloc);
}

static void forget(struct seen *s)
{
    free(s->answer);
    free(s->text);
    hocket_json_free(s->result);
}

static bool contains(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* What every good run of plan and dispatch shows. */
static void check_good(const struct seen *s)
{
    assert_int_equal(s->status, HOCKET_OK);
    for (int i = 0; types[i]; i++)
        if (s->counts[i] == 0)
            fail_msg("no event %s", types[i]);
    assert_string_equal(s->last_type, "workflow_finished");
    assert_int_equal(s->counts[10], 1);
    assert_int_equal(s->errors, 0);
    assert_int_equal(s->running, 0);
    assert_true(s->most_running >= 2); /* specialists overlap in time */
    assert_true(s->consolidated >= 1);
    assert_int_equal(s->dispatch_calls, 0);
    assert_true(s->simulated > 0);

    const hocket_json *tasks = hocket_json_get(s->result, "tasks");
    assert_true(hocket_json_count(tasks) >= 4);
    for (size_t i = 0; i < hocket_json_count(tasks); i++) {
        assert_string_equal(text_of(hocket_json_at(tasks, i), "status"), "done");
        assert_string_equal(text_of(hocket_json_at(tasks, i), "completed_by"),
            text_of(hocket_json_at(tasks, i), "assigned_to"));
    }
    const hocket_json *slots = hocket_json_get(hocket_json_get(s->result, "document"), "slots");
    assert_true(hocket_json_count(slots) >= 3);
    for (size_t i = 0; i < hocket_json_count(slots); i++) {
        const char *content = text_of(hocket_json_at(slots, i), "content");
        assert_true(content[0] != '\0');
        assert_true(contains(s->answer, content));
        assert_true(contains(s->text, content));
    }
}

#define OFFLINE "{\"model\":\"sim\"}" /* the script beside the target answers */

static void test_travel(void **state)
{
    static const struct work work[] = {
        { EXAMPLES "/travel/travel.lua", "Four days in Porto, with children, no museums", OFFLINE },
        { EXAMPLES "/travel/travel.lua", "Two days in Rome", OFFLINE },
        { EXAMPLES "/travel/agents/facilitator.md", "A weekend in Ghent",
            "{\"model\":\"nowhere/x\"}" },
        { EXAMPLES "/travel", "One day in Lisbon", OFFLINE }, /* without the script */
    };
    struct seen seen[4];
    (void) state;
    run_all(work, seen, 4);
    check_good(&seen[0]);
    assert_true(contains(seen[0].text, "Porto") && contains(seen[0].text, "Day 4"));
    assert_false(contains(seen[0].text, "museum") || contains(seen[0].text, "Day 5"));
    check_good(&seen[1]);
    assert_true(contains(seen[1].text, "Colosseum") && contains(seen[1].text, "Day 2"));
    assert_false(contains(seen[1].text, "Porto") || contains(seen[1].text, "Day 3"));

    /* A run that fails says so, and ends as all runs end. */
    assert_int_equal(seen[2].status, HOCKET_EPROVIDER);
    assert_string_equal(seen[2].last_type, "workflow_finished");
    assert_true(seen[2].errors > 0);
    check_good(&seen[3]);
    assert_true(contains(seen[3].text, "# 1 day in Lisbon") && contains(seen[3].text, "Alfama"));
    for (size_t i = 0; i < 4; i++)
        forget(&seen[i]);
}

static void test_report(void **state)
{
    static const struct work work[] = {
        { EXAMPLES "/report/report.lua",
            "A short report on heat pumps in old houses, for beginners", OFFLINE },
        { EXAMPLES "/report/agents", "A short report on cycling in cities", OFFLINE },
        { EXAMPLES "/report/agents/facilitator.md", "What is known about tea", OFFLINE },
    };
    struct seen seen[3];
    (void) state;
    run_all(work, seen, 3);
    for (size_t i = 0; i < 3; i++)
        check_good(&seen[i]);
    assert_true(contains(seen[0].text, "# On heat pumps in old houses")
                && contains(seen[0].text, "for beginners"));
    assert_true(contains(seen[0].text, "10 changes: "));
    assert_true(contains(seen[1].text, "# On cycling in cities") && contains(seen[1].text, "kerb"));
    assert_true(contains(seen[2].text, "# On tea"));
    for (size_t i = 0; i < 3; i++)
        forget(&seen[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_travel),
        cmocka_unit_test(test_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
