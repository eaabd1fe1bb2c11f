/* Two hosts on two threads share nothing: what the thread sanitizer is for. */

#include <hocket/hocket.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/temp.h"
#include "support/tsan.h"

static const char text[] =
    "local hocket = require 'hocket'\n"
    "local served = hocket.sim.serve({ reply = function(q) return 'answer to ' .. q.last.text end "
    "})\n"
    "hocket.provider('own', { protocol = 'openai_chat', base = served.base })\n"
    "local a = hocket.agent { name = 'a', model = 'own/m', prompt = 'p' }\n"
    "local out = {}\n"
    "for i = 1, 20 do out[i] = hocket.run(a, 'question ' .. i).text end\n"
    "served.close()\n"
    "return out[20]";

struct worker {
    pthread_t thread;
    char path[TEST_TEMP_PATH], answer[64];
    int status;
};

static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct worker *w = ud;
    (void) h;
    (void) run;
    w->status = r->status;
    snprintf(w->answer, sizeof(w->answer), "%s", r->text);
}

static void *work(void *ud)
{
    struct worker *w = ud;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h;
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = w->path };
    if (hocket_open(&o, &h, NULL) < 0)
        return NULL;
    if (hocket_serve_attach(h, NULL) == 0
        && hocket_run_start(h, &spec, NULL, NULL, on_done, w, NULL) == 0)
        while (hocket_wait(h, -1) > 0) {
        }
    hocket_close(h, NULL, NULL);
    return NULL;
}

static void test_two_hosts(void **state)
{
    (void) state;
    struct worker w[2] = { { .status = -1 }, { .status = -1 } };
    for (int i = 0; i < 2; i++) {
        assert_true(test_temp_file(w[i].path, ".lua", text));
        assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(w[i].thread, NULL);
        unlink(w[i].path);
        assert_int_equal(w[i].status, 0);
        assert_string_equal(w[i].answer, "answer to question 20");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_two_hosts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
