/* Short ways to compile a schema and to check a value, for the tests. */
#pragma once

#include "core/schema/schema.h"
#include "support/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static inline hocket_json *parse(const char *text)
{
    struct hocket_error err;
    hocket_json *v = hocket_json_parse(text, strlen(text), &err);
    if (!v)
        fail_msg("%s: %s", text, err.message);
    return v;
}

static inline struct hocket__schema *compile(
    const char *text, const struct hocket__schema_options *o)
{
    struct hocket__schema *s = NULL;
    struct hocket_error err;
    if (hocket__schema_new(&hocket__malloc, hocket__cstr(text), o, &s, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    return s;
}

/* The status of a validation; the errors go to *errors (may be NULL). */
static inline int check_with(const struct hocket__schema_options *o, const char *schema,
    const char *value, struct hocket__schema_errors *errors)
{
    struct hocket__schema *s = compile(schema, o);
    hocket_json *v = parse(value);
    int rc = hocket__schema_validate(s, NULL, v, errors, NULL);
    hocket_json_free(v);
    hocket__schema_free(s);
    return rc;
}

static inline int check(const char *schema, const char *value)
{
    return check_with(NULL, schema, value, NULL);
}
