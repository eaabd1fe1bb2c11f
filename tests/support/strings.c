#include "support/strings.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json/json.h"

static void read_file(const char *path, struct hocket__buf *out)
{
    char piece[4096];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    for (size_t n; (n = fread(piece, 1, sizeof(piece), f)) > 0;)
        assert_int_equal(hocket__buf_add(out, piece, n), 0);
    fclose(f);
}

bool test_strings_each(void (*body)(struct hocket__str text, void *ud), void *ud)
{
    const char *suites = getenv("HOCKET_SUITES");
    char path[1024];
    struct hocket__buf file, text;
    struct hocket__json r;
    size_t count = 0;
    if (!suites) {
        printf("skipped: set HOCKET_SUITES\n");
        return false;
    }
    snprintf(path, sizeof(path), "%s/strings/blns.json", suites);
    hocket__buf_init(&file, &hocket__malloc, 0);
    hocket__buf_init(&text, &hocket__malloc, 0);
    read_file(path, &file);
    hocket__json_init(&r, hocket__buf_str(&file));
    assert_int_equal(hocket__json_next(&r), HOCKET__JSON_ARRAY);
    for (; hocket__json_element(&r); count++) {
        hocket__buf_reset(&text);
        assert_int_equal(hocket__json_decode(&r, &text), 0);
        body(hocket__buf_str(&text), ud);
    }
    assert_int_equal(hocket__json_end(&r, NULL), 0);
    assert_true(count > 400);
    hocket__buf_deinit(&file);
    hocket__buf_deinit(&text);
    return true;
}
