/* FIPS 180-4's examples, and the lengths around the end of a block against sha256sum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/hash/hash.h"

/* The same of the text in pieces of n bytes. */
static void expect_pieces(struct hocket__str text, size_t n, const uint8_t digest[HOCKET__SHA256])
{
    uint8_t out[HOCKET__SHA256];
    struct hocket__sha256 s;
    hocket__sha256_init(&s);
    for (size_t at = 0; at < text.n; at += n)
        hocket__sha256_add(&s, hocket__str(text.p + at, text.n - at < n ? text.n - at : n));
    hocket__sha256_end(&s, out);
    assert_memory_equal(out, digest, sizeof(out));
}

static void expect(struct hocket__str text, const char *digest)
{
    uint8_t out[HOCKET__SHA256];
    char hex[2 * HOCKET__SHA256 + 1];
    hocket__sha256(text, out);
    for (int i = 0; i < HOCKET__SHA256; i++)
        snprintf(hex + 2 * i, 3, "%02x", out[i]);
    assert_string_equal(hex, digest);
    for (size_t n = 1; n < 200; n++)
        expect_pieces(text, n, out);
}

static void test_examples(void **state)
{
    (void) state;
    expect(hocket__str("", 0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect(HOCKET__STR("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(HOCKET__STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void test_lengths(void **state)
{
    static const struct {
        size_t n;
        const char *digest;
    } cases[] = {
        { 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318" },
        { 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a" },
        { 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34" },
        { 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb" },
        { 65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0" },
        { 119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb" },
        { 120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c" },
        { 128, "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e" },
        { 1000, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3" },
    };
    char text[1000];
    (void) state;
    memset(text, 'a', sizeof(text));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect(hocket__str(text, cases[i].n), cases[i].digest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
