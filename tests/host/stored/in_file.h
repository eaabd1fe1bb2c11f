/* A store in a file of a folder of its own, on a disk that can fail. */
#pragma once

#include <stdio.h>
#include <unistd.h>

#include "store/disk.h"
#include "support/temp.h"

static char folder[TEST_TEMP_PATH], file[TEST_TEMP_PATH + 16];

static inline int set_up(void **state)
{
    (void) state;
    disk_install();
    if (!test_temp_dir(folder))
        return -1;
    snprintf(file, sizeof(file), "%s/runs.db", folder);
    return 0;
}

static inline int tear_down(void **state)
{
    static const char *const endings[] = { "", "-wal", "-shm" };
    char path[TEST_TEMP_PATH + 32];
    (void) state;
    disk_forget();
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s%s", file, endings[i]);
        unlink(path);
    }
    return rmdir(folder);
}
