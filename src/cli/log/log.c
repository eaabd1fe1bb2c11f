#include "cli/log/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/buf.h"
#include "cli/log/journal.h"
#include "cli/text.h"

#define JOURNAL "/run/systemd/journal/socket"
/* Bytes of a message: a datagram has a limit. */
#define MOST ((size_t) 32 << 10)

static struct {
    enum { UNKNOWN, PLAIN, TEXT, JSON, JOURNALD } format;
    char run[32];
} logs;

static const char *const levels[] = { "error", "warning", "info" };

struct record {
    enum cli_log_level level;
    const char *run, *agent, *text; /* text: shown */
};

bool cli_log_choose(const char *format)
{
    bool json = strcmp(format, "json") == 0;
    if (!json && strcmp(format, "text") != 0)
        return false;
    logs.format = json ? JSON : TEXT;
    return true;
}

bool cli_log_is_on(void)
{
    if (logs.format == UNKNOWN)
        logs.format = cli_journal_has(STDERR_FILENO, getenv("JOURNAL_STREAM")) ? JOURNALD : PLAIN;
    return logs.format != PLAIN;
}

void cli_log_set_run(const char *run)
{
    snprintf(logs.run, sizeof(logs.run), "%s", run);
}

/* ---- Forms ------------------------------------------------------------------------------------- */

/* 2026-11-29T15:52:11.123+01:00: by this machine's clock and zone, with the distance to UTC. */
static void add_time(struct cli_buf *out)
{
    char day[32] = "", zone[8] = "+0000";
    struct timespec t;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &t);
    if (cli_text_moment(t.tv_sec, &parts)) {
        strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts);
        strftime(zone, sizeof(zone), "%z", &parts);
    }
    cli_buf_addf(out, "%s.%03ld%.3s:%s", day, t.tv_nsec / 1000000, zone, zone + 3);
}

/* `run=-` where it is about none, so that columns stay columns. */
static void add_text(struct cli_buf *out, const struct record *r)
{
    add_time(out);
    cli_buf_addf(out, " %s run=%s ", levels[r->level], r->run ? r->run : "-");
    if (r->agent)
        cli_buf_addf(out, "agent=%s ", r->agent);
    cli_text_show(out, r->text, strlen(r->text), false);
}

static void add_member(struct cli_buf *out, const char *name, const char *value)
{
    cli_buf_key(out, name);
    if (value)
        cli_buf_json(out, value, strlen(value));
    else
        cli_buf_adds(out, "null");
}

static void add_json(struct cli_buf *out, const struct record *r)
{
    cli_buf_adds(out, "{\"time\":\"");
    add_time(out);
    cli_buf_adds(out, "\"");
    add_member(out, "level", levels[r->level]);
    add_member(out, "run", r->run);
    if (r->agent)
        add_member(out, "agent", r->agent);
    add_member(out, "message", r->text);
    cli_buf_adds(out, "}");
}

/* As syslog(3) numbers them. */
static const char *priority(enum cli_log_level level)
{
    static const char *const numbers[] = { "3", "4", "6" };
    return numbers[level];
}

static bool send_fields(const struct record *r)
{
    struct cli_buf fields = { 0 };
    cli_journal_field(&fields, "MESSAGE", r->text);
    cli_journal_field(&fields, "PRIORITY", priority(r->level));
    cli_journal_field(&fields, "SYSLOG_IDENTIFIER", "hocket");
    if (r->run)
        cli_journal_field(&fields, "HOCKET_RUN", r->run);
    if (r->agent)
        cli_journal_field(&fields, "HOCKET_AGENT", r->agent);
    bool sent = cli_journal_send(JOURNAL, &fields);
    cli_buf_free(&fields);
    return sent;
}

/* What journald reads from a stream: <PRIORITY> before a line. */
static void add_stream(struct cli_buf *out, const struct record *r)
{
    cli_buf_addf(out, "<%s>", priority(r->level));
    cli_text_show(out, r->text, strlen(r->text), false);
}

/* ---- Writing ------------------------------------------------------------------------------------ */

/* In one write, so that lines of several processes stay whole. */
static void put(struct cli_buf *line)
{
    cli_buf_adds(line, "\n");
    fwrite(line->p, 1, line->n, stderr);
    fflush(stderr);
    cli_buf_free(line);
}

static void write_record(const struct record *r)
{
    struct cli_buf line = { 0 };
    if (logs.format == JOURNALD && send_fields(r))
        return;
    if (logs.format == JOURNALD)
        add_stream(&line, r);
    else if (logs.format == TEXT)
        add_text(&line, r);
    else
        add_json(&line, r);
    put(&line);
}

/* "error: …": the level says so already. */
static const char *without_level(enum cli_log_level level, const char *text)
{
    size_t n = strlen(levels[level]);
    return strncmp(text, levels[level], n) == 0 && strncmp(text + n, ": ", 2) == 0 ? text + n + 2
                                                                                   : text;
}

void cli_log(enum cli_log_level level, const char *run, const char *agent, const char *text)
{
    struct cli_buf shown = { 0 };
    if (!cli_log_is_on()) {
        cli_text_show(&shown, text, strlen(text), true);
        put(&shown);
        return;
    }
    text = without_level(level, text);
    size_t n = strlen(text);
    cli_text_show(&shown, text, n < MOST ? n : MOST, true);
    run = run ? run : logs.run;
    write_record(&(struct record){ level, *run ? run : NULL, agent, cli_buf_text(&shown) });
    cli_buf_free(&shown);
}

void cli_logf(enum cli_log_level level, const char *fmt, ...)
{
    struct cli_buf line = { 0 };
    va_list ap;
    va_start(ap, fmt);
    cli_buf_addv(&line, fmt, ap);
    va_end(ap);
    cli_log(level, NULL, NULL, cli_buf_text(&line));
    cli_buf_free(&line);
}
