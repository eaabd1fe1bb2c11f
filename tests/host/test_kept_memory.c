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
    assert_int_equal(reused(&l, "replayed") + anew, strstr(what, "list") ? 10 : 11);
    assert_int_equal(lines_of_world() - before, lines);
    assert_int_equal(used_calls(&l) + reused(&l, "calls"), 5);

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
    assert_string_equal(
        first.text.data, "one, two, posted, stamp, LPR, Lisbon, gone, said: fail first");
    assert_null(strstr(first.events.data, "run_reused"));
    assert_int_equal(lines_of_world(), 6);
    check_fork(&parent, "first", first.text.data, 0, 0);
    check_fork(
        &parent, "prompt", "one, two, posted, stamp, LPR, Lisbon, gone, said: fail prompt", 3, 0);
    check_fork(
        &parent, "tool", "one, two, posted, stamp, LPR, Lisbon, gone, said: fail tool", 4, 1);
    check_fork(&parent, "question",
        "one, two, posted, stamp, LPR, Lisbon, gone, said: fail question", 1, 0);
    check_fork(&parent, "list", "one, two, posted, stamp, PR, Lisbon, gone, said: fail list", 1, 0);
    life_free(&first);
    log_free(&parent);
}

/* ---- With checkpoints --------------------------------------------------------------------------- */

static const struct workflow remember = { .name = "remember",
    .target = HERE "/scripts/remember.lua",
    .options = "{\"interactive\":true}",
    .answers = { "a1", "a2", "a3", "a4", "a5" },
    .signals = { "\"s1\"", "\"s2\"", "\"s3\"" } };

#define OLD_ROUNDS "old1 a1 s1, old2 a2 s2, old3 a3 s3"
#define ALL_ROUNDS OLD_ROUNDS ", new4 a4 s4, new5 a5 s5"

static void check_text(size_t n, struct life *l)
{
    if (l->status != 0 || strcmp(l->text.data, ALL_ROUNDS) != 0)
        fail_msg("%zu entries: %s%s", n, l->error, l->text.data);
}

static struct workflow remember_again(void)
{
    struct workflow w = remember;
    w.input = "5 new";
    for (int i = 0; i < 8; i++) /* nobody says what is remembered */
        w.signals[i] = NULL;
    for (int i = 0; i < 3; i++)
        w.answers[i] = NULL;
    return w;
}

/* Cut off behind each entry: whoever leaps over rounds knows what they were given. */
static void test_leap(void **state)
{
    struct kept_log parent, log;
    struct life l;
    struct workflow w = remember;
    (void) state;
    w.input = "3 old";
    log_init(&parent);
    run(&w, &parent, &l);
    assert_string_equal(l.text.data, OLD_ROUNDS);
    life_free(&l);
    w = remember_again();
    log_init(&log);
    log.memory = &parent;
    run(&w, &log, &l);
    check_text(log.n, &l);
    life_free(&l);
    for (size_t n = 1; n <= log.n; n += 2) {
        struct kept_log cut;
        log_copy(&log, n, &cut);
        cut.pruned = n % 4 == 1;
        live(&w, &cut, &l);
        check_text(n, &l);
        life_free(&l);
        log_free(&cut);
    }
    log_free(&log);
    log_free(&parent);
}

/* Cut off again and again: what one life was given the one after the next knows, too. */
static void test_many_lives(void **state)
{
    struct kept_log parent, log;
    struct life l;
    struct workflow w = remember;
    (void) state;
    w.input = "3 old";
    log_init(&parent);
    run(&w, &parent, &l);
    life_free(&l);
    w = remember_again();
    log_init(&log);
    log.memory = &parent;
    for (int turns = 1; turns < 60; turns++) {
        live_for(&w, &log, &l, turns % 9);
        bool done = l.done && l.status == 0;
        life_free(&l);
        if (done)
            break;
    }
    run(&w, &log, &l);
    check_text(log.n, &l);
    life_free(&l);
    log_free(&log);
    log_free(&parent);
}

/* ---- Answers ------------------------------------------------------------------------------------ */

static struct workflow approved(const char *what, const char *answer)
{
    return (struct workflow){ .name = what,
        .target = HERE "/scripts/approved.lua",
        .input = what,
        .options = "{\"interactive\":true}",
        .answers = { answer } };
}

static size_t told(const struct kept_log *log)
{
    size_t n = 0;
    for (size_t i = 0; i < log->n; i++)
        n += entry_at(log, i).kind == HOCKET__LOG_TELL;
    return n;
}

static const struct kept_log *answered;

/* Somebody else answers, too, and hears that it is too late. */
static void answer_again(hocket_host *h, struct life *l)
{
    struct hocket_error err;
    if (l->run && told(answered) > 0)
        assert_int_equal(hocket_run_answer(h, l->run, "a1", "allow", 0, &err), HOCKET_ENOTFOUND);
}

/* A copy that has what was said at the question's end before its first answer, and behind it, as logs of earlier versions have it. */
static void say_around(const struct kept_log *from, enum hocket__log_kind kind,
    struct hocket__str before, struct hocket__str behind, struct kept_log *to)
{
    log_init(to);
    for (size_t i = 0; i < from->n; i++) {
        struct hocket__log_entry e = entry_at(from, i), said = e;
        said.kind = HOCKET__LOG_TELL;
        said.name = HOCKET__STR("answer");
        said.digest = HOCKET__STR("");
        bool here = e.kind == kind && e.name.n == 0; /* an entry of a pause has a name */
        said.value = before;
        said.n = to->n + 1;
        if (here && before.n > 0)
            assert_int_equal(log_append(to, &said, NULL), 0);
        e.n = to->n + 1;
        assert_int_equal(log_append(to, &e, NULL), 0);
        said.value = behind;
        said.n = to->n + 1;
        if (here && behind.n > 0)
            assert_int_equal(log_append(to, &said, NULL), 0);
    }
}

/* What a fork of it says; nobody answers but with `answer`. */
static void check_answer(
    const struct kept_log *parent, const char *what, const char *answer, const char *expected)
{
    struct workflow w = approved(what, answer);
    struct kept_log log;
    struct life l;
    log_init(&log);
    log.memory = parent;
    run(&w, &log, &l);
    if (!strstr(l.events.data, expected))
        fail_msg("%s is not in\n%s", expected, l.events.data);
    life_free(&l);
    log_free(&log);
}

/* Of several answers the first that was taken counts, and those that were refused are not in the log. */
static void test_answers(void **state)
{
    static const struct {
        const char *answer, *expected;
    } cases[] = { { "deny", "\"decision\":\"deny\"" }, { "allow", "\"decision\":\"allow\"" } };
    (void) state;
    for (size_t i = 0; i < 2; i++) {
        struct workflow w = approved("allowed", cases[i].answer);
        struct kept_log parent, older;
        struct life l;
        log_init(&parent);
        answered = &parent;
        w.turn = answer_again;
        run(&w, &parent, &l);
        assert_non_null(strstr(l.events.data, cases[i].expected));
        assert_int_equal(told(&parent), 1);
        life_free(&l);
        check_answer(&parent, "allowed", NULL, cases[i].expected);
        say_around(&parent, HOCKET__LOG_TELL, HOCKET__STR("a1\0by the way"),
            i == 0 ? HOCKET__STR("a1\0allow") : HOCKET__STR("a1\0deny"), &older);
        check_answer(&older, "allowed", NULL, cases[i].expected);
        log_free(&older);
        log_free(&parent);
    }
}

/* Nor one that came too late, or before the question. */
static void test_late_answers(void **state)
{
    struct workflow w = approved("asked 0.01", NULL);
    struct kept_log parent, older;
    struct life l;
    (void) state;
    log_init(&parent);
    run(&w, &parent, &l);
    assert_string_equal(l.text.data, "timeout");
    life_free(&l);
    say_around(&parent, HOCKET__LOG_TIMEOUT, HOCKET__STR(""), HOCKET__STR("q1\0late"), &older);
    check_answer(&older, "asked 3600", "fresh", "fresh");
    log_free(&older);
    say_around(&parent, HOCKET__LOG_LIFE, HOCKET__STR(""), HOCKET__STR("q1\0early"), &older);
    check_answer(&older, "asked 3600", "fresh", "fresh");
    log_free(&older);
    log_free(&parent);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_fork), cmocka_unit_test(test_leap),
        cmocka_unit_test(test_many_lives), cmocka_unit_test(test_answers),
        cmocka_unit_test(test_late_answers) };
    if (!test_temp_file(world, ".txt", ""))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(world);
    return failed;
}
