/* Runs the public JSON-Schema-Test-Suite (required cases of drafts 2020-12 and 7)
 * over the validator: all of them have to pass, with messages and without. The
 * data is read in place from $HOCKET_SUITES/json-schema. */
#include "base/json/json.h"
#include "core/schema/schema.h"
#include "support/alloc.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define REMOTE "http://localhost:1234/"

static char *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    char *text = n >= 0 ? malloc((size_t) n + 1) : NULL;
    if (text)
        *len = fread(text, 1, (size_t) n, f);
    fclose(f);
    return text;
}

/* The remotes directory is what the suite calls http://localhost:1234/. */
static int resolve(struct hocket__str uri, struct hocket__buf *out, void *ud)
{
    char path[512];
    size_t n = strlen(REMOTE), len = 0;
    if (uri.n <= n || memcmp(uri.p, REMOTE, n) != 0)
        return HOCKET_ENOTFOUND;
    snprintf(
        path, sizeof(path), "%s/remotes/%.*s", (const char *) ud, (int) (uri.n - n), uri.p + n);
    char *text = read_file(path, &len);
    if (!text)
        return HOCKET_ENOTFOUND;
    int rc = hocket__buf_add(out, text, len);
    free(text);
    return rc;
}

struct tally {
    const char *root, *file;
    enum hocket__schema_draft draft;
    int cases, passed;
};

static void count(
    struct tally *t, const char *schema, const char *test, bool right, const char *why)
{
    t->cases++;
    t->passed += right;
    if (!right)
        printf("%s: %s: %s: %s\n", t->file, schema, test, why);
}

static void run_case(
    struct tally *t, const struct hocket__schema *s, const char *name, const hocket_json *test)
{
    struct hocket__schema_errors errors = { .count = 0 };
    struct hocket_error err = { .message = "" };
    const hocket_json *data = hocket_json_get(test, "data");
    bool valid = hocket_json_bool(hocket_json_get(test, "valid"), false);
    int rc = hocket__schema_validate(s, NULL, data, &errors, &err);
    int quiet = hocket__schema_validate(s, NULL, data, NULL, &err);
    bool right = (valid ? rc == 0 : rc == HOCKET_EINVAL && errors.count > 0) && quiet == rc;
    count(t, name, hocket_json_text(hocket_json_get(test, "description"), "?", NULL), right,
        errors.count ? errors.at[0].message : err.message);
}

static void run_group(struct tally *t, const struct hocket_allocator *a, const hocket_json *group)
{
    struct hocket__schema_options o = {
        .draft = t->draft, .resolve_cb = resolve, .resolve_ud = (void *) t->root
    };
    const char *name = hocket_json_text(hocket_json_get(group, "description"), "?", NULL);
    struct hocket__schema *s = NULL;
    struct hocket_error err;
    struct hocket__buf text;
    hocket__buf_init(&text, a, 0);
    assert_int_equal(hocket__tree_print(hocket_json_get(group, "schema"), &text), 0);
    int rc = hocket__schema_new(a, hocket__str(text.data, text.len), &o, &s, &err);
    hocket__buf_deinit(&text);
    const hocket_json *tests = hocket_json_get(group, "tests");
    for (size_t i = 0; i < hocket_json_count(tests); i++) {
        const hocket_json *test = hocket_json_at(tests, i);
        if (rc == 0)
            run_case(t, s, name, test);
        else
            count(t, name, hocket_json_text(hocket_json_get(test, "description"), "?", NULL), false,
                err.message);
    }
    hocket__schema_free(s);
}

static void run_file(struct tally *t, const char *path)
{
    struct test_alloc alloc;
    size_t len = 0;
    char *text = read_file(path, &len);
    assert_non_null(text);
    struct hocket_error err;
    hocket_json *groups = hocket_json_parse(text, len, &err);
    free(text);
    assert_non_null(groups);
    test_alloc_init(&alloc);
    for (size_t i = 0; i < hocket_json_count(groups); i++)
        run_group(t, &alloc.a, hocket_json_at(groups, i));
    test_alloc_check(&alloc);
    hocket_json_free(groups);
}

static void run_draft(const char *name, enum hocket__schema_draft draft)
{
    char root[256], dir[300], path[600];
    const char *suites = getenv("HOCKET_SUITES");
    if (!suites) {
        printf("skipped: set HOCKET_SUITES\n");
        skip();
    }
    snprintf(root, sizeof(root), "%s/json-schema", suites);
    snprintf(dir, sizeof(dir), "%s/tests/%s", root, name);
    struct tally t = { .root = root, .draft = draft };
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (!strstr(e->d_name, ".json"))
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        t.file = e->d_name;
        run_file(&t, path);
    }
    closedir(d);
    printf("%s: %d of %d\n", name, t.passed, t.cases);
    assert_true(t.cases > 800);
    assert_int_equal(t.passed, t.cases);
}

static void draft_2020_12(void **state)
{
    run_draft("draft2020-12", HOCKET__SCHEMA_2020_12);
}

static void draft_7(void **state)
{
    run_draft("draft7", HOCKET__SCHEMA_DRAFT_7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draft_2020_12),
        cmocka_unit_test(draft_7),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
