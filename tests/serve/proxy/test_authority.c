#include "serve/proxy/authority.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void reads_places(void **state)
{
    static const struct {
        const char *text, *host;
        int port;
        bool address;
    } good[] = {
        { "example.org", "example.org", 80, false },
        { "EXAMPLE.org.:443", "example.org", 443, false },
        { "a_b.xn--e1afmkfd:65535", "a_b.xn--e1afmkfd", 65535, false },
        { "127.0.0.1:1", "127.0.0.1", 1, true },
        { "[::1]:80", "::1", 80, true },
        { "[0:0:0:0:0:0:0:1]", "::1", 80, true },
        { "[::FFFF:127.0.0.1]:8080", "127.0.0.1", 8080, true },
        { "[2001:DB8::0:1]:443", "2001:db8::1", 443, true },
        { "0x7g.example", "0x7g.example", 80, false },
        { "1.2.3.a4", "1.2.3.a4", 80, false },
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct hocket__authority a;
        assert_int_equal(hocket__authority_read(hocket__cstr(good[i].text), 80, &a), 0);
        assert_string_equal(a.host, good[i].host);
        assert_int_equal(a.port, good[i].port);
        assert_int_equal(a.address, good[i].address);
    }
}

static void refuses_what_can_be_read_in_two_ways(void **state)
{
    static const char *const bad[] = { "", ":", ":80", "h:", "h:0", "h:65536", "h:4294967376",
        "h:8a", "h:+1", "h: 1", "h:-1", "h:1:2", "user@h", "a/b", "a?b", "a#b", "a%41", "a b",
        "a\tb", "a\\b", "a..b", ".a", "a..", ".", "*", "*.a", "-a", "a-", "a.-b", "127.1",
        "127.0.0.01", "0177.0.0.1", "2130706433", "0x7f000001", "0x7f.1", "1.2.3.4.5", "256.1.1.1",
        "1.2.3", "h.0x1", "[::1", "::1", "[::1]a", "[::1%lo]", "[127.0.0.1]", "[]", "[::g]",
        "\xc3\xa4.de", "a,b" };
    struct hocket__authority a;
    char label[70] = "", name[260] = "";
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (hocket__authority_read(hocket__cstr(bad[i]), 80, &a) == 0)
            fail_msg("'%s' was read as %s:%d", bad[i], a.host, a.port);
    assert_true(hocket__authority_read(hocket__str("a\0b", 3), 80, &a) < 0);
    assert_true(hocket__authority_read(hocket__str("127.0.0.1\0", 10), 80, &a) < 0);
    assert_true(hocket__authority_read(HOCKET__STR("h"), 0, &a) < 0);
    memset(label, 'a', 64);
    assert_true(hocket__authority_read(hocket__cstr(label), 80, &a) < 0);
    label[63] = 0;
    assert_int_equal(hocket__authority_read(hocket__cstr(label), 80, &a), 0);
    while (strlen(name) < 254)
        strcat(name, "a.");
    assert_true(
        hocket__authority_read(hocket__cstr(name), 80, &a) == 0); /* the last is its root's */
    name[253] = 'a';
    name[254] = 0;
    assert_true(hocket__authority_read(hocket__cstr(name), 80, &a) < 0);
}

static bool fits(const char *rule, const char *place)
{
    struct hocket__host_rule r;
    struct hocket__authority a;
    struct hocket_error err;
    assert_int_equal(hocket__host_rule_read(hocket__cstr(rule), &r, &err), 0);
    assert_int_equal(hocket__authority_read(hocket__cstr(place), 0, &a), 0);
    return hocket__host_rule_fits(&r, &a);
}

static void rules_fit_what_they_name(void **state)
{
    assert_true(fits("example.org", "example.org:443"));
    assert_true(fits("Example.org.", "EXAMPLE.ORG:80"));
    assert_false(fits("example.org", "example.org:8080"));
    assert_false(fits("example.org", "a.example.org:443"));
    assert_false(fits("example.org", "example.org.evil.net:443"));
    assert_false(fits("example.org", "anexample.org:443"));
    assert_true(fits("example.org:8080", "example.org:8080"));
    assert_false(fits("example.org:8080", "example.org:443"));
    assert_true(fits("example.org:*", "example.org:22"));
    assert_true(fits("*.example.org", "a.b.example.org:443"));
    assert_false(fits("*.example.org", "example.org:443"));
    assert_false(fits("*.example.org", "anexample.org:443"));
    assert_false(fits("*.example.org", "a.example.org:22"));
    assert_false(fits("*.example.org", "example.org.evil.net:443"));
    assert_true(fits("[::1]:*", "[0:0::1]:7"));
    assert_true(fits("127.0.0.1:7", "[::ffff:7f00:1]:7"));
    assert_false(fits("127.0.0.1:7", "[::1]:7"));
}

static void rules_say_what_is_wrong(void **state)
{
    static const char *const bad[] = { "", "*", "*.", "*.com", "**.a.b", "a.*", "a.*.b",
        "*.1.2.3.4", "*.[::1]", "h:x", "h:0", "h:", "http://h", "h/", "u@h" };
    struct hocket__host_rule r;
    struct hocket_error err;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(hocket__host_rule_read(hocket__cstr(bad[i]), &r, &err), HOCKET_EINVAL);
        assert_non_null(strstr(err.message, "as in"));
    }
    assert_int_equal(hocket__host_rule_read(HOCKET__STR("localhost"), &r, &err), 0);
    assert_true(r.inside);
    assert_int_equal(hocket__host_rule_read(HOCKET__STR("10.0.0.1"), &r, &err), 0);
    assert_true(r.inside);
    assert_int_equal(hocket__host_rule_read(HOCKET__STR("a.localhost"), &r, &err), 0);
    assert_false(r.inside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_places),
        cmocka_unit_test(refuses_what_can_be_read_in_two_ways),
        cmocka_unit_test(rules_fit_what_they_name),
        cmocka_unit_test(rules_say_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
