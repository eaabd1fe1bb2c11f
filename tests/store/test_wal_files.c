/* Files beside a database that are not what their process left: cut off, changed, in another form, another's, in another place, or
 * of nobody any more. Nothing of them is believed that does not continue what the database has. */
#include "store/wal.h"

#include "base/hash/hash.h"
#include "store/batch.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* At each length: a beginning of what was secured, and whole entries. */
static void a_file_that_is_cut_off_counts_as_far_as_it_goes(void **state)
{
    size_t before = 3;
    off_t size = 1;
    (void) state;
    for (off_t n = 0; n <= size; n += 397) {
        struct fixture *f = ahead_begin();
        ahead_killed(f, ahead_secure_some);
        size = ahead_size_of(wal_of(f));
        ahead_change_file(wal_of(f), n, NULL, 0);
        fixture_open(f);
        size_t count = ahead_entries(f, RUN_1);
        assert_true(count >= before && count <= 39 && count % 3 == 0);
        before = count;
        ahead_end(f);
    }
    assert_true(before > 20);
}

static void a_record_that_was_changed_ends_it(void **state)
{
    struct fixture *f = ahead_begin();
    (void) state;
    ahead_killed(f, ahead_secure_some);
    ahead_change_file(wal_of(f), ahead_size_of(wal_of(f)) / 2, "\xff", 1);
    fixture_open(f);
    size_t count = ahead_entries(f, RUN_1);
    assert_true(count >= 3 && count < 39 && count % 3 == 0);
    ahead_end(f);
}

static void sql(const char *path, const char *text)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 60 * 1000); /* a store that is open sweeps by itself */
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* As after a loss of power: the database has gone back, and the file has not. */
static void a_file_behind_a_gap_does_not_count(void **state)
{
    struct fixture *f = ahead_begin();
    (void) state;
    ahead_killed(f, ahead_secure_some);
    sql(f->path,
        "UPDATE meta SET value = '1' || substr(value, instr(value, ' ')) WHERE name LIKE 'ahead %';"
        "DELETE FROM entries WHERE key & 4294967295 = 3; UPDATE runs SET last_n = 2");
    fixture_open(f);
    assert_int_equal(ahead_entries(f, RUN_1), 2);
    ahead_end(f);
}

/* ---- Heads ------------------------------------------------------------------------------------------ */

enum { HEAD_AT = 16, VERSION_AT = 8, KEY_AT = 40, HASH_AT = 56, HEAD = 64 };

/* As a hocket of another form would have written it. */
static void write_head(const char *path, const char *form, const char *version)
{
    char head[HEAD];
    uint64_t key[2], hash;
    int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, head, HEAD, HEAD_AT), HEAD);
    memset(head, 0, KEY_AT);
    memcpy(head, form, strlen(form));
    memcpy(head + VERSION_AT, version, strlen(version));
    memcpy(key, head + KEY_AT, sizeof(key));
    hash = hocket__siphash(key, hocket__str(head, HASH_AT));
    memcpy(head + HASH_AT, &hash, sizeof(hash));
    assert_int_equal(pwrite(fd, head, HEAD, HEAD_AT), HEAD);
    close(fd);
}

/* What another hocket has secured is not passed over in silence; which one it was is said in no more than a word. */
static void a_file_of_another_form_is_refused(void **state)
{
    struct fixture *f = ahead_begin();
    struct hocket__store_claim c;
    (void) state;
    ahead_killed(f, ahead_secure_some);
    write_head(wal_of(f), "ahead 99", "9.8.7\x1b[2J \n");
    fixture_open(f);
    assert_int_equal(ahead_entries(f, RUN_1), 3); /* it can be looked at */
    assert_int_equal(ahead_take(f, RUN_1, &c), HOCKET_EUNSUPPORTED);
    assert_non_null(strstr(f->error.message, "another hocket (9.8.7, this"));
    fixture_close(f);
    write_head(wal_of(f), "ahead 1", "0.0.9"); /* the same form, of another version */
    fixture_open(f);
    assert_int_equal(ahead_entries(f, RUN_1), 39);
    ahead_end(f);
}

/* A worker does the rest of the queue, and says what it cannot. */
static void a_file_that_cannot_be_read_stops_no_worker(void **state)
{
    struct fixture *f = ahead_beside(ahead_work);
    struct hocket__store_claim c;
    (void) state;
    write_head(wal_of(f), "ahead 99", "9.8.7");
    c = ahead_put_job(f, RUN_3, HOCKET__STORE_QUEUED);
    hocket__store_release(f->s, &c);
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    sql(f->path, "UPDATE runs SET lease_ms = 1, due_ms = 5"); /* it is the last */
    assert_string_equal(ahead_take_next(f, &c), RUN_3);
    assert_string_equal(ahead_take_next(f, &c), "");
    assert_int_equal(f->status, 0); /* those are put off */
    assert_int_equal(ahead_take(f, RUN_1, &c), HOCKET_EUNSUPPORTED);
    write_head(wal_of(f), "ahead 1", "0.0.9");
    assert_int_equal(ahead_take(f, RUN_1, &c), 0);
    assert_int_equal(ahead_entries(f, RUN_1), 4);
    ahead_end_later(f);
}

/* The file is whole, and the database does not take what stands in it: of that run alone. */
static void what_cannot_be_written_stops_no_worker(void **state)
{
    struct fixture *f = ahead_beside(ahead_work);
    struct hocket__store_claim c;
    (void) state;
    sql(f->path, "CREATE TRIGGER no BEFORE INSERT ON entries WHEN new.key & 4294967295 = 4 BEGIN"
                 " SELECT RAISE(ABORT, 'the fourth'); END; UPDATE runs SET lease_ms = 1");
    assert_string_equal(ahead_take_next(f, &c), RUN_2);
    assert_int_equal(ahead_entries(f, RUN_2), 2);
    assert_string_equal(ahead_take_next(f, &c), "");
    assert_int_equal(f->status, 0); /* it is put off */
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_find(f->s, HOCKET__STR(RUN_1), &r, NULL)), 0);
    struct hocket__store_run run = fixture_row(f, 0).run;
    assert_int_equal(run.last_n, 3); /* nothing of it was written */
    assert_non_null(memmem(run.waiting_for.p, run.waiting_for.n, "the fourth", 10));
    assert_int_equal(ahead_take(f, RUN_1, &c), HOCKET_EIO);
    sql(f->path, "DROP TRIGGER no; UPDATE runs SET lease_ms = 1 WHERE id = '" RUN_1 "'");
    assert_string_equal(ahead_take_next(f, &c), RUN_1);
    assert_int_equal(ahead_entries(f, RUN_1), 4);
    ahead_end_later(f);
}

static void why_nothing_is_taken_is_said(void **state)
{
    struct fixture *f = ahead_beside(ahead_work);
    struct hocket__store_claim c;
    (void) state;
    write_head(wal_of(f), "ahead 99", "9.8.7");
    assert_string_equal(ahead_take_next(f, &c), "");
    assert_int_equal(f->status, HOCKET_EUNSUPPORTED);
    assert_non_null(strstr(f->error.message, "9.8.7"));
    assert_string_equal(ahead_take_next(f, &c), "");
    assert_int_equal(f->status, 0);
    write_head(wal_of(f), "ahead 1", "0.0.9");
    ahead_end_later(f);
}

/* As after a loss of power: what was not synced is zeros, or anything. Then nothing was promised. */
static void a_head_that_is_not_whole_counts_for_nothing(void **state)
{
    static const char zeros[HEAD], waste[] = "ahead 99 and so on \xff\xfe";
    (void) state;
    for (int i = 0; i < 3; i++) {
        struct fixture *f = ahead_begin();
        struct hocket__store_claim c;
        ahead_killed(f, ahead_secure_some);
        ahead_change_file(wal_of(f), i < 2 ? HEAD_AT : HEAD_AT + KEY_AT, i == 1 ? waste : zeros,
            i == 1   ? sizeof(waste)
            : i == 0 ? HEAD
                     : 1);
        fixture_open(f);
        assert_int_equal(ahead_entries(f, RUN_1), 3);
        assert_int_equal(ahead_take(f, RUN_1, &c), 0);
        fixture_append(f, &c, 4);
        assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
        ahead_end(f);
    }
}

/* Bytes that stand in files of others: this fails when they change. See HOCKET__STORE_FORM. */
static void the_form_is_what_it_was(void **state)
{
    static const enum hocket__store_command_kind kinds[] = { HOCKET__STORE_PUT,
        HOCKET__STORE_UPDATE, HOCKET__STORE_APPEND, HOCKET__STORE_RECORD, HOCKET__STORE_FILE,
        HOCKET__STORE_MESSAGE_PUT, HOCKET__STORE_MESSAGE_DEL, HOCKET__STORE_RELEASE };
    static const enum hocket__store_row_kind rows[] = { HOCKET__STORE_ROW_RUN,
        HOCKET__STORE_ROW_RUN, HOCKET__STORE_ROW_ENTRY, HOCKET__STORE_ROW_RECORD,
        HOCKET__STORE_ROW_FILE, HOCKET__STORE_ROW_MESSAGE, 0, 0 };
    const uint64_t key[2] = { 1, 2 };
    struct hocket__buf b;
    (void) state;
    hocket__buf_init(&b, &hocket__malloc, 0);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct hocket__store_command c = { .kind = kinds[i], .id = RUN_1, .fence = 7, .set = 63 };
        c.message_id = HOCKET__STR("m");
        c.row.kind = rows[i];
        if (rows[i] == HOCKET__STORE_ROW_RUN)
            c.row.run = fixture_run(RUN_1);
        if (rows[i] == HOCKET__STORE_ROW_ENTRY)
            c.row.entry = fixture_entry(3, "value");
        if (rows[i] == HOCKET__STORE_ROW_RECORD)
            c.row.record = (struct hocket__store_record){ 5, HOCKET__STR("{}") };
        if (rows[i] == HOCKET__STORE_ROW_FILE)
            c.row.file = (struct hocket__store_file){ HOCKET__STR("g"), HOCKET__STR("p"),
                HOCKET__STR("h"), HOCKET__STR("t") };
        if (rows[i] == HOCKET__STORE_ROW_MESSAGE)
            c.row.message =
                (struct hocket__store_message){ HOCKET__STR("m"), 17, HOCKET__STR("{}") };
        assert_int_equal(hocket__store_command_pack(&b, &c), 0);
    }
    assert_int_equal(HOCKET__STORE_FORM, 1);
    assert_int_equal(hocket__siphash(key, hocket__buf_str(&b)), 0x9095aff1441918de);
    hocket__buf_deinit(&b);
}

/* ---- In its place ------------------------------------------------------------------------------------ */

enum { LINK, HARD_LINK, PIPE, DIRECTORY, ANOTHERS, PLACES };

static void put_in_place(int what, const char *path, const char *precious)
{
    switch (what) {
    case LINK: assert_int_equal(symlink(precious, path), 0); break;
    case HARD_LINK: assert_int_equal(link(precious, path), 0); break;
    case PIPE: assert_int_equal(mkfifo(path, 0600), 0); break;
    case DIRECTORY: assert_int_equal(mkdir(path, 0700), 0); break;
    default:
        close(open(path, O_CREAT | O_RDWR, 0600));
        assert_int_equal(chown(path, 65534, 65534), 0);
    }
}

static void check_precious(const char *path)
{
    char text[16] = "";
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, text, sizeof(text)), 8);
    assert_string_equal(text, "precious");
    close(fd);
}

/* It is neither believed nor written, and does not keep us waiting. */
static void what_is_in_its_place_is_left_alone(void **state)
{
    (void) state;
    for (int what = 0; what < PLACES; what++) {
        char path[TEST_TEMP_PATH + 300], precious[TEST_TEMP_PATH];
        struct fixture *f = ahead_beside(ahead_work);
        struct hocket__store_claim c;
        if (what == ANOTHERS && geteuid() != 0) {
            ahead_end_later(f);
            continue;
        }
        assert_true(test_temp_file(precious, ".txt", "precious"));
        snprintf(path, sizeof(path), "%s", wal_of(f));
        assert_int_equal(unlink(path), 0);
        put_in_place(what, path, precious);
        for (int away = 0; away < 2; away++) { /* of one that may be alive it is closed */
            assert_true(ahead_take(f, RUN_1, &c) < 0);
            assert_non_null(strstr(f->error.message, "remove it"));
            sql(f->path, "UPDATE runs SET owner_place = 'away', lease_ms = 0");
        }
        check_precious(precious);
        assert_int_equal(remove(path), 0);
        assert_int_equal(ahead_take(f, RUN_1, &c), 0);
        assert_int_equal(ahead_entries(f, RUN_1), 3);
        unlink(precious);
        ahead_end_later(f);
    }
}

/* ---- In another place -------------------------------------------------------------------------------- */

static void copy(const char *from, const char *to)
{
    char command[1200];
    snprintf(command, sizeof(command), "cp '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

static void copy_database(const struct fixture *f, const struct fixture *to)
{
    char a[TEST_TEMP_PATH + 16], b[TEST_TEMP_PATH + 16];
    snprintf(a, sizeof(a), "%s/hocket", to->dir);
    assert_int_equal(mkdir(a, 0700), 0);
    copy(f->path, to->path);
    snprintf(a, sizeof(a), "%s-wal", f->path);
    snprintf(b, sizeof(b), "%s-wal", to->path);
    copy(a, b);
}

/* A copy has what was copied: without the file what the database has, and it can be gone on with. */
static void a_copy_has_what_was_copied(void **state)
{
    (void) state;
    for (int with = 0; with < 2; with++) {
        struct fixture *f = ahead_begin(), *g = ahead_begin();
        struct hocket__store_claim c;
        char path[TEST_TEMP_PATH + 300];
        ahead_killed(f, ahead_secure_some);
        copy_database(f, g);
        snprintf(path, sizeof(path), "%s%s", g->path, strstr(wal_of(f), "-ahead-"));
        if (with)
            copy(wal_of(f), path);
        fixture_open(g);
        assert_int_equal(ahead_entries(g, RUN_1), with ? 39 : 3);
        assert_int_equal(ahead_take(g, RUN_1, &c), 0);
        fixture_append(g, &c, with ? 40 : 4);
        assert_int_equal(fixture_commit(g, &c, HOCKET__STORE_WRITTEN), 0);
        ahead_end(g);
        fixture_open(f);
        assert_int_equal(ahead_entries(f, RUN_1), 39);
        ahead_end(f);
    }
}

/* ---- Of nobody any more ------------------------------------------------------------------------------ */

static void vacuum(struct fixture *f)
{
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_maintenance care = { .what = HOCKET__STORE_VACUUM };
    assert_int_equal(fixture_answer(f, hocket__store_maintain(f->s, &care, &r, NULL)), 0);
}

/* After a restart of the machine, say, nobody sees any more that its process has ended. */
static void what_a_lost_machine_left_is_found_a_day_later(void **state)
{
    const int64_t now = (int64_t) time(NULL) * 1000, day = 24 * 3600 * 1000;
    struct fixture *f = ahead_begin();
    (void) state;
    ahead_killed(f, ahead_secure_some);
    sql(f->path, "UPDATE meta SET value = substr(value, 1, instr(value, '/')) || 'of yore'"
                 " WHERE name LIKE 'ahead %'; UPDATE runs SET owner_place = 'of yore'");
    f->now = now + day - 3600 * 1000;
    fixture_open(f);
    assert_int_equal(ahead_entries(f, RUN_1), 3);
    fixture_close(f);
    assert_string_not_equal(wal_of(f), "");
    f->now = now + day + 3600 * 1000;
    fixture_open(f);
    assert_int_equal(ahead_entries(f, RUN_1), 39);
    ahead_end(f);
}

static void lay(const struct fixture *f, const char *name, int64_t age)
{
    char path[TEST_TEMP_PATH + 300];
    struct timespec t[2] = { { .tv_sec = time(NULL) - age }, { .tv_sec = time(NULL) - age } };
    snprintf(path, sizeof(path), "%s%s", f->path, name);
    int fd = open(path, O_CREAT | O_RDWR, 0600);
    assert_int_equal(futimens(fd, t), 0);
    close(fd);
}

static bool is_there(const struct fixture *f, const char *name, bool removes)
{
    char path[TEST_TEMP_PATH + 300];
    snprintf(path, sizeof(path), "%s%s", f->path, name);
    bool there = access(path, F_OK) == 0;
    if (removes)
        unlink(path);
    return there;
}

/* Of a database that was removed without them; nothing else is touched, however much it looks like it. */
static void what_no_database_knows_is_swept(void **state)
{
    static const char *const others[] = { "-ahead-0123456789abcde", "-ahead-0123456789ABCDEF",
        "-ahead-0123456789abcdef.txt", "-ahead-", "-ahead-0x23456789abcdef" };
    const int64_t old = 48 * 3600;
    struct fixture *f = ahead_begin();
    (void) state;
    ahead_killed(f, ahead_secure_some);
    write_head(
        wal_of(f), "ahead 99", "9.8.7"); /* the database knows this one, and cannot read it */
    lay(f, strstr(wal_of(f), "-ahead-"), old);
    char mine[64];
    snprintf(mine, sizeof(mine), "%s", strstr(wal_of(f), "-ahead-"));
    lay(f, "-ahead-0123456789abcdef", old);
    lay(f, "-ahead-fedcba9876543210", 60);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        lay(f, others[i], old);
    fixture_open(f);
    vacuum(f);
    assert_false(is_there(f, "-ahead-0123456789abcdef", true));
    assert_true(is_there(f, "-ahead-fedcba9876543210", true));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_true(is_there(f, others[i], true));
    assert_true(is_there(f, mine, true));
    ahead_end(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_cut_off_counts_as_far_as_it_goes),
        cmocka_unit_test(a_record_that_was_changed_ends_it),
        cmocka_unit_test(a_file_behind_a_gap_does_not_count),
        cmocka_unit_test(a_file_of_another_form_is_refused),
        cmocka_unit_test(a_file_that_cannot_be_read_stops_no_worker),
        cmocka_unit_test(what_cannot_be_written_stops_no_worker),
        cmocka_unit_test(why_nothing_is_taken_is_said),
        cmocka_unit_test(a_head_that_is_not_whole_counts_for_nothing),
        cmocka_unit_test(the_form_is_what_it_was),
        cmocka_unit_test(what_is_in_its_place_is_left_alone),
        cmocka_unit_test(a_copy_has_what_was_copied),
        cmocka_unit_test(what_a_lost_machine_left_is_found_a_day_later),
        cmocka_unit_test(what_no_database_knows_is_swept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
