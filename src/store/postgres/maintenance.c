/* What people do with a database as a whole: look at it, check it, clean it up, let other roles use it. */
#include "store/postgres/postgres_impl.h"
#include "store/postgres/schema.h"

static int check(struct hocket__writer *w, struct hocket__store_call *c)
{
    static const unsigned rules[] = { HOCKET__SQL_CHECK_ENDS, HOCKET__SQL_CHECK_GAPS,
        HOCKET__SQL_CHECK_STRAY };
    int rc = hocket__pg_be_patient(&hocket__pg_of(w)->db);
    for (size_t i = 0; rc == 0 && i < sizeof(rules) / sizeof(rules[0]); i++)
        rc = hocket__sql_check(w, c, "problem", rules[i]);
    if (rc == 0)
        rc = hocket__sql_check_sums(w, c);
    return rc == 0 ? hocket__sql_check(w, c, "warning", PG_SETTINGS) : rc;
}

/* A role that does not own the tables skips the last step, as the server demands. */
static int vacuum(struct hocket__pg_writer *w, struct hocket__store_call *c)
{
    static const char *const tables[] = { "runs", "entries", "records", "files", "texts",
        "messages", "notes", "items", "limits", "leases" };
    struct hocket__pg *d = &w->db;
    int64_t runs = 0, left = 0;
    int rc = hocket__pg_be_patient(d);
    if (rc == 0)
        runs = hocket__sql_count_runs(&w->base, &rc);
    if (rc == 0)
        rc = hocket__pg_sweep_all(w, c->q.maintenance.max_age_ms);
    hocket__sql_new(&w->base, PG_DROP_TEXTS);
    if (rc == 0)
        rc = hocket__sql_run(&w->base);
    for (size_t i = 0; rc == 0 && i < sizeof(tables) / sizeof(tables[0]); i++) {
        char sql[64] = "VACUUM (ANALYZE) ";
        rc = hocket__pg_script(d, strcat(sql, tables[i]));
    }
    if (rc == 0)
        left = hocket__sql_count_runs(&w->base, &rc);
    if (rc == 0)
        hocket__store_add_row(c, "removed", "%lld", (long long) (runs - left));
    return rc;
}

/* ---- Roles ------------------------------------------------------------------------------------------ */

static void add_name(struct hocket__buf *b, struct hocket__str name)
{
    hocket__buf_addc(b, '"');
    for (size_t i = 0; i < name.n; i++) {
        hocket__buf_addc(b, name.p[i]);
        if (name.p[i] == '"')
            hocket__buf_addc(b, '"');
    }
    hocket__buf_addc(b, '"');
}

/* On the existing tables, and on tables that a later version creates. */
static void add_grants(
    struct hocket__buf *b, const char *schema, struct hocket__str role, bool writes)
{
    const char *rights = writes ? "SELECT, INSERT, UPDATE, DELETE" : "SELECT";
    hocket__buf_addf(b, "GRANT USAGE ON SCHEMA \"%s\" TO ", schema);
    add_name(b, role);
    hocket__buf_addf(b, ";GRANT %s ON ALL TABLES IN SCHEMA \"%s\" TO ", rights, schema);
    add_name(b, role);
    hocket__buf_addf(
        b, ";ALTER DEFAULT PRIVILEGES IN SCHEMA \"%s\" GRANT %s ON TABLES TO ", schema, rights);
    add_name(b, role);
    /* Whoever changes the version of the tables locks everybody out. */
    hocket__buf_addf(
        b, ";REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON TABLE \"%s\".meta FROM ", schema);
    add_name(b, role);
    if (writes) {
        hocket__buf_addf(b, ";GRANT USAGE ON ALL SEQUENCES IN SCHEMA \"%s\" TO ", schema);
        add_name(b, role);
        hocket__buf_addf(
            b, ";ALTER DEFAULT PRIVILEGES IN SCHEMA \"%s\" GRANT USAGE ON SEQUENCES TO ", schema);
        add_name(b, role);
    }
    hocket__buf_addc(b, ';');
}

static bool is_name(struct hocket__str s)
{
    return s.n < 64 && !memchr(s.p, 0, s.n);
}

static int grant(struct hocket__pg *d, struct hocket__store_call *c)
{
    struct hocket__buf b;
    if (!is_name(c->q.maintenance.worker) || !is_name(c->q.maintenance.reader)) {
        c->status = hocket__error(&c->error, HOCKET_EINVAL, "a role's name has at most 63 bytes");
        return 0;
    }
    hocket__buf_init(&b, &hocket__malloc, 0);
    if (c->q.maintenance.worker.n > 0)
        add_grants(&b, d->schema, c->q.maintenance.worker, true);
    if (c->q.maintenance.reader.n > 0)
        add_grants(&b, d->schema, c->q.maintenance.reader, false);
    int rc =
        b.status < 0 ? hocket__error_nomem(&d->error) : hocket__pg_script(d, b.len ? b.data : "");
    hocket__buf_deinit(&b);
    return rc;
}

static int info(struct hocket__writer *w, struct hocket__store_call *c)
{
    const struct hocket__pg *d = &hocket__pg_of(w)->db;
    int rc;
    int64_t runs = hocket__sql_count_runs(w, &rc);
    hocket__store_add_row(c, "kind", "postgres");
    hocket__store_add_row(c, "place", "%s", d->shown.data);
    hocket__store_add_row(c, "schema", "%s", d->schema);
    hocket__store_add_row(c, "version", "%d", HOCKET__STORE_VERSION);
    hocket__store_add_row(c, "runs", "%lld", (long long) runs);
    return rc;
}

static int measure(struct hocket__writer *w, struct hocket__store_call *c)
{
    int rc = hocket__pg_be_patient(&hocket__pg_of(w)->db);
    return rc == 0 ? hocket__sql_measure(w, c) : rc;
}

static int answer(struct hocket__pg_writer *w, struct hocket__store_call *c)
{
    switch (c->q.maintenance.what) {
    case HOCKET__STORE_INFO: return info(&w->base, c);
    case HOCKET__STORE_CHECK: return check(&w->base, c);
    case HOCKET__STORE_VACUUM: return vacuum(w, c);
    case HOCKET__STORE_MEASURE: return measure(&w->base, c);
    case HOCKET__STORE_GRANT: return grant(&w->db, c);
    }
    return 0;
}

/* The connection's settings were changed for this: the next one has its own again. */
int hocket__pg_maintain(struct hocket__writer *base, struct hocket__store_call *c)
{
    struct hocket__pg_writer *w = hocket__pg_of(base);
    int rc = answer(w, c);
    if (c->q.maintenance.what == HOCKET__STORE_CHECK
        || c->q.maintenance.what == HOCKET__STORE_MEASURE
        || c->q.maintenance.what == HOCKET__STORE_VACUUM)
        w->db.lost = true;
    return rc;
}
