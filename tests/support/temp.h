/* Files and directories that a test makes: below TMPDIR, since a run of all tests gives its tests
 * one of their own and looks whether anything is left in it. The paths are the caller's to
 * remove. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEST_TEMP_PATH = 256 };

static inline void test__temp_pattern(char path[TEST_TEMP_PATH], const char *suffix)
{
    const char *own = getenv("HOCKET_TEST_TMPDIR"), *dir = own ? own : getenv("TMPDIR");
    int n = snprintf(
        path, TEST_TEMP_PATH, "%s/hocket-test-XXXXXX%s", dir && *dir ? dir : "/tmp", suffix);
    assert(n > 0 && n < TEST_TEMP_PATH - 64); /* room for names in it */
    (void) n;
}

/* A new directory; false when it cannot be made. */
static inline bool test_temp_dir(char path[TEST_TEMP_PATH])
{
    test__temp_pattern(path, "");
    return mkdtemp(path) != NULL;
}

/* A new file with a text in it; false when it cannot be written. */
static inline bool test_temp_file(char path[TEST_TEMP_PATH], const char *suffix, const char *text)
{
    test__temp_pattern(path, suffix);
    int fd = mkstemps(path, (int) strlen(suffix));
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t) strlen(text);
    if (fd >= 0)
        close(fd);
    return ok;
}
