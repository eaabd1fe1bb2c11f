/* How long the fibers that are ready may keep the loop, by a clock of the test's own: it is the program's uv_hrtime, that
 * goes on by what each look at it is said to take. */

#include "host/run_util.h"

#include <uv.h>

#define LOOK_NS UINT64_C(50000)

static uint64_t now_ns = 1000000000;

uint64_t uv_hrtime(void)
{
    return now_ns += LOOK_NS;
}

/* What the loop has to do besides in each of its turns. */
struct others {
    uv_prepare_t prepare; /* between its two drains */
    uint64_t each_ns;
    int turns;
};

static void on_prepare(uv_prepare_t *prepare)
{
    struct others *o = prepare->data;
    now_ns += o->each_ns;
    o->turns++;
}

/* Turns of a loop, which is busy with other things for so long in each, until 4,000 fibers have begun. */
static int turns_beside(uint64_t each_ns)
{
    static const char script[] =
        "local fiber = require 'hocket.internal.core.fiber'\n"
        "for i = 1, 4000 do fiber.spawn(function() end); fiber.rest() end\n"
        "return 'begun'";
    struct others others = { .each_ns = each_ns };
    struct hocket_run_spec spec = { .size = sizeof(spec), .input = "" };
    struct hocket_error e = { 0 };
    struct outcome out = { 0 };
    struct hocket_options o;
    uv_loop_t loop;
    hocket_options_init(&o, sizeof(o));
    assert_int_equal(uv_loop_init(&loop), 0);
    o.uv_loop = &loop;
    hocket_host *h = host_with(NULL, &o);
    uv_prepare_init(&loop, &others.prepare);
    others.prepare.data = &others;
    uv_prepare_start(&others.prepare, on_prepare);
    spec.target = file_with(script);
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &out, &e), 0);
    while (!out.done)
        uv_run(&loop, UV_RUN_NOWAIT);
    drop_file(NULL);
    assert_string_equal(out.text, "begun");
    uv_close((uv_handle_t *) &others.prepare, NULL);
    hocket_close(h, NULL, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    return others.turns;
}

/* Where all else takes three milliseconds of each turn, they get as many; and never more than four. */
static void test_share(void **state)
{
    int alone = turns_beside(0), busy = turns_beside(3000000), flooded = turns_beside(40000000);
    (void) state;
    assert_in_range(busy * 2, alone - 20, alone + 20); /* 1 + 1 ms a turn, 1 + 3 */
    assert_in_range(flooded * 5, alone * 2 - 50, alone * 2 + 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test_teardown(test_share, drop_file) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
