/* A store in a file of a folder of its own. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/sqlite/lib.h"
#include "support/temp.h"

static char folder[TEST_TEMP_PATH], file[TEST_TEMP_PATH + 16];

static inline int set_up(void **state)
{
    (void) state;
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
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s%s", file, endings[i]);
        unlink(path);
    }
    return rmdir(folder);
}

/* As another process would write it. */
static inline void write_sql(const char *sql)
{
    struct hocket_error err;
    sqlite3 *db = NULL;
    const struct hocket__sqlite *lib = hocket__sqlite_load(&err);
    assert_non_null(lib);
    assert_int_equal(lib->open_v2(file, &db, SQLITE_OPEN_READWRITE, "unix"), SQLITE_OK);
    lib->busy_timeout(db, 60000);
    assert_int_equal(lib->exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    lib->close_v2(db);
}

/* Another process has it, as the store says from here on. */
static inline void steal(const char *name)
{
    char sql[160];
    snprintf(sql, sizeof(sql), "UPDATE runs SET fence = fence + 1 WHERE id = '%s'", name);
    write_sql(sql);
}
