/* What checking a tool's arguments costs with a compiled schema: the four
 * members of a typical call, that fit, and that do not (with messages for the
 * model); what compiling costs; and the part of it that parsing takes. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/schema/schema.h"

#define ROUNDS 200000

static const char schema_text[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"day\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":30},"
    "\"time_slot\":{\"type\":\"string\",\"enum\":[\"general\",\"morning\",\"afternoon\","
    "\"evening\",\"night\"]},"
    "\"content\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":10000},"
    "\"task_ids\":{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"minimum\":1},"
    "\"maxItems\":20,\"uniqueItems\":true}},"
    "\"required\":[\"day\",\"time_slot\",\"content\"],\"additionalProperties\":false}";

static const char fitting[] =
    "{\"day\":2,\"time_slot\":\"morning\",\"content\":\"Breakfast at the corner: coffee, two "
    "pastries, and a look at the map.\",\"task_ids\":[1,4,7]}";

static const char wrong[] = "{\"day\":\"two\",\"time_slot\":\"noon\",\"content\":\"\",\"ids\":[1]}";

static const char pattern_text[] =
    "{\"properties\":{\"path\":{\"pattern\":\"^(?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_.-]+$\"}}}";

static const char path[] = "{\"path\":\"src/core/schema/message.c\"}";

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_schema: %s failed\n", what);
        exit(1);
    }
}

static void report(const char *what, int64_t start, int rounds)
{
    printf("%-44s %8.2f us\n", what, (double) (now_ns() - start) / rounds / 1000);
}

static struct hocket__schema *compile(const char *text)
{
    struct hocket__schema *s = NULL;
    must(hocket__schema_new(&hocket__malloc, hocket__cstr(text), NULL, &s, NULL) == 0, "compiling");
    return s;
}

static void validate(const char *what, const char *schema, const char *value, int expected)
{
    struct hocket__schema *s = compile(schema);
    struct hocket__schema_errors errors;
    hocket_json *v = hocket_json_parse(value, strlen(value), NULL);
    int64_t start = now_ns();
    for (int i = 0; i < ROUNDS; i++)
        must(hocket__schema_validate(s, NULL, v, &errors, NULL) == expected, "validating");
    report(what, start, ROUNDS);
    hocket_json_free(v);
    hocket__schema_free(s);
}

static void compile_often(void)
{
    int64_t start = now_ns();
    for (int i = 0; i < ROUNDS / 10; i++)
        hocket__schema_free(compile(schema_text));
    report("compile the schema", start, ROUNDS / 10);
}

static void parse_often(void)
{
    int64_t start = now_ns();
    for (int i = 0; i < ROUNDS; i++)
        hocket_json_free(hocket_json_parse(fitting, strlen(fitting), NULL));
    report("parse the arguments (for comparison)", start, ROUNDS);
}

int main(void)
{
    validate("validate 4 members that fit", schema_text, fitting, 0);
    validate("validate 4 members, 5 errors with messages", schema_text, wrong, HOCKET_EINVAL);
    validate("validate a path by a pattern", pattern_text, path, 0);
    parse_often();
    compile_often();
    return 0;
}
