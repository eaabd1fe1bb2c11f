/* `hocket show --html`: the front end of `hocket serve` with a run in it.
 *
 *     head (the operation "page") ─ records, a page of the store at a time ("follow") ─ tail ──▶ FILE.XXXXXX ──▶ FILE
 *
 * Records are a stranger's words. Only what is JSON gets in, and no '<' of it as such: in a script element that is what could end it. */
#include "cli/html/html.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/args/args.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/html/bundle.h"
#include "cli/out.h"
#include "cli/signals.h"
#include "cli/store.h"
#include "cli/text.h"

/* What such a page begins with, by which it is known. */
#define MARK "<!doctype html><!-- hocket run -->"

struct writing {
    const struct cli_html *h;
    hocket_host *host;
    struct cli_result result;
    char name[32]; /* the whole id */
    struct cli_part part;
    int error; /* the errno of the first write that failed */
    int64_t after, broken, written;
};

static int complain(const struct writing *w, const char *what)
{
    struct cli_buf shown = { 0 };
    cli_text_show(&shown, what, strlen(what), true);
    fprintf(stderr, "hocket %s: %s\n", w->h->command, cli_buf_text(&shown));
    cli_buf_free(&shown);
    return CLI_EXIT_FAILED;
}

static int complain_of_file(const struct writing *w, int error)
{
    struct cli_buf line = { 0 };
    cli_buf_addf(&line, "cannot write %s: %s", w->h->file, strerror(error));
    int rc = complain(w, line.p);
    cli_buf_free(&line);
    return rc;
}

/* ---- The file ------------------------------------------------------------------------------------ */

/* An existing file is replaced where it is such a page, or where the user asked for it. */
static int may_replace(const struct writing *w)
{
    char head[sizeof(MARK)] = "";
    struct stat st;
    struct cli_buf line = { 0 };
    if (w->h->force || lstat(w->h->file, &st) != 0)
        return CLI_GO_ON;
    int fd = S_ISREG(st.st_mode) ? open(w->h->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    ssize_t n = fd >= 0 ? read(fd, head, sizeof(MARK) - 1) : 0;
    if (fd >= 0)
        close(fd);
    if (n == sizeof(MARK) - 1 && strcmp(head, MARK) == 0)
        return CLI_GO_ON;
    cli_buf_addf(
        &line, "%s is there, and is no page of a run: --force writes it all the same", w->h->file);
    int rc = complain(w, line.p);
    cli_buf_free(&line);
    return rc;
}

static int open_file(struct writing *w)
{
    int rc = strcmp(w->h->file, "-") == 0 ? CLI_GO_ON : may_replace(w);
    if (rc != CLI_GO_ON)
        return rc;
    return cli_part_open(&w->part, w->h->file) ? CLI_GO_ON : complain_of_file(w, errno);
}

static void put(struct writing *w, const char *p, size_t n)
{
    while (n > 0 && w->error == 0) {
        ssize_t done = write(w->part.fd, p, n);
        if (done < 0 && errno != EINTR)
            w->error = errno;
        p += done > 0 ? done : 0;
        n -= done > 0 ? (size_t) done : 0;
    }
}

/* The file is there whole, or as it was. */
static int close_file(struct writing *w, int rc)
{
    if (!cli_part_close(&w->part, w->h->file, rc == CLI_EXIT_DONE && !w->error))
        w->error = errno;
    return rc == CLI_EXIT_DONE && w->error ? complain_of_file(w, w->error) : rc;
}

/* ---- The run ---------------------------------------------------------------------------------------- */

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    (void) host;
    (void) run;
    cli_result_set(ud, result);
}

static int ask(struct writing *w, const char *operation, const char *args)
{
    struct hocket_error err;
    cli_result_free(&w->result);
    w->result = (struct cli_result){ 0 };
    if (hocket_call_start(w->host, operation, args, NULL, NULL, on_done, &w->result, &err) < 0)
        cli_result_fail(&w->result, &err);
    while (!w->result.done)
        hocket_wait(w->host, -1);
    if (w->result.status >= 0)
        return CLI_GO_ON;
    complain(w, cli_buf_text(&w->result.message));
    return cli_exit_of(w->result.status);
}

static bool is_object(const char *text, size_t n)
{
    hocket_json *value = hocket_json_parse(text, n, NULL);
    bool is = value && hocket_json_kind(value) == HOCKET_JSON_OBJECT;
    hocket_json_free(value);
    return is;
}

static void put_record(struct writing *w, const hocket_json *record)
{
    size_t n;
    const char *text = hocket_json_text(hocket_json_get(record, "json"), "", &n), *end = text + n;
    w->after = hocket_json_int(hocket_json_get(record, "seq"), w->after + 1);
    if (w->h->at > 0 && w->after > w->h->at)
        return;
    if (!is_object(text, n)) {
        w->broken++;
        return;
    }
    put(w, ",\n", w->written++ > 0 ? 2 : 0);
    for (const char *at; (at = memchr(text, '<', (size_t) (end - text))); text = at + 1) {
        put(w, text, (size_t) (at - text));
        put(w, "\\u003c", 6);
    }
    put(w, text, (size_t) (end - text));
}

/* A page of records; false: there are no more, or the page cannot be written. */
static bool put_page(struct writing *w, int *rc)
{
    struct cli_buf args = { 0 };
    cli_buf_addf(&args, "{\"id\":\"%s\",\"after\":%lld}", w->name, (long long) w->after);
    *rc = ask(w, "follow", args.p);
    cli_buf_free(&args);
    if (*rc != CLI_GO_ON)
        return false;
    hocket_json *told = hocket_json_parse(w->result.json.p, w->result.json.n, NULL);
    const hocket_json *list = hocket_json_get(told, "records");
    for (const hocket_json *r = hocket_json_first(list); r; r = hocket_json_next(r))
        put_record(w, r);
    bool more = cli_is(told, "more");
    hocket_json_free(told);
    if (cli_signal_taken())
        *rc = cli_exit_of_signal(cli_signal_taken());
    return more && !w->error && *rc == CLI_GO_ON && (w->h->at == 0 || w->after < w->h->at);
}

static int put_run(struct writing *w, const hocket_json *frame)
{
    size_t n;
    int rc;
    const char *text = hocket_json_text(hocket_json_get(frame, "head"), "", &n);
    snprintf(w->name, sizeof(w->name), "%s", cli_member(frame, "id"));
    put(w, text, n);
    while (put_page(w, &rc))
        ;
    text = hocket_json_text(hocket_json_get(frame, "tail"), "", &n);
    put(w, text, n);
    if (rc == CLI_GO_ON && w->after < w->h->at) {
        fprintf(stderr, "hocket %s: run %s has %lld records: there is no record %lld\n",
            w->h->command, w->name, (long long) w->after, (long long) w->h->at);
        return CLI_EXIT_USAGE;
    }
    return rc == CLI_GO_ON ? CLI_EXIT_DONE : rc;
}

static int write_page(struct writing *w)
{
    struct cli_buf args = { 0 }, script = { 0 }, style = { 0 }, problem = { 0 };
    bool whole = cli_bundle(&script, &style, &problem);
    cli_buf_adds(&args, "{");
    cli_buf_member(&args, "id", w->h->id);
    cli_buf_key(&args, "script");
    cli_buf_json(&args, cli_buf_text(&script), script.n);
    cli_buf_key(&args, "style");
    cli_buf_json(&args, cli_buf_text(&style), style.n);
    cli_buf_adds(&args, "}");
    int rc = whole ? ask(w, "page", args.p) : complain(w, cli_buf_text(&problem));
    hocket_json *frame =
        rc == CLI_GO_ON ? hocket_json_parse(w->result.json.p, w->result.json.n, NULL) : NULL;
    if (rc == CLI_GO_ON)
        rc = open_file(w);
    if (rc == CLI_GO_ON)
        rc = close_file(w, put_run(w, frame));
    hocket_json_free(frame);
    cli_buf_free(&args);
    cli_buf_free(&script);
    cli_buf_free(&style);
    cli_buf_free(&problem);
    return rc;
}

int cli_html_write(const struct cli_html *h)
{
    struct writing w = { .h = h };
    struct hocket_options store = { 0 };
    int rc = CLI_EXIT_FAILED;
    if (!cli_store_look(&store, h->command, h->store))
        return rc;
    w.host = cli_host_open_store(NULL, &store, &rc);
    if (!w.host)
        return rc;
    cli_signals_start(w.host);
    rc = write_page(&w);
    cli_signals_end();
    if (rc == CLI_EXIT_DONE && w.broken > 0)
        fprintf(stderr, "hocket %s: %lld records cannot be read, and are left out\n", h->command,
            (long long) w.broken);
    cli_result_free(&w.result);
    cli_host_close(w.host);
    return rc;
}
