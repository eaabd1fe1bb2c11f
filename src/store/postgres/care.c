/* What people do with a database as a whole: look at it, check it, clean it up, let other roles use it. */
#include "store/postgres/postgres_impl.h"
#include "store/postgres/schema.h"

/* What must hold between the tables; each gives a text for each row that is wrong. */
static const char *const rules[] = {
    ("SELECT 'run ' || r.id || ' has entries up to ' || coalesce(max(e.n), 0) || ' and says ' || "
     "r.last_n"
     " FROM runs r LEFT JOIN entries e ON e.run = r.no WHERE r.removed = 0 GROUP BY r.no"
     " HAVING greatest(coalesce(max(e.n), 0), r.at_n) <> r.last_n LIMIT 20"),
    ("SELECT 'run ' || r.id || ' lacks entries' FROM runs r WHERE r.removed = 0 AND r.last_n - "
     "r.at_n <>"
     " (SELECT count(*) FROM entries WHERE run = r.no) LIMIT 20"),
    ("SELECT 'there are entries of no run: ' || count(*) FROM entries e"
     " WHERE NOT EXISTS (SELECT 1 FROM runs WHERE no = e.run) HAVING count(*) > 0"),
};

/* How the server is set, where that takes away from what is promised. */
static const char settings[] =
    "SELECT name || ' is ' || setting || ': ' || CASE name"
    " WHEN 'fsync' THEN 'a loss of power may damage the database'"
    " WHEN 'full_page_writes' THEN 'a loss of power may damage the database'"
    " ELSE 'what was acknowledged last may be lost with the server' END"
    " FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND "
    "setting = 'off'"
    " ORDER BY name";

static int check_rule(
    struct hocket__pg *d, struct hocket__store_call *c, const char *name, const char *sql)
{
    hocket__pg_new(d);
    int rc = hocket__pg_query(d, PG_ONCE, sql);
    for (int i = 0; rc == 0 && i < hocket__pg_rows(d); i++) {
        hocket__pg_begin_row(d, i);
        struct hocket__str text = hocket__pg_text_of(d, i, 0);
        hocket__store_say(c, name, "%.*s", (int) text.n, text.p);
    }
    return rc;
}

static int check(struct hocket__pg *d, struct hocket__store_call *c)
{
    int rc = hocket__pg_be_patient(d);
    for (size_t i = 0; rc == 0 && i < sizeof(rules) / sizeof(rules[0]); i++)
        rc = check_rule(d, c, "problem", rules[i]);
    return rc == 0 ? check_rule(d, c, "warning", settings) : rc;
}

/* Texts that nobody has, left by two that let go of one at once. */
static int drop_texts(struct hocket__pg *d)
{
    hocket__pg_new(d);
    return hocket__pg_query(d, PG_ONCE,
        "DELETE FROM texts t WHERE NOT EXISTS (SELECT 1 FROM entries WHERE text = t.no)"
        " AND NOT EXISTS (SELECT 1 FROM files WHERE text = t.no)");
}

static int64_t count(struct hocket__pg *d, int *rc)
{
    hocket__pg_new(d);
    *rc = hocket__pg_query(d, PG_ONCE, "SELECT count(*) FROM runs WHERE removed = 0");
    return *rc == 0 ? hocket__pg_int_of(d, 0, 0) : 0;
}

/* Those who do not own the tables do without the last step, as the server has it. */
static int vacuum(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    static const char *const tables[] = { "runs", "entries", "records", "files", "texts",
        "messages", "notes", "items", "limits", "leases" };
    struct hocket__pg *d = &k->db;
    int64_t runs = 0, left = 0;
    int rc = hocket__pg_be_patient(d);
    if (rc == 0)
        runs = count(d, &rc);
    if (rc == 0)
        rc = hocket__pg_sweep_all(k, c->at_ms);
    if (rc == 0)
        rc = drop_texts(d);
    for (size_t i = 0; rc == 0 && i < sizeof(tables) / sizeof(tables[0]); i++) {
        char sql[64] = "VACUUM (ANALYZE) ";
        rc = hocket__pg_script(d, strcat(sql, tables[i]));
    }
    if (rc == 0)
        left = count(d, &rc);
    if (rc == 0)
        hocket__store_say(c, "removed", "%lld", (long long) (runs - left));
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

/* Of the tables that there are, and of those that a later version makes. */
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
    if (!is_name(c->key) || !is_name(c->parent)) {
        c->status = hocket__error(&c->error, HOCKET_EINVAL, "a role's name has at most 63 bytes");
        return 0;
    }
    hocket__buf_init(&b, &hocket__malloc, 0);
    if (c->key.n > 0)
        add_grants(&b, d->schema, c->key, true);
    if (c->parent.n > 0)
        add_grants(&b, d->schema, c->parent, false);
    int rc =
        b.status < 0 ? hocket__error_nomem(&d->error) : hocket__pg_script(d, b.len ? b.data : "");
    hocket__buf_deinit(&b);
    return rc;
}

static int info(struct hocket__pg *d, struct hocket__store_call *c)
{
    int rc;
    int64_t runs = count(d, &rc);
    hocket__store_say(c, "kind", "postgres");
    hocket__store_say(c, "place", "%s", d->shown.data);
    hocket__store_say(c, "schema", "%s", d->schema);
    hocket__store_say(c, "version", "%d", HOCKET__PG_VERSION);
    hocket__store_say(c, "runs", "%lld", (long long) runs);
    return rc;
}

static int answer(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    switch ((enum hocket__store_care) c->states) {
    case HOCKET__STORE_INFO: return info(&k->db, c);
    case HOCKET__STORE_CHECK: return check(&k->db, c);
    case HOCKET__STORE_VACUUM: return vacuum(k, c);
    case HOCKET__STORE_GRANT: return grant(&k->db, c);
    }
    return 0;
}

/* The connection's settings were changed for this: the next one has its own again. */
int hocket__pg_care(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    int rc = answer(k, c);
    if (c->states == HOCKET__STORE_CHECK || c->states == HOCKET__STORE_VACUUM)
        k->db.lost = true;
    return rc;
}
