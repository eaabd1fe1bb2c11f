/* A run that is begun as another one's fork, with something else in it: what asks the same is answered as it was there, each once, and
 * the rest is done. */
#include "host/kept/lives.h"

#include "support/temp.h"

static char world[TEST_TEMP_PATH], input[TEST_TEMP_PATH + 64];

static struct workflow with(const char *what)
{
    snprintf(input, sizeof(input), "%s %s", world, what);
    return (struct workflow){ .name = what,
        .target = HERE "/scripts/fork.lua",
        .input = input,
        .options = "{\"interactive\":true}",
        .answers = { "Lisbon" },
        .signals = { "\"gone\"" } };
}

static int lines_of_world(void)
{
    char text[256];
    int n = 0;
    FILE *f = fopen(world, "r");
    assert_non_null(f);
    while (fgets(text, sizeof(text), f))
        n++;
    fclose(f);
    return n;
}

static void run(const struct workflow *w, struct kept_log *log, struct life *l)
{
    live(w, log, l);
    if (l->status != 0)
        fail_msg("%s: %s\n%s", w->name, l->error, l->events.data);
}

static long reused(const struct life *l, const char *what)
{
    char member[64];
    const char *event = strstr(l->events.data, "\"type\":\"run_reused\"");
    assert_non_null(event);
    snprintf(member, sizeof(member), "\"%s\":", what);
    const char *at = strstr(event, member);
    assert_non_null(at);
    return strtol(at + strlen(member), NULL, 10);
}

static long used_calls(const struct life *l)
{
    const char *at = strstr(l->events.data, "\"type\":\"workflow_finished\"");
    at = strstr(at, "\"calls\":");
    return strtol(at + strlen("\"calls\":"), NULL, 10);
}

/* `anew` effects are done, of which `lines` show in the world. Nobody answers where the question is the same. */
static void check_fork(
    const struct kept_log *parent, const char *what, const char *expected, long anew, int lines)
{
    struct workflow w = with(what);
    struct kept_log log, again;
    struct life l, second;
    int before = lines_of_world();
    bool asks = strstr(what, "question") != NULL;
    if (!asks)
        w.answers[0] = NULL;
    w.signals[0] = NULL;
    log_init(&log);
    log.memory = parent;
    run(&w, &log, &l);
    assert_string_equal(l.text.data, expected);
    assert_int_equal(reused(&l, "run_anew"), anew);
    assert_int_equal(reused(&l, "replayed") + anew, 8);
    assert_int_equal(lines_of_world() - before, lines);
    assert_int_equal(
        used_calls(&l) + reused(&l, "calls"), 5);

    log_copy(&log, log.n, &again); /* its own log is enough to replay it */
    again.memory = NULL;
    run(&w, &again, &second);
    assert_int_equal(again.n, log.n);
    same("the events", what, log.n, l.events.data, second.events.data, ID_ONLY);
    life_free(&second);
    log_free(&again);
    assert_int_equal(lines_of_world() - before, lines);

    for (size_t n = 1; n < log.n; n += 3) { /* cut off, and with its memory again */
        log_copy(&log, n, &again);
        w.answers[0] = "Lisbon";
        w.signals[0] = "\"gone\"";
        live(&w, &again, &second);
        if (second.status != 0)
            fail_msg("%s, %zu entries: %s", what, n, second.error);
        life_free(&second);
        log_free(&again);
    }
    life_free(&l);
    log_free(&log);
}

static void test_fork(void **state)
{
    struct kept_log parent;
    struct workflow w = with("first");
    struct life first;
    (void) state;
    log_init(&parent);
    run(&w, &parent, &first);
    assert_string_equal(first.text.data, "one, two, posted, stamp, Lisbon, gone, said: fail first");
    assert_null(strstr(first.events.data, "run_reused"));
    assert_int_equal(lines_of_world(), 3);
    check_fork(&parent, "first", first.text.data, 0, 0);
    check_fork(&parent, "prompt", "one, two, posted, stamp, Lisbon, gone, said: fail prompt", 3, 0);
    check_fork(&parent, "tool", "one, two, posted, stamp, Lisbon, gone, said: fail tool", 4, 1);
    check_fork(
        &parent, "question", "one, two, posted, stamp, Lisbon, gone, said: fail question", 1, 0);
    life_free(&first);
    log_free(&parent);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_fork) };
    if (!test_temp_file(world, ".txt", ""))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(world);
    return failed;
}
