/* The PostgreSQL store: what its thread does with a connection. */
#include "store/postgres/postgres_impl.h"

#include "store/postgres/schema.h"

#include <stdio.h>

#include "os/clock.h"

#define OPEN_MS     30000 /* how long to wait for a server that starts, or is full */
#define REFUSED_MS  2000  /* and for a missing one */
#define OPEN_GAP_MS 100
#define MAX_KEY     600 /* bytes; two of them, each escaped, are below the 2,704 of an index's row */

/* Our own wall clock is not asked: it may be wrong, and be put right. */
int64_t hocket__pg_now(const struct hocket__pg_writer *w)
{
    return w->base.o.wall_ms ? hocket__store_wall_ms(&w->base.o) : hocket__boot_ms() + w->clock;
}

static int read_clock(struct hocket__pg_writer *w)
{
    int rc;
    hocket__sql_new(&w->base, PG_CLOCK);
    int64_t now = hocket__sql_number(&w->base, &rc);
    if (rc == 0)
        w->clock = now - hocket__boot_ms();
    return rc;
}

/* ---- Opening ------------------------------------------------------------------------------------ */

/* How long it is worth trying: a server that accepts connections, but not this one, will not change its mind. */
static int64_t patience(struct hocket__pg *d)
{
    static const char *const names[] = { "connect_timeout", "dbname", NULL };
    const char *values[] = { "5", d->conninfo.data, NULL };
    if (d->code[0])
        return hocket__pg_may_go_away(d->code) ? OPEN_MS : 0;
    PGPing ping = d->lib->PQpingParams(names, values, 1);
    return ping == PQPING_REJECT ? OPEN_MS : ping == PQPING_NO_RESPONSE ? REFUSED_MS : 0;
}

static int open_once(struct hocket__pg_writer *w)
{
    int rc = hocket__pg_connect(&w->db);
    if (rc == 0)
        rc = hocket__pg_schema(&w->db);
    return rc == 0 ? read_clock(w) : rc;
}

/* A starting server may refuse one attempt and be up for the next question. So a refusal counts from the second one in
 * a row. */
static bool is_worth_it(struct hocket__pg_writer *w, int64_t begun, int *refusals)
{
    struct hocket_error error = w->db.error;
    int64_t patient = patience(&w->db);
    *refusals = patient > 0 ? 0 : *refusals + 1;
    if (*refusals == 1 || hocket__monotonic_ms() - begun < patient)
        return true;
    w->db.error = error;
    w->db.error.retryable = patient > 0;
    return false;
}

static int open_database(struct hocket__writer *base)
{
    struct hocket__pg_writer *w = hocket__pg_of(base);
    int64_t begun = hocket__monotonic_ms();
    int rc = open_once(w), refusals = 0;
    while (rc < 0 && w->db.error.retryable && !atomic_load(&base->closing)
           && is_worth_it(w, begun, &refusals)) {
        hocket__pg_idle(&w->db, OPEN_GAP_MS);
        rc = open_once(w);
    }
    w->base.more_to_sweep = rc == 0; /* what others have left */
    return rc;
}

static int parse(struct hocket__pg_writer *w, const char *url, struct hocket_error *err)
{
    struct hocket__pg *d = &w->db;
    int rc = hocket__pg_url(url, &d->conninfo, &d->shown, d->schema, err);
    if (rc < 0)
        return rc;
    char *why = NULL; /* not to be told: it may repeat a piece of a password */
    PQconninfoOption *options = d->lib->PQconninfoParse(d->conninfo.data, &why);
    if (why)
        d->lib->PQfreemem(why);
    if (!options)
        return hocket__error(err, HOCKET_EINVAL,
            "libpq cannot read this URL of a PostgreSQL database: "
            "postgres://USER@HOST:PORT/DATABASE?NAME=VALUE; in a password @ is written %%40, / is "
            "%%2F and %% is %%25");
    bool has_port = true; /* else it may be a password: user:password without a host */
    for (PQconninfoOption *o = options; o->keyword; o++)
        if (strcmp(o->keyword, "port") == 0 && o->val)
            has_port = o->val[strspn(o->val, "0123456789,")] == 0;
    d->lib->PQconninfoFree(options);
    return has_port ? 0
                    : hocket__error(err, HOCKET_EINVAL,
                        "in this URL of a PostgreSQL database the port is no number: "
                        "postgres://USER@HOST:PORT/DATABASE");
}

/* ---- Others ---------------------------------------------------------------------------------------- */

static int listen_to_others(struct hocket__pg_writer *w)
{
    char sql[64];
    if (w->db.listening)
        return 0;
    snprintf(sql, sizeof(sql), "LISTEN \"%s\"", w->db.schema);
    hocket__pg_new(&w->db);
    int rc = hocket__pg_query(&w->db, 0, sql);
    w->db.listening = rc == 0;
    return rc;
}

/* The server's transaction number changes with each writing transaction of any program. So we report CHANGED once
 * too often rather than once too seldom. */
static int look(struct hocket__writer *base)
{
    struct hocket__pg_writer *w = hocket__pg_of(base);
    int rc = hocket__pg_connect(&w->db);
    if (rc == 0)
        rc = listen_to_others(w);
    hocket__sql_new(base, PG_SNAPSHOT);
    if (rc == 0)
        rc = hocket__sql_step(base);
    if (rc < 0)
        return rc;
    struct hocket__str now = hocket__sql_bytes_of(base, 0);
    bool changed = w->heard || w->db.notified || !hocket__str_eq(now, hocket__cstr(w->snapshot));
    w->heard = w->db.notified = false;
    snprintf(w->snapshot, sizeof(w->snapshot), "%.*s", (int) now.n, now.p);
    return changed;
}

static void wait_for_anything(struct hocket__writer *base, int64_t ms)
{
    struct hocket__pg_writer *w = hocket__pg_of(base);
    hocket__pg_idle(&w->db, ms - hocket__monotonic_ms());
    if (!w->db.notified)
        return;
    w->db.notified = false; /* or it would not wait again before somebody watches */
    w->heard = true;
    base->next_watch_ms = 0;
}

/* In a transaction of its own, after the one that it announces: notifying transactions are committed one at a time,
 * and must not wait for a disk meanwhile. */
static void hint(struct hocket__writer *base)
{
    struct hocket__pg_writer *w = hocket__pg_of(base);
    if (!w->db.conn || w->db.lost)
        return;
    hocket__sql_new(base, PG_NOTIFY);
    hocket__sql_text(base, hocket__cstr(w->db.schema));
    hocket__sql_run(base);
}

static void wake(struct hocket__writer *base)
{
    hocket__pg_wake(&hocket__pg_of(base)->db);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

static int64_t now(const struct hocket__writer *base)
{
    return hocket__pg_now(hocket__container_of(base, struct hocket__pg_writer, base));
}

/* The clock first: by one that was put on, or stood still with this machine, leases would be over at once. */
static int renew(struct hocket__writer *base)
{
    struct hocket__pg_writer *w = hocket__pg_of(base);
    int rc = hocket__pg_connect(&w->db);
    if (rc == 0)
        rc = read_clock(w);
    return rc == 0 ? hocket__pg_renew(base) : rc;
}

static void close_database(struct hocket__writer *base)
{
    hocket__pg_disconnect(&hocket__pg_of(base)->db);
}

static void free_writer(struct hocket__writer *base)
{
    struct hocket__pg_writer *w = hocket__pg_of(base);
    hocket__pg_deinit(&w->db);
    hocket__buf_deinit(&w->text);
    hocket__free(&hocket__malloc, w, sizeof(*w));
}

static const struct hocket__writer_ops ops = {
    .name = "postgres",
    .open = open_database,
    .write = hocket__pg_write,
    .answer = hocket__pg_answer,
    .now = now,
    .renew = renew,
    .release = hocket__pg_release,
    .sweep = hocket__pg_sweep,
    .look = look,
    .close = close_database,
    .free = free_writer,
    .wait = wait_for_anything,
    .wake = wake,
    .hint = hint,
};

int hocket__store_postgres_open(
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err)
{
    const struct hocket__libpq *lib = hocket__libpq_load(err);
    if (!lib)
        return HOCKET_EUNSUPPORTED;
    struct hocket__pg_writer *w = hocket__zero(&hocket__malloc, sizeof(*w));
    if (!w)
        return hocket__error_nomem(err);
    w->base.ops = &ops;
    w->base.sql = &hocket__pg_sql;
    hocket__buf_init(&w->text, &hocket__malloc, 0);
    w->base.error = &w->db.error;
    w->db.lib = lib;
    w->db.closing = &w->base.closing;
    hocket__pg_init(&w->db);
    int rc = parse(w, o->path, err);
    if (rc < 0) {
        free_writer(&w->base);
        return rc;
    }
    rc = hocket__writer_start(&w->base, o, out, err);
    if (rc == 0)
        (*out)->max_key = MAX_KEY;
    return rc;
}
