/* For C tests where programs are emulated (tests/emulated). */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many times as long all that is computed may take. */
static inline int test_slower(void)
{
    const char *times = getenv("HOCKET_TEST_SLOWER");
    return times ? atoi(times) : 1;
}

/* Whether the file that HOCKET_TEST_LEFT_OUT names, one a line, has this name of what cannot work there. */
static inline bool test_left_out(const char *name)
{
    const char *path = getenv("HOCKET_TEST_LEFT_OUT");
    FILE *f = path ? fopen(path, "r") : NULL;
    char line[256];
    bool found = false;
    while (f && !found && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = 0;
        found = strcmp(line, name) == 0;
    }
    if (f)
        fclose(f);
    if (found)
        printf("left out: %s\n", name);
    return found;
}
