/* What a log costs at least: the entries and records of a store's file, written once more by bare SQLite, 64 of each to a
 * transaction, as it is written without a disk that is waited for.
 *
 *   bench_rows FILE UNITS    microseconds of CPU for each of so many units (turns) that made them */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TOGETHER = 64, COLUMNS = 10 };

static char copy[300];

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "bench_rows: %s failed\n", what);
    _exit(1);
}

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static void remove_copy(void)
{
    static const char *const suffixes[] = { "", "-wal", "-shm" };
    char name[320];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "%s%s", copy, suffixes[i]);
        unlink(name);
    }
}

/* ---- Rows, in memory, so that reading them is not measured --------------------------------------- */

struct table {
    const char *make, *read, *insert;
    int columns, count, next;
    sqlite3_value **values; /* count * columns of them */
    sqlite3_stmt *statement;
};

static struct table tables[] = {
    { "CREATE TABLE entries(key INTEGER PRIMARY KEY, tick, at_ms, kind, path, ord, name, digest, "
      "value, text)",
        "SELECT key, tick, at_ms, kind, path, ord, name, digest, value, text FROM entries ORDER BY "
        "key",
        "INSERT INTO entries VALUES(?,?,?,?,?,?,?,?,?,?)", .columns = COLUMNS },
    { "CREATE TABLE records(key INTEGER PRIMARY KEY, json TEXT NOT NULL)",
        "SELECT key, json FROM records ORDER BY key", "INSERT INTO records VALUES(?,?)",
        .columns = 2 },
};

static void read_rows(sqlite3 *db, struct table *t)
{
    sqlite3_stmt *st;
    size_t room = 0, n = 0;
    must(sqlite3_prepare_v2(db, t->read, -1, &st, NULL) == SQLITE_OK, t->read);
    for (; sqlite3_step(st) == SQLITE_ROW; t->count++)
        for (int i = 0; i < t->columns; i++) {
            if (n == room) {
                room = room ? 2 * room : 4096;
                t->values = realloc(t->values, room * sizeof(*t->values));
                must(t->values != NULL, "memory");
            }
            t->values[n++] = sqlite3_value_dup(sqlite3_column_value(st, i));
        }
    sqlite3_finalize(st);
}

static void free_rows(struct table *t)
{
    for (int i = 0; i < t->count * t->columns; i++)
        sqlite3_value_free(t->values[i]);
    free(t->values);
}

/* ---- Written again --------------------------------------------------------------------------------- */

static bool write_some(struct table *t)
{
    for (int n = 0; n < TOGETHER && t->next < t->count; n++, t->next++) {
        for (int i = 0; i < t->columns; i++)
            sqlite3_bind_value(t->statement, i + 1, t->values[t->next * t->columns + i]);
        must(sqlite3_step(t->statement) == SQLITE_DONE, t->insert);
        sqlite3_reset(t->statement);
    }
    return t->next < t->count;
}

static double write_all(sqlite3 *db)
{
    for (int i = 0; i < 2; i++) {
        must(sqlite3_exec(db, tables[i].make, NULL, NULL, NULL) == SQLITE_OK, tables[i].make);
        sqlite3_prepare_v2(db, tables[i].insert, -1, &tables[i].statement, NULL);
    }
    double start = cpu_now();
    for (bool more = true; more;) {
        sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
        more = write_some(&tables[0]);
        more = write_some(&tables[1]) || more;
        must(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK, "a commit");
    }
    double took = cpu_now() - start;
    for (int i = 0; i < 2; i++)
        sqlite3_finalize(tables[i].statement);
    return took;
}

int main(int argc, char **argv)
{
    sqlite3 *from, *to;
    int units = argc == 3 ? atoi(argv[2]) : 0;
    if (units <= 0) {
        fputs("usage: bench_rows FILE UNITS\n", stderr);
        return 2;
    }
    snprintf(copy, sizeof(copy), "%.280s-rows", argv[1]);
    remove_copy();
    must(sqlite3_open_v2(argv[1], &from, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK, argv[1]);
    for (int i = 0; i < 2; i++)
        read_rows(from, &tables[i]);
    sqlite3_close(from);
    must(sqlite3_open(copy, &to) == SQLITE_OK, copy);
    sqlite3_exec(to, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
    printf("%d entries, %d records: %.2f us\n", tables[0].count, tables[1].count,
        write_all(to) / units * 1e6);
    sqlite3_close(to);
    remove_copy();
    for (int i = 0; i < 2; i++)
        free_rows(&tables[i]);
    return 0;
}
