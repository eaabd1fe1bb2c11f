/* One connection: see db.h.
 *
 * The SQLSTATE of a failed statement classifies the error. Passing faults (a lost connection, a server that
 * starts or is full, a deadlock, a standby taken for the primary) are retryable, and a useless connection is
 * closed and opened again. Any other error would occur again, and is reported with its text. */
#include "store/postgres/db_impl.h"

#include <stdio.h>

#include "base/bytes.h"
#include "os/clock.h"
#include "os/thread.h"

#define CONNECT_MS 30000 /* for a connection, whatever of hosts its URL names */
#define LAST_MS    3000  /* when the store is being closed */
#define DIAL_MS    1000  /* and there is no connection */

void hocket__pg_init(struct hocket__pg *d)
{
    hocket__buf_init(&d->conninfo, &hocket__malloc, 0);
    hocket__buf_init(&d->shown, &hocket__malloc, 0);
    hocket__buf_init(&d->args.texts, &hocket__malloc, 0);
    hocket__buf_init(&d->sent, &hocket__malloc, 0);
    hocket__buf_init(&d->row, &hocket__malloc, 0);
    d->wake = hocket__waker_open();
}

void hocket__pg_deinit(struct hocket__pg *d)
{
    hocket__pg_disconnect(d);
    if (d->conninfo.len > 0) /* it may hold a password */
        hocket__wipe(d->conninfo.data, d->conninfo.len);
    hocket__buf_deinit(&d->conninfo);
    hocket__buf_deinit(&d->shown);
    hocket__buf_deinit(&d->args.texts);
    hocket__buf_deinit(&d->sent);
    hocket__buf_deinit(&d->row);
    if (d->wake >= 0)
        hocket__waker_close(d->wake);
}

/* ---- Errors ------------------------------------------------------------------------------------ */

static int first_line(const char *text)
{
    return (int) strcspn(text, "\n");
}

int hocket__pg_fail(struct hocket__pg *d, int status, bool retryable, const char *text)
{
    hocket__error(&d->error, status, "%s: %.*s", d->shown.len > 0 ? d->shown.data : "PostgreSQL",
        first_line(text), text);
    d->error.retryable = retryable;
    return status;
}

int hocket__pg_lose(struct hocket__pg *d, const char *why)
{
    d->lost = true;
    d->code[0] = 0;
    return hocket__pg_fail(d, HOCKET_EIO, true, why);
}

static bool is_class(const char *code, const char *class)
{
    return strncmp(code, class, 2) == 0;
}

/* Whether another attempt may end otherwise. 23: since the check, another session has put the key, or removed the
 * text: then we check again. 22012: a run that we knew is another's by now (HOCKET__IF_OURS): then all is read first. */
bool hocket__pg_may_go_away(const char *code)
{
    static const char *const classes[] = { "08", "23", "40", "53", "55", "57", "58", "25" };
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (is_class(code, classes[i]))
            return true;
    return strcmp(code, "22012") == 0;
}

/* A session that was ended, that cannot write (a standby, or a primary that is one no more), or whose transaction has
 * run out: another one is needed. */
static bool needs_another_session(const char *code)
{
    return is_class(code, "08") || is_class(code, "25") || strcmp(code, "57P01") == 0
           || strcmp(code, "57P02") == 0 || strcmp(code, "57P03") == 0
           || strcmp(code, "57P05") == 0;
}

int hocket__pg_fail_by(struct hocket__pg *d, const PGresult *r)
{
    const char *code = d->lib->PQresultErrorField(r, PG_DIAG_SQLSTATE);
    const char *text = d->lib->PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    snprintf(d->code, sizeof(d->code), "%s", code ? code : "");
    if (!code)
        return hocket__pg_lose(d, text ? text : "the connection was lost");
    d->lost |= needs_another_session(code);
    int status = strcmp(code, "42501") == 0 ? HOCKET_EDENIED
                 : is_class(code, "54")     ? HOCKET_ELIMIT
                                            : HOCKET_EIO;
    return hocket__pg_fail(d, status, hocket__pg_may_go_away(code), text ? text : code);
}

/* ---- Waiting ------------------------------------------------------------------------------------- */

/* For the connection, and to be woken: what the waker wants is seen to later, but that it may be the end. */
static int wait_for(struct hocket__pg *d, int events, int64_t until)
{
    int64_t last = d->lib->PQstatus(d->conn) == CONNECTION_OK ? LAST_MS : DIAL_MS;
    int64_t left = until - hocket__monotonic_ms();
    if (atomic_load(d->closing) && left > last)
        left = last;
    int seen =
        left > 0 ? hocket__waker_wait(d->wake, d->lib->PQsocket(d->conn), events, (int) left) : 0;
    if (seen & HOCKET__WOKEN)
        d->woken |= hocket__waker_take(d->wake);
    if (seen == 0)
        return hocket__pg_lose(d, "the server does not answer");
    return 0;
}

int hocket__pg_flush(struct hocket__pg *d, int64_t until)
{
    int rc = d->lib->PQflush(d->conn);
    while (rc == 1) {
        if (wait_for(d, UV_READABLE | UV_WRITABLE, until) < 0)
            return HOCKET_EIO;
        if (!d->lib->PQconsumeInput(d->conn))
            return hocket__pg_lose(d, d->lib->PQerrorMessage(d->conn));
        rc = d->lib->PQflush(d->conn);
    }
    return rc < 0 ? hocket__pg_lose(d, d->lib->PQerrorMessage(d->conn)) : 0;
}

/* Those of our own are no news. */
static void take_notices(struct hocket__pg *d)
{
    for (PGnotify *n; (n = d->lib->PQnotifies(d->conn)); d->lib->PQfreemem(n))
        d->notified |= n->be_pid != d->lib->PQbackendPID(d->conn);
}

int hocket__pg_await(struct hocket__pg *d, int64_t until)
{
    while (d->lib->PQisBusy(d->conn)) {
        if (hocket__pg_flush(d, until) < 0 || wait_for(d, UV_READABLE, until) < 0)
            return HOCKET_EIO;
        if (!d->lib->PQconsumeInput(d->conn))
            return hocket__pg_lose(d, d->lib->PQerrorMessage(d->conn));
    }
    take_notices(d);
    return 0;
}

void hocket__pg_idle(struct hocket__pg *d, int64_t ms)
{
    bool listens = d->conn && !d->lost;
    int seen = 0;
    if (!d->woken && !d->notified)
        seen = hocket__waker_wait(d->wake, listens ? d->lib->PQsocket(d->conn) : -1, UV_READABLE,
            ms < 0         ? 0
            : ms > 3600000 ? 3600000
                           : (int) ms);
    hocket__waker_take(d->wake);
    d->woken = false;
    if (seen & UV_READABLE) {
        if (!d->lib->PQconsumeInput(d->conn) || d->lib->PQstatus(d->conn) == CONNECTION_BAD)
            d->lost = true;
        take_notices(d);
    }
}

void hocket__pg_wake(struct hocket__pg *d)
{
    hocket__waker_wake(d->wake);
}

/* ---- Connecting ------------------------------------------------------------------------------------- */

static void say_nothing(void *ud, const char *text)
{
    (void) ud, (void) text;
}

void hocket__pg_disconnect(struct hocket__pg *d)
{
    if (d->result)
        d->lib->PQclear(d->result);
    if (d->conn)
        d->lib->PQfinish(d->conn);
    d->result = NULL;
    d->conn = NULL;
    d->lost = d->listening = d->patient = false;
    memset(d->prepared, 0, sizeof(d->prepared));
    hocket__buf_reset(&d->sent);
    d->read = 0;
}

/* What the URL says of the same goes before these. A network that swallows everything is noticed within half a minute. */
static PGconn *dial(struct hocket__pg *d)
{
    static const char *const names[] = { "fallback_application_name", "keepalives_idle",
        "keepalives_interval", "keepalives_count", "tcp_user_timeout", "dbname", "client_encoding",
        NULL };
    const char *values[] = { "hocket", "10", "5", "3", "10000", d->conninfo.data, "UTF8", NULL };
    return d->lib->PQconnectStartParams(names, values, 1);
}

static bool is_code(const char *p)
{
    return strspn(p, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 5 && p[5] == ':' && p[6] == ' ';
}

/* A server that takes no connection says why by an SQLSTATE, which libpq tells nowhere but in a verbose text: "FATAL:  53300:
 * sorry, too many clients already". Of several servers the last one's counts; people get the text without it. */
static int refused(struct hocket__pg *d)
{
    char text[1024], code[sizeof(d->code)] = "";
    snprintf(text, sizeof(text), "%s", d->lib->PQerrorMessage(d->conn));
    for (char *at = text; (at = strstr(at, ":  ")); at += 3) {
        if (!is_code(at + 3))
            continue;
        memcpy(code, at + 3, 5);
        memmove(at + 3, at + 10, strlen(at + 10) + 1);
    }
    text[strcspn(text, "\n")] = 0;
    strncat(text, " (is it running? The store is what --store or HOCKET_STORE names)",
        sizeof(text) - strlen(text) - 1);
    hocket__pg_lose(d, text);
    memcpy(d->code, code, sizeof(code));
    return HOCKET_EIO;
}

/* Until it is there, or cannot be; in steps, so that what the server remarks meanwhile is printed by nobody, and a store that
 * is closed waits no longer. */
static int finish_dialling(struct hocket__pg *d)
{
    int64_t until = hocket__monotonic_ms() + CONNECT_MS;
    PostgresPollingStatusType state = PGRES_POLLING_WRITING;
    d->lib->PQsetErrorVerbosity(d->conn, PQERRORS_VERBOSE);
    while (state == PGRES_POLLING_READING || state == PGRES_POLLING_WRITING) {
        short events = state == PGRES_POLLING_READING ? UV_READABLE : UV_WRITABLE;
        if (d->lib->PQstatus(d->conn) != CONNECTION_BAD && wait_for(d, events, until) < 0)
            return HOCKET_EIO;
        state = d->lib->PQconnectPoll(d->conn);
    }
    if (state != PGRES_POLLING_OK)
        return refused(d);
    d->lib->PQsetErrorVerbosity(d->conn, PQERRORS_DEFAULT);
    return 0;
}

/* Our tables and nobody else's: not even the temporary ones of the session, which come first where they are not named. */
static int set_up(struct hocket__pg *d)
{
    char path[128];
    static const char *const settings[] = { "SET statement_timeout = '60s'",
        "SET lock_timeout = '20s'", "SET idle_in_transaction_session_timeout = '30s'",
        "SET default_transaction_isolation = 'read committed'",
        "SET standard_conforming_strings = on" };
    snprintf(path, sizeof(path), "SET search_path = \"%s\", pg_catalog, pg_temp", d->schema);
    hocket__pg_new(d);
    int rc = hocket__pg_send(d, 0, path);
    for (size_t i = 0; rc == 0 && i < sizeof(settings) / sizeof(settings[0]); i++)
        rc = hocket__pg_send(d, 0, settings[i]);
    if (rc == 0)
        rc = hocket__pg_sync(d);
    return rc == 0 ? hocket__pg_end(d) : rc;
}

int hocket__pg_connect(struct hocket__pg *d)
{
    if (d->conn && !d->lost)
        return 0;
    hocket__pg_disconnect(d);
    if (d->wake < 0)
        return hocket__error(&d->error, HOCKET_EIO, "cannot make an event descriptor");
    d->code[0] = 0;
    d->conn = dial(d);
    if (!d->conn)
        return hocket__error_nomem(&d->error);
    d->lib->PQsetNoticeProcessor(d->conn, say_nothing, NULL);
    if (finish_dialling(d) < 0)
        return d->error.status;
    if (d->lib->PQsetnonblocking(d->conn, 1) < 0 || !d->lib->PQenterPipelineMode(d->conn))
        return hocket__pg_lose(d, d->lib->PQerrorMessage(d->conn));
    return set_up(d);
}

int hocket__pg_script(struct hocket__pg *d, const char *sql)
{
    int rc = 0;
    if (!d->lib->PQexitPipelineMode(d->conn) || !d->lib->PQsendQuery(d->conn, sql))
        return hocket__pg_lose(d, d->lib->PQerrorMessage(d->conn));
    for (;;) {
        if (hocket__pg_await(d, hocket__monotonic_ms() + HOCKET__PG_LONG_MS) < 0)
            return HOCKET_EIO;
        PGresult *r = d->lib->PQgetResult(d->conn);
        if (!r)
            break;
        if (d->lib->PQresultStatus(r) == PGRES_FATAL_ERROR && rc == 0)
            rc = hocket__pg_fail_by(d, r);
        d->lib->PQclear(r);
    }
    if (!d->lost && !d->lib->PQenterPipelineMode(d->conn))
        return hocket__pg_lose(d, d->lib->PQerrorMessage(d->conn));
    return rc;
}

/* Older servers do not know the second setting, nor do some systems. */
int hocket__pg_be_patient(struct hocket__pg *d)
{
    int rc = hocket__pg_script(d, "SET statement_timeout = 0");
    d->patient = rc == 0;
    if (rc == 0 && hocket__pg_script(d, "SET client_connection_check_interval = '1s'") < 0)
        rc = d->lost ? d->error.status : 0;
    return rc;
}
