/* A schema and a value, any bytes, with a line end between them (a schema
 * in one line, then the value). What must hold:
 * - compiling and validating end, with a status that the header names, and leave nothing;
 * - the answer with messages is the answer without; a misfit has at least one message;
 * - paths and messages are one line of UTF-8, also in the explanation;
 * - a pattern compiles or is refused, and matching it over the value ends. */
#include "core/regex/regex.h"
#include "core/schema/schema.h"
#include "base/utf8.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static void check_line(const char *s)
{
    expect(!strchr(s, '\n') && hocket__utf8_valid(s, strlen(s)) == strlen(s));
}

static void check_errors(const struct hocket__schema_errors *errors)
{
    struct hocket__buf out;
    hocket__buf_init(&out, &hocket__malloc, 0);
    expect(errors->count > 0 && errors->count <= HOCKET__SCHEMA_ERRORS);
    for (size_t i = 0; i < errors->count; i++) {
        check_line(errors->at[i].path);
        check_line(errors->at[i].message);
        expect(errors->at[i].keyword != NULL);
    }
    expect(hocket__schema_explain(errors, "arguments do not fit", &out) == 0);
    hocket__buf_deinit(&out);
}

static void check_value(const struct hocket__schema *s, struct hocket__str text)
{
    struct hocket__schema_errors errors;
    hocket_json *v = hocket_json_parse(text.p, text.n, NULL);
    if (!v)
        return;
    int rc = hocket__schema_validate(s, NULL, v, &errors, NULL);
    int quiet = hocket__schema_validate(s, NULL, v, NULL, NULL);
    expect(rc == 0 || rc == HOCKET_EINVAL || rc == HOCKET_ELIMIT);
    expect(rc == quiet || rc == HOCKET_ELIMIT || quiet == HOCKET_ELIMIT);
    if (rc == HOCKET_EINVAL)
        check_errors(&errors);
    hocket_json_free(v);
}

static void check_schema(struct hocket__str schema, struct hocket__str value, bool draft_7)
{
    struct hocket__schema *s;
    struct hocket_error err;
    struct hocket__schema_options o = { .max_steps = 20000,
        .max_regex = 1000,
        .assert_format = true,
        .draft = draft_7 ? HOCKET__SCHEMA_DRAFT_7 : HOCKET__SCHEMA_2020_12 };
    int rc = hocket__schema_new(&hocket__malloc, schema, &o, &s, &err);
    if (rc == 0) {
        check_value(s, value);
        hocket__schema_free(s);
        return;
    }
    expect(rc == HOCKET_EPARSE || rc == HOCKET_EINVAL || rc == HOCKET_ELIMIT
           || rc == HOCKET_EUNSUPPORTED);
    check_line(err.message);
}

static void check_regex(struct hocket__str pattern, struct hocket__str text)
{
    struct hocket__regex *re;
    uint64_t steps = 100000;
    if (hocket__regex_new(&hocket__malloc, pattern, 1000, &re, NULL) < 0)
        return;
    void *scratch = malloc(hocket__regex_scratch(re));
    int rc = scratch ? hocket__regex_search(re, text, scratch, &steps) : 0;
    expect(rc == 0 || rc == 1 || rc == HOCKET_ELIMIT);
    free(scratch);
    hocket__regex_free(re);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *p = size ? (const char *) data : "", *line = memchr(p, '\n', size);
    size_t n = line ? (size_t) (line - p) : size;
    struct hocket__str schema = hocket__str(p, n);
    struct hocket__str value = line ? hocket__str(line + 1, size - n - 1) : hocket__str("", 0);
    check_schema(schema, value, false);
    check_schema(schema, value, true);
    check_regex(schema, value);
    return 0;
}
