/* What a C test leaves out where it cannot work: names, one a line, of the file that HOCKET_TEST_LEFT_OUT names (tests/emulated). */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
