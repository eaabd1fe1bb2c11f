/* Runs a Lua script by the library and prints what it returns: run_script FILE [STORE]. The exit code is 1 when the run has failed.
 * On Windows it waits as a program with a loop of its own does: for hocket_backend_handle. */
#include <hocket/hocket.h>

#include <stdio.h>
#include <stdlib.h>

#ifdef _WIN32
#include <windows.h>

static void step(hocket_host *host)
{
    WaitForSingleObject(hocket_backend_handle(host), (DWORD) hocket_backend_timeout(host));
    hocket_pump(host, 0);
}
#else
static void step(hocket_host *host)
{
    hocket_wait(host, -1);
}
#endif

static const char *from_environment(const char *name, void *ud)
{
    (void) ud;
    return getenv(name);
}

static void print(const char *text, size_t n, void *ud)
{
    (void) ud;
    fwrite(text, 1, n, stdout);
}

static void warn(enum hocket_log_level level, const char *text, void *ud)
{
    (void) ud;
    if (level <= HOCKET_LOG_WARN)
        fprintf(stderr, "%s\n", text);
}

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    (void) host;
    (void) run;
    int *status = ud;
    *status = result->error ? 1 : 0;
    printf("%s\n", result->error ? result->error->message : result->text);
}

/* A store of an earlier test goes. */
static const char *fresh(const char *store)
{
    static const char *const ends[] = { "", "-wal", "-shm" };
    char name[4096];
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        snprintf(name, sizeof(name), "%s%s", store, ends[i]);
        remove(name);
    }
    return store;
}

int main(int argc, char **argv)
{
    struct hocket_options options;
    struct hocket_error error;
    hocket_host *host;
    int status = -1;
    hocket_options_init(&options, sizeof(options));
    options.getenv_cb = from_environment;
    options.output_cb = print;
    options.log_cb = warn;
    options.store = argc > 2 ? fresh(argv[2]) : NULL;
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = argc > 1 ? argv[1] : "", .input = "run"
    };
    if (hocket_open(&options, &host, &error) < 0 || hocket_serve_attach(host, &error) < 0
        || hocket_run_start(host, &spec, NULL, NULL, on_done, &status, &error) < 0) {
        fprintf(stderr, "%s\n", error.message);
        return 2;
    }
    while (status < 0)
        step(host);
    hocket_close(host, NULL, NULL);
    return status;
}
