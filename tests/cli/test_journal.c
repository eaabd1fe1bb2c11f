/* Records for systemd's journal: whether stderr is its stream, how a field is written, and that a record gets there whole. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/log/journal.h"

static void its_stream_is_known_by_device_and_inode(void **state)
{
    (void) state;
    char own[64], other[80];
    struct stat st;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(fstat(fds[1], &st), 0);
    snprintf(own, sizeof(own), "%llu:%llu", (unsigned long long) st.st_dev,
        (unsigned long long) st.st_ino);
    snprintf(other, sizeof(other), "%s0", own);
    assert_true(cli_journal_has(fds[1], own));
    assert_false(cli_journal_has(fds[1], other)); /* a program below, whose stderr goes elsewhere */
    assert_false(cli_journal_has(fds[1], NULL));
    assert_false(cli_journal_has(-1, own));
    close(fds[0]);
    close(fds[1]);
}

static void a_field_takes_any_value(void **state)
{
    (void) state;
    struct cli_buf b = { 0 };
    cli_journal_field(&b, "MESSAGE", "a\nPRIORITY=0");
    static const char expected[] = "MESSAGE\n\014\0\0\0\0\0\0\0a\nPRIORITY=0\n";
    assert_int_equal(b.n, sizeof(expected) - 1);
    assert_memory_equal(b.p, expected, b.n);
    cli_buf_free(&b);
}

static void a_record_is_one_datagram(void **state)
{
    (void) state;
    char folder[] = "/tmp/hocket-journal-XXXXXX", got[256];
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    struct cli_buf b = { 0 };
    assert_non_null(mkdtemp(folder));
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/socket", folder);
    cli_journal_field(&b, "PRIORITY", "3");
    cli_journal_field(&b, "MESSAGE", "it broke");
    assert_false(cli_journal_send(at.sun_path, &b)); /* nobody is there */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *) &at, sizeof(at)), 0);
    assert_true(cli_journal_send(at.sun_path, &b));
    assert_int_equal(recv(fd, got, sizeof(got), MSG_DONTWAIT), b.n);
    assert_memory_equal(got, b.p, b.n);
    close(fd);
    unlink(at.sun_path);
    rmdir(folder);
    cli_buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_stream_is_known_by_device_and_inode),
        cmocka_unit_test(a_field_takes_any_value),
        cmocka_unit_test(a_record_is_one_datagram),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
