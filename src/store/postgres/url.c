/* URLs of stores. They may hold a password, in two places; so what is shown is made of the parts that may be, and
 * no message repeats a URL that could not be understood. */
#include "store/postgres/url.h"

#include <stdbool.h>

/* Letters, digits and underscores, small: an operator hardly ever needs quotes for it. We do: it may be a word of SQL. */
static bool is_schema(struct hocket__str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!(s.p[i] == '_' || (s.p[i] >= 'a' && s.p[i] <= 'z')
                || (i > 0 && s.p[i] >= '0' && s.p[i] <= '9')))
            return false;
    return s.n > 0 && s.n < HOCKET__PG_SCHEMA && !(s.n >= 3 && memcmp(s.p, "pg_", 3) == 0)
           && !hocket__str_is(s, "information_schema");
}

static bool is_key(struct hocket__str parameter, const char *key)
{
    size_t n = strlen(key);
    return parameter.n > n && parameter.p[n] == '=' && memcmp(parameter.p, key, n) == 0;
}

/* What may be printed of a query: how to connect, not with which secrets. */
static bool is_plain(struct hocket__str parameter)
{
    static const char *const keys[] = { "host", "hostaddr", "port", "user", "dbname", "sslmode",
        "target_session_attrs", "connect_timeout", "application_name" };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (is_key(parameter, keys[i]))
            return true;
    return false;
}

static void add_parameter(struct hocket__buf *b, bool *has_one, struct hocket__str p)
{
    hocket__buf_addc(b, *has_one ? '&' : '?');
    hocket__buf_addstr(b, p);
    *has_one = true;
}

/* "user:PASSWORD@": ends at the first @, as libpq has it, so that there may be anything else in it. */
static size_t userinfo(const char *p)
{
    size_t n = strcspn(p, "@/");
    return p[n] == '@' ? n + 1 : 0;
}

static void show_userinfo(struct hocket__buf *shown, const char *p, size_t n)
{
    const char *colon = memchr(p, ':', n);
    hocket__buf_add(shown, p, colon ? (size_t) (colon - p) : n);
    if (colon)
        hocket__buf_lit(shown, ":***@");
}

static int read_query(struct hocket__str query, struct hocket__buf *conninfo,
    struct hocket__buf *shown, char schema[HOCKET__PG_SCHEMA], struct hocket_error *err)
{
    bool has_one = false, shows_one = false;
    while (query.n > 0) {
        const char *end = memchr(query.p, '&', query.n);
        struct hocket__str p = hocket__str(query.p, end ? (size_t) (end - query.p) : query.n);
        query = hocket__str(p.p + p.n + (end ? 1 : 0), query.n - p.n - (end ? 1 : 0));
        if (is_key(p, "schema")) {
            struct hocket__str name = hocket__str(p.p + 7, p.n - 7);
            if (!is_schema(name))
                return hocket__error(err, HOCKET_EINVAL,
                    "the schema of a store in PostgreSQL is named with small letters, digits and "
                    "_, "
                    "at most %d of them",
                    HOCKET__PG_SCHEMA - 1);
            memcpy(schema, name.p, name.n);
            schema[name.n] = 0;
            add_parameter(shown, &shows_one, p);
        } else if (p.n > 0) {
            add_parameter(conninfo, &has_one, p);
            if (is_plain(p))
                add_parameter(shown, &shows_one, p);
        }
    }
    return 0;
}

int hocket__pg_url(const char *url, struct hocket__buf *conninfo, struct hocket__buf *shown,
    char schema[HOCKET__PG_SCHEMA], struct hocket_error *err)
{
    const char *at = strstr(url, "://");
    if (!at)
        return hocket__error(err, HOCKET_EINVAL, "this is no URL of a PostgreSQL database");
    size_t user = userinfo(at += 3), place = strcspn(at + user, "?");
    if (memchr(at + user, '@', place)) /* what looks like a host may be a part of a password */
        return hocket__error(err, HOCKET_EINVAL,
            "this is no URL of a PostgreSQL database: in a password @ is written %%40, / is %%2F "
            "and %% is %%25");
    hocket__buf_lit(conninfo, "postgres://"); /* libpq knows it in small letters alone */
    hocket__buf_add(conninfo, at, user + place);
    hocket__buf_lit(shown, "postgres://");
    show_userinfo(shown, at, user);
    hocket__buf_add(shown, at + user, place);
    strcpy(schema, "hocket");
    const char *query = at + user + place;
    int rc = *query ? read_query(hocket__cstr(query + 1), conninfo, shown, schema, err) : 0;
    if (rc == 0 && (conninfo->status < 0 || shown->status < 0))
        rc = hocket__error_nomem(err);
    return rc;
}
