/* What is public and what is not. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>

#include <cmocka.h>

#include "net/address.h"

static bool is_public(const char *text)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return hocket__address_is_public((struct sockaddr *) &v4);
    if (inet_pton(AF_INET6, text, &v6.sin6_addr) != 1)
        fail_msg("%s is no address", text);
    return hocket__address_is_public((struct sockaddr *) &v6);
}

static void test_public(void **state)
{
    static const char *const list[] = { "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0",
        "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "168.63.129.15",
        "168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0",
        "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
        "203.0.112.255", "223.255.255.255", "2606:4700:4700::1111", "2a00:1450::1",
        "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1", "2001:4860:4860::8888" };
    (void) state;
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (!is_public(list[i]))
            fail_msg("%s is public", list[i]);
}

static void test_special(void **state)
{
    static const char *const list[] = { "0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255",
        "100.64.0.0", "100.127.255.255", "127.0.0.0", "127.255.255.255", "168.63.129.16",
        "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1",
        "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.7",
        "203.0.113.7", "224.0.0.1", "239.255.255.255", "240.0.0.0", "255.255.255.255", "::", "::1",
        "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
        "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:2::1", "2001:db8::1",
        "2002:7f00:1::1", "2002:a00:1::", "3fff::1", "4000::1", "fc00::1", "fd12:3456::1",
        "fe80::1", "fec0::1", "ff02::1" };
    (void) state;
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (is_public(list[i]))
            fail_msg("%s is not public", list[i]);
}

static void test_other_families(void **state)
{
    struct sockaddr_un path = { .sun_family = AF_UNIX, .sun_path = "/run/docker.sock" };
    (void) state;
    assert_false(hocket__address_is_public((struct sockaddr *) &path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_public),
        cmocka_unit_test(test_special),
        cmocka_unit_test(test_other_families),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
