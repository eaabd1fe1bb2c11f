/* Recorded answers of real servers, decoded and compared with what they say.
 *
 * HOCKET_WIRE names a directory with index.jsonl and, for every exchange in it, its response,
 * meta.json and expected.json. Every response is fed whole, byte by byte and in random
 * pieces, and every stream is cut short everywhere: a cut one must never pass for whole. */
#include "base/json/json.h"
#include "net/protocol/protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/alloc.h"

#define MAX_TEXT ((size_t) 32 << 20)
#define CUTS     400 /* places where a long stream is cut */

struct exchange {
    const char *dir, *path, *ext;
    struct hocket__str response, expected;
    const struct hocket__proto *proto;
    int status;
    bool stream;
    struct hocket_allocator *a;
};

static char *read_file(const char *dir, const char *path, const char *ext, size_t *n)
{
    char name[1024];
    snprintf(name, sizeof(name), "%s/%s%s", dir, path, ext);
    FILE *f = fopen(name, "rb");
    struct stat st;
    if (!f || fstat(fileno(f), &st) < 0)
        fail_msg("cannot read %s", name);
    char *text = malloc((size_t) st.st_size + 1);
    *n = fread(text, 1, (size_t) st.st_size, f);
    text[*n] = 0;
    fclose(f);
    return text;
}

/* ---- Equality of JSON texts: numbers by value, members in any order ---- */

static bool equal(struct hocket__str a, struct hocket__str b);

static size_t count_members(struct hocket__str object)
{
    struct hocket__json j;
    size_t n = 0;
    hocket__json_init(&j, object);
    hocket__json_next(&j);
    while (hocket__json_key(&j))
        n++;
    return n;
}

static bool equal_objects(struct hocket__str a, struct hocket__str b)
{
    struct hocket__json j;
    bool same = count_members(a) == count_members(b);
    hocket__json_init(&j, a);
    hocket__json_next(&j);
    while (same && hocket__json_key(&j)) {
        struct hocket__buf key;
        struct hocket__str x, y;
        hocket__buf_init(&key, &hocket__malloc, 0);
        hocket__json_decode(&j, &key);
        hocket__buf_reserve(&key, 1);
        same = hocket__json_skip(&j, &x) == 0 && hocket__json_find(b, key.data, &y) && equal(x, y);
        hocket__buf_deinit(&key);
    }
    return same;
}

static bool equal_arrays(struct hocket__str a, struct hocket__str b)
{
    struct hocket__json i, j;
    hocket__json_init(&i, a);
    hocket__json_init(&j, b);
    hocket__json_next(&i);
    hocket__json_next(&j);
    for (;;) {
        struct hocket__str x, y;
        bool more = hocket__json_element(&i);
        if (more != hocket__json_element(&j))
            return false;
        if (!more)
            return true;
        hocket__json_skip(&i, &x);
        hocket__json_skip(&j, &y);
        if (!equal(x, y))
            return false;
    }
}

static bool equal_strings(const struct hocket__json *i, const struct hocket__json *j)
{
    struct hocket__buf x, y;
    hocket__buf_init(&x, &hocket__malloc, 0);
    hocket__buf_init(&y, &hocket__malloc, 0);
    hocket__json_decode(i, &x);
    hocket__json_decode(j, &y);
    bool same = hocket__str_eq(hocket__buf_str(&x), hocket__buf_str(&y));
    hocket__buf_deinit(&x);
    hocket__buf_deinit(&y);
    return same;
}

static bool equal(struct hocket__str a, struct hocket__str b)
{
    struct hocket__json i, j;
    hocket__json_init(&i, a);
    hocket__json_init(&j, b);
    if (hocket__json_next(&i) != hocket__json_next(&j))
        return false;
    switch (i.token) {
    case HOCKET__JSON_OBJECT: return equal_objects(a, b);
    case HOCKET__JSON_ARRAY: return equal_arrays(a, b);
    case HOCKET__JSON_STRING: return equal_strings(&i, &j);
    case HOCKET__JSON_NUMBER:
        return hocket__str_eq(i.text, j.text) || hocket__json_double(&i) == hocket__json_double(&j);
    default: return i.token != HOCKET__JSON_ERROR;
    }
}

/* ---- Decoding ---- */

struct pieces {
    size_t step; /* 0: whole; 1: byte by byte; else random up to this */
    unsigned seed;
};

struct deltas {
    struct hocket__buf text, reasoning;
};

static void on_delta(void *ud, enum hocket__delta_kind kind, size_t call, struct hocket__str text)
{
    struct deltas *d = ud;
    if (kind == HOCKET__DELTA_TEXT)
        hocket__buf_addstr(&d->text, text);
    else if (kind == HOCKET__DELTA_REASONING)
        hocket__buf_addstr(&d->reasoning, text);
}

static int feed(
    struct hocket__decoder *d, struct hocket__str s, struct pieces how, struct hocket_error *err)
{
    int status = 0;
    while (s.n > 0 && status == 0) {
        size_t n = how.step == 0 ? s.n : how.step == 1 ? 1 : 1 + rand_r(&how.seed) % how.step;
        if (n > s.n)
            n = s.n;
        char *copy = malloc(n); /* so that asan sees a step past the piece */
        memcpy(copy, s.p, n);
        status = hocket__decoder_feed(d, copy, n, err);
        free(copy);
        s = hocket__str(s.p + n, s.n - n);
    }
    return status;
}

static int decode(const struct exchange *x, struct hocket__str response, struct pieces how,
    struct hocket__reply *reply, struct hocket_error *err)
{
    struct hocket__decoder *d;
    struct deltas deltas;
    hocket__buf_init(&deltas.text, x->a, 0);
    hocket__buf_init(&deltas.reasoning, x->a, 0);
    hocket__reply_init(reply, x->a, MAX_TEXT);
    assert_int_equal(
        hocket__decoder_new(x->a, x->proto, MAX_TEXT, reply, on_delta, &deltas, &d), 0);
    hocket__decoder_head(d, x->status, x->stream);
    int status = feed(d, response, how, err);
    if (status == 0)
        status = hocket__decoder_end(d, err);
    hocket__decoder_free(d);
    hocket__buf_deinit(&deltas.text);
    hocket__buf_deinit(&deltas.reasoning);
    return status;
}

static bool compare(const struct exchange *x, struct hocket__str got)
{
    struct hocket__json j;
    bool same = true;
    hocket__json_init(&j, x->expected);
    hocket__json_next(&j);
    while (hocket__json_key(&j)) {
        struct hocket__str want, have = HOCKET__STR("(absent)");
        char key[64];
        snprintf(key, sizeof(key), "%.*s", (int) j.text.n, j.text.p);
        hocket__json_skip(&j, &want);
        if (strcmp(key, "crosscheck") == 0)
            continue;
        if (hocket__json_find(got, key, &have) && equal(want, have))
            continue;
        same = false;
        print_message("%s: %s\n   want %.*s\n   have %.*s\n", x->path, key,
            want.n < 600 ? (int) want.n : 600, want.p, have.n < 600 ? (int) have.n : 600, have.p);
    }
    return same;
}

static bool check_pieces(const struct exchange *x, struct pieces how)
{
    struct hocket__reply reply;
    struct hocket_error err = { 0 };
    struct hocket__buf out;
    hocket__buf_init(&out, x->a, 0);
    bool same = decode(x, x->response, how, &reply, &err) == 0;
    if (!same)
        print_message("%s: %s\n", x->path, err.message);
    assert_int_equal(hocket__reply_print(&reply, &out), 0);
    same = same && compare(x, hocket__buf_str(&out));
    hocket__buf_deinit(&out);
    hocket__reply_deinit(&reply);
    return same;
}

/* ---- Streams that are cut short ---- */

static bool is_prefix(const struct hocket__buf *a, const struct hocket__buf *b)
{
    return a->len <= b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static bool same_content(const struct hocket__reply *a, const struct hocket__reply *b)
{
    bool same = hocket__str_eq(hocket__buf_str(&a->text), hocket__buf_str(&b->text))
                && hocket__str_eq(hocket__buf_str(&a->reasoning), hocket__buf_str(&b->reasoning))
                && a->n_calls == b->n_calls && a->finish == b->finish;
    for (size_t i = 0; same && i < a->n_calls; i++)
        same =
            hocket__str_eq(hocket__buf_str(&a->calls[i].name), hocket__buf_str(&b->calls[i].name))
            && hocket__str_eq(
                hocket__buf_str(&a->calls[i].arguments), hocket__buf_str(&b->calls[i].arguments));
    return same;
}

static bool check_cut(const struct exchange *x, const struct hocket__reply *whole, size_t at)
{
    struct hocket__reply cut;
    struct hocket_error err = { 0 };
    int status = decode(x, hocket__str(x->response.p, at), (struct pieces){ 0 }, &cut, &err);
    bool fine = is_prefix(&cut.text, &whole->text) && is_prefix(&cut.reasoning, &whole->reasoning);
    if (status == 0 && !cut.error.where)
        fine = fine && cut.complete && same_content(&cut, whole);
    else
        fine = fine && !cut.complete;
    if (!fine)
        print_message(
            "%s: cut at %zu: status %d, complete %d\n", x->path, at, status, cut.complete);
    hocket__reply_deinit(&cut);
    return fine;
}

static bool check_cuts(const struct exchange *x)
{
    struct hocket__reply whole;
    struct hocket_error err;
    bool fine = decode(x, x->response, (struct pieces){ 0 }, &whole, &err) == 0;
    size_t n = x->response.n, step = n <= 20000 ? 1 : n / CUTS | 1;
    /* The last bytes are where ends are mistaken: all of them. */
    for (size_t at = 0; fine && at < n; at += at + 600 < n ? step : 1)
        fine = check_cut(x, &whole, at);
    hocket__reply_deinit(&whole);
    return fine;
}

static bool check(const struct exchange *x)
{
    static const struct pieces ways[] = { { 0, 0 }, { 1, 0 }, { 7, 1 }, { 100, 2 }, { 3000, 3 } };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (!check_pieces(x, ways[i]))
            return false;
    return !x->stream || x->status >= 400 || check_cuts(x);
}

/* ---- All of them ---- */

static void run_exchange(
    const char *dir, struct hocket__str line, struct hocket__str name, int *good, int *all)
{
    struct hocket__str path, ext, value;
    struct test_alloc t;
    size_t n_response, n_meta, n_expected;
    char p[512], e[32];
    assert_true(hocket__json_find(line, "path", &path) && hocket__json_find(line, "ext", &ext));
    if (path.n <= name.n + 2 || memcmp(path.p + 1, name.p, name.n) != 0
        || path.p[name.n + 1] != '/')
        return;
    snprintf(p, sizeof(p), "%.*s", (int) path.n - 2, path.p + 1);
    snprintf(e, sizeof(e), ".response.%.*s", (int) ext.n - 2, ext.p + 1);
    char *response = read_file(dir, p, e, &n_response);
    char *meta = read_file(dir, p, ".meta.json", &n_meta);
    char *expected = read_file(dir, p, ".expected.json", &n_expected);
    test_alloc_init(&t);
    struct exchange x = { .dir = dir, .path = p, .a = &t.a };
    x.proto = hocket__proto_find(name.p);
    x.response = hocket__str(response, n_response);
    x.expected = hocket__str(expected, n_expected);
    x.stream = hocket__json_find(hocket__str(meta, n_meta), "stream", &value)
               && hocket__str_is(value, "true");
    assert_true(hocket__json_find(hocket__str(meta, n_meta), "status", &value));
    x.status = atoi(value.p);
    *good += check(&x);
    *all += 1;
    test_alloc_check(&t);
    free(response);
    free(meta);
    free(expected);
}

static void run_protocol(const char *name)
{
    const char *dir = getenv("HOCKET_WIRE");
    int good = 0, all = 0;
    size_t n;
    if (!hocket__proto_find(name))
        skip();
    char *index = read_file(dir, "index.jsonl", "", &n);
    for (char *line = index, *end; (end = strchr(line, '\n')); line = end + 1)
        run_exchange(
            dir, hocket__str(line, (size_t) (end - line)), hocket__cstr(name), &good, &all);
    free(index);
    print_message("%s: %d of %d exchanges\n", name, good, all);
    assert_true(all > 0);
    assert_int_equal(good, all);
}

static void test_openai_chat(void **state)
{
    run_protocol("openai_chat");
}

static void test_openai_responses(void **state)
{
    run_protocol("openai_responses");
}

static void test_anthropic(void **state)
{
    run_protocol("anthropic");
}

static void test_gemini(void **state)
{
    run_protocol("gemini");
}

static void test_ollama(void **state)
{
    run_protocol("ollama");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_openai_chat),
        cmocka_unit_test(test_openai_responses),
        cmocka_unit_test(test_anthropic),
        cmocka_unit_test(test_gemini),
        cmocka_unit_test(test_ollama),
    };
    if (!getenv("HOCKET_WIRE")) {
        printf("skipped: set HOCKET_WIRE\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
