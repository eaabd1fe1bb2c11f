/* Pictures, recordings and documents in the user's words, as each protocol has them; what it has no form for is said in
 * words. And what they count for, until a provider has counted them. */
#include "net/protocol/protocol_impl.h"
#include "net/protocol/support.h"

static const char message[] =
    "{\"role\":\"user\",\"parts\":[{\"text\":\"See\"},"
    "{\"image\":{\"mime\":\"image/png\",\"data\":\"iVBO\"}},"
    "{\"audio\":{\"mime\":\"audio/wav\",\"data\":\"UklG\"}},"
    "{\"audio\":{\"mime\":\"audio/mpeg\",\"data\":\"SUQz\"}},"
    "{\"file\":{\"mime\":\"application/pdf\",\"data\":\"JVBE\",\"name\":\"a \\\"b\\\".pdf\"}},"
    "{\"file\":{\"mime\":\"application/pdf\",\"data\":\"JVBE\"}}]}";

static const struct {
    const char *proto, *wire;
} forms[] = {
    { "openai_chat",
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"See\"},"
        "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,iVBO\"}},"
        "{\"type\":\"input_audio\",\"input_audio\":{\"data\":\"UklG\",\"format\":\"wav\"}},"
        "{\"type\":\"input_audio\",\"input_audio\":{\"data\":\"SUQz\",\"format\":\"mp3\"}},"
        "{\"type\":\"file\",\"file\":{\"filename\":\"a \\\"b\\\".pdf\",\"file_data\":"
        "\"data:application/pdf;base64,JVBE\"}},"
        "{\"type\":\"file\",\"file\":{\"filename\":\"document.pdf\",\"file_data\":"
        "\"data:application/pdf;base64,JVBE\"}}]}" },
    { "openai_responses",
        "{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"See\"},"
        "{\"type\":\"input_image\",\"image_url\":\"data:image/png;base64,iVBO\"},"
        "{\"type\":\"input_text\",\"text\":\"[a recording, which cannot be shown here]\"},"
        "{\"type\":\"input_text\",\"text\":\"[a recording, which cannot be shown here]\"},"
        "{\"type\":\"input_file\",\"filename\":\"a \\\"b\\\".pdf\",\"file_data\":"
        "\"data:application/pdf;base64,JVBE\"},"
        "{\"type\":\"input_file\",\"filename\":\"document.pdf\",\"file_data\":"
        "\"data:application/pdf;base64,JVBE\"}]}" },
    { "anthropic",
        "{\"content\":[{\"type\":\"text\",\"text\":\"See\"},"
        "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\","
        "\"data\":\"iVBO\"}},"
        "{\"type\":\"text\",\"text\":\"[a recording, which cannot be shown here]\"},"
        "{\"type\":\"text\",\"text\":\"[a recording, which cannot be shown here]\"},"
        "{\"type\":\"document\",\"source\":{\"type\":\"base64\",\"media_type\":\"application/pdf\","
        "\"data\":\"JVBE\"}},"
        "{\"type\":\"document\",\"source\":{\"type\":\"base64\",\"media_type\":\"application/pdf\","
        "\"data\":\"JVBE\"}}],\"role\":\"user\"}" },
    { "gemini", "{\"parts\":[{\"text\":\"See\"},"
                "{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"iVBO\"}},"
                "{\"inlineData\":{\"mimeType\":\"audio/wav\",\"data\":\"UklG\"}},"
                "{\"inlineData\":{\"mimeType\":\"audio/mpeg\",\"data\":\"SUQz\"}},"
                "{\"inlineData\":{\"mimeType\":\"application/pdf\",\"data\":\"JVBE\"}},"
                "{\"inlineData\":{\"mimeType\":\"application/"
                "pdf\",\"data\":\"JVBE\"}}],\"role\":\"user\"}" },
    { "ollama", "{\"role\":\"user\",\"content\":\"See\\n[a recording, which cannot be shown here]"
                "\\n[a recording, which cannot be shown here]"
                "\\n[a document, a \\\"b\\\".pdf, which cannot be shown here]"
                "\\n[a document, which cannot be shown here]\",\"images\":[\"iVBO\"]}" },
};

static void test_forms(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct hocket__history h;
        struct hocket_error err;
        hocket__history_init(&h, &hocket__malloc, 0);
        assert_int_equal(hocket__history_add(&h, hocket__cstr(message), &err), 0);
        const struct hocket__proto *proto = hocket__proto_find(forms[i].proto);
        assert_int_equal(hocket__history_render(&h, proto, NULL, &err), 0);
        if (strlen(forms[i].wire) != h.wire.len
            || memcmp(forms[i].wire, h.wire.data, h.wire.len) != 0)
            fail_msg("%s:\n%.*s\nexpected\n%s", forms[i].proto, (int) h.wire.len, h.wire.data,
                forms[i].wire);
        hocket__history_deinit(&h);
    }
}

static int64_t guess_of(const char *before, char letter, size_t n, const char *after)
{
    struct hocket__buf b;
    hocket__buf_init(&b, &hocket__malloc, 0);
    hocket__buf_adds(&b, before);
    for (size_t i = 0; i < n; i++)
        hocket__buf_addc(&b, letter);
    hocket__buf_adds(&b, after);
    int64_t tokens = hocket__tokens_guess(hocket__buf_str(&b));
    hocket__buf_deinit(&b);
    return tokens;
}

/* A picture of a megabyte is no conversation of half a million tokens; a text that looks like one is a text. */
static void test_tokens(void **state)
{
    (void) state;
    static const char picture[] = "{\"role\":\"user\",\"parts\":[{\"image\":{\"data\":\"",
                      end[] = "\",\"mime\":\"image/png\"}}]}\n";
    int64_t small = guess_of(picture, 'Q', 80, end), large = guess_of(picture, 'Q', 1400000, end);
    assert_true(small < 100);
    assert_true(large > 1000 && large < 5000);
    assert_true(
        guess_of("{\"role\":\"user\",\"text\":\"{\\\"data\\\":\\\"", '1', 1400000, "\\\"}\"}\n")
        > 100000);
    assert_true(guess_of(picture, 'Q', 100, "") > 0); /* that does not end */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_forms),
        cmocka_unit_test(test_tokens) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
