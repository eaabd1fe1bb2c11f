/* One connection: see db.h.
 *
 * What a statement fails with is told apart by its SQLSTATE. What may go away (a lost connection, a server that
 * starts or is full, a deadlock, a standby that was taken for the primary) is retryable, and where the
 * connection is of no use any more it is closed and made anew; all else would fail again, and says what. */
#include "store/postgres/db.h"

#include "base/utf8.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define DEADLINE_MS 90000 /* for a result; the server gives up before that */
#define CONNECT_MS  30000 /* for a connection, whatever of hosts its URL names */
#define LAST_MS     3000  /* when the store is being closed */
#define INT8        20    /* OIDs of types are part of the protocol */
#define BYTEA       17
#define TEXT        25
#define ESCAPED     '\001' /* what begins so is written as this and hexadecimal digits */
#define MAX_FIELD                                                                                  \
    ((size_t) 256 * 1024 * 1024) /* twice that, escaped, is below the 1 GB of a field */

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void hocket__pg_init(struct hocket__pg *d)
{
    hocket__buf_init(&d->conninfo, &hocket__malloc, 0);
    hocket__buf_init(&d->shown, &hocket__malloc, 0);
    hocket__buf_init(&d->args.texts, &hocket__malloc, 0);
    hocket__buf_init(&d->sent, &hocket__malloc, 0);
    hocket__buf_init(&d->row, &hocket__malloc, 0);
    d->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

void hocket__pg_deinit(struct hocket__pg *d)
{
    hocket__pg_disconnect(d);
    if (d->conninfo.len > 0) /* it may hold a password */
        explicit_bzero(d->conninfo.data, d->conninfo.len);
    hocket__buf_deinit(&d->conninfo);
    hocket__buf_deinit(&d->shown);
    hocket__buf_deinit(&d->args.texts);
    hocket__buf_deinit(&d->sent);
    hocket__buf_deinit(&d->row);
    if (d->wake >= 0)
        close(d->wake);
}

/* ---- Errors ------------------------------------------------------------------------------------ */

static int first_line(const char *text)
{
    return (int) strcspn(text, "\n");
}

static int fail(struct hocket__pg *d, int status, bool retryable, const char *text)
{
    hocket__error(&d->error, status, "%s: %.*s", d->shown.len > 0 ? d->shown.data : "PostgreSQL",
        first_line(text), text);
    d->error.retryable = retryable;
    return status;
}

static int lose(struct hocket__pg *d, const char *why)
{
    d->lost = true;
    d->code[0] = 0;
    return fail(d, HOCKET_EIO, true, why);
}

static bool is_class(const char *code, const char *class)
{
    return strncmp(code, class, 2) == 0;
}

/* Whether another attempt may end otherwise. 23: keys that another one has put, or a text that has gone, since it was
 * looked at: then it is looked at anew. */
static bool may_go_away(const char *code)
{
    static const char *const classes[] = { "08", "23", "40", "53", "55", "57", "58", "25" };
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (is_class(code, classes[i]))
            return true;
    return false;
}

/* A session that was ended, that cannot write (a standby, or a primary that is one no more), or whose transaction has
 * run out: another one is needed. */
static bool needs_another_session(const char *code)
{
    return is_class(code, "08") || is_class(code, "25") || strcmp(code, "57P01") == 0
           || strcmp(code, "57P02") == 0 || strcmp(code, "57P03") == 0
           || strcmp(code, "57P05") == 0;
}

static int fail_by(struct hocket__pg *d, const PGresult *r)
{
    const char *code = d->lib->PQresultErrorField(r, PG_DIAG_SQLSTATE);
    const char *text = d->lib->PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    snprintf(d->code, sizeof(d->code), "%s", code ? code : "");
    if (!code)
        return lose(d, text ? text : "the connection was lost");
    d->lost |= needs_another_session(code);
    int status = strcmp(code, "42501") == 0 ? HOCKET_EDENIED
                 : is_class(code, "54")     ? HOCKET_ELIMIT
                                            : HOCKET_EIO;
    return fail(d, status, may_go_away(code), text ? text : code);
}

/* ---- Waiting ------------------------------------------------------------------------------------- */

static void drain(struct hocket__pg *d)
{
    uint64_t n;
    d->woken |= d->wake >= 0 && read(d->wake, &n, sizeof(n)) == (ssize_t) sizeof(n);
}

/* For the connection, and to be woken: what the waker wants is seen to later, but that it may be the end. */
static int wait_for(struct hocket__pg *d, short events, int64_t until)
{
    struct pollfd fds[2] = { { .fd = d->lib->PQsocket(d->conn), .events = events },
        { .fd = d->wake, .events = POLLIN } };
    int64_t left = until - now_ms();
    if (atomic_load(d->closing) && left > LAST_MS)
        left = LAST_MS;
    int n = left > 0 ? poll(fds, 2, (int) left) : 0;
    if (fds[1].revents)
        drain(d);
    if (n == 0)
        return lose(d, "the server does not answer");
    return 0;
}

static int flush(struct hocket__pg *d, int64_t until)
{
    int rc = d->lib->PQflush(d->conn);
    while (rc == 1) {
        if (wait_for(d, POLLIN | POLLOUT, until) < 0)
            return HOCKET_EIO;
        if (!d->lib->PQconsumeInput(d->conn))
            return lose(d, d->lib->PQerrorMessage(d->conn));
        rc = d->lib->PQflush(d->conn);
    }
    return rc < 0 ? lose(d, d->lib->PQerrorMessage(d->conn)) : 0;
}

/* Those of our own are no news. */
static void take_notices(struct hocket__pg *d)
{
    for (PGnotify *n; (n = d->lib->PQnotifies(d->conn)); d->lib->PQfreemem(n))
        d->notified |= n->be_pid != d->lib->PQbackendPID(d->conn);
}

static int wait_for_result(struct hocket__pg *d, int64_t until)
{
    while (d->lib->PQisBusy(d->conn)) {
        if (flush(d, until) < 0 || wait_for(d, POLLIN, until) < 0)
            return HOCKET_EIO;
        if (!d->lib->PQconsumeInput(d->conn))
            return lose(d, d->lib->PQerrorMessage(d->conn));
    }
    take_notices(d);
    return 0;
}

void hocket__pg_idle(struct hocket__pg *d, int64_t ms)
{
    bool listens = d->conn && !d->lost;
    struct pollfd fds[2] = { { .fd = d->wake, .events = POLLIN },
        { .fd = listens ? d->lib->PQsocket(d->conn) : -1, .events = POLLIN } };
    if (!d->woken && !d->notified)
        poll(fds, 2, ms < 0 ? 0 : ms > 3600000 ? 3600000 : (int) ms);
    drain(d);
    d->woken = false;
    if (fds[1].revents) {
        if (!d->lib->PQconsumeInput(d->conn) || d->lib->PQstatus(d->conn) == CONNECTION_BAD)
            d->lost = true;
        take_notices(d);
    }
}

void hocket__pg_wake(struct hocket__pg *d)
{
    uint64_t one = 1;
    ssize_t n = write(d->wake, &one, sizeof(one));
    (void) n; /* full is awake enough */
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
    d->lost = d->listening = false;
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

/* Until it is there, or cannot be; in steps, so that what the server remarks meanwhile is printed by nobody, and a store that
 * is closed waits no longer. */
static int finish_dialling(struct hocket__pg *d)
{
    int64_t until = now_ms() + CONNECT_MS;
    PostgresPollingStatusType state = PGRES_POLLING_WRITING;
    while (state == PGRES_POLLING_READING || state == PGRES_POLLING_WRITING) {
        short events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
        if (d->lib->PQstatus(d->conn) != CONNECTION_BAD && wait_for(d, events, until) < 0)
            return HOCKET_EIO;
        state = d->lib->PQconnectPoll(d->conn);
    }
    return state == PGRES_POLLING_OK ? 0 : lose(d, d->lib->PQerrorMessage(d->conn));
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
        return lose(d, d->lib->PQerrorMessage(d->conn));
    return set_up(d);
}

int hocket__pg_script(struct hocket__pg *d, const char *sql)
{
    int rc = 0;
    if (!d->lib->PQexitPipelineMode(d->conn) || !d->lib->PQsendQuery(d->conn, sql))
        return lose(d, d->lib->PQerrorMessage(d->conn));
    for (;;) {
        int64_t until = now_ms() + (INT64_C(24) * 3600 * 1000); /* a large table may take long */
        if (wait_for_result(d, until) < 0)
            return HOCKET_EIO;
        PGresult *r = d->lib->PQgetResult(d->conn);
        if (!r)
            break;
        if (d->lib->PQresultStatus(r) == PGRES_FATAL_ERROR && rc == 0)
            rc = fail_by(d, r);
        d->lib->PQclear(r);
    }
    if (!d->lost && !d->lib->PQenterPipelineMode(d->conn))
        return lose(d, d->lib->PQerrorMessage(d->conn));
    return rc;
}

/* ---- Statements ----------------------------------------------------------------------------------------- */

void hocket__pg_new(struct hocket__pg *d)
{
    d->args.n = 0;
    hocket__buf_reset(&d->args.texts);
}

static void add(struct hocket__pg *d, Oid type, const char *value, size_t n)
{
    int i = d->args.n++;
    d->args.types[i] = type;
    d->args.values[i] = value;
    d->args.lengths[i] = (int) n;
    d->args.escaped[i] = 0;
    if (n > MAX_FIELD)
        d->args.texts.status = HOCKET_ELIMIT;
}

static void put_number(char out[8], int64_t v)
{
    uint64_t u = (uint64_t) v;
    for (int i = 7; i >= 0; i--, u >>= 8)
        out[i] = (char) (u & 0xff);
}

void hocket__pg_int(struct hocket__pg *d, int64_t v)
{
    char *at = d->args.numbers[d->args.n];
    put_number(at, v);
    add(d, INT8, at, 8);
}

void hocket__pg_count(struct hocket__pg *d, int64_t v)
{
    if (v >= 0)
        hocket__pg_int(d, v);
    else
        add(d, INT8, NULL, 0);
}

static void escape(struct hocket__buf *b, struct hocket__str s)
{
    static const char digits[] = "0123456789abcdef";
    hocket__buf_addc(b, ESCAPED);
    for (size_t i = 0; i < s.n; i++) {
        hocket__buf_addc(b, digits[(unsigned char) s.p[i] >> 4]);
        hocket__buf_addc(b, digits[(unsigned char) s.p[i] & 15]);
    }
}

static bool is_text(struct hocket__str s)
{
    return s.n == 0
           || (s.p[0] != ESCAPED && !memchr(s.p, 0, s.n) && hocket__utf8_valid(s.p, s.n) == s.n);
}

void hocket__pg_text(struct hocket__pg *d, struct hocket__str s)
{
    struct hocket__buf *b = &d->args.texts;
    add(d, TEXT, s.n > 0 ? s.p : "", s.n);
    if (s.n > MAX_FIELD || is_text(s))
        return;
    size_t begins = b->len;
    escape(b, s);
    d->args.escaped[d->args.n - 1] = begins + 1;
    d->args.lengths[d->args.n - 1] = (int) (b->len - begins);
}

void hocket__pg_text_or_null(struct hocket__pg *d, struct hocket__str s)
{
    if (s.n > 0)
        hocket__pg_text(d, s);
    else
        add(d, TEXT, NULL, 0);
}

void hocket__pg_bytes(struct hocket__pg *d, struct hocket__str s)
{
    add(d, BYTEA, s.n > 0 ? s.p : "", s.n);
}

/* Slot 0 is for what is said once, and has no name. */
static int prepare(struct hocket__pg *d, unsigned slot, const char *name, const char *sql)
{
    if (d->prepared[slot] && slot > 0)
        return 0;
    if (!d->lib->PQsendPrepare(d->conn, name, sql, d->args.n, d->args.types))
        return lose(d, d->lib->PQerrorMessage(d->conn));
    d->prepared[slot] = true;
    return hocket__buf_addc(&d->sent, 'p');
}

int hocket__pg_send(struct hocket__pg *d, unsigned slot, const char *sql)
{
    static const int binary[HOCKET__PG_PARAMS] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    char name[16] = "";
    if (d->args.texts.status == HOCKET_ELIMIT)
        return fail(d, HOCKET_ELIMIT, false, "a text of more than 256 MiB cannot be kept there");
    if (d->args.texts.status < 0)
        return hocket__error_nomem(&d->error);
    for (int i = 0; i < d->args.n; i++)
        if (d->args.escaped[i])
            d->args.values[i] = d->args.texts.data + d->args.escaped[i] - 1;
    if (slot > 0)
        snprintf(name, sizeof(name), "s%u", slot);
    if (prepare(d, slot, name, sql) < 0)
        return d->sent.status < 0 ? hocket__error_nomem(&d->error) : d->error.status;
    if (!d->lib->PQsendQueryPrepared(
            d->conn, name, d->args.n, d->args.values, d->args.lengths, binary, 1))
        return lose(d, d->lib->PQerrorMessage(d->conn));
    return hocket__buf_addc(&d->sent, 'q') < 0 ? hocket__error_nomem(&d->error) : 0;
}

int hocket__pg_sync(struct hocket__pg *d)
{
    if (!d->lib->PQpipelineSync(d->conn))
        return lose(d, d->lib->PQerrorMessage(d->conn));
    return flush(d, now_ms() + DEADLINE_MS);
}

/* A result of a statement, and the NULL behind it. */
static PGresult *take(struct hocket__pg *d)
{
    int64_t until = now_ms() + DEADLINE_MS;
    if (wait_for_result(d, until) < 0)
        return NULL;
    PGresult *r = d->lib->PQgetResult(d->conn);
    if (!r) {
        lose(d, "the connection was lost");
        return NULL;
    }
    ExecStatusType status = d->lib->PQresultStatus(r);
    if (status != PGRES_PIPELINE_SYNC && wait_for_result(d, until) == 0) {
        PGresult *none = d->lib->PQgetResult(d->conn);
        if (none) /* cannot be: one statement, one result */
            d->lib->PQclear(none);
    }
    return r;
}

/* Of a pipeline that failed a statement may not be prepared, though it was asked for: a new connection knows of none. */
static int read_one(struct hocket__pg *d)
{
    if (d->result)
        d->lib->PQclear(d->result);
    d->result = take(d);
    if (!d->result)
        return d->error.status;
    bool prepares = d->sent.data[d->read++] == 'p';
    ExecStatusType status = d->lib->PQresultStatus(d->result);
    int rc = 0;
    if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE)
        rc = fail_by(d, d->result);
    else if (status == PGRES_PIPELINE_ABORTED)
        rc = fail(d, HOCKET_EIO, true, "a statement before failed");
    d->lost |= prepares && rc < 0;
    return rc;
}

int hocket__pg_next(struct hocket__pg *d)
{
    int rc = 0;
    while (rc == 0 && d->read < d->sent.len && d->sent.data[d->read] == 'p')
        rc = read_one(d);
    if (rc == 0 && d->read >= d->sent.len)
        return fail(d, HOCKET_EINVAL, false, "more was read than asked");
    return rc == 0 ? read_one(d) : rc;
}

/* What a pipeline without BEGIN ends with: its commit, which may fail as well. */
static int read_sync(struct hocket__pg *d)
{
    int rc = 0;
    ExecStatusType status = PGRES_EMPTY_QUERY;
    while (!d->lost && status != PGRES_PIPELINE_SYNC) {
        PGresult *r = take(d);
        if (!r)
            return d->error.status;
        status = d->lib->PQresultStatus(r);
        if (status == PGRES_FATAL_ERROR && rc == 0)
            rc = fail_by(d, r);
        d->lib->PQclear(r);
    }
    return rc;
}

/* The error that is told is the first. */
static int pass_over(struct hocket__pg *d)
{
    struct hocket_error first = { .status = 0 };
    char code[6] = "";
    for (bool is_end = false; !d->lost && !is_end;) {
        is_end = d->read == d->sent.len;
        if ((is_end ? read_sync(d) : read_one(d)) == 0 || first.status < 0)
            continue;
        first = d->error;
        memcpy(code, d->code, sizeof(code));
    }
    if (first.status == 0)
        return d->lost ? d->error.status : 0;
    d->error = first;
    memcpy(d->code, code, sizeof(code));
    return first.status;
}

int hocket__pg_end(struct hocket__pg *d)
{
    PGresult *kept = d->result;
    d->result = NULL;
    int rc = pass_over(d);
    if (kept && d->result)
        d->lib->PQclear(d->result);
    if (kept)
        d->result = kept;
    hocket__buf_reset(&d->sent);
    d->read = 0;
    return rc;
}

/* What is left of a pipeline after an error, which stays the one to tell. */
int hocket__pg_give_up(struct hocket__pg *d)
{
    struct hocket_error error = d->error;
    char code[6];
    memcpy(code, d->code, sizeof(code));
    hocket__pg_end(d);
    d->error = error;
    memcpy(d->code, code, sizeof(code));
    return error.status;
}

int hocket__pg_query(struct hocket__pg *d, unsigned slot, const char *sql)
{
    if (!d->conn || d->lost)
        return lose(d, "there is no connection");
    int rc = hocket__pg_send(d, slot, sql);
    if (rc == 0)
        rc = hocket__pg_sync(d);
    if (rc == 0)
        rc = hocket__pg_next(d);
    return rc < 0 ? hocket__pg_give_up(d) : hocket__pg_end(d);
}

/* The first error is the one to tell. A transaction of a connection that is lost ends by itself. */
int hocket__pg_finish(struct hocket__pg *d, int status)
{
    hocket__pg_new(d);
    if (status >= 0) {
        int rc = hocket__pg_query(d, 0, "COMMIT");
        return rc < 0 ? rc : status;
    }
    struct hocket_error error = d->error;
    char code[6];
    memcpy(code, d->code, sizeof(code));
    if (!d->lost)
        hocket__pg_query(d, 0, "ROLLBACK");
    d->error = error;
    memcpy(d->code, code, sizeof(code));
    return status;
}

/* ---- Results ------------------------------------------------------------------------------------ */

int hocket__pg_rows(const struct hocket__pg *d)
{
    return d->lib->PQntuples(d->result);
}

int64_t hocket__pg_changed(const struct hocket__pg *d)
{
    return strtoll(d->lib->PQcmdTuples(d->result), NULL, 10);
}

bool hocket__pg_is_null(const struct hocket__pg *d, int row, int column)
{
    return d->lib->PQgetisnull(d->result, row, column);
}

/* Of 1, 2, 4 or 8 bytes, high ones first. */
int64_t hocket__pg_int_of(const struct hocket__pg *d, int row, int column)
{
    const unsigned char *p = (const unsigned char *) d->lib->PQgetvalue(d->result, row, column);
    int n = d->lib->PQgetlength(d->result, row, column);
    uint64_t u = n > 0 && p[0] & 0x80 && n > 1 ? UINT64_MAX : 0;
    for (int i = 0; i < n && i < 8; i++)
        u = u << 8 | p[i];
    return (int64_t) u;
}

int64_t hocket__pg_count_of(const struct hocket__pg *d, int row, int column)
{
    return hocket__pg_is_null(d, row, column) ? -1 : hocket__pg_int_of(d, row, column);
}

struct hocket__str hocket__pg_bytes_of(const struct hocket__pg *d, int row, int column)
{
    return hocket__str(d->lib->PQgetvalue(d->result, row, column),
        (size_t) d->lib->PQgetlength(d->result, row, column));
}

static bool is_escaped(struct hocket__str s)
{
    return s.n > 0 && s.p[0] == ESCAPED;
}

/* All memory that its texts may need, so that none of them moves. */
void hocket__pg_begin_row(struct hocket__pg *d, int row)
{
    size_t n = 0;
    hocket__buf_reset(&d->row);
    for (int i = 0; i < d->lib->PQnfields(d->result); i++) {
        struct hocket__str s = hocket__pg_bytes_of(d, row, i);
        n += is_escaped(s) ? s.n / 2 + 1 : 0;
    }
    d->out_of_memory |= n > 0 && hocket__buf_reserve(&d->row, n) < 0;
}

static int digit(char c)
{
    return c >= 'a' ? c - 'a' + 10 : c - '0';
}

struct hocket__str hocket__pg_text_of(struct hocket__pg *d, int row, int column)
{
    struct hocket__str s = hocket__pg_bytes_of(d, row, column);
    size_t begins = d->row.len;
    if (!is_escaped(s))
        return s;
    if (d->row.status < 0)
        return HOCKET__STR("");
    for (size_t i = 1; i + 1 < s.n; i += 2)
        hocket__buf_addc(&d->row, (char) (digit(s.p[i]) << 4 | digit(s.p[i + 1])));
    return hocket__str(d->row.data + begins, d->row.len - begins);
}
