/* Statements, handed over one behind the other, and what they answer: see db.h. */
#include "store/postgres/db_impl.h"

#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>

#include "os/clock.h"

#define DEADLINE_MS 90000 /* for a result; the server gives up before that */
#define INT8        20    /* OIDs of types are part of the protocol */
#define BYTEA       17
#define TEXT        25
#define ESCAPED     '\001' /* what begins so is written as this and hexadecimal digits */
#define MAX_FIELD                                                                                  \
    ((size_t) 256 * 1024 * 1024) /* twice that, escaped, is below the 1 GB of a field */

static int64_t deadline(const struct hocket__pg *d)
{
    return hocket__monotonic_ms() + (d->patient ? HOCKET__PG_LONG_MS : DEADLINE_MS);
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
        return hocket__pg_lose(d, d->lib->PQerrorMessage(d->conn));
    d->prepared[slot] = true;
    hocket__buf_addc(&d->sent, 'p');
    return 0;
}

/* For both of what a statement may send: what was sent and not noted would be taken for the answer of another. */
static int make_room(struct hocket__pg *d)
{
    int rc = hocket__buf_reserve(&d->sent, 2);
    hocket__buf_rewind(&d->sent, d->sent.len);
    return rc < 0 ? hocket__error_nomem(&d->error) : 0;
}

int hocket__pg_send(struct hocket__pg *d, unsigned slot, const char *sql)
{
    static const int binary[HOCKET__PG_PARAMS] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    char name[16] = "";
    if (d->args.texts.status == HOCKET_ELIMIT)
        return hocket__pg_fail(
            d, HOCKET_ELIMIT, false, "a text of more than 256 MiB cannot be kept there");
    if (d->args.texts.status < 0)
        return hocket__error_nomem(&d->error);
    if (make_room(d) < 0)
        return HOCKET_ENOMEM;
    for (int i = 0; i < d->args.n; i++)
        if (d->args.escaped[i])
            d->args.values[i] = d->args.texts.data + d->args.escaped[i] - 1;
    if (slot > 0)
        snprintf(name, sizeof(name), "s%u", slot);
    if (prepare(d, slot, name, sql) < 0)
        return d->error.status;
    if (!d->lib->PQsendQueryPrepared(
            d->conn, name, d->args.n, d->args.values, d->args.lengths, binary, 1))
        return hocket__pg_lose(d, d->lib->PQerrorMessage(d->conn));
    hocket__buf_addc(&d->sent, 'q');
    return 0;
}

int hocket__pg_sync(struct hocket__pg *d)
{
    if (!d->lib->PQpipelineSync(d->conn))
        return hocket__pg_lose(d, d->lib->PQerrorMessage(d->conn));
    return hocket__pg_flush(d, deadline(d));
}

/* A result of a statement, and the NULL behind it. */
static PGresult *take(struct hocket__pg *d)
{
    int64_t until = deadline(d);
    if (hocket__pg_await(d, until) < 0)
        return NULL;
    PGresult *r = d->lib->PQgetResult(d->conn);
    if (!r) {
        hocket__pg_lose(d, "the connection was lost");
        return NULL;
    }
    ExecStatusType status = d->lib->PQresultStatus(r);
    if (status != PGRES_PIPELINE_SYNC && hocket__pg_await(d, until) == 0) {
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
        rc = hocket__pg_fail_by(d, d->result);
    else if (status == PGRES_PIPELINE_ABORTED)
        rc = hocket__pg_fail(d, HOCKET_EIO, true, "a statement before failed");
    d->lost |= prepares && rc < 0;
    return rc;
}

int hocket__pg_next(struct hocket__pg *d)
{
    int rc = 0;
    while (rc == 0 && d->read < d->sent.len && d->sent.data[d->read] == 'p')
        rc = read_one(d);
    if (rc == 0 && d->read >= d->sent.len)
        return hocket__pg_fail(d, HOCKET_EINVAL, false, "more was read than asked");
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
            rc = hocket__pg_fail_by(d, r);
        d->lib->PQclear(r);
    }
    return rc;
}

/* The first error is the reported one. */
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
        return hocket__pg_lose(d, "there is no connection");
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

/* Whatever it is: others may have written it. */
static unsigned digit(char c)
{
    unsigned u = (unsigned char) c;
    return (u >= 'a' ? u - 'a' + 10 : u - '0') & 15;
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
