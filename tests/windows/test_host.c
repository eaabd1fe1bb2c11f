/* What an embedding program meets on Windows alone: errors that name what is not there, and when it may sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <hocket/hocket.h>

#include <windows.h>

static hocket_host *open_host(const char *store)
{
    struct hocket_options options;
    struct hocket_error err = { 0 };
    hocket_host *host;
    hocket_options_init(&options, sizeof(options));
    options.store = store;
    assert_int_equal(hocket_open(&options, &host, &err), 0);
    assert_int_equal(hocket_serve_attach(host, &err), 0);
    return host;
}

static int start_script(hocket_host *host, const char *lua, int *status, hocket_done_cb on_done,
    struct hocket_error *err)
{
    int rc = hocket_load_buffer(host, "asked.lua", lua, strlen(lua), err);
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = "buffer:asked.lua", .input = ""
    };
    return rc < 0 ? rc : hocket_run_start(host, &spec, NULL, NULL, on_done, status, err);
}

static char said[1024];

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    (void) host;
    (void) run;
    snprintf(said, sizeof(said), "%s", result->error ? result->error->message : result->text);
    *(int *) ud = result->status;
}

/* What a script's call fails with. */
static const char *refused(hocket_host *host, const char *lua)
{
    struct hocket_error err = { 0 };
    int status = 1;
    said[0] = 0;
    if (start_script(host, lua, &status, on_done, &err) < 0)
        snprintf(said, sizeof(said), "%s", err.message);
    else
        while (status == 1)
            hocket_wait(host, -1);
    return said;
}

static void names(const char *text, const char *what)
{
    if (!strstr(text, what) || !strstr(text, "hocket does not have it on Windows"))
        fail_msg("'%s' does not name '%s'", text, what);
}

static void what_is_not_there_is_named(void **state)
{
    (void) state;
    struct hocket_error err = { 0 };
    hocket_host *host = open_host(NULL);
    assert_int_equal(hocket_offer(host, "game", NULL, &err), HOCKET_EUNSUPPORTED);
    names(err.message, "hocket_offer");
    names(refused(host, "local _, e = require('hocket.process').run { argv = { 'cmd' }, cwd = "
                        "'C:/', sandbox = 'landlock' }\n"
                        "return tostring(e)"),
        "landlock");
    hocket_close(host, NULL, NULL);
}

static void a_store_in_postgresql_is_refused_by_name(void **state)
{
    (void) state;
    struct hocket_options options;
    struct hocket_error err = { 0 };
    hocket_host *host;
    hocket_options_init(&options, sizeof(options));
    options.store = "postgres://localhost/games";
    int rc = hocket_open(&options, &host, &err);
    if (rc == 0) {
        snprintf(err.message, sizeof(err.message), "%s", refused(host, "return 'it runs'"));
        hocket_close(host, NULL, NULL);
    }
    names(err.message, "PostgreSQL");
}

static void it_does_not_sleep_before_the_first_pump(void **state)
{
    (void) state;
    struct hocket_error err = { 0 };
    int status = 1;
    hocket_host *host = open_host(NULL);
    assert_int_equal(hocket_backend_fd(host), -1);
    assert_int_equal(hocket_backend_timeout(host), 0);
    assert_int_equal(start_script(host, "return 'here'", &status, on_done, &err), 0);
    assert_int_equal(hocket_backend_timeout(host), 0);
    while (status == 1) {
        WaitForSingleObject(hocket_backend_handle(host), (DWORD) hocket_backend_timeout(host));
        hocket_pump(host, 0);
    }
    assert_string_equal(said, "here");
    for (int i = 0; i < 100 && hocket_backend_timeout(host) == 0; i++)
        hocket_pump(host, 0);
    assert_int_not_equal(hocket_backend_timeout(host), 0);
    hocket_close(host, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_there_is_named),
        cmocka_unit_test(a_store_in_postgresql_is_refused_by_name),
        cmocka_unit_test(it_does_not_sleep_before_the_first_pump),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
