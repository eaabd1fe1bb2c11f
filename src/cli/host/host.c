/* The command line's host: the library looks at no environment, prints nothing and changes no
 * limits; what a program may do of that is done here, once for all commands. */
#include "cli/host/host.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/host/heap.h"
#include "cli/log/log.h"
#include "cli/out.h"
#include "cli/policy/policy.h"
#include "cli/signals.h"
#include "cli/store.h"
#include "cli/telemetry.h"
#include "cli/text.h"

static const char *read_env(const char *name, void *ud)
{
    (void) ud;
    return getenv(name);
}

static void say(struct cli_screen *screen, enum cli_tone tone, const char *text)
{
    if (screen)
        cli_screen_say(screen, tone, text);
    else
        cli_logf(tone == CLI_WARN ? CLI_LOG_WARNING : CLI_LOG_ERROR, "%s%s",
            cli_log_is_on() ? "" : "hocket: ", text);
}

static void on_log(enum hocket_log_level level, const char *text, void *ud)
{
    struct cli_buf line = { 0 };
    if (level == HOCKET_LOG_INFO && cli_log_is_on())
        cli_log(CLI_LOG_INFO, NULL, NULL, text);
    if (level > HOCKET_LOG_WARN)
        return;
    if (strncmp(text, "runs are not kept: ", 19) == 0) /* the words of hocket__host_warn_store */
        cli_store_lost();
    cli_buf_addf(&line, "%s: %s", level == HOCKET_LOG_WARN ? "warning" : "error", text);
    say(ud, level == HOCKET_LOG_WARN ? CLI_WARN : CLI_BAD, line.p);
    cli_buf_free(&line);
}

/* A program of its own may use what it may have: each model call holds a descriptor. */
static void raise_descriptor_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* ---- Telemetry ----------------------------------------------------------- */

/* Seconds that the end of the program waits for what is still to be sent, unless HOCKET_TELEMETRY_WAIT says how many; and at most. */
#define FLUSH_SECONDS     3.0
#define MAX_FLUSH_SECONDS 3600.0

static struct {
    uint64_t run; /* 0: nobody wants any */
    bool done;
    struct cli_screen *screen;
} telemetry;

static void on_telemetry_done(
    hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    struct cli_buf line = { 0 };
    (void) host;
    (void) run;
    (void) ud;
    telemetry.done = true;
    if (!result->error || result->status == HOCKET_ECANCELLED)
        return;
    cli_buf_addf(&line, "error: telemetry: %s", result->error->message);
    say(telemetry.screen, CLI_BAD, line.p);
    cli_buf_free(&line);
}

void cli_host_telemetry(hocket_host *host, struct cli_screen *screen)
{
    struct hocket_error err;
    if (!cli_telemetry_wanted())
        return;
    telemetry.screen = screen;
    if (hocket_call_start(
            host, "telemetry", "{}", &telemetry.run, NULL, on_telemetry_done, NULL, &err)
        < 0)
        say(screen, CLI_BAD, err.message);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static double flush_seconds(void)
{
    const char *text = getenv("HOCKET_TELEMETRY_WAIT");
    char *end = NULL;
    double seconds = text && *text ? strtod(text, &end) : FLUSH_SECONDS;
    return (!end || *end == 0) && seconds >= 0 && seconds <= MAX_FLUSH_SECONDS ? seconds
                                                                               : FLUSH_SECONDS;
}

/* A moment more than the operation takes: it ends by itself. */
static void flush_telemetry(hocket_host *host)
{
    struct hocket_error err;
    struct cli_buf text = { 0 };
    double seconds = flush_seconds();
    int64_t due = now_ms() + (int64_t) (seconds * 1000) + 500, left;
    if (!telemetry.run || telemetry.done)
        return;
    cli_buf_addf(&text, "%.3f", seconds);
    int rc = hocket_run_answer(host, telemetry.run, "flush", text.p, text.n, &err);
    cli_buf_free(&text);
    while (rc >= 0 && !telemetry.done && (left = due - now_ms()) > 0)
        hocket_wait(host, (int) left);
}

/* ---- Memory -------------------------------------------------------------- */

/* What a host has when the program ends is not given back piece by piece: the system takes it all,
 * at once. Leak checkers are to see that it could be. */
static bool leaving;

static void *take_memory(void *ud, void *ptr, size_t old_size, size_t new_size)
{
    (void) ud;
    (void) old_size;
    if (new_size > 0) {
        void *block = realloc(ptr, new_size);
        cli_heap_saw((uintptr_t) block + new_size);
        return block;
    }
    if (!leaving)
        free(ptr);
    return NULL;
}

void cli_host_close(hocket_host *host)
{
    flush_telemetry(host);
#ifndef __SANITIZE_ADDRESS__
    leaving = true;
#endif
    hocket_close(host, NULL, NULL);
}

/* ---- Opening ------------------------------------------------------------- */

static void take_store(struct hocket_options *o, const struct hocket_options *store)
{
    if (!store)
        return;
    o->store = store->store;
    o->durability = store->durability;
    o->store_days = store->store_days;
    o->store_bytes = store->store_bytes;
    o->store_optional = store->store_optional;
    o->output_cb = store->output_cb;
}

/* ---- Policies ------------------------------------------------------------ */

static bool is_policys; /* what went wrong last is wrong with a policy */

static void set_error(struct hocket_error *err, const char *message)
{
    *err = (struct hocket_error){ .status = HOCKET_EINVAL };
    snprintf(err->message, sizeof(err->message), "%s", message);
}

/* A host that allows nothing, for the commands that say what is wrong with a policy. */
static int open_closed(struct hocket_options *o, hocket_host **host, struct hocket_error *err)
{
    o->policies = cli_policy_closed();
    o->n_policies = 1;
    return hocket_open(o, host, err);
}

/* Whether a message is about one of them. */
static bool names_policy(const struct cli_policy *p, const char *message)
{
    for (size_t i = 0; i < p->n; i++) {
        size_t n = strlen(p->list[i].name);
        if (strncmp(message, p->list[i].name, n) == 0 && message[n] == ':')
            return true;
    }
    return false;
}

/* Other scripts in the place of hocket's own would read no policy. */
static void leave_lua_path(struct hocket_options *o, const struct cli_policy *p)
{
    if (!o->lua_path || (p->n == 0 && !p->problem))
        return;
    cli_logf(CLI_LOG_WARNING, "hocket: HOCKET_LUA_PATH does not count: there is a policy");
    o->lua_path = NULL;
}

/* Under the policies as they are now. */
static int open_bound(struct hocket_options *o, hocket_host **host, struct hocket_error *err)
{
    struct cli_policy p;
    cli_policy_read(&p);
    leave_lua_path(o, &p);
    o->policies = p.list;
    o->n_policies = p.n;
    int rc = HOCKET_EINVAL;
    if (p.problem)
        set_error(err, p.problem);
    else
        rc = hocket_open(o, host, err);
    if (p.is_short)
        err->status = HOCKET_EIO;
    is_policys = rc < 0 && !p.is_short && (p.problem || names_policy(&p, err->message));
    if (is_policys && cli_policy_is_tolerated())
        rc = open_closed(o, host, err);
    cli_policy_free(&p);
    return rc;
}

int cli_host_check_policy(void)
{
    struct cli_policy p;
    struct hocket_error err;
    hocket_host *host = NULL;
    struct hocket_options o;
    cli_policy_read(&p);
    bool bound = p.n > 0 || p.problem;
    cli_policy_free(&p);
    if (!bound)
        return CLI_EXIT_DONE;
    hocket_options_init(&o, sizeof(o));
    o.lua_path = getenv("HOCKET_LUA_PATH");
    bool good = open_bound(&o, &host, &err) == 0;
    if (!good)
        cli_logf(CLI_LOG_ERROR, "hocket: %s", err.message);
    hocket_close(host, NULL, NULL);
    return good ? CLI_EXIT_DONE : is_policys ? CLI_EXIT_AGENT : cli_exit_of(err.status);
}

void cli_host_policy_again(hocket_host *host)
{
    struct cli_policy p;
    struct hocket_error err;
    cli_policy_read(&p);
    if (p.problem)
        set_error(&err, p.problem);
    if (p.problem || hocket_set_policies(host, p.list, p.n, &err) < 0)
        cli_logf(CLI_LOG_WARNING, "hocket: the policy from before stays: %s", err.message);
    cli_policy_free(&p);
}

/* NULL with *err filled when it cannot be opened. */
static hocket_host *open_host(
    struct cli_screen *screen, const struct hocket_options *store, struct hocket_error *err)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *host = NULL;
    raise_descriptor_limit();
    cli_heap_prepare();
    o.allocator.realloc_cb = take_memory;
    o.getenv_cb = read_env;
    o.log_cb = on_log;
    o.log_ud = screen;
    /* the program is its own launcher (main.c calls hocket_launcher_main first) */
    o.launcher = "/proc/self/exe";
    o.lua_path = getenv("HOCKET_LUA_PATH");
    take_store(&o, store);
    if (open_bound(&o, &host, err) == 0 && hocket_serve_attach(host, err) == 0)
        return host;
    hocket_close(host, NULL, NULL);
    return NULL;
}

hocket_host *cli_host_open(struct cli_screen *screen, int *code)
{
    return cli_host_open_store(screen, NULL, code);
}

/* Whether a file is something other than a store; the user learns this before anything is done. The program checks before it opens
 * the store, because closing the file gives back every lock that the process has on it. The first bytes of SQLite's files:
 * https://www.sqlite.org/fileformat.html, 1.3. An empty file is a new store. */
static bool is_other(const char *store)
{
    static const char magic[16] = "SQLite format 3";
    char head[sizeof(magic)];
    struct stat st;
    if (*store != '/' || lstat(store, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    int fd = open(store, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);
    if (fd >= 0)
        close(fd);
    return n > 0 && (n < (ssize_t) sizeof(head) || memcmp(head, magic, sizeof(magic)) != 0);
}

hocket_host *cli_host_open_store(
    struct cli_screen *screen, const struct hocket_options *store, int *code)
{
    struct hocket_error err;
    if (store && store->store && !store->store_optional && is_other(store->store)) {
        cli_logf(CLI_LOG_ERROR,
            "hocket: %s: this is no database (or an encrypted one): give another file to keep runs "
            "in",
            store->store);
        *code = CLI_EXIT_FAILED;
        return NULL;
    }
    hocket_host *host = open_host(screen, store, &err);
    if (host)
        return host;
    cli_logf(CLI_LOG_ERROR, "hocket: %s", err.message);
    /* the scripts of HOCKET_LUA_PATH, or a policy */
    *code = err.status == HOCKET_ELUA || is_policys ? CLI_EXIT_AGENT : cli_exit_of(err.status);
    return NULL;
}

int cli_host_offer(hocket_host *host, const char *command, const char *name)
{
    struct hocket_error err;
    if (!name || hocket_offer(host, strcmp(name, "-") == 0 ? NULL : name, NULL, &err) == 0)
        return CLI_EXIT_DONE;
    cli_logf(CLI_LOG_ERROR, "hocket %s: --offer %s: %s", command, name, err.message);
    return err.status == HOCKET_EINVAL ? CLI_EXIT_USAGE : CLI_EXIT_FAILED;
}

/* ---- Results ----------------------------------------------------------- */

/* The result's own message is whole where that of a struct hocket_error is cut. */
static void set_message(struct cli_result *r, const struct hocket_error *err)
{
    hocket_json *json = hocket_json_parse(cli_buf_text(&r->json), r->json.n, NULL);
    const hocket_json *error = hocket_json_get(json, "error");
    const char *code = cli_member(error, "code");
    bool same = strcmp(code, hocket_status_word(err->status))
                == 0; /* else it was written before the cause was known */
    cli_buf_adds(
        &r->message, same ? hocket_json_text(hocket_json_get(error, "message"), err->message, NULL)
                          : err->message);
    hocket_json_free(json);
}

void cli_result_set(struct cli_result *r, const struct hocket_result *from)
{
    r->done = true;
    r->status = from->status;
    cli_buf_add(&r->text, from->text, from->text_len);
    cli_buf_add(&r->json, from->json, from->json_len);
    if (from->error)
        set_message(r, from->error);
}

void cli_result_fail(struct cli_result *r, const struct hocket_error *err)
{
    r->done = true;
    r->status = err->status;
    cli_buf_adds(&r->message, err->message);
}

void cli_result_complain(const struct cli_result *r, const char *command)
{
    struct cli_buf shown = { 0 };
    cli_text_show(&shown, cli_buf_text(&r->message), r->message.n, true);
    cli_logf(CLI_LOG_ERROR, "%s%s: %s", command ? "hocket " : "", command ? command : "error",
        cli_buf_text(&shown));
    cli_buf_free(&shown);
}

void cli_result_free(struct cli_result *r)
{
    cli_buf_free(&r->text);
    cli_buf_free(&r->json);
    cli_buf_free(&r->message);
}

/* ---- Operations -------------------------------------------------------- */

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    (void) host;
    (void) run;
    cli_result_set(ud, result);
}

int cli_host_call(const char *name, const char *args_json, struct cli_result *out)
{
    return cli_host_call_store(name, args_json, NULL, out);
}

int cli_host_call_store(const char *name, const char *args_json, const struct hocket_options *store,
    struct cli_result *out)
{
    struct hocket_error err;
    hocket_host *host = open_host(NULL, store, &err);
    *out = (struct cli_result){ 0 };
    if (!host || hocket_call_start(host, name, args_json, NULL, NULL, on_done, out, &err) < 0)
        cli_result_fail(out, &err);
    while (!out->done)
        hocket_wait(host, -1);
    hocket_close(host, NULL, NULL);
    return out->status;
}

struct serving {
    hocket_event_cb on_event;
    void *ud;
    struct cli_result *result;
};

static void on_served_event(hocket_host *host, uint64_t run, const struct hocket_event *e, void *ud)
{
    const struct serving *s = ud;
    s->on_event(host, run, e, s->ud);
}

static void on_served(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    const struct serving *s = ud;
    on_done(host, run, result, s->result);
}

void cli_host_serve(hocket_host *host, const char *name, const char *args_json,
    hocket_event_cb on_event, void *ud, struct cli_result *out)
{
    struct serving s = { on_event, ud, out };
    struct hocket_error err;
    uint64_t id = 0;
    if (hocket_call_start(
            host, name, args_json, &id, on_event ? on_served_event : NULL, on_served, &s, &err)
        < 0)
        cli_result_fail(out, &err);
    for (bool stopped = false; !out->done;) {
        if (cli_signal_taken() && !stopped) {
            stopped = true;
            hocket_run_cancel(host, id);
        }
        hocket_wait(host, -1);
    }
}

/* Being stopped by a signal is a way to end well. */
static int end_served(const char *command, const struct cli_result *result)
{
    if (result->status == 0 || (cli_signal_taken() && result->status == HOCKET_ECANCELLED))
        return CLI_EXIT_DONE;
    cli_result_complain(result, command);
    return cli_exit_of(result->status);
}

int cli_host_serve_stdin(const struct cli_served *s)
{
    struct cli_result result = { 0 };
    int rc = CLI_EXIT_DONE;
    hocket_host *host = cli_host_open_store(NULL, &s->store, &rc);
    if (!host)
        return rc;
    cli_signals_start(host);
    cli_host_telemetry(host, NULL);
    rc = cli_host_offer(host, s->command, s->offer);
    if (rc == CLI_EXIT_DONE) {
        cli_host_serve(host, s->operation, cli_buf_text(&s->args), s->on_event, s->ud, &result);
        rc = end_served(s->command, &result);
    }
    cli_signals_end();
    cli_host_close(host);
    cli_result_free(&result);
    return rc;
}

int cli_host_answer(const char *name, const char *args_json, bool json)
{
    struct cli_result result;
    int status = cli_host_call(name, args_json, &result);
    if (json && result.json.n > 0)
        cli_out_json(result.json.p, result.json.n);
    else if (status == 0)
        cli_out_shown(cli_buf_text(&result.text), result.text.n);
    if (status < 0)
        cli_result_complain(&result, name);
    int code = cli_exit_of(status), out = cli_out_end();
    cli_result_free(&result);
    return code ? code : out;
}
