#include "core/schema/util.h"

static void is(const char *format, bool valid, const char *const *texts)
{
    char schema[64], value[200];
    struct hocket__schema_options o = { .assert_format = true };
    snprintf(schema, sizeof(schema), "{\"format\":\"%s\"}", format);
    for (; *texts; texts++) {
        snprintf(value, sizeof(value), "\"%s\"", *texts);
        if (check_with(&o, schema, value, NULL) != (valid ? 0 : HOCKET_EINVAL))
            fail_msg("%s: %s is %s", format, value, valid ? "refused" : "accepted");
        assert_int_equal(check(schema, value), 0);
    }
}

#define YES(format, ...) is(format, true, (const char *const[]){ __VA_ARGS__, NULL })
#define NO(format, ...)  is(format, false, (const char *const[]){ __VA_ARGS__, NULL })

static void times(void **state)
{
    YES("date", "2024-02-29", "2000-02-29", "2023-12-31");
    NO("date", "2023-02-29", "1900-02-29", "2024-13-01", "2024-00-01", "2024-04-31", "2024-1-1",
        "20240101", "2024-01-01T", "");
    YES("time", "12:00:00Z", "23:59:60Z", "12:00:00.123+05:30", "22:59:60-01:00", "00:00:00z");
    NO("time", "12:00:00", "24:00:00Z", "12:60:00Z", "12:00:60Z", "12:00:00.Z", "12:00Z",
        "12:00:00+24:00", "12:00:00+0100");
    YES("date-time", "2024-05-31T12:00:00Z", "2024-05-31t12:00:00.5-02:00");
    NO("date-time", "2024-05-31 12:00:00Z", "2024-05-31T12:00:00", "2024-05-32T12:00:00Z",
        "2024-05-31");
    YES("duration", "P4DT12H30M5S", "P1Y", "PT1M", "P2W", "P1Y2M3D", "PT36H", "P1YT1S");
    NO("duration", "", "P", "PT", "P1", "4D", "P1D2H", "P1Y2W", "PT1D", "P2D1Y", "P1DT", "P1Y3D");
}

static void names_and_addresses(void **state)
{
    YES("email", "a@example.com", "a.b+c@x-y.org", "\\\"a b\\\"@x.org", "a@[127.0.0.1]",
        "a@[IPv6:::1]");
    NO("email", "a", "@x.org", "a@", ".a@x.org", "a.@x.org", "a..b@x.org", "a b@x.org", "a@-x.org",
        "a@[300.0.0.1]");
    YES("hostname", "a", "www.example.com", "xn--4gbwdl.xn--wgbh1c", "1.2.3");
    NO("hostname", "", "-a.com", "a-.com", "a..b", "a_b", "a.", ".a",
        "a123456789012345678901234567890123456789012345678901234567890123.com");
    YES("ipv4", "0.0.0.0", "255.255.255.255");
    NO("ipv4", "256.0.0.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.", "0x1.2.3.4", "");
    YES("ipv6", "::", "::1", "1::", "12:34:56:78:9a:bc:de:f0", "::ffff:192.168.0.1", "1:2::7:8",
        "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7::");
    NO("ipv6", "", ":", "1", "12345::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3",
        ":1:2:3:4:5:6:7", "1:2:3:4:5:6:7:", "::1.2.3", "1:2:3:4:5:6:7:1.2.3.4",
        "1:2:3:4:5:6:7:8::", "::g");
    YES("uuid", "2EB8AA08-aa98-11ea-b4aa-73b441d16380");
    NO("uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08aa9811eab4aa73b441d16380",
        "2eb8aa08-aa98-11ea-b4aa-73b441d1638g");
}

static void uris_and_pointers(void **state)
{
    YES("uri", "http://a/b?c#d", "urn:x:y", "mailto:a@b", "a:");
    NO("uri", "//a/b", "/a", "a", "", "http://a b", "http://a/%zz", "http://a/#b#c", "1a:b",
        "http://\xc3\xa9");
    YES("uri-reference", "", "/a", "#b", "//a", "a?b");
    NO("uri-reference", "\\\\a", "a b", "<", "%1");
    YES("json-pointer", "", "/", "/a~0b~1c", "//x");
    NO("json-pointer", "a", "/~", "/~2", "#/a");
    YES("relative-json-pointer", "0", "1/a", "10#", "0/");
    NO("relative-json-pointer", "", "01", "/a", "-1", "0##", "1a");
    YES("regex", "^a+$", "(a)\\\\1", "");
    NO("regex", "(", "[b-a]");
    YES("something-else", "x", "");
}

static void format_speaks_about_strings(void **state)
{
    struct hocket__schema_options o = { .assert_format = true };
    struct hocket__schema_errors e;
    assert_int_equal(check_with(&o, "{\"format\":\"date\"}", "12", NULL), 0);
    assert_int_equal(check_with(&o, "{\"format\":\"date\"}", "\"x\"", &e), HOCKET_EINVAL);
    assert_string_equal(e.at[0].message, "expected a date (2024-05-31), got string \"x\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times),
        cmocka_unit_test(names_and_addresses),
        cmocka_unit_test(uris_and_pointers),
        cmocka_unit_test(format_speaks_about_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
