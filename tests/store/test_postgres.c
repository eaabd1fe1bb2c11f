/* The same in a PostgreSQL that tests/support/postgres.sh has started: each fixture has a schema of its own. */
#include "store/conformance.h"
#include "store/load.h"

#include <stdlib.h>

static int open_store(
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err)
{
    struct hocket__store_options with = *o;
    char url[512], schema[32];
    const char *name = strstr(o->path, "hocket-test-");
    assert_non_null(name);
    snprintf(schema, sizeof(schema), "t_%.6s", name + 12);
    for (char *p = schema; *p; p++)
        *p = (char) (*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p);
    snprintf(url, sizeof(url), "%s&schema=%s", getenv("HOCKET_TEST_POSTGRES"), schema);
    with.path = url;
    return hocket__store_file_open(&with, out, err);
}

/* test_postgres [TEST]: with a name that test alone. */
int main(int argc, char **argv)
{
    static const struct store_kind kind = { "postgres", open_store, true };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return getenv("HOCKET_TEST_POSTGRES") ? conformance(&kind) : 77;
}
