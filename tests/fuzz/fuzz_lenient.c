/* Any bytes as a model's text. What must hold:
 * - whatever is read of it is strict JSON, and reads back as itself;
 * - what is strict JSON (and not too deep) is read as it stands, first;
 * - the values of a text come to an end, and to no more than some times its length. */
#include "base/json/json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static void check_again(struct hocket__str json)
{
    struct hocket__buf again;
    hocket__buf_init(&again, &hocket__malloc, 0);
    expect(hocket__lenient_whole(json, &again) == 1);
    expect(hocket__str_eq(hocket__buf_str(&again), json));
    hocket__buf_deinit(&again);
}

static bool is_shallow(struct hocket__str text)
{
    struct hocket__json r;
    hocket__json_init(&r, text);
    r.max_depth = HOCKET__LENIENT_DEPTH;
    return hocket__json_skip(&r, NULL) == 0 && hocket__json_end(&r, NULL) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hocket__str text = { (const char *) data, size };
    struct hocket__buf out;
    struct hocket__lenient l;
    size_t values = 0, bytes = 0;
    bool strict = is_shallow(text);
    hocket__buf_init(&out, &hocket__malloc, 0);
    hocket__lenient_init(&l, text);
    for (; hocket__lenient_next(&l, &out) == 1; values++) {
        struct hocket__str json = hocket__buf_str(&out);
        expect(hocket__json_check(json, NULL) == 0);
        expect(!strict || values > 0 || json.n <= size);
        check_again(json);
        bytes += json.n;
    }
    expect(!strict || values > 0);
    expect(values <= 2 + size && bytes <= 3 * 6 * size + 16);
    hocket__buf_deinit(&out);
    return 0;
}
